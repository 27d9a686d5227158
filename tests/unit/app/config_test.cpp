// The configuration file: defaults, aliases, and what is wrong with it.
#include "app/wiring/config.h"

#include "app/commands/commands.h"

#include "engine/base/cpu_level.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loopscope::app {
namespace {

using testing::HasSubstr;

TEST(Config, defaults_and_aliases)
{
    const auto config = parseConfig("c.toml", "# mine\n[defaults]\ncolor = \"never\"   # a comment\nseed = 7\ntime = true\n\n[aliases]\nt "
                                              "= \"trace --level values\"\n[debug]\nhistory = 10\n");
    ASSERT_TRUE(config.ok()) << config.error().message();
    EXPECT_TRUE(config->warnings.empty());
    EXPECT_THAT(expandAlias(*config, {"t", "m.tflite"}), testing::ElementsAre("trace", "--level", "values", "m.tflite"));
    EXPECT_THAT(expandAlias(*config, {"trace", "t"}), testing::ElementsAre("trace", "t"));

    Arguments given;
    given.set("seed", {"3"});
    const std::vector<std::string> applied = applyDefaults(*config, *findCommand("run"), given);
    EXPECT_THAT(applied, testing::ElementsAre("color = never (c.toml)", "time = true (c.toml)"));
    EXPECT_EQ(given.text("seed"), "3");
    EXPECT_TRUE(given.has("time"));
    Arguments others;
    applyDefaults(*config, *findCommand("info"), others);
    EXPECT_FALSE(others.has("time")); // info does not take it
}

TEST(Config, the_debugger_has_a_section)
{
    const auto config =
        parseConfig("c.toml", "[debug]\nhistory = 50\ncontext = 9 # lines\nstartup = [\"display iter\", \"break nan\"]\ncontxt = 1\n");
    ASSERT_TRUE(config.ok()) << config.error().message();
    EXPECT_EQ(config->debug.history, 50);
    EXPECT_EQ(config->debug.context, 9);
    EXPECT_EQ(config->debug.startup, (std::vector<std::string>{"display iter", "break nan"}));
    ASSERT_EQ(config->warnings.size(), 1U);
    EXPECT_THAT(config->warnings[0], HasSubstr("c.toml:5: unknown key 'contxt' of [debug]; did you mean 'context'?"));
    EXPECT_FALSE(parseConfig("c.toml", "[debug]\nhistory = many\n").ok());
    EXPECT_FALSE(parseConfig("c.toml", "[debug]\nstartup = [\"a\"\n").ok());
}

TEST(Config, unknown_keys_are_warnings_with_the_nearest)
{
    const auto config = parseConfig("c.toml", "[defaults]\ncolour = \"auto\"\n[alias]\nx = 1\n");
    ASSERT_TRUE(config.ok());
    ASSERT_EQ(config->warnings.size(), 2U);
    EXPECT_THAT(config->warnings[0], HasSubstr("c.toml:2: unknown option 'colour'; did you mean 'color'?"));
    EXPECT_THAT(config->warnings[1], HasSubstr("unknown section 'alias'; did you mean 'aliases'?"));
}

TEST(Config, malformed_lines_are_errors)
{
    const auto message = [](const char* text) {
        const auto config = parseConfig("c.toml", text);
        return config.ok() ? "" : config.error().message();
    };
    EXPECT_THAT(message("[defaults\n"), HasSubstr("c.toml:1: expected ']'"));
    EXPECT_THAT(message("\nwords\n"), HasSubstr("c.toml:2: expected KEY = VALUE"));
    EXPECT_THAT(message("[aliases]\nt = \"open\n"), HasSubstr("string does not end"));
    EXPECT_THAT(message("[aliases]\nt = \"a\" b\n"), HasSubstr("unexpected 'b'"));
    EXPECT_THAT(message("[defaults]\nseed =\n"), HasSubstr("expected a value"));
}

TEST(Config, anUnknownLevelOfInstructionsIsRefused)
{
    ASSERT_EQ(setenv(kCpuLevelVariable, "avx1024", 1), 0); // NOLINT(concurrency-mt-unsafe): tests run one by one
    const auto config = loadConfig();
    unsetenv(kCpuLevelVariable); // NOLINT(concurrency-mt-unsafe)
    ASSERT_FALSE(config.ok());
    EXPECT_THAT(config.error().message(), testing::AllOf(HasSubstr("LOOPSCOPE_CPU"), HasSubstr("avx1024"), HasSubstr("avx512vnni")));
}

} // namespace
} // namespace loopscope::app
