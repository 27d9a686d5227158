// Dropping what of a graph nothing needs, and ordering the rest: what selecting a run and pruning calls are made of.
#pragma once

#include "engine/ir/model.h"

#include <vector>

namespace loopscope {

/// One graph being rewritten.
class GraphSelection {
public:
    explicit GraphSelection(Graph& graph) : m_graph(graph), m_needed(graph.operators.size(), false) {}

    void need(OperatorId op);
    void need(ValueId value);
    /// Everything that the needed operators read or wait for.
    void close();
    /// Drops the other operators and orders the rest; of several that could run next the first in the file does.
    void reorder();

private:
    void apply(const std::vector<int32_t>& order);

    Graph& m_graph;
    std::vector<bool> m_needed;
    std::vector<OperatorId> m_open;
};

} // namespace loopscope
