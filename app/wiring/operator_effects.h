// Where two profiles of kernels part: what each operator alone does to the outputs of a run.
#pragma once

#include "app/wiring/proof_run.h"

#include <span>
#include <string>
#include <vector>

namespace loopscope::app {

/// Nothing where neither profile of the proof is the reference, or a device is one. Errors: cancelled; of runs that did end in the proof.
Result<OperatorEffects> operatorEffects(const ProofRequest& asked, std::span<const Array> inputs);
/// "0.125 (3 steps)": the largest difference that it makes to an output.
std::string changeText(const OperatorEffect& effect);
/// Each reason once, and none that `known` begins with.
std::vector<std::string> effectLines(const OperatorEffects& effects, const std::string& known);
/// A member "effects" of an open object.
void addEffects(JsonWriter& json, const OperatorEffects& effects);

} // namespace loopscope::app
