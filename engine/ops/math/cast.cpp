// Catalogue entry of CAST.
// Constraint: C1 the result's dtype is known, from the attribute out_data_type or from the file's declaration.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Status inferCast(InferContext& context)
{
    DType dtype = context.output(0).dtype;
    if (dtype == DType::unknown) {
        if (const Attribute* attribute = findAttribute(context.attributes(), "out_data_type"))
            if (const DType* named = attribute->as<DType>()) dtype = *named;
    }
    if (dtype == DType::unknown) return InferContext::violated(1, "neither out_data_type nor a declaration says the result's dtype");
    context.setOutput(0, dtype, context.input(0).shape);
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, cast)
{
    OpDef def =
        unaryDef("Converts elements to another dtype: integers wrap, floats to integers truncate and saturate (NaN gives the largest), "
                 "complex numbers lose their imaginary part.",
                 "LiteRT kernels/cast.cc");
    def.infer = inferCast;
    return def;
}

LS_DEFINE_OP(tfl, stablehlo_convert)
{
    OpDef def = unaryDef("Converts elements to the result's dtype, as cast does.", "StableHLO specification");
    def.infer = inferCast;
    return def;
}
