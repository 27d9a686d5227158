// Kinds that say where: an operator, a pattern, an operator type, a graph, a step. They stop before the operator.
#include "engine/debug/breakpoints/kind.h"

#include "engine/base/text.h"
#include "engine/exec/executor.h"

#include <algorithm>

namespace loopscope {

namespace {

/// Operators, and inputs of graphs by the first operator of theirs, on certain paths.
class PlaceKind final : public BreakKind {
public:
    PlaceKind(const BreakContext& context, Places places) : BreakKind(context), m_path(places.path), m_isFrame(places.isFrame)
    {
        for (const PlacedOperator& placed : places.operators) add({placed.graph, placed.op, trapBefore, -1, ValueId()});
        for (const PlacedValue& value : places.values)
            if (!model().graph(value.graph).operators.empty()) add({value.graph, OperatorId(0), trapBefore, -1, ValueId()});
    }
    bool met(const BreakEvent& event, const BreakSite&) override
    {
        if (!m_path.matches(event.executor, event.frames)) return false;
        return !m_isFrame || event.executor.frame(event.frames - 1).enteredAtStep == event.op.step; // its first node
    }
    int64_t onlyIteration() const override { return m_path.onlyIteration(); }

private:
    PathFilter m_path;
    bool m_isFrame;
};

/// A moment: so many operators have completed.
class StepKind final : public BreakKind {
public:
    StepKind(const BreakContext& context, Step step, StopCause cause) : BreakKind(context), m_step(step)
    {
        m_cause = cause;
        for (const PlacedOperator& placed : allPlaces(context.target).operators) add({placed.graph, placed.op, trapBefore, -1, ValueId()});
    }
    bool met(const BreakEvent& event, const BreakSite& site) override
    {
        if (event.op.step != m_step) return false;
        // The first stop with that step: not inside a call that was entered there.
        if (site.op.index > 0 || event.frames == 1) return true;
        const FrameInfo frame = event.executor.frame(event.frames - 1);
        return frame.enteredAtStep != m_step || frame.iteration > 0;
    }
    StopReason reason(const BreakEvent&, const BreakSite&) const override
    {
        StopReason reason;
        reason.cause = m_cause;
        if (m_cause == StopCause::budget) reason.text = groupThousands(m_step) + " steps";
        return reason;
    }

private:
    int64_t m_step;
};

} // namespace

Result<std::unique_ptr<BreakKind>> makePlace(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    if (operands.size() > 1)
        return Error(ErrorCode::usage, "found '" + operands[1] + "' behind the place")
            .expected("if EXPR, hits N, once, in PATTERN, quiet or the end");
    LS_TRY(Places places, resolvePlaces(context.target, frame, operands[0]));
    const std::string text = places.text;
    auto kind = std::make_unique<PlaceKind>(context, std::move(places));
    if (kind->sites().empty()) return Error(ErrorCode::usage, "has no operators to stop at").at(text);
    return finished(std::move(kind), text, text);
}

Result<std::unique_ptr<BreakKind>> makeType(const BreakContext& context, FrameContext, std::span<const std::string> operands)
{
    if (operands.size() != 1) return wrongOperands("type");
    Places places = allPlaces(context.target);
    std::vector<std::string> kinds;
    const auto isOther = [&](const PlacedOperator& placed) {
        const Kind& kind = context.target.model.graph(placed.graph).op(placed.op).kind;
        if (std::ranges::find(kinds, kind.name) == kinds.end()) kinds.push_back(kind.name);
        return kind.name != operands[0] && kind.full() != operands[0];
    };
    std::erase_if(places.operators, isOther);
    if (places.operators.empty())
        return Error(ErrorCode::usage, "no operator of type '" + operands[0] + "' can run").nearest(nearestNames(operands[0], kinds));
    return finished(std::make_unique<PlaceKind>(context, std::move(places)), "type " + operands[0], "");
}

Result<std::unique_ptr<BreakKind>> makeGraph(const BreakContext& context, FrameContext, std::span<const std::string> operands)
{
    if (operands.size() != 1) return wrongOperands("graph");
    const Model& model = context.target.model;
    std::vector<std::string> names;
    Places places;
    for (const GraphId id : PathFilter().graphs(model, context.target.executor.root())) {
        const Graph& graph = model.graph(id);
        names.push_back(graph.id);
        if (graph.id != operands[0] && graph.name != operands[0]) continue;
        if (graph.operators.empty()) return Error(ErrorCode::usage, "graph " + graph.id + " has no operators to stop at");
        places.operators.push_back({id, OperatorId(0), -1});
        places.text = graph.id;
    }
    if (places.operators.empty())
        return Error(ErrorCode::usage, "no graph '" + operands[0] + "' can run").nearest(nearestNames(operands[0], names));
    const std::string name = places.text;
    return finished(std::make_unique<PlaceKind>(context, std::move(places)), "graph " + name, name);
}

Result<std::unique_ptr<BreakKind>> makeStep(const BreakContext& context, FrameContext, std::span<const std::string> operands)
{
    if (operands.size() != 1) return wrongOperands("step:N");
    LS_TRY(const Step step, parseCount(std::string_view(operands[0]).substr(5), "a step"));
    const std::string text = "step:" + std::to_string(step);
    return finished(std::make_unique<StepKind>(context, step, StopCause::breakpoint), text, text);
}

Result<std::unique_ptr<BreakKind>> makeSteps(const BreakContext& context, FrameContext, std::span<const std::string> operands)
{
    if (operands.size() != 1) return wrongOperands("steps");
    LS_TRY(const int64_t steps, parseCount(operands[0], "a number of steps"));
    return finished(std::make_unique<StepKind>(context, steps, StopCause::budget), "steps " + std::to_string(steps), "");
}

} // namespace loopscope
