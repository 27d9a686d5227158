// A pattern becomes a tree, the tree a program, and the program runs as an automaton whose threads are ordered by preference (Pike's way of
// finding groups with Thompson's automata).
#include "engine/kernels/cpu/regular_expression.h"

#include "engine/ops/tf_rules.h"

#include <algorithm>
#include <memory>

namespace loopscope {

namespace {

constexpr uint32_t kLastRune = 0x10FFFF;
constexpr uint32_t kNoRune = UINT32_MAX; ///< bytes that are no UTF-8: nothing matches them
constexpr int kDeepest = 200;            ///< groups in groups
constexpr int kMostRepeats = 1000;       ///< of {m,n}, as RE2
constexpr size_t kMostInstructions = 50'000;

using Ranges = RegularExpression::Ranges;
using Kind = RegularExpression::Kind;

/// The code point at `at` and its length in bytes.
std::pair<uint32_t, size_t> runeAt(std::string_view text, size_t at)
{
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
    const uint8_t first = byte(0);
    if (first < 0x80) return {first, 1};
    const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || at + size > text.size()) return {kNoRune, 1};
    uint32_t rune = first & (0xFF >> (size + 1));
    for (size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xC0) != 0x80) return {kNoRune, 1};
        rune = rune << 6 | (byte(i) & 0x3F);
    }
    const bool isShortest = rune >= (size == 2 ? 0x80U : size == 3 ? 0x800U : 0x10000U);
    if (!isShortest || rune > kLastRune || (rune >= 0xD800 && rune <= 0xDFFF)) return {kNoRune, 1};
    return {rune, size};
}

Ranges negated(Ranges ranges)
{
    std::ranges::sort(ranges.list);
    Ranges result;
    uint32_t next = 0;
    for (const auto& [low, high] : ranges.list) {
        if (low > next) result.list.emplace_back(next, low - 1);
        next = std::max(next, high + 1);
    }
    if (next <= kLastRune) result.list.emplace_back(next, kLastRune);
    return result;
}

void add(Ranges& to, const Ranges& from) { to.list.insert(to.list.end(), from.list.begin(), from.list.end()); }

Ranges withBothCases(Ranges ranges)
{
    Ranges both = ranges;
    for (const auto& [low, high] : ranges.list) {
        const uint32_t a = std::max<uint32_t>(low, 'a'), z = std::min<uint32_t>(high, 'z');
        if (a <= z) both.list.emplace_back(a - 32, z - 32);
        const uint32_t first = std::max<uint32_t>(low, 'A'), last = std::min<uint32_t>(high, 'Z');
        if (first <= last) both.list.emplace_back(first + 32, last + 32);
    }
    return both;
}

/// Of \d, \s and \w.
std::optional<Ranges> perlClass(char letter)
{
    switch (letter) {
    case 'd': return Ranges{{{'0', '9'}}};
    case 's': return Ranges{{{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}};
    case 'w': return Ranges{{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}};
    case 'D':
    case 'S':
    case 'W': return negated(*perlClass(static_cast<char>(letter + 32)));
    default: return std::nullopt;
    }
}

std::optional<Ranges> posixClass(std::string_view name)
{
    if (name == "alnum") return Ranges{{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}};
    if (name == "alpha") return Ranges{{{'A', 'Z'}, {'a', 'z'}}};
    if (name == "ascii") return Ranges{{{0, 0x7F}}};
    if (name == "blank") return Ranges{{{'\t', '\t'}, {' ', ' '}}};
    if (name == "cntrl") return Ranges{{{0, 0x1F}, {0x7F, 0x7F}}};
    if (name == "digit") return Ranges{{{'0', '9'}}};
    if (name == "graph") return Ranges{{{'!', '~'}}};
    if (name == "lower") return Ranges{{{'a', 'z'}}};
    if (name == "print") return Ranges{{{' ', '~'}}};
    if (name == "punct") return Ranges{{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}};
    if (name == "space") return Ranges{{{'\t', '\r'}, {' ', ' '}}};
    if (name == "upper") return Ranges{{{'A', 'Z'}}};
    if (name == "word") return perlClass('w');
    if (name == "xdigit") return Ranges{{{'0', '9'}, {'A', 'F'}, {'a', 'f'}}};
    return std::nullopt;
}

struct Node {
    enum class Form : uint8_t { runes, assertion, sequence, choice, repeat, group } form = Form::runes;
    Ranges runes;
    Kind assertion = Kind::match;
    std::vector<std::unique_ptr<Node>> parts;
    int least = 0, most = -1; ///< repeat; −1: any number
    bool isLazy = false;
    size_t group = 0;
};
using NodePtr = std::unique_ptr<Node>;

NodePtr nodeOf(Node::Form form)
{
    auto node = std::make_unique<Node>();
    node->form = form;
    return node;
}

class PatternParser {
public:
    explicit PatternParser(std::string_view pattern) : m_pattern(pattern) {}

    Result<NodePtr> parse()
    {
        LS_TRY(NodePtr all, choice(0));
        if (more()) return wrong("unexpected )", m_pattern);
        return all;
    }
    size_t groups() const { return m_groups; }

private:
    struct Flags {
        bool ignoresCase = false, isMultiline = false, dotIsAny = false;
    };

    bool more() const { return m_at < m_pattern.size(); }
    char peek(size_t ahead = 0) const { return m_at + ahead < m_pattern.size() ? m_pattern[m_at + ahead] : '\0'; }
    Error wrong(std::string_view what, std::string_view where) const
    {
        return invalidArgument("Invalid pattern: " + std::string(m_pattern) + ", error: " + std::string(what) + ": " + std::string(where));
    }

    Result<NodePtr> choice(int depth)
    {
        if (depth > kDeepest) return Error(ErrorCode::unsupported, "the pattern nests too deeply");
        const Flags outside = m_flags;
        NodePtr all = nodeOf(Node::Form::choice);
        for (bool goesOn = true; goesOn;) {
            LS_TRY(NodePtr part, sequence(depth));
            all->parts.push_back(std::move(part));
            goesOn = more() && peek() == '|';
            if (goesOn) ++m_at;
        }
        m_flags = outside;
        return all;
    }

    Result<NodePtr> sequence(int depth)
    {
        NodePtr all = nodeOf(Node::Form::sequence);
        while (more() && peek() != '|' && peek() != ')') {
            const bool repeats = peek() == '*' || peek() == '+' || peek() == '?';
            if (repeats) return wrong("no argument for repetition operator", m_pattern.substr(m_at, 1));
            LS_TRY(NodePtr part, single(depth));
            if (!part) continue; // flags
            LS_TRY(NodePtr repeated, repetition(std::move(part)));
            all->parts.push_back(std::move(repeated));
        }
        return all;
    }

    /// `{m}`, `{m,}` or `{m,n}` at the present place. False: a plain brace.
    bool braces(int& least, int& most)
    {
        size_t at = m_at + 1;
        const auto number = [&](int& value) {
            const size_t begin = at;
            for (value = 0; at < m_pattern.size() && m_pattern[at] >= '0' && m_pattern[at] <= '9'; ++at)
                value = std::min(value * 10 + (m_pattern[at] - '0'), kMostRepeats + 1);
            return at > begin;
        };
        if (!number(least)) return false;
        most = least;
        if (at < m_pattern.size() && m_pattern[at] == ',') {
            ++at;
            if (!number(most)) most = -1;
        }
        if (at >= m_pattern.size() || m_pattern[at] != '}') return false;
        m_at = at + 1;
        return true;
    }

    Result<NodePtr> repetition(NodePtr part)
    {
        for (int count = 0; more(); ++count) {
            const size_t at = m_at;
            int least = 0, most = -1;
            if (peek() == '{') {
                if (!braces(least, most)) break;
                if (least > kMostRepeats || most > kMostRepeats || (most >= 0 && most < least))
                    return wrong("invalid repetition size", m_pattern.substr(at, m_at - at));
            } else if (peek() == '*' || peek() == '+' || peek() == '?') {
                least = peek() == '+' ? 1 : 0;
                most = peek() == '?' ? 1 : -1;
                ++m_at;
            } else {
                break;
            }
            NodePtr repeat = nodeOf(Node::Form::repeat);
            repeat->least = least;
            repeat->most = most;
            if (peek() == '?' && more()) {
                repeat->isLazy = true;
                ++m_at;
            }
            if (count > 0) return wrong("bad repetition operator", m_pattern.substr(m_lastRepeat, m_at - m_lastRepeat));
            m_lastRepeat = at;
            repeat->parts.push_back(std::move(part));
            part = std::move(repeat);
        }
        return part;
    }

    NodePtr assertion(Kind kind)
    {
        NodePtr node = nodeOf(Node::Form::assertion);
        node->assertion = kind;
        return node;
    }
    NodePtr runes(Ranges ranges)
    {
        NodePtr node = nodeOf(Node::Form::runes);
        node->runes = m_flags.ignoresCase ? withBothCases(std::move(ranges)) : std::move(ranges);
        return node;
    }

    /// Null: only flags were set.
    Result<NodePtr> single(int depth)
    {
        const char c = peek();
        if (c == '(') return group(depth);
        if (c == '[') return characterClass();
        if (c == '\\') {
            if (peek(1) == 'b' || peek(1) == 'B' || peek(1) == 'A' || peek(1) == 'z') {
                const Kind kind = peek(1) == 'b' ? Kind::boundary : peek(1) == 'B' ? Kind::noBoundary : peek(1) == 'A' ? Kind::beginText : Kind::endText;
                m_at += 2;
                return assertion(kind);
            }
            LS_TRY(Ranges ranges, escape());
            return runes(std::move(ranges));
        }
        if (c == '.') {
            ++m_at;
            return runes(m_flags.dotIsAny ? negated({}) : negated({{{'\n', '\n'}}}));
        }
        if (c == '^' || c == '$') {
            ++m_at;
            if (m_flags.isMultiline) return assertion(c == '^' ? Kind::beginLine : Kind::endLine);
            return assertion(c == '^' ? Kind::beginText : Kind::endText);
        }
        const auto [rune, size] = runeAt(m_pattern, m_at);
        if (rune == kNoRune) return invalidArgument("Invalid pattern: " + std::string(m_pattern) + ", error: invalid UTF-8");
        m_at += size;
        return runes({{{rune, rune}}});
    }

    Result<NodePtr> group(int depth)
    {
        const size_t begin = m_at++;
        const Flags outside = m_flags;
        NodePtr node = nodeOf(Node::Form::group);
        node->group = SIZE_MAX;
        if (peek() == '?') {
            const bool isNamed = peek(1) == 'P' || peek(1) == '<';
            if (isNamed) {
                const size_t name = m_at + (peek(1) == 'P' ? 3 : 2), end = m_pattern.find('>', m_at);
                if (end == std::string_view::npos || end <= name) return wrong("invalid named capture group", m_pattern.substr(begin));
                m_at = end + 1;
                node->group = ++m_groups;
            } else {
                ++m_at;
                for (bool on = true; more() && peek() != ':' && peek() != ')'; ++m_at) {
                    if (peek() == '-') on = false;
                    else if (peek() == 'i') m_flags.ignoresCase = on;
                    else if (peek() == 'm') m_flags.isMultiline = on;
                    else if (peek() == 's') m_flags.dotIsAny = on;
                    else return wrong("invalid perl operator", m_pattern.substr(begin, m_at + 1 - begin));
                }
                if (!more()) return wrong("missing )", m_pattern);
                if (m_pattern[m_at++] == ')') return NodePtr(); // for the rest of the group
            }
        } else {
            node->group = ++m_groups;
        }
        LS_TRY(NodePtr inside, choice(depth + 1));
        if (!more()) return wrong("missing )", m_pattern);
        ++m_at;
        m_flags = outside;
        node->parts.push_back(std::move(inside));
        return node;
    }

    /// One code point, or a class, behind a backslash.
    Result<Ranges> escape()
    {
        const size_t begin = m_at++;
        if (!more()) return wrong("trailing \\", "");
        const char c = m_pattern[m_at++];
        if (std::optional<Ranges> ranges = perlClass(c)) return *ranges;
        if (c == 'p' || c == 'P' || c == 'Q' || c == 'C') return Error(ErrorCode::unsupported, std::string("\\") + c + " in a regular expression");
        constexpr std::string_view kLetters = "nrtfva", kMeanings = "\n\r\t\f\v\a";
        if (const size_t at = kLetters.find(c); at != std::string_view::npos) return Ranges{{{static_cast<uint8_t>(kMeanings[at]), static_cast<uint8_t>(kMeanings[at])}}};
        if (c == 'x') {
            uint32_t rune = 0;
            const bool braced = peek() == '{';
            if (braced) ++m_at;
            size_t digits = 0;
            for (; more() && (braced || digits < 2); ++digits, ++m_at) {
                const char d = peek();
                const int value = d >= '0' && d <= '9' ? d - '0' : d >= 'a' && d <= 'f' ? d - 'a' + 10 : d >= 'A' && d <= 'F' ? d - 'A' + 10 : -1;
                if (value < 0 || rune > kLastRune) break;
                rune = rune * 16 + static_cast<uint32_t>(value);
            }
            const bool isClosed = braced ? digits > 0 && more() && m_pattern[m_at++] == '}' : digits == 2;
            if (isClosed && rune <= kLastRune) return Ranges{{{rune, rune}}};
            return wrong("invalid escape sequence", m_pattern.substr(begin, m_at - begin));
        }
        const bool isWord = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || static_cast<uint8_t>(c) >= 0x80;
        if (isWord) return wrong("invalid escape sequence", m_pattern.substr(begin, m_at - begin));
        return Ranges{{{static_cast<uint8_t>(c), static_cast<uint8_t>(c)}}};
    }

    Result<NodePtr> characterClass()
    {
        const size_t begin = m_at++;
        const bool isNegated = peek() == '^' && more();
        if (isNegated) ++m_at;
        Ranges ranges;
        for (bool first = true; !more() || peek() != ']' || first; first = false) {
            if (!more()) return wrong("missing ]", m_pattern.substr(begin));
            if (peek() == '[' && peek(1) == ':') {
                const size_t end = m_pattern.find(":]", m_at + 2);
                if (end != std::string_view::npos) {
                    std::string_view name = m_pattern.substr(m_at + 2, end - m_at - 2);
                    const bool isOther = name.starts_with('^');
                    if (isOther) name.remove_prefix(1);
                    const std::optional<Ranges> named = posixClass(name);
                    if (!named) return wrong("invalid character class range", m_pattern.substr(m_at, end + 2 - m_at));
                    add(ranges, isOther ? negated(*named) : *named);
                    m_at = end + 2;
                    continue;
                }
            }
            const size_t at = m_at;
            LS_TRY(const Ranges low, classMember());
            const bool isRange = peek() == '-' && more() && m_at + 1 < m_pattern.size() && peek(1) != ']';
            if (!isRange) {
                add(ranges, low);
                continue;
            }
            ++m_at;
            LS_TRY(const Ranges high, classMember());
            const bool isGood = low.list.size() == 1 && low.list[0].first == low.list[0].second && high.list.size() == 1 &&
                                high.list[0].first == high.list[0].second && low.list[0].first <= high.list[0].first;
            if (!isGood) return wrong("invalid character class range", m_pattern.substr(at, m_at - at));
            ranges.list.emplace_back(low.list[0].first, high.list[0].first);
        }
        ++m_at;
        if (m_flags.ignoresCase) ranges = withBothCases(std::move(ranges));
        NodePtr node = nodeOf(Node::Form::runes);
        node->runes = isNegated ? negated(std::move(ranges)) : std::move(ranges);
        return node;
    }

    Result<Ranges> classMember()
    {
        if (peek() == '\\') return escape();
        const auto [rune, size] = runeAt(m_pattern, m_at);
        if (rune == kNoRune) return invalidArgument("Invalid pattern: " + std::string(m_pattern) + ", error: invalid UTF-8");
        m_at += size;
        return Ranges{{{rune, rune}}};
    }

    const std::string_view m_pattern;
    size_t m_at = 0, m_groups = 0, m_lastRepeat = 0;
    Flags m_flags;
};

/// Writes the program of a tree; every piece goes on to the instruction behind it.
class Assembler {
public:
    Assembler(std::vector<RegularExpression::Instruction>& code, std::vector<Ranges>& ranges) : m_code(code), m_ranges(ranges) {}

    bool isTooLarge() const { return m_code.size() > kMostInstructions; }
    uint32_t emit(Kind kind, uint32_t index = 0)
    {
        const auto at = static_cast<uint32_t>(m_code.size());
        m_code.push_back({kind, at + 1, 0, index});
        return at;
    }

    void write(const Node& node)
    {
        if (isTooLarge()) return;
        switch (node.form) {
        case Node::Form::runes:
            m_ranges.push_back(node.runes);
            emit(Kind::runes, static_cast<uint32_t>(m_ranges.size() - 1));
            break;
        case Node::Form::assertion: emit(node.assertion); break;
        case Node::Form::sequence:
            for (const NodePtr& part : node.parts) write(*part);
            break;
        case Node::Form::choice: {
            std::vector<uint32_t> ends;
            for (size_t p = 0; p + 1 < node.parts.size(); ++p) {
                const uint32_t split = emit(Kind::split);
                write(*node.parts[p]);
                ends.push_back(emit(Kind::split)); // goes to the end, both ways
                m_code[split].other = static_cast<uint32_t>(m_code.size());
            }
            write(*node.parts.back());
            for (const uint32_t end : ends) m_code[end].next = m_code[end].other = static_cast<uint32_t>(m_code.size());
            break;
        }
        case Node::Form::repeat: repeat(node); break;
        case Node::Form::group: {
            const bool isKept = node.group < RegularExpression::kGroups;
            if (isKept) emit(Kind::save, static_cast<uint32_t>(2 * node.group));
            write(*node.parts[0]);
            if (isKept) emit(Kind::save, static_cast<uint32_t>(2 * node.group + 1));
            break;
        }
        }
    }

private:
    void repeat(const Node& node)
    {
        const bool isOpen = node.most < 0;
        for (int i = 0; i < node.least - (isOpen ? 1 : 0); ++i) write(*node.parts[0]);
        std::vector<uint32_t> splits;
        if (isOpen) { // x* as (x+)?, so that the loop is left behind a part that is empty
            if (node.least == 0) splits.push_back(emit(Kind::split));
            const auto begin = static_cast<uint32_t>(m_code.size());
            write(*node.parts[0]);
            splits.push_back(emit(Kind::split));
            m_code.back().next = begin;
        }
        for (int i = node.least; i < node.most; ++i) {
            splits.push_back(emit(Kind::split));
            write(*node.parts[0]);
        }
        for (const uint32_t split : splits) {
            m_code[split].other = static_cast<uint32_t>(m_code.size());
            if (node.isLazy) std::swap(m_code[split].next, m_code[split].other);
        }
    }

    std::vector<RegularExpression::Instruction>& m_code;
    std::vector<Ranges>& m_ranges;
};

bool isWordByte(std::string_view text, size_t at)
{
    if (at >= text.size()) return false;
    const char c = text[at];
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

bool holds(Kind assertion, std::string_view text, size_t at)
{
    const bool isBoundary = (at > 0 && isWordByte(text, at - 1)) != isWordByte(text, at);
    switch (assertion) {
    case Kind::beginText: return at == 0;
    case Kind::endText: return at == text.size();
    case Kind::beginLine: return at == 0 || text[at - 1] == '\n';
    case Kind::endLine: return at == text.size() || text[at] == '\n';
    case Kind::boundary: return isBoundary;
    default: return !isBoundary;
    }
}

using Places = std::array<size_t, 2 * RegularExpression::kGroups>;

struct Thread {
    uint32_t at = 0;
    Places places;
};

} // namespace

bool RegularExpression::Ranges::has(uint32_t rune) const
{
    return std::ranges::any_of(list, [rune](const auto& range) { return rune >= range.first && rune <= range.second; });
}

Result<RegularExpression> RegularExpression::compile(std::string_view pattern)
{
    PatternParser parser(pattern);
    LS_TRY(const NodePtr tree, parser.parse());
    RegularExpression expression;
    expression.m_groups = parser.groups();
    Assembler assembler(expression.m_code, expression.m_ranges);
    assembler.write(*tree);
    assembler.emit(Kind::match);
    if (assembler.isTooLarge()) return Error(ErrorCode::unsupported, "the regular expression is too large");
    return expression;
}

std::optional<RegularExpression::Match> RegularExpression::run(std::string_view text, size_t from, bool isWhole) const
{
    std::vector<Thread> now, then;
    std::vector<size_t> listed(m_code.size(), SIZE_MAX); // at which place an instruction was last reached
    std::optional<Places> found;
    std::vector<Thread> open;
    // Everything that can be reached at `place` without reading, the preferred first.
    const auto reach = [&](std::vector<Thread>& threads, uint32_t start, const Places& places, size_t place) {
        open.assign(1, {start, places});
        while (!open.empty()) {
            Thread top = open.back();
            open.pop_back();
            if (listed[top.at] == place) continue;
            listed[top.at] = place;
            const Instruction& instruction = m_code[top.at];
            switch (instruction.kind) {
            case Kind::runes:
            case Kind::match: threads.push_back({top.at, top.places}); break;
            case Kind::split:
                open.push_back({instruction.other, top.places});
                open.push_back({instruction.next, top.places});
                break;
            case Kind::save:
                top.places[instruction.index] = place;
                open.push_back({instruction.next, top.places});
                break;
            default:
                if (holds(instruction.kind, text, place)) open.push_back({instruction.next, top.places});
            }
        }
    };
    Places none;
    none.fill(std::string_view::npos);
    for (size_t place = from;;) {
        if (!found && (!isWhole || place == from)) {
            Places begun = none;
            begun[0] = place;
            reach(now, 0, begun, place);
        }
        if (now.empty() && (found || isWhole)) break;
        const bool isEnd = place >= text.size();
        const auto [rune, size] = isEnd ? std::pair<uint32_t, size_t>(kNoRune, 1) : runeAt(text, place);
        then.clear();
        for (const Thread& thread : now) {
            const Instruction& instruction = m_code[thread.at];
            if (instruction.kind == Kind::match) {
                if (isWhole && !isEnd) continue;
                found = thread.places;
                (*found)[1] = place;
                break; // what follows is less preferred
            }
            if (rune != kNoRune && m_ranges[instruction.index].has(rune)) reach(then, instruction.next, thread.places, place + size);
        }
        now.swap(then);
        if (isEnd) break;
        place += size;
    }
    if (!found) return std::nullopt;
    Match match;
    for (size_t g = 0; g < kGroups; ++g) match[g] = {(*found)[2 * g], (*found)[2 * g + 1]};
    return match;
}

std::optional<RegularExpression::Match> RegularExpression::search(std::string_view text, size_t from) const
{
    return run(text, from, false);
}

bool RegularExpression::matchesAll(std::string_view text) const
{
    return run(text, 0, true).has_value();
}

std::string RegularExpression::replaced(std::string_view text, std::string_view rewrite, bool all) const
{
    for (size_t i = 0; i + 1 < rewrite.size(); i += rewrite[i] == '\\' ? 2 : 1) // a group that the pattern does not have: nothing is replaced
        if (rewrite[i] == '\\' && rewrite[i + 1] >= '0' && rewrite[i + 1] <= '9' && static_cast<size_t>(rewrite[i + 1] - '0') > m_groups) return std::string(text);
    std::string out;
    size_t at = 0;
    size_t lastEnd = std::string_view::npos;
    while (at <= text.size()) {
        const std::optional<Match> match = search(text, at);
        if (!match) break;
        const auto [begin, end] = (*match)[0];
        out += text.substr(at, begin - at);
        if (begin == end && begin == lastEnd) { // no empty match where the last one ended
            const size_t size = begin < text.size() ? runeAt(text, begin).second : 1;
            out += text.substr(std::min(begin, text.size()), size);
            at = begin + size;
            continue;
        }
        for (size_t i = 0; i < rewrite.size(); ++i) {
            const char next = i + 1 < rewrite.size() ? rewrite[i + 1] : '\0';
            if (rewrite[i] != '\\') {
                out += rewrite[i];
                continue;
            }
            ++i;
            if (next == '\\') {
                out += next;
                continue;
            }
            if (next < '0' || next > '9') break; // RE2 leaves the rest of such a rewrite out
            const auto [first, last] = (*match)[static_cast<size_t>(next - '0')];
            if (first != std::string_view::npos && last != std::string_view::npos) out += text.substr(first, last - first);
        }
        at = lastEnd = end;
        if (!all) break;
    }
    if (at < text.size()) out += text.substr(at);
    return out;
}

} // namespace loopscope
