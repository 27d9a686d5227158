// The answers of `debug --json` are what docs/json_events.md promises: every command of the debugger is run, and the fields of its answer
// are held against the page's tables.
#include "app/commands/commands.h"
#include "app/terminal/command_table.h"
#include "app/terminal/json_events.h"
#include "app/wiring/subject.h"
#include "engine/base/bytes.h"
#include "tests/scratch.h"

#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <re2/re2.h>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace loopscope::app {
namespace {

using nlohmann::json;

struct Field {
    std::string name, type;
    bool isOptional = false;
};
using Fields = std::vector<Field>;

/// The tables of the page: fields of objects, and what results each command may have.
struct Page {
    std::map<std::string, Fields> objects;
    std::map<std::string, std::vector<Fields>> results;
};

Fields fieldsOf(const std::string& cell)
{
    Fields fields;
    const RE2 one("`([a-z_]+)` ([^ ·|]+)");
    re2::StringPiece rest(cell);
    for (Field field; RE2::FindAndConsume(&rest, one, &field.name, &field.type);) {
        field.isOptional = field.type.ends_with('!');
        if (field.isOptional) field.type.pop_back();
        fields.push_back(field);
    }
    return fields;
}

Page readPage()
{
    Page page;
    const auto content = mapFile("docs/json_events.md");
    if (!content.ok()) return page;
    std::istringstream in(std::string(content->as<char>(), content->size()));
    std::string section;
    const RE2 row(R"(\| (`.*`) \|(.*)\|)"), name("`([^`]+)`");
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("## ")) section = line.substr(3);
        std::string names, cell, one;
        if (!RE2::FullMatch(line, row, &names, &cell)) continue;
        if (const size_t bar = names.find('|'); bar != std::string::npos) { // the greedy match took the second cell, too
            cell = names.substr(bar + 1) + cell;
            names = names.substr(0, bar);
        }
        re2::StringPiece rest(names);
        while (RE2::FindAndConsume(&rest, name, &one)) {
            if (section == "Objects") page.objects[one] = fieldsOf(cell);
            if (section == "Answers") page.results[one].push_back(fieldsOf(cell));
        }
    }
    return page;
}

class Checker {
public:
    explicit Checker(const Page& page) : m_page(page) {}

    /// "" or what is wrong.
    std::string value(const json& value, std::string type) const
    {
        if (type.ends_with('?')) {
            if (value.is_null()) return "";
            type.pop_back();
        }
        if (type.starts_with('[')) {
            if (!value.is_array()) return "is no list";
            for (const json& item : value)
                if (std::string problem = this->value(item, type.substr(1, type.size() - 2)); !problem.empty()) return "item " + problem;
            return "";
        }
        if (type == "any") return "";
        if (type == "text") return value.is_string() ? "" : "is no text";
        if (type == "bool") return value.is_boolean() ? "" : "is no bool";
        if (type == "int") return value.is_number_integer() || value.is_string() ? "" : "is no int";
        if (type == "number") return value.is_number() || value == "nan" || value == "inf" || value == "-inf" ? "" : "is no number";
        const auto object = m_page.objects.find(type);
        return object == m_page.objects.end() ? "has the unknown type " + type : fields(value, object->second);
    }

    std::string fields(const json& object, const Fields& fields) const
    {
        if (!object.is_object()) return "is no object";
        std::set<std::string> known;
        for (const Field& field : fields) {
            known.insert(field.name);
            if (!object.contains(field.name)) {
                if (!field.isOptional) return "lacks '" + field.name + "'";
                continue;
            }
            if (std::string problem = value(object[field.name], field.type); !problem.empty()) return "'" + field.name + "' " + problem;
        }
        for (const auto& [key, item] : object.items())
            if (!known.contains(key)) return "has '" + key + "', of which the page says nothing";
        return "";
    }

private:
    const Page& m_page;
};

/// A debugger that answers with events.
class Debugged {
public:
    explicit Debugged(const std::vector<std::string>& words)
    {
        const Result<Arguments> arguments = parseArguments(*findCommand("debug"), words);
        EXPECT_TRUE(arguments.ok());
        Result<DebugSubject> subject = openSubject(*arguments);
        EXPECT_TRUE(subject.ok()) << subject.error().message();
        m_terminal = std::make_unique<Terminal>(std::move(subject).value(), TerminalSettings{},
                                                [this](const TerminalEvent& event) { m_events.tell(event, m_number); });
        m_terminal->prepare();
        m_events.flush(0);
    }

    /// The answers of a line, logs left out.
    std::vector<json> run(const std::string& line)
    {
        m_lines.clear();
        ++m_number;
        m_terminal->execute(line, LineOrigin::pipe);
        std::vector<json> answers;
        for (const std::string& text : m_lines) {
            json event = json::parse(text, nullptr, false);
            EXPECT_FALSE(event.is_discarded()) << text;
            EXPECT_EQ(event["schema"], 1);
            EXPECT_EQ(event["re"], m_number) << text;
            if (event["event"] != "log") answers.push_back(std::move(event));
        }
        return answers;
    }

private:
    std::vector<std::string> m_lines;
    JsonEvents m_events{[this](const std::string& line) { m_lines.push_back(line); }};
    int64_t m_number = 0;
    std::unique_ptr<Terminal> m_terminal;
};

class JsonAnswers : public ::testing::Test {
protected:
    const Page page = readPage();
    const Checker checker{page};
    std::set<std::string> seen; ///< commands, and topics of info

    /// The line has one answer, which is as the page says.
    void expectAnswer(Debugged& debugged, const std::string& line)
    {
        const std::vector<json> answers = debugged.run(line);
        int own = 0;
        for (const json& answer : answers) own += answer.contains("by") ? 0 : 1;
        EXPECT_EQ(own, 1) << line;
        for (const json& answer : answers) check(answer, line);
    }

    void check(const json& answer, const std::string& line)
    {
        ASSERT_NE(answer["event"], "error") << line << ": " << answer["text"];
        std::string command = answer["command"];
        seen.insert(command);
        if (command.empty()) return;
        const json& result = answer["result"];
        if (command == "info" && result.contains("topic") && result["topic"].is_string()) command += " " + std::string(result["topic"]);
        seen.insert(command);
        const auto forms = page.results.find(command);
        ASSERT_NE(forms, page.results.end()) << command << " is not on the page";
        std::string problem = "no row";
        for (const Fields& fields : forms->second)
            if (!problem.empty()) problem = checker.fields(result, fields);
        EXPECT_EQ(problem, "") << line << ": " << result;
        if (answer["event"] != "stopped") return;
        for (const auto& [key, type] : {std::pair{"reasons", "[reason]"},
                                        {"address", "text"},
                                        {"step", "int"},
                                        {"iteration", "int?"},
                                        {"timeline", "int"},
                                        {"changed", "[change]"},
                                        {"displays", "[shown]"}})
            EXPECT_EQ(answer.contains(key) ? checker.value(answer[key], type) : "is missing", "") << line << ": " << key;
    }
};

/// Every command, and every topic of info, at a place where it has something to say.
constexpr const char* kLines = R"lines(
input x=27
set x = 27
info
info inputs
info outputs
info model
info graphs
info graph
info operators
info constants
info variables
info devices
info record
start
break .../if#2 if n > 1000
tbreak exit while#0
watch .../next_n
rwatch .../rest
awatch .../next_n
log .../if#2 "n is $(n)"
condition 1 n > 2000
ignore 1 1
commands 1
print n
end
disable 3
enable 3
delete 3
disable
enable 1
display n
run
print n, prev(n)
x/4 n
whatis n + 1
undisplay
display iter
undisplay 2
mark here
note seen
marks
list
backtrace
up
down
frame
info operator
info locals
info carried
info breakpoints
info displays
info checkpoints
info loop
info frame
info races
info memory
info time
info line
iter
iter -1
step
next
finish
reverse-step
reverse-next
reverse-finish
goto main/while#0@5:body/if#2
until
goto start
advance .../if#2
back
forward
goto main/while#0@5:body/if#2
lastwrite n
lastchange n
nextwrite n
nextchange n -g
why loop
hist n
delete
set option digits 5
$kept = n * 2
set n = 7
timelines
info timelines
switch 1
reverse-continue
continue
define both
print 1
print 2
end
both
# nothing
help
help break
apropos loop
)lines";

TEST_F(JsonAnswers, of_every_command_are_what_the_page_says)
{
    const ScratchFolder scratch;
    const std::string file = scratch.path("session");
    Debugged loop({"samples/text/collatz.lsir", "-i", "x=27"});
    std::istringstream lines(kLines);
    for (std::string line; std::getline(lines, line);) expectAnswer(loop, line);
    for (const std::string& line :
         {"save " + file + ".ls", "load " + file + ".ls", "source " + file + ".ls", "record on " + file + ".lstrace", std::string("run"),
          std::string("record"), std::string("record off"), std::string("quit")})
        expectAnswer(loop, line);

    Debugged frames({"samples/text/v1_collatz.lsir", "-i", "n=6"});
    for (const char* const line : {"start", "step 9", "frames", "tokens", "ready", "dead", "order 7"}) expectAnswer(frames, line);

    Debugged given({"tests/cli/no_kernel.lsir", "-i", "x=[1.0,2.0]"});
    for (const char* const line : {"start", "give custom#1 = 1"}) expectAnswer(given, line);

    Debugged against({"samples/text/layers_int8.lsir", "-i", "x=@7", "--against", "samples/text/layers_float.lsir"});
    for (const char* const line : {"start", "step", "compare", "drift", "info against"}) expectAnswer(against, line);

    for (const TerminalCommand& command : terminalCommands()) EXPECT_TRUE(seen.contains(std::string(command.name))) << command.name;
    for (const auto& [command, forms] : page.results) EXPECT_TRUE(seen.contains(command)) << command << " is on the page";
}

TEST_F(JsonAnswers, of_errors_say_what_was_found)
{
    Debugged loop({"samples/text/collatz.lsir", "-i", "x=27"});
    const std::vector<json> answers = loop.run("prnt x");
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0]["event"], "error");
    EXPECT_EQ(answers[0]["result"], json::object());
    EXPECT_EQ(checker.value(answers[0]["error"], "failure"), "");
    EXPECT_EQ(answers[0]["error"]["nearest"][0], "print");
}

TEST_F(JsonAnswers, of_what_a_breakpoint_runs_follow_its_stop)
{
    Debugged loop({"samples/text/collatz.lsir", "-i", "x=27"});
    for (const char* const line : {"start", "break .../if#2", "commands", "print n", "end"}) expectAnswer(loop, line);
    const std::vector<json> answers = loop.run("continue");
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_EQ(answers[0]["event"], "stopped");
    EXPECT_EQ(answers[0]["command"], "continue");
    EXPECT_EQ(answers[1]["command"], "print");
    EXPECT_EQ(answers[1]["by"], "breakpoint");
    EXPECT_EQ(answers[1]["result"]["values"][0]["tensor"]["data"][0], 27);
}

} // namespace
} // namespace loopscope::app
