// Text that may be shown: what files and inputs call things may hold bytes that a terminal obeys (escape sequences that rewrite the screen
// or its title, controls that turn the direction of writing). Whoever prints passes it through here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace loopscope {

enum class LineBreaks : uint8_t {
    kept,   ///< line feeds and tabs stay: a text of several lines
    escaped ///< they are written out as well: a name, a message, an attribute of XML
};

/// Length of the UTF-8 sequence that begins at `at`, or 0 if it is none.
size_t utf8Length(std::string_view text, size_t at);
/// True if no byte of `text` needs writing out.
bool isVisible(std::string_view text, LineBreaks breaks);
/// `text` with what is no character to be seen written out: `\x1b` for controls and for bytes that are no UTF-8, `\u009b` for the controls
/// of Unicode (C1, separators of lines, directions of writing).
std::string visibleText(std::string_view text, LineBreaks breaks);

} // namespace loopscope
