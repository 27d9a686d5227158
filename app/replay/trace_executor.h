// A recording as an executor: stepping, breakpoints on places, time travel and questions work on it without running the model, as far as
// it was recorded.
#pragma once

#include "app/replay/recording_file.h"
#include "engine/exec/executor.h"
#include "engine/exec/seeking.h"

#include <memory>
#include <string>

namespace loopscope::app {

/// Owns the reader and the model. The order of operators follows from the model's text and the recorded invocations; events are looked at
/// only for values. Values that were not recorded are not there; recordedStatistics() may still say something of them.
class TraceExecutor final : public Executor, public Seeking {
public:
    /// Of a graph without v1 control flow, whose stops follow one another as the text has them. `cancel` may be null.
    static std::unique_ptr<TraceExecutor> create(RecordingFile file, const CancelFlag* cancel);
    ~TraceExecutor() override;
    TraceExecutor(const TraceExecutor&) = delete;
    TraceExecutor& operator=(const TraceExecutor&) = delete;

    const Model& model() const override;
    GraphId root() const override;
    Status setInput(int index, const Tensor& value) override; ///< a recording has its inputs: usage
    Status start() override;
    Status step() override;
    Status run() override;
    Status runTo(Tick tick, Step step = INT64_MAX) override;
    Tick tick() const override;
    const Position& position() const override;
    FrameInfo frame(int depth) const override;
    std::string positionAddress() const override;
    const Tensor* value(int depth, ValueId id) const override;
    bool isRecorded(int depth, ValueId id) const override;
    const TensorStatistics* recordedStatistics(int depth, ValueId id) const override;
    const Tensor& output(int index) const override;
    MachineState snapshot() const override;
    MachineState snapshot(const MachineState& previous) const override;
    Status restore(const MachineState& state) override;
    void setObserver(ExecutionObserver* observer) override; ///< what was recorded was heard already: only muteObserver's `also` hears it
    void muteObserver(bool muted, ExecutionObserver* also = nullptr) override;
    void setTraps(const TrapSet& traps, TrapHandler* handler) override;
    bool trapped() const override;
    int64_t maxSteps() const override;
    bool seeksNow() const override;
    Tick lastTick() const override;
    Result<LoopAnswer> hearLoop(const LoopQuery& query, LoopListener& listener) override;

private:
    class Impl;
    explicit TraceExecutor(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

} // namespace loopscope::app
