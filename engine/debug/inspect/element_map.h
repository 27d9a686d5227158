// From which elements of its operands an element of an operator's result was made: exact for operators that compute element by element
// and for those that only move elements, "all of them" for the others.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/tensor/tensor.h"

#include <cstdint>
#include <span>
#include <vector>

namespace loopscope {

enum class ElementUse : uint8_t {
    none, ///< the operand gives nothing to this element, or only steers
    one,
    all, ///< any of its elements
};

struct ElementSource {
    ElementUse use = ElementUse::all;
    int64_t index = 0; ///< flat; use one
};

/// What an operator does to elements.
enum class ElementForm : uint8_t { elementwise, movement, mixing };
ElementForm elementForm(const Operator& op);

/// By operand, for element `element` (flat) of result `slot`, whose shape is `result`. `operands` are the values that the operator reads,
/// null where missing. Constants of the graph may be among them.
std::vector<ElementSource> elementSources(const Operator& op, std::span<const Tensor* const> operands, const Shape& result, int slot,
                                          int64_t element);

} // namespace loopscope
