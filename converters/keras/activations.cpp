// keras.activations, and the layers that are one each.
#include "converters/keras/layer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace loopscope::keras {

namespace {

ValueId constantOf(LayerCall& l, double value, ValueId like) { return l.b.number(value, like); }

ValueId scaled(LayerCall& l, ValueId x, double factor) { return l.b.mul(x, constantOf(l, factor, x)); }
ValueId shifted(LayerCall& l, ValueId x, double by) { return l.b.add(x, constantOf(l, by, x)); }

/// relu6(x + 3) / 6
ValueId hardSigmoid(LayerCall& l, ValueId x) { return scaled(l, l.b.op("Relu6", {shifted(l, x, 3)}), 1.0 / 6); }

ValueId gelu(LayerCall& l, ValueId x, bool approximate)
{
    if (!approximate) {
        // x / 2 (1 + erf(x / √2))
        const ValueId inner = l.b.op("Erf", {scaled(l, x, std::sqrt(0.5))});
        return l.b.mul(scaled(l, x, 0.5), shifted(l, inner, 1));
    }
    // x / 2 (1 + tanh(√(2/π) (x + 0.044715 x³)))
    const ValueId cube = l.b.mul(x, l.b.mul(x, x));
    const ValueId inner = scaled(l, l.b.add(x, scaled(l, cube, 0.044715)), std::sqrt(2 / M_PI));
    return l.b.mul(scaled(l, x, 0.5), shifted(l, l.b.op("Tanh", {inner}), 1));
}

ValueId softmax(LayerCall& l, ValueId x, int axis, std::string_view kind)
{
    const int rank = l.b.rank(x);
    if (rank < 1) {
        l.refuse("softmax of an input of unknown rank");
        return {};
    }
    if (axis < 0) axis += rank;
    if (axis == rank - 1) return l.b.op(kind, {x});
    std::vector<int64_t> order;
    for (int i = 0; i < rank; ++i) order.push_back(i);
    if (axis < 0 || axis >= rank) {
        l.refuse("softmax along axis " + std::to_string(axis));
        return {};
    }
    std::swap(order[static_cast<size_t>(axis)], order.back());
    return l.b.transpose(l.b.op(kind, {l.b.transpose(x, order)}), order);
}

ValueId elu(LayerCall& l, ValueId x, double alpha)
{
    const ValueId y = l.b.op("Elu", {x});
    if (alpha == 1) return y;
    return l.b.op("SelectV2", {l.b.op("Greater", {x, constantOf(l, 0, x)}), x, scaled(l, y, alpha)});
}

/// relu with all of its parameters: below the threshold the slope, above it x, and never more than a maximum.
ValueId relu(LayerCall& l, ValueId x, double slope, double threshold, std::optional<double> most)
{
    if (slope == 0 && threshold == 0 && !most) return l.b.op("Relu", {x});
    if (slope == 0 && threshold == 0 && *most == 6) return l.b.op("Relu6", {x});
    ValueId y;
    if (slope != 0 && threshold == 0) y = l.b.op("LeakyRelu", {x}, {{"alpha", floatAttribute(static_cast<float>(slope))}});
    else {
        const ValueId isAbove = l.b.op("Greater", {x, constantOf(l, threshold, x)});
        const ValueId below = slope == 0 ? constantOf(l, 0, x) : scaled(l, shifted(l, x, -threshold), slope);
        y = threshold == 0 ? l.b.op("Relu", {x}) : l.b.op("SelectV2", {isAbove, x, below});
    }
    return most ? l.b.op("Minimum", {y, constantOf(l, *most, y)}) : y;
}

ValueId swish(LayerCall& l, ValueId x) { return l.b.mul(x, l.b.op("Sigmoid", {x})); }

ValueId glu(LayerCall& l, ValueId x)
{
    const std::vector<ValueId> parts = l.b.all("Split", {l.b.integer(-1), x}, {{"num_split", int64_t{2}}});
    return parts.size() == 2 ? l.b.mul(parts[0], l.b.op("Sigmoid", {parts[1]})) : ValueId();
}

/// sign(x) max(|x| − ½, 0)
ValueId softShrink(LayerCall& l, ValueId x) { return l.b.mul(l.b.op("Sign", {x}), l.b.op("Relu", {shifted(l, l.b.op("Abs", {x}), -0.5)})); }

ValueId hardShrink(LayerCall& l, ValueId x)
{
    return l.b.op("SelectV2", {l.b.op("Greater", {l.b.op("Abs", {x}), constantOf(l, 0.5, x)}), x, constantOf(l, 0, x)});
}

/// (x + √(x² + 4)) / 2
ValueId squareplus(LayerCall& l, ValueId x) { return scaled(l, l.b.add(x, l.b.op("Sqrt", {shifted(l, l.b.op("Square", {x}), 4)})), 0.5); }

/// 0 below −1, x above 1, (x + 1)² / 4 between.
ValueId sparsePlus(LayerCall& l, ValueId x)
{
    const ValueId middle = scaled(l, l.b.op("Square", {shifted(l, x, 1)}), 0.25);
    const ValueId above = l.b.op("SelectV2", {l.b.op("Less", {x, constantOf(l, 1, x)}), middle, x});
    return l.b.op("SelectV2", {l.b.op("LessEqual", {x, constantOf(l, -1, x)}), constantOf(l, 0, x), above});
}

/// (x + 1) / 2 between 0 and 1
ValueId sparseSigmoid(LayerCall& l, ValueId x)
{
    const ValueId y = scaled(l, shifted(l, x, 1), 0.5);
    return l.b.op("ClipByValue", {y, constantOf(l, 0, y), constantOf(l, 1, y)});
}

/// max(x − τ, 0), where τ makes what is left add up to 1: found among the elements in their order.
ValueId sparsemax(LayerCall& l, ValueId x)
{
    const int axis = l.b.rank(x) - 1;
    if (axis < 0) {
        l.refuse("sparsemax of an input of unknown rank");
        return {};
    }
    const ValueId count = extentOf(l, x, axis), one = l.b.number(1, x), zero = l.b.number(0, x);
    const ValueId sorted = l.b.op("TopKV2", {x, count}), sums = l.b.op("Cumsum", {sorted, l.b.integer(axis)});
    const ValueId places = l.b.cast(l.b.op("Range", {l.b.integer(1), l.b.add(count, l.b.integer(1)), l.b.integer(1)}), l.b.dtype(x));
    const ValueId left = l.b.sub(sorted, l.b.op("RealDiv", {l.b.sub(sums, one), places}));
    const ValueId isKept = l.b.op("Greater", {left, zero});
    const ValueId kept = l.b.reduce("Sum", l.b.cast(isKept, l.b.dtype(x)), {axis}, true);
    const ValueId sum = l.b.reduce("Sum", l.b.op("SelectV2", {isKept, sums, zero}), {axis}, true);
    return l.b.op("Maximum", {l.b.sub(x, l.b.op("RealDiv", {l.b.sub(sum, one), kept})), zero});
}

using Function = ValueId (*)(LayerCall&, ValueId);
template <typename Text> struct NamedFunction {
    Text name;
    Function function;
};

const std::array kFunctions = std::to_array<NamedFunction<std::string_view>>({
    {"linear", [](LayerCall&, ValueId x) { return x; }},
    {"relu", [](LayerCall& l, ValueId x) { return l.b.op("Relu", {x}); }},
    {"relu6", [](LayerCall& l, ValueId x) { return l.b.op("Relu6", {x}); }},
    {"sigmoid", [](LayerCall& l, ValueId x) { return l.b.op("Sigmoid", {x}); }},
    {"tanh", [](LayerCall& l, ValueId x) { return l.b.op("Tanh", {x}); }},
    {"softmax", [](LayerCall& l, ValueId x) { return softmax(l, x, -1, "Softmax"); }},
    {"log_softmax", [](LayerCall& l, ValueId x) { return softmax(l, x, -1, "LogSoftmax"); }},
    {"elu", [](LayerCall& l, ValueId x) { return l.b.op("Elu", {x}); }},
    {"celu", [](LayerCall& l, ValueId x) { return l.b.op("Elu", {x}); }},
    {"selu", [](LayerCall& l, ValueId x) { return l.b.op("Selu", {x}); }},
    {"softplus", [](LayerCall& l, ValueId x) { return l.b.op("Softplus", {x}); }},
    {"softsign", [](LayerCall& l, ValueId x) { return l.b.op("Softsign", {x}); }},
    {"exponential", [](LayerCall& l, ValueId x) { return l.b.op("Exp", {x}); }},
    {"hard_sigmoid", hardSigmoid},
    // 0.2 x + 0.5 between 0 and 1
    {"hard_sigmoid of Keras 2",
     [](LayerCall& l,
        ValueId x) { return l.b.op("ClipByValue", {shifted(l, scaled(l, x, 0.2), 0.5), constantOf(l, 0, x), constantOf(l, 1, x)}); }},
    {"hard_silu", [](LayerCall& l, ValueId x) { return l.b.mul(x, hardSigmoid(l, x)); }},
    {"hard_swish", [](LayerCall& l, ValueId x) { return l.b.mul(x, hardSigmoid(l, x)); }},
    {"silu", swish},
    {"swish", swish},
    {"gelu", [](LayerCall& l, ValueId x) { return gelu(l, x, false); }},
    {"leaky_relu", [](LayerCall& l, ValueId x) { return relu(l, x, 0.2, 0, std::nullopt); }},
    {"mish", [](LayerCall& l, ValueId x) { return l.b.mul(x, l.b.op("Tanh", {l.b.op("Softplus", {x})})); }},
    {"log_sigmoid", [](LayerCall& l, ValueId x) { return l.b.op("Neg", {l.b.op("Softplus", {l.b.op("Neg", {x})})}); }},
    {"hard_tanh", [](LayerCall& l, ValueId x) { return l.b.op("ClipByValue", {x, l.b.number(-1, x), l.b.number(1, x)}); }},
    {"tanh_shrink", [](LayerCall& l, ValueId x) { return l.b.sub(x, l.b.op("Tanh", {x})); }},
    {"soft_shrink", softShrink},
    {"hard_shrink", hardShrink},
    {"glu", glu},
    {"squareplus", squareplus},
    {"sparse_plus", sparsePlus},
    {"sparse_sigmoid", sparseSigmoid},
    {"sparsemax", sparsemax},
});

void activationLayer(LayerCall& l) { l.outputs = {activate(l, l.config["activation"], l.in())}; }

void reluLayer(LayerCall& l)
{
    const Json& most = l.config["max_value"];
    l.outputs = {relu(l, l.in(), l.config["negative_slope"].number(), l.config["threshold"].number(),
                      most.isNumber() ? std::optional(most.number()) : std::nullopt)};
}

void leakyRelu(LayerCall& l)
{
    const double slope = l.config.has("negative_slope") ? l.config["negative_slope"].number() : l.config["alpha"].number(0.3);
    l.outputs = {relu(l, l.in(), slope, 0, std::nullopt)};
}

/// relu(x) − α relu(−x)
void prelu(LayerCall& l)
{
    const ValueId x = l.in(), below = l.b.op("Relu", {l.b.op("Neg", {x})});
    l.outputs = {l.b.sub(l.b.op("Relu", {x}), l.b.mul(l.weight(0, "alpha"), below))};
}

void eluLayer(LayerCall& l) { l.outputs = {elu(l, l.in(), l.config["alpha"].number(1))}; }

void softmaxLayer(LayerCall& l)
{
    if (l.tensors().size() > 1 || !l.namedTensors("mask").empty()) return l.refuse("it is called with a mask");
    const Json& axis = l.config["axis"];
    if (axis.isArray() && axis.items().size() != 1) return l.refuse("softmax along several axes");
    const int64_t along = axis.isArray() ? axis.items().front().integer(-1) : axis.integer(-1);
    l.outputs = {softmax(l, l.in(), static_cast<int>(std::clamp<int64_t>(along, -32, 32)), "Softmax")};
}

constexpr std::array kActivationLayers = {
    NamedRule{"Activation", activationLayer},
    NamedRule{"ReLU", reluLayer},
    NamedRule{"LeakyReLU", leakyRelu},
    NamedRule{"PReLU", prelu},
    NamedRule{"ELU", eluLayer},
    NamedRule{"Softmax", softmaxLayer},
};

} // namespace

ValueId activate(LayerCall& l, const Json& activation, ValueId x)
{
    if (activation.isNull()) return x;
    std::string name = activation.text();
    if (name.empty()) name = activation["config"].isText() ? activation["config"].text() : activation["config"]["name"].text();
    for (const auto& [known, function] : kFunctions)
        if (known == name) return function(l, x);
    // An activation may be a layer of its own: keras.layers.LeakyReLU().
    if (activation["class_name"].isText() && findRule(ruleName(activation)) != nullptr && ruleName(activation) != "Activation") {
        const std::vector<ValueId> results = callInner(l, activation, "activation", {x});
        return results.size() == 1 ? results.front() : ValueId();
    }
    l.refuse("activation " + activation.dump().substr(0, 80) + " is not known");
    return {};
}

std::span<const NamedRule> activationLayers() { return kActivationLayers; }

} // namespace loopscope::keras
