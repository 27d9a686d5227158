// Where TensorFlow's random operators get their numbers from: streams of Philox 4x32-10 by seeds or keys, and bits as uniform numbers.
#pragma once

#include "engine/kernels/cpu/tf_support.h"
#include "engine/kernels/resources.h"

namespace loopscope {

inline constexpr int64_t kReservedPerNumber = 256;

/// 23 bits become the mantissa of a number from 0 to 1.
float uniformFloat(uint32_t bits);
/// The same of 52 bits.
double uniformDouble(uint32_t low, uint32_t high);

/// The stream of the operator by its attributes `seed` and `seed2`; a copy to draw from. The stream itself moves on by that much.
PhiloxStream reserveBlocks(const KernelArgs& args, int64_t blocks);
/// The stream of the seed in operand `i`, which is scrambled by a stream of its own, so that weak seeds do no harm.
Result<PhiloxStream> streamOfSeed(const KernelArgs& args, int i);
/// The stream of operands 1 to 3: key, counter, algorithm.
Result<PhiloxStream> streamOfKey(const KernelArgs& args);

} // namespace loopscope
