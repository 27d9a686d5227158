#include "engine/exec/dataflow/rendezvous.h"

#include "engine/exec/dataflow/location.h"

namespace loopscope::dataflow {

namespace {

std::string rendezvousKey(const Iteration& iteration, const Node& node)
{
    const Operator& op = programOf(iteration).code.graph->op(node.op);
    std::string key;
    for (const char* part : {"send_device", "recv_device", "tensor_name"})
        key += std::string(attributeString(op.attributes, part, "")) + ";";
    // What TensorFlow has put where it cut a graph stays within a call; what a program sends may be received in another one.
    if (op.kind.name.starts_with('_')) return key + toString(addressOf(iteration));
    for (const Iteration* at = &iteration; at->frame->index != 0; at = parentOf(*at))
        key += at->frame->code->name + "@" + std::to_string(at->number) + ";";
    return key;
}

} // namespace

void Rendezvous::send(const Iteration& iteration, const Node& node, Cell* cell)
{
    const std::string key = rendezvousKey(iteration, node);
    m_sent.emplace(key, cell);
    const auto parked = m_parked.lower_bound(key);
    if (parked == m_parked.end() || parked->first != key) return;
    const auto [waiting, position] = parked->second;
    m_parked.erase(parked);
    m_flow.markReady(*waiting, position, false);
    --waiting->outstanding; // it never stopped counting
    --waiting->frame->activation->outstanding;
}

bool Rendezvous::isSent(Iteration& iteration, const Node& node)
{
    const std::string key = rendezvousKey(iteration, node);
    if (m_sent.contains(key)) return true;
    m_parked.emplace(key, std::pair(&iteration, node.position));
    return false;
}

Cell* Rendezvous::receive(const Iteration& iteration, const Node& node)
{
    const auto sent = m_sent.lower_bound(rendezvousKey(iteration, node));
    Cell* const cell = sent->second;
    m_sent.erase(sent);
    return cell;
}

void Rendezvous::clear()
{
    for (const auto& [key, cell] : m_sent) m_flow.cells().release(cell);
    m_sent.clear();
    m_parked.clear();
}

} // namespace loopscope::dataflow
