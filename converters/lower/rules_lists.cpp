// TensorLists as TFLite can carry them: one tensor, whose rows are the elements. All elements have one shape. LiteRT's While takes no
// tensor without elements; where lists begin empty, all have a row of zeros before their first element.
#include "converters/lower/graph_lowering.h"
#include "converters/lower/shapes.h"

#include <algorithm>
#include <array>

namespace loopscope::lowering {

namespace {

DType elementOf(const GraphLowering& l)
{
    const Attribute* const said = findAttribute(l.op().attributes, "element_dtype");
    const auto* const dtype = said ? said->as<DType>() : nullptr;
    return dtype ? *dtype : DType::unknown;
}

/// The row of element `index`, a scalar or a vector of them.
Result<ValueId> rowOf(GraphLowering& l, ValueId index)
{
    if (l.model().padding() == 0) return index;
    return l.emit("add", {index, number(l, 1)}, {}, l.type(index).dtype);
}

/// `rows` (i32[1]) rows of zeros. Where the shape of an element is open, they are stand-ins until the first is written.
Result<ValueId> zeroList(GraphLowering& l, ValueId rows, DType dtype, std::optional<std::vector<int64_t>> shape)
{
    if (dtype != DType::f32 && dtype != DType::i32 && dtype != DType::i64 && dtype != DType::boolean)
        return noForm("a list of " + std::string(dtypeName(dtype)));
    if (!shape || std::ranges::any_of(*shape, [](int64_t d) { return d < 0; })) {
        shape = {1}; // no less, so that LiteRT's While takes it
        l.model().hasOpenLists = true;
        l.note(l.place() + ": the elements of the list are taken to have one shape, which the graph does not say");
    }
    LS_TRY(const ValueId whole, l.emit("concatenation", {rows, l.integerConstant(DType::i32, *shape)}, {{"axis", int64_t{0}}}));
    return l.emit("fill", {whole, l.realConstant(dtype, 0)}, {}, dtype);
}

Status makeList(GraphLowering& l, ValueId rows)
{
    auto shape = l.integers(l.input(0));
    if (l.type(l.input(0)).shape.rank() != 1) shape.reset();
    LS_TRY(const ValueId list, zeroList(l, rows, elementOf(l), std::move(shape)));
    l.bind(0, list);
    return {};
}

/// How many rows the list has, as i32[1].
Result<ValueId> rowsOf(GraphLowering& l, ValueId list)
{
    LS_TRY(const ValueId shape, l.shapeOf(list));
    return l.emit("slice", {shape, numbers(l, {0}), numbers(l, {1})}, {}, DType::i32);
}

/// The list with `rows` (i32[1]) of elements of this shape (i32[rank]): what it has, and zeros where it has stand-ins or is too short.
/// `item`: the shape as far as it is known.
Result<ValueId> shaped(GraphLowering& l, ValueId list, ValueId rows, ValueId elementShape, const Shape& item)
{
    const DType dtype = l.type(list).dtype;
    LS_TRY(const ValueId whole, joined(l, rows, elementShape));
    LS_TRY(const ValueId size, l.emit("reduce_prod", {whole, numbers(l, {0})}, {{"keep_dims", true}}, DType::i32));
    LS_TRY(const ValueId flat, l.emit("reshape", {list, numbers(l, {-1})}, {}, dtype));
    LS_TRY(const ValueId zeros, l.emit("fill", {size, l.realConstant(dtype, 0)}, {}, dtype));
    LS_TRY(const ValueId both, joined(l, flat, zeros));
    LS_TRY(const ValueId kept, l.emit("slice", {both, numbers(l, {0}), size}, {}, dtype));
    Shape known = Shape::unknownRank(); // LiteRT looks at what files say of operands, be it open
    if (item.hasRank()) {
        std::vector<int64_t> dims = {-1};
        for (int d = 0; d < item.rank(); ++d) dims.push_back(item[d]);
        known = Shape(dims);
    }
    LS_TRY(const std::vector<ValueId> results, l.emitAll({"tfl", "reshape"}, {kept, whole}, {}, {TensorType(dtype, known)}));
    return results.front();
}

Status reserve(GraphLowering& l)
{
    LS_TRY(const ValueId count, l.asInt32(l.input(1)));
    LS_TRY(const ValueId rows, rowOf(l, count));
    LS_TRY(const ValueId one, l.emit("reshape", {rows, numbers(l, {1})}));
    return makeList(l, one);
}

Status emptyList(GraphLowering& l) { return makeList(l, numbers(l, {l.model().padding()})); }

/// A tensor whose rows are the elements.
Status fromTensor(GraphLowering& l)
{
    if (l.model().padding() == 0) {
        l.bind(0, l.input(0));
        return {};
    }
    const DType dtype = l.type(l.input(0)).dtype;
    LS_TRY(const ValueId shape, l.shapeOf(l.input(0)));
    LS_TRY(const ValueId rest, l.emit("slice", {shape, numbers(l, {1}), numbers(l, {-1})}, {}, DType::i32));
    LS_TRY(const ValueId first, joined(l, numbers(l, {1}), rest));
    LS_TRY(const ValueId row, l.emit("fill", {first, l.realConstant(dtype, 0)}, {}, dtype));
    LS_TRY(const ValueId list, joined(l, row, l.input(0)));
    l.bind(0, list);
    return {};
}

/// The list without the row before its first element.
Result<ValueId> elementsOf(GraphLowering& l, ValueId list)
{
    if (l.model().padding() == 0) return list;
    LS_TRY(const ValueId rows, rowsOf(l, list));
    LS_TRY(const ValueId last, l.emit("reshape", {rows, l.integerConstant(DType::i32, {})}, {}, DType::i32));
    LS_TRY(const ValueId range, l.emit("range", {number(l, 1), last, number(l, 1)}, {}, DType::i32));
    return l.emit("gather", {list, range}, {{"axis", int64_t{0}}}, l.type(list).dtype);
}

/// The elements behind each other along their first dimension, and how long each is there: all alike, which the graph has to say, for lists
/// are concatenated that others fill with elements of several lengths.
Status concatenate(GraphLowering& l)
{
    const ValueId list = l.input(0);
    const Shape rowShape = l.type(list).dynamicShape();
    if (!rowShape.hasRank() || rowShape.rank() < 2 || rowShape[1] < 0) return noForm("its elements may have several lengths");
    LS_TRY(const ValueId all, elementsOf(l, list));
    LS_TRY(const ValueId shape, l.shapeOf(all));
    LS_TRY(const ValueId count, l.emit("slice", {shape, numbers(l, {0}), numbers(l, {1})}, {}, DType::i32));
    LS_TRY(const ValueId length, l.emit("slice", {shape, numbers(l, {1}), numbers(l, {1})}, {}, DType::i32));
    LS_TRY(const ValueId rest, l.emit("slice", {shape, numbers(l, {2}), numbers(l, {-1})}, {}, DType::i32));
    LS_TRY(const ValueId rows, l.emit("mul", {count, length}, {}, DType::i32));
    LS_TRY(const ValueId whole, joined(l, rows, rest));
    LS_TRY(const ValueId together, l.emit("reshape", {all, whole}, {}, l.type(all).dtype));
    LS_TRY(const ValueId one, l.emit("reshape", {length, l.integerConstant(DType::i32, {})}, {}, DType::i32));
    LS_TRY(const ValueId lengths, l.emit("fill", {count, one}, {}, DType::i32));
    LS_TRY(const ValueId wide, l.emit("cast", {lengths}, {}, DType::i64));
    l.bind(0, together);
    l.bind(1, wide);
    return {};
}

/// The first of its elements, and zeros behind the last.
Status resize(GraphLowering& l)
{
    const ValueId list = l.input(0);
    LS_TRY(const ValueId count, l.asInt32(l.input(1)));
    LS_TRY(const ValueId own, rowOf(l, count));
    LS_TRY(const ValueId rows, l.emit("reshape", {own, numbers(l, {1})}, {}, DType::i32));
    LS_TRY(const ValueId shape, l.shapeOf(list));
    LS_TRY(const ValueId rest, part(l, shape, 1, -1));
    LS_TRY(const ValueId whole, joined(l, rows, rest));
    LS_TRY(const ValueId room, l.emit("fill", {whole, l.realConstant(l.type(list).dtype, 0)}, {}, l.type(list).dtype));
    LS_TRY(const ValueId both, joined(l, list, room));
    LS_TRY(const ValueId begin, l.emit("sub", {whole, whole}, {}, DType::i32));
    LS_TRY(const ValueId kept, l.emit("slice", {both, begin, whole}, {}, l.type(list).dtype));
    l.bind(0, kept);
    return {};
}

/// The elements in one tensor. What nothing was written to is zeros, if their shape is said.
Status stack(GraphLowering& l)
{
    ValueId list = l.input(0);
    const auto shape = l.inputCount() > 1 ? l.integers(l.input(1)) : std::nullopt;
    if (l.model().hasOpenLists && shape && l.type(l.input(1)).shape.rank() == 1 &&
        std::ranges::none_of(*shape, [](int64_t d) { return d < 0; })) {
        LS_TRY(const ValueId rows, rowsOf(l, l.input(0)));
        LS_TRY(list, shaped(l, l.input(0), rows, l.integerConstant(DType::i32, *shape), Shape(*shape)));
    }
    LS_TRY(const ValueId elements, elementsOf(l, list));
    l.bind(0, elements);
    return {};
}

/// The item as a list of one.
Result<ValueId> asList(GraphLowering& l, ValueId item) { return l.emit("expand_dims", {item, number(l, 0)}); }

/// list[index] = item: its place is the row, and 0 in all dimensions of the item.
Result<ValueId> written(GraphLowering& l, ValueId list, ValueId index, ValueId item, bool isGrowing)
{
    LS_TRY(const ValueId row, asList(l, item));
    LS_TRY(const ValueId shape, l.shapeOf(item));
    LS_TRY(const ValueId rank, l.shapeOf(shape));
    LS_TRY(const ValueId zeros, l.emit("fill", {rank, number(l, 0)}, {}, DType::i32));
    LS_TRY(const ValueId own, rowOf(l, index));
    LS_TRY(const ValueId place, l.emit("reshape", {own, numbers(l, {1})}));
    LS_TRY(const ValueId start, l.emit("concatenation", {place, zeros}, {{"axis", int64_t{0}}}));
    if (l.model().hasOpenLists || isGrowing) {
        LS_TRY(ValueId rows, rowsOf(l, list));
        if (isGrowing) {
            LS_TRY(const ValueId needed, l.emit("add", {place, numbers(l, {1})}, {}, DType::i32));
            LS_TRY(rows, l.emit("maximum", {rows, needed}, {}, DType::i32));
        }
        LS_TRY(list, shaped(l, list, rows, shape, l.type(item).dynamicShape()));
    }
    return l.emit("dynamic_update_slice", {list, row, start}, {}, l.type(list).dtype);
}

Status setItem(GraphLowering& l)
{
    const Attribute* const grows = findAttribute(l.op().attributes, "resize_if_index_out_of_bounds");
    const bool isGrowing = grows && grows->as<bool>() && *grows->as<bool>();
    LS_TRY(const ValueId list, written(l, l.input(0), l.input(1), l.input(2), isGrowing));
    l.bind(0, list);
    return {};
}

/// As i32[1]: one more than the largest index, and the row before the first element.
Result<ValueId> rowsFor(GraphLowering& l, ValueId indices)
{
    LS_TRY(const ValueId last, l.emit("reduce_max", {indices, numbers(l, {0})}, {{"keep_dims", true}}, DType::i32));
    return l.emit("add", {last, numbers(l, {1 + l.model().padding()})}, {}, DType::i32);
}

/// The rows of a tensor become the elements `indices` of a list, which grows where it has to.
Result<ValueId> scattered(GraphLowering& l, ValueId into, ValueId tensor, ValueId indices)
{
    LS_TRY(const ValueId shape, l.shapeOf(tensor));
    LS_TRY(const ValueId item, l.emit("slice", {shape, numbers(l, {1}), numbers(l, {-1})}, {}, DType::i32));
    LS_TRY(const ValueId had, rowsOf(l, into));
    LS_TRY(const ValueId needed, rowsFor(l, indices));
    LS_TRY(const ValueId rows, l.emit("maximum", {had, needed}, {}, DType::i32));
    const Shape whole = l.type(tensor).dynamicShape();
    Shape known = Shape::unknownRank();
    if (whole.hasRank() && whole.rank() > 0) known = Shape(std::vector<int64_t>(whole.dims().begin() + 1, whole.dims().end()));
    LS_TRY(const ValueId list, shaped(l, into, rows, item, known));
    LS_TRY(const ValueId own, rowOf(l, indices));
    LS_TRY(const ValueId places, l.emit("reshape", {own, numbers(l, {-1, 1})}, {}, DType::i32));
    return updated(l, list, places, tensor);
}

Status scatterInto(GraphLowering& l)
{
    LS_TRY(const ValueId after, scattered(l, l.input(0), l.input(1), l.input(2)));
    l.bind(0, after);
    return {};
}

Status getItem(GraphLowering& l)
{
    LS_TRY(const ValueId row, rowOf(l, l.input(1)));
    return l.finish("gather", {l.input(0), row}, {{"axis", int64_t{0}}});
}

/// A scalar.
Result<ValueId> lastRow(GraphLowering& l)
{
    LS_TRY(const ValueId shape, l.shapeOf(l.input(0)));
    LS_TRY(const ValueId rows, l.emit("gather", {shape, number(l, 0)}, {{"axis", int64_t{0}}}, DType::i32));
    return l.emit("sub", {rows, number(l, 1)});
}

Status length(GraphLowering& l)
{
    LS_TRY(const ValueId shape, l.shapeOf(l.input(0)));
    LS_TRY(ValueId count, l.emit("gather", {shape, number(l, 0)}, {{"axis", int64_t{0}}}, DType::i32));
    if (l.model().padding() > 0) {
        LS_TRY(count, l.emit("sub", {count, number(l, 1)}));
    }
    l.bind(0, count);
    return {};
}

/// Of one element: the list's own without its first dimension.
Status elementShape(GraphLowering& l)
{
    LS_TRY(const ValueId shape, l.shapeOf(l.input(0)));
    if (l.declared(0).dtype == DType::i32) return l.finish("slice", {shape, numbers(l, {1}), numbers(l, {-1})});
    LS_TRY(const ValueId rest, l.emit("slice", {shape, numbers(l, {1}), numbers(l, {-1})}));
    return l.finish("cast", {rest});
}

Status pushBack(GraphLowering& l)
{
    LS_TRY(const ValueId row, asList(l, l.input(1)));
    ValueId whole = l.input(0);
    if (l.model().hasOpenLists) { // a list without elements does not know their rank
        LS_TRY(const ValueId rows, rowsOf(l, l.input(0)));
        LS_TRY(const ValueId shape, l.shapeOf(l.input(1)));
        LS_TRY(whole, shaped(l, l.input(0), rows, shape, l.type(l.input(1)).dynamicShape()));
    }
    LS_TRY(const ValueId list, joined(l, whole, row));
    l.bind(0, list);
    return {};
}

Status popBack(GraphLowering& l)
{
    LS_TRY(const ValueId last, lastRow(l));
    LS_TRY(const ValueId item, l.emit("gather", {l.input(0), last}, {{"axis", int64_t{0}}}, l.declared(1).dtype));
    LS_TRY(const ValueId rest, l.emit("range", {number(l, 0), last, number(l, 1)}, {}, DType::i32));
    LS_TRY(const ValueId list, l.emit("gather", {l.input(0), rest}, {{"axis", int64_t{0}}}, l.type(l.input(0)).dtype));
    l.bind(0, list);
    l.bind(1, item);
    return {};
}

// --- TensorArrays of TensorFlow 1: what their flow leads through is the list, and nothing is left of the handle
// -----------------------------

/// The list that operand `i`, a flow, stands for.
Result<ValueId> arrayOf(const GraphLowering& l, int i)
{
    if (l.isArray(l.input(i))) return l.input(i);
    return noForm("a TensorArray that its flow does not lead to");
}

Status tensorArray(GraphLowering& l)
{
    const Attribute* const said = findAttribute(l.op().attributes, "dtype");
    const auto* const dtype = said ? said->as<DType>() : nullptr;
    const Attribute* const shaping = findAttribute(l.op().attributes, "element_shape");
    const auto* const shape = shaping ? shaping->as<Shape>() : nullptr;
    std::optional<std::vector<int64_t>> dims;
    if (shape && shape->hasRank()) dims.emplace(shape->dims().begin(), shape->dims().end());
    LS_TRY(const ValueId count, rowOf(l, l.input(0)));
    LS_TRY(const ValueId rows, l.emit("reshape", {count, numbers(l, {1})}));
    LS_TRY(const ValueId list, zeroList(l, rows, dtype ? *dtype : DType::unknown, std::move(dims)));
    const ValueId handle = l.realConstant(DType::i32, 0);
    l.markArray(list);
    l.markArray(handle);
    l.markFresh(list);
    l.bind(0, handle);
    l.bind(1, list);
    return {};
}

Status writeArray(GraphLowering& l)
{
    LS_TRY(const ValueId flow, arrayOf(l, 3));
    LS_TRY(const ValueId list, written(l, flow, l.input(1), l.input(2), l.model().hasGrowingArrays()));
    l.markArray(list);
    l.bind(0, list);
    return {};
}

/// Of an element, or of several, whose shape may be said: what nothing was written to has it, too.
Status readArray(GraphLowering& l)
{
    LS_TRY(ValueId list, arrayOf(l, 2));
    const Attribute* const said = findAttribute(l.op().attributes, "element_shape");
    const auto* const shape = said ? said->as<Shape>() : nullptr;
    if (l.model().hasOpenLists && shape && shape->hasRank() && shape->isStatic()) {
        const ValueId dims = l.integerConstant(DType::i32, shape->dims());
        LS_TRY(const ValueId all, rowsOf(l, list));
        LS_TRY(list, shaped(l, list, all, dims, *shape));
    }
    LS_TRY(const ValueId rows, rowOf(l, l.input(1)));
    return l.finish("gather", {list, rows}, {{"axis", int64_t{0}}});
}

/// A TensorArray that nothing was written to yet has only what is scattered, as where arrays are unstacked.
Status scatterArray(GraphLowering& l)
{
    LS_TRY(const ValueId flow, arrayOf(l, 3));
    if (!l.isFresh(flow)) {
        LS_TRY(const ValueId after, scattered(l, flow, l.input(2), l.input(1)));
        l.markArray(after);
        l.bind(0, after);
        return {};
    }
    LS_TRY(const ValueId own, rowOf(l, l.input(1)));
    LS_TRY(const ValueId places, l.emit("reshape", {own, numbers(l, {-1, 1})}));
    LS_TRY(const ValueId rows, rowsOf(l, flow));
    LS_TRY(const ValueId shape, l.shapeOf(l.input(2)));
    LS_TRY(const ValueId rest, l.emit("slice", {shape, numbers(l, {1}), numbers(l, {-1})}, {}, DType::i32));
    LS_TRY(const ValueId whole, joined(l, rows, rest));
    LS_TRY(const ValueId list, l.emit("scatter_nd", {places, l.input(2), whole}, {}, l.type(flow).dtype));
    l.markArray(list);
    l.bind(0, list);
    return {};
}

Status sizeOfArray(GraphLowering& l)
{
    LS_TRY(const ValueId list, arrayOf(l, 1));
    LS_TRY(const ValueId shape, l.shapeOf(list));
    LS_TRY(ValueId count, l.emit("gather", {shape, number(l, 0)}, {{"axis", int64_t{0}}}, DType::i32));
    if (l.model().padding() > 0) {
        LS_TRY(count, l.emit("sub", {count, number(l, 1)}));
    }
    l.bind(0, count);
    return {};
}

Status closeArray(GraphLowering&) { return {}; }

constexpr NamedRule kListsRules[] = {
    {"TensorListScatterIntoExistingList", scatterInto},
    {"EmptyTensorList", emptyList},
    {"TensorArrayCloseV3", closeArray},
    {"TensorArrayGatherV3", readArray},
    {"TensorArrayReadV3", readArray},
    {"TensorArrayScatterV3", scatterArray},
    {"TensorArraySizeV3", sizeOfArray},
    {"TensorArrayV3", tensorArray},
    {"TensorArrayWriteV3", writeArray},
    {"TensorListConcatV2", concatenate},
    {"TensorListFromTensor", fromTensor},
    {"TensorListGather", getItem},
    {"TensorListGetItem", getItem},
    {"TensorListElementShape", elementShape},
    {"TensorListLength", length},
    {"TensorListPopBack", popBack},
    {"TensorListPushBack", pushBack},
    {"TensorListReserve", reserve},
    {"TensorListResize", resize},
    {"TensorListSetItem", setItem},
    {"TensorListStack", stack},
};

} // namespace

std::span<const NamedRule> listRules() { return kListsRules; }

} // namespace loopscope::lowering
