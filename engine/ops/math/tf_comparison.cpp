// Catalogue entries of TensorFlow's comparisons, logic and selection.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

OpDef compare(std::string_view summary) { return tfDef({2, 2}, "x, y", summary, inferTfComparison); }

/// Equal and NotEqual may be asked to answer a single bool where shapes do not fit.
Status inferEquality(InferContext& context)
{
    context.output(0).dtype = DType::boolean;
    if (!context.input(0).shape.hasRank() || !context.input(1).shape.hasRank()) return {};
    const std::optional<Shape> both = broadcastShapes(context.input(0).shape, context.input(1).shape);
    if (both) context.output(0).shape = *both;
    else if (!attributeBool(context.attributes(), "incompatible_shape_error", true)) context.output(0).shape = Shape();
    else return inferTfBroadcast(context);
    return {};
}

OpDef equality(std::string_view summary) { return tfDef({2, 2}, "x, y", summary, inferEquality); }

/// The condition is of the operands' shape, a scalar, or a vector that chooses rows.
Status inferSelect(InferContext& context)
{
    context.output(0).shape = context.input(1).shape;
    return {};
}

Status inferSelectV2(InferContext& context)
{
    for (int i = 0; i < 3; ++i)
        if (!context.input(i).shape.hasRank()) return {};
    LS_TRY(const Shape values, tfBroadcast(context.input(1).shape, context.input(2).shape));
    LS_TRY(context.output(0).shape, tfBroadcast(context.input(0).shape, values));
    return {};
}

Status inferNot(InferContext& context)
{
    context.setOutput(0, DType::boolean, context.input(0).shape);
    return {};
}

} // namespace

LS_DEFINE_OP(tf, Equal) { return equality("x = y."); }
LS_DEFINE_OP(tf, NotEqual) { return equality("x ≠ y."); }
LS_DEFINE_OP(tf, Less) { return compare("x < y."); }
LS_DEFINE_OP(tf, LessEqual) { return compare("x ≤ y."); }
LS_DEFINE_OP(tf, Greater) { return compare("x > y."); }
LS_DEFINE_OP(tf, GreaterEqual) { return compare("x ≥ y."); }
LS_DEFINE_OP(tf, LogicalAnd) { return compare("x and y."); }
LS_DEFINE_OP(tf, LogicalOr) { return compare("x or y."); }
LS_DEFINE_OP(tf, ApproximateEqual) { return compare("|x − y| < tolerance; shapes are equal."); }
LS_DEFINE_OP(tf, LogicalNot) { return tfDef({}, "x", "not x.", inferNot); }
LS_DEFINE_OP(tf, Select)
{
    return tfDef({3, 3}, "condition, t, e", "t where the condition holds, e elsewhere; a vector chooses rows.", inferSelect);
}
LS_DEFINE_OP(tf, SelectV2)
{
    return tfDef({3, 3}, "condition, t, e", "t where the condition holds, e elsewhere; all broadcast.", inferSelectV2);
}
LS_DEFINE_OP(tf, IsFinite) { return tfDef({}, "x", "x is neither infinite nor NaN.", inferNot); }
LS_DEFINE_OP(tf, IsInf) { return tfDef({}, "x", "x is infinite.", inferNot); }
LS_DEFINE_OP(tf, IsNan) { return tfDef({}, "x", "x is NaN.", inferNot); }
