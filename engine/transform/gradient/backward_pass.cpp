// The walk from results to operands that all gradients are made by.
#include "engine/transform/gradient/backward_pass.h"

#include "engine/ops/op_traits.h"
#include "engine/ops/tf_registry.h"
#include "engine/transform/gradient/activity.h"
#include "engine/transform/gradient/custom_gradients.h"

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

} // namespace

bool hasGradient(DType dtype)
{
    switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64:
    case DType::c64:
    case DType::c128:
    case DType::variant:
    case DType::resource:
    case DType::unknown: return true;
    default: return false;
    }
}

BackwardPass::BackwardPass(GraphEditor& editor, CallGradients& calls)
    : m_editor(editor),
      m_calls(calls),
      m_nodes(editor),
      m_prefix(freshScope(editor.graph(), "gradients")),
      m_gradients(editor.graph().values.size()),
      m_reached(editor.graph().values.size(), false)
{
    m_nodes.setScope(m_prefix, Sources::none());
}

void BackwardPass::reach(ValueId value)
{
    if (hasGradient(m_editor.value(value).type.dtype)) m_reached[index(value)] = true;
}

/// Operators behind those they read; those of cycles are left out.
std::vector<OperatorId> BackwardPass::topologicalOrder() const
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

void BackwardPass::spread(const std::vector<OperatorId>& order)
{
    for (const OperatorId id : order) {
        const Operator& op = m_editor.op(id);
        std::vector<bool> reached;
        for (const ValueId input : op.inputs) reached.push_back(isReached(input));
        const bool isSource = isStackPop(op) || !calledGraphs(op).empty(); // may depend on it though no operand does
        if ((!isSource && std::ranges::none_of(reached, [](bool is) { return is; })) || hasTrait(op.kind, OpTrait::noGradient)) continue;
        const std::vector<bool> results = m_calls.reachedResults(op, reached);
        for (size_t k = 0; k < op.results.size(); ++k)
            if (results.empty() || results[k]) reach(op.results[k]);
    }
}

Status BackwardPass::run()
{
    const std::vector<OperatorId> order = topologicalOrder();
    spread(order);
    for (auto id = order.rbegin(); id != order.rend(); ++id) LS_CHECK_OK(goThrough(*id));
    m_nodes.setScope(m_prefix, Sources::none());
    return {};
}

GradientValue BackwardPass::gradientOf(ValueId value)
{
    if (index(value) >= m_gradients.size()) return {};
    std::vector<GradientValue>& parts = m_gradients[index(value)];
    if (parts.empty()) return {};
    if (parts.size() > 1) {
        const GradientValue sum = m_nodes.add("AddN", parts).front();
        parts = {sum};
    }
    return parts.front();
}

GradientValue BackwardPass::zerosFor(ValueId value, DType dtype)
{
    const TensorType& type = m_editor.value(value).type;
    if (type.dtype == DType::resource) {
        const GradientValue shape = m_nodes.node("VariableShape", {m_nodes.value(value)}, {{"out_type", DType::i32}});
        return m_nodes.node("Fill", {shape, m_nodes.number(0, dtype)});
    }
    return m_nodes.node("ZerosLike", {m_nodes.value(value)});
}

Status BackwardPass::goThrough(OperatorId id)
{
    const Operator op = m_editor.op(id);
    const auto hasCome = [&](ValueId result) { return isReached(result) && !m_gradients[index(result)].empty(); };
    if (std::ranges::none_of(op.results, hasCome)) return {};
    m_nodes.setScope(m_prefix + "/" + op.name + "_grad", id);
    GradientCase c{m_nodes, m_editor, id, op, {}, {}, {}, std::vector<GradientValue>(op.inputs.size()), {}, {}};
    c.arraySource = m_calls.arraySource();
    for (const ValueId input : op.inputs) {
        c.x.push_back(m_nodes.value(input));
        c.wanted.push_back(isReached(input));
    }
    if (hasTrait(op.kind, OpTrait::noGradient)) return {};
    if (std::ranges::none_of(c.wanted, [](bool is) { return is; })) {
        const bool isSource = isStackPop(op) || !calledGraphs(op).empty();
        const std::vector<bool> results = isSource ? m_calls.reachedResults(op, c.wanted) : std::vector<bool>();
        if (std::ranges::none_of(results, [](bool is) { return is; })) return {};
        c.refusal = "what it takes from a stack of TensorFlow 1 was pushed by another loop";
        return m_calls.differentiate(c);
    }
    for (const ValueId result : op.results) {
        c.y.push_back(m_nodes.value(result));
        c.dy.push_back(gradientOf(result));
    }
    const std::string_view custom = customGradientName(op);
    if (!custom.empty()) c.refusal = "it is that of '" + std::string(custom) + "', which is not in the graph";
    const GradientRule rule = isWhole(op) && custom.empty() ? m_calls.ruleOf(op.kind.name) : nullptr;
    const std::vector<GradientValue> came = c.dy;
    if (rule != nullptr) {
        for (size_t k = 0; k < c.dy.size(); ++k)
            if (!c.dy[k].valid()) c.dy[k] = m_nodes.node("ZerosLike", {c.y[k]});
        rule(c);
    }
    if (rule == nullptr || !c.refusal.empty()) {
        c.dy = came;
        c.dx.assign(op.inputs.size(), {});
        LS_CHECK_OK(m_calls.differentiate(c));
    }
    for (size_t i = 0; i < c.dx.size() && i < op.inputs.size(); ++i)
        if (c.dx[i].valid() && isReached(op.inputs[i])) m_gradients[index(op.inputs[i])].push_back(c.dx[i]);
    return {};
}

} // namespace loopscope
