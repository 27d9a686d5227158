// What a debugger asks about frames, tokens and deadness, answered from where a machine stands.
#pragma once

#include "engine/exec/dataflow/flow.h"
#include "engine/exec/dataflow/node_runner.h"
#include "engine/exec/dataflow/rendezvous.h"
#include "engine/exec/dataflow/replay.h"
#include "engine/exec/dataflow_view.h"

#include <string>
#include <utility>
#include <vector>

namespace loopscope::dataflow {

class Inspection final : public DataflowView {
public:
    Inspection(const RunCore& core, const Flow& flow, const Rendezvous& rendezvous, const NodeRunner& runner, const Replay& replay)
        : m_core(core),
          m_flow(flow),
          m_rendezvous(rendezvous),
          m_runner(runner),
          m_replay(replay)
    {
    }

    std::vector<DataflowFrame> frames() const override;
    std::vector<DataflowToken> tokens() const override;
    std::vector<DataflowValue> values() const override;
    std::vector<DataflowReady> ready() const override;
    uint64_t scheduleSeed() const override { return m_flow.schedule(); }
    bool nextIsDead() const override;
    std::vector<DataflowTally> tallies() const override;
    bool isDead(int depth, ValueId value) const override;
    Result<std::vector<DeadHop>> whyDead(GraphId graph, OperatorId op) const override;
    std::vector<DataflowWait> waits() const override; ///< waiting_nodes.cpp
    /// A run that cannot go on is led back to a stop where nobody waits yet; what waited then is kept until the next run.
    void rememberWaits() { m_stuck = waits(); }
    void forgetWaits() { m_stuck.clear(); }
    std::vector<DataflowRace> races() const override { return m_core.races().found(); }
    std::vector<std::string> endingFrames() const override;
    int64_t reachableNodes() const override;
    std::vector<std::string> warnings() const override;

private:
    const Iteration* iterationOf(const Program& program, int32_t frame) const;
    std::pair<OperatorId, std::string> predicateOf(const Iteration& iteration, const Node& switchNode) const;
    std::vector<DeadHop> hopsOf(const Iteration& iteration, const Node& node) const;

    const RunCore& m_core;
    const Flow& m_flow;
    const Rendezvous& m_rendezvous;
    const NodeRunner& m_runner;
    const Replay& m_replay;
    std::vector<DataflowWait> m_stuck;
};

} // namespace loopscope::dataflow
