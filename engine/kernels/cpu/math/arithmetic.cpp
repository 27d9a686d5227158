// ADD, SUB, MUL, DIV with fused activation, and ADD_N: y = act(a ∘ b), with broadcasting.
// Plain dtypes first; the quantized forms follow LiteRT's reference kernels to the bit.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/fixed_point.h"
#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/registry.h"

#include <complex>
#include <cstring>

using namespace loopscope;

namespace {

struct AddOp {
    template <typename T> static T apply(T a, T b) { return wrappingAdd(a, b); }
};
struct SubOp {
    template <typename T> static T apply(T a, T b) { return wrappingSub(a, b); }
};
struct MulOp {
    template <typename T> static T apply(T a, T b) { return wrappingMul(a, b); }
};
struct DivOp {
    template <typename T> static T apply(T a, T b)
    {
        // The one quotient out of range saturates, as the reference built for x86 answers.
        if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
            return b == T{-1} && a == std::numeric_limits<T>::min() ? std::numeric_limits<T>::max() : static_cast<T>(a / b);
        else return static_cast<T>(a / b);
    }
};

/// Largest finite value of the stored type, in its type of calculation.
template <typename T> ActivationRange<typename Element<T>::Compute> rangeOf(FusedActivation activation)
{
    auto range = activationRange<typename Element<T>::Compute>(activation);
    if constexpr (std::is_same_v<T, Half>) {
        range.min = std::max(range.min, -65504.0F);
        range.max = std::min(range.max, 65504.0F);
    }
    return range;
}

/// A zero divisor of an integer quotient, or ok.
template <typename T, typename Op> Status checkDivisor(const KernelArgs& args)
{
    if constexpr (std::is_same_v<Op, DivOp> && std::is_integral_v<T>) {
        if (args.out(0).elementCount() == 0) return {};
        if (const int64_t at = findElement<T>(args.in(1), T{0}); at >= 0) return divisionByZero(args.in(1), at, args.out(0));
    }
    return {};
}

template <typename T, typename Op> Status runPlain(const KernelArgs& args)
{
    LS_CHECK_OK((checkDivisor<T, Op>(args)));
    const auto range = rangeOf<T>(args.paramsAs<FusedActivation>());
    applyBinary<T, T>(args.in(0), args.in(1), args.out(0),
                      [range](T a, T b) { return Element<T>::store(clampTo(Op::apply(Element<T>::load(a), Element<T>::load(b)), range)); });
    return {};
}

/// One element, no activation.
template <typename T, typename Op> Status runScalar(const KernelArgs& args)
{
    LS_CHECK_OK((checkDivisor<T, Op>(args)));
    const T value = Op::apply(*args.in(0).as<T>(), *args.in(1).as<T>());
    *args.out(0).as<T>() = clampTo(value, ActivationRange<T>());
    return {};
}

Status runComplexMul(const KernelArgs& args)
{
    using Complex = std::complex<float>;
    applyBinary<Complex, Complex>(args.in(0), args.in(1), args.out(0), [](Complex a, Complex b) { return a * b; });
    return {};
}

template <typename Op> constexpr DtypeCase kPlain[] = {
    {DType::f32, runPlain<float, Op>, runScalar<float, Op>},
    {DType::i32, runPlain<int32_t, Op>, runScalar<int32_t, Op>},
    {DType::i64, runPlain<int64_t, Op>, runScalar<int64_t, Op>},
    {DType::f16, runPlain<Half, Op>},
    {DType::i16, runPlain<int16_t, Op>},
    {DType::i8, runPlain<int8_t, Op>},
    {DType::u8, runPlain<uint8_t, Op>},
    {DType::u32, runPlain<uint32_t, Op>},
};

template <typename Op> Result<PreparedKernel> preparePlain(const KernelSetup& setup)
{
    const FusedActivation activation = fusedActivation(setup.attributes());
    LS_TRY(PreparedKernel kernel, prepareByDtype(setup, kPlain<Op>));
    if (activation != FusedActivation::none && isScalarCall(setup)) {
        for (const DtypeCase& one : kPlain<Op>)
            if (one.dtype == setup.in(0).dtype) kernel.run = one.run;
    }
    kernel.params = std::make_shared<const FusedActivation>(activation);
    return kernel;
}

// ---- quantized ----

/// Both operands are brought to a common scale with `leftShift` bits of headroom, combined, and rescaled to the result.
/// Source: LiteRT kernels/add.cc and sub.cc (Prepare), kernels/internal/reference/add.h and sub.h.
struct QuantizedSumParams {
    int32_t offsetA = 0, offsetB = 0, offsetOut = 0;
    QuantizedMultiplier a, b, out;
    int leftShift = 20;
    int32_t sign = 1; ///< −1: difference
    ActivationRange<int32_t> range;
};

template <typename T> Status runQuantizedSum(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedSumParams>();
    applyBinary<T, T>(args.in(0), args.in(1), args.out(0), [p](T x, T y) {
        const int32_t a = multiplyByQuantizedMultiplier(shiftLeftWrapping(p.offsetA + x, p.leftShift), p.a);
        const int32_t b = multiplyByQuantizedMultiplier(shiftLeftWrapping(p.offsetB + y, p.leftShift), p.b);
        const auto sum = static_cast<int32_t>(int64_t{a} + int64_t{p.sign} * b);
        const int32_t raw = wrappingAdd(multiplyByQuantizedMultiplier(sum, p.out), p.offsetOut);
        return static_cast<T>(clampTo(raw, p.range));
    });
    return {};
}

/// int16 whose scales are powers of two: one operand is shifted to the other's scale. Source: the same files, "POT".
struct PowerOfTwoSumParams {
    int shiftA = 0, shiftB = 0; ///< to the right
    int32_t sign = 1;
    ActivationRange<int32_t> range;
};

Status runPowerOfTwoSum(const KernelArgs& args)
{
    const auto p = args.paramsAs<PowerOfTwoSumParams>();
    applyBinary<int16_t, int16_t>(args.in(0), args.in(1), args.out(0), [p](int16_t x, int16_t y) {
        const int32_t sum = roundingDivideByPowerOfTwo(x, p.shiftA) + p.sign * roundingDivideByPowerOfTwo(y, p.shiftB);
        return static_cast<int16_t>(clampTo(sum, p.range));
    });
    return {};
}

/// The binary logarithm of a scale that is a power of two within 1e-3. Source: LiteRT quantization_util.cc, CheckedLog2.
bool powerOfTwo(float scale, int& exponent)
{
    const float log2 = std::log(scale) * (1.0F / std::log(2.0F));
    const float rounded = std::round(log2);
    if (!std::isfinite(rounded)) return false;
    exponent = static_cast<int>(rounded);
    return std::fabs(rounded - log2) < 1e-3F;
}

Error badQuantization(std::string what) { return Error(ErrorCode::unsupported, std::move(what)); }

Result<PreparedKernel> prepareQuantizedSum(const KernelSetup& setup, int32_t sign)
{
    const auto a = scaleAndZero(setup.in(0));
    const auto b = scaleAndZero(setup.in(1));
    const auto out = scaleAndZero(setup.out(0));
    if (!(a.scale > 0 && b.scale > 0 && out.scale > 0)) return badQuantization("both operands and the result need a positive scale");
    LS_TRY(const ActivationRange<int32_t> range, quantizedActivationRange(fusedActivation(setup.attributes()), setup.out(0)));
    const bool is16 = setup.in(0).dtype == DType::i16;
    int logA = 0;
    int logB = 0;
    int logOut = 0;
    if (is16 && attributeBool(setup.attributes(), "pot_scale_int16", true) && powerOfTwo(a.scale, logA) && powerOfTwo(b.scale, logB) &&
        powerOfTwo(out.scale, logOut)) {
        auto params = std::make_shared<PowerOfTwoSumParams>();
        params->shiftA = logOut - logA;
        params->shiftB = logOut - logB;
        params->sign = sign;
        params->range = range;
        const bool oneKept = params->shiftA == 0 || params->shiftB == 0;
        if (!oneKept || params->shiftA < 0 || params->shiftB < 0 || params->shiftA > 31 || params->shiftB > 31)
            return badQuantization(
                "int16 with scales that are powers of two: one operand must have the result's scale and the other a smaller one");
        if (a.zero != 0 || b.zero != 0 || out.zero != 0)
            return badQuantization("int16 with scales that are powers of two needs zero points 0");
        return PreparedKernel{runPowerOfTwoSum, params};
    }
    auto params = std::make_shared<QuantizedSumParams>();
    params->offsetA = -a.zero;
    params->offsetB = -b.zero;
    params->offsetOut = out.zero;
    params->leftShift = is16 ? 15 : 20;
    params->sign = sign;
    params->range = range;
    const double twiceMax = 2 * static_cast<double>(std::max(a.scale, b.scale));
    params->a = quantizeMultiplier(static_cast<double>(a.scale) / twiceMax);
    params->b = quantizeMultiplier(static_cast<double>(b.scale) / twiceMax);
    params->out = quantizeMultiplier(twiceMax / (static_cast<double>(1 << params->leftShift) * static_cast<double>(out.scale)));
    switch (setup.in(0).dtype) {
    case DType::i8: return PreparedKernel{runQuantizedSum<int8_t>, params};
    case DType::u8: return PreparedKernel{runQuantizedSum<uint8_t>, params};
    case DType::i16: return PreparedKernel{runQuantizedSum<int16_t>, params};
    default: return unsupportedDtypes(setup);
    }
}

bool isNarrow(DType dtype) { return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16; }

bool anyQuantized(const KernelSetup& setup) { return isQuantized(setup.in(0)) || isQuantized(setup.in(1)) || isQuantized(setup.out(0)); }

template <typename Op, int32_t sign> Result<PreparedKernel> prepareSum(const KernelSetup& setup)
{
    if (isNarrow(setup.in(0).dtype) && anyQuantized(setup)) return prepareQuantizedSum(setup, sign);
    return preparePlain<Op>(setup);
}

/// Source: LiteRT kernels/mul.cc and div.cc (Prepare).
struct QuantizedProductParams {
    int32_t offsetA = 0, offsetB = 0, offsetOut = 0;
    QuantizedMultiplier out;
    ActivationRange<int32_t> range;
};

template <typename T> Status runQuantizedMul(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedProductParams>();
    applyBinary<T, T>(args.in(0), args.in(1), args.out(0), [p](T x, T y) {
        const int32_t product = wrappingMul(p.offsetA + x, p.offsetB + y);
        return static_cast<T>(clampTo(wrappingAdd(p.offsetOut, multiplyByQuantizedMultiplier(product, p.out)), p.range));
    });
    return {};
}

/// int16 operands in [−1, 1) give an 8-bit result: the upper half of their product.
/// Source: LiteRT kernels/internal/reference/integer_ops/mul.h, Mul on int16 with int8 output.
template <typename T> Status runMul16To8(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedProductParams>();
    applyBinary<int16_t, T>(args.in(0), args.in(1), args.out(0), [p](int16_t x, int16_t y) {
        const int32_t high = roundingDivideByPowerOfTwo(saturatingRoundingDoublingHighMul16(x, y), 8);
        const int32_t clamped = std::max(p.range.min - p.offsetOut, std::min(p.range.max - p.offsetOut, high));
        return static_cast<T>(p.offsetOut + clamped);
    });
    return {};
}

/// The quotient as product with a fixed-point reciprocal. Source: LiteRT kernels/internal/reference/div.h, DivElementwise.
template <typename T> Status runQuantizedDiv(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedProductParams>();
    if (args.out(0).elementCount() == 0) return {};
    if (const int64_t at = findElement<T>(args.in(1), static_cast<T>(-p.offsetB)); at >= 0)
        return divisionByZero(args.in(1), at, args.out(0));
    applyBinary<T, T>(args.in(0), args.in(1), args.out(0), [p](T x, T y) {
        int32_t a = p.offsetA + x;
        int32_t b = p.offsetB + y;
        if (b < 0) { // the reciprocal must be positive
            a = -a;
            b = -b;
        }
        int reciprocalShift = 0;
        const int32_t reciprocal = fixedReciprocal(b, 31, reciprocalShift);
        const int headroom = leadingSignBits(a);
        const int32_t quotient = saturatingRoundingDoublingHighMul(shiftLeftWrapping(a, headroom), reciprocal);
        const int shift = p.out.shift - reciprocalShift - headroom;
        const int32_t scaled = roundingDivideByPowerOfTwo(saturatingRoundingDoublingHighMul(quotient, p.out.multiplier), -shift);
        return static_cast<T>(clampTo(wrappingAdd(p.offsetOut, scaled), p.range));
    });
    return {};
}

Result<std::shared_ptr<QuantizedProductParams>> productParams(const KernelSetup& setup, bool quotient)
{
    auto params = std::make_shared<QuantizedProductParams>();
    const auto a = scaleAndZero(setup.in(0));
    const auto b = scaleAndZero(setup.in(1));
    const auto out = scaleAndZero(setup.out(0));
    const auto fitsDtype = [](const Tensor& t, int32_t zero) {
        return zero >= integerMin(t.dtype) && zero <= static_cast<int64_t>(integerMax(t.dtype));
    };
    if (!fitsDtype(setup.in(0), a.zero) || !fitsDtype(setup.in(1), b.zero) || !fitsDtype(setup.out(0), out.zero))
        return badQuantization("a zero point lies outside its dtype");
    params->offsetA = -a.zero;
    params->offsetB = -b.zero;
    params->offsetOut = out.zero;
    // In f32, as the reference does. Without quantization all scales are 0 and the factor NaN, which counts as 0.
    const float factor = quotient ? a.scale / (b.scale * out.scale) : a.scale * b.scale / out.scale;
    params->out = quantizeMultiplier(factor);
    LS_TRY(params->range, quantizedActivationRange(fusedActivation(setup.attributes()), setup.out(0)));
    return params;
}

Result<PreparedKernel> prepareMul(const KernelSetup& setup)
{
    const DType in = setup.in(0).dtype;
    const DType out = setup.out(0).dtype;
    if (in == DType::c64) {
        if (fusedActivation(setup.attributes()) != FusedActivation::none)
            return Error(ErrorCode::unsupported, "complex numbers have no activation");
        return PreparedKernel{runComplexMul, nullptr};
    }
    const bool quantized = in == DType::i8 || in == DType::u8 || (in == DType::i16 && (out != DType::i16 || isQuantized(setup.out(0))));
    if (!quantized) return preparePlain<MulOp>(setup);
    LS_TRY(std::shared_ptr<const void> params, productParams(setup, false));
    if (in == DType::i8 && out == DType::i8) return PreparedKernel{runQuantizedMul<int8_t>, params};
    if (in == DType::u8 && out == DType::u8) return PreparedKernel{runQuantizedMul<uint8_t>, params};
    if (in == DType::i16 && out == DType::i16) return PreparedKernel{runQuantizedMul<int16_t>, params};
    if (in == DType::i16 && out == DType::i8) return PreparedKernel{runMul16To8<int8_t>, params};
    if (in == DType::i16 && out == DType::u8) return PreparedKernel{runMul16To8<uint8_t>, params};
    return unsupportedDtypes(setup);
}

Result<PreparedKernel> prepareDiv(const KernelSetup& setup)
{
    if (!isNarrow(setup.in(0).dtype)) return preparePlain<DivOp>(setup);
    LS_TRY(std::shared_ptr<const void> params, productParams(setup, true));
    switch (setup.in(0).dtype) {
    case DType::i8: return PreparedKernel{runQuantizedDiv<int8_t>, params};
    case DType::u8: return PreparedKernel{runQuantizedDiv<uint8_t>, params};
    default: return PreparedKernel{runQuantizedDiv<int16_t>, params};
    }
}

// ---- ADD_N ----

template <typename T> Status runAddN(const KernelArgs& args)
{
    T* out = args.out(0).as<T>();
    const int64_t count = args.out(0).elementCount();
    for (int64_t i = 0; i < count; ++i) {
        T sum = args.in(0).as<T>()[i];
        for (int k = 1; k < args.inputCount; ++k) sum = wrappingAdd(sum, args.in(k).as<T>()[i]);
        out[i] = clampTo(sum, ActivationRange<T>());
    }
    return {};
}

Result<PreparedKernel> prepareAddN(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {{DType::f32, runAddN<float>}, {DType::i32, runAddN<int32_t>}, {DType::i64, runAddN<int64_t>}};
    for (const Tensor* tensor : setup.inputs)
        if (!tensor) return Error(ErrorCode::unsupported, "every operand must be present");
    return prepareByDtype(setup, kCases);
}

constexpr std::string_view kArithmeticDtypes = "f32 f16 i32 i64 i16 i8 u8 u32";

} // namespace

LS_DEFINE_KERNELS(tfl, add) { registry.add({"tfl", "add", Profile::reference, prepareSum<AddOp, 1>, kArithmeticDtypes}); }

LS_DEFINE_KERNELS(tfl, sub) { registry.add({"tfl", "sub", Profile::reference, prepareSum<SubOp, -1>, kArithmeticDtypes}); }

LS_DEFINE_KERNELS(tfl, mul) { registry.add({"tfl", "mul", Profile::reference, prepareMul, "f32 f16 i32 i64 i16 i8 u8 u32 c64"}); }

LS_DEFINE_KERNELS(tfl, div) { registry.add({"tfl", "div", Profile::reference, prepareDiv, kArithmeticDtypes}); }

LS_DEFINE_KERNELS(tfl, add_n) { registry.add({"tfl", "add_n", Profile::reference, prepareAddN, "f32 i32 i64"}); }
