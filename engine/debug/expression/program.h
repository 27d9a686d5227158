// The compiled form of an expression: typed nodes, each with a register for its value. Private to this folder.
#pragma once

#include "engine/debug/expression/expression.h"
#include "engine/debug/expression/functions.h"
#include "engine/debug/expression/syntax.h"
#include "engine/debug/expression/text_pattern.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

enum class ProgramKind : uint8_t {
    constant,  ///< its register holds it
    load,      ///< a value of the source
    function,  ///< of its operands
    placeFact, ///< .dead .writer .step .name, statistics and `changed` of a value of the source
    position,  ///< iter, trip, branch, step, run, hits, depth
    index,
    binary,
    negate,
    logicalNot,
    logicalAnd,
    logicalOr,
    list, ///< a 1-D tensor of its operands
};

inline constexpr uint32_t kNoNode = UINT32_MAX;

/// One index of x[…].
struct ProgramIndex {
    enum class Kind : uint8_t { single, slice, ellipsis } kind = Kind::single;
    uint32_t nodes[3] = {kNoNode, kNoNode, kNoNode}; ///< single: the index; slice: begin, end, step
    uint32_t at = 0;                                 ///< where an error about it points
};

/// What is known of a value before the expression runs; unknown dimensions and ranks are so in the shape.
struct StaticType {
    ExpressionType type = ExpressionType::any;
    Shape shape = Shape::unknownRank();
};

struct ProgramNode {
    ProgramKind kind = ProgramKind::constant;
    ExpressionFunction function = ExpressionFunction::abs;
    BinaryOperator op = BinaryOperator::add;
    bool isLiteral = false; ///< a float literal: rounded to the dtype of the tensor beside it
    uint32_t begin = 0, end = 0, at = 0;
    std::vector<uint32_t> operands;
    std::vector<ProgramIndex> indices;
    uint32_t axis = kNoNode, rtol = kNoNode, atol = kNoNode; ///< keyword arguments
    uint32_t place = 0;                                      ///< load, placeFact
    ExpressionHistory history = ExpressionHistory::current;  ///< load
    uint32_t historyNode = kNoNode;                          ///< previous: how far back; atIteration: which
    std::optional<uint32_t> site;                            ///< position: loop or branch; atIteration: loop
    DType castTo = DType::unknown;
    uint32_t pattern = 0; ///< matches
    ExpressionCost cost = ExpressionCost::constant;
    StaticType type;
};

struct ExpressionProgram {
    std::string text;  ///< of this expression
    std::string whole; ///< what positions count in: the list that it is part of
    std::vector<ProgramNode> nodes;
    std::vector<ExpressionValue> values; ///< register of each node
    std::vector<TextPattern> patterns;
    std::vector<double> scratch;
    std::vector<ExpressionDependency> dependencies;
    uint32_t root = 0;

    std::string_view textOf(const ProgramNode& node) const { return std::string_view(whole).substr(node.begin, node.end - node.begin); }
};

/// Computes the register of `node`. Errors carry their place.
Status evaluateNode(ExpressionProgram& program, ExpressionSource& source, uint32_t node);

/// "x > 0 gives bool[4]; a condition needs one bool: any(...) or all(...)".
Error notOneBool(const ExpressionProgram& program, std::string_view gives, bool isBooleanTensor);

} // namespace loopscope
