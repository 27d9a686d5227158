// Catalogue entries of TensorFlow's normalizations.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr ErrorBounds kNormBound = withinRelative(1e-6);

OpDef layer(TfArity arity, std::string_view operands, std::string_view summary)
{
    return tfDef(arity, operands, summary, inferAtRunTime, kNormBound);
}

} // namespace

LS_DEFINE_OP(tf, FusedBatchNorm)
{
    return layer({5, 5, 5, 5}, "x, scale, offset, mean, variance", "Each channel with mean 0 and variance 1, then scaled and moved.");
}
LS_DEFINE_OP(tf, FusedBatchNormV2)
{
    return layer({5, 5, 5, 5}, "x, scale, offset, mean, variance", "Each channel with mean 0 and variance 1, then scaled and moved.");
}
LS_DEFINE_OP(tf, FusedBatchNormV3)
{
    return layer({5, 5, 6, 6}, "x, scale, offset, mean, variance", "Each channel with mean 0 and variance 1, then scaled and moved.");
}
LS_DEFINE_OP(tf, FusedBatchNormGrad)
{
    return layer({5, 5, 5, 5}, "y_backprop, x, scale, saved mean, saved variance", "The gradient of FusedBatchNorm.");
}
LS_DEFINE_OP(tf, FusedBatchNormGradV2)
{
    return layer({5, 5, 5, 5}, "y_backprop, x, scale, saved mean, saved variance", "The gradient of FusedBatchNormV2.");
}
LS_DEFINE_OP(tf, FusedBatchNormGradV3)
{
    return layer({6, 6, 5, 5}, "y_backprop, x, scale, saved mean, saved variance, reserve_space_3", "The gradient of FusedBatchNormV3.");
}
LS_DEFINE_OP(tf, LRNGrad) { return layer({3, 3}, "input_grads, input_image, output_image", "The gradient of LRN."); }
LS_DEFINE_OP(tf, LRN)
{
    return layer({}, "input [N,H,W,C]", "Each element over a power of the squares of its neighbours in the channels.");
}
