// Operators that change the order of elements by dimension or block: transpose, space_to_depth, depth_to_space, space_to_batch_nd,
// batch_to_space_nd, matrix_diag, matrix_set_diag.
#include "engine/ops/catalog.h"
#include "engine/ops/movement.h"

using namespace loopscope;

namespace {

Status inferTranspose(InferContext& c)
{
    const Shape& in = c.input(0).shape;
    LS_TRY(const auto perm, vectorOperand(c, 1, 1));
    const Shape& vector = c.input(1).shape;
    if (in.hasRank() && vector.hasRank() && vector[0] >= 0 && vector[0] != in.rank())
        return InferContext::violated(1, "elements of " + describeOperand(c, 1)).expected(std::to_string(in.rank()) + ", one for each dimension of the input");
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
            return InferContext::violated(2, "entry " + std::to_string(d) + " of the permutation").found(std::to_string(value))
                .expected("another of the " + std::to_string(in.rank()) + " dimensions");
        seen |= uint64_t{1} << *axis;
        out[d] = in[*axis];
    }
    c.setOutput(0, c.input(0).dtype, std::move(out));
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, transpose)
{
    // C1: there is an i32 or i64 entry for each dimension. C2: the entries are a permutation of the dimensions.
    return movementDef<inferTranspose>(2, "input, permutation [rank]", "Reorders the dimensions: dimension d of the result is dimension permutation[d] of the input.",
                                       "LiteRT kernels/transpose.cc");
}
