// Sliding windows: how padding words, strides and dilation determine the size of a result and where its first window begins. Shared by
// the inference and the kernels of convolutions and pooling.
#pragma once

#include "engine/ops/op_def.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace loopscope {

/// One axis of a sliding window. Sizes are elements.
struct WindowAxis {
    int64_t input = kUnknownDim; ///< kUnknownDim: not known yet
    int64_t filter = 1;
    int64_t stride = 1;
    int64_t dilation = 1;
    bool same = true; ///< SAME; else VALID

    /// Distance from the first to the last element that a window reads, plus one.
    int64_t extent() const { return (filter - 1) * dilation + 1; }
    /// Windows along the axis (LiteRT kernels/padding.h): SAME rounds input / stride up, VALID counts whole windows. Can be negative
    /// where a VALID window is larger than the input; kUnknownDim if the input is not known.
    int64_t outputSize() const
    {
        if (input == kUnknownDim) return kUnknownDim;
        return same ? (input + stride - 1) / stride : (input + stride - extent()) / stride;
    }
    /// Elements of padding before the input, given the number of windows: half of what is missing, rounded down.
    int64_t paddingBefore(int64_t output) const { return std::max<int64_t>(0, (output - 1) * stride + extent() - input) / 2; }
};

/// The `padding` attribute; SAME is the schema's default.
inline bool paddingIsSame(const AttributeList& attributes) { return attributeWord(attributes, "padding", "SAME") != "VALID"; }

/// The axis that the attributes `stride_S` and `dilation_S_factor` describe, S being 'd', 'h' or 'w'.
WindowAxis windowAxis(const AttributeList& attributes, char axis, int64_t input, int64_t filter);

/// Checks that strides and dilations are positive 32-bit numbers (constraint `strideConstraint`, `dilationConstraint`), that the window
/// has elements and fits, and returns the number of windows. Errors: badFile.
Result<int64_t> checkedOutputSize(const WindowAxis& window, char axis, int strideConstraint, int dilationConstraint, int sizeConstraint);

} // namespace loopscope
