// Lines of text tests that hold values: `x = [1, 2]`, `x = seed 7 [0, 9]`, `y = f32[2] [1.0, 2.0] ulp 1`.
#pragma once

#include "app/check/ltest_file.h"
#include "engine/api/inputs/inputs.h"
#include "engine/api/inputs/run_target.h"
#include "engine/exec/execution_options.h"
#include "engine/tensor/compare.h"

#include <span>
#include <string>
#include <vector>

namespace loopscope::app {

/// What one line of `== expect` demands.
struct Expectation {
    size_t output = 0; ///< position in RunTarget::outputs
    Array value;
    Tolerance tolerance;
};

/// Inputs of a `== run` section; those it does not name are an error. Errors: usage, naming the line.
Result<BoundInputs> readInputs(const LtestSection& section, const RunTarget& target, uint64_t seed);
/// What `== run` and `== session` say beside the signature: `seed=3`. Errors: usage, with the option.
Status readRunOptions(const LtestSection& section, ExecutionOptions& options);
/// Literals are read with the dtypes of `outputs`; flat lists take their shapes. Errors: usage, naming the line.
Result<std::vector<Expectation>> readExpectations(const LtestSection& section, const RunTarget& target, std::span<const Tensor> outputs);

/// The names that the lines of a section assign to, in their order.
std::vector<std::string> assignedNames(const LtestSection& section);

/// Without blanks at both ends.
std::string trimText(const std::string& text);
/// The structured view, line by line.
std::vector<std::string> structuredLines(const Model& model);

} // namespace loopscope::app
