// What a graph computes, as an expression that people read: `arg0 <= arg2`, `mod % 2 == 0`.
#pragma once

#include "engine/ir/model.h"
#include "engine/tensor/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

struct FrameAnalysis;

/// Expands a value of a graph into the operators that compute it, down to inputs and what is too large to show. Branches and calls are
/// opened where what they compute is made of their operands: `if(a, b)` whose other side is false reads "a and b". Leaves are filled with
/// the values that stand in the text, without constants, in order of appearance. `frames`: of a v1 graph, to open its conditionals too.
std::string expressionText(const Model& model, const Graph& graph, ValueId value, std::vector<ValueId>& leaves,
                           const FrameAnalysis* frames = nullptr);

/// The comparison that a value is, if it is one of the six: "<=", …
struct ComparisonText {
    std::string sign; ///< empty: it is none
    ValueId left, right;
};
ComparisonText comparisonOf(const Graph& graph, ValueId value);

/// A constant of one element as a literal; a small list; else its id.
std::string constantText(const Value& value);

/// What a Const node of one number holds, over the node's own bytes; none: it is no such node.
std::optional<Tensor> constantNode(const Operator& op);

/// "3", "0.5", "true": element `index`, with thousands grouped in integers if `grouped`.
std::string numberText(const Tensor& tensor, int64_t index, bool grouped = true);
/// Significant digits as the dtype deserves, fewer where that is exact.
std::string realNumberText(double value, int digits);

} // namespace loopscope
