// Compiles to an automaton (Thompson 1968) and runs all its states at once.
#include "engine/debug/expression/text_pattern.h"

#include <string>

namespace loopscope {

namespace {

constexpr size_t kLongestPattern = 1000;
constexpr int kDeepestGroup = 50;

} // namespace

/// Recursive descent over the pattern; a fragment is a start state and the last state, whose `next` is open.
class TextPatternParser {
public:
    TextPatternParser(std::string_view text, TextPattern& pattern) : m_text(text), m_pattern(pattern) {}

    Status parse()
    {
        if (m_text.size() > kLongestPattern) return Error(ErrorCode::usage, "the regular expression is too long");
        LS_TRY(const Fragment all, parseAlternatives(0));
        if (m_at < m_text.size()) return Error(ErrorCode::usage, "the regular expression has a ')' too many");
        const uint32_t match = add(TextPattern::Kind::match);
        m_pattern.m_states[all.last].next = match;
        m_pattern.m_start = all.first;
        return {};
    }

private:
    struct Fragment {
        uint32_t first, last;
    };

    uint32_t add(TextPattern::Kind kind)
    {
        m_pattern.m_states.push_back({});
        m_pattern.m_states.back().kind = kind;
        return static_cast<uint32_t>(m_pattern.m_states.size() - 1);
    }
    void link(uint32_t from, uint32_t to) { m_pattern.m_states[from].next = to; }
    bool more() const { return m_at < m_text.size(); }

    Result<Fragment> parseAlternatives(int depth)
    {
        if (depth > kDeepestGroup) return Error(ErrorCode::usage, "the regular expression nests too deeply");
        LS_TRY(Fragment left, parseSequence(depth));
        while (more() && m_text[m_at] == '|') {
            ++m_at;
            LS_TRY(const Fragment right, parseSequence(depth));
            const uint32_t split = add(TextPattern::Kind::split);
            m_pattern.m_states[split].next = left.first;
            m_pattern.m_states[split].other = right.first;
            const uint32_t join = add(TextPattern::Kind::jump);
            link(left.last, join);
            link(right.last, join);
            left = {split, join};
        }
        return left;
    }

    Result<Fragment> parseSequence(int depth)
    {
        const uint32_t start = add(TextPattern::Kind::jump);
        Fragment all{start, start};
        while (more() && m_text[m_at] != '|' && m_text[m_at] != ')') {
            LS_TRY(const Fragment part, parseRepeated(depth));
            link(all.last, part.first);
            all.last = part.last;
        }
        return all;
    }

    Result<Fragment> parseRepeated(int depth)
    {
        LS_TRY(Fragment atom, parseAtom(depth));
        while (more() && (m_text[m_at] == '*' || m_text[m_at] == '+' || m_text[m_at] == '?')) {
            const char repeat = m_text[m_at++];
            const uint32_t split = add(TextPattern::Kind::split);
            const uint32_t join = add(TextPattern::Kind::jump);
            m_pattern.m_states[split].next = atom.first;
            m_pattern.m_states[split].other = join;
            link(atom.last, repeat == '?' ? join : split);
            atom = {repeat == '+' ? atom.first : split, join};
        }
        return atom;
    }

    /// The bytes that the escape \c stands for.
    static std::bitset<256> escaped(char c)
    {
        std::bitset<256> set;
        const char lower = static_cast<char>(c | 0x20);
        if (lower == 'd' || lower == 'w' || lower == 's') {
            for (int b = 0; b < 128; ++b) {
                const bool isDigit = b >= '0' && b <= '9';
                const bool isLetter = ((b | 0x20) >= 'a' && (b | 0x20) <= 'z') || b == '_';
                const bool isBlank = b == ' ' || (b >= '\t' && b <= '\r');
                set[static_cast<size_t>(b)] = lower == 'd' ? isDigit : lower == 'w' ? isDigit || isLetter : isBlank;
            }
            return c == lower ? set : ~set;
        }
        const char byte = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        set.set(static_cast<unsigned char>(byte));
        return set;
    }

    Result<std::bitset<256>> parseSet()
    {
        std::bitset<256> set;
        const bool isNegated = more() && m_text[m_at] == '^';
        if (isNegated) ++m_at;
        for (bool isFirst = true; isFirst || !more() || m_text[m_at] != ']'; isFirst = false) {
            if (!more()) return Error(ErrorCode::usage, "the regular expression has a '[' without ']'");
            const char c = m_text[m_at++];
            if (c == '\\' && more()) {
                set |= escaped(m_text[m_at++]);
                continue;
            }
            const bool isRange = m_at + 1 < m_text.size() && m_text[m_at] == '-' && m_text[m_at + 1] != ']';
            const auto low = static_cast<unsigned char>(c);
            const auto high = isRange ? static_cast<unsigned char>(m_text[m_at + 1]) : low;
            if (isRange) m_at += 2;
            if (high < low) return Error(ErrorCode::usage, "the regular expression has a range that runs backwards");
            for (unsigned b = low; b <= high; ++b) set.set(b);
        }
        ++m_at;
        return isNegated ? ~set : set;
    }

    Result<Fragment> parseAtom(int depth)
    {
        const char c = m_text[m_at++];
        if (c == '(') {
            LS_TRY(const Fragment inner, parseAlternatives(depth + 1));
            if (!more() || m_text[m_at] != ')') return Error(ErrorCode::usage, "the regular expression has a '(' without ')'");
            ++m_at;
            return inner;
        }
        if (c == '*' || c == '+' || c == '?') return Error(ErrorCode::usage, "the regular expression repeats nothing");
        if (c == '{') return Error(ErrorCode::usage, "{ in a regular expression is written \\{; counted repetition is not supported");
        if (c == '^' || c == '$') {
            const uint32_t state = add(c == '^' ? TextPattern::Kind::begin : TextPattern::Kind::end);
            return Fragment{state, state};
        }
        std::bitset<256> set;
        if (c == '[') {
            LS_TRY(set, parseSet());
        } else if (c == '\\') {
            if (!more()) return Error(ErrorCode::usage, "the regular expression ends in \\");
            set = escaped(m_text[m_at++]);
        } else if (c == '.') {
            set.set();
            set.reset('\n');
        } else {
            set.set(static_cast<unsigned char>(c));
        }
        const uint32_t state = add(TextPattern::Kind::bytes);
        m_pattern.m_states[state].set = set;
        return Fragment{state, state};
    }

    std::string_view m_text;
    size_t m_at = 0;
    TextPattern& m_pattern;
};

Result<TextPattern> TextPattern::compile(std::string_view pattern)
{
    TextPattern result;
    LS_CHECK_OK(TextPatternParser(pattern, result).parse());
    const size_t n = result.m_states.size();
    result.m_mark.assign(n, 0);
    result.m_now.reserve(n);
    result.m_then.reserve(n);
    result.m_stack.reserve(2 * n + 1);
    return result;
}

void TextPattern::follow(uint32_t state, size_t at, size_t size, std::vector<uint32_t>& list)
{
    m_stack.assign(1, state);
    while (!m_stack.empty()) {
        const uint32_t s = m_stack.back();
        m_stack.pop_back();
        if (m_mark[s] == m_generation) continue;
        m_mark[s] = m_generation;
        const State& here = m_states[s];
        switch (here.kind) {
        case Kind::bytes: list.push_back(s); break;
        case Kind::split:
            m_stack.push_back(here.other);
            m_stack.push_back(here.next);
            break;
        case Kind::jump: m_stack.push_back(here.next); break;
        case Kind::begin:
            if (at == 0) m_stack.push_back(here.next);
            break;
        case Kind::end:
            if (at == size) m_stack.push_back(here.next);
            break;
        case Kind::match: m_matched = true; break;
        }
    }
}

bool TextPattern::search(std::string_view text)
{
    m_matched = false;
    m_now.clear();
    ++m_generation;
    follow(m_start, 0, text.size(), m_now);
    for (size_t at = 0; at < text.size() && !m_matched; ++at) {
        m_then.clear();
        ++m_generation;
        for (const uint32_t s : m_now) {
            if (m_states[s].set[static_cast<unsigned char>(text[at])]) follow(m_states[s].next, at + 1, text.size(), m_then);
        }
        follow(m_start, at + 1, text.size(), m_then);
        m_now.swap(m_then);
    }
    return m_matched;
}

} // namespace loopscope
