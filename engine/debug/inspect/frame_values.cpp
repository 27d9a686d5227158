#include "engine/debug/inspect/frame_values.h"

#include "engine/exec/executor.h"

#include <cctype>

namespace loopscope {

namespace {

std::string earlierText(const EvaluatedValue& value, const ValueWriter& writer)
{
    Array storage;
    std::optional<Tensor> elements = elementsOf(value, storage);
    if (!elements) return bareText(value, {});
    if (elements->elementCount() == 1) elements->shape = Shape{}; // computed ones are written without brackets
    return writer(*elements).text;
}

/// Whoever asks may mean another graph, out of which the run has come since.
bool isOf(const Graph& graph, OperatorId op) { return op.valid() && static_cast<size_t>(op.index) < graph.operators.size(); }

/// Operators that have not run in this invocation show what they gave in the one before.
void addEarlier(const DebugTarget& target, int depth, const Graph& graph, const ValueWriter& writer, std::vector<OperatorValues>& operators)
{
    std::string list;
    std::vector<size_t> owners;
    for (size_t i = 0; i < operators.size(); ++i) {
        if (operators[i].age != OperatorValues::Age::none || !isOf(graph, operators[i].op)) continue;
        for (const ValueId id : graph.op(operators[i].op).results) {
            list += (list.empty() ? "" : ", ") + ("prev(%\"" + graph.value(id).displayName() + "\")");
            owners.push_back(i);
        }
    }
    if (list.empty()) return;
    const auto values = evaluateList(target, {depth}, list, nullptr);
    if (!values.ok() || values->size() != owners.size()) return;
    for (size_t k = 0; k < owners.size(); ++k) {
        const EvaluatedValue& before = (*values)[k];
        if (before.absence != Absence::present || before.value.isNone() || before.value.type() == ExpressionType::handle) continue;
        OperatorValues& shown = operators[owners[k]];
        shown.age = OperatorValues::Age::earlier;
        shown.text += (shown.text.empty() ? "" : ", ") + earlierText(before, writer);
    }
}

} // namespace

std::vector<OperatorValues> valuesOf(const DebugTarget& target, int depth, const std::vector<OperatorId>& operators, bool earlier,
                                     const ValueWriter& writer)
{
    const Executor& executor = target.executor;
    const FrameInfo frame = executor.frame(depth);
    const Graph& graph = target.model.graph(frame.graph);
    const DataflowView* const dataflow = executor.dataflow();
    std::vector<OperatorValues> values;
    for (const OperatorId op : operators) {
        OperatorValues shown;
        shown.op = op;
        if (!isOf(graph, op)) {
            values.push_back(std::move(shown));
            continue;
        }
        const bool ran = !frame.next.valid() || op.index < frame.next.index;
        for (const ValueId id : graph.op(op).results) {
            if (!ran) continue;
            const Tensor* tensor = executor.value(depth, id);
            const bool present = tensor != nullptr && tensor->data != nullptr;
            if (!present && dataflow != nullptr && dataflow->isDead(depth, id)) { // a side that was not taken, or what follows from it
                shown.text += (shown.text.empty() ? "" : ", ") + std::string("dead");
                shown.age = OperatorValues::Age::current;
                continue;
            }
            const TensorStatistics* statistics = present ? nullptr : executor.recordedStatistics(depth, id);
            if (!present && statistics == nullptr) continue;
            const InlineValue text = present ? writer(*tensor) : inlineStatistics(*statistics, graph.value(id).type.dtype);
            shown.text += (shown.text.empty() ? "" : ", ") + text.text;
            shown.abnormal = shown.abnormal || text.abnormal;
            shown.age = OperatorValues::Age::current;
        }
        if (dataflow != nullptr && op == frame.next && depth < 0 && dataflow->nextIsDead()) {
            shown.text = "dead";
            shown.age = OperatorValues::Age::current;
        }
        values.push_back(std::move(shown));
    }
    if (earlier && frame.role != CallRole::main) addEarlier(target, depth, graph, writer, values);
    return values;
}

} // namespace loopscope
