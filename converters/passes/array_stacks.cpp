#include "converters/passes/array_stacks.h"

#include "converters/passes/handle_threading.h"
#include "engine/ops/control_flow.h"
#include "engine/transform/gradient/activity.h"

#include <algorithm>

namespace loopscope {

bool holdsHandles(const Operator& op)
{
    const char* const key = isNamed(op, "StackPushV2") ? "T" : isNamed(op, "StackV2") || isNamed(op, "StackPopV2") ? "elem_type" : "";
    const Attribute* const said = *key ? findAttribute(op.attributes, key) : nullptr;
    const auto* const dtype = said ? said->as<DType>() : nullptr;
    return dtype && *dtype == DType::resource;
}

ArrayStacks::ArrayStacks(const Model& model) : m_model(model), m_stacks(model.graphs.size())
{
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        m_stacks[g].resize(model.graphs[g].values.size(), kNone);
        for (const Operator& op : model.graphs[g].operators)
            if (isNamed(op, "StackV2") && holdsHandles(op)) m_numbers.emplace(&op, static_cast<int32_t>(m_numbers.size()));
    }
    if (m_numbers.empty()) return;
    for (bool grows = true; grows;) {
        grows = false;
        for (size_t g = 0; g < model.graphs.size(); ++g)
            for (const Operator& op : model.graphs[g].operators) grows = follow(g, op) || grows;
    }
    m_arrays.assign(m_numbers.size(), kNone);
    for (size_t g = 0; g < model.graphs.size(); ++g)
        for (const Operator& op : model.graphs[g].operators) {
            const int32_t stack = isNamed(op, "StackPushV2") && holdsHandles(op) ? stackOf(g, op.inputs[0]) : kNone;
            if (stack < 0) continue;
            int32_t& array = m_arrays[static_cast<size_t>(stack)];
            const int32_t pushed = numberOf(g, op.inputs[1]);
            array = array == kNone || array == pushed ? pushed : kSeveral;
        }
}

int32_t ArrayStacks::arrayOf(size_t graph, const Operator& pop) const
{
    const int32_t stack = pop.inputs.empty() ? kNone : stackOf(graph, pop.inputs[0]);
    return stack < 0 ? kNone : std::max(m_arrays[static_cast<size_t>(stack)], kNone);
}

int32_t ArrayStacks::stackOf(size_t graph, ValueId value) const
{
    const auto at = static_cast<size_t>(value.index);
    return value.valid() && at < m_stacks[graph].size() ? m_stacks[graph][at] : kNone;
}

bool ArrayStacks::mark(size_t graph, ValueId value, int32_t stack)
{
    if (stack == kNone || !value.valid()) return false;
    int32_t& known = m_stacks[graph][static_cast<size_t>(value.index)];
    if (known == stack || known == kSeveral) return false;
    known = known == kNone ? stack : kSeveral;
    return true;
}

bool ArrayStacks::follow(size_t graph, const Operator& op)
{
    if (const auto stack = m_numbers.find(&op); stack != m_numbers.end()) return mark(graph, op.results[0], stack->second);
    if (isNamed(op, "Identity")) return mark(graph, op.results[0], stackOf(graph, op.inputs[0]));
    return (isLoop(op) || isBranchOrCall(op)) && followCall(graph, op);
}

bool ArrayStacks::followCall(size_t graph, const Operator& op)
{
    bool grows = false;
    const CallForm form = callForm(op);
    const auto first = static_cast<size_t>(form.firstArgument);
    for (size_t i = first; i < op.inputs.size(); ++i) {
        const int32_t stack = stackOf(graph, op.inputs[i]);
        if (isLoop(op) && i < op.results.size()) grows = mark(graph, op.results[i], stack) || grows;
        for (const Callee& callee : form.callees)
            if (m_model.hasGraph(callee.graph) && i - first < m_model.graph(callee.graph).inputs.size())
                grows = mark(static_cast<size_t>(callee.graph.index), m_model.graph(callee.graph).inputs[i - first], stack) || grows;
    }
    return grows;
}

int32_t ArrayStacks::numberOf(size_t graph, ValueId handle)
{
    const Graph& g = m_model.graphs[graph];
    while (handle.valid() && g.value(handle).role == ValueRole::result) {
        const Operator& op = g.op(g.value(handle).producer);
        if (isNamed(op, "TensorArrayV3"))
            return m_arrayNumbers.emplace(std::pair(graph, handle.index), static_cast<int32_t>(m_arrayNumbers.size())).first->second;
        const bool handsOn = isNamed(op, "Identity") || isLoop(op);
        handle = handsOn ? op.inputs[static_cast<size_t>(g.value(handle).slot)] : ValueId();
    }
    return kSeveral;
}

} // namespace loopscope
