// Replays the examples of the debugger's pages: blocks that begin with `$ loopscope debug …` and hold prompts with replies. What is printed
// must be exactly what the page says, prompts included.
#include "app/commands/commands.h"
#include "app/terminal/terminal.h"
#include "app/wiring/subject.h"
#include "engine/base/bytes.h"
#include "engine/device/vulkan_device.h"

#include <gtest/gtest.h>
#include <re2/re2.h>
#include <sstream>
#include <string>
#include <vector>

namespace loopscope::app {
namespace {

struct Example {
    std::string page;
    size_t line = 0;
    std::vector<std::string> words; ///< after `loopscope debug`
    std::string begin;              ///< what is printed before the first prompt
    struct Exchange {
        std::string prompt, command, reply;
        size_t line = 0;
    };
    std::vector<Exchange> exchanges;
};

/// Words of a shell line with simple quotes.
std::vector<std::string> shellWords(const std::string& text)
{
    std::vector<std::string> words;
    std::string word;
    char quote = 0;
    bool open = false;
    for (const char c : text + " ") {
        if (quote != 0) {
            if (c == quote) quote = 0;
            else word += c;
        } else if (c == '\'' || c == '"') {
            quote = c;
            open = true;
        } else if (c == ' ') {
            if (!word.empty() || open) words.push_back(std::move(word));
            word.clear();
            open = false;
        } else {
            word += c;
        }
    }
    return words;
}

std::vector<Example> examplesOf(const std::string& page)
{
    const auto content = mapFile(page);
    std::vector<Example> examples;
    if (!content.ok()) return examples;
    std::istringstream in(std::string(content->as<char>(), content->size()));
    const std::string start = "    $ loopscope debug ";
    const RE2 prompt(R"(    (\((?:loop|replay)(?: r\d+)?\) |> )(.*))");
    bool inside = false;
    size_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        std::string shown, command;
        if (line.starts_with(start)) {
            examples.push_back({page, number, shellWords(line.substr(start.size())), "", {}});
            inside = true;
        } else if (inside && RE2::FullMatch(line, prompt, &shown, &command)) {
            examples.back().exchanges.push_back({shown, command, "", number});
        } else if (inside && line.starts_with("    ")) {
            (examples.back().exchanges.empty() ? examples.back().begin : examples.back().exchanges.back().reply) += line.substr(4) + "\n";
        } else {
            inside = false;
        }
    }
    return examples;
}

class DebuggingPages : public testing::TestWithParam<std::string> {};

/// Every example of a page, `options` behind the words of its command.
void replayPage(const std::string& page, const std::vector<std::string>& options)
{
    const std::vector<Example> examples = examplesOf(page);
    ASSERT_FALSE(examples.empty());
    for (const Example& example : examples) {
        const std::string place = example.page + ":" + std::to_string(example.line);
        std::vector<std::string> words = example.words;
        words.insert(words.end(), options.begin(), options.end());
        const Result<Arguments> arguments = parseArguments(*findCommand("debug"), words);
        ASSERT_TRUE(arguments.ok()) << place << ": " << arguments.error().message();
        Result<DebugSubject> subject = openSubject(*arguments);
        ASSERT_TRUE(subject.ok()) << place << ": " << subject.error().message();
        std::string printed;
        Terminal terminal(std::move(subject).value(), {}, [&](const TerminalEvent& event) { printed += event.text; });
        terminal.prepare();
        EXPECT_EQ(printed, example.begin) << place;
        ASSERT_FALSE(example.exchanges.empty()) << place;
        for (const Example::Exchange& exchange : example.exchanges) {
            EXPECT_EQ(terminal.prompt(), exchange.prompt) << example.page << ":" << exchange.line;
            printed.clear();
            terminal.execute(exchange.command, LineOrigin::prompt);
            EXPECT_EQ(printed, exchange.reply) << example.page << ":" << exchange.line << ": " << exchange.command;
        }
    }
}

TEST_P(DebuggingPages, replay) { replayPage(GetParam(), {}); }

/// What runs on a device stops, shows and goes back the same.
TEST_P(DebuggingPages, replayOnADevice)
{
    const Result<std::shared_ptr<VulkanDevice>> device = VulkanDevice::opened();
    if (!device.ok()) GTEST_SKIP() << device.error().message();
    replayPage(GetParam(), {"--backend", "vulkan"});
}

INSTANTIATE_TEST_SUITE_P(Cli, DebuggingPages,
                         testing::Values("README.md", "docs/breakpoints.md", "docs/dataflow.md", "docs/debugging.md",
                                         "docs/quantization_debugging.md", "docs/reference_runs.md", "docs/tensorflow.md"));

/// The promise of the page: a NaN of iteration 613 in five commands, backwards and forwards.
TEST(DebuggingPage, finds_a_nan_in_five_commands)
{
    const std::vector<Example> examples = examplesOf("docs/debugging.md");
    ASSERT_GE(examples.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(examples[i].exchanges.size(), 5u);
        std::string all;
        for (const Example::Exchange& exchange : examples[i].exchanges) all += exchange.reply;
        EXPECT_NE(all.find("main/while#0@613:body/div#4, step 5522"), std::string::npos);
    }
}

} // namespace
} // namespace loopscope::app
