// One pass over the text, character by character; no token refers to anything but the text itself.
#include "engine/ir/text/lexer.h"

#include "engine/base/visible_text.h"
#include "engine/tensor/dtype.h"

#include <algorithm>

namespace loopscope {

namespace {

bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isHexDigit(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool isIdStart(char c) { return isLetter(c) || c == '_' || c == '.'; }
bool isIdPart(char c) { return isIdStart(c) || isDigit(c) || c == '/' || c == '-'; }
int hexValue(char c) { return isDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10; }

class Lexer {
public:
    Lexer(std::string_view text, std::vector<TextError>& errors) : m_text(text), m_errors(errors) {}

    std::vector<Token> run()
    {
        m_tokens.reserve(m_text.size() / 4 + 8);
        if (m_text.starts_with("\xEF\xBB\xBF")) m_at = m_lineStart = 3;
        while (m_at < m_text.size() && m_errors.size() < kMostTextErrors) next();
        emit(TokenKind::end, m_text.size(), m_text.size());
        return std::move(m_tokens);
    }

private:
    char peek(size_t ahead = 0) const { return m_at + ahead < m_text.size() ? m_text[m_at + ahead] : '\0'; }

    /// Adds a token for [begin, end) whose place is m_at at the time of the call.
    void emit(TokenKind kind, size_t begin, size_t end, size_t place = std::string_view::npos)
    {
        const size_t from = place == std::string_view::npos ? begin : place;
        m_tokens.push_back({kind, m_space, m_line, static_cast<uint32_t>(from - m_lineStart + 1), m_text.substr(begin, end - begin)});
        m_space = false;
        if (kind == TokenKind::newline) m_statementStart = m_tokens.size();
    }

    void error(size_t at, std::string message)
    {
        m_errors.push_back({m_line, static_cast<uint32_t>(at - m_lineStart + 1), std::move(message)});
    }

    void skipLine()
    {
        while (m_at < m_text.size() && peek() != '\n') ++m_at;
    }

    void next()
    {
        const char c = peek();
        if (c == ' ' || c == '\t' || c == '\r') {
            m_space = true;
            ++m_at;
        } else if (c == '\n') {
            emit(TokenKind::newline, m_at, m_at + 1);
            ++m_at;
            ++m_line;
            m_lineStart = m_at;
            m_space = true;
        } else if (c == ';') {
            skipLine();
        } else if (c == '"') {
            string(m_at, TokenKind::string);
        } else if (isIdStart(c)) {
            word();
        } else if (isDigit(c) || (c == '-' && isDigit(peek(1)))) {
            number();
        } else if (c == '-' && m_text.substr(m_at + 1).starts_with("inf") && !isIdPart(peek(4))) {
            emit(TokenKind::real, m_at, m_at + 4);
            m_at += 4;
        } else if (c == '-' && peek(1) == '>') {
            emit(TokenKind::arrow, m_at, m_at + 2);
            m_at += 2;
        } else if (c == '#') {
            hash();
        } else if (std::string_view("()[]{}<>=,:@$^&*?%").find(c) != std::string_view::npos) {
            emit(TokenKind::symbol, m_at, m_at + 1);
            ++m_at;
        } else {
            const size_t length = std::max<size_t>(1, utf8Length(m_text, m_at));
            error(m_at, "unexpected character " + quoted(m_text.substr(m_at, length)));
            emit(TokenKind::bad, m_at, m_at + length);
            m_at += length;
        }
    }

    void word()
    {
        const size_t begin = m_at;
        while (isIdPart(peek())) ++m_at;
        while (m_text[m_at - 1] == '-') --m_at; // `x->`: the arrow is not part of the id
        const std::string_view text = m_text.substr(begin, m_at - begin);
        if (text == "hex" && peek() == '"') return string(begin, TokenKind::hex);
        if (text == "nan" && peek() == '(' && peek(1) == '0' && peek(2) == 'x') {
            size_t end = m_at + 3;
            while (end < m_text.size() && isHexDigit(m_text[end])) ++end;
            if (end < m_text.size() && m_text[end] == ')') {
                emit(TokenKind::real, begin, end + 1);
                m_at = end + 1;
                return;
            }
        }
        emit(TokenKind::word, begin, m_at);
        if (text == "base64" && m_tokens[m_statementStart].isWord("data")) base64();
    }

    /// After `data … base64`: everything up to the closing brace is one token.
    void base64()
    {
        size_t brace = m_at;
        while (brace < m_text.size() && (m_text[brace] == ' ' || m_text[brace] == '\t')) ++brace;
        if (brace >= m_text.size() || m_text[brace] != '{') return;
        m_at = brace;
        emit(TokenKind::symbol, m_at, m_at + 1);
        ++m_at;
        const size_t end = m_text.find('}', m_at);
        if (end == std::string_view::npos) {
            error(brace, "base64 data does not end");
            emit(TokenKind::bad, m_at, m_at);
            m_at = m_text.size();
            return;
        }
        emit(TokenKind::base64, m_at, end);
        for (; m_at < end; ++m_at) {
            if (m_text[m_at] != '\n') continue;
            ++m_line;
            m_lineStart = m_at + 1;
        }
    }

    void number()
    {
        const size_t begin = m_at;
        bool real = false;
        if (peek() == '-') ++m_at;
        while (isDigit(peek())) ++m_at;
        if (peek() == '.' && isDigit(peek(1))) {
            real = true;
            ++m_at;
            while (isDigit(peek())) ++m_at;
        }
        const size_t sign = peek(1) == '-' || peek(1) == '+' ? 2 : 1;
        if ((peek() == 'e' || peek() == 'E') && isDigit(peek(sign))) {
            real = true;
            m_at += sign;
            while (isDigit(peek())) ++m_at;
        }
        if (isIdPart(peek()) && peek() != '-') {
            while (isIdPart(peek())) ++m_at;
            error(begin, "malformed number '" + std::string(m_text.substr(begin, m_at - begin)) + "'");
            emit(TokenKind::bad, begin, m_at);
            return;
        }
        emit(real ? TokenKind::real : TokenKind::integer, begin, m_at);
    }

    void hash()
    {
        const size_t begin = ++m_at;
        while (isHexDigit(peek())) ++m_at;
        const size_t digits = m_at - begin;
        if ((digits == 16 || digits == 32) && !isIdPart(peek())) return emit(TokenKind::hash, begin, m_at, begin - 1);
        error(begin - 1, "a hash has 16 or 32 hexadecimal digits, found " + std::to_string(digits));
        emit(TokenKind::bad, begin - 1, m_at);
    }

    /// A string, or the digits of hex"…"; `begin` is where the token starts, m_at is at the quote.
    void string(size_t begin, TokenKind kind)
    {
        const size_t open = m_at++;
        const auto fail = [&](size_t at, std::string message) {
            error(at, std::move(message));
            emit(TokenKind::bad, begin, m_at);
        };
        for (;; ++m_at) {
            const char c = peek();
            if (m_at >= m_text.size() || c == '\n') return fail(begin, "string does not end on this line");
            if (c == '"') break;
            if (c != '\\') continue;
            const char escape = peek(1);
            if (escape == 'x' && isHexDigit(peek(2)) && isHexDigit(peek(3))) {
                m_at += 3;
            } else if (escape == '"' || escape == '\\' || escape == 'n' || escape == 't') {
                ++m_at;
            } else {
                const size_t at = m_at;
                skipString();
                return fail(at, "unknown escape; strings know \\\" \\\\ \\n \\t \\xHH");
            }
        }
        const std::string_view inside = m_text.substr(open + 1, m_at - open - 1);
        ++m_at;
        if (kind == TokenKind::hex) {
            if (inside.size() % 2 != 0 || !std::all_of(inside.begin(), inside.end(), isHexDigit))
                return fail(begin, "hex\"…\" holds pairs of hexadecimal digits");
            return emit(kind, open + 1, m_at - 1, begin);
        }
        emit(kind, open, m_at);
    }

    /// To the end of a string that is already wrong.
    void skipString()
    {
        while (m_at < m_text.size() && peek() != '\n' && peek() != '"') ++m_at;
        if (peek() == '"') ++m_at;
    }

    std::string_view m_text;
    std::vector<TextError>& m_errors;
    std::vector<Token> m_tokens;
    size_t m_at = 0;
    size_t m_lineStart = 0;
    size_t m_statementStart = 0; ///< index of the first token of this line
    uint32_t m_line = 1;
    bool m_space = true;
};

} // namespace

std::vector<Token> tokenize(std::string_view text, std::vector<TextError>& errors) { return Lexer(text, errors).run(); }

std::string decodeString(const Token& token)
{
    std::string bytes;
    const std::string_view inside = token.text.substr(1, token.text.size() - 2);
    bytes.reserve(inside.size());
    for (size_t i = 0; i < inside.size(); ++i) {
        if (inside[i] != '\\') {
            bytes += inside[i];
            continue;
        }
        ++i;
        if (inside[i] == 'x') {
            bytes += static_cast<char>(hexValue(inside[i + 1]) * 16 + hexValue(inside[i + 2]));
            i += 2;
        } else {
            bytes += inside[i] == 'n' ? '\n' : inside[i] == 't' ? '\t' : inside[i];
        }
    }
    return bytes;
}

std::string quoted(std::string_view bytes)
{
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text = "\"";
    for (size_t i = 0; i < bytes.size();) {
        const char c = bytes[i];
        const auto byte = static_cast<unsigned char>(c);
        const size_t length = utf8Length(bytes, i);
        // C1 control characters are two bytes, C2 80 to C2 9F.
        const bool control =
            byte < 0x20 || byte == 0x7F || (byte == 0xC2 && length == 2 && static_cast<unsigned char>(bytes[i + 1]) < 0xA0);
        if (c == '"' || c == '\\') {
            text += '\\';
            text += c;
        } else if (c == '\n') {
            text += "\\n";
        } else if (c == '\t') {
            text += "\\t";
        } else if (length > 0 && !control) {
            text += bytes.substr(i, length);
            i += length;
            continue;
        } else {
            text += "\\x";
            text += kDigits[byte >> 4];
            text += kDigits[byte & 15];
        }
        ++i;
    }
    return text + "\"";
}

bool isWordText(std::string_view text)
{
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return isLetter(c) || isDigit(c) || c == '_'; });
}

std::string keyText(std::string_view text)
{
    return isWordText(text) && !isDigit(text.front()) && text != "_" ? std::string(text) : quoted(text);
}

bool isBareId(std::string_view text)
{
    return !text.empty() && isIdStart(text.front()) && text.back() != '-' && text != "_" && std::all_of(text.begin(), text.end(), isIdPart);
}

std::string idText(std::string_view text) { return isBareId(text) ? std::string(text) : quoted(text); }

bool isPlainWord(std::string_view text)
{
    if (!isWordText(text) || isDigit(text.front())) return false;
    for (const std::string_view taken : {"_", "true", "false", "unset", "inf", "nan", "shape", "hex"})
        if (text == taken) return false;
    return !dtypeFromName(text);
}

bool isNamedOutput(std::string_view id, std::string_view node)
{
    if (id.size() <= node.size() + 1 || !id.starts_with(node) || id[node.size()] != ':') return false;
    const std::string_view rest = id.substr(node.size() + 1);
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos || !isWordText(rest.substr(0, colon)) || isDigit(rest.front())) return false;
    const std::string_view number = rest.substr(colon + 1);
    return !number.empty() && std::all_of(number.begin(), number.end(), isDigit) && (number == "0" || number.front() != '0');
}

} // namespace loopscope
