// What may be shown: nothing that a terminal obeys, everything that a person reads.
#include "engine/base/visible_text.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

constexpr LineBreaks kKept = LineBreaks::kept, kEscaped = LineBreaks::escaped;

TEST(VisibleText, plain_text_and_other_alphabets_stay)
{
    for (const char* text : {"", "add#2", "größe ≥ 3 · 日本語 😀", "a \\ b"}) {
        EXPECT_TRUE(isVisible(text, kEscaped)) << text;
        EXPECT_EQ(visibleText(text, kEscaped), text);
    }
}

TEST(VisibleText, controls_are_written_out)
{
    EXPECT_EQ(visibleText("\x1b[31m\x07\r\x7f", kKept), "\\x1b[31m\\x07\\x0d\\x7f");
    EXPECT_EQ(visibleText(std::string_view("\0", 1), kKept), "\\x00");
    EXPECT_EQ(visibleText("\xc2\x9b"
                          "31m",
                          kKept),
              "\\u009b31m");                                  // C1: CSI in one character
    EXPECT_EQ(visibleText("\xe2\x80\xae", kKept), "\\u202e"); // right-to-left override
    EXPECT_FALSE(isVisible("\xc2\x9b", kKept));
}

TEST(VisibleText, bytes_that_are_no_text_are_written_out)
{
    EXPECT_EQ(visibleText("\x9b", kKept), "\\x9b");                   // C1 in eight bits
    EXPECT_EQ(visibleText("\xc0\x9b", kKept), "\\xc0\\x9b");          // overlong
    EXPECT_EQ(visibleText("\xe2\x80", kKept), "\\xe2\\x80");          // cut off
    EXPECT_EQ(visibleText("\xed\xa0\x80", kKept), "\\xed\\xa0\\x80"); // half of a surrogate pair
}

TEST(VisibleText, line_breaks_are_kept_or_not)
{
    EXPECT_EQ(visibleText("a\n\tb", kKept), "a\n\tb");
    EXPECT_EQ(visibleText("a\n\tb", kEscaped), "a\\n\\tb");
    EXPECT_TRUE(isVisible("a\nb", kKept));
    EXPECT_FALSE(isVisible("a\nb", kEscaped));
}

} // namespace
} // namespace loopscope
