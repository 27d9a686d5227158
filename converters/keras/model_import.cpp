// Sequential models are a chain of calls, functional ones a graph of them, written in an order in which each tensor is there before it is
// read.
#include "converters/keras/model_import.h"

#include "converters/keras/weight_names.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

namespace loopscope::keras {

namespace {

Error bad(std::string what) { return Error(ErrorCode::badFile, std::move(what)).at("config.json"); }

TensorType typeOf(const Json& shape, const Json& dtype)
{
    TensorType type(dtypeOfText(dtype.isText() ? dtype.text() : dtype["config"]["name"].text("float32")), Shape::unknownRank());
    if (type.dtype == DType::unknown) type.dtype = DType::f32;
    if (!shape.isArray() || shape.items().size() > 16) return type;
    type.shape = Shape();
    for (const Json& dim : shape.items()) type.shape.append(dim.integer(-1) < 0 || dim.integer() > INT32_MAX ? kUnknownDim : dim.integer());
    return type;
}

Result<ModelEnds> writeSequential(ImportState& state, GraphBuilder& b, const Json& model, const std::string& path)
{
    const Json& config = model["config"];
    const Json::Array& layers = config["layers"].items();
    if (layers.empty()) return bad("a Sequential model without layers");
    ModelEnds ends;
    WeightNames names(path);
    ValueId current;
    std::string last;
    const auto begin = [&](const std::string& name, TensorType type) {
        current = b.input(name, std::move(type));
        ends.inputs.push_back({name, current});
        last = name;
    };
    if (layers.front()["class_name"].text() != "InputLayer") {
        const Json& first = layers.front()["config"]["batch_shape"]; // older files have it in the layer that they begin with
        const Json& built = config["build_input_shape"].isArray() ? config["build_input_shape"] : model["build_config"]["input_shape"];
        const Json& shape = built.isArray() ? built : first;
        if (!shape.isArray()) return bad("the model was never built: it does not say of which shape its input is");
        begin("input", typeOf(shape, Json("float32")));
    }
    for (size_t i = 0; i < layers.size(); ++i) {
        const Json& layer = layers[i];
        const std::string name = layer["config"]["name"].text(layer["class_name"].text());
        if (layer["class_name"].text() == "InputLayer") {
            if (i > 0) return bad("layer '" + name + "' is an input in the middle of a Sequential model");
            begin(name, typeOf(layer["config"]["batch_shape"], layer["config"]["dtype"]));
            continue;
        }
        LayerCall call{state, b, layer, layer["config"], name, names.next(layer), {{current, nullptr}}, {}, {}};
        std::vector<TensorType> seen;
        if (i + 1 < layers.size() && layers[i + 1]["build_config"]["input_shape"].isArray())
            seen.push_back(typeOf(layers[i + 1]["build_config"]["input_shape"], Json("float32")));
        LS_CHECK_OK(writeLayer(call, seen));
        current = call.outputs.front();
        last = name;
    }
    ends.outputs.push_back({last, current});
    return ends;
}

/// One call of one layer in a functional model.
struct Node {
    size_t layer = 0;
    int call = 0;
    size_t waitsFor = 0;          ///< nodes that come before it
    std::vector<size_t> next;     ///< nodes that wait for it
    std::vector<TensorType> seen; ///< of its results, as their readers say
    std::vector<ValueId> outputs;
};

struct History {
    std::string layer;
    int64_t node = 0, tensor = 0;
};

bool isTensor(const Json& value) { return value["class_name"].text() == "__keras_tensor__"; }

class FunctionalImport {
public:
    FunctionalImport(ImportState& state, GraphBuilder& b, const Json& config, const std::string& path)
        : m_state(state),
          m_b(b),
          m_config(config),
          m_layers(config["layers"].items()),
          m_names(path)
    {
    }

    Result<ModelEnds> run()
    {
        LS_CHECK_OK(declare());
        for (size_t n = 0; n < m_nodes.size(); ++n)
            if (const Json* const node = source(n)) LS_CHECK_OK(link(n, *node, 0));
        LS_CHECK_OK(inputs());
        std::vector<History> wanted;
        LS_CHECK_OK(histories(m_config["output_layers"], wanted, nullptr));
        for (const History& history : wanted) {
            LS_TRY(const size_t maker, nodeOf(history));
            see(maker, history, {});
        }
        std::deque<size_t> ready;
        for (size_t n = 0; n < m_nodes.size(); ++n)
            if (m_nodes[n].waitsFor == 0) ready.push_back(n);
        size_t done = 0;
        for (; !ready.empty(); ready.pop_front(), ++done) {
            const size_t n = ready.front();
            LS_CHECK_OK(write(n));
            for (const size_t next : m_nodes[n].next)
                if (--m_nodes[next].waitsFor == 0) ready.push_back(next);
        }
        if (done < m_nodes.size()) return bad("layers that wait for each other");
        LS_CHECK_OK(ends(m_config["output_layers"], m_ends.outputs, {}));
        std::set<std::string> taken;
        for (NamedValue& output : m_ends.outputs) {
            const std::string plain = output.name;
            for (int i = 1; !taken.insert(output.name).second; ++i) output.name = plain + "_" + std::to_string(i);
        }
        return std::move(m_ends);
    }

private:
    Status declare()
    {
        for (size_t i = 0; i < m_layers.size(); ++i) {
            const Json& layer = m_layers[i];
            const std::string name = layer["name"].text(layer["config"]["name"].text());
            if (!m_byName.emplace(name, i).second) return bad("two layers have the name '" + name + "'");
            m_paths.push_back(m_names.next(layer));
            m_first.push_back(m_nodes.size());
            const size_t calls = std::max<size_t>(layer["inbound_nodes"].items().size(), isInput(layer) ? 1 : 0);
            for (size_t c = 0; c < calls; ++c) {
                m_nodes.emplace_back();
                m_nodes.back().layer = i;
                m_nodes.back().call = static_cast<int>(c);
            }
        }
        m_first.push_back(m_nodes.size());
        return {};
    }

    static bool isInput(const Json& layer) { return layer["class_name"].text() == "InputLayer"; }

    const Json* source(size_t n) const
    {
        const Json::Array& calls = m_layers[m_nodes[n].layer]["inbound_nodes"].items();
        return calls.empty() ? nullptr : &calls[static_cast<size_t>(m_nodes[n].call)];
    }

    /// The node that a history names. Errors: badFile.
    Result<size_t> nodeOf(const History& history) const
    {
        const auto layer = m_byName.find(history.layer);
        if (layer == m_byName.end()) return bad("no layer has the name '" + history.layer + "'");
        const size_t first = m_first[layer->second], count = m_first[layer->second + 1] - first;
        if (history.node < 0 || static_cast<uint64_t>(history.node) >= count || history.tensor < 0 || history.tensor > 4096)
            return bad("layer '" + history.layer + "' is called " + std::to_string(count) + " times")
                .found("result " + std::to_string(history.tensor) + " of call " + std::to_string(history.node));
        return first + static_cast<size_t>(history.node);
    }

    static History historyOf(const Json& list)
    {
        const Json::Array& items = list.items();
        if (items.size() < 3) return {};
        return {items[0].text(), items[1].integer(-1), items[2].integer(-1)};
    }

    /// Notes of which type a result is, as far as its reader says it.
    void see(size_t maker, const History& history, const TensorType& type)
    {
        auto& seen = m_nodes[maker].seen;
        const auto at = static_cast<size_t>(history.tensor);
        if (seen.size() <= at) seen.resize(at + 1, TensorType(DType::f32, Shape::unknownRank()));
        if (type.dtype != DType::unknown) seen[at] = type;
    }

    /// Notes for every tensor in a call who makes it, and of which type it is.
    Status link(size_t n, const Json& value, int depth)
    {
        if (depth > 32) return bad("a call with arguments that are nested too deep");
        if (isTensor(value)) {
            const Json& config = value["config"];
            const History history = historyOf(config["keras_history"]);
            LS_TRY(const size_t maker, nodeOf(history));
            see(maker, history, typeOf(config["shape"], config["dtype"]));
            m_nodes[maker].next.push_back(n);
            ++m_nodes[n].waitsFor;
            return {};
        }
        for (const Json& item : value.items()) LS_CHECK_OK(link(n, item, depth + 1));
        for (const auto& [key, item] : value.members()) LS_CHECK_OK(link(n, item, depth + 1));
        return {};
    }

    /// The inputs come in the order of the model's own list.
    Status inputs()
    {
        std::vector<History> order;
        LS_CHECK_OK(histories(m_config["input_layers"], order, nullptr));
        const auto make = [&](size_t n) {
            if (!m_nodes[n].outputs.empty()) return;
            const Json& layer = m_layers[m_nodes[n].layer];
            const std::string name = layer["config"]["name"].text(layer["name"].text("input"));
            const ValueId value = m_b.input(name, typeOf(layer["config"]["batch_shape"], layer["config"]["dtype"]));
            m_nodes[n].outputs = {value};
            m_ends.inputs.push_back({name, value});
        };
        for (const History& history : order) {
            LS_TRY(const size_t n, nodeOf(history));
            if (!isInput(m_layers[m_nodes[n].layer])) return bad("'" + history.layer + "' is no input layer");
            make(n);
        }
        for (size_t n = 0; n < m_nodes.size(); ++n)
            if (isInput(m_layers[m_nodes[n].layer])) make(n);
        return {};
    }

    /// Lists of histories, one history, or an object of them.
    static Status histories(const Json& value, std::vector<History>& list, std::vector<std::string>* keys, const std::string& key = {},
                            int depth = 0)
    {
        if (depth > 8) return bad("inputs or outputs that are nested too deep");
        const Json::Array& items = value.items();
        if (items.size() >= 3 && items[0].isText() && items[1].isNumber()) {
            list.push_back(historyOf(value));
            if (keys != nullptr) keys->push_back(key);
            return {};
        }
        for (const Json& item : items) LS_CHECK_OK(histories(item, list, keys, key, depth + 1));
        for (const auto& [name, item] : value.members()) LS_CHECK_OK(histories(item, list, keys, name == "items" ? key : name, depth + 1));
        return {};
    }

    Status ends(const Json& value, std::vector<NamedValue>& list, const std::string& key)
    {
        std::vector<History> order;
        std::vector<std::string> keys;
        LS_CHECK_OK(histories(value, order, &keys, key));
        if (order.empty()) return bad("a functional model without outputs");
        for (size_t i = 0; i < order.size(); ++i) {
            LS_TRY(const ValueId tensor, tensorOf(order[i]));
            list.push_back({keys[i].empty() ? order[i].layer : keys[i], tensor});
        }
        return {};
    }

    Result<ValueId> tensorOf(const History& history) const
    {
        LS_TRY(const size_t n, nodeOf(history));
        const std::vector<ValueId>& outputs = m_nodes[n].outputs;
        if (static_cast<size_t>(history.tensor) < outputs.size()) return outputs[static_cast<size_t>(history.tensor)];
        return bad("layer '" + history.layer + "' has " + std::to_string(outputs.size()) + " results")
            .found(std::to_string(history.tensor));
    }

    /// Opens the lists and tuples of an argument.
    Status read(const Json& value, std::vector<Argument>& list, int depth = 0) const
    {
        if (isTensor(value)) {
            LS_TRY(const ValueId tensor, tensorOf(historyOf(value["config"]["keras_history"])));
            list.push_back({tensor, nullptr});
            return {};
        }
        const Json& items = value["class_name"].text() == "__tuple__" ? value["config"].isNull() ? value["items"] : value["config"] : value;
        const bool holds = items.isArray() && depth < 32 && containsTensor(items);
        if (!holds) {
            list.push_back({ValueId(), &value});
            return {};
        }
        for (const Json& item : items.items()) LS_CHECK_OK(read(item, list, depth + 1));
        return {};
    }

    static bool containsTensor(const Json& value)
    {
        if (isTensor(value)) return true;
        if (std::ranges::any_of(value.items(), containsTensor)) return true;
        return std::ranges::any_of(value.members(), [](const auto& member) { return containsTensor(member.second); });
    }

    Status write(size_t n)
    {
        Node& node = m_nodes[n];
        if (!node.outputs.empty()) return {};
        const Json& layer = m_layers[node.layer];
        const std::string name = layer["name"].text(layer["config"]["name"].text());
        LayerCall call{m_state, m_b, layer, layer["config"], name, m_paths[node.layer], {}, {}, {}};
        call.call = node.call;
        const Json& from = *source(n);
        for (const Json& argument : from["args"].items()) LS_CHECK_OK(read(argument, call.arguments));
        for (const auto& [key, value] : from["kwargs"].members()) {
            call.named.emplace_back(key, std::vector<Argument>());
            LS_CHECK_OK(read(value, call.named.back().second));
        }
        LS_CHECK_OK(writeLayer(call, node.seen));
        node.outputs = std::move(call.outputs);
        return {};
    }

    ImportState& m_state;
    GraphBuilder& m_b;
    const Json& m_config;
    const Json::Array& m_layers;
    WeightNames m_names;
    std::unordered_map<std::string, size_t> m_byName;
    std::vector<std::string> m_paths; ///< of each layer's weights
    std::vector<size_t> m_first;      ///< of each layer: its first node
    std::vector<Node> m_nodes;
    ModelEnds m_ends;
};

/// A model whose layers only its Python code knows: one operator with all weights. Errors: badFile (no model at all).
Result<ModelEnds> writeUnknown(ImportState& state, GraphBuilder& b, const Json& model)
{
    const std::string kind = model["class_name"].text();
    if (kind.empty()) return bad("no model").found(model.dump().substr(0, 60)).expected("an object with a class_name");
    ModelEnds ends;
    LayerCall call{state, b, model, model["config"], model["config"]["name"].text(kind), "", {}, {}, {}};
    call.isWhole = true;
    if (const Json& shape = model["build_config"]["input_shape"]; shape.isArray()) {
        ends.inputs.push_back({"input", b.input("input", typeOf(shape, Json("float32")))});
        call.arguments.push_back({ends.inputs.front().value, nullptr});
    }
    LS_CHECK_OK(writeLayer(call, {}));
    ends.outputs.push_back({call.name, call.outputs.front()});
    return ends;
}

} // namespace

bool isModel(const Json& layer)
{
    const std::string name = layer["class_name"].text();
    return (name == "Sequential" || name == "Functional" || name == "Model") && layer["config"]["layers"].isArray();
}

Result<ModelEnds> writeModel(ImportState& state, GraphBuilder& b, const Json& model, const std::string& path)
{
    if (!isModel(model)) return writeUnknown(state, b, model);
    if (model["class_name"].text() == "Sequential") return writeSequential(state, b, model, path);
    return FunctionalImport(state, b, model["config"], path).run();
}

Result<Model> modelOf(const Json& config, std::optional<Hdf5File> weights)
{
    ImportState state;
    state.weights = std::move(weights);
    state.model.dialect = Dialect::tf;
    state.model.graphs.emplace_back().id = "main";
    GraphBuilder main("main", true);
    LS_TRY(const ModelEnds ends, writeModel(state, main, config, ""));
    state.model.graphs.front() = std::move(main.graph());
    Signature& signature = state.model.signatures.emplace_back();
    signature.key = "serving_default";
    signature.graph = GraphId(0);
    for (const NamedValue& input : ends.inputs) signature.inputs.push_back({input.name, input.value});
    for (const NamedValue& output : ends.outputs) signature.outputs.push_back({output.name, output.value});
    return std::move(state.model);
}

void callModel(LayerCall& l)
{
    const std::string key = "model " + l.path;
    const auto found = l.state.functions.find(key);
    if (found == l.state.functions.end()) {
        const GraphId id(static_cast<int64_t>(l.state.model.graphs.size()));
        std::string wanted = l.name, function = wanted;
        const auto taken = [&] { return std::ranges::find(l.state.model.graphs, function, &Graph::id) != l.state.model.graphs.end(); };
        for (int n = 1; taken(); ++n) function = wanted + "_" + std::to_string(n);
        l.state.model.graphs.emplace_back().id = function;
        GraphBuilder body(function, false);
        Result<ModelEnds> ends = writeModel(l.state, body, l.layer, l.path);
        if (!ends.ok()) return l.b.fail(std::move(ends).takeError());
        for (const NamedValue& output : ends->outputs) body.output(output.name, output.value);
        l.state.model.graph(id) = std::move(body.graph());
        l.state.functions.emplace(key, id);
    }
    const GraphId id = l.state.functions.at(key);
    const Graph& graph = l.state.model.graph(id);
    std::vector<ValueId> operands = l.tensors();
    for (const auto& [name, values] : l.named)
        if (name != "mask" && name != "training")
            for (const Argument& a : values)
                if (a.value.valid()) operands.push_back(a.value);
    if (operands.size() != graph.inputs.size())
        return l.refuse("it is called with " + std::to_string(operands.size()) + " tensors, where it takes " +
                        std::to_string(graph.inputs.size()));
    AttributeItems in, out;
    std::vector<TensorType> types;
    for (size_t i = 0; i < operands.size(); ++i) {
        operands[i] = l.b.cast(operands[i], graph.value(graph.inputs[i]).type.dtype);
        in.emplace_back(l.b.dtype(operands[i]));
    }
    for (const GraphOutput& output : graph.outputs) {
        types.push_back(graph.value(output.value).type);
        out.emplace_back(types.back().dtype);
    }
    l.outputs =
        l.b.typed({"tf", "PartitionedCall"}, "PartitionedCall", std::move(operands),
                  {{"Tin", Attribute(std::move(in))}, {"Tout", Attribute(std::move(out))}, {"f", GraphRef{id, nullptr}}}, std::move(types));
}

} // namespace loopscope::keras
