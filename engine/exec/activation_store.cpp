#include "engine/exec/activation_store.h"

#include "engine/exec/value_state.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <cstring>

namespace loopscope {

namespace {

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

ActivationStore::ActivationStore(const Model& model, GraphId root, const ExecutionOptions& options, KernelRuntime& runtime,
                                 MemoryAccount& account, KernelReport& report)
    : m_model(model),
      m_root(root),
      m_options(options),
      m_runtime(runtime),
      m_account(account),
      m_report(report)
{
}

/// Variables of every reachable graph, once: activations share them.
Status ActivationStore::prepareVariables()
{
    for (const GraphId id : reachableGraphs(m_model, m_root)) {
        const Graph& graph = m_model.graph(id);
        for (size_t v = 0; v < graph.values.size(); ++v) {
            const Value& value = graph.values[v];
            if (value.role != ValueRole::variable) continue;
            const std::optional<int64_t> count = checkedElementCount(value.type.shape);
            if (!count || bitWidth(value.type.dtype) == 0)
                return Error(ErrorCode::badFile, "variable '" + value.id + "' of graph '" + graph.id + "' has no definite size")
                    .found(std::string(dtypeName(value.type.dtype)) + (value.type.shape.hasRank() ? toString(value.type.shape) : "[*]"));
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

void ActivationStore::clearVariables()
{
    for (auto& [id, variables] : m_variables)
        for (auto& [valueId, slot] : variables.slots) {
            const Value& value = m_model.graph(id).value(valueId);
            // i8 begins as the real number 0 (LiteRT core/subgraph.cc, ResetVariableTensors), everything else as zeros.
            const Quantization* q = value.type.quantization.get();
            const bool hasZero = value.type.dtype == DType::i8 && q && q->isPerTensor();
            if (m_options.device) m_options.device->written(slot);
            std::memset(slot.data, hasZero ? static_cast<int>(q->zeroPoint()) : 0, slot.bytes);
            if (!value.constant || !value.constant->hasBytes()) continue;
            const Bytes& initial = value.constant->bytes();
            if (!initial.empty()) std::memcpy(slot.data, initial.data(), std::min<size_t>(slot.bytes, initial.size()));
        }
}

Status ActivationStore::bringVariables() const
{
    for (const auto& [graph, variables] : m_variables)
        for (const auto& [value, slot] : variables.slots) {
            m_options.device->hostBytes(slot);
            if (m_options.device->placementOf(slot) == Placement::device) return m_options.device->check();
        }
    return {};
}

void ActivationStore::saveVariables(MachineState& state, const MachineState* previous) const
{
    for (const auto& [graph, variables] : m_variables)
        for (const auto& [value, slot] : variables.slots) {
            const size_t at = state.variables.size(); // the same ones in the same order in every state
            const bool known = previous && at < previous->variables.size();
            state.variables.emplace_back(graph, stateLike(value, slot, known ? &previous->variables[at].second : nullptr));
        }
}

Status ActivationStore::restoreVariables(const MachineState& state)
{
    for (const auto& [graph, saved] : state.variables) {
        const auto found = m_variables.find(graph);
        if (found == m_variables.end()) return foreignState("an unknown variable");
        for (auto& [value, slot] : found->second.slots) {
            if (value != saved.value) continue;
            if (!fits(slot, slot.shape, saved)) return foreignState("a variable of another type");
            if (slot.bytes > 0) std::memcpy(slot.data, saved.bytes.data(), slot.bytes);
        }
    }
    return {};
}

void ActivationStore::forget()
{
    m_activations.clear();
    m_pools.clear();
}

void ActivationStore::reclaim()
{
    for (auto& [plan, pool] : m_pools) pool.idle.clear();
    for (const std::unique_ptr<Activation>& activation : m_activations) giveBack(*activation);
}

void ActivationStore::setTraps(const TrapSet& traps)
{
    m_traps = traps;
    for (const std::unique_ptr<Activation>& activation : m_activations) activation->setTraps(m_traps);
}

ActivationPool& ActivationStore::poolOf(CallState& call, size_t callee)
{
    if (call.pools.size() <= callee) call.pools.resize(call.planned->plans.size(), nullptr);
    ActivationPool*& pool = call.pools[callee];
    if (!pool) pool = &poolOf(*call.planned->plans[callee]);
    return *pool;
}

Result<Activation*> ActivationStore::take(ActivationPool& pool, const GraphPlan& plan, std::byte* base)
{
    if (!pool.idle.empty()) {
        const auto same = std::ranges::find(pool.idle, base, &Activation::base);
        const auto taken = same != pool.idle.end() ? same : pool.idle.end() - 1;
        Activation* const activation = *taken;
        *taken = pool.idle.back();
        pool.idle.pop_back();
        activation->bind(base);
        return activation;
    }
    if (!m_quantizedLater && m_options.profile == Profile::fast) m_quantizedLater.emplace(m_model);
    if (!pool.program)
        pool.program =
            std::make_unique<Program>(m_model, plan, m_options, m_quantizedLater ? *m_quantizedLater : QuantizedLater(), m_report);
    const auto variables = m_variables.find(plan.graph);
    LS_TRY(auto activation, Activation::create(pool, m_runtime, m_account, variables == m_variables.end() ? nullptr : &variables->second));
    activation->bind(base);
    if (!m_traps.empty()) activation->setTraps(m_traps);
    return m_activations.emplace_back(std::move(activation)).get();
}

} // namespace loopscope
