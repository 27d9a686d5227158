// Catalogue entries of TensorFlow's random numbers.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef draws(int inputs, std::string_view operands, std::string_view summary)
{
    OpDef def = tfStatefulDef({inputs, inputs}, operands, summary);
    def.differs = "with seed and seed2 both 0 the numbers follow from --seed; TensorFlow draws a seed at random";
    def.floatBound = "2 ulp";
    return def;
}
OpDef computes(int inputs, std::string_view operands, std::string_view summary)
{
    return tfDef({inputs, inputs}, operands, summary, inferAtRunTime, "2 ulp");
}

} // namespace

LS_DEFINE_OP(tf, RandomUniform) { return draws(1, "shape", "Random numbers from 0 to 1, 1 excluded."); }
LS_DEFINE_OP(tf, RandomStandardNormal) { return draws(1, "shape", "Random numbers of mean 0 and deviation 1."); }
LS_DEFINE_OP(tf, RandomUniformInt) { return draws(3, "shape, minval, maxval", "Random integers from minval to maxval, maxval excluded."); }
LS_DEFINE_OP(tf, StatelessRandomUniform) { return computes(2, "shape, seed [2]", "Numbers from 0 to 1 that the seed determines."); }
LS_DEFINE_OP(tf, StatelessRandomNormal) { return computes(2, "shape, seed [2]", "Numbers of mean 0 and deviation 1 that the seed determines."); }
