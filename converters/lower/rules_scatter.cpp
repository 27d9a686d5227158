// What moves elements to computed places, and what writes them there: TFLite gathers and scatters, and has none of these. What is written
// twice has the later value, as in TensorFlow.
#include "converters/lower/graph_lowering.h"
#include "converters/lower/shapes.h"

#include <algorithm>
#include <array>

namespace loopscope::lowering {

namespace {

/// For each of `count` (i32[1]) rows the last of the updates that goes there; below 0: none.
Result<ValueId> lastUpdates(GraphLowering& l, ValueId rows, ValueId count)
{
    LS_TRY(const ValueId length, l.shapeOf(rows));
    LS_TRY(const ValueId order, countingTo(l, length));
    LS_TRY(const ValueId end, asScalar(l, count));
    return l.emit("unsorted_segment_max", {order, rows, end}, {}, DType::i32);
}

/// The rows of `data`, [n, …], that `winners` names; row 0 for those below 0.
Result<ValueId> chosen(GraphLowering& l, ValueId data, ValueId winners)
{
    LS_TRY(const ValueId named, l.emit("maximum", {winners, number(l, 0)}, {}, DType::i32));
    return l.emit("gather", {data, named}, {{"axis", int64_t{0}}}, l.type(data).dtype);
}

/// Where updates go: `rows` of the tensor with its first dimensions, as many as an index has numbers, made one.
struct Rows {
    ValueId rows, count, shape, rest; ///< i32; how many rows there are, i32[1]; of the tensor, and of one row
};

/// Σ index[k] · Π of the dimensions behind it
Result<Rows> rowsOf(GraphLowering& l, ValueId tensor, ValueId indices)
{
    const Shape given = l.type(indices).dynamicShape();
    LS_TRY(const ValueId places, l.asInt32(indices));
    LS_TRY(const ValueId shape, l.shapeOf(tensor));
    if (!given.hasRank() || given.rank() == 0 || given[given.rank() - 1] < 1) { // a table of the rows' numbers knows them
        LS_TRY(const ValueId own, l.shapeOf(places));
        LS_TRY(const ValueId depth, lastOf(l, own));
        LS_TRY(const ValueId front, l.emit("slice", {shape, numbers(l, {0}), depth}, {}, DType::i32));
        LS_TRY(const ValueId count, countOf(l, front));
        LS_TRY(const ValueId order, countingTo(l, count));
        LS_TRY(const ValueId grid, l.emit("reshape", {order, front}, {}, DType::i32));
        LS_TRY(const ValueId lines, joined(l, numbers(l, {-1}), depth));
        LS_TRY(const ValueId flat, l.emit("reshape", {places, lines}, {}, DType::i32));
        LS_TRY(const ValueId rows, l.emit("gather_nd", {grid, flat}, {}, DType::i32));
        LS_TRY(const ValueId rest, l.emit("slice", {shape, depth, numbers(l, {-1})}, {}, DType::i32));
        return Rows{rows, count, shape, rest};
    }
    const int64_t depth = given[given.rank() - 1];
    LS_TRY(const ValueId flat, l.emit("reshape", {places, numbers(l, {-1, depth})}, {}, DType::i32));
    ValueId rows;
    for (int64_t k = 0; k < depth; ++k) {
        LS_TRY(ValueId column, l.emit("slice", {flat, numbers(l, {0, k}), numbers(l, {-1, 1})}, {}, DType::i32));
        LS_TRY(column, l.emit("reshape", {column, numbers(l, {-1})}, {}, DType::i32));
        if (k + 1 < depth) {
            LS_TRY(const ValueId behind, part(l, shape, k + 1, depth - k - 1));
            LS_TRY(const ValueId step, countOf(l, behind));
            LS_TRY(column, l.emit("mul", {column, step}, {}, DType::i32));
        }
        if (rows.valid()) {
            LS_TRY(column, l.emit("add", {rows, column}, {}, DType::i32));
        }
        rows = column;
    }
    LS_TRY(const ValueId front, part(l, shape, 0, depth));
    LS_TRY(const ValueId count, countOf(l, front));
    LS_TRY(const ValueId rest, part(l, shape, depth, -1));
    return Rows{rows, count, shape, rest};
}

Status tensorScatterUpdate(GraphLowering& l)
{
    LS_TRY(const ValueId after, updated(l, l.input(0), l.input(1), l.input(2)));
    l.bind(0, after);
    return {};
}

/// tensor ± what ScatterNd adds up.
Status tensorScatterSum(GraphLowering& l)
{
    LS_TRY(const ValueId places, l.asInt32(l.input(1)));
    LS_TRY(const ValueId shape, l.shapeOf(l.input(0)));
    LS_TRY(const ValueId sums, l.emit("scatter_nd", {places, l.input(2), shape}, {}, l.type(l.input(0)).dtype));
    return l.finish(l.op().kind.name == "TensorScatterAdd" ? "add" : "sub", {l.input(0), sums});
}

Status resourceGather(GraphLowering& l)
{
    if (attributeInt(l.op().attributes, "batch_dims", 0) != 0) return noForm("batch_dims");
    LS_TRY(const ValueId table, l.emit("read_variable", {l.input(0)}, {}, l.declared(0).dtype));
    return l.finish("gather", {table, l.input(1)}, {{"axis", int64_t{0}}});
}

/// Rows of a variable; the indices have no dimension of their own.
Status resourceScatterUpdate(GraphLowering& l)
{
    const DType dtype = l.type(l.input(2)).dtype;
    LS_TRY(const ValueId table, l.emit("read_variable", {l.input(0)}, {}, dtype));
    LS_TRY(const ValueId rows, l.emit("reshape", {l.input(1), numbers(l, {-1, 1})}, {}, l.type(l.input(1)).dtype));
    LS_TRY(const ValueId after, updated(l, table, rows, l.input(2)));
    LS_CHECK_OK(l.emitAll({"tfl", "assign_variable"}, {l.input(0), after}, {}, {}));
    return {};
}

/// table[indices] op= updates, the rows that are named twice twice.
Status resourceScatterSum(GraphLowering& l)
{
    const DType dtype = l.type(l.input(2)).dtype;
    LS_TRY(const ValueId table, l.emit("read_variable", {l.input(0)}, {}, dtype));
    LS_TRY(const ValueId places, l.asInt32(l.input(1)));
    LS_TRY(const ValueId rows, l.emit("reshape", {places, numbers(l, {-1, 1})}, {}, DType::i32));
    LS_TRY(const ValueId shape, l.shapeOf(table));
    LS_TRY(const ValueId rest, part(l, shape, 1, -1));
    LS_TRY(const ValueId own, l.shapeOf(places));
    LS_TRY(const ValueId length, countOf(l, own));
    LS_TRY(const ValueId whole, joined(l, length, rest));
    const Shape given = l.type(l.input(2)).dynamicShape();
    ValueId lines = l.input(2);
    if (!given.hasRank() || given.rank() == 0) { // perhaps one number for all
        LS_TRY(const ValueId each, joined(l, own, rest));
        LS_TRY(lines, l.emit("broadcast_to", {lines, each}, {}, dtype));
    }
    LS_TRY(lines, l.emit("reshape", {lines, whole}, {}, dtype));
    LS_TRY(const ValueId sums, l.emit("scatter_nd", {rows, lines, shape}, {}, dtype));
    LS_TRY(const ValueId after, l.emit(l.op().kind.name == "ResourceScatterAdd" ? "add" : "sub", {table, sums}, {}, dtype));
    LS_CHECK_OK(l.emitAll({"tfl", "assign_variable"}, {l.input(0), after}, {}, {}));
    return {};
}

/// data[k] goes to the rows indices[k]; there are as many as the largest index says.
Status dynamicStitch(GraphLowering& l)
{
    const int count = l.inputCount() / 2;
    ValueId rows, lines;
    const Shape first = l.type(l.input(0)).dynamicShape();
    if (!first.hasRank()) return noForm("indices of unknown rank");
    LS_TRY(const ValueId shape, l.shapeOf(l.input(count)));
    LS_TRY(const ValueId rest, part(l, shape, first.rank(), -1));
    for (int k = 0; k < count; ++k) {
        LS_TRY(ValueId own, l.emit("reshape", {l.input(k), numbers(l, {-1})}, {}, DType::i32));
        LS_TRY(const ValueId length, l.shapeOf(own));
        LS_TRY(const ValueId whole, joined(l, length, rest));
        LS_TRY(ValueId line, l.emit("reshape", {l.input(count + k), whole}, {}, l.declared(0).dtype));
        if (rows.valid()) {
            LS_TRY(own, joined(l, rows, own));
            LS_TRY(line, joined(l, lines, line));
        }
        rows = own;
        lines = line;
    }
    LS_TRY(const ValueId last, l.emit("reduce_max", {rows, numbers(l, {0})}, {{"keep_dims", true}}, DType::i32));
    LS_TRY(const ValueId all, l.emit("add", {last, numbers(l, {1})}, {}, DType::i32));
    LS_TRY(const ValueId winners, lastUpdates(l, rows, all));
    LS_TRY(const ValueId stitched, chosen(l, lines, winners));
    l.bind(0, stitched);
    return {};
}

/// Result k: the rows of which the partition is k.
Status dynamicPartition(GraphLowering& l)
{
    for (int k = 0; k < static_cast<int>(l.op().results.size()); ++k) {
        LS_TRY(const ValueId isIts, l.emit("equal", {l.input(1), number(l, k)}, {}, DType::boolean));
        LS_TRY(const ValueId places, l.emit("where", {isIts}, {}, DType::i64));
        LS_TRY(const ValueId indices, l.asInt32(places));
        LS_TRY(const ValueId rows, l.emit("gather_nd", {l.input(0), indices}, {}, l.declared(k).dtype));
        l.bind(k, rows);
    }
    return {};
}

/// Row i comes from (i − shift) mod n.
Status roll(GraphLowering& l)
{
    const auto axes = l.integers(l.input(2));
    if (!axes) return noForm("its axis is computed");
    const int rank = l.type(l.input(0)).shape.hasRank() ? l.type(l.input(0)).shape.rank() : -1;
    LS_TRY(const ValueId shifts, l.asInt32(l.input(1)));
    ValueId rolled = l.input(0);
    for (size_t k = 0; k < axes->size(); ++k) {
        const int64_t axis = (*axes)[k] < 0 ? (*axes)[k] + rank : (*axes)[k];
        if (axis < 0) return noForm("an axis from the end of an unknown rank");
        LS_TRY(const ValueId flat, l.emit("reshape", {shifts, numbers(l, {-1})}, {}, DType::i32));
        LS_TRY(const ValueId shift, part(l, flat, static_cast<int64_t>(k), 1));
        LS_TRY(const ValueId shape, l.shapeOf(rolled));
        LS_TRY(const ValueId length, part(l, shape, axis, 1));
        LS_TRY(const ValueId order, countingTo(l, length));
        LS_TRY(const ValueId moved, l.emit("sub", {order, shift}, {}, DType::i32));
        LS_TRY(const ValueId from, l.emit("floor_mod", {moved, length}, {}, DType::i32));
        LS_TRY(rolled, l.emit("gather", {rolled, from}, {{"axis", axis}}, l.type(rolled).dtype));
    }
    l.bind(0, rolled);
    return {};
}

/// The numbers of the elements that the slice took say where the gradient goes, whatever its masks and strides.
Status stridedSliceGrad(GraphLowering& l)
{
    std::array<ValueId, 4> bounds; // of what was sliced, begin, end, strides
    for (int k = 0; k < 4; ++k) {
        LS_TRY(bounds[static_cast<size_t>(k)], l.asInt32(l.input(k)));
    }
    AttributeList masks;
    for (const std::string_view mask : {"begin_mask", "ellipsis_mask", "end_mask", "new_axis_mask", "shrink_axis_mask"})
        masks.push_back({std::string(mask), attributeInt(l.op().attributes, mask, 0)});
    LS_TRY(const ValueId count, countOf(l, bounds[0]));
    LS_TRY(const ValueId order, countingTo(l, count));
    LS_TRY(const ValueId whole, l.emit("reshape", {order, bounds[0]}, {}, DType::i32));
    LS_TRY(const ValueId taken, l.emit("strided_slice", {whole, bounds[1], bounds[2], bounds[3]}, std::move(masks), DType::i32));
    LS_TRY(const ValueId places, l.emit("reshape", {taken, numbers(l, {-1, 1})}, {}, DType::i32));
    LS_TRY(const ValueId flat, l.emit("reshape", {l.input(4), numbers(l, {-1})}, {}, l.declared(0).dtype));
    LS_TRY(const ValueId placed, l.emit("scatter_nd", {places, flat, count}, {}, l.declared(0).dtype));
    return l.finish("reshape", {placed, bounds[0]});
}

/// 1 at this place of a vector as long as `dims`, else 0.
Result<ValueId> maskOf(GraphLowering& l, ValueId place, ValueId dims)
{
    LS_TRY(const ValueId axis, l.asInt32(place));
    LS_TRY(const ValueId length, l.shapeOf(dims));
    LS_TRY(const ValueId order, countingTo(l, length));
    LS_TRY(const ValueId along, l.emit("floor_mod", {axis, length}, {}, DType::i32)); // it may count from the end
    LS_TRY(const ValueId isIt, l.emit("equal", {order, along}, {}, DType::boolean));
    return l.emit("cast", {isIt}, {}, DType::i32);
}

/// Where each operand of a concatenation begins: 0, but along its axis the sum of those before.
Status concatOffset(GraphLowering& l)
{
    LS_TRY(const ValueId first, l.asInt32(l.input(1)));
    LS_TRY(const ValueId mask, maskOf(l, l.input(0), first));
    LS_TRY(ValueId sum, l.emit("sub", {mask, mask}, {}, DType::i32));
    for (int k = 1; k < l.inputCount(); ++k) {
        l.bind(k - 1, sum);
        LS_TRY(const ValueId dims, l.asInt32(l.input(k)));
        LS_TRY(const ValueId own, l.emit("mul", {dims, mask}, {}, DType::i32));
        LS_TRY(sum, l.emit("add", {sum, own}, {}, DType::i32));
    }
    return {};
}

/// The main diagonal of a matrix of its size.
Status matrixDiag(GraphLowering& l)
{
    const auto k = l.integers(l.input(1)), rows = l.integers(l.input(2)), columns = l.integers(l.input(3));
    const auto isOne = [](const std::optional<std::vector<int64_t>>& given, int64_t wanted) {
        return given && given->size() == 1 && given->front() == wanted;
    };
    if (!isOne(k, 0) || !isOne(rows, -1) || !isOne(columns, -1)) return noForm("another diagonal than the main one of a square");
    return l.finish("matrix_diag", {l.input(0)});
}

constexpr NamedRule kScatterRules[] = {
    {"ConcatOffset", concatOffset},
    {"DynamicPartition", dynamicPartition},
    {"DynamicStitch", dynamicStitch},
    {"MatrixDiagV3", matrixDiag},
    {"ParallelDynamicStitch", dynamicStitch},
    {"ResourceGather", resourceGather},
    {"ResourceScatterAdd", resourceScatterSum},
    {"ResourceScatterSub", resourceScatterSum},
    {"ResourceScatterUpdate", resourceScatterUpdate},
    {"Roll", roll},
    {"StridedSliceGrad", stridedSliceGrad},
    {"TensorScatterAdd", tensorScatterSum},
    {"TensorScatterSub", tensorScatterSum},
    {"TensorScatterUpdate", tensorScatterUpdate},
};

} // namespace

Result<ValueId> updated(GraphLowering& l, ValueId tensor, ValueId indices, ValueId updates)
{
    LS_TRY(const Rows where, rowsOf(l, tensor, indices));
    const DType dtype = l.type(tensor).dtype;
    const ValueId rows = where.rows, count = where.count, shape = where.shape, rest = where.rest;
    LS_TRY(const ValueId width, countOf(l, rest));
    LS_TRY(const ValueId length, l.shapeOf(rows));
    LS_TRY(const ValueId table, joined(l, count, width));
    LS_TRY(const ValueId lines, joined(l, length, width));
    LS_TRY(const ValueId before, l.emit("reshape", {tensor, table}, {}, dtype));
    LS_TRY(const ValueId written, l.emit("reshape", {updates, lines}, {}, dtype));
    LS_TRY(const ValueId winners, lastUpdates(l, rows, count));
    LS_TRY(const ValueId after, chosen(l, written, winners));
    LS_TRY(const ValueId isWritten, l.emit("greater_equal", {winners, number(l, 0)}, {}, DType::boolean));
    LS_TRY(const ValueId asColumn, l.emit("reshape", {isWritten, numbers(l, {-1, 1})}, {}, DType::boolean));
    LS_TRY(const ValueId both, l.emit("select_v2", {asColumn, after, before}, {}, dtype));
    return l.emit("reshape", {both, shape}, {}, dtype);
}

std::span<const NamedRule> scatterRules() { return kScatterRules; }

} // namespace loopscope::lowering
