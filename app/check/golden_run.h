// Runs one golden case: opens the model, feeds its runs one after the other in one session, compares the outputs.
#pragma once

#include "app/check/golden_case.h"
#include "app/check/verdict.h"
#include "engine/ir/model.h"
#include "engine/kernels/kernel.h"

#include <string>
#include <vector>

namespace loopscope::app {

/// Never throws and never fails: whatever goes wrong is the verdict. A failure says what differs, and by how much. With another profile
/// than `reference` results may be further from the golden ones, by the bounds of its kernels.
CaseResult runGoldenCase(const GoldenCase& golden, Profile profile = Profile::reference);

/// Kinds that `graph` or what it calls uses and no kernel executes, without repetitions: "custom.Foo".
std::vector<std::string> missingKernels(const Model& model, GraphId graph);

} // namespace loopscope::app
