#include "engine/exec/run_core.h"

#include "engine/base/interruption.h"
#include "engine/base/text.h"
#include "engine/exec/core_executor.h"
#include "engine/exec/list_sweep.h"
#include "engine/exec/machine_state.h"

#include <algorithm>
#include <new>
#include <stdexcept>

namespace loopscope {

namespace {

std::string inputTypeText(DType dtype, const Shape& shape)
{
    return std::string(dtypeName(dtype)) + (shape.hasRank() ? toString(shape) : "[*]");
}

VariableAccess::Kind accessKind(AccessKind kind)
{
    switch (kind) {
    case AccessKind::create: return VariableAccess::Kind::create;
    case AccessKind::read: return VariableAccess::Kind::read;
    case AccessKind::write: break;
    }
    return VariableAccess::Kind::write;
}

bool isTensorFlowOnly(const Model& model)
{
    const auto isOne = [](const Operator& op) { return op.kind.dialect == "tf"; };
    return model.dialect == Dialect::tf &&
           std::ranges::all_of(model.graphs, [&](const Graph& graph) { return std::ranges::all_of(graph.operators, isOne); });
}

} // namespace

RunCore::RunCore(const Model& model, GraphId root, const ExecutionOptions& options)
    : KernelHost(options, m_step),
      m_model(model),
      m_root(root),
      m_options(options),
      m_cancel(options.cancel ? *options.cancel : m_neverCancelled),
      m_limits(options.maxSteps),
      m_isTensorFlow(!options.kernels && isTensorFlowOnly(model)),
      m_races(model)
{
}

RunCore::~RunCore() = default;

Result<const Value*> RunCore::settableInput(int index) const
{
    const Graph& graph = m_model.graph(m_root);
    if (index < 0 || static_cast<size_t>(index) >= graph.inputs.size())
        return Error(ErrorCode::usage, "there is no input " + std::to_string(index)).found(std::to_string(graph.inputs.size()) + " inputs");
    const Value& declared = graph.value(graph.inputs[static_cast<size_t>(index)]);
    if (isRunning()) return Error(ErrorCode::usage, "a run is going on").at("input '" + declared.id + "'");
    return &declared;
}

Status checkInput(const Value& declared, DType dtype, const Tensor& value)
{
    const std::string place = "input '" + declared.id + "'";
    const std::optional<int64_t> count = checkedElementCount(value.shape);
    if (value.dtype != dtype || !count)
        return Error(ErrorCode::usage, "found " + inputTypeText(value.dtype, value.shape))
            .at(place)
            .expected(inputTypeText(declared.type.dtype, declared.type.dynamicShape()));
    if (bitWidth(value.dtype) > 0 && value.bytes != byteSize(value.dtype, *count))
        return Error(ErrorCode::usage, "wrong number of bytes")
            .at(place)
            .found(std::to_string(value.bytes))
            .expected(std::to_string(byteSize(value.dtype, *count)));
    return {};
}

Status RunCore::start()
{
    m_audience.close(); // a run that does not begin is not announced
    m_phase = Phase::idle;
    m_step = 0;
    m_limits.setOpenCalls(0);
    m_askedBefore = -1;
    m_limits.setPause(false);
    m_resources.objects().clear();
    holdListElements(inputTensors(), m_resources);
    m_races.set({}, {});
    LS_CHECK_OK(guarded([this] { return begin(); }));
    m_lastingStep = -1;
    m_audience.open();
    m_phase = Phase::running;
    m_resources.listener = listener();
    if (ExecutionObserver* const observer = m_audience.present()) {
        RunStart event;
        event.model = &m_model;
        event.root = m_root;
        event.signature = m_options.signature;
        const std::vector<const Tensor*> inputs = inputTensors();
        event.inputs = inputs;
        observer->runStarted(event);
    }
    enterRoot();
    updatePosition();
    return {};
}

/// Kernels and planning allocate with the standard library, too: what a file or an input asks of it in vain ends here. So does a kernel in
/// the middle of its work, once the run is cancelled.
template <typename Work> Status RunCore::guarded(Work work)
{
    // A kernel that may have changed what outlives it comes to its end, so that the operator can run anew.
    const auto mayStop = [](const void* core) {
        const auto& self = *static_cast<const RunCore*>(core);
        return self.m_lastingStep != self.m_step;
    };
    const InterruptionScope heeds(&m_cancel, mayStop, this);
    try {
        if (m_limits.pauses()) { // what had to wait for a moment between two operators
            m_limits.setPause(false);
            sweepListElements(m_resources, [&](const ValueVisit& visit) { visitValues(visit); });
        }
        return work();
    } catch (const Interrupted&) {
        return fail(Error(ErrorCode::cancelled, "cancelled"));
    } catch (const std::bad_alloc&) {
        return fail(Error(ErrorCode::execution, "out of memory"));
    } catch (const std::length_error&) {
        return fail(Error(ErrorCode::execution, "a size that no machine can hold"));
    }
}

namespace {

Error notRunning(bool isIdle) { return Error(ErrorCode::usage, isIdle ? "no run was started" : "the run has ended"); }

} // namespace

Status RunCore::stepOnce()
{
    if (!isRunning()) return notRunning(m_phase == Phase::idle);
    m_asking = false;
    m_limits.setStop(false);
    return guarded([this] { return advance(true); });
}

Status RunCore::runGuarded()
{
    m_asking = m_trapHandler != nullptr;
    for (;;) {
        Status status = guarded([this] { return advance(false); });
        if (!status.ok() || !m_limits.pauses() || !isRunning() || m_limits.stops()) return status;
    }
}

Status RunCore::run()
{
    if (!isRunning()) return notRunning(m_phase == Phase::idle);
    m_limits.setStop(false);
    return runGuarded();
}

Status RunCore::runTo(Tick tick, Step step)
{
    m_limits.setStop(false);
    if (m_phase == Phase::finished) return {};
    if (!isRunning()) return notRunning(m_phase == Phase::idle);
    if (tick <= this->tick() || step <= m_step) return {};
    m_limits.aimAt(tick, step);
    Status status = runGuarded();
    m_limits.aimAt(INT64_MAX, INT64_MAX);
    return status;
}

void RunCore::muteObserver(bool muted, ExecutionObserver* also)
{
    m_audience.mute(muted, also);
    m_resources.listener = isRunning() ? listener() : nullptr;
}

void RunCore::setTraps(const TrapSet& traps, TrapHandler* handler)
{
    m_traps = handler ? traps : TrapSet();
    m_trapHandler = handler;
    m_askedBefore = -1;
    trapsChanged();
}

void RunCore::askBefore(const OperatorEvent& event)
{
    const Tick here = tick();
    if (here == m_askedBefore) return;
    m_askedBefore = here;
    updatePosition();
    if (!m_trapHandler->beforeOperator(event, here)) return;
    m_limits.setStop(true);
}

/// The machine stands in the frame of the operator, and behind it already, so that its results are live.
void RunCore::askAfter(const OperatorEvent& event)
{
    updatePosition();
    if (!m_trapHandler->afterOperator(event, tick() + 1)) return;
    m_limits.setStop(true);
}

Status RunCore::halt()
{
    if (m_cancel.requested() || (m_limits.isBudgetUsedUp(m_step) && !m_limits.isWanted(m_step))) return checkBudget();
    updatePosition();
    return {};
}

/// The run ends: it was cancelled, or its budget is used up.
Status RunCore::checkBudget()
{
    if (m_cancel.requested()) return fail(Error(ErrorCode::cancelled, "cancelled"));
    return stopAt(Error(ErrorCode::execution, "step budget of " + groupThousands(m_options.maxSteps) + " reached at " + address()),
                  RunEnd::Reason::budget);
}

Error RunCore::fail(Error error)
{
    if (error.code() == ErrorCode::cancelled)
        return stopAt(Error(ErrorCode::cancelled, "cancelled at " + address()), RunEnd::Reason::cancelled);
    return stopAt(std::move(error).at(address()), RunEnd::Reason::failed);
}

Error RunCore::stopAt(Error error, RunEnd::Reason reason)
{
    updatePosition();
    m_phase = Phase::ended;
    endRun(reason, error.message());
    return error;
}

Status RunCore::finish(InvocationId rootInvocation, int64_t startNs)
{
    m_phase = Phase::finished;
    updatePosition();
    endInvocation(rootInvocation, startNs);
    endRun(RunEnd::Reason::finished, {});
    return {};
}

void RunCore::endRun(RunEnd::Reason reason, std::string_view message)
{
    m_resources.listener = nullptr;
    ExecutionObserver* const observer = m_audience.present();
    if (!observer) return;
    RunEnd end;
    end.reason = reason;
    end.steps = m_step;
    end.ns = m_audience.sinceStart();
    end.message = message;
    std::vector<const Tensor*> outputs;
    if (reason == RunEnd::Reason::finished) outputs = outputTensors();
    end.outputs = outputs;
    observer->runEnded(end);
}

OperatorEvent RunCore::eventOf(InvocationId invocation, GraphId graph, OperatorId op) const
{
    synchronise(SyncPoint::event);
    OperatorEvent event;
    event.step = m_step;
    event.invocation = invocation;
    event.graph = graph;
    event.op = op;
    return event;
}

void RunCore::endInvocation(InvocationId invocation, int64_t startNs)
{
    ExecutionObserver* const observer = m_audience.present();
    if (!observer || invocation == 0) return;
    InvocationEnd event;
    event.id = invocation;
    event.step = m_step;
    event.ns = m_audience.since(startNs);
    observer->invocationEnded(event);
}

void RunCore::updatePosition()
{
    m_position.started = m_phase != Phase::idle;
    m_position.finished = m_phase == Phase::finished;
    m_position.step = m_step;
    locate(m_position);
}

void RunCore::forgetRun()
{
    m_phase = Phase::idle;
    m_step = 0;
    m_limits.setOpenCalls(0);
    m_resources = ResourceStore();
    m_random = RandomState(m_options.seed);
}

void RunCore::saveTo(MachineState& state) const
{
    synchronise(SyncPoint::snapshot);
    state.step = m_step;
    state.nextInvocation = m_nextInvocation;
    state.finished = m_phase == Phase::finished;
    state.resources = m_resources;
    state.random = m_random;
    state.accesses = m_races.accesses();
    state.races = m_races.found();
}

/// The run of the state goes on only with continueRun().
void RunCore::restoreFrom(const MachineState& state)
{
    m_phase = Phase::idle;
    ResourceListener* const before = m_resources.listener;
    m_resources = state.resources;
    m_resources.listener = before;
    m_random = state.random;
    m_step = state.step;
    m_limits.setOpenCalls(0);
    m_askedBefore = -1;
    m_nextInvocation = state.nextInvocation;
    m_races.set(state.accesses, state.races);
}

void RunCore::continueRun(const MachineState& state)
{
    m_phase = state.finished ? Phase::finished : Phase::running;
    m_resources.listener = listener();
}

void RunCore::touched(const std::string& variable, bool isWrite) { m_races.note(accessSites(), variable, isWrite, m_step); }

void RunCore::accessed(const std::string& name, AccessKind kind, const Tensor* value)
{
    if (kind != AccessKind::create && m_model.dialect == Dialect::tf) touched(name, kind == AccessKind::write);
    if (!m_audience.present()) return;
    VariableAccess access;
    access.kind = accessKind(kind);
    access.name = name;
    access.value = value;
    access.step = m_step;
    m_audience.present()->variableAccessed(access);
}

const Model& CoreExecutor::model() const { return m_core.model(); }

GraphId CoreExecutor::root() const { return m_core.root(); }

Status CoreExecutor::setInput(int index, const Tensor& value) { return m_core.setInput(index, value); }

Status CoreExecutor::start() { return m_core.start(); }

Status CoreExecutor::step() { return m_core.stepOnce(); }

Status CoreExecutor::run() { return m_core.run(); }

Status CoreExecutor::runTo(Tick tick, Step step) { return m_core.runTo(tick, step); }

Tick CoreExecutor::tick() const { return m_core.tick(); }

const Position& CoreExecutor::position() const { return m_core.position(); }

std::string CoreExecutor::positionAddress() const { return m_core.address(); }

void CoreExecutor::setObserver(ExecutionObserver* observer) { m_core.setObserver(observer); }

void CoreExecutor::muteObserver(bool muted, ExecutionObserver* also) { m_core.muteObserver(muted, also); }

void CoreExecutor::setTraps(const TrapSet& traps, TrapHandler* handler) { m_core.setTraps(traps, handler); }

bool CoreExecutor::trapped() const { return m_core.trapped(); }

std::vector<DataflowRace> CoreExecutor::races() const { return static_cast<const RunCore&>(m_core).races().found(); }

const KernelReport& CoreExecutor::kernelReport() const { return static_cast<const RunCore&>(m_core).kernelReport(); }

int64_t CoreExecutor::maxSteps() const { return m_core.options().maxSteps; }

} // namespace loopscope
