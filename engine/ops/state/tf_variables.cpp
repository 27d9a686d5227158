// Catalogue entries of TensorFlow's variables: resources, and the references of TensorFlow 1.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef stateful(TfArity arity, std::string_view operands, std::string_view summary) { return tfStatefulDef(arity, operands, summary); }

/// A handle is a scalar.
OpDef handle(std::string_view summary)
{
    OpDef def = tfStatefulDef({0, 0}, "", summary);
    def.infer = [](InferContext& context) -> Status {
        context.output(0).shape = Shape();
        return {};
    };
    return def;
}

OpDef reference(int inputs, std::string_view operands, std::string_view summary)
{
    OpDef def = handle(summary);
    def.minInputs = def.maxInputs = inputs;
    def.operands = operands;
    return def;
}

} // namespace

LS_DEFINE_OP(tf, VarHandleOp) { return handle("The handle of a variable."); }
LS_DEFINE_OP(tf, VarIsInitializedOp) { return reference(1, "resource", "Whether the variable was assigned."); }
LS_DEFINE_OP(tf, ReadVariableOp) { return stateful({}, "resource", "The variable's value."); }
LS_DEFINE_OP(tf, AssignVariableOp) { return stateful({2, 2, 0, 0}, "resource, value", "Gives the variable a value."); }
LS_DEFINE_OP(tf, AssignAddVariableOp) { return stateful({2, 2, 0, 0}, "resource, value", "Adds to the variable."); }
LS_DEFINE_OP(tf, AssignSubVariableOp) { return stateful({2, 2, 0, 0}, "resource, value", "Subtracts from the variable."); }
LS_DEFINE_OP(tf, VariableShape) { return stateful({}, "input", "The shape of the variable's value."); }
LS_DEFINE_OP(tf, DestroyResourceOp) { return stateful({1, 1, 0, 0}, "resource", "Forgets the variable's value."); }
LS_DEFINE_OP(tf, ResourceGather) { return stateful({2, 2}, "resource, indices", "Rows of the variable."); }
LS_DEFINE_OP(tf, ResourceGatherNd) { return stateful({2, 2}, "resource, indices", "Slices of the variable at index vectors."); }
LS_DEFINE_OP(tf, VariableV2) { return handle("A reference to a variable of TensorFlow 1."); }
LS_DEFINE_OP(tf, Variable) { return handle("A reference to a variable of TensorFlow 1."); }
LS_DEFINE_OP(tf, IsVariableInitialized) { return reference(1, "ref", "Whether the variable was assigned."); }
LS_DEFINE_OP(tf, RefIdentity) { return reference(1, "input", "The same reference: later assignments are seen through it."); }
LS_DEFINE_OP(tf, Assign) { return reference(2, "ref, value", "Gives the variable a value; the same reference."); }
LS_DEFINE_OP(tf, AssignAdd) { return reference(2, "ref, value", "Adds to the variable; the same reference."); }
LS_DEFINE_OP(tf, AssignSub) { return reference(2, "ref, value", "Subtracts from the variable; the same reference."); }
LS_DEFINE_OP(tf, CountUpTo) { return reference(1, "ref", "The variable's value, which then grows by 1, up to limit."); }
LS_DEFINE_OP(tf, RefSelect)
{
    OpDef def = reference(2, "index i32 [], references…", "The reference of that index.");
    def.maxInputs = -1;
    return def;
}
