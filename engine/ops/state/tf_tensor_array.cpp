// Catalogue entries of TensorFlow's tensor arrays and stacks, which live for one run.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef stateful(TfArity arity, std::string_view operands, std::string_view summary) { return tfStatefulDef(arity, operands, summary); }

/// All results are scalars: handles, flows, sizes.
OpDef scalars(TfArity arity, std::string_view operands, std::string_view summary)
{
    OpDef def = tfStatefulDef(arity, operands, summary);
    def.infer = [](InferContext& context) -> Status {
        for (int k = 0; k < context.outputCount(); ++k) context.output(k).shape = Shape();
        return {};
    };
    return def;
}

} // namespace

LS_DEFINE_OP(tf, TensorArrayV3)
{
    return scalars({1, 1, 2, 2}, "size", "A new array of that many elements, and the flow that orders its uses.");
}
LS_DEFINE_OP(tf, TensorArrayGradV3)
{
    return scalars({2, 2, 2, 2}, "handle, flow_in", "The array of the gradients of an array; one for each source.");
}
LS_DEFINE_OP(tf, TensorArrayGradWithShape)
{
    return scalars({3, 3, 2, 2}, "handle, flow_in, shape_to_prepend",
                   "The array of the gradients of an array, whose elements have more dimensions.");
}
LS_DEFINE_OP(tf, TensorArrayWriteV3)
{
    return scalars({4, 4}, "handle, index, value, flow_in", "Writes an element; of a gradient array it adds to it.");
}
LS_DEFINE_OP(tf, TensorArrayReadV3)
{
    return stateful({3, 3}, "handle, index, flow_in", "An element; zeros if it was not written and its shape is known.");
}
LS_DEFINE_OP(tf, TensorArrayGatherV3)
{
    return stateful({3, 3}, "handle, indices, flow_in", "Some elements stacked along a new first axis.");
}
LS_DEFINE_OP(tf, TensorArrayScatterV3)
{
    return scalars({4, 4}, "handle, indices, value, flow_in", "Writes slices of a tensor at the given places.");
}
LS_DEFINE_OP(tf, TensorArrayConcatV3)
{
    return stateful({2, 2, 2, 2}, "handle, flow_in", "All elements joined along their first axis, and their lengths.");
}
LS_DEFINE_OP(tf, TensorArraySplitV3)
{
    return scalars({4, 4}, "handle, value, lengths, flow_in", "Writes pieces of a tensor along its first axis.");
}
LS_DEFINE_OP(tf, TensorArraySizeV3) { return scalars({2, 2}, "handle, flow_in", "The number of elements."); }
LS_DEFINE_OP(tf, TensorArrayCloseV3) { return stateful({1, 1, 0, 0}, "handle", "Frees the array."); }
LS_DEFINE_OP(tf, StackV2) { return scalars({}, "max_size", "A new stack."); }
LS_DEFINE_OP(tf, StackPushV2) { return stateful({2, 2}, "handle, elem", "Pushes a tensor and hands it on."); }
LS_DEFINE_OP(tf, StackPopV2) { return stateful({}, "handle", "The tensor that was pushed last."); }
LS_DEFINE_OP(tf, StackCloseV2) { return stateful({1, 1, 0, 0}, "handle", "Frees the stack."); }
