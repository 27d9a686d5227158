#include "engine/api/inspector.h"

#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/observe/address.h"

namespace loopscope {

GraphId Inspector::root() const { return m_target.executor.root(); }
const Position& Inspector::position() const { return m_target.executor.position(); }
Tick Inspector::tick() const { return m_target.executor.tick(); }
int64_t Inspector::runs() const { return m_target.timeline.runs(); }
TimelineId Inspector::timeline() const { return m_target.timeline.current(); }
FrameInfo Inspector::frame(int depth) const { return m_target.executor.frame(depth); }
std::string Inspector::frameAddress(int depth) const { return toString(loopscope::frameAddress(m_target.executor, depth)); }
std::string Inspector::positionAddress() const { return m_target.executor.positionAddress(); }
std::vector<FrameInfo> Inspector::callStack() const { return m_target.executor.callStack(); }

Stop Inspector::stopAt(StopReport report) const
{
    Stop stop;
    stop.report = std::move(report);
    stop.stack = callStack();
    for (int depth = 0; depth < static_cast<int>(stop.stack.size()); ++depth) stop.frames.push_back(frameAddress(depth));
    if (const DataflowView* const view = dataflow()) stop.isDead = view->nextIsDead();
    bool any = false, loud = false;
    for (const StopReason& reason : stop.report.reasons) {
        if (reason.number == 0) {
            loud = loud || reason.cause != StopCause::stepDone;
            continue;
        }
        const std::optional<BreakpointSet::Reaction> reaction = m_breakpoints.reactionOf(reason.number);
        any = true;
        loud = loud || !reaction || !reaction->quiet;
        if (reaction) stop.commands.insert(stop.commands.end(), reaction->commands.begin(), reaction->commands.end());
    }
    stop.quiet = any && !loud;
    return stop;
}

const Tensor* Inspector::value(int depth, ValueId id) const { return m_target.executor.value(depth, id); }
bool Inspector::isRecorded(int depth, ValueId id) const { return m_target.executor.isRecorded(depth, id); }
const TensorStatistics* Inspector::recordedStatistics(int depth, ValueId id) const
{
    return m_target.executor.recordedStatistics(depth, id);
}
const Tensor& Inspector::output(int index) const { return m_target.executor.output(index); }
MachineState Inspector::state() const { return m_target.executor.snapshot(); }
bool Inspector::stopsInAddressOrder() const { return m_target.executor.stopsInAddressOrder(); }

const DataflowView* Inspector::dataflow() const { return m_target.executor.dataflow(); }

uint64_t Inspector::scheduleSeed() const
{
    const DataflowView* const view = dataflow();
    return view != nullptr ? view->scheduleSeed() : 0;
}

std::vector<DataflowRace> Inspector::races() const { return m_target.executor.races(); }

TimelineList Inspector::timelines() const { return {m_target.timeline.timelines(), m_target.timeline.current()}; }

SavedStates Inspector::savedStates() const
{
    return {m_target.timeline.checkpointCount(), m_target.timeline.savedBytes(), m_target.timeline.checkpointOverhead()};
}

const KernelReport& Inspector::kernelReport() const { return m_target.executor.kernelReport(); }

Result<TypedPlace> Inspector::resolve(FrameContext frame, std::string_view text) const { return resolveTyped(m_target, frame, text); }

Result<std::vector<EvaluatedValue>> Inspector::evaluate(FrameContext frame, std::string_view text) const
{
    return evaluateList(m_target, frame, text, m_reference);
}

Result<std::optional<ValueWrite>> Inspector::findWrite(FrameContext frame, const ResolvedAddress& value, HistoryQuery query) const
{
    return loopscope::findWrite(m_target, frame, value, query);
}

Result<ValueSeries> Inspector::series(FrameContext frame, const ResolvedAddress& value, const SeriesOptions& options) const
{
    return collectSeries(m_target, frame, value, options);
}

Result<ValueSeries> Inspector::series(FrameContext frame, std::string_view place, const SeriesOptions& options) const
{
    if (place.starts_with("var:")) {
        LS_TRY(const Place parsed, parsePlace(place));
        return collectVariable(m_target, frame, parsed.variable, options);
    }
    LS_TRY(const TypedPlace typed, resolve(frame, place));
    if (!typed.resolved.value.valid())
        return Error(ErrorCode::usage, "this is no value").at(toString(typed.resolved.address)).expected("a value, as 'acc' or 'add#2:0'");
    return series(frame, typed.resolved, options);
}

Result<Explanation> Inspector::why(FrameContext frame, std::string_view question) const { return explainWhy(m_target, frame, question); }

Result<std::optional<ForwardIteration>> Inspector::forwardIteration(FrameContext frame) const
{
    return findForwardIteration(m_target, frame);
}

Result<EndFound> Inspector::lookAtEnd(const Address& invocation, const EndSearch& search,
                                      const std::function<void(const EndedInvocation&)>& look) const
{
    return loopscope::lookAtEnd(m_target, invocation, search, look);
}

Result<RunSurvey> Inspector::survey(const SurveyRequest& request, bool* heardLoops)
{
    LS_TRY(RunSurvey survey, surveyRun(m_target, request));
    const bool heard = m_control.noteTrips(survey);
    if (heardLoops != nullptr) *heardLoops = heard;
    return survey;
}

std::vector<OperatorValues> Inspector::valuesOf(int depth, const std::vector<OperatorId>& operators, bool earlier,
                                                const ValueWriter& writer) const
{
    return loopscope::valuesOf(m_target, depth, operators, earlier, writer);
}

Result<Reference*> Inspector::reference() const
{
    if (m_reference == nullptr) return Error(ErrorCode::usage, "there is no reference run; use --against");
    return m_reference;
}

Result<std::optional<ComparedValue>> Inspector::compareHere(int depth, ValueId value) const
{
    LS_TRY(Reference* const other, reference());
    return loopscope::compareHere(m_target, *other, depth, value);
}

Result<Drift> Inspector::drift() const
{
    LS_TRY(Reference* const other, reference());
    return collectDrift(m_target, *other);
}

Result<Drift> Inspector::driftOf(const ResolvedAddress& value) const
{
    LS_TRY(Reference* const other, reference());
    return collectDriftOf(m_target, *other, value);
}

Status Inspector::withBothSides(const DriftRow& row, Step step,
                                const std::function<void(const Tensor& here, const Tensor* there)>& use) const
{
    LS_TRY(Reference* const other, reference());
    return loopscope::withBothSides(m_target, *other, row, step, use);
}

} // namespace loopscope
