// Where the windows of a two-dimensional convolution or pooling lie, for concrete shapes.
#pragma once

#include "engine/ops/window.h"

#include <algorithm>
#include <cstdint>

namespace loopscope {

/// Taps of a window that lie inside the input: first ≤ k < last.
struct TapRange {
    int64_t first = 0;
    int64_t last = 0;
    int64_t count() const { return last - first; }
};

/// One axis with its sizes known.
struct PlacedAxis {
    int64_t input = 0, output = 0, filter = 1, stride = 1, dilation = 1, padding = 0;

    /// Input index of tap 0 of window `o`; negative inside the padding.
    int64_t origin(int64_t o) const { return o * stride - padding; }
    TapRange taps(int64_t o) const
    {
        const int64_t start = origin(o);
        TapRange range;
        range.first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
        range.last = start >= input ? 0 : std::min(filter, (input - 1 - start) / dilation + 1);
        range.first = std::min(range.first, filter);
        range.last = std::max(range.last, range.first);
        return range;
    }
    /// The windows all of whose taps lie inside: first ≤ o < last.
    TapRange interior() const
    {
        TapRange range;
        range.first = std::min(output, (padding + stride - 1) / stride);
        const int64_t reach = input - 1 - (filter - 1) * dilation + padding;
        range.last = reach < 0 ? range.first : std::clamp(reach / stride + 1, range.first, output);
        return range;
    }
};

/// Both axes of a window, from the attributes; placed on shapes at every call (or once, if they are fixed).
struct Window2d {
    WindowAxis height, width;

    static Window2d fromAttributes(const AttributeList& attributes, int64_t filterHeight, int64_t filterWidth)
    {
        return {windowAxis(attributes, 'h', kUnknownDim, filterHeight), windowAxis(attributes, 'w', kUnknownDim, filterWidth)};
    }
    /// For a window over `input` elements that gives `output` results.
    static PlacedAxis place(WindowAxis axis, int64_t input, int64_t output)
    {
        axis.input = input;
        return {input, output, axis.filter, axis.stride, axis.dilation, axis.paddingBefore(output)};
    }
};

} // namespace loopscope
