#include "engine/api/inputs/run_target.h"

#include "engine/base/text.h"
#include "engine/tensor/value_text.h"

#include <algorithm>

namespace loopscope {

namespace {

void addAlias(Port& port, const std::string& name)
{
    if (!name.empty() && std::find(port.aliases.begin(), port.aliases.end(), name) == port.aliases.end()) port.aliases.push_back(name);
}

std::vector<std::string> signatureKeys(const Model& model)
{
    std::vector<std::string> keys;
    for (const Signature& s : model.signatures) keys.push_back(s.key);
    return keys;
}

} // namespace

Result<RunTarget> selectTarget(const Model& model, const std::string& signature)
{
    if (model.graphs.empty()) return Error(ErrorCode::badFile, "the model has no graphs");
    const Signature* chosen = nullptr;
    for (const Signature& s : model.signatures)
        if (signature.empty() ? model.signatures.size() == 1 || s.key == "serving_default" : s.key == signature) {
            chosen = &s;
            break;
        }
    if (!signature.empty() && chosen == nullptr) {
        const std::vector<std::string> keys = signatureKeys(model);
        std::vector<std::string> near = nearestNames(signature, keys);
        const std::string known = keys.empty() ? "the model has no signatures" : join(keys, ", ");
        return Error(ErrorCode::usage, "not found (" + known + ")").at("signature '" + signature + "'").nearest(std::move(near));
    }
    RunTarget target;
    target.graph = chosen != nullptr ? chosen->graph : GraphId(0);
    if (!model.hasGraph(target.graph)) return Error(ErrorCode::badFile, "signature '" + chosen->key + "' names no graph of the model");
    if (chosen != nullptr) target.signature = chosen->key;
    const bool asked = !signature.empty();
    const Graph& graph = model.graph(target.graph);

    const auto makePort = [&](ValueId id, int index, const std::vector<SignatureBinding>* bindings, const std::string& returnName) {
        const Value& value = graph.value(id);
        Port port;
        port.value = id;
        port.index = index;
        port.type = value.type;
        port.name = value.id;
        addAlias(port, value.id);
        addAlias(port, value.name);
        if (model.dialect == Dialect::tf && value.id.find(':') == std::string::npos) addAlias(port, value.id + ":0");
        addAlias(port, returnName);
        if (bindings != nullptr)
            for (const SignatureBinding& binding : *bindings)
                if (binding.value == id) {
                    addAlias(port, binding.name);
                    if (asked && port.name == value.id) port.name = binding.name;
                }
        return port;
    };
    for (size_t i = 0; i < graph.inputs.size(); ++i)
        target.inputs.push_back(makePort(graph.inputs[i], static_cast<int>(i), chosen != nullptr ? &chosen->inputs : nullptr, ""));
    for (size_t i = 0; i < graph.outputs.size(); ++i)
        target.outputs.push_back(
            makePort(graph.outputs[i].value, static_cast<int>(i), chosen != nullptr ? &chosen->outputs : nullptr, graph.outputs[i].name));
    return target;
}

Result<const Port*> findInput(const RunTarget& target, std::string_view name)
{
    for (const Port& port : target.inputs)
        if (port.name == name || std::find(port.aliases.begin(), port.aliases.end(), name) != port.aliases.end()) return &port;
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
