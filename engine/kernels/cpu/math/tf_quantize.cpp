// Kernels of TensorFlow's quantized numbers: core/kernels/quantize_op.cc, dequantize_op.cc, with one range for all elements.
#include "engine/kernels/cpu/tf_support.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

using namespace loopscope;

namespace {

struct Range {
    float min = 0, max = 0;
};

/// Errors: unsupported, for what only the source computes; the source's own.
Result<Range> rangeOf(const KernelArgs& args)
{
    const AttributeList& attributes = attributesOf(args);
    if (attributeInt(attributes, "axis", -1) != -1)
        return Error(ErrorCode::unsupported, "quantized numbers").found("a range for each channel").expected("one range");
    for (const int k : {1, 2})
        if (args.in(k).elementCount() != 1) return invalidArgument("min_range and max_range must have one element each");
    const Range range{args.in(1).as<float>()[0], args.in(2).as<float>()[0]};
    if (!std::isfinite(range.min) || !std::isfinite(range.max)) return invalidArgument("min_range and max_range must be finite");
    return range;
}

template <typename T> float lowestOf(bool isNarrow) { return static_cast<float>(std::numeric_limits<T>::min()) + (isNarrow ? 1.0F : 0.0F); }
template <typename T> constexpr float kHighest = static_cast<float>(std::numeric_limits<T>::max());

/// Integers below 0 stand half of them lower.
template <typename T> float halfRange()
{
    return std::numeric_limits<T>::is_signed ? (kHighest<T> - static_cast<float>(std::numeric_limits<T>::min()) + 1) / 2 : 0;
}

template <typename T> T stored(float value)
{
    return static_cast<T>(std::clamp<double>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

template <typename T> void quantizeScaled(const KernelArgs& args, Range& range)
{
    const AttributeList& attributes = attributesOf(args);
    const float lowest = lowestOf<T>(attributeBool(attributes, "narrow_range", false));
    const bool toEven = attributeString(attributes, "round_mode", "HALF_AWAY_FROM_ZERO") == "HALF_TO_EVEN";
    const float below = lowest * range.min > 0 ? lowest / range.min : std::numeric_limits<float>::max();
    const float above = kHighest<T> * range.max > 0 ? kHighest<T> / range.max : std::numeric_limits<float>::max();
    const float scale = std::min(below, above);
    range = {lowest / scale, kHighest<T> / scale};
    const auto* const in = args.in(0).as<float>();
    auto* const out = reinterpret_cast<T*>(args.out(0).data);
    for (int64_t i = 0; i < args.in(0).elementCount(); ++i) {
        const float value = std::max(std::min(in[i], range.max), range.min) * scale;
        out[i] = stored<T>(toEven ? std::nearbyint(value) : std::round(value));
    }
}

template <typename T> void quantizeCombined(const KernelArgs& args, const Range& range)
{
    const float scale = (kHighest<T> - static_cast<float>(std::numeric_limits<T>::min())) / (range.max - range.min);
    const auto* const in = args.in(0).as<float>();
    auto* const out = reinterpret_cast<T*>(args.out(0).data);
    for (int64_t i = 0; i < args.in(0).elementCount(); ++i) {
        const float value = (std::max(std::min(in[i], range.max), range.min) - range.min) * scale;
        out[i] = stored<T>(std::numeric_limits<T>::is_signed ? std::round(value - halfRange<T>()) : std::floor(value + 0.5F));
    }
}

/// The smallest number of the range is rounded first, so that steps lie on multiples of the scale (core/kernels/quantization_utils.h).
template <typename T> constexpr double kSteps = static_cast<double>(int64_t{1} << (8 * sizeof(T))) - 1;

template <typename T> void quantizeMinFirst(const KernelArgs& args, const Range& range)
{
    const auto scale = static_cast<float>(range.max == range.min ? 0.0 : kSteps<T> / static_cast<double>(range.max - range.min));
    const float least = std::round(range.min * scale), lowest = static_cast<float>(std::numeric_limits<T>::min());
    const float low = std::max(lowest, -2.147483648e+09F), high = std::min(kHighest<T>, 2.147483520e+09F);
    const auto* const in = args.in(0).as<float>();
    auto* const out = reinterpret_cast<T*>(args.out(0).data);
    for (int64_t i = 0; i < args.in(0).elementCount(); ++i) {
        const float value = std::round(in[i] * scale) - (least - lowest);
        out[i] = static_cast<T>(static_cast<int32_t>(std::isnan(value) ? low : std::min(std::max(value, low), high)));
    }
}

template <typename T> void dequantizeMinFirst(const KernelArgs& args, const Range& range)
{
    const auto scale = static_cast<float>(static_cast<double>(range.max - range.min) / kSteps<T>);
    const float least = range.max == range.min ? range.min : std::round(range.min / scale) * scale;
    const float shift = least - static_cast<float>(std::numeric_limits<T>::min()) * scale;
    const auto* const in = reinterpret_cast<const T*>(args.in(0).data);
    for (int64_t i = 0; i < args.in(0).elementCount(); ++i) args.out(0).as<float>()[i] = static_cast<float>(in[i]) * scale + shift;
}

template <typename T> Status quantize(const KernelArgs& args)
{
    const AttributeList& attributes = attributesOf(args);
    LS_TRY(const Range asked, rangeOf(args));
    if (asked.min > asked.max) return invalidArgument("max_range must be no smaller than min_range");
    Range range;
    range.min = std::min(0.0F, asked.min);
    const auto least = static_cast<float>(attributeFloat(attributes, "ensure_minimum_range", 0.01));
    const float apart = std::max(1.0F, std::max(std::abs(asked.min), std::abs(asked.max))) * least;
    range.max = std::max(0.0F, std::max(asked.max, range.min + apart));
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    for (const int k : {1, 2}) LS_CHECK_OK(tfAllocate(args, k, Shape()));
    const std::string_view mode = attributeString(attributes, "mode", "MIN_COMBINED");
    if (mode == "SCALED") quantizeScaled<T>(args, range);
    else if (mode == "MIN_FIRST") quantizeMinFirst<T>(args, range);
    else quantizeCombined<T>(args, range);
    args.out(1).as<float>()[0] = range.min;
    args.out(2).as<float>()[0] = range.max;
    return {};
}

template <typename T> Status dequantize(const KernelArgs& args)
{
    const AttributeList& attributes = attributesOf(args);
    LS_TRY(const Range range, rangeOf(args));
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    if (attributeString(attributes, "mode", "MIN_COMBINED") == "MIN_FIRST") {
        dequantizeMinFirst<T>(args, range);
        return {};
    }
    const auto* const in = reinterpret_cast<const T*>(args.in(0).data);
    auto* const out = args.out(0).as<float>();
    const bool isScaled = attributeString(attributes, "mode", "MIN_COMBINED") == "SCALED";
    const float lowest = lowestOf<T>(attributeBool(attributes, "narrow_range", false));
    float scale = (range.max - range.min) / (kHighest<T> - static_cast<float>(std::numeric_limits<T>::min()));
    if (isScaled) scale = lowest == 0 ? range.max / kHighest<T> : std::max(range.min / lowest, range.max / kHighest<T>);
    for (int64_t i = 0; i < args.in(0).elementCount(); ++i) {
        const auto value = static_cast<float>(in[i]);
        out[i] = isScaled ? value * scale : (value + halfRange<T>()) * scale + range.min;
    }
    return {};
}

using Run = Status (*)(const KernelArgs&);

Status ofType(const KernelArgs& args, DType dtype, Run i8, Run u8, Run i16, Run u16, Run i32)
{
    switch (dtype) {
    case DType::qi8: return i8(args);
    case DType::qu8: return u8(args);
    case DType::qi16: return i16(args);
    case DType::qu16: return u16(args);
    case DType::qi32: return i32(args);
    default: return Error(ErrorCode::unsupported, "quantized numbers").found(std::string(dtypeName(dtype)));
    }
}

Status runQuantizeV2(const KernelArgs& args)
{
    if (args.in(0).dtype != DType::f32) return Error(ErrorCode::unsupported, "quantizing").found(std::string(dtypeName(args.in(0).dtype)));
    return ofType(args, args.out(0).dtype, quantize<int8_t>, quantize<uint8_t>, quantize<int16_t>, quantize<uint16_t>, quantize<int32_t>);
}

Status runDequantize(const KernelArgs& args)
{
    if (args.out(0).dtype != DType::f32)
        return Error(ErrorCode::unsupported, "dequantizing to").found(std::string(dtypeName(args.out(0).dtype)));
    return ofType(args, args.in(0).dtype, dequantize<int8_t>, dequantize<uint8_t>, dequantize<int16_t>, dequantize<uint16_t>,
                  dequantize<int32_t>);
}

} // namespace

LS_TF_KERNEL(QuantizeV2, runQuantizeV2, "qi8, qu8, qi16, qu16, qi32")
LS_TF_KERNEL(Dequantize, runDequantize, "qi8, qu8, qi16, qu16, qi32")
