#include "engine/debug/inspect/loop_state.h"

#include "engine/base/text.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"
#include "engine/ops/dataflow.h"
#include "engine/ops/tf_registry.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace loopscope {

namespace {

constexpr uint64_t kHashedState = 64 << 10; ///< bytes of state up to which repetitions are looked for
constexpr int64_t kKnownStates = 4096;      ///< states that are all kept; later ones are compared with one now and then
constexpr int kMostNesting = 16;
constexpr size_t kNamed = 4;

/// An operator whose result depends on more than its operands.
bool hasOtherSources(const Operator& op)
{
    std::string name = op.kind.name;
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (name.find("random") != std::string::npos && !name.starts_with("stateless")) return true;
    const OpDef* const def = findOp(op.kind);
    return !def || def->hasSideEffects;
}

/// The inputs of graphs that values of them depend on.
class Slicer {
public:
    explicit Slicer(const Model& model) : m_model(model) {}
    bool isPure() const { return m_isPure; }

    /// Positions of the inputs of `id` that decide the values.
    std::set<size_t> inputsOf(GraphId id, const std::vector<ValueId>& values, int nesting = 0)
    {
        std::set<size_t> positions;
        if (!m_model.hasGraph(id) || nesting > kMostNesting) {
            m_isPure = false;
            return positions;
        }
        const Graph& graph = m_model.graph(id);
        std::vector<ValueId> open = values;
        std::vector<bool> seen(graph.values.size(), false);
        while (!open.empty()) {
            const ValueId next = open.back();
            open.pop_back();
            if (!next.valid() || seen[static_cast<size_t>(next.index)]) continue;
            seen[static_cast<size_t>(next.index)] = true;
            const Value& value = graph.value(next);
            if (value.role == ValueRole::variable) m_isPure = false;
            if (value.role == ValueRole::input)
                positions.insert(static_cast<size_t>(std::ranges::find(graph.inputs, next) - graph.inputs.begin()));
            if (value.role == ValueRole::result) follow(graph.op(value.producer), value.slot, nesting, open);
        }
        return positions;
    }

    /// Positions of what a loop carries that decide its condition and the carried values `wanted`.
    std::set<size_t> carriedOf(const LoopGraphs& graphs, std::set<size_t> wanted, int nesting)
    {
        if (!m_model.hasGraph(graphs.cond) || !m_model.hasGraph(graphs.body)) {
            m_isPure = false;
            return wanted;
        }
        const Graph& cond = m_model.graph(graphs.cond);
        const Graph& body = m_model.graph(graphs.body);
        if (!cond.outputs.empty()) wanted.merge(inputsOf(graphs.cond, {cond.outputs[0].value}, nesting + 1));
        for (size_t known = 0; known != wanted.size();) {
            known = wanted.size();
            std::vector<ValueId> outputs;
            for (const size_t position : wanted)
                if (position < body.outputs.size()) outputs.push_back(body.outputs[position].value);
            wanted.merge(inputsOf(graphs.body, outputs, nesting + 1));
        }
        return wanted;
    }

private:
    void follow(const Operator& op, int32_t slot, int nesting, std::vector<ValueId>& open)
    {
        const CallForm form = callForm(op);
        const auto argument = [&](size_t position) {
            if (const size_t at = position + static_cast<size_t>(form.firstArgument); at < op.inputs.size()) open.push_back(op.inputs[at]);
        };
        if (form.kind == CallKind::none) {
            if (hasOtherSources(op)) m_isPure = false;
            open.insert(open.end(), op.inputs.begin(), op.inputs.end());
            return;
        }
        for (int i = 0; i < form.firstArgument && static_cast<size_t>(i) < op.inputs.size(); ++i)
            open.push_back(op.inputs[static_cast<size_t>(i)]);
        if (form.kind == CallKind::loop) {
            for (const size_t position : carriedOf(graphsOf(op), {static_cast<size_t>(slot)}, nesting)) argument(position);
            return;
        }
        for (const Callee& callee : form.callees) {
            if (!m_model.hasGraph(callee.graph) || static_cast<size_t>(slot) >= m_model.graph(callee.graph).outputs.size()) {
                m_isPure = false;
                continue;
            }
            const ValueId output = m_model.graph(callee.graph).outputs[static_cast<size_t>(slot)].value;
            for (const size_t position : inputsOf(callee.graph, {output}, nesting + 1)) argument(position);
        }
    }

    const Model& m_model;
    bool m_isPure = true;
};

} // namespace

LoopGraphs graphsOf(const Operator& loop)
{
    LoopGraphs graphs;
    for (const Callee& callee : callForm(loop).callees) (callee.role == "cond" ? graphs.cond : graphs.body) = callee.graph;
    return graphs;
}

DecidingValues decidingValues(const Model& model, const Operator& loop)
{
    DecidingValues deciding;
    const LoopGraphs graphs = graphsOf(loop);
    Slicer slicer(model);
    const std::set<size_t> positions = slicer.carriedOf(graphs, {}, 0);
    deciding.isPure = slicer.isPure();
    if (!model.hasGraph(graphs.body)) return deciding;
    const Graph& body = model.graph(graphs.body);
    size_t changing = 0;
    for (size_t i = 0; i < body.inputs.size() && i < body.outputs.size(); ++i) {
        if (body.outputs[i].value == body.inputs[i]) continue;
        ++changing;
        if (positions.contains(i)) deciding.positions.push_back(i);
    }
    deciding.isAll = deciding.positions.size() == changing;
    return deciding;
}

DecidingMerges decidingMerges(const Graph& graph, const Frame& frame, ValueId condition)
{
    DecidingMerges deciding;
    std::set<int32_t> ends, merges;
    for (const OperatorId enter : frame.enters) ends.insert(enter.index);
    for (const LoopVariable& variable : frame.variables)
        if (variable.merge.valid() && variable.next.valid()) merges.insert(variable.merge.index);
    std::vector<ValueId> open = {condition};
    std::vector<bool> seen(graph.operators.size(), false);
    while (!open.empty()) {
        const ValueId next = open.back();
        open.pop_back();
        if (!next.valid() || graph.value(next).role != ValueRole::result) continue;
        const OperatorId id = graph.value(next).producer;
        if (seen[static_cast<size_t>(id.index)] || ends.contains(id.index)) continue;
        seen[static_cast<size_t>(id.index)] = true;
        const Operator& op = graph.op(id);
        if (merges.contains(id.index)) deciding.merges.push_back(id);
        // A function may hold anything; calls are rare in v1 conditions.
        if (!isDataflow(op) && (hasOtherSources(op) || !calleesOf(op).empty())) deciding.isPure = false;
        open.insert(open.end(), op.inputs.begin(), op.inputs.end());
    }
    std::ranges::sort(deciding.merges, {}, &OperatorId::index);
    deciding.isAll = deciding.merges.size() == merges.size();
    return deciding;
}

bool StateHistory::add(const Tensor& tensor)
{
    if (!isUseful()) return false;
    if (!tensor.data || m_state.size() + tensor.bytes > kHashedState || dtypeClass(tensor.dtype) == DTypeClass::handle) {
        m_isLost = true;
        return false;
    }
    const auto append = [this](const void* data, size_t size) {
        const auto* bytes = static_cast<const std::byte*>(data);
        m_state.insert(m_state.end(), bytes, bytes + size);
    };
    for (const int64_t dim : tensor.shape.dims()) append(&dim, sizeof dim);
    append(tensor.data, tensor.bytes);
    return true;
}

void StateHistory::note(int64_t iteration)
{
    if (!isUseful()) return;
    const Hash128 hash = hashBytes(m_state);
    m_state.clear();
    if (iteration < kKnownStates) {
        const auto [found, isNew] = m_states.try_emplace(hash.high, hash.low, iteration);
        if (!isNew && found->second.first == hash.low) {
            m_repeated = iteration;
            m_original = found->second.second;
        }
    } else if (hash == m_kept) { // a state that comes again comes again and again: it suffices to keep one of powers of two (Brent)
        m_repeated = iteration;
        m_original = m_keptIteration;
    }
    if (iteration < 2 * m_keptIteration) return;
    m_kept = hash;
    m_keptIteration = std::max<int64_t>(iteration, 1);
}

std::string repetitionText(const StateHistory& history, const std::vector<std::string>& names, bool isAll)
{
    std::vector<std::string> few(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamed)));
    if (names.size() > kNamed) few.push_back("…");
    const std::string what = isAll ? "state" : join(few, ", ");
    const std::string first = groupThousands(history.original());
    if (history.repeated() == history.original() + 1)
        return what + (isAll || names.size() == 1 ? " stays" : " stay") + " as in iteration " + first +
               (isAll ? "" : ", and nothing else decides") + ": the loop cannot end.";
    return what + " of iteration " + groupThousands(history.repeated()) + " = " + what + " of iteration " + first +
           (isAll ? "" : ", and nothing else decides") + ": the loop repeats itself and cannot end.";
}

} // namespace loopscope
