// Operators that read or write at places given by index tensors: gather, gather_nd, scatter_nd, sparse_to_dense.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

using namespace loopscope;

namespace {

/// Errors: C1 unless operand `i` is i16, i32 or i64 (or not known yet).
Status requirePositions(const InferContext& c, int i)
{
    if (c.input(i).dtype == DType::i16) return {};
    auto status = requireIndexType(c, i, 1);
    if (status.ok()) return status;
    return InferContext::violated(1, "dtype of operand " + std::to_string(i))
        .found(std::string(dtypeName(c.input(i).dtype)))
        .expected("i16, i32 or i64");
}

Status inferGather(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    const Shape& positions = c.input(1).shape;
    LS_CHECK_OK(requirePositions(c, 1));
    if (!in.hasRank()) {
        c.setOutput(0, c.input(0).dtype, Shape::unknownRank());
        return {};
    }
    const int64_t axisValue = attributeInt(c.attributes(), "axis", 0);
    const auto axis = normalAxis(axisValue, in.rank());
    if (!axis)
        return InferContext::violated(2, "axis")
            .found(std::to_string(axisValue))
            .expected("within the " + std::to_string(in.rank()) + " dimensions of the input");
    if (!positions.hasRank()) {
        c.setOutput(0, c.input(0).dtype, Shape::unknownRank());
        return {};
    }
    const int64_t batchValue = attributeInt(c.attributes(), "batch_dims", 0);
    const int64_t batch = batchValue < 0 ? batchValue + positions.rank() : batchValue;
    if (batch < 0 || batch > *axis || batch > positions.rank())
        return InferContext::violated(3, "batch_dims")
            .found(std::to_string(batchValue))
            .expected("at most axis (" + std::to_string(*axis) + ") and the rank of the positions (" + std::to_string(positions.rank()) +
                      ")");
    Shape out;
    for (int d = 0; d < *axis; ++d) {
        int64_t extent = in[d];
        if (d < batch && positions[d] >= 0) {
            if (extent >= 0 && extent != positions[d])
                return InferContext::violated(3, "batch dimension " + std::to_string(d) + " of the positions")
                    .found(std::to_string(positions[d]))
                    .expected(std::to_string(extent));
            extent = positions[d];
        }
        out.append(extent);
    }
    for (int d = static_cast<int>(batch); d < positions.rank(); ++d) out.append(positions[d]);
    for (int d = *axis + 1; d < in.rank(); ++d) out.append(in[d]);
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

/// How many dimensions an index tuple names: the last dimension of operand `i`, −1 if not known yet.
/// Errors: C2 if operand `i` is a scalar or names more than `rank` dimensions (−1: any).
Result<int64_t> tupleLength(const InferContext& c, int i, int rank)
{
    const Shape& indices = c.input(i).shape;
    if (!indices.hasRank()) return int64_t{-1};
    if (indices.rank() == 0) return InferContext::violated(2, "rank of " + describeOperand(c, i)).found("0").expected("1 or more");
    if (rank >= 0 && indices.back() > rank)
        return InferContext::violated(2, "last dimension of " + describeOperand(c, i)).expected("at most " + std::to_string(rank));
    return indices.back();
}

Status inferGatherNd(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    const Shape& indices = c.input(1).shape;
    LS_CHECK_OK(requirePositions(c, 1));
    LS_TRY(const int64_t tuple, tupleLength(c, 1, in.hasRank() ? in.rank() : -1));
    Shape out;
    if (!in.hasRank() || tuple < 0) out = Shape::unknownRank();
    else {
        for (int d = 0; d + 1 < indices.rank(); ++d) out.append(indices[d]);
        for (int d = static_cast<int>(tuple); d < in.rank(); ++d) out.append(in[d]);
    }
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

Status inferScatterNd(InferContext& c)
{
    const Shape& indices = c.input(0).shape;
    const Shape& updates = c.input(1).shape;
    LS_CHECK_OK(requireIndexType(c, 0, 1));
    LS_TRY(Shape out, shapeFromOperand(c, 2, 4));
    LS_TRY(const int64_t tuple, tupleLength(c, 0, out.hasRank() ? out.rank() : -1));
    if (tuple >= 0 && out.hasRank() && updates.hasRank()) {
        Shape expected;
        for (int d = 0; d + 1 < indices.rank(); ++d) expected.append(indices[d]);
        for (int d = static_cast<int>(tuple); d < out.rank(); ++d) expected.append(out[d]);
        bool same = expected.rank() == updates.rank();
        for (int d = 0; same && d < expected.rank(); ++d) same = expected[d] < 0 || updates[d] < 0 || expected[d] == updates[d];
        if (!same) return InferContext::violated(3, "shape of the updates").found(toString(updates)).expected(toString(expected));
    }
    c.setOutput(0, c.input(1).dtype, std::move(out));
    return {};
}

Status inferSparseToDense(InferContext& c)
{
    LS_CHECK_OK(requireIndexType(c, 0, 1));
    LS_CHECK_OK(requireSameType(c, 2, 3, 4));
    LS_TRY(Shape out, shapeFromOperand(c, 1, 3));
    const Shape& indices = c.input(0).shape;
    const Shape& values = c.input(2).shape;
    if (indices.hasRank()) {
        if (indices.rank() > 2) return InferContext::violated(2, "rank of " + describeOperand(c, 0)).expected("at most 2");
        const int64_t count = indices.rank() == 0 ? 1 : indices[0];
        const int64_t tuple = indices.rank() == 2 ? indices[1] : 1;
        if (out.hasRank() && tuple >= 0 && tuple != out.rank())
            return InferContext::violated(2, "numbers per index")
                .found(std::to_string(tuple))
                .expected(std::to_string(out.rank()) + ", the rank of the result");
        if (values.hasRank() && (values.rank() > 1 || (values.rank() == 1 && values[0] >= 0 && count >= 0 && values[0] != count)))
            return InferContext::violated(4, "shape of the values")
                .found(toString(values))
                .expected("[] or [" + std::to_string(count) + "]");
    }
    if (c.input(3).shape.isStatic() && checkedElementCount(c.input(3).shape) != 1)
        return InferContext::violated(4, "shape of the default value").found(toString(c.input(3).shape)).expected("[]");
    c.setOutput(0, c.input(2).dtype, std::move(out));
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, gather)
{
    // C1: positions are i16, i32 or i64. C2: axis lies within the input's rank. C3: batch_dims are equal dimensions before axis.
    // C4 (running): every position lies within the dimension.
    return movementDef<inferGather>(2, "input, positions", "Picks slices of the input along axis by position.", "LiteRT kernels/gather.cc");
}

LS_DEFINE_OP(tfl, gather_nd)
{
    // C1: indices are i16, i32 or i64. C2: index tuples name at most all dimensions. C3 (running): every index lies within its dimension.
    return movementDef<inferGatherNd>(2, "input, indices […,names]", "Picks elements or slices of the input by index tuples.",
                                      "LiteRT kernels/gather_nd.cc");
}

LS_DEFINE_OP(tfl, scatter_nd)
{
    // C1: indices are i32 or i64. C2: index tuples name at most all dimensions. C3: there is an update for each tuple. C4: the shape
    // operand is a vector of dimensions. C5 (running): every index lies within its dimension.
    return movementDef<inferScatterNd>(3, "indices […,names], updates, shape [rank]",
                                       "Adds the updates up at their places in a tensor of zeros.", "LiteRT kernels/scatter_nd.cc");
}

LS_DEFINE_OP(tfl, sparse_to_dense)
{
    // C1: indices are i32 or i64. C2: each index has a number for each dimension. C3: the shape operand is a vector of dimensions.
    // C4: one value for each index, or one for all; a single default. C5 (running): every index lies within its dimension.
    return movementDef<inferSparseToDense>(4, "indices [], [N] or [N,rank], shape [rank], values [] or [N], default []",
                                           "A tensor of the default value with values put at the indices.",
                                           "LiteRT kernels/sparse_to_dense.cc");
}
