#include "app/wiring/proof.h"

#include "app/wiring/backend.h"
#include "app/wiring/origin_map.h"
#include "app/wiring/reference_inputs.h"
#include "app/wiring/tf_target.h"
#include "engine/base/text.h"
#include "engine/debug/reference/value_pairing.h"
#include "engine/exec/make_executor.h"
#include "engine/ir/origin.h"

#include <algorithm>
#include <iterator>
#include <sstream>

namespace loopscope::app {

namespace {

/// `node:0` is what an id calls `node`.
std::string idOf(const std::string& name) { return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name; }

std::string partnerName(const ProofNames& names, const std::string& id)
{
    for (const auto& [mine, theirs] : names)
        if (idOf(mine) == id) return idOf(theirs);
    return id;
}

std::string countText(size_t count, const char* noun) { return std::to_string(count) + " " + noun + (count == 1 ? "" : "s"); }

RunMap mapOf(const Model& model, GraphId root, const Model& reference, GraphId referenceRoot)
{
    if (isRaised(reference) && !isRaised(model)) return mapOfOrigin(model, root, reference, referenceRoot);
    return RunMap::ofPairing(ValuePairing::create(model, root, reference, referenceRoot), model, root, reference, referenceRoot);
}

} // namespace

namespace {

/// Both begin from the same values: what the first runs before anything else runs in the other, too, where that has a node of the name.
void adoptInitialisers(Model& other, GraphId root, const Model& model)
{
    std::istringstream nodes(std::string(attributeString(model.attributes, "init_op", "")));
    std::istringstream own(std::string(attributeString(other.attributes, "init_op", "")));
    std::vector<std::string> names(std::istream_iterator<std::string>(own), {});
    for (std::string name; nodes >> name;)
        if (std::ranges::find(other.graph(root).operators, name, &Operator::name) != other.graph(root).operators.end() &&
            std::ranges::find(names, name) == names.end())
            names.push_back(name);
    if (!names.empty()) setAttribute(other.attributes, "init_op", join(names, " "));
}

} // namespace

Status selectAlike(Model& other, const Model& model, const RunTarget& target, const ProofNames& names,
                   const std::vector<std::string>& targets)
{
    const GraphId root = rootOf(other, "");
    if (other.dialect != Dialect::tf || !other.hasGraph(root) || !other.graph(root).outputs.empty()) return {};
    const auto shared = [&](const std::vector<Port>& ports) {
        std::vector<std::string> found;
        for (const Port& port : ports) {
            std::string id = partnerName(names, model.graph(target.graph).value(port.value).id);
            if (!other.graph(root).findValue(id).valid()) id = partnerName(names, idOf(port.name)); // a reference that is read
            if (other.graph(root).findValue(id).valid()) found.push_back(std::move(id));
        }
        return found;
    };
    RunSelection asked;
    asked.feeds = shared(target.inputs);
    asked.fetches = shared(target.outputs);
    for (const std::string& node : targets) asked.targets.push_back(partnerName(names, node));
    adoptInitialisers(other, root, model);
    LS_TRY(const RunSelection selection, completeSelection(other, std::move(asked), ""));
    LS_TRY(other, selectForRun(other, root, selection));
    return {};
}

Result<ProofPair> pairForProof(const Model& model, const RunTarget& target, const Model& reference, const RunTarget& referenceTarget,
                               const ProofNames& names)
{
    if (target.outputs.size() != referenceTarget.outputs.size())
        return Error(ErrorCode::usage, "the two programs give different numbers of outputs")
            .found(countText(referenceTarget.outputs.size(), "output"))
            .expected(countText(target.outputs.size(), "output"));
    ProofPair pair{&model, &reference, target, referenceTarget, mapOf(model, target.graph, reference, referenceTarget.graph), {}};
    const Graph &here = model.graph(target.graph), &there = reference.graph(referenceTarget.graph);
    for (const auto& [mine, theirs] : names) {
        const ValueId value = here.findValue(idOf(mine)), partner = there.findValue(idOf(theirs));
        if (value.valid() && partner.valid()) pair.map.pair(value, partner);
    }
    std::vector<bool> taken(target.inputs.size(), false);
    for (const Port& port : referenceTarget.inputs) {
        int source = -1;
        for (size_t i = 0; i < target.inputs.size() && source < 0 && !names.empty(); ++i)
            if (partnerName(names, here.value(target.inputs[i].value).id) == there.value(port.value).id) source = static_cast<int>(i);
        if (source < 0)
            if (const Result<const Port*> named = findInput(target, port.name); named.ok())
                source = static_cast<int>(*named - target.inputs.data());
        if (source >= 0) taken[static_cast<size_t>(source)] = true;
        pair.sources.push_back(source);
    }
    for (size_t j = 0; j < pair.sources.size(); ++j) {
        if (pair.sources[j] >= 0) continue;
        if (j < taken.size() && !taken[j]) pair.sources[j] = static_cast<int>(j);
        else if (referenceTarget.inputs[j].isRead)
            return Error(ErrorCode::usage, "the first program has no input for it").at("input '" + referenceTarget.inputs[j].name + "'");
    }
    return pair;
}

Result<Proof> proveOn(const ProofPair& pair, Executor& here, Executor& there, std::span<const Array> inputs, const ProofOptions& proof)
{
    for (size_t i = 0; i < inputs.size(); ++i) LS_CHECK_OK(here.setInput(static_cast<int>(i), inputs[i].view()));
    for (size_t j = 0; j < pair.sources.size(); ++j) {
        const Port& port = pair.referenceTarget.inputs[j];
        if (pair.sources[j] < 0) continue;
        const auto source = static_cast<size_t>(pair.sources[j]);
        const std::optional<Array> taken = inOtherUnits(inputs[source], pair.target.inputs[source], port);
        if (!taken)
            return Error(ErrorCode::usage, "what the first program is given does not fit it")
                .at("input '" + port.name + "' of the second program")
                .found(std::string(dtypeName(inputs[source].dtype)) + toString(inputs[source].shape))
                .expected(std::string(dtypeName(port.type.dtype)) + toString(port.type.shape));
        LS_CHECK_OK(there.setInput(static_cast<int>(j), taken->view()));
    }
    return proveRuns(here, there, pair.map, proof);
}

Result<Proof> proveOn(const ProofPair& pair, std::span<const Array> inputs, const ExecutionOptions& options, Profile profile,
                      const ProofOptions& proof)
{
    ExecutionOptions other = options;
    other.profile = profile;
    LS_TRY(const std::unique_ptr<DeviceMemory> memory, deviceMemoryFor(other)); // outlives the executor
    other.device = memory.get();
    LS_TRY(const std::unique_ptr<Executor> here, makeExecutor(*pair.model, pair.target.graph, options));
    LS_TRY(const std::unique_ptr<Executor> there, makeExecutor(*pair.reference, pair.referenceTarget.graph, other));
    return proveOn(pair, *here, *there, inputs, proof);
}

} // namespace loopscope::app
