// The tokens of a text one after the other, and the errors that were met on the way: what the parser's grammar stands on.
#pragma once

#include "engine/ir/text/lexer.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::text {

class TokenReader {
public:
    explicit TokenReader(std::string_view text);

    const std::vector<Token>& tokens() const { return m_tokens; }
    /// The next token; inside of brackets ends of lines are none.
    const Token& peek(size_t ahead = 0) const;
    const Token& take();
    /// Takes the symbol if it is next. Brackets are counted.
    bool accept(char symbol);
    bool expect(char symbol);
    bool expectLineEnd();
    bool atLineEnd() const { return peek().kind == TokenKind::newline || peek().kind == TokenKind::end; }

    /// Report an error, and say false.
    bool fail(const Token& at, std::string message);
    bool fail(uint32_t line, uint32_t column, std::string message);
    bool unexpected(std::string_view expected);
    static std::string show(const Token& token);                       ///< how an error calls it
    bool isFull() const { return m_errors.size() >= kMostTextErrors; } ///< no more errors are reported: looking for any is idle
    bool hasErrors() const { return !m_errors.empty(); }
    /// By place, at most kMostTextErrors.
    std::vector<TextError> takeErrors();

    /// To the beginning of the next line.
    void skipStatement();
    void skipLines();
    /// Behind the next '{' that ends a line. False: there is none.
    bool skipToBody();
    void skipToEnd() { m_at = m_tokens.size() - 1; }

private:
    std::vector<Token> m_tokens;
    std::vector<TextError> m_errors;
    size_t m_at = 0;
    int m_open = 0; ///< brackets that are open: line ends do not count inside
};

} // namespace loopscope::text
