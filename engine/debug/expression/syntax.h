// The syntax tree of an expression, before its names mean anything. Grammar: docs/expressions.md.
#pragma once

#include "engine/base/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

enum class SyntaxKind : uint8_t {
    integer,
    real,
    string,
    word,
    named,   ///< %id, %"full name"
    address, ///< {…}
    list,    ///< [a, b]
    call,    ///< word(arguments)
    keyword, ///< word=argument in a call
    member,  ///< .word
    index,   ///< x[…]: the value, then its indices
    slice,   ///< a:b:c in an index; a missing part is a node of kind `missing`
    ellipsis,
    missing,
    negate,
    plus,
    logicalNot,
    binary,
    logicalAnd,
    logicalOr,
};

enum class BinaryOperator : uint8_t {
    equal,
    notEqual,
    less,
    lessEqual,
    greater,
    greaterEqual,
    add,
    subtract,
    multiply,
    divide,
    floorDivide,
    modulo,
    power
};

/// One node; children are indices into Syntax::nodes. Positions are byte offsets into the text.
struct SyntaxNode {
    SyntaxKind kind = SyntaxKind::missing;
    uint32_t begin = 0, end = 0;
    uint32_t at = 0; ///< where an error about this node points: the operator of a binary node, else `begin`
    BinaryOperator op = BinaryOperator::add;
    bool quoted = false; ///< named: by full name
    int64_t integer = 0; ///< integer
    double real = 0;     ///< real
    std::string text;    ///< word, string, name, address
    std::vector<uint32_t> children;
    uint32_t depth = 1; ///< nodes on the longest way down
};

/// A parsed list of expressions.
struct Syntax {
    std::vector<SyntaxNode> nodes;
    std::vector<uint32_t> roots; ///< one for each expression of the list
};

/// Longest text and deepest tree that are read: what a person types is far below both.
inline constexpr size_t kLongestExpression = 16384;
inline constexpr uint32_t kDeepestExpression = 200;

/// Parses one expression, or with `asList` a list `a, b`. Errors: usage with line:column.
Result<Syntax> parseExpression(std::string_view text, bool asList);

/// "1:9": line and column of a byte offset, both from 1.
std::string expressionPosition(std::string_view text, uint32_t offset);
/// "==", "//", …
std::string_view operatorText(BinaryOperator op);

} // namespace loopscope
