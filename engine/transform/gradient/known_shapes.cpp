#include "engine/transform/gradient/known_shapes.h"

#include "engine/ops/catalog.h"
#include "engine/ops/constant_data.h"
#include "engine/ops/shape_values.h"
#include "engine/ops/tf_shapes.h"
#include "engine/transform/gradient/activity.h"

#include <algorithm>

namespace loopscope {

namespace {

/// Functions that call each other deeper than this call themselves.
constexpr int kDeepestCalls = 64;

size_t at(ValueId value) { return static_cast<size_t>(value.index); }

} // namespace

Shape moreOf(const Shape& stated, const Shape& found)
{
    if (!stated.hasRank()) return found;
    if (!found.hasRank() || found.rank() != stated.rank()) return stated;
    Shape both = stated;
    for (int d = 0; d < both.rank(); ++d) {
        if (both[d] == kUnknownDim) both[d] = found[d];
        else if (found[d] != kUnknownDim && found[d] != both[d]) return stated;
    }
    return both;
}

/// One graph with shapes for its inputs.
class KnownShapes::Inference {
public:
    Inference(KnownShapes& shapes, const Graph& graph) : m_shapes(shapes), m_graph(graph)
    {
        for (const Value& value : graph.values) {
            m_tensors.push_back(value.type.isReference ? Tensor() : declaredTensor(value));
            if (value.type.isReference) m_tensors.back().dtype = value.type.dtype;
        }
    }

    void setInputs(std::span<const Shape> shapes)
    {
        for (size_t i = 0; i < m_graph.inputs.size() && i < shapes.size(); ++i) {
            Tensor& input = m_tensors[at(m_graph.inputs[i])];
            input.shape = moreOf(input.shape, shapes[i]);
        }
    }

    /// Operators behind those they read, in whatever order they stand. False if the budget is spent before the end.
    bool run()
    {
        m_states.assign(m_graph.operators.size(), State::untouched);
        std::vector<size_t> open;
        for (size_t last = 0; last < m_graph.operators.size(); ++last) {
            open.push_back(last);
            while (!open.empty()) {
                const size_t o = open.back();
                if (m_states[o] == State::untouched) {
                    m_states[o] = State::waiting;
                    pushProducers(m_graph.operators[o], open);
                    continue;
                }
                open.pop_back();
                if (m_states[o] == State::done) continue;
                m_states[o] = State::done;
                if (--m_shapes.m_budget < 0) return false;
                infer(m_graph.operators[o]);
            }
        }
        return true;
    }

    const Shape& shape(ValueId value) const { return m_tensors[at(value)].shape; }

private:
    enum class State : uint8_t { untouched, waiting, done };

    /// One that waits already is part of a cycle: nothing is known of what it gives.
    void pushProducers(const Operator& op, std::vector<size_t>& open) const
    {
        for (const ValueId input : op.inputs) {
            if (!input.valid() || m_graph.value(input).role != ValueRole::result) continue;
            const auto producer = static_cast<size_t>(m_graph.value(input).producer.index);
            if (m_states[producer] == State::untouched) open.push_back(producer);
        }
    }

    void infer(const Operator& op)
    {
        const std::vector<GraphId> called = calledGraphs(op);
        std::vector<Shape> found(op.results.size(), Shape::unknownRank());
        if (called.empty()) inferOrdinary(op, found);
        else inferCall(op, called, found);
        for (size_t k = 0; k < found.size(); ++k) {
            if (m_graph.value(op.results[k]).type.isReference) continue;
            Tensor& result = m_tensors[at(op.results[k])];
            result.shape = moreOf(result.shape, found[k]);
            showConstant(op, result);
        }
        if (called.empty() && op.results.size() == 1 && !m_graph.value(op.results[0]).type.isReference)
            showShapeValue(op, operandsOf(op), m_tensors[at(op.results[0])], m_shown);
    }

    std::vector<const Tensor*> operandsOf(const Operator& op) const
    {
        std::vector<const Tensor*> operands;
        for (const ValueId input : op.inputs) operands.push_back(input.valid() ? &m_tensors[at(input)] : nullptr);
        return operands;
    }

    void inferOrdinary(const Operator& op, std::vector<Shape>& found)
    {
        const std::vector<const Tensor*> inputs = operandsOf(op);
        std::vector<InferredType> results;
        for (const ValueId result : op.results) results.push_back({m_graph.value(result).type.dtype, Shape::unknownRank()});
        if (!inferOperator(op, inputs, results).ok()) return; // what is wrong with it is told when it runs
        if (op.kind.dialect == "tf") found = followedShapes(op, inputs);
        for (size_t k = 0; k < found.size() && k < results.size(); ++k) found[k] = moreOf(results[k].shape, found[k]);
    }

    void inferCall(const Operator& op, const std::vector<GraphId>& called, std::vector<Shape>& found)
    {
        if (!std::ranges::all_of(called, [&](GraphId id) { return m_shapes.m_model.hasGraph(id); })) return;
        std::vector<Shape> operands;
        for (size_t i = isBranch(op) ? 1 : 0; i < op.inputs.size(); ++i)
            operands.push_back(op.inputs[i].valid() ? shape(op.inputs[i]) : Shape::unknownRank());
        if (isLoop(op)) {
            if (called.size() != 2 || operands.size() != found.size()) return;
            found = m_shapes.carried(called[1], operands);
            return;
        }
        for (size_t b = 0; b < called.size(); ++b) {
            const std::vector<Shape> outputs = m_shapes.outputs(called[b], operands);
            for (size_t k = 0; k < found.size(); ++k) {
                const Shape& output = k < outputs.size() ? outputs[k] : Shape::unknownRank();
                found[k] = b == 0 ? output : joinShapes(found[k], output);
            }
        }
    }

    KnownShapes& m_shapes;
    const Graph& m_graph;
    std::vector<Tensor> m_tensors; ///< by value: its shape, and its data if it is a constant
    std::vector<State> m_states;   ///< by operator
    ShownValues m_shown;
};

void KnownShapes::refine(Graph& graph)
{
    Inference inference(*this, graph);
    inference.run(); // what was not reached is as it was stated
    for (const Operator& op : graph.operators)
        for (const ValueId result : op.results) {
            TensorType& type = graph.value(result).type;
            if (!type.isReference && !type.signature && type.dtype != DType::resource)
                type.shape = moreOf(type.shape, inference.shape(result));
        }
}

std::vector<Shape> KnownShapes::outputs(GraphId function, std::span<const Shape> inputs)
{
    const Graph& graph = m_model.graph(function);
    std::vector<Shape> shapes(graph.outputs.size(), Shape::unknownRank());
    if (m_depth >= kDeepestCalls) return shapes;
    Inference inference(*this, graph);
    inference.setInputs(inputs);
    ++m_depth;
    const bool isWhole = inference.run();
    --m_depth;
    for (size_t k = 0; isWhole && k < shapes.size(); ++k) shapes[k] = inference.shape(graph.outputs[k].value);
    return shapes;
}

std::vector<Shape> KnownShapes::carried(GraphId body, std::span<const Shape> initial)
{
    std::vector<Shape> shapes(initial.begin(), initial.end());
    for (;;) { // each time around at least one dimension is lost
        const std::vector<Shape> next = outputs(body, shapes);
        bool changed = false;
        for (size_t k = 0; k < shapes.size(); ++k) {
            Shape joined = joinShapes(shapes[k], k < next.size() ? next[k] : Shape::unknownRank());
            changed = changed || !(joined == shapes[k]);
            shapes[k] = std::move(joined);
        }
        if (!changed) return shapes;
    }
}

} // namespace loopscope
