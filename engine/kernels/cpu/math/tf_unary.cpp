// Kernels of TensorFlow's element-wise functions of one operand, and of conversions between dtypes.
#include "engine/kernels/cpu/math/digamma.h"
#include "engine/kernels/cpu/math/eigen_functions.h"
#include "engine/kernels/cpu/tf_support.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace loopscope;

namespace {

/// The inverse of erf, by Newton's method from Winitzki's approximation.
double inverseErf(double x)
{
    if (!(std::abs(x) < 1))
        return x == 1 || x == -1 ? std::copysign(std::numeric_limits<double>::infinity(), x) : std::numeric_limits<double>::quiet_NaN();
    constexpr double kA = 0.147;
    const double logarithm = std::log1p(-x * x), half = 2 / (std::numbers::pi * kA) + logarithm / 2;
    double y = std::copysign(std::sqrt(std::sqrt(half * half - logarithm / kA) - half), x);
    for (int i = 0; i < 4; ++i) y -= (std::erf(y) - x) * std::sqrt(std::numbers::pi) / 2 * std::exp(y * y);
    return y;
}

template <typename T> T logOfOneMore(T x) { return std::log1p(x); }
/// As Eigen's log1p of a generic number.
template <typename T> std::complex<T> logOfOneMore(std::complex<T> x)
{
    const std::complex<T> more = T(1) + x, logarithm = std::log(more);
    return more == T(1) || more == logarithm ? x : x * (logarithm / (more - T(1)));
}

// Each function works on the type of calculation.
#define LS_FUNCTION(name, expression)                                                                                                      \
    struct name {                                                                                                                          \
        template <typename T> T operator()(T x) const { return static_cast<T>(expression); }                                               \
    };
LS_FUNCTION(SquareOp, wrappingMul(x, x))
LS_FUNCTION(SqrtOp, std::sqrt(x))
LS_FUNCTION(RsqrtOp, T(1) / std::sqrt(x))
LS_FUNCTION(InverseOp, T(1) / x)
LS_FUNCTION(TanOp, std::tan(x))
LS_FUNCTION(SinhOp, std::sinh(x))
LS_FUNCTION(CoshOp, std::cosh(x))
LS_FUNCTION(AsinhOp, std::asinh(x))
LS_FUNCTION(AcoshOp, std::acosh(x))
LS_FUNCTION(ErfinvOp, inverseErf(x))
LS_FUNCTION(LgammaOp, std::lgamma(x))
LS_FUNCTION(FloorOp, std::floor(x))
LS_FUNCTION(CeilOp, std::ceil(x))
LS_FUNCTION(RintOp, std::nearbyint(x))
LS_FUNCTION(InvertOp, ~x)
LS_FUNCTION(ReluOp, x < T(0) ? T(0) : x)
LS_FUNCTION(Relu6Op, x<T(0) ? T(0) : x> T(6) ? T(6) : x)
LS_FUNCTION(ConjOp, std::conj(x))
#undef LS_FUNCTION

template <typename T> T oneLessThanExp(T x)
{
    if constexpr (requires { x.imag(); }) { // by half angles, so that nothing is lost near 0
        using R = typename T::value_type;
        const R less = std::expm1(x.real()), whole = less + R(1), half = std::sin(x.imag() / R(2));
        return {less - R(2) * whole * (half * half), whole * std::sin(x.imag())};
    } else {
        return std::expm1(x);
    }
}

// What TensorFlow computes by vectors differs in its last bits from what it computes one by one: of n elements the last n mod 8, with
// the C library. `vector` is the f32 of the former.
#define LS_VECTOR_FUNCTION(name, single, inVector)                                                                                         \
    struct name {                                                                                                                          \
        template <typename T> T operator()(T x) const { return static_cast<T>(single); }                                                   \
        static float vector(float x) { return inVector; }                                                                                  \
    };
LS_VECTOR_FUNCTION(ExpOp, std::exp(x), eigen::exp(x))
LS_VECTOR_FUNCTION(Expm1Op, oneLessThanExp(x), eigen::expm1(x))
LS_VECTOR_FUNCTION(LogOp, std::log(x), eigen::log(x))
LS_VECTOR_FUNCTION(Log1pOp, logOfOneMore(x), eigen::log1p(x))
LS_VECTOR_FUNCTION(SinOp, std::sin(x), eigen::sin(x))
LS_VECTOR_FUNCTION(CosOp, std::cos(x), eigen::cos(x))
LS_VECTOR_FUNCTION(AsinOp, std::asin(x), eigen::asin(x))
LS_VECTOR_FUNCTION(AcosOp, std::acos(x), eigen::acos(x))
LS_VECTOR_FUNCTION(AtanOp, std::atan(x), eigen::atan(x))
LS_VECTOR_FUNCTION(AtanhOp, std::atanh(x), eigen::atanh(x))
#undef LS_VECTOR_FUNCTION
struct EluOp {
    template <typename T> T operator()(T x) const { return x < T(0) ? std::exp(x) - T(1) : x; }
    static float vector(float x) { return x < 0.0F ? eigen::exp(x) - 1.0F : x; }
    template <typename Round> static float stepwise(float x, Round rounded) { return x < 0.0F ? rounded(eigen::exp(x)) - 1.0F : x; }
};
struct ErfOp {
    template <typename T> T operator()(T x) const { return std::erf(x); }
    float operator()(float x) const { return eigen::erf(x); }
    static float vector(float x) { return eigen::erf(x); }
};
struct ErfcOp {
    template <typename T> T operator()(T x) const { return std::erfc(x); }
    float operator()(float x) const { return eigen::scalarErfc(x); }
    static float vector(float x) { return eigen::erfc(x); }
};
struct SigmoidOp {
    template <typename T> T operator()(T x) const { return T(1) / (T(1) + std::exp(-x)); }
    float operator()(float x) const { return eigen::scalarLogistic(x); }
    static float vector(float x) { return eigen::logistic(x); }
    template <typename Round> static float stepwise(float x, Round rounded)
    {
        const float power = rounded(eigen::exp(x));
        return std::isinf(power) ? 1.0F : power / rounded(1.0F + power);
    }
};

/// Networks that saturate magnify the last bits of tanh in their gradients, 1 − y², so that only the same bits give the same answers.
struct TanhOp {
    template <typename T> T operator()(T x) const
    {
        if constexpr (std::is_same_v<T, float>) return eigen::tanh(x);
        else return std::tanh(x);
    }
};

struct DigammaOp {
    template <typename T> T operator()(T x) const
    {
        if constexpr (std::is_same_v<T, float>) return eigen::digamma(x);
        else return static_cast<T>(digammaOf(static_cast<double>(x)));
    }
};

Status runPopulationCount(const KernelArgs& args)
{
    LS_CHECK_OK(tfAllocate(args, 0, args.in(0).shape));
    return forDType<TfSigned, TfUnsigned>(args.in(0).dtype, [&]<typename T>() -> Status {
        for (int64_t i = 0, n = args.in(0).elementCount(); i < n; ++i)
            args.out(0).as<uint8_t>()[i] = static_cast<uint8_t>(std::popcount(static_cast<std::make_unsigned_t<T>>(args.in(0).as<T>()[i])));
        return {};
    });
}

struct AbsOp {
    template <typename T> T operator()(T x) const
    {
        if constexpr (std::is_unsigned_v<T>) return x;
        else if constexpr (std::is_integral_v<T>) return x < 0 ? wrappingSub(T(0), x) : x;
        else return std::abs(x);
    }
};
struct NegOp {
    template <typename T> T operator()(T x) const
    {
        if constexpr (std::is_integral_v<T>) return wrappingSub(T(0), x);
        else return -x;
    }
};
struct SignOp {
    template <typename T> T operator()(T x) const
    {
        if constexpr (kIsComplex<T>) return x == T(0) ? x : x / std::abs(x);
        else return x > T(0) ? T(1) : x < T(0) ? T(-1) : x;
    }
};
constexpr double kUnarySeluScale = 1.0507009873554804934193349852946, kUnarySeluScaleAlpha = 1.7580993408473768599402175208123;
struct SeluOp {
    template <typename T> T operator()(T x) const
    {
        return x < T(0) ? T(kUnarySeluScaleAlpha) * (std::exp(x) - T(1)) : T(kUnarySeluScale) * x;
    }
    static float vector(float x)
    {
        return x < 0.0F ? static_cast<float>(kUnarySeluScaleAlpha) * (eigen::exp(x) - 1.0F) : static_cast<float>(kUnarySeluScale) * x;
    }
    template <typename Round> static float stepwise(float x, Round rounded)
    {
        const float below = rounded(rounded(eigen::exp(x)) - 1.0F);
        return x < 0.0F ? rounded(static_cast<float>(kUnarySeluScaleAlpha)) * below : rounded(static_cast<float>(kUnarySeluScale)) * x;
    }
};
struct SoftsignOp {
    template <typename T> T operator()(T x) const { return x / (T(1) + std::abs(x)); }
    static float vector(float x) { return x / (1.0F + std::abs(x)); }
    template <typename Round> static float stepwise(float x, Round rounded) { return x / rounded(1.0F + std::abs(x)); }
};
struct SoftplusOp {
    /// Beyond these bounds the rounded answer is x or eˣ (core/kernels/softplus_op.h).
    template <typename T> static T threshold() { return std::log(std::numeric_limits<T>::epsilon()) + T(2); }
    template <typename T> T operator()(T x) const
    {
        if (x > -threshold<T>()) return x;
        return x < threshold<T>() ? std::exp(x) : std::log1p(std::exp(x));
    }
    static float vector(float x)
    {
        if (x > -threshold<float>()) return x;
        return x < threshold<float>() ? eigen::exp(x) : eigen::log1p(eigen::exp(x));
    }
    template <typename Round> static float stepwise(float x, Round rounded)
    {
        // What Eigen calls the epsilon of a half is an eighth of it.
        const float epsilon = rounded(1.0F + 0x1p-10F) > 1.0F ? 0x1p-13F : 0x1p-7F;
        const float limit = rounded(rounded(std::log(epsilon)) + 2.0F), power = rounded(eigen::exp(x));
        return x > -limit ? x : x < limit ? power : eigen::log1p(power);
    }
};

/// Whole vectors by `Op::vector`, where the calculation is in f32, the rest by `Op` itself.
template <typename Op, typename... Lists> Status runByVectors(const KernelArgs& args)
{
    return forDType<Lists...>(computedIn(args.in(0).dtype), [&]<typename T>() -> Status {
        constexpr UnaryRow kRow = [](const void*, const std::byte* x, std::byte* y, int64_t count) {
            const auto* in = reinterpret_cast<const T*>(x);
            auto* out = reinterpret_cast<T*>(y);
            int64_t i = 0;
            if constexpr (std::is_same_v<T, float>)
                for (const int64_t whole = count - count % eigen::kPacket; i < whole; ++i) out[i] = Op::vector(in[i]);
            for (; i < count; ++i) out[i] = Op()(in[i]);
        };
        forEachComputedRow(args.in(0), args.out(0), sizeof(T), sizeof(T), kRow, nullptr);
        return {};
    });
}

/// A number as halves and bfloat16 hold it; other types hold more than f32 is asked for.
float roundedTo(DType dtype, float value)
{
    if (dtype == DType::f16) return f16ToFloat(floatToF16(value));
    return dtype == DType::bf16 ? bf16ToFloat(floatToBf16(value)) : value;
}

/// The same; of halves and bfloat16 every step is rounded, as TensorFlow does one operation after the other.
template <typename Op, typename... Others> Status runByVectorsStepwise(const KernelArgs& args)
{
    const DType dtype = args.in(0).dtype;
    if (dtype != DType::f16 && dtype != DType::bf16) return runByVectors<Op, TfWide, Others...>(args);
    const auto rounded = [dtype](float value) { return roundedTo(dtype, value); };
    computeUnary<float, float>(args.in(0), args.out(0), [&](float x) { return Op::stepwise(x, rounded); });
    return {};
}

template <typename Op, typename... Lists> Status runUnary(const KernelArgs& args)
{
    return forDType<Lists...>(computedIn(args.in(0).dtype), [&]<typename T>() -> Status {
        computeUnary<T, T>(args.in(0), args.out(0), Op());
        return {};
    });
}

Status runLeakyRelu(const KernelArgs& args)
{
    const float alpha = roundedTo(args.in(0).dtype, static_cast<float>(attributeFloat(attributesOf(args), "alpha", 0.2)));
    return forDType<TfWide>(computedIn(args.in(0).dtype), [&]<typename T>() -> Status {
        computeUnary<T, T>(args.in(0), args.out(0), [alpha](T x) { return x > T(0) ? x : x * static_cast<T>(alpha); });
        return {};
    });
}

struct RealPart {
    template <typename C> auto operator()(C x) const { return x.real(); }
};
struct ImagPart {
    template <typename C> auto operator()(C x) const { return x.imag(); }
};
struct AbsPart {
    template <typename C> auto operator()(C x) const { return std::abs(x); }
};
struct AnglePart {
    template <typename C> auto operator()(C x) const { return std::arg(x); }
};

template <typename Op> Status runPart(const KernelArgs& args)
{
    return forDType<TfComplex>(args.in(0).dtype, [&]<typename T>() -> Status {
        if (args.out(0).dtype != tfDTypeOf<typename T::value_type>())
            return Error(ErrorCode::unsupported, "there is no kernel for these dtypes");
        applyUnary<T, typename T::value_type>(args.in(0), args.out(0), Op());
        return {};
    });
}

Status runComplex(const KernelArgs& args)
{
    return forDType<TypeList<float, double>>(args.in(0).dtype, [&]<typename T>() -> Status {
        if (args.out(0).dtype != tfDTypeOf<std::complex<T>>()) return Error(ErrorCode::unsupported, "there is no kernel for these dtypes");
        applyBinary<T, std::complex<T>>(args.in(0), args.in(1), args.out(0), [](T re, T im) { return std::complex<T>(re, im); });
        return {};
    });
}

/// What the x86 instruction gives where a float does not fit: the smallest integer of 32 or 64 bits, then truncated.
template <typename To, typename From> To toInteger(From x)
{
    constexpr double kTwo63 = 9223372036854775808.0;
    const auto wide = static_cast<double>(x);
    if constexpr (std::is_same_v<To, uint64_t>) {
        if (wide >= kTwo63 && wide < 2 * kTwo63) return static_cast<uint64_t>(x);
    }
    if constexpr (sizeof(To) >= 4 && !std::is_same_v<To, uint32_t>) {
        const bool fits = wide > -kTwo63 - 1 && wide < kTwo63;
        if (!fits) return static_cast<To>(std::numeric_limits<int64_t>::min() >> (sizeof(To) == 4 ? 32 : 0));
        if (sizeof(To) == 4 && (wide >= 2147483648.0 || wide <= -2147483649.0)) return static_cast<To>(std::numeric_limits<int32_t>::min());
    }
    if (!(wide > -kTwo63 && wide < kTwo63)) return To(0);
    return static_cast<To>(static_cast<int64_t>(x));
}

template <typename To, typename From> To convert(From x)
{
    if constexpr (std::is_same_v<To, bool>) return x != From(0);
    else if constexpr (kIsComplex<From> && kIsComplex<To>)
        return To(static_cast<typename To::value_type>(x.real()), static_cast<typename To::value_type>(x.imag()));
    else if constexpr (kIsComplex<From>) return convert<To>(x.real());
    else if constexpr (kIsComplex<To>) return To(static_cast<typename To::value_type>(x));
    else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) return toInteger<To>(x);
    else return static_cast<To>(x);
}

Status runCast(const KernelArgs& args)
{
    const Tensor& x = args.in(0);
    if (x.dtype == args.out(0).dtype) return tfCopy(args, 0, x, x.shape);
    return forDType<TfWide, TfSigned, TfUnsigned, TfComplex, TypeList<bool>>(computedIn(x.dtype), [&]<typename From>() -> Status {
        return forDType<TfWide, TfSigned, TfUnsigned, TfComplex, TypeList<bool>>(
            computedIn(args.out(0).dtype), [&]<typename To>() -> Status {
                computeUnary<From, To>(x, args.out(0), [](From value) { return convert<To>(value); });
                return {};
            });
    });
}

Status runBitcast(const KernelArgs& args)
{
    const Tensor& x = args.in(0);
    const int64_t from = bitWidth(x.dtype) / 8;
    const int64_t to = bitWidth(args.out(0).dtype) / 8;
    Shape shape = x.shape;
    if (from == 0 || to == 0) return Error(ErrorCode::unsupported, "there is no kernel for these dtypes");
    if (from > to) {
        shape.append(from / to);
    } else if (from < to) {
        if (shape.rank() == 0 || shape.back() != to / from)
            return invalidArgument("Cannot bitcast from " + std::string(tfTypeName(x.dtype)) + " to " +
                                   std::string(tfTypeName(args.out(0).dtype)) + " with shape " + toString(shape));
        shape.resize(shape.rank() - 1, 0);
    }
    return tfCopy(args, 0, x, shape);
}

constexpr std::string_view kAnalytic = "f32 f64 f16 bf16 c64 c128";

} // namespace

LS_TF_KERNEL(Abs, (runUnary<AbsOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(Neg, (runUnary<NegOp, TfWide, TfSigned, TfUnsigned, TfComplex>), kTfNumbers)
LS_TF_KERNEL(Sign, (runUnary<SignOp, TfWide, TfSigned, TfUnsigned, TfComplex>), kTfNumbers)
LS_TF_KERNEL(Square, (runUnary<SquareOp, TfWide, TfSigned, TfUnsigned, TfComplex>), kTfNumbers)
LS_TF_KERNEL(Sqrt, (runUnary<SqrtOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Rsqrt, (runUnary<RsqrtOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Reciprocal, (runUnary<InverseOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Inv, (runUnary<InverseOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Exp, (runByVectors<ExpOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Expm1, (runByVectors<Expm1Op, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Log, (runByVectors<LogOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Log1p, (runByVectors<Log1pOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Sin, (runByVectors<SinOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Cos, (runByVectors<CosOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Tan, (runUnary<TanOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Asin, (runByVectors<AsinOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Acos, (runByVectors<AcosOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Atan, (runByVectors<AtanOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Sinh, (runUnary<SinhOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Cosh, (runUnary<CoshOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Tanh, (runUnary<TanhOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Asinh, (runUnary<AsinhOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Acosh, (runUnary<AcoshOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Atanh, (runByVectors<AtanhOp, TfWide, TfComplex>), kAnalytic)
LS_TF_KERNEL(Erf, (runByVectors<ErfOp, TfWide>), kTfFloats)
LS_TF_KERNEL(Erfc, (runByVectors<ErfcOp, TfWide>), kTfFloats)
LS_TF_KERNEL(Erfinv, (runUnary<ErfinvOp, TfWide>), kTfFloats)
LS_TF_KERNEL(Lgamma, (runUnary<LgammaOp, TfWide>), kTfFloats)
LS_TF_KERNEL(Digamma, (runUnary<DigammaOp, TfWide>), kTfFloats)
LS_TF_KERNEL(PopulationCount, runPopulationCount, "i8 i16 i32 i64 u8 u16 u32 u64")
LS_TF_KERNEL(Floor, (runUnary<FloorOp, TfWide>), kTfFloats)
LS_TF_KERNEL(Ceil, (runUnary<CeilOp, TfWide>), kTfFloats)
LS_TF_KERNEL(Round, (runUnary<RintOp, TfWide, TfSigned>), kTfReals)
LS_TF_KERNEL(Rint, (runUnary<RintOp, TfWide>), kTfFloats)
LS_TF_KERNEL(Invert, (runUnary<InvertOp, TfSigned, TfUnsigned>), "i8 i16 i32 i64 u8 u16 u32 u64")
LS_TF_KERNEL(Sigmoid, (runByVectorsStepwise<SigmoidOp, TfComplex>), kAnalytic)
LS_TF_KERNEL(Relu, (runUnary<ReluOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(Relu6, (runUnary<Relu6Op, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(LeakyRelu, runLeakyRelu, kTfFloats)
LS_TF_KERNEL(Elu, runByVectorsStepwise<EluOp>, kTfFloats)
LS_TF_KERNEL(Selu, runByVectorsStepwise<SeluOp>, kTfFloats)
LS_TF_KERNEL(Softplus, runByVectorsStepwise<SoftplusOp>, kTfFloats)
LS_TF_KERNEL(Softsign, runByVectorsStepwise<SoftsignOp>, kTfFloats)
LS_TF_KERNEL(Conj, (runUnary<ConjOp, TfComplex>), "c64 c128")
LS_TF_KERNEL(Real, runPart<RealPart>, "c64 c128")
LS_TF_KERNEL(Imag, runPart<ImagPart>, "c64 c128")
LS_TF_KERNEL(ComplexAbs, runPart<AbsPart>, "c64 c128")
LS_TF_KERNEL(Angle, runPart<AnglePart>, "c64 c128")
LS_TF_KERNEL(Complex, runComplex, "f32 f64")
LS_TF_KERNEL(Cast, runCast, "numbers bool")
LS_TF_KERNEL(Bitcast, runBitcast, "numbers")
