// The interpreter's public face and the life of a run: inputs, planning, variables, inspection.
#include "engine/exec/interpreter.h"

#include "engine/exec/machine.h"
#include "engine/exec/machine_state.h"
#include "engine/exec/shape_evaluator.h"
#include "engine/ir/ids.h"
#include "engine/ops/catalog.h"
#include "engine/ops/dataflow.h"

#include <algorithm>
#include <cstring>

namespace loopscope {

Interpreter::Impl::Impl(const Model& model, GraphId root, const ExecutionOptions& options)
    : RunCore(model, root, options),
      m_store(model, root, m_options, *this, m_account, m_kernelReport),
      m_planner(std::make_unique<Planner>(model)),
      m_arena(m_account)
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

Status Interpreter::Impl::setInput(int index, const Tensor& value)
{
    LS_TRY(const Value* const declared, settableInput(index));
    LS_CHECK_OK(checkInput(*declared, declared->type.dtype, value));
    RootValue& input = m_inputs[static_cast<size_t>(index)];
    LS_CHECK_OK(input.block.reserve(value.bytes));
    input.slot.data = input.block.data();
    input.slot.bytes = value.bytes;
    input.slot.shape = value.shape;
    if (m_options.device) m_options.device->written(input.slot);
    if (value.bytes > 0) std::memcpy(input.slot.data, value.data, value.bytes);
    input.set = true;
    input.lent = false;
    input.kept = {};
    return {};
}

/// Plans for the shapes of the inputs and puts the root's frame on the stack, at its first operator.
Status Interpreter::Impl::begin()
{
    const Graph& graph = m_model.graph(m_root);
    m_frames.clear();
    if (m_options.device) {
        LS_CHECK_OK(m_store.bringVariables());
        m_options.device->forget();
    }
    std::vector<Shape> shapes;
    for (size_t i = 0; i < m_inputs.size(); ++i) {
        if (!m_inputs[i].set) return Error(ErrorCode::usage, "missing").at("input '" + graph.value(graph.inputs[i]).id + "'");
        shapes.push_back(m_inputs[i].slot.shape);
    }
    if (!m_rootPlan || m_rootPlan->inputShapes != shapes) {
        m_rootPlan = nullptr;
        m_store.forget();
        m_planner = std::make_unique<Planner>(m_model, PlannerOptions{evaluateAtPlanning, m_options.keepAll});
        LS_TRY(m_rootPlan, m_planner->plan(m_root, shapes, graph.id));
        for (size_t o = 0; o < m_rootPlan->operators.size() && m_model.dialect != Dialect::tf; ++o) // tf: when it is reached
            if (const auto& error = m_rootPlan->operators[o].error) {
                Error found = error->copy().at(graph.id + "/" + operatorLabel(graph.operators[o], static_cast<int64_t>(o)));
                m_rootPlan = nullptr;
                return found;
            }
    }
    m_store.reclaim();
    LS_CHECK_OK(m_arena.reserve(m_rootPlan->bytes));
    LS_TRY(Activation* const root, m_store.take(m_store.poolOf(*m_rootPlan), *m_rootPlan, m_arena.data()));
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

void Interpreter::Impl::enterRoot()
{
    m_frames.front().invocation = newInvocation();
    if (m_audience.present()) startInvocation(m_frames.front());
}

std::vector<const Tensor*> Interpreter::Impl::inputTensors() const
{
    std::vector<const Tensor*> inputs;
    for (const RootValue& input : m_inputs) inputs.push_back(&input.slot);
    return inputs;
}

std::vector<const Tensor*> Interpreter::Impl::outputTensors() const
{
    std::vector<const Tensor*> outputs;
    for (const RootValue& output : m_outputs) outputs.push_back(&output.slot);
    return outputs;
}

void Interpreter::Impl::reset()
{
    m_frames.clear();
    forgetRun();
    m_initialised.clear();
    m_store.clearVariables();
    updatePosition();
}

const Tensor* Interpreter::Impl::value(int depth, ValueId id, bool* isLost) const
{
    synchronise(SyncPoint::value);
    if (m_frames.empty() || depth < -1 || depth >= static_cast<int>(m_frames.size())) return nullptr;
    const size_t index = depth < 0 ? m_frames.size() - 1 : static_cast<size_t>(depth);
    const Activation& activation = *m_frames[index].activation;
    if (id.index < 0 || static_cast<size_t>(id.index) >= activation.plan().values.size()) return nullptr;
    const Slot& slot = activation.slot(id);
    if (slot.data && !show(slot)) {
        if (isLost) *isLost = true;
        return nullptr;
    }
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

Interpreter::Interpreter(std::unique_ptr<Impl> impl) : CoreExecutor(*impl), m_impl(std::move(impl)) {}
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
    LS_CHECK_OK(impl->m_store.prepareVariables());
    return std::unique_ptr<Interpreter>(new Interpreter(std::move(impl)));
}

FrameInfo Interpreter::frame(int depth) const { return m_impl->frame(depth); }

const Tensor* Interpreter::value(int depth, ValueId id) const { return m_impl->value(depth, id); }
bool Interpreter::isLost(int depth, ValueId id) const
{
    bool isLost = false;
    m_impl->value(depth, id, &isLost);
    return isLost;
}

const Tensor& Interpreter::output(int index) const
{
    m_impl->synchronise(SyncPoint::value);
    return m_impl->m_outputs[static_cast<size_t>(index)].slot;
}

MachineState Interpreter::snapshot() const { return m_impl->snapshot(nullptr); }

MachineState Interpreter::snapshot(const MachineState& previous) const { return m_impl->snapshot(&previous); }

Status Interpreter::restore(const MachineState& state) { return m_impl->restore(state); }

void Interpreter::reset() { m_impl->reset(); }

ResourceStore& Interpreter::resources() { return m_impl->resources(); }
const ResourceStore* Interpreter::sessionResources() const { return &m_impl->resources(); }

Interpreter::MemoryReport Interpreter::memory() const { return m_impl->memory(); }

} // namespace loopscope
