// Catalogue entries of REAL, IMAG, COMPLEX_ABS.
// Constraint: C1 the operand is c64 or c128.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Status inferComplexPart(InferContext& context)
{
    LS_CHECK_OK(requireDtype(context, 1, 0, {DType::c64, DType::c128}));
    const DType dtype = context.input(0).dtype;
    context.setOutput(0, dtype == DType::c128 ? DType::f64 : dtype == DType::c64 ? DType::f32 : DType::unknown, context.input(0).shape);
    return {};
}

OpDef complexDef(std::string_view summary, const ErrorBounds& floatBound)
{
    OpDef def = unaryDef(summary, "LiteRT kernels/complex_support.cc", floatBound);
    def.infer = inferComplexPart;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, real) { return complexDef("Real part.", kExact); }

LS_DEFINE_OP(tfl, imag) { return complexDef("Imaginary part.", kExact); }

LS_DEFINE_OP(tfl, complex_abs) { return complexDef("Magnitude.", withinUlp(1)); }
