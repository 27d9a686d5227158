#include "app/replay/run_recording.h"

#include "app/wiring/recording.h"

namespace loopscope::app {

Result<std::unique_ptr<RunRecording>> RunRecording::create(const Model& model, RecorderOptions options)
{
    std::string path = options.path;
    const TraceLevel level = options.level;
    LS_TRY(std::unique_ptr<TraceRecorder> recorder, TraceRecorder::create(model, std::move(options)));
    return std::unique_ptr<RunRecording>(new RunRecording(std::move(recorder), std::move(path), level));
}

/// Steps of one course of events follow each other; others are those of a timeline that left it.
bool RunRecording::hears(int64_t step)
{
    if (m_state == State::paused && step == m_nextStep) m_state = State::running;
    if (m_state == State::running && step != m_nextStep) edited();
    return m_state == State::running;
}

void RunRecording::endPaused()
{
    if (m_state != State::paused && m_state != State::running) return;
    RunEnd end;
    end.reason = RunEnd::Reason::cancelled;
    end.steps = m_nextStep;
    m_recorder->runEnded(end);
    m_state = State::ended;
}

void RunRecording::runStarted(const RunStart& e)
{
    if (m_isClosed) return;
    endPaused();
    m_state = State::running;
    m_nextStep = e.firstStep;
    m_recorder->runStarted(e);
}

void RunRecording::invocationStarted(const InvocationStart& e)
{
    if (hears(e.step)) m_recorder->invocationStarted(e);
}

void RunRecording::operatorExecuted(const OperatorEvent& e)
{
    if (!hears(e.step)) return;
    m_recorder->operatorExecuted(e);
    ++m_nextStep;
}

void RunRecording::variableAccessed(const VariableAccess& e)
{
    if (hears(e.step)) m_recorder->variableAccessed(e);
}

void RunRecording::printed(const PrintedText& e)
{
    if (hears(e.step)) m_recorder->printed(e);
}

void RunRecording::invocationEnded(const InvocationEnd& e)
{
    if (hears(e.step)) m_recorder->invocationEnded(e);
}

void RunRecording::runEnded(const RunEnd& e)
{
    if (m_state != State::running) return;
    if (e.reason == RunEnd::Reason::cancelled) {
        m_state = State::paused;
        return;
    }
    m_recorder->runEnded(e);
    m_state = State::ended;
}

void RunRecording::edited()
{
    if (m_state != State::running && m_state != State::paused) return;
    endPaused();
    m_state = State::edited;
}

void RunRecording::setFeeds(const BoundInputs& inputs) { m_recorder->setFeeds(feedsOf(inputs)); }

RecordingState RunRecording::state() const
{
    RecordingState state;
    state.path = m_path;
    state.level = levelName(m_level);
    state.hasRun = m_state != State::waiting;
    state.isOn = m_state == State::running || m_state == State::paused;
    state.wasEdited = m_state == State::edited;
    state.steps = m_nextStep;
    if (!m_isClosed) return state;
    const RecordingSummary summary = m_recorder->summary();
    state.path = summary.path;
    state.events = summary.events;
    state.runs = summary.runs;
    state.outcome = summary.state;
    return state;
}

Status RunRecording::finish()
{
    endPaused();
    m_isClosed = true;
    return m_recorder->finish();
}

} // namespace loopscope::app
