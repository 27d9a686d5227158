// Catalogue entries of TensorFlow's operators on shapes, and of those that make tensors out of shapes and numbers.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

#include <optional>

using namespace loopscope;

namespace {

Status inferScalar(InferContext& context)
{
    context.output(0).shape = Shape();
    return {};
}

Status inferShapes(InferContext& context)
{
    for (int k = 0; k < context.outputCount() && k < context.inputCount(); ++k)
        if (context.input(k).shape.hasRank()) context.output(k).shape = Shape({context.input(k).shape.rank()});
    return {};
}

/// The dimensions in operand `i`, if they are known and make a definite shape.
std::optional<Shape> knownShape(const InferContext& context, int i)
{
    const auto dims = context.intValues(i);
    if (!dims || context.input(i).shape.rank() != 1) return std::nullopt;
    Shape shape;
    for (const int64_t dim : *dims) {
        if (dim < 0) return std::nullopt;
        shape.append(dim);
    }
    return checkedElementCount(shape) ? std::optional<Shape>(shape) : std::nullopt;
}

template <int operand> Status inferFromOperand(InferContext& context)
{
    if (const auto shape = knownShape(context, operand)) context.output(0).shape = *shape;
    return {};
}

OpDef shapeOnly(std::string_view summary) { return tfDef({}, "input", summary, inferScalar); }

} // namespace

LS_DEFINE_OP(tf, Shape) { return tfDef({}, "input", "The dimensions of its operand.", inferShapes); }
LS_DEFINE_OP(tf, ShapeN) { return tfDef({1, -1, 1, -1}, "inputs…", "The dimensions of each operand.", inferShapes); }
LS_DEFINE_OP(tf, Rank) { return shapeOnly("The number of dimensions."); }
LS_DEFINE_OP(tf, Size) { return shapeOnly("The number of elements."); }
LS_DEFINE_OP(tf, Reshape) { return tfDef({2, 2}, "tensor, shape", "The same elements in another shape; one dimension may be −1."); }
LS_DEFINE_OP(tf, Squeeze) { return tfDef({}, "input", "Without dimensions of size 1, all or those of squeeze_dims."); }
LS_DEFINE_OP(tf, ExpandDims) { return tfDef({2, 2}, "input, dim", "With a dimension of size 1 before dim."); }
LS_DEFINE_OP(tf, Fill) { return tfDef({2, 2}, "dims, value", "A tensor of that shape, each element the value.", inferFromOperand<0>); }
LS_DEFINE_OP(tf, Empty) { return tfDef({}, "shape", "A tensor of that shape; here of zeros.", inferFromOperand<0>); }
LS_DEFINE_OP(tf, Range) { return tfDef({3, 3}, "start, limit, delta", "start, start + delta, … before limit."); }
LS_DEFINE_OP(tf, LinSpace) { return tfDef({3, 3}, "start, stop, num", "num numbers at equal distances from start to stop."); }
LS_DEFINE_OP(tf, BroadcastTo)
{
    return tfDef({2, 2}, "input, shape", "The operand repeated along dimensions of size 1.", inferFromOperand<1>);
}
LS_DEFINE_OP(tf, BroadcastArgs) { return tfDef({2, 2}, "s0, s1", "The shape that two shapes broadcast to."); }
LS_DEFINE_OP(tf, BroadcastGradientArgs)
{
    return tfDef({2, 2, 2, 2}, "s0, s1", "The dimensions along which the gradient of each of two broadcast operands is summed.");
}
LS_DEFINE_OP(tf, ConcatOffset) { return tfDef({2, -1, 1, -1}, "concat_dim, shapes…", "Where each operand of a concatenation begins."); }
LS_DEFINE_OP(tf, InvertPermutation) { return tfDef({}, "x", "y with y[x[i]] = i.", inferTfSame); }
