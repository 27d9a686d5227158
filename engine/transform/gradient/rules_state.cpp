// Gradients of variables, lists, arrays and optionals. The gradient of a variable's handle is that of what the variable holds, that of a
// list is a list, and that of a TensorArray's flow stands for the array of its elements' gradients.
#include "engine/transform/gradient/gradient_rules.h"

namespace loopscope {

namespace {

using Case = GradientCase;
using Grad = GradientValue;

// --- Variables --------------------------------------------------------------------------------------------------------------------------

Grad variableShape(Case& c) { return c.nodes.node("VariableShape", {c.x[0]}, {{"out_type", DType::i32}}); }

void resourceGatherRule(Case& c)
{
    if (attributeInt(c.op.attributes, "batch_dims", 0) != 0) c.refusal = "batch_dims is not 0";
    const Grad shape = variableShape(c), zero = c.nodes.integer(0);
    const Grad dims[] = {asList(c, sizeOf(c, c.x[1])), part(c, shape, c.nodes.integer(1), -1)};
    const Grad count = reshape(c, part(c, shape, zero, 1), c.nodes.integers({}));
    c.give(sumRows(c, reshape(c, c.dy[0], joined(c, dims)), flat(c, c.x[1]), count));
}

void resourceGatherNdRule(Case& c)
{
    c.give(c.nodes.node("ScatterNd", {c.x[1], c.dy[0], castTo(c, variableShape(c), c.nodes.dtype(c.x[1]))}));
}

// --- Lists ------------------------------------------------------------------------------------------------------------------------------

DType elementType(const Case& c)
{
    const Attribute* const said = findAttribute(c.op.attributes, "element_dtype");
    const DType* const dtype = said ? said->as<DType>() : nullptr;
    return dtype ? *dtype : DType::unknown;
}

AttributeList elements(const Case& c) { return {{"element_dtype", elementType(c)}}; }
Grad listLength(Case& c, Grad list) { return call(c, "TensorListLength", list); }
Grad elementShape(Case& c, Grad list) { return c.nodes.node("TensorListElementShape", {list}, {{"shape_type", DType::i32}}); }

/// A list of `length` elements, none of them set.
Grad emptyLike(Case& c, Grad list)
{
    return c.nodes.node("TensorListReserve", {elementShape(c, list), listLength(c, list)}, {{"element_dtype", elementType(c)}});
}

void pushBackRule(Case& c)
{
    const Grad operands[] = {c.dy[0], shapeOf(c, c.x[1])};
    const std::vector<Grad> popped = c.nodes.add("TensorListPopBack", operands, elements(c));
    c.give(popped[0], popped[1]);
}

void popBackRule(Case& c) { c.give(c.nodes.node("TensorListPushBack", {c.dy[0], c.dy[1]}, elements(c))); }

void scatterIntoListRule(Case& c) // (list, tensor, indices)
{
    const Grad zeros = zerosLike(c, c.x[1]), row = part(c, shapeOf(c, c.x[1]), c.nodes.integer(1), -1);
    c.dx[0] = c.nodes.node("TensorListScatterIntoExistingList", {c.dy[0], zeros, c.x[2]}, elements(c));
    c.dx[1] = c.nodes.node("TensorListGather", {c.dy[0], c.x[2], row}, elements(c));
}

void setItemRule(Case& c)
{
    c.dx[0] = c.nodes.node("TensorListSetItem", {c.dy[0], c.x[1], zerosLike(c, c.x[2])}, elements(c));
    c.dx[2] = c.nodes.node("TensorListGetItem", {c.dy[0], c.x[1], shapeOf(c, c.x[2])}, elements(c));
}

void getItemRule(Case& c) { c.give(c.nodes.node("TensorListSetItem", {emptyLike(c, c.x[0]), c.x[1], c.dy[0]}, elements(c))); }

void stackRule(Case& c) { c.give(c.nodes.node("TensorListFromTensor", {c.dy[0], elementShape(c, c.x[0])}, elements(c))); }

void fromTensorRule(Case& c)
{
    const Grad shape = part(c, shapeOf(c, c.x[0]), c.nodes.integer(1), -1);
    c.give(c.nodes.node("TensorListStack", {c.dy[0], shape}, {{"element_dtype", elementType(c)}, {"num_elements", int64_t{-1}}}));
}

void gatherRule(Case& c)
{
    c.give(c.nodes.node("TensorListScatterIntoExistingList", {emptyLike(c, c.x[0]), c.dy[0], c.x[1]}, elements(c)));
}

void scatterRule(Case& c)
{
    const Grad shape = part(c, shapeOf(c, c.x[0]), c.nodes.integer(1), -1);
    c.give(c.nodes.node("TensorListGather", {c.dy[0], c.x[1], shape}, elements(c)));
}

void concatRule(Case& c) { c.give(c.nodes.node("TensorListSplit", {c.dy[0], elementShape(c, c.x[0]), c.y[1]}, elements(c))); }

void splitRule(Case& c)
{
    const Grad shape = c.x[1];
    const Grad operands[] = {c.dy[0], shape, c.nodes.node("Cast", {c.x[2]}, {{"DstT", DType::i64}})};
    c.give(c.nodes.add("TensorListConcatV2", operands, elements(c)).front());
}

// --- Arrays -----------------------------------------------------------------------------------------------------------------------------

struct Array {
    Grad handle, flow;
};

/// The array of gradients that belongs to the array whose handle is operand 0. All of one gradient share it, as TensorFlow's "gradients".
Array gradientArray(Case& c, Grad flow)
{
    const Grad operands[] = {c.x[0], flow};
    const std::vector<Grad> both = c.nodes.add("TensorArrayGradV3", operands, {{"source", c.arraySource}});
    return {both[0], both[1]};
}

AttributeList arrayType(const Case& c, Grad v) { return {{"dtype", c.nodes.dtype(v)}}; }

void arrayReadRule(Case& c)
{
    const Array g = gradientArray(c, c.x[2]);
    c.dx[2] = c.nodes.node("TensorArrayWriteV3", {g.handle, c.x[1], c.dy[0], g.flow});
}

void arrayWriteRule(Case& c)
{
    const Array g = gradientArray(c, c.dy[0]);
    c.dx[2] = c.nodes.node("TensorArrayReadV3", {g.handle, c.x[1], g.flow}, arrayType(c, c.x[2]));
    c.dx[3] = c.dy[0];
}

void arrayGatherRule(Case& c)
{
    const Array g = gradientArray(c, c.x[2]);
    c.dx[2] = c.nodes.node("TensorArrayScatterV3", {g.handle, c.x[1], c.dy[0], g.flow});
}

void arrayScatterRule(Case& c)
{
    const Array g = gradientArray(c, c.dy[0]);
    c.dx[2] = c.nodes.node("TensorArrayGatherV3", {g.handle, c.x[1], g.flow}, arrayType(c, c.x[2]));
    c.dx[3] = c.dy[0];
}

void arrayConcatRule(Case& c)
{
    const Array g = gradientArray(c, c.x[1]);
    c.dx[1] = c.nodes.node("TensorArraySplitV3", {g.handle, c.dy[0], c.y[1], g.flow});
}

void arraySplitRule(Case& c)
{
    const Array g = gradientArray(c, c.dy[0]);
    const Grad operands[] = {g.handle, g.flow};
    c.dx[1] = c.nodes.add("TensorArrayConcatV3", operands, arrayType(c, c.x[1])).front();
    c.dx[3] = c.dy[0];
}

/// The array of gradients of an array that is made from another: what flows through is the flow.
void arrayGradRule(Case& c) { c.dx[1] = c.dy[1]; }

void optionalFromValueRule(Case& c)
{
    AttributeItems types, shapes;
    for (const Grad& x : c.x) {
        types.emplace_back(c.nodes.dtype(x));
        shapes.emplace_back(Shape::unknownRank());
    }
    c.dx =
        c.nodes.add("OptionalGetValue", std::span(&c.dy[0], 1), {{"output_shapes", std::move(shapes)}, {"output_types", std::move(types)}});
}

// clang-format off
constexpr NamedGradientRule kStateRules[] = {
    {"ReadVariableOp", kGraphsOnly, [](Case& c) { c.give(c.dy[0]); }},
    {"ResourceGather", kGraphsOnly, resourceGatherRule},
    {"ResourceGatherNd", kGraphsOnly, resourceGatherNdRule},

    {"TensorListPushBack", kGraphsOnly, pushBackRule},
    {"TensorListPopBack", kGraphsOnly, popBackRule},
    {"TensorListSetItem", kGraphsOnly, setItemRule},
    {"TensorListGetItem", kGraphsOnly, getItemRule},
    {"TensorListStack", kGraphsOnly, stackRule},
    {"TensorListFromTensor", kGraphsOnly, fromTensorRule},
    {"TensorListGather", kGraphsOnly, gatherRule},
    {"TensorListScatter", kGraphsOnly, scatterRule},
    {"TensorListScatterV2", kGraphsOnly, scatterRule},
    {"TensorListConcat", kGraphsOnly, concatRule},
    {"TensorListConcatV2", kGraphsOnly, concatRule},
    {"TensorListSplit", kGraphsOnly, splitRule},
    {"TensorListScatterIntoExistingList", kGraphsOnly, scatterIntoListRule},
    {"TensorListResize", kGraphsOnly, [](Case& c) { c.give(c.nodes.node("TensorListResize", {c.dy[0], listLength(c, c.x[0])})); }},
    {"OptionalFromValue", kGraphsOnly, optionalFromValueRule},
    {"OptionalGetValue", kGraphsOnly, [](Case& c) { c.give(c.nodes.add("OptionalFromValue", c.dy).front()); }},

    {"TensorArrayReadV3", kGraphsOnly, arrayReadRule},
    {"TensorArrayWriteV3", kGraphsOnly, arrayWriteRule},
    {"TensorArrayGatherV3", kGraphsOnly, arrayGatherRule},
    {"TensorArrayScatterV3", kGraphsOnly, arrayScatterRule},
    {"TensorArrayConcatV3", kGraphsOnly, arrayConcatRule},
    {"TensorArraySplitV3", kGraphsOnly, arraySplitRule},
    {"TensorArrayGradV3", kGraphsOnly, arrayGradRule},
};
// clang-format on

} // namespace

std::span<const NamedGradientRule> gradientRulesOfState() { return kStateRules; }

} // namespace loopscope
