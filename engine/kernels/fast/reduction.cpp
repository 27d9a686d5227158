// sum, mean, reduce_max and reduce_min of f32, and of i8 and u8, where the reduced axes lie side by side. What is reduced along rows has
// a fixed number of sums under way, so that results depend on the length of a row alone; other axes have the reference's order.
#include "engine/kernels/cpu/reduction/reduction.h"

#include "engine/base/vectorised.h"
#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/fast/rows.h"
#include "engine/kernels/registry.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

using namespace loopscope;

namespace {

enum class Function : uint8_t { sum, mean, max, min };

/// [outer, reduced, inner]: every other shape is the reference's.
struct Layout {
    int64_t outer = 1, reduced = 1, inner = 1;
};

/// False, if kept axes lie between reduced ones, or an axis does not exist.
bool findLayout(const Shape& input, const Tensor& axes, Layout& layout)
{
    uint64_t isReduced = 0;
    if (input.rank() == 0 || input.rank() > 64) return false;
    for (int64_t i = 0; i < axes.elementCount(); ++i) {
        const int64_t axis = axes.as<int32_t>()[i] < 0 ? int64_t{axes.as<int32_t>()[i]} + input.rank() : axes.as<int32_t>()[i];
        if (axis < 0 || axis >= input.rank()) return false;
        isReduced |= uint64_t{1} << axis;
    }
    layout = {};
    bool isBehind = false;
    for (int d = 0; d < input.rank(); ++d) {
        if (input[d] == 1) continue;
        if ((isReduced >> d & 1U) == 0) {
            isBehind = isBehind || layout.reduced != 1;
            (isBehind ? layout.inner : layout.outer) *= input[d];
        } else if (isBehind) {
            return false;
        } else {
            layout.reduced *= input[d];
        }
    }
    return input.elementCount() > 0;
}

template <Function f, typename T> inline T combined(T a, T b)
{
    if constexpr (f == Function::max) return b > a ? b : a;
    else if constexpr (f == Function::min) return b < a ? b : a;
    else return a + b;
}
template <Function f, typename Sum> constexpr Sum kStart = f == Function::max   ? std::numeric_limits<Sum>::lowest()
                                                           : f == Function::min ? std::numeric_limits<Sum>::max()
                                                                                : Sum{0};

/// Rows of numbers side by side: 32 results under way, combined at the end.
template <Function f, typename T, typename Sum> LS_VECTORISED Sum reduceRow(const T* x, int64_t count, Sum start)
{
    constexpr int64_t kLanes = 32;
    Sum lanes[kLanes];
    for (Sum& lane : lanes) lane = start;
    const int64_t whole = count / kLanes * kLanes;
    for (int64_t i = 0; i < whole; i += kLanes)
        for (int64_t l = 0; l < kLanes; ++l) lanes[l] = combined<f, Sum>(lanes[l], x[i + l]);
    for (int64_t width = kLanes / 2; width > 0; width /= 2)
        for (int64_t l = 0; l < width; ++l) lanes[l] = combined<f, Sum>(lanes[l], lanes[l + width]);
    Sum rest = lanes[0];
    for (int64_t i = whole; i < count; ++i) rest = combined<f, Sum>(rest, x[i]);
    return rest;
}

/// `count` columns of rows that are `stride` numbers apart.
template <Function f, typename T, typename Sum>
LS_VECTORISED void reduceColumns(const T* x, int64_t rows, int64_t stride, int64_t count, Sum start, Sum* to)
{
    for (int64_t c = 0; c < count; ++c) to[c] = start;
    for (int64_t r = 0; r < rows; ++r, x += stride)
        for (int64_t c = 0; c < count; ++c) to[c] = combined<f, Sum>(to[c], x[c]);
}

/// to[outer, inner], from all threads: independent pieces are rows, or blocks of columns.
template <Function f, typename T, typename Sum> void reduce(const KernelArgs& args, const Layout& s, Sum* to)
{
    const T* const x = args.in(0).as<T>();
    // A reduction of everything begins with the first element, as the reference's does: a NaN there stays.
    const Sum start = (f == Function::max || f == Function::min) && s.outer * s.inner == 1 ? static_cast<Sum>(x[0]) : kStart<f, Sum>;
    if (s.inner == 1)
        return shareWork(args, s.outer, s.reduced / 2 + 1, [&](int64_t begin, int64_t end, int) {
            for (int64_t o = begin; o < end; ++o) {
                to[o] = reduceRow<f, T, Sum>(x + o * s.reduced, s.reduced, start);
                if constexpr (std::is_same_v<Sum, float>)
                    if (std::isnan(start)) to[o] = start;
            }
        });
    constexpr int64_t kBlock = 256;
    const int64_t blocks = (s.inner + kBlock - 1) / kBlock;
    shareWork(args, s.outer * blocks, s.reduced * std::min(kBlock, s.inner) / 2 + 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t o = i / blocks, column = i % blocks * kBlock;
            reduceColumns<f, T, Sum>(x + o * s.reduced * s.inner + column, s.reduced, s.inner, std::min(kBlock, s.inner - column), start,
                                     to + o * s.inner + column);
        }
    });
}

struct FastReductionParams {
    PreparedKernel reference; ///< for shapes that are not ours
    QuantizedReductionParams quantized;
};

Status runReference(const KernelArgs& args)
{
    const PreparedKernel& kernel = args.paramsAs<FastReductionParams>().reference;
    KernelArgs inner = args;
    inner.params = kernel.params.get();
    return kernel.run(inner);
}

template <Function f, typename T> Status runPlain(const KernelArgs& args)
{
    Layout layout;
    if (!findLayout(args.in(0).shape, args.in(1), layout)) return runReference(args);
    T* const out = args.out(0).as<T>();
    reduce<f, T, T>(args, layout, out);
    if constexpr (f == Function::mean) {
        const auto count = static_cast<T>(layout.reduced);
        for (int64_t i = 0; i < layout.outer * layout.inner; ++i) out[i] = out[i] / count;
    }
    return {};
}

/// Sums of 8-bit numbers in 32 bits, and the reference's way from there to results.
template <Function f, typename T> Status runQuantized(const KernelArgs& args)
{
    constexpr int64_t kMost = int64_t{1} << 23; // numbers whose sum cannot leave 32 bits
    Layout layout;
    if (!findLayout(args.in(0).shape, args.in(1), layout) || layout.reduced >= kMost) return runReference(args);
    const int64_t results = layout.outer * layout.inner;
    auto* const sums = reinterpret_cast<int32_t*>(args.runtime->scratch(static_cast<size_t>(results) * sizeof(int32_t)));
    reduce<f, T, int32_t>(args, layout, sums);
    const QuantizedReductionParams& params = args.paramsAs<FastReductionParams>().quantized;
    if constexpr (f == Function::mean) storeMeans(params, sums, results, layout.reduced, args.out(0));
    else storeSums(params, sums, results, layout.reduced, args.out(0));
    return {};
}

template <Function f> Result<PreparedKernel> prepareReduction(const KernelSetup& setup)
{
    const KernelEntry* const reference = KernelRegistry::builtin().find(setup.op.kind, Profile::reference);
    const DType dtype = setup.in(0).dtype;
    if (!reference || (dtype != DType::f32 && dtype != DType::i8 && dtype != DType::u8))
        return Error(ErrorCode::unsupported, "f32, i8 and u8 only").found(std::string(dtypeName(dtype)));
    auto params = std::make_shared<FastReductionParams>();
    LS_TRY(params->reference,
           reference->prepare({setup.op, setup.inputs, setup.outputs, setup.shapesAreStatic, setup.model, Profile::reference}));
    params->quantized = quantizedReductionParams(setup);
    KernelFunction run = runPlain<f, float>;
    if constexpr (f == Function::max || f == Function::min) {
        if (dtype == DType::i8) run = runPlain<f, int8_t>;
        if (dtype == DType::u8) run = runPlain<f, uint8_t>;
    } else if (dtype != DType::f32) {
        if (f == Function::sum && !(params->quantized.in.scale > 0 && params->quantized.out.scale > 0))
            return Error(ErrorCode::unsupported, "integers without a scale");
        run = dtype == DType::i8 ? runQuantized<f, int8_t> : runQuantized<f, uint8_t>;
    }
    return PreparedKernel{run, std::move(params)};
}

constexpr ErrorBounds kSumBound = ErrorBounds(withinOfLargest(1e-5)).because("sums have another order");

template <Function f> KernelEntry entryOf(std::string_view name, ErrorBounds bounds)
{
    return {"tfl", name, Profile::fast, prepareReduction<f>, "f32 i8 u8", bounds};
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, tfl, sum) { registry.add(entryOf<Function::sum>("sum", kSumBound)); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, mean) { registry.add(entryOf<Function::mean>("mean", kSumBound)); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, reduce_max) { registry.add(entryOf<Function::max>("reduce_max", kExact)); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, reduce_min) { registry.add(entryOf<Function::min>("reduce_min", kExact)); }
