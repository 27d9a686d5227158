// Recursive descent over the text of an expression. Tokens are cut on demand, because `%`, `-`, `/` and `:` belong to names in some places
// and are operators in others.
#include "engine/debug/expression/syntax.h"

#include "engine/ir/text/lexer.h"
#include "engine/observe/address.h"

#include <algorithm>
#include <charconv>

namespace loopscope {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool isWordStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isWordByte(char c) { return isWordStart(c) || isDigit(c) || c == '#'; }

/// A canonical or short address reads: the way to a value with `./` and `../` taken off, from a root or from the current frame.
Status checkAddressText(std::string_view text)
{
    std::string_view rest = text;
    while (rest.starts_with("./") || rest.starts_with("../")) rest.remove_prefix(rest.find('/') + 1);
    const bool isRelative = rest.size() != text.size();
    auto asWritten = parseAddress(rest);
    if (asWritten.ok() && !isRelative) return {};
    auto inFrame = parseAddress("frame/" + std::string(rest));
    if (inFrame.ok()) return {};
    return isRelative || asWritten.ok() ? std::move(inFrame).takeError() : std::move(asWritten).takeError();
}

class Parser {
public:
    explicit Parser(std::string_view text) : m_text(text) {}

    Result<Syntax> parse(bool asList)
    {
        if (m_text.size() > kLongestExpression) return Error(ErrorCode::usage, "the expression is too long").at("1:1");
        do {
            LS_TRY(const uint32_t root, parseOr());
            m_syntax.roots.push_back(root);
        } while (asList && take(","));
        skipBlanks();
        if (m_at < m_text.size()) return unexpected();
        return std::move(m_syntax);
    }

private:
    Error errorAt(size_t offset, std::string what) const
    {
        return Error(ErrorCode::usage, std::move(what)).at(expressionPosition(m_text, static_cast<uint32_t>(offset)));
    }

    /// What stands here cannot.
    Error unexpected()
    {
        skipBlanks();
        if (m_at >= m_text.size()) return errorAt(m_at, "the expression ends too early");
        const std::string_view rest = m_text.substr(m_at);
        constexpr std::pair<std::string_view, std::string_view> kOther[] = {{"&&", "and"}, {"||", "or"}, {"!", "not"}, {"<>", "!="},
                                                                            {"===", "=="}, {"=", "=="},  {"^", "**"}};
        for (const auto& [found, ours] : kOther) {
            if (rest.starts_with(found)) return errorAt(m_at, std::string(found) + " is written '" + std::string(ours) + "'");
        }
        size_t size = 1;
        if (isWordByte(rest[0])) {
            while (size < rest.size() && isWordByte(rest[size])) ++size;
        } else {
            while (size < rest.size() && (static_cast<unsigned char>(rest[size]) & 0xc0U) == 0x80U) ++size;
        }
        return errorAt(m_at, "unexpected " + quoted(rest.substr(0, size)));
    }

    void skipBlanks()
    {
        while (m_at < m_text.size() && isBlank(m_text[m_at])) ++m_at;
    }
    char peek(size_t ahead = 0) const { return m_at + ahead < m_text.size() ? m_text[m_at + ahead] : '\0'; }

    bool take(std::string_view symbol)
    {
        skipBlanks();
        if (!m_text.substr(m_at).starts_with(symbol)) return false;
        m_at += symbol.size();
        return true;
    }
    bool takeKeyword(std::string_view word)
    {
        skipBlanks();
        if (!m_text.substr(m_at).starts_with(word) || isWordByte(peek(word.size()))) return false;
        m_at += word.size();
        return true;
    }

    Result<uint32_t> add(SyntaxNode node)
    {
        // A node ends with its last token, not with the blanks that were skipped in search of more.
        size_t end = m_at;
        while (end > node.begin && isBlank(m_text[end - 1])) --end;
        node.end = static_cast<uint32_t>(end);
        for (const uint32_t child : node.children) node.depth = std::max(node.depth, m_syntax.nodes[child].depth + 1);
        if (node.depth > kDeepestExpression) return errorAt(node.begin, "the expression nests too deeply");
        m_syntax.nodes.push_back(std::move(node));
        return static_cast<uint32_t>(m_syntax.nodes.size() - 1);
    }
    SyntaxNode nodeAt(SyntaxKind kind, size_t begin) const
    {
        SyntaxNode node;
        node.kind = kind;
        node.begin = node.at = static_cast<uint32_t>(begin);
        return node;
    }
    Result<uint32_t> addBinary(SyntaxKind kind, BinaryOperator op, size_t at, uint32_t left, uint32_t right)
    {
        SyntaxNode node = nodeAt(kind, m_syntax.nodes[left].begin);
        node.op = op;
        node.at = static_cast<uint32_t>(at);
        node.children = {left, right};
        return add(std::move(node));
    }

    Result<uint32_t> parseOr()
    {
        if (++m_depth > kDeepestExpression) return errorAt(m_at, "the expression nests too deeply");
        LS_TRY(uint32_t left, parseAnd());
        while (takeKeyword("or")) {
            const size_t at = m_at - 2;
            LS_TRY(const uint32_t right, parseAnd());
            LS_TRY(left, addBinary(SyntaxKind::logicalOr, {}, at, left, right));
        }
        --m_depth;
        return left;
    }
    Result<uint32_t> parseAnd()
    {
        LS_TRY(uint32_t left, parseNot());
        while (takeKeyword("and")) {
            const size_t at = m_at - 3;
            LS_TRY(const uint32_t right, parseNot());
            LS_TRY(left, addBinary(SyntaxKind::logicalAnd, {}, at, left, right));
        }
        return left;
    }
    Result<uint32_t> parseNot()
    {
        skipBlanks();
        const size_t begin = m_at;
        if (!takeKeyword("not")) return parseComparison();
        if (++m_depth > kDeepestExpression) return errorAt(m_at, "the expression nests too deeply");
        LS_TRY(const uint32_t operand, parseNot());
        --m_depth;
        SyntaxNode node = nodeAt(SyntaxKind::logicalNot, begin);
        node.children = {operand};
        return add(std::move(node));
    }

    /// The first of `symbols` that stands here, with its place.
    struct Symbol {
        std::string_view text;
        BinaryOperator op;
    };
    template <size_t N> const Symbol* takeAny(const Symbol (&symbols)[N], size_t& at)
    {
        for (const Symbol& symbol : symbols) {
            if (!take(symbol.text)) continue;
            at = m_at - symbol.text.size();
            return &symbol;
        }
        return nullptr;
    }

    Result<uint32_t> parseComparison()
    {
        static constexpr Symbol kSymbols[] = {{"==", BinaryOperator::equal},     {"!=", BinaryOperator::notEqual},
                                              {"<=", BinaryOperator::lessEqual}, {">=", BinaryOperator::greaterEqual},
                                              {"<", BinaryOperator::less},       {">", BinaryOperator::greater}};
        LS_TRY(const uint32_t left, parseSum());
        size_t at = 0;
        skipBlanks();
        if (m_text.substr(m_at).starts_with("<>") || m_text.substr(m_at).starts_with("===")) return unexpected();
        const Symbol* symbol = takeAny(kSymbols, at);
        if (!symbol) return left;
        LS_TRY(const uint32_t right, parseSum());
        LS_TRY(const uint32_t node, addBinary(SyntaxKind::binary, symbol->op, at, left, right));
        if (takeAny(kSymbols, at)) return errorAt(at, "comparisons do not chain; write a < b and b < c");
        return node;
    }
    Result<uint32_t> parseSum()
    {
        static constexpr Symbol kSymbols[] = {{"+", BinaryOperator::add}, {"-", BinaryOperator::subtract}};
        LS_TRY(uint32_t left, parseTerm());
        size_t at = 0;
        while (const Symbol* symbol = takeAny(kSymbols, at)) {
            const size_t place = at;
            LS_TRY(const uint32_t right, parseTerm());
            LS_TRY(left, addBinary(SyntaxKind::binary, symbol->op, place, left, right));
        }
        return left;
    }
    Result<uint32_t> parseTerm()
    {
        static constexpr Symbol kSymbols[] = {{"//", BinaryOperator::floorDivide},
                                              {"/", BinaryOperator::divide},
                                              {"%", BinaryOperator::modulo},
                                              {"*", BinaryOperator::multiply}};
        LS_TRY(uint32_t left, parseUnary());
        size_t at = 0;
        while (const Symbol* symbol = takeAny(kSymbols, at)) {
            const size_t place = at;
            LS_TRY(const uint32_t right, parseUnary());
            LS_TRY(left, addBinary(SyntaxKind::binary, symbol->op, place, left, right));
        }
        return left;
    }
    Result<uint32_t> parseUnary()
    {
        skipBlanks();
        const size_t begin = m_at;
        const bool isMinus = peek() == '-';
        if (!isMinus && peek() != '+') return parsePower();
        ++m_at;
        if (++m_depth > kDeepestExpression) return errorAt(m_at, "the expression nests too deeply");
        LS_TRY(const uint32_t operand, parseUnary());
        --m_depth;
        SyntaxNode node = nodeAt(isMinus ? SyntaxKind::negate : SyntaxKind::plus, begin);
        node.children = {operand};
        return add(std::move(node));
    }
    Result<uint32_t> parsePower()
    {
        LS_TRY(const uint32_t base, parsePostfix());
        if (!take("**")) return base;
        const size_t at = m_at - 2;
        if (++m_depth > kDeepestExpression) return errorAt(m_at, "the expression nests too deeply");
        LS_TRY(const uint32_t exponent, parseUnary());
        --m_depth;
        return addBinary(SyntaxKind::binary, BinaryOperator::power, at, base, exponent);
    }

    Result<uint32_t> parsePostfix()
    {
        LS_TRY(uint32_t value, parsePrimary());
        while (true) {
            skipBlanks();
            if (peek() == '.' && isWordStart(peek(1))) {
                const size_t at = ++m_at;
                SyntaxNode node = nodeAt(SyntaxKind::member, m_syntax.nodes[value].begin);
                node.at = static_cast<uint32_t>(at);
                while (isWordByte(peek())) node.text += m_text[m_at++];
                node.children = {value};
                LS_TRY(value, add(std::move(node)));
            } else if (peek() == '[') {
                ++m_at;
                SyntaxNode node = nodeAt(SyntaxKind::index, m_syntax.nodes[value].begin);
                node.children = {value};
                do {
                    LS_TRY(const uint32_t index, parseIndex());
                    node.children.push_back(index);
                } while (take(","));
                if (!take("]")) return unexpected();
                LS_TRY(value, add(std::move(node)));
            } else {
                return value;
            }
        }
    }
    Result<uint32_t> parseIndex()
    {
        skipBlanks();
        const size_t begin = m_at;
        if (take("...")) return add(nodeAt(SyntaxKind::ellipsis, begin));
        SyntaxNode slice = nodeAt(SyntaxKind::slice, begin);
        for (int part = 0; part < 3; ++part) {
            skipBlanks();
            const bool isMissing = peek() == ':' || peek() == ',' || peek() == ']';
            if (isMissing && part == 0 && peek() != ':') return unexpected();
            if (isMissing) {
                LS_TRY(const uint32_t node, add(nodeAt(SyntaxKind::missing, m_at)));
                slice.children.push_back(node);
            } else {
                LS_TRY(const uint32_t node, parseOr());
                slice.children.push_back(node);
            }
            if (part < 2 && take(":")) continue;
            if (part == 0) return slice.children[0];
            break;
        }
        return add(std::move(slice));
    }

    Result<uint32_t> parseNumber()
    {
        const size_t begin = m_at;
        bool isReal = false;
        while (isDigit(peek())) ++m_at;
        if (peek() == '.' && peek(1) != '.' && !isWordStart(peek(1))) {
            isReal = true;
            ++m_at;
            while (isDigit(peek())) ++m_at;
        }
        const size_t sign = peek(1) == '-' || peek(1) == '+' ? 2 : 1;
        if ((peek() == 'e' || peek() == 'E') && isDigit(peek(sign))) {
            isReal = true;
            m_at += sign;
            while (isDigit(peek())) ++m_at;
        }
        if (isWordByte(peek())) return unexpected();
        const char* first = m_text.data() + begin;
        const char* last = m_text.data() + m_at;
        SyntaxNode node = nodeAt(isReal ? SyntaxKind::real : SyntaxKind::integer, begin);
        const auto status = isReal ? std::from_chars(first, last, node.real).ec : std::from_chars(first, last, node.integer).ec;
        if (status != std::errc{}) {
            return errorAt(begin, std::string(first, last) + (isReal ? " is out of the range of a float" : " does not fit 64 bits"));
        }
        return add(std::move(node));
    }

    /// The string that begins here, decoded.
    Result<std::string> takeString()
    {
        const size_t begin = m_at++;
        while (m_at < m_text.size() && m_text[m_at] != '"') m_at += m_text[m_at] == '\\' ? 2 : 1;
        if (m_at >= m_text.size()) {
            m_at = m_text.size();
            return errorAt(begin, "the string has no end");
        }
        ++m_at;
        std::vector<TextError> errors;
        const std::vector<Token> tokens = tokenize(m_text.substr(begin, m_at - begin), errors);
        if (!errors.empty()) return errorAt(begin + errors.front().column - 1, errors.front().message);
        if (tokens.size() != 2 || tokens.front().kind != TokenKind::string) return errorAt(begin, "not a string");
        return decodeString(tokens.front());
    }

    Result<uint32_t> parseNamed()
    {
        SyntaxNode node = nodeAt(SyntaxKind::named, m_at++);
        if (peek() == '"') {
            node.quoted = true;
            LS_TRY(node.text, takeString());
            return add(std::move(node));
        }
        const auto isNameByte = [](char c) { return isWordByte(c) || c == '.' || c == '/' || c == '-'; };
        while (isNameByte(peek()) && peek() != '#') node.text += m_text[m_at++];
        while (!node.text.empty() && node.text.back() == '-') {
            node.text.pop_back();
            --m_at;
        }
        if (node.text.empty()) return errorAt(node.begin, "% here begins the id of a value, as in %iter");
        if (peek() == ':' && isDigit(peek(1))) {
            node.text += m_text[m_at++];
            while (isDigit(peek())) node.text += m_text[m_at++];
        }
        return add(std::move(node));
    }

    Result<uint32_t> parseAddressNode()
    {
        SyntaxNode node = nodeAt(SyntaxKind::address, m_at++);
        const size_t end = m_text.find('}', m_at);
        if (end == std::string_view::npos) return errorAt(node.begin, "the address has no '}'");
        std::string_view inner = m_text.substr(m_at, end - m_at);
        while (!inner.empty() && inner.front() == ' ') inner.remove_prefix(1);
        while (!inner.empty() && inner.back() == ' ') inner.remove_suffix(1);
        node.text = inner;
        if (Status status = checkAddressText(inner); !status.ok()) {
            return std::move(std::move(status).takeError().at(expressionPosition(m_text, node.begin)));
        }
        m_at = end + 1;
        return add(std::move(node));
    }

    /// `../acc` without braces: up to the first character that no address has.
    Result<uint32_t> parseRelativeNode()
    {
        SyntaxNode node = nodeAt(SyntaxKind::address, m_at);
        const auto isPart = [&](char c) { return isWordByte(c) || c == '.' || c == '/' || c == '#' || c == '@' || c == ':'; };
        size_t end = m_at;
        while (end < m_text.size() && isPart(m_text[end])) ++end;
        node.text = m_text.substr(m_at, end - m_at);
        if (Status status = checkAddressText(node.text); !status.ok())
            return std::move(std::move(status).takeError().at(expressionPosition(m_text, node.begin)));
        m_at = end;
        return add(std::move(node));
    }

    Result<uint32_t> parseCall(SyntaxNode node)
    {
        ++m_at;
        node.kind = SyntaxKind::call;
        if (take(")")) return add(std::move(node));
        do {
            skipBlanks();
            const size_t begin = m_at;
            std::string keyword;
            while (isWordByte(peek())) keyword += m_text[m_at++];
            skipBlanks();
            if (!keyword.empty() && peek() == '=' && peek(1) != '=') {
                ++m_at;
                SyntaxNode argument = nodeAt(SyntaxKind::keyword, begin);
                argument.text = keyword;
                LS_TRY(const uint32_t value, parseOr());
                argument.children = {value};
                LS_TRY(const uint32_t child, add(std::move(argument)));
                node.children.push_back(child);
            } else {
                m_at = begin;
                LS_TRY(const uint32_t child, parseOr());
                node.children.push_back(child);
            }
        } while (take(","));
        if (!take(")")) return unexpected();
        return add(std::move(node));
    }

    Result<uint32_t> parsePrimary()
    {
        skipBlanks();
        const size_t begin = m_at;
        const char c = peek();
        if (isDigit(c) || (c == '.' && isDigit(peek(1)))) return parseNumber();
        if (c == '%') return parseNamed();
        if (c == '{') return parseAddressNode();
        if (m_text.substr(m_at).starts_with("../")) return parseRelativeNode();
        if (c == '"') {
            SyntaxNode node = nodeAt(SyntaxKind::string, begin);
            LS_TRY(node.text, takeString());
            return add(std::move(node));
        }
        if (c == '(') {
            ++m_at;
            LS_TRY(const uint32_t inner, parseOr());
            if (!take(")")) return unexpected();
            // Messages quote the parentheses too.
            m_syntax.nodes[inner].begin = static_cast<uint32_t>(begin);
            m_syntax.nodes[inner].end = static_cast<uint32_t>(m_at);
            return inner;
        }
        if (c == '[') {
            ++m_at;
            SyntaxNode node = nodeAt(SyntaxKind::list, begin);
            if (take("]")) return add(std::move(node));
            do {
                LS_TRY(const uint32_t element, parseOr());
                node.children.push_back(element);
            } while (take(","));
            if (!take("]")) return unexpected();
            return add(std::move(node));
        }
        if (!isWordStart(c)) return unexpected();
        SyntaxNode node = nodeAt(SyntaxKind::word, begin);
        while (isWordByte(peek()) || (peek() == '.' && isWordByte(peek(1)))) node.text += m_text[m_at++];
        if (node.text == "and" || node.text == "or" || node.text == "not") {
            m_at = begin;
            return unexpected();
        }
        skipBlanks();
        if (peek() == '(') return parseCall(std::move(node));
        return add(std::move(node));
    }

    std::string_view m_text;
    size_t m_at = 0;
    uint32_t m_depth = 0;
    Syntax m_syntax;
};

} // namespace

Result<Syntax> parseExpression(std::string_view text, bool asList) { return Parser(text).parse(asList); }

std::string expressionPosition(std::string_view text, uint32_t offset)
{
    uint32_t line = 1, column = 1;
    for (size_t i = 0; i < offset && i < text.size(); ++i) {
        ++column;
        if (text[i] != '\n') continue;
        ++line;
        column = 1;
    }
    return std::to_string(line) + ":" + std::to_string(column);
}

std::string_view operatorText(BinaryOperator op)
{
    constexpr std::string_view kTexts[] = {"==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "//", "%", "**"};
    return kTexts[static_cast<size_t>(op)];
}

} // namespace loopscope
