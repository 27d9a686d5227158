// Catalogue entries of TensorFlow's operators that go through a sequence step by step.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, CTCGreedyDecoder)
{
    return tfDef({2, 2, 4, 4}, "inputs [T,B,C], sequence_length [B]",
                 "The likeliest class of every step, repetitions and blanks left out, as a sparse tensor.", inferAtRunTime,
                 ErrorBounds(withinRelative(1e-6)).because("sums of sequence_length terms"));
}
LS_DEFINE_OP(tf, CumulativeLogsumexp)
{
    OpDef def = tfDef({2, 2}, "x, axis", "log Σ exp of the elements up to each one, along an axis.", inferTfSame,
                      ErrorBounds(withinUlp(4)).because("for each element of the sum"));
    return def;
}
