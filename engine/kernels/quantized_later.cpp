#include "engine/kernels/quantized_later.h"

#include <algorithm>

namespace loopscope {

namespace {

bool isNarrow(DType dtype) { return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i4; }

/// Floats that meet integer weights are made integers for the product ("hybrid").
bool quantizesFloats(const Graph& graph, const Operator& op)
{
    const auto has = [&](auto isSuch) {
        return std::ranges::any_of(op.inputs, [&](ValueId id) { return id.valid() && isSuch(graph.value(id).type); });
    };
    if (!has([](const TensorType& type) { return isFloat(type.dtype); })) return false;
    if (op.kind.name == "quantize" || op.kind.name == "fake_quant") return true;
    return has([](const TensorType& type) { return isNarrow(type.dtype) && type.quantization != nullptr; });
}

bool writesVariable(const Operator& op) { return op.kind.name == "assign_variable"; }

} // namespace

QuantizedLater::QuantizedLater(const Model& model)
{
    if (model.dialect == Dialect::tf) return; // no kernel of theirs quantizes floats on the way
    const bool isAny = std::ranges::any_of(model.graphs, [](const Graph& graph) {
        return std::ranges::any_of(graph.operators, [&](const Operator& op) { return quantizesFloats(graph, op); });
    });
    if (!isAny) return;
    for (const Graph& graph : model.graphs) {
        m_values.emplace_back(graph.values.size());
        m_operators.emplace_back(graph.operators.size());
    }
    for (bool isChanged = true; isChanged;) {
        isChanged = false;
        for (size_t g = model.graphs.size(); g-- > 0;) isChanged = visit(model, g) || isChanged;
    }
}

/// Marks what operators of a graph hand to others; whether that was new.
bool QuantizedLater::visit(const Model& model, size_t g)
{
    const Graph& graph = model.graphs[g];
    bool isNew = false;
    const auto mark = [&](size_t owner, ValueId id) {
        if (!id.valid() || m_values[owner][static_cast<size_t>(id.index)]) return;
        m_values[owner][static_cast<size_t>(id.index)] = true;
        isNew = true;
    };
    const auto isMarked = [&](size_t owner, ValueId id) { return id.valid() && m_values[owner][static_cast<size_t>(id.index)]; };
    for (size_t o = graph.operators.size(); o-- > 0;) {
        const Operator& op = graph.operators[o];
        const bool reaches = std::ranges::any_of(op.results, [&](ValueId id) { return isMarked(g, id); }) || writesVariable(op);
        m_operators[g][o] = reaches;
        bool hands = reaches || quantizesFloats(graph, op);
        std::vector<Callee> callees = calleesOf(op);
        std::erase_if(callees, [&](const Callee& callee) { return !model.hasGraph(callee.graph); });
        for (const Callee& callee : callees)
            hands = hands || std::ranges::any_of(model.graph(callee.graph).inputs,
                                                 [&](ValueId id) { return isMarked(static_cast<size_t>(callee.graph.index), id); });
        if (!hands) continue;
        for (const ValueId id : op.inputs) mark(g, id);
        for (const Callee& callee : callees) // their results come back into loops as well
            for (const GraphOutput& output : model.graph(callee.graph).outputs) mark(static_cast<size_t>(callee.graph.index), output.value);
    }
    return isNew;
}

bool QuantizedLater::holds(GraphId graph, OperatorId op) const
{
    return !m_operators.empty() && m_operators[static_cast<size_t>(graph.index)][static_cast<size_t>(op.index)];
}

} // namespace loopscope
