// Catalogue entries of what changes parts of variables, on resources and on the references of TensorFlow 1.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr std::string_view kScatter = "variable, indices, updates", kSlice = "variable, begin, end, strides, value";

OpDef resource(int inputs, std::string_view operands, std::string_view summary)
{
    return tfStatefulDef({inputs, inputs, 0, 0}, operands, summary);
}

/// One that gives the variable's reference.
OpDef reference(int inputs, std::string_view operands, std::string_view summary)
{
    OpDef def = tfStatefulDef({inputs, inputs}, operands, summary);
    def.infer = [](InferContext& context) -> Status {
        context.output(0).shape = Shape();
        return {};
    };
    return def;
}

} // namespace

LS_DEFINE_OP(tf, ResourceScatterUpdate) { return resource(3, kScatter, "Replaces rows of the variable."); }
LS_DEFINE_OP(tf, ResourceScatterAdd) { return resource(3, kScatter, "Adds to rows of the variable."); }
LS_DEFINE_OP(tf, ResourceScatterSub) { return resource(3, kScatter, "Subtracts from rows of the variable."); }
LS_DEFINE_OP(tf, ResourceScatterMul) { return resource(3, kScatter, "Multiplies rows of the variable."); }
LS_DEFINE_OP(tf, ResourceScatterDiv) { return resource(3, kScatter, "Divides rows of the variable."); }
LS_DEFINE_OP(tf, ResourceScatterMax) { return resource(3, kScatter, "Rows of the variable grow to the updates."); }
LS_DEFINE_OP(tf, ResourceScatterMin) { return resource(3, kScatter, "Rows of the variable shrink to the updates."); }
LS_DEFINE_OP(tf, ResourceScatterNdUpdate) { return resource(3, kScatter, "Replaces slices of the variable at index vectors."); }
LS_DEFINE_OP(tf, ResourceScatterNdAdd) { return resource(3, kScatter, "Adds to slices of the variable at index vectors."); }
LS_DEFINE_OP(tf, ResourceScatterNdSub) { return resource(3, kScatter, "Subtracts from slices of the variable at index vectors."); }
LS_DEFINE_OP(tf, ResourceScatterNdMax) { return resource(3, kScatter, "Slices of the variable at index vectors grow to the updates."); }
LS_DEFINE_OP(tf, ResourceScatterNdMin) { return resource(3, kScatter, "Slices of the variable at index vectors shrink to the updates."); }
LS_DEFINE_OP(tf, ScatterUpdate) { return reference(3, kScatter, "Replaces rows of the variable."); }
LS_DEFINE_OP(tf, ScatterAdd) { return reference(3, kScatter, "Adds to rows of the variable."); }
LS_DEFINE_OP(tf, ScatterSub) { return reference(3, kScatter, "Subtracts from rows of the variable."); }
LS_DEFINE_OP(tf, ScatterMul) { return reference(3, kScatter, "Multiplies rows of the variable."); }
LS_DEFINE_OP(tf, ScatterDiv) { return reference(3, kScatter, "Divides rows of the variable."); }
LS_DEFINE_OP(tf, ScatterMax) { return reference(3, kScatter, "Rows of the variable grow to the updates."); }
LS_DEFINE_OP(tf, ScatterMin) { return reference(3, kScatter, "Rows of the variable shrink to the updates."); }
LS_DEFINE_OP(tf, ScatterNdUpdate) { return reference(3, kScatter, "Replaces slices of the variable at index vectors."); }
LS_DEFINE_OP(tf, ScatterNdAdd) { return reference(3, kScatter, "Adds to slices of the variable at index vectors."); }
LS_DEFINE_OP(tf, ScatterNdSub) { return reference(3, kScatter, "Subtracts from slices of the variable at index vectors."); }
LS_DEFINE_OP(tf, ScatterNdMax) { return reference(3, kScatter, "Slices of the variable at index vectors grow to the updates."); }
LS_DEFINE_OP(tf, ScatterNdMin) { return reference(3, kScatter, "Slices of the variable at index vectors shrink to the updates."); }
LS_DEFINE_OP(tf, ResourceStridedSliceAssign) { return resource(5, kSlice, "Replaces a strided slice of the variable."); }
LS_DEFINE_OP(tf, StridedSliceAssign) { return reference(5, kSlice, "Replaces a strided slice of the variable."); }
