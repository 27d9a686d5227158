// Regular expressions of TensorFlow's text operators: the syntax and the matches of RE2, which is what TensorFlow uses. Time is proportional
// to text times pattern, whatever the pattern.
#pragma once

#include "engine/base/result.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

/// Texts are UTF-8. `. [a-z] [^a-z] [[:alpha:]] \d \s \w \b ^ $ ( ) (?: ) (?P<name> ) | * + ? {m,n}`, lazy forms, the flags i, m and s.
/// Not `\p{…}`; (?i) knows the cases of ASCII letters only.
class RegularExpression {
public:
    static constexpr size_t kGroups = 10; ///< \0 … \9: what a rewrite may name
    /// Of each group where it begins and ends; npos: it took no part.
    using Match = std::array<std::pair<size_t, size_t>, kGroups>;

    /// Errors: InvalidArgument in RE2's words; unsupported.
    static Result<RegularExpression> compile(std::string_view pattern);
    /// The leftmost match that begins at `from` or later; among those the one that a backtracking search would find first.
    std::optional<Match> search(std::string_view text, size_t from) const;
    /// Whether all of `text` matches.
    bool matchesAll(std::string_view text) const;
    /// `text` with the first match, or all, replaced by `rewrite`, in which \0 … \9 are groups and \\ is a backslash. As RE2 does, a rewrite
    /// with a group that the pattern does not have changes nothing.
    std::string replaced(std::string_view text, std::string_view rewrite, bool all) const;

    struct Ranges {
        std::vector<std::pair<uint32_t, uint32_t>> list; ///< of code points, both ends included
        bool has(uint32_t rune) const;
    };
    enum class Kind : uint8_t { runes, split, save, beginText, endText, beginLine, endLine, boundary, noBoundary, match };
    /// One instruction: `runes` goes on to `next` past a code point of ranges[index], `save` notes the place in slot `index`.
    struct Instruction {
        Kind kind = Kind::match;
        uint32_t next = 0, other = 0; ///< split: `next` is preferred
        uint32_t index = 0;
    };

private:
    std::optional<Match> run(std::string_view text, size_t from, bool isWhole) const;

    std::vector<Instruction> m_code; ///< begins at 0
    std::vector<Ranges> m_ranges;
    size_t m_groups = 0;
};

} // namespace loopscope
