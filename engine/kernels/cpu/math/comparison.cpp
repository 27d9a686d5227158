// EQUAL, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL: bool y = a ∘ b with broadcasting.
#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/registry.h"
#include "engine/tensor/strings.h"

#include <functional>

using namespace loopscope;

namespace {

template <typename T, typename Op> Status runComparison(const KernelArgs& args)
{
    applyBinary<T, bool>(args.in(0), args.in(1), args.out(0), [](T a, T b) { return Op()(Element<T>::load(a), Element<T>::load(b)); });
    return {};
}

template <typename T, typename Op> Status runComparisonScalar(const KernelArgs& args)
{
    *args.out(0).as<bool>() = Op()(*args.in(0).as<T>(), *args.in(1).as<T>());
    return {};
}

template <typename Op> Status runStringComparison(const KernelArgs& args)
{
    LS_TRY(const auto a, unpackStrings(args.in(0).view()));
    LS_TRY(const auto b, unpackStrings(args.in(1).view()));
    const auto fits = [](const std::vector<std::string_view>& strings, const Tensor& tensor) {
        return static_cast<int64_t>(strings.size()) >= tensor.elementCount();
    };
    if (!fits(a, args.in(0)) || !fits(b, args.in(1)))
        return Error(ErrorCode::execution, "a string tensor holds fewer strings than its shape says");
    bool* out = args.out(0).as<bool>();
    const BroadcastLoop<2> loop(args.out(0).shape, {&args.in(0).shape, &args.in(1).shape});
    loop.forEachRow([&](int64_t o, const int64_t(&offset)[2]) {
        for (int64_t i = 0; i < loop.rowLength(); ++i)
            out[o + i] =
                Op()(a[static_cast<size_t>(offset[0] + i * loop.rowStride(0))], b[static_cast<size_t>(offset[1] + i * loop.rowStride(1))]);
    });
    return {};
}

/// Stored integers are compared after both were rescaled with 8 bits of headroom.
/// Source: LiteRT kernels/comparisons.cc (ComparisonQuantized), kernels/internal/reference/comparisons.h.
struct QuantizedComparisonParams {
    int32_t offsetA = 0, offsetB = 0;
    QuantizedMultiplier a, b;
};

template <typename T, typename Op> Status runQuantizedComparison(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedComparisonParams>();
    applyBinary<T, bool>(args.in(0), args.in(1), args.out(0), [p](T x, T y) {
        const int32_t a = multiplyByQuantizedMultiplier(shiftLeftWrapping(p.offsetA + x, 8), p.a);
        const int32_t b = multiplyByQuantizedMultiplier(shiftLeftWrapping(p.offsetB + y, 8), p.b);
        return Op()(a, b);
    });
    return {};
}

template <typename Op> constexpr bool kIsEquality = std::is_same_v<Op, std::equal_to<>> || std::is_same_v<Op, std::not_equal_to<>>;

template <typename Op> Result<PreparedKernel> prepareQuantized(const KernelSetup& setup)
{
    const auto a = scaleAndZero(setup.in(0));
    const auto b = scaleAndZero(setup.in(1));
    if (!(a.scale > 0 && b.scale > 0)) return Error(ErrorCode::unsupported, "both operands need a positive scale");
    auto params = std::make_shared<QuantizedComparisonParams>();
    params->offsetA = -a.zero;
    params->offsetB = -b.zero;
    params->a = quantizeMultiplier(a.scale);
    params->b = quantizeMultiplier(b.scale);
    switch (setup.in(0).dtype) {
    case DType::i8: return PreparedKernel{runQuantizedComparison<int8_t, Op>, params};
    case DType::u8: return PreparedKernel{runQuantizedComparison<uint8_t, Op>, params};
    default: return PreparedKernel{runQuantizedComparison<int16_t, Op>, params};
    }
}

template <typename Op> Result<PreparedKernel> prepareComparison(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {
        {DType::f32, runComparison<float, Op>, runComparisonScalar<float, Op>},
        {DType::i32, runComparison<int32_t, Op>, runComparisonScalar<int32_t, Op>},
        {DType::i64, runComparison<int64_t, Op>, runComparisonScalar<int64_t, Op>},
        {DType::boolean, runComparison<bool, Op>, runComparisonScalar<bool, Op>},
        {DType::f16, runComparison<Half, Op>},
        {DType::bf16, runComparison<BFloat16, Op>},
        {DType::i16, runComparison<int16_t, Op>},
        {DType::i8, runComparison<int8_t, Op>},
        {DType::u8, runComparison<uint8_t, Op>},
        {DType::u32, runComparison<uint32_t, Op>},
    };
    const DType dtype = setup.in(0).dtype;
    const bool quantized = isQuantized(setup.in(0)) || isQuantized(setup.in(1));
    // Only equality rescales int16; order compares it as stored.
    if (quantized && (dtype == DType::i8 || dtype == DType::u8 || (dtype == DType::i16 && kIsEquality<Op>)))
        return prepareQuantized<Op>(setup);
    if constexpr (kIsEquality<Op>) {
        if (dtype == DType::string) return PreparedKernel{runStringComparison<Op>, nullptr};
    }
    return prepareByDtype(setup, kCases);
}

constexpr std::string_view kOrderDtypes = "f32 f16 bf16 i32 i64 i16 i8 u8 u32 bool";
constexpr std::string_view kEqualityDtypes = "f32 f16 bf16 i32 i64 i16 i8 u8 u32 bool str";

} // namespace

LS_DEFINE_KERNELS(tfl, equal) { registry.add({"tfl", "equal", Profile::reference, prepareComparison<std::equal_to<>>, kEqualityDtypes}); }

LS_DEFINE_KERNELS(tfl, not_equal)
{
    registry.add({"tfl", "not_equal", Profile::reference, prepareComparison<std::not_equal_to<>>, kEqualityDtypes});
}

LS_DEFINE_KERNELS(tfl, less) { registry.add({"tfl", "less", Profile::reference, prepareComparison<std::less<>>, kOrderDtypes}); }

LS_DEFINE_KERNELS(tfl, less_equal)
{
    registry.add({"tfl", "less_equal", Profile::reference, prepareComparison<std::less_equal<>>, kOrderDtypes});
}

LS_DEFINE_KERNELS(tfl, greater) { registry.add({"tfl", "greater", Profile::reference, prepareComparison<std::greater<>>, kOrderDtypes}); }

LS_DEFINE_KERNELS(tfl, greater_equal)
{
    registry.add({"tfl", "greater_equal", Profile::reference, prepareComparison<std::greater_equal<>>, kOrderDtypes});
}
