// Why a node of a TensorFlow v1 graph is dead: backwards over dead inputs to the Switches that chose another side, and their predicate.
#include "engine/debug/inspect/expression_text.h"
#include "engine/debug/inspect/why_answers.h"
#include "engine/exec/executor.h"
#include "engine/ir/flow_role.h"

#include <algorithm>

namespace loopscope {

namespace {

/// A Switch on the way, as a line of the answer shows it.
struct SwitchLine {
    std::string name, data, rest;
};

std::string shown(const Executor& executor, ValueId value)
{
    const Tensor* const tensor = value.valid() ? executor.value(-1, value) : nullptr;
    if (!tensor || !tensor->data) return "gone";
    if (tensor->elementCount() == 1) return numberText(*tensor, 0, false);
    return std::string(dtypeName(tensor->dtype)) + toString(tensor->shape);
}

/// "output 0 of a Switch whose predicate is true"
std::string sideText(const DeadHop& hop, bool several)
{
    return "output " + std::to_string(hop.slot) + " of " + (several ? "Switches" : "a Switch") + " whose predicate is " +
           (hop.predicateText.empty() ? "not known any more" : hop.predicateText);
}

std::string headline(const std::string& name, const std::vector<DeadHop>& own, const Graph& graph)
{
    const DeadHop& first = own.front();
    const bool alike = std::ranges::all_of(own, [&](const DeadHop& hop) {
        return hop.cause == DeadHop::Cause::untaken && hop.slot == first.slot && hop.predicateText == first.predicateText;
    });
    std::string text = name + " is dead: ";
    if (alike && own.size() == 1) return text + "its input is " + sideText(first, false);
    if (alike)
        return text + (own.size() == 2 ? "both inputs are " : "all " + std::to_string(own.size()) + " dead inputs are ") +
               sideText(first, true);
    const std::string source = first.source.valid() ? graph.op(first.source).name : "an input";
    switch (first.cause) {
    case DeadHop::Cause::untaken: return text + "it reads " + sideText(first, false);
    case DeadHop::Cause::deadInput: return text + "it reads " + source + ", which is dead";
    case DeadHop::Cause::deadControl: return text + "it waits for " + source + ", which is dead";
    case DeadHop::Cause::unsent: return text + "it receives what a dead node sent";
    case DeadHop::Cause::unknown: break;
    }
    return text + "what it read is gone";
}

} // namespace

Result<Explanation> explainDead(const DebugTarget& target, GraphId graphId, OperatorId op)
{
    const DataflowView* const dataflow = target.executor.dataflow();
    if (!dataflow) return Error(ErrorCode::usage, "only TensorFlow graphs with Switch and Merge have dead nodes");
    LS_TRY(const std::vector<DeadHop> hops, dataflow->whyDead(graphId, op));
    const Graph& graph = target.model.graph(graphId);
    std::vector<DeadHop> own;
    for (const DeadHop& hop : hops)
        if (hop.op == op) own.push_back(hop);
    Explanation answer;
    answer.lines.push_back(headline(graph.op(op).name, own, graph));

    std::vector<SwitchLine> switches;
    OperatorId predicate;
    bool onePredicate = true;
    std::string predicateText;
    for (const DeadHop& hop : hops) {
        if (hop.cause != DeadHop::Cause::untaken) {
            if (hop.op != op && hop.source.valid())
                answer.lines.push_back("  " + graph.op(hop.op).name + " reads " + graph.op(hop.source).name + ", which is dead");
            continue;
        }
        const Operator& source = graph.op(hop.source);
        SwitchLine line;
        line.name = source.name;
        if (std::ranges::find(switches, line.name, &SwitchLine::name) != switches.end()) continue;
        line.data = "data " + shown(target.executor, source.inputs.empty() ? ValueId() : source.inputs[0]);
        const ValueId chosenBy = source.inputs.size() > 1 ? source.inputs[1] : ValueId();
        const std::string by =
            chosenBy.valid() && graph.value(chosenBy).producer.valid() ? graph.op(graph.value(chosenBy).producer).name : "?";
        line.rest = "pred " + by + " = " + (hop.predicateText.empty() ? "?" : hop.predicateText);
        if (flowRole(source) == FlowRole::choice) line.rest += "  -> output " + std::to_string(1 - hop.slot);
        switches.push_back(std::move(line));
        onePredicate = onePredicate && (!predicate.valid() || predicate == hop.predicate);
        predicate = hop.predicate;
        predicateText = hop.predicateText;
    }
    size_t names = 0, data = 0;
    for (const SwitchLine& line : switches) {
        names = std::max(names, line.name.size());
        data = std::max(data, line.data.size());
    }
    for (SwitchLine& line : switches) {
        line.name.resize(names, ' ');
        line.data.resize(data, ' ');
        answer.lines.push_back("  " + line.name + "  " + line.data + "   " + line.rest);
    }
    if (onePredicate && predicate.valid() && graph.op(predicate).kind.name == "Const")
        answer.lines.push_back("The predicate is the constant " + graph.op(predicate).name + " = " + predicateText +
                               ": this side is dead in every iteration.");
    return answer;
}

} // namespace loopscope
