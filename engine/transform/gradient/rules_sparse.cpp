// Gradients of operators on sparse tensors, by the values of their entries, and of sums over chosen rows by segment.
#include "engine/transform/gradient/gradient_rules.h"

namespace loopscope {

namespace {

using Case = GradientCase;
using Grad = GradientValue;

void sparseSegmentRule(Case& c) // (data, rows, segments); means and their like are divided by the number of rows or its root
{
    const Grad ids = c.x[2], first = c.nodes.integers({}), zero = c.nodes.integer(0);
    const auto length = [&](Grad v) { return reshape(c, part(c, shapeOf(c, v), zero, 1), first); };
    Grad dy = c.dy[0];
    if (c.op.kind.name != "SparseSegmentSum") {
        const Grad counts = sumRows(c, c.nodes.node("OnesLike", {castTo(c, ids, c.dtype())}), ids, length(dy));
        const Grad over = c.op.kind.name == "SparseSegmentMean" ? counts : call(c, "Sqrt", counts);
        const int32_t all[] = {-1};
        const Grad ones = c.nodes.node("Fill", {asList(c, rankOf(c, dy) - c.nodes.integer(1)), c.nodes.integer(1)});
        const Grad dims[] = {c.nodes.integers(all), ones};
        dy = c.nodes.node("DivNoNan", {dy, reshape(c, over, joined(c, dims))});
    }
    c.give(sumRows(c, rows(c, dy, ids), c.x[1], length(c.x[0])));
}

Grad transposed(Case& c, Grad matrix)
{
    const int32_t order[] = {1, 0};
    return conj(c, c.nodes.node("Transpose", {matrix, c.nodes.integers(order)}));
}

void sparseProductRule(Case& c) // (indices, values, shape, b): entry ik takes row i of dy times row k of b
{
    const bool adjointA = attributeBool(c.op.attributes, "adjoint_a", false), adjointB = attributeBool(c.op.attributes, "adjoint_b", false);
    const Grad indices = c.x[0], b = c.x[3], dy = c.dy[0];
    const auto column = [&](int32_t k) {
        const int32_t from[] = {0, k}, size[] = {-1, 1};
        return flat(c, c.nodes.node("Slice", {indices, c.nodes.integers(from), c.nodes.integers(size)}));
    };
    if (c.wanted[1]) {
        const Grad ofDy = rows(c, dy, column(adjointA ? 1 : 0)), ofB = rows(c, adjointB ? transposed(c, b) : b, column(adjointA ? 0 : 1));
        c.dx[1] = sumOver(c, adjointA ? conj(c, ofDy) * ofB : ofDy * conj(c, ofB), c.nodes.integer(1));
    }
    if (!c.wanted[3]) return;
    const Grad db =
        c.nodes.node("SparseTensorDenseMatMul", {indices, c.x[1], c.x[2], dy}, {{"adjoint_a", !adjointA}, {"adjoint_b", false}});
    c.dx[3] = adjointB ? transposed(c, db) : db;
}

void sparseReorderRule(Case& c) // numbers put in the same order say where each entry went
{
    const Grad operands[] = {c.x[0], range(c, c.nodes.integer(0), sizeOf(c, c.x[1])), c.x[2]};
    c.dx[1] = rows(c, c.dy[1], call(c, "InvertPermutation", c.nodes.add("SparseReorder", operands)[1]));
}

void sparseSumRule(Case& c) // (indices, values, shape, axes): an entry takes the element of dy that it was added to
{
    const Grad shape = castTo(c, c.x[2], DType::i32), rank = sizeOf(c, shape), axes = flat(c, c.x[3]);
    const Grad reduced = c.nodes.node("FloorMod", {axes + rank, rank});
    const Grad ones = c.nodes.node("OnesLike", {reduced});
    const Grad lists[] = {range(c, c.nodes.integer(0), rank), reduced, shape, ones};
    const Grad kept = c.nodes.add("DynamicStitch", lists, {{"N", int64_t{2}}}).front();
    const Grad scale = castTo(c, c.nodes.node("FloorDiv", {shape, kept}), c.nodes.dtype(c.x[0]));
    c.dx[1] = c.nodes.node("GatherNd", {reshape(c, c.dy[0], kept), c.nodes.node("FloorDiv", {c.x[0], scale})});
}

constexpr NamedGradientRule kSparseRules[] = {
    {"SparseSegmentSum", kGraphsOnly, sparseSegmentRule},        {"SparseSegmentMean", kGraphsOnly, sparseSegmentRule},
    {"SparseSegmentSqrtN", kGraphsOnly, sparseSegmentRule},      {"SparseReorder", kGraphsOnly, sparseReorderRule},
    {"SparseTensorDenseMatMul", kGraphsOnly, sparseProductRule}, {"SparseReduceSum", kGraphsOnly, sparseSumRule},
};

} // namespace

std::span<const NamedGradientRule> gradientRulesOfSparse() { return kSparseRules; }

} // namespace loopscope
