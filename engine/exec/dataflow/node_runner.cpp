#include "engine/exec/dataflow/node_runner.h"

#include "engine/base/interruption.h"
#include "engine/exec/dataflow/location.h"
#include "engine/kernels/registry.h"
#include "engine/ops/tf_rules.h"

#include <algorithm>
#include <cstring>

namespace loopscope::dataflow {

namespace {

constexpr int kMostPreparations = 4; ///< for other shapes each time; then the kernel is prepared for any

bool sameInputs(const KernelState& state, std::span<const Tensor* const> inputs)
{
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i]) continue;
        const auto& [dtype, shape] = state.inputs[i];
        if (inputs[i]->dtype != dtype) return false;
        if (shape.rank() == 0 && shape.hasRank()) {
            if (inputs[i]->shape.rank() != 0) return false;
        } else if (inputs[i]->shape != shape) {
            return false;
        }
    }
    return true;
}

/// An interrupted kernel leaves as one that failed: the node has not run.
Status callKernel(const KernelState& state, const KernelArgs& args)
{
    try {
        return state.run(args);
    } catch (const Interrupted&) {
        return Error(ErrorCode::cancelled, "cancelled");
    }
}

} // namespace

NodeRunner::NodeRunner(RunCore& core, Flow& flow, Rendezvous& rendezvous, Replay& replay)
    : m_core(core),
      m_flow(flow),
      m_cells(flow.cells()),
      m_rendezvous(rendezvous),
      m_replay(replay),
      m_resources(core.resources()),
      m_remote(core.options().remote),
      m_results(flow.results())
{
}

Result<Program*> NodeRunner::program(GraphId graph)
{
    std::unique_ptr<Program>& place = m_programs[graph];
    if (place) return place.get();
    LS_TRY(GraphCode code, compileGraph(m_core.model(), graph));
    auto made = std::make_unique<Program>(std::move(code));
    const size_t nodes = made->code.nodes.size();
    made->kernels.resize(nodes);
    made->constants.resize(nodes, nullptr);
    made->tallies.resize(nodes);
    made->idle.resize(made->code.frames.size());
    made->channels = m_rendezvous.channelsOf(made->code);
    size_t inputs = 1;
    size_t outputs = 1;
    for (const Node& node : made->code.nodes) {
        inputs = std::max(inputs, static_cast<size_t>(node.inputCount));
        outputs = std::max(outputs, static_cast<size_t>(node.outputCount));
    }
    m_in.resize(std::max(m_in.size(), inputs));
    m_views.resize(m_in.size());
    m_inCells.resize(m_in.size());
    m_hidden.resize(m_in.size());
    m_out.resize(std::max(m_out.size(), outputs));
    m_results.resize(m_out.size(), nullptr);
    m_inferred.resize(m_out.size());
    markTraps(*made);
    place = std::move(made);
    return place.get();
}

void NodeRunner::markTraps(Program& program) const
{
    const bool any = m_traps.has(program.code.id);
    program.hasTraps.assign(program.code.frames.size(), false);
    for (Node& node : program.code.nodes) {
        node.traps = any ? m_traps.of(program.code.id, node.op) : uint8_t{trapNone};
        if (node.traps != trapNone) program.hasTraps[static_cast<size_t>(node.frame)] = true;
    }
}

void NodeRunner::setTraps(const TrapSet& traps)
{
    m_traps = traps;
    for (const auto& [graph, program] : m_programs)
        if (program) markTraps(*program);
}

void NodeRunner::forgetTallies()
{
    for (const auto& [graph, program] : m_programs)
        if (program) std::ranges::fill(program->tallies, Tally());
}

Status NodeRunner::readVariable(const Tensor& handle, Tensor& view)
{
    const Variable* variable = handle.bytes >= sizeof(int32_t) ? m_resources.variable(*handle.as<int32_t>()) : nullptr;
    if (!variable) return Error(ErrorCode::internal, "a reference names no variable");
    if (!variable->assigned) return tfError(TfCode::failedPrecondition, "Attempting to use uninitialized value " + variable->name);
    view.dtype = variable->dtype;
    view.shape = variable->shape;
    view.bytes = variable->bytes.size();
    view.data = const_cast<std::byte*>(variable->bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): operands are read only
    if (m_resources.listener) m_resources.listener->accessed(variable->name, AccessKind::read, &view);
    return {};
}

void NodeRunner::refresh(Cell& cell) const
{
    const auto variable = m_resources.variables().find(cell.alias);
    if (variable == m_resources.variables().end()) { // of a state that names what is not there
        cell.shape = Shape{0};
        cell.bytes = 0;
        cell.data = cell.small;
        return;
    }
    cell.dtype = variable->second.dtype;
    cell.shape = variable->second.shape;
    cell.bytes = variable->second.bytes.size();
    cell.data = const_cast<std::byte*>(variable->second.bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): read only
}

Result<const Tensor*> NodeRunner::view(const Iteration& iteration, const Node& node, int32_t i, Tensor& room)
{
    const InputCode& input = programOf(iteration).code.inputs[static_cast<size_t>(node.firstInput + i)];
    if (input.slot < 0) return static_cast<const Tensor*>(nullptr);
    Cell* const cell = iteration.slots[static_cast<size_t>(input.slot)];
    if (cell->alias >= 0) refresh(*cell);
    if (m_replay.isOn() && !m_replay.load(*cell))
        return Error(ErrorCode::execution, "the recording does not hold what decides here").at(addressOf(iteration, node.op));
    LS_CHECK_OK(CellPool::bring(*cell));
    if (!input.readsReference || m_replay.isOn()) return static_cast<const Tensor*>(cell);
    LS_CHECK_OK(readVariable(*cell, room));
    return static_cast<const Tensor*>(&room);
}

Result<Cell*> NodeRunner::operand(Iteration& iteration, const Node& node, int32_t i)
{
    const InputCode& input = programOf(iteration).code.inputs[static_cast<size_t>(node.firstInput + i)];
    Cell* const cell = iteration.slots[static_cast<size_t>(input.slot)];
    if (!input.readsReference || m_replay.isOn()) [[likely]]
        return CellPool::share(cell);
    Tensor room;
    LS_CHECK_OK(readVariable(*cell, room));
    Cell* const alias = m_cells.take();
    static_cast<Tensor&>(*alias) = room;
    alias->alias = *cell->as<int32_t>();
    return alias;
}

Status NodeRunner::run(Iteration& iteration, const Node& node)
{
    return m_replay.isOn() ? recall(iteration, node) : compute(iteration, node);
}

Status NodeRunner::sendDead(const Iteration& iteration, const Node& node)
{
    return m_rendezvous.send(iteration, node, CellPool::share(m_cells.dead()));
}

Status NodeRunner::compute(Iteration& iteration, const Node& node)
{
    switch (node.kind) {
    case NodeKind::forward:
    case NodeKind::enter:
    case NodeKind::constantEnter:
    case NodeKind::exit:
    case NodeKind::nextIteration: {
        LS_TRY(m_results[0], operand(iteration, node, 0));
        return {};
    }
    case NodeKind::switchNode:
    case NodeKind::switchMany: return runSwitch(iteration, node);
    case NodeKind::merge: return runMerge(iteration, node);
    case NodeKind::constant: return runConstant(iteration, node);
    case NodeKind::nothing: return {};
    case NodeKind::send: {
        LS_TRY(Cell* const cell, operand(iteration, node, 0));
        return m_rendezvous.send(iteration, node, cell);
    }
    case NodeKind::receive: m_results[0] = m_rendezvous.receive(iteration, node); return {};
    case NodeKind::abort: {
        const Operator& op = programOf(iteration).code.graph->op(node.op);
        if (attributeBool(op.attributes, "exit_without_error", false)) return Error(ErrorCode::execution, "Abort ends the program");
        return tfError(TfCode::internal, "Abort: " + std::string(attributeString(op.attributes, "error_msg", "")));
    }
    case NodeKind::call: return {}; // Calls::enter() does it
    case NodeKind::kernel: break;
    }
    return runKernel(iteration, node);
}

/// Control flow goes its own way; what it hands on and everything else is what the recording has at this step.
Status NodeRunner::recall(Iteration& iteration, const Node& node)
{
    switch (node.kind) {
    case NodeKind::abort:
    case NodeKind::kernel: break;
    case NodeKind::constant:
        if (compute(iteration, node).ok()) return {};
        break;
    default:
        LS_CHECK_OK(compute(iteration, node));
        if (m_replay.isKnown()) m_replay.recallResults(node, true);
        return {};
    }
    m_replay.recallResults(node, false);
    return {};
}

Status NodeRunner::runSwitch(Iteration& iteration, const Node& node)
{
    LS_TRY(const int32_t port, portOf(iteration, node));
    LS_TRY(Cell* const data, operand(iteration, node, 0));
    for (int32_t k = 0; k < node.outputCount; ++k) m_results[static_cast<size_t>(k)] = k == port ? data : CellPool::share(m_cells.dead());
    return {};
}

/// The output that gets the data.
Result<int32_t> NodeRunner::portOf(const Iteration& iteration, const Node& node)
{
    if (m_replay.isOn())
        if (const std::optional<int32_t> port = m_replay.port(node)) return *port;
    Tensor room;
    LS_TRY(const Tensor* const steering, view(iteration, node, 1, room));
    const bool isMany = node.kind == NodeKind::switchMany;
    const DType wanted = isMany ? DType::i32 : DType::boolean;
    if (steering->shape.rank() != 0 || steering->bytes < byteSize(wanted, 1))
        return invalidArgument("The second input must be a scalar, but it has shape " + tfShapeText(steering->shape));
    if (steering->dtype != wanted)
        return invalidArgument("The second input must be " + std::string(tfTypeName(wanted)) + ", but it is " +
                               std::string(tfTypeName(steering->dtype)));
    if (!isMany) return *steering->as<uint8_t>() != 0 ? 1 : 0;
    const int32_t port = *steering->as<int32_t>();
    return port < 0 || port >= node.outputCount ? node.outputCount - 1 : port;
}

Cell* NodeRunner::indexCell(int32_t index)
{
    const auto at = static_cast<size_t>(index);
    if (m_indexCells.size() <= at) m_indexCells.resize(at + 1, nullptr);
    Cell*& cell = m_indexCells[at];
    if (!cell) {
        cell = m_cells.take();
        cell->dtype = DType::i32;
        cell->shape = Shape();
        cell->data = cell->small;
        cell->bytes = sizeof(int32_t);
        *cell->as<int32_t>() = index;
    }
    return CellPool::share(cell);
}

Status NodeRunner::runMerge(Iteration& iteration, const Node& node)
{
    const int32_t chosen = iteration.waiting[static_cast<size_t>(node.position)].chosen;
    LS_TRY(m_results[0], operand(iteration, node, chosen));
    if (node.outputCount > 1) m_results[1] = indexCell(chosen);
    return {};
}

Status NodeRunner::runConstant(const Iteration& iteration, const Node& node)
{
    Program& program = programOf(iteration);
    Cell*& cell = program.constants[static_cast<size_t>(nodeIndex(iteration, node))];
    if (!cell) {
        const Operator& op = program.code.graph->op(node.op);
        const Attribute* value = findAttribute(op.attributes, "value");
        const auto* tensor = value ? value->as<TensorAttribute>() : nullptr;
        if (!tensor || !tensor->data || !tensor->data->hasBytes()) return Error(ErrorCode::unsupported, "its data is not in this file");
        const Bytes& bytes = tensor->data->bytes();
        const std::optional<int64_t> count = checkedElementCount(tensor->type.shape);
        if (!count || bytes.size() < byteSize(tensor->type.dtype, *count))
            return Error(ErrorCode::badFile, "the constant holds too little data").found(std::to_string(bytes.size()) + " bytes");
        Tensor type;
        type.dtype = tensor->type.dtype;
        type.shape = tensor->type.shape;
        cell = m_cells.over(type, bytes);
    }
    m_results[0] = CellPool::share(cell);
    return {};
}

int32_t NodeRunner::rankOf(const Iteration& iteration, const Node& node)
{
    OperatorId outermost = node.op;
    for (const Iteration* at = &iteration; const Call* const call = at->frame->activation->call; at = call->caller)
        outermost = programOf(*call->caller).code.nodes[static_cast<size_t>(call->node)].op;
    return m_remote->rankOf(outermost, programOf(iteration).code.id, node.op);
}

Status NodeRunner::runKernel(const Iteration& iteration, const Node& node)
{
    Program& program = programOf(iteration);
    const auto inputCount = static_cast<size_t>(node.inputCount);
    const InputCode* const inputs = program.code.inputs.data() + node.firstInput;
    for (size_t i = 0; i < inputCount; ++i) {
        Cell* const cell = inputs[i].slot < 0 ? nullptr : iteration.slots[static_cast<size_t>(inputs[i].slot)];
        if (cell && cell->alias >= 0) [[unlikely]] {
            refresh(*cell);
            if (m_core.options().device) m_core.options().device->written(*cell);
            if (const Variable* variable = m_resources.variable(cell->alias)) m_core.touched(variable->name, false);
        }
        m_in[i] = cell;
        m_inCells[i] = cell;
    }
    if (node.readsReference) [[unlikely]] {
        for (size_t i = 0; i < inputCount; ++i) {
            if (!inputs[i].readsReference) continue;
            LS_CHECK_OK(readVariable(*m_in[i], m_views[i]));
            m_in[i] = &m_views[i];
            m_inCells[i] = nullptr;
            if (m_core.options().device) m_core.options().device->written(m_views[i]); // the host may have changed the variable
        }
    }
    KernelState& state = program.kernels[static_cast<size_t>(nodeIndex(iteration, node))];
    const int32_t rank = m_remote ? rankOf(iteration, node) : 0;
    if (m_remote) LS_CHECK_OK(bringOperands(node, state.infersFromData ? 0 : rank));
    const std::span<const Tensor* const> operands(m_in.data(), inputCount);
    if (!state.isReady || !sameInputs(state, operands)) [[unlikely]] {
        LS_CHECK_OK(prepare(program, node, state));
    } else if (state.infersFromData) {
        LS_CHECK_OK(inferOutputs(program, node, state));
    }
    for (int32_t k = 0; k < node.outputCount; ++k) {
        const OutputPlan& plan = state.outputs[static_cast<size_t>(k)];
        const bool isSmall = plan.isFixed && plan.bytes <= sizeof(Cell::small);
        Cell* const cell = isSmall ? m_cells.take() : m_cells.takeRoomy(plan.isFixed ? plan.bytes : 0);
        m_results[static_cast<size_t>(k)] = cell;
        m_out[static_cast<size_t>(k)] = cell;
        cell->dtype = plan.dtype;
        cell->shape = plan.shape;
        if (rank != 0) {
            cell->data = nullptr;
            cell->bytes = 0;
            continue;
        }
        if (Status status = CellPool::reserve(*cell, plan.isFixed ? plan.bytes : 0); !status.ok()) {
            m_flow.dropResults(k + 1);
            return status;
        }
    }
    const KernelArgs args{m_in.data(), m_out.data(), state.params.get(), &m_core, node.inputCount, node.outputCount};
    DeviceMemory* const device = m_core.options().device;
    for (int k = 0; device && k < node.outputCount; ++k) device->written(args.out(k));
    Status status = rank == 0 ? callKernel(state, args) : runRemotely(rank, program, node, args);
    if (!status.ok()) [[unlikely]] {
        m_flow.dropResults(node.outputCount);
        return status;
    }
    if (device) { // nodes without kernels look at values, too: these are on the host between any two nodes
        for (int k = 0; k < node.outputCount && rank == 0; ++k) device->hostBytes(args.out(k));
        LS_CHECK_OK(device->check());
    }
    for (int32_t k = 0; k < node.outputCount; ++k) {
        if (state.outputs[static_cast<size_t>(k)].isFixed || m_out[static_cast<size_t>(k)]->shape.isStatic()) continue;
        m_flow.dropResults(node.outputCount);
        return tfError(TfCode::internal, "Missing " + std::to_string(k) + "-th output from " + nodeText(program.code.graph->op(node.op)));
    }
    return {};
}

/// Operands that the node needs here, as all are for what runs here. Whoever computes shapes from values asks for them, too.
Status NodeRunner::bringOperands(const Node& node, int32_t rank) const
{
    for (size_t i = 0; i < static_cast<size_t>(node.inputCount); ++i) {
        Cell* const cell = m_inCells[i];
        if (cell && cell->remote && (rank == 0 || !m_remote->isThere(rank, *cell->remote))) LS_CHECK_OK(CellPool::bring(*cell));
    }
    return {};
}

Status NodeRunner::runRemotely(int32_t rank, const Program& program, const Node& node, const KernelArgs& args)
{
    m_remoteIn.assign(static_cast<size_t>(node.inputCount), nullptr);
    m_remoteOut.assign(static_cast<size_t>(node.outputCount), nullptr);
    for (size_t i = 0; i < m_remoteIn.size(); ++i)
        if (m_inCells[i]) m_remoteIn[i] = m_inCells[i]->remote;
    const bool areShown = m_core.audience().ofOperators() != nullptr;
    LS_CHECK_OK(m_remote->run(rank, program.code.id, node.op, args, {m_remoteIn, m_remoteOut, areShown}));
    for (size_t k = 0; k < m_remoteOut.size(); ++k) {
        if (!m_remoteOut[k]) continue;
        Cell& cell = *m_results[k];
        if (!areShown) cell.data = nullptr;
        cell.bytes = m_remoteOut[k]->bytes();
        cell.remote = std::move(m_remoteOut[k]);
    }
    return {};
}

/// Chooses and prepares the kernel for the operands in m_in.
Status NodeRunner::prepare(const Program& program, const Node& node, KernelState& state)
{
    const Operator& op = program.code.graph->op(node.op);
    const KernelRegistry& registry = m_core.options().kernels ? *m_core.options().kernels : KernelRegistry::builtin();
    if (!registry.has(op.kind)) {
        const std::string name = op.kind.dialect == "custom" ? op.kind.name : op.kind.full();
        Error error(ErrorCode::unsupported, "operator '" + name + "' has no kernel; it opens, lists and exports");
        const std::string_view why = attributeString(op.attributes, "@why", "");
        return why.empty() ? std::move(error) : std::move(error).note(std::string(why));
    }
    state.isReady = false;
    const std::span<const Tensor* const> operands(m_in.data(), static_cast<size_t>(node.inputCount));
    LS_CHECK_OK(inferOutputs(program, node, state));

    std::vector<Tensor> shown(operands.size()); // only constants have data when a kernel is prepared
    std::vector<const Tensor*> inputs(operands.size(), nullptr);
    for (size_t i = 0; i < operands.size(); ++i) {
        if (!operands[i]) continue;
        shown[i] = *operands[i];
        const Value& value = program.code.graph->value(op.inputs[i]);
        const bool isConstant = value.role == ValueRole::result && program.code.graph->op(value.producer).kind.name == "Const";
        if (!isConstant) shown[i].data = nullptr;
        inputs[i] = &shown[i];
    }
    std::vector<Tensor> results(static_cast<size_t>(node.outputCount));
    std::vector<const Tensor*> outputs;
    bool isFixed = !state.infersFromData;
    for (size_t k = 0; k < results.size(); ++k) {
        results[k].dtype = state.outputs[k].dtype;
        results[k].shape = state.outputs[k].shape;
        results[k].bytes = state.outputs[k].bytes;
        isFixed = isFixed && state.outputs[k].isFixed;
        outputs.push_back(&results[k]);
    }
    const bool isGeneral = state.preparations >= kMostPreparations;
    if (!state.run || !isGeneral || state.preparations == kMostPreparations) {
        const KernelSetup setup{op, inputs, outputs, isFixed && !isGeneral, &m_core.model()};
        LS_TRY(ChosenKernel chosen, chooseKernel(registry, setup, m_core.options().profileOf(op)));
        m_core.kernelReport().note(program.code.id, node.op, m_core.options().profileOf(op), chosen);
        state.run = chosen.kernel.run;
        state.params = std::move(chosen.kernel.params);
        ++state.preparations;
    }
    state.inputs.resize(operands.size());
    for (size_t i = 0; i < operands.size(); ++i)
        if (operands[i]) state.inputs[i] = {operands[i]->dtype, operands[i]->shape};
    state.isReady = true;
    return {};
}

/// Types and sizes of the results for the operands in m_in, and whether the operands' values had a say in it.
Status NodeRunner::inferOutputs(const Program& program, const Node& node, KernelState& state)
{
    const Graph& graph = *program.code.graph;
    const Operator& op = graph.op(node.op);
    const auto inputCount = static_cast<size_t>(node.inputCount);
    const auto count = static_cast<size_t>(node.outputCount);
    const auto infer = [&](std::span<const Tensor* const> operands) -> Result<bool> {
        for (size_t k = 0; k < count; ++k) {
            const TensorType& type = graph.value(op.results[k]).type;
            m_inferred[k].dtype = type.isReference ? DType::resource : type.dtype;
            m_inferred[k].shape = Shape::unknownRank();
        }
        LS_CHECK_OK(inferOperator(op, operands, {m_inferred.data(), count}));
        bool known = true;
        for (size_t k = 0; k < count; ++k) {
            if (graph.value(op.results[k]).type.isReference) m_inferred[k] = {DType::resource, Shape()}; // the variable's handle
            known = known && m_inferred[k].shape.isStatic() && bitWidth(m_inferred[k].dtype) > 0;
        }
        return known;
    };
    const std::span<const Tensor* const> operands(m_in.data(), inputCount);
    bool known = false;
    if (!state.infersFromData) {
        std::vector<const Tensor*> hidden(inputCount, nullptr);
        for (size_t i = 0; i < inputCount; ++i) {
            if (!m_in[i]) continue;
            m_hidden[i] = *m_in[i];
            m_hidden[i].data = nullptr;
            hidden[i] = &m_hidden[i];
        }
        const Result<bool> result = infer(hidden);
        known = result.ok() && *result;
    }
    if (!known) {
        if (m_remote) LS_CHECK_OK(bringOperands(node, 0));
        LS_TRY(const bool knownWithData, infer(operands));
        state.infersFromData = state.infersFromData || knownWithData;
    }
    state.outputs.resize(count);
    for (size_t k = 0; k < count; ++k) {
        OutputPlan& plan = state.outputs[k];
        plan.dtype = m_inferred[k].dtype;
        plan.shape = m_inferred[k].shape;
        const std::optional<int64_t> elements = plan.shape.isStatic() ? checkedElementCount(plan.shape) : std::nullopt;
        plan.isFixed = elements && bitWidth(plan.dtype) > 0;
        plan.bytes = plan.isFixed ? byteSize(plan.dtype, *elements) : 0;
    }
    return {};
}

} // namespace loopscope::dataflow
