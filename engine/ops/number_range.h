// How many numbers RANGE gives, shared by inference and kernel.
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/tensor.h"

#include <cstdint>

namespace loopscope {

/// Numbers from `start` to before `limit` in steps of `delta`, three known scalars of one dtype (f32, f16, bf16, i8, i16, i32, i64).
/// Rule: LiteRT kernels/range.cc, GetSize and GetSizeQuantized, with each float operation rounded to the dtype.
/// Errors: C2 the step is 0 or leads away from the limit, or there are too many numbers.
Result<int64_t> rangeCount(const Tensor& start, const Tensor& limit, const Tensor& delta);

/// Element 0 of an f32, f16, bf16 tensor; of a quantized i8 or i16 tensor its real value, in f32 as LiteRT computes it.
float realScalar(const Tensor& tensor);

} // namespace loopscope
