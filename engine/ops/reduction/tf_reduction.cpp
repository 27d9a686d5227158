// Catalogue entries of TensorFlow's reductions, running sums, sums of many tensors and matrix products.
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

using namespace loopscope;

namespace {

constexpr ErrorBounds kSumBound = withinRelative(1e-6);

/// Each element of the result is a sum of as many products as operand 0 has columns, or rows where `transposes` says so.
int64_t productMacs(InferContext context, std::string_view transposes)
{
    const Shape &left = context.input(0).shape, &result = context.output(0).shape;
    int64_t macs = result.isStatic() ? checkedElementCount(result).value_or(0) : 0;
    if (!left.isStatic() || left.rank() < 2) return 0;
    const int64_t products = left[left.rank() - (attributeBool(context.attributes(), transposes, false) ? 2 : 1)];
    return __builtin_mul_overflow(macs, products, &macs) ? 0 : macs;
}
int64_t matMulMacs(const InferContext& context) { return productMacs(context, "transpose_a"); }
int64_t batchMatMulMacs(const InferContext& context) { return productMacs(context, "adj_x"); }

OpDef product(std::string_view operands, std::string_view summary, int64_t (*macs)(const InferContext&))
{
    OpDef def = tfDef({2, 2}, operands, summary, inferAtRunTime, kSumBound);
    def.macs = macs;
    return def;
}

OpDef reduces(std::string_view summary, const ErrorBounds& bound = kExact)
{
    return tfDef({2, 2}, "input, reduction_indices", summary, inferAtRunTime, bound);
}

} // namespace

LS_DEFINE_OP(tf, Sum) { return reduces("Sums along dimensions.", kSumBound); }
LS_DEFINE_OP(tf, Mean) { return reduces("Means along dimensions.", kSumBound); }
LS_DEFINE_OP(tf, Prod) { return reduces("Products along dimensions.", kSumBound); }
LS_DEFINE_OP(tf, Max) { return reduces("The largest elements along dimensions."); }
LS_DEFINE_OP(tf, Min) { return reduces("The smallest elements along dimensions."); }
LS_DEFINE_OP(tf, All) { return reduces("Whether all elements along dimensions are true."); }
LS_DEFINE_OP(tf, Any) { return reduces("Whether any element along dimensions is true."); }
LS_DEFINE_OP(tf, EuclideanNorm) { return reduces("√(sum of squares) along dimensions.", kSumBound); }
LS_DEFINE_OP(tf, ArgMax)
{
    return tfDef({2, 2}, "input, dimension", "Where along a dimension the largest element is; the first of equal ones.");
}
LS_DEFINE_OP(tf, ArgMin)
{
    return tfDef({2, 2}, "input, dimension", "Where along a dimension the smallest element is; the first of equal ones.");
}
LS_DEFINE_OP(tf, Cumsum) { return tfDef({2, 2}, "x, axis", "Running sums along an axis.", inferTfSame, kSumBound); }
LS_DEFINE_OP(tf, Cumprod) { return tfDef({2, 2}, "x, axis", "Running products along an axis.", inferTfSame, kSumBound); }
LS_DEFINE_OP(tf, AddN)
{
    return tfDef({1, -1}, "inputs…", "The sum of all operands, which have one shape; of lists element by element.", inferTfSame);
}
LS_DEFINE_OP(tf, AccumulateNV2) { return tfDef({1, -1}, "inputs…", "The sum of all operands, which have one shape.", inferTfSame); }
LS_DEFINE_OP(tf, L2Loss) { return tfDef({}, "t", "Half the sum of squares.", inferAtRunTime, kSumBound); }
LS_DEFINE_OP(tf, MatMul) { return product("a [m,k], b [k,n]", "The matrix product; either may be transposed first.", matMulMacs); }
LS_DEFINE_OP(tf, BatchMatMul) { return product("x, y", "Matrix products of two stacks of matrices.", batchMatMulMacs); }
LS_DEFINE_OP(tf, BatchMatMulV2) { return product("x, y", "Matrix products of two stacks of matrices, which broadcast.", batchMatMulMacs); }
LS_DEFINE_OP(tf, BatchMatMulV3) { return product("x, y", "Matrix products of two stacks of matrices, which broadcast.", batchMatMulMacs); }
LS_DEFINE_OP(tf, BiasAdd)
{
    return tfDef({2, 2}, "value, bias", "A vector added along the last dimension, or the second for NCHW.", inferTfSame);
}
LS_DEFINE_OP(tf, BiasAddGrad) { return tfDef({}, "out_backprop", "Sums over all dimensions but the channels.", inferAtRunTime, kSumBound); }
