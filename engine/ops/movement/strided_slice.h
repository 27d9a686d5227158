// The meaning of STRIDED_SLICE's masks, shared by inference and kernel.
#pragma once

#include "engine/ops/op_def.h"

#include <array>
#include <optional>
#include <span>

namespace loopscope {

struct StridedSliceMasks {
    uint32_t begin = 0, end = 0, ellipsis = 0, newAxis = 0, shrink = 0;
    bool offset = false; ///< `end` counts from `begin`
};

StridedSliceMasks stridedSliceMasks(const AttributeList& attributes);

/// One dimension of the input after new axes were put in.
struct StridedSliceDim {
    int64_t begin = 0;
    int64_t stride = 1;
    int64_t count = kUnknownDim; ///< elements taken; unknown where the operands do not tell yet
    bool newAxis = false;        ///< no dimension of the input
    bool shrink = false;         ///< no dimension of the result
};

struct StridedSlicePlan {
    static constexpr int kLimit = 32; ///< as many dimensions as a mask has bits
    int rank = 0;
    std::array<StridedSliceDim, kLimit> dims;
    Shape result() const;
};

/// Rule: LiteRT kernels/strided_slice.cc, internal/strided_slice_logic.h. `begin`, `end` and `strides` have `specs` entries each, or are
/// none where they are not known yet; unknown input dimensions give unknown counts.
/// Errors: C2 more than 31 specs or dimensions, or more specs than dimensions; C3 a stride of 0, or a negative one where an index is
/// meant; C4 an index beyond its dimension.
Result<StridedSlicePlan> planStridedSlice(const Shape& input, const StridedSliceMasks& masks, int specs,
                                          std::optional<std::span<const int64_t>> begin, std::optional<std::span<const int64_t>> end,
                                          std::optional<std::span<const int64_t>> strides);

} // namespace loopscope
