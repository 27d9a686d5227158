#include "engine/kernels/cpu/text/piece_normalizer.h"

#include "engine/base/interruption.h"
#include "engine/base/visible_text.h"
#include "engine/base/wire_reader.h"

#include <algorithm>

namespace loopscope {

Status PieceTable::sort()
{
    std::ranges::sort(m_entries);
    const auto twice = std::ranges::adjacent_find(m_entries, {}, &Entry::first);
    if (twice == m_entries.end()) return {};
    return Error(ErrorCode::badFile, "a SentencePiece model defines the piece '" + std::string(twice->first) + "' twice");
}

int32_t PieceTable::find(std::string_view piece) const
{
    const auto found = std::ranges::lower_bound(m_entries, piece, {}, &Entry::first);
    return found != m_entries.end() && found->first == piece ? found->second : -1;
}

Result<PieceNormalizer> PieceNormalizer::read(std::string_view spec)
{
    PieceNormalizer normalizer;
    std::span<const uint8_t> rules;
    for (WireReader reader({reinterpret_cast<const uint8_t*>(spec.data()), spec.size()}); !reader.atEnd();) {
        const auto field = reader.field();
        if (!field) return Error(ErrorCode::badFile, "the rules of a SentencePiece model are damaged");
        if (field->number == 2) rules = field->bytes;
        if (field->number == 3) normalizer.m_addsPrefix = field->value != 0;
        if (field->number == 4) normalizer.m_removesSpaces = field->value != 0;
        if (field->number == 5) normalizer.m_escapesSpaces = field->value != 0;
    }
    if (rules.empty()) return normalizer;
    uint32_t trie = 0;
    if (rules.size() > sizeof trie) std::memcpy(&trie, rules.data(), sizeof trie);
    const size_t rest = rules.size() - std::min(rules.size(), sizeof trie);
    if (trie == 0 || trie >= rest || trie % sizeof(uint32_t) != 0)
        return Error(ErrorCode::badFile, "the rules of a SentencePiece model are damaged")
            .found("a trie of " + std::to_string(trie) + " bytes")
            .expected("less than " + std::to_string(rest));
    normalizer.m_rules = DoubleArray(std::as_bytes(rules).subspan(sizeof trie, trie));
    const auto texts = rules.subspan(sizeof trie + trie);
    normalizer.m_replacements = {reinterpret_cast<const char*>(texts.data()), texts.size()};
    return normalizer;
}

Result<PieceNormalizer::Step> PieceNormalizer::step(std::string_view text) const
{
    if (m_symbols)
        if (const size_t length = m_symbols->longestPrefix(text); length > 0) return Step{text.substr(0, length), length};
    size_t longest = 0;
    int32_t rule = 0;
    m_rules.prefixesOf(text, [&](size_t length, int32_t value) {
        longest = length;
        rule = value;
    });
    if (longest > 0) {
        const auto start = static_cast<size_t>(rule);
        const size_t end = start < m_replacements.size() ? m_replacements.find('\0', start) : std::string_view::npos;
        if (end == std::string_view::npos)
            return Error(ErrorCode::badFile, "a rule of a SentencePiece model names text that is not there").found(std::to_string(start));
        return Step{m_replacements.substr(start, end - start), longest};
    }
    const size_t length = utf8Length(text, 0);
    return length > 0 ? Step{text.substr(0, length), length} : Step{kReplacement, 1};
}

void PieceNormalizer::addSpace(NormalText& out, size_t origin) const
{
    const std::string_view space = m_escapesSpaces ? kPieceSpace : " ";
    out.text.append(space);
    out.origins.insert(out.origins.end(), space.size(), origin);
}

/// Takes spaces off the end.
void PieceNormalizer::trim(NormalText& out, size_t& consumed) const
{
    const std::string_view space = m_escapesSpaces ? kPieceSpace : " ";
    while (out.text.ends_with(space)) {
        const size_t length = out.text.size() - space.size();
        consumed = out.origins[length];
        out.text.resize(length);
        out.origins.resize(length);
    }
}

Result<NormalText> PieceNormalizer::normalize(std::string_view text) const
{
    NormalText out;
    size_t consumed = 0;
    LoopPace pace;
    const auto take = [&](size_t bytes) {
        consumed += bytes;
        text.remove_prefix(bytes);
        pace.did(16);
    };
    while (m_removesSpaces && !text.empty()) {
        LS_TRY(const Step first, step(text));
        if (first.text != " ") break;
        take(first.consumed);
    }
    if (text.empty()) return out;
    out.text.reserve(text.size() + text.size() / 4);
    out.origins.reserve(text.size() + text.size() / 4);
    if (!m_spaceBehind && m_addsPrefix) addSpace(out, consumed);
    for (bool afterSpace = m_removesSpaces; !text.empty();) {
        LS_TRY(const Step next, step(text));
        std::string_view part = next.text;
        while (afterSpace && part.starts_with(' ')) part.remove_prefix(1);
        for (const char byte : part) {
            if (byte == ' ') addSpace(out, consumed);
            else {
                out.text.push_back(byte);
                out.origins.push_back(consumed);
            }
        }
        if (!part.empty()) afterSpace = part.ends_with(' ');
        take(next.consumed);
        afterSpace = afterSpace && m_removesSpaces;
    }
    if (m_removesSpaces) trim(out, consumed);
    if (m_spaceBehind && m_addsPrefix) addSpace(out, consumed);
    out.origins.push_back(consumed);
    return out;
}

} // namespace loopscope
