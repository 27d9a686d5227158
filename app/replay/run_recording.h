// A recording that a debugger makes: it hears every step of a run once, in whatever order the user moves through it, and stops at the first
// edit, since a trace tells one course of events.
#pragma once

#include "engine/api/debug_subject.h"
#include "tracer/record/recorder.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::app {

/// Set it as the executor's observer: it takes effect at the next start of a run, and holds for all runs until it is taken away.
class RunRecording final : public RunRecorder {
public:
    static Result<std::unique_ptr<RunRecording>> create(const Model& model, RecorderOptions options);

    bool wantsTimes() const override { return m_recorder->wantsTimes(); }
    void runStarted(const RunStart& e) override;
    void invocationStarted(const InvocationStart& e) override;
    void operatorExecuted(const OperatorEvent& e) override;
    void variableAccessed(const VariableAccess& e) override;
    void printed(const PrintedText& e) override;
    void invocationEnded(const InvocationEnd& e) override;
    void runEnded(const RunEnd& e) override;

    /// Where the inputs of the next run come from.
    void setFeeds(const BoundInputs& inputs) override;
    /// The present run was edited: nothing more of it is recorded.
    void edited() override;

    /// Closes the file. Errors: cannotWrite.
    Status finish() override;
    RecordingState state() const override;

private:
    /// `paused`: the executor said that the run was cancelled; a debugger goes on with it.
    enum class State : uint8_t { waiting, running, paused, ended, edited };

    RunRecording(std::unique_ptr<TraceRecorder> recorder, std::string path, TraceLevel level)
        : m_recorder(std::move(recorder)),
          m_path(std::move(path)),
          m_level(level)
    {
    }
    bool hears(int64_t step);
    void endPaused();

    std::unique_ptr<TraceRecorder> m_recorder;
    std::string m_path;
    TraceLevel m_level;
    State m_state = State::waiting;
    bool m_isClosed = false;
    int64_t m_nextStep = 0;
};

} // namespace loopscope::app
