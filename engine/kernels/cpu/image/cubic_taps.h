// The four pixels along one axis from which a bicubic one is mixed (core/kernels/image/resize_bicubic_op.cc).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace loopscope {

/// Four pixels around a position, and their weights. Keys' kernel leaves out what lies beyond the border, the older one repeats the border.
struct CubicTaps {
    std::array<int64_t, 4> pixels = {};
    std::array<float, 4> weights = {};

    static CubicTaps of(float position, int64_t size, bool isKeys)
    {
        constexpr int64_t kSteps = 1024; // weights are those of positions in steps of 1/1024
        const float a = isKeys ? -0.5F : -0.75F;
        const auto near = [a](double x) { return static_cast<float>(((a + 2) * x - (a + 3)) * x * x + 1); };
        const auto far = [a](double x) { return static_cast<float>(((a * x - 5 * a) * x + 8 * a) * x - 4 * a); };
        const auto first = static_cast<int64_t>(std::floor(position));
        const int64_t step = std::lrint((position - static_cast<float>(first)) * kSteps);
        const double t = static_cast<double>(step) / kSteps, rest = static_cast<double>(kSteps - step) / kSteps;
        CubicTaps taps;
        taps.weights = {far(1 + t), near(t), near(rest), far(1 + rest)};
        float sum = 0;
        for (size_t k = 0; k < 4; ++k) {
            const int64_t wanted = first - 1 + static_cast<int64_t>(k);
            taps.pixels[k] = std::clamp<int64_t>(wanted, 0, size - 1);
            if (isKeys && taps.pixels[k] != wanted) taps.weights[k] = 0;
            sum += taps.weights[k];
        }
        if (isKeys && std::abs(sum) >= 1000 * std::numeric_limits<float>::min())
            for (float& weight : taps.weights) weight *= 1 / sum;
        return taps;
    }
    float mix(const std::array<float, 4>& values) const
    {
        return values[0] * weights[0] + values[1] * weights[1] + values[2] * weights[2] + values[3] * weights[3];
    }
};

} // namespace loopscope
