// What the line of an operator in ops.def says of it beside where it is defined: the family that it belongs to, and traits that other parts
// of the program ask for. Whoever needs a list of operators asks here; nobody keeps one of their names.
#pragma once

#include "engine/ir/model.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace loopscope {

/// What kind of work an operator does: what it is coloured by (docs/desktop.md, "Operator families").
enum class OpFamily : uint8_t { matrix, arithmetic, activation, reduction, movement, controlFlow, conversion, state, other };
inline constexpr size_t kOpFamilyCount = 9;
std::string_view opFamilyName(OpFamily family); ///< "control flow"
/// None: the catalogue does not know the operator.
std::optional<OpFamily> opFamily(const Kind& kind);

enum class OpTrait : uint8_t {
    foldable,       ///< shapes are calculated with it: the planner runs it on small integers that it knows
    noGradient,     ///< TensorFlow: its operands get no gradient through it
    integerWeights, ///< does float arithmetic on integer weights, too ("hybrid")
    variable,       ///< TensorFlow: gives a variable of the session, or its handle
    dataflow,       ///< TensorFlow 1's executor treats it in its own way
};
/// Whether the operator is known and has the trait.
bool hasTrait(const Kind& kind, OpTrait trait);

} // namespace loopscope
