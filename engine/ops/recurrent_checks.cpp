// Checks that the catalogue entries of recurrent operators share.
#include "engine/ops/recurrent_checks.h"

namespace loopscope {

Status requireOperand(const InferContext& context, int constraint, int i)
{
    if (!context.has(i)) return InferContext::violated(constraint, "operand " + std::to_string(i) + " is missing");
    return {};
}

Status requireShape(const InferContext& context, int constraint, int i, std::initializer_list<int64_t> dims)
{
    if (i < 0 || !context.has(i) || !context.input(i).shape.hasRank()) return {};
    const Shape& shape = context.input(i).shape;
    const Shape wanted(dims);
    bool fits = shape.rank() == wanted.rank();
    for (int d = 0; fits && d < shape.rank(); ++d) fits = shape[d] == wanted[d] || shape[d] == kUnknownDim || wanted[d] == kUnknownDim;
    if (!fits)
        return InferContext::violated(constraint,
                                      "operand " + std::to_string(i) + " has shape " + toString(shape) + ", expected " + toString(wanted));
    return {};
}

Status requireElements(const InferContext& context, int constraint, int i, int64_t elements)
{
    if (i < 0 || !context.has(i) || !context.input(i).shape.isStatic() || elements == kUnknownDim) return {};
    const auto count = checkedElementCount(context.input(i).shape);
    if (!count || *count != elements)
        return InferContext::violated(constraint, "operand " + std::to_string(i) + " has shape " + toString(context.input(i).shape) +
                                                      ", expected " + std::to_string(elements) + " elements");
    return {};
}

Status requireDtypeIfPresent(const InferContext& context, int constraint, int i, DType dtype)
{
    if (i < 0 || !context.has(i) || context.input(i).dtype == dtype || context.input(i).dtype == DType::unknown) return {};
    return InferContext::violated(constraint, "operand " + std::to_string(i) + " is " + std::string(dtypeName(context.input(i).dtype)) +
                                                  ", expected " + std::string(dtypeName(dtype)));
}

int64_t dimensionFromEnd(const InferContext& context, int i, int back)
{
    if (i < 0 || !context.has(i) || context.input(i).shape.rank() < back) return kUnknownDim;
    const Shape& shape = context.input(i).shape;
    return shape[shape.rank() - back];
}

int64_t productOf(int64_t a, int64_t b)
{
    int64_t product = 0;
    if (a == kUnknownDim || b == kUnknownDim || __builtin_mul_overflow(a, b, &product)) return kUnknownDim;
    return product;
}

} // namespace loopscope
