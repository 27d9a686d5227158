// The interpreter's public face and the life of a run: inputs, planning, variables, inspection.
#include "engine/exec/interpreter.h"

#include "engine/base/clock.h"
#include "engine/exec/machine.h"
#include "engine/exec/shape_evaluator.h"
#include "engine/ops/catalog.h"
#include "engine/ops/dataflow.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>

namespace loopscope {

namespace {

std::string typeText(DType dtype, const Shape& shape)
{
    return std::string(dtypeName(dtype)) + (shape.hasRank() ? toString(shape) : "[*]");
}

/// Every graph that `root` can reach through calls.
std::vector<GraphId> reachableGraphs(const Model& model, GraphId root)
{
    std::vector<GraphId> graphs = {root};
    std::vector<bool> seen(model.graphs.size(), false);
    seen[static_cast<size_t>(root.index)] = true;
    for (size_t i = 0; i < graphs.size(); ++i)
        for (const Operator& op : model.graph(graphs[i]).operators)
            for (const Callee& callee : callForm(op).callees) {
                if (!model.hasGraph(callee.graph) || seen[static_cast<size_t>(callee.graph.index)]) continue;
                seen[static_cast<size_t>(callee.graph.index)] = true;
                graphs.push_back(callee.graph);
            }
    return graphs;
}

} // namespace

Interpreter::Impl::Impl(const Model& model, GraphId root, const ExecutionOptions& options)
    : m_model(model),
      m_root(root),
      m_options(options),
      m_cancel(options.cancel ? *options.cancel : m_neverCancelled),
      m_account{0, MemoryAccount::machineLimit(), options.allocator ? options.allocator : &hostAllocator()},
      m_planner(std::make_unique<Planner>(model)),
      m_arena(m_account),
      m_scratch(m_account),
      m_random(options.seed),
      m_accesses(model)
{
    const Graph& graph = model.graph(root);
    for (const ValueId input : graph.inputs) {
        Slot& slot = m_inputs.emplace_back(m_account).slot;
        slot.dtype = graph.value(input).type.dtype;
        slot.quantization = graph.value(input).type.quantization.get();
    }
    for (size_t k = 0; k < graph.outputs.size(); ++k) {
        RootValue& output = m_outputs.emplace_back(m_account);
        output.slot.heap = &output.block;
        output.slot.fixed = false;
        output.slot.dtype = graph.value(graph.outputs[k].value).type.dtype;
        output.slot.quantization = graph.value(graph.outputs[k].value).type.quantization.get();
    }
}

/// Variables of every reachable graph, once: activations share them.
Status Interpreter::Impl::prepareVariables()
{
    for (const GraphId id : reachableGraphs(m_model, m_root)) {
        const Graph& graph = m_model.graph(id);
        for (size_t v = 0; v < graph.values.size(); ++v) {
            const Value& value = graph.values[v];
            if (value.role != ValueRole::variable) continue;
            const std::optional<int64_t> count = checkedElementCount(value.type.shape);
            if (!count || bitWidth(value.type.dtype) == 0)
                return Error(ErrorCode::badFile, "variable '" + value.id + "' of graph '" + graph.id + "' has no definite size")
                    .found(typeText(value.type.dtype, value.type.shape));
            Slot slot;
            slot.dtype = value.type.dtype;
            slot.shape = value.type.shape;
            slot.bytes = byteSize(slot.dtype, *count);
            MemoryBlock& block = m_variableBlocks.emplace_back(m_account);
            LS_CHECK_OK(block.reserve(slot.bytes));
            slot.data = block.data();
            m_variables[id].slots.emplace_back(ValueId(static_cast<int64_t>(v)), slot);
        }
    }
    clearVariables();
    return {};
}

void Interpreter::Impl::clearVariables()
{
    for (auto& [id, variables] : m_variables)
        for (auto& [valueId, slot] : variables.slots) {
            const Value& value = m_model.graph(id).value(valueId);
            // i8 begins as the real number 0 (LiteRT core/subgraph.cc, ResetVariableTensors), everything else as zeros.
            const Quantization* q = value.type.quantization.get();
            const bool hasZero = value.type.dtype == DType::i8 && q && q->isPerTensor();
            std::memset(slot.data, hasZero ? static_cast<int>(q->zeroPoint()) : 0, slot.bytes);
            if (!value.constant || !value.constant->hasBytes()) continue;
            const Bytes& initial = value.constant->bytes();
            if (!initial.empty()) std::memcpy(slot.data, initial.data(), std::min<size_t>(slot.bytes, initial.size()));
        }
}

Status Interpreter::Impl::setInput(int index, const Tensor& value)
{
    const Graph& graph = m_model.graph(m_root);
    if (index < 0 || static_cast<size_t>(index) >= graph.inputs.size())
        return Error(ErrorCode::usage, "there is no input " + std::to_string(index)).found(std::to_string(graph.inputs.size()) + " inputs");
    const Value& declared = graph.value(graph.inputs[static_cast<size_t>(index)]);
    const std::string place = "input '" + declared.id + "'";
    if (m_phase == Phase::running) return Error(ErrorCode::usage, "a run is going on").at(place);
    const std::optional<int64_t> count = checkedElementCount(value.shape);
    if (value.dtype != declared.type.dtype || !count)
        return Error(ErrorCode::usage, "found " + typeText(value.dtype, value.shape))
            .at(place)
            .expected(typeText(declared.type.dtype, declared.type.dynamicShape()));
    if (bitWidth(value.dtype) > 0 && value.bytes != byteSize(value.dtype, *count))
        return Error(ErrorCode::usage, "wrong number of bytes")
            .at(place)
            .found(std::to_string(value.bytes))
            .expected(std::to_string(byteSize(value.dtype, *count)));
    RootValue& input = m_inputs[static_cast<size_t>(index)];
    LS_CHECK_OK(input.block.reserve(value.bytes));
    input.slot.data = input.block.data();
    input.slot.bytes = value.bytes;
    input.slot.shape = value.shape;
    if (value.bytes > 0) std::memcpy(input.slot.data, value.data, value.bytes);
    input.set = true;
    return {};
}

/// Plans for the shapes of the inputs and puts the root's frame on the stack, at its first operator.
Status Interpreter::Impl::begin()
{
    const Graph& graph = m_model.graph(m_root);
    m_frames.clear();
    m_phase = Phase::idle;
    std::vector<Shape> shapes;
    for (size_t i = 0; i < m_inputs.size(); ++i) {
        if (!m_inputs[i].set) return Error(ErrorCode::usage, "missing").at("input '" + graph.value(graph.inputs[i]).id + "'");
        shapes.push_back(m_inputs[i].slot.shape);
    }
    if (!m_rootPlan || m_rootPlan->inputShapes != shapes) {
        m_rootPlan = nullptr;
        m_activations.clear();
        m_pools.clear();
        m_planner = std::make_unique<Planner>(m_model, PlannerOptions{evaluateAtPlanning, m_options.keepAll});
        LS_TRY(m_rootPlan, m_planner->plan(m_root, shapes, graph.id));
        for (size_t o = 0; o < m_rootPlan->operators.size() && m_model.dialect != Dialect::tf; ++o) // tf: when it is reached
            if (const auto& error = m_rootPlan->operators[o].error) {
                Error found = error->copy().at(graph.id + "/" + operatorLabel(graph.operators[o], static_cast<int64_t>(o)));
                m_rootPlan = nullptr;
                return found;
            }
    }
    for (auto& [plan, pool] : m_pools) pool.idle.clear();
    for (const std::unique_ptr<Activation>& activation : m_activations) giveBack(*activation);
    LS_CHECK_OK(m_arena.reserve(m_rootPlan->bytes));
    LS_TRY(Activation* const root, take(poolOf(*m_rootPlan), *m_rootPlan, m_arena.data()));
    for (size_t i = 0; i < m_inputs.size(); ++i) aliasSlot(root->input(i), m_inputs[i].slot);
    for (size_t k = 0; k < m_outputs.size(); ++k) {
        m_outputs[k].slot.dtype = root->output(k).dtype;
        if (m_rootPlan->outputs[k].direct) LS_CHECK_OK(directSlot(root->output(k), m_outputs[k].slot));
    }
    CallFrame frame;
    frame.activation = root;
    m_frames.push_back(frame);
    return {};
}

Status Interpreter::Impl::start()
{
    m_observer = nullptr; // a run that does not begin is not announced
    LS_CHECK_OK(guarded([this] { return begin(); }));
    m_step = 0;
    m_askedBefore = -1;
    m_resources.objects().clear();
    m_accesses.setAccesses({});
    m_races.clear();
    m_observer = m_runObserver = m_nextObserver;
    m_times = m_observer && m_observer->wantsTimes();
    m_runStart = m_times ? nowNs() : 0;
    m_phase = Phase::running;
    CallFrame& frame = m_frames.back();
    frame.invocation = m_nextInvocation++;
    m_resources.listener = listener();
    if (m_observer) {
        RunStart event;
        event.model = &m_model;
        event.root = m_root;
        event.signature = m_options.signature;
        std::vector<const Tensor*> inputs;
        for (const RootValue& input : m_inputs) inputs.push_back(&input.slot);
        event.inputs = inputs;
        m_observer->runStarted(event);
        startInvocation(frame);
    }
    updatePosition();
    return {};
}

/// Kernels and planning allocate with the standard library, too: what a file or an input asks of it in vain ends here.
template <typename Work> Status Interpreter::Impl::guarded(Work work)
{
    try {
        return work();
    } catch (const std::bad_alloc&) {
        return fail(Error(ErrorCode::execution, "out of memory"));
    } catch (const std::length_error&) {
        return fail(Error(ErrorCode::execution, "a size that no machine can hold"));
    }
}

Status Interpreter::Impl::step()
{
    if (m_phase != Phase::running) return Error(ErrorCode::usage, m_phase == Phase::idle ? "no run was started" : "the run has ended");
    m_asking = m_stopAsked = false;
    setLimit();
    return guarded([this] { return execute<true>(); });
}

Status Interpreter::Impl::runTo(int64_t tick, int64_t step)
{
    m_stopAsked = false;
    if (m_phase == Phase::finished) return {};
    if (m_phase != Phase::running) return Error(ErrorCode::usage, m_phase == Phase::idle ? "no run was started" : "the run has ended");
    if (tick <= this->tick() || step <= m_step) return {};
    m_tickLimit = tick;
    m_stepLimit = step;
    m_asking = m_trapHandler != nullptr;
    setLimit();
    Status status = guarded([this] { return execute<false>(); });
    m_tickLimit = m_stepLimit = INT64_MAX;
    return status;
}

int64_t Interpreter::Impl::tick() const { return m_step + std::max<int64_t>(static_cast<int64_t>(m_frames.size()) - 1, 0); }

void Interpreter::Impl::muteObserver(bool muted, ExecutionObserver* also)
{
    m_observer = muted ? also : m_runObserver;
    if (!muted && also) {
        m_joined = FanOut();
        if (m_runObserver) m_joined.add(*m_runObserver);
        m_joined.add(*also);
        m_observer = &m_joined;
    }
    m_resources.listener = m_phase == Phase::running ? listener() : nullptr;
}

Status Interpreter::Impl::run()
{
    if (m_phase != Phase::running) return Error(ErrorCode::usage, m_phase == Phase::idle ? "no run was started" : "the run has ended");
    m_stopAsked = false;
    m_asking = m_trapHandler != nullptr;
    setLimit();
    return guarded([this] { return execute<false>(); });
}

void Interpreter::Impl::setTraps(const TrapSet& traps, TrapHandler* handler)
{
    m_traps = handler ? traps : TrapSet();
    m_trapHandler = handler;
    m_askedBefore = -1;
    for (const std::unique_ptr<Activation>& activation : m_activations) activation->setTraps(m_traps);
}

void Interpreter::Impl::reset()
{
    m_frames.clear();
    m_phase = Phase::idle;
    m_step = 0;
    m_resources = ResourceStore();
    m_random = RandomState(m_options.seed);
    m_initialised.clear();
    clearVariables();
    updatePosition();
}

const Tensor* Interpreter::Impl::value(int depth, ValueId id) const
{
    synchronise(SyncPoint::value);
    if (m_frames.empty() || depth < -1 || depth >= static_cast<int>(m_frames.size())) return nullptr;
    const size_t index = depth < 0 ? m_frames.size() - 1 : static_cast<size_t>(depth);
    const Activation& activation = *m_frames[index].activation;
    if (id.index < 0 || static_cast<size_t>(id.index) >= activation.plan().values.size()) return nullptr;
    const Slot& slot = activation.slot(id);
    switch (activation.plan().value(id).storage) {
    case Storage::none: return nullptr;
    case Storage::input:
    case Storage::constant:
    case Storage::variable: return slot.data ? &slot : nullptr;
    default: return isLive(index, id) ? &slot : nullptr;
    }
}

/// Written by now and not overwritten yet. In the innermost frame what the last operator read is still there.
bool Interpreter::Impl::isLive(size_t frame, ValueId id) const
{
    const PlannedValue& value = m_frames[frame].activation->plan().value(id);
    const int32_t next = m_frames[frame].next;
    const bool innermost = frame + 1 == m_frames.size();
    return value.first >= 0 && value.first < next && value.last >= (innermost ? next - 1 : next);
}

FrameInfo Interpreter::Impl::frame(int depth) const
{
    const CallFrame& frame = m_frames[depth < 0 ? m_frames.size() - 1 : static_cast<size_t>(depth)];
    FrameInfo info;
    info.invocation = frame.invocation;
    info.graph = frame.activation->plan().graph;
    info.role = frame.role;
    info.branch = frame.branch;
    if (frame.call) info.site = frame.call->op;
    info.iteration = frame.iteration;
    info.inCond = frame.inCond;
    info.next = frame.next < static_cast<int32_t>(frame.activation->plan().operators.size()) ? OperatorId(frame.next) : OperatorId();
    info.enteredAtStep = frame.enteredAtStep;
    info.taken = frame.taken;
    return info;
}

Interpreter::MemoryReport Interpreter::Impl::memory() const
{
    MemoryReport report;
    if (m_rootPlan) {
        report.arenaBytes = m_rootPlan->bytes;
        report.lowerBoundBytes = m_rootPlan->lowerBound;
    }
    report.heapBytes = m_account.used - m_arena.capacity();
    return report;
}

Interpreter::Interpreter(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
Interpreter::~Interpreter() = default;

Result<std::unique_ptr<Interpreter>> Interpreter::create(const Model& model, GraphId root, const ExecutionOptions& options)
{
    if (!model.hasGraph(root))
        return Error(ErrorCode::badFile, "the model has no graph " + std::to_string(root.index))
            .found(std::to_string(model.graphs.size()) + " graphs");
    if (model.dialect == Dialect::tf)
        if (const std::string place = dataflowOperator(model, root); !place.empty())
            return Error(ErrorCode::unsupported, "the graph has TensorFlow 1 control flow, which this interpreter does not run").at(place);
    auto impl = std::make_unique<Impl>(model, root, options);
    LS_CHECK_OK(impl->prepareVariables());
    return std::unique_ptr<Interpreter>(new Interpreter(std::move(impl)));
}

Status Interpreter::setInput(int index, const Tensor& value) { return m_impl->setInput(index, value); }

Status Interpreter::start() { return m_impl->start(); }

Status Interpreter::step() { return m_impl->step(); }

Status Interpreter::run() { return m_impl->run(); }

Status Interpreter::runTo(int64_t tick, int64_t step) { return m_impl->runTo(tick, step); }

int64_t Interpreter::tick() const { return m_impl->tick(); }

const Position& Interpreter::position() const { return m_impl->m_position; }

FrameInfo Interpreter::frame(int depth) const { return m_impl->frame(depth); }

void Interpreter::setTraps(const TrapSet& traps, TrapHandler* handler) { m_impl->setTraps(traps, handler); }

std::vector<DataflowRace> Interpreter::races() const { return m_impl->m_races; }

const KernelReport& Interpreter::kernelReport() const { return m_impl->m_kernelReport; }

int64_t Interpreter::maxSteps() const { return m_impl->m_options.maxSteps; }

bool Interpreter::trapped() const { return m_impl->m_stopAsked; }

std::string Interpreter::positionAddress() const { return m_impl->address(); }

const Tensor* Interpreter::value(int depth, ValueId id) const { return m_impl->value(depth, id); }

const Tensor& Interpreter::output(int index) const
{
    m_impl->synchronise(SyncPoint::value);
    return m_impl->m_outputs[static_cast<size_t>(index)].slot;
}

MachineState Interpreter::snapshot() const { return m_impl->snapshot(nullptr); }

MachineState Interpreter::snapshot(const MachineState& previous) const { return m_impl->snapshot(&previous); }

void Interpreter::muteObserver(bool muted, ExecutionObserver* also) { m_impl->muteObserver(muted, also); }

Status Interpreter::restore(const MachineState& state) { return m_impl->restore(state); }

void Interpreter::reset() { m_impl->reset(); }

void Interpreter::setObserver(ExecutionObserver* observer) { m_impl->m_nextObserver = observer; }

const Model& Interpreter::model() const { return m_impl->m_model; }

GraphId Interpreter::root() const { return m_impl->m_root; }

ResourceStore& Interpreter::resources() { return m_impl->m_resources; }

Interpreter::MemoryReport Interpreter::memory() const { return m_impl->memory(); }

} // namespace loopscope
