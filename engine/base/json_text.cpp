#include "engine/base/json_text.h"

#include "engine/base/visible_text.h"

namespace loopscope {

std::string jsonQuoted(std::string_view text)
{
    std::string out = "\"";
    for (size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            constexpr std::string_view digits = "0123456789abcdef";
            out += "\\u00";
            out += digits[static_cast<size_t>(c) >> 4];
            out += digits[static_cast<size_t>(c) & 15];
        } else if (const size_t length = utf8Length(text, at); length > 0) {
            out += visibleText(text.substr(at, length), LineBreaks::escaped); // `\u009b`: what JSON wants, too
            at += length;
            continue;
        } else {
            out += "\xef\xbf\xbd";
        }
        ++at;
    }
    return out + '"';
}

} // namespace loopscope
