#include "converters/fuse/affine.h"

#include <algorithm>

namespace loopscope::fusing {

namespace {

bool isAffineKind(std::string_view kind)
{
    return kind == "conv_2d" || kind == "depthwise_conv_2d" || kind == "fully_connected" || kind == "conv_3d" || kind == "transpose_conv";
}

void setWindow(AttributeList& attributes, const Operator& op, bool is3d)
{
    const std::vector<int64_t> strides = attributeInts(op.attributes, "strides");
    std::vector<int64_t> dilations = attributeInts(op.attributes, "dilations");
    const size_t first = is3d ? 2 : 1;
    if (dilations.size() <= first + 1) dilations.assign(first + 3, 1);
    if (is3d) {
        setAttribute(attributes, "stride_d", strides[1]);
        setAttribute(attributes, "dilation_d_factor", dilations[1]);
    }
    setAttribute(attributes, "stride_h", strides[first]);
    setAttribute(attributes, "stride_w", strides[first + 1]);
    setAttribute(attributes, "dilation_h_factor", dilations[first]);
    setAttribute(attributes, "dilation_w_factor", dilations[first + 1]);
}

/// A TensorFlow operator. Its filter has to be known, since TFLite wants it in another order.
void readTensorFlow(Site& site, const Operator& op, Affine& affine)
{
    const DType dtype = site.editor().value(op.results[0]).type.dtype;
    if (dtype != DType::f32) {
        affine.refused = "element type " + std::string(dtypeName(dtype)) + ": TFLite has no such kernel";
        return;
    }
    const bool isTransposed = affine.kind == "transpose_conv";
    const Numbers* const filter = site.constants().floats(op.inputs[1]);
    if (filter == nullptr || filter->values.empty()) {
        affine.refused = "the filter is no constant";
        return;
    }
    if (affine.kind == "fully_connected") {
        if (attributeBool(op.attributes, "transpose_a", false)) affine.refused = "the left operand is transposed";
        static constexpr int kSwap[] = {1, 0};
        affine.weights = attributeBool(op.attributes, "transpose_b", false) ? *filter : transposed(*filter, kSwap);
        affine.channels = affine.weights.shape[0];
        affine.inputs = {op.inputs[0]};
        affine.attributes = {{"keep_num_dims", false}, {"weights_format", Word{"DEFAULT"}}};
        return;
    }
    const bool is3d = affine.kind == "conv_3d";
    const std::string_view format = attributeString(op.attributes, "data_format", is3d ? "NDHWC" : "NHWC");
    if (format != (is3d ? "NDHWC" : "NHWC")) {
        affine.refused = "data_format " + std::string(format) + ": only with layout conversion";
        return;
    }
    if (attributeInts(op.attributes, "strides").size() != (is3d ? 5 : 4) || filter->shape.rank() != (is3d ? 5 : 4)) {
        affine.refused = "strides or filter have another rank";
        return;
    }
    const std::string_view padding = attributeString(op.attributes, "padding", "VALID");
    setAttribute(affine.attributes, "padding", Word{std::string(padding)});
    if (const Attribute* const amounts = findAttribute(op.attributes, "explicit_paddings"); padding == "EXPLICIT" && amounts != nullptr)
        setAttribute(affine.attributes, "explicit_paddings", *amounts);
    if (padding == "EXPLICIT" && attributeInts(op.attributes, "explicit_paddings").size() % 2 != 0) affine.refused = "odd explicit padding";
    setWindow(affine.attributes, op, is3d);
    if (affine.kind == "depthwise_conv_2d") {
        affine.weights = *filter; // [H,W,C,M] has its elements where [1,H,W,C·M] has them
        affine.channels = filter->shape[2] * filter->shape[3];
        affine.weights.shape = Shape{1, filter->shape[0], filter->shape[1], affine.channels};
        setAttribute(affine.attributes, "depth_multiplier", filter->shape[3]);
    } else if (is3d) {
        affine.weights = *filter;
        affine.channels = filter->shape[4];
    } else {
        static constexpr int kConvolution[] = {3, 0, 1, 2}, kTransposed[] = {2, 0, 1, 3};
        affine.weights = transposed(*filter, isTransposed ? kTransposed : kConvolution);
        affine.channels = affine.weights.shape[0];
    }
    if (isTransposed)
        for (const char* key : {"dilation_h_factor", "dilation_w_factor"}) removeAttribute(affine.attributes, key);
    affine.inputs = isTransposed ? std::vector<ValueId>{op.inputs[0], op.inputs[2]} : std::vector<ValueId>{op.inputs[0]};
}

void readLite(Site& site, const Operator& op, Affine& affine)
{
    const bool isTransposed = affine.kind == "transpose_conv";
    const size_t bias = isTransposed ? 3 : 2;
    affine.attributes = op.attributes;
    affine.weightsValue = op.inputs[1];
    affine.inputs = isTransposed ? std::vector<ValueId>{op.inputs[0], op.inputs[2]} : std::vector<ValueId>{op.inputs[0]};
    if (site.editor().value(op.results[0]).type.dtype != DType::f32) {
        affine.refused = "quantized: the result would have to be requantized";
        return;
    }
    const Shape& shape = site.editor().value(op.inputs[1]).type.shape;
    if (!shape.isStatic() || shape.rank() < 2) {
        affine.refused = "the filter's shape is unknown";
        return;
    }
    if (const Numbers* const weights = site.constants().floats(op.inputs[1])) affine.weights = *weights;
    const bool isLast = affine.kind == "depthwise_conv_2d" || affine.kind == "conv_3d";
    affine.channels = isLast ? shape.back() : shape[0];
    affine.hasBias = op.inputs.size() > bias && op.inputs[bias].valid();
    if (!affine.hasBias) return;
    const Numbers* const numbers = site.constants().floats(op.inputs[bias]);
    affine.isBiasDynamic = numbers == nullptr || static_cast<int64_t>(numbers->values.size()) != affine.channels;
    if (affine.isBiasDynamic) affine.refused = "the bias is no constant";
    else affine.bias = numbers->values;
}

/// `x` with zeros around it.
ValueId padded(Site& site, ValueId x, const std::vector<int64_t>& amounts, OperatorId before)
{
    const std::vector<int32_t> numbers(amounts.begin(), amounts.end());
    OperatorDraft draft;
    draft.kind = {"tfl", "pad"};
    draft.name = site.nameOf(before) + "/pad";
    const Shape shape{static_cast<int64_t>(numbers.size() / 2), 2};
    draft.inputs = {x, site.constant(site.nameOf(before) + "/paddings", shape, std::span<const int32_t>(numbers), before)};
    draft.results = {TensorType(site.editor().value(x).type.dtype, Shape::unknownRank())};
    return site.editor().op(site.editor().insert(std::move(draft), before, InsertPoint::before(before))).results[0];
}

/// Whether a constant was rounded to the steps of a quantized tensor.
bool isFakeQuantized(const Site& site, ValueId weights)
{
    for (int depth = 0; depth < 4; ++depth) {
        const OperatorId producer = site.producer(weights);
        if (!producer.valid() || site.editor().op(producer).inputs.empty()) return false;
        if (site.editor().op(producer).kind.name.starts_with("FakeQuantWithMinMax")) return true;
        weights = site.editor().op(producer).inputs[0];
    }
    return false;
}

} // namespace

void Affine::scale(const std::vector<float>& factors)
{
    const bool isLast = kind == "depthwise_conv_2d" || kind == "conv_3d";
    const size_t perStep = isLast ? 1 : weights.values.size() / static_cast<size_t>(channels);
    for (size_t k = 0; k < weights.values.size(); ++k) weights.values[k] *= factors[k / perStep % static_cast<size_t>(channels)];
    for (size_t c = 0; c < bias.size(); ++c) bias[c] *= factors[c];
    isChanged = true;
}

int64_t Affine::inputChannels() const
{
    if (kind != "depthwise_conv_2d") return weights.shape.back();
    return weights.shape.back() / std::max<int64_t>(attributeInt(attributes, "depth_multiplier", 1), 1);
}

size_t Affine::inputOf(size_t weight) const
{
    const auto inputs = static_cast<size_t>(inputChannels());
    if (kind != "depthwise_conv_2d") return weight % inputs;
    return weight / static_cast<size_t>(std::max<int64_t>(attributeInt(attributes, "depth_multiplier", 1), 1)) % inputs;
}

void Affine::scaleInputs(const std::vector<float>& factors)
{
    for (size_t k = 0; k < weights.values.size(); ++k) weights.values[k] *= factors[inputOf(k)];
    isChanged = true;
}

int rankOf(const Affine& affine) { return affine.kind == "fully_connected" ? 2 : affine.kind == "conv_3d" ? 5 : 4; }

std::optional<Affine> readAffine(Site& site, OperatorId id)
{
    if (!id.valid()) return std::nullopt;
    const Operator& op = site.editor().op(id);
    const std::string_view kind = neutralKind(op.kind);
    if (!isAffineKind(kind) || op.inputs.size() < 2 || op.results.size() != 1) return std::nullopt;
    Affine affine;
    affine.op = id;
    affine.kind = kind;
    if (op.kind.dialect == "tf") readTensorFlow(site, op, affine);
    else readLite(site, op, affine);
    if (affine.refused.empty() && affine.bias.empty()) affine.bias.assign(static_cast<size_t>(std::max<int64_t>(affine.channels, 0)), 0.0F);
    affine.isChanged = op.kind.dialect == "tf";
    affine.isFakeQuantized = site.partsOf(id).contains("fake_quantized") || isFakeQuantized(site, op.inputs[1]);
    return affine;
}

std::string affineLabel(Site& site, const Affine& affine, std::string_view with)
{
    return site.labelOf(affine.op) + "+" + std::string(with);
}

OperatorDraft affineDraft(Site& site, const Affine& affine, const std::string& name, OperatorId root)
{
    OperatorDraft draft;
    draft.kind = {"tfl", affine.kind};
    draft.attributes = affine.attributes;
    ValueId x = affine.inputs[0];
    if (attributeWord(draft.attributes, "padding", "") == "EXPLICIT") { // TFLite's operator knows only SAME and VALID
        x = padded(site, x, attributeInts(draft.attributes, "explicit_paddings"), root);
        setAttribute(draft.attributes, "padding", Word{"VALID"});
    }
    removeAttribute(draft.attributes, "explicit_paddings");
    const ValueId weights =
        affine.isChanged ? site.constant(name + "/weights", affine.weights.shape, affine.weights.values, root) : affine.weightsValue;
    const ValueId bias = affine.biasValue.valid()
                             ? affine.biasValue
                             : site.constant(name + "/bias", Shape{affine.channels}, std::span<const float>(affine.bias), root);
    if (affine.inputs.size() == 2) draft.inputs = {x, weights, affine.inputs[1], bias};
    else draft.inputs = {x, weights, bias};
    return draft;
}

std::string unfinite(const Affine& affine)
{
    if (!areFinite(affine.weights.values)) return "the weights would not be finite";
    return areFinite(affine.bias) ? "" : "the bias would not be finite";
}

OperatorId writeAffine(Site& site, const Affine& affine, std::vector<OperatorId> ops, std::initializer_list<std::string> parts)
{
    const OperatorId root = ops.back();
    OperatorDraft draft = affineDraft(site, affine, site.nameOf(root), root);
    draft.results = {site.editor().value(site.editor().op(root).results[0]).type};
    const OperatorId made = site.fuse(std::move(ops), std::move(draft), parts);
    if (affine.isFakeQuantized) site.addParts(made, {"fake_quantized"}); // told by no label
    return made;
}

std::optional<std::vector<float>> perChannel(const Numbers& numbers, int64_t channels, int rank)
{
    const auto count = static_cast<int64_t>(numbers.values.size());
    if (numbers.shape.rank() > rank) return std::nullopt;
    if (count == 1) return std::vector<float>(static_cast<size_t>(channels), numbers.values[0]);
    if (count != channels || numbers.shape.rank() == 0 || numbers.shape.back() != channels) return std::nullopt;
    return numbers.values;
}

} // namespace loopscope::fusing
