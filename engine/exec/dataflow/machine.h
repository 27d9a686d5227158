// The dataflow machine: the loop that runs ready nodes, over what knows where values lie (Flow), what nodes compute (NodeRunner), how
// graphs are called (Calls) and what a recording says instead (Replay). docs/dataflow.md states the rules.
#pragma once

#include "engine/exec/dataflow/calls.h"
#include "engine/exec/dataflow/flow.h"
#include "engine/exec/dataflow/inspection.h"
#include "engine/exec/dataflow/node_runner.h"
#include "engine/exec/dataflow/rendezvous.h"
#include "engine/exec/dataflow/replay.h"
#include "engine/exec/dataflow_executor.h"
#include "engine/exec/machine_state.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

class DataflowExecutor::Impl final : public RunCore, private dataflow::CallListener {
public:
    Impl(const Model& model, GraphId root, const ExecutionOptions& options);
    ~Impl() override;

    // executor.cpp: life, inputs, inspection
    Status setInput(int index, const Tensor& value) override;
    void reset();
    void follow(std::shared_ptr<RecordedResults> recorded) { m_replay.follow(std::move(recorded)); }
    bool isReplay() const { return m_replay.isOn(); }
    void setSchedule(uint64_t seed) { m_flow.setSchedule(seed); }
    std::string address() const override;
    FrameInfo frame(int depth) const;
    const Tensor* value(int depth, ValueId id) const;
    bool isRecorded(int depth, ValueId id) const;
    const TensorStatistics* recordedStatistics(int depth, ValueId id) const;
    const Tensor& output(int index) const { return m_outputs[static_cast<size_t>(index)]; }
    const DataflowView& view() const { return m_inspection; }

    MachineState snapshot() const;
    Status restore(const MachineState& state);

    void setObserver(ExecutionObserver* observer) override ///< what was recorded was heard already
    {
        if (!m_replay.isOn()) RunCore::setObserver(observer);
    }

private:
    using Cell = dataflow::Cell;
    using Iteration = dataflow::Iteration;
    using Node = dataflow::Node;

    // executor.cpp
    Status begin() override;
    void enterRoot() override;
    std::vector<const Tensor*> inputTensors() const override { return {m_inputs.begin(), m_inputs.end()}; }
    std::vector<const Tensor*> outputTensors() const override;
    void visitValues(const std::function<void(const Tensor&)>& visit) const override;
    std::vector<AccessSite> accessSites() const override;
    void trapsChanged() override { m_runner.setTraps(m_traps); }
    void clear();
    Status resize(Tensor& output, const Shape& shape, size_t bytes) override;
    int64_t iterationTick() const override;
    void elementTaken(int64_t tick, bool pops) override;

    // machine.cpp: the loop
    Status advance(bool single) override;
    template <bool Single> Status execute();
    bool selectNext();
    Status attemptFailed(Iteration& iteration, const Node& node, Error error);
    Status runNode(Iteration& iteration, const Node& node, bool isDead);
    Status askAboutNode(Iteration& iteration, const Node& node, bool isDead);
    Status finishRun();
    Status failWaiting();
    Result<bool> fetch(size_t output);
    // straight_run.cpp: whole iterations
    bool mayRunWhole(const Iteration& iteration) const;
    Status runWhole(Iteration& iteration);
    void locate(Position& position) const override;
    OperatorEvent eventOf(const Iteration& iteration, const Node& node, bool isDead = false) const;
    void callsChanged(int64_t running) override { m_limits.setOpenCalls(running); }
    void callReturns(const Iteration& iteration, const Node& node, const dataflow::Call& call) override;
    Status callCompleted(Iteration& iteration, const Node& node, int64_t trips) override;

    dataflow::Flow m_flow;
    dataflow::Replay m_replay;
    dataflow::Rendezvous m_rendezvous;
    dataflow::NodeRunner m_runner;
    dataflow::Calls m_calls;
    dataflow::Inspection m_inspection;
    std::vector<Cell*> m_inputs; ///< of the root; null: not set
    std::vector<Tensor> m_outputs;
    bool m_untouched = false; ///< the node that runs has changed nothing yet
};

} // namespace loopscope
