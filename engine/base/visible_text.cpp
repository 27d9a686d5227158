#include "engine/base/visible_text.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

bool isPlain(char c, LineBreaks breaks)
{
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20) return code < 0x7f;
    return breaks == LineBreaks::kept && (c == '\n' || c == '\t');
}

/// C1 controls, separators of lines and paragraphs, marks, embeddings, overrides and isolates of direction, the byte order mark.
bool isControl(uint32_t code)
{
    return (code >= 0x80 && code <= 0x9f) || code == 0x61c || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb);
}

uint32_t codePoint(std::string_view sequence)
{
    const auto lead = static_cast<unsigned char>(sequence.front());
    uint32_t code = sequence.size() == 2 ? lead & 0x1fU : sequence.size() == 3 ? lead & 0x0fU : lead & 0x07U;
    for (const char c : sequence.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fU);
    return code;
}

void appendHex(std::string& out, uint32_t code, int digits)
{
    for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) out += kDigits[code >> shift & 15U];
}

} // namespace

size_t utf8Length(std::string_view text, size_t at)
{
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(at);
    const size_t length = lead < 0x80                   ? 1
                          : lead >= 0xc2 && lead < 0xe0 ? 2
                          : lead >= 0xe0 && lead < 0xf0 ? 3
                          : lead >= 0xf0 && lead < 0xf5 ? 4
                                                        : 0;
    if (length == 0 || at + length > text.size()) return 0;
    for (size_t i = 1; i < length; ++i)
        if ((byte(at + i) & 0xc0) != 0x80) return 0;
    if ((lead == 0xe0 && byte(at + 1) < 0xa0) || (lead == 0xed && byte(at + 1) > 0x9f)) return 0;
    if ((lead == 0xf0 && byte(at + 1) < 0x90) || (lead == 0xf4 && byte(at + 1) > 0x8f)) return 0;
    return length;
}

bool isVisible(std::string_view text, LineBreaks breaks)
{
    if (std::all_of(text.begin(), text.end(), [breaks](char c) { return isPlain(c, breaks); })) return true;
    for (size_t at = 0; at < text.size();) {
        if (isPlain(text[at], breaks)) {
            ++at;
            continue;
        }
        const size_t length = utf8Length(text, at);
        if (length < 2 || isControl(codePoint(text.substr(at, length)))) return false;
        at += length;
    }
    return true;
}

std::string visibleText(std::string_view text, LineBreaks breaks)
{
    std::string out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const char c = text[at];
        const size_t length = isPlain(c, breaks) ? 1 : utf8Length(text, at);
        const std::string_view sequence = text.substr(at, std::max<size_t>(length, 1));
        at += sequence.size();
        if (isPlain(c, breaks)) {
            out += c;
        } else if (length < 2) {
            if (c == '\n') out += "\\n";
            else if (c == '\t') out += "\\t";
            else appendHex(out += "\\x", static_cast<unsigned char>(c), 2);
        } else if (const uint32_t code = codePoint(sequence); !isControl(code)) {
            out += sequence;
        } else {
            appendHex(out += "\\u", code, 4);
        }
    }
    return out;
}

} // namespace loopscope
