// Functions: how call nodes enter graphs, what happens when those are through, and what the observer hears of invocations.
#pragma once

#include "engine/exec/dataflow/flow.h"
#include "engine/exec/dataflow/node_runner.h"
#include "engine/exec/dataflow/replay.h"

#include <memory>
#include <span>
#include <vector>

namespace loopscope::dataflow {

/// Who counts calls, and hears and asks about them: the machine.
class CallListener {
public:
    virtual ~CallListener() = default;
    /// A call was entered or left.
    virtual void callsChanged(int64_t running) = 0;
    /// The call node has written its results (Flow::results); the call counts as running still.
    virtual void callReturns(const Iteration& iteration, const Node& node, const Call& call) = 0;
    /// It does no more: its results are to be delivered. `trips` of a loop, else −1.
    virtual Status callCompleted(Iteration& iteration, const Node& node, int64_t trips) = 0;
};

/// Not thread-safe.
class Calls {
public:
    Calls(RunCore& core, Flow& flow, NodeRunner& runner, Replay& replay, CallListener& listener);

    /// Puts the root graph on the way with its inputs.
    Status enterRoot(std::span<Cell* const> inputs);
    /// A call node runs: its callee is put on the way. Errors leave nothing behind while isEntered() is false.
    Status enter(Iteration& iteration, const Node& node);
    /// Whether the last enter() came as far as to change anything.
    bool isEntered() const { return m_isEntered; }
    /// A node of `iteration` has run and its results are delivered.
    Status finishNode(Iteration& iteration);
    void startInvocation(Iteration& iteration);

    std::vector<std::unique_ptr<Activation>>& activations() { return m_activations; }
    const std::vector<std::unique_ptr<Activation>>& activations() const { return m_activations; }
    std::vector<std::unique_ptr<Call>>& running() { return m_calls; }
    const std::vector<std::unique_ptr<Call>>& running() const { return m_calls; }
    /// Everything goes; the flow is cleared elsewhere.
    void clear();

private:
    Status checkEntered(const Iteration& iteration, const Node& node, const CallCode& code) const;
    Status readFor(Call& call, const Iteration& iteration, const Node& node);
    Status activate(Call& call, GraphId graph, CallRole role, int32_t branch);
    Status begin(Activation& activation, std::span<Cell* const> arguments);
    Status settle(Activation* activation, Call* call = nullptr);
    Result<Activation*> continueCall(Call& call);
    Result<Activation*> continueLoop(Call& call);
    Result<Activation*> completeCall(Call& call);
    void dropActivation(Activation& activation);
    Result<std::vector<Cell*>> takeOutputs(Activation& activation);

    RunCore& m_core;
    Flow& m_flow;
    CellPool& m_cells;
    NodeRunner& m_runner;
    Replay& m_replay;
    CallListener& m_listener;
    std::vector<std::unique_ptr<Activation>> m_activations; ///< [0]: the root
    std::vector<std::unique_ptr<Call>> m_calls;             ///< that are running
    bool m_isEntered = false;
};

} // namespace loopscope::dataflow
