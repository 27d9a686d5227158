#include "viewer/bridge/loop_condition.h"

#include "engine/ops/control_flow.h"

#include <algorithm>
#include <vector>

namespace loopscope::viewer {

namespace {

class ConditionReader {
public:
    ConditionReader(const Inspector& inspector, int depth, const Graph& cond, const Graph& body)
        : m_inspector(inspector),
          m_depth(depth),
          m_isInCond(inspector.frame(depth).inCond),
          m_cond(cond),
          m_body(body)
    {
    }

    std::string text() const
    {
        std::vector<std::string> found;
        collect(m_cond.outputs.front().value, found, 0);
        if (found.empty()) return {};
        return found.front() + (found.size() > 1 ? " …" : "");
    }

private:
    static constexpr int kDeepest = 16;

    const Operator* producerOf(ValueId value) const
    {
        const Value& one = m_cond.value(value);
        return one.role == ValueRole::result && one.producer.valid() ? &m_cond.op(one.producer) : nullptr;
    }

    /// Comparisons that the value is made of, each text once.
    void collect(ValueId value, std::vector<std::string>& found, int depth) const
    {
        if (!value.valid() || depth > kDeepest) return;
        if (const ComparisonText comparison = comparisonOf(m_cond, value); !comparison.sign.empty()) {
            std::string words = operand(comparison.left, 0) + comparison.sign + operand(comparison.right, 0);
            if (std::ranges::find(found, words) == found.end()) found.push_back(std::move(words));
            return;
        }
        if (const Operator* op = producerOf(value))
            for (const ValueId input : op->inputs) collect(input, found, depth + 1);
    }

    std::string operand(ValueId value, int depth) const
    {
        if (!value.valid()) return "?";
        const Value& one = m_cond.value(value);
        if (one.role == ValueRole::constant) return constantText(one);
        const Tensor* tensor = m_isInCond ? m_inspector.value(m_depth, value) : nullptr;
        if (!m_isInCond)
            if (const auto input = std::ranges::find(m_cond.inputs, value); input != m_cond.inputs.end()) {
                const auto position = static_cast<size_t>(input - m_cond.inputs.begin());
                if (position < m_body.inputs.size() && m_body.inputs[position].valid())
                    tensor = m_inspector.value(m_depth, m_body.inputs[position]);
            }
        if (tensor && tensor->data && tensor->elementCount() == 1 && dtypeClass(tensor->dtype) != DTypeClass::handle)
            return numberText(*tensor, 0, false);
        // A cast or a reshape of one number is that number.
        if (const Operator* op = producerOf(value); op && op->inputs.size() == 1 && depth < kDeepest)
            return operand(op->inputs[0], depth + 1);
        return one.id;
    }

    const Inspector& m_inspector;
    int m_depth;
    bool m_isInCond;
    const Graph& m_cond;
    const Graph& m_body;
};

} // namespace

std::string loopConditionText(const Inspector& inspector, int depth)
{
    const FrameInfo frame = inspector.frame(depth);
    if (frame.role != CallRole::loop || depth == 0 || !frame.site.valid()) return {};
    const Model& model = inspector.model();
    const CallForm form = callForm(model.graph(inspector.frame(depth - 1).graph).op(frame.site));
    if (form.kind != CallKind::loop || !model.hasGraph(form.callees[0].graph) || !model.hasGraph(form.callees[1].graph)) return {};
    const Graph& cond = model.graph(form.callees[0].graph);
    if (cond.outputs.empty()) return {};
    return ConditionReader(inspector, depth, cond, model.graph(form.callees[1].graph)).text();
}

} // namespace loopscope::viewer
