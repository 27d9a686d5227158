// The executor of TensorFlow graphs with v1 control flow (Switch, Merge, Enter, Exit, NextIteration): one token at a time, by TensorFlow's
// own rules. It runs functional TensorFlow graphs as well, whatever mixture they are. docs/dataflow.md describes how it works.
#pragma once

#include "engine/exec/core_executor.h"
#include "engine/exec/execution_options.h"
#include "engine/exec/machine_state.h"
#include "engine/exec/recorded_results.h"

#include <memory>
#include <string>
#include <vector>

namespace loopscope {

/// Runs the graph `root` of a TensorFlow model: all nodes that its roots and inputs reach. What a session feeds and fetches are the inputs
/// and outputs of the graph (selectForRun in engine/transform makes such a graph). A dead output fails the run with TensorFlow's words.
///
/// Order: iterations one after the other, nodes of an iteration as ready in topological order (ties by file order), callees at once, inner
/// frames when the iteration around them has nothing else to do. `ExecutionOptions::scheduleSeed` picks among all ready nodes instead.
/// Trap handlers are asked about dead nodes, too: their event has the state `dead`.
class DataflowExecutor final : public CoreExecutor {
public:
    /// Errors: usage, no such graph; unsupported, not a TensorFlow model. What is wrong with the graph itself is an error of start().
    static Result<std::unique_ptr<DataflowExecutor>> create(const Model& model, GraphId root, const ExecutionOptions& options = {});
    /// Steps through a recorded run: frames, iterations and dead tokens follow from the graph and from the predicates that were recorded,
    /// the order and all values from the recording; no kernel runs. Values that were not recorded are not there (isRecorded()); inputs
    /// cannot be set. What was recorded was heard already: only muteObserver()'s `also` hears it.
    static std::unique_ptr<DataflowExecutor> replay(std::shared_ptr<RecordedResults> recorded, const CancelFlag* cancel);
    ~DataflowExecutor() override;
    DataflowExecutor(const DataflowExecutor&) = delete;
    DataflowExecutor& operator=(const DataflowExecutor&) = delete;

    /// Iterations of v1 frames have role `frame`; their `site` is the first Enter that leads into the frame.
    FrameInfo frame(int depth) const override;
    /// Of the iteration at `depth`; null also for dead values (DataflowView::isDead tells them apart).
    const Tensor* value(int depth, ValueId id) const override;
    bool isRecorded(int depth, ValueId id) const override;
    const TensorStatistics* recordedStatistics(int depth, ValueId id) const override;
    const Tensor& output(int index) const override;
    MachineState snapshot() const override;
    MachineState snapshot(const MachineState& previous) const override;
    Status restore(const MachineState& state) override;
    bool stopsInAddressOrder() const override { return false; }
    const DataflowView* dataflow() const override;
    void setScheduleSeed(uint64_t seed) override;

    /// Forgets variables, tables and random numbers.
    void reset();
    /// Variables and other resources that live as long as the session; executors of other selections of the same graph may take them over.
    ResourceStore& resources();
    const ResourceStore* sessionResources() const override;
    RandomState& random();

private:
    class Impl;
    explicit DataflowExecutor(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

} // namespace loopscope
