// Gradients of what neural networks are made of: activations, losses, convolutions, pooling, normalisation.
#include "engine/transform/gradient/gradient_rules.h"

#include <algorithm>

namespace loopscope {

namespace {

using Case = GradientCase;
using Grad = GradientValue;

void softmaxRule(Case& c) { c.give((c.dy[0] - sumOfLast(c, c.dy[0] * c.y[0])) * c.y[0]); } // (dy − Σ dy·y) · y

void logSoftmaxRule(Case& c) { c.give(c.dy[0] - sumOfLast(c, c.dy[0]) * call(c, "Exp", c.y[0])); } // dy − Σ dy · e^y

void crossEntropyRule(Case& c) // the operator's second result is the gradient by the logits
{
    const Grad loss = expandDims(c, c.dy[0], -1);
    const bool isSparse = c.op.kind.name.starts_with("Sparse");
    c.give(loss * c.y[1], isSparse || !c.wanted[1] ? Grad() : loss * -call(c, "LogSoftmax", c.x[0]));
}

void biasRule(Case& c) { c.give(c.dy[0], c.nodes.node("BiasAddGrad", {c.dy[0]}, attributesOf(c, {"data_format"}))); }

void biasGradRule(Case& c)
{
    Grad g = c.dy[0];
    if (attributeString(c.op.attributes, "data_format", "NHWC") == "NCHW") {
        const Grad ones = c.nodes.node("Fill", {asList(c, rankOf(c, c.x[0]) - c.nodes.integer(2)), c.nodes.integer(1)});
        const Grad dims[] = {shapeOf(c, g), ones};
        g = reshape(c, g, joined(c, dims));
    }
    c.give(c.nodes.node("BroadcastTo", {g, shapeOf(c, c.x[0])}));
}

AttributeList windowAttributes(const Case& c)
{
    return attributesOf(c, {"data_format", "dilations", "explicit_paddings", "ksize", "padding", "strides", "use_cudnn_on_gpu"});
}

void convolutionRule(Case& c)
{
    const std::string kind = c.op.kind.name, suffix = kind == "Conv3D" ? "V2" : "";
    c.give(c.nodes.node(kind + "BackpropInput" + suffix, {shapeOf(c, c.x[0]), c.x[1], c.dy[0]}, windowAttributes(c)),
           c.nodes.node(kind + "BackpropFilter" + suffix, {c.x[0], shapeOf(c, c.x[1]), c.dy[0]}, windowAttributes(c)));
}

std::string convolutionOf(const Case& c) { return c.op.kind.name.substr(0, c.op.kind.name.find("Backprop")); }

void inputGradientRule(Case& c) // (sizes, filter, dy)
{
    const std::string kind = convolutionOf(c), suffix = kind == "Conv3D" ? "V2" : "";
    c.dx[1] = c.nodes.node(kind + "BackpropFilter" + suffix, {c.dy[0], shapeOf(c, c.x[1]), c.x[2]}, windowAttributes(c));
    c.dx[2] = c.nodes.node(kind, {c.dy[0], c.x[1]}, windowAttributes(c));
}

void filterGradientRule(Case& c) // (x, sizes, dy)
{
    const std::string kind = convolutionOf(c), suffix = kind == "Conv3D" ? "V2" : "";
    c.dx[0] = c.nodes.node(kind + "BackpropInput" + suffix, {shapeOf(c, c.x[0]), c.dy[0], c.x[2]}, windowAttributes(c));
    c.dx[2] = c.nodes.node(kind, {c.x[0], c.dy[0]}, windowAttributes(c));
}

void maxPoolRule(Case& c, std::string_view kind) { c.give(c.nodes.node(kind, {c.x[0], c.y[0], c.dy[0]}, windowAttributes(c))); }

void maxPoolV2Rule(Case& c)
{
    c.give(c.nodes.node("MaxPoolGradV2", {c.x[0], c.y[0], c.dy[0], c.x[1], c.x[2]}, attributesOf(c, {"data_format", "padding"})));
}

void maxPoolGradRule(Case& c) { c.dx[2] = c.nodes.node("MaxPoolGradGrad", {c.x[0], c.x[1], c.dy[0]}, windowAttributes(c)); }

/// The gradient of a pooling's gradient is its own again: both are linear in the gradient that comes.
void maxPoolGradGradRule(Case& c) { c.dx[2] = c.nodes.node("MaxPoolGrad", {c.x[0], c.x[1], c.dy[0]}, windowAttributes(c)); }

void maxPoolGradV2Rule(Case& c)
{
    c.dx[2] = c.nodes.node("MaxPoolGradGradV2", {c.x[0], c.x[1], c.dy[0], c.x[3], c.x[4]}, attributesOf(c, {"data_format", "padding"}));
}

void avgPoolRule(Case& c, std::string_view kind) { c.give(c.nodes.node(kind, {shapeOf(c, c.x[0]), c.dy[0]}, windowAttributes(c))); }

void avgPoolGradRule(Case& c, std::string_view kind) { c.dx[1] = c.nodes.node(kind, {c.dy[0]}, windowAttributes(c)); }

void batchNormRule(Case& c) // outside of training the mean and the variance are operands
{
    const bool isTraining = attributeBool(c.op.attributes, "is_training", true), third = c.op.kind.name == "FusedBatchNormV3";
    const std::string kind = c.op.kind.name == "FusedBatchNorm" ? "FusedBatchNormGrad"
                             : third                            ? "FusedBatchNormGradV3"
                                                                : "FusedBatchNormGradV2";
    std::vector<Grad> operands = {c.dy[0], c.x[0], c.x[1], isTraining ? c.y[3] : c.x[3], isTraining ? c.y[4] : c.x[4]};
    if (third) operands.push_back(c.y[5]);
    const std::vector<Grad> parts = c.nodes.add(kind, operands, attributesOf(c, {"data_format", "epsilon", "is_training"}));
    std::copy_n(parts.begin(), 3, c.dx.begin());
}

/// `kind` of (dy, x): activations' own gradients are linear in the gradient that comes.
void again(Case& c) { c.dx[0] = c.nodes.node(c.op.kind.name, {c.dy[0], c.x[1]}, attributesOf(c, {"alpha"})); }

void expGradRule(Case& c) // Elu, Selu: below 0 the slope is y + constant
{
    again(c);
    c.dx[1] = select(c, c.nodes.node("Less", {c.x[1], zerosLike(c, c.x[1])}), c.dy[0] * c.x[0], zerosLike(c, c.x[0]));
}

void softplusGradRule(Case& c) // dy · s(x), s' = s (1 − s)
{
    again(c);
    const Grad s = call(c, "Sigmoid", c.x[1]);
    c.dx[1] = c.dy[0] * c.x[0] * s * (1 - s);
}

void softsignGradRule(Case& c) // dy / (1 + |x|)²
{
    again(c);
    const Grad d = 1 + call(c, "Abs", c.x[1]);
    c.dx[1] = -2 * (c.dy[0] * c.x[0] * call(c, "Sign", c.x[1])) / (square(c, d) * d);
}

// clang-format off
constexpr NamedGradientRule kLayersRules[] = {
    {"BiasAdd", kSymbolic, biasRule},
    {"BiasAddGrad", kGraphsOnly, biasGradRule},
    {"Relu", kSymbolic, [](Case& c) { c.give(c.nodes.node("ReluGrad", {c.dy[0], c.x[0]})); }},
    {"Relu6", kSymbolic, [](Case& c) { c.give(c.nodes.node("Relu6Grad", {c.dy[0], c.x[0]})); }},
    {"LeakyRelu", kSymbolic, [](Case& c) { c.give(c.nodes.node("LeakyReluGrad", {c.dy[0], c.x[0]}, attributesOf(c, {"alpha"}))); }},
    {"Elu", kSymbolic, [](Case& c) { c.give(c.nodes.node("EluGrad", {c.dy[0], c.y[0]})); }},
    {"Selu", kSymbolic, [](Case& c) { c.give(c.nodes.node("SeluGrad", {c.dy[0], c.y[0]})); }},
    {"Softplus", kSymbolic, [](Case& c) { c.give(c.nodes.node("SoftplusGrad", {c.dy[0], c.x[0]})); }},
    {"Softsign", kSymbolic, [](Case& c) { c.give(c.nodes.node("SoftsignGrad", {c.dy[0], c.x[0]})); }},
    {"ReluGrad", kGraphsOnly, again},
    {"Relu6Grad", kGraphsOnly, again},
    {"LeakyReluGrad", kGraphsOnly, again},
    {"EluGrad", kGraphsOnly, expGradRule},
    {"SeluGrad", kGraphsOnly, expGradRule},
    {"SoftplusGrad", kGraphsOnly, softplusGradRule},
    {"SoftsignGrad", kGraphsOnly, softsignGradRule},
    {"Softmax", kSymbolic, softmaxRule},
    {"LogSoftmax", kSymbolic, logSoftmaxRule},
    {"SoftmaxCrossEntropyWithLogits", kSymbolic, crossEntropyRule},
    {"SparseSoftmaxCrossEntropyWithLogits", kSymbolic, crossEntropyRule},
    {"Conv2D", kSymbolic, convolutionRule},
    {"Conv3D", kGraphsOnly, convolutionRule},
    {"DepthwiseConv2dNative", kSymbolic, convolutionRule},
    {"Conv2DBackpropInput", kGraphsOnly, inputGradientRule},
    {"Conv2DBackpropFilter", kGraphsOnly, filterGradientRule},
    {"DepthwiseConv2dNativeBackpropInput", kGraphsOnly, inputGradientRule},
    {"DepthwiseConv2dNativeBackpropFilter", kGraphsOnly, filterGradientRule},
    {"Conv3DBackpropInputV2", kGraphsOnly, inputGradientRule},
    {"Conv3DBackpropFilterV2", kGraphsOnly, filterGradientRule},
    {"MaxPool", kSymbolic, [](Case& c) { maxPoolRule(c, "MaxPoolGrad"); }},
    {"MaxPool3D", kGraphsOnly, [](Case& c) { maxPoolRule(c, "MaxPool3DGrad"); }},
    {"MaxPoolV2", kGraphsOnly, maxPoolV2Rule},
    {"MaxPoolGrad", kGraphsOnly, maxPoolGradRule},
    {"MaxPoolGradGrad", kGraphsOnly, maxPoolGradGradRule},
    {"MaxPoolGradV2", kGraphsOnly, maxPoolGradV2Rule},
    {"AvgPool", kSymbolic, [](Case& c) { avgPoolRule(c, "AvgPoolGrad"); }},
    {"AvgPool3D", kGraphsOnly, [](Case& c) { avgPoolRule(c, "AvgPool3DGrad"); }},
    {"AvgPoolGrad", kGraphsOnly, [](Case& c) { avgPoolGradRule(c, "AvgPool"); }},
    {"AvgPool3DGrad", kGraphsOnly, [](Case& c) { avgPoolGradRule(c, "AvgPool3D"); }},
    {"FusedBatchNorm", kGraphsOnly, batchNormRule},
    {"FusedBatchNormV2", kGraphsOnly, batchNormRule},
    {"FusedBatchNormV3", kGraphsOnly, batchNormRule},
};
// clang-format on

} // namespace

std::span<const NamedGradientRule> gradientRulesOfLayers() { return kLayersRules; }

} // namespace loopscope
