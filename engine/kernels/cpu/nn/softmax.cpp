// SOFTMAX and LOG_SOFTMAX over the last dimension: f32, and fixed point on quantized operands.
#include "engine/kernels/cpu/nn/softmax.h"

#include "engine/kernels/cpu/fixed_point.h"
#include "engine/kernels/cpu/lookup_table.h"
#include "engine/kernels/registry.h"

#include <cmath>

using namespace loopscope;

namespace {

/// Rows of the last dimension: how many, and how long.
struct Rows {
    int64_t count = 0, length = 0;
};
Rows rowsOf(const Shape& shape)
{
    const int64_t length = shape.rank() > 0 ? shape.back() : 1;
    return {length > 0 ? shape.elementCount() / length : 0, length};
}

template <typename T> Status runSoftmax(const KernelArgs& args)
{
    const auto beta = args.paramsAs<float>();
    const auto [count, length] = rowsOf(args.in(0).shape);
    for (int64_t r = 0; r < count; ++r) {
        const T* in = args.in(0).as<T>() + r * length;
        T* out = args.out(0).as<T>() + r * length;
        float max = std::is_same_v<T, float> ? std::numeric_limits<float>::lowest() : -65504.0F;
        for (int64_t c = 0; c < length; ++c) max = std::max(max, Element<T>::load(in[c]));
        float sum = 0.0F;
        for (int64_t c = 0; c < length; ++c) {
            const float e = std::exp((Element<T>::load(in[c]) - max) * beta);
            out[c] = Element<T>::store(e);
            sum += e;
        }
        for (int64_t c = 0; c < length; ++c) out[c] = Element<T>::store(Element<T>::load(out[c]) / sum);
    }
    return {};
}

} // namespace

Error loopscope::softmaxRowTooLong(int64_t length)
{
    return Error(ErrorCode::execution, "softmax over a row too long for fixed point").found(std::to_string(length));
}

FixedSoftmaxParams loopscope::fixedSoftmaxParams(double beta, float inScale)
{
    constexpr int kIntegerBits = 5;
    FixedSoftmaxParams params;
    const double factor = std::min(beta * static_cast<double>(inScale) * static_cast<double>(1 << (31 - kIntegerBits)), 2147483647.0);
    params.input = quantizeMultiplier(std::max(factor, 0.0));
    const double radius = 31.0 * static_cast<double>(int64_t{1} << (31 - kIntegerBits)) / std::exp2(params.input.shift);
    params.diffMin = -truncateToInt32(std::min(std::floor(radius), 2147483647.0));
    if (params.input.multiplier > 0)
        params.reverse = quantizeMultiplier(std::exp2(31 - params.input.shift) / static_cast<double>(params.input.multiplier));
    return params;
}

namespace {

/// Source: LiteRT kernels/internal/reference/softmax.h, Softmax on integers.
template <typename In, typename Out> Status runQuantizedSoftmax(const KernelArgs& args)
{
    const auto& p = args.paramsAs<FixedSoftmaxParams>();
    const auto [count, length] = rowsOf(args.in(0).shape);
    constexpr int32_t kMin = std::numeric_limits<Out>::min();
    constexpr int32_t kMax = std::numeric_limits<Out>::max();
    for (int64_t r = 0; r < count; ++r) {
        const In* in = args.in(0).as<In>() + r * length;
        Out* out = args.out(0).as<Out>() + r * length;
        const int32_t max = *std::max_element(in, in + length);
        const auto exponential = [&](int32_t difference) {
            return expOnNegative(Fixed<5>{multiplyByQuantizedMultiplier(difference, p.input)});
        };
        Fixed<12> sum = {0};
        for (int64_t c = 0; c < length; ++c)
            if (in[c] - max >= p.diffMin) sum = sum + rescale<12>(exponential(in[c] - max));
        int bitsOverUnit = 0;
        const Fixed<0> scale = {fixedReciprocal(sum.raw, 12, bitsOverUnit)};
        const int exponent = bitsOverUnit + 31 - static_cast<int>(sizeof(Out)) * 8;
        if (exponent < 0 || exponent > 31) return softmaxRowTooLong(length);
        for (int64_t c = 0; c < length; ++c) {
            const int32_t difference = in[c] - max;
            if (difference < p.diffMin) {
                out[c] = static_cast<Out>(kMin);
                continue;
            }
            const int32_t part = roundingDivideByPowerOfTwo((scale * exponential(difference)).raw, exponent);
            out[c] = static_cast<Out>(std::clamp(wrappingAdd(part, kMin), kMin, kMax));
        }
    }
    return {};
}

/// Source: LiteRT kernels/internal/reference/softmax.h, SoftmaxInt16.
struct Softmax16Params {
    QuantizedMultiplier input;
    LookupTable16 exponential, reciprocal; ///< e^x on [−10, 0]; 1/(1 + x) on [0, 1]
};

Status runSoftmax16(const KernelArgs& args)
{
    const auto& p = args.paramsAs<Softmax16Params>();
    const auto [count, length] = rowsOf(args.in(0).shape);
    for (int64_t r = 0; r < count; ++r) {
        const int16_t* in = args.in(0).as<int16_t>() + r * length;
        int16_t* out = args.out(0).as<int16_t>() + r * length;
        const int32_t max = *std::max_element(in, in + length);
        const auto exponential = [&](int16_t x) {
            const int32_t scaled = wrappingAdd(multiplyByQuantizedMultiplier(x - max, p.input), 32767);
            return lookUp16(static_cast<int16_t>(std::clamp(scaled, -32768, 32767)), p.exponential);
        };
        int32_t sum = 0; // 15 fractional bits
        for (int64_t c = 0; c < length; ++c) sum = wrappingAdd<int32_t>(sum, exponential(in[c]));
        const int headroomPlusOne = std::countl_zero(static_cast<uint32_t>(sum));
        if (headroomPlusOne < 1 || headroomPlusOne > 30) return softmaxRowTooLong(length);
        const auto shifted = static_cast<int32_t>(((int64_t{sum} << (headroomPlusOne - 1)) + (1 << 13)) >> 14);
        const int32_t centred = shifted - ((1 << 15) + (1 << 16));
        const int64_t scale = lookUp16(static_cast<int16_t>(std::clamp(centred, -32768, 32767)), p.reciprocal);
        const int rightShift = 31 - headroomPlusOne;
        for (int64_t c = 0; c < length; ++c) {
            const int64_t part = (exponential(in[c]) * scale + (int64_t{1} << (rightShift - 1))) >> rightShift;
            out[c] = static_cast<int16_t>(std::clamp<int64_t>(part, 0, 32767));
        }
    }
    return {};
}

Result<PreparedKernel> prepareQuantizedSoftmax(const KernelSetup& setup, float beta)
{
    const auto in = scaleAndZero(setup.in(0));
    const auto out = scaleAndZero(setup.out(0));
    const DType from = setup.in(0).dtype;
    const DType to = setup.out(0).dtype;
    if (from == DType::i8 && to == DType::i8 && (out.zero != -128 || std::fabs(out.scale - 1.0F / 256) > 0.001F / 256))
        return Error(ErrorCode::unsupported, "an int8 result needs the scale 1/256 and zero point -128")
            .found(std::to_string(out.scale) + ", " + std::to_string(out.zero));
    if (from == DType::i16) {
        if (in.zero != 0 || out.zero != 0 || std::fabs(out.scale - 1.0F / 32768) > 0.001F / 32768)
            return Error(ErrorCode::unsupported, "an int16 operand needs zero points 0 and a result scale of 1/32768")
                .found(std::to_string(out.scale));
        auto params = std::make_shared<Softmax16Params>();
        constexpr double kRange = 65535;
        params->exponential = makeLookupTable16<double>(10.0 / kRange, 32767, 2.0 / kRange, 0, [](double x) { return std::exp(x); });
        params->reciprocal = makeLookupTable16<double>(1.0 / kRange, -32768, 2.0 / kRange, 0, [](double x) { return 1.0 / (1.0 + x); });
        params->input = quantizeMultiplier(static_cast<double>(in.scale * beta) / (10.0 / 65535.0));
        return PreparedKernel{runSoftmax16, params};
    }
    auto params = std::make_shared<const FixedSoftmaxParams>(fixedSoftmaxParams(static_cast<double>(beta), in.scale));
    if (from == DType::i8 && to == DType::i8) return PreparedKernel{runQuantizedSoftmax<int8_t, int8_t>, params};
    if (from == DType::i8 && to == DType::i16) return PreparedKernel{runQuantizedSoftmax<int8_t, int16_t>, params};
    if (from == DType::u8 && to == DType::u8) return PreparedKernel{runQuantizedSoftmax<uint8_t, uint8_t>, params};
    if (from == DType::u8 && to == DType::i16) return PreparedKernel{runQuantizedSoftmax<uint8_t, int16_t>, params};
    return unsupportedDtypes(setup);
}

} // namespace

Result<PreparedKernel> loopscope::prepareSoftmax(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {{DType::f32, runSoftmax<float>}, {DType::f16, runSoftmax<Half>}};
    const auto beta = static_cast<float>(attributeFloat(setup.attributes(), "beta", 0.0));
    const DType dtype = setup.in(0).dtype;
    if (dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16) return prepareQuantizedSoftmax(setup, beta);
    LS_TRY(PreparedKernel kernel, prepareByDtype(setup, kCases));
    kernel.params = std::make_shared<const float>(beta);
    return kernel;
}

namespace {

Status runLogSoftmax(const KernelArgs& args)
{
    const auto [count, length] = rowsOf(args.in(0).shape);
    for (int64_t r = 0; r < count; ++r) {
        const float* in = args.in(0).as<float>() + r * length;
        float* out = args.out(0).as<float>() + r * length;
        float max = std::numeric_limits<float>::lowest();
        for (int64_t c = 0; c < length; ++c) max = std::max(max, in[c]);
        float sum = 0.0F;
        for (int64_t c = 0; c < length; ++c) sum += std::exp(in[c] - max);
        const float logarithm = std::log(sum);
        for (int64_t c = 0; c < length; ++c) out[c] = in[c] - max - logarithm;
    }
    return {};
}

/// Source: LiteRT kernels/internal/reference/integer_ops/log_softmax.h; the uint8 form is the same with zero point 255.
template <typename T> Status runQuantizedLogSoftmax(const KernelArgs& args)
{
    const auto& p = args.paramsAs<FixedSoftmaxParams>();
    const auto [count, length] = rowsOf(args.in(0).shape);
    constexpr int32_t kMin = std::numeric_limits<T>::min();
    constexpr int32_t kMax = std::numeric_limits<T>::max(); // also the zero point: the result is never positive
    for (int64_t r = 0; r < count; ++r) {
        const T* in = args.in(0).as<T>() + r * length;
        T* out = args.out(0).as<T>() + r * length;
        const int32_t max = *std::max_element(in, in + length);
        Fixed<12> sum = {0};
        for (int64_t c = 0; c < length; ++c)
            if (in[c] - max >= p.diffMin)
                sum = sum + rescale<12>(expOnNegative(Fixed<5>{multiplyByQuantizedMultiplier(in[c] - max, p.input)}));
        const int32_t logarithm = fixedLog<5>(sum).raw;
        const int32_t smallest = wrappingAdd(logarithm, std::numeric_limits<int32_t>::min());
        const int32_t threshold = std::max(p.diffMin - 1, multiplyByQuantizedMultiplier(smallest, p.reverse));
        for (int64_t c = 0; c < length; ++c) {
            const int32_t difference = in[c] - max;
            if (difference <= threshold) {
                out[c] = static_cast<T>(kMin);
                continue;
            }
            const int32_t value = wrappingSub(multiplyByQuantizedMultiplier(difference, p.input), logarithm);
            out[c] = static_cast<T>(std::clamp(roundingDivideByPowerOfTwo(value, 22) + kMax, kMin, kMax)); // 5 integer bits to 1/16
        }
    }
    return {};
}

Result<PreparedKernel> prepareLogSoftmax(const KernelSetup& setup)
{
    const DType dtype = setup.in(0).dtype;
    if (dtype == DType::f32) return PreparedKernel{runLogSoftmax, nullptr};
    if (dtype != DType::i8 && dtype != DType::u8) return unsupportedDtypes(setup);
    const auto out = scaleAndZero(setup.out(0));
    if (out.scale != 16.0F / 256 || out.zero != (dtype == DType::i8 ? 127 : 255))
        return Error(ErrorCode::unsupported, "an 8-bit result needs the scale 1/16 and the largest zero point")
            .found(std::to_string(out.scale) + ", " + std::to_string(out.zero));
    auto params = std::make_shared<const FixedSoftmaxParams>(fixedSoftmaxParams(1.0, scaleAndZero(setup.in(0)).scale));
    return dtype == DType::i8 ? PreparedKernel{runQuantizedLogSoftmax<int8_t>, params}
                              : PreparedKernel{runQuantizedLogSoftmax<uint8_t>, params};
}

} // namespace

LS_DEFINE_KERNELS(tfl, softmax) { registry.add({"tfl", "softmax", Profile::reference, prepareSoftmax, "f32 f16 i8 u8 i16"}); }

LS_DEFINE_KERNELS(tfl, log_softmax) { registry.add({"tfl", "log_softmax", Profile::reference, prepareLogSoftmax, "f32 i8 u8"}); }
