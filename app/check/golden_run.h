// Runs one golden case: opens the model, feeds its runs one after the other in one session, compares the outputs.
#pragma once

#include "app/check/golden_case.h"
#include "app/check/verdict.h"
#include "engine/ir/model.h"
#include "engine/kernels/kernel.h"
#include "engine/tensor/npz.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace loopscope::app {

/// Never throws and never fails: whatever goes wrong is the verdict. A failure says what differs, and by how much. With another profile
/// than `reference` results may be further from the golden ones, by the bounds of its kernels.
CaseResult runGoldenCase(const GoldenCase& golden, Profile profile = Profile::reference);

/// Array `position` of an archive, converted from the form .npy stores it in; `dtypes`: key → true dtype. None if the archive leaves it
/// out.
Result<std::optional<Array>> goldenArray(const NpzFile& archive, size_t position, const std::map<std::string, std::string>& dtypes);

/// Kinds that `graph` or what it calls uses and no kernel executes, without repetitions: "custom.Foo".
std::vector<std::string> missingKernels(const Model& model, GraphId graph);

} // namespace loopscope::app
