#include "app/replay/trace_executor.h"

#include "app/replay/recorded_loop.h"
#include "app/replay/recorded_stops.h"
#include "app/replay/recorded_values.h"
#include "engine/base/text.h"
#include "engine/debug/inspect/call_path.h"
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

} // namespace

class TraceExecutor::Impl {
public:
    Impl(RecordingFile file, const CancelFlag* cancel)
        : m_reader(std::move(file.reader)),
          m_run(std::move(file.run)),
          m_model(std::move(file.model)),
          m_root(file.root),
          m_cancel(cancel),
          m_values(m_model, *m_run)
    {
    }

    const Graph& graphOf(const ReplayFrame& frame) const { return m_model.graph(frame.graph()); }
    Tick tick() const { return m_position.step + std::max<int64_t>(static_cast<int64_t>(m_frames.size()) - 1, 0); }

    Status start()
    {
        LS_TRY(const std::optional<RecordedInvocation> root, m_run->firstInvocation());
        if (!root) return Error(ErrorCode::usage, "the recording holds no invocation").at(m_reader->path());
        m_frames.clear();
        m_position = {};
        m_position.started = true;
        m_nextInvocation = root->id + 1;
        m_frames.push_back({*root, {}, false, 0});
        m_asked = -1;
        m_trapped = false;
        m_values.drop();
        return settle();
    }

    /// Passes the ends of graphs: a stop is always before an operator.
    Status settle()
    {
        while (!m_frames.empty()) {
            ReplayFrame& frame = m_frames.back();
            if (static_cast<size_t>(frame.next) < graphOf(frame).operators.size()) break;
            if (frame.role.role == CallRole::loop) {
                LS_TRY(const bool goesOn, loopGoesOn(frame));
                if (goesOn) continue;
            } else if (m_frames.size() == 1) {
                // Whether a run that nobody ended was over, its recording cannot know.
                if (m_run->run().state == "incomplete") return recordingEnds(m_run->run(), address());
                finish();
                break;
            }
            // Behind the last recorded step no call has returned.
            if (m_position.step >= m_run->run().steps()) return recordingEnds(m_run->run(), address());
            leave();
        }
        update();
        return {};
    }

    /// At the end of a loop's cond or body: the body follows, or the next iteration. False: the loop is over.
    Result<bool> loopGoesOn(ReplayFrame& frame)
    {
        LS_TRY(const std::optional<RecordedInvocation> next, m_run->invocation(m_nextInvocation));
        const bool isNext = next && next->parent == frame.invocation.parent && next->site == frame.invocation.site &&
                            next->callerGraph == frame.invocation.callerGraph && next->iteration == frame.invocation.iteration + 1;
        const bool hasMore = m_position.step < frame.invocation.firstStep + frame.invocation.steps;
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
        ++m_nextInvocation;
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
        m_position.depth = static_cast<int32_t>(m_frames.size()); // who is asked about the operator looks at the frames
        completed(trips);
    }

    /// `trips`: of a loop, iterations that ran; else −1.
    void completed(int64_t trips = -1)
    {
        ReplayFrame& frame = m_frames.back();
        OperatorEvent event = eventOf(frame);
        event.trips = trips;
        if (m_also || (m_asking && (trapsOf(frame) & trapAfter) != 0)) {
            fillResults(event);
            if (m_also) m_also->operatorExecuted(event);
            if (m_asking && (trapsOf(frame) & trapAfter) != 0 && m_handler->afterOperator(event, tick() + 1)) m_trapped = true;
        }
        ++m_position.step;
        ++frame.next;
    }

    void finish()
    {
        m_position.finished = true;
        hearEnd();
        if (!m_also) return;
        RunEnd end;
        end.steps = m_position.step;
        m_also->runEnded(end);
    }

    void hearEnd()
    {
        if (m_also) m_also->invocationEnded({m_frames.back().invocation.id, m_position.step, -1});
    }

    void hearStart()
    {
        if (!m_also) return;
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
        start.step = m_position.step;
        m_also->invocationStarted(start);
    }

    OperatorEvent eventOf(const ReplayFrame& frame) const
    {
        OperatorEvent event;
        event.step = m_position.step;
        event.invocation = frame.invocation.id;
        event.graph = frame.graph();
        event.op = OperatorId(frame.next);
        return event;
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

    uint8_t trapsOf(const ReplayFrame& frame) const
    {
        return m_handler ? m_traps.of(frame.graph(), OperatorId(frame.next)) : uint8_t{trapNone};
    }

    /// The next operator completes, or is entered.
    Status advance()
    {
        if (m_position.finished) return Error(ErrorCode::usage, "the run has ended");
        m_values.drop();
        ReplayFrame& frame = m_frames.back();
        const int64_t end = m_run->run().steps();
        const Operator& op = graphOf(frame).op(OperatorId(frame.next));
        if (callForm(op).kind != CallKind::none) {
            LS_TRY(std::optional<RecordedInvocation> callee, m_run->invocation(m_nextInvocation));
            const bool isEntered =
                callee && callee->parent == frame.invocation.id && callee->callerGraph == frame.graph().index && callee->site == frame.next;
            if (isEntered) {
                ReplayFrame entered{*callee, recordedRole(callee->role), false, 0};
                entered.inCond = entered.role.role == CallRole::loop && callee->cond >= 0;
                ++m_nextInvocation;
                m_frames.push_back(std::move(entered));
                hearStart();
                return settle();
            }
        }
        if (m_position.step >= end) return recordingEnds(m_run->run(), address());
        if (m_position.step + 1 == end && m_run->run().error) { // what failed has a row of its own
            LS_TRY(const std::optional<RecordedEvent> last, m_run->event(m_position.step));
            if (last && last->hasFailed) return recordingEnds(m_run->run(), address());
        }
        completed();
        return settle();
    }

    bool seeksNow() const { return !m_also && (!m_handler || m_traps.empty()); }

    /// To the stop at a distant tick, or near the end if that comes first, where the recording says where that is.
    Status seek(Tick target)
    {
        const int64_t wanted = std::min<int64_t>(target, m_run->run().steps() - 1);
        if (wanted - tick() < kNear) return {};
        LS_TRY(std::optional<RecordedStop> stop, recordedStopAt(*m_run, wanted));
        if (!stop) return {};
        std::vector<ReplayFrame> frames;
        for (RecordedFrame& frame : stop->frames) {
            const RecordedRole role = recordedRole(frame.invocation.role);
            frames.push_back({std::move(frame.invocation), role, frame.inCond, frame.next});
            if (static_cast<size_t>(frame.next) >= graphOf(frames.back()).operators.size()) return {};
        }
        m_frames = std::move(frames);
        m_position.step = stop->step;
        m_nextInvocation = stop->nextInvocation;
        m_values.drop();
        update();
        return {};
    }

    Status runTo(Tick target, Step step)
    {
        m_trapped = false;
        if (m_position.finished || target <= tick() || step <= m_position.step) return {};
        if (seeksNow() && step == INT64_MAX) LS_CHECK_OK(seek(target));
        m_asking = m_handler != nullptr;
        Status status;
        for (int64_t count = 0;; ++count) {
            const bool there = tick() >= target || m_position.step >= step || m_position.finished;
            if (m_asking && !m_position.finished && m_asked != tick() && (trapsOf(m_frames.back()) & trapBefore) != 0) {
                m_asked = tick();
                const OperatorEvent event = eventOf(m_frames.back());
                if (m_handler->beforeOperator(event, tick())) m_trapped = true;
            }
            if (there || m_trapped) break;
            if (m_cancel && (count & 255) == 255 && m_cancel->requested()) {
                status = Error(ErrorCode::cancelled, "cancelled at " + address());
                break;
            }
            if (status = advance(); !status.ok()) break;
        }
        m_asking = false;
        return status;
    }

    void update()
    {
        m_position.depth = static_cast<int32_t>(m_frames.size());
        if (m_frames.empty()) return;
        const ReplayFrame& frame = m_frames.back();
        m_position.graph = frame.graph();
        m_position.invocation = frame.invocation.id;
        m_position.op = static_cast<size_t>(frame.next) < graphOf(frame).operators.size() ? OperatorId(frame.next) : OperatorId();
    }

    FrameInfo info(size_t index) const
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
        if (static_cast<size_t>(frame.next) < graphOf(frame).operators.size()) info.next = OperatorId(frame.next);
        info.enteredAtStep = frame.invocation.firstStep;
        return info;
    }

    std::string address() const
    {
        std::vector<FrameInfo> stack;
        for (size_t f = 0; f < m_frames.size(); ++f) stack.push_back(info(f));
        if (stack.empty()) return m_model.graphs.empty() ? "" : m_model.graph(root()).id;
        if (stack.back().next.valid()) return addressOf(m_model, stack, stack.back().next);
        return toString(addressOfStack(m_model, stack));
    }

    GraphId root() const { return m_root; }

    const KnownValue* known(int depth, ValueId id) const
    {
        if (m_frames.empty() || depth < -1 || depth >= static_cast<int>(m_frames.size())) return nullptr;
        const ReplayFrame& frame = m_frames[depth < 0 ? m_frames.size() - 1 : static_cast<size_t>(depth)];
        const Graph& graph = graphOf(frame);
        if (id.index < 0 || static_cast<size_t>(id.index) >= graph.values.size()) return nullptr;
        const Value& value = graph.value(id);
        if (value.role == ValueRole::result && value.producer.index >= frame.next) return nullptr;
        return m_values.find(frame.invocation, frame.graph(), id);
    }

    std::unique_ptr<TraceReader> m_reader;
    std::unique_ptr<RecordedRun> m_run;
    Model m_model;
    GraphId m_root;
    const CancelFlag* m_cancel;
    mutable RecordedValues m_values;
    std::vector<ReplayFrame> m_frames;
    Position m_position;
    InvocationId m_nextInvocation = 1;
    ExecutionObserver* m_also = nullptr;
    TrapSet m_traps;
    TrapHandler* m_handler = nullptr;
    bool m_asking = false, m_trapped = false;
    int64_t m_asked = -1; ///< tick of the stop that was asked about last
    std::vector<const Tensor*> m_results;
    Tensor m_noResult;
};

std::unique_ptr<TraceExecutor> TraceExecutor::create(RecordingFile file, const CancelFlag* cancel)
{
    return std::unique_ptr<TraceExecutor>(new TraceExecutor(std::make_unique<Impl>(std::move(file), cancel)));
}

TraceExecutor::TraceExecutor(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
TraceExecutor::~TraceExecutor() = default;

const Model& TraceExecutor::model() const { return m_impl->m_model; }

GraphId TraceExecutor::root() const { return m_impl->root(); }

Status TraceExecutor::setInput(int, const Tensor&)
{
    return Error(ErrorCode::usage, "a recording has its inputs").at(m_impl->m_reader->path());
}

Status TraceExecutor::start() { return m_impl->start(); }

Status TraceExecutor::step()
{
    if (!m_impl->m_position.started) return Error(ErrorCode::usage, "no run was started");
    m_impl->m_asking = m_impl->m_trapped = false;
    return m_impl->advance();
}

Status TraceExecutor::run() { return runTo(INT64_MAX); }

Status TraceExecutor::runTo(Tick tick, Step step)
{
    if (!m_impl->m_position.started) return Error(ErrorCode::usage, "no run was started");
    return m_impl->runTo(tick, step);
}

Tick TraceExecutor::tick() const { return m_impl->tick(); }

const Position& TraceExecutor::position() const { return m_impl->m_position; }

FrameInfo TraceExecutor::frame(int depth) const
{
    return m_impl->info(depth < 0 ? m_impl->m_frames.size() - 1 : static_cast<size_t>(depth));
}

std::string TraceExecutor::positionAddress() const { return m_impl->address(); }

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
    const Graph& graph = m_impl->m_model.graph(root());
    const KnownValue* const known = m_impl->known(0, graph.outputs[static_cast<size_t>(index)].value);
    return known && known->isRecorded ? known->tensor : m_impl->m_noResult;
}

MachineState TraceExecutor::snapshot() const
{
    MachineState state;
    state.step = m_impl->m_position.step;
    state.nextInvocation = m_impl->m_nextInvocation;
    state.finished = m_impl->m_position.finished;
    for (size_t f = 0; f < m_impl->m_frames.size(); ++f) {
        const FrameInfo info = m_impl->info(f);
        FrameState& frame = state.frames.emplace_back();
        frame.graph = info.graph;
        frame.role = info.role;
        frame.branch = info.branch;
        frame.invocation = info.invocation;
        frame.site = info.site;
        frame.iteration = info.iteration;
        frame.inCond = info.inCond;
        frame.next = m_impl->m_frames[f].next;
        frame.enteredAtStep = info.enteredAtStep;
    }
    return state;
}

MachineState TraceExecutor::snapshot(const MachineState&) const { return snapshot(); }

Status TraceExecutor::restore(const MachineState& state)
{
    std::vector<ReplayFrame> frames;
    for (const FrameState& saved : state.frames) {
        LS_TRY(std::optional<RecordedInvocation> invocation, m_impl->m_run->invocation(saved.invocation));
        if (!invocation) return Error(ErrorCode::usage, "this state does not belong to the recording");
        ReplayFrame frame{std::move(*invocation), {saved.role, saved.branch}, saved.inCond, saved.next};
        if (frame.graph() != saved.graph || saved.next < 0) return Error(ErrorCode::usage, "this state does not belong to the recording");
        frames.push_back(std::move(frame));
    }
    m_impl->m_frames = std::move(frames);
    m_impl->m_position = {};
    m_impl->m_position.started = true;
    m_impl->m_position.finished = state.finished;
    m_impl->m_position.step = state.step;
    m_impl->m_nextInvocation = state.nextInvocation;
    m_impl->m_asked = -1;
    m_impl->m_trapped = false;
    m_impl->m_values.drop();
    m_impl->update();
    return {};
}

void TraceExecutor::setObserver(ExecutionObserver*) {}

void TraceExecutor::muteObserver(bool, ExecutionObserver* also) { m_impl->m_also = also; }

void TraceExecutor::setTraps(const TrapSet& traps, TrapHandler* handler)
{
    m_impl->m_traps = handler ? traps : TrapSet();
    m_impl->m_handler = handler;
    m_impl->m_asked = -1;
}

bool TraceExecutor::trapped() const { return m_impl->m_trapped; }

int64_t TraceExecutor::maxSteps() const { return INT64_MAX; }

bool TraceExecutor::seeksNow() const { return m_impl->seeksNow(); }

Tick TraceExecutor::lastTick() const { return std::max<int64_t>(m_impl->m_run->run().steps() - 1, 0); }

Result<LoopAnswer> TraceExecutor::hearLoop(const LoopQuery& query, LoopListener& listener)
{
    return hearRecordedLoop(m_impl->m_model, *m_impl->m_run, m_impl->m_values, query, listener);
}

} // namespace loopscope::app
