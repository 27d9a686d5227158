// Catalogue entries of TensorFlow's random operators that draw from their operands.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

LS_DEFINE_OP(tf, RandomShuffle)
{
    OpDef def = tfStatefulDef({1, 1}, "value", "Rows in random order.");
    def.infer = inferTfSame;
    return def;
}
LS_DEFINE_OP(tf, Multinomial)
{
    return tfStatefulDef({2, 2}, "logits [B,C], num_samples", "Classes drawn by the logarithms of their weights.");
}
LS_DEFINE_OP(tf, StatelessMultinomial)
{
    return tfDef({3, 3}, "logits [B,C], num_samples, seed [2]", "Classes drawn by the logarithms of their weights.");
}
LS_DEFINE_OP(tf, RandomGamma) { return tfStatefulDef({2, 2}, "shape, alpha", "Numbers of gamma distributions."); }
LS_DEFINE_OP(tf, StatelessRandomGammaV2)
{
    return tfDef({3, 3}, "shape, seed [2], alpha", "Numbers of gamma distributions.", inferAtRunTime, withinRelative(1e-6));
}
LS_DEFINE_OP(tf, StatelessRandomGammaV3)
{
    return tfDef({5, 5}, "shape, key, counter, alg, alpha", "Numbers of gamma distributions.", inferAtRunTime, withinRelative(1e-6));
}
LS_DEFINE_OP(tf, RandomPoissonV2) { return tfStatefulDef({2, 2}, "shape, rate", "Numbers of Poisson distributions."); }
LS_DEFINE_OP(tf, StatelessRandomPoisson) { return tfDef({3, 3}, "shape, seed [2], lam", "Numbers of Poisson distributions."); }
