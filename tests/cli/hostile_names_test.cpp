// Names that would rewrite the terminal: every string of a model holds escape sequences, in eight bits and as characters, and every command
// that could print one is run. What comes out may show them, it must not contain them.
#include "engine/base/visible_text.h"
#include "tests/scratch.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace loopscope::app {
namespace {

/// `#` stands for a title sequence, a C1 control, a bare carriage return, a delete and an override of direction.
constexpr std::string_view kEvil = R"(\x1b]0;evil\x07\xc2\x9b31m\x9b\x0d\x7f\xe2\x80\xae)";

constexpr std::string_view kModel = R"(lsir 1
model tfl description="d#" schema=3
signature "s#" @"main#"("x#"="x#") -> ("y#"="y#")
metadata "m#" "data#"
graph "main#"("x#": i32[], "t#": str[1]) {
  "label#" = const str[1] ["text#"]
  "zero#" = const i32[] 0
  "i#", "y#" = while("zero#", "x#") body=@"body#" cond=@"cond#" : (i32[], i32[])
  return "y#", "label#"
}
graph "cond#"("i#": i32[], "n#": i32[]) {
  "three#" = const i32[] 3
  "go#" = less("i#", "three#") : bool[]
  return "go#"
}
graph "body#"("i#": i32[], "n#": i32[]) {
  "one#" = const i32[] 1
  "i2#" = add("i#", "one#") : i32[]
  "n2#" = mul("n#", "one#") : i32[]
  return "i2#", "n2#"
}
names "body#" {
  "i2#" = "while#/add"
}
)";

constexpr std::string_view kMissing = R"(lsir 1
graph main("x#": f32[2]) {
  "y#" = custom."Op#"("x#") : f32[2]
  return "y#"
}
)";

constexpr std::string_view kBroken = R"(lsir 1
graph main("x#": f32[2]) {
  "y#" = add("x#", "nothing#") : f32[2]
  return "y#"
}
)";

constexpr std::string_view kGraph = R"(lsir 1
model tf producer=2474
graph main {
  "n#" = Placeholder() dtype=i32 shape=shape[] : i32[]
  "n/Enter#" = Enter("n#") T=i32 frame_name="frame#" is_constant=false parallel_iterations=10 : i32
  "m#" = Merge("n/Enter#", "next#") N=2 T=i32 : (i32, i32[])
  "one#" = Const(^"m#") dtype=i32 value=i32[] 1 : i32[]
  "more#" = NotEqual("m#", "one#") T=i32 incompatible_shape_error=true : bool
  "cond#" = LoopCond("more#") : bool
  "s#" = Switch("m#", "cond#") T=i32 _class=["loc:@#"] : (i32, i32)
  "exit#" = Exit("s#") T=i32 : i32
  "now#" = Identity("s#":1) T=i32 : i32
  "unit#" = Const(^"now#") dtype=i32 value=i32[] 1 : i32[]
  "less#" = Sub("now#", "unit#") T=i32 : i32
  "next#" = NextIteration("less#") T=i32 : i32
}
)";

/// What a terminal would obey, or nothing.
std::string controlIn(std::string_view output)
{
    if (isVisible(output, LineBreaks::kept)) return {};
    const std::string shown = visibleText(output, LineBreaks::kept);
    const size_t same = static_cast<size_t>(std::mismatch(output.begin(), output.end(), shown.begin(), shown.end()).first - output.begin());
    return "at byte " + std::to_string(same) + ": " + visibleText(output.substr(same > 60 ? same - 60 : 0, 120), LineBreaks::escaped);
}

class HostileNames : public testing::Test {
protected:
    void SetUp() override
    {
        for (const auto& [name, text] :
             {std::pair{"model.lsir", kModel}, {"missing.lsir", kMissing}, {"broken.lsir", kBroken}, {"graph.lsir", kGraph}}) {
            std::string hostile;
            for (const char c : text) hostile += c == '#' ? std::string(kEvil) : std::string(1, c);
            std::ofstream(m_folder + "/" + name) << hostile;
        }
        const char* program = std::getenv("LOOPSCOPE");
        ASSERT_NE(program, nullptr) << "set LOOPSCOPE to the program";
        m_program = program;
        m_program = std::filesystem::absolute(m_program).string();
    }
    void TearDown() override
    {
        // Most lines did come as far as the names: what prints none of them tests nothing.
        EXPECT_GE(m_shown * 10, m_lines * 6) << m_shown << " of " << m_lines;
    }

    /// stdout and stderr of a shell line in the folder, `loopscope` being the program.
    std::string output(const std::string& line)
    {
        const std::string shell = "cd '" + m_folder + "' && loopscope() { '" + m_program + "' \"$@\"; } && { " + line + "\n} 2>&1";
        FILE* pipe = popen(shell.c_str(), "r");
        std::string text;
        std::array<char, 4096> buffer = {};
        while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) text.append(buffer.data(), n);
        pclose(pipe);
        return text;
    }
    void expectEscaped(const std::string& line)
    {
        const std::string text = output(line);
        EXPECT_EQ(controlIn(text), "") << line;
        ++m_lines;
        m_shown += text.find("evil") != text.npos ? 1 : 0;
    }

    int m_lines = 0, m_shown = 0; ///< of expectEscaped, and those whose output had a hostile name

private:
    ScratchFolder m_scratch;
    std::string m_folder = m_scratch.path();
    std::string m_program;
};

TEST_F(HostileNames, reach_no_terminal_through_commands_on_models)
{
    output("loopscope convert model.lsir -o model.tflite; loopscope convert graph.lsir -o graph.pb; loopscope convert model.lsir -o "
           "model.circle");
    for (const char* file : {"model.lsir", "model.tflite", "model.circle", "graph.lsir", "graph.pb"}) {
        const std::string name(file);
        for (const char* line : {"info F", "info F --ops --tensors --metadata", "info F --json", "list F", "list F --structured",
                                 "list F --structured --numbers --addresses --origin --shapes --full", "list F --structured --json",
                                 "run F --input all=3 --input t=x --color always --time", "run F", "run F --json --input all=@1",
                                 "check F --verbose; loopscope list F", "diff F missing.lsir; loopscope list F nothing",
                                 "export-graph F -o g.svg --force; cat g.svg", "export-graph F -o g.dot --expand all --force; cat g.dot"}) {
            std::string command = "loopscope " + std::string(line);
            for (size_t at = command.find("F"); at != command.npos; at = command.find("F", at + name.size())) command.replace(at, 1, name);
            expectEscaped(command);
        }
    }
    for (const char* line : {"loopscope info missing.lsir", "loopscope run missing.lsir -i all=@1", "loopscope check missing.lsir",
                             "loopscope info broken.lsir", "loopscope run broken.lsir --json", "loopscope check broken.lsir"})
        expectEscaped(line);
}

TEST_F(HostileNames, reach_no_terminal_through_recordings)
{
    output("loopscope trace model.lsir -i all=@1 --level all -o a.lstrace; loopscope trace graph.lsir -i all=3 -o b.lstrace");
    for (const char* line :
         {"loopscope info a.lstrace", "loopscope list a.lstrace", "loopscope check a.lstrace --verbose; loopscope list a.lstrace",
          "loopscope query a.lstrace 'SELECT name FROM op'; loopscope query a.lstrace slowest; loopscope info a.lstrace --json",
          "loopscope query a.lstrace 'SELECT * FROM value' --json", "loopscope query a.lstrace 'SELECT * FROM value' --csv",
          "loopscope diff a.lstrace b.lstrace; loopscope list b.lstrace", "loopscope report a.lstrace -o a.html; cat a.html",
          "loopscope report b.lstrace -o b.html; cat b.html", "loopscope report a.lstrace -o a.md; cat a.md",
          "loopscope export a.lstrace -o a.csv; cat a.csv; loopscope info a.lstrace", "loopscope export a.lstrace -o a.json; cat a.json",
          "loopscope debug --trace a.lstrace --batch --ex -start --ex '-step 3' --ex -bt --ex -list --ex '-info model' --ex '-print x'"})
        expectEscaped(line);
}

TEST_F(HostileNames, reach_no_terminal_through_the_debugger)
{
    for (const char* file : {"model.lsir", "graph.lsir"}) {
        for (const char* option : {"", "--json", "--color always"}) {
            std::string line =
                "printf '%s\\n' start bt list 'list -' step step step info 'info breakpoints' 'info loop' 'info frame' "
                "'info inputs' 'info outputs' 'info values' 'info model' 'info display' 'why loop' 'why nan' 'hist *' frames "
                "tokens dead ready 'break nan born' 'watch i' 'break when' 'print nothing' 'x/4 x' 'log type add \"a\"' "
                "'note \x1b]0;evil' marks 'mark \x1b[31m' 'display iter' 'info breakpoints' continue 'goto end' outputs "
                "'record on' save lastwrite compare drift timelines | loopscope debug ";
            line += std::string(file) + " -i all=3 --max-steps 500 " + option;
            const std::string text = output(line);
            std::string plain;
            // Under --color the program's own styles are there; they begin and end as the console writes them.
            for (size_t at = 0; at < text.size(); ++at) {
                const bool styled =
                    std::string_view(option) == "--color always" && text[at] == '\x1b' && at + 1 < text.size() && text[at + 1] == '[';
                if (styled) at = text.find('m', at);
                else plain += text[at];
            }
            EXPECT_EQ(controlIn(plain), "") << line;
            EXPECT_NE(plain.find("evil"), plain.npos) << line << "\n" << plain;
        }
    }
}

} // namespace
} // namespace loopscope::app
