// Catalogue entries of L2_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION.
// Constraint of L2_NORMALIZATION: C1 the operand has at least one dimension. Of LOCAL_RESPONSE_NORMALIZATION: C1 it has four.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Status inferL2(InferContext& context)
{
    const Shape& shape = context.input(0).shape;
    if (shape.hasRank() && shape.rank() == 0) return InferContext::violated(1, "the operand is a scalar; it must have a dimension");
    return inferSameAsInput(context);
}

Status inferLocalResponse(InferContext& context)
{
    const Shape& shape = context.input(0).shape;
    if (shape.hasRank() && shape.rank() != 4)
        return InferContext::violated(1, "the operand has rank " + std::to_string(shape.rank()) + "; it must have rank 4");
    return inferSameAsInput(context);
}

} // namespace

LS_DEFINE_OP(tfl, l2_normalization)
{
    OpDef def =
        unaryDef("x / √(Σx²) over the last dimension; the root is at least 1e-6.", "LiteRT kernels/l2norm.cc", withinRelative(1e-6));
    def.infer = inferL2;
    return def;
}

LS_DEFINE_OP(tfl, local_response_normalization)
{
    OpDef def = unaryDef("x · (bias + alpha·Σx²)^−beta, the sum taken over the channels at most `radius` away.",
                         "LiteRT kernels/local_response_norm.cc", withinRelative(1e-6));
    def.operands = "input [N,H,W,C]";
    def.infer = inferLocalResponse;
    def.differs = "the window holds channel c + radius; LiteRT's reference kernel leaves it out, its optimized one does not";
    return def;
}
