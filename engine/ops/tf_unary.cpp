// Catalogue entries of TensorFlow's element-wise functions of one operand.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef unary(std::string_view summary, const ErrorBounds& bound = kExact) { return tfDef({}, "x", summary, inferTfSame, bound); }
OpDef function(std::string_view summary) { return unary(summary, withinUlp(2)); }
OpDef converted(std::string_view summary) { return tfDef({}, "x", summary, inferTfSame); }

/// The dtype is the one that the graph states, only the shape is the operand's.
Status inferBitcast(InferContext& context)
{
    const int from = bitWidth(context.input(0).dtype);
    const int to = bitWidth(context.output(0).dtype);
    if (from > 0 && from == to) context.output(0).shape = context.input(0).shape;
    return {};
}

} // namespace

LS_DEFINE_OP(tf, Abs) { return unary("|x|."); }
LS_DEFINE_OP(tf, Neg) { return unary("−x."); }
LS_DEFINE_OP(tf, Sign) { return unary("−1, 0 or 1; NaN stays."); }
LS_DEFINE_OP(tf, Square) { return unary("x²."); }
LS_DEFINE_OP(tf, Sqrt) { return unary("√x."); }
LS_DEFINE_OP(tf, Rsqrt) { return unary("1/√x."); }
LS_DEFINE_OP(tf, Reciprocal) { return unary("1/x."); }
LS_DEFINE_OP(tf, Inv) { return unary("1/x."); }
LS_DEFINE_OP(tf, Exp) { return function("eˣ."); }
LS_DEFINE_OP(tf, Expm1) { return function("eˣ − 1."); }
LS_DEFINE_OP(tf, Log) { return function("Natural logarithm."); }
LS_DEFINE_OP(tf, Log1p) { return function("log(1 + x)."); }
LS_DEFINE_OP(tf, Sin) { return function("Sine."); }
LS_DEFINE_OP(tf, Cos) { return function("Cosine."); }
LS_DEFINE_OP(tf, Tan) { return function("Tangent."); }
LS_DEFINE_OP(tf, Asin) { return function("Arc sine."); }
LS_DEFINE_OP(tf, Acos) { return function("Arc cosine."); }
LS_DEFINE_OP(tf, Atan) { return function("Arc tangent."); }
LS_DEFINE_OP(tf, Sinh) { return function("Hyperbolic sine."); }
LS_DEFINE_OP(tf, Cosh) { return function("Hyperbolic cosine."); }
LS_DEFINE_OP(tf, Tanh)
{
    return unary("Hyperbolic tangent; f32 by TensorFlow's quotient of polynomials.", ErrorBounds(kExact).withF64(withinUlp(2)));
}
LS_DEFINE_OP(tf, Asinh) { return function("Inverse hyperbolic sine."); }
LS_DEFINE_OP(tf, Acosh) { return function("Inverse hyperbolic cosine."); }
LS_DEFINE_OP(tf, Atanh) { return function("Inverse hyperbolic tangent."); }
LS_DEFINE_OP(tf, Erf) { return function("Error function."); }
LS_DEFINE_OP(tf, Erfc) { return function("1 − erf x."); }
LS_DEFINE_OP(tf, Erfinv) { return function("The inverse of the error function."); }
LS_DEFINE_OP(tf, Lgamma) { return function("log |Γ(x)|."); }
LS_DEFINE_OP(tf, Digamma) { return function("The derivative of log Γ(x)."); }
LS_DEFINE_OP(tf, PopulationCount) { return converted("How many bits are set."); }
LS_DEFINE_OP(tf, Floor) { return unary("Rounded towards −∞."); }
LS_DEFINE_OP(tf, Ceil) { return unary("Rounded towards ∞."); }
LS_DEFINE_OP(tf, Round) { return unary("Rounded to the nearest integer, ties to the even one."); }
LS_DEFINE_OP(tf, Rint) { return unary("Rounded to the nearest integer, ties to the even one."); }
LS_DEFINE_OP(tf, Invert) { return unary("Bit by bit not."); }
LS_DEFINE_OP(tf, Sigmoid) { return function("1 / (1 + e⁻ˣ)."); }
LS_DEFINE_OP(tf, Relu) { return unary("max(x, 0)."); }
LS_DEFINE_OP(tf, Relu6) { return unary("min(max(x, 0), 6)."); }
LS_DEFINE_OP(tf, LeakyRelu) { return unary("x where x > 0, alpha · x elsewhere."); }
LS_DEFINE_OP(tf, Elu) { return function("x where x ≥ 0, eˣ − 1 elsewhere."); }
LS_DEFINE_OP(tf, Selu) { return function("λx where x ≥ 0, λα(eˣ − 1) elsewhere."); }
LS_DEFINE_OP(tf, Softplus) { return function("log(1 + eˣ)."); }
LS_DEFINE_OP(tf, Softsign) { return unary("x / (1 + |x|)."); }
LS_DEFINE_OP(tf, Conj) { return unary("The complex conjugate."); }
LS_DEFINE_OP(tf, Real) { return converted("The real part."); }
LS_DEFINE_OP(tf, Imag) { return converted("The imaginary part."); }
LS_DEFINE_OP(tf, ComplexAbs) { return converted("The absolute value of a complex number."); }
LS_DEFINE_OP(tf, Angle) { return converted("The angle of a complex number."); }
LS_DEFINE_OP(tf, Complex) { return tfDef({2, 2}, "real, imag", "The complex number of two parts.", inferTfBroadcast); }
LS_DEFINE_OP(tf, Cast) { return converted("Converted to another dtype; floats are truncated to integers."); }
LS_DEFINE_OP(tf, Bitcast) { return tfDef({}, "input", "The same bytes as another dtype.", inferBitcast); }
