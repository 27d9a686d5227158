// Why a branch goes one way: its predicate as an expression, with the values in it, and when it last went another way.
#include "engine/base/text.h"
#include "engine/debug/inspect/expression_text.h"
#include "engine/debug/inspect/why_answers.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/ir/ids.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/statistics.h"

#include <algorithm>

namespace loopscope {

namespace {

std::string roleName(const CallForm& form, const Tensor& steering)
{
    if (form.kind == CallKind::branch) return elementAsInteger(steering, 0) != 0 ? "then" : "else";
    const int64_t index = elementAsInteger(steering, 0), last = static_cast<int64_t>(form.callees.size()) - 1;
    return "branch" + std::to_string(index < 0 || index > last ? last : index);
}

} // namespace

Result<Explanation> explainBranch(const DebugTarget& target, const CallPath& outside, OperatorId site)
{
    const Model& model = target.model;
    const Executor& executor = target.executor;
    const Graph& graph = model.graph(outside.graph());
    const Operator& op = graph.op(site);
    const CallForm form = callForm(op);
    const std::string label = operatorLabel(op, site.index);
    const int depth = outside.depth();

    // Before it or inside it, else when it ran last.
    const int64_t now = target.timeline.tick();
    int64_t at = now;
    const bool isHere = isOnPath(executor, executor.position().depth, outside) && executor.frame(depth).next == site;
    if (!isHere) {
        WriteQuery query;
        query.path = outside;
        query.ops = {site};
        LS_TRY(const std::optional<WriteHit> hit, findLast(target, query, now));
        if (!hit) return Error(ErrorCode::usage, "the branch has not run yet").at(label);
        at = hit->before;
    } else if (executor.position().depth > depth + 1) {
        LS_TRY(at, findEntry(target, depth, executor.frame(depth).invocation, site, now));
    }
    LS_CHECK_OK(target.timeline.goTo(at, target.control));
    const Tensor* const steering = executor.value(depth, op.inputs[0]);
    if (!steering || steering->elementCount() != 1) return Error(ErrorCode::usage, "its predicate is not there").at(label);
    const KeptTensor taken(*steering);
    const std::string way = roleName(form, taken.tensor);
    const FrameInfo frame = executor.frame(depth);
    const std::string where = frame.role == CallRole::loop ? " in iteration " + groupThousands(frame.iteration) : "";

    Explanation answer;
    std::vector<ValueId> leaves;
    const std::string text = expressionText(target.model, graph, op.inputs[0], leaves);
    answer.lines.push_back(label + (isHere && at == now ? " takes " : " took ") + way + where + ": " + text + " is " +
                           numberText(taken.tensor, 0));
    size_t width = 0;
    for (const ValueId leaf : leaves) width = std::max(width, graph.value(leaf).id.size());
    const Value& predicate = graph.value(op.inputs[0]);
    for (const ValueId leaf : leaves) {
        if (leaf == op.inputs[0]) continue;
        const Tensor* const value = executor.value(depth, leaf);
        std::string name = graph.value(leaf).id;
        name.resize(width, ' ');
        const bool isNumber = value && value->elementCount() == 1;
        std::string shown = "not kept until here";
        if (value) shown = isNumber ? numberText(*value, 0) : std::string(dtypeName(value->dtype)) + toString(value->shape);
        answer.lines.push_back("  " + name + "  " + shown);
    }
    if (predicate.role != ValueRole::result) return answer;
    WriteQuery query; // when the predicate was last written otherwise
    query.path = outside;
    query.ops = {predicate.producer};
    query.slot = predicate.slot;
    query.accepts = [&taken, slot = static_cast<size_t>(predicate.slot)](const Executor&, const OperatorEvent& event) {
        return slot < event.results.size() && !isSameTensor(*event.results[slot], taken.tensor);
    };
    LS_TRY(const std::optional<WriteHit> other, findLast(target, query, at));
    if (!other) {
        answer.lines.emplace_back("It was never otherwise before.");
        return answer;
    }
    const FrameInfo& there = other->stack.back();
    answer.lines.push_back("It last took " + roleName(form, other->result.tensor) +
                           (there.role == CallRole::loop ? " in iteration " + groupThousands(there.iteration) : "") + ", step " +
                           std::to_string(other->step) + ".");
    return answer;
}

} // namespace loopscope
