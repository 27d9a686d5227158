// Catalogue entries of TensorFlow's lists (scalar variants with value semantics) and optionals.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

/// A list is a scalar variant.
Status inferList(InferContext& context)
{
    context.output(0).shape = Shape();
    return {};
}

/// The element may have another shape than the operand says, as in TensorFlow. What made list and operator may know better.
Status inferPop(InferContext& context)
{
    context.output(0).shape = Shape();
    context.output(1).shape = tfShapeAttribute(context.attributes(), kElementShapeAttribute);
    return {};
}

/// What gives a list.
OpDef list(TfArity arity, std::string_view operands, std::string_view summary) { return tfDef(arity, operands, summary, inferList); }
/// What gives something else.
OpDef other(TfArity arity, std::string_view operands, std::string_view summary) { return tfDef(arity, operands, summary); }

} // namespace

LS_DEFINE_OP(tf, EmptyTensorList) { return list({2, 2}, "element_shape, max_num_elements", "An empty list."); }
LS_DEFINE_OP(tf, TensorListReserve) { return list({2, 2}, "element_shape, num_elements", "A list of elements that are not set."); }
LS_DEFINE_OP(tf, TensorListPushBack) { return list({2, 2}, "list, tensor", "The list with a tensor appended."); }
LS_DEFINE_OP(tf, TensorListPopBack)
{
    return tfDef({2, 2, 2, 2}, "list, element_shape", "The list without its last element, and that element.", inferPop);
}
LS_DEFINE_OP(tf, TensorListGetItem) { return other({3, 3}, "list, index, element_shape", "An element; zeros if it was not set."); }
LS_DEFINE_OP(tf, TensorListSetItem) { return list({3, 3}, "list, index, tensor", "The list with an element replaced."); }
LS_DEFINE_OP(tf, TensorListLength) { return tfDef({}, "list", "The number of elements.", inferList); }
LS_DEFINE_OP(tf, TensorListElementShape) { return other({}, "list", "The shape that elements have; a scalar −1 if any."); }
LS_DEFINE_OP(tf, TensorListResize) { return list({2, 2}, "list, size", "The list cut, or filled up with elements that are not set."); }
LS_DEFINE_OP(tf, TensorListStack) { return other({2, 2}, "list, element_shape", "All elements stacked along a new first axis."); }
LS_DEFINE_OP(tf, TensorListFromTensor) { return list({2, 2}, "tensor, element_shape", "A list of the slices along the first axis."); }
LS_DEFINE_OP(tf, TensorListGather)
{
    return other({3, 3}, "list, indices, element_shape", "Some elements stacked along a new first axis.");
}
LS_DEFINE_OP(tf, TensorListScatter)
{
    return list({3, 3}, "tensor, indices, element_shape", "A list with slices of a tensor at the given places.");
}
LS_DEFINE_OP(tf, TensorListScatterV2)
{
    return list({4, 4}, "tensor, indices, element_shape, num_elements", "A list with slices of a tensor at the given places.");
}
LS_DEFINE_OP(tf, TensorListScatterIntoExistingList)
{
    return list({3, 3}, "list, tensor, indices", "The list with slices of a tensor at the given places.");
}
LS_DEFINE_OP(tf, TensorListConcat) { return other({1, 1, 2, 2}, "list", "All elements joined along their first axis, and their lengths."); }
LS_DEFINE_OP(tf, TensorListConcatV2)
{
    return other({3, 3, 2, 2}, "list, element_shape, leading_dims", "All elements joined along their first axis, and their lengths.");
}
LS_DEFINE_OP(tf, TensorListSplit)
{
    return list({3, 3}, "tensor, element_shape, lengths", "A list of pieces of a tensor along its first axis.");
}
LS_DEFINE_OP(tf, TensorListConcatLists) { return other({2, 2}, "a, b", "One list after the other."); }
LS_DEFINE_OP(tf, TensorListPushBackBatch) { return other({2, 2}, "lists, tensor", "Each list with a row of the tensor appended."); }
LS_DEFINE_OP(tf, OptionalFromValue) { return list({0, -1}, "components…", "An optional that holds its operands."); }
LS_DEFINE_OP(tf, OptionalNone) { return list({0, 0}, "", "An optional that holds nothing."); }
LS_DEFINE_OP(tf, OptionalHasValue) { return tfDef({}, "optional", "Whether an optional holds something.", inferList); }
LS_DEFINE_OP(tf, OptionalGetValue) { return other({1, 1, 0, -1}, "optional", "What an optional holds."); }
