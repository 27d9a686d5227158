// Catalogue entries of TensorFlow's random numbers.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef draws(int inputs, std::string_view operands, std::string_view summary)
{
    OpDef def = tfStatefulDef({inputs, inputs}, operands, summary);
    def.differs = "with seed and seed2 both 0 the numbers follow from --seed; TensorFlow draws a seed at random";
    def.floatBound = withinUlp(2);
    return def;
}
OpDef computes(int inputs, std::string_view operands, std::string_view summary)
{
    return tfDef({inputs, inputs}, operands, summary, inferAtRunTime, withinUlp(2));
}

} // namespace

LS_DEFINE_OP(tf, RandomUniform) { return draws(1, "shape", "Random numbers from 0 to 1, 1 excluded."); }
LS_DEFINE_OP(tf, RandomStandardNormal) { return draws(1, "shape", "Random numbers of mean 0 and deviation 1."); }
LS_DEFINE_OP(tf, RandomUniformInt) { return draws(3, "shape, minval, maxval", "Random integers from minval to maxval, maxval excluded."); }
LS_DEFINE_OP(tf, StatelessRandomUniform) { return computes(2, "shape, seed [2]", "Numbers from 0 to 1 that the seed determines."); }
LS_DEFINE_OP(tf, StatelessRandomNormal)
{
    return computes(2, "shape, seed [2]", "Numbers of mean 0 and deviation 1 that the seed determines.");
}
LS_DEFINE_OP(tf, TruncatedNormal) { return draws(1, "shape", "Random numbers of mean 0 and deviation 1, those beyond 2 drawn again."); }
LS_DEFINE_OP(tf, StatelessTruncatedNormal) { return computes(2, "shape, seed [2]", "Normal numbers below 2 that the seed determines."); }
LS_DEFINE_OP(tf, StatelessRandomUniformInt)
{
    return computes(4, "shape, seed [2], minval, maxval", "Integers from minval to maxval, maxval excluded, that the seed determines.");
}
LS_DEFINE_OP(tf, StatelessRandomUniformV2)
{
    return computes(4, "shape, key, counter, alg", "Numbers from 0 to 1 that the key determines.");
}
LS_DEFINE_OP(tf, StatelessRandomNormalV2) { return computes(4, "shape, key, counter, alg", "Normal numbers that the key determines."); }
LS_DEFINE_OP(tf, StatelessTruncatedNormalV2)
{
    return computes(4, "shape, key, counter, alg", "Normal numbers below 2 that the key determines.");
}
LS_DEFINE_OP(tf, StatelessRandomUniformIntV2)
{
    return computes(6, "shape, key, counter, alg, minval, maxval",
                    "Integers from minval to maxval, maxval excluded, that the key determines.");
}
LS_DEFINE_OP(tf, StatelessRandomGetKeyCounter) { return tfDef({1, 1, 2, 2}, "seed [2]", "Key and counter that a seed stands for."); }
LS_DEFINE_OP(tf, StatelessRandomGetKeyCounterAlg)
{
    return tfDef({1, 1, 3, 3}, "seed [2]", "Key and counter that a seed stands for, and the algorithm.");
}
LS_DEFINE_OP(tf, StatelessRandomGetAlg) { return tfDef({0, 0}, "", "The algorithm of random numbers: Philox, 1."); }
LS_DEFINE_OP(tf, StatelessRandomUniformFullInt) { return tfDef({2, 2}, "shape, seed", "Integers of all values that the seed determines."); }
LS_DEFINE_OP(tf, StatelessRandomUniformFullIntV2)
{
    return tfDef({4, 4}, "shape, key, counter, alg", "Integers of all values that the key determines.");
}
LS_DEFINE_OP(tf, StatefulUniform) { return tfStatefulDef({3, 3}, "resource, algorithm, shape", "Numbers from 0 to 1 of a generator."); }
LS_DEFINE_OP(tf, StatefulStandardNormalV2) { return tfStatefulDef({3, 3}, "resource, algorithm, shape", "Normal numbers of a generator."); }
LS_DEFINE_OP(tf, StatefulTruncatedNormal)
{
    return tfStatefulDef({3, 3}, "resource, algorithm, shape", "Normal numbers of a generator that are closer than 2 to 0.");
}
LS_DEFINE_OP(tf, StatefulUniformInt)
{
    return tfStatefulDef({5, 5}, "resource, algorithm, shape, minval, maxval",
                         "Integers of a generator from minval to maxval, maxval excluded.");
}
LS_DEFINE_OP(tf, StatefulUniformFullInt)
{
    return tfStatefulDef({3, 3}, "resource, algorithm, shape", "Integers of all values of a generator.");
}
LS_DEFINE_OP(tf, RngReadAndSkip)
{
    return tfStatefulDef({3, 3}, "resource, alg, delta", "The state of a generator, which then passes over so many numbers.");
}
LS_DEFINE_OP(tf, RngSkip)
{
    return tfStatefulDef({3, 3, 0, 0}, "resource, algorithm, delta", "Lets a generator pass over so many numbers.");
}
