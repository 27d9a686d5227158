// Catalogue entry of svdf.
#include "engine/ops/catalog.h"
#include "engine/ops/recurrent_checks.h"

#include <string>

using namespace loopscope;

namespace {

constexpr int kState[] = {4};

/// C1 ranks, C2 shapes of weights, C3 shape of the state, C4 dtypes, C5 rank attribute.
Status inferSvdf(InferContext& context)
{
    const Tensor& input = context.input(0);
    if (input.shape.hasRank() && input.shape.rank() != 2)
        return InferContext::violated(1, "input has rank " + std::to_string(input.shape.rank()) + ", expected 2");
    if (input.dtype != DType::f32 && input.dtype != DType::i8 && input.dtype != DType::unknown)
        return InferContext::violated(4, "input is " + std::string(dtypeName(input.dtype)) + ", expected f32 or i8");
    for (const int i : {1, 2, 4}) LS_CHECK_OK(requireOperand(context, 2, i));
    LS_CHECK_OK(requireDtypeIfPresent(context, 4, 3, input.dtype == DType::i8 ? DType::i32 : DType::f32));
    const int64_t rank = attributeInt(context.attributes(), "rank", 0);
    const int64_t filters = dimensionFromEnd(context, 1, 2);
    const int64_t memory = dimensionFromEnd(context, 2, 1);
    if (rank < 1 || (filters != kUnknownDim && filters % rank != 0))
        return InferContext::violated(5, "rank is " + std::to_string(rank) + ", expected a divisor of the " + std::to_string(filters) +
                                             " filters");
    const int64_t batch = dimensionFromEnd(context, 0, 2);
    const int64_t units = filters == kUnknownDim ? kUnknownDim : filters / rank;
    LS_CHECK_OK(requireShape(context, 2, 1, {filters, dimensionFromEnd(context, 0, 1)}));
    LS_CHECK_OK(requireShape(context, 2, 2, {filters, memory}));
    LS_CHECK_OK(requireElements(context, 2, 3, units));
    LS_CHECK_OK(requireElements(context, 3, 4, productOf(productOf(batch, memory), filters)));
    if (memory == 0) return InferContext::violated(2, "time weights have no columns");
    context.setOutput(0, input.dtype, {batch, units});
    return {};
}

} // namespace

LS_DEFINE_OP(tfl, svdf)
{
    OpDef def;
    def.minInputs = def.maxInputs = 5;
    def.operands = "input [B,I], feature weights [F,I], time weights [F,M], bias? [F/rank], state [B,F·M]";
    def.summary = "Filters over the last M inputs, factorised into a feature and a time filter.";
    def.source = "LiteRT kernels/svdf.cc, internal/reference/svdf.h";
    def.floatBound = withinRelative(1e-5);
    def.stateOperands = kState;
    def.hasSideEffects = true;
    def.infer = inferSvdf;
    return def;
}
