// Conditions that compare single numbers, the ones on hot operators: worked out in registers, with the results that the expression itself
// would give. Whatever is not so simple is left to the expression.
#pragma once

#include "engine/debug/expression/source.h"
#include "engine/debug/expression/syntax.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace loopscope {

class ScalarCondition {
public:
    /// None if the text holds anything but values, prev(value), min and max of a value, numbers, iter, step, comparisons, + - * % and
    /// logic. It must have been compiled against the source as an expression before.
    static std::optional<ScalarCondition> compile(std::string_view text, ExpressionSource& source);
    /// None: it takes the expression to tell (a value is absent or has several elements, a number is too large).
    std::optional<bool> holds(ExpressionSource& source) const;

private:
    enum class Kind : uint8_t {
        integer,
        real,
        boolean,
        iteration,
        step,
        load,
        previous,
        least,
        most,
        binary,
        logicalAnd,
        logicalOr,
        logicalNot,
        negate
    };
    enum class Type : uint8_t { boolean, integer, real };
    struct Node {
        Kind kind = Kind::integer;
        Type type = Type::integer;
        BinaryOperator op = BinaryOperator::add;
        bool isLiteral = false;       ///< a real literal, perhaps with a sign
        DType dtype = DType::unknown; ///< load, previous, least, most: of the tensor
        uint32_t place = 0;
        int64_t integer = 0; ///< previous: how far back
        double real = 0;
        size_t left = 0, right = 0;
    };
    struct Number {
        Type type = Type::integer;
        int64_t integer = 0; ///< boolean: 0 or 1
        double real = 0;
    };

    std::optional<size_t> add(const Syntax& syntax, uint32_t node, ExpressionSource& source);
    std::optional<size_t> addBinary(const Syntax& syntax, const SyntaxNode& written, ExpressionSource& source);
    std::optional<size_t> addLoad(const SyntaxNode& word, Kind kind, int64_t back, ExpressionSource& source);
    bool evaluate(const Node& node, ExpressionSource& source, Number& result) const;
    bool binary(const Node& node, ExpressionSource& source, Number& result) const;
    static bool read(const Tensor& tensor, const Node& node, Number& result);
    static bool extreme(const Tensor& tensor, bool isMost, Number& result);

    std::vector<Node> m_nodes; ///< the root is the last
};

} // namespace loopscope
