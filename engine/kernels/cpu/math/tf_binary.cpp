// Kernels of TensorFlow's element-wise arithmetic on two operands. Half floats are computed in f32 and rounded at each step, integers wrap.
#include "engine/kernels/cpu/reduction/eigen_sum.h"
#include "engine/kernels/cpu/rounded.h"
#include "engine/kernels/cpu/tf_support.h"
#include "engine/kernels/cpu/tf_variant.h"

#include <cmath>

using namespace loopscope;

namespace {

// Each operation works on the type of calculation.
struct AddOp {
    template <typename T> T operator()(T a, T b) const { return wrappingAdd(a, b); }
};
struct SubOp {
    template <typename T> T operator()(T a, T b) const { return wrappingSub(a, b); }
};
struct MulOp {
    template <typename T> T operator()(T a, T b) const { return wrappingMul(a, b); }
};
struct MulNoNanOp {
    template <typename T> T operator()(T a, T b) const { return b == T(0) ? T(0) : a * b; }
};
struct RealDivOp {
    template <typename T> T operator()(T a, T b) const { return a / b; }
};
struct DivNoNanOp {
    template <typename T> T operator()(T a, T b) const { return b == T(0) ? T(0) : a / b; }
};
struct XdivyOp {
    template <typename T> T operator()(T a, T b) const { return a == T(0) ? T(0) : a / b; }
};
struct XlogyOp {
    template <typename T> T operator()(T a, T b) const
    {
        using std::log;
        return a == T(0) ? T(0) : a * log(b);
    }
};
struct Xlog1pyOp {
    template <typename T> T operator()(T a, T b) const
    {
        if (a == T(0)) return T(0);
        using std::log1p;
        if constexpr (kIsComplex<T>) return a * std::log(T(1) + b);
        else return a * log1p(b);
    }
};
struct NextAfterOp {
    template <typename T> T operator()(T a, T b) const { return std::nextafter(a, b); }
};
struct MaximumOp {
    template <typename T> T operator()(T a, T b) const { return a != a ? a : b != b ? b : a < b ? b : a; }
};
struct MinimumOp {
    template <typename T> T operator()(T a, T b) const { return a != a ? a : b != b ? b : b < a ? b : a; }
};
struct SquaredDifferenceOp {
    template <typename T> T operator()(T a, T b) const
    {
        const T d = wrappingSub(a, b);
        if constexpr (kIsComplex<T>) return d * std::conj(d);
        else return wrappingMul(d, d);
    }
};
struct Atan2Op {
    template <typename T> T operator()(T a, T b) const { return std::atan2(a, b); }
};

/// The smallest integer divided by −1 wraps to itself.
template <typename T> T divide(T a, T b)
{
    if constexpr (std::is_signed_v<T>) {
        if (b == T(-1)) return wrappingSub(T(0), a);
    }
    return static_cast<T>(a / b);
}
struct TruncateDivOp {
    template <typename T> T operator()(T a, T b) const
    {
        if constexpr (std::is_integral_v<T>) return divide(a, b);
        else if constexpr (kIsComplex<T>) return a / b;
        else return std::trunc(a / b);
    }
};
struct DivOp {
    template <typename T> T operator()(T a, T b) const
    {
        if constexpr (std::is_integral_v<T>) return divide(a, b);
        else return a / b;
    }
};
struct FloorDivOp {
    template <typename T> T operator()(T a, T b) const
    {
        if constexpr (std::is_integral_v<T>) {
            const T q = divide(a, b);
            return std::is_signed_v<T> && b != T(-1) && a % b != 0 && (a < 0) != (b < 0) ? static_cast<T>(q - 1) : q;
        } else {
            using std::floor;
            return floor(a / b);
        }
    }
};
struct TruncateModOp {
    template <typename T> T operator()(T a, T b) const
    {
        if constexpr (std::is_integral_v<T>) {
            if constexpr (std::is_signed_v<T>) {
                if (b == T(-1)) return T(0);
            }
            return static_cast<T>(a % b);
        } else {
            return std::fmod(a, b);
        }
    }
};
struct FloorModOp {
    template <typename T> T operator()(T a, T b) const
    {
        const T r = TruncateModOp()(a, b);
        return r != T(0) && (r < T(0)) != (b < T(0)) ? wrappingAdd(r, b) : r;
    }
};
struct PowOp {
    template <typename T> T operator()(T a, T b) const
    {
        if constexpr (std::is_integral_v<T>) {
            T result = 1;
            for (auto e = static_cast<uint64_t>(b); e > 0; e >>= 1) {
                if (e & 1) result = wrappingMul(result, a);
                a = wrappingMul(a, a);
            }
            return result;
        } else {
            return std::pow(a, b);
        }
    }
};
struct AndOp {
    template <typename T> T operator()(T a, T b) const { return static_cast<T>(a & b); }
};
struct OrOp {
    template <typename T> T operator()(T a, T b) const { return static_cast<T>(a | b); }
};
struct XorOp {
    template <typename T> T operator()(T a, T b) const { return static_cast<T>(a ^ b); }
};
// A shift by more bits than there are, or a negative one, is taken to the nearest possible one (core/kernels/cwise_ops.h).
template <typename T> int shiftBy(T b)
{
    constexpr int kMost = static_cast<int>(sizeof(T)) * 8 - 1;
    if constexpr (std::is_signed_v<T>) {
        if (b < 0) return 0;
    }
    return b > static_cast<T>(kMost) ? kMost : static_cast<int>(b);
}
struct LeftShiftOp {
    template <typename T> T operator()(T a, T b) const { return static_cast<T>(static_cast<uint64_t>(a) << shiftBy(b)); }
};
struct RightShiftOp {
    template <typename T> T operator()(T a, T b) const { return static_cast<T>(a >> shiftBy(b)); }
};

/// Of complex numbers, the gradients of 1/x, √x and 1/√x take the conjugate of y; those of tanh and sigmoid do not. The same three give 0
/// where dy is 0, whatever y is.
template <typename T> T conjugated(T y)
{
    if constexpr (requires { y.imag(); }) return std::conj(y);
    else return y;
}

// Gradients: the first operand is y or x, the second dy (core/kernels/cwise_ops_gradients.h, relu_op_functor.h).
struct TanhGradOp {
    template <typename T> T operator()(T y, T dy) const { return dy * (T(1) - y * y); }
};
struct SigmoidGradOp {
    template <typename T> T operator()(T y, T dy) const { return dy * y * (T(1) - y); }
    template <typename T> static T vector(T y, T dy) { return dy * (y * (T(1) - y)); } ///< as whole vectors are computed
};
struct SqrtGradOp {
    template <typename T> T operator()(T y, T dy) const { return dy == T(0) ? T(0) : dy * T(0.5) / conjugated(y); }
    template <typename T> static T vector(T y, T dy) { return dy == T(0) ? T(0) : dy * (T(0.5) / y); }
};
struct RsqrtGradOp {
    template <typename T> T operator()(T y, T dy) const
    {
        return dy == T(0) ? T(0) : T(-0.5) * (dy * conjugated(y)) * (conjugated(y) * conjugated(y));
    }
};
struct InverseGradOp {
    template <typename T> T operator()(T y, T dy) const { return dy == T(0) ? T(0) : -(dy * (conjugated(y) * conjugated(y))); }
};
// Of these the operands are dy and then x or y.
struct ReluGradOp {
    template <typename T> T operator()(T dy, T x) const { return dy * T(x > T(0)); } ///< so NaN where dy is infinite
};
struct Relu6GradOp {
    template <typename T> T operator()(T dy, T x) const { return dy * T(x > T(0) && x < T(6)); }
};
struct EluGradOp {
    template <typename T> T operator()(T dy, T y) const { return y < T(0) ? dy * (y + T(1)) : dy; }
};
constexpr double kSeluScale = 1.0507009873554804934193349852946;
constexpr double kSeluScaleAlpha = 1.7580993408473768599402175208123;
struct SeluGradOp {
    template <typename T> T operator()(T dy, T y) const { return y < T(0) ? dy * (y + T(kSeluScaleAlpha)) : dy * T(kSeluScale); }
};
struct SoftplusGradOp {
    template <typename T> T operator()(T dy, T x) const
    {
        using std::exp;
        return dy / (exp(-x) + T(1));
    }
};
struct SoftsignGradOp {
    template <typename T> T operator()(T dy, T x) const
    {
        using std::abs;
        return dy / ((T(1) + abs(x)) * (T(1) + abs(x)));
    }
};

/// The dtype of as many bits without a sign.
DType unsignedOf(DType dtype)
{
    switch (dtype) {
    case DType::i8: return DType::u8;
    case DType::i16: return DType::u16;
    case DType::i32: return DType::u32;
    case DType::i64: return DType::u64;
    default: return dtype;
    }
}

/// The kernel of an operation on the types of the lists.
template <typename Op, typename... Lists> Status runBinary(const KernelArgs& args)
{
    return forDType<Lists...>(computedIn(args.in(0).dtype), [&]<typename T>() -> Status {
        computeBinary<T, T>(args.in(0), args.in(1), args.out(0), Op());
        return {};
    });
}

/// The same for operations whose integers wrap: signed ones have the bits of unsigned ones.
template <typename Op, typename... Lists> Status runWrapping(const KernelArgs& args)
{
    return forDType<Lists..., TfUnsigned>(unsignedOf(computedIn(args.in(0).dtype)), [&]<typename T>() -> Status {
        computeBinary<T, T>(args.in(0), args.in(1), args.out(0), Op());
        return {};
    });
}

/// An operation of several steps on halves or bfloat16: each step is rounded. False for other dtypes.
template <typename Op> bool runRounded(const KernelArgs& args)
{
    const auto compute = [&]<typename Stored>(Stored) {
        computeBinary<float, float>(args.in(0), args.in(1), args.out(0),
                                    [](float a, float b) { return Op()(Rounded<Stored>(a), Rounded<Stored>(b)).value(); });
        return true;
    };
    if (args.in(0).dtype == DType::f16) return compute(Half());
    return args.in(0).dtype == DType::bf16 && compute(BFloat16());
}
template <typename Op, typename... Lists> Status runSteps(const KernelArgs& args)
{
    if (runRounded<Op>(args)) return {};
    return runBinary<Op, Lists...>(args);
}

Status runSquaredDifference(const KernelArgs& args)
{
    if (runRounded<SquaredDifferenceOp>(args)) return {};
    return runWrapping<SquaredDifferenceOp, TfWide, TfComplex>(args);
}

/// What TensorFlow says of a zero divisor; of the divisions that round towards 0 it did not expect one.
Error zeroDivisor(const KernelArgs& args)
{
    if (args.paramsAs<Operator>().kind.name.starts_with("Truncate"))
        return tfError(TfCode::internal, "Unexpected error in binary operator (only integer div and mod should have errors)");
    return invalidArgument("Integer division by zero");
}

/// Divisions: integers refuse a zero divisor.
template <typename Op, typename... Lists> Status runDivision(const KernelArgs& args)
{
    if constexpr (std::is_same_v<Op, FloorDivOp>) {
        if (runRounded<Op>(args)) return {};
    }
    return forDType<Lists...>(computedIn(args.in(0).dtype), [&]<typename T>() -> Status {
        if constexpr (std::is_integral_v<T>) {
            if (args.out(0).elementCount() > 0 && findElement<T>(args.in(1), T(0)) >= 0) return zeroDivisor(args);
        }
        computeBinary<T, T>(args.in(0), args.in(1), args.out(0), Op());
        return {};
    });
}

Status runPow(const KernelArgs& args)
{
    return forDType<TfWide, TfSigned, TfUnsigned, TfComplex>(computedIn(args.in(0).dtype), [&]<typename T>() -> Status {
        if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
            for (int64_t i = 0, n = args.in(1).elementCount(); i < n; ++i)
                if (args.in(1).as<T>()[i] < 0) return invalidArgument("Integers to negative integer powers are not allowed");
        }
        computeBinary<T, T>(args.in(0), args.in(1), args.out(0), PowOp());
        return {};
    });
}

Status runAdd(const KernelArgs& args)
{
    if (args.in(0).dtype == DType::variant) return addVariants(args);
    if (args.in(0).dtype != DType::string) return runWrapping<AddOp, TfWide, TfComplex>(args);
    LS_TRY(const auto a, readStrings(args.in(0)));
    LS_TRY(const auto b, readStrings(args.in(1)));
    LS_TRY(const Shape shape, tfBroadcast(args.in(0).shape, args.in(1).shape));
    std::vector<std::string> joined;
    const BroadcastLoop<2> loop(shape, {&args.in(0).shape, &args.in(1).shape});
    loop.forEachRow([&](int64_t, const int64_t(&offset)[2]) {
        for (int64_t i = 0; i < loop.rowLength(); ++i)
            joined.push_back(std::string(a[static_cast<size_t>(offset[0] + i * loop.rowStride(0))]) +
                             std::string(b[static_cast<size_t>(offset[1] + i * loop.rowStride(1))]));
    });
    const std::vector<std::string_view> views(joined.begin(), joined.end());
    return writeStrings(*args.runtime, args.out(0), shape, views);
}

/// Operands of one shape: whole vectors by `Op::vector`, the rest by `Op` itself.
template <typename Op, typename T> Status runWholeVectors(const KernelArgs& args)
{
    const T* a = args.in(0).as<T>();
    const T* b = args.in(1).as<T>();
    T* out = args.out(0).as<T>();
    const int64_t count = args.out(0).elementCount(), whole = count - count % eigen::kLanes<T>;
    for (int64_t i = 0; i < whole; ++i) out[i] = Op::vector(a[i], b[i]);
    for (int64_t i = whole; i < count; ++i) out[i] = Op()(a[i], b[i]);
    return {};
}
template <typename Op, typename Stored> Status runRoundedVectors(const KernelArgs& args)
{
    using R = Rounded<Stored>;
    const auto *a = args.in(0).as<Stored>(), *b = args.in(1).as<Stored>();
    auto* out = args.out(0).as<Stored>();
    const int64_t count = args.out(0).elementCount(), whole = count - count % eigen::kPacket;
    for (int64_t i = 0; i < whole; ++i) out[i] = Op::vector(R(a[i]), R(b[i])).stored();
    for (int64_t i = whole; i < count; ++i) out[i] = Op()(R(a[i]), R(b[i])).stored();
    return {};
}

/// Gradients do not broadcast.
Status checkOneShape(const KernelArgs& args)
{
    if (args.in(0).shape == args.in(1).shape) return {};
    return invalidArgument("Inputs to operation " + nodeOf(args) + " must have the same size and shape. Input 0: " +
                           toString(args.in(0).shape) + " != input 1: " + toString(args.in(1).shape));
}

template <typename Op, typename... Lists> Status runGradient(const KernelArgs& args)
{
    LS_CHECK_OK(checkOneShape(args));
    if constexpr (requires { Op::template vector<float>; }) {
        if (args.in(0).dtype == DType::f32) return runWholeVectors<Op, float>(args);
        if (args.in(0).dtype == DType::f64) return runWholeVectors<Op, double>(args);
        if (args.in(0).dtype == DType::f16) return runRoundedVectors<Op, Half>(args);
        if (args.in(0).dtype == DType::bf16) return runRoundedVectors<Op, BFloat16>(args);
    }
    return runSteps<Op, Lists...>(args);
}

Status runLeakyReluGrad(const KernelArgs& args)
{
    LS_CHECK_OK(checkOneShape(args));
    const auto alpha = static_cast<float>(attributeFloat(attributesOf(args), "alpha", 0.2));
    return forDType<TfWide>(computedIn(args.in(0).dtype), [&]<typename T>() -> Status {
        computeBinary<T, T>(args.in(0), args.in(1), args.out(0), [alpha](T dy, T x) { return x > T(0) ? dy : dy * static_cast<T>(alpha); });
        return {};
    });
}

} // namespace

constexpr std::string_view kIntegers = "i8 i16 i32 i64 u8 u16 u32 u64";

LS_TF_KERNEL(Add, runAdd, "numbers str variant")
LS_TF_KERNEL(AddV2, runAdd, "numbers variant")
LS_TF_KERNEL(Sub, (runWrapping<SubOp, TfWide, TfComplex>), kTfNumbers)
LS_TF_KERNEL(Mul, (runWrapping<MulOp, TfWide, TfComplex>), kTfNumbers)
LS_TF_KERNEL(MulNoNan, (runBinary<MulNoNanOp, TfWide, TfComplex>), kTfFloats)
LS_TF_KERNEL(Div, (runDivision<DivOp, TfWide, TfSigned, TfUnsigned, TfComplex>), kTfNumbers)
LS_TF_KERNEL(RealDiv, (runDivision<DivOp, TfWide, TfSigned, TfUnsigned, TfComplex>), kTfNumbers)
LS_TF_KERNEL(DivNoNan, (runBinary<DivNoNanOp, TfWide, TfComplex>), kTfFloats)
LS_TF_KERNEL(FloorDiv, (runDivision<FloorDivOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(TruncateDiv, (runDivision<TruncateDivOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(FloorMod, (runDivision<FloorModOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(Mod, (runDivision<TruncateModOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(TruncateMod, (runDivision<TruncateModOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(Maximum, (runBinary<MaximumOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(Minimum, (runBinary<MinimumOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(SquaredDifference, runSquaredDifference, kTfNumbers)
LS_TF_KERNEL(Pow, runPow, kTfNumbers)
LS_TF_KERNEL(Atan2, (runBinary<Atan2Op, TfWide>), kTfFloats)
LS_TF_KERNEL(Xdivy, (runBinary<XdivyOp, TfWide, TfComplex>), kTfFloats)
LS_TF_KERNEL(Xlogy, (runSteps<XlogyOp, TfWide, TfComplex>), kTfFloats)
LS_TF_KERNEL(Xlog1py, (runSteps<Xlog1pyOp, TfWide, TfComplex>), kTfFloats)
LS_TF_KERNEL(NextAfter, (runBinary<NextAfterOp, TypeList<float, double>>), "f32 f64")
LS_TF_KERNEL(BitwiseAnd, runWrapping<AndOp>, kIntegers)
LS_TF_KERNEL(BitwiseOr, runWrapping<OrOp>, kIntegers)
LS_TF_KERNEL(BitwiseXor, runWrapping<XorOp>, kIntegers)
LS_TF_KERNEL(LeftShift, (runBinary<LeftShiftOp, TfSigned, TfUnsigned>), kIntegers)
LS_TF_KERNEL(RightShift, (runBinary<RightShiftOp, TfSigned, TfUnsigned>), kIntegers)
LS_TF_KERNEL(TanhGrad, (runGradient<TanhGradOp, TfWide, TfComplex>), kTfFloats)
LS_TF_KERNEL(SigmoidGrad, (runGradient<SigmoidGradOp, TfWide, TfComplex>), kTfFloats)
LS_TF_KERNEL(SqrtGrad, (runGradient<SqrtGradOp, TfWide, TfComplex>), kTfFloats)
LS_TF_KERNEL(RsqrtGrad, (runGradient<RsqrtGradOp, TfWide, TfComplex>), kTfFloats)
LS_TF_KERNEL(ReciprocalGrad, (runGradient<InverseGradOp, TfWide, TfComplex>), kTfFloats)
LS_TF_KERNEL(InvGrad, (runGradient<InverseGradOp, TfWide, TfComplex>), kTfFloats)
LS_TF_KERNEL(ReluGrad, (runGradient<ReluGradOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(Relu6Grad, (runGradient<Relu6GradOp, TfWide, TfSigned, TfUnsigned>), kTfReals)
LS_TF_KERNEL(LeakyReluGrad, runLeakyReluGrad, kTfFloats)
LS_TF_KERNEL(EluGrad, (runGradient<EluGradOp, TfWide>), kTfFloats)
LS_TF_KERNEL(SeluGrad, (runGradient<SeluGradOp, TfWide>), kTfFloats)
LS_TF_KERNEL(SoftplusGrad, (runGradient<SoftplusGradOp, TfWide>), kTfFloats)
LS_TF_KERNEL(SoftsignGrad, (runGradient<SoftsignGradOp, TfWide>), kTfFloats)
