// Characters of UTF-8 one by one, where a text may be malformed: one error for each maximal part of a character, as ICU counts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace loopscope {

/// One character, or a malformed part.
struct TextCharacter {
    uint32_t code = 0;
    size_t bytes = 1;
    bool isMalformed = false;
};

inline TextCharacter readUtf8(std::string_view text)
{
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
    const uint8_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4) return {0, 1, true};
    uint32_t code = lead & (0xffU >> (length + 1));
    for (size_t i = 1; i < length; ++i) {
        // The second byte may be limited: no overlong forms, no surrogates, nothing beyond U+10FFFF.
        const uint8_t low = i == 1 && lead == 0xe0 ? 0xa0 : i == 1 && lead == 0xf0 ? 0x90 : 0x80;
        const uint8_t high = i == 1 && lead == 0xed ? 0x9f : i == 1 && lead == 0xf4 ? 0x8f : 0xbf;
        if (i >= text.size() || byte(i) < low || byte(i) > high) return {0, i, true};
        code = (code << 6) | (byte(i) & 0x3fU);
    }
    return {code, length};
}

/// What Unicode calls white space.
inline bool isWhiteSpace(uint32_t code)
{
    return (code >= 9 && code <= 13) || code == 0x20 || code == 0x85 || code == 0xa0 || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

} // namespace loopscope
