// The ends of TensorLists whose elements have one size: what loops append to and their gradients take from in every iteration. Nothing is
// taken apart or allocated for it; what is not as simple as that is left to ListView, of which these are the quick forms. The dtypes of the
// operators' operands and results were held against `element_dtype` when their kernels were prepared.
#pragma once

#include "engine/kernels/kernel.h"

namespace loopscope {

/// Result 0 becomes the list in operand 0 with operand 1 behind its last element. `done` stays false where that has to be found out, or
/// refused, the long way.
Status appendQuickly(const KernelArgs& args, bool& done);

/// What of taking the last element off the list in operand 0 is done: result 1 is that element, and result 0 what is left.
struct QuickPop {
    bool element = false, list = false;
};
Status popQuickly(const KernelArgs& args, QuickPop& done);

} // namespace loopscope
