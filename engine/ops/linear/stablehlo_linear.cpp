// Catalogue entries of StableHLO's sums of products, reductions and sorting.
#include "engine/ops/linear/stablehlo_linear.h"

#include "engine/ops/catalog.h"
#include "engine/ops/inference_helpers.h"

#include <algorithm>
#include <numeric>

namespace loopscope {

namespace {

/// Each entry names a dimension, none twice.
Status checkDims(const std::vector<int64_t>& dims, int rank, std::string_view what)
{
    for (size_t i = 0; i < dims.size(); ++i)
        if (dims[i] < 0 || dims[i] >= rank ||
            std::find(dims.begin(), dims.begin() + static_cast<int64_t>(i), dims[i]) != dims.begin() + static_cast<int64_t>(i))
            return InferContext::violated(2, "entry of " + std::string(what))
                .found(std::to_string(dims[i]))
                .expected("a dimension below " + std::to_string(rank) + ", none twice");
    return {};
}

std::vector<int64_t> otherDims(int rank, const std::vector<int64_t>& a, const std::vector<int64_t>& b)
{
    std::vector<int64_t> free;
    for (int64_t d = 0; d < rank; ++d)
        if (std::ranges::find(a, d) == a.end() && std::ranges::find(b, d) == b.end()) free.push_back(d);
    return free;
}

} // namespace

Result<DotGeneral> DotGeneral::create(const AttributeList& attributes, const Shape& lhs, const Shape& rhs)
{
    DotGeneral dot;
    dot.lhsBatch = attributeInts(attributes, "lhs_batching_dimensions");
    dot.rhsBatch = attributeInts(attributes, "rhs_batching_dimensions");
    dot.lhsContracting = attributeInts(attributes, "lhs_contracting_dimensions");
    dot.rhsContracting = attributeInts(attributes, "rhs_contracting_dimensions");
    if (dot.lhsBatch.size() != dot.rhsBatch.size() || dot.lhsContracting.size() != dot.rhsContracting.size())
        return InferContext::violated(2, "batching and contracting dimensions of both operands must be as many");
    for (const bool left : {true, false}) {
        std::vector<int64_t> all = left ? dot.lhsBatch : dot.rhsBatch;
        const std::vector<int64_t>& contracting = left ? dot.lhsContracting : dot.rhsContracting;
        all.insert(all.end(), contracting.begin(), contracting.end());
        LS_CHECK_OK(checkDims(all, (left ? lhs : rhs).rank(), left ? "the dimensions of lhs" : "the dimensions of rhs"));
    }
    dot.lhsFree = otherDims(lhs.rank(), dot.lhsBatch, dot.lhsContracting);
    dot.rhsFree = otherDims(rhs.rank(), dot.rhsBatch, dot.rhsContracting);
    const auto agree = [&](const std::vector<int64_t>& a, const std::vector<int64_t>& b) -> Status {
        for (size_t i = 0; i < a.size(); ++i) {
            const int64_t left = lhs[static_cast<int>(a[i])], right = rhs[static_cast<int>(b[i])];
            if (left >= 0 && right >= 0 && left != right)
                return InferContext::violated(2, "dimension " + std::to_string(b[i]) + " of rhs")
                    .found(std::to_string(right))
                    .expected(std::to_string(left));
        }
        return {};
    };
    LS_CHECK_OK(agree(dot.lhsBatch, dot.rhsBatch));
    LS_CHECK_OK(agree(dot.lhsContracting, dot.rhsContracting));
    return dot;
}

Result<HloConvolution> HloConvolution::create(const AttributeList& attributes, const Shape& input, const Shape& filter)
{
    HloConvolution c;
    const int rank = input.rank();
    const int spatial = rank - 2;
    if (rank < 2 || filter.rank() != rank)
        return InferContext::violated(2, "input and filter must have one rank, 2 or more")
            .found(toString(input) + " and " + toString(filter));
    const auto n = static_cast<size_t>(spatial);
    const auto list = [&](std::string_view key, int64_t otherwise) {
        std::vector<int64_t> values = attributeInts(attributes, key);
        return values.empty() ? std::vector<int64_t>(n, otherwise) : values;
    };
    c.strides = list("window_strides", 1);
    c.inputDilation = list("lhs_dilation", 1);
    c.filterDilation = list("rhs_dilation", 1);
    std::vector<int64_t> padding = attributeInts(attributes, "padding");
    if (padding.empty()) padding.assign(2 * n, 0);
    const Attribute* reversal = findAttribute(attributes, "window_reversal");
    c.reversed.assign(n, false);
    if (const auto* items = reversal ? reversal->as<AttributeItems>() : nullptr)
        for (size_t i = 0; i < std::min(items->size(), n); ++i) c.reversed[i] = (*items)[i].as<bool>() && *(*items)[i].as<bool>();
    c.inputSpatial = attributeInts(attributes, "input_spatial_dimensions");
    c.filterSpatial = attributeInts(attributes, "kernel_spatial_dimensions");
    c.outputSpatial = attributeInts(attributes, "output_spatial_dimensions");
    for (const auto* values : {&c.strides, &c.inputDilation, &c.filterDilation, &c.inputSpatial, &c.filterSpatial, &c.outputSpatial})
        if (values->size() != n || padding.size() != 2 * n)
            return InferContext::violated(2, "a list of the window has another length than there are spatial dimensions")
                .expected(std::to_string(n));
    constexpr int64_t kLimit = int64_t{1} << 30;
    for (const auto* values : {&c.strides, &c.inputDilation, &c.filterDilation})
        for (const int64_t value : *values)
            if (value < 1 || value > kLimit)
                return InferContext::violated(2, "stride or dilation").found(std::to_string(value)).expected("1 to 2^30");
    for (size_t d = 0; d < n; ++d) {
        c.padLow.push_back(std::clamp(padding[2 * d], -kLimit, kLimit));
        c.padHigh.push_back(std::clamp(padding[2 * d + 1], -kLimit, kLimit));
    }
    c.inputBatch = attributeInt(attributes, "input_batch_dimension", 0);
    c.inputFeature = attributeInt(attributes, "input_feature_dimension", 0);
    c.filterInput = attributeInt(attributes, "kernel_input_feature_dimension", 0);
    c.filterOutput = attributeInt(attributes, "kernel_output_feature_dimension", 0);
    c.outputBatch = attributeInt(attributes, "output_batch_dimension", 0);
    c.outputFeature = attributeInt(attributes, "output_feature_dimension", 0);
    c.featureGroups = attributeInt(attributes, "feature_group_count", 1);
    c.batchGroups = attributeInt(attributes, "batch_group_count", 1);
    if (c.featureGroups < 1 || c.batchGroups != 1)
        return Error(ErrorCode::unsupported,
                     "feature_group_count " + std::to_string(c.featureGroups) + ", batch_group_count " + std::to_string(c.batchGroups));
    const auto whole = [&](std::vector<int64_t> dims, int64_t a, int64_t b, std::string_view what) {
        dims.insert(dims.end(), {a, b});
        return checkDims(dims, rank, what);
    };
    LS_CHECK_OK(whole(c.inputSpatial, c.inputBatch, c.inputFeature, "the input's dimensions"));
    LS_CHECK_OK(whole(c.filterSpatial, c.filterInput, c.filterOutput, "the filter's dimensions"));
    LS_CHECK_OK(whole(c.outputSpatial, c.outputBatch, c.outputFeature, "the result's dimensions"));
    return c;
}

Result<Shape> HloConvolution::result(const Shape& input, const Shape& filter) const
{
    const auto at = [](const Shape& shape, int64_t d) { return shape[static_cast<int>(d)]; };
    const int64_t channels = at(input, inputFeature), taken = at(filter, filterInput), given = at(filter, filterOutput);
    if (channels >= 0 && taken >= 0 && channels != taken * featureGroups)
        return InferContext::violated(3, "channels of the input")
            .found(std::to_string(channels))
            .expected(std::to_string(taken * featureGroups));
    if (given >= 0 && given % featureGroups != 0)
        return InferContext::violated(3, "channels of the result")
            .found(std::to_string(given))
            .expected("a multiple of " + std::to_string(featureGroups));
    Shape out = Shape::ofRank(input.rank(), kUnknownDim);
    out[static_cast<int>(outputBatch)] = at(input, inputBatch);
    out[static_cast<int>(outputFeature)] = given;
    for (size_t d = 0; d < strides.size(); ++d) {
        const int64_t size = at(input, inputSpatial[d]), window = at(filter, filterSpatial[d]);
        if (size < 0 || window < 0) continue;
        if (size > int64_t{1} << 31 || window > int64_t{1} << 31) return InferContext::violated(3, "a spatial dimension is too large");
        const int64_t spread = (size == 0 ? 0 : (size - 1) * inputDilation[d] + 1) + padLow[d] + padHigh[d];
        const int64_t reach = window == 0 ? 0 : (window - 1) * filterDilation[d] + 1;
        out[static_cast<int>(outputSpatial[d])] = spread < reach ? 0 : (spread - reach) / strides[d] + 1;
    }
    if (out.isStatic() && !checkedElementCount(out))
        return InferContext::violated(3, "the result " + toString(out) + " has too many elements");
    return out;
}

} // namespace loopscope

using namespace loopscope;

namespace {

/// The dtype of the sums is the one that the file states.
DType statedOr(const InferContext& context, DType stated) { return stated != DType::unknown ? stated : context.input(0).dtype; }

Status inferDotGeneral(InferContext& context)
{
    LS_CHECK_OK(requireSameDtype(context, 1, 0, 1));
    const Shape& lhs = context.input(0).shape;
    const Shape& rhs = context.input(1).shape;
    const DType dtype = statedOr(context, context.output(0).dtype);
    if (!lhs.hasRank() || !rhs.hasRank()) {
        context.setOutput(0, dtype, Shape::unknownRank());
        return {};
    }
    LS_TRY(const DotGeneral dot, DotGeneral::create(context.attributes(), lhs, rhs));
    Shape out;
    for (const int64_t d : dot.lhsBatch) out.append(lhs[static_cast<int>(d)]);
    for (const int64_t d : dot.lhsFree) out.append(lhs[static_cast<int>(d)]);
    for (const int64_t d : dot.rhsFree) out.append(rhs[static_cast<int>(d)]);
    context.setOutput(0, dtype, std::move(out));
    return {};
}

Status inferHloConvolution(InferContext& context)
{
    LS_CHECK_OK(requireSameDtype(context, 1, 0, 1));
    const DType dtype = statedOr(context, context.output(0).dtype);
    if (!context.input(0).shape.hasRank() || !context.input(1).shape.hasRank()) {
        context.setOutput(0, dtype, Shape::unknownRank());
        return {};
    }
    LS_TRY(const HloConvolution c, HloConvolution::create(context.attributes(), context.input(0).shape, context.input(1).shape));
    LS_TRY(Shape out, c.result(context.input(0).shape, context.input(1).shape));
    context.setOutput(0, dtype, std::move(out));
    return {};
}

Status requireAll(const InferContext& context)
{
    for (int i = 0; i < context.inputCount(); ++i)
        if (!context.has(i)) return InferContext::violated(1, "operand " + std::to_string(i) + " is missing");
    return {};
}

Status inferHloReduce(InferContext& context)
{
    if (context.inputCount() != 2 * context.outputCount())
        return InferContext::violated(1, "operands")
            .found(std::to_string(context.inputCount()))
            .expected("an input and an initial value for each result");
    LS_CHECK_OK(requireAll(context));
    for (int k = 0; k < context.outputCount(); ++k) {
        LS_CHECK_OK(requireSameDtype(context, 1, k, context.outputCount() + k));
        const Shape& in = context.input(k).shape;
        if (!in.hasRank()) {
            context.setOutput(k, context.input(k).dtype, Shape::unknownRank());
            continue;
        }
        const std::vector<int64_t> dims = attributeInts(context.attributes(), "dimensions");
        LS_CHECK_OK(checkDims(dims, in.rank(), "dimensions"));
        Shape out;
        for (const int64_t d : otherDims(in.rank(), dims, {})) out.append(in[static_cast<int>(d)]);
        context.setOutput(k, context.input(k).dtype, std::move(out));
    }
    return {};
}

Status inferHloSort(InferContext& context)
{
    if (context.inputCount() != context.outputCount())
        return InferContext::violated(1, "results").found(std::to_string(context.outputCount())).expected("as many as operands");
    LS_CHECK_OK(requireAll(context));
    for (int k = 0; k < context.outputCount(); ++k) {
        const Shape& shape = context.input(k).shape;
        if (shape.isStatic() && context.input(0).shape.isStatic() && !(shape == context.input(0).shape))
            return InferContext::violated(2, "operand " + std::to_string(k))
                .found(toString(shape))
                .expected(toString(context.input(0).shape));
        context.setOutput(k, context.input(k).dtype, shape);
    }
    const Shape& first = context.input(0).shape;
    const int64_t dimension = attributeInt(context.attributes(), "dimension", 0);
    if (first.hasRank() && (dimension < -first.rank() || dimension >= std::max(first.rank(), 1)))
        return InferContext::violated(2, "dimension").found(std::to_string(dimension)).expected("one of " + std::to_string(first.rank()));
    return {};
}

OpDef hloDef(int minInputs, int maxInputs, std::string_view operands, std::string_view summary, Status (*infer)(InferContext&))
{
    OpDef def = unaryDef(summary, "StableHLO specification");
    def.minInputs = minInputs;
    def.maxInputs = maxInputs;
    def.operands = operands;
    def.infer = infer;
    return def;
}

} // namespace

LS_DEFINE_OP(tfl, stablehlo_dot_general)
{
    OpDef def =
        hloDef(2, 2, "lhs, rhs", "Sums of products over the contracting dimensions, for each place of the batching ones.", inferDotGeneral);
    def.floatBound = withinRelative(1e-6);
    return def;
}

LS_DEFINE_OP(tfl, stablehlo_convolution)
{
    OpDef def =
        hloDef(2, 2, "lhs, rhs", "Convolution over any number of spatial dimensions, in any order of dimensions.", inferHloConvolution);
    def.floatBound = withinRelative(1e-6);
    return def;
}

LS_DEFINE_OP(tfl, stablehlo_reduce)
{
    OpDef def = hloDef(2, -1, "inputs, initial values []",
                       "Combines the elements along dimensions, one after the other from the initial value.", inferHloReduce);
    def.maxOutputs = -1;
    return def;
}

LS_DEFINE_OP(tfl, stablehlo_sort)
{
    OpDef def = hloDef(1, -1, "inputs", "Sorts along a dimension, as the region compares the elements of one operand; the others follow.",
                       inferHloSort);
    def.maxOutputs = -1;
    return def;
}
