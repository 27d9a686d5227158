// Operators that change the order of elements by dimension or block: transpose, space_to_depth, depth_to_space, space_to_batch_nd,
// batch_to_space_nd, matrix_diag, matrix_set_diag.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

#include <algorithm>

using namespace loopscope;

namespace {

Status inferTranspose(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    LS_TRY(const auto perm, vectorOperand(c, 1, 1));
    const Shape& vector = c.input(1).shape;
    if (in.hasRank() && vector.hasRank() && vector[0] >= 0 && vector[0] != in.rank())
        return InferContext::violated(1, "elements of " + describeOperand(c, 1))
            .expected(std::to_string(in.rank()) + ", one for each dimension of the input");
    if (!in.hasRank() || in.rank() > kMaxRank) {
        c.setOutput(0, c.input(0).dtype, Shape::unknownRank());
        return {};
    }
    Shape out = Shape::ofRank(in.rank(), kUnknownDim);
    uint64_t seen = 0;
    for (int d = 0; perm && d < in.rank(); ++d) {
        const int64_t value = (*perm)[static_cast<size_t>(d)];
        const auto axis = normalAxis(value, in.rank());
        if (!axis || ((seen >> *axis) & 1U))
            return InferContext::violated(2, "entry " + std::to_string(d) + " of the permutation")
                .found(std::to_string(value))
                .expected("another of the " + std::to_string(in.rank()) + " dimensions");
        seen |= uint64_t{1} << *axis;
        out[d] = in[*axis];
    }
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

/// Blocks of `block_size` squared between the two spatial dimensions and the channels of [N,H,W,C].
template <bool toDepth> Status inferDepthSpace(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    LS_CHECK_OK(requireRank(c, 0, 4, 1));
    const int64_t block = attributeInt(c.attributes(), "block_size", 0);
    if (block < 1 || block > INT32_MAX) return InferContext::violated(2, "block_size").found(std::to_string(block)).expected("1 or more");
    if (!in.hasRank()) {
        c.setOutput(0, c.input(0).dtype, Shape::ofRank(4, kUnknownDim));
        return {};
    }
    Shape out = in;
    const auto divide = [&](int d, int64_t by) -> Status {
        if (in[d] >= 0 && in[d] % by != 0)
            return InferContext::violated(3, "dimension " + std::to_string(d) + " of the input")
                .found(std::to_string(in[d]))
                .expected("a multiple of " + std::to_string(by));
        if (in[d] >= 0) out[d] = in[d] / by;
        return {};
    };
    const auto multiply = [&](int d, int64_t by) -> Status {
        if (in[d] >= 0 && __builtin_mul_overflow(in[d], by, &out[d]))
            return InferContext::violated(3, "dimension " + std::to_string(d) + " becomes too large");
        return {};
    };
    if (toDepth) {
        LS_CHECK_OK(divide(1, block));
        LS_CHECK_OK(divide(2, block));
        LS_CHECK_OK(multiply(3, block * block));
    } else {
        LS_CHECK_OK(multiply(1, block));
        LS_CHECK_OK(multiply(2, block));
        LS_CHECK_OK(divide(3, block * block));
    }
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

/// Blocks between the batch and M spatial dimensions; `margins` are paddings (to batch) or crops (to space).
template <bool toBatch> Status inferBatchSpace(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    LS_TRY(const auto block, vectorOperand(c, 1, 1));
    LS_CHECK_OK(requireIndexType(c, 2, 1));
    LS_CHECK_OK(requireRank(c, 2, 2, 1));
    const Shape& blocks = c.input(1).shape;
    const Shape& margins = c.input(2).shape;
    const int64_t spatial = blocks.hasRank() ? blocks[0] : kUnknownDim;
    if (in.hasRank() && spatial >= in.rank())
        return InferContext::violated(1, "elements of " + describeOperand(c, 1))
            .expected("less than " + std::to_string(in.rank()) + ", the rank of the input");
    if (margins.hasRank() && ((spatial >= 0 && margins[0] >= 0 && margins[0] != spatial) || (margins[1] >= 0 && margins[1] != 2)))
        return InferContext::violated(1, "shape of " + describeOperand(c, 2)).expected("[" + std::to_string(spatial) + ",2]");
    if (!in.hasRank()) {
        c.setOutput(0, c.input(0).dtype, Shape::unknownRank());
        return {};
    }
    const auto values = c.intValues(2);
    if (!block || !values) {
        Shape out = Shape::ofRank(in.rank(), kUnknownDim);
        for (int d = spatial < 0 ? in.rank() : static_cast<int>(spatial) + 1; d < in.rank(); ++d) out[d] = in[d];
        c.setOutput(0, c.input(0).dtype, std::move(out));
        return {};
    }
    Shape out = in;
    int64_t product = 1;
    for (int i = 0; i < spatial; ++i) {
        const int64_t b = (*block)[static_cast<size_t>(i)];
        const int64_t first = (*values)[static_cast<size_t>(2 * i)];
        const int64_t last = (*values)[static_cast<size_t>(2 * i + 1)];
        if (b < 1 || b > INT32_MAX || __builtin_mul_overflow(product, b, &product))
            return InferContext::violated(2, "block size of dimension " + std::to_string(i + 1))
                .found(std::to_string(b))
                .expected("1 or more");
        if (first < 0 || last < 0 || first > INT32_MAX || last > INT32_MAX)
            return InferContext::violated(2, "margins of dimension " + std::to_string(i + 1))
                .found(std::to_string(first) + " and " + std::to_string(last))
                .expected("0 or more");
        const int64_t extent = in[i + 1];
        if (extent < 0) continue;
        if (toBatch) {
            const int64_t whole = extent + first + last;
            if (whole % b != 0)
                return InferContext::violated(3, "dimension " + std::to_string(i + 1) + " with its paddings")
                    .found(std::to_string(whole))
                    .expected("a multiple of " + std::to_string(b));
            out[i + 1] = whole / b;
        } else {
            int64_t whole = 0;
            if (__builtin_mul_overflow(extent, b, &whole) || whole < first + last)
                return InferContext::violated(3, "crops of dimension " + std::to_string(i + 1))
                    .found(std::to_string(first) + " and " + std::to_string(last))
                    .expected("together at most " + std::to_string(whole));
            out[i + 1] = whole - first - last;
        }
    }
    if (in[0] >= 0) {
        if (!toBatch && in[0] % product != 0)
            return InferContext::violated(3, "batch").found(std::to_string(in[0])).expected("a multiple of " + std::to_string(product));
        if (!toBatch) out[0] = in[0] / product;
        else if (__builtin_mul_overflow(in[0], product, &out[0])) return InferContext::violated(3, "the batch becomes too large");
    }
    if (out.isStatic() && !checkedElementCount(out))
        return InferContext::violated(3, "the result " + toString(out) + " has too many elements");
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferMatrixDiag(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    Shape out = in;
    if (in.hasRank()) {
        if (in.rank() == 0) return InferContext::violated(1, "rank of the input").found("0").expected("1 or more");
        out.append(in.back());
        if (out.isStatic() && !checkedElementCount(out))
            return InferContext::violated(1, "the result " + toString(out) + " has too many elements");
    }
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferMatrixSetDiag(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    const Shape& diagonal = c.input(1).shape;
    LS_CHECK_OK(requireSameType(c, 0, 1, 2));
    if (in.hasRank() && in.rank() < 2)
        return InferContext::violated(1, "rank of the input").found(std::to_string(in.rank())).expected("2 or more");
    if (in.hasRank() && diagonal.hasRank()) {
        Shape expected = in;
        expected.resize(in.rank() - 1, 0);
        const int64_t rows = in[in.rank() - 2];
        const int64_t columns = in.back();
        expected[in.rank() - 2] = rows < 0 || columns < 0 ? kUnknownDim : std::min(rows, columns);
        bool same = expected.rank() == diagonal.rank();
        for (int d = 0; same && d < expected.rank(); ++d) same = expected[d] < 0 || diagonal[d] < 0 || expected[d] == diagonal[d];
        if (!same) return InferContext::violated(2, "shape of the diagonal").found(toString(diagonal)).expected(toString(expected));
    }
    c.setOutput(0, c.input(0).dtype, in);
    return {};
}

constexpr std::string_view kDiagonalDiffers =
    "elements of every dtype are moved whole; LiteRT moves those that it does not list as 4 bytes";

} // namespace

LS_DEFINE_OP(tfl, transpose)
{
    // C1: there is an i32 or i64 entry for each dimension. C2: the entries are a permutation of the dimensions.
    return movementDef<inferTranspose>(2, "input, permutation [rank]",
                                       "Reorders the dimensions: dimension d of the result is dimension permutation[d] of the input.",
                                       "LiteRT kernels/transpose.cc");
}

LS_DEFINE_OP(tfl, space_to_depth)
{
    // C1: the input has 4 dimensions. C2: block_size is 1 or more. C3: height and width are multiples of it.
    return movementDef<inferDepthSpace<true>>(1, "input [N,H,W,C]", "Moves blocks of block_size by block_size pixels into the channels.",
                                              "LiteRT kernels/space_to_depth.cc");
}

LS_DEFINE_OP(tfl, depth_to_space)
{
    // C1: the input has 4 dimensions. C2: block_size is 1 or more. C3: the channels are a multiple of its square.
    return movementDef<inferDepthSpace<false>>(1, "input [N,H,W,C]", "Spreads the channels over blocks of block_size by block_size pixels.",
                                               "LiteRT kernels/depth_to_space.cc");
}

LS_DEFINE_OP(tfl, space_to_batch_nd)
{
    // C1: the block shape is a vector of M, less than the rank; paddings are [M,2]. C2: blocks are 1 or more, paddings 0 or more.
    // C3: padded dimensions are multiples of their block.
    OpDef def = movementDef<inferBatchSpace<true>>(3, "input [N,spatial…,rest…], block_shape [M], paddings [M,2]",
                                                   "Pads the spatial dimensions and moves each position within a block into the batch.",
                                                   "LiteRT kernels/space_to_batch_nd.cc");
    def.differs = "any number of spatial dimensions; LiteRT takes one or two";
    return def;
}

LS_DEFINE_OP(tfl, batch_to_space_nd)
{
    // C1: the block shape is a vector of M, less than the rank; crops are [M,2]. C2: blocks are 1 or more, crops 0 or more. C3: the batch
    // is a multiple of the product of the blocks, and the crops leave 0 or more.
    OpDef def = movementDef<inferBatchSpace<false>>(3, "input [N,spatial…,rest…], block_shape [M], crops [M,2]",
                                                    "Spreads the batch over blocks of the spatial dimensions and crops them.",
                                                    "LiteRT kernels/batch_to_space_nd.cc");
    def.differs = "any number of spatial dimensions; LiteRT takes one or two";
    return def;
}

LS_DEFINE_OP(tfl, matrix_diag)
{
    // C1: the input has a dimension, and the result is not too large.
    OpDef def = movementDef<inferMatrixDiag>(1, "diagonal […,N]", "Square matrices of zeros with the given diagonals.",
                                             "LiteRT kernels/matrix_diag.cc");
    def.differs = kDiagonalDiffers;
    return def;
}

LS_DEFINE_OP(tfl, matrix_set_diag)
{
    // C1: the input has two dimensions or more. C2: the diagonal has the input's dtype, and min(rows, columns) for its last two dimensions.
    OpDef def = movementDef<inferMatrixSetDiag>(2, "input […,M,N], diagonal […,min(M,N)]", "The input with the main diagonals replaced.",
                                                "LiteRT kernels/matrix_set_diag.cc");
    def.differs = kDiagonalDiffers;
    return def;
}
