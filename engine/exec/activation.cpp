#include "engine/exec/activation.h"

#include "engine/exec/call_state.h"
#include "engine/ir/stored_constant.h"
#include "engine/kernels/device_loop.h"
#include "engine/kernels/registry.h"
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

#include <algorithm>
#include <cstring>

namespace loopscope {

namespace {

/// Whether the kernels of a profile leave their results on a device.
bool isDeviceProfile(Profile profile) { return profile == Profile::vulkan; }

} // namespace

bool isCompatible(const Shape& planned, const Shape& actual)
{
    if (!planned.hasRank()) return true;
    if (!actual.hasRank() || actual.rank() != planned.rank()) return false;
    for (int d = 0; d < planned.rank(); ++d)
        if (planned[d] != kUnknownDim && planned[d] != actual[d]) return false;
    return true;
}

Status sizeSlot(Slot& slot, const Shape& shape)
{
    const std::optional<int64_t> count = checkedElementCount(shape);
    if (!count)
        return Error(ErrorCode::execution, "a result has no definite size")
            .found("shape " + (shape.hasRank() ? toString(shape) : "of unknown rank"));
    if (slot.fixed || !slot.heap) return Error(ErrorCode::internal, "a result of fixed size was to be sized again");
    slot.bytes = byteSize(slot.dtype, *count);
    slot.shape = shape;
    LS_CHECK_OK(slot.heap->reserve(slot.bytes));
    slot.data = slot.heap->data();
    return {};
}

Status copyToSlot(Slot& slot, const Tensor& source)
{
    if (!slot.fixed) {
        if (!slot.heap) return Error(ErrorCode::internal, "a value without memory was to be copied to");
        LS_CHECK_OK(slot.heap->reserve(source.bytes));
        slot.data = slot.heap->data();
        slot.bytes = source.bytes;
        slot.shape = source.shape;
    }
    if (slot.bytes > source.bytes) return Error(ErrorCode::internal, "a value is shorter than its place");
    if (slot.bytes > 0) std::memcpy(slot.data, source.data, slot.bytes);
    return {};
}

Program::Program(const Model& model, const GraphPlan& plan, const ExecutionOptions& options, const QuantizedLater& quantizedLater,
                 KernelReport& report)
    : m_model(model),
      m_plan(plan),
      m_graph(model.graph(plan.graph)),
      m_options(options)
{
    m_kernels.resize(m_graph.operators.size());
    m_onDevice.resize(m_graph.operators.size());
    m_used.resize(m_graph.operators.size());
    m_failures.resize(m_graph.operators.size());
    makeDense();
    std::vector<Tensor> tensors(m_graph.values.size());
    for (size_t v = 0; v < tensors.size(); ++v) {
        tensors[v] = constant(ValueId(static_cast<int64_t>(v)));
        tensors[v].dtype = plan.values[v].dtype;
        tensors[v].shape = plan.values[v].shape;
    }
    for (size_t o = 0; o < m_graph.operators.size(); ++o) prepare(static_cast<int32_t>(o), tensors, quantizedLater, report);
    findChains(tensors);
    findRowsToCome();
}

/// Not where values are kept to be looked at, or lie on a device.
void Program::findChains(std::span<const Tensor> tensors)
{
    if (m_options.keepAll || m_options.device || m_options.kernels) return;
    std::vector<bool> mayRun(m_kernels.size());
    for (size_t o = 0; o < mayRun.size(); ++o) mayRun[o] = m_kernels[o].run && !m_failures[o];
    m_chains = Chain::find({m_model, m_plan, m_options, KernelRegistry::builtin(), tensors, m_used}, mayRun);
}

/// Kernels of the profile `fast` give each row the same bits whatever is beside it.
void Program::findRowsToCome()
{
    if (m_options.device || m_options.kernels) return;
    std::vector<bool> mayUse(m_kernels.size());
    for (size_t o = 0; o < mayUse.size(); ++o) mayUse[o] = m_used[o] == Profile::fast && m_kernels[o].run && !m_failures[o];
    m_rowProducts = findRowProducts(m_graph, m_plan, mayUse);
}

/// A constant that cannot be unpacked, or lies in a file that is not there, fails the operators that read it.
void Program::makeDense()
{
    for (size_t v = 0; v < m_graph.values.size(); ++v) {
        const Value& value = m_graph.values[v];
        if (value.role != ValueRole::constant || !value.constant) continue;
        const bool isExternal = value.constant->externalBuffer() >= 0;
        if (!isExternal && (!value.constant->hasBytes() || !isPacked(value))) continue;
        const ValueId id(static_cast<int64_t>(v));
        Result<Bytes> dense = isExternal ? externalData(m_model, value) : unpackConstant(value);
        if (dense.ok()) {
            m_dense[id] = std::move(dense).value();
            continue;
        }
        const auto error = std::make_shared<const Error>(std::move(dense).takeError());
        for (size_t o = 0; o < m_graph.operators.size(); ++o)
            if (std::ranges::find(m_graph.operators[o].inputs, id) != m_graph.operators[o].inputs.end()) m_failures[o] = error;
    }
}

std::span<const int32_t> Program::lookPoints() const
{
    if (!m_lookPoints.empty()) return m_lookPoints;
    std::map<uint64_t, uint64_t> kept; // ends of what lies in the arena, by where it begins
    const auto isUsedAgain = [&](const PlannedValue& value) {
        const auto behind = kept.upper_bound(value.offset);
        return (behind != kept.end() && behind->first < value.offset + value.bytes) ||
               (behind != kept.begin() && std::prev(behind)->second > value.offset);
    };
    for (size_t op = 0; op < m_graph.operators.size(); ++op) {
        const auto inArena = [&](ValueId id) { return m_plan.value(id).storage == Storage::arena && m_plan.value(id).bytes > 0; };
        const std::vector<ValueId>& results = m_graph.operators[op].results;
        if (std::ranges::any_of(results, [&](ValueId id) { return inArena(id) && isUsedAgain(m_plan.value(id)); })) {
            m_lookPoints.push_back(static_cast<int32_t>(op));
            kept.clear();
        }
        for (const ValueId id : results)
            if (inArena(id)) kept[m_plan.value(id).offset] = m_plan.value(id).offset + m_plan.value(id).bytes;
    }
    m_lookPoints.push_back(static_cast<int32_t>(m_graph.operators.size()));
    return m_lookPoints;
}

Tensor Program::constant(ValueId value) const
{
    Tensor tensor = declaredTensor(m_graph.value(value));
    const auto dense = m_dense.find(value);
    if (dense == m_dense.end()) return tensor;
    tensor.shape = m_graph.value(value).type.shape;
    tensor.data = const_cast<std::byte*>(dense->second.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): operands are read only
    tensor.bytes = dense->second.size();
    return tensor;
}

void Program::prepare(int32_t index, std::span<Tensor> tensors, const QuantizedLater& quantizedLater, KernelReport& report)
{
    const KernelRegistry& registry = m_options.kernels ? *m_options.kernels : KernelRegistry::builtin();
    const auto at = static_cast<size_t>(index);
    const Operator& op = m_graph.operators[at];
    const PlannedOperator& planned = m_plan.operators[at];
    if (m_failures[at]) return;
    if (planned.error) {
        m_failures[at] = planned.error;
        return;
    }
    if (planned.call) return prepareLoop(index, tensors);
    if (!registry.has(op.kind)) {
        const std::string name = op.kind.dialect == "tfl" ? op.kind.name : op.kind.dialect == "custom" ? op.kind.name : op.kind.full();
        std::string why = "operator '" + name + "' has no kernel; it opens, lists and exports";
        if (op.kind == Kind{"circle", "run_model"})
            why = "operator '" + name + "' runs the model file '" + std::string(attributeString(op.attributes, "location", "")) +
                  "', signature '" + std::string(attributeString(op.attributes, "signature", "")) +
                  "', which is opened and run by itself only";
        Error error(ErrorCode::unsupported, why);
        if (const std::string_view reason = attributeString(op.attributes, "@why", ""); !reason.empty())
            error = std::move(error).note(std::string(reason));
        m_failures[at] = std::make_shared<const Error>(std::move(error));
        return;
    }
    std::vector<const Tensor*> inputs;
    std::vector<const Tensor*> results;
    for (const ValueId input : op.inputs) inputs.push_back(input.valid() ? &tensors[static_cast<size_t>(input.index)] : nullptr);
    std::deque<Tensor> variables; // what references stand for
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i] || !m_graph.value(op.inputs[i]).type.isReference || takesReference(op, static_cast<int>(i))) continue;
        Tensor& variable = variables.emplace_back();
        variable.dtype = m_graph.value(op.inputs[i]).type.dtype;
        variable.shape = Shape::unknownRank();
        inputs[i] = &variable;
    }
    for (const ValueId result : op.results) results.push_back(&tensors[static_cast<size_t>(result.index)]);
    KernelSetup setup{op, inputs, results, planned.fixed, &m_model};
    setup.isQuantizedLater = quantizedLater.holds(m_plan.graph, OperatorId(index));
    Result<ChosenKernel> chosen = chooseKernel(registry, setup, m_options.profileOf(op));
    if (!chosen.ok()) {
        m_failures[at] = std::make_shared<const Error>(std::move(chosen).takeError());
        return;
    }
    report.note(m_plan.graph, OperatorId(index), m_options.profileOf(op), *chosen);
    m_used[at] = chosen->used;
    m_onDevice[at] = isDeviceProfile(chosen->used);
    m_kernels[at] = std::move(chosen->kernel);
}

Activation::Activation(ActivationPool& pool, KernelRuntime& runtime, MemoryAccount& account) : m_pool(pool), m_program(*pool.program)
{
    const Graph& graph = m_program.graph();
    const GraphPlan& plan = m_program.plan();
    m_slots.resize(graph.values.size());
    for (size_t v = 0; v < m_slots.size(); ++v) {
        const PlannedValue& planned = plan.values[v];
        Slot& slot = m_slots[v];
        slot.dtype = planned.dtype;
        slot.shape = planned.shape;
        slot.fixed = planned.fixed;
        slot.bytes = planned.bytes;
        slot.quantization = graph.values[v].type.quantization.get();
        if (planned.storage == Storage::constant) {
            const Tensor data = m_program.constant(ValueId(static_cast<int64_t>(v)));
            slot.data = data.data;
            slot.bytes = data.bytes;
        } else if (planned.storage == Storage::heap) {
            slot.heap = &m_blocks.emplace_back(account);
        }
    }

    size_t inputCount = 0;
    size_t resultCount = 0;
    for (const Operator& op : graph.operators) {
        inputCount += op.inputs.size();
        resultCount += op.results.size();
    }
    m_inputs.resize(inputCount);
    m_results.resize(resultCount);
    m_code.reserve(graph.operators.size() + 1);
    m_calls.resize(graph.operators.size());
    std::span<const Tensor*> inputs(m_inputs);
    std::span<Tensor*> results(m_results);
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const Operator& op = graph.operators[o];
        addInstruction(static_cast<int32_t>(o), runtime, account, inputs.first(op.inputs.size()), results.first(op.results.size()));
        inputs = inputs.subspan(op.inputs.size());
        results = results.subspan(op.results.size());
    }
    Instruction end;
    end.index = static_cast<int32_t>(graph.operators.size());
    m_code.push_back(end);
    markChains();
    lookAhead(account);
}

void Activation::lookAhead(MemoryAccount& account)
{
    for (const RowProduct& pair : m_program.rowProducts()) {
        Instruction& product = m_code[static_cast<size_t>(pair.product)];
        const Instruction& gather = m_code[static_cast<size_t>(pair.gather)];
        if (product.plain != InstructionKind::kernel || gather.plain != InstructionKind::kernel) continue;
        m_comingRows.push_back(std::make_unique<ComingRows>(product.run, product.args, gather.args, account));
        product.run = ComingRows::run;
        product.args.params = m_comingRows.back().get();
    }
}

/// Chains with a trap do not run as such.
void Activation::markChains()
{
    for (const Chain& chain : m_program.chains()) {
        const std::span operators(m_code.data() + chain.begin(), static_cast<size_t>(chain.length()));
        if (std::ranges::all_of(operators, [](const Instruction& each) { return each.kind == InstructionKind::kernel; }))
            operators.front().kind = InstructionKind::chained;
    }
}

Activation::~Activation() = default;

void Activation::addInstruction(int32_t index, KernelRuntime& runtime, MemoryAccount& account, std::span<const Tensor*> inputs,
                                std::span<Tensor*> results)
{
    const Operator& op = m_program.graph().operators[static_cast<size_t>(index)];
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = op.inputs[i].valid() ? &slot(op.inputs[i]) : nullptr;
    for (size_t k = 0; k < results.size(); ++k) results[k] = &slot(op.results[k]);
    const bool reads = lookUpReferences(index, inputs);

    const PlannedOperator& planned = plan().operators[static_cast<size_t>(index)];
    const PreparedKernel& kernel = m_program.kernel(index);
    Instruction instruction;
    instruction.run = kernel.run;
    instruction.index = index;
    instruction.args.inputs = inputs.data();
    instruction.args.outputs = results.data();
    instruction.args.params = kernel.params.get();
    instruction.args.runtime = &runtime;
    instruction.args.inputCount = static_cast<int>(inputs.size());
    instruction.args.outputCount = static_cast<int>(results.size());
    if (m_program.failure(index)) {
        instruction.kind = InstructionKind::fail;
    } else if (planned.call) {
        instruction.kind = InstructionKind::call;
        auto call = std::make_unique<CallState>(account, OperatorId(index));
        call->planned = planned.call->planned ? planned.call.get() : nullptr;
        call->operands.assign(inputs.begin(), inputs.end());
        for (const ValueId result : op.results) call->results.push_back(&slot(result));
        m_calls[static_cast<size_t>(index)] = std::move(call);
    } else {
        const bool isSettled =
            std::ranges::all_of(op.results, [&](ValueId result) { return slot(result).fixed || isScalarVariant(slot(result)); });
        const bool isPlain = isSettled && !m_program.device(); // else operands have to be looked for
        instruction.kind = reads ? InstructionKind::reads : isPlain ? InstructionKind::kernel : InstructionKind::sized;
    }
    instruction.plain = instruction.kind;
    m_code.push_back(instruction);
}

void Activation::setTraps(const TrapSet& traps)
{
    const bool any = traps.has(plan().graph);
    for (size_t o = 0; o + 1 < m_code.size(); ++o) { // the last one is the end
        Instruction& instruction = m_code[o];
        instruction.traps = any ? traps.of(plan().graph, OperatorId(instruction.index)) : uint8_t{trapNone};
        instruction.kind = instruction.traps == trapNone ? instruction.plain : InstructionKind::trapped;
    }
    markChains();
}

namespace {

/// A graph as its plan says. False: what its constants are cannot be told from the model alone.
bool describe(const Model& model, const GraphPlan& plan, CalledGraph& called)
{
    called.graph = &model.graph(plan.graph);
    for (size_t v = 0; v < plan.values.size(); ++v) {
        const Value& value = called.graph->values[v];
        if (value.role == ValueRole::constant && value.constant && (value.constant->externalBuffer() >= 0 || isPacked(value))) return false;
        Tensor& tensor = called.values.emplace_back(declaredTensor(value));
        tensor.dtype = plan.values[v].dtype;
        tensor.shape = plan.values[v].shape;
    }
    called.branches.resize(plan.operators.size());
    for (size_t o = 0; o < plan.operators.size(); ++o) {
        const PlannedOperator& op = plan.operators[o];
        if (op.error || !op.def) return false;
        if (!op.call) continue;
        if ((op.call->form.kind != CallKind::branch && op.call->form.kind != CallKind::loop) || !op.call->planned) return false;
        called.branches[o].resize(op.call->plans.size());
        for (size_t c = 0; c < op.call->plans.size(); ++c)
            if (!describe(model, *op.call->plans[c], called.branches[o][c])) return false;
    }
    return true;
}

} // namespace

/// A loop whose shapes are known may run on the device without the host; if not, its operators do one by one, which nobody is told.
void Program::prepareLoop(int32_t index, std::span<const Tensor> tensors)
{
    const auto at = static_cast<size_t>(index);
    const PlannedCall& call = *m_plan.operators[at].call;
    if (!m_options.device || !isDeviceProfile(m_options.profile) || m_options.kernels) return; // other kernels are others' devices
    if (call.form.kind != CallKind::loop || !call.planned) return;
    const Operator& op = m_graph.operators[at];
    std::vector<const Tensor*> inputs, results;
    for (const ValueId input : op.inputs) inputs.push_back(input.valid() ? &tensors[static_cast<size_t>(input.index)] : nullptr);
    for (const ValueId result : op.results) results.push_back(&tensors[static_cast<size_t>(result.index)]);
    CalledGraph cond, body;
    if (std::ranges::find(inputs, nullptr) != inputs.end() || !describe(m_model, *call.plans[0], cond) ||
        !describe(m_model, *call.plans[1], body))
        return;
    const KernelSetup setup{op, inputs, results, m_plan.operators[at].fixed, &m_model};
    if (Result<PreparedKernel> prepared = prepareDeviceLoop({setup, cond, body}); prepared.ok()) m_kernels[at] = std::move(*prepared);
}

/// Points operands that are references at the variables' values. False if there is none.
bool Activation::lookUpReferences(int32_t index, std::span<const Tensor*> inputs)
{
    const Graph& graph = m_program.graph();
    const Operator& op = graph.operators[static_cast<size_t>(index)];
    const auto isRead = [&](size_t i) {
        return op.inputs[i].valid() && graph.value(op.inputs[i]).type.isReference && !takesReference(op, static_cast<int>(i));
    };
    std::vector<size_t> read;
    for (size_t i = 0; i < inputs.size(); ++i)
        if (isRead(i)) read.push_back(i);
    if (read.empty()) return false;
    std::vector<ReferenceRead>& references = m_references[index];
    references.resize(read.size());
    for (size_t r = 0; r < read.size(); ++r) {
        references[r].handle = &slot(op.inputs[read[r]]);
        references[r].value.dtype = graph.value(op.inputs[read[r]]).type.dtype;
        inputs[read[r]] = &references[r].value;
    }
    return true;
}

Result<std::unique_ptr<Activation>> Activation::create(ActivationPool& pool, KernelRuntime& runtime, MemoryAccount& account,
                                                       const VariableSlots* variables)
{
    std::unique_ptr<Activation> activation(new Activation(pool, runtime, account));
    for (MemoryBlock& block : activation->m_blocks) LS_CHECK_OK(block.reserve(0));
    if (variables)
        for (const auto& [value, slot] : variables->slots) {
            activation->slot(value).data = slot.data;
            activation->slot(value).bytes = slot.bytes;
        }
    return activation;
}

void Activation::bind(std::byte* base)
{
    if (base == m_base) return;
    m_base = base;
    const GraphPlan& plan = m_program.plan();
    for (size_t v = 0; v < m_slots.size(); ++v)
        if (plan.values[v].storage == Storage::arena) m_slots[v].data = base + plan.values[v].offset;
}

} // namespace loopscope
