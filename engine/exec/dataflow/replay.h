// A recording in the place of kernels: which node is next, and what it gave.
#pragma once

#include "engine/exec/dataflow/flow.h"
#include "engine/exec/recorded_results.h"

#include <memory>
#include <optional>
#include <utility>

namespace loopscope::dataflow {

/// Not thread-safe. Without a recording it answers that nothing was recorded.
class Replay {
public:
    Replay(RunCore& core, Flow& flow) : m_core(core), m_flow(flow) {}

    void follow(std::shared_ptr<RecordedResults> recorded) { m_recorded = std::move(recorded); }
    bool isOn() const { return m_recorded != nullptr; }
    const RecordedResults& recorded() const { return *m_recorded; }

    /// The machine stands before a ready node: goes to the one that was recorded, whatever order it came in. Where nothing was recorded,
    /// the order is the documented one.
    void choose();
    /// Before a node runs: whether the recording goes on here.
    Status check();
    /// The output of a Switch that is not dead, if the recording says so of one alone.
    std::optional<int32_t> port(const Node& node) const;
    /// Whether the next node was recorded.
    bool isKnown() const { return m_node.has_value(); }
    /// Gives the node the results that the recording has at this step. `replaces`: results that are there give way; dead ones stay dead.
    void recallResults(const Node& node, bool replaces);
    /// Fetches the data of a value of a recording. False: it does not hold them.
    bool load(Cell& cell) const;
    /// What a recording knows of the value; null: nothing.
    const TensorStatistics* statistics(const Cell& cell) const;

private:
    bool isNext(const Iteration& iteration, OperatorId op, const RecordedNode& wanted) const;
    Result<std::optional<RecordedNode>> next() const;

    RunCore& m_core;
    Flow& m_flow;
    std::shared_ptr<RecordedResults> m_recorded; ///< null: a live run
    std::optional<RecordedNode> m_node;          ///< the next node, if it was recorded
    std::optional<Error> m_divergence;           ///< the recording cannot be followed from here
};

} // namespace loopscope::dataflow
