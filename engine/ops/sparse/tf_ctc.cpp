// Catalogue entries of connectionist temporal classification.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, CTCLoss)
{
    return tfDef({4, 4, 2, 2}, "inputs, labels_indices, labels_values, sequence_length",
                 "What aligning labels with a sequence costs, and the gradient by its logits; the last class is the blank.", inferAtRunTime,
                 withinRelative(1e-5));
}
LS_DEFINE_OP(tf, CTCBeamSearchDecoder)
{
    return tfDef({2, 2, 1, -1}, "inputs, sequence_length", "The likeliest sequences of labels, and how likely they are.", inferAtRunTime,
                 withinRelative(1e-5));
}
