// How quantized results are scaled, as shaders/output_stage.glsl reads it: a multiplier and a shift for each channel, or the bits of a
// double; and the bounds that a fused activation gives.
#pragma once

#include "engine/kernels/vulkan/families.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace loopscope::vulkan {

/// Bounds in f32: without an activation its finite numbers, which is what TFLite clamps to.
struct RealRange {
    float low = -FLT_MAX, high = FLT_MAX;
};
struct StoredRange {
    int32_t least = 0, most = 0;
};

inline std::string_view activationWord(const AttributeList& attributes)
{
    const std::string_view word = attributeWord(attributes, "act", "");
    return word.empty() ? attributeWord(attributes, "fused_activation_function", "NONE") : word;
}

inline RealRange realRange(const AttributeList& attributes)
{
    const std::string_view word = activationWord(attributes);
    if (word == "RELU") return {0, FLT_MAX};
    if (word == "RELU6") return {0, 6};
    if (word == "RELU_N1_TO_1") return {-1, 1};
    return {};
}

/// Errors: unsupported, where the bounds leave 32 bits.
inline Result<StoredRange> storedRange(const AttributeList& attributes, const Tensor& result)
{
    const auto zero = result.quantization ? result.quantization->zeroPoint() : 0;
    const float scale = result.quantization ? result.quantization->scale() : 0.0F;
    double low = static_cast<double>(integerMin(result.dtype)), high = static_cast<double>(integerMax(result.dtype));
    const auto stored = [&](float real) { return static_cast<double>(std::round(real / scale)) + static_cast<double>(zero); };
    if (const std::string_view word = activationWord(attributes); word.starts_with("RELU")) {
        const RealRange range = realRange(attributes);
        low = std::max(low, stored(range.low));
        if (range.high < FLT_MAX) high = std::min(high, stored(range.high));
    }
    if (!(std::fabs(low) <= INT32_MAX) || !(std::fabs(high) <= INT32_MAX) || low > high)
        return unsupported("an activation that leaves no value of the result's type");
    return StoredRange{static_cast<int32_t>(low), static_cast<int32_t>(high)};
}

/// fixed · 2^(shift − 31) for a real factor. Source: LiteRT kernels/internal/quantization_util.cc, QuantizeMultiplier.
inline void addFixedPoint(double factor, std::vector<uint32_t>& words)
{
    int shift = 0;
    int64_t fixed = 0;
    if (std::isinf(factor)) {
        fixed = INT32_MAX;
        shift = 30;
    } else if (factor != 0.0 && !std::isnan(factor)) {
        fixed = static_cast<int64_t>(std::round(std::frexp(factor, &shift) * static_cast<double>(int64_t{1} << 31)));
        if (fixed == int64_t{1} << 31) {
            fixed /= 2;
            ++shift;
        }
        if (shift < -31) shift = 0, fixed = 0;
        shift = std::min(shift, 63);
    }
    words.push_back(static_cast<uint32_t>(fixed));
    words.push_back(static_cast<uint32_t>(shift));
}

/// The buffer Stage of a result with `channels`; `inFloat`: input scale · filter scale is formed in f32 (legacy u8 operators), `isReal`:
/// factors stay doubles. Errors: unsupported, where a scale is missing.
inline Result<std::vector<uint32_t>> stageOf(const Tensor& input, const Tensor& filter, const Tensor& result, int64_t channels,
                                             bool inFloat, bool isReal)
{
    if (!input.quantization || !input.quantization->isPerTensor() || !result.quantization || !result.quantization->isPerTensor() ||
        !filter.quantization || filter.quantization->scales.empty())
        return unsupported("an operand or the result without a scale");
    const std::vector<float>& scales = filter.quantization->scales;
    if (scales.size() != 1 && static_cast<int64_t>(scales.size()) != channels) return unsupported("scales that do not fit the channels");
    std::vector<uint32_t> words;
    for (int64_t c = 0; c < channels; ++c) {
        const float own = scales.size() == 1 ? scales.front() : scales[static_cast<size_t>(c)], in = input.quantization->scale();
        const double product = inFloat ? static_cast<double>(in * own) : static_cast<double>(in) * static_cast<double>(own);
        const double factor = product / static_cast<double>(result.quantization->scale());
        if (!isReal) {
            addFixedPoint(factor, words);
            continue;
        }
        const auto bits = std::bit_cast<uint64_t>(factor);
        words.push_back(static_cast<uint32_t>(bits));
        words.push_back(static_cast<uint32_t>(bits >> 32));
    }
    return words;
}

/// Whether the bias has the scale that its place asks for, to 2 % of the result's; the reference kernel has the words where not.
inline bool hasScaleOfBias(const Tensor& input, const Tensor& filter, const Tensor& bias, const Tensor& result)
{
    for (const Tensor* const t : {&input, &filter, &bias, &result})
        if (!t->quantization || t->quantization->scales.size() != 1) return true;
    const float expected = input.quantization->scale() * filter.quantization->scale(), found = bias.quantization->scale();
    return std::abs(static_cast<double>(expected) - found) <= 0.02 * static_cast<double>(result.quantization->scale());
}

inline uint32_t zeroOf(const Tensor& tensor)
{
    return tensor.quantization ? static_cast<uint32_t>(static_cast<int32_t>(tensor.quantization->zeroPoint())) : 0;
}

} // namespace loopscope::vulkan
