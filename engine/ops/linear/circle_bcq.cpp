// Catalogue entries of Circle's operators on weights in binary codes: BCQ_FULLY_CONNECTED and BCQ_GATHER.
// Constraints of both: C1 ranks of input and indices. C2 ranks and dtypes of scales [R], binary [R,W] and clusters [n,2]. C3 a cluster has
// 1 to 32 codes for each row. C4 there are as many scales and rows of words as codes. C5 the width fits the words. C6 of the first: bias;
// of the second: axis 0 or 1.
#include "engine/ops/binary_codes.h"
#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

#include <string>

namespace loopscope {

std::vector<BinaryCluster> binaryClusters(std::span<const int64_t> numbers)
{
    std::vector<BinaryCluster> clusters;
    for (size_t i = 0; i + 1 < numbers.size(); i += 2) clusters.push_back({numbers[i], numbers[i + 1]});
    return clusters;
}

namespace {

Status requireRankOfCodes(const InferContext& context, int constraint, int i, int rank)
{
    const Shape& shape = context.input(i).shape;
    if (!shape.hasRank() || shape.rank() == rank) return {};
    return InferContext::violated(constraint, "operand " + std::to_string(i) + " has rank " + std::to_string(shape.rank()) + ", expected " +
                                                  std::to_string(rank));
}

int64_t dimension(const InferContext& context, int i, int axis)
{
    const Shape& shape = context.input(i).shape;
    return shape.hasRank() && axis < shape.rank() ? shape[axis] : kUnknownDim;
}

} // namespace

Result<BinaryShape> checkBinaryCodes(const InferContext& context, BinaryOperands operands, int64_t width)
{
    LS_CHECK_OK(requireRankOfCodes(context, 2, operands.scales, 1));
    LS_CHECK_OK(requireRankOfCodes(context, 2, operands.binary, 2));
    LS_CHECK_OK(requireRankOfCodes(context, 2, operands.clusters, 2));
    if (const int64_t pairs = dimension(context, operands.clusters, 1); pairs != kUnknownDim && pairs != 2)
        return InferContext::violated(2, "the clusters have " + std::to_string(pairs) + " columns, expected 2");
    LS_CHECK_OK(requireDtype(context, 2, operands.scales, {DType::f32}));
    LS_CHECK_OK(requireDtype(context, 2, operands.binary, {DType::i32}));
    LS_CHECK_OK(requireDtype(context, 2, operands.clusters, {DType::i32}));
    BinaryShape shape;
    const auto numbers = context.intValues(operands.clusters);
    if (!numbers) return shape;
    shape.rows = shape.codes = 0;
    constexpr int64_t kMostCodes = 32;
    for (const BinaryCluster& cluster : binaryClusters(*numbers)) {
        if (cluster.codes < 1 || cluster.codes > kMostCodes || cluster.rows < 0)
            return InferContext::violated(3, "a cluster has " + std::to_string(cluster.codes) + " codes for " +
                                                 std::to_string(cluster.rows) + " rows, expected 1 to 32 codes");
        shape.rows += cluster.rows;
        shape.codes += cluster.codes * cluster.rows;
    }
    for (const int i : {operands.scales, operands.binary})
        if (const int64_t found = dimension(context, i, 0); found != kUnknownDim && found != shape.codes)
            return InferContext::violated(4, "operand " + std::to_string(i) + " has " + std::to_string(found) +
                                                 " rows, the clusters have " + std::to_string(shape.codes) + " codes");
    const int64_t words = dimension(context, operands.binary, 1);
    if (words != kUnknownDim && width != kUnknownDim && (width < 0 || (width + 31) / 32 != words))
        return InferContext::violated(5, "rows of " + std::to_string(words) + " words do not fit a width of " + std::to_string(width));
    return shape;
}

namespace {

Status inferBcqFullyConnected(InferContext& context)
{
    LS_CHECK_OK(requireRankOfCodes(context, 1, 0, 2));
    LS_CHECK_OK(requireDtype(context, 2, 0, {DType::f32}));
    const int64_t width = attributeInt(context.attributes(), "weights_hidden_size", 0);
    LS_TRY(const BinaryShape shape, checkBinaryCodes(context, {1, 2, 4}, width));
    if (const int64_t depth = dimension(context, 0, 0); depth != kUnknownDim && depth != width)
        return InferContext::violated(5,
                                      "the input has " + std::to_string(depth) + " rows, weights_hidden_size is " + std::to_string(width));
    if (context.has(3) && context.input(3).shape.isStatic() && shape.rows != kUnknownDim &&
        context.input(3).shape.elementCount() != shape.rows)
        return InferContext::violated(6, "the bias has shape " + toString(context.input(3).shape) + ", expected " +
                                             std::to_string(shape.rows) + " elements");
    context.setOutput(0, context.input(0).dtype, {shape.rows, dimension(context, 0, 1)});
    return {};
}

Status inferBcqGather(InferContext& context)
{
    LS_CHECK_OK(requireDtype(context, 2, 2, {DType::i32}));
    const Shape& indices = context.input(2).shape;
    if (indices.hasRank() && indices.rank() > 2)
        return InferContext::violated(1, "the indices have rank " + std::to_string(indices.rank()) + ", expected at most 2");
    const int64_t width = attributeInt(context.attributes(), "input_hidden_size", 0);
    LS_TRY(const BinaryShape shape, checkBinaryCodes(context, {0, 1, 3}, width));
    const int64_t axis = attributeInt(context.attributes(), "axis", 0);
    if (axis != 0 && axis != 1) return InferContext::violated(6, "axis is " + std::to_string(axis) + ", expected 0 or 1");
    if (!indices.hasRank()) {
        context.setOutput(0, DType::f32, Shape::unknownRank());
        return {};
    }
    Shape output;
    if (axis == 1) output.append(shape.rows);
    for (const int64_t dim : indices.dims()) output.append(dim);
    if (axis == 0) output.append(width);
    context.setOutput(0, DType::f32, output);
    return {};
}

constexpr std::string_view kSource =
    "ONE luci/pass FuseBCQPass.cpp, onert ShapeInference.cc (operands and shapes), luci-interpreter LQFullyConnected.cpp (codes)";
constexpr std::string_view kDiffers = "ONE's own kernel is not published: order of rows and bits as in LQFullyConnected";

} // namespace

} // namespace loopscope

using namespace loopscope;

LS_DEFINE_OP(circle, bcq_fully_connected)
{
    OpDef def;
    def.minInputs = def.maxInputs = 5;
    def.operands = "input [H,N], scales [R], binary [R,⌈H/32⌉], bias? [O], clusters [n,2]: codes and rows";
    def.summary = "weights · input + bias, with weights that are sums of scaled signs: [O,N].";
    def.source = kSource;
    def.differs = kDiffers;
    def.floatBound = noReference();
    def.infer = inferBcqFullyConnected;
    return def;
}

LS_DEFINE_OP(circle, bcq_gather)
{
    OpDef def;
    def.minInputs = def.maxInputs = 4;
    def.operands = "scales [R], binary [R,⌈H/32⌉], indices, clusters [n,2]: codes and rows";
    def.summary = "Rows (axis 0) or columns (axis 1) of a matrix [O,H] whose rows are sums of scaled signs.";
    def.source = kSource;
    def.differs = kDiffers;
    def.floatBound = noReference();
    def.infer = inferBcqGather;
    return def;
}
