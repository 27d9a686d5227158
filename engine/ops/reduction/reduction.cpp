// Catalogue entries of reductions: MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ANY, REDUCE_ALL.
// Constraints: C1 axis is i32; C2 every axis lies within the operand's rank; C3 the operand of ANY and ALL is bool.
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

using namespace loopscope;

namespace {

Result<Shape> reducedShape(const InferContext& context)
{
    const Shape& input = context.input(0).shape;
    const bool keep = attributeBool(context.attributes(), "keep_dims", false);
    const auto axes = context.intValues(1);
    if (!input.hasRank()) return Shape::unknownRank();
    if (input.rank() == 0) return Shape(); // axes of a scalar count for nothing
    if (!axes) return keep ? Shape::ofRank(input.rank(), kUnknownDim) : Shape::unknownRank();
    std::vector<bool> reduced(static_cast<size_t>(input.rank()), false);
    for (const int64_t axis : *axes) {
        LS_TRY(const int index, normalizedAxis(2, axis, input.rank()));
        reduced[static_cast<size_t>(index)] = true;
    }
    Shape out;
    for (int i = 0; i < input.rank(); ++i) {
        if (!reduced[static_cast<size_t>(i)]) out.append(input[i]);
        else if (keep) out.append(1);
    }
    return out;
}

template <bool kBool> Status inferReduction(InferContext& context)
{
    LS_CHECK_OK(requireDtype(context, 1, 1, {DType::i32}));
    if (kBool) LS_CHECK_OK(requireDtype(context, 3, 0, {DType::boolean}));
    LS_TRY(Shape shape, reducedShape(context));
    context.setOutput(0, context.input(0).dtype, std::move(shape));
    return {};
}

OpDef reductionDef(std::string_view summary, const ErrorBounds& floatBound, Status (*infer)(InferContext&) = inferReduction<false>)
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "input, axis";
    def.summary = summary;
    def.source = "LiteRT kernels/reduce.cc";
    def.floatBound = floatBound;
    def.infer = infer;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, mean) { return reductionDef("Mean over the given axes; integers truncate; NaN (integers: 0) over no elements.", kExact); }

LS_DEFINE_OP(tfl, sum)
{
    OpDef def = reductionDef("Sum over the given axes.", kExact);
    def.differs = "quantized sums follow LiteRT's optimized kernel, whose reference kernel writes nothing; they are clamped";
    return def;
}

LS_DEFINE_OP(tfl, reduce_max)
{
    return reductionDef("Largest element over the given axes; NaN is passed over unless it comes first in a reduction of everything.",
                        kExact);
}

LS_DEFINE_OP(tfl, reduce_min)
{
    return reductionDef("Smallest element over the given axes; NaN is passed over unless it comes first in a reduction of everything.",
                        kExact);
}

LS_DEFINE_OP(tfl, reduce_prod) { return reductionDef("Product over the given axes.", kExact); }

LS_DEFINE_OP(tfl, reduce_any) { return reductionDef("True if any element over the given axes is.", kExact, inferReduction<true>); }

LS_DEFINE_OP(tfl, reduce_all) { return reductionDef("True if all elements over the given axes are.", kExact, inferReduction<true>); }
