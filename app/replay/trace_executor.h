// A recording as an executor: stepping, breakpoints on places, time travel and questions work on it without running the model, as far as
// it was recorded.
#pragma once

#include "app/replay/recording_file.h"
#include "engine/exec/core_executor.h"
#include "engine/exec/seeking.h"

#include <memory>
#include <string>

namespace loopscope::app {

/// Owns the reader and the model. The order of operators follows from the model's text and the recorded invocations; events are looked at
/// only for values. Values that were not recorded are not there; recordedStatistics() may still say something of them.
class TraceExecutor final : public CoreExecutor, public Seeking {
public:
    /// Of a graph without v1 control flow, whose stops follow one another as the text has them. `cancel` may be null.
    static std::unique_ptr<TraceExecutor> create(RecordingFile file, const CancelFlag* cancel);
    ~TraceExecutor() override;
    TraceExecutor(const TraceExecutor&) = delete;
    TraceExecutor& operator=(const TraceExecutor&) = delete;

    FrameInfo frame(int depth) const override;
    const Tensor* value(int depth, ValueId id) const override;
    bool isRecorded(int depth, ValueId id) const override;
    const TensorStatistics* recordedStatistics(int depth, ValueId id) const override;
    const Tensor& output(int index) const override;
    MachineState snapshot() const override;
    MachineState snapshot(const MachineState& previous) const override;
    Status restore(const MachineState& state) override;
    bool seeksNow() const override;
    Tick lastTick() const override;
    Result<LoopAnswer> hearLoop(const LoopQuery& query, LoopListener& listener) override;

private:
    class Impl;
    TraceExecutor(std::unique_ptr<RecordingFile> file, std::unique_ptr<Impl> impl);
    std::unique_ptr<RecordingFile> m_file;
    std::unique_ptr<Impl> m_impl;
};

} // namespace loopscope::app
