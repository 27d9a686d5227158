// Transcripts: what the program prints, on stdout and stderr together, and its exit codes. `*.transcript` files hold `$ command` lines,
// each followed by what it must print, matched as in text tests (`...`, `{{regex}}`); `[exit N]` ends the reply of a command that must not
// give 0. Commands run in the top folder with $T, an empty folder of their own, and `loopscope` in the path. Of pages of the documentation
// the indented blocks run that begin with `$`, in a folder of their own that holds samples/ and nothing else.
#include "app/check/ltest_file.h"
#include "engine/base/bytes.h"
#include "engine/device/vulkan_device.h"
#include "tests/scratch.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace loopscope::app {
namespace {

struct Command {
    size_t line = 0;
    std::string text;
    std::vector<std::string> reply;
    int exitCode = 0;
};

std::vector<Command> readTranscript(const std::string& path)
{
    std::vector<Command> commands;
    const auto content = mapFile(path);
    if (!content.ok()) return commands;
    const bool isPage = path.ends_with(".md");
    bool inside = false; // of a page: an indented block
    size_t number = 0;
    for (std::string& line : splitLines(std::string_view(content->as<char>(), content->size()))) {
        ++number;
        if (isPage) {
            const bool isIndented = line.starts_with("    ");
            if (isIndented) line.erase(0, 4);
            inside = isIndented && (inside || line.starts_with("$ "));
            if (!inside) continue;
        } else if (line.starts_with("#")) {
            continue;
        }
        if (line.starts_with("$ ")) {
            commands.push_back({number, line.substr(2), {}, 0});
        } else if (!commands.empty()) {
            if (line.starts_with("[exit ")) commands.back().exitCode = std::atoi(line.c_str() + 6);
            else commands.back().reply.push_back(std::move(line));
        }
    }
    for (Command& command : commands)
        while (!command.reply.empty() && command.reply.back().empty()) command.reply.pop_back();
    return commands;
}

class Transcript : public testing::TestWithParam<std::string> {};

TEST_P(Transcript, repeats)
{
    if (GetParam().starts_with("tests/gpu/") && !vulkanDevices().ok()) GTEST_SKIP() << "no Vulkan device";
    const ScratchFolder scratch;
    const std::string& folder = scratch.path();
    const char* program = std::getenv("LOOPSCOPE");
    ASSERT_NE(program, nullptr) << "set LOOPSCOPE to the program";
    const std::string binary = std::filesystem::path(program).parent_path().string();
    const std::vector<Command> commands = readTranscript(GetParam());
    EXPECT_FALSE(commands.empty()) << GetParam();
    std::string begin;
    if (GetParam().ends_with(".md")) {
        std::filesystem::create_directory_symlink(std::filesystem::absolute("samples"), folder + "/samples");
        begin = "cd '" + folder + "'; ";
    }
    for (const Command& command : commands) {
        const std::string shell = "export T='" + folder + "' PATH='" + binary + "':\"$PATH\"; unset NO_COLOR CLICOLOR_FORCE COLUMNS; " +
                                  begin + "{ " + command.text + "\n} 2>&1";
        FILE* pipe = popen(("bash -c '" +
                            [&] {
                                std::string quoted;
                                for (char c : shell) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
                                return quoted;
                            }() +
                            "'")
                               .c_str(),
                           "r");
        ASSERT_NE(pipe, nullptr);
        std::string output;
        std::array<char, 4096> buffer = {};
        while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), n);
        const int status = pclose(pipe);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), command.exitCode) << GetParam() << ":" << command.line << ": " << command.text << "\n" << output;
        const std::string difference = matchReply(command.reply, splitLines(output));
        EXPECT_EQ(difference, "") << GetParam() << ":" << command.line << ": " << command.text << "\n" << output;
    }
}

std::vector<std::string> transcripts()
{
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator("tests/cli"))
        if (entry.path().extension() == ".transcript") paths.push_back(entry.path().string());
    std::sort(paths.begin(), paths.end());
    paths.emplace_back("tests/gpu/faults.transcript");
    paths.emplace_back("docs/proving.md");
    paths.emplace_back("docs/tracing.md");
    return paths;
}

INSTANTIATE_TEST_SUITE_P(Cli, Transcript, testing::ValuesIn(transcripts()),
                         [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

} // namespace
} // namespace loopscope::app
