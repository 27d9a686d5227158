// Catalogue entries of TensorFlow's element-wise functions of one operand.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef unary(std::string_view summary, const ErrorBounds& bound = kExact) { return tfDef({}, "x", summary, inferTfSame, bound); }
OpDef function(std::string_view summary) { return unary(summary, withinUlp(2)); }
/// f32 bit for bit; the other dtypes in the C library's way.
OpDef asEigen(std::string_view summary) { return unary(summary, ErrorBounds(kExact).withF64(withinUlp(2))); }
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
LS_DEFINE_OP(tf, Rsqrt) { return unary("1/√x.", withinUlp(2)); }
LS_DEFINE_OP(tf, Reciprocal) { return unary("1/x.", withinUlp(3)); }
LS_DEFINE_OP(tf, Inv) { return unary("1/x.", withinUlp(3)); }
LS_DEFINE_OP(tf, Exp) { return asEigen("eˣ."); }
LS_DEFINE_OP(tf, Expm1) { return asEigen("eˣ − 1."); }
LS_DEFINE_OP(tf, Log) { return asEigen("Natural logarithm."); }
LS_DEFINE_OP(tf, Log1p) { return asEigen("log(1 + x)."); }
LS_DEFINE_OP(tf, Sin) { return unary("Sine.", ErrorBounds(withinUlp(1)).withF64(withinUlp(2))); }
LS_DEFINE_OP(tf, Cos) { return unary("Cosine.", ErrorBounds(withinUlp(1)).withF64(withinUlp(2))); }
LS_DEFINE_OP(tf, Tan) { return asEigen("Tangent."); }
LS_DEFINE_OP(tf, Asin) { return asEigen("Arc sine."); }
LS_DEFINE_OP(tf, Acos) { return asEigen("Arc cosine."); }
LS_DEFINE_OP(tf, Atan) { return unary("Arc tangent.", ErrorBounds(withinUlp(4)).withF64(withinUlp(2))); }
LS_DEFINE_OP(tf, Sinh) { return asEigen("Hyperbolic sine."); }
LS_DEFINE_OP(tf, Cosh) { return asEigen("Hyperbolic cosine."); }
LS_DEFINE_OP(tf, Tanh)
{
    return unary("Hyperbolic tangent; f32 by TensorFlow's quotient of polynomials.", ErrorBounds(kExact).withF64(withinUlp(2)));
}
LS_DEFINE_OP(tf, Asinh) { return asEigen("Inverse hyperbolic sine."); }
LS_DEFINE_OP(tf, Acosh) { return asEigen("Inverse hyperbolic cosine."); }
LS_DEFINE_OP(tf, Atanh) { return asEigen("Inverse hyperbolic tangent."); }
LS_DEFINE_OP(tf, Erf) { return asEigen("Error function."); }
LS_DEFINE_OP(tf, Erfc) { return unary("1 − erf x.", ErrorBounds(withinUlp(4)).withF64(withinUlp(2))); }
LS_DEFINE_OP(tf, Erfinv) { return function("The inverse of the error function."); }
LS_DEFINE_OP(tf, Lgamma) { return asEigen("log |Γ(x)|."); }
LS_DEFINE_OP(tf, Digamma) { return asEigen("The derivative of log Γ(x)."); }
LS_DEFINE_OP(tf, PopulationCount) { return converted("How many bits are set."); }
LS_DEFINE_OP(tf, Floor) { return unary("Rounded towards −∞."); }
LS_DEFINE_OP(tf, Ceil) { return unary("Rounded towards ∞."); }
LS_DEFINE_OP(tf, Round) { return unary("Rounded to the nearest integer, ties to the even one."); }
LS_DEFINE_OP(tf, Rint) { return unary("Rounded to the nearest integer, ties to the even one."); }
LS_DEFINE_OP(tf, Invert) { return unary("Bit by bit not."); }
LS_DEFINE_OP(tf, Sigmoid) { return asEigen("1 / (1 + e⁻ˣ)."); }
LS_DEFINE_OP(tf, Relu) { return unary("max(x, 0)."); }
LS_DEFINE_OP(tf, Relu6) { return unary("min(max(x, 0), 6)."); }
LS_DEFINE_OP(tf, LeakyRelu) { return unary("x where x > 0, alpha · x elsewhere."); }
LS_DEFINE_OP(tf, Elu) { return asEigen("x where x ≥ 0, eˣ − 1 elsewhere."); }
LS_DEFINE_OP(tf, Selu) { return asEigen("λx where x ≥ 0, λα(eˣ − 1) elsewhere."); }
LS_DEFINE_OP(tf, Softplus) { return asEigen("log(1 + eˣ)."); }
LS_DEFINE_OP(tf, Softsign) { return unary("x / (1 + |x|)."); }
LS_DEFINE_OP(tf, Conj) { return unary("The complex conjugate."); }
LS_DEFINE_OP(tf, Real) { return converted("The real part."); }
LS_DEFINE_OP(tf, Imag) { return converted("The imaginary part."); }
LS_DEFINE_OP(tf, ComplexAbs) { return converted("The absolute value of a complex number."); }
LS_DEFINE_OP(tf, Angle) { return converted("The angle of a complex number."); }
LS_DEFINE_OP(tf, Complex) { return tfDef({2, 2}, "real, imag", "The complex number of two parts.", inferTfBroadcast); }
LS_DEFINE_OP(tf, Cast) { return converted("Converted to another dtype; floats are truncated to integers."); }
LS_DEFINE_OP(tf, Bitcast) { return tfDef({}, "input", "The same bytes as another dtype.", inferBitcast); }
