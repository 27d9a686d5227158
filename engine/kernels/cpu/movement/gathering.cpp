// Kernels that read or write at places given by index tensors. Every index is checked before it is used.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"
#include "engine/ops/movement.h"
#include "engine/tensor/half.h"

#include <cstring>

using namespace loopscope;

namespace {

struct GatherParams {
    int64_t axis = 0, batch = 0;
};

template <typename P> Status gatherRows(const KernelArgs& args, int axis, int batch)
{
    const Tensor& in = args.in(0);
    const Tensor& positions = args.in(1);
    Tensor& out = args.out(0);
    const int64_t extent = in.shape[axis];
    const int64_t inner = in.shape.countOf(axis + 1, in.shape.rank()) * elementBytes(out);
    const int64_t batches = in.shape.countOf(0, batch);
    const int64_t outer = in.shape.countOf(batch, axis);
    const int64_t count = positions.shape.countOf(batch, positions.shape.rank());
    const P* all = positions.as<P>();
    for (int64_t i = 0; i < batches * count; ++i)
        if (all[i] < 0 || all[i] >= extent)
            return kernelError(4, "position " + std::to_string(i))
                .found(std::to_string(all[i]))
                .expected("0 to " + std::to_string(extent - 1));
    if (inner == 0) return {};
    std::byte* target = out.data;
    for (int64_t b = 0; b < batches; ++b)
        for (int64_t o = 0; o < outer; ++o) {
            const std::byte* source = in.data + (b * outer + o) * extent * inner;
            for (int64_t i = 0; i < count; ++i, target += inner)
                std::memcpy(target, source + all[b * count + i] * inner, static_cast<size_t>(inner));
        }
    return {};
}

Status runGather(const KernelArgs& args)
{
    const auto& params = args.paramsAs<GatherParams>();
    const int axis = static_cast<int>(params.axis < 0 ? params.axis + args.in(0).shape.rank() : params.axis);
    const int batch = static_cast<int>(params.batch < 0 ? params.batch + args.in(1).shape.rank() : params.batch);
    switch (args.in(1).dtype) {
    case DType::i16: return gatherRows<int16_t>(args, axis, batch);
    case DType::i64: return gatherRows<int64_t>(args, axis, batch);
    default: return gatherRows<int32_t>(args, axis, batch);
    }
}

/// The flat place that index tuple `i` names in the leading dimensions of `shape`, in slices; −1 and `bad` set if it lies outside.
int64_t placeOf(const Tensor& indices, int64_t i, int64_t tuple, const Shape& shape, int& bad)
{
    int64_t place = 0;
    for (int d = 0; d < tuple; ++d) {
        const int64_t index = indexAt(indices, i * tuple + d);
        if (index < 0 || index >= shape[d]) {
            bad = d;
            return -1;
        }
        place = place * shape[d] + index;
    }
    return place;
}

Error outside(int constraint, const Tensor& indices, int64_t i, int64_t tuple, const Shape& shape, int d)
{
    return kernelError(constraint, "index " + std::to_string(i) + " into dimension " + std::to_string(d))
        .found(std::to_string(indexAt(indices, i * tuple + d)))
        .expected("0 to " + std::to_string(shape[d] - 1));
}

Status runGatherNd(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    const Tensor& indices = args.in(1);
    Tensor& out = args.out(0);
    const int64_t tuple = indices.shape.back();
    const int64_t count = indices.shape.countOf(0, indices.shape.rank() - 1);
    const int64_t slice = in.shape.countOf(static_cast<int>(tuple), in.shape.rank()) * elementBytes(out);
    for (int64_t i = 0; i < count; ++i) {
        int bad = 0;
        const int64_t place = placeOf(indices, i, tuple, in.shape, bad);
        if (place < 0) return outside(3, indices, i, tuple, in.shape, bad);
        if (slice > 0) std::memcpy(out.data + i * slice, in.data + place * slice, static_cast<size_t>(slice));
    }
    return {};
}

/// out[place] += update, as unsigned integers of the same width (wraps around) or in the float format itself.
template <typename T> void addRun(const std::byte* update, std::byte* target, int64_t count)
{
    const auto* from = reinterpret_cast<const T*>(update);
    auto* to = reinterpret_cast<T*>(target);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(to[i] + from[i]);
}

void addHalf(const std::byte* update, std::byte* target, int64_t count)
{
    const auto* from = reinterpret_cast<const uint16_t*>(update);
    auto* to = reinterpret_cast<uint16_t*>(target);
    for (int64_t i = 0; i < count; ++i) to[i] = floatToF16(f16ToFloat(to[i]) + f16ToFloat(from[i]));
}

void addBfloat(const std::byte* update, std::byte* target, int64_t count)
{
    const auto* from = reinterpret_cast<const uint16_t*>(update);
    auto* to = reinterpret_cast<uint16_t*>(target);
    for (int64_t i = 0; i < count; ++i) to[i] = floatToBf16(bf16ToFloat(to[i]) + bf16ToFloat(from[i]));
}

/// true + true is true.
void addBool(const std::byte* update, std::byte* target, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) target[i] |= update[i];
}

using AddRun = void (*)(const std::byte* update, std::byte* target, int64_t count);

struct ScatterParams {
    AddRun add;
};

AddRun addFor(DType dtype)
{
    switch (dtype) {
    case DType::f32: return addRun<float>;
    case DType::f64: return addRun<double>;
    case DType::f16: return addHalf;
    case DType::bf16: return addBfloat;
    case DType::i8:
    case DType::u8: return addRun<uint8_t>;
    case DType::i16:
    case DType::u16: return addRun<uint16_t>;
    case DType::i32:
    case DType::u32: return addRun<uint32_t>;
    case DType::i64:
    case DType::u64: return addRun<uint64_t>;
    case DType::boolean: return addBool;
    default: return nullptr;
    }
}

Status runScatterNd(const KernelArgs& args)
{
    const Tensor& indices = args.in(0);
    const Tensor& updates = args.in(1);
    Tensor& out = args.out(0);
    const int64_t tuple = indices.shape.back();
    const int64_t count = indices.shape.countOf(0, indices.shape.rank() - 1);
    const int64_t slice = out.shape.countOf(static_cast<int>(tuple), out.shape.rank());
    const int64_t size = elementBytes(out);
    if (out.bytes > 0) std::memset(out.data, 0, out.bytes);
    for (int64_t i = 0; i < count; ++i) {
        int bad = 0;
        const int64_t place = placeOf(indices, i, tuple, out.shape, bad);
        if (place < 0) return outside(5, indices, i, tuple, out.shape, bad);
        args.paramsAs<ScatterParams>().add(updates.data + i * slice * size, out.data + place * slice * size, slice);
    }
    return {};
}

Status runSparseToDense(const KernelArgs& args)
{
    const Tensor& indices = args.in(0);
    const Tensor& values = args.in(2);
    Tensor& out = args.out(0);
    const int64_t size = elementBytes(out);
    StridedCopy fill;
    fill.add(out.elementCount(), 0, 1);
    fill.run(args.in(3).data, out.data, size);
    const int64_t tuple = indices.shape.rank() == 2 ? indices.shape[1] : 1;
    const int64_t count = indices.shape.rank() == 0 ? 1 : indices.shape[0];
    for (int64_t i = 0; i < count; ++i) {
        int bad = 0;
        const int64_t place = placeOf(indices, i, tuple, out.shape, bad);
        if (place < 0) return outside(5, indices, i, tuple, out.shape, bad);
        std::memcpy(out.data + place * size, values.data + (values.shape.rank() == 0 ? 0 : i * size), static_cast<size_t>(size));
    }
    return {};
}

} // namespace

LS_DEFINE_KERNELS(tfl, gather)
{
    registry.add({"tfl", "gather", Profile::reference,
                  [](const KernelSetup& s) {
                      return prepareMovement(s.in(0).dtype, runGather,
                                             std::make_shared<GatherParams>(GatherParams{attributeInt(s.attributes(), "axis", 0),
                                                                                         attributeInt(s.attributes(), "batch_dims", 0)}));
                  },
                  kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, gather_nd)
{
    registry.add({"tfl", "gather_nd", Profile::reference, [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runGatherNd); },
                  kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, scatter_nd)
{
    registry.add({"tfl", "scatter_nd", Profile::reference,
                  [](const KernelSetup& s) -> Result<PreparedKernel> {
                      const AddRun add = addFor(s.in(1).dtype);
                      if (!add) return Error(ErrorCode::unsupported, "no kernel for dtype " + std::string(dtypeName(s.in(1).dtype)));
                      return PreparedKernel{runScatterNd, std::make_shared<ScatterParams>(ScatterParams{add})};
                  },
                  "f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool"});
}

LS_DEFINE_KERNELS(tfl, sparse_to_dense)
{
    registry.add({"tfl", "sparse_to_dense", Profile::reference,
                  [](const KernelSetup& s) { return prepareMovement(s.in(2).dtype, runSparseToDense); }, kAllDTypes});
}
