// Kernels of StableHLO's gather and scatter.
#include "engine/ops/movement/stablehlo_indexing.h"

#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/cpu/region.h"
#include "engine/kernels/registry.h"
#include "engine/tensor/half.h"

#include <algorithm>
#include <cstring>

using namespace loopscope;

namespace {

/// Counts through the indices of a shape; at most kMaxDims dimensions.
class Odometer {
public:
    static constexpr size_t kMaxDims = 24;
    int64_t operator[](size_t i) const { return m_index[i]; }
    /// False when all have been seen. `extent(i)` is the size of dimension i of `rank`.
    template <typename F> bool advance(size_t rank, F extent)
    {
        for (size_t i = rank; i-- > 0;) {
            if (++m_index[i] < extent(i)) return true;
            m_index[i] = 0;
        }
        return false;
    }

private:
    std::array<int64_t, kMaxDims> m_index = {};
};

/// The flat place of the first number of the index at `batch`, and the step to the next number.
template <typename Batch> int64_t indexPlace(const Shape& indices, int64_t vectorDim, const Batch& batch, int64_t& step)
{
    int64_t place = 0;
    size_t from = 0;
    step = 0;
    for (int d = 0; d < indices.rank(); ++d) {
        if (d == vectorDim) step = strideOf(indices, d);
        else place += batch[from++] * strideOf(indices, d);
    }
    return place;
}

Status requireFewDims(const Shape& shape)
{
    if (static_cast<size_t>(shape.rank()) <= Odometer::kMaxDims) return {};
    return Error(ErrorCode::unsupported, "too many dimensions")
        .found(std::to_string(shape.rank()))
        .expected("at most " + std::to_string(Odometer::kMaxDims));
}

/// result[batch, offset] = operand[clamp(start[batch]) + offset]: one strided copy per batch index.
Status runGather(const KernelArgs& args)
{
    const auto& g = args.paramsAs<StablehloGather>();
    const Tensor& operand = args.in(0);
    const Tensor& indices = args.in(1);
    Tensor& out = args.out(0);
    LS_CHECK_OK(requireFewDims(out.shape));
    if (out.elementCount() == 0) return {};
    StridedCopy slice;
    for (size_t i = 0; i < g.offsetDims.size(); ++i)
        slice.add(g.sliceSizes[static_cast<size_t>(g.keptDims[i])], strideOf(operand.shape, static_cast<int>(g.keptDims[i])),
                  strideOf(out.shape, static_cast<int>(g.offsetDims[i])));
    const int64_t size = elementBytes(out);
    Odometer batch;
    do {
        int64_t step = 0;
        const int64_t at = indexPlace(indices.shape, g.indexVectorDim, batch, step);
        int64_t source = 0;
        for (size_t k = 0; k < g.startIndexMap.size(); ++k) {
            const int d = static_cast<int>(g.startIndexMap[k]);
            const int64_t last = operand.shape[d] - g.sliceSizes[static_cast<size_t>(d)];
            source += std::clamp<int64_t>(indexAt(indices, at + static_cast<int64_t>(k) * step), 0, std::max<int64_t>(0, last)) *
                      strideOf(operand.shape, d);
        }
        int64_t target = 0;
        for (size_t b = 0; b < g.batchDims.size(); ++b) target += batch[b] * strideOf(out.shape, static_cast<int>(g.batchDims[b]));
        LS_CHECK_OK(slice.runChecked(operand.data + source * size, out.data + target * size, size));
    } while (batch.advance(g.batchDims.size(), [&](size_t b) { return out.shape[static_cast<int>(g.batchDims[b])]; }));
    return {};
}

struct ScatterParams {
    StablehloScatter dims;
    Combination how;
    void (*apply)(Combination how, const std::byte* update, std::byte* element);
};

template <typename T> void applyTo(Combination how, const std::byte* update, std::byte* element)
{
    T a;
    T b;
    std::memcpy(&a, element, sizeof a);
    std::memcpy(&b, update, sizeof b);
    a = combine(how, a, b);
    std::memcpy(element, &a, sizeof a);
}

void applyToHalf(Combination how, const std::byte* update, std::byte* element)
{
    uint16_t a = 0;
    uint16_t b = 0;
    std::memcpy(&a, element, 2);
    std::memcpy(&b, update, 2);
    a = floatToF16(combine(how, f16ToFloat(a), f16ToFloat(b)));
    std::memcpy(element, &a, 2);
}

void applyToBool(Combination how, const std::byte* update, std::byte* element)
{
    const int a = *element != std::byte{0} ? 1 : 0;
    const int b = *update != std::byte{0} ? 1 : 0;
    *element = combine(how, a, b) != 0 ? std::byte{1} : std::byte{0};
}

/// operand[start[scatter] + window] = how(…, updates[scatter, window]), in the order of the updates; places outside are left out.
Status runScatter(const KernelArgs& args)
{
    const auto& params = args.paramsAs<ScatterParams>();
    const StablehloScatter& s = params.dims;
    const Tensor& operand = args.in(0);
    const Tensor& indices = args.in(1);
    const Tensor& updates = args.in(2);
    Tensor& out = args.out(0);
    LS_CHECK_OK(requireFewDims(out.shape));
    LS_CHECK_OK(requireFewDims(updates.shape));
    if (out.bytes > 0 && operand.data != out.data) std::memcpy(out.data, operand.data, out.bytes);
    if (updates.elementCount() == 0 || out.elementCount() == 0) return {};
    const int64_t size = elementBytes(out);
    Odometer scatter;
    do {
        int64_t step = 0;
        const int64_t at = indexPlace(indices.shape, s.indexVectorDim, scatter, step);
        std::array<int64_t, Odometer::kMaxDims> start = {};
        for (size_t k = 0; k < s.indexToOperand.size(); ++k)
            start[static_cast<size_t>(s.indexToOperand[k])] = indexAt(indices, at + static_cast<int64_t>(k) * step);
        int64_t from = 0;
        for (size_t i = 0; i < s.scatterDims.size(); ++i) from += scatter[i] * strideOf(updates.shape, static_cast<int>(s.scatterDims[i]));
        // Inserted dimensions have one position: their start decides for the whole window.
        bool inside = true;
        int64_t base = 0;
        for (int d = 0; d < out.shape.rank(); ++d) {
            if (std::find(s.windowToOperand.begin(), s.windowToOperand.end(), d) != s.windowToOperand.end()) continue;
            const int64_t place = start[static_cast<size_t>(d)];
            inside = inside && place >= 0 && place < out.shape[d];
            if (inside) base += place * strideOf(out.shape, d);
        }
        Odometer window;
        do {
            if (!inside) break;
            bool fits = true;
            int64_t source = from;
            int64_t target = base;
            for (size_t w = 0; fits && w < s.windowDims.size(); ++w) {
                const int d = static_cast<int>(s.windowToOperand[w]);
                int64_t place = 0;
                fits = !__builtin_add_overflow(start[static_cast<size_t>(d)], window[w], &place) && place >= 0 && place < out.shape[d];
                if (!fits) break;
                source += window[w] * strideOf(updates.shape, static_cast<int>(s.windowDims[w]));
                target += place * strideOf(out.shape, d);
            }
            if (fits) params.apply(params.how, updates.data + source * size, out.data + target * size);
        } while (window.advance(s.windowDims.size(), [&](size_t w) { return updates.shape[static_cast<int>(s.windowDims[w])]; }));
    } while (scatter.advance(s.scatterDims.size(), [&](size_t i) { return updates.shape[static_cast<int>(s.scatterDims[i])]; }));
    return {};
}

Result<PreparedKernel> prepareScatter(const KernelSetup& setup)
{
    auto params = std::make_shared<ScatterParams>();
    LS_TRY(params->how, combinationOf(setup));
    if (params->how == Combination::logicalAnd || params->how == Combination::logicalOr)
        return Error(ErrorCode::unsupported, "scatter region that combines by and, or");
    LS_TRY(params->dims, StablehloScatter::create(setup.attributes(), setup.in(0).shape, setup.in(1).shape, setup.in(2).shape));
    switch (setup.in(0).dtype) {
    case DType::f16: params->apply = applyToHalf; break;
    case DType::f32: params->apply = applyTo<float>; break;
    case DType::f64: params->apply = applyTo<double>; break;
    case DType::i8: params->apply = applyTo<int8_t>; break;
    case DType::i16: params->apply = applyTo<int16_t>; break;
    case DType::i32: params->apply = applyTo<int32_t>; break;
    case DType::i64: params->apply = applyTo<int64_t>; break;
    case DType::u8: params->apply = applyTo<uint8_t>; break;
    case DType::u16: params->apply = applyTo<uint16_t>; break;
    case DType::u32: params->apply = applyTo<uint32_t>; break;
    case DType::u64: params->apply = applyTo<uint64_t>; break;
    case DType::boolean: params->apply = applyToBool; break;
    default: return Error(ErrorCode::unsupported, "no kernel for dtype " + std::string(dtypeName(setup.in(0).dtype)));
    }
    return PreparedKernel{runScatter, std::move(params)};
}

Result<PreparedKernel> prepareGather(const KernelSetup& setup)
{
    LS_TRY(StablehloGather dims, StablehloGather::create(setup.attributes(), setup.in(0).shape, setup.in(1).shape));
    return prepareMovement(setup.in(0).dtype, runGather, std::make_shared<StablehloGather>(std::move(dims)));
}

} // namespace

LS_DEFINE_KERNELS(tfl, stablehlo_gather) { registry.add({"tfl", "stablehlo_gather", Profile::reference, prepareGather, kAllDTypes}); }

LS_DEFINE_KERNELS(tfl, stablehlo_scatter)
{
    registry.add({"tfl", "stablehlo_scatter", Profile::reference, prepareScatter, "f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool"});
}
