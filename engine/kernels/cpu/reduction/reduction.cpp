// MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ANY, REDUCE_ALL. Elements are combined in the operand's row-major order, so
// that float sums have the reference's bits.
#include "engine/kernels/cpu/reduction/reduction.h"

#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/quantized_math.h"
#include "engine/kernels/registry.h"

#include <bit>

using namespace loopscope;

namespace {

/// Elements of a bool tensor: one byte, sum is or, product is and.
struct Bool {
    uint8_t value;
};

/// The operand's shape with 1 at every reduced axis. Errors: execution, if an axis is out of range.
Result<Shape> keptShape(const KernelArgs& args)
{
    Shape shape = args.in(0).shape;
    if (shape.rank() == 0) return shape;
    const int32_t* axes = args.in(1).as<int32_t>();
    const int64_t count = args.in(1).elementCount();
    for (int64_t i = 0; i < count; ++i) {
        const int64_t axis = axes[i] < 0 ? int64_t{axes[i]} + shape.rank() : axes[i];
        if (axis < 0 || axis >= shape.rank())
            return Error(ErrorCode::execution,
                         "C2: axis " + std::to_string(axes[i]) + " is outside a tensor of rank " + std::to_string(shape.rank()));
        shape[static_cast<int>(axis)] = 1;
    }
    return shape;
}

/// out[o] = f(out[o], in[i]) for every element i and the result o that it belongs to.
template <typename In, typename Out, typename F> void accumulate(const Tensor& input, const Shape& kept, Out* out, F f)
{
    const In* in = input.as<In>();
    const BroadcastLoop<1> loop(input.shape, {&kept});
    const int64_t length = loop.rowLength();
    const int64_t step = loop.rowStride(0);
    loop.forEachRow([&](int64_t i, const int64_t(&offset)[1]) {
        const In* row = in + i;
        Out* target = out + offset[0];
        if (step == 0) {
            Out value = *target;
            for (int64_t k = 0; k < length; ++k) value = f(value, row[k]);
            *target = value;
        } else {
            for (int64_t k = 0; k < length; ++k) target[k] = f(target[k], row[k]);
        }
    });
}

struct SumOp {
    template <typename T> static T start() { return T{}; }
    template <typename T> static T apply(T a, T b) { return wrappingAdd(a, b); }
    static Bool apply(Bool a, Bool b) { return {static_cast<uint8_t>(a.value | b.value)}; }
};
struct ProdOp {
    template <typename T> static T start() { return T{1}; }
    template <typename T> static T apply(T a, T b) { return wrappingMul(a, b); }
    static Bool apply(Bool a, Bool b) { return {static_cast<uint8_t>(a.value & b.value)}; }
};
struct MaxOp {
    template <typename T> static T start()
    {
        if constexpr (std::is_same_v<T, Bool>) return {0};
        else return std::numeric_limits<T>::lowest();
    }
    template <typename T> static T apply(T a, T b) { return b > a ? b : a; }
    static Bool apply(Bool a, Bool b) { return {static_cast<uint8_t>(a.value | b.value)}; }
};
struct MinOp {
    template <typename T> static T start()
    {
        if constexpr (std::is_same_v<T, Bool>) return {1};
        else return std::numeric_limits<T>::max();
    }
    template <typename T> static T apply(T a, T b) { return b < a ? b : a; }
    static Bool apply(Bool a, Bool b) { return {static_cast<uint8_t>(a.value & b.value)}; }
};

template <typename T, typename Op> Status runReduction(const KernelArgs& args)
{
    LS_TRY(const Shape kept, keptShape(args));
    const Tensor& input = args.in(0);
    T* out = args.out(0).as<T>();
    const int64_t results = args.out(0).elementCount();
    std::fill_n(out, results, Op::template start<T>());
    // A reduction of everything begins with the first element, as the reference does: a NaN there stays.
    if (results == 1 && input.elementCount() > 0) {
        const T* in = input.as<T>();
        T value = in[0];
        for (int64_t i = 1; i < input.elementCount(); ++i) value = Op::apply(value, in[i]);
        out[0] = value;
        return {};
    }
    accumulate<T, T>(input, kept, out, [](T a, T b) { return Op::apply(a, b); });
    return {};
}

template <typename Op> constexpr DtypeCase kCases[] = {
    {DType::f32, runReduction<float, Op>},    {DType::i32, runReduction<int32_t, Op>}, {DType::i64, runReduction<int64_t, Op>},
    {DType::i16, runReduction<int16_t, Op>},  {DType::i8, runReduction<int8_t, Op>},   {DType::u8, runReduction<uint8_t, Op>},
    {DType::boolean, runReduction<Bool, Op>},
};

bool isNarrow(DType dtype) { return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16; }

template <typename Op> Result<PreparedKernel> prepareExtremum(const KernelSetup& setup)
{
    const auto in = scaleAndZero(setup.in(0));
    const auto out = scaleAndZero(setup.out(0));
    if (isNarrow(setup.in(0).dtype) && (in.scale != out.scale || in.zero != out.zero))
        return Error(ErrorCode::unsupported, "operand and result need one quantization");
    return prepareByDtype(setup, kCases<Op>);
}

// ---- MEAN ----

template <typename T, typename Sum> Status runMean(const KernelArgs& args)
{
    LS_TRY(const Shape kept, keptShape(args));
    T* out = args.out(0).as<T>();
    const int64_t results = args.out(0).elementCount();
    const int64_t elements = args.in(0).elementCount();
    if (elements == 0) {
        std::fill_n(out, results, std::numeric_limits<T>::has_quiet_NaN ? std::numeric_limits<T>::quiet_NaN() : T{});
        return {};
    }
    auto* sums = reinterpret_cast<Sum*>(args.runtime->scratch(static_cast<size_t>(results) * sizeof(Sum)));
    std::fill_n(sums, results, Sum{});
    accumulate<T, Sum>(args.in(0), kept, sums, [](Sum a, T b) { return wrappingAdd(a, static_cast<Sum>(b)); });
    const auto divisor = static_cast<Sum>(elements / results);
    for (int64_t i = 0; i < results; ++i) out[i] = static_cast<T>(sums[i] / divisor);
    return {};
}

/// One float multiplication, rounded to even. Source: XNNPACK src/qs8-rsum, src/operators/reduce-nd.c.
template <typename T, bool isMean> Status runRoundedReduction(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedReductionParams>();
    LS_TRY(const Shape kept, keptShape(args));
    T* out = args.out(0).as<T>();
    const int64_t results = args.out(0).elementCount(), elements = args.in(0).elementCount();
    if (elements == 0) {
        std::fill_n(out, results, T{});
        return {};
    }
    auto* sums = reinterpret_cast<int32_t*>(args.runtime->scratch(static_cast<size_t>(results) * sizeof(int32_t)));
    const auto count = static_cast<int32_t>(elements / results);
    std::fill_n(sums, results, wrappingMul(-p.in.zero, count));
    accumulate<T, int32_t>(args.in(0), kept, sums, [](int32_t a, T b) { return wrappingAdd<int32_t>(a, b); });
    const float scale = p.in.scale / p.out.scale * (isMean ? 1.0F / static_cast<float>(count) : 1.0F);
    const auto zero = static_cast<float>(p.out.zero); // added before it is rounded: halves go to even results
    for (int64_t i = 0; i < results; ++i) {
        const float value = static_cast<float>(sums[i]) * scale + zero;
        out[i] = static_cast<T>(std::lrint(std::clamp<float>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max())));
    }
    return {};
}

/// The sum of stored integers in 32 bits, scratch memory of the kernel. `results` and `elements` are not 0.
template <typename T> int32_t* sumStored(const KernelArgs& args, const Shape& kept, int64_t results)
{
    auto* sums = reinterpret_cast<int32_t*>(args.runtime->scratch(static_cast<size_t>(results) * sizeof(int32_t)));
    std::fill_n(sums, results, 0);
    accumulate<T, int32_t>(args.in(0), kept, sums, [](int32_t a, T b) { return wrappingAdd<int32_t>(a, b); });
    return sums;
}

/// Calls f with a number of the dtype of `out`, which says what is stored.
template <typename F> void withStoredType(const Tensor& out, F f)
{
    switch (out.dtype) {
    case DType::i8: return f(int8_t{});
    case DType::u8: return f(uint8_t{});
    default: return f(int16_t{});
    }
}

using Store = void (*)(const QuantizedReductionParams& params, const int32_t* sums, int64_t results, int64_t count, Tensor& out);

/// MEAN and SUM of stored integers; without any, results are `nothing`.
template <typename T, Store store> Status runStored(const KernelArgs& args, T nothing)
{
    LS_TRY(const Shape kept, keptShape(args));
    const int64_t results = args.out(0).elementCount(), elements = args.in(0).elementCount();
    if (elements == 0) std::fill_n(args.out(0).as<T>(), results, nothing);
    else store(args.paramsAs<QuantizedReductionParams>(), sumStored<T>(args, kept, results), results, elements / results, args.out(0));
    return {};
}

template <typename T> Status runQuantizedMean(const KernelArgs& args) { return runStored<T, storeMeans>(args, T{}); }

} // namespace

/// Source: LiteRT kernels/internal/reference/reduce.h, QuantizedMeanOrSum: the factor takes 1/count in.
void loopscope::storeMeans(const QuantizedReductionParams& p, const int32_t* sums, int64_t results, int64_t count, Tensor& out)
{
    const int shift = std::max(0, std::min({63 - std::countl_zero(static_cast<uint64_t>(count)), 32, 31 + p.factor.shift}));
    const QuantizedMultiplier factor = {static_cast<int32_t>((int64_t{p.factor.multiplier} << shift) / count), p.factor.shift - shift};
    withStoredType(out, [&](auto number) {
        using T = decltype(number);
        for (int64_t i = 0; i < results; ++i) {
            const auto shifted = static_cast<int32_t>(wrappingSub(int64_t{sums[i]}, wrappingMul<int64_t>(p.in.zero, count)));
            const int32_t scaled = wrappingAdd(multiplyByQuantizedMultiplier(shifted, factor), p.out.zero);
            out.as<T>()[i] = static_cast<T>(std::clamp<int32_t>(scaled, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
        }
    });
}

/// Source: LiteRT kernels/internal/optimized/reduce.h, QuantizedMeanOrSum: in f32.
void loopscope::storeSums(const QuantizedReductionParams& p, const int32_t* sums, int64_t results, int64_t count, Tensor& out)
{
    const float scale = p.in.scale / p.out.scale;
    const float bias = static_cast<float>(-int64_t{p.in.zero}) * scale * static_cast<float>(count);
    withStoredType(out, [&](auto number) {
        using T = decltype(number);
        for (int64_t i = 0; i < results; ++i) {
            const int32_t scaled = wrappingAdd(truncateToInt32(std::round(static_cast<float>(sums[i]) * scale + bias)), p.out.zero);
            out.as<T>()[i] = static_cast<T>(std::clamp<int32_t>(scaled, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
        }
    });
}

QuantizedReductionParams loopscope::quantizedReductionParams(const KernelSetup& setup)
{
    QuantizedReductionParams params;
    params.in = scaleAndZero(setup.in(0));
    params.out = scaleAndZero(setup.out(0));
    params.factor = quantizeMultiplier(static_cast<double>(params.in.scale) / static_cast<double>(params.out.scale));
    return params;
}

Result<PreparedKernel> loopscope::prepareMean(const KernelSetup& setup)
{
    static constexpr DtypeCase kMeanCases[] = {
        {DType::f32, runMean<float, float>},   {DType::i32, runMean<int32_t, int64_t>}, {DType::i64, runMean<int64_t, int64_t>},
        {DType::i8, runQuantizedMean<int8_t>}, {DType::u8, runQuantizedMean<uint8_t>},  {DType::i16, runQuantizedMean<int16_t>},
    };
    static constexpr DtypeCase kRounded[] = {{DType::i8, runRoundedReduction<int8_t, true>},
                                             {DType::u8, runRoundedReduction<uint8_t, true>}};
    LS_TRY(PreparedKernel kernel, setup.profile == Profile::xnnpack ? prepareByDtype(setup, kRounded) : prepareByDtype(setup, kMeanCases));
    kernel.params = std::make_shared<const QuantizedReductionParams>(quantizedReductionParams(setup));
    return kernel;
}

namespace {

// ---- SUM ----

template <typename T> Status runQuantizedSum(const KernelArgs& args)
{
    const int32_t zero = args.paramsAs<QuantizedReductionParams>().out.zero;
    return runStored<T, storeSums>(args,
                                   static_cast<T>(std::clamp<int64_t>(zero, std::numeric_limits<T>::min(), std::numeric_limits<T>::max())));
}

} // namespace

Result<PreparedKernel> loopscope::prepareSum(const KernelSetup& setup)
{
    static constexpr DtypeCase kQuantized[] = {
        {DType::i8, runQuantizedSum<int8_t>}, {DType::u8, runQuantizedSum<uint8_t>}, {DType::i16, runQuantizedSum<int16_t>}};
    const bool quantized = scaleAndZero(setup.in(0)).scale > 0 && scaleAndZero(setup.out(0)).scale > 0;
    if (!isNarrow(setup.in(0).dtype) || !quantized) return prepareByDtype(setup, kCases<SumOp>);
    static constexpr DtypeCase kRounded[] = {{DType::i8, runRoundedReduction<int8_t, false>},
                                             {DType::u8, runRoundedReduction<uint8_t, false>}};
    LS_TRY(PreparedKernel kernel, setup.profile == Profile::xnnpack ? prepareByDtype(setup, kRounded) : prepareByDtype(setup, kQuantized));
    kernel.params = std::make_shared<const QuantizedReductionParams>(quantizedReductionParams(setup));
    return kernel;
}

namespace {

// ---- REDUCE_PROD ----

/// Every step is rescaled, so that the product stays in 32 bits. Source: LiteRT kernels/internal/reference/reduce.h,
/// QuantizedReduceProd; kernels/reduce.cc, GetQuantProdScaling.
template <typename T> Status runQuantizedProd(const KernelArgs& args)
{
    const auto p = args.paramsAs<QuantizedReductionParams>();
    LS_TRY(const Shape kept, keptShape(args));
    T* out = args.out(0).as<T>();
    const int64_t results = args.out(0).elementCount();
    const int64_t elements = args.in(0).elementCount();
    if (elements == 0) {
        std::fill_n(out, results, static_cast<T>(1));
        return {};
    }
    struct Product {
        int32_t value;
        bool begun;
    };
    auto* products = reinterpret_cast<Product*>(args.runtime->scratch(static_cast<size_t>(results) * sizeof(Product)));
    std::fill_n(products, results, Product{0, false});
    const auto count = static_cast<double>(elements / results);
    const QuantizedMultiplier factor =
        quantizeMultiplier(static_cast<double>(p.in.scale) / std::pow(static_cast<double>(p.out.scale), 1.0 / count));
    accumulate<T, Product>(args.in(0), kept, products, [&](Product current, T x) {
        const int32_t value = wrappingSub<int32_t>(x, p.in.zero);
        if (!current.begun) return Product{value, true};
        return Product{multiplyByQuantizedMultiplier64(int64_t{current.value} * value, factor), true};
    });
    for (int64_t i = 0; i < results; ++i) {
        const int32_t scaled = wrappingAdd(multiplyByQuantizedMultiplier64(products[i].value, factor), p.out.zero);
        out[i] = static_cast<T>(std::clamp<int32_t>(scaled, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
    return {};
}

Result<PreparedKernel> prepareProd(const KernelSetup& setup)
{
    static constexpr DtypeCase kQuantized[] = {{DType::i8, runQuantizedProd<int8_t>}, {DType::i16, runQuantizedProd<int16_t>}};
    const bool quantized = scaleAndZero(setup.in(0)).scale > 0 && scaleAndZero(setup.out(0)).scale > 0;
    if (!quantized) return prepareByDtype(setup, kCases<ProdOp>);
    LS_TRY(PreparedKernel kernel, prepareByDtype(setup, kQuantized));
    kernel.params = std::make_shared<const QuantizedReductionParams>(quantizedReductionParams(setup));
    return kernel;
}

template <typename Op> Result<PreparedKernel> prepareBool(const KernelSetup& setup)
{
    static constexpr DtypeCase kBoolCases[] = {{DType::boolean, runReduction<Bool, Op>}};
    return prepareByDtype(setup, kBoolCases);
}

constexpr std::string_view kDtypes = "f32 i32 i64 i16 i8 u8 bool";

} // namespace

LS_DEFINE_KERNELS(tfl, mean) { registry.add({"tfl", "mean", Profile::reference, prepareMean, "f32 i32 i64 i16 i8 u8"}); }

LS_DEFINE_KERNELS(tfl, sum) { registry.add({"tfl", "sum", Profile::reference, prepareSum, kDtypes}); }

LS_DEFINE_KERNELS(tfl, reduce_max) { registry.add({"tfl", "reduce_max", Profile::reference, prepareExtremum<MaxOp>, kDtypes}); }

LS_DEFINE_KERNELS(tfl, reduce_min) { registry.add({"tfl", "reduce_min", Profile::reference, prepareExtremum<MinOp>, kDtypes}); }

LS_DEFINE_KERNELS(tfl, reduce_prod) { registry.add({"tfl", "reduce_prod", Profile::reference, prepareProd, kDtypes}); }

LS_DEFINE_KERNELS(tfl, reduce_any) { registry.add({"tfl", "reduce_any", Profile::reference, prepareBool<SumOp>, "bool"}); }

LS_DEFINE_KERNELS(tfl, reduce_all) { registry.add({"tfl", "reduce_all", Profile::reference, prepareBool<ProdOp>, "bool"}); }
