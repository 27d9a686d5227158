// Layers: other orders of the dimensions of filters, biases that TFLite demands, windows.
#include "converters/lower/graph_lowering.h"

#include <array>
#include <cstring>

namespace loopscope::lowering {

namespace {

Result<AttributeList> windowOf(const GraphLowering& l, bool hasDilation)
{
    LS_CHECK_OK(l.checkLayout());
    const AttributeList& given = l.op().attributes;
    const std::vector<int64_t> strides = attributeInts(given, "strides");
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

/// TFLite's convolutions take a bias.
Result<ValueId> zeroBias(GraphLowering& l, int64_t channels)
{
    if (l.declared(0).dtype != DType::f32) return noForm("a convolution of " + std::string(dtypeName(l.declared(0).dtype)));
    if (channels < 0) return noForm("its filter has no known shape");
    const std::vector<std::byte> zeros(static_cast<size_t>(channels) * sizeof(float));
    return l.constant(TensorType(DType::f32, Shape{channels}), std::make_shared<Constant>(Bytes::copyOf(zeros)));
}

/// HWIO → OHWI. LiteRT wants a bias, so the channels must be known.
Status conv2d(GraphLowering& l)
{
    LS_TRY(AttributeList attributes, windowOf(l, true));
    const Shape filter = l.type(l.input(1)).dynamicShape();
    LS_TRY(const ValueId bias, zeroBias(l, filter.hasRank() && filter.rank() == 4 ? filter[3] : -1));
    LS_TRY(const ValueId turned, l.emit("transpose", {l.input(1), l.integerConstant(DType::i32, std::array<int64_t, 4>{3, 0, 1, 2})}));
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
    LS_TRY(const ValueId bias, zeroBias(l, filter[2] * filter[3]));
    const std::array<int64_t, 4> shape = {1, filter[0], filter[1], filter[2] * filter[3]};
    LS_TRY(const ValueId turned, l.emit("reshape", {l.input(1), l.integerConstant(DType::i32, shape)}));
    attributes.push_back({"depth_multiplier", filter[3]});
    return l.finish("depthwise_conv_2d", {l.input(0), turned, bias}, std::move(attributes));
}

Status pool(GraphLowering& l)
{
    LS_TRY(AttributeList attributes, windowOf(l, false));
    const std::vector<int64_t> size = attributeInts(l.op().attributes, "ksize");
    if (size.size() != 4 || size[0] != 1 || size[3] != 1) return noForm("a window over batch or channels");
    attributes.push_back({"filter_height", size[1]});
    attributes.push_back({"filter_width", size[2]});
    return l.finish(l.op().kind.name == "MaxPool" ? "max_pool_2d" : "average_pool_2d", {l.input(0)}, std::move(attributes));
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

/// As at inference: (x − mean) · scale / √(variance + ε) + offset
Status batchNorm(GraphLowering& l)
{
    LS_CHECK_OK(l.checkLayout());
    if (attributeBool(l.op().attributes, "is_training", true)) return noForm("it trains");
    const auto epsilon = l.realConstant(DType::f32, attributeFloat(l.op().attributes, "epsilon", 1e-4));
    LS_TRY(const ValueId variance, l.emit("add", {l.input(4), epsilon}));
    LS_TRY(const ValueId inverse, l.emit("rsqrt", {variance}));
    LS_TRY(const ValueId factor, l.emit("mul", {inverse, l.input(1)}));
    LS_TRY(const ValueId centred, l.emit("sub", {l.input(0), l.input(3)}));
    LS_TRY(const ValueId scaled, l.emit("mul", {centred, factor}));
    LS_TRY(const ValueId result, l.emit("add", {scaled, l.input(2)}));
    l.bind(0, result);
    for (int k = 1; k < static_cast<int>(l.op().results.size()); ++k) l.bind(k, l.input(k % 2 == 1 ? 3 : 4));
    return {};
}

constexpr NamedRule kRules[] = {
    {"AvgPool", pool},
    {"BiasAdd", biasAdd},
    {"BiasAddGrad", biasAddGrad},
    {"Conv2D", conv2d},
    {"Conv2DBackpropInput", conv2dBackpropInput},
    {"DepthwiseConv2dNative", depthwise},
    {"FusedBatchNorm", batchNorm},
    {"FusedBatchNormV2", batchNorm},
    {"FusedBatchNormV3", batchNorm},
    {"MaxPool", pool},
    {"Softmax", softmax},
};

} // namespace

std::span<const NamedRule> nnRules() { return kRules; }

} // namespace loopscope::lowering
