#include "viewer/bridge/branch_sides.h"

#include "engine/ir/ids.h"
#include "engine/observe/address.h"
#include "engine/ops/control_flow.h"

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr int64_t kSearchNs = 30'000'000; ///< in one ended invocation: whoever steps on in the meantime waits no longer

void addSides(const Model& model, GraphId graph, const std::string& invocation, const std::vector<OperatorId>& sites,
              const std::function<const Tensor*(ValueId)>& value, BranchSides& sides)
{
    for (const OperatorId site : sites) {
        const Operator& op = model.graph(graph).op(site);
        if (const std::optional<int> side = sideTaken(op, value)) sides[invocation + "/" + addressSite(op, site.index)] = *side;
    }
}

} // namespace

std::optional<int> sideTaken(const Operator& op, const std::function<const Tensor*(ValueId)>& value)
{
    const CallForm form = callForm(op);
    if (form.kind != CallKind::branch && form.kind != CallKind::select) return std::nullopt;
    if (op.inputs.empty() || !op.inputs.front().valid() || form.callees.empty()) return std::nullopt;
    const Tensor* const steer = value(op.inputs.front());
    if (steer == nullptr || steer->data == nullptr) return std::nullopt;
    if (form.kind == CallKind::branch && form.tensorflow) {
        const Result<bool> taken = tfTruth(*steer);
        return taken.ok() ? std::optional(*taken ? 0 : 1) : std::nullopt;
    }
    if (steer->elementCount() < 1) return std::nullopt;
    const double number = elementAsReal(*steer, 0);
    if (form.kind == CallKind::branch) return number != 0 ? 0 : 1;
    const auto last = static_cast<int>(form.callees.size()) - 1;
    return number >= 0 && number <= last ? static_cast<int>(number) : last; // out of range is the last one
}

const std::vector<OperatorId>& BranchSites::of(const Model& model, GraphId graph)
{
    const auto [known, isNew] = m_known.try_emplace(graph.index);
    if (!isNew) return known->second;
    const std::vector<Operator>& operators = model.graph(graph).operators;
    for (size_t o = 0; o < operators.size(); ++o) {
        const CallKind kind = callForm(operators[o]).kind;
        if (kind == CallKind::branch || kind == CallKind::select) known->second.emplace_back(static_cast<int64_t>(o));
    }
    return known->second;
}

BranchSides sidesOfStack(const Inspector& inspector, BranchSites& sites)
{
    BranchSides sides;
    const int depth = inspector.position().depth;
    for (int d = 0; d < depth; ++d) {
        const FrameInfo frame = inspector.frame(d);
        if (!frame.graph.valid()) continue;
        std::vector<OperatorId> ended = sites.of(inspector.model(), frame.graph);
        if (ended.empty()) continue;
        const auto value = [&](ValueId id) { return inspector.value(d, id); };
        // Nodes of TensorFlow 1 graphs run in any order: what gave something has run.
        if (!inspector.stopsInAddressOrder()) {
            const Graph& graph = inspector.model().graph(frame.graph);
            std::erase_if(ended, [&](OperatorId op) {
                return std::ranges::none_of(graph.op(op).results, [&](ValueId result) { return value(result) != nullptr; });
            });
        } else if (frame.next.valid()) {
            std::erase_if(ended, [&](OperatorId op) { return op.index >= frame.next.index; });
        }
        if (!ended.empty()) addSides(inspector.model(), frame.graph, inspector.frameAddress(d), ended, value, sides);
    }
    return sides;
}

BranchSides sidesOfEnded(const Inspector& inspector, const std::string& invocation)
{
    BranchSides sides;
    const Result<Address> address = parseAddress(invocation);
    if (!address.ok()) return sides;
    BranchSites sites;
    EndSearch search;
    search.budgetNs = kSearchNs;
    // What is not found is not known: whoever asked shows neither side as taken.
    static_cast<void>(inspector.lookAtEnd(*address, search, [&](const EndedInvocation& end) {
        const GraphId graph = end.frame().graph;
        const auto value = [&](ValueId id) { return end.value(id); };
        addSides(inspector.model(), graph, invocation, sites.of(inspector.model(), graph), value, sides);
    }));
    return sides;
}

std::string roleOfSide(const Operator& op, int side)
{
    const CallForm form = callForm(op);
    return side >= 0 && static_cast<size_t>(side) < form.callees.size() ? form.callees[static_cast<size_t>(side)].role : std::string();
}

} // namespace loopscope::viewer
