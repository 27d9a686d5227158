// Kernels of StableHLO's further element-wise operators (StableHLO specification). 16-bit floats are computed in f32 and rounded once.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/registry.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace loopscope;

namespace {

#define LS_STABLEHLO_UNARY(name, expression)                                                                                               \
    struct name {                                                                                                                          \
        template <typename T> static T apply(T x) { return static_cast<T>(expression); }                                                   \
    };
LS_STABLEHLO_UNARY(HloFloor, std::floor(x))
LS_STABLEHLO_UNARY(HloLog, std::log(x))
LS_STABLEHLO_UNARY(HloExponential, std::exp(x))
LS_STABLEHLO_UNARY(HloCosine, std::cos(x))
LS_STABLEHLO_UNARY(HloRsqrt, T(1) / std::sqrt(x))
LS_STABLEHLO_UNARY(HloTanh, std::tanh(x))
LS_STABLEHLO_UNARY(HloLogistic, T(1) / (T(1) + std::exp(-x)))
LS_STABLEHLO_UNARY(HloCbrt, std::cbrt(x))
#undef LS_STABLEHLO_UNARY

struct HloNegate {
    template <typename T> static T apply(T x)
    {
        if constexpr (std::is_integral_v<T>) return wrappingSub(T(0), x);
        else return -x;
    }
};
struct HloAbs {
    template <typename T> static T apply(T x)
    {
        if constexpr (std::is_unsigned_v<T>) return x;
        else if constexpr (std::is_integral_v<T>) return x < 0 ? wrappingSub(T(0), x) : x;
        else return std::abs(x);
    }
};

struct HloSubtract {
    template <typename T> static T apply(T a, T b) { return wrappingSub(a, b); }
};
struct HloDivide {
    template <typename T> static T apply(T a, T b)
    {
        if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) return b == T(-1) ? wrappingSub(T(0), a) : static_cast<T>(a / b);
        else return static_cast<T>(a / b);
    }
};
struct HloRemainder {
    template <typename T> static T apply(T a, T b)
    {
        if constexpr (std::is_floating_point_v<T>) return std::fmod(a, b);
        else if constexpr (std::is_signed_v<T>) return b == T(-1) ? T(0) : static_cast<T>(a % b);
        else return static_cast<T>(a % b);
    }
};
struct HloOr {
    template <typename T> static T apply(T a, T b) { return static_cast<T>(a | b); }
};
struct HloPower {
    template <typename T> static T apply(T a, T b)
    {
        if constexpr (std::is_floating_point_v<T>) {
            return std::pow(a, b);
        } else {
            if constexpr (std::is_signed_v<T>)
                if (b < 0) return a == T(1) ? T(1) : a == T(-1) ? (b % 2 == 0 ? T(1) : T(-1)) : T(0);
            T result = 1;
            for (; b > 0; b = static_cast<T>(b / 2)) {
                if (b % 2 != 0) result = wrappingMul(result, a);
                a = wrappingMul(a, a);
            }
            return result;
        }
    }
};

template <typename T, typename Op> Status runHloUnary(const KernelArgs& args)
{
    applyUnary<T, T>(args.in(0), args.out(0), [](T x) { return Element<T>::store(Op::apply(Element<T>::load(x))); });
    return {};
}

/// Integers may not be divided by zero.
template <typename T, typename Op, bool divides> Status runHloBinary(const KernelArgs& args)
{
    if constexpr (divides && std::is_integral_v<T>)
        if (const int64_t at = findElement<T>(args.in(1), 0); at >= 0) return divisionByZero(args.in(1), at, args.out(0));
    applyBinary<T, T>(args.in(0), args.in(1), args.out(0),
                      [](T a, T b) { return Element<T>::store(Op::apply(Element<T>::load(a), Element<T>::load(b))); });
    return {};
}

template <typename Op> Result<PreparedKernel> prepareHloFloats(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {{DType::f32, runHloUnary<float, Op>},
                                           {DType::f64, runHloUnary<double, Op>},
                                           {DType::f16, runHloUnary<Half, Op>},
                                           {DType::bf16, runHloUnary<BFloat16, Op>}};
    return prepareByDtype(setup, kCases);
}

template <typename Op> Result<PreparedKernel> prepareHloUnary(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {{DType::i32, runHloUnary<int32_t, Op>}, {DType::i64, runHloUnary<int64_t, Op>},
                                           {DType::i16, runHloUnary<int16_t, Op>}, {DType::i8, runHloUnary<int8_t, Op>},
                                           {DType::u8, runHloUnary<uint8_t, Op>},  {DType::u16, runHloUnary<uint16_t, Op>},
                                           {DType::u32, runHloUnary<uint32_t, Op>}};
    if (isFloat(setup.in(0).dtype)) return prepareHloFloats<Op>(setup);
    return prepareByDtype(setup, kCases);
}

template <typename Op, bool divides> Result<PreparedKernel> prepareHloIntegers(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {
        {DType::i32, runHloBinary<int32_t, Op, divides>},  {DType::i64, runHloBinary<int64_t, Op, divides>},
        {DType::i16, runHloBinary<int16_t, Op, divides>},  {DType::i8, runHloBinary<int8_t, Op, divides>},
        {DType::u8, runHloBinary<uint8_t, Op, divides>},   {DType::u16, runHloBinary<uint16_t, Op, divides>},
        {DType::u32, runHloBinary<uint32_t, Op, divides>}, {DType::u64, runHloBinary<uint64_t, Op, divides>}};
    return prepareByDtype(setup, kCases);
}

template <typename Op, bool divides> Result<PreparedKernel> prepareHloBinary(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {{DType::f32, runHloBinary<float, Op, divides>},
                                           {DType::f64, runHloBinary<double, Op, divides>},
                                           {DType::f16, runHloBinary<Half, Op, divides>},
                                           {DType::bf16, runHloBinary<BFloat16, Op, divides>}};
    if (isFloat(setup.in(0).dtype)) return prepareByDtype(setup, kCases);
    return prepareHloIntegers<Op, divides>(setup);
}

Result<PreparedKernel> prepareHloOr(const KernelSetup& setup)
{
    if (setup.in(0).dtype == DType::boolean) return PreparedKernel{runHloBinary<uint8_t, HloOr, false>, nullptr};
    return prepareHloIntegers<HloOr, false>(setup);
}

// ---- compare, select, clamp ----

enum class Direction { equal, notEqual, greaterEqual, greater, lessEqual, less };

struct CompareParams {
    Direction direction = Direction::equal;
    bool isTotal = false; ///< −NaN < −∞ < … < −0 < +0 < … < ∞ < NaN
};

template <typename T> bool compareBy(Direction direction, T a, T b)
{
    switch (direction) {
    case Direction::equal: return a == b;
    case Direction::notEqual: return a != b;
    case Direction::greaterEqual: return a >= b;
    case Direction::greater: return a > b;
    case Direction::lessEqual: return a <= b;
    case Direction::less: return a < b;
    }
    return false;
}

/// An integer that grows with the float, zeros and NaNs included.
template <typename T> auto totalOrder(T x)
{
    using I = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
    I bits = 0;
    std::memcpy(&bits, &x, sizeof x);
    return bits < 0 ? static_cast<I>(bits ^ std::numeric_limits<I>::max()) : bits;
}

template <typename T> Status runHloCompare(const KernelArgs& args)
{
    const auto params = args.paramsAs<CompareParams>();
    applyBinary<T, uint8_t>(args.in(0), args.in(1), args.out(0), [params](T left, T right) -> uint8_t {
        const auto a = Element<T>::load(left), b = Element<T>::load(right);
        if constexpr (std::is_floating_point_v<std::remove_const_t<decltype(a)>>)
            if (params.isTotal) return compareBy(params.direction, totalOrder(a), totalOrder(b)) ? 1 : 0;
        return compareBy(params.direction, a, b) ? 1 : 0;
    });
    return {};
}

Result<PreparedKernel> prepareHloCompare(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {
        {DType::f32, runHloCompare<float>},      {DType::f64, runHloCompare<double>},   {DType::f16, runHloCompare<Half>},
        {DType::bf16, runHloCompare<BFloat16>},  {DType::i32, runHloCompare<int32_t>},  {DType::i64, runHloCompare<int64_t>},
        {DType::i16, runHloCompare<int16_t>},    {DType::i8, runHloCompare<int8_t>},    {DType::u8, runHloCompare<uint8_t>},
        {DType::u16, runHloCompare<uint16_t>},   {DType::u32, runHloCompare<uint32_t>}, {DType::u64, runHloCompare<uint64_t>},
        {DType::boolean, runHloCompare<uint8_t>}};
    LS_TRY(PreparedKernel kernel, prepareByDtype(setup, kCases));
    auto params = std::make_shared<CompareParams>();
    const std::string_view word = attributeWord(setup.attributes(), "comparison_direction", "STABLEHLO_COMPARISON_DIRECTION_EQ");
    const std::string_view direction = word.substr(word.rfind('_') + 1);
    static constexpr std::string_view kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
    size_t at = 0;
    while (at < std::size(kDirections) && kDirections[at] != direction) ++at;
    if (at == std::size(kDirections))
        return Error(ErrorCode::unsupported, "comparison_direction").found(std::string(word)).expected("EQ, NE, GE, GT, LE or LT");
    params->direction = static_cast<Direction>(at);
    params->isTotal = attributeWord(setup.attributes(), "compare_type", "").ends_with("TOTAL_ORDER");
    kernel.params = std::move(params);
    return kernel;
}

template <typename T> Status runHloSelect(const KernelArgs& args)
{
    const auto* pred = args.in(0).as<uint8_t>();
    const int64_t step = args.in(0).shape.rank() == 0 ? 0 : 1;
    const auto* yes = args.in(1).as<T>();
    const auto* no = args.in(2).as<T>();
    auto* out = args.out(0).as<T>();
    for (int64_t i = 0, n = args.out(0).elementCount(); i < n; ++i) out[i] = pred[i * step] != 0 ? yes[i] : no[i];
    return {};
}

/// Elements are moved, whatever they mean.
Result<PreparedKernel> prepareHloSelect(const KernelSetup& setup)
{
    switch (bitWidth(setup.in(1).dtype)) {
    case 8: return PreparedKernel{runHloSelect<uint8_t>, nullptr};
    case 16: return PreparedKernel{runHloSelect<uint16_t>, nullptr};
    case 32: return PreparedKernel{runHloSelect<uint32_t>, nullptr};
    case 64: return PreparedKernel{runHloSelect<uint64_t>, nullptr};
    default: return unsupportedDtypes(setup);
    }
}

/// minimum(maximum(x, low), high); a NaN among them wins.
template <typename T> Status runHloClamp(const KernelArgs& args)
{
    const auto* low = args.in(0).as<T>();
    const auto* x = args.in(1).as<T>();
    const auto* high = args.in(2).as<T>();
    const int64_t lowStep = args.in(0).shape.rank() == 0 ? 0 : 1, highStep = args.in(2).shape.rank() == 0 ? 0 : 1;
    auto* out = args.out(0).as<T>();
    for (int64_t i = 0, n = args.out(0).elementCount(); i < n; ++i) {
        const auto below = Element<T>::load(low[i * lowStep]), above = Element<T>::load(high[i * highStep]);
        auto value = Element<T>::load(x[i]);
        if (below > value || below != below) value = below;
        if (above < value || above != above) value = above;
        out[i] = Element<T>::store(value);
    }
    return {};
}

Result<PreparedKernel> prepareHloClamp(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {
        {DType::f32, runHloClamp<float>},     {DType::f64, runHloClamp<double>},  {DType::f16, runHloClamp<Half>},
        {DType::bf16, runHloClamp<BFloat16>}, {DType::i32, runHloClamp<int32_t>}, {DType::i64, runHloClamp<int64_t>},
        {DType::i16, runHloClamp<int16_t>},   {DType::i8, runHloClamp<int8_t>},   {DType::u8, runHloClamp<uint8_t>},
        {DType::u16, runHloClamp<uint16_t>},  {DType::u32, runHloClamp<uint32_t>}};
    return prepareByDtype(setup, kCases, 1);
}

constexpr std::string_view kHloFloats = "f32 f64 f16 bf16";
constexpr std::string_view kHloNumbers = "f32 f64 f16 bf16 i32 i64 i16 i8 u8 u16 u32";
constexpr std::string_view kHloAll = "f32 f64 f16 bf16 i32 i64 i16 i8 u8 u16 u32 u64 bool";

} // namespace

#define LS_HLO_KERNEL(name, prepare, dtypes)                                                                                               \
    LS_DEFINE_KERNELS(tfl, name) { registry.add({"tfl", #name, Profile::reference, prepare, dtypes}); }

LS_HLO_KERNEL(stablehlo_abs, prepareHloUnary<HloAbs>, kHloNumbers)
LS_HLO_KERNEL(stablehlo_negate, prepareHloUnary<HloNegate>, kHloNumbers)
LS_HLO_KERNEL(stablehlo_floor, prepareHloFloats<HloFloor>, kHloFloats)
LS_HLO_KERNEL(stablehlo_log, prepareHloFloats<HloLog>, kHloFloats)
LS_HLO_KERNEL(stablehlo_exponential, prepareHloFloats<HloExponential>, kHloFloats)
LS_HLO_KERNEL(stablehlo_cosine, prepareHloFloats<HloCosine>, kHloFloats)
LS_HLO_KERNEL(stablehlo_rsqrt, prepareHloFloats<HloRsqrt>, kHloFloats)
LS_HLO_KERNEL(stablehlo_tanh, prepareHloFloats<HloTanh>, kHloFloats)
LS_HLO_KERNEL(stablehlo_logistic, prepareHloFloats<HloLogistic>, kHloFloats)
LS_HLO_KERNEL(stablehlo_cbrt, prepareHloFloats<HloCbrt>, kHloFloats)
LS_HLO_KERNEL(stablehlo_subtract, (prepareHloBinary<HloSubtract, false>), kHloNumbers)
LS_HLO_KERNEL(stablehlo_divide, (prepareHloBinary<HloDivide, true>), kHloNumbers)
LS_HLO_KERNEL(stablehlo_remainder, (prepareHloBinary<HloRemainder, true>), kHloNumbers)
LS_HLO_KERNEL(stablehlo_power, (prepareHloBinary<HloPower, false>), kHloNumbers)
LS_HLO_KERNEL(stablehlo_or, prepareHloOr, "i32 i64 i16 i8 u8 u16 u32 u64 bool")
LS_HLO_KERNEL(stablehlo_compare, prepareHloCompare, kHloAll)
LS_HLO_KERNEL(stablehlo_select, prepareHloSelect, kHloAll)
LS_HLO_KERNEL(stablehlo_clamp, prepareHloClamp, kHloNumbers)
#undef LS_HLO_KERNEL
