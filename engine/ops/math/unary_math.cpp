// Catalogue entries of element-wise functions of one operand. The result has the operand's dtype and shape.
// Constraint of SQRT and RSQRT: C1 a quantized operand is not negative (found while running).
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

LS_DEFINE_OP(tfl, neg)
{
    OpDef def = unaryDef("−x; the smallest integer stays.", "LiteRT kernels/neg.cc");
    return def;
}

LS_DEFINE_OP(tfl, abs) { return unaryDef("|x|; quantized operands are rescaled.", "LiteRT kernels/elementwise.cc"); }

LS_DEFINE_OP(tfl, sqrt)
{
    OpDef def = unaryDef("√x; NaN for negative x, which quantized operands must not hold.", "LiteRT kernels/elementwise.cc");
    def.differs = "int16 without quantization is refused; LiteRT crashes";
    return def;
}

LS_DEFINE_OP(tfl, rsqrt)
{
    OpDef def = unaryDef("1/√x.", "LiteRT kernels/elementwise.cc");
    def.differs = "int16 without quantization is refused; LiteRT crashes";
    return def;
}

LS_DEFINE_OP(tfl, square) { return unaryDef("x².", "LiteRT kernels/elementwise.cc"); }

LS_DEFINE_OP(tfl, exp) { return unaryDef("eˣ; quantized operands go through a table.", "LiteRT kernels/exp.cc", withinUlp(1)); }

LS_DEFINE_OP(tfl, log)
{
    OpDef def = unaryDef("Natural logarithm; quantized operands go through a table, in which x ≤ 0 gives the smallest value.",
                         "LiteRT kernels/elementwise.cc", withinUlp(1));
    def.differs = "int16 without quantization is refused; LiteRT crashes";
    return def;
}

LS_DEFINE_OP(tfl, sin) { return unaryDef("Sine of an angle in radians.", "LiteRT kernels/elementwise.cc", withinUlp(1)); }

LS_DEFINE_OP(tfl, cos) { return unaryDef("Cosine of an angle in radians.", "LiteRT kernels/elementwise.cc", withinUlp(1)); }

LS_DEFINE_OP(tfl, ceil) { return unaryDef("Smallest integer not below x.", "LiteRT kernels/ceil.cc"); }

LS_DEFINE_OP(tfl, floor) { return unaryDef("Largest integer not above x.", "LiteRT kernels/floor.cc"); }

LS_DEFINE_OP(tfl, round) { return unaryDef("Nearest integer; halves go to the even one.", "LiteRT kernels/round.cc"); }

LS_DEFINE_OP(tfl, sign) { return unaryDef("−1, 0 or 1; 0 for NaN.", "LiteRT kernels/sign.cc"); }
