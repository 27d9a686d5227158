// Regular expressions of `matches`. Matching takes time proportional to text times pattern, whatever the pattern, and allocates nothing
// after the first time: a condition must not be able to stop the debugger.
#pragma once

#include "engine/base/result.h"

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

namespace loopscope {

/// Literals, `.`, `[a-z]`, `[^…]`, `\d \w \s` and their capitals, `\n \t`, `( )`, `|`, `* + ?`, `^`, `$`. Bytes, not characters.
class TextPattern {
public:
    /// Errors: usage, without a place.
    static Result<TextPattern> compile(std::string_view pattern);
    /// Whether it matches anywhere in `text`.
    bool search(std::string_view text);

private:
    friend class TextPatternParser;
    enum class Kind : uint8_t { bytes, split, jump, begin, end, match };
    /// One instruction of a Thompson automaton.
    struct State {
        Kind kind = Kind::match;
        uint32_t next = 0, other = 0;
        std::bitset<256> set;
    };
    void follow(uint32_t state, size_t at, size_t size, std::vector<uint32_t>& list);

    std::vector<State> m_states;
    uint32_t m_start = 0;
    std::vector<uint32_t> m_now, m_then, m_stack;
    std::vector<uint64_t> m_mark; ///< generation in which a state was last listed
    uint64_t m_generation = 0;
    bool m_matched = false;
};

} // namespace loopscope
