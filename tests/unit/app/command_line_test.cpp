// The command line: options anywhere, near names in messages, numbers, and tables that fit together.
#include "app/commands/commands.h"
#include "app/wiring/command_line.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace loopscope::app {
namespace {

Result<Arguments> parse(const char* command, std::vector<std::string> words) { return parseArguments(*findCommand(command), words); }

std::string messageOf(const char* command, std::vector<std::string> words)
{
    const auto arguments = parse(command, std::move(words));
    return arguments.ok() ? "" : arguments.error().message();
}

TEST(CommandLine, options_stand_anywhere_and_repeat)
{
    const auto a = parse("run", {"-i", "x=27", "model.tflite", "--seed", "7", "--input=y=[1,2]", "--time"});
    ASSERT_TRUE(a.ok()) << a.error().message();
    EXPECT_THAT(a->positionals, testing::ElementsAre("model.tflite"));
    EXPECT_THAT(a->all("input"), testing::ElementsAre("x=27", "y=[1,2]"));
    EXPECT_EQ(*a->integer("seed", 1), 7);
    EXPECT_TRUE(a->has("time"));
    EXPECT_FALSE(a->has("force"));
    EXPECT_EQ(*a->integer("runs", 3), 3);
}

TEST(CommandLine, a_source_may_begin_with_a_bracket)
{
    const auto a = parse("run", {"m.tflite", "-i", "[1,2,3]"});
    ASSERT_TRUE(a.ok());
    EXPECT_THAT(a->all("input"), testing::ElementsAre("[1,2,3]"));
}

TEST(CommandLine, two_dashes_end_the_options)
{
    const auto a = parse("info", {"--", "--strange-name"});
    ASSERT_TRUE(a.ok()) << a.error().message();
    EXPECT_THAT(a->positionals, testing::ElementsAre("--strange-name"));
}

TEST(CommandLine, unknown_options_offer_near_names)
{
    EXPECT_EQ(messageOf("trace", {"m.tflite", "--iteration", "5"}),
              "unknown option '--iteration' for 'trace'; did you mean '--iterations'?");
    EXPECT_EQ(messageOf("info", {"m.tflite", "--zzzzzz"}), "unknown option '--zzzzzz' for 'info'");
}

TEST(CommandLine, missing_and_superfluous_words_show_the_usage)
{
    EXPECT_THAT(messageOf("run", {}), testing::HasSubstr("loopscope run MODEL"));
    EXPECT_THAT(messageOf("info", {"a", "b"}), testing::HasSubstr("unexpected 'b'"));
    EXPECT_THAT(messageOf("run", {"m", "--seed"}), testing::HasSubstr("'--seed' needs a value"));
    EXPECT_THAT(messageOf("run", {"m", "--seed", "1", "--seed", "2"}), testing::HasSubstr("2 times"));
}

TEST(CommandLine, numbers_may_be_written_with_an_exponent_and_have_ranges)
{
    const auto a = parse("run", {"m", "--max-steps", "1e9", "--runs", "0", "--seed", "many", "--max-depth", "1.5"});
    ASSERT_TRUE(a.ok());
    EXPECT_EQ(*a->integer("max-steps", 1), 1'000'000'000);
    EXPECT_EQ(a->integer("runs", 1, 1).error().message(), "option '--runs', found '0', expected at least 1");
    EXPECT_EQ(a->integer("seed", 1).error().message(), "option '--seed', found 'many', expected a whole number");
    EXPECT_FALSE(a->integer("max-depth", 1).ok());
}

TEST(CommandLine, queries_take_free_parameters)
{
    const auto a = parse("query", {"t.lstrace", "value-per-iteration", "--op", "main/while#0/add#2", "--slot=1", "--limit", "3"});
    ASSERT_TRUE(a.ok()) << a.error().message();
    EXPECT_THAT(a->free, testing::ElementsAre(testing::Pair("op", "main/while#0/add#2"), testing::Pair("slot", "1")));
    EXPECT_EQ(*a->integer("limit", 40), 3);
    EXPECT_FALSE(parse("query", {"t", "q", "--op"}).ok());
}

TEST(CommandLine, every_command_is_whole)
{
    std::set<std::string_view> names;
    for (const CommandSpec& command : allCommands()) {
        EXPECT_TRUE(names.insert(command.name).second) << command.name;
        EXPECT_TRUE(command.synopsis.starts_with(command.name)) << command.name;
        EXPECT_THAT(std::string(command.example), testing::HasSubstr("loopscope")) << command.name;
        EXPECT_NE(command.run, nullptr) << command.name;
        for (std::string_view option : command.options) EXPECT_NE(findOption(option), nullptr) << command.name << " " << option;
        EXPECT_THAT(commandHelp(command), testing::HasSubstr("usage: loopscope " + std::string(command.name)));
        EXPECT_THAT(overviewText(), testing::HasSubstr("    " + std::string(command.name) + " "));
    }
}

TEST(CommandLine, every_option_is_taken_by_some_command)
{
    for (const OptionSpec& option : allOptions()) {
        const bool taken = option.name == "version" || std::ranges::find(globalOptions(), option.name) != globalOptions().end() ||
                           std::ranges::any_of(allCommands(), [&](const CommandSpec& c) {
                               return std::ranges::find(c.options, option.name) != c.options.end();
                           });
        EXPECT_TRUE(taken) << option.name;
    }
}

TEST(CommandLine, completion_knows_commands_options_and_recipes)
{
    const std::string script = bashCompletion();
    for (const char* word : {"trace", "--iterations", "branch-counts", "complete -o filenames -F _loopscope loopscope"})
        EXPECT_THAT(script, testing::HasSubstr(word));
}

} // namespace
} // namespace loopscope::app
