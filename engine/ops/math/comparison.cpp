// Catalogue entries of comparisons: result bool, shapes broadcast.
// Constraints: C1 operands have one dtype; C2 shapes broadcast.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Status inferComparison(InferContext& context)
{
    LS_CHECK_OK(requireSameDtype(context, 1, 0, 1));
    LS_TRY(Shape shape, broadcastOperands(context, 2, 0, 1));
    context.setOutput(0, DType::boolean, std::move(shape));
    return {};
}

OpDef comparisonDef(std::string_view summary)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "lhs, rhs";
    def.summary = summary;
    def.source = "LiteRT kernels/comparisons.cc";
    def.differs = "int8 and uint8 without quantization are plain integers; LiteRT crashes on them";
    def.floatBound = kExact;
    def.infer = inferComparison;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, equal) { return comparisonDef("Element-wise lhs = rhs; NaN equals nothing."); }

LS_DEFINE_OP(tfl, not_equal) { return comparisonDef("Element-wise lhs ≠ rhs; NaN differs from everything."); }

LS_DEFINE_OP(tfl, less) { return comparisonDef("Element-wise lhs < rhs."); }

LS_DEFINE_OP(tfl, less_equal) { return comparisonDef("Element-wise lhs ≤ rhs."); }

LS_DEFINE_OP(tfl, greater) { return comparisonDef("Element-wise lhs > rhs."); }

LS_DEFINE_OP(tfl, greater_equal) { return comparisonDef("Element-wise lhs ≥ rhs."); }
