#include "app/replay/trace_executor.h"

#include "app/replay/recorded_loop.h"
#include "app/replay/recorded_stops.h"
#include "app/replay/recorded_values.h"
#include "engine/base/text.h"
#include "engine/debug/inspect/call_path.h"
#include "engine/exec/run_core.h"
#include "engine/ops/control_flow.h"

#include <algorithm>

namespace loopscope::app {

namespace {

constexpr int64_t kNear = 16; ///< ticks that are gone through one by one

/// A frame on the stack.
struct ReplayFrame {
    RecordedInvocation invocation;
    RecordedRole role;
    bool inCond = false;
    int32_t next = 0;

    GraphId graph() const { return GraphId(inCond ? invocation.cond : invocation.graph); }
};

ExecutionOptions optionsOf(const CancelFlag* cancel)
{
    ExecutionOptions options;
    options.maxSteps = INT64_MAX;
    options.cancel = cancel;
    return options;
}

} // namespace

/// Where the recording ends the run is not over: nothing was computed, so nothing has failed, and other stops stay in reach.
class TraceExecutor::Impl final : public RunCore {
public:
    /// `file` must outlive it.
    Impl(RecordingFile& file, const CancelFlag* cancel)
        : RunCore(file.model, file.root, optionsOf(cancel)),
          m_reader(*file.reader),
          m_run(*file.run),
          m_values(file.model, *file.run)
    {
    }

    Status setInput(int, const Tensor&) override { return Error(ErrorCode::usage, "a recording has its inputs").at(m_reader.path()); }
    void setObserver(ExecutionObserver*) override {} ///< what was recorded was heard already
    Status resize(Tensor&, const Shape&, size_t) override { return Error(ErrorCode::internal, "a recording computes nothing"); }
    std::string address() const override;
    bool seeksNow() const { return !m_audience.present() && m_traps.empty(); }
    FrameInfo info(size_t index) const;
    const KnownValue* known(int depth, ValueId id) const;
    size_t depth() const { return m_frames.size(); }
    MachineState snapshot() const;
    Status restore(const MachineState& state);
    Tick lastTick() const { return std::max<int64_t>(m_run.run().steps() - 1, 0); }
    Result<LoopAnswer> hearLoop(const LoopQuery& query, LoopListener& listener)
    {
        return hearRecordedLoop(m_model, m_run, m_values, query, listener);
    }

private:
    const Graph& graphOf(const ReplayFrame& frame) const { return m_model.graph(frame.graph()); }
    bool isAtEnd(const ReplayFrame& frame) const { return static_cast<size_t>(frame.next) >= graphOf(frame).operators.size(); }

    Status begin() override
    {
        LS_TRY(std::optional<RecordedInvocation> root, m_run.firstInvocation());
        if (!root) return Error(ErrorCode::usage, "the recording holds no invocation").at(m_reader.path());
        setNextInvocation(root->id + 1);
        std::vector<ReplayFrame> frames;
        frames.push_back({std::move(*root), {}, false, 0});
        standAt(std::move(frames));
        return {};
    }

    void enterRoot() override {}
    std::vector<const Tensor*> inputTensors() const override { return {}; }
    void visitValues(const std::function<void(const Tensor&)>&) const override {} // what was recorded refers to nothing
    std::vector<const Tensor*> outputTensors() const override { return {}; }      // they were told when they were recorded
    std::vector<AccessSite> accessSites() const override { return {}; }
    void trapsChanged() override {}

    void standAt(std::vector<ReplayFrame> frames)
    {
        m_frames = std::move(frames);
        countCalls();
        m_values.drop();
    }

    void countCalls() { m_limits.setOpenCalls(std::max<int64_t>(std::ssize(m_frames) - 1, 0)); }

    Status advance(bool single) override
    {
        if (!single && seeksNow() && m_limits.step() == INT64_MAX) LS_CHECK_OK(seek(m_limits.tick()));
        for (bool moved = false; isRunning() && !(single && moved); moved = true) {
            const ReplayFrame& frame = m_frames.back();
            if (m_asking && !isAtEnd(frame) && (trapsOf(frame) & trapBefore) != 0) askBefore(eventOf(frame));
            if (mustHalt()) return halt();
            if (Status status = next(); !status.ok()) {
                updatePosition();
                return status;
            }
        }
        if (isRunning()) updatePosition();
        return {};
    }

    /// Passes the ends of graphs: a stop is always before an operator.
    Status settle()
    {
        while (isAtEnd(m_frames.back())) {
            ReplayFrame& frame = m_frames.back();
            if (frame.role.role == CallRole::loop) {
                LS_TRY(const bool goesOn, loopGoesOn(frame));
                if (goesOn) continue;
            } else if (m_frames.size() == 1) {
                // Whether a run that nobody ended was over, its recording cannot know.
                if (m_run.run().state == "incomplete") return recordingEnds(m_run.run(), address());
                return finish(frame.invocation.id, 0);
            }
            // Behind the last recorded step no call has returned.
            if (m_step >= m_run.run().steps()) return recordingEnds(m_run.run(), address());
            leave();
        }
        return {};
    }

    /// At the end of a loop's cond or body: the body follows, or the next iteration. False: the loop is over.
    Result<bool> loopGoesOn(ReplayFrame& frame)
    {
        LS_TRY(const std::optional<RecordedInvocation> next, m_run.invocation(nextInvocation()));
        const bool isNext = next && next->parent == frame.invocation.parent && next->site == frame.invocation.site &&
                            next->callerGraph == frame.invocation.callerGraph && next->iteration == frame.invocation.iteration + 1;
        const bool hasMore = m_step < frame.invocation.firstStep + frame.invocation.steps;
        if (frame.inCond) {
            if (!hasMore && !isNext) return false;
            frame.inCond = false;
            frame.next = 0;
            return true;
        }
        if (!isNext) return false;
        hearEnd();
        frame.invocation = *next;
        frame.inCond = frame.invocation.cond >= 0;
        frame.next = 0;
        setNextInvocation(nextInvocation() + 1);
        hearStart();
        return true;
    }

    /// The call operator of the innermost frame is done.
    void leave()
    {
        hearEnd();
        const ReplayFrame& left = m_frames.back();
        int64_t trips = -1;
        if (left.role.role == CallRole::loop) trips = left.invocation.iteration + (left.inCond ? 0 : 1);
        m_frames.pop_back();
        countCalls();
        completed(trips);
    }

    /// `trips`: of a loop, iterations that ran; else −1.
    void completed(int64_t trips = -1)
    {
        ReplayFrame& frame = m_frames.back();
        OperatorEvent event = eventOf(frame);
        event.trips = trips;
        const bool isAsked = m_asking && (trapsOf(frame) & trapAfter) != 0;
        if (m_audience.present() || isAsked) fillResults(event);
        if (m_audience.present()) m_audience.present()->operatorExecuted(event);
        ++frame.next;
        if (isAsked) askAfter(event);
        ++m_step;
    }

    void hearEnd() { endInvocation(m_frames.back().invocation.id, 0); }

    void hearStart()
    {
        if (!m_audience.present()) return;
        const ReplayFrame& frame = m_frames.back();
        InvocationStart start;
        start.id = frame.invocation.id;
        start.parent = frame.invocation.parent;
        start.role = frame.role.role;
        start.branch = frame.role.branch;
        start.callerGraph = GraphId(frame.invocation.callerGraph);
        start.site = OperatorId(frame.invocation.site);
        start.graph = GraphId(frame.invocation.graph);
        start.cond = GraphId(frame.invocation.cond);
        start.iteration = frame.invocation.iteration;
        start.step = m_step;
        m_audience.present()->invocationStarted(start);
    }

    OperatorEvent eventOf(const ReplayFrame& frame) const
    {
        return RunCore::eventOf(frame.invocation.id, frame.graph(), OperatorId(frame.next));
    }

    void fillResults(OperatorEvent& event)
    {
        m_results.clear();
        const Operator& op = m_model.graph(event.graph).op(event.op);
        for (size_t k = 0; k < op.results.size(); ++k) {
            const KnownValue* const known = m_values.result(event.step, event.graph, event.op, static_cast<int>(k));
            m_results.push_back(known && known->isRecorded ? &known->tensor : nullptr);
        }
        // Listeners expect every result: without all of them there are none.
        if (std::ranges::find(m_results, nullptr) != m_results.end()) m_results.clear();
        event.results = m_results;
    }

    uint8_t trapsOf(const ReplayFrame& frame) const { return m_traps.of(frame.graph(), OperatorId(frame.next)); }

    /// The next operator completes, or is entered.
    Status next()
    {
        m_values.drop();
        ReplayFrame& frame = m_frames.back();
        if (isAtEnd(frame)) return settle(); // a root graph without operators
        const int64_t end = m_run.run().steps();
        const Operator& op = graphOf(frame).op(OperatorId(frame.next));
        if (callForm(op).kind != CallKind::none) {
            LS_TRY(std::optional<RecordedInvocation> callee, m_run.invocation(nextInvocation()));
            const bool isEntered =
                callee && callee->parent == frame.invocation.id && callee->callerGraph == frame.graph().index && callee->site == frame.next;
            if (isEntered) {
                ReplayFrame entered{*callee, recordedRole(callee->role), false, 0};
                entered.inCond = entered.role.role == CallRole::loop && callee->cond >= 0;
                setNextInvocation(nextInvocation() + 1);
                m_frames.push_back(std::move(entered));
                countCalls();
                hearStart();
                return settle();
            }
        }
        if (m_step >= end) return recordingEnds(m_run.run(), address());
        if (m_step + 1 == end && m_run.run().error) { // what failed has a row of its own
            LS_TRY(const std::optional<RecordedEvent> last, m_run.event(m_step));
            if (last && last->hasFailed) return recordingEnds(m_run.run(), address());
        }
        completed();
        return settle();
    }

    /// To the stop at a distant tick, or near the end if that comes first, where the recording says where that is.
    Status seek(Tick target)
    {
        const int64_t wanted = std::min<int64_t>(target, m_run.run().steps() - 1);
        if (wanted - tick() < kNear) return {};
        LS_TRY(std::optional<RecordedStop> stop, recordedStopAt(m_run, wanted));
        if (!stop) return {};
        std::vector<ReplayFrame> frames;
        for (RecordedFrame& frame : stop->frames) {
            const RecordedRole role = recordedRole(frame.invocation.role);
            frames.push_back({std::move(frame.invocation), role, frame.inCond, frame.next});
            if (isAtEnd(frames.back())) return {};
        }
        m_step = stop->step;
        setNextInvocation(stop->nextInvocation);
        standAt(std::move(frames));
        return {};
    }

    void locate(Position& position) const override
    {
        position.depth = static_cast<int32_t>(m_frames.size());
        if (m_frames.empty()) return;
        const ReplayFrame& frame = m_frames.back();
        position.graph = frame.graph();
        position.invocation = frame.invocation.id;
        position.op = isAtEnd(frame) ? OperatorId() : OperatorId(frame.next);
    }

    const TraceReader& m_reader;
    const RecordedRun& m_run;
    mutable RecordedValues m_values;
    std::vector<ReplayFrame> m_frames;
    std::vector<const Tensor*> m_results;
};

FrameInfo TraceExecutor::Impl::info(size_t index) const
{
    const ReplayFrame& frame = m_frames[index];
    FrameInfo info;
    info.invocation = frame.invocation.id;
    info.graph = frame.graph();
    info.role = frame.role.role;
    info.branch = frame.role.branch;
    if (index > 0) info.site = OperatorId(frame.invocation.site);
    info.iteration = frame.role.role == CallRole::loop ? frame.invocation.iteration : -1;
    info.inCond = frame.inCond;
    if (!isAtEnd(frame)) info.next = OperatorId(frame.next);
    info.enteredAtStep = frame.invocation.firstStep;
    return info;
}

std::string TraceExecutor::Impl::address() const
{
    std::vector<FrameInfo> stack;
    for (size_t f = 0; f < m_frames.size(); ++f) stack.push_back(info(f));
    if (stack.empty()) return m_model.graphs.empty() ? "" : m_model.graph(m_root).id;
    if (stack.back().next.valid()) return addressOf(m_model, stack, stack.back().next);
    return toString(addressOfStack(m_model, stack));
}

const KnownValue* TraceExecutor::Impl::known(int depth, ValueId id) const
{
    if (m_frames.empty() || depth < -1 || depth >= static_cast<int>(m_frames.size())) return nullptr;
    const ReplayFrame& frame = m_frames[depth < 0 ? m_frames.size() - 1 : static_cast<size_t>(depth)];
    const Graph& graph = graphOf(frame);
    if (id.index < 0 || static_cast<size_t>(id.index) >= graph.values.size()) return nullptr;
    const Value& value = graph.value(id);
    if (value.role == ValueRole::result && value.producer.index >= frame.next) return nullptr;
    return m_values.find(frame.invocation, frame.graph(), id);
}

MachineState TraceExecutor::Impl::snapshot() const
{
    MachineState state;
    saveTo(state);
    for (size_t f = 0; f < m_frames.size(); ++f) {
        const FrameInfo info = this->info(f);
        FrameState& frame = state.frames.emplace_back();
        frame.graph = info.graph;
        frame.role = info.role;
        frame.branch = info.branch;
        frame.invocation = info.invocation;
        frame.site = info.site;
        frame.iteration = info.iteration;
        frame.inCond = info.inCond;
        frame.next = m_frames[f].next;
        frame.enteredAtStep = info.enteredAtStep;
    }
    return state;
}

Status TraceExecutor::Impl::restore(const MachineState& state)
{
    std::vector<ReplayFrame> frames;
    for (const FrameState& saved : state.frames) {
        LS_TRY(std::optional<RecordedInvocation> invocation, m_run.invocation(saved.invocation));
        if (!invocation) return Error(ErrorCode::usage, "this state does not belong to the recording");
        ReplayFrame frame{std::move(*invocation), {saved.role, saved.branch}, saved.inCond, saved.next};
        if (frame.graph() != saved.graph || saved.next < 0) return Error(ErrorCode::usage, "this state does not belong to the recording");
        frames.push_back(std::move(frame));
    }
    restoreFrom(state);
    standAt(std::move(frames));
    if (!m_frames.empty()) continueRun(state);
    updatePosition();
    return {};
}

std::unique_ptr<TraceExecutor> TraceExecutor::create(RecordingFile file, const CancelFlag* cancel)
{
    auto kept = std::make_unique<RecordingFile>(std::move(file));
    auto impl = std::make_unique<Impl>(*kept, cancel);
    return std::unique_ptr<TraceExecutor>(new TraceExecutor(std::move(kept), std::move(impl)));
}

TraceExecutor::TraceExecutor(std::unique_ptr<RecordingFile> file, std::unique_ptr<Impl> impl)
    : CoreExecutor(*impl),
      m_file(std::move(file)),
      m_impl(std::move(impl))
{
}

TraceExecutor::~TraceExecutor() = default;

FrameInfo TraceExecutor::frame(int depth) const { return m_impl->info(depth < 0 ? m_impl->depth() - 1 : static_cast<size_t>(depth)); }

const Tensor* TraceExecutor::value(int depth, ValueId id) const
{
    const KnownValue* const known = m_impl->known(depth, id);
    return known && known->isRecorded ? &known->tensor : nullptr;
}

bool TraceExecutor::isRecorded(int depth, ValueId id) const
{
    const KnownValue* const known = m_impl->known(depth, id);
    return !known || known->isRecorded;
}

const TensorStatistics* TraceExecutor::recordedStatistics(int depth, ValueId id) const
{
    const KnownValue* const known = m_impl->known(depth, id);
    return known && known->statistics ? &*known->statistics : nullptr;
}

const Tensor& TraceExecutor::output(int index) const
{
    static const Tensor kNone;
    const Tensor* const value = this->value(0, model().graph(root()).outputs[static_cast<size_t>(index)].value);
    return value ? *value : kNone;
}

MachineState TraceExecutor::snapshot() const { return m_impl->snapshot(); }

MachineState TraceExecutor::snapshot(const MachineState&) const { return snapshot(); }

Status TraceExecutor::restore(const MachineState& state) { return m_impl->restore(state); }

bool TraceExecutor::seeksNow() const { return m_impl->seeksNow(); }

Tick TraceExecutor::lastTick() const { return m_impl->lastTick(); }

Result<LoopAnswer> TraceExecutor::hearLoop(const LoopQuery& query, LoopListener& listener) { return m_impl->hearLoop(query, listener); }

} // namespace loopscope::app
