#include "engine/ir/text/token_reader.h"

#include <algorithm>
#include <utility>

namespace loopscope::text {

TokenReader::TokenReader(std::string_view text) { m_tokens = tokenize(text, m_errors); }

const Token& TokenReader::peek(size_t ahead) const
{
    size_t at = m_at;
    for (;;) {
        if (m_open > 0)
            while (m_tokens[at].kind == TokenKind::newline) ++at;
        if (ahead == 0 || m_tokens[at].kind == TokenKind::end) return m_tokens[at];
        --ahead;
        ++at;
    }
}

const Token& TokenReader::take()
{
    if (m_open > 0)
        while (m_tokens[m_at].kind == TokenKind::newline) ++m_at;
    const Token& token = m_tokens[m_at];
    if (token.kind != TokenKind::end) ++m_at;
    return token;
}

bool TokenReader::accept(char symbol)
{
    if (!peek().is(symbol)) return false;
    take();
    if (symbol == '(' || symbol == '[' || symbol == '{' || symbol == '<') ++m_open;
    if (symbol == ')' || symbol == ']' || symbol == '}' || symbol == '>') m_open = std::max(0, m_open - 1);
    return true;
}

bool TokenReader::expect(char symbol) { return accept(symbol) || unexpected("'" + std::string(1, symbol) + "'"); }

bool TokenReader::expectLineEnd()
{
    if (!atLineEnd()) return unexpected("the end of the line");
    take();
    return true;
}

bool TokenReader::fail(const Token& at, std::string message)
{
    if (at.kind == TokenKind::bad) return false; // the lexer has said what is wrong
    return fail(at.line, at.column, std::move(message));
}

bool TokenReader::fail(uint32_t line, uint32_t column, std::string message)
{
    if (!isFull()) m_errors.push_back({line, column, std::move(message)});
    return false;
}

std::string TokenReader::show(const Token& token)
{
    switch (token.kind) {
    case TokenKind::end: return "the end of the text";
    case TokenKind::newline: return "the end of the line";
    case TokenKind::string: return std::string(token.text);
    case TokenKind::hash: return "#" + std::string(token.text);
    case TokenKind::hex: return "hex\"" + std::string(token.text.substr(0, 16)) + "\"";
    case TokenKind::base64: return "base64 data";
    default: return "'" + std::string(token.text) + "'";
    }
}

bool TokenReader::unexpected(std::string_view expected)
{
    return fail(peek(), "found " + show(peek()) + ", expected " + std::string(expected));
}

/// To the beginning of the next line.
void TokenReader::skipStatement()
{
    m_open = 0;
    while (m_tokens[m_at].kind != TokenKind::newline && m_tokens[m_at].kind != TokenKind::end) ++m_at;
    if (m_tokens[m_at].kind == TokenKind::newline) ++m_at;
}

void TokenReader::skipLines()
{
    while (m_tokens[m_at].kind == TokenKind::newline) ++m_at;
}

bool TokenReader::skipToBody()
{
    m_open = 0;
    while (m_tokens[m_at].kind != TokenKind::end && !(m_tokens[m_at].is('{') && m_tokens[m_at + 1].kind == TokenKind::newline)) ++m_at;
    if (m_tokens[m_at].kind == TokenKind::end) return false;
    m_at += 2;
    return true;
}

std::vector<TextError> TokenReader::takeErrors()
{
    std::stable_sort(m_errors.begin(), m_errors.end(),
                     [](const TextError& a, const TextError& b) { return std::pair(a.line, a.column) < std::pair(b.line, b.column); });
    if (m_errors.size() > kMostTextErrors) m_errors.resize(kMostTextErrors);
    return std::move(m_errors);
}

} // namespace loopscope::text
