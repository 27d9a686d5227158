#include "viewer/panels/listing_values.h"

#include "engine/ops/control_flow.h"

namespace loopscope::viewer {

namespace {

using ValueOf = std::function<const Tensor*(ValueId)>;

/// What is there of an operator's results.
OperatorValues presentValues(const Operator& op, OperatorId id, const ValueOf& value)
{
    OperatorValues values;
    values.op = id;
    for (const ValueId result : op.results) {
        const Tensor* const tensor = value(result);
        if (tensor == nullptr || tensor->data == nullptr) continue;
        const InlineValue shown = firstElements(*tensor);
        values.text += (values.text.empty() ? "" : ", ") + shown.text;
        values.abnormal = values.abnormal || shown.abnormal;
        values.age = OperatorValues::Age::current;
    }
    return values;
}

/// The side that a branch operator took; −1: it is none, or that is not known.
int sideTaken(const Operator& op, const ValueOf& value)
{
    const CallForm form = callForm(op);
    if (form.kind != CallKind::branch && form.kind != CallKind::select) return -1;
    if (op.inputs.empty() || !op.inputs.front().valid()) return -1;
    const Tensor* const steer = value(op.inputs.front());
    if (steer == nullptr || steer->data == nullptr || steer->elementCount() < 1) return -1;
    const auto number = static_cast<int>(elementAsReal(*steer, 0));
    return form.kind == CallKind::branch ? (number != 0 ? 0 : 1) : number;
}

} // namespace

ListingFacts factsHere(Inspector& inspector, const std::map<int, std::vector<ListingQuestion>>& questions, bool earlier)
{
    ListingFacts facts;
    const int innermost = inspector.position().depth - 1;
    for (const auto& [depth, asked] : questions) {
        const ValueOf value = [&inspector, at = depth](ValueId id) { return inspector.value(at, id); };
        std::vector<OperatorValues> values;
        if (inspector.stopsInAddressOrder()) {
            std::vector<OperatorId> operators;
            for (const ListingQuestion& one : asked) operators.push_back(one.op);
            values = inspector.valuesOf(depth, operators, earlier && depth == innermost,
                                        [](const Tensor& tensor) { return firstElements(tensor); });
        } else { // nodes run in any order, so what is there is what ran
            for (const ListingQuestion& one : asked)
                values.push_back(presentValues(inspector.model().graph(one.graph).op(one.op), one.op, value));
        }
        for (size_t i = 0; i < asked.size(); ++i) {
            const ListingQuestion& one = asked[i];
            const int side =
                values[i].age == OperatorValues::Age::current ? sideTaken(inspector.model().graph(one.graph).op(one.op), value) : -1;
            if (side >= 0) facts.taken[one.line] = side;
            facts.values[one.line] = std::move(values[i]);
        }
    }
    return facts;
}

ListingElsewhereFacts factsElsewhere(Inspector& inspector, const std::vector<ListingElsewhere>& invocations)
{
    ListingElsewhereFacts answer;
    for (const ListingElsewhere& invocation : invocations) {
        std::map<int, OperatorValues> values;
        const ReadElsewhere read = readElsewhere(inspector, invocation.place, [&](const EndedInvocation& end) {
            const ValueOf value = [&end](ValueId id) { return end.value(id); };
            for (const ListingQuestion& one : invocation.questions) {
                const Operator& op = inspector.model().graph(one.graph).op(one.op);
                values[one.line] = presentValues(op, one.op, value);
                if (const int side = sideTaken(op, value); side >= 0) answer.facts.taken[one.line] = side;
            }
        });
        for (const ListingQuestion& one : invocation.questions) answer.read[one.line] = read;
        answer.facts.values.merge(values);
    }
    return answer;
}

} // namespace loopscope::viewer
