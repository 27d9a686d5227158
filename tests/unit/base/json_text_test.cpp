// Strings of JSON from text that files hold.
#include "engine/base/json_text.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

TEST(JsonQuoted, escapes_what_json_and_terminals_need)
{
    EXPECT_EQ(jsonQuoted(""), R"("")");
    EXPECT_EQ(jsonQuoted(R"(a "b" \c)"), R"("a \"b\" \\c")");
    EXPECT_EQ(jsonQuoted("x\ny\tz"), R"("x\ny\tz")");
    EXPECT_EQ(jsonQuoted(std::string_view("\0\x1b[2J\x7f", 6)), R"("\u0000\u001b[2J\u007f")");
    EXPECT_EQ(jsonQuoted("größe \xc2\x9b"), R"("größe \u009b")");
}

TEST(JsonQuoted, replaces_bytes_that_are_no_text)
{
    EXPECT_EQ(jsonQuoted("a\xff"
                         "b"),
              "\"a\xef\xbf\xbd"
              "b\"");
    EXPECT_EQ(jsonQuoted("\xc3"), "\"\xef\xbf\xbd\"");
}

} // namespace
} // namespace loopscope
