// Regular expressions of `matches`.
#include "engine/debug/expression/text_pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace loopscope {
namespace {

bool matches(std::string_view pattern, std::string_view text)
{
    auto compiled = TextPattern::compile(pattern);
    EXPECT_TRUE(compiled.ok()) << pattern;
    return compiled.ok() && compiled->search(text);
}

TEST(TextPattern, Matches)
{
    EXPECT_TRUE(matches("", ""));
    EXPECT_TRUE(matches("b+c?d", "abbd"));
    EXPECT_FALSE(matches("^b", "ab"));
    EXPECT_TRUE(matches("(cat|dog)s*$", "two dogss"));
    EXPECT_FALSE(matches("(cat|dog)s*$", "dogs bark"));
    EXPECT_TRUE(matches("[^a-c]", "abcd"));
    EXPECT_FALSE(matches("[^a-c]", "abc"));
    EXPECT_TRUE(matches("\\w+\\.\\w+", "a file.txt"));
    EXPECT_FALSE(matches("a.c", "a\nc"));
    EXPECT_TRUE(matches("(a*)*b", "aaab"));
}

TEST(TextPattern, TakesLinearTime) { EXPECT_FALSE(matches("(a*)*(a*)*(a|a)*b", std::string(20000, 'a'))); }

TEST(TextPattern, RefusesWhatIsMalformed)
{
    for (const char* bad : {"(", ")", "[a", "*", "a{2}", "\\", "[b-a]"}) EXPECT_FALSE(TextPattern::compile(bad).ok()) << bad;
}

} // namespace
} // namespace loopscope
