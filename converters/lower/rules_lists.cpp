// TensorLists as TFLite can carry them: one tensor, whose first dimension counts the elements. All elements have one known shape.
#include "converters/lower/graph_lowering.h"

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

ValueId numbers(GraphLowering& l, std::initializer_list<int64_t> values)
{
    return l.integerConstant(DType::i32, std::vector<int64_t>(values));
}
ValueId number(GraphLowering& l, int64_t value) { return l.integerConstant(DType::i32, std::array{value}, true); }

/// `count` (i32[1]) elements of zeros.
Status makeList(GraphLowering& l, ValueId count)
{
    const DType dtype = elementOf(l);
    if (dtype != DType::f32 && dtype != DType::i32 && dtype != DType::i64 && dtype != DType::boolean)
        return noForm("a list of " + std::string(dtypeName(dtype)));
    const auto shape = l.integers(l.input(0));
    if (!shape || l.type(l.input(0)).shape.rank() != 1 || std::ranges::any_of(*shape, [](int64_t d) { return d < 0; }))
        return noForm("a list whose elements have no known shape");
    LS_TRY(const ValueId whole, l.emit("concatenation", {count, l.integerConstant(DType::i32, *shape)}, {{"axis", int64_t{0}}}));
    LS_TRY(const ValueId list, l.emit("fill", {whole, l.realConstant(dtype, 0)}, {}, dtype));
    l.bind(0, list);
    return {};
}

Status reserve(GraphLowering& l)
{
    LS_TRY(const ValueId count, l.asInt32(l.input(1)));
    LS_TRY(const ValueId one, l.emit("reshape", {count, numbers(l, {1})}));
    return makeList(l, one);
}

Status emptyList(GraphLowering& l) { return makeList(l, numbers(l, {0})); }

Status isList(GraphLowering& l)
{
    l.bind(0, l.input(0));
    return {};
}

/// The item as a list of one.
Result<ValueId> asList(GraphLowering& l, ValueId item) { return l.emit("expand_dims", {item, number(l, 0)}); }

/// list[index] = item: its place is index, and 0 in all dimensions of the item.
Status setItem(GraphLowering& l)
{
    LS_TRY(const ValueId row, asList(l, l.input(2)));
    LS_TRY(const ValueId shape, l.shapeOf(l.input(2)));
    LS_TRY(const ValueId rank, l.shapeOf(shape));
    LS_TRY(const ValueId zeros, l.emit("fill", {rank, number(l, 0)}, {}, DType::i32));
    LS_TRY(const ValueId index, l.emit("reshape", {l.input(1), numbers(l, {1})}));
    LS_TRY(const ValueId start, l.emit("concatenation", {index, zeros}, {{"axis", int64_t{0}}}));
    LS_TRY(const ValueId list, l.emit("dynamic_update_slice", {l.input(0), row, start}, {}, l.type(l.input(0)).dtype));
    l.bind(0, list);
    return {};
}

Status getItem(GraphLowering& l) { return l.finish("gather", {l.input(0), l.input(1)}, {{"axis", int64_t{0}}}); }

Result<ValueId> lengthOf(GraphLowering& l)
{
    LS_TRY(const ValueId shape, l.shapeOf(l.input(0)));
    return l.emit("gather", {shape, number(l, 0)}, {{"axis", int64_t{0}}}, DType::i32);
}

Status length(GraphLowering& l)
{
    LS_TRY(const ValueId count, lengthOf(l));
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
    LS_TRY(const ValueId list, l.emit("concatenation", {l.input(0), row}, {{"axis", int64_t{0}}}));
    l.bind(0, list);
    return {};
}

Status popBack(GraphLowering& l)
{
    LS_TRY(const ValueId count, lengthOf(l));
    LS_TRY(const ValueId last, l.emit("sub", {count, number(l, 1)}));
    LS_TRY(const ValueId item, l.emit("gather", {l.input(0), last}, {{"axis", int64_t{0}}}, l.declared(1).dtype));
    LS_TRY(const ValueId rest, l.emit("range", {number(l, 0), last, number(l, 1)}, {}, DType::i32));
    LS_TRY(const ValueId list, l.emit("gather", {l.input(0), rest}, {{"axis", int64_t{0}}}, l.type(l.input(0)).dtype));
    l.bind(0, list);
    l.bind(1, item);
    return {};
}

Status gatherList(GraphLowering& l) { return l.finish("gather", {l.input(0), l.input(1)}, {{"axis", int64_t{0}}}); }

constexpr NamedRule kRules[] = {
    {"EmptyTensorList", emptyList},
    {"TensorListFromTensor", isList},
    {"TensorListGather", gatherList},
    {"TensorListGetItem", getItem},
    {"TensorListElementShape", elementShape},
    {"TensorListLength", length},
    {"TensorListPopBack", popBack},
    {"TensorListPushBack", pushBack},
    {"TensorListReserve", reserve},
    {"TensorListSetItem", setItem},
    {"TensorListStack", isList},
};

} // namespace

std::span<const NamedRule> listRules() { return kRules; }

} // namespace loopscope::lowering
