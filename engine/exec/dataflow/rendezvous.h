// What Sends have sent and Recvs wait for within one machine.
#pragma once

#include "engine/exec/dataflow/flow.h"

#include <map>
#include <string>
#include <utility>

namespace loopscope::dataflow {

/// Not thread-safe.
class Rendezvous {
public:
    using Sent = std::multimap<std::string, Cell*>;                            ///< of one key in the order in which it came
    using Parked = std::multimap<std::string, std::pair<Iteration*, int32_t>>; ///< Recvs that wait, and their positions

    explicit Rendezvous(Flow& flow) : m_flow(flow) {}

    /// Takes the cell.
    void send(const Iteration& iteration, const Node& node, Cell* cell);
    /// Whether what a Recv waits for has been sent. Otherwise the node is put aside until it is.
    bool isSent(Iteration& iteration, const Node& node);
    Cell* receive(const Iteration& iteration, const Node& node); ///< after isSent()

    Sent& sent() { return m_sent; }
    const Sent& sent() const { return m_sent; }
    Parked& parked() { return m_parked; }
    const Parked& parked() const { return m_parked; }
    void clear();

private:
    Flow& m_flow;
    Sent m_sent;
    Parked m_parked;
};

} // namespace loopscope::dataflow
