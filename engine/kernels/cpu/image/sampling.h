// How the pixels of a scaled and shifted picture are mixed from those of the picture, along one axis
// (core/kernels/image/sampling_kernels.h, scale_and_translate_op.cc).
#pragma once

#include "engine/ops/tf_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// How much a pixel counts by its distance.
struct SamplingKernel {
    float radius = 1;
    float (*weight)(float) = nullptr; ///< of the distance, which is not negative
};

template <int n> inline float lanczosWeight(float x)
{
    constexpr float kRadius = n;
    if (x > kRadius) return 0;
    if (x <= 1e-3F) return 1;
    constexpr auto kPi = std::numbers::pi_v<float>;
    return kRadius * std::sin(kPi * x) * std::sin(kPi * x / kRadius) / (kPi * kPi * x * x);
}

inline Result<SamplingKernel> samplingKernel(std::string_view name)
{
    if (name == "lanczos1") return SamplingKernel{1, lanczosWeight<1>};
    if (name == "lanczos3") return SamplingKernel{3, lanczosWeight<3>};
    if (name == "lanczos5") return SamplingKernel{5, lanczosWeight<5>};
    if (name == "gaussian") return SamplingKernel{1.5F, [](float x) { return x >= 1.5F ? 0.0F : std::exp(-x * x / (2 * 0.5F * 0.5F)); }};
    if (name == "box") return SamplingKernel{1, [](float x) { return x < 0.5F ? 1.0F : x == 0.5F ? 0.5F : 0.0F; }};
    if (name == "triangle") return SamplingKernel{1, [](float x) { return x < 1.0F ? 1.0F - x : 0.0F; }};
    if (name == "keyscubic")
        return SamplingKernel{2, [](float x) {
                                  if (x >= 2.0F) return 0.0F;
                                  if (x >= 1.0F) return ((-0.5F * x + 2.5F) * x - 4.0F) * x + 2.0F;
                                  return (1.5F * x - 2.5F) * x * x + 1.0F;
                              }};
    if (name == "mitchellcubic")
        return SamplingKernel{2, [](float x) {
                                  if (x >= 2.0F) return 0.0F;
                                  if (x >= 1.0F) return (((-7.0F / 18.0F) * x + 2.0F) * x - 10.0F / 3.0F) * x + 16.0F / 9.0F;
                                  return ((7.0F / 6.0F) * x - 2.0F) * x * x + 8.0F / 9.0F;
                              }};
    return invalidArgument("kernel_type '" + std::string(name) + "' is unknown");
}

/// For each place of the result the first place of the source and the weights from there on.
struct SampleSpan {
    int64_t start = 0;
    std::vector<float> weights;
};

inline std::vector<SampleSpan> sampleSpans(const SamplingKernel& kernel, int64_t outSize, int64_t inSize, float scale, float shift,
                                           bool antialias)
{
    std::vector<SampleSpan> spans(static_cast<size_t>(outSize));
    const float inverse = 1.0F / scale, move = -inverse * shift;
    const float stretch = antialias ? std::max(inverse, 1.0F) : 1.0F;
    for (int64_t x = 0; x < outSize; ++x) {
        const float at = (static_cast<float>(x) + 0.5F) * inverse + move;
        if (!(at >= 0 && at <= static_cast<float>(inSize))) continue; // outside of the picture: zeros
        const auto clamped = [&](float place) { return static_cast<int64_t>(std::clamp(place, 0.0F, static_cast<float>(inSize - 1))); };
        const int64_t begin = clamped(std::ceil(at - kernel.radius * stretch - 0.5F)),
                      end = clamped(std::floor(at + kernel.radius * stretch - 0.5F)) + 1;
        SampleSpan& span = spans[static_cast<size_t>(x)];
        span.start = begin;
        float sum = 0;
        for (int64_t source = begin; source < end; ++source) {
            const float weight = kernel.weight(std::abs((static_cast<float>(source) + 0.5F - at) * (1.0F / stretch)));
            span.weights.push_back(weight);
            sum += weight;
        }
        if (std::abs(sum) < 1000.0F * std::numeric_limits<float>::min()) span.weights.clear();
        for (float& weight : span.weights) weight *= 1.0F / sum;
    }
    return spans;
}

} // namespace loopscope
