// Convolutions. Those of one dimension become two-dimensional ones of height 1, as TensorFlow does it.
#include "converters/keras/layer.h"

#include <algorithm>
#include <array>

namespace loopscope::keras {

namespace {

Attribute listOf(const std::vector<int64_t>& values) { return {AttributeItems(values.begin(), values.end())}; }

/// [1, …, 1] around the spatial axes; a 1 more in front for one dimension.
std::vector<int64_t> around(std::vector<int64_t> spatial)
{
    if (spatial.size() == 1) spatial.insert(spatial.begin(), 1);
    spatial.insert(spatial.begin(), 1);
    spatial.push_back(1);
    return spatial;
}

std::string paddingOf(const LayerCall& l) { return l.config["padding"].text("valid") == "same" ? "SAME" : "VALID"; }

ValueId finish(LayerCall& l, ValueId y, int64_t bias)
{
    if (l.config["use_bias"].truth(true)) {
        const ValueId values = l.weight(bias, "bias");
        y = l.b.rank(y) == 5 ? l.b.add(y, values) : l.b.op("BiasAdd", {y, values});
    }
    return activate(l, l.config["activation"], y);
}

/// Zeros in front of the first step, so that no output sees what comes after it.
ValueId causal(LayerCall& l, ValueId x, int64_t window, int64_t dilation)
{
    const auto before = static_cast<double>((window - 1) * dilation);
    return l.b.op("Pad", {x, l.b.numbers({0, 0, before, 0, 0, 0}, Shape{3, 2}, DType::i32)});
}

/// Checks what all of them share, and brings one dimension to two.
struct Setting {
    ValueId x;
    int rank = 0; ///< spatial axes
    std::vector<int64_t> strides, dilations, window;
    std::string padding;
};

std::optional<Setting> settingOf(LayerCall& l, int rank)
{
    if (!l.channelsLast()) return std::nullopt;
    if (l.config.has("lora_rank")) l.refuse("it has a LoRA part");
    Setting s;
    s.rank = rank;
    s.x = l.in();
    if (l.b.rank(s.x) != rank + 2) l.refuse("its input has rank " + std::to_string(l.b.rank(s.x)));
    s.window = l.perAxis("kernel_size", rank);
    s.strides = around(l.perAxis("strides", rank));
    s.dilations = around(l.perAxis("dilation_rate", rank));
    s.padding = paddingOf(l);
    if (l.config["padding"].text() == "causal") s.x = causal(l, s.x, s.window.front(), l.perAxis("dilation_rate", rank).front());
    if (rank == 1) s.x = l.b.expand(s.x, 1);
    if (l.b.failed()) return std::nullopt;
    return s;
}

AttributeList attributesOf(const Setting& s)
{
    AttributeList list = {{"padding", s.padding}, {"strides", listOf(s.strides)}};
    if (std::ranges::any_of(s.dilations, [](int64_t d) { return d != 1; })) list.push_back({"dilations", listOf(s.dilations)});
    return list;
}

void convolution(LayerCall& l, int rank)
{
    const std::optional<Setting> s = settingOf(l, rank);
    if (!s) return;
    ValueId kernel = l.weight(0, "kernel");
    if (rank == 1) kernel = l.b.expand(kernel, 0);
    ValueId y = l.b.op(rank == 3 ? "Conv3D" : "Conv2D", {s->x, kernel}, attributesOf(*s));
    if (rank == 1) y = l.b.squeeze(y, {1});
    l.outputs = {finish(l, y, 1)};
}

/// The strides of a depthwise convolution are equal in TensorFlow; a height of 1 takes any.
std::optional<Setting> depthwiseSetting(LayerCall& l, int rank)
{
    std::optional<Setting> s = settingOf(l, rank);
    if (s && rank == 1) {
        s->strides[1] = s->strides[2];
        s->dilations[1] = s->dilations[2];
    }
    return s;
}

ValueId depthwise(LayerCall& l, const Setting& s, ValueId kernel)
{
    if (s.rank == 1) kernel = l.b.expand(kernel, 0);
    return l.b.op("DepthwiseConv2dNative", {s.x, kernel}, attributesOf(s));
}

void depthwiseConvolution(LayerCall& l, int rank)
{
    const std::optional<Setting> s = depthwiseSetting(l, rank);
    if (!s) return;
    ValueId y = depthwise(l, *s, l.weight(0, "kernel"));
    if (rank == 1) y = l.b.squeeze(y, {1});
    l.outputs = {finish(l, y, 1)};
}

void separableConvolution(LayerCall& l, int rank)
{
    const std::optional<Setting> s = depthwiseSetting(l, rank);
    if (!s) return;
    ValueId y = depthwise(l, *s, l.weight(0, "depthwise_kernel"));
    ValueId pointwise = l.weight(1, "pointwise_kernel");
    if (rank == 1) pointwise = l.b.expand(pointwise, 0);
    y = l.b.op("Conv2D", {y, pointwise}, {{"padding", "VALID"}, {"strides", listOf({1, 1, 1, 1})}});
    if (rank == 1) y = l.b.squeeze(y, {1});
    l.outputs = {finish(l, y, 2)};
}

/// The size of a transposed convolution's result (keras.src.backend.common.backend_utils).
Extent transposedSize(LayerCall& l, ValueId x, int axis, int64_t window, int64_t stride, bool same, const Json& padding)
{
    Extent size = l.b.same(x, axis);
    if (!padding.isNull()) {
        const auto at = static_cast<size_t>(axis) - 1;
        const int64_t more = padding.isArray() ? at < padding.items().size() ? padding.items()[at].integer() : 0 : padding.integer();
        size.plus = window + std::clamp<int64_t>(more, 0, INT32_MAX) - stride - (same ? 2 * (window / 2) : 0);
    } else {
        size.plus = same ? 0 : std::max<int64_t>(window - stride, 0);
    }
    size.factor = stride;
    if (!size.of.valid()) size.number = size.number * stride + size.plus;
    return size;
}

void transposedConvolution(LayerCall& l, int rank)
{
    if (!l.channelsLast()) return;
    ValueId x = l.in(), kernel = l.weight(0, "kernel");
    if (l.b.rank(x) != rank + 2) return l.refuse("its input has rank " + std::to_string(l.b.rank(x)));
    const std::vector<int64_t> dilations = l.perAxis("dilation_rate", rank), strides = l.perAxis("strides", rank);
    if (std::ranges::any_of(dilations, [](int64_t d) { return d != 1; })) return l.refuse("it is transposed and dilated");
    const std::vector<int64_t> window = l.perAxis("kernel_size", rank);
    const bool same = paddingOf(l) == "SAME";
    std::vector<Extent> sizes = {l.b.same(x, 0)};
    for (int i = 0; i < rank; ++i) {
        const auto k = static_cast<size_t>(i);
        sizes.push_back(transposedSize(l, x, i + 1, window[k], strides[k], same, l.config["output_padding"]));
    }
    sizes.push_back({l.b.dim(kernel, rank), {}, 0});
    if (rank == 1) {
        sizes.insert(sizes.begin() + 1, Extent{1, {}, 0});
        x = l.b.expand(x, 1);
        kernel = l.b.expand(kernel, 0);
    }
    ValueId y = l.b.op(rank == 3 ? "Conv3DBackpropInputV2" : "Conv2DBackpropInput", {l.b.sizes(sizes), kernel, x},
                       {{"padding", paddingOf(l)}, {"strides", listOf(around(strides))}});
    if (rank == 1) y = l.b.squeeze(y, {1});
    l.outputs = {finish(l, y, 1)};
}

template <void (*rule)(LayerCall&, int), int rank> void with(LayerCall& l) { rule(l, rank); }

constexpr std::array kConvolutionLayers = {
    NamedRule{"Conv1D", with<convolution, 1>},
    NamedRule{"Conv2D", with<convolution, 2>},
    NamedRule{"Conv3D", with<convolution, 3>},
    NamedRule{"DepthwiseConv1D", with<depthwiseConvolution, 1>},
    NamedRule{"DepthwiseConv2D", with<depthwiseConvolution, 2>},
    NamedRule{"SeparableConv1D", with<separableConvolution, 1>},
    NamedRule{"SeparableConv2D", with<separableConvolution, 2>},
    NamedRule{"Conv1DTranspose", with<transposedConvolution, 1>},
    NamedRule{"Conv2DTranspose", with<transposedConvolution, 2>},
    NamedRule{"Conv3DTranspose", with<transposedConvolution, 3>},
};

} // namespace

std::span<const NamedRule> convolutionLayers() { return kConvolutionLayers; }

ValueId convolve(LayerCall& l, ValueId x, ValueId kernel, const std::vector<int64_t>& strides, const std::vector<int64_t>& dilations,
                 bool same)
{
    Setting s;
    s.rank = static_cast<int>(strides.size());
    s.strides = around(strides);
    s.dilations = around(dilations);
    s.padding = same ? "SAME" : "VALID";
    if (s.rank > 1) return l.b.op(s.rank == 3 ? "Conv3D" : "Conv2D", {x, kernel}, attributesOf(s));
    return l.b.squeeze(l.b.op("Conv2D", {l.b.expand(x, 1), l.b.expand(kernel, 0)}, attributesOf(s)), {1});
}

} // namespace loopscope::keras
