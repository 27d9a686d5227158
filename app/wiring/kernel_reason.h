// What the kernels of one profile do otherwise than the reference's, at an operator, and by how much its results differ for that.
#pragma once

#include "engine/ir/model.h"
#include "engine/kernels/registry.h"
#include "engine/tensor/compare.h"

#include <string>
#include <string_view>

namespace loopscope::app {

/// "xnnpack's conv_2d: requantized by a float scale, …"; empty for the reference's kernels, and where nothing is known.
std::string kernelRemark(const Operator& op, const Graph& graph, Profile profile);
/// How many steps of its type's scale a difference is; 0: it has none.
double stepsOf(const TensorType& type, const Comparison& figures);
/// "1 step at channel 7" where the weights have a scale for each channel, else "1 step"; of floats only the channel, if any. Empty: nothing
/// differs, or there is neither.
std::string stepsText(const Operator& op, const Graph& graph, const Comparison& figures);
/// Both, as far as there is something to say.
std::string kernelReason(std::string remark, const std::string& steps);
/// "3 steps"
std::string stepCount(double steps);

} // namespace loopscope::app
