// A layer's call from outside: casts of its inputs, its rule, the name of what it gives, and what becomes of layers without a graph.
#include "converters/keras/model_import.h"

#include "engine/tensor/dtype.h"

#include <algorithm>

namespace loopscope::keras {

namespace {

/// The dtype in which a layer computes; unknown if its policy is none that is read.
DType computeType(const Json& policy)
{
    std::string name = policy.isText() ? policy.text() : policy["config"]["name"].text("float32");
    if (name.starts_with("mixed_")) name = name.substr(6);
    if (name == "float32") return DType::f32;
    if (name == "float16") return DType::f16;
    if (name == "bfloat16") return DType::bf16;
    if (name == "float64") return DType::f64;
    return DType::unknown;
}

Attribute attributeOf(const Json& value)
{
    if (value.isText()) return value.text();
    if (value.isTruth()) return value.truth();
    if (value.isNumber()) {
        const double number = value.number();
        const bool whole = value.dump().find_first_of(".eE") == std::string::npos;
        return whole ? Attribute(value.integer()) : Attribute(number);
    }
    return value.dump();
}

/// All that the config says that is plain, and the weights as operands.
void writeOpaque(LayerCall& l, const std::string& name, const std::string& why, const std::vector<TensorType>& seen)
{
    std::vector<ValueId> inputs = l.tensors();
    for (const auto& [key, values] : l.named)
        for (const Argument& a : values)
            if (a.value.valid()) inputs.push_back(a.value);
    if (l.state.weights && (!l.path.empty() || l.isWhole))
        for (const std::string& path : l.state.weights->datasetsBelow(l.path)) {
            if (path.starts_with("optimizer/")) continue;
            ValueId known = l.b.known(path);
            Result<TensorAttribute> tensor = l.state.weights->read(path);
            if (!known.valid() && tensor.ok()) {
                known = l.b.constant(l.name + (l.path.empty() ? "/" : "") + path.substr(l.path.size()), std::move(tensor).value());
                l.b.remember(path, known);
            }
            if (known.valid()) inputs.push_back(known);
        }
    AttributeList attributes = {{"@why", why}};
    for (const auto& [key, value] : l.config.members())
        if (!value.isObject() && !value.isArray() && !value.isNull() && key != "name" && key != "trainable")
            setAttribute(attributes, key, attributeOf(value));
    std::string kind = l.layer["class_name"].text();
    if (kind.empty()) kind = "Layer";
    std::vector<TensorType> types = seen;
    if (types.empty()) types.emplace_back(l.compute == DType::unknown ? DType::f32 : l.compute, Shape::unknownRank());
    l.outputs = l.b.typed({"custom", kind}, name, std::move(inputs), std::move(attributes), std::move(types));
}

/// A mask of the first input is that of the result, too; of layers that nothing is known of here it is not known.
void passMask(LayerCall& l, const std::string& kind)
{
    constexpr std::string_view kPass[] = {"Activation",
                                          "ActivityRegularization",
                                          "AlphaDropout",
                                          "BatchNormalization",
                                          "Dense",
                                          "Dropout",
                                          "ELU",
                                          "GaussianDropout",
                                          "GaussianNoise",
                                          "Identity",
                                          "LayerNormalization",
                                          "LeakyReLU",
                                          "Masking",
                                          "MultiHeadAttention",
                                          "GroupQueryAttention",
                                          "GroupedQueryAttention",
                                          "Attention",
                                          "AdditiveAttention",
                                          "PReLU",
                                          "ReLU",
                                          "Softmax",
                                          "SpatialDropout1D",
                                          "UnitNormalization",
                                          "GroupNormalization",
                                          "Normalization",
                                          "TimeDistributed",
                                          "Rescaling"};
    constexpr std::string_view kUnclear[] = {"Concatenate", "Functional", "Sequential", "Model", "Lambda"}; // what they do is not followed
    constexpr std::string_view kEnd[] = {"GlobalAveragePooling1D", "GlobalMaxPooling1D", "Embedding"};
    const bool recurs =
        kind == "LSTM" || kind == "GRU" || kind == "SimpleRNN" || kind == "RNN" || kind == "Bidirectional" || kind.starts_with("ConvLSTM");
    const Json& config = kind == "Bidirectional" ? l.config["layer"]["config"] : l.config;
    const std::vector<ValueId> list = l.tensors();
    if (list.empty() || l.outputs.empty() || l.b.maskOf(l.outputs.front()).has_value()) return;
    constexpr std::string_view kMerge[] = {"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"};
    const int64_t axis = l.config["axis"].integer(-1);
    const bool merges = std::ranges::find(kMerge, kind) != std::end(kMerge) ||
                        (kind == "Concatenate" && (axis == -1 || axis == l.b.rank(list.front()) - 1));
    const bool passes = recurs || merges || std::ranges::find(kPass, kind) != std::end(kPass);
    const bool followsFirst = recurs || kind.ends_with("Attention"); // states, values and keys do not count
    std::optional<ValueId> mask;
    for (size_t i = 0; i < (followsFirst ? 1 : list.size()); ++i) {
        const std::optional<ValueId> one = l.b.maskOf(list[i]);
        if (!one && merges) return; // all of it counts
        if (!one || (mask && *mask == *one)) continue;
        if (i == 0) mask = *one;
        else if (merges && mask->valid() && one->valid()) mask = l.b.op("LogicalOr", {*mask, *one});
        else mask = ValueId();
    }
    if (!mask || std::ranges::find(kEnd, kind) != std::end(kEnd) || (recurs && !config["return_sequences"].truth())) return;
    // Of Keras's own layers the others drop it.
    const bool drops = !passes && (isKerasOwn(l.layer) && std::ranges::find(kUnclear, kind) == std::end(kUnclear));
    if (!drops) l.b.setMask(l.outputs.front(), passes ? *mask : ValueId());
}

/// The layer's plain name for what it gives: its last operator gets it, or one that only passes the value on.
void nameOutput(LayerCall& l, const GraphBuilder::Mark& before, const std::string& name)
{
    ValueId& output = l.outputs.front();
    const Value& value = l.b.graph().value(output);
    const bool isOwn = value.role == ValueRole::result && static_cast<size_t>(value.producer.index) >= before.operators;
    const bool isOne = isOwn && l.b.graph().op(value.producer).results.size() == 1 && l.b.graph().op(value.producer).kind.name != "Const";
    if (!isOne) {
        const std::optional<ValueId> mask = l.b.maskOf(output);
        output = l.b.op("Identity", {output});
        if (mask && output.valid()) l.b.setMask(output, *mask);
    }
    if (output.valid()) l.b.rename(output, name);
}

} // namespace

Status writeLayer(LayerCall& l, const std::vector<TensorType>& seen)
{
    const GraphBuilder::Mark before = l.b.mark();
    const std::string scope = l.b.scope();
    std::string own = scope.empty() ? l.name : scope + "/" + l.name;
    if (l.call > 0) own += "/call_" + std::to_string(l.call + 1);
    const auto arguments = l.arguments;
    const auto named = l.named;
    const std::string kind = ruleName(l.layer);
    l.compute = kind.starts_with("ops.") ? DType::f32 : computeType(l.config["dtype"]); // an operation's is that of its result
    l.b.enter(own);
    const LayerRule rule = isModel(l.layer) ? &callModel : findRule(kind);
    if (rule == nullptr)
        l.refuse("no graph for layers of class " + l.layer["class_name"].text() +
                 (isKerasOwn(l.layer) ? "" : ", which is not one of Keras"));
    else if (l.compute == DType::unknown) l.refuse("its dtype policy is " + l.config["dtype"].dump());
    else {
        const bool casts = !kind.starts_with("ops.") && l.config["autocast"].truth(true);
        const auto adapt = [&](Argument& a) {
            if (!casts || !a.value.valid() || !isFloat(l.b.dtype(a.value))) return;
            const std::optional<ValueId> mask = l.b.maskOf(a.value);
            a.value = l.b.cast(a.value, l.compute);
            if (mask && a.value.valid()) l.b.setMask(a.value, *mask);
        };
        for (Argument& a : l.arguments) adapt(a);
        for (auto& [key, values] : l.named) std::ranges::for_each(values, adapt);
        rule(l);
        for (const ValueId output : l.outputs)
            if (!output.valid() && !l.b.failed()) l.refuse("its rule gave nothing");
        if (l.outputs.empty()) l.refuse("its rule gave nothing");
        if (!l.b.failed()) passMask(l, kind);
        if (!l.b.failed()) nameOutput(l, before, own);
    }
    if (std::optional<Error> failure = l.b.takeFailure()) {
        if (failure->code() != ErrorCode::unsupported) return std::move(*failure).at("layer '" + l.name + "'");
        l.b.restore(before);
        l.b.enter(scope);
        l.arguments = arguments;
        l.named = named;
        writeOpaque(l, own, failure->message(), seen);
        if (std::optional<Error> second = l.b.takeFailure()) return std::move(*second).at("layer '" + l.name + "'");
    }
    l.b.enter(scope);
    // What no inference knows, the model's own record of the shapes may.
    for (size_t k = 0; k < l.outputs.size() && k < seen.size(); ++k)
        if (!l.b.shape(l.outputs[k]).hasRank() || (l.b.rank(l.outputs[k]) == seen[k].shape.rank() && !l.b.shape(l.outputs[k]).isStatic())) {
            Shape merged = seen[k].shape;
            for (int i = 0; i < merged.rank() && l.b.shape(l.outputs[k]).hasRank(); ++i)
                if (l.b.shape(l.outputs[k])[i] != kUnknownDim) merged[i] = l.b.shape(l.outputs[k])[i];
            if (seen[k].shape.hasRank()) l.b.setShape(l.outputs[k], merged);
        }
    return {};
}

std::vector<ValueId> callInner(LayerCall& l, const Json& inner, const std::string& part, std::vector<ValueId> inputs,
                               std::vector<std::pair<std::string, std::vector<Argument>>> named)
{
    if (l.b.failed() || !std::ranges::all_of(inputs, &ValueId::valid)) return {};
    const std::string kind = ruleName(inner);
    const LayerRule rule = isModel(inner) ? &callModel : findRule(kind);
    if (rule == nullptr) {
        l.refuse("no graph for layers of class " + kind);
        return {};
    }
    LayerCall call{l.state, l.b, inner, inner["config"], inner["config"]["name"].text(kind), l.path + "/" + part, {}, std::move(named), {}};
    call.compute = l.compute;
    for (const ValueId input : inputs) call.arguments.push_back({input, nullptr});
    const std::string scope = l.b.scope();
    call.name = l.name + "/" + call.name;
    l.b.enter(scope + call.name.substr(l.name.size()));
    rule(call);
    l.b.enter(scope);
    return call.outputs;
}

} // namespace loopscope::keras
