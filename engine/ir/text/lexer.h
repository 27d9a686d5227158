// The tokens of the text IR, and what they share with the printer: which words need quotes and how strings are escaped.
// Lexical rules: docs/text_ir.md, "Lexical rules".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// The fact by which an operator that is no node says its name.
inline constexpr std::string_view kNameFact = "@name";

/// Lists, maps and types nest no deeper than this, in text and in models.
inline constexpr int kDeepestNesting = 64;

enum class TokenKind : uint8_t {
    end,
    newline,
    word,   ///< a bare id, a word, or a key: letters, digits, `_ . / -`
    string, ///< "…", with its quotes
    integer,
    real,   ///< also inf, -inf, nan and nan(0x…) where they cannot be words: `-inf`, `nan(0x…)`
    hex,    ///< hex"…", the digits only
    hash,   ///< #…, the 16 or 32 digits only
    arrow,  ///< ->
    symbol, ///< one punctuation character
    base64, ///< what stands between the braces after `base64` in a data statement
    bad,    ///< an error was reported here
};

/// A token is a view into the text, which must outlive it. Lines and columns count from 1; columns count bytes.
struct Token {
    TokenKind kind = TokenKind::end;
    bool spaceBefore = false; ///< blanks or a line end stand before it
    uint32_t line = 1;
    uint32_t column = 1;
    std::string_view text;

    bool is(char symbol) const { return kind == TokenKind::symbol && text.front() == symbol; }
    bool isWord(std::string_view word) const { return kind == TokenKind::word && text == word; }
};

/// After this many errors a text is not read further.
inline constexpr size_t kMostTextErrors = 20;

/// An error with its place. Ordered by place.
struct TextError {
    uint32_t line = 1;
    uint32_t column = 1;
    std::string message; ///< without the place
};

/// Cuts `text` into tokens, the last of which is `end`. Each error puts a `bad` token where it was found; at the 20th the text ends.
std::vector<Token> tokenize(std::string_view text, std::vector<TextError>& errors);

/// The bytes of a string token. The lexer has checked its escapes.
std::string decodeString(const Token& token);
/// The inverse: with quotes. Valid UTF-8 stays, except control characters; other bytes become \xHH.
std::string quoted(std::string_view bytes);

/// Letters, digits and `_`, at least one.
bool isWordText(std::string_view text);
/// `text` as an attribute key or a map key: bare if it is a word that is no number, else in quotes.
std::string keyText(std::string_view text);
/// Can stand where an id is wanted without quotes.
bool isBareId(std::string_view text);
/// `text` as it is if it is a bare id, else in quotes.
std::string idText(std::string_view text);
/// A word that reads back as one where a value is wanted: no number, dtype, `true`, `unset`, …
bool isPlainWord(std::string_view text);
/// Whether `id` is `node:out:k`, an output of a TensorFlow node outside the catalogue.
bool isNamedOutput(std::string_view id, std::string_view node);

} // namespace loopscope
