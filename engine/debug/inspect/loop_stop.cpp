// Why a loop stopped: which part of its condition was false, what that part was computed from, and who wrote that.
#include "engine/base/text.h"
#include "engine/debug/host_call.h"
#include "engine/debug/inspect/expression_text.h"
#include "engine/debug/inspect/loop_condition.h"
#include "engine/debug/inspect/loop_state.h"
#include "engine/debug/inspect/why_answers.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/ir/ids.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/statistics.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr int kMostCalls = 32; ///< that a result is followed into
constexpr size_t kMostTerms = 16;

/// The parts of a condition that `and` joins, in the order of its text.
void splitTerms(const Graph& graph, ValueId condition, std::vector<ValueId>& terms)
{
    const Value& value = graph.value(condition);
    if (value.role == ValueRole::result && terms.size() < kMostTerms) {
        const Operator& op = graph.op(value.producer);
        if ((op.kind.name == "logical_and" || op.kind.name == "LogicalAnd") && op.inputs.size() == 2) {
            splitTerms(graph, op.inputs[0], terms);
            splitTerms(graph, op.inputs[1], terms);
            return;
        }
        if (op.kind.dialect == "tf" && op.kind.name == "Identity" && !op.inputs.empty()) return splitTerms(graph, op.inputs[0], terms);
    }
    terms.push_back(condition);
}

class StopStory {
public:
    StopStory(const DebugTarget& target, const CallPath& outside, OperatorId site)
        : m_target(target),
          m_model(target.model),
          m_outside(outside),
          m_op(target.model.graph(outside.graph()).op(site)),
          m_cond(target.model.graph(graphsOf(m_op).cond)),
          m_site(site),
          m_depth(outside.depth() + 1)
    {
    }

    Result<Explanation> tell()
    {
        WriteQuery query;
        query.path = m_outside;
        query.ops = {m_site};
        LS_TRY(const std::optional<WriteHit> hit, findLast(m_target, query, m_target.timeline.tick()));
        const std::string label = operatorLabel(m_op, m_site.index);
        if (!hit) return Error(ErrorCode::usage, "the loop has not run to its end yet").at(label).expected("'why loop' while it goes on");
        const Tick end = hit->after - 1;
        LS_CHECK_OK(m_target.timeline.goTo(end, m_target.control));
        const Executor& executor = m_target.executor;
        if (executor.position().depth <= m_depth || !executor.frame(m_depth).inCond) {
            m_answer.lines.push_back(label + " ended");
            return std::move(m_answer);
        }
        const int64_t trips = executor.frame(m_depth).iteration;
        std::vector<ValueId> terms, ignored;
        splitTerms(m_cond, m_cond.outputs[0].value, terms);
        std::vector<ValueId> broken;
        for (const ValueId term : terms)
            if (isFalse(term)) broken.push_back(term);
        if (broken.empty()) // the last operator of the condition, which ends the loop as it runs, gives what is left
            for (const ValueId term : terms)
                if (m_target.executor.value(m_depth, term) == nullptr) broken.push_back(term);
        m_answer.lines.push_back(label + " stopped after " + groupThousands(trips) + (isHost() ? " call" : " iteration") +
                                 (trips == 1 ? "" : "s") + ":");
        for (const ValueId term : broken) {
            m_answer.lines.back() += (term == broken.front() ? " " : ", ") + expressionText(m_model, m_cond, term, ignored);
        }
        m_answer.lines.back() += broken.empty() ? " its condition was false" : " was false";
        for (const ValueId term : broken) {
            LS_CHECK_OK(m_target.timeline.goTo(end, m_target.control));
            LS_CHECK_OK(leaves(m_cond, term, {end, end, m_depth, term}, 1));
        }
        return std::move(m_answer);
    }

private:
    bool isHost() const
    {
        const auto host = std::ranges::find(m_model.signatures, kHostLoopKey, &Signature::key);
        return host != m_model.signatures.end() && m_outside.depth() == 0 && m_outside.root == host->graph;
    }

    bool isFalse(ValueId term) const
    {
        const Tensor* const tensor = m_target.executor.value(m_depth, term);
        return tensor != nullptr && tensor->data != nullptr && tensor->elementCount() == 1 && elementAsReal(*tensor, 0) == 0;
    }

    /// A line for each value that the text of `value` names, at the moment `at`, with who wrote it. Of a truth value that is carried into
    /// the condition what it was computed from, too.
    Status leaves(const Graph& graph, ValueId value, ValueAt at, int indent)
    {
        std::vector<ValueId> named;
        expressionText(m_model, graph, value, named);
        for (const ValueId leaf : named) {
            LS_CHECK_OK(m_target.timeline.goTo(at.tick, m_target.control));
            const Tensor* const tensor = valueHere(m_target.executor, at.depth, leaf);
            std::string line = std::string(static_cast<size_t>(indent) * 2, ' ') + graph.value(leaf).id;
            const bool isTruth = tensor != nullptr && tensor->dtype == DType::boolean && tensor->elementCount() == 1;
            if (tensor != nullptr) line += "  " + shortValue(*tensor);
            LS_TRY(const Origin origin, originOf(m_target, {at.tick, at.until, at.depth, leaf}));
            if (origin.kind == OriginKind::input) line += "  <- input " + nameOf(origin);
            if (origin.kind == OriginKind::constant) line += "  <- constant " + nameOf(origin);
            if (origin.kind == OriginKind::variable) line += "  <- variable " + nameOf(origin);
            if (origin.kind != OriginKind::write) {
                m_answer.lines.push_back(std::move(line));
                continue;
            }
            LS_TRY(const WriteHit writer, innermost(*origin.hit, origin.slot));
            const Graph& body = m_model.graph(origin.hit->stack.back().graph);
            const ValueId written = body.op(origin.hit->op).results[static_cast<size_t>(std::max(origin.slot, 0))];
            std::vector<ValueId> inside;
            const std::string text = expressionText(m_model, body, written, inside);
            const bool isComputed = isTruth && indent == 1 && text != body.value(written).id;
            m_answer.lines.push_back(line + (isComputed ? "  = " + text : "") + "  <- " + addressOf(m_model, writer.stack, writer.op) +
                                     ", step " + std::to_string(writer.step));
            if (isComputed) {
                const int depth = static_cast<int>(origin.hit->stack.size()) - 1;
                LS_CHECK_OK(leaves(body, written, {origin.hit->before, origin.hit->before, depth, written}, indent + 1));
            }
        }
        return {};
    }

    std::string nameOf(const Origin& origin) const { return m_model.graph(origin.graph).value(origin.at.value).id; }

    /// The operator that computed what a call gave back, however deep it lies.
    Result<WriteHit> innermost(WriteHit hit, int slot)
    {
        for (int calls = 0; calls < kMostCalls && slot >= 0; ++calls) {
            if (callForm(m_model.graph(hit.stack.back().graph).op(hit.op)).kind == CallKind::none) break;
            LS_TRY(const std::optional<ValueAt> inside, resultInside(m_target, hit, slot));
            if (!inside) break;
            LS_TRY(const Origin origin, originOf(m_target, *inside));
            if (origin.kind != OriginKind::write) break;
            hit = *origin.hit;
            slot = origin.slot;
        }
        return hit;
    }

    const DebugTarget& m_target;
    const Model& m_model;
    const CallPath m_outside;
    const Operator& m_op;
    const Graph& m_cond;
    const OperatorId m_site;
    const int m_depth;
    Explanation m_answer;
};

} // namespace

Result<Explanation> explainStop(const DebugTarget& target, const CallPath& outside, OperatorId site)
{
    return StopStory(target, outside, site).tell();
}

} // namespace loopscope
