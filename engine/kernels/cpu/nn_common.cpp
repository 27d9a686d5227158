// Shared parts of convolutions and matrix products: output rescaling, integer weight rows and on-the-fly quantization.
#include "engine/kernels/cpu/nn_common.h"

#include "engine/base/vectorised.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace loopscope {

int32_t OutputStage::rounded(double value)
{
    const double r = std::round(value);
    if (!(r > std::numeric_limits<int32_t>::min())) return std::numeric_limits<int32_t>::min();
    return r < std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(r) : std::numeric_limits<int32_t>::max();
}

Result<OutputStage> makeOutputStage(const Tensor& input, const Tensor& filter, const Tensor& output, int64_t channels,
                                    FusedActivation activation, Scaling scaling)
{
    for (const Tensor* t : {&input, &output})
        if (!isQuantized(*t)) return Error(ErrorCode::unsupported, std::string(t == &input ? "input" : "result") + " has no scale");
    if (filter.quantization == nullptr || filter.quantization->scales.empty()) return Error(ErrorCode::unsupported, "filter has no scale");
    const std::vector<float>& scales = filter.quantization->scales;
    if (scales.size() != 1 && static_cast<int64_t>(scales.size()) != channels)
        return Error(ErrorCode::unsupported, "wrong number of filter scales")
            .found(std::to_string(scales.size()))
            .expected("1 or " + std::to_string(channels));
    for (const Tensor* t : {&input, &filter, &output}) {
        const int64_t zero = t->quantization->zeroPoint();
        if (zero < integerMin(t->dtype) || zero > static_cast<int64_t>(integerMax(t->dtype)))
            return Error(ErrorCode::unsupported, "zero point is no " + std::string(dtypeName(t->dtype))).found(std::to_string(zero));
    }
    OutputStage stage;
    LS_TRY(const auto range,
           scaling == Scaling::single ? roundedActivationRange(activation, output) : quantizedActivationRange(activation, output));
    stage.min = range.min;
    stage.max = range.max;
    stage.zero = scaleAndZero(output).zero;
    stage.scaling = scaling;
    for (int64_t c = 0; c < channels; ++c) {
        const float filterScale = scales.size() == 1 ? scales.front() : scales[static_cast<size_t>(c)];
        const double product = scaling == Scaling::floatProduct
                                   ? static_cast<double>(scaleAndZero(input).scale * filterScale)
                                   : static_cast<double>(scaleAndZero(input).scale) * static_cast<double>(filterScale);
        stage.factors.push_back(product / static_cast<double>(scaleAndZero(output).scale));
        if (scaling == Scaling::single)
            stage.factors.back() = static_cast<double>(scaleAndZero(input).scale * filterScale / scaleAndZero(output).scale);
        const QuantizedMultiplier multiplier = quantizeMultiplier(stage.factors.back());
        stage.multipliers.push_back(multiplier);
        stage.fixed.push_back(multiplier.multiplier);
        stage.left.push_back(std::max(multiplier.shift, 0) & 31);
        stage.right.push_back(std::max(-multiplier.shift, 0));
    }
    return stage;
}

Status checkBiasScale(int constraint, const Tensor& input, const Tensor& filter, const Tensor& bias, const Tensor& output)
{
    for (const Tensor* t : {&input, &filter, &bias, &output})
        if (!t->quantization || t->quantization->scales.size() != 1) return {};
    const float expected = scaleAndZero(input).scale * scaleAndZero(filter).scale;
    const float found = bias.quantization->scales.front();
    if (std::abs(static_cast<double>(expected) - found) <= 0.02 * static_cast<double>(scaleAndZero(output).scale)) return {};
    return Error(ErrorCode::badFile, "C" + std::to_string(constraint) + ": scale of the bias")
        .found(realText(found, 6))
        .expected(realText(expected, 6) + ", the product of the scales of input and filter");
}

namespace {

/// Calls f with a function that reads element i of integer weights as stored.
template <typename F> void withReader(const Tensor& t, F f)
{
    const auto* bytes = reinterpret_cast<const uint8_t*>(t.data);
    switch (t.dtype) {
    case DType::i4: f([bytes](int64_t i) { return static_cast<int16_t>(((bytes[i / 2] >> (i % 2 * 4) & 15) ^ 8) - 8); }); break;
    case DType::i2: f([bytes](int64_t i) { return static_cast<int16_t>(((bytes[i / 4] >> (i % 4 * 2) & 3) ^ 2) - 2); }); break;
    case DType::u8: f([bytes](int64_t i) { return static_cast<int16_t>(bytes[i]); }); break;
    case DType::i16: f([data = t.as<int16_t>()](int64_t i) { return data[i]; }); break;
    default: f([data = t.as<int8_t>()](int64_t i) { return static_cast<int16_t>(data[i]); }); break;
    }
}

} // namespace

void packIntegerRows(const Tensor& weights, int64_t firstRow, int64_t rowCount, int64_t elements, int32_t zero, int64_t rowStride,
                     int64_t paddedCount, int16_t* rows)
{
    withReader(weights, [&](auto read) {
        for (int64_t r = 0; r < rowCount; ++r) {
            int16_t* row = rows + r * rowStride;
            const int64_t first = (firstRow + r) * elements;
            for (int64_t d = 0; d < elements; ++d) row[d] = static_cast<int16_t>(read(first + d) - zero);
            std::fill(row + elements, row + rowStride, int16_t{0});
        }
    });
    std::fill(rows + rowCount * rowStride, rows + paddedCount * rowStride, int16_t{0});
}

void widen(const Tensor& from, int64_t first, int64_t count, int32_t zero, int16_t* to)
{
    withReader(from, [&](auto read) {
        for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(read(first + i) - zero);
    });
}

namespace {

/// to[i] = value rounded, halves away from zero, between `low` and `high`; NaN becomes `low`, as the reference's conversion to int32 has it
/// on x86. `added` is added before numbers are kept between −128 and 127 ("wrapped").
template <bool isWrapped>
LS_VECTORISED void roundAll(const float* values, int64_t count, float factor, int32_t low, int32_t high, int32_t added, int16_t* to)
{
    const auto least = static_cast<float>(low - 1), most = static_cast<float>(high + 1);
    for (int64_t i = 0; i < count; ++i) {
        const float scaled = values[i] * factor;
        const float above = scaled > least ? scaled : least, value = above < most ? above : most;
        const auto whole = static_cast<int32_t>(value);
        const float rest = value - static_cast<float>(whole);
        const int32_t rounded = whole + (rest >= 0.5F ? 1 : 0) - (rest <= -0.5F ? 1 : 0);
        int32_t number = std::min(std::max(rounded, low), high) + added;
        if constexpr (isWrapped) number = std::min(std::max(number, -128), 127);
        to[i] = static_cast<int16_t>(number);
    }
}

struct Ends {
    float low, high;
};

/// The smallest and the largest number, sixteen under way; false, if there is a NaN.
LS_VECTORISED bool findEnds(const float* values, int64_t count, Ends& ends)
{
    constexpr int64_t kLanes = 16;
    float low[kLanes], high[kLanes];
    int32_t nans[kLanes] = {};
    for (int64_t l = 0; l < kLanes; ++l) low[l] = high[l] = values[0];
    const int64_t whole = count / kLanes * kLanes;
    for (int64_t i = 0; i < whole; i += kLanes)
        for (int64_t l = 0; l < kLanes; ++l) {
            const float x = values[i + l];
            low[l] = x < low[l] ? x : low[l];
            high[l] = x > high[l] ? x : high[l];
            nans[l] |= x != x ? 1 : 0;
        }
    ends = {low[0], high[0]};
    int32_t nan = nans[0];
    for (int64_t l = 1; l < kLanes; ++l) {
        ends = {std::min(ends.low, low[l]), std::max(ends.high, high[l])};
        nan |= nans[l];
    }
    for (int64_t i = whole; i < count; ++i) {
        ends = {std::min(ends.low, values[i]), std::max(ends.high, values[i])};
        nan |= values[i] != values[i] ? 1 : 0;
    }
    return nan == 0;
}

/// With NaNs among them it is the order of the standard's comparisons that decides, in the reference, too.
Ends endsOf(std::span<const float> values)
{
    Ends ends = {};
    if (findEnds(values.data(), static_cast<int64_t>(values.size()), ends)) return ends;
    const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
    return {*lowest, *highest};
}

} // namespace

HybridInput quantizeSymmetric(std::span<const float> values, int16_t* quantized)
{
    if (values.empty()) return {};
    const auto [low, high] = endsOf(values);
    const float range = std::max(std::abs(low), std::abs(high));
    if (range == 0.0F) {
        std::fill_n(quantized, values.size(), int16_t{0});
        return {};
    }
    const float inverse = 127 / range;
    roundAll<false>(values.data(), static_cast<int64_t>(values.size()), inverse, -127, 127, 0, quantized);
    return {range / 127, 0};
}

HybridInput quantizeDynamic(std::span<const float> values, int16_t* quantized)
{
    if (values.empty()) return {};
    const auto [lowest, highest] = endsOf(values);
    const float low = std::min(0.0F, lowest), high = std::max(0.0F, highest);
    constexpr float kMin = -128, kMax = 127;
    const float scale = low == high ? 1.0F : (kMax - kMin) / (high - low);
    const float scaledLow = low * scale, scaledHigh = high * scale;
    const float zero = (kMin + scaledLow) + (kMax + scaledHigh) > 0.0F ? kMin - scaledLow : kMax - scaledHigh;
    HybridInput result;
    result.zero = static_cast<int32_t>(std::lrint(std::clamp(zero, kMin, kMax)));
    result.scale = 1.0F / scale;
    const auto offset = static_cast<float>(result.zero);
    for (size_t i = 0; i < values.size(); ++i) {
        const float scaled = std::clamp(values[i] * scale, kMin - offset, kMax - offset);
        quantized[i] = static_cast<int16_t>(std::lrint(scaled) + result.zero);
    }
    return result;
}

HybridInput quantizeAsymmetric(std::span<const float> values, int16_t* quantized)
{
    if (values.empty()) return {};
    constexpr double kMin = -128;
    constexpr double kMax = 127;
    const auto [lowest, highest] = endsOf(values);
    const float low = std::min(0.0F, lowest);
    const float high = std::max(0.0F, highest);
    if (low == high) {
        std::fill_n(quantized, values.size(), int16_t{0});
        return {};
    }
    const double scale = (high - low) / (kMax - kMin); // the difference is taken in float: it decides the scale's last bit
    // The zero point comes from the end of the range where it is the more exact one; it must be a stored number itself.
    const double fromLow = kMin - low / scale;
    const double fromHigh = kMax - high / scale;
    const double errorLow = std::abs(kMin) + std::abs(low / scale);
    const double errorHigh = std::abs(kMax) + std::abs(high / scale);
    const double zero = errorLow < errorHigh ? fromLow : fromHigh;
    HybridInput result;
    result.zero = !(zero > kMin) ? -128 : zero >= kMax ? 127 : static_cast<int32_t>(std::round(zero));
    result.scale = static_cast<float>(scale);
    const float inverse = 1.0F / result.scale;
    // Rounded before the zero point is added: halves go away from the value zero, not from the number zero.
    constexpr int32_t kFarOutside = 512;
    roundAll<true>(values.data(), static_cast<int64_t>(values.size()), inverse, -kFarOutside, kFarOutside, result.zero, quantized);
    return result;
}

} // namespace loopscope
