// How each TensorFlow operator's gradient is computed from its operands, its results and their gradients. The rules are those that
// TensorFlow registers for SymbolicGradient (core/ops/math_grad.cc, array_grad.cc, nn_grad.cc).
#pragma once

#include "engine/transform/gradient_nodes.h"

#include <string_view>
#include <vector>

namespace loopscope {

/// One operator whose gradient is asked for.
struct GradientCase {
    GradientNodes& nodes;
    const Operator op; ///< a copy: nodes are added to its graph
    std::vector<GradientValue> x, y, dy;
    std::vector<GradientValue> dx; ///< the answer; invalid: zeros

    void give(GradientValue gradient) { dx[0] = gradient; }
    void give(GradientValue first, GradientValue second)
    {
        dx[0] = first;
        dx[1] = second;
    }
};

using GradientRule = void (*)(GradientCase&);

/// The rule of an operator, or null.
GradientRule findGradientRule(std::string_view kind);

} // namespace loopscope
