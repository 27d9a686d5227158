// Catalogue entries of TensorFlow's softmax and cross entropies.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr ErrorBounds kNnBound = withinRelative(1e-6);

} // namespace

LS_DEFINE_OP(tf, Softmax) { return tfDef({}, "logits", "e^x over the sum of e^x along the last dimension.", inferTfSame, kNnBound); }
LS_DEFINE_OP(tf, LogSoftmax)
{
    return tfDef({}, "logits", "The logarithm of the softmax along the last dimension.", inferTfSame, kNnBound);
}
LS_DEFINE_OP(tf, SoftmaxCrossEntropyWithLogits)
{
    return tfDef({2, 2, 2, 2}, "features [N,C], labels [N,C]", "Cross entropy of softmax and labels, and its gradient.", inferAtRunTime,
                 kNnBound);
}
LS_DEFINE_OP(tf, SparseSoftmaxCrossEntropyWithLogits)
{
    return tfDef({2, 2, 2, 2}, "features [N,C], labels [N]", "Cross entropy of softmax and class numbers, and its gradient.",
                 inferAtRunTime, kNnBound);
}
