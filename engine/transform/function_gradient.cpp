#include "engine/transform/function_gradient.h"

#include "engine/ops/op_traits.h"
#include "engine/ops/tf_registry.h"
#include "engine/transform/gradient_rules.h"

#include <algorithm>

namespace loopscope {

namespace {

/// Whether an operator has the operands and results of its signature, and so what its rule looks at.
bool isWhole(const Operator& op)
{
    const TfOpSignature* const signature = findTfOp(op.kind.name);
    const auto fits = [&](std::span<const TfArgument> arguments, const std::vector<ValueId>& values) {
        size_t count = 0;
        for (const TfArgument& argument : arguments) {
            const int64_t slots = tfArgumentCount(*signature, argument, op.attributes).value_or(0);
            if (slots < 1) return false;
            count += static_cast<size_t>(slots);
        }
        return count == values.size() && std::ranges::all_of(values, &ValueId::valid);
    };
    return signature && fits(signature->inputs, op.inputs) && fits(signature->outputs, op.results);
}

class GradientMaker {
public:
    explicit GradientMaker(GraphEditor& editor)
        : m_editor(editor),
          m_nodes(editor),
          m_gradients(editor.graph().values.size()),
          m_reached(editor.graph().values.size(), false)
    {
        const Graph& graph = editor.graph();
        const auto taken = [&] {
            return std::ranges::any_of(graph.operators, [&](const Operator& op) { return op.name.starts_with(m_prefix + "/"); });
        };
        for (int k = 1; taken(); ++k) m_prefix = "gradients_" + std::to_string(k);
    }

    void run()
    {
        const std::vector<OperatorId> order = topologicalOrder();
        for (const ValueId input : m_editor.graph().inputs) reach(input);
        for (const OperatorId id : order) {
            const Operator& op = m_editor.op(id);
            const bool depends = std::ranges::any_of(op.inputs, [&](ValueId input) { return input.valid() && isReached(input); });
            if (!depends || hasTrait(op.kind, OpTrait::noGradient)) continue;
            for (const ValueId result : op.results) reach(result);
        }
        addOutputGradients();
        for (auto id = order.rbegin(); id != order.rend(); ++id) goThrough(*id);
        finish();
    }

private:
    bool isReached(ValueId value) const { return m_reached[static_cast<size_t>(value.index)]; }
    void reach(ValueId value) { m_reached[static_cast<size_t>(value.index)] = true; }
    std::vector<GradientValue>& gradientsOf(ValueId value) { return m_gradients[static_cast<size_t>(value.index)]; }

    /// Operators behind those they read; those of cycles are left out.
    std::vector<OperatorId> topologicalOrder() const
    {
        const Graph& graph = m_editor.graph();
        const size_t count = graph.operators.size();
        std::vector<int> waits(count, 0);
        std::vector<std::vector<size_t>> readers(count);
        for (size_t o = 0; o < count; ++o)
            for (const ValueId input : graph.operators[o].inputs) {
                if (!input.valid() || graph.value(input).role != ValueRole::result) continue;
                ++waits[o];
                readers[static_cast<size_t>(graph.value(input).producer.index)].push_back(o);
            }
        std::vector<OperatorId> order;
        for (size_t o = 0; o < count; ++o)
            if (waits[o] == 0) order.emplace_back(static_cast<int64_t>(o));
        for (size_t k = 0; k < order.size(); ++k)
            for (const size_t reader : readers[static_cast<size_t>(order[k].index)])
                if (--waits[reader] == 0) order.emplace_back(static_cast<int64_t>(reader));
        return order;
    }

    void addOutputGradients()
    {
        for (size_t k = 0; k < m_editor.graph().outputs.size(); ++k) {
            const ValueId output = m_editor.graph().outputs[k].value;
            const TensorType type(m_editor.value(output).type.dtype, Shape::unknownRank());
            gradientsOf(output).push_back(m_nodes.value(m_editor.addInput(m_prefix + "/dy_" + std::to_string(k), type)));
            ++m_outputs;
        }
    }

    /// The sum of what has come together for a value; invalid if nothing has.
    GradientValue sumFor(ValueId value)
    {
        const std::vector<GradientValue>& parts = gradientsOf(value);
        if (parts.empty()) return {};
        return parts.size() == 1 ? parts.front() : m_nodes.add("AddN", parts).front();
    }

    void goThrough(OperatorId id)
    {
        const Operator op = m_editor.op(id);
        const auto hasGradient = [&](ValueId result) { return isReached(result) && !gradientsOf(result).empty(); };
        if (std::ranges::none_of(op.results, hasGradient)) return;
        m_nodes.setScope(m_prefix + "/" + op.name + "_grad", id);
        GradientCase c{m_nodes, op, {}, {}, {}, std::vector<GradientValue>(op.inputs.size())};
        for (const ValueId input : op.inputs) c.x.push_back(m_nodes.value(input));
        for (const ValueId result : op.results) {
            c.y.push_back(m_nodes.value(result));
            const GradientValue sum = sumFor(result);
            c.dy.push_back(sum.valid() ? sum : m_nodes.node("ZerosLike", {c.y.back()}));
        }
        if (const GradientRule rule = findGradientRule(op.kind.name); rule && isWhole(op)) rule(c);
        else askFor(c);
        for (size_t i = 0; i < c.dx.size(); ++i)
            if (c.dx[i].valid() && op.inputs[i].valid() && isReached(op.inputs[i])) gradientsOf(op.inputs[i]).push_back(c.dx[i]);
    }

    /// SymbolicGradient of what the operator calls or, for one that is no call, of the operator.
    void askFor(GradientCase& c)
    {
        std::vector<GradientValue> operands = c.x;
        operands.insert(operands.end(), c.dy.begin(), c.dy.end());
        AttributeItems results;
        for (const GradientValue& x : c.x) results.emplace_back(m_nodes.dtype(x));
        const Attribute* const callee = findAttribute(c.op.attributes, "f");
        Attribute function = callee && callee->as<GraphRef>() ? Attribute(*callee) : Attribute(AttributeMap{{"function", c.op.kind.name}});
        c.dx = m_nodes.add("SymbolicGradient", operands, {{"Tout", std::move(results)}, {"f", std::move(function)}});
    }

    void finish()
    {
        const size_t inputs = m_editor.graph().inputs.size() - m_outputs;
        std::vector<GraphOutput> outputs;
        m_nodes.setScope(m_prefix, Sources::none());
        for (size_t i = 0; i < inputs; ++i) {
            const ValueId input = m_editor.graph().inputs[i];
            GradientValue sum = sumFor(input);
            if (!sum.valid()) sum = m_nodes.node("ZerosLike", {m_nodes.value(input)});
            outputs.push_back({"dx_" + std::to_string(i), sum.id});
        }
        m_editor.setOutputs(std::move(outputs));
        m_editor.setControlOutputs({});
    }

    GraphEditor& m_editor;
    GradientNodes m_nodes;
    std::string m_prefix = "gradients";
    std::vector<std::vector<GradientValue>> m_gradients; ///< for each value of the function what has come for it
    std::vector<bool> m_reached;                         ///< values that depend on an input
    size_t m_outputs = 0;
};

} // namespace

void makeGradient(GraphEditor& function) { GradientMaker(function).run(); }

} // namespace loopscope
