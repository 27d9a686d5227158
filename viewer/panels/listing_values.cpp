#include "viewer/panels/listing_values.h"

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

} // namespace

ListingFacts factsHere(Inspector& inspector, const std::map<int, std::vector<ListingQuestion>>& questions, bool earlier)
{
    ListingFacts facts;
    const int innermost = inspector.position().depth - 1;
    for (const auto& [depth, asked] : questions) {
        if (depth > innermost || asked.empty()) continue;
        // The run may have gone on since this was asked, into another graph.
        if (inspector.stopsInAddressOrder() && inspector.frame(depth).graph != asked.front().graph) continue;
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
            if (values[i].age == OperatorValues::Age::current)
                if (const auto side = sideTaken(inspector.model().graph(one.graph).op(one.op), value)) facts.taken[one.line] = *side;
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
                if (const auto side = sideTaken(op, value)) answer.facts.taken[one.line] = *side;
            }
        });
        for (const ListingQuestion& one : invocation.questions) answer.read[one.line] = read;
        answer.facts.values.merge(values);
    }
    return answer;
}

} // namespace loopscope::viewer
