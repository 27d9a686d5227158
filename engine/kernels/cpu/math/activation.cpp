// RELU and its bounded forms, LEAKY_RELU, ELU, PRELU, GELU, HARD_SWISH, LOGISTIC, TANH.
#include "engine/kernels/cpu/fixed_point.h"
#include "engine/kernels/cpu/lookup_table.h"
#include "engine/kernels/cpu/math/eigen_functions.h"
#include "engine/kernels/registry.h"

#include <cmath>
#include <numbers>

using namespace loopscope;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool isNarrow(DType dtype) { return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16; }

/// A float function with one constant, applied to f32, f16 or bf16.
template <typename T, float (*f)(float, float)> Status runFloat(const KernelArgs& args)
{
    const float constant = args.params ? args.paramsAs<float>() : 0.0F;
    applyUnary<T, T>(args.in(0), args.out(0), [constant](T x) { return Element<T>::store(f(Element<T>::load(x), constant)); });
    return {};
}

template <float (*f)(float, float)> Result<PreparedKernel> prepareFloat(const KernelSetup& setup, float constant = 0.0F)
{
    static constexpr DtypeCase kCases[] = {
        {DType::f32, runFloat<float, f>}, {DType::f16, runFloat<Half, f>}, {DType::bf16, runFloat<BFloat16, f>}};
    LS_TRY(PreparedKernel kernel, prepareByDtype(setup, kCases));
    kernel.params = std::make_shared<const float>(constant);
    return kernel;
}

// ---- RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1 ----

/// Source: LiteRT kernels/activations.cc, QuantizedReluX and ReluPrepare.
struct QuantizedReluParams {
    int32_t offsetIn = 0, offsetOut = 0;
    QuantizedMultiplier factor;
    ActivationRange<int32_t> range;
};

template <typename T> Status runQuantizedRelu(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedReluParams>();
    applyUnary<T, T>(args.in(0), args.out(0), [&p](T x) {
        const int32_t scaled = wrappingAdd(p.offsetOut, multiplyByQuantizedMultiplier(wrappingSub<int32_t>(x, p.offsetIn), p.factor));
        return static_cast<T>(clampTo(scaled, p.range));
    });
    return {};
}

Result<PreparedKernel> prepareQuantizedRelu(const KernelSetup& setup, float low, float high)
{
    const auto in = scaleAndZero(setup.in(0));
    const auto out = scaleAndZero(setup.out(0));
    const DType dtype = setup.in(0).dtype;
    auto params = std::make_shared<QuantizedReluParams>();
    params->offsetIn = in.zero;
    params->offsetOut = out.zero;
    params->factor = quantizeMultiplier(in.scale / out.scale);
    const auto stored = [&out](float real) { return wrappingAdd(out.zero, truncateToInt32(std::round(real / out.scale))); };
    params->range.min = std::max(static_cast<int32_t>(integerMin(dtype)), stored(low));
    const auto limit = static_cast<int32_t>(integerMax(dtype));
    params->range.max = high == kInfinity ? limit : std::min(limit, stored(high));
    switch (dtype) {
    case DType::i8: return PreparedKernel{runQuantizedRelu<int8_t>, params};
    case DType::u8: return PreparedKernel{runQuantizedRelu<uint8_t>, params};
    default: return PreparedKernel{runQuantizedRelu<int16_t>, params};
    }
}

/// x within [low, high]; NaN stays.
float clampBetween(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
float relu(float x, float) { return clampBetween(x, 0.0F, kInfinity); }
float relu6(float x, float) { return clampBetween(x, 0.0F, 6.0F); }
float reluN1To1(float x, float) { return clampBetween(x, -1.0F, 1.0F); }
float relu0To1(float x, float) { return clampBetween(x, 0.0F, 1.0F); }

template <float (*f)(float, float), int low, int high> Result<PreparedKernel> prepareRelu(const KernelSetup& setup)
{
    if (!isNarrow(setup.in(0).dtype)) return prepareFloat<f>(setup);
    return prepareQuantizedRelu(setup, low, high == 0 ? kInfinity : high);
}

// ---- LEAKY_RELU, PRELU ----

float leakyRelu(float x, float alpha) { return x > 0.0F ? x : x * alpha; }

struct QuantizedLeakyParams {
    int32_t offsetIn = 0, offsetAlpha = 0, offsetOut = 0;
    QuantizedMultiplier identity, negative;
    bool alphaIsNegative = false;
};

/// Source: LiteRT kernels/internal/reference/leaky_relu.h, QuantizeLeakyRelu.
template <typename T> Status runQuantizedLeaky(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedLeakyParams>();
    applyUnary<T, T>(args.in(0), args.out(0), [&p](T x) {
        const auto value = wrappingSub<int32_t>(x, p.offsetIn);
        int32_t scaled = multiplyByQuantizedMultiplier(value, value >= 0 ? p.identity : p.negative);
        if (value < 0 && p.alphaIsNegative) scaled = wrappingSub(0, scaled);
        return static_cast<T>(
            std::clamp<int32_t>(wrappingAdd(p.offsetOut, scaled), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    });
    return {};
}

Result<PreparedKernel> prepareLeakyRelu(const KernelSetup& setup)
{
    const auto alpha = static_cast<float>(attributeFloat(setup.attributes(), "alpha", 0.0));
    const DType dtype = setup.in(0).dtype;
    if (!isNarrow(dtype)) return prepareFloat<leakyRelu>(setup, alpha);
    const auto in = scaleAndZero(setup.in(0));
    const auto out = scaleAndZero(setup.out(0));
    auto params = std::make_shared<QuantizedLeakyParams>();
    params->offsetIn = in.zero;
    params->offsetOut = out.zero;
    params->identity = quantizeMultiplier(in.scale / out.scale);
    params->negative = quantizeMultiplier(std::fabs(in.scale * alpha / out.scale));
    params->alphaIsNegative = alpha < 0;
    switch (dtype) {
    case DType::i8: return PreparedKernel{runQuantizedLeaky<int8_t>, params};
    case DType::u8: return PreparedKernel{runQuantizedLeaky<uint8_t>, params};
    default: return PreparedKernel{runQuantizedLeaky<int16_t>, params};
    }
}

template <typename T> Status runPrelu(const KernelArgs& args)
{
    applyBinary<T, T>(args.in(0), args.in(1), args.out(0), [](T x, T alpha) {
        const float value = Element<T>::load(x);
        return value >= 0.0F ? x : Element<T>::store(value * Element<T>::load(alpha));
    });
    return {};
}

/// Source: LiteRT kernels/internal/reference/prelu.h.
template <typename T, typename Alpha> Status runQuantizedPrelu(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedLeakyParams>();
    const T* in = args.in(0).as<T>();
    const Alpha* alphas = args.in(1).as<Alpha>();
    T* out = args.out(0).as<T>();
    const BroadcastLoop<2> loop(args.out(0).shape, {&args.in(0).shape, &args.in(1).shape});
    loop.forEachRow([&](int64_t o, const int64_t(&offset)[2]) {
        for (int64_t i = 0; i < loop.rowLength(); ++i) {
            const auto value = wrappingSub<int32_t>(in[offset[0] + i * loop.rowStride(0)], p.offsetIn);
            const auto alpha = wrappingSub<int32_t>(alphas[offset[1] + i * loop.rowStride(1)], p.offsetAlpha);
            const int32_t scaled = value >= 0 ? multiplyByQuantizedMultiplier(value, p.identity)
                                              : multiplyByQuantizedMultiplier(wrappingMul(value, alpha), p.negative);
            out[o + i] = static_cast<T>(
                std::clamp<int32_t>(wrappingAdd(scaled, p.offsetOut), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
        }
    });
    return {};
}

Result<PreparedKernel> preparePrelu(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {
        {DType::f32, runPrelu<float>},
        {DType::f16, runPrelu<Half>},
        {DType::bf16, runPrelu<BFloat16>},
        {DType::i8, runQuantizedPrelu<int8_t, int8_t>},
        {DType::u8, runQuantizedPrelu<uint8_t, uint8_t>},
        {DType::i16, runQuantizedPrelu<int16_t, int8_t>}, // LiteRT reads alpha as bytes here, whatever its tensor says
    };
    LS_TRY(PreparedKernel kernel, prepareByDtype(setup, kCases));
    const auto in = scaleAndZero(setup.in(0));
    const auto alpha = scaleAndZero(setup.in(1));
    const auto out = scaleAndZero(setup.out(0));
    auto params = std::make_shared<QuantizedLeakyParams>();
    params->offsetIn = in.zero;
    params->offsetAlpha = alpha.zero;
    params->offsetOut = out.zero;
    params->identity = quantizeMultiplier(in.scale / out.scale);
    params->negative = quantizeMultiplier(in.scale * alpha.scale / out.scale);
    kernel.params = params;
    return kernel;
}

// ---- ELU, GELU ----

float elu(float x, float) { return x < 0.0F ? std::expm1(x) : x; }

Result<PreparedKernel> prepareElu(const KernelSetup& setup)
{
    if (setup.in(0).dtype == DType::i8) return prepareLookup(setup, [](float x) { return elu(x, 0); });
    return prepareFloat<elu>(setup);
}

/// By erfc, which stays accurate for large negative x. Source: LiteRT kernels/internal/reference/gelu.h.
float gelu(float x, float) { return 0.5F * x * std::erfc(x * static_cast<float>(-std::numbers::sqrt2 / 2)); }

float geluApproximate(float x, float)
{
    constexpr auto kRootOfTwoOverPi = static_cast<float>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
    return 0.5F * x * (1.0F + std::tanh(kRootOfTwoOverPi * (x + 0.044715F * x * x * x)));
}

/// In f32 LiteRT computes it by Eigen, in vectors of four; the last n mod 4 elements get the C library's exp.
Status runGelu32(const KernelArgs& args)
{
    constexpr auto kMinusRootOfHalf = static_cast<float>(-std::numbers::sqrt2 / 2);
    const auto* in = args.in(0).as<float>();
    auto* out = args.out(0).as<float>();
    const int64_t count = args.out(0).elementCount(), whole = count - count % 4;
    for (int64_t i = 0; i < count; ++i) {
        const float argument = in[i] * kMinusRootOfHalf;
        out[i] = 0.5F * in[i] * (i < whole ? eigen::erfc(argument) : eigen::scalarErfc(argument));
    }
    return {};
}

Status runGeluApproximate32(const KernelArgs& args)
{
    constexpr auto kRootOfTwoOverPi = static_cast<float>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
    applyUnary<float, float>(args.in(0), args.out(0),
                             [](float x) { return 0.5F * x * (1.0F + eigen::tanh(kRootOfTwoOverPi * (x + 0.044715F * (x * x * x)))); });
    return {};
}

/// f16 rounds after every operation, as Eigen's half does.
float roundToHalf(float x) { return f16ToFloat(floatToF16(x)); }

float geluHalf(float x, float)
{
    const float tail = roundToHalf(std::erfc(roundToHalf(x * roundToHalf(static_cast<float>(-std::numbers::sqrt2 / 2)))));
    return roundToHalf(0.5F * x) * tail;
}

float geluApproximateHalf(float x, float)
{
    const float factor = roundToHalf(static_cast<float>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi));
    const float cube = roundToHalf(x * roundToHalf(x * x));
    const float argument = roundToHalf(factor * roundToHalf(x + roundToHalf(roundToHalf(0.044715F) * cube)));
    return roundToHalf(0.5F * x) * roundToHalf(1.0F + roundToHalf(std::tanh(argument)));
}

Result<PreparedKernel> prepareGelu(const KernelSetup& setup)
{
    const bool approximate = attributeBool(setup.attributes(), "approximate", false);
    const DType dtype = setup.in(0).dtype;
    if (isNarrow(dtype)) return prepareLookup(setup, [approximate](float x) { return approximate ? geluApproximate(x, 0) : gelu(x, 0); });
    if (dtype == DType::f32) return PreparedKernel{approximate ? runGeluApproximate32 : runGelu32, nullptr};
    if (dtype == DType::f16) return approximate ? prepareFloat<geluApproximateHalf>(setup) : prepareFloat<geluHalf>(setup);
    return approximate ? prepareFloat<geluApproximate>(setup) : prepareFloat<gelu>(setup);
}

// ---- HARD_SWISH ----

float hardSwish(float x, float) { return x * std::min(6.0F, std::max(0.0F, x + 3)) / 6; }

struct QuantizedHardSwishParams {
    int32_t offsetIn = 0, offsetOut = 0;
    int16_t outMultiplier = 0, reluMultiplier = 0;
    int outExponent = 0, reluExponent = 0;
};

/// The upper 16 bits of a multiplier, rounded. Source: LiteRT kernels/internal/common.h, DownScaleInt32ToInt16Multiplier.
int16_t upperHalf(int32_t multiplier)
{
    constexpr int32_t kHalf = 1 << 15;
    if (multiplier >= std::numeric_limits<int32_t>::max() - kHalf) return std::numeric_limits<int16_t>::max();
    return static_cast<int16_t>((multiplier + kHalf) >> 16);
}

int16_t saturatingShiftLeft16(int16_t value, int amount)
{
    return static_cast<int16_t>(std::clamp<int64_t>(int64_t{value} * (int64_t{1} << std::min(amount, 31)), -32768, 32767));
}

/// Source: LiteRT kernels/internal/reference/hard_swish.h: x on a finer scale times (x + 3)/6 saturated to [0, 1], all in 16 bits.
template <typename T> Status runQuantizedHardSwish(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedHardSwishParams>();
    applyUnary<T, T>(args.in(0), args.out(0), [&p](T x) {
        const auto value = static_cast<int16_t>(x - p.offsetIn);
        const auto fine = static_cast<int16_t>(value * 128);
        const int16_t onOutputScale = saturatingRoundingDoublingHighMul16(fine, p.outMultiplier);
        int16_t gate = fine;
        if (p.reluExponent > 0) gate = saturatingShiftLeft16(gate, p.reluExponent - 1);
        gate = saturatingRoundingDoublingHighMul16(gate, p.reluMultiplier);
        if (p.reluExponent > 0) gate = saturatingShiftLeft16(gate, 1);
        if (p.reluExponent < 0) gate = static_cast<int16_t>(roundingDivideByPowerOfTwo(gate, -p.reluExponent));
        gate = static_cast<int16_t>((gate + (1 << 15)) >> 1);              // [−1, 1] to [0, 1]
        const int32_t product = int32_t{gate} * onOutputScale / (1 << 15); // towards zero: cancels the bias of the rounding above
        const auto scaled = static_cast<int16_t>(roundingDivideByPowerOfTwo(product, -p.outExponent));
        const auto out = static_cast<int16_t>(scaled + p.offsetOut);
        return static_cast<T>(std::clamp<int16_t>(out, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    });
    return {};
}

Result<PreparedKernel> prepareHardSwish(const KernelSetup& setup)
{
    const DType dtype = setup.in(0).dtype;
    if (dtype != DType::i8 && dtype != DType::u8) return prepareFloat<hardSwish>(setup);
    const auto in = scaleAndZero(setup.in(0));
    const auto out = scaleAndZero(setup.out(0));
    const float fineScale = (1.0F / 128.0F) * in.scale;
    const QuantizedMultiplier toOutput = quantizeMultiplier(fineScale / out.scale);
    const QuantizedMultiplier toGate = quantizeMultiplier(fineScale / (3.0F / 32768.0F));
    if (toOutput.shift > 0)
        return Error(ErrorCode::unsupported, "the result's scale is too fine for the operand's").found(std::to_string(out.scale));
    auto params = std::make_shared<QuantizedHardSwishParams>();
    params->offsetIn = std::clamp(in.zero, -32768, 32767);
    params->offsetOut = std::clamp(out.zero, -32768, 32767);
    params->outMultiplier = upperHalf(toOutput.multiplier);
    params->outExponent = toOutput.shift;
    params->reluMultiplier = upperHalf(toGate.multiplier);
    params->reluExponent = toGate.shift;
    return dtype == DType::i8 ? PreparedKernel{runQuantizedHardSwish<int8_t>, params}
                              : PreparedKernel{runQuantizedHardSwish<uint8_t>, params};
}

// ---- LOGISTIC, TANH ----

float logistic(float x, float)
{
    if (x > 16.619047164916992188F) return 1.0F; // the places are LiteRT's (kernels/internal/reference/logistic.h)
    if (x < -9.0F) return std::exp(x);
    return 1.0F / (1.0F + std::exp(-x));
}
float hyperbolicTangent(float x, float) { return std::tanh(x); }

/// sigmoid(i/24) with 16 fractional bits. Source: LiteRT kernels/internal/common.h, sigmoid_table_uint16, whose entries are the rounded
/// values except where it is one higher.
const std::array<uint16_t, 256>& sigmoidTable()
{
    static const auto table = [] {
        std::array<uint16_t, 256> t = {};
        for (size_t i = 0; i < t.size(); ++i)
            t[i] = static_cast<uint16_t>(std::round(65536.0 / (1.0 + std::exp(-static_cast<double>(i) / 24.0))));
        for (const uint8_t i : {4,  8,  12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31,  33,  34,  35,  37,  39,
                                40, 41, 43, 44, 45, 46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255})
            ++t[i];
        return t;
    }();
    return table;
}

/// How int16 operands reach the table's argument: x·multiplier·2^−shift.
struct Sigmoid16Params {
    int32_t multiplier = 0;
    int shift = 0;
};

/// Source: LiteRT kernels/internal/reference/integer_ops/logistic.h, Logistic on int16.
Status runLogistic16(const KernelArgs& args)
{
    const auto p = args.paramsAs<Sigmoid16Params>();
    const auto& table = sigmoidTable();
    const int32_t round = p.shift > 0 ? 1 << (p.shift - 1) : 0;
    applyUnary<int16_t, int16_t>(args.in(0), args.out(0), [&](int16_t x) {
        const int32_t argument = wrappingAdd(wrappingMul<int32_t>(x, p.multiplier), round) >> p.shift;
        const auto magnitude = static_cast<uint32_t>(argument < 0 ? -int64_t{argument} : int64_t{argument});
        const uint32_t index = magnitude >> 9;
        uint32_t result = 0x7FFFU << 10;
        if (index < 255) {
            const uint32_t low = table[index];
            const uint32_t high = table[index + 1];
            result = (low << 9) + (magnitude & 0x1FF) * (high - low);
        }
        result = argument >= 0 ? result + (1 << 9) : (1U << 25) - result + (1 << 9) - 1;
        return static_cast<int16_t>(result >> 10);
    });
    return {};
}

/// tanh(x) = 2·sigmoid(2x) − 1 by the same table. Source: LiteRT kernels/internal/reference/integer_ops/tanh.h.
Status runTanh16(const KernelArgs& args)
{
    const auto p = args.paramsAs<Sigmoid16Params>();
    const auto& table = sigmoidTable();
    const int32_t round = p.shift > 0 ? 1 << (p.shift - 1) : 0;
    applyUnary<int16_t, int16_t>(args.in(0), args.out(0), [&](int16_t x) {
        const int32_t argument = wrappingAdd(wrappingMul<int32_t>(x, p.multiplier), round) >> p.shift;
        const auto magnitude = static_cast<uint32_t>(argument < 0 ? -int64_t{argument} : int64_t{argument});
        const uint32_t index = magnitude >> 8;
        int32_t result = 0xFFFF << 8;
        if (index < 255) {
            const int32_t low = table[index];
            const int32_t high = table[index + 1];
            result = (low << 8) + static_cast<int32_t>(magnitude & 0xFF) * (high - low);
        }
        result = argument >= 0 ? result - (1 << 23) + (1 << 7) : -result + (1 << 23) + (1 << 7) - 1;
        return static_cast<int16_t>(result >> 8);
    });
    return {};
}

/// Source: LiteRT kernels/activations.cc, TanhPrepare and SigmoidPrepare.
Result<PreparedKernel> prepareSigmoid16(const KernelSetup& setup, KernelFunction run, int maxShift)
{
    const auto in = scaleAndZero(setup.in(0));
    const auto out = scaleAndZero(setup.out(0));
    if (in.zero != 0 || out.zero != 0 || !(in.scale > 0) || std::round(std::log2(out.scale)) != -15.0F ||
        std::fabs(out.scale * 32768 - 1) > 1e-3F)
        return Error(ErrorCode::unsupported, "an int16 operand needs zero points 0 and a result scale of 1/32768")
            .found(std::to_string(out.scale));
    auto params = std::make_shared<Sigmoid16Params>();
    const float log2 = std::log(in.scale) * (1.0F / std::log(2.0F));
    const int shift = std::isfinite(log2) ? 12 + static_cast<int>(std::round(log2)) : -1;
    if (std::fabs(std::round(log2) - log2) < 1e-3F && shift >= 0 && shift <= maxShift) {
        params->multiplier = 3 << shift;
    } else {
        double multiplier = static_cast<double>(in.scale) * 4096.0 * 3.0;
        while (multiplier <= 32767.0 / 2.0 && params->shift <= 30) {
            ++params->shift;
            multiplier *= 2.0;
        }
        params->shift = std::min(params->shift, 31);
        params->multiplier = truncateToInt32(multiplier);
    }
    return PreparedKernel{run, params};
}

Result<PreparedKernel> prepareLogistic(const KernelSetup& setup)
{
    const DType dtype = setup.in(0).dtype;
    if (dtype == DType::i16) return prepareSigmoid16(setup, runLogistic16, 0);
    if (!isNarrow(dtype)) return prepareFloat<logistic>(setup);
    if (scaleAndZero(setup.out(0)).scale != 1.0F / 256)
        return Error(ErrorCode::unsupported, "an 8-bit result needs the scale 1/256")
            .found(std::to_string(scaleAndZero(setup.out(0)).scale));
    return prepareLookup(setup, [](float x) { return 1.0F / (1.0F + std::exp(-x)); });
}

Result<PreparedKernel> prepareTanh(const KernelSetup& setup)
{
    const DType dtype = setup.in(0).dtype;
    if (dtype == DType::i16) return prepareSigmoid16(setup, runTanh16, 1);
    if (!isNarrow(dtype)) return prepareFloat<hyperbolicTangent>(setup);
    return prepareLookup(setup, [](float x) { return std::tanh(x); });
}

constexpr std::string_view kDtypes = "f32 f16 bf16 i8 u8 i16";
constexpr std::string_view kDtypes8 = "f32 f16 bf16 i8 u8";

} // namespace

LS_DEFINE_KERNELS(tfl, relu) { registry.add({"tfl", "relu", Profile::reference, prepareRelu<relu, 0, 0>, kDtypes}); }

LS_DEFINE_KERNELS(tfl, relu6) { registry.add({"tfl", "relu6", Profile::reference, prepareRelu<relu6, 0, 6>, kDtypes}); }

LS_DEFINE_KERNELS(tfl, relu_n1_to_1) { registry.add({"tfl", "relu_n1_to_1", Profile::reference, prepareRelu<reluN1To1, -1, 1>, kDtypes}); }

LS_DEFINE_KERNELS(tfl, relu_0_to_1) { registry.add({"tfl", "relu_0_to_1", Profile::reference, prepareRelu<relu0To1, 0, 1>, kDtypes}); }

LS_DEFINE_KERNELS(tfl, leaky_relu) { registry.add({"tfl", "leaky_relu", Profile::reference, prepareLeakyRelu, kDtypes}); }

LS_DEFINE_KERNELS(tfl, elu) { registry.add({"tfl", "elu", Profile::reference, prepareElu, "f32 f16 bf16 i8"}); }

LS_DEFINE_KERNELS(tfl, prelu) { registry.add({"tfl", "prelu", Profile::reference, preparePrelu, kDtypes}); }

LS_DEFINE_KERNELS(tfl, gelu) { registry.add({"tfl", "gelu", Profile::reference, prepareGelu, kDtypes}); }

LS_DEFINE_KERNELS(tfl, hard_swish) { registry.add({"tfl", "hard_swish", Profile::reference, prepareHardSwish, kDtypes8}); }

LS_DEFINE_KERNELS(tfl, logistic) { registry.add({"tfl", "logistic", Profile::reference, prepareLogistic, kDtypes}); }

LS_DEFINE_KERNELS(tfl, tanh) { registry.add({"tfl", "tanh", Profile::reference, prepareTanh, kDtypes}); }
