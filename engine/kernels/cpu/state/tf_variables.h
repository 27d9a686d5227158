// Access to TensorFlow's variables for kernels that read and write them.
#pragma once

#include "engine/kernels/cpu/tf_support.h"
#include "engine/kernels/resources.h"

#include <string>
#include <vector>

namespace loopscope {

/// "[container/]shared_name" of what the operator makes; without a shared name that of the operator.
std::string tfResourceName(const KernelArgs& args);
/// The variable that operand `i` is the handle of, which must have been assigned. Errors: InvalidArgument, NotFound, FailedPrecondition.
Result<Variable*> tfAssignedVariable(const KernelArgs& args, int i = 0);
/// Its value in place. An empty one has data, too.
Tensor tfValueOf(const Variable& variable);
/// Rows of the variable that operand 1 names. Errors: InvalidArgument for one that is out of range.
Result<std::vector<int64_t>> tfRowsOf(const KernelArgs& args, const Variable& variable);
/// Tells who listens that the variable has its present value from this operator.
void tfTellWritten(const KernelArgs& args, const Variable& variable);
/// The result of an operator on a reference is the reference; one on a resource has none.
Status tfHandOn(const KernelArgs& args);

} // namespace loopscope
