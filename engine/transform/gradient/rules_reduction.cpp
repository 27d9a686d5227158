// Gradients of reductions, of running sums and products, and of sums by segment.
#include "engine/transform/gradient/gradient_rules.h"

#include <array>

namespace loopscope {

namespace {

using Case = GradientCase;
using Grad = GradientValue;

/// The numbers of the reduced dimensions, none of them negative.
Grad reducedAxes(Case& c, Grad rank) { return c.nodes.node("FloorMod", {castTo(c, c.x[1], DType::i32) + rank, rank}); }

/// The shape of a reduction's result with its reduced dimensions kept as 1.
Grad keptShape(Case& c, Grad xShape)
{
    const Grad rank = rankOf(c, c.x[0]);
    const Grad axes = reducedAxes(c, rank);
    const Grad ones = c.nodes.node("Fill", {shapeOf(c, axes), c.nodes.integer(1)});
    const Grad lists[] = {range(c, c.nodes.integer(0), rank), axes, xShape, ones};
    return c.nodes.add("DynamicStitch", lists, {{"N", int64_t{2}}}).front();
}

/// dy repeated over the reduced dimensions.
Grad spread(Case& c, Grad dy, Grad kept, Grad xShape) { return c.nodes.node("BroadcastTo", {reshape(c, dy, kept), xShape}); }

void sumRule(Case& c)
{
    const Grad xShape = shapeOf(c, c.x[0]);
    c.give(spread(c, c.dy[0], keptShape(c, xShape), xShape));
}

void meanRule(Case& c) // as the sum's, over the number of elements that make one of the result
{
    const Grad xShape = shapeOf(c, c.x[0]);
    const DType dtype = c.nodes.dtype(c.dy[0]);
    const Grad factor = castTo(c, sizeOf(c, c.x[0]), dtype) / castTo(c, sizeOf(c, c.y[0]), dtype);
    c.give(spread(c, c.dy[0], keptShape(c, xShape), xShape) / factor);
}

void extremeRule(Case& c) // elements that equal the extreme share its gradient
{
    const Grad xShape = shapeOf(c, c.x[0]), kept = keptShape(c, xShape);
    const DType dtype = c.nodes.dtype(c.dy[0]);
    const Grad hits = castTo(c, c.nodes.node("Equal", {c.x[0], reshape(c, c.y[0], kept)}), dtype);
    const Grad number = reshape(c, sumOver(c, hits, c.x[1]), kept);
    c.give(hits / number * reshape(c, c.dy[0], kept));
}

Grad running(Case& c, std::string_view kind, Grad v, Grad axis, bool exclusive, bool reverse)
{
    return c.nodes.node(kind, {v, axis}, {{"exclusive", exclusive}, {"reverse", reverse}});
}

/// dy times the product of all other elements, which is made from both sides so that zeros divide nothing.
void productRule(Case& c)
{
    const Grad x = c.x[0], xShape = shapeOf(c, x), rank = rankOf(c, x), axes = flat(c, reducedAxes(c, rank));
    const Grad all[] = {range(c, c.nodes.integer(0), rank), axes};
    const Grad others = c.nodes.add("ListDiff", all, {{"out_idx", DType::i32}}).front();
    const Grad orders[] = {axes, others};
    const Grad order = joined(c, orders);
    const Grad moved = c.nodes.node("Transpose", {x, order});
    const int32_t zero[] = {0};
    const auto countOf = [&](Grad dims) {
        return c.nodes.node("Prod", {rows(c, xShape, dims), c.nodes.integers(zero)}, {{"keep_dims", true}});
    };
    const Grad pair[] = {countOf(axes), countOf(others)};
    const Grad table = reshape(c, moved, joined(c, pair));
    const Grad first = c.nodes.integer(0);
    const Grad product = running(c, "Cumprod", table, first, true, false) * running(c, "Cumprod", table, first, true, true);
    const Grad back = c.nodes.node("Transpose", {reshape(c, product, shapeOf(c, moved)), call(c, "InvertPermutation", order)});
    c.give(spread(c, c.dy[0], keptShape(c, xShape), xShape) * back);
}

void normRule(Case& c)
{
    const Grad xShape = shapeOf(c, c.x[0]), kept = keptShape(c, xShape);
    c.give(c.x[0] * c.nodes.node("DivNoNan", {spread(c, c.dy[0], kept, xShape), spread(c, c.y[0], kept, xShape)}));
}

void cumsumRule(Case& c)
{
    const bool exclusive = attributeBool(c.op.attributes, "exclusive", false), reverse = attributeBool(c.op.attributes, "reverse", false);
    c.give(running(c, "Cumsum", c.dy[0], c.x[1], exclusive, !reverse));
}

void cumprodRule(Case& c) // no element may be 0, as in TensorFlow
{
    const bool exclusive = attributeBool(c.op.attributes, "exclusive", false), reverse = attributeBool(c.op.attributes, "reverse", false);
    c.give(c.nodes.node("DivNoNan", {running(c, "Cumsum", c.y[0] * c.dy[0], c.x[1], exclusive, !reverse), c.x[0]}));
}

void logSumExpRule(Case& c) // Σ dy_j · e^(x_i − y_j) over the j that x_i is part of
{
    const bool exclusive = attributeBool(c.op.attributes, "exclusive", false), reverse = attributeBool(c.op.attributes, "reverse", false);
    c.give(call(c, "Exp", c.x[0]) * running(c, "Cumsum", c.dy[0] * call(c, "Exp", -c.y[0]), c.x[1], exclusive, !reverse));
}

/// Rows of dy by the segment numbers, zeros for negative ones.
Grad rowsOrZeros(Case& c, Grad v)
{
    const Grad ids = c.x[1], zeros = zerosLike(c, ids);
    const Grad taken = rows(c, v, c.nodes.node("Maximum", {ids, zeros}));
    const Grad more = rankOf(c, taken) - rankOf(c, ids);
    const Grad parts[] = {shapeOf(c, ids), c.nodes.node("Fill", {asList(c, more), c.nodes.integer(1)})};
    const Grad is = reshape(c, c.nodes.node("GreaterEqual", {ids, zeros}), joined(c, parts));
    return select(c, is, taken, zerosLike(c, taken));
}

void segmentMeanRule(Case& c)
{
    const Grad ones = c.nodes.node("OnesLike", {c.x[0]});
    c.give(rows(c, c.dy[0] / c.nodes.node("SegmentSum", {ones, c.x[1]}) * c.nodes.node("OnesLike", {c.dy[0]}), c.x[1]));
}

void segmentExtremeRule(Case& c, bool isSorted)
{
    const Grad taken = isSorted ? rows(c, c.y[0], c.x[1]) : rowsOrZeros(c, c.y[0]);
    const Grad is = c.nodes.node("Equal", {c.x[0], taken});
    const Grad hits = castTo(c, is, c.dtype());
    const Grad count = isSorted ? c.nodes.node("SegmentSum", {hits, c.x[1]}) : c.nodes.node("UnsortedSegmentSum", {hits, c.x[1], c.x[2]});
    const Grad shares = c.nodes.node("DivNoNan", {c.dy[0], count});
    const Grad spreadOut = isSorted ? rows(c, shares, c.x[1]) : rowsOrZeros(c, shares);
    c.give(select(c, is, spreadOut, zerosLike(c, spreadOut)));
}

/// dy times the product of the segment's other elements: y over x, or where x is 0 the product of what is not 0 if nothing else is.
void segmentProductRule(Case& c, bool isSorted)
{
    const std::string prefix = isSorted ? "Segment" : "UnsortedSegment";
    const auto bySegment = [&](const char* what, Grad v) {
        const Grad reduced = isSorted ? c.nodes.node(prefix + what, {v, c.x[1]}) : c.nodes.node(prefix + what, {v, c.x[1], c.x[2]});
        return isSorted ? rows(c, reduced, c.x[1]) : rowsOrZeros(c, reduced);
    };
    const Grad x = c.x[0], zeros = zerosLike(c, x), ones = c.nodes.node("OnesLike", {x});
    const Grad isZero = c.nodes.node("Equal", {x, zeros});
    const Grad isOnly = c.nodes.node("Equal", {bySegment("Sum", castTo(c, isZero, c.dtype())), ones});
    const Grad others = select(c, isOnly, bySegment("Prod", select(c, isZero, ones, x)), zeros);
    const auto spreadOut = [&](Grad v) { return isSorted ? rows(c, v, c.x[1]) : rowsOrZeros(c, v); };
    const Grad slope = select(c, isZero, others, c.nodes.node("DivNoNan", {spreadOut(c.y[0]), x}));
    c.give(spreadOut(c.dy[0]) * conj(c, slope));
}

// clang-format off
constexpr NamedGradientRule kReductionRules[] = {
    {"Sum", kSymbolic, sumRule},
    {"Mean", kSymbolic, meanRule},
    {"Max", kSymbolic, extremeRule},
    {"Min", kSymbolic, extremeRule},
    {"Prod", kGraphsOnly, productRule},
    {"EuclideanNorm", kGraphsOnly, normRule},
    {"Cumsum", kGraphsOnly, cumsumRule},
    {"Cumprod", kGraphsOnly, cumprodRule},
    {"CumulativeLogsumexp", kGraphsOnly, logSumExpRule},
    {"L2Loss", kSymbolic, [](Case& c) { c.give(c.dy[0] * c.x[0]); }},
    {"SegmentSum", kGraphsOnly, [](Case& c) { c.give(rows(c, c.dy[0], c.x[1])); }},
    {"SegmentMean", kGraphsOnly, segmentMeanRule},
    {"SegmentMax", kGraphsOnly, [](Case& c) { segmentExtremeRule(c, true); }},
    {"SegmentMin", kGraphsOnly, [](Case& c) { segmentExtremeRule(c, true); }},
    {"SegmentProd", kGraphsOnly, [](Case& c) { segmentProductRule(c, true); }},
    {"UnsortedSegmentProd", kGraphsOnly, [](Case& c) { segmentProductRule(c, false); }},
    {"UnsortedSegmentSum", kGraphsOnly, [](Case& c) { c.give(rowsOrZeros(c, c.dy[0])); }},
    {"UnsortedSegmentMax", kGraphsOnly, [](Case& c) { segmentExtremeRule(c, false); }},
    {"UnsortedSegmentMin", kGraphsOnly, [](Case& c) { segmentExtremeRule(c, false); }},
};
// clang-format on

} // namespace

std::span<const NamedGradientRule> gradientRulesOfReductions() { return kReductionRules; }

} // namespace loopscope
