// Traps: the marks on operators at which a running executor asks a handler whether to stop. Breakpoints, watches and the goals of
// `next` and `finish` all come down to them.
#pragma once

#include "engine/base/ids.h"
#include "engine/observe/events.h"

#include <cstdint>
#include <map>
#include <vector>

namespace loopscope {

/// Marks of one operator, combined with |.
enum Trap : uint8_t {
    trapNone = 0,
    trapBefore = 1, ///< before it runs, or is entered
    trapAfter = 2,  ///< when its results are written; of a call when it returns
};

/// Which operators of which graphs have traps, in every invocation of the graph.
class TrapSet {
public:
    void add(GraphId graph, OperatorId op, uint8_t traps)
    {
        std::vector<uint8_t>& marks = m_graphs[graph];
        const auto at = static_cast<size_t>(op.index);
        if (marks.size() <= at) marks.resize(at + 1, trapNone);
        marks[at] |= traps;
    }
    void add(const TrapSet& other)
    {
        for (const auto& [graph, marks] : other.m_graphs)
            for (size_t i = 0; i < marks.size(); ++i)
                if (marks[i] != trapNone) add(graph, OperatorId(static_cast<int64_t>(i)), marks[i]);
    }
    uint8_t of(GraphId graph, OperatorId op) const
    {
        const auto found = m_graphs.find(graph);
        const auto at = static_cast<size_t>(op.index);
        return found == m_graphs.end() || found->second.size() <= at ? uint8_t{trapNone} : found->second[at];
    }
    bool empty() const { return m_graphs.empty(); }
    bool has(GraphId graph) const { return m_graphs.contains(graph); }

private:
    std::map<GraphId, std::vector<uint8_t>> m_graphs;
};

/// Called on the executor's thread. Events, tensors and the executor's values are valid during the call; the handler may read the
/// executor (frame(), value(), tick()) but not drive it.
class TrapHandler {
public:
    virtual ~TrapHandler() = default;
    /// The executor is before an operator with trapBefore, at the stop with this tick; `event` has no results yet. True: stop here.
    virtual bool beforeOperator(const OperatorEvent& event, Tick tick) = 0;
    /// An operator with trapAfter has written its results, and the executor's innermost frame is that of the operator, behind it; the step
    /// is not counted yet. `tick` is that of the stop that follows, where a `true` stops the run.
    virtual bool afterOperator(const OperatorEvent& event, Tick tick) = 0;

    /// What the handler has no more interest in: while this invocation of this graph runs, the executor need not ask about operators of the
    /// graph (it may, all the same). The handler sets it when it is asked; invocation 0: nothing.
    struct Quiet {
        InvocationId invocation;
        GraphId graph;
        bool operator==(const Quiet&) const = default;
    };
    Quiet quiet;
};

} // namespace loopscope
