// Gradients of products and decompositions of matrices, and of Fourier transforms.
#include "engine/transform/gradient/gradient_rules.h"

namespace loopscope {

namespace {

using Case = GradientCase;
using Grad = GradientValue;

struct Factor {
    Grad value;
    bool flipped = false;
};

Grad batchShape(Case& c, Grad shape)
{
    const int32_t zero[] = {0}, last[] = {-2}, one[] = {1};
    return c.nodes.node("StridedSlice", {shape, c.nodes.integers(zero), c.nodes.integers(last), c.nodes.integers(one)},
                        {{"begin_mask", int64_t{1}},
                         {"ellipsis_mask", int64_t{0}},
                         {"end_mask", int64_t{0}},
                         {"new_axis_mask", int64_t{0}},
                         {"shrink_axis_mask", int64_t{0}}});
}

/// Products of matrices: what the flags of the operator call transposed or adjoint goes round with them.
void matrixRule(Case& c, std::string_view flagA, std::string_view flagB, bool broadcast)
{
    const std::string kind = c.op.kind.name == "BatchMatMulV3" ? "BatchMatMulV2" : c.op.kind.name; // the same, of one dtype
    if (c.nodes.dtype(c.x[0]) != c.nodes.dtype(c.x[1]) || c.nodes.dtype(c.x[0]) != c.nodes.dtype(c.dy[0])) {
        c.refusal = "its operands and its result have different dtypes";
        return;
    }
    const auto product = [&](Factor a, Factor b) {
        AttributeList flags;
        setAttribute(flags, std::string(flagA), a.flipped);
        setAttribute(flags, std::string(flagB), b.flipped);
        return c.nodes.node(kind, {a.value, b.value}, std::move(flags));
    };
    const bool isTransposed = flagA == "transpose_a"; // what is adjoint is conjugated by the product itself
    const bool ta = attributeBool(c.op.attributes, flagA, false), tb = attributeBool(c.op.attributes, flagB, false);
    const Grad a = isTransposed ? conj(c, c.x[0]) : c.x[0], b = isTransposed ? conj(c, c.x[1]) : c.x[1], dy = c.dy[0];
    const Grad da = ta ? product({b, tb}, {dy, true}) : product({dy, false}, {b, !tb});
    const Grad db = tb ? product({dy, true}, {a, ta}) : product({a, !ta}, {dy, false});
    if (!broadcast) return c.give(da, db);
    // Only batch dimensions are broadcast; the last two always agree.
    const Grad sa = shapeOf(c, a), sb = shapeOf(c, b);
    const Grad batches[] = {batchShape(c, sa), batchShape(c, sb)};
    const std::vector<Grad> axes = c.nodes.add("BroadcastGradientArgs", batches);
    c.give(reshape(c, sumOver(c, da, axes[0]), sa), reshape(c, sumOver(c, db, axes[1]), sb));
}

Grad product(Case& c, Grad a, Grad b, bool adjointA = false, bool adjointB = false)
{
    return c.nodes.node("BatchMatMulV2", {a, b}, {{"adj_x", adjointA}, {"adj_y", adjointB}});
}

/// A number for each matrix as a matrix of one element.
Grad asMatrix(Case& c, Grad numbers) { return expandDims(c, expandDims(c, numbers, -1), -1); }

Grad inverse(Case& c, Grad v, bool adjoint) { return c.nodes.node("MatrixInverse", {v}, {{"adjoint", adjoint}}); }

void inverseRule(Case& c) // −yᵀ dy yᵀ
{
    if (attributeBool(c.op.attributes, "adjoint", false)) c.refusal = "adjoint is true";
    c.give(-product(c, c.y[0], product(c, c.dy[0], c.y[0], false, true), true, false));
}

void determinantRule(Case& c) { c.give(asMatrix(c, c.dy[0] * c.y[0]) * inverse(c, c.x[0], true)); }

void logDeterminantRule(Case& c) { c.give(asMatrix(c, c.dy[1]) * inverse(c, c.x[0], true)); }

void choleskyRule(Case& c) // Φ is the lower half with half the diagonal: ½ (S + Sᵀ) of S = L⁻ᵀ Φ(Lᵀ dL) L⁻¹
{
    const Grad l = c.y[0], both = product(c, l, c.dy[0], true);
    const Grad halved = c.nodes.node("MatrixSetDiag", {both, 0.5 * call(c, "MatrixDiagPart", both)});
    const Grad lower = c.nodes.node("MatrixBandPart", {halved, c.nodes.integer(-1), c.nodes.integer(0)});
    const Grad inverseL = inverse(c, l, false);
    const Grad s = product(c, inverseL, product(c, lower, inverseL), true);
    const Grad one = call(c, "MatrixDiag", c.nodes.node("OnesLike", {call(c, "MatrixDiagPart", s)}));
    c.give(0.5 * (s + product(c, s, one, true)));
}

void solveRule(Case& c)
{
    const bool adjoint = attributeBool(c.op.attributes, "adjoint", false), isTriangular = c.op.kind.name == "MatrixTriangularSolve";
    const bool lower = attributeBool(c.op.attributes, "lower", true);
    AttributeList attributes = {{"adjoint", !adjoint}};
    if (isTriangular) setAttribute(attributes, "lower", lower);
    const Grad db = c.nodes.node(c.op.kind.name, {c.x[0], c.dy[0]}, std::move(attributes));
    Grad da = adjoint ? -product(c, c.y[0], db, false, true) : -product(c, db, c.y[0], false, true);
    if (isTriangular) da = c.nodes.node("MatrixBandPart", {da, c.nodes.integer(lower ? -1 : 0), c.nodes.integer(lower ? 0 : -1)});
    c.give(da, db);
}

/// Two operands, each label at most once in each, and none that only one operand has and the result has not.
void einsumRule(Case& c)
{
    const std::string equation(attributeString(c.op.attributes, "equation", ""));
    const size_t arrow = equation.find("->"), comma = equation.find(',');
    const std::string out = arrow == std::string::npos ? "" : equation.substr(arrow + 2);
    const std::string labels[] = {equation.substr(0, std::min(comma, arrow)),
                                  comma < arrow ? equation.substr(comma + 1, arrow - comma - 1) : std::string()};
    const auto simple = [](const std::string& text) {
        for (const char label : text)
            if (label == '.' || text.find(label) != text.rfind(label)) return false;
        return true;
    };
    bool fits = arrow != std::string::npos && c.x.size() <= 2 && simple(out) && simple(labels[0]) && simple(labels[1]);
    for (size_t i = 0; i < c.x.size() && fits; ++i)
        for (const char label : labels[i]) fits = fits && (out + labels[1 - i]).find(label) != std::string::npos;
    if (!fits) {
        c.refusal = "its equation is '" + equation + "'";
        return;
    }
    for (size_t i = 0; i < c.x.size(); ++i) {
        std::vector<Grad> operands = {c.dy[0]};
        if (c.x.size() == 2) operands.push_back(conj(c, c.x[1 - i]));
        const std::string mirrored = out + (c.x.size() == 2 ? "," + labels[1 - i] : "") + "->" + labels[i];
        c.dx[i] = c.nodes.add("Einsum", operands, {{"N", static_cast<int64_t>(operands.size())}, {"equation", mirrored}}).front();
    }
}

/// A transform of n elements is n times the inverse one, and the other way round.
void fourierRule(Case& c, std::string_view inverse, int32_t dims, bool isForward)
{
    const int32_t zero[] = {0};
    const Grad last = part(c, shapeOf(c, c.x[0]), rankOf(c, c.x[0]) - c.nodes.integer(dims), dims);
    const Grad n = castTo(c, c.nodes.node("Prod", {last, c.nodes.integers(zero)}, {{"keep_dims", false}}), c.dtype());
    const Grad back = call(c, inverse, c.dy[0]);
    c.give(isForward ? back * n : back / n);
}

// clang-format off
constexpr NamedGradientRule kRules[] = {
    {"MatMul", kSymbolic, [](Case& c) { matrixRule(c, "transpose_a", "transpose_b", false); }},
    {"BatchMatMul", kSymbolic, [](Case& c) { matrixRule(c, "adj_x", "adj_y", false); }},
    {"BatchMatMulV2", kSymbolic, [](Case& c) { matrixRule(c, "adj_x", "adj_y", true); }},
    {"BatchMatMulV3", kGraphsOnly, [](Case& c) { matrixRule(c, "adj_x", "adj_y", true); }},
    {"Einsum", kGraphsOnly, einsumRule},
    {"Cross", kGraphsOnly, [](Case& c) { c.give(c.nodes.node("Cross", {c.x[1], c.dy[0]}), c.nodes.node("Cross", {c.dy[0], c.x[0]})); }},
    {"MatrixInverse", kGraphsOnly, inverseRule},
    {"MatrixDeterminant", kGraphsOnly, determinantRule},
    {"LogMatrixDeterminant", kGraphsOnly, logDeterminantRule},
    {"Cholesky", kGraphsOnly, choleskyRule},
    {"MatrixSolve", kGraphsOnly, solveRule},
    {"MatrixTriangularSolve", kGraphsOnly, solveRule},
    {"FFT", kGraphsOnly, [](Case& c) { fourierRule(c, "IFFT", 1, true); }},
    {"FFT2D", kGraphsOnly, [](Case& c) { fourierRule(c, "IFFT2D", 2, true); }},
    {"FFT3D", kGraphsOnly, [](Case& c) { fourierRule(c, "IFFT3D", 3, true); }},
    {"IFFT", kGraphsOnly, [](Case& c) { fourierRule(c, "FFT", 1, false); }},
    {"IFFT2D", kGraphsOnly, [](Case& c) { fourierRule(c, "FFT2D", 2, false); }},
    {"IFFT3D", kGraphsOnly, [](Case& c) { fourierRule(c, "FFT3D", 3, false); }},
};
// clang-format on

} // namespace

std::span<const NamedGradientRule> gradientRulesOfMatrices() { return kRules; }

} // namespace loopscope
