// Where the pixels of a resized image come from: the same for all profiles that have the reference's bits.
#pragma once

#include "engine/kernels/kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace loopscope {

struct ResizeParams {
    bool alignCorners = false;
    bool halfPixelCenters = false;
};

inline ResizeParams resizeParams(const AttributeList& attributes)
{
    return {attributeBool(attributes, "align_corners", false), attributeBool(attributes, "half_pixel_centers", false)};
}

/// Two neighbouring source pixels of a target index along one axis, and where between them it lies.
template <typename Position> struct Between {
    int64_t low, high;
    Position position; ///< in source pixels; for integers in 1/1024 of one
};

/// LiteRT internal/reference/resize_bilinear.h, ComputeInterpolationValues and the scales before it.
inline Between<float> between(const ResizeParams& params, int64_t index, int64_t input, int64_t output)
{
    float scale = static_cast<float>(input) / static_cast<float>(output);
    if (params.alignCorners && output > 1) scale = static_cast<float>(input - 1) / static_cast<float>(output - 1);
    const auto i = static_cast<float>(index);
    const float position = params.halfPixelCenters ? (i + 0.5F) * scale - 0.5F : i * scale;
    return {std::clamp<int64_t>(static_cast<int64_t>(std::floor(position)), 0, input - 1),
            std::min(static_cast<int64_t>(std::ceil(position)), input - 1), position};
}

/// The same in 22.10 fixed point (ComputeInterpolationValuesInteger). Differs: a scale rounded up may point behind the last pixel, which
/// is where the reference reads then.
inline Between<int64_t> betweenFixed(const ResizeParams& params, int64_t index, int64_t input, int64_t output)
{
    int64_t scale = (1024 * input + output / 2) / output;
    if (params.alignCorners && output > 1) scale = (1024 * (input - 1) + (output - 1) / 2) / (output - 1);
    const int64_t position = params.halfPixelCenters ? index * scale + scale / 2 - 512 : index * scale;
    return {std::clamp<int64_t>(position / 1024, 0, input - 1), std::min((position + 1023) / 1024, input - 1), position};
}

/// LiteRT internal/reference/resize_nearest_neighbor.h, GetNearestNeighbor.
inline int64_t nearestPixel(const ResizeParams& params, int64_t index, int64_t input, int64_t output)
{
    const float scale = params.alignCorners && output > 1 ? static_cast<float>(input - 1) / static_cast<float>(output - 1)
                                                          : static_cast<float>(input) / static_cast<float>(output);
    const float position = (static_cast<float>(index) + (params.halfPixelCenters ? 0.5F : 0.0F)) * scale;
    const auto rounded = static_cast<int64_t>(params.alignCorners ? std::round(position) : std::floor(position));
    return std::clamp<int64_t>(rounded, 0, input - 1);
}

} // namespace loopscope
