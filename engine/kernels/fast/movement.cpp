// transpose and gather of elements that have whole bytes: what the reference kernels copy element by element, in tiles and short runs.
#include "engine/kernels/cpu/movement.h"

#include "engine/kernels/cpu/nn_common.h"
#include "engine/kernels/fast/copy.h"
#include "engine/kernels/registry.h"
#include "engine/ops/movement.h"

#include <algorithm>
#include <cstring>
#include <memory>

using namespace loopscope;
using namespace loopscope::fast;

namespace {

struct Dim {
    int64_t count, source, target; ///< strides in elements
};

/// The loops of a transposition, outermost first: those of size 1 vanish, neighbours that continue each other become one.
struct Loops {
    static constexpr int kMost = 8;
    Dim dims[kMost];
    int rank = 0;

    void add(Dim dim)
    {
        if (dim.count == 1) return;
        if (rank > 0 && dims[rank - 1].source == dim.count * dim.source && dims[rank - 1].target == dim.count * dim.target) {
            dims[rank - 1] = {dims[rank - 1].count * dim.count, dim.source, dim.target};
            return;
        }
        dims[rank++] = dim;
    }
};

template <size_t bytes> struct Element {
    std::byte data[bytes];
};

typedef int32_t Four __attribute__((vector_size(16)));

template <typename T> inline Four loadFour(const T* from)
{
    Four four;
    std::memcpy(&four, from, sizeof(four));
    return four;
}

/// Four by four elements of four bytes: to[r · targetStride + c] = from[c · stride + r].
template <typename T> inline void turnFour(const T* from, int64_t stride, int64_t targetStride, T* to)
{
    const Four a = loadFour(from), b = loadFour(from + stride), c = loadFour(from + 2 * stride), d = loadFour(from + 3 * stride);
    const Four ab0 = __builtin_shuffle(a, b, Four{0, 4, 1, 5}), ab1 = __builtin_shuffle(a, b, Four{2, 6, 3, 7});
    const Four cd0 = __builtin_shuffle(c, d, Four{0, 4, 1, 5}), cd1 = __builtin_shuffle(c, d, Four{2, 6, 3, 7});
    const Four rows[] = {__builtin_shuffle(ab0, cd0, Four{0, 1, 4, 5}), __builtin_shuffle(ab0, cd0, Four{2, 3, 6, 7}),
                         __builtin_shuffle(ab1, cd1, Four{0, 1, 4, 5}), __builtin_shuffle(ab1, cd1, Four{2, 3, 6, 7})};
    for (int r = 0; r < 4; ++r) std::memcpy(to + r * targetStride, &rows[r], sizeof(Four));
}

/// to[r · targetStride + c] = from[c · stride + r]: columns of the source become rows.
template <typename T> void turn(const T* from, int64_t rows, int64_t columns, int64_t stride, int64_t targetStride, T* to)
{
    constexpr int64_t kTile = 16;
    for (int64_t c = 0; c < columns; c += kTile)
        for (int64_t r = 0; r < rows; r += kTile) {
            const int64_t lastColumn = std::min(columns, c + kTile), lastRow = std::min(rows, r + kTile);
            int64_t whole = c; // the columns that were done by fours
            if constexpr (sizeof(T) == 4)
                for (; whole + 4 <= lastColumn; whole += 4) {
                    int64_t i = r;
                    for (; i + 4 <= lastRow; i += 4)
                        turnFour(from + whole * stride + i, stride, targetStride, to + i * targetStride + whole);
                    for (; i < lastRow; ++i)
                        for (int64_t k = whole; k < whole + 4; ++k) to[i * targetStride + k] = from[k * stride + i];
                }
            for (int64_t i = r; i < lastRow; ++i)
                for (int64_t k = whole; k < lastColumn; ++k) to[i * targetStride + k] = from[k * stride + i];
        }
}

/// One plane of a transposition: the loop whose elements lie side by side in the source, and the innermost one, which is that of the
/// result. `first` is the first of them; the others are walked by the caller.
struct Plane {
    int turned = -1; ///< which loop has the source's stride 1; −1: the innermost one, whose elements are copied as they are
    int64_t pieces = 1;
};

template <size_t bytes>
void copyPieces(const Loops& loops, const Plane& plane, const std::byte* source, std::byte* target, int64_t begin, int64_t end)
{
    const Dim& inner = loops.dims[loops.rank - 1];
    for (int64_t piece = begin; piece < end; ++piece) {
        int64_t rest = piece, from = 0, to = 0;
        for (int d = loops.rank - 2; d >= 0; --d) {
            if (d == plane.turned) continue;
            from += rest % loops.dims[d].count * loops.dims[d].source;
            to += rest % loops.dims[d].count * loops.dims[d].target;
            rest /= loops.dims[d].count;
        }
        using T = Element<bytes>;
        const T* const x = reinterpret_cast<const T*>(source) + from;
        T* const y = reinterpret_cast<T*>(target) + to;
        if (plane.turned >= 0) {
            turn(x, loops.dims[plane.turned].count, inner.count, inner.source, loops.dims[plane.turned].target, y);
        } else if (inner.source == 1) {
            copyRun(x, inner.count, y);
        } else {
            for (int64_t i = 0; i < inner.count; ++i) y[i] = x[i * inner.source];
        }
    }
}

/// Falls back to the reference's way for what it finds wrong, so that its words are the same.
struct TransposeParams {
    PreparedKernel reference;
};

bool findLoops(const Tensor& in, const Tensor& permutation, const Tensor& out, Loops& loops)
{
    uint64_t seen = 0;
    if (out.shape.rank() > Loops::kMost) return false;
    for (int d = 0; d < out.shape.rank(); ++d) {
        const auto axis = normalAxis(indexAt(permutation, d), in.shape.rank());
        if (!axis || ((seen >> *axis) & 1U) || in.shape[*axis] != out.shape[d]) return false;
        seen |= uint64_t{1} << *axis;
        loops.add({out.shape[d], strideOf(in.shape, *axis), strideOf(out.shape, d)});
    }
    return out.elementCount() > 0;
}

Status runTranspose(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    Loops loops;
    if (!findLoops(in, args.in(1), out, loops)) {
        const PreparedKernel& reference = args.paramsAs<TransposeParams>().reference;
        KernelArgs inner = args;
        inner.params = reference.params.get();
        return reference.run(inner);
    }
    const int64_t size = elementBytes(out);
    if (loops.rank == 0) {
        copyBytes(in.data, static_cast<size_t>(size), out.data);
        return {};
    }
    Plane plane;
    for (int d = 0; d + 1 < loops.rank; ++d)
        if (loops.dims[d].source == 1) plane.turned = d;
    for (int d = 0; d + 1 < loops.rank; ++d)
        if (d != plane.turned) plane.pieces *= loops.dims[d].count;
    const auto copy = size == 1   ? copyPieces<1>
                      : size == 2 ? copyPieces<2>
                      : size == 4 ? copyPieces<4>
                      : size == 8 ? copyPieces<8>
                                  : copyPieces<16>;
    shareWork(args, plane.pieces, out.elementCount() / plane.pieces,
              [&](int64_t begin, int64_t end, int) { copy(loops, plane, in.data, out.data, begin, end); });
    return {};
}

bool hasWholeBytes(DType dtype) { return dtype != DType::string && bitWidth(dtype) >= 8; }

Error wholeBytesOnly(const KernelSetup& setup)
{
    return Error(ErrorCode::unsupported, "elements of whole bytes only").found(std::string(dtypeName(setup.in(0).dtype)));
}

Result<PreparedKernel> prepareTranspose(const KernelSetup& setup)
{
    const KernelEntry* const reference = KernelRegistry::builtin().find(setup.op.kind, Profile::reference);
    if (!reference || !hasWholeBytes(setup.in(0).dtype)) return wholeBytesOnly(setup);
    auto params = std::make_shared<TransposeParams>();
    LS_TRY(params->reference, reference->prepare(setup));
    return PreparedKernel{runTranspose, std::move(params)};
}

struct GatherParams {
    int64_t axis, batch;
};

template <typename P> Status gatherRows(const KernelArgs& args, int axis, int batch)
{
    const Tensor &in = args.in(0), &positions = args.in(1);
    const int64_t extent = in.shape[axis], inner = in.shape.countOf(axis + 1, in.shape.rank()) * elementBytes(args.out(0));
    const int64_t outer = in.shape.countOf(batch, axis), pieces = in.shape.countOf(0, batch) * outer;
    const int64_t count = positions.shape.countOf(batch, positions.shape.rank());
    const P* const all = positions.as<P>();
    for (int64_t i = 0; i < positions.elementCount(); ++i)
        if (all[i] < 0 || all[i] >= extent)
            return kernelError(4, "position " + std::to_string(i))
                .found(std::to_string(all[i]))
                .expected("0 to " + std::to_string(extent - 1));
    if (inner == 0) return {};
    shareWork(args, pieces * count, inner / 8 + 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t at = begin; at < end;) { // as far as the piece goes
            const int64_t piece = at / count, first = at - piece * count, last = std::min(count, first + end - at);
            const std::byte* const source = in.data + piece * extent * inner;
            const P* const from = all + piece / outer * count;
            std::byte* to = args.out(0).data + at * inner;
            for (int64_t i = first; i < last; ++i, to += inner) copyBytes(source + from[i] * inner, static_cast<size_t>(inner), to);
            at += last - first;
        }
    });
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

/// One slice along the first axis: what a loop takes from a sequence.
struct SliceParams {
    int64_t extent;
    size_t bytes;
};
template <typename P> Status runGatherSlice(const KernelArgs& args)
{
    const auto& params = args.paramsAs<SliceParams>();
    const int64_t position = *args.in(1).as<P>();
    if (position < 0 || position >= params.extent) return gatherRows<P>(args, 0, 0); // which says what is wrong
    std::memcpy(args.out(0).data, args.in(0).data + static_cast<size_t>(position) * params.bytes, params.bytes);
    return {};
}

Result<PreparedKernel> prepareGather(const KernelSetup& setup)
{
    if (!hasWholeBytes(setup.in(0).dtype)) return wholeBytesOnly(setup);
    const Tensor &in = setup.in(0), &positions = setup.in(1);
    const bool isSlice = setup.shapesAreStatic && attributeInt(setup.attributes(), "axis", 0) == 0 &&
                         attributeInt(setup.attributes(), "batch_dims", 0) == 0 && positions.elementCount() == 1 && in.shape.rank() > 0 &&
                         (positions.dtype == DType::i32 || positions.dtype == DType::i64);
    constexpr int64_t kMostBytes = 1 << 16; // larger ones are shared
    const int64_t bytes = isSlice ? in.shape.countOf(1, in.shape.rank()) * elementBytes(in) : 0;
    if (bytes > 0 && bytes <= kMostBytes)
        return PreparedKernel{positions.dtype == DType::i32 ? runGatherSlice<int32_t> : runGatherSlice<int64_t>,
                              std::make_shared<const SliceParams>(SliceParams{in.shape[0], static_cast<size_t>(bytes)})};
    return PreparedKernel{runGather, std::make_shared<const GatherParams>(GatherParams{attributeInt(setup.attributes(), "axis", 0),
                                                                                       attributeInt(setup.attributes(), "batch_dims", 0)})};
}

} // namespace

LS_DEFINE_PROFILE_KERNELS(fast, tfl, transpose) { registry.add({"tfl", "transpose", Profile::fast, prepareTranspose, kAllDTypes, kExact}); }
LS_DEFINE_PROFILE_KERNELS(fast, tfl, gather) { registry.add({"tfl", "gather", Profile::fast, prepareGather, kAllDTypes, kExact}); }
