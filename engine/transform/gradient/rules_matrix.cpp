// Gradients of products and decompositions of matrices, and of Fourier transforms.
#include "engine/transform/gradient/gradient_rules.h"

#include <algorithm>

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

/// What an equation calls the dimensions of an operand: perhaps "...", which comes first, and a letter for each of the rest.
struct EinsumTerm {
    bool hasDots;
    std::string labels;
};

EinsumTerm einsumTerm(std::string_view text)
{
    const bool hasDots = text.starts_with("...");
    return {hasDots, std::string(text.substr(hasDots ? 3 : 0))};
}

/// The gradient of one operand: the product of dy and the other one, with its labels. Labels that nothing else has were summed alone and
/// are repeated; dimensions that "..." was broadcast over are summed.
Grad einsumGradient(Case& c, Grad x, const EinsumTerm& term, const EinsumTerm& out, const Grad* other, const EinsumTerm& otherTerm)
{
    const auto einsum = [&](std::span<const Grad> operands, const std::string& equation) {
        return c.nodes.add("Einsum", operands, {{"N", static_cast<int64_t>(operands.size())}, {"equation", equation}}).front();
    };
    const std::string dots = out.hasDots ? "..." : "";
    const auto text = [](const EinsumTerm& each) { return (each.hasDots ? "..." : "") + each.labels; };
    std::string kept, alone;
    std::vector<Grad> sizes;
    for (size_t k = 0; k < term.labels.size(); ++k) {
        const char label = term.labels[k];
        const bool isAlone = (out.labels + otherTerm.labels).find(label) == std::string::npos;
        if (!isAlone) kept += label;
        if (!isAlone || alone.find(label) != std::string::npos) continue;
        alone += label;
        const auto behind = static_cast<int32_t>(term.labels.size() - k);
        const Grad at = term.hasDots ? rankOf(c, x) - c.nodes.integer(behind) : c.nodes.integer(static_cast<int32_t>(k));
        sizes.push_back(part(c, shapeOf(c, x), at, 1));
    }
    std::vector<Grad> operands = {c.dy[0]};
    if (other != nullptr) operands.push_back(conj(c, *other));
    Grad g = einsum(operands, text(out) + (other != nullptr ? "," + text(otherTerm) : "") + "->" + dots + kept);
    if (!alone.empty()) {
        const Grad pair[] = {g, c.nodes.node("Fill", {joined(c, sizes), number(c, 1)})};
        g = einsum(pair, dots + kept + "," + alone + "->" + dots + term.labels);
    }
    if (!out.hasDots) return g;
    const Grad shapes[] = {shapeOf(c, x), c.nodes.shape(g)};
    return reshape(c, sumOver(c, g, c.nodes.add("BroadcastGradientArgs", shapes)[0]), shapes[0]);
}

void einsumRule(Case& c)
{
    std::string equation(attributeString(c.op.attributes, "equation", ""));
    std::erase(equation, ' ');
    const size_t arrow = std::min(equation.find("->"), equation.size()), comma = std::min(equation.find(','), arrow);
    const std::string_view text = equation;
    const EinsumTerm out = einsumTerm(arrow < text.size() ? text.substr(arrow + 2) : "");
    const EinsumTerm terms[] = {einsumTerm(text.substr(0, comma)),
                                einsumTerm(comma < arrow ? text.substr(comma + 1, arrow - comma - 1) : "")};
    const std::string all = out.labels + terms[0].labels + terms[1].labels;
    const bool hasDots = terms[0].hasDots || terms[1].hasDots;
    if (arrow == text.size() || c.x.size() > 2 || hasDots != out.hasDots || all.find_first_of(".,") != std::string::npos) {
        c.refusal = "its equation is '" + equation + "', expected '...' in front and in the result";
        return;
    }
    for (size_t i = 0; i < c.x.size(); ++i)
        if (c.wanted[i]) c.dx[i] = einsumGradient(c, c.x[i], terms[i], out, c.x.size() == 2 ? &c.x[1 - i] : nullptr, terms[1 - i]);
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

/// `v` cut or filled up with zeros behind to have that shape.
Grad fitted(Case& c, Grad v, Grad shape)
{
    const Grad common = c.nodes.node("Minimum", {c.nodes.shape(v), shape}), zeros = zerosLike(c, common);
    const Grad sides[] = {zeros, shape - common};
    return c.nodes.node("Pad", {c.nodes.node("Slice", {v, zeros, common}), c.nodes.add("Pack", sides, {{"axis", int64_t{1}}}).front()});
}

/// How many elements are transformed together, and the last of their dimensions.
struct Spectrum {
    Grad elements, last;
};

Spectrum spectrumOf(Case& c, int32_t dims)
{
    const int32_t zero[] = {0};
    const Grad elements = c.nodes.node("Prod", {c.x[1], c.nodes.integers(zero)}, {{"keep_dims", false}});
    return {elements, part(c, c.x[1], c.nodes.integer(dims - 1), 1)};
}

/// The operator gives half of a spectrum and reads only the real half of its operand: the gradient is the real half of a whole
/// transform's with zeros for the half that it does not give.
void realFourierRule(Case& c, std::string_view inverse, int32_t dims)
{
    const Spectrum n = spectrumOf(c, dims);
    const Grad shape = c.nodes.shape(c.y[0]);
    const Grad leading = rows(c, shape, range(c, c.nodes.integer(0), rankOf(c, c.y[0]) - c.nodes.integer(1)));
    const Grad whole[] = {leading, n.last};
    const Grad back = call(c, inverse, fitted(c, c.dy[0], joined(c, whole)));
    const Grad real = c.nodes.node("Real", {back}, {{"Tout", c.dtype()}});
    c.give(fitted(c, real * castTo(c, n.elements, c.dtype()), shapeOf(c, c.x[0])));
}

/// Every element of half a spectrum stands for two but the first and, of an even number, the last.
void inverseRealFourierRule(Case& c, std::string_view forward, int32_t dims)
{
    const Spectrum n = spectrumOf(c, dims);
    const Grad two = c.nodes.integer(2), one = c.nodes.integer(1), zero = c.nodes.integer(0);
    const Grad last = reshape(c, n.last, c.nodes.integers({}));
    const Grad k = range(c, zero, c.nodes.node("FloorDiv", {last, two}) + one);
    const Grad isTwice = c.nodes.node("NotEqual", {k * (last - k * two), zero});
    const Grad weights = castTo(c, one + castTo(c, isTwice, DType::i32), c.dtype()) / castTo(c, n.elements, c.dtype());
    const Grad spectrum = c.nodes.node(forward, {c.dy[0], c.x[1]}, {{"Tcomplex", c.dtype()}});
    c.give(fitted(c, spectrum * weights, shapeOf(c, c.x[0])));
}

// clang-format off
constexpr NamedGradientRule kMatrixRules[] = {
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
    {"RFFT", kGraphsOnly, [](Case& c) { realFourierRule(c, "IFFT", 1); }},
    {"RFFT2D", kGraphsOnly, [](Case& c) { realFourierRule(c, "IFFT2D", 2); }},
    {"RFFT3D", kGraphsOnly, [](Case& c) { realFourierRule(c, "IFFT3D", 3); }},
    {"IRFFT", kGraphsOnly, [](Case& c) { inverseRealFourierRule(c, "RFFT", 1); }},
    {"IRFFT2D", kGraphsOnly, [](Case& c) { inverseRealFourierRule(c, "RFFT2D", 2); }},
    {"IRFFT3D", kGraphsOnly, [](Case& c) { inverseRealFourierRule(c, "RFFT3D", 3); }},
};
// clang-format on

} // namespace

std::span<const NamedGradientRule> gradientRulesOfMatrices() { return kMatrixRules; }

} // namespace loopscope
