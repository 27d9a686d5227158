// What Keras 2 writes into a .keras file, said as Keras 3 says it: calls of layers, axes in lists, functions of TensorFlow between layers.
#include "converters/keras/keras2.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace loopscope::keras {

namespace {

constexpr int kDeepest = 64;

/// A function of TensorFlow and the operation of keras.ops that is the same; names of operands by place, and of what else it takes.
struct Function {
    std::string_view name, operation;
    std::string_view operands;   ///< further operands, which calls give by name
    std::string_view keys, said; ///< a key of the call, and what the operation calls it
};
constexpr std::array kFunctions = std::to_array<Function>({
    {"__operators__.add", "Add", "y", "", ""},
    {"math.add", "Add", "y", "", ""},
    {"math.subtract", "Subtract", "y", "", ""},
    {"math.multiply", "Multiply", "y", "", ""},
    {"math.divide", "Divide", "y", "", ""},
    {"math.truediv", "Divide", "y", "", ""},
    {"math.floordiv", "FloorDivide", "y", "", ""},
    {"math.pow", "Power", "y", "", ""},
    {"math.maximum", "Maximum", "y", "", ""},
    {"math.minimum", "Minimum", "y", "", ""},
    {"math.greater", "Greater", "y", "", ""},
    {"math.greater_equal", "GreaterEqual", "y", "", ""},
    {"math.less", "Less", "y", "", ""},
    {"math.less_equal", "LessEqual", "y", "", ""},
    {"math.equal", "Equal", "y", "", ""},
    {"math.not_equal", "NotEqual", "y", "", ""},
    {"math.logical_and", "LogicalAnd", "y", "", ""},
    {"math.logical_or", "LogicalOr", "y", "", ""},
    {"math.logical_not", "LogicalNot", "", "", ""},
    {"math.negative", "Negative", "", "", ""},
    {"math.abs", "Absolute", "", "", ""},
    {"math.exp", "Exp", "", "", ""},
    {"math.log", "Log", "", "", ""},
    {"math.sqrt", "Sqrt", "", "", ""},
    {"math.rsqrt", "Rsqrt", "", "", ""},
    {"math.square", "Square", "", "", ""},
    {"math.sin", "Sin", "", "", ""},
    {"math.cos", "Cos", "", "", ""},
    {"math.tanh", "Tanh", "", "", ""},
    {"math.sigmoid", "Sigmoid", "", "", ""},
    {"math.softplus", "Softplus", "", "", ""},
    {"math.floor", "Floor", "", "", ""},
    {"math.ceil", "Ceil", "", "", ""},
    {"math.sign", "Sign", "", "", ""},
    {"math.reciprocal", "Reciprocal", "", "", ""},
    {"nn.relu", "Relu", "", "", ""},
    {"nn.relu6", "Relu6", "", "", ""},
    {"nn.tanh", "Tanh", "", "", ""},
    {"nn.sigmoid", "Sigmoid", "", "", ""},
    {"nn.softplus", "Softplus", "", "", ""},
    {"nn.softmax", "Softmax", "", "axis", "axis"},
    {"nn.selu", "Selu", "", "", ""},
    {"nn.elu", "Elu", "", "", ""},
    {"nn.silu", "Silu", "", "", ""},
    {"math.reduce_mean", "Mean", "", "axis", "axis"},
    {"math.reduce_sum", "Sum", "", "axis", "axis"},
    {"math.reduce_max", "Max", "", "axis", "axis"},
    {"math.reduce_min", "Min", "", "axis", "axis"},
    {"math.reduce_prod", "Prod", "", "axis", "axis"},
    {"linalg.matmul", "Matmul", "b", "", ""},
    {"reshape", "Reshape", "", "shape", "newshape"},
    {"transpose", "Transpose", "", "perm", "axes"},
    {"compat.v1.transpose", "Transpose", "", "perm", "axes"},
    {"expand_dims", "ExpandDims", "", "axis", "axis"},
    {"squeeze", "Squeeze", "", "axis", "axis"},
    {"compat.v1.squeeze", "Squeeze", "", "axis", "axis"},
    {"concat", "Concatenate", "", "axis", "axis"},
    {"stack", "Stack", "", "axis", "axis"},
    {"tile", "Tile", "", "multiples", "repeats"},
    {"cast", "Cast", "", "dtype", "dtype"},
    {"identity", "Copy", "", "", ""},
});
constexpr std::array<std::string_view, 3> kPassedKeys = {"keepdims", "transpose_a", "transpose_b"};

bool isHistory(const Json& value)
{
    const Json::Array& items = value.items();
    return items.size() >= 3 && items[0].isText() && items[1].isNumber() && (items[1].integer() < 0 || items[2].isNumber());
}

class Translation {
public:
    Json layer(const Json& from, int depth)
    {
        Json to = Json::object();
        for (const auto& [key, value] : from.members())
            if (key != "config" && key != "inbound_nodes" && key != "module") to.append(key, value);
        std::string module = from["module"].text();
        if (module.starts_with("tf_")) module = module.substr(3);
        to.append("module", module);
        to.append("config", depth > kDeepest ? Json() : configOf(from, depth));
        return to;
    }

    /// The calls of a functional model's layers, and where it begins and ends.
    Json functional(const Json& config, int depth)
    {
        Json to = Json::object();
        countCalls(config);
        for (const auto& [key, value] : config.members()) {
            if (key == "layers") to.append(key, layersOf(value, depth));
            else if (key == "output_layers" || key == "input_layers") to.append(key, histories(value, 0));
            else to.append(key, value);
        }
        return to;
    }

private:
    static bool isModel(const Json& layer)
    {
        const std::string kind = layer["class_name"].text();
        return (kind == "Sequential" || kind == "Functional" || kind == "Model") && layer["config"]["layers"].isArray();
    }

    Json configOf(const Json& from, int depth)
    {
        const Json& config = from["config"];
        const std::string kind = from["class_name"].text();
        if (isModel(from) && kind != "Sequential") return Translation().functional(config, depth + 1);
        Json to = Json::object();
        for (const auto& [key, value] : config.members()) to.append(named(kind, key), member(kind, key, value, depth + 1));
        if (kind == "Bidirectional" && !config.has("backward_layer")) to.append("backward_layer", backwards(to["layer"]));
        return to;
    }

    /// The same layer from the end of the sequence to its begin.
    static Json backwards(const Json& layer)
    {
        Json config = layer["config"], to = layer;
        config.set("go_backwards", !config["go_backwards"].truth());
        config.set("name", "backward_" + config["name"].text());
        to.set("config", std::move(config));
        return to;
    }

    static std::string named(const std::string& kind, const std::string& key)
    {
        return kind == "InputLayer" && key == "batch_input_shape" ? "batch_shape" : key;
    }

    Json member(const std::string& kind, const std::string& key, const Json& value, int depth)
    {
        if (depth > kDeepest) return {};
        // Steeper than that of Keras 3.
        if (key.find("activation") != std::string::npos && value.text() == "hard_sigmoid") return "hard_sigmoid of Keras 2";
        if (kind == "BatchNormalization" && key == "axis" && value.items().size() == 1) return value.items().front();
        if (value["class_name"].text() == "__numpy__" || value["class_name"].text() == "__ndarray__") return value["config"]["value"];
        if (value["class_name"].isText() && value["config"].isObject()) return layer(value, depth);
        if (!value.isArray()) return value;
        Json list = Json::array();
        for (const Json& item : value.items())
            list.push(item["class_name"].isText() && item["config"].isObject() ? layer(item, depth) : item);
        return list;
    }

    // --- Calls --------------------------------------------------------------------------------------------------------------------------

    /// A model that is a layer counts the call that made it as its first, although none of this model's is.
    void countCalls(const Json& config)
    {
        for (const Json& layer : config["layers"].items()) {
            m_calls[layer["name"].text()] = static_cast<int64_t>(layer["inbound_nodes"].items().size());
            seeCalls(layer["inbound_nodes"], 0);
        }
        seeCalls(config["output_layers"], 0);
    }
    void seeCalls(const Json& value, int depth)
    {
        if (depth > kDeepest) return;
        if (isHistory(value)) {
            int64_t& most = m_mostCall[value.items()[0].text()];
            most = std::max(most, value.items()[1].integer());
        }
        for (const Json& item : value.items()) seeCalls(item, depth + 1);
        for (const auto& [key, item] : value.members()) seeCalls(item, depth + 1);
    }

    Json history(const Json& value) const
    {
        const Json::Array& items = value.items();
        const std::string name = items[0].text();
        const auto calls = m_calls.find(name), most = m_mostCall.find(name);
        const bool isAhead = calls != m_calls.end() && most != m_mostCall.end() && calls->second > 0 && most->second == calls->second;
        return Json::Array{items[0], items[1].integer() - (isAhead ? 1 : 0), items[2]};
    }
    Json histories(const Json& value, int depth) const
    {
        if (isHistory(value)) return history(value);
        if (depth > kDeepest) return {};
        Json to = value.isArray() ? Json::array() : Json::object();
        for (const Json& item : value.items()) to.push(histories(item, depth + 1));
        for (const auto& [key, item] : value.members()) to.append(key, histories(item, depth + 1));
        return to;
    }

    /// A tensor of a call, or a number of Python in its place.
    Json tensor(const Json& value) const
    {
        if (value.items()[0].text() == "_CONSTANT_VALUE") return value.items()[2];
        Json config = Json::object();
        config.append("keras_history", history(value));
        Json to = Json::object();
        to.append("class_name", "__keras_tensor__");
        to.append("config", std::move(config));
        return to;
    }
    Json argument(const Json& value, int depth) const
    {
        const bool isKnown =
            isHistory(value) && (m_calls.contains(value.items()[0].text()) || value.items()[0].text() == "_CONSTANT_VALUE");
        if (isKnown) return tensor(value);
        if (!value.isArray() || depth > kDeepest) return value;
        Json list = Json::array();
        for (const Json& item : value.items()) list.push(argument(item, depth + 1));
        return list;
    }

    struct Call {
        Json::Array tensors;
        Json::Members keys;
    };
    Call callOf(const Json& node) const
    {
        Call call;
        const Json::Array one = {node};
        for (const Json& entry : isHistory(node) ? one : node.items()) {
            if (!isHistory(entry)) continue;
            call.tensors.push_back(tensor(entry));
            if (entry.items().size() < 4) continue;
            for (const auto& [key, value] : entry.items()[3].members())
                if (!value.isNull()) call.keys.emplace_back(key, argument(value, 0));
        }
        return call;
    }

    static Json nodeOf(Json::Array tensors, Json::Members keys)
    {
        Json to = Json::object();
        to.append("args", std::move(tensors));
        to.append("kwargs", std::move(keys));
        return to;
    }

    Json layersOf(const Json& layers, int depth)
    {
        Json to = Json::array();
        for (const Json& from : layers.items()) {
            Json one = layer(from, depth + 1);
            Json nodes = Json::array();
            const std::string kind = from["class_name"].text();
            const bool isFunction = kind == "TFOpLambda" || kind == "SlicingOpLambda";
            for (const Json& node : from["inbound_nodes"].items()) {
                Call call = callOf(node);
                if (isFunction) function(one, from["config"]["function"].text(), call);
                nodes.push(nodeOf(std::move(call.tensors), std::move(call.keys)));
            }
            one.append("inbound_nodes", std::move(nodes));
            to.push(std::move(one));
        }
        return to;
    }

    /// Makes a layer that calls a function of TensorFlow into the operation that is the same; leaves it where there is none.
    static void function(Json& layer, const std::string& name, Call& call)
    {
        if (name == "__operators__.getitem") return getItem(layer, call);
        const auto found = std::ranges::find(kFunctions, name, &Function::name);
        if (found == kFunctions.end()) return;
        Call changed{call.tensors, {}};
        for (auto& [key, value] : call.keys) {
            if (key == found->operands) changed.tensors.push_back(value);
            else if (key == found->keys) changed.keys.emplace_back(std::string(found->said), value);
            else if (std::ranges::find(kPassedKeys, key) != kPassedKeys.end()) changed.keys.emplace_back(key, value);
            else if (key != "name" && (!value.isTruth() || value.truth())) return; // something that nobody here knows
        }
        const auto saysAxis = [](const auto& key) { return key.first == "axis"; };
        if (name == "nn.softmax" && std::ranges::none_of(changed.keys, saysAxis)) changed.keys.emplace_back("axis", -1);
        call = std::move(changed);
        become(layer, found->operation);
    }

    static void become(Json& layer, std::string_view operation)
    {
        layer.set("class_name", std::string(operation));
        layer.set("module", "keras.src.ops.numpy");
    }

    static void getItem(Json& layer, Call& call)
    {
        Json key = Json::array();
        for (const auto& [name, value] : call.keys) {
            if (name != "slice_spec") continue;
            const Json::Array one = {value};
            for (const Json& item : value.isArray() ? value.items() : one) {
                if (item.text() == "Ellipsis" || item.text() == "...") return;
                if (!item.isObject()) {
                    key.push(item);
                    continue;
                }
                Json slice = Json::object();
                slice.append("class_name", "__slice__");
                slice.append("config", item);
                key.push(std::move(slice));
            }
        }
        Json tuple = Json::object();
        tuple.append("class_name", "__tuple__");
        tuple.append("items", std::move(key));
        call.tensors.push_back(std::move(tuple));
        call.keys.clear();
        become(layer, "GetItem");
    }

    std::map<std::string, int64_t> m_calls, m_mostCall; ///< of each layer: calls, and the last one that is named
};

} // namespace

Json fromKeras2(const Json& model) { return Translation().layer(model, 0); }

} // namespace loopscope::keras
