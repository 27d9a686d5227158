#include "engine/api/inputs/run_target.h"

#include "engine/base/text.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <functional>
#include <map>

namespace loopscope {

namespace {

void addAlias(Port& port, const std::string& name)
{
    if (!name.empty() && std::find(port.aliases.begin(), port.aliases.end(), name) == port.aliases.end()) port.aliases.push_back(name);
}

std::vector<std::string> signatureKeys(const Model& model)
{
    std::vector<std::string> keys;
    for (const Signature& s : model.signatures)
        if (!isInitialiser(s)) keys.push_back(s.key);
    return keys;
}

/// For each input of a graph whether something reads it, also behind calls that only hand it on.
class Readers {
public:
    explicit Readers(const Model& model) : m_model(model) {}

    const std::vector<bool>& of(GraphId id)
    {
        const Graph& graph = m_model.graph(id);
        const auto [slot, isNew] = m_read.try_emplace(id.index, graph.inputs.size(), true);
        if (!isNew) return slot->second; // a function that calls itself reads all
        std::vector<bool> isRead(graph.values.size(), false);
        const auto mark = [&](ValueId value) {
            if (value.valid()) isRead[static_cast<size_t>(value.index)] = true;
        };
        for (const GraphOutput& output : graph.outputs) mark(output.value);
        for (const Operator& op : graph.operators) {
            const std::vector<Callee> callees = calleesOf(op);
            const bool hands = callees.size() == 1 && callees.front().role == "call" && m_model.hasGraph(callees.front().graph) &&
                               m_model.graph(callees.front().graph).inputs.size() == op.inputs.size();
            for (size_t i = 0; i < op.inputs.size(); ++i)
                if (!hands || of(callees.front().graph)[i]) mark(op.inputs[i]);
        }
        std::vector<bool>& inputs = m_read.at(id.index);
        for (size_t i = 0; i < graph.inputs.size(); ++i) inputs[i] = isRead[static_cast<size_t>(graph.inputs[i].index)];
        return inputs;
    }

private:
    const Model& m_model;
    std::map<int64_t, std::vector<bool>> m_read;
};

} // namespace

bool isInitialiser(const Signature& signature) { return signature.key.starts_with("__saved_model_"); }

const Signature* chooseSignature(const Model& model, std::string_view key)
{
    const auto only = std::ranges::count_if(model.signatures, std::not_fn(isInitialiser)) == 1;
    for (const Signature& s : model.signatures)
        if (key.empty() ? (only && !isInitialiser(s)) || s.key == "serving_default" : s.key == key) return &s;
    return nullptr;
}

std::string signatureNames(const Model& model) { return join(signatureKeys(model), ", "); }

Status checkSignature(const Model& model, const std::string& key)
{
    if (key.empty() || chooseSignature(model, key) != nullptr) return {};
    const std::vector<std::string> keys = signatureKeys(model);
    return Error(ErrorCode::usage, "not found (" + (keys.empty() ? "the model has no signatures" : join(keys, ", ")) + ")")
        .at("signature '" + key + "'")
        .nearest(nearestNames(key, keys));
}

Result<RunTarget> selectTarget(const Model& model, const std::string& signature)
{
    if (model.graphs.empty()) return Error(ErrorCode::badFile, "the model has no graphs");
    LS_CHECK_OK(checkSignature(model, signature));
    const Signature* chosen = chooseSignature(model, signature);
    RunTarget target;
    target.graph = chosen != nullptr ? chosen->graph : GraphId(0);
    if (!model.hasGraph(target.graph)) return Error(ErrorCode::badFile, "signature '" + chosen->key + "' names no graph of the model");
    if (chosen != nullptr) target.signature = chosen->key;
    const Graph& graph = model.graph(target.graph);

    const auto makePort = [&](ValueId id, size_t index, const std::vector<SignatureBinding>* bindings, const std::string& returnName) {
        const Value& value = graph.value(id);
        Port port;
        port.value = id;
        port.index = static_cast<int>(index);
        port.type = value.type;
        port.name = value.id;
        addAlias(port, value.id);
        addAlias(port, value.name);
        if (model.dialect == Dialect::tf && value.id.find(':') == std::string::npos) addAlias(port, value.id + ":0");
        addAlias(port, returnName);
        if (value.id == returnName + ":read") port.name = returnName; // a reference that is fetched: run_selection.cpp reads it at the end
        if (bindings == nullptr) return port;
        std::vector<std::string> names;
        for (const SignatureBinding& binding : *bindings)
            if (binding.value == id) names.push_back(binding.name);
        for (const std::string& name : names) addAlias(port, name);
        // Where a graph gives one value several times, each of them takes a name of its own.
        const auto before = static_cast<size_t>(
            std::count_if(graph.outputs.begin(), graph.outputs.begin() + static_cast<ptrdiff_t>(std::min(index, graph.outputs.size())),
                          [&](const GraphOutput& output) { return output.value == id; }));
        if (!names.empty()) port.name = names[std::min(before, names.size() - 1)];
        return port;
    };
    Readers readers(model);
    const std::vector<bool>& isRead = readers.of(target.graph);
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
        target.inputs.push_back(makePort(graph.inputs[i], i, chosen != nullptr ? &chosen->inputs : nullptr, ""));
        target.inputs.back().isRead = isRead[i];
    }
    for (size_t i = 0; i < graph.outputs.size(); ++i)
        target.outputs.push_back(
            makePort(graph.outputs[i].value, i, chosen != nullptr ? &chosen->outputs : nullptr, graph.outputs[i].name));
    return target;
}

const Port* findPort(std::span<const Port> ports, std::string_view name)
{
    for (const Port& port : ports)
        if (port.name == name) return &port;
    for (const Port& port : ports)
        if (std::find(port.aliases.begin(), port.aliases.end(), name) != port.aliases.end()) return &port;
    return nullptr;
}

std::string signatureValue(const Model& model, const Signature* signature, std::vector<SignatureBinding> Signature::*side,
                           const std::string& name)
{
    if (signature != nullptr)
        for (const SignatureBinding& binding : signature->*side)
            if (binding.name == name) return model.graph(signature->graph).value(binding.value).id;
    return name;
}

void nameBySignature(const Model& model, const Signature& signature, RunTarget& target)
{
    const auto nameAll = [&](const std::vector<SignatureBinding>& bindings, std::vector<Port>& ports) {
        for (Port& port : ports) {
            const std::vector<std::string> own = port.aliases; // no name that another binding adds
            bool isNamed = false;
            for (const SignatureBinding& binding : bindings) {
                const std::string& id = model.graph(signature.graph).value(binding.value).id;
                if (std::ranges::find(own, id) == own.end() && std::ranges::find(own, id + ":0") == own.end()) continue;
                addAlias(port, binding.name);
                if (!isNamed) port.name = binding.name;
                isNamed = true;
            }
        }
    };
    nameAll(signature.inputs, target.inputs);
    nameAll(signature.outputs, target.outputs);
}

Result<const Port*> findInput(const RunTarget& target, std::string_view name)
{
    if (const Port* const port = findPort(target.inputs, name)) return port;
    std::vector<std::string> names;
    std::string listed;
    for (const Port& port : target.inputs) {
        names.insert(names.end(), port.aliases.begin(), port.aliases.end());
        listed += (listed.empty() ? "" : ", ") + port.name + ": " + shortType(port.type);
    }
    return Error(ErrorCode::usage, listed.empty() ? "the model has no inputs" : "no such input (inputs: " + listed + ")")
        .at("input '" + std::string(name) + "'")
        .nearest(nearestNames(name, names));
}

} // namespace loopscope
