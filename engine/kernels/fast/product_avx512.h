// The loops of product.h for machines with AVX-512. Only product.cpp, which chooses, and tests call them.
#pragma once

#include "engine/base/cpu_level.h"
#include "engine/kernels/fast/product.h"

#include <cstdint>

#if defined(__x86_64__)
#define LS_HAS_AVX512 1
#else
#define LS_HAS_AVX512 0
#endif

#if LS_HAS_AVX512

namespace loopscope::fast::avx512 {

/// Whether this machine can run the loops of floats, and those of integers.
inline bool hasFloats() { return cpuHas(CpuLevel::avx512); }
inline bool hasPairs() { return cpuHas(CpuLevel::avx512vnni); }

/// One or two panels, `apart` numbers from each other.
void multiplyTiles(const float* const* rows, int count, int64_t depth, const float* panel, int panels, int64_t apart,
                   const FloatFinish& finish, float* to, int64_t stride);
void multiplyTiles(const int16_t* const* rows, int count, int64_t pairs, const int16_t* panel, int panels, int64_t apart, int32_t* sums);
/// One to four panels.
void multiplyRow(const float* row, int64_t depth, const float* panel, int panels, bool roundsProducts, float* sums);
void multiplyRow(const int16_t* row, int64_t pairs, const int16_t* panel, int panels, int32_t* sums);
void multiplyRow(const float* row, int64_t depth, const float* panel, int64_t columns, const FloatFinish& finish, float* to);

/// Of bytes; as those of product.h.
template <typename T> void multiplyTiles(const T* const* rows, int count, int64_t quads, const int8_t* panel, int panels, int64_t apart,
                                         const int32_t* start, int32_t* sums);
template <typename T> void multiplyRow(const T* row, int64_t quads, const int8_t* panel, int panels, const int32_t* start, int32_t* sums);

} // namespace loopscope::fast::avx512

#endif
