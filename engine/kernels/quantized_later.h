// Which operators compute floats that are quantized further on. The smallest difference there can move a number to the next step, which
// is no longer small: kernels of a profile that promises the integers of the reference keep the reference's bits up to that point.
#pragma once

#include "engine/ir/model.h"

#include <vector>

namespace loopscope {

/// Found by going backwards from operators that quantize floats: `quantize`, and those that multiply floats by integer weights. Through
/// calls and variables it rather says too much than too little.
class QuantizedLater {
public:
    QuantizedLater() = default; ///< holds for no operator
    explicit QuantizedLater(const Model& model);

    /// Whether results of the operator reach, through whatever others, one that quantizes them.
    bool holds(GraphId graph, OperatorId op) const;

private:
    bool visit(const Model& model, size_t graph);

    std::vector<std::vector<bool>> m_values; ///< by graph and value: it reaches one; empty: nothing is quantized
    std::vector<std::vector<bool>> m_operators;
};

} // namespace loopscope
