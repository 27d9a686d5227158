// Which Recvs wait, for whom, and what keeps those from sending: backwards over nodes that have not run yet.
#include "engine/exec/dataflow/inspection.h"
#include "engine/exec/dataflow/location.h"
#include "engine/exec/dataflow/rendezvous.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>

namespace loopscope::dataflow {

namespace {

constexpr size_t kMostSteps = 10'000; ///< of the search for one Recv
constexpr size_t kMostWay = 200;      ///< nodes one behind the other: the search calls itself

bool isReady(const Iteration& iteration, const Node& node)
{
    return (iteration.readyBits[static_cast<size_t>(node.position) / 64] >> (node.position % 64) & 1) != 0;
}

bool hasRun(const Iteration& iteration, const Node& node)
{
    const Waiting& counts = iteration.waiting[static_cast<size_t>(node.position)];
    return (node.isMerge ? counts.chosen != -1 : counts.pending <= 0) && !isReady(iteration, node);
}

/// A frame inside of the iteration.
bool isOpen(const Iteration& iteration, int32_t frame)
{
    return std::ranges::any_of(
        iteration.children, [&](const Frame* child) { return child->activation == iteration.frame->activation && child->index == frame; });
}

/// The Send that a Recv's attributes name; null: there is none.
const Node* senderOf(const GraphCode& code, const Operator& receive)
{
    for (const Node& node : code.nodes) {
        if (node.kind != NodeKind::send) continue;
        const Operator& op = code.graph->op(node.op);
        const bool isIt =
            std::ranges::all_of(std::initializer_list<const char*>{"send_device", "recv_device", "tensor_name"}, [&](const char* name) {
                return attributeString(op.attributes, name, "") == attributeString(receive.attributes, name, "");
            });
        if (isIt) return &node;
    }
    return nullptr;
}

} // namespace

std::vector<DataflowWait> Inspection::waits() const
{
    std::vector<DataflowWait> waits;
    std::vector<const Iteration*> where;
    const std::multimap<std::string, std::pair<const Iteration*, int32_t>> parked = m_rendezvous.waiting(m_flow.active());
    if (parked.empty()) return m_stuck;
    for (const auto& [key, place] : parked) {
        const auto& [iteration, position] = place;
        const GraphCode& code = programOf(*iteration).code;
        const Node& node = code.nodes[static_cast<size_t>(iteration->frame->code->firstNode + position)];
        waits.push_back({code.id, node.op, addressOf(*iteration, node.op), key, {}, {}, -1, false});
        where.push_back(iteration);
    }
    const auto waitOf = [&](const Iteration& iteration, OperatorId op) {
        for (size_t w = 0; w < waits.size(); ++w)
            if (where[w] == &iteration && waits[w].receive == op) return static_cast<int64_t>(w);
        return int64_t{-1};
    };
    for (size_t w = 0; w < waits.size(); ++w) {
        DataflowWait& wait = waits[w];
        const Iteration& iteration = *where[w];
        const GraphCode& code = programOf(iteration).code;
        const Node* const sender = senderOf(code, code.graph->op(wait.receive));
        if (sender == nullptr) continue;
        wait.send = sender->op;
        if (sender->frame != iteration.frame->index || hasRun(iteration, *sender)) continue;
        // Depth first, so that what is told is a way from the Send to what it waits for.
        std::set<int32_t> seen;
        std::vector<OperatorId> way;
        const std::function<bool(const Node&)> search = [&](const Node& node) {
            if (!seen.insert(node.position).second || seen.size() > kMostSteps || way.size() > kMostWay) return false;
            way.push_back(node.op);
            wait.other = waitOf(iteration, node.op);
            if (wait.other >= 0) return true;
            wait.canRun = isReady(iteration, node);
            if (wait.canRun) return true;
            if (!hasRun(iteration, node)) {
                const Operator& op = code.graph->op(node.op);
                std::vector<OperatorId> sources = op.controlInputs;
                for (const ValueId input : op.inputs)
                    if (input.valid()) sources.push_back(code.graph->value(input).producer);
                for (const OperatorId source : sources) {
                    const int32_t at = source.valid() ? code.nodeOf[static_cast<size_t>(source.index)] : -1;
                    if (at < 0) continue;
                    const Node& producer = code.nodes[static_cast<size_t>(at)];
                    if (producer.frame != iteration.frame->index) {
                        wait.isInside = producer.kind == NodeKind::exit && isOpen(iteration, producer.frame);
                        if (wait.isInside) way.push_back(source);
                        if (wait.isInside) return true;
                        continue;
                    }
                    if (waitOf(iteration, source) < 0 && hasRun(iteration, producer)) continue;
                    if (search(producer)) return true;
                }
            }
            way.pop_back();
            return false;
        };
        if (search(*sender)) wait.way = way;
    }
    return waits;
}

} // namespace loopscope::dataflow
