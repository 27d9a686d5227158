// How SentencePiece makes the text that pieces are looked for in out of the text that it is given, and where each of its bytes came from.
#pragma once

#include "engine/base/result.h"
#include "engine/kernels/cpu/text/double_array.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

inline constexpr std::string_view kPieceSpace = "\xe2\x96\x81";  ///< what stands for a space: U+2581
inline constexpr std::string_view kReplacement = "\xef\xbf\xbd"; ///< U+FFFD

/// Bytes of the character that `lead` begins, if it does.
inline size_t pieceCharacter(std::string_view text)
{
    static constexpr uint8_t kLengths[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
    return std::min<size_t>(kLengths[static_cast<uint8_t>(text[0]) >> 4U], text.size());
}

/// Strings in order, each with a number, to be found at the beginning of a text.
class PieceTable {
public:
    void add(std::string_view piece, int32_t id) { m_entries.emplace_back(piece, id); }
    /// After the last add(). Errors: badFile for a piece that comes twice.
    Status sort();
    bool isEmpty() const { return m_entries.empty(); }
    int32_t find(std::string_view piece) const; ///< −1: none

    /// Calls found(length, id) for each that `text` begins with, the shortest first.
    template <typename F> void prefixesOf(std::string_view text, F&& found) const
    {
        auto first = m_entries.begin(), last = m_entries.end();
        for (size_t depth = 0; first != last; ++depth) {
            if (first->first.size() == depth) {
                if (depth > 0) found(depth, first->second);
                ++first;
            }
            if (depth == text.size()) return;
            const auto byte = static_cast<uint8_t>(text[depth]);
            const auto at = [depth](const Entry& entry) { return static_cast<uint8_t>(entry.first[depth]); };
            first = std::partition_point(first, last, [&](const Entry& entry) { return at(entry) < byte; });
            last = std::partition_point(first, last, [&](const Entry& entry) { return at(entry) == byte; });
        }
    }
    size_t longestPrefix(std::string_view text) const
    {
        size_t longest = 0;
        prefixesOf(text, [&](size_t length, int32_t) { longest = length; });
        return longest;
    }

private:
    using Entry = std::pair<std::string_view, int32_t>;
    std::vector<Entry> m_entries;
};

struct NormalText {
    std::string text;
    std::vector<size_t> origins; ///< of each byte, and of the end
};

class PieceNormalizer {
public:
    /// `spec`: a NormalizerSpec, which must outlive it. Errors: badFile.
    static Result<PieceNormalizer> read(std::string_view spec);

    /// Symbols that stay as they are.
    void keep(const PieceTable* symbols) { m_symbols = symbols; }
    void putSpaceBehind() { m_spaceBehind = true; }
    bool addsPrefix() const { return m_addsPrefix; }
    bool removesSpaces() const { return m_removesSpaces; }
    bool hasRules() const { return !m_rules.isEmpty(); }

    /// Errors: badFile if a rule names text that is not there.
    Result<NormalText> normalize(std::string_view text) const;

private:
    struct Step {
        std::string_view text;
        size_t consumed = 0;
    };
    Result<Step> step(std::string_view text) const;
    void addSpace(NormalText& out, size_t origin) const;
    void trim(NormalText& out, size_t& consumed) const;

    bool m_addsPrefix = true, m_removesSpaces = true, m_escapesSpaces = true, m_spaceBehind = false;
    DoubleArray m_rules;
    std::string_view m_replacements; ///< each ends with a 0
    const PieceTable* m_symbols = nullptr;
};

} // namespace loopscope
