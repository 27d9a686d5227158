// Strided slices as TensorFlow's operators state them: what they cut out, and copies between it and the whole.
#pragma once

#include "engine/kernels/cpu/tf_support.h"
#include "engine/ops/movement/strided_slice.h"

#include <cstddef>

namespace loopscope {

/// The slice that operands `first` … `first + 2` of the operator cut out of `input`. Errors in TensorFlow's words.
Result<StridedSlicePlan> tfPlanSlice(const KernelArgs& args, const Shape& input, int first);

/// Copies between the whole tensor and the slice of it. `size`: bytes of an element.
void tfCopySlice(const StridedSlicePlan& plan, const Shape& whole, const std::byte* source, std::byte* target, int64_t size,
                 bool intoWhole);

} // namespace loopscope
