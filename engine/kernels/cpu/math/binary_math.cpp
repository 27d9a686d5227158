// FLOOR_DIV, FLOOR_MOD, POW, MAXIMUM, MINIMUM, SQUARED_DIFFERENCE, ATAN2: y = f(a, b) with broadcasting, no activation.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/registry.h"

#include <cmath>

using namespace loopscope;

namespace {

struct FloorDivOp {
    template <typename T> static T apply(T a, T b)
    {
        if constexpr (std::is_integral_v<T>) {
            if constexpr (std::is_signed_v<T>) {
                if (b == T{-1}) return wrappingSub(T{0}, a); // the smallest integer stays, as in the reference
            }
            const T quotient = static_cast<T>(a / b);
            return a % b != 0 && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
        } else {
            return static_cast<T>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
        }
    }
};

/// Source: LiteRT kernels/internal/reference/binary_function.h and floor_mod.cc: the remainder of truncation, moved to the divisor's sign.
struct FloorModOp {
    template <typename T> static T apply(T a, T b)
    {
        T remainder;
        if constexpr (std::is_integral_v<T>) {
            if constexpr (std::is_signed_v<T>) {
                if (b == T{-1}) return 0;
            }
            remainder = static_cast<T>(a % b);
        } else {
            remainder = std::fmod(a, b);
        }
        return remainder != 0 && (b < 0) != (remainder < 0) ? static_cast<T>(remainder + b) : remainder;
    }
};

struct PowOp {
    template <typename T> static T apply(T a, T b)
    {
        if constexpr (std::is_integral_v<T>) {
            // Exact by squaring; any step out of range gives the smallest integer, which is what the reference's detour by double leaves.
            T result = 1;
            T base = a;
            for (T e = b; e > 0;) {
                if ((e & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return std::numeric_limits<T>::min();
                e = static_cast<T>(e >> 1);
                if (e > 0 && __builtin_mul_overflow(base, base, &base)) return std::numeric_limits<T>::min();
            }
            return result;
        } else {
            return std::pow(a, b);
        }
    }
};

struct MaximumOp {
    template <typename T> static T apply(T a, T b) { return a > b ? a : b; }
};
struct MinimumOp {
    template <typename T> static T apply(T a, T b) { return a < b ? a : b; }
};
struct SquaredDifferenceOp {
    template <typename T> static T apply(T a, T b)
    {
        const T difference = wrappingSub(a, b);
        return wrappingMul(difference, difference);
    }
};
struct Atan2Op {
    template <typename T> static T apply(T a, T b) { return std::atan2(a, b); }
};

template <typename T, typename Op> T applyOne(T a, T b) { return Element<T>::store(Op::apply(Element<T>::load(a), Element<T>::load(b))); }

template <typename T, typename Op> Status runBinary(const KernelArgs& args)
{
    applyBinary<T, T>(args.in(0), args.in(1), args.out(0), [](T a, T b) { return applyOne<T, Op>(a, b); });
    return {};
}

template <typename T, typename Op> Status runBinaryScalar(const KernelArgs& args)
{
    *args.out(0).as<T>() = applyOne<T, Op>(*args.in(0).as<T>(), *args.in(1).as<T>());
    return {};
}

/// The same for operators whose second operand must not be 0.
template <typename T, typename Op> Status runDivision(const KernelArgs& args)
{
    if (args.out(0).elementCount() == 0) return {};
    if (const int64_t at = findElement<T>(args.in(1), T{0}); at >= 0) return divisionByZero(args.in(1), at, args.out(0));
    return runBinary<T, Op>(args);
}

template <typename T, typename Op> Status runDivisionScalar(const KernelArgs& args)
{
    if (*args.in(1).as<T>() == T{0}) return divisionByZero(args.in(1), 0, args.out(0));
    return runBinaryScalar<T, Op>(args);
}

template <typename T> Status runIntegerPow(const KernelArgs& args)
{
    const T* exponents = args.in(1).as<T>();
    const int64_t count = args.in(1).elementCount();
    for (int64_t i = 0; i < count; ++i)
        if (exponents[i] < 0)
            return Error(ErrorCode::execution, "C2: negative exponent " + std::to_string(exponents[i]) + " at " +
                                                   indexText(args.in(1).shape, i) + " (" + std::string(dtypeName(args.in(1).dtype)) + ")");
    return runBinary<T, PowOp>(args);
}

template <typename Op> Result<PreparedKernel> prepareDivision(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {
        {DType::i32, runDivision<int32_t, Op>, runDivisionScalar<int32_t, Op>},
        {DType::i64, runDivision<int64_t, Op>, runDivisionScalar<int64_t, Op>},
        {DType::i16, runDivision<int16_t, Op>},
        {DType::i8, runDivision<int8_t, Op>},
        {DType::u8, runDivision<uint8_t, Op>},
        {DType::u32, runDivision<uint32_t, Op>},
    };
    if (setup.in(0).dtype == DType::f32) { // FLOOR_MOD by 0.0 is NaN; FLOOR_DIV refuses it, as the reference does
        constexpr bool kRefuse = std::is_same_v<Op, FloorDivOp>;
        return PreparedKernel{kRefuse ? runDivision<float, Op> : runBinary<float, Op>, nullptr};
    }
    return prepareByDtype(setup, kCases);
}

Result<PreparedKernel> preparePow(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {
        {DType::f32, runBinary<float, PowOp>, runBinaryScalar<float, PowOp>},
        {DType::i32, runIntegerPow<int32_t>},
        {DType::i64, runIntegerPow<int64_t>},
    };
    return prepareByDtype(setup, kCases);
}

template <typename Op> Result<PreparedKernel> prepareExtremum(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {
        {DType::f32, runBinary<float, Op>, runBinaryScalar<float, Op>},
        {DType::i32, runBinary<int32_t, Op>, runBinaryScalar<int32_t, Op>},
        {DType::i64, runBinary<int64_t, Op>, runBinaryScalar<int64_t, Op>},
        {DType::f16, runBinary<Half, Op>},
        {DType::bf16, runBinary<BFloat16, Op>},
        {DType::i16, runBinary<int16_t, Op>},
        {DType::i8, runBinary<int8_t, Op>},
        {DType::u8, runBinary<uint8_t, Op>},
        {DType::u32, runBinary<uint32_t, Op>},
    };
    return prepareByDtype(setup, kCases);
}

/// int8: the difference at a common scale with 7 bits of headroom, squared, then rescaled.
/// Source: LiteRT kernels/squared_difference.cc.
struct QuantizedSquareParams {
    int32_t offsetA = 0, offsetB = 0, offsetOut = 0;
    QuantizedMultiplier a, b, out;
    ActivationRange<int32_t> range;
};

Status runQuantizedSquaredDifference(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedSquareParams>();
    applyBinary<int8_t, int8_t>(args.in(0), args.in(1), args.out(0), [p](int8_t x, int8_t y) {
        const int32_t a = multiplyByQuantizedMultiplier(shiftLeftWrapping(p.offsetA + x, 7), p.a);
        const int32_t b = multiplyByQuantizedMultiplier(shiftLeftWrapping(p.offsetB + y, 7), p.b);
        const int32_t difference = wrappingSub(a, b);
        const int32_t square = wrappingMul(difference, difference);
        return static_cast<int8_t>(clampTo(wrappingAdd(multiplyByQuantizedMultiplier(square, p.out), p.offsetOut), p.range));
    });
    return {};
}

Result<PreparedKernel> prepareSquaredDifference(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {
        {DType::f32, runBinary<float, SquaredDifferenceOp>, runBinaryScalar<float, SquaredDifferenceOp>},
        {DType::i32, runBinary<int32_t, SquaredDifferenceOp>, runBinaryScalar<int32_t, SquaredDifferenceOp>},
        {DType::i64, runBinary<int64_t, SquaredDifferenceOp>},
        {DType::i8, runBinary<int8_t, SquaredDifferenceOp>},
    };
    const auto a = scaleAndZero(setup.in(0));
    const auto b = scaleAndZero(setup.in(1));
    const auto out = scaleAndZero(setup.out(0));
    if (setup.in(0).dtype != DType::i8 || (a.scale == 0 && b.scale == 0 && out.scale == 0)) return prepareByDtype(setup, kCases);
    if (!(a.scale > 0 && b.scale > 0 && out.scale > 0))
        return Error(ErrorCode::unsupported, "both operands and the result need a positive scale");
    auto params = std::make_shared<QuantizedSquareParams>();
    params->offsetA = -a.zero;
    params->offsetB = -b.zero;
    params->offsetOut = out.zero;
    const double twiceMax = 2 * static_cast<double>(std::max(a.scale, b.scale));
    params->a = quantizeMultiplier(static_cast<double>(a.scale) / twiceMax);
    params->b = quantizeMultiplier(static_cast<double>(b.scale) / twiceMax);
    params->out = quantizeMultiplier(twiceMax * twiceMax / (static_cast<double>(1 << 14) * static_cast<double>(out.scale)));
    LS_TRY(params->range, quantizedActivationRange(FusedActivation::none, setup.out(0)));
    return PreparedKernel{runQuantizedSquaredDifference, params};
}

Result<PreparedKernel> prepareAtan2(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {
        {DType::f32, runBinary<float, Atan2Op>},
        {DType::f64, runBinary<double, Atan2Op>},
        {DType::f16, runBinary<Half, Atan2Op>},
        {DType::bf16, runBinary<BFloat16, Atan2Op>},
    };
    return prepareByDtype(setup, kCases);
}

} // namespace

LS_DEFINE_KERNELS(tfl, floor_div)
{
    registry.add({"tfl", "floor_div", Profile::reference, prepareDivision<FloorDivOp>, "f32 i32 i64 i16 i8 u8 u32"});
}

LS_DEFINE_KERNELS(tfl, floor_mod)
{
    registry.add({"tfl", "floor_mod", Profile::reference, prepareDivision<FloorModOp>, "f32 i32 i64 i16 i8 u8 u32"});
}

LS_DEFINE_KERNELS(tfl, pow) { registry.add({"tfl", "pow", Profile::reference, preparePow, "f32 i32 i64"}); }

LS_DEFINE_KERNELS(tfl, maximum)
{
    registry.add({"tfl", "maximum", Profile::reference, prepareExtremum<MaximumOp>, "f32 f16 bf16 i32 i64 i16 i8 u8 u32"});
}

LS_DEFINE_KERNELS(tfl, minimum)
{
    registry.add({"tfl", "minimum", Profile::reference, prepareExtremum<MinimumOp>, "f32 f16 bf16 i32 i64 i16 i8 u8 u32"});
}

LS_DEFINE_KERNELS(tfl, squared_difference)
{
    registry.add({"tfl", "squared_difference", Profile::reference, prepareSquaredDifference, "f32 i32 i64 i8"});
}

LS_DEFINE_KERNELS(tfl, atan2) { registry.add({"tfl", "atan2", Profile::reference, prepareAtan2, "f32 f64 f16 bf16"}); }
