// Element-wise functions of one operand: NEG, ABS, SQRT, RSQRT, SQUARE, EXP, LOG, SIN, COS, CEIL, FLOOR, ROUND, SIGN.
#include "engine/kernels/cpu/fixed_point.h"
#include "engine/kernels/cpu/lookup_table.h"
#include "engine/kernels/registry.h"

#include <cmath>

using namespace loopscope;

namespace {

struct NegOp {
    template <typename T> static T apply(T x)
    {
        if constexpr (std::is_integral_v<T>) return wrappingSub(T{0}, x);
        else return -x;
    }
};
struct AbsOp {
    template <typename T> static T apply(T x)
    {
        if constexpr (std::is_integral_v<T>) return x < 0 ? wrappingSub(T{0}, x) : x;
        else return std::fabs(x);
    }
};
struct SqrtOp {
    static float apply(float x) { return std::sqrt(x); }
};
struct RsqrtOp {
    static float apply(float x) { return 1.0F / std::sqrt(x); }
};
struct SquareOp {
    template <typename T> static T apply(T x) { return wrappingMul(x, x); }
};
struct ExpOp {
    static float apply(float x) { return std::exp(x); }
};
struct LogOp {
    static float apply(float x) { return std::log(x); }
};
struct SinOp {
    static float apply(float x) { return std::sin(x); }
};
struct CosOp {
    static float apply(float x) { return std::cos(x); }
};
struct CeilOp {
    static float apply(float x) { return std::ceil(x); }
};
struct FloorOp {
    static float apply(float x) { return std::floor(x); }
};
struct RoundOp {
    /// Halves to even; −0.5 … −0 becomes 0, not −0. Source: LiteRT kernels/internal/reference/round.h.
    static float apply(float x)
    {
        const float below = std::floor(x), rest = x - below;
        return rest < 0.5F || (rest == 0.5F && std::fmod(below, 2.0F) == 0.0F) ? below : below + 1.0F;
    }
};
struct SignOp {
    template <typename T> static T apply(T x)
    {
        if constexpr (std::is_floating_point_v<T>)
            if (x != x) return x; // NaN stays
        return static_cast<T>((x > 0) - (x < 0));
    }
};

template <typename T, typename Op> Status runUnary(const KernelArgs& args)
{
    applyUnary<T, T>(args.in(0), args.out(0),
                     [](T x) { return Element<T>::store(static_cast<typename Element<T>::Compute>(Op::apply(Element<T>::load(x)))); });
    return {};
}

template <typename Op> constexpr DtypeCase kFloatCases[] = {
    {DType::f32, runUnary<float, Op>},
    {DType::f16, runUnary<Half, Op>},
    {DType::bf16, runUnary<BFloat16, Op>},
};
template <typename Op> constexpr DtypeCase kNumberCases[] = {
    {DType::f32, runUnary<float, Op>},     {DType::f64, runUnary<double, Op>},  {DType::f16, runUnary<Half, Op>},
    {DType::bf16, runUnary<BFloat16, Op>}, {DType::i32, runUnary<int32_t, Op>}, {DType::i64, runUnary<int64_t, Op>},
    {DType::i16, runUnary<int16_t, Op>},   {DType::i8, runUnary<int8_t, Op>},
};

template <typename Op> Result<PreparedKernel> prepareFloat(const KernelSetup& setup) { return prepareByDtype(setup, kFloatCases<Op>); }

template <typename Op> Result<PreparedKernel> prepareNumber(const KernelSetup& setup) { return prepareByDtype(setup, kNumberCases<Op>); }

Error needsQuantization() { return Error(ErrorCode::unsupported, "a narrow integer operand and its result need a scale"); }

bool bothQuantized(const KernelSetup& setup) { return scaleAndZero(setup.in(0)).scale > 0 && scaleAndZero(setup.out(0)).scale > 0; }

/// Source: LiteRT kernels/elementwise.cc, AbsEvalQuantized.
struct QuantizedAbsParams {
    int32_t offsetIn = 0, offsetOut = 0;
    bool rescale = false;
    QuantizedMultiplier factor;
};

template <typename T> Status runQuantizedAbs(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedAbsParams>();
    applyUnary<T, T>(args.in(0), args.out(0), [&p](T x) {
        const int32_t value = AbsOp::apply(static_cast<int32_t>(x) - p.offsetIn);
        const int32_t scaled = p.rescale ? multiplyByQuantizedMultiplier(value, p.factor) : value;
        return static_cast<T>(
            std::clamp<int32_t>(wrappingAdd(scaled, p.offsetOut), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    });
    return {};
}

Result<PreparedKernel> prepareAbs(const KernelSetup& setup)
{
    const DType dtype = setup.in(0).dtype;
    if ((dtype != DType::i8 && dtype != DType::i16) || !bothQuantized(setup)) return prepareNumber<AbsOp>(setup);
    const auto in = scaleAndZero(setup.in(0));
    const auto out = scaleAndZero(setup.out(0));
    auto params = std::make_shared<QuantizedAbsParams>();
    params->offsetIn = std::clamp(in.zero, -32768, 65535);
    params->offsetOut = out.zero;
    params->rescale = in.scale != out.scale;
    params->factor = quantizeMultiplier(in.scale / out.scale);
    return dtype == DType::i8 ? PreparedKernel{runQuantizedAbs<int8_t>, params} : PreparedKernel{runQuantizedAbs<int16_t>, params};
}

/// Source: LiteRT kernels/elementwise.cc, RsqrtEvalQuantizedInt8.
struct QuantizedRsqrtParams {
    int32_t offsetIn = 0, offsetOut = 0;
    QuantizedMultiplier factor;
    LookupTable16 table; ///< int16 only
};

template <typename T> Status checkNotNegative(const KernelArgs& args, int32_t zero)
{
    const T* in = args.in(0).as<T>();
    const int64_t count = args.in(0).elementCount();
    for (int64_t i = 0; i < count; ++i)
        if (in[i] < zero)
            return Error(ErrorCode::execution, "C1: square root of a negative number at " + indexText(args.in(0).shape, i) + " (" +
                                                   std::string(dtypeName(args.in(0).dtype)) + ")");
    return {};
}

Status runRsqrt8(const KernelArgs& args)
{
    const auto& p = args.paramsAs<QuantizedRsqrtParams>();
    LS_CHECK_OK(checkNotNegative<int8_t>(args, p.offsetIn));
    applyUnary<int8_t, int8_t>(args.in(0), args.out(0), [&p](int8_t x) {
        const int32_t value = x - p.offsetIn;
        if (value == 0) return int8_t{127};
        constexpr int kHeadroom = 20;
        QuantizedMultiplier root = fixedInverseSqrt(value);
        root.shift += kHeadroom;
        const int32_t data = multiplyByQuantizedMultiplier(1, root);
        const int32_t scaled = multiplyByQuantizedMultiplier(data, p.factor.multiplier, p.factor.shift - kHeadroom);
        return static_cast<int8_t>(std::clamp(wrappingAdd(scaled, p.offsetOut), -128, 127));
    });
    return {};
}

Status runRsqrt16(const KernelArgs& args)
{
    const auto& p = args.paramsAs<QuantizedRsqrtParams>();
    LS_CHECK_OK(checkNotNegative<int16_t>(args, p.offsetIn));
    applyUnary<int16_t, int16_t>(args.in(0), args.out(0), [&p](int16_t x) { return lookUp16(x, p.table); });
    return {};
}

Result<PreparedKernel> prepareRsqrt(const KernelSetup& setup)
{
    const DType dtype = setup.in(0).dtype;
    if (dtype != DType::i8 && dtype != DType::i16) return prepareFloat<RsqrtOp>(setup);
    if (!bothQuantized(setup)) return needsQuantization();
    const auto in = scaleAndZero(setup.in(0));
    const auto out = scaleAndZero(setup.out(0));
    auto params = std::make_shared<QuantizedRsqrtParams>();
    params->offsetIn = std::clamp(in.zero, -32768, 32767);
    params->offsetOut = out.zero;
    params->factor = quantizeMultiplier(1.0 / static_cast<double>(std::sqrt(in.scale) * out.scale));
    if (dtype == DType::i8) return PreparedKernel{runRsqrt8, params};
    params->table = makeLookupTable16<float>(in.scale, in.zero, out.scale, out.zero,
                                             [scale = out.scale](float x) { return x <= 0 ? 32767 * scale : 1.0F / std::sqrt(x); });
    return PreparedKernel{runRsqrt16, params};
}

struct QuantizedSqrtParams {
    ScaleAndZero in, out;
};

/// The quotient is cut off, not rounded. Source: LiteRT kernels/elementwise.cc, SqrtEvalQuantized.
template <typename T> Status runQuantizedSqrt(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedSqrtParams>();
    LS_CHECK_OK(checkNotNegative<T>(args, p.in.zero));
    applyUnary<T, T>(args.in(0), args.out(0), [&p](T x) {
        const float root = std::sqrt(p.in.scale * static_cast<float>(wrappingSub<int32_t>(x, p.in.zero)));
        const int32_t stored = wrappingAdd(truncateToInt32(root / p.out.scale), p.out.zero);
        return static_cast<T>(std::clamp<int32_t>(stored, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    });
    return {};
}

Result<PreparedKernel> prepareSqrt(const KernelSetup& setup)
{
    const DType dtype = setup.in(0).dtype;
    if (dtype != DType::i8 && dtype != DType::i16) return prepareFloat<SqrtOp>(setup);
    if (!bothQuantized(setup)) return needsQuantization();
    auto params = std::make_shared<const QuantizedSqrtParams>(QuantizedSqrtParams{scaleAndZero(setup.in(0)), scaleAndZero(setup.out(0))});
    return dtype == DType::i8 ? PreparedKernel{runQuantizedSqrt<int8_t>, params} : PreparedKernel{runQuantizedSqrt<int16_t>, params};
}

Result<PreparedKernel> prepareExp(const KernelSetup& setup)
{
    const DType dtype = setup.in(0).dtype;
    if (dtype != DType::i8 && dtype != DType::i16) return prepareFloat<ExpOp>(setup);
    return prepareLookup(setup, [](float x) { return std::exp(x); });
}

Result<PreparedKernel> prepareLog(const KernelSetup& setup)
{
    const DType dtype = setup.in(0).dtype;
    if (dtype != DType::i8 && dtype != DType::i16) return prepareFloat<LogOp>(setup);
    if (!bothQuantized(setup)) return needsQuantization();
    const auto out = scaleAndZero(setup.out(0));
    const float smallest = static_cast<float>(integerMin(dtype) - out.zero) * out.scale;
    return prepareLookup(setup, [smallest](float x) { return x <= 0 ? smallest : std::log(x); });
}

constexpr std::string_view kFloatDtypes = "f32 f16 bf16";
constexpr std::string_view kNumberDtypes = "f32 f64 f16 bf16 i32 i64 i16 i8";

} // namespace

LS_DEFINE_KERNELS(tfl, neg) { registry.add({"tfl", "neg", Profile::reference, prepareNumber<NegOp>, kNumberDtypes}); }

LS_DEFINE_KERNELS(tfl, abs) { registry.add({"tfl", "abs", Profile::reference, prepareAbs, kNumberDtypes}); }

LS_DEFINE_KERNELS(tfl, sqrt) { registry.add({"tfl", "sqrt", Profile::reference, prepareSqrt, "f32 f16 bf16 i8 i16"}); }

LS_DEFINE_KERNELS(tfl, rsqrt) { registry.add({"tfl", "rsqrt", Profile::reference, prepareRsqrt, "f32 f16 bf16 i8 i16"}); }

LS_DEFINE_KERNELS(tfl, square) { registry.add({"tfl", "square", Profile::reference, prepareNumber<SquareOp>, kNumberDtypes}); }

LS_DEFINE_KERNELS(tfl, exp) { registry.add({"tfl", "exp", Profile::reference, prepareExp, "f32 f16 bf16 i8 i16"}); }

LS_DEFINE_KERNELS(tfl, log) { registry.add({"tfl", "log", Profile::reference, prepareLog, "f32 f16 bf16 i8 i16"}); }

LS_DEFINE_KERNELS(tfl, sin) { registry.add({"tfl", "sin", Profile::reference, prepareFloat<SinOp>, kFloatDtypes}); }

LS_DEFINE_KERNELS(tfl, cos) { registry.add({"tfl", "cos", Profile::reference, prepareFloat<CosOp>, kFloatDtypes}); }

LS_DEFINE_KERNELS(tfl, ceil) { registry.add({"tfl", "ceil", Profile::reference, prepareFloat<CeilOp>, kFloatDtypes}); }

LS_DEFINE_KERNELS(tfl, floor) { registry.add({"tfl", "floor", Profile::reference, prepareFloat<FloorOp>, kFloatDtypes}); }

LS_DEFINE_KERNELS(tfl, round) { registry.add({"tfl", "round", Profile::reference, prepareFloat<RoundOp>, kFloatDtypes}); }

LS_DEFINE_KERNELS(tfl, sign) { registry.add({"tfl", "sign", Profile::reference, prepareNumber<SignOp>, kNumberDtypes}); }
