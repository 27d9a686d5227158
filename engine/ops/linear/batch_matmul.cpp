// Catalogue entries of batch_matmul and custom.BatchMatMulV2.
#include "engine/ops/catalog.h"
#include "engine/ops/linear/batch_matmul_options.h"

#include <algorithm>
#include <string>

using namespace loopscope;

namespace {

bool differ(int64_t a, int64_t b) { return a != kUnknownDim && b != kUnknownDim && a != b; }

bool isOneOf(DType dtype, std::initializer_list<DType> allowed)
{
    return dtype == DType::unknown || std::find(allowed.begin(), allowed.end(), dtype) != allowed.end();
}

/// Constraints: C1 ranks, C2 inner dimensions, C3 batch dimensions, C4 dtypes, C5 scales.
Status inferBatchMatmul(InferContext& context)
{
    const Tensor& x = context.input(0);
    const Tensor& y = context.input(1);
    for (const int i : {0, 1}) {
        const Shape& shape = context.input(i).shape;
        if (shape.hasRank() && shape.rank() < 2)
            return InferContext::violated(1, "operand " + std::to_string(i) + " has rank " + std::to_string(shape.rank()) +
                                                 ", expected at least 2");
    }
    if (!isOneOf(x.dtype, {DType::f32, DType::i8, DType::i16}))
        return InferContext::violated(4, "x is " + std::string(dtypeName(x.dtype)) + ", expected f32, i8 or i16");
    const bool fits = x.dtype == DType::unknown || y.dtype == DType::unknown || x.dtype == y.dtype || y.dtype == DType::i8;
    if (!fits) return InferContext::violated(4, "x is " + std::string(dtypeName(x.dtype)) + ", y is " + std::string(dtypeName(y.dtype)));
    const bool toI32 = x.dtype == DType::i8 && context.output(0).dtype == DType::i32;
    const auto noScale = [](const Tensor& t) { return isInteger(t.dtype) && (!t.quantization || t.quantization->scales.empty()); };
    if (!toI32)
        for (const int i : {0, 1})
            if (noScale(context.input(i))) return InferContext::violated(5, "operand " + std::to_string(i) + " has no scale");
    const DType dtype = toI32 ? DType::i32 : x.dtype;
    if (!x.shape.hasRank() || !y.shape.hasRank()) {
        context.setOutput(0, dtype, Shape::unknownRank());
        return {};
    }
    const bool adjX = isAdjoint(context.attributes(), "adj_x");
    const bool adjY = isAdjoint(context.attributes(), "adj_y");
    const auto last = [](const Shape& shape, int back) { return shape[shape.rank() - back]; };
    if (differ(last(x.shape, adjX ? 2 : 1), last(y.shape, adjY ? 1 : 2)))
        return InferContext::violated(2, "x " + toString(x.shape) + (adjX ? " (adjoint)" : "") + " and y " + toString(y.shape) +
                                             (adjY ? " (adjoint)" : "") + " have different inner dimensions");
    const auto batch = broadcastShapes(Shape(x.shape.dims().first(static_cast<size_t>(x.shape.rank() - 2))),
                                       Shape(y.shape.dims().first(static_cast<size_t>(y.shape.rank() - 2))));
    if (!batch)
        return InferContext::violated(3,
                                      "batch dimensions of x " + toString(x.shape) + " and y " + toString(y.shape) + " do not broadcast");
    Shape output = *batch;
    output.append(last(x.shape, adjX ? 1 : 2));
    output.append(last(y.shape, adjY ? 2 : 1));
    context.setOutput(0, dtype, output);
    return {};
}

int64_t batchMatmulMacs(const InferContext& context)
{
    const Shape& x = context.input(0).shape;
    const Shape& y = context.input(1).shape;
    if (!x.isStatic() || !y.isStatic() || x.rank() < 2 || y.rank() < 2) return 0;
    const bool adjY = isAdjoint(context.attributes(), "adj_y");
    const auto batch =
        broadcastShapes(Shape(x.dims().first(static_cast<size_t>(x.rank() - 2))), Shape(y.dims().first(static_cast<size_t>(y.rank() - 2))));
    if (!batch) return 0;
    return batch->elementCount() * x[x.rank() - 1] * x[x.rank() - 2] * y[y.rank() - (adjY ? 2 : 1)];
}

OpDef definition()
{
    OpDef def;
    def.minInputs = def.maxInputs = 2;
    def.operands = "x […,M,K] (adjoint […,K,M]), y […,K,N] (adjoint […,N,K])";
    def.summary = "Multiplies matrices in batches that broadcast.";
    def.source = "LiteRT kernels/batch_matmul.cc, internal/reference/batch_matmul.h";
    def.differs = "any number of batch dimensions (LiteRT: three)";
    def.floatBound = kExact;
    def.infer = inferBatchMatmul;
    def.macs = batchMatmulMacs;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, batch_matmul) { return definition(); }

LS_DEFINE_OP(custom, BatchMatMulV2)
{
    OpDef def = definition();
    def.summary = "batch_matmul as old converters pass it on, with adj_x and adj_y in its options.";
    def.source = "ONE luci/import CircleBatchMatMul.cpp, onert custom loader";
    def.differs = {};
    return def;
}
