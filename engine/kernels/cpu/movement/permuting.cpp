// Kernels that change the order of elements by dimension or block.
#include "engine/kernels/cpu/movement.h"
#include "engine/kernels/registry.h"
#include "engine/ops/movement.h"

#include <algorithm>
#include <cstring>

using namespace loopscope;

namespace {

Status runTranspose(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    StridedCopy copy;
    uint64_t seen = 0;
    for (int d = 0; d < out.shape.rank(); ++d) {
        const auto axis = normalAxis(indexAt(args.in(1), d), in.shape.rank());
        if (!axis || ((seen >> *axis) & 1U) || in.shape[*axis] != out.shape[d])
            return kernelError(2, "entry " + std::to_string(d) + " of the permutation")
                .found(std::to_string(indexAt(args.in(1), d)))
                .expected("another of the " + std::to_string(in.shape.rank()) + " dimensions");
        seen |= uint64_t{1} << *axis;
        copy.add(out.shape[d], strideOf(in.shape, *axis), strideOf(out.shape, d));
    }
    return copy.runChecked(in.data, out.data, elementBytes(out));
}

struct BlockParams {
    int64_t block = 1;
};

/// One side has shape [N,H·b,W·b,C], the other [N,H,W,b·b·C]; both directions run over N, H, b, W, b, C.
template <bool toDepth> Status runDepthSpace(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    const int64_t block = args.paramsAs<BlockParams>().block;
    const Shape& space = toDepth ? in.shape : out.shape;
    const Shape& depth = toDepth ? out.shape : in.shape;
    StridedCopy copy;
    const auto add = [&](int64_t count, int64_t spaceStride, int64_t depthStride) {
        if (toDepth) copy.add(count, spaceStride, depthStride);
        else copy.add(count, depthStride, spaceStride);
    };
    const int64_t channels = space[3];
    add(space[0], strideOf(space, 0), strideOf(depth, 0));
    add(depth[1], block * strideOf(space, 1), strideOf(depth, 1));
    add(block, strideOf(space, 1), block * channels);
    add(depth[2], block * strideOf(space, 2), strideOf(depth, 2));
    add(block, strideOf(space, 2), channels);
    add(channels, 1, 1);
    return copy.runChecked(in.data, out.data, elementBytes(out));
}

struct BatchParams {
    std::array<std::byte, 16> padding = {}; ///< the element that paddings hold
};

/// One side has shape [N,S…,R…] (space), the other [N·blocks,s…,R…] (batch). Position s of the batch side, in the part of the batch that
/// belongs to offset o of the block, is position s · block + o − margin of the space side, where that exists.
template <bool toBatch> Status runBatchSpace(const KernelArgs& args)
{
    const Tensor& in = args.in(0);
    Tensor& out = args.out(0);
    const Tensor& blocks = args.in(1);
    const Tensor& margins = args.in(2);
    const int64_t size = elementBytes(out);
    const Shape& space = toBatch ? in.shape : out.shape;
    const Shape& batch = toBatch ? out.shape : in.shape;
    const int spatial = static_cast<int>(blocks.elementCount());
    if (toBatch) {
        StridedCopy fill;
        fill.add(out.elementCount(), 0, 1);
        fill.run(args.paramsAs<BatchParams>().padding.data(), out.data, size);
    }
    if (in.elementCount() == 0 || out.elementCount() == 0) return {};
    if (spatial > StridedCopy::kMaxRank) return Error(ErrorCode::unsupported, "too many spatial dimensions").found(std::to_string(spatial));
    int64_t product = 1;
    for (int i = 0; i < spatial; ++i) {
        const int64_t block = indexAt(blocks, i);
        if (block < 1 || __builtin_mul_overflow(product, block, &product) || product > batch[0] || indexAt(margins, 2 * i) < 0 ||
            indexAt(margins, 2 * i) > INT32_MAX)
            return kernelError(2, "block or margin of dimension " + std::to_string(i + 1));
    }
    if (product * space[0] != batch[0])
        return kernelError(3, "batch").found(std::to_string(batch[0])).expected(std::to_string(product * space[0]));
    for (int64_t part = 0; part < product; ++part) {
        StridedCopy copy;
        int64_t spaceOffset = 0;
        int64_t batchOffset = part * space[0] * strideOf(batch, 0);
        const auto add = [&](int64_t count, int64_t spaceStride, int64_t batchStride) {
            if (toBatch) copy.add(count, spaceStride, batchStride);
            else copy.add(count, batchStride, spaceStride);
        };
        add(space[0], strideOf(space, 0), strideOf(batch, 0));
        int64_t inner = product;
        int64_t rest = part;
        bool any = true;
        for (int i = 0; i < spatial; ++i) {
            const int d = i + 1;
            const int64_t block = indexAt(blocks, i);
            inner /= block;
            const int64_t shift = rest / inner - indexAt(margins, 2 * i); // space position of batch position 0
            rest %= inner;
            const int64_t first = shift >= 0 ? 0 : (-shift + block - 1) / block;
            const int64_t end = std::min(batch[d], shift >= space[d] ? 0 : (space[d] - shift - 1) / block + 1);
            if (end <= first) {
                any = false;
                break;
            }
            add(end - first, block * strideOf(space, d), strideOf(batch, d));
            spaceOffset += (first * block + shift) * strideOf(space, d);
            batchOffset += first * strideOf(batch, d);
        }
        if (!any) continue;
        add(strideOf(space, spatial), 1, 1);
        const int64_t source = toBatch ? spaceOffset : batchOffset;
        const int64_t target = toBatch ? batchOffset : spaceOffset;
        LS_CHECK_OK(copy.runChecked(in.data + source * size, out.data + target * size, size));
    }
    return {};
}

Result<PreparedKernel> prepareSpaceToBatch(const KernelSetup& setup)
{
    auto params = std::make_shared<BatchParams>();
    const Tensor& out = setup.out(0);
    const DType dtype = setup.in(0).dtype;
    if (out.quantization && isInteger(dtype) && bitWidth(dtype) <= 16) {
        const int64_t zero = out.quantization->zeroPoint();
        std::memcpy(params->padding.data(), &zero, 2);
    }
    return prepareMovement(dtype, runBatchSpace<true>, std::move(params));
}

/// Puts `diagonal`, […,K], on the main diagonals of `out`, […,M,N].
Status writeDiagonals(const Tensor& diagonal, Tensor& out)
{
    const int64_t columns = out.shape.back();
    const int64_t matrix = out.shape[out.shape.rank() - 2] * columns;
    const int64_t length = diagonal.shape.back();
    StridedCopy copy;
    copy.add(diagonal.shape.countOf(0, diagonal.shape.rank() - 1), length, matrix);
    copy.add(length, 1, columns + 1);
    return copy.runChecked(diagonal.data, out.data, elementBytes(out));
}

Status runMatrixDiag(const KernelArgs& args)
{
    Tensor& out = args.out(0);
    if (out.bytes > 0) std::memset(out.data, 0, out.bytes);
    return writeDiagonals(args.in(0), out);
}

Status runMatrixSetDiag(const KernelArgs& args)
{
    Tensor& out = args.out(0);
    if (out.bytes > 0 && out.data != args.in(0).data) std::memcpy(out.data, args.in(0).data, out.bytes);
    return writeDiagonals(args.in(1), out);
}

} // namespace

LS_DEFINE_KERNELS(tfl, transpose)
{
    registry.add({"tfl", "transpose", Profile::reference, [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runTranspose); },
                  kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, space_to_depth)
{
    registry.add({"tfl", "space_to_depth", Profile::reference,
                  [](const KernelSetup& s) {
                      return prepareMovement(s.in(0).dtype, runDepthSpace<true>,
                                             std::make_shared<BlockParams>(BlockParams{attributeInt(s.attributes(), "block_size", 1)}));
                  },
                  kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, depth_to_space)
{
    registry.add({"tfl", "depth_to_space", Profile::reference,
                  [](const KernelSetup& s) {
                      return prepareMovement(s.in(0).dtype, runDepthSpace<false>,
                                             std::make_shared<BlockParams>(BlockParams{attributeInt(s.attributes(), "block_size", 1)}));
                  },
                  kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, space_to_batch_nd)
{
    registry.add({"tfl", "space_to_batch_nd", Profile::reference, prepareSpaceToBatch, kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, batch_to_space_nd)
{
    registry.add(
        {"tfl", "batch_to_space_nd", Profile::reference,
         [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runBatchSpace<false>, std::make_shared<BatchParams>()); },
         kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, matrix_diag)
{
    registry.add({"tfl", "matrix_diag", Profile::reference,
                  [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runMatrixDiag); }, kAllDTypes});
}

LS_DEFINE_KERNELS(tfl, matrix_set_diag)
{
    registry.add({"tfl", "matrix_set_diag", Profile::reference,
                  [](const KernelSetup& s) { return prepareMovement(s.in(0).dtype, runMatrixSetDiag); }, kAllDTypes});
}
