// The debugger without a terminal: scripts, files, completion and the events for programs. What commands print is tested by
// tests/session.
#include "app/terminal/completion.h"
#include "app/terminal/json_events.h"
#include "app/terminal/stop_text.h"
#include "app/terminal/terminal.h"
#include "app/wiring/subject.h"
#include "converters/formats.h"
#include "tests/scratch.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace loopscope::app {
namespace {

class Debugged {
public:
    explicit Debugged(const std::string& path, TerminalSettings settings = {}) : m_file(std::move(loadModel(path)).value())
    {
        terminal = std::make_unique<Terminal>(std::move(liveSubject(m_file.model, "model", "", {})).value(), settings,
                                              [this](const TerminalEvent& event) {
                                                  text += event.text;
                                                  m_json.tell(event, command);
                                              });
    }
    bool operator()(const std::string& line)
    {
        ++command;
        text.clear();
        return terminal->execute(line, LineOrigin::prompt);
    }

    std::unique_ptr<Terminal> terminal;
    std::string text;
    std::vector<std::string> events;
    int64_t command = 0;

private:
    LoadedModel m_file;
    JsonEvents m_json{[this](const std::string& line) { events.push_back(line); }};
};

/// A file that goes with the object.
struct Scratch {
    ScratchFolder folder;
    std::string path;
    explicit Scratch(const std::string& name, const std::string& content = "") : path(folder.path(name))
    {
        if (!content.empty()) std::ofstream(path) << content;
    }
};

std::vector<std::string> offered(Terminal& terminal, const std::string& line)
{
    std::vector<std::string> texts;
    for (const Candidate& candidate : completionsOf(terminal, line).candidates) texts.push_back(candidate.text);
    return texts;
}

TEST(Terminal, a_script_ends_at_its_first_error)
{
    const Scratch script("script", "# look\nstart n=3\n-nosuch\nstep\nnosuch\nstep\n");
    Debugged debug("samples/text/sum_loop.lsir");
    EXPECT_FALSE(debug("source " + script.path));
    EXPECT_NE(debug.text.find(script.path + ":5: stopped here"), std::string::npos) << debug.text;
    EXPECT_EQ(debug.terminal->stop().report.tick, 1) << "the line after the error must not run";
}

TEST(Terminal, a_script_that_runs_itself_ends)
{
    const Scratch script("endless");
    std::ofstream(script.path) << "source " << script.path << "\n";
    Debugged debug("samples/text/sum_loop.lsir");
    EXPECT_FALSE(debug("source " + script.path));
    EXPECT_NE(debug.text.find("16 deep"), std::string::npos);
}

TEST(Terminal, saved_breakpoints_and_displays_come_back)
{
    const Scratch file("stops.ls");
    Debugged first("samples/text/sum_loop.lsir");
    EXPECT_TRUE(first("break .../add#0 if acc > 2"));
    EXPECT_TRUE(first("display acc"));
    EXPECT_TRUE(first("save " + file.path));
    EXPECT_FALSE(first("save " + file.path)) << "an existing file is kept";
    Debugged second("samples/text/sum_loop.lsir");
    EXPECT_TRUE(second("load " + file.path));
    EXPECT_EQ(second.text, file.path + ": 1 breakpoint, 1 display\n");
    EXPECT_TRUE(second("run n=9"));
    EXPECT_NE(second.text.find("breakpoint 1: main/while#0@3:body/add#0"), std::string::npos) << second.text;
    EXPECT_NE(second.text.find("1: acc = 3"), std::string::npos) << second.text;
    // On another model the breakpoint means nothing: it comes back disabled.
    Debugged other("samples/text/quantized_layer.lsir");
    EXPECT_TRUE(other("load " + file.path));
    EXPECT_NE(other.text.find("1 disabled"), std::string::npos) << other.text;
}

TEST(Terminal, commands_of_breakpoints_may_go_on)
{
    Debugged debug("samples/text/sum_loop.lsir");
    for (const char* line : {"break .../add#1", "commands 1", "print acc2", "continue", "end"}) EXPECT_TRUE(debug(line)) << line;
    EXPECT_TRUE(debug("run n=3"));
    EXPECT_NE(debug.text.find("acc2: i32[] = 3"), std::string::npos);
    EXPECT_NE(debug.text.find("finished, step 11"), std::string::npos) << debug.text;
}

TEST(Terminal, programs_run_only_from_lines_that_are_typed)
{
    TerminalSettings settings;
    settings.shell = true;
    const Scratch made("made");
    const std::string line = "!touch " + made.path;
    const Scratch script("script", line + "\n");
    Debugged debug("samples/text/sum_loop.lsir", settings);
    EXPECT_FALSE(debug("source " + script.path));
    EXPECT_NE(debug.text.find("found it in a file"), std::string::npos) << debug.text;
    const Scratch saved("saved", "break .../add#1\ncommands\n" + line + "\nend\n");
    EXPECT_TRUE(debug("load " + saved.path)) << debug.text;
    debug("run n=3");
    EXPECT_NE(debug.text.find("found it in the commands of a breakpoint"), std::string::npos) << debug.text;
    EXPECT_FALSE(debug.terminal->execute(line, LineOrigin::commandLine));
    EXPECT_FALSE(debug.terminal->execute(line, LineOrigin::pipe));
    EXPECT_FALSE(std::filesystem::exists(made.path));
    EXPECT_TRUE(debug(line));
    EXPECT_TRUE(std::filesystem::exists(made.path));
    Debugged without("samples/text/sum_loop.lsir");
    EXPECT_FALSE(without(line));
}

TEST(Terminal, files_overwrite_nothing)
{
    const Scratch kept("kept", "kept");
    Debugged debug("samples/text/sum_loop.lsir");
    for (const std::string& line : {"save " + kept.path + " --force", "record on " + kept.path + " --force"}) {
        const Scratch script("script", line + "\n");
        EXPECT_FALSE(debug("source " + script.path)) << line;
        EXPECT_NE(debug.text.find("files are overwritten only where --force is typed"), std::string::npos) << debug.text;
        const Scratch saved("saved", "break .../add#1\ncommands\n" + line + "\nend\n");
        EXPECT_TRUE(debug("load " + saved.path));
        EXPECT_FALSE(debug("run n=3")) << line;
        EXPECT_TRUE(debug("delete"));
    }
    EXPECT_EQ(std::filesystem::file_size(kept.path), 4u);
    EXPECT_TRUE(debug.terminal->execute("save " + kept.path + " --force", LineOrigin::commandLine));
    EXPECT_NE(std::filesystem::file_size(kept.path), 4u);
}

TEST(Terminal, endless_commands_of_breakpoints_can_be_interrupted)
{
    Debugged debug("samples/text/sum_loop.lsir");
    int asked = 0;
    debug.terminal->setInterrupted([&] { return ++asked > 50; });
    for (const char* line : {"break .../add#1", "commands 1", "run", "end"}) EXPECT_TRUE(debug(line)) << line;
    EXPECT_FALSE(debug("run n=3"));
    EXPECT_EQ(debug.terminal->lastError(), ErrorCode::cancelled);
    EXPECT_NE(debug.text.find("interrupted before the command 'run'"), std::string::npos);
    // Two scripts that run each other by way of a breakpoint.
    const Scratch script("script", "run\nrun\nrun\n");
    EXPECT_FALSE(debug("source " + script.path));
    EXPECT_TRUE(debug("print acc2")) << "the session goes on";
}

TEST(Terminal, quit_warns_once_if_edits_would_be_lost)
{
    TerminalSettings settings;
    settings.confirms = true;
    Debugged debug("samples/text/sum_loop.lsir", settings);
    EXPECT_TRUE(debug("start n=3"));
    EXPECT_TRUE(debug("set n = 4"));
    EXPECT_EQ(debug.terminal->prompt(), "(loop r2) ");
    EXPECT_TRUE(debug("quit"));
    EXPECT_FALSE(debug.terminal->ended());
    EXPECT_TRUE(debug("quit"));
    EXPECT_TRUE(debug.terminal->ended());
}

TEST(Terminal, an_empty_line_repeats_only_what_moves_a_little)
{
    Debugged debug("samples/text/sum_loop.lsir");
    debug("start n=3");
    EXPECT_EQ(debug.terminal->repeatable(), "");
    for (const char* line : {"step", "next", "reverse-step", "iter +1", "list", "x i"}) {
        debug(line);
        EXPECT_EQ(debug.terminal->repeatable(), line);
    }
    debug("print i");
    EXPECT_EQ(debug.terminal->repeatable(), "");
}

TEST(Terminal, events_are_json_and_carry_the_stop)
{
    Debugged debug("samples/text/nan_at_7.lsir");
    debug("break nan");
    debug("run n=9");
    debug("nosuch");
    ASSERT_EQ(debug.events.size(), 3u);
    const auto stopped = nlohmann::json::parse(debug.events[1]);
    EXPECT_EQ(stopped["event"], "stopped");
    EXPECT_EQ(stopped["re"], 2);
    EXPECT_EQ(stopped["seq"], 2);
    EXPECT_EQ(stopped["reasons"][0]["cause"], "nan");
    EXPECT_EQ(stopped["reasons"][0]["value"], "scaled");
    EXPECT_EQ(stopped["address"], "main/while#0@7:body/sub#3");
    EXPECT_EQ(stopped["iteration"], 7);
    EXPECT_EQ(stopped["step"], 46);
    const auto error = nlohmann::json::parse(debug.events[2]);
    EXPECT_EQ(error["event"], "error");
    EXPECT_EQ(error["error"]["code"], 2);
}

TEST(Terminal, completes_commands_values_places_and_marks)
{
    Debugged debug("samples/text/collatz.lsir");
    EXPECT_EQ(offered(*debug.terminal, "reverse-f"), std::vector<std::string>{"reverse-finish"});
    EXPECT_EQ(offered(*debug.terminal, "run "), std::vector<std::string>{"x="});
    EXPECT_EQ(offered(*debug.terminal, "info lo"), (std::vector<std::string>{"locals", "loop"}));
    // Breakpoints are set before anything runs.
    EXPECT_EQ(offered(*debug.terminal, "break main/wh"), std::vector<std::string>{"main/while#0"});
    EXPECT_EQ(offered(*debug.terminal, "break main/while#0@7:body/fl"), std::vector<std::string>{"main/while#0@7:body/floor_mod#0"});
    EXPECT_EQ(offered(*debug.terminal, "break while#0/fl"), std::vector<std::string>{"while#0/floor_mod#0"});
    EXPECT_EQ(offered(*debug.terminal, "break .../floor_"), (std::vector<std::string>{".../floor_div#0", ".../floor_mod#0"}));
    EXPECT_TRUE(offered(*debug.terminal, "break main/nothing#3:body/fl").empty());
    debug("start x=6");
    debug("goto while#0@2:body/if#2");
    debug("mark middle");
    EXPECT_EQ(offered(*debug.terminal, "print ev"), std::vector<std::string>{"even"});
    EXPECT_EQ(offered(*debug.terminal, "print max(next_"), (std::vector<std::string>{"next_count", "next_n"}));
    EXPECT_EQ(offered(*debug.terminal, "goto mi"), std::vector<std::string>{"middle"});
    EXPECT_EQ(offered(*debug.terminal, "goto main/wh"), std::vector<std::string>{"main/while#0"});
    EXPECT_EQ(offered(*debug.terminal, "goto main/while#0@3/fl"), std::vector<std::string>{"main/while#0@3/floor_mod#0"});
    EXPECT_TRUE(offered(*debug.terminal, "nosuch x").empty());
    const Completion completion = completionsOf(*debug.terminal, "print eve");
    ASSERT_EQ(completion.candidates.size(), 1u);
    EXPECT_EQ(completion.candidates[0].kind, "value");
    EXPECT_EQ(completion.candidates[0].type, "bool[]");
    EXPECT_EQ(completion.begin, 6u);
}

/// What Tab puts behind `line`.
std::string inserted(Terminal& terminal, const std::string& line)
{
    const Completion completion = completionsOf(terminal, line);
    return insertion(completion, line.substr(completion.begin));
}

TEST(Terminal, tab_puts_no_space_where_an_address_goes_on)
{
    Debugged debug("samples/text/collatz.lsir");
    debug("start x=6");
    debug("goto while#0@2:body/if#2");
    EXPECT_EQ(inserted(*debug.terminal, "goto main/whi"), "le#0") << "@3 or :body may follow";
    EXPECT_EQ(inserted(*debug.terminal, "goto main/while#0@3/fl"), "oor_mod#0");
    EXPECT_EQ(inserted(*debug.terminal, "print eve"), "n ") << "a value is whole";
    EXPECT_EQ(inserted(*debug.terminal, "reverse-f"), "inish ");
    EXPECT_EQ(inserted(*debug.terminal, "run "), "x=");
    EXPECT_EQ(inserted(*debug.terminal, "print next_"), "") << "next_n and next_count agree no farther";
}

TEST(Terminal, a_run_is_recorded_while_it_is_debugged)
{
    const Scratch file("debugged.lstrace");
    Debugged debug("samples/text/collatz.lsir");
    EXPECT_TRUE(debug("record on " + file.path));
    EXPECT_FALSE(debug("record on " + file.path)) << "one at a time";
    EXPECT_TRUE(debug("run x=27"));
    EXPECT_TRUE(debug("goto 50%"));
    EXPECT_TRUE(debug("goto end"));
    EXPECT_TRUE(debug("record off"));
    EXPECT_TRUE(debug.text.starts_with(file.path + ": 709 events")) << "each step once: " << debug.text;
}

TEST(Terminal, long_lines_are_cut_in_the_middle)
{
    EXPECT_EQ(cutMiddle("abcdefghijklmnopqrst", 11), "abcde…pqrst");
    EXPECT_EQ(cutMiddle("abcdefghij", 11), "abcdefghij");
}

/// A stop takes at most twelve lines, whatever is displayed.
TEST(Terminal, stops_stay_short)
{
    Debugged debug("samples/text/collatz.lsir");
    for (int i = 0; i < 20; ++i) debug("display " + std::to_string(i));
    debug("break .../if#2");
    debug("run x=27");
    debug("continue");
    EXPECT_EQ(std::count(debug.text.begin(), debug.text.end(), '\n'), 12) << debug.text;
    EXPECT_NE(debug.text.find(" more\n"), std::string::npos);
}

} // namespace
} // namespace loopscope::app
