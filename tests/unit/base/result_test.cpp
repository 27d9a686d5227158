// Errors in words.
#include "engine/base/result.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

TEST(ErrorMessage, names_the_thing_what_is_there_and_what_should_be)
{
    const Error error = Error(ErrorCode::badFile, "count").at("m.pb").found("3").expected("4");
    EXPECT_EQ(error.message(), "m.pb: count, found 3, expected 4");
}

TEST(ErrorMessage, is_one_line_whatever_a_file_calls_things)
{
    const Error error = Error(ErrorCode::badFile, "unknown input node 'a\nb\t\x1b[31mé'").at("node '\x7f'");
    EXPECT_EQ(error.message(), "node '\\x7f': unknown input node 'a\\nb\\t\\x1b[31mé'");
}

} // namespace
} // namespace loopscope
