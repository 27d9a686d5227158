// Kernels of StableHLO's sums of products, reductions and sorting (StableHLO specification), element by element.
#include "engine/ops/linear/stablehlo_linear.h"
#include "engine/base/interruption.h"

#include "engine/kernels/cpu/elementwise.h"
#include "engine/kernels/cpu/region.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

using namespace loopscope;

namespace {

std::vector<int64_t> rowMajorStrides(const Shape& shape)
{
    std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 1);
    for (int d = shape.rank() - 2; d >= 0; --d) strides[static_cast<size_t>(d)] = strides[static_cast<size_t>(d) + 1] * shape[d + 1];
    return strides;
}

/// The offsets of all places in some dimensions of a tensor, the last one fastest.
std::vector<int64_t> offsetsOf(const Shape& shape, const std::vector<int64_t>& dims)
{
    const std::vector<int64_t> strides = rowMajorStrides(shape);
    std::vector<int64_t> offsets = {0};
    for (const int64_t d : dims) {
        std::vector<int64_t> next;
        for (const int64_t base : offsets)
            for (int64_t i = 0; i < shape[static_cast<int>(d)]; ++i) next.push_back(base + i * strides[static_cast<size_t>(d)]);
        offsets = std::move(next);
    }
    return offsets;
}

/// Sums are made in the result's type: f32 for 16-bit floats, 64 bits for integers.
template <typename T> using SumOf =
    std::conditional_t<std::is_integral_v<typename Element<T>::Compute>, int64_t, typename Element<T>::Compute>;

template <typename In, typename Out> Status runDotGeneral(const KernelArgs& args)
{
    const auto& attributes = args.paramsAs<AttributeList>();
    const Shape& lhs = args.in(0).shape;
    const Shape& rhs = args.in(1).shape;
    LS_TRY(const DotGeneral dot, DotGeneral::create(attributes, lhs, rhs));
    const auto lhsBatch = offsetsOf(lhs, dot.lhsBatch), rhsBatch = offsetsOf(rhs, dot.rhsBatch);
    const auto lhsFree = offsetsOf(lhs, dot.lhsFree), rhsFree = offsetsOf(rhs, dot.rhsFree);
    const auto lhsInner = offsetsOf(lhs, dot.lhsContracting), rhsInner = offsetsOf(rhs, dot.rhsContracting);
    const In* a = args.in(0).as<In>();
    const In* b = args.in(1).as<In>();
    Out* out = args.out(0).as<Out>();
    LoopPace pace;
    for (size_t batch = 0; batch < lhsBatch.size(); ++batch)
        for (const int64_t row : lhsFree)
            for (const int64_t column : rhsFree) {
                SumOf<In> sum = 0;
                const In* x = a + lhsBatch[batch] + row;
                const In* y = b + rhsBatch[batch] + column;
                for (size_t k = 0; k < lhsInner.size(); ++k)
                    sum += static_cast<SumOf<In>>(Element<In>::load(x[lhsInner[k]])) * Element<In>::load(y[rhsInner[k]]);
                *out++ = Element<Out>::store(static_cast<typename Element<Out>::Compute>(sum));
                pace.did(static_cast<int64_t>(lhsInner.size()));
            }
    return {};
}

template <typename In, typename Out> Status runHloConvolution(const KernelArgs& args)
{
    const Shape& input = args.in(0).shape;
    const Shape& filter = args.in(1).shape;
    const Shape& output = args.out(0).shape;
    LS_TRY(const HloConvolution c, HloConvolution::create(args.paramsAs<AttributeList>(), input, filter));
    const auto inStrides = rowMajorStrides(input), filterStrides = rowMajorStrides(filter);
    const auto stride = [](const std::vector<int64_t>& strides, int64_t d) { return strides[static_cast<size_t>(d)]; };
    const size_t n = c.strides.size();
    const int64_t taken = filter[static_cast<int>(c.filterInput)];
    const int64_t perGroup = filter[static_cast<int>(c.filterOutput)] / c.featureGroups;
    int64_t taps = 1;
    for (const int64_t d : c.filterSpatial) taps *= filter[static_cast<int>(d)];
    std::vector<int64_t> place(static_cast<size_t>(output.rank()), 0);
    Out* out = args.out(0).as<Out>();
    LoopPace pace;
    for (int64_t o = 0, count = args.out(0).elementCount(); o < count; ++o) {
        const int64_t feature = place[static_cast<size_t>(c.outputFeature)];
        const In* x = args.in(0).as<In>() + place[static_cast<size_t>(c.outputBatch)] * stride(inStrides, c.inputBatch) +
                      feature / std::max<int64_t>(perGroup, 1) * taken * stride(inStrides, c.inputFeature);
        const In* w = args.in(1).as<In>() + feature * stride(filterStrides, c.filterOutput);
        SumOf<In> sum = 0;
        for (int64_t tap = 0; tap < taps; ++tap) {
            pace.did(taken);
            int64_t rest = tap, at = 0, weight = 0;
            bool inside = true;
            for (size_t i = n; i-- > 0 && inside;) {
                const int64_t window = filter[static_cast<int>(c.filterSpatial[i])], k = rest % window;
                rest /= window;
                const int64_t spread =
                    place[static_cast<size_t>(c.outputSpatial[i])] * c.strides[i] + k * c.filterDilation[i] - c.padLow[i];
                inside = spread >= 0 && spread % c.inputDilation[i] == 0 &&
                         spread / c.inputDilation[i] < input[static_cast<int>(c.inputSpatial[i])];
                at += inside ? spread / c.inputDilation[i] * stride(inStrides, c.inputSpatial[i]) : 0;
                weight += (c.reversed[i] ? window - 1 - k : k) * stride(filterStrides, c.filterSpatial[i]);
            }
            if (!inside) continue;
            for (int64_t channel = 0; channel < taken; ++channel)
                sum += static_cast<SumOf<In>>(Element<In>::load(x[at + channel * stride(inStrides, c.inputFeature)])) *
                       Element<In>::load(w[weight + channel * stride(filterStrides, c.filterInput)]);
        }
        out[o] = Element<Out>::store(static_cast<typename Element<Out>::Compute>(sum));
        for (int d = output.rank() - 1; d >= 0; --d) {
            if (++place[static_cast<size_t>(d)] < output[d]) break;
            place[static_cast<size_t>(d)] = 0;
        }
    }
    return {};
}

/// Results of the operands' dtype; of 8-bit integers also of 32 bits.
template <template <typename, typename> class Run> Result<PreparedKernel> prepareProducts(const KernelSetup& setup)
{
    const DType in = setup.in(0).dtype, out = setup.out(0).dtype;
    auto params = std::make_shared<const AttributeList>(setup.attributes());
    if (in == DType::i8 && out == DType::i32) return PreparedKernel{Run<int8_t, int32_t>::run, params};
    if (in != out) return unsupportedDtypes(setup);
    switch (in) {
    case DType::f32: return PreparedKernel{Run<float, float>::run, params};
    case DType::f64: return PreparedKernel{Run<double, double>::run, params};
    case DType::f16: return PreparedKernel{Run<Half, Half>::run, params};
    case DType::bf16: return PreparedKernel{Run<BFloat16, BFloat16>::run, params};
    case DType::i8: return PreparedKernel{Run<int8_t, int8_t>::run, params};
    case DType::i32: return PreparedKernel{Run<int32_t, int32_t>::run, params};
    case DType::i64: return PreparedKernel{Run<int64_t, int64_t>::run, params};
    default: return unsupportedDtypes(setup);
    }
}
template <typename In, typename Out> struct DotRunner {
    static Status run(const KernelArgs& args) { return runDotGeneral<In, Out>(args); }
};
template <typename In, typename Out> struct ConvolutionRunner {
    static Status run(const KernelArgs& args) { return runHloConvolution<In, Out>(args); }
};

// ---- reduce ----

struct HloReduceParams {
    Combination how = Combination::add;
    std::vector<int64_t> dims;
};

template <typename T> Status runHloReduce(const KernelArgs& args)
{
    const auto& params = args.paramsAs<HloReduceParams>();
    const Shape& shape = args.in(0).shape;
    std::vector<int64_t> kept;
    for (int64_t d = 0; d < shape.rank(); ++d)
        if (std::ranges::find(params.dims, d) == params.dims.end()) kept.push_back(d);
    std::vector<int64_t> inner = params.dims;
    std::ranges::sort(inner);
    const auto outerAt = offsetsOf(shape, kept), innerAt = offsetsOf(shape, inner);
    const T* in = args.in(0).as<T>();
    T* out = args.out(0).as<T>();
    for (const int64_t outer : outerAt) {
        T value = *args.in(1).as<T>();
        for (const int64_t offset : innerAt) value = combine(params.how, value, in[outer + offset]);
        *out++ = value;
    }
    return {};
}

Result<PreparedKernel> prepareHloReduce(const KernelSetup& setup)
{
    static constexpr DtypeCase kCases[] = {{DType::f32, runHloReduce<float>},   {DType::f64, runHloReduce<double>},
                                           {DType::i8, runHloReduce<int8_t>},   {DType::i16, runHloReduce<int16_t>},
                                           {DType::i32, runHloReduce<int32_t>}, {DType::i64, runHloReduce<int64_t>},
                                           {DType::u8, runHloReduce<uint8_t>},  {DType::boolean, runHloReduce<uint8_t>}};
    if (setup.outputs.size() != 1) return Error(ErrorCode::unsupported, "reductions of several tensors at once");
    LS_TRY(PreparedKernel kernel, prepareByDtype(setup, kCases));
    auto params = std::make_shared<HloReduceParams>();
    LS_TRY(params->how, combinationOf(setup));
    params->dims = attributeInts(setup.attributes(), "dimensions");
    kernel.params = std::move(params);
    return kernel;
}

// ---- sort ----

struct HloSortParams {
    int64_t dimension = 0;
    size_t key = 0; ///< the operand that is compared
    bool descending = false;
};

/// Reads the region: one comparison of two elements of one operand.
Result<HloSortParams> sortOrder(const KernelSetup& setup)
{
    HloSortParams params;
    params.dimension = attributeInt(setup.attributes(), "dimension", 0);
    const GraphId id = attributeGraph(setup.attributes(), "region");
    if (!setup.model || !setup.model->hasGraph(id)) return Error(ErrorCode::badFile, "the operator's region is not there");
    const Graph& region = setup.model->graph(id);
    const auto unknown = [&] {
        return Error(ErrorCode::unsupported, "region '" + region.id + "' is no comparison of two elements of one operand");
    };
    if (region.operators.size() != 1 || region.operators.front().inputs.size() != 2) return unknown();
    const Operator& op = region.operators.front();
    const auto position = [&](ValueId v) { return std::ranges::find(region.inputs, v) - region.inputs.begin(); };
    const auto first = static_cast<size_t>(position(op.inputs[0])), second = static_cast<size_t>(position(op.inputs[1]));
    if (first >= region.inputs.size() || second >= region.inputs.size() || first / 2 != second / 2 || first == second ||
        first / 2 >= setup.inputs.size())
        return unknown();
    const std::string_view word = op.kind.name == "less"                ? "LT"
                                  : op.kind.name == "greater"           ? "GT"
                                  : op.kind.name == "stablehlo_compare" ? attributeWord(op.attributes, "comparison_direction", "EQ")
                                                                        : "";
    const std::string_view direction = word.substr(word.rfind('_') + 1);
    const bool isLess = direction == "LT" || direction == "LE", isGreater = direction == "GT" || direction == "GE";
    if (!isLess && !isGreater) return unknown();
    params.key = first / 2;
    params.descending = isGreater == (first < second);
    return params;
}

/// The order of the elements of one line by the key; equal ones keep theirs.
template <typename T> void sortLine(const Tensor& key, int64_t base, int64_t stride, bool descending, std::vector<int64_t>& order)
{
    const T* data = key.as<T>() + base;
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
        const auto x = Element<T>::load(data[a * stride]), y = Element<T>::load(data[b * stride]);
        return descending ? y < x : x < y;
    });
}

Status runHloSort(const KernelArgs& args)
{
    const auto& params = args.paramsAs<HloSortParams>();
    const Shape& shape = args.in(0).shape;
    const int rank = shape.rank();
    if (rank == 0) {
        for (int k = 0; k < args.outputCount; ++k) std::copy_n(args.in(k).data, args.in(k).bytes, args.out(k).data);
        return {};
    }
    const int64_t dimension = params.dimension < 0 ? params.dimension + rank : params.dimension;
    std::vector<int64_t> others;
    for (int64_t d = 0; d < rank; ++d)
        if (d != dimension) others.push_back(d);
    const int64_t stride = rowMajorStrides(shape)[static_cast<size_t>(dimension)], length = shape[static_cast<int>(dimension)];
    const Tensor& key = args.in(static_cast<int>(params.key));
    std::vector<int64_t> order(static_cast<size_t>(length));
    for (const int64_t base : offsetsOf(shape, others)) {
        std::iota(order.begin(), order.end(), 0);
        switch (key.dtype) {
        case DType::f32: sortLine<float>(key, base, stride, params.descending, order); break;
        case DType::f64: sortLine<double>(key, base, stride, params.descending, order); break;
        case DType::f16: sortLine<Half>(key, base, stride, params.descending, order); break;
        case DType::bf16: sortLine<BFloat16>(key, base, stride, params.descending, order); break;
        case DType::i32: sortLine<int32_t>(key, base, stride, params.descending, order); break;
        case DType::i64: sortLine<int64_t>(key, base, stride, params.descending, order); break;
        case DType::i16: sortLine<int16_t>(key, base, stride, params.descending, order); break;
        case DType::i8: sortLine<int8_t>(key, base, stride, params.descending, order); break;
        default: sortLine<uint8_t>(key, base, stride, params.descending, order); break;
        }
        for (int k = 0; k < args.outputCount; ++k) {
            const auto size = static_cast<size_t>(bitWidth(args.in(k).dtype) / 8);
            for (int64_t i = 0; i < length; ++i)
                std::copy_n(args.in(k).data + static_cast<size_t>(base + order[static_cast<size_t>(i)] * stride) * size, size,
                            args.out(k).data + static_cast<size_t>(base + i * stride) * size);
        }
    }
    return {};
}

Result<PreparedKernel> prepareHloSort(const KernelSetup& setup)
{
    LS_TRY(HloSortParams params, sortOrder(setup));
    static constexpr std::array kKeys = {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32,
                                         DType::i64, DType::i16, DType::i8,  DType::u8};
    if (std::ranges::find(kKeys, setup.in(static_cast<int>(params.key)).dtype) == kKeys.end()) return unsupportedDtypes(setup);
    for (const Tensor* operand : setup.inputs)
        if (bitWidth(operand->dtype) < 8) return unsupportedDtypes(setup);
    return PreparedKernel{runHloSort, std::make_shared<const HloSortParams>(params)};
}

} // namespace

LS_DEFINE_KERNELS(tfl, stablehlo_dot_general)
{
    registry.add({"tfl", "stablehlo_dot_general", Profile::reference, prepareProducts<DotRunner>, "f32 f64 f16 bf16 i8 i32 i64"});
}

LS_DEFINE_KERNELS(tfl, stablehlo_convolution)
{
    registry.add({"tfl", "stablehlo_convolution", Profile::reference, prepareProducts<ConvolutionRunner>, "f32 f64 f16 bf16 i8 i32 i64"});
}

LS_DEFINE_KERNELS(tfl, stablehlo_reduce)
{
    registry.add({"tfl", "stablehlo_reduce", Profile::reference, prepareHloReduce, "f32 f64 i8 i16 i32 i64 u8 bool"});
}

LS_DEFINE_KERNELS(tfl, stablehlo_sort)
{
    registry.add({"tfl", "stablehlo_sort", Profile::reference, prepareHloSort, "f32 f64 f16 bf16 i32 i64 i16 i8 u8"});
}
