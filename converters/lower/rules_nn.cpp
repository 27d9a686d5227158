// Layers: other orders of the dimensions of filters, biases that TFLite demands, windows.
#include "converters/lower/windows.h"

#include <array>
#include <cstring>

namespace loopscope::lowering {

namespace {

/// HWIO → OHWI
Status conv2d(GraphLowering& l)
{
    LS_TRY(AttributeList attributes, windowOf(l, true));
    LS_TRY(const ValueId turned, l.emit("transpose", {l.input(1), numbers(l, {3, 0, 1, 2})}));
    LS_TRY(const ValueId bias, zeroBias(l, turned, 0));
    return l.finish("conv_2d", {l.input(0), turned, bias}, std::move(attributes));
}

/// A convolution turned round, as layers that enlarge images have it: HWOI → OHWI, as TFLite counts channels.
Status conv2dBackpropInput(GraphLowering& l)
{
    LS_TRY(AttributeList attributes, windowOf(l, true));
    for (const std::string_view key : {"dilation_h_factor", "dilation_w_factor"})
        if (attributeInt(attributes, key, 1) != 1) return noForm("dilations");
    LS_TRY(const ValueId size, l.asInt32(l.input(0)));
    LS_TRY(const ValueId turned, l.emit("transpose", {l.input(1), numbers(l, {2, 0, 1, 3})}));
    return l.finish("transpose_conv", {size, turned, l.input(2)}, std::move(attributes));
}

/// HWIM → 1HW(I·M)
Status depthwise(GraphLowering& l)
{
    LS_TRY(AttributeList attributes, windowOf(l, true));
    const Shape filter = l.type(l.input(1)).dynamicShape();
    if (!filter.isStatic() || filter.rank() != 4) return noForm("its filter has no known shape");
    LS_TRY(const ValueId turned, l.emit("reshape", {l.input(1), numbers(l, {1, filter[0], filter[1], filter[2] * filter[3]})}));
    LS_TRY(const ValueId bias, zeroBias(l, turned, 3));
    attributes.push_back({"depth_multiplier", filter[3]});
    return l.finish("depthwise_conv_2d", {l.input(0), turned, bias}, std::move(attributes));
}

Status pool(GraphLowering& l)
{
    LS_TRY(AttributeList attributes, windowOf(l, false));
    const std::vector<int64_t> size = windowSize(l);
    if (size.size() != 4 || size[0] != 1 || size[3] != 1) return noForm("a window over batch or channels");
    attributes.push_back({"filter_height", size[1]});
    attributes.push_back({"filter_width", size[2]});
    return l.finish(l.op().kind.name == "AvgPool" ? "average_pool_2d" : "max_pool_2d", {l.input(0)}, std::move(attributes));
}

Status softmax(GraphLowering& l) { return l.finish("softmax", {l.input(0)}, {{"beta", 1.0}}); }

Status biasAdd(GraphLowering& l)
{
    LS_CHECK_OK(l.checkLayout());
    return l.finish("add", l.inputs());
}

/// Over all dimensions but the last.
Status biasAddGrad(GraphLowering& l)
{
    LS_CHECK_OK(l.checkLayout());
    const Shape shape = l.type(l.input(0)).dynamicShape();
    if (!shape.hasRank()) { // rows of channels
        LS_TRY(const ValueId whole, l.shapeOf(l.input(0)));
        const ValueId end = l.integerConstant(DType::i32, std::array<int64_t, 1>{-1});
        const ValueId one = l.integerConstant(DType::i32, std::array<int64_t, 1>{1});
        LS_TRY(const ValueId channels, l.emit("strided_slice", {whole, end, one, one}, {{"end_mask", int64_t{1}}}, DType::i32));
        LS_TRY(const ValueId table, l.emit("concatenation", {end, channels}, {{"axis", int64_t{0}}}, DType::i32));
        LS_TRY(const ValueId rows, l.emit("reshape", {l.input(0), table}, {}, l.declared(0).dtype));
        return l.finish("sum", {rows, l.integerConstant(DType::i32, std::array<int64_t, 1>{0})});
    }
    if (shape.rank() < 1) return noForm("an operand without dimensions");
    std::vector<int64_t> axes;
    for (int d = 0; d + 1 < shape.rank(); ++d) axes.push_back(d);
    return l.finish("sum", {l.input(0), l.integerConstant(DType::i32, axes)});
}

/// How many pixels there are, as one real number.
Result<ValueId> pixelsOf(GraphLowering& l, ValueId x)
{
    LS_TRY(const ValueId dims, l.shapeOf(x));
    LS_TRY(const ValueId front, part(l, dims, 0, 3));
    LS_TRY(const ValueId count, l.emit("reduce_prod", {front, numbers(l, {0})}, {}, DType::i32));
    return l.emit("cast", {count}, {}, DType::f32);
}

Result<ValueId> inverseDeviation(GraphLowering& l, ValueId variance)
{
    LS_TRY(const ValueId sum, l.emit("add", {variance, l.realConstant(DType::f32, attributeFloat(l.op().attributes, "epsilon", 1e-4))}));
    return l.emit("rsqrt", {sum});
}

/// What a running average becomes: old · (1 − share) + new · share
Result<ValueId> averaged(GraphLowering& l, ValueId old, ValueId now)
{
    const double share = attributeFloat(l.op().attributes, "exponential_avg_factor", 1);
    if (share == 1) return now;
    LS_TRY(const ValueId kept, l.emit("mul", {old, l.realConstant(DType::f32, 1 - share)}));
    LS_TRY(const ValueId added, l.emit("mul", {now, l.realConstant(DType::f32, share)}));
    return l.emit("add", {kept, added});
}

/// (x − mean) · scale / √(variance + ε) + offset; in training mean and variance are those of the batch.
Status batchNorm(GraphLowering& l)
{
    LS_CHECK_OK(l.checkLayout());
    const ValueId x = l.input(0);
    const bool trains = attributeBool(l.op().attributes, "is_training", true);
    if (trains && l.type(x).dtype != DType::f32) return noForm("it trains on " + std::string(dtypeName(l.type(x).dtype)));
    ValueId mean = l.input(3), variance = l.input(4);
    const ValueId axes = numbers(l, {0, 1, 2});
    if (trains) {
        LS_TRY(mean, l.emit("mean", {x, axes}));
        LS_TRY(const ValueId off, l.emit("sub", {x, mean}));
        LS_TRY(const ValueId square, l.emit("mul", {off, off}));
        LS_TRY(variance, l.emit("mean", {square, axes}));
    }
    LS_TRY(const ValueId inverse, inverseDeviation(l, variance));
    LS_TRY(const ValueId factor, l.emit("mul", {inverse, l.input(1)}));
    LS_TRY(const ValueId centred, l.emit("sub", {x, mean}));
    LS_TRY(const ValueId scaled, l.emit("mul", {centred, factor}));
    LS_TRY(const ValueId result, l.emit("add", {scaled, l.input(2)}));
    l.bind(0, result);
    ValueId newMean = mean, newVariance = variance;
    if (trains) { // the variance of the batch says what that of all is: n / (n − 1)
        LS_TRY(const ValueId count, pixelsOf(l, x));
        LS_TRY(const ValueId less, l.emit("sub", {count, l.realConstant(DType::f32, 1)}));
        LS_TRY(const ValueId divisor, l.emit("maximum", {less, l.realConstant(DType::f32, 1)}));
        LS_TRY(const ValueId ratio, l.emit("div", {count, divisor}));
        LS_TRY(const ValueId wide, l.emit("mul", {variance, ratio}));
        LS_TRY(newMean, averaged(l, l.input(3), mean));
        LS_TRY(newVariance, averaged(l, l.input(4), wide));
    }
    for (int k = 1; k < static_cast<int>(l.op().results.size()); ++k)
        l.bind(k, k == 1 ? newMean : k == 2 ? newVariance : k == 3 ? mean : variance);
    return {};
}

/// dy, x, scale, mean and variance as the normalisation gave them → dx, dscale, doffset
Status batchNormGrad(GraphLowering& l)
{
    LS_CHECK_OK(l.checkLayout());
    const ValueId dy = l.input(0), x = l.input(1), axes = numbers(l, {0, 1, 2});
    if (l.type(x).dtype != DType::f32) return noForm("it trains on " + std::string(dtypeName(l.type(x).dtype)));
    LS_TRY(const ValueId inverse, inverseDeviation(l, l.input(4)));
    LS_TRY(const ValueId centred, l.emit("sub", {x, l.input(3)}));
    LS_TRY(const ValueId normal, l.emit("mul", {centred, inverse}));
    LS_TRY(const ValueId products, l.emit("mul", {dy, normal}));
    LS_TRY(const ValueId scale, l.emit("sum", {products, axes}));
    LS_TRY(const ValueId offset, l.emit("sum", {dy, axes}));
    LS_TRY(const ValueId factor, l.emit("mul", {l.input(2), inverse}));
    ValueId inner = dy;
    if (attributeBool(l.op().attributes, "is_training", true)) {
        LS_TRY(const ValueId count, pixelsOf(l, x));
        LS_TRY(const ValueId along, l.emit("mul", {normal, scale}));
        LS_TRY(const ValueId both, l.emit("add", {along, offset}));
        LS_TRY(const ValueId share, l.emit("div", {both, count}));
        LS_TRY(inner, l.emit("sub", {dy, share}));
    }
    LS_TRY(const ValueId result, l.emit("mul", {inner, factor}));
    l.bind(0, result);
    l.bind(1, scale);
    l.bind(2, offset);
    for (int k = 3; k < static_cast<int>(l.op().results.size()); ++k) l.bind(k, l.input(k));
    return {};
}

constexpr NamedRule kNnRules[] = {
    {"AvgPool", pool},
    {"BiasAdd", biasAdd},
    {"BiasAddGrad", biasAddGrad},
    {"Conv2D", conv2d},
    {"Conv2DBackpropInput", conv2dBackpropInput},
    {"DepthwiseConv2dNative", depthwise},
    {"FusedBatchNorm", batchNorm},
    {"FusedBatchNormGrad", batchNormGrad},
    {"FusedBatchNormGradV2", batchNormGrad},
    {"FusedBatchNormGradV3", batchNormGrad},
    {"FusedBatchNormV2", batchNorm},
    {"FusedBatchNormV3", batchNorm},
    {"MaxPool", pool},
    {"MaxPoolV2", pool},
    {"Softmax", softmax},
};

} // namespace

Result<AttributeList> windowOf(const GraphLowering& l, bool hasDilation)
{
    LS_CHECK_OK(l.checkLayout());
    const AttributeList& given = l.op().attributes;
    std::vector<int64_t> strides = attributeInts(given, "strides");
    if (l.op().kind.name.starts_with("MaxPool") && l.op().kind.name.ends_with("V2"))
        strides = l.integers(l.input(l.inputCount() - 1)).value_or(std::vector<int64_t>());
    if (strides.size() != 4 || strides[0] != 1 || strides[3] != 1) return noForm("strides over batch or channels");
    const std::string_view padding = attributeString(given, "padding", "");
    if (padding != "SAME" && padding != "VALID") return noForm("padding " + std::string(padding));
    AttributeList attributes = {{"padding", Word{std::string(padding)}}, {"stride_h", strides[1]}, {"stride_w", strides[2]}};
    if (const std::vector<int64_t> dilations = attributeInts(given, "dilations"); hasDilation && dilations.size() == 4) {
        if (dilations[1] != 1) attributes.push_back({"dilation_h_factor", dilations[1]});
        if (dilations[2] != 1) attributes.push_back({"dilation_w_factor", dilations[2]});
    }
    return attributes;
}

std::vector<int64_t> windowSize(const GraphLowering& l)
{
    if (l.op().kind.name.ends_with("V2")) return l.integers(l.input(l.inputCount() - 2)).value_or(std::vector<int64_t>());
    return attributeInts(l.op().attributes, "ksize");
}

Result<ValueId> zeroBias(GraphLowering& l, ValueId filter, int axis)
{
    const Shape shape = l.type(filter).dynamicShape();
    if (l.type(filter).dtype != DType::f32) return noForm("a convolution of " + std::string(dtypeName(l.type(filter).dtype)));
    if (!shape.hasRank() || shape[axis] < 0) {
        LS_TRY(const ValueId dims, l.shapeOf(filter));
        LS_TRY(const ValueId channels, part(l, dims, axis, 1));
        return l.emit("fill", {channels, l.realConstant(DType::f32, 0)}, {}, DType::f32);
    }
    const std::vector<std::byte> zeros(static_cast<size_t>(shape[axis]) * sizeof(float));
    return l.constant(TensorType(DType::f32, Shape{shape[axis]}), std::make_shared<Constant>(Bytes::copyOf(zeros)));
}

std::span<const NamedRule> nnRules() { return kNnRules; }

} // namespace loopscope::lowering
