// Lists whose elements have shapes of their own: lists in lists, optionals, tensors of several shapes. Such a list is a matrix. A row has
// the element's rank, its dimensions, its elements, and zeros as far as the longest row goes; all of it in the dtype of the elements, bool
// as i32. A row of zeros is an element that nothing was written to.
#include "converters/lower/graph_lowering.h"
#include "converters/lower/shapes.h"

#include <algorithm>
#include <array>

namespace loopscope::lowering {

namespace {

TensorType openMatrix(DType dtype) { return {dtype, Shape{-1, -1}}; }

/// The only result, of which more is known than inference says.
Result<ValueId> emitAs(GraphLowering& l, std::string_view kind, std::vector<ValueId> inputs, AttributeList attributes, TensorType type)
{
    LS_TRY(const std::vector<ValueId> made,
           l.emitAll({"tfl", std::string(kind)}, std::move(inputs), std::move(attributes), {std::move(type)}));
    return made.front();
}

/// Numbers of dimensions as the list has them, and back.
Result<ValueId> asElements(GraphLowering& l, ValueId dims, DType dtype)
{
    if (l.type(dims).dtype == dtype) return dims;
    return l.emit("cast", {dims}, {}, dtype);
}

Result<ValueId> asDims(GraphLowering& l, ValueId elements)
{
    if (l.type(elements).dtype == DType::i32) return elements;
    return l.emit("cast", {elements}, {}, DType::i32);
}

struct Matrix {
    ValueId value, rows, width; ///< i32[1]
};

Result<Matrix> matrixOf(GraphLowering& l, ValueId list)
{
    LS_TRY(const ValueId shape, l.shapeOf(list));
    LS_TRY(const ValueId rows, part(l, shape, 0, 1));
    LS_TRY(const ValueId width, part(l, shape, 1, 1));
    return Matrix{list, rows, width};
}

/// At least so many rows, and so wide.
Result<ValueId> widened(GraphLowering& l, const Matrix& list, ValueId rows, ValueId width)
{
    const DType dtype = l.type(list.value).dtype;
    LS_TRY(const ValueId below, l.emit("sub", {rows, list.rows}, {}, DType::i32));
    LS_TRY(const ValueId beside, l.emit("sub", {width, list.width}, {}, DType::i32));
    LS_TRY(const ValueId none, l.emit("sub", {rows, rows}, {}, DType::i32));
    LS_TRY(const ValueId all, l.emit("concatenation", {none, below, none, beside}, {{"axis", int64_t{0}}}, DType::i32));
    LS_TRY(const ValueId paddings, emitAs(l, "reshape", {all, numbers(l, {2, 2})}, {}, TensorType(DType::i32, Shape{2, 2})));
    return emitAs(l, "pad", {list.value, paddings}, {}, openMatrix(dtype));
}

/// [1, …]: the element as a row.
Result<ValueId> rowFrom(GraphLowering& l, ValueId item, DType dtype)
{
    LS_TRY(const ValueId dims, l.shapeOf(item));
    LS_TRY(const ValueId rank, l.shapeOf(dims));
    LS_TRY(const ValueId head, joined(l, rank, dims));
    LS_TRY(const ValueId numbersOf, asElements(l, head, dtype));
    ValueId elements = item;
    if (l.type(item).dtype != dtype) {
        LS_TRY(elements, l.emit("cast", {item}, {}, dtype));
    }
    LS_TRY(const ValueId flat, l.emit("reshape", {elements, numbers(l, {-1})}, {}, dtype));
    LS_TRY(const ValueId line, joined(l, numbersOf, flat));
    return emitAs(l, "reshape", {line, numbers(l, {1, -1})}, {}, TensorType(dtype, Shape{1, -1}));
}

/// What a row's head says: its rank and dimensions. A list that nothing was put into has the row that is before all elements.
struct Head {
    ValueId rank, dims; ///< i32[1], i32[rank]
};

Result<Head> headOf(GraphLowering& l, ValueId row)
{
    LS_TRY(const ValueId first, l.emit("slice", {row, numbers(l, {0}), numbers(l, {1})}, {}, l.type(row).dtype));
    LS_TRY(const ValueId rank, asDims(l, first));
    LS_TRY(const ValueId rest, l.emit("slice", {row, numbers(l, {1}), rank}, {}, l.type(row).dtype));
    LS_TRY(const ValueId dims, asDims(l, rest));
    return Head{rank, dims};
}

/// The element of a row, [width].
Result<ValueId> itemFrom(GraphLowering& l, ValueId row, const ListKind& kind, const TensorType& declared)
{
    LS_TRY(Head head, headOf(l, row));
    const DType dtype = l.type(row).dtype;
    LS_TRY(const ValueId begin, l.emit("add", {head.rank, numbers(l, {1})}, {}, DType::i32));
    if (kind.holdsLists) { // no list is a scalar: nothing was written to it
        LS_TRY(const ValueId none, l.emit("equal", {head.rank, numbers(l, {0})}, {}, DType::boolean));
        LS_TRY(const ValueId isNone, l.emit("cast", {none}, {}, DType::i32));
        LS_TRY(const ValueId count, l.emit("mul", {isNone, numbers(l, {2})}, {}, DType::i32));
        LS_TRY(const ValueId empty, l.emit("slice", {numbers(l, {l.model().padding(), 1}), numbers(l, {0}), count}, {}, DType::i32));
        LS_TRY(head.dims, joined(l, empty, head.dims));
    }
    LS_TRY(const ValueId count, countOf(l, head.dims));
    LS_TRY(ValueId elements, l.emit("slice", {row, begin, count}, {}, dtype));
    const DType wanted = kind.item;
    if (wanted == DType::boolean && dtype != wanted) {
        LS_TRY(elements, l.emit("not_equal", {elements, l.realConstant(dtype, 0)}, {}, wanted));
    }
    const Shape known = declared.dtype == DType::variant ? Shape::unknownRank() : declared.dynamicShape();
    return emitAs(l, "reshape", {elements, head.dims}, {}, TensorType(wanted, known));
}

Result<ValueId> placeOf(GraphLowering& l, ValueId index)
{
    if (l.model().padding() == 0) return index;
    return l.emit("add", {index, number(l, 1)}, {}, l.type(index).dtype);
}

/// `rows` (i32[1]) that nothing was written to.
Status emptyRows(GraphLowering& l, ValueId rows)
{
    const DType dtype = raggedDtype(l.listGiven(0).item);
    if (dtype != DType::f32 && dtype != DType::i32 && dtype != DType::i64) return noForm("a list of " + std::string(dtypeName(dtype)));
    LS_TRY(const ValueId shape, joined(l, rows, numbers(l, {2}))); // as wide as a number is
    LS_TRY(const ValueId list, emitAs(l, "fill", {shape, l.realConstant(dtype, 0)}, {}, openMatrix(dtype)));
    l.bind(0, list);
    return {};
}

Status empty(GraphLowering& l) { return emptyRows(l, numbers(l, {l.model().padding()})); }

Status reserve(GraphLowering& l)
{
    LS_TRY(const ValueId count, l.asInt32(l.input(1)));
    LS_TRY(const ValueId rows, placeOf(l, count));
    LS_TRY(const ValueId one, l.emit("reshape", {rows, numbers(l, {1})}));
    return emptyRows(l, one);
}

/// The list that is the first operand, and an element that goes into it: both have to be as wide as the wider of them.
struct WithItem {
    Matrix list, row;
    ValueId width;
};

Result<WithItem> withItem(GraphLowering& l, ValueId item)
{
    WithItem both;
    LS_TRY(both.list, matrixOf(l, l.input(0)));
    LS_TRY(const ValueId line, rowFrom(l, item, l.type(l.input(0)).dtype));
    LS_TRY(both.row, matrixOf(l, line));
    LS_TRY(both.width, l.emit("maximum", {both.list.width, both.row.width}, {}, DType::i32));
    return both;
}

Status pushBack(GraphLowering& l)
{
    const DType dtype = l.type(l.input(0)).dtype;
    LS_TRY(const WithItem both, withItem(l, l.input(1)));
    const auto& [list, row, width] = both;
    LS_TRY(const ValueId wide, widened(l, list, list.rows, width));
    LS_TRY(const ValueId wideRow, widened(l, row, row.rows, width));
    LS_TRY(const ValueId all, emitAs(l, "concatenation", {wide, wideRow}, {{"axis", int64_t{0}}}, openMatrix(dtype)));
    l.bind(0, all);
    return {};
}

Status setItem(GraphLowering& l)
{
    const DType dtype = l.type(l.input(0)).dtype;
    LS_TRY(const WithItem both, withItem(l, l.input(2)));
    const auto& [list, row, width] = both;
    LS_TRY(const ValueId own, placeOf(l, l.input(1)));
    LS_TRY(const ValueId place, l.emit("reshape", {own, numbers(l, {1})}));
    LS_TRY(const ValueId end, l.emit("add", {place, numbers(l, {1})}, {}, DType::i32));
    const bool isGrowing = attributeBool(l.op().attributes, "resize_if_index_out_of_bounds", false);
    ValueId rows = list.rows;
    if (isGrowing) {
        LS_TRY(rows, l.emit("maximum", {rows, end}, {}, DType::i32));
    }
    LS_TRY(const ValueId wide, widened(l, list, rows, width));
    LS_TRY(const ValueId wideRow, widened(l, row, row.rows, width));
    LS_TRY(const ValueId start, joined(l, place, numbers(l, {0})));
    LS_TRY(const ValueId after, emitAs(l, "dynamic_update_slice", {wide, wideRow, start}, {}, openMatrix(dtype)));
    l.bind(0, after);
    return {};
}

Result<ValueId> rowAt(GraphLowering& l, ValueId list, ValueId place)
{
    return emitAs(l, "gather", {list, place}, {{"axis", int64_t{0}}}, TensorType(l.type(list).dtype, Shape{-1}));
}

Status getItem(GraphLowering& l)
{
    LS_TRY(const ValueId place, placeOf(l, l.input(1)));
    LS_TRY(const ValueId row, rowAt(l, l.input(0), place));
    LS_TRY(const ValueId item, itemFrom(l, row, l.listOf(0), l.declared(0)));
    l.bind(0, item);
    return {};
}

Status popBack(GraphLowering& l)
{
    LS_TRY(const Matrix list, matrixOf(l, l.input(0)));
    LS_TRY(const ValueId one, l.emit("sub", {list.rows, numbers(l, {1})}, {}, DType::i32));
    LS_TRY(const ValueId last, asScalar(l, one));
    LS_TRY(const ValueId row, rowAt(l, l.input(0), last));
    LS_TRY(const ValueId item, itemFrom(l, row, l.listOf(0), l.declared(1)));
    LS_TRY(const ValueId size, joined(l, one, numbers(l, {-1})));
    LS_TRY(const ValueId rest, emitAs(l, "slice", {l.input(0), numbers(l, {0, 0}), size}, {}, openMatrix(l.type(l.input(0)).dtype)));
    l.bind(0, rest);
    l.bind(1, item);
    return {};
}

Status length(GraphLowering& l)
{
    LS_TRY(const Matrix list, matrixOf(l, l.input(0)));
    LS_TRY(ValueId count, asScalar(l, list.rows));
    if (l.model().padding() > 0) {
        LS_TRY(count, l.emit("sub", {count, number(l, 1)}));
    }
    l.bind(0, count);
    return {};
}

/// The rows of elements, without the one before them.
Result<ValueId> elementRows(GraphLowering& l, ValueId list)
{
    if (l.model().padding() == 0) return list;
    return emitAs(l, "slice", {list, numbers(l, {1, 0}), numbers(l, {-1, -1})}, {}, openMatrix(l.type(list).dtype));
}

/// What the heads of all rows say: the largest of each number.
Result<Head> headOfAll(GraphLowering& l, ValueId rows)
{
    const DType dtype = l.type(rows).dtype;
    LS_TRY(const Matrix all, matrixOf(l, rows));
    LS_TRY(const ValueId more, l.emit("add", {all.rows, numbers(l, {1})}, {}, DType::i32)); // of no rows there is no largest
    LS_TRY(const ValueId some, widened(l, all, more, all.width));
    LS_TRY(const ValueId largest, emitAs(l, "reduce_max", {some, numbers(l, {0})}, {}, TensorType(dtype, Shape{-1})));
    return headOf(l, largest);
}

/// All of it open: each element has its own.
Status elementShape(GraphLowering& l)
{
    const DType dtype = l.declared(0).dtype;
    ValueId rank;
    if (const Shape said = l.declared(0).dynamicShape(); said.isStatic() && said.rank() == 1) {
        rank = numbers(l, {said[0]});
    } else {
        LS_TRY(const Head head, headOfAll(l, l.input(0)));
        rank = head.rank;
    }
    LS_TRY(const ValueId open, l.emit("fill", {rank, l.realConstant(dtype, -1)}, {}, dtype));
    l.bind(0, open);
    return {};
}

/// The rows' elements in one tensor, of one shape.
Status stacked(GraphLowering& l, ValueId rows)
{
    const DType dtype = l.type(rows).dtype;
    const ListKind kind = l.listOf(0);
    LS_TRY(const Head head, headOfAll(l, rows));
    LS_TRY(const ValueId one, l.emit("add", {head.rank, numbers(l, {1})}, {}, DType::i32));
    LS_TRY(const ValueId count, countOf(l, head.dims));
    LS_TRY(const ValueId begin, joined(l, numbers(l, {0}), one));
    LS_TRY(const ValueId size, joined(l, numbers(l, {-1}), count));
    LS_TRY(ValueId elements, emitAs(l, "slice", {rows, begin, size}, {}, openMatrix(dtype)));
    if (kind.item == DType::boolean && dtype != kind.item) {
        LS_TRY(elements, l.emit("not_equal", {elements, l.realConstant(dtype, 0)}, {}, kind.item));
    }
    LS_TRY(const Matrix all, matrixOf(l, rows));
    LS_TRY(const ValueId whole, joined(l, all.rows, head.dims));
    LS_TRY(const ValueId tensor, emitAs(l, "reshape", {elements, whole}, {}, TensorType(kind.item, l.declared(0).dynamicShape())));
    l.bind(0, tensor);
    return {};
}

Status stack(GraphLowering& l)
{
    LS_TRY(const ValueId rows, elementRows(l, l.input(0)));
    return stacked(l, rows);
}

Status gatherItems(GraphLowering& l)
{
    LS_TRY(const ValueId places, placeOf(l, l.input(1)));
    LS_TRY(const ValueId rows, emitAs(l, "gather", {l.input(0), places}, {{"axis", int64_t{0}}}, openMatrix(l.type(l.input(0)).dtype)));
    return stacked(l, rows);
}

/// The elements behind each other along their first dimension: those numbers of the rows that are elements, in order.
Status concatenate(GraphLowering& l)
{
    const ListKind kind = l.listOf(0);
    const DType dtype = l.type(l.input(0)).dtype;
    LS_TRY(const ValueId rows, elementRows(l, l.input(0)));
    LS_TRY(const Head head, headOfAll(l, rows));
    LS_TRY(const Matrix all, matrixOf(l, rows));
    LS_TRY(const ValueId sizes, joined(l, numbers(l, {-1}), head.rank));
    LS_TRY(const ValueId heads, emitAs(l, "slice", {rows, numbers(l, {0, 1}), sizes}, {}, openMatrix(dtype)));
    LS_TRY(const ValueId dims, asDims(l, heads)); // [rows, rank]
    LS_TRY(const ValueId counts, l.emit("reduce_prod", {dims, numbers(l, {1})}, {{"keep_dims", true}}, DType::i32));
    LS_TRY(const ValueId begin, l.emit("add", {head.rank, numbers(l, {1})}, {}, DType::i32));
    LS_TRY(const ValueId ends, l.emit("add", {counts, begin}, {}, DType::i32));
    LS_TRY(const ValueId places, countingTo(l, all.width));
    LS_TRY(const ValueId isBehind, l.emit("greater_equal", {places, begin}, {}, DType::boolean));
    LS_TRY(const ValueId isBefore, l.emit("less", {places, ends}, {}, DType::boolean));
    LS_TRY(const ValueId isElement, l.emit("logical_and", {isBehind, isBefore}, {}, DType::boolean));
    LS_TRY(const ValueId found, l.emit("where", {isElement}, {}, DType::i64));
    LS_TRY(const ValueId indices, l.asInt32(found));
    LS_TRY(ValueId elements, l.emit("gather_nd", {rows, indices}, {}, dtype));
    if (kind.item == DType::boolean && dtype != kind.item) {
        LS_TRY(elements, l.emit("not_equal", {elements, l.realConstant(dtype, 0)}, {}, kind.item));
    }
    LS_TRY(const ValueId rest, l.emit("slice", {head.dims, numbers(l, {1}), numbers(l, {-1})}, {}, DType::i32));
    LS_TRY(const ValueId firsts, l.emit("slice", {dims, numbers(l, {0, 0}), numbers(l, {-1, 1})}, {}, DType::i32));
    LS_TRY(const ValueId lengths, l.emit("reshape", {firsts, numbers(l, {-1})}, {}, DType::i32));
    LS_TRY(const ValueId total, l.emit("sum", {lengths, numbers(l, {0})}, {{"keep_dims", true}}, DType::i32));
    LS_TRY(const ValueId whole, joined(l, total, rest));
    LS_TRY(const ValueId together, emitAs(l, "reshape", {elements, whole}, {}, TensorType(kind.item, l.declared(0).dynamicShape())));
    LS_TRY(const ValueId wide, l.emit("cast", {lengths}, {}, DType::i64));
    l.bind(0, together);
    l.bind(1, wide);
    return {};
}

/// Rows of elements of one shape: `dims` (i32[rank]) for each, which lie as [rows, …] in `elements`; the row before them is put there.
Status listOfRows(GraphLowering& l, ValueId elements, ValueId heads)
{
    const DType dtype = raggedDtype(l.listGiven(0).item);
    if (l.type(elements).dtype != dtype) {
        LS_TRY(elements, l.emit("cast", {elements}, {}, dtype));
    }
    LS_TRY(const ValueId own, asElements(l, heads, dtype));
    LS_TRY(ValueId list, emitAs(l, "concatenation", {own, elements}, {{"axis", int64_t{1}}}, openMatrix(dtype)));
    LS_TRY(const Matrix all, matrixOf(l, list));
    LS_TRY(const ValueId width, l.emit("maximum", {all.width, numbers(l, {2})}, {}, DType::i32));
    LS_TRY(list, widened(l, all, all.rows, width));
    if (l.model().padding() > 0) {
        LS_TRY(const ValueId shape, joined(l, numbers(l, {1}), width));
        LS_TRY(const ValueId before, emitAs(l, "fill", {shape, l.realConstant(dtype, 0)}, {}, openMatrix(dtype)));
        LS_TRY(list, emitAs(l, "concatenation", {before, list}, {{"axis", int64_t{0}}}, openMatrix(dtype)));
    }
    l.bind(0, list);
    return {};
}

/// One head for each row.
Result<ValueId> repeated(GraphLowering& l, ValueId head, ValueId count)
{
    LS_TRY(const ValueId line, l.emit("reshape", {head, numbers(l, {1, -1})}, {}, DType::i32));
    LS_TRY(const ValueId times, joined(l, count, numbers(l, {1})));
    return emitAs(l, "tile", {line, times}, {}, openMatrix(DType::i32));
}

Status fromTensor(GraphLowering& l)
{
    const ValueId tensor = l.input(0);
    LS_TRY(const ValueId shape, l.shapeOf(tensor));
    LS_TRY(const ValueId count, part(l, shape, 0, 1));
    LS_TRY(const ValueId dims, part(l, shape, 1, -1));
    LS_TRY(const ValueId rank, l.shapeOf(dims));
    LS_TRY(const ValueId head, joined(l, rank, dims));
    LS_TRY(const ValueId heads, repeated(l, head, count));
    LS_TRY(const ValueId size, countOf(l, dims));
    LS_TRY(const ValueId lines, joined(l, count, size));
    LS_TRY(const ValueId flat, emitAs(l, "reshape", {tensor, lines}, {}, openMatrix(l.type(tensor).dtype)));
    return listOfRows(l, flat, heads);
}

/// Pieces of these lengths: for each the numbers of its rows, as many as the longest has; what is too much there becomes zeros.
Status split(GraphLowering& l)
{
    const ValueId tensor = l.input(0);
    const DType dtype = l.type(tensor).dtype;
    LS_TRY(const ValueId lengths, l.asInt32(l.input(2)));
    LS_TRY(const ValueId count, l.shapeOf(lengths));
    LS_TRY(const ValueId begins, l.emit("cumsum", {lengths, number(l, 0)}, {{"exclusive", true}}, DType::i32));
    LS_TRY(const ValueId room, joined(l, numbers(l, {1}), lengths));
    LS_TRY(const ValueId longest, l.emit("reduce_max", {room, numbers(l, {0})}, {{"keep_dims", true}}, DType::i32));
    LS_TRY(const ValueId order, countingTo(l, longest));
    LS_TRY(const ValueId column, l.emit("expand_dims", {begins, number(l, 1)}, {}, DType::i32));
    LS_TRY(const ValueId numbersOf, l.emit("add", {column, order}, {}, DType::i32));
    LS_TRY(const ValueId ends, l.emit("expand_dims", {lengths, number(l, 1)}, {}, DType::i32));
    LS_TRY(const ValueId isIts, l.emit("less", {order, ends}, {}, DType::boolean));
    LS_TRY(const ValueId none, l.emit("zeros_like", {numbersOf}, {}, DType::i32));
    LS_TRY(const ValueId named, l.emit("select_v2", {isIts, numbersOf, none}, {}, DType::i32));
    LS_TRY(const ValueId shape, l.shapeOf(tensor));
    LS_TRY(const ValueId rest, part(l, shape, 1, -1));
    LS_TRY(const ValueId size, countOf(l, rest));
    LS_TRY(const ValueId total, part(l, shape, 0, 1));
    LS_TRY(const ValueId table, joined(l, total, size));
    LS_TRY(const ValueId lines, emitAs(l, "reshape", {tensor, table}, {}, openMatrix(dtype)));
    LS_TRY(const ValueId taken, emitAs(l, "gather", {lines, named}, {{"axis", int64_t{0}}}, TensorType(dtype, Shape{-1, -1, -1})));
    LS_TRY(const ValueId isEach, l.emit("expand_dims", {isIts, number(l, 2)}, {}, DType::boolean));
    LS_TRY(const ValueId zeros, l.emit("zeros_like", {taken}, {}, dtype));
    LS_TRY(const ValueId pieces, l.emit("select_v2", {isEach, taken, zeros}, {}, dtype));
    LS_TRY(const ValueId width, l.emit("mul", {longest, size}, {}, DType::i32));
    LS_TRY(const ValueId whole, joined(l, count, width));
    LS_TRY(const ValueId flat, emitAs(l, "reshape", {pieces, whole}, {}, openMatrix(dtype)));
    LS_TRY(const ValueId rank, l.shapeOf(shape));
    LS_TRY(const ValueId ranks, repeated(l, rank, count));
    LS_TRY(const ValueId rests, repeated(l, rest, count));
    LS_TRY(const ValueId heads, emitAs(l, "concatenation", {ranks, ends, rests}, {{"axis", int64_t{1}}}, openMatrix(DType::i32)));
    return listOfRows(l, flat, heads);
}

/// Where a row is head and not yet elements.
Result<ValueId> isHead(GraphLowering& l, const Matrix& list)
{
    LS_TRY(const ValueId first,
           emitAs(l, "slice", {list.value, numbers(l, {0, 0}), numbers(l, {-1, 1})}, {}, openMatrix(l.type(list.value).dtype)));
    LS_TRY(const ValueId ranks, asDims(l, first));
    LS_TRY(const ValueId places, countingTo(l, list.width));
    return l.emit("less_equal", {places, ranks}, {}, DType::boolean);
}

Status zerosLike(GraphLowering& l)
{
    if (l.listGiven(0).holdsRagged) return noForm("lists of lists of lists");
    LS_TRY(const Matrix list, matrixOf(l, l.input(0)));
    LS_TRY(const ValueId keeps, isHead(l, list));
    LS_TRY(const ValueId zeros, l.emit("zeros_like", {l.input(0)}));
    LS_TRY(const ValueId cleared, emitAs(l, "select_v2", {keeps, l.input(0), zeros}, {}, openMatrix(l.type(l.input(0)).dtype)));
    l.bind(0, cleared);
    return {};
}

/// Element by element; one that nothing was written to counts as zeros.
Result<ValueId> sumOf(GraphLowering& l, ValueId one, ValueId other)
{
    const DType dtype = l.type(one).dtype;
    LS_TRY(const Matrix a, matrixOf(l, one));
    LS_TRY(const Matrix b, matrixOf(l, other));
    LS_TRY(const ValueId rows, l.emit("maximum", {a.rows, b.rows}, {}, DType::i32));
    LS_TRY(const ValueId width, l.emit("maximum", {a.width, b.width}, {}, DType::i32));
    LS_TRY(const ValueId first, widened(l, a, rows, width));
    LS_TRY(const ValueId second, widened(l, b, rows, width));
    LS_TRY(const ValueId heads, emitAs(l, "maximum", {first, second}, {}, openMatrix(dtype)));
    LS_TRY(const ValueId sums, emitAs(l, "add", {first, second}, {}, openMatrix(dtype)));
    LS_TRY(const ValueId column, emitAs(l, "slice", {heads, numbers(l, {0, 0}), numbers(l, {-1, 1})}, {}, openMatrix(dtype)));
    LS_TRY(const ValueId ranks, asDims(l, column));
    LS_TRY(const ValueId places, countingTo(l, width));
    LS_TRY(const ValueId isIn, l.emit("less_equal", {places, ranks}, {}, DType::boolean));
    return emitAs(l, "select_v2", {isIn, heads, sums}, {}, openMatrix(dtype));
}

Status sum(GraphLowering& l)
{
    if (l.listGiven(0).holdsRagged) return noForm("a sum of lists of lists of lists");
    ValueId all = l.input(0);
    for (int i = 1; i < l.inputCount(); ++i) {
        LS_TRY(all, sumOf(l, all, l.input(i)));
    }
    l.bind(0, all);
    return {};
}

constexpr NamedRule kRaggedRules[] = {
    {"AddN", sum},
    {"AddV2", sum},
    {"EmptyTensorList", empty},
    {"TensorListConcatV2", concatenate},
    {"TensorListElementShape", elementShape},
    {"TensorListFromTensor", fromTensor},
    {"TensorListGather", gatherItems},
    {"TensorListGetItem", getItem},
    {"TensorListLength", length},
    {"TensorListPopBack", popBack},
    {"TensorListPushBack", pushBack},
    {"TensorListReserve", reserve},
    {"TensorListSetItem", setItem},
    {"TensorListSplit", split},
    {"TensorListStack", stack},
    {"ZerosLike", zerosLike},
};

} // namespace

DType raggedDtype(DType item) { return item == DType::boolean ? DType::i32 : item; }

Rule findRaggedRule(std::string_view kind)
{
    const auto* const found = std::ranges::find(kRaggedRules, kind, &NamedRule::kind);
    return found == std::end(kRaggedRules) ? nullptr : found->rule;
}

} // namespace loopscope::lowering
