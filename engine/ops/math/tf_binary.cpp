// Catalogue entries of TensorFlow's element-wise operators of two operands, which broadcast (gradient helpers do not).
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef binary(std::string_view summary, const ErrorBounds& bound = kExact)
{
    return tfDef({2, 2}, "x, y", summary, inferTfBroadcast, bound);
}
OpDef gradient(std::string_view summary) { return tfDef({2, 2}, "y or x, dy", summary, inferTfSame, withinUlp(2)); }

} // namespace

LS_DEFINE_OP(tf, Add) { return binary("x + y; strings are joined."); }
LS_DEFINE_OP(tf, AddV2) { return binary("x + y."); }
LS_DEFINE_OP(tf, Sub) { return binary("x − y."); }
LS_DEFINE_OP(tf, Mul) { return binary("x · y."); }
LS_DEFINE_OP(tf, MulNoNan) { return binary("x · y, 0 where y is 0."); }
LS_DEFINE_OP(tf, Div) { return binary("x / y; integers are truncated."); }
LS_DEFINE_OP(tf, RealDiv) { return binary("x / y."); }
LS_DEFINE_OP(tf, DivNoNan) { return binary("x / y, 0 where y is 0."); }
LS_DEFINE_OP(tf, FloorDiv) { return binary("x / y rounded towards −∞."); }
LS_DEFINE_OP(tf, TruncateDiv) { return binary("x / y rounded towards 0."); }
LS_DEFINE_OP(tf, FloorMod) { return binary("The remainder with the sign of y."); }
LS_DEFINE_OP(tf, Mod) { return binary("The remainder with the sign of x."); }
LS_DEFINE_OP(tf, TruncateMod) { return binary("The remainder with the sign of x."); }
LS_DEFINE_OP(tf, Maximum) { return binary("The larger one; NaN if either is."); }
LS_DEFINE_OP(tf, Minimum) { return binary("The smaller one; NaN if either is."); }
LS_DEFINE_OP(tf, SquaredDifference) { return binary("(x − y)²."); }
LS_DEFINE_OP(tf, Pow) { return binary("x to the power of y.", withinUlp(2)); }
LS_DEFINE_OP(tf, Atan2) { return binary("The angle of the point (y, x).", withinUlp(2)); }
LS_DEFINE_OP(tf, Xdivy) { return binary("x / y, 0 where x is 0."); }
LS_DEFINE_OP(tf, Xlogy) { return binary("x · log y, 0 where x is 0.", withinUlp(2)); }
LS_DEFINE_OP(tf, Xlog1py) { return binary("x · log(1 + y), 0 where x is 0.", withinUlp(2)); }
LS_DEFINE_OP(tf, NextAfter) { return binary("The number next to x in the direction of y."); }
LS_DEFINE_OP(tf, BitwiseAnd) { return binary("Bit by bit and."); }
LS_DEFINE_OP(tf, BitwiseOr) { return binary("Bit by bit or."); }
LS_DEFINE_OP(tf, BitwiseXor) { return binary("Bit by bit exclusive or."); }
LS_DEFINE_OP(tf, LeftShift) { return binary("x shifted left by y bits."); }
LS_DEFINE_OP(tf, RightShift) { return binary("x shifted right by y bits, its sign kept."); }
LS_DEFINE_OP(tf, TanhGrad) { return gradient("dy · (1 − y²), y being tanh x."); }
LS_DEFINE_OP(tf, SigmoidGrad) { return gradient("dy · y · (1 − y), y being the sigmoid of x."); }
LS_DEFINE_OP(tf, SqrtGrad) { return gradient("dy · 0.5 / y, y being √x."); }
LS_DEFINE_OP(tf, RsqrtGrad) { return gradient("dy · −0.5 · y³, y being 1/√x."); }
LS_DEFINE_OP(tf, ReciprocalGrad) { return gradient("−dy · y², y being 1/x."); }
LS_DEFINE_OP(tf, InvGrad) { return gradient("−dy · y², y being 1/x."); }
LS_DEFINE_OP(tf, ReluGrad) { return gradient("dy where x > 0."); }
LS_DEFINE_OP(tf, Relu6Grad) { return gradient("dy where 0 < x < 6."); }
LS_DEFINE_OP(tf, LeakyReluGrad) { return gradient("dy where x > 0, alpha · dy elsewhere."); }
LS_DEFINE_OP(tf, EluGrad) { return gradient("dy · (y + 1) where y < 0, dy elsewhere."); }
LS_DEFINE_OP(tf, SeluGrad) { return gradient("dy · (y + λα) where y < 0, λ · dy elsewhere."); }
LS_DEFINE_OP(tf, SoftplusGrad) { return gradient("dy / (1 + e⁻ˣ)."); }
LS_DEFINE_OP(tf, SoftsignGrad) { return gradient("dy / (1 + |x|)²."); }
