// Gradients of operators that move elements: what they put somewhere is taken from there, what they leave out gets zeros.
#include "engine/transform/gradient/gradient_rules.h"

namespace loopscope {

namespace {

using Case = GradientCase;
using Grad = GradientValue;

void reshapeRule(Case& c) { c.give(reshape(c, c.dy[0], shapeOf(c, c.x[0]))); }

void transposeRule(Case& c) { c.give(c.nodes.node(c.op.kind.name, {c.dy[0], call(c, "InvertPermutation", c.x[1])})); }

void packRule(Case& c)
{
    const auto n = static_cast<int64_t>(c.x.size());
    c.dx = c.nodes.add("Unpack", std::span(&c.dy[0], 1), {{"axis", attributeInt(c.op.attributes, "axis", 0)}, {"num", n}});
}

void unpackRule(Case& c) { c.give(c.nodes.add("Pack", c.dy, {{"axis", attributeInt(c.op.attributes, "axis", 0)}}).front()); }

/// Concat has its axis in front of the parts, ConcatV2 behind them.
void concatRule(Case& c, bool axisFirst)
{
    const size_t first = axisFirst ? 1 : 0, count = c.x.size() - 1;
    const Grad axis = castTo(c, axisFirst ? c.x.front() : c.x.back(), DType::i32);
    std::vector<Grad> shapes;
    for (size_t i = 0; i < count; ++i) shapes.push_back(shapeOf(c, c.x[first + i]));
    const Grad rank = rankOf(c, c.x[first]);
    std::vector<Grad> operands = {c.nodes.node("FloorMod", {axis + rank, rank})};
    operands.insert(operands.end(), shapes.begin(), shapes.end());
    const std::vector<Grad> offsets = c.nodes.add("ConcatOffset", operands, {{"N", static_cast<int64_t>(count)}});
    for (size_t i = 0; i < count; ++i) c.dx[first + i] = c.nodes.node("Slice", {c.dy[0], offsets[i], shapes[i]});
}

void splitRule(Case& c) // Split(axis, value), SplitV(value, sizes, axis)
{
    const bool v = c.op.kind.name == "SplitV";
    std::vector<Grad> operands = c.dy;
    operands.push_back(c.x[v ? 2 : 0]);
    c.dx[v ? 0 : 1] = c.nodes.add("ConcatV2", operands, {{"N", static_cast<int64_t>(c.dy.size())}}).front();
}

void sliceRule(Case& c) // dy with as many zeros around it as the slice left out
{
    const Grad before = c.x[1];
    const DType dtype = c.nodes.dtype(before);
    const Grad behind = castTo(c, shapeOf(c, c.x[0]), dtype) - before - castTo(c, shapeOf(c, c.y[0]), dtype);
    const Grad sides[] = {before, behind};
    c.give(c.nodes.node("Pad", {c.dy[0], c.nodes.add("Pack", sides, {{"axis", int64_t{1}}}).front()}));
}

AttributeList stridedMasks(const Case& c)
{
    AttributeList masks;
    for (const char* key : {"begin_mask", "ellipsis_mask", "end_mask", "new_axis_mask", "shrink_axis_mask"})
        setAttribute(masks, key, attributeInt(c.op.attributes, key, 0));
    return masks;
}

void stridedSliceRule(Case& c)
{
    const Grad shape = castTo(c, shapeOf(c, c.x[0]), c.nodes.dtype(c.x[1]));
    c.give(c.nodes.node("StridedSliceGrad", {shape, c.x[1], c.x[2], c.x[3], c.dy[0]}, stridedMasks(c)));
}

void stridedUpdateRule(Case& c)
{
    const Grad zeros = zerosLike(c, c.x[4]);
    c.dx[0] = c.nodes.node("TensorStridedSliceUpdate", {c.dy[0], c.x[1], c.x[2], c.x[3], zeros}, stridedMasks(c));
    c.dx[4] = c.nodes.node("StridedSlice", {c.dy[0], c.x[1], c.x[2], c.x[3]}, stridedMasks(c));
}

void tileRule(Case& c) // [n·a] as [n, a], summed over n
{
    const Grad sides[] = {castTo(c, c.x[1], DType::i32), shapeOf(c, c.x[0])};
    const Grad pairs = flat(c, c.nodes.add("Pack", sides, {{"axis", int64_t{1}}}).front());
    const Grad axes = c.nodes.node("Range", {c.nodes.integer(0), sizeOf(c, pairs), c.nodes.integer(2)});
    c.give(sumOver(c, reshape(c, c.dy[0], pairs), axes));
}

void fillRule(Case& c) { c.dx[1] = sumOver(c, c.dy[0], range(c, c.nodes.integer(0), rankOf(c, c.dy[0]))); }

/// PadV2 also takes what the sides are filled with.
void padRule(Case& c)
{
    const int32_t corner[] = {0, 0}, column[] = {-1, 1};
    const Grad before = c.nodes.node("Slice", {c.x[1], c.nodes.integers(corner), c.nodes.integers(column)});
    c.give(c.nodes.node("Slice", {c.dy[0], castTo(c, flat(c, before), DType::i32), shapeOf(c, c.x[0])}));
    if (c.x.size() < 3) return;
    const Grad zero = c.nodes.integer(0);
    c.dx[2] = sumOver(c, flat(c, c.dy[0]), zero) - sumOver(c, flat(c, c.dx[0]), zero);
}

void mirrorRule(Case& c, std::string_view kind) { c.give(c.nodes.node(kind, {c.dy[0], c.x[1]}, attributesOf(c, {"mode"}))); }

void reverseSequenceRule(Case& c) { c.give(c.nodes.node("ReverseSequence", {c.dy[0], c.x[1]}, attributesOf(c, {"batch_dim", "seq_dim"}))); }

// --- By number --------------------------------------------------------------------------------------------------------------------------

/// Rows along an axis, the first dimensions of both operands shared: [batches, outer, rows, inner] and [batches, taken]. The rows of all
/// batches come to the front, numbered one batch behind the other, are summed by their numbers, and go back.
void gatherRule(Case& c)
{
    const Grad x = c.x[0], indices = c.x[1], shape = shapeOf(c, x), zero = c.nodes.integer(0);
    if (c.op.kind.name == "Gather") {
        const Grad dims[] = {asList(c, sizeOf(c, indices)), part(c, shape, c.nodes.integer(1), -1)};
        return c.give(
            sumRows(c, reshape(c, c.dy[0], joined(c, dims)), flat(c, indices), reshape(c, part(c, shape, zero, 1), c.nodes.integers({}))));
    }
    const auto sizeOfPart = [&](Grad from, Grad to) {
        const int32_t first[] = {0};
        return c.nodes.node("Prod", {rows(c, shape, range(c, from, to)), c.nodes.integers(first)}, {{"keep_dims", false}});
    };
    const auto shared = static_cast<int32_t>(attributeInt(c.op.attributes, "batch_dims", 0));
    const Grad batch = shared < 0 ? rankOf(c, indices) + c.nodes.integer(shared) : c.nodes.integer(shared);
    const Grad rank = rankOf(c, x), axis = c.nodes.node("FloorMod", {castTo(c, c.x[2], DType::i32) + rank, rank});
    const Grad next = axis + c.nodes.integer(1);
    const Grad outer = sizeOfPart(batch, axis), count = sizeOfPart(axis, next), inner = sizeOfPart(next, rank);
    Grad batches = c.nodes.integer(1), numbers = flat(c, castTo(c, indices, DType::i32)), taken = sizeOf(c, indices);
    if (shared != 0) {
        batches = sizeOfPart(zero, batch);
        taken = c.nodes.node("FloorDiv", {taken, c.nodes.node("Maximum", {batches, c.nodes.integer(1)})});
        const Grad table[] = {asList(c, batches), asList(c, taken)};
        numbers = flat(c, reshape(c, numbers, joined(c, table)) + expandDims(c, range(c, zero, batches) * count, 1));
    }
    const int32_t order[] = {0, 2, 1, 3};
    const auto exchanged = [&](Grad v, Grad second, Grad third) { // the two dimensions in the middle
        const Grad dims[] = {asList(c, batches), asList(c, second), asList(c, third), asList(c, inner)};
        return c.nodes.node("Transpose", {reshape(c, v, joined(c, dims)), c.nodes.integers(order)});
    };
    const Grad all = batches * count;
    const Grad dims[] = {asList(c, batches * taken), asList(c, outer), asList(c, inner)};
    const Grad sums = sumRows(c, reshape(c, exchanged(c.dy[0], outer, taken), joined(c, dims)), numbers, all);
    c.give(reshape(c, exchanged(sums, count, outer), shape));
}

Grad gatherNd(Case& c, Grad v, Grad indices) { return c.nodes.node("GatherNd", {v, indices}); }

void gatherNdRule(Case& c) { c.give(c.nodes.node("ScatterNd", {c.x[1], c.dy[0], castTo(c, shapeOf(c, c.x[0]), c.nodes.dtype(c.x[1]))})); }

void scatterUpdateRule(Case& c)
{
    c.dx[0] = c.nodes.node("TensorScatterUpdate", {c.dy[0], c.x[1], zerosLike(c, c.x[2])});
    c.dx[2] = gatherNd(c, c.dy[0], c.x[1]);
}

/// Elements that equal the extreme share its gradient.
void scatterExtremeRule(Case& c)
{
    const Grad indices = c.x[1], y = c.y[0];
    const auto hits = [&](Grad a, Grad b) { return castTo(c, c.nodes.node("Equal", {a, b}), c.dtype()); };
    const Grad kept = hits(c.x[0], y), put = hits(c.x[2], gatherNd(c, y, indices));
    const Grad shape = castTo(c, shapeOf(c, c.x[0]), c.nodes.dtype(indices));
    const Grad share = c.nodes.node("DivNoNan", {c.dy[0], kept + c.nodes.node("ScatterNd", {indices, put, shape})});
    c.dx[0] = share * kept;
    c.dx[2] = gatherNd(c, share, indices) * put;
}

void stitchRule(Case& c)
{
    const size_t n = c.x.size() / 2;
    for (size_t i = 0; i < n; ++i) c.dx[n + i] = rows(c, c.dy[0], c.x[i]);
}

void partitionRule(Case& c)
{
    const auto n = static_cast<int64_t>(c.dy.size());
    const Grad places = reshape(c, range(c, c.nodes.integer(0), sizeOf(c, c.x[1])), shapeOf(c, c.x[1]));
    const Grad operands[] = {places, c.x[1]};
    std::vector<Grad> lists = c.nodes.add("DynamicPartition", operands, {{"num_partitions", n}});
    lists.insert(lists.end(), c.dy.begin(), c.dy.end());
    c.give(reshape(c, c.nodes.add("DynamicStitch", lists, {{"N", n}}).front(), shapeOf(c, c.x[0])));
}

void topKRule(Case& c) // places in the flat tensor: number in the row + row · length of a row
{
    const int32_t last[] = {-1}, one[] = {1};
    const Grad shape = shapeOf(c, c.x[0]);
    const Grad length = c.nodes.node("Slice", {shape, asList(c, rankOf(c, c.x[0]) - c.nodes.integer(1)), c.nodes.integers(one)});
    const Grad k = c.nodes.node("Slice", {shapeOf(c, c.y[1]), asList(c, rankOf(c, c.y[1]) - c.nodes.integer(1)), c.nodes.integers(one)});
    const Grad dims[] = {c.nodes.integers(last), k};
    const Grad table = reshape(c, castTo(c, c.y[1], DType::i32), joined(c, dims));
    const Grad scalar = reshape(c, length, c.nodes.integers({}));
    const Grad rowStarts = c.nodes.node("Range", {c.nodes.integer(0), sizeOf(c, c.x[0]), scalar});
    const Grad places = expandDims(c, flat(c, table + expandDims(c, rowStarts, -1)), -1);
    c.give(reshape(c, c.nodes.node("ScatterNd", {places, flat(c, c.dy[0]), asList(c, sizeOf(c, c.x[0]))}), shape));
}

void sparseToDenseRule(Case& c)
{
    const Grad zero = c.nodes.integer(0), indices = c.x[0];
    const Grad taken = gatherNd(c, c.dy[0], indices);
    if (c.wanted[2]) c.dx[2] = reshape(c, taken, shapeOf(c, c.x[2]));
    if (c.wanted[3]) c.dx[3] = sumOver(c, flat(c, c.dy[0]), zero) - sumOver(c, flat(c, taken), zero);
}

// --- Blocks and diagonals ---------------------------------------------------------------------------------------------------------------

void blockRule(Case& c, std::string_view kind)
{
    if (c.x.size() > 2) return c.give(c.nodes.node(kind, {c.dy[0], c.x[1], c.x[2]}));
    if (c.x.size() > 1) return c.give(c.nodes.node(kind, {c.dy[0], c.x[1]}, attributesOf(c, {"block_size"})));
    c.give(c.nodes.node(kind, {c.dy[0]}, attributesOf(c, {"block_size", "data_format"})));
}

Grad zero(Case& c) { return c.nodes.number(0, c.dtype()); }

void diagonalRule(Case& c)
{
    c.give(c.nodes.node(c.op.kind.name == "MatrixDiagV3" ? "MatrixDiagPartV3" : "MatrixDiagPartV2", {c.dy[0], c.x[1], zero(c)},
                        attributesOf(c, {"align"})));
}

void diagonalPartRule(Case& c)
{
    const Grad zeros = zerosLike(c, c.x[0]);
    if (c.x.size() == 1) return c.give(c.nodes.node("MatrixSetDiag", {zeros, c.dy[0]}));
    c.give(c.nodes.node(c.op.kind.name == "MatrixDiagPartV3" ? "MatrixSetDiagV3" : "MatrixSetDiagV2", {zeros, c.dy[0], c.x[1]},
                        attributesOf(c, {"align"})));
}

void setDiagonalRule(Case& c)
{
    const Grad zeros = zerosLike(c, c.x[1]);
    if (c.x.size() == 2) return c.give(c.nodes.node("MatrixSetDiag", {c.dy[0], zeros}), call(c, "MatrixDiagPart", c.dy[0]));
    const bool third = c.op.kind.name == "MatrixSetDiagV3";
    c.give(c.nodes.node(c.op.kind.name, {c.dy[0], zeros, c.x[2]}, attributesOf(c, {"align"})),
           c.nodes.node(third ? "MatrixDiagPartV3" : "MatrixDiagPartV2", {c.dy[0], c.x[2], zero(c)}, attributesOf(c, {"align"})));
}

// clang-format off
constexpr NamedGradientRule kMovementRules[] = {
    {"Reshape", kSymbolic, reshapeRule},
    {"Squeeze", kSymbolic, reshapeRule},
    {"ExpandDims", kSymbolic, reshapeRule},
    {"Transpose", kSymbolic, transposeRule},
    {"ConjugateTranspose", kGraphsOnly, transposeRule},
    {"Pack", kSymbolic, packRule},
    {"Unpack", kSymbolic, unpackRule},
    {"Concat", kSymbolic, [](Case& c) { concatRule(c, true); }},
    {"ConcatV2", kSymbolic, [](Case& c) { concatRule(c, false); }},
    {"Split", kSymbolic, splitRule},
    {"SplitV", kSymbolic, splitRule},
    {"Slice", kSymbolic, sliceRule},
    {"StridedSlice", kSymbolic, stridedSliceRule},
    {"StridedSliceGrad", kGraphsOnly, [](Case& c) { c.dx[4] = c.nodes.node("StridedSlice", {c.dy[0], c.x[1], c.x[2], c.x[3]}, stridedMasks(c)); }},
    {"TensorStridedSliceUpdate", kGraphsOnly, stridedUpdateRule},
    {"Reverse", kSymbolic, [](Case& c) { c.give(c.nodes.node("Reverse", {c.dy[0], c.x[1]})); }},
    {"ReverseV2", kSymbolic, [](Case& c) { c.give(c.nodes.node("ReverseV2", {c.dy[0], c.x[1]})); }},
    {"ReverseSequence", kGraphsOnly, reverseSequenceRule},
    {"Roll", kGraphsOnly, [](Case& c) { c.give(c.nodes.node("Roll", {c.dy[0], -c.x[1], c.x[2]})); }},
    {"Fill", kSymbolic, fillRule},
    {"BroadcastTo", kSymbolic, [](Case& c) { c.give(reduceTo(c, c.dy[0], c.x[0])); }},
    {"Tile", kSymbolic, tileRule},
    {"Pad", kGraphsOnly, padRule},
    {"PadV2", kGraphsOnly, padRule},
    {"MirrorPad", kGraphsOnly, [](Case& c) { mirrorRule(c, "MirrorPadGrad"); }},
    {"MirrorPadGrad", kGraphsOnly, [](Case& c) { mirrorRule(c, "MirrorPad"); }},
    {"Gather", kGraphsOnly, gatherRule},
    {"GatherV2", kGraphsOnly, gatherRule},
    {"GatherNd", kSymbolic, gatherNdRule},
    {"ScatterNd", kGraphsOnly, [](Case& c) { c.dx[1] = gatherNd(c, c.dy[0], c.x[0]); }},
    {"TensorScatterUpdate", kGraphsOnly, scatterUpdateRule},
    {"TensorScatterAdd", kGraphsOnly, [](Case& c) { c.dx[0] = c.dy[0]; c.dx[2] = gatherNd(c, c.dy[0], c.x[1]); }},
    {"TensorScatterSub", kGraphsOnly, [](Case& c) { c.dx[0] = c.dy[0]; c.dx[2] = -gatherNd(c, c.dy[0], c.x[1]); }},
    {"TensorScatterMax", kGraphsOnly, scatterExtremeRule},
    {"TensorScatterMin", kGraphsOnly, scatterExtremeRule},
    {"DynamicStitch", kGraphsOnly, stitchRule},
    {"ParallelDynamicStitch", kGraphsOnly, stitchRule},
    {"DynamicPartition", kGraphsOnly, partitionRule},
    {"TopKV2", kGraphsOnly, topKRule},
    {"SparseToDense", kGraphsOnly, sparseToDenseRule},
    {"SpaceToBatch", kGraphsOnly, [](Case& c) { blockRule(c, "BatchToSpace"); }},
    {"BatchToSpace", kGraphsOnly, [](Case& c) { blockRule(c, "SpaceToBatch"); }},
    {"SpaceToBatchND", kGraphsOnly, [](Case& c) { blockRule(c, "BatchToSpaceND"); }},
    {"BatchToSpaceND", kGraphsOnly, [](Case& c) { blockRule(c, "SpaceToBatchND"); }},
    {"SpaceToDepth", kGraphsOnly, [](Case& c) { blockRule(c, "DepthToSpace"); }},
    {"DepthToSpace", kGraphsOnly, [](Case& c) { blockRule(c, "SpaceToDepth"); }},
    {"Diag", kGraphsOnly, [](Case& c) { c.give(call(c, "DiagPart", c.dy[0])); }},
    {"DiagPart", kGraphsOnly, [](Case& c) { c.give(call(c, "Diag", c.dy[0])); }},
    {"MatrixDiag", kGraphsOnly, [](Case& c) { c.give(call(c, "MatrixDiagPart", c.dy[0])); }},
    {"MatrixDiagV2", kGraphsOnly, diagonalRule},
    {"MatrixDiagV3", kGraphsOnly, diagonalRule},
    {"MatrixDiagPart", kGraphsOnly, diagonalPartRule},
    {"MatrixDiagPartV2", kGraphsOnly, diagonalPartRule},
    {"MatrixDiagPartV3", kGraphsOnly, diagonalPartRule},
    {"MatrixSetDiag", kGraphsOnly, setDiagonalRule},
    {"MatrixSetDiagV2", kGraphsOnly, setDiagonalRule},
    {"MatrixSetDiagV3", kGraphsOnly, setDiagonalRule},
    {"MatrixBandPart", kGraphsOnly, [](Case& c) { c.give(c.nodes.node("MatrixBandPart", {c.dy[0], c.x[1], c.x[2]})); }},
};
// clang-format on

} // namespace

std::span<const NamedGradientRule> gradientRulesOfMovement() { return kMovementRules; }

} // namespace loopscope
