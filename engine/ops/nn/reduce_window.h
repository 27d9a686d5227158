// The geometry of a windowed reduction, shared by inference and kernel.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/attribute.h"
#include "engine/tensor/shape.h"

#include <cstdint>
#include <vector>

namespace loopscope {

/// Per dimension. Positions are those of the input spread by `baseDilations`, counted from `−padLow`; what is not an input element there
/// counts as the initial value (StableHLO specification, reduce_window).
struct WindowGeometry {
    std::vector<int64_t> size, strides, dilations, baseDilations, padLow, padHigh;

    /// Of stablehlo_reduce_window's attributes for an input of `rank` dimensions. Errors: C1, C2 as check.
    static Result<WindowGeometry> create(const AttributeList& attributes, int rank);
    /// Errors: C1 not one entry for each of `rank` dimensions; C2 a size, stride or dilation below 1 or too large.
    Status check(int rank) const;
    /// Errors: C2 the input spread and padded is too large or negative.
    Result<Shape> result(const Shape& input) const;
};

} // namespace loopscope
