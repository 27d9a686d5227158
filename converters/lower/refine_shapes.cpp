#include "converters/lower/refine_shapes.h"

#include "engine/ops/catalog.h"
#include "engine/ops/shape_values.h"
#include "engine/tensor/tensor.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

namespace loopscope::lowering {

namespace {

constexpr int64_t kMostStandIn = 1 << 14; ///< elements
constexpr int64_t kMostVisits = 64;       ///< of an operator, on average: beyond, nothing is refined
constexpr int64_t kFewVisits = 1'000'000; ///< that are always allowed

/// None: no run is known that gives the value a shape.
using Known = std::optional<Shape>;

/// What holds of values that have one shape or the other. True: `mine` has changed.
bool join(Known& mine, const Known& other)
{
    if (!other) return false;
    if (!mine) {
        mine = other;
        return true;
    }
    if (*mine == *other || !mine->hasRank()) return false;
    if (!other->hasRank() || other->rank() != mine->rank()) {
        mine = Shape::unknownRank();
        return true;
    }
    bool changed = false;
    for (int d = 0; d < mine->rank(); ++d) {
        if ((*mine)[d] == (*other)[d] || (*mine)[d] < 0) continue;
        (*mine)[d] = -1;
        changed = true;
    }
    return changed;
}

class Refinement {
public:
    Refinement(Model& model, const StandIns& standIns) : m_model(model), m_standIns(standIns)
    {
        for (size_t g = 0; g < model.graphs.size(); ++g) {
            const Graph& graph = model.graphs[g];
            m_shapes.emplace_back(graph.values.size());
            m_numbers.emplace_back(graph.values.size());
            m_budget += kMostVisits * static_cast<int64_t>(graph.operators.size());
            for (size_t v = 0; v < graph.values.size(); ++v) {
                const Value& value = graph.values[v];
                const bool isGiven = value.role != ValueRole::result && value.role != ValueRole::input;
                if (isGiven && !isStandIn(graphAt(g), ValueId(static_cast<int64_t>(v)))) m_shapes[g][v] = value.type.dynamicShape();
            }
        }
        m_isOpen.assign(model.graphs.size(), false);
        m_isReached = m_isOpen;
        m_callers.resize(model.graphs.size());
    }

    void run()
    {
        if (m_model.graphs.empty()) return;
        for (const ValueId input : m_model.graphs.front().inputs)
            shape(graphAt(0), input) = m_model.graphs.front().value(input).type.dynamicShape();
        reach(graphAt(0));
        for (bool goesOn = true; goesOn;) {
            goesOn = false;
            for (size_t g = 0; g < m_isOpen.size(); ++g)
                if (m_isOpen[g]) {
                    goesOn = true;
                    visit(graphAt(g));
                    if (m_budget < 0) return;
                }
        }
        for (size_t g = 0; g < m_model.graphs.size(); ++g) write(graphAt(g));
        for (size_t g = 0; g < m_model.graphs.size(); ++g) giveStandIns(graphAt(g));
    }

private:
    static GraphId graphAt(size_t g) { return GraphId(static_cast<int64_t>(g)); }
    bool isStandIn(GraphId graph, ValueId value) const { return m_standIns.contains({graph.index, value.index}); }
    Known& shape(GraphId graph, ValueId value) { return m_shapes[static_cast<size_t>(graph.index)][static_cast<size_t>(value.index)]; }

    std::vector<std::byte>& numbers(GraphId graph, ValueId value)
    {
        return m_numbers[static_cast<size_t>(graph.index)][static_cast<size_t>(value.index)];
    }

    /// Something calls the graph.
    void reach(GraphId graph)
    {
        if (!m_isReached[static_cast<size_t>(graph.index)]) m_isOpen[static_cast<size_t>(graph.index)] = true;
        m_isReached[static_cast<size_t>(graph.index)] = true;
    }

    /// What inference says of the results; unknown rank where it refuses.
    std::vector<Known> inferred(GraphId graph, const Operator& op)
    {
        std::vector<Tensor> tensors;
        tensors.reserve(op.inputs.size());
        std::vector<const Tensor*> operands;
        for (const ValueId id : op.inputs) {
            if (!id.valid()) {
                operands.push_back(nullptr);
                continue;
            }
            const Known& known = shape(graph, id);
            if (!known) return std::vector<Known>(op.results.size());
            Tensor tensor = declaredTensor(m_model.graph(graph).value(id));
            if (*known != tensor.shape) tensor.shape = *known;
            if (std::vector<std::byte>& value = numbers(graph, id); !value.empty()) {
                tensor.data = value.data();
                tensor.bytes = value.size();
            }
            tensors.push_back(tensor);
            operands.push_back(&tensors.back());
        }
        std::vector<InferredType> types;
        for (const ValueId result : op.results) {
            const TensorType& declared = m_model.graph(graph).value(result).type;
            types.push_back({declared.dtype, Shape::unknownRank()});
        }
        const OpDef* const def = findOp(op.kind);
        const bool isKnown = def && def->infer && inferOperator(op, operands, types).ok();
        std::vector<Known> shapes;
        for (size_t k = 0; k < op.results.size(); ++k) {
            const Shape declared = m_model.graph(graph).value(op.results[k]).type.dynamicShape();
            const bool saysMore = isKnown && types[k].shape.hasRank() && (types[k].shape.isStatic() || !declared.isStatic());
            shapes.emplace_back(saysMore ? types[k].shape : declared);
        }
        if (op.results.size() == 1) follow(graph, op, operands, shapes[0]);
        return shapes;
    }

    /// Numbers that follow from shapes, as far as these are known now.
    void follow(GraphId graph, const Operator& op, std::span<const Tensor* const> operands, const Known& found)
    {
        std::vector<std::byte>& kept = numbers(graph, op.results[0]);
        kept.clear();
        Tensor result;
        result.dtype = m_model.graph(graph).value(op.results[0]).type.dtype;
        result.shape = found ? *found : Shape::unknownRank();
        ShownValues shown;
        showShapeValue(op, operands, result, shown);
        if (!shown.empty()) kept = std::move(shown.back());
    }

    void visit(GraphId graph)
    {
        m_isOpen[static_cast<size_t>(graph.index)] = false;
        const size_t count = m_model.graph(graph).operators.size();
        m_budget -= static_cast<int64_t>(count);
        bool changed = false;
        for (size_t o = 0; o < count && m_budget >= 0; ++o) {
            const Operator& op = m_model.graph(graph).operators[o];
            const std::vector<Callee> callees = calleesOf(op);
            const std::vector<Known> found = callees.empty() ? inferred(graph, op) : called(graph, op, callees);
            for (size_t k = 0; k < op.results.size(); ++k) changed |= join(shape(graph, op.results[k]), found[k]);
        }
        if (!changed) return;
        for (const GraphId caller : m_callers[static_cast<size_t>(graph.index)]) m_isOpen[static_cast<size_t>(caller.index)] = true;
    }

    /// What a branch or a loop gives, once what it calls has been followed.
    std::vector<Known> called(GraphId graph, const Operator& op, const std::vector<Callee>& callees)
    {
        const bool isLoop = op.kind.name == "while", isBranch = op.kind.name == "if";
        if (!isLoop && !isBranch) { // call_once, which has no operands
            for (const Callee& callee : callees) reach(callee.graph);
            return inferred(graph, op);
        }
        const size_t first = isBranch ? 1 : 0;
        std::vector<Known> results(op.results.size());
        for (const Callee& callee : callees) {
            auto& callers = m_callers[static_cast<size_t>(callee.graph.index)];
            if (std::ranges::find(callers, graph) == callers.end()) callers.push_back(graph);
            reach(callee.graph);
            for (size_t i = first; i < op.inputs.size(); ++i)
                if (op.inputs[i].valid()) give(callee.graph, i - first, shape(graph, op.inputs[i]));
            if (m_isOpen[static_cast<size_t>(callee.graph.index)] && m_budget >= 0) visit(callee.graph);
            const std::vector<GraphOutput>& outputs = m_model.graph(callee.graph).outputs;
            for (size_t k = 0; callee.role != "cond" && k < results.size() && k < outputs.size(); ++k)
                if (outputs[k].value.valid()) join(results[k], shape(callee.graph, outputs[k].value));
        }
        for (size_t k = 0; isLoop && k < results.size() && k < op.inputs.size(); ++k) { // it goes around, or not at all
            if (op.inputs[k].valid()) join(results[k], shape(graph, op.inputs[k]));
            for (const Callee& callee : callees)
                if (give(callee.graph, k, results[k])) m_isOpen[static_cast<size_t>(graph.index)] = true;
        }
        return results;
    }

    /// Input `i` has this shape, too. True: that is new.
    bool give(GraphId graph, size_t i, const Known& given)
    {
        const std::vector<ValueId>& inputs = m_model.graph(graph).inputs;
        if (i >= inputs.size() || !join(shape(graph, inputs[i]), given)) return false;
        m_isOpen[static_cast<size_t>(graph.index)] = true;
        return true;
    }

    void write(GraphId graph)
    {
        Graph& written = m_model.graph(graph);
        for (size_t v = 0; v < written.values.size(); ++v) {
            Value& value = written.values[v];
            const Known& known = m_shapes[static_cast<size_t>(graph.index)][v];
            if (!known || !known->hasRank() || (value.role != ValueRole::result && value.role != ValueRole::input)) continue;
            if (const Shape declared = value.type.dynamicShape(); declared.isStatic() || (declared.hasRank() && !known->isStatic()))
                continue;
            value.type.shape = *known;
            value.type.signature.reset();
            if (known->isStatic()) continue;
            value.type.signature = *known;
            for (int d = 0; d < known->rank(); ++d) value.type.shape[d] = std::max<int64_t>(value.type.shape[d], 1);
        }
    }

    void giveStandIns(GraphId graph)
    {
        for (const Operator& op : m_model.graph(graph).operators) {
            if (op.kind.name != "if") continue;
            for (size_t k = 0; k < op.results.size(); ++k) {
                const Known& known = shape(graph, op.results[k]);
                if (known && known->isStatic() && known->elementCount() <= kMostStandIn) giveTo(op, k, *known);
            }
        }
    }

    void giveTo(const Operator& op, size_t k, const Shape& wanted)
    {
        for (const Callee& callee : calleesOf(op)) {
            Graph& graph = m_model.graph(callee.graph);
            if (k >= graph.outputs.size() || !graph.outputs[k].value.valid()) continue;
            Value& output = graph.value(graph.outputs[k].value);
            if (!isStandIn(callee.graph, graph.outputs[k].value) || bitWidth(output.type.dtype) < 8) continue;
            if (output.role == ValueRole::constant) {
                output.type = TensorType(output.type.dtype, wanted);
                const std::vector<std::byte> zeros(byteSize(output.type.dtype, wanted.elementCount()));
                output.constant = std::make_shared<Constant>(Bytes::copyOf(zeros));
            } else if (output.role == ValueRole::result) { // inner branches give it
                output.type = TensorType(output.type.dtype, wanted);
                const Operator inner = graph.op(output.producer);
                if (inner.kind.name == "if") giveTo(inner, static_cast<size_t>(output.slot), wanted);
            }
        }
    }

    Model& m_model;
    const StandIns& m_standIns;
    std::vector<std::vector<Known>> m_shapes;                   ///< by graph and value
    std::vector<std::vector<std::vector<std::byte>>> m_numbers; ///< of shapes and what is computed of them; empty: not known
    std::vector<bool> m_isOpen;                                 ///< graphs of which more is known than when they were visited
    std::vector<bool> m_isReached;
    std::vector<std::vector<GraphId>> m_callers;
    int64_t m_budget = kFewVisits;
};

} // namespace

void refineShapes(Model& model, const StandIns& standIns) { Refinement(model, standIns).run(); }

} // namespace loopscope::lowering
