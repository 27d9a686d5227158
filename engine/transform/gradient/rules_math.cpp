// Gradients of operators on single elements, with broadcasting where there are two operands.
#include "engine/transform/gradient/gradient_rules.h"

#include <algorithm>

namespace loopscope {

namespace {

using Case = GradientCase;
using Grad = GradientValue;

/// dy · slope; gradients of holomorphic functions take the conjugate.
void chain(Case& c, Grad slope) { c.give(c.dy[0] * conj(c, slope)); }

void powRule(Case& c) // x^y: dx = dy · y · x^(y−1), dy = dy · x^y · ln x, which counts as 0 where x ≤ 0
{
    const Grad x = c.x[0], y = c.x[1], z = c.y[0];
    const Grad zeros = zerosLike(c, x);
    const Grad isPositive = c.nodes.node("Greater", {x, zeros});
    const Grad logOfX = c.nodes.node("Select", {isPositive, call(c, "Log", select(c, isPositive, x, number(c, 1))), zeros});
    giveBroadcast(c, c.dy[0] * (y * c.nodes.node("Pow", {x, y - number(c, 1)})), c.dy[0] * (z * logOfX));
}

/// The larger or smaller of two takes the gradient; of equal ones the first.
void pickRule(Case& c, std::string_view comparison)
{
    const Grad zeros = zerosLike(c, c.dy[0]);
    const Grad first = c.nodes.node(comparison, {c.x[0], c.x[1]});
    giveBroadcast(c, c.nodes.node("Select", {first, c.dy[0], zeros}), c.nodes.node("Select", {first, zeros, c.dy[0]}));
}

void selectRule(Case& c)
{
    const Grad zeros = zerosLike(c, c.dy[0]);
    c.dx[1] = c.nodes.node("Select", {c.x[0], c.dy[0], zeros});
    c.dx[2] = c.nodes.node("Select", {c.x[0], zeros, c.dy[0]});
}

void selectV2Rule(Case& c)
{
    const Grad zeros = zerosLike(c, c.dy[0]);
    if (c.wanted[1]) c.dx[1] = reduceTo(c, select(c, c.x[0], c.dy[0], zeros), c.x[1]);
    if (c.wanted[2]) c.dx[2] = reduceTo(c, select(c, c.x[0], zeros, c.dy[0]), c.x[2]);
}

void modRule(Case& c) { giveBroadcast(c, c.dy[0], -c.dy[0] * ((c.x[0] - c.y[0]) / c.x[1])); } // x = q · y + x mod y, q constant

/// 1 where x is not 0.
Grad isNotZero(Case& c, Grad x) { return castTo(c, c.nodes.node("NotEqual", {x, zerosLike(c, x)}), c.nodes.dtype(x)); }

/// f(x, y) that is 0 where x is: `kind` of (x ≠ 0, y) for x, Xdivy of what is given for y.
void maskedRule(Case& c, Grad numerator, Grad denominator)
{
    const Grad byX = c.nodes.node(c.op.kind.name, {isNotZero(c, c.x[0]), c.x[1]});
    giveBroadcast(c, c.dy[0] * byX, c.dy[0] * c.nodes.node("Xdivy", {numerator, denominator}));
}

void atan2Rule(Case& c)
{
    const Grad scaled = c.dy[0] / (square(c, c.x[0]) + square(c, c.x[1]));
    giveBroadcast(c, c.x[1] * scaled, -c.x[0] * scaled);
}

void besselRule(Case& c, std::string_view zeroth, bool isScaled) // I1' = I0 − I1/x, 1/2 at 0; scaled by e^−|x| also − sign(x) · I1e
{
    const Grad x = c.x[0], isZero = c.nodes.node("Equal", {x, zerosLike(c, x)});
    const Grad safe = select(c, isZero, number(c, 1), x);
    Grad slope = call(c, zeroth, x) - c.y[0] / safe;
    if (isScaled) slope = slope - call(c, "Sign", x) * c.y[0];
    c.give(c.dy[0] * select(c, isZero, number(c, 0.5), slope));
}

void betaincRule(Case& c) // by x: x^(a−1) · (1−x)^(b−1) / B(a, b)
{
    const Grad a = c.x[0], b = c.x[1], x = c.x[2];
    const Grad logBeta = call(c, "Lgamma", a) + call(c, "Lgamma", b) - call(c, "Lgamma", a + b);
    const Grad slope = call(c, "Exp", (b - number(c, 1)) * call(c, "Log1p", -x) + (a - number(c, 1)) * call(c, "Log", x) - logBeta);
    if (c.wanted[0] || c.wanted[1]) c.refusal = "there is no gradient by its parameters a and b";
    c.dx[2] = reduceTo(c, c.dy[0] * slope, x);
}

void igammaRule(Case& c, bool isUpper) // by x: ± x^(a−1) · e^(−x) / Γ(a)
{
    const Grad a = c.x[0], x = c.x[1];
    const Grad slope = call(c, "Exp", (a - number(c, 1)) * call(c, "Log", x) - x - call(c, "Lgamma", a));
    if (c.wanted[0]) c.refusal = "there is no gradient by its parameter a";
    c.dx[1] = reduceTo(c, c.dy[0] * (isUpper ? -slope : slope), x);
}

void castBack(Case& c) { c.give(c.nodes.node("Cast", {c.dy[0]}, {{"DstT", c.nodes.dtype(c.x[0])}})); }

Grad complexOf(Case& c, Grad re, Grad im) { return c.nodes.node("Complex", {re, im}, {{"Tout", c.dtype()}}); }

void angleRule(Case& c) // −dy / (im + i·re)
{
    const Grad re = c.nodes.node("Real", {c.x[0]}, {{"Tout", c.nodes.dtype(c.dy[0])}});
    const Grad im = c.nodes.node("Imag", {c.x[0]}, {{"Tout", c.nodes.dtype(c.dy[0])}});
    c.give(-complexOf(c, c.dy[0], zerosLike(c, c.dy[0])) * call(c, "Reciprocal", complexOf(c, im, re)));
}

void fakeQuantRule(Case& c, std::string_view kind)
{
    const Grad operands[] = {c.dy[0], c.x[0], c.x[1], c.x[2]};
    c.dx = c.nodes.add(kind, operands, attributesOf(c, {"narrow_range", "num_bits"}));
}

// clang-format off
constexpr NamedGradientRule kMathRules[] = {
    {"Identity", kSymbolic, [](Case& c) { c.give(c.dy[0]); }},
    {"RefIdentity", kGraphsOnly, [](Case& c) { c.give(c.dy[0]); }},
    {"IdentityN", kSymbolic, [](Case& c) { c.dx = c.dy; }},
    {"Snapshot", kSymbolic, [](Case& c) { c.give(c.dy[0]); }},
    {"Print", kGraphsOnly, [](Case& c) { c.give(c.dy[0]); }},
    {"EnsureShape", kGraphsOnly, [](Case& c) { c.give(c.dy[0]); }},
    {"PlaceholderWithDefault", kGraphsOnly, [](Case& c) { c.give(c.dy[0]); }},
    {"CheckNumerics", kGraphsOnly, [](Case& c) { c.give(c.nodes.node("CheckNumerics", {c.dy[0]}, attributesOf(c, {"message"}))); }},
    {"PreventGradient", kGraphsOnly, [](Case& c) { c.refusal = "it forbids gradients: '" + std::string(attributeString(c.op.attributes, "message", "")) + "'"; }},
    {"QuantizeAndDequantizeV2", kGraphsOnly, [](Case& c) { c.give(c.dy[0]); }},
    {"QuantizeAndDequantizeV3", kGraphsOnly, [](Case& c) { c.give(c.dy[0]); }},
    {"FakeQuantWithMinMaxArgs", kGraphsOnly, [](Case& c) { c.give(c.nodes.node("FakeQuantWithMinMaxArgsGradient", {c.dy[0], c.x[0]}, attributesOf(c, {"max", "min", "narrow_range", "num_bits"}))); }},
    {"FakeQuantWithMinMaxVars", kGraphsOnly, [](Case& c) { fakeQuantRule(c, "FakeQuantWithMinMaxVarsGradient"); }},
    {"FakeQuantWithMinMaxVarsPerChannel", kGraphsOnly, [](Case& c) { fakeQuantRule(c, "FakeQuantWithMinMaxVarsPerChannelGradient"); }},
    {"Abs", kSymbolic, [](Case& c) { chain(c, call(c, "Sign", c.x[0])); }},
    {"Neg", kSymbolic, [](Case& c) { c.give(-c.dy[0]); }},
    {"Inv", kSymbolic, [](Case& c) { chain(c, -square(c, c.y[0])); }},
    {"Reciprocal", kSymbolic, [](Case& c) { chain(c, -square(c, c.y[0])); }},
    {"Square", kSymbolic, [](Case& c) { chain(c, (2 * c.x[0])); }},
    {"Sqrt", kSymbolic, [](Case& c) { chain(c, (0.5 * call(c, "Reciprocal", c.y[0]))); }},
    {"Rsqrt", kSymbolic, [](Case& c) { chain(c, (-0.5 * c.y[0] * square(c, c.y[0]))); }},
    {"Exp", kSymbolic, [](Case& c) { chain(c, c.y[0]); }},
    {"Expm1", kSymbolic, [](Case& c) { chain(c, call(c, "Exp", c.x[0])); }},
    {"Log", kSymbolic, [](Case& c) { chain(c, call(c, "Reciprocal", c.x[0])); }},
    {"Log1p", kSymbolic, [](Case& c) { chain(c, call(c, "Reciprocal", 1 + c.x[0])); }},
    {"Sin", kSymbolic, [](Case& c) { chain(c, call(c, "Cos", c.x[0])); }},
    {"Cos", kSymbolic, [](Case& c) { chain(c, -call(c, "Sin", c.x[0])); }},
    {"Tan", kSymbolic, [](Case& c) { chain(c, square(c, call(c, "Reciprocal", call(c, "Cos", c.x[0])))); }},
    {"Asin", kSymbolic, [](Case& c) { chain(c, call(c, "Rsqrt", 1 - square(c, c.x[0]))); }},
    {"Acos", kSymbolic, [](Case& c) { chain(c, -call(c, "Rsqrt", 1 - square(c, c.x[0]))); }},
    {"Atan", kSymbolic, [](Case& c) { chain(c, call(c, "Reciprocal", 1 + square(c, c.x[0]))); }},
    {"Sinh", kSymbolic, [](Case& c) { chain(c, call(c, "Cosh", c.x[0])); }},
    {"Cosh", kSymbolic, [](Case& c) { chain(c, call(c, "Sinh", c.x[0])); }},
    {"Tanh", kSymbolic, [](Case& c) { chain(c, (1 - square(c, c.y[0]))); }},
    {"Asinh", kSymbolic, [](Case& c) { chain(c, call(c, "Reciprocal", call(c, "Cosh", c.y[0]))); }},
    {"Acosh", kSymbolic, [](Case& c) { chain(c, call(c, "Reciprocal", call(c, "Sinh", c.y[0]))); }},
    {"Atanh", kSymbolic, [](Case& c) { chain(c, call(c, "Reciprocal", 1 - square(c, c.x[0]))); }},
    {"Erf", kSymbolic, [](Case& c) { chain(c, (1.1283791670955126 * call(c, "Exp", -square(c, c.x[0])))); }},
    {"Sigmoid", kSymbolic, [](Case& c) { chain(c, (c.y[0] * (1 - c.y[0]))); }},
    {"Sign", kSymbolic, [](Case& c) { c.give(zerosLike(c, c.x[0])); }},
    {"Cast", kSymbolic, castBack},
    {"Conj", kSymbolic, [](Case& c) { c.give(call(c, "Conj", c.dy[0])); }},
    {"Real", kSymbolic, [](Case& c) { c.give(c.nodes.node("Complex", {c.dy[0], zerosLike(c, c.dy[0])}, {{"Tout", c.nodes.dtype(c.x[0])}})); }},
    {"Imag", kSymbolic, [](Case& c) { c.give(c.nodes.node("Complex", {zerosLike(c, c.dy[0]), c.dy[0]}, {{"Tout", c.nodes.dtype(c.x[0])}})); }},
    {"Erfc", kGraphsOnly, [](Case& c) { chain(c, (-1.1283791670955126 * call(c, "Exp", -square(c, c.x[0])))); }},
    {"Erfinv", kGraphsOnly, [](Case& c) { chain(c, (0.8862269254527580 * call(c, "Exp", square(c, c.y[0])))); }},
    {"Ndtri", kGraphsOnly, [](Case& c) { chain(c, (2.5066282746310005 * call(c, "Exp", 0.5 * square(c, c.y[0])))); }},
    {"Lgamma", kGraphsOnly, [](Case& c) { chain(c, call(c, "Digamma", c.x[0])); }},
    {"Digamma", kGraphsOnly, [](Case& c) { chain(c, c.nodes.node("Polygamma", {number(c, 1), c.x[0]})); }},
    {"Polygamma", kGraphsOnly, [](Case& c) { c.dx[1] = reduceTo(c, c.dy[0] * c.nodes.node("Polygamma", {1 + c.x[0], c.x[1]}), c.x[1]); }},
    {"Zeta", kGraphsOnly, [](Case& c) { c.dx[1] = reduceTo(c, c.dy[0] * (-c.x[0] * c.nodes.node("Zeta", {1 + c.x[0], c.x[1]})), c.x[1]); }},
    {"Betainc", kGraphsOnly, betaincRule},
    {"Igamma", kGraphsOnly, [](Case& c) { igammaRule(c, false); }},
    {"Igammac", kGraphsOnly, [](Case& c) { igammaRule(c, true); }},
    {"BesselI0", kGraphsOnly, [](Case& c) { chain(c, call(c, "BesselI1", c.x[0])); }},
    {"BesselI0e", kGraphsOnly, [](Case& c) { chain(c, (call(c, "BesselI1e", c.x[0]) - call(c, "Sign", c.x[0]) * c.y[0])); }},
    {"BesselI1", kGraphsOnly, [](Case& c) { besselRule(c, "BesselI0", false); }},
    {"BesselI1e", kGraphsOnly, [](Case& c) { besselRule(c, "BesselI0e", true); }},
    {"ComplexAbs", kGraphsOnly, [](Case& c) { c.give(complexOf(c, c.dy[0], zerosLike(c, c.dy[0])) * call(c, "Sign", c.x[0])); }},
    {"Angle", kGraphsOnly, angleRule},
    {"Complex", kSymbolic, [](Case& c) { giveBroadcast(c, c.nodes.node("Real", {c.dy[0]}, {{"Tout", c.nodes.dtype(c.x[0])}}),
                                            c.nodes.node("Imag", {c.dy[0]}, {{"Tout", c.nodes.dtype(c.x[0])}})); }},

    {"Add", kSymbolic, [](Case& c) { giveBroadcast(c, c.dy[0], c.dy[0]); }},
    {"AddV2", kSymbolic, [](Case& c) { giveBroadcast(c, c.dy[0], c.dy[0]); }},
    {"Sub", kSymbolic, [](Case& c) { giveBroadcast(c, c.dy[0], -c.dy[0]); }},
    {"Mul", kSymbolic, [](Case& c) { giveBroadcast(c, c.dy[0] * conj(c, c.x[1]), conj(c, c.x[0]) * c.dy[0]); }},
    {"Div", kSymbolic, [](Case& c) { giveBroadcast(c, c.dy[0] / conj(c, c.x[1]), c.dy[0] * conj(c, -c.x[0] / square(c, c.x[1]))); }},
    {"RealDiv", kSymbolic, [](Case& c) { giveBroadcast(c, c.dy[0] / conj(c, c.x[1]), c.dy[0] * conj(c, -c.x[0] / square(c, c.x[1]))); }},
    {"SquaredDifference", kSymbolic, [](Case& c) { const Grad d = 2 * (c.dy[0] * (c.x[0] - c.x[1])); giveBroadcast(c, d, -d); }},
    {"DivNoNan", kSymbolic, [](Case& c) { giveBroadcast(c, c.nodes.node("DivNoNan", {c.dy[0], c.x[1]}),
                                             c.dy[0] * c.nodes.node("DivNoNan", {-c.x[0], square(c, c.x[1])})); }},
    {"MulNoNan", kSymbolic, [](Case& c) { giveBroadcast(c, c.nodes.node("MulNoNan", {c.dy[0], c.x[1]}), c.nodes.node("MulNoNan", {c.x[0], c.dy[0]})); }},
    {"Pow", kSymbolic, powRule},
    {"Mod", kGraphsOnly, modRule},
    {"FloorMod", kGraphsOnly, modRule},
    {"TruncateMod", kGraphsOnly, modRule},
    {"NextAfter", kGraphsOnly, [](Case& c) { giveBroadcast(c, c.dy[0], Grad()); }},
    {"Atan2", kGraphsOnly, atan2Rule},
    {"Xdivy", kGraphsOnly, [](Case& c) { maskedRule(c, -c.x[0], square(c, c.x[1])); }},
    {"Xlogy", kGraphsOnly, [](Case& c) { maskedRule(c, c.x[0], c.x[1]); }},
    {"Xlog1py", kGraphsOnly, [](Case& c) { maskedRule(c, c.x[0], 1 + c.x[1]); }},
    {"Maximum", kSymbolic, [](Case& c) { pickRule(c, "GreaterEqual"); }},
    {"Minimum", kSymbolic, [](Case& c) { pickRule(c, "LessEqual"); }},
    {"Select", kSymbolic, selectRule},
    {"SelectV2", kGraphsOnly, selectV2Rule},
    {"AddN", kSymbolic, [](Case& c) { std::ranges::fill(c.dx, c.dy[0]); }},
    {"AccumulateNV2", kGraphsOnly, [](Case& c) { std::ranges::fill(c.dx, c.dy[0]); }},

    {"TanhGrad", kGraphsOnly, [](Case& c) { c.give(-2 * (c.dy[0] * c.x[1] * c.x[0]), c.nodes.node("TanhGrad", {c.x[0], c.dy[0]})); }},
    {"SigmoidGrad", kGraphsOnly, [](Case& c) { c.give(c.dy[0] * c.x[1] * (1 - 2 * c.x[0]), c.nodes.node("SigmoidGrad", {c.x[0], c.dy[0]})); }},
    {"SqrtGrad", kGraphsOnly, [](Case& c) { c.give(-0.5 * (c.dy[0] * c.x[1]) / square(c, c.x[0]), 0.5 * c.dy[0] / c.x[0]); }},
    {"RsqrtGrad", kGraphsOnly, [](Case& c) { c.give(-1.5 * (c.dy[0] * c.x[1]) * square(c, c.x[0]), c.nodes.node("RsqrtGrad", {c.x[0], c.dy[0]})); }},
    {"ReciprocalGrad", kGraphsOnly, [](Case& c) { c.give(-2 * (c.dy[0] * c.x[1] * c.x[0]), c.nodes.node("ReciprocalGrad", {c.x[0], c.dy[0]})); }},
    {"InvGrad", kGraphsOnly, [](Case& c) { c.give(-2 * (c.dy[0] * c.x[1] * c.x[0]), c.nodes.node("InvGrad", {c.x[0], c.dy[0]})); }},
};
// clang-format on

} // namespace

std::span<const NamedGradientRule> gradientRulesOfMath() { return kMathRules; }

} // namespace loopscope
