// Kinds about TensorFlow 1 control flow: nodes that become dead, Merges that choose an input, frames that open or end, races.
#include "engine/debug/breakpoints/kind.h"

#include "engine/base/text.h"
#include "engine/exec/executor.h"
#include "engine/ir/flow_role.h"
#include "engine/ir/frames.h"

#include <algorithm>
#include <charconv>

namespace loopscope {

namespace {

/// A node that is about to be passed over as dead.
class DeadKind final : public BreakKind {
public:
    DeadKind(const BreakContext& context, Places places) : BreakKind(context), m_path(std::move(places.path))
    {
        for (const PlacedOperator& placed : places.operators) add({placed.graph, placed.op, trapBefore, -1, ValueId()});
    }
    bool met(const BreakEvent& event, const BreakSite&) override
    {
        return event.op.state == EventState::dead && m_path.matches(event.executor, event.frames);
    }

private:
    PathFilter m_path;
};

/// A Merge that has handed on one of its inputs.
class MergeKind final : public BreakKind {
public:
    MergeKind(const BreakContext& context, Places places, int64_t wanted)
        : BreakKind(context),
          m_path(std::move(places.path)),
          m_wanted(wanted)
    {
        for (const PlacedOperator& placed : places.operators) add({placed.graph, placed.op, trapAfter, -1, ValueId()});
    }
    bool met(const BreakEvent& event, const BreakSite&) override
    {
        if (event.op.state != EventState::live || !m_path.matches(event.executor, event.frames)) return false;
        if (m_wanted < 0) return true;
        if (event.op.results.size() < 2 || event.op.results[1]->bytes < sizeof(int32_t)) return false;
        return *event.op.results[1]->as<int32_t>() == m_wanted;
    }

private:
    PathFilter m_path;
    int64_t m_wanted;
};

/// The first node of a frame instance, or the node with which it completes.
class FrameKind final : public BreakKind {
public:
    FrameKind(const BreakContext& context, std::string_view name, bool atEnd) : BreakKind(context), m_name(name), m_atEnd(atEnd)
    {
        for (size_t g = 0; g < model().graphs.size(); ++g) {
            if (!hasFramesOrSwitches(model().graphs[g])) continue;
            if (m_atEnd) addInside(GraphId(static_cast<int64_t>(g)));
            else addFirst(GraphId(static_cast<int64_t>(g)));
        }
    }
    bool met(const BreakEvent& event, const BreakSite&) override
    {
        if (event.frames < 2 || event.op.state == EventState::failed) return false;
        if (m_atEnd) {
            const DataflowView* const dataflow = event.executor.dataflow();
            if (!dataflow) return false;
            const std::vector<std::string> ending = dataflow->endingFrames();
            return std::ranges::find(ending, m_name) != ending.end();
        }
        const FrameInfo frame = event.executor.frame(event.frames - 1);
        return frame.role == CallRole::frame && frame.iteration == 0 && frame.enteredAtStep == event.op.step; // its first node
    }

private:
    /// What can run first in a frame reads an Enter.
    void addFirst(GraphId id)
    {
        const Graph& graph = model().graph(id);
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            const auto isFromEnter = [&](ValueId input) {
                if (!input.valid() || !graph.value(input).producer.valid()) return false;
                const Operator& producer = graph.op(graph.value(input).producer);
                return entersFrame(producer) && frameNameOf(producer) == m_name;
            };
            if (std::ranges::any_of(graph.operators[o].inputs, isFromEnter))
                add({id, OperatorId(static_cast<int64_t>(o)), trapBefore, -1, ValueId()});
        }
    }
    /// What can run last in it lies in it, or in a frame inside it.
    void addInside(GraphId id)
    {
        const FrameAnalysis analysis = analyzeFrames(model().graph(id));
        std::vector<bool> inside(analysis.frames.size(), false);
        for (size_t f = 1; f < analysis.frames.size(); ++f) { // parents before children
            const Frame& frame = analysis.frames[f];
            inside[f] = frame.name == m_name || (frame.parent > 0 && inside[static_cast<size_t>(frame.parent)]);
            if (!inside[f]) continue;
            for (const OperatorId op : frame.nodes) add({id, op, trapAfter, -1, ValueId()});
        }
    }

    std::string m_name;
    bool m_atEnd;
};

/// The first node of iterations of a frame.
class FrameIterationKind final : public BreakKind {
public:
    FrameIterationKind(const BreakContext& context, std::string_view name, IterationSet iterations)
        : BreakKind(context),
          m_iterations(std::move(iterations))
    {
        for (const GraphId id : PathFilter().graphs(model(), context.target.executor.root())) {
            if (!hasFramesOrSwitches(model().graph(id))) continue;
            for (const Frame& frame : analyzeFrames(model().graph(id)).frames) {
                if (frame.parent < 0 || frame.name != name) continue;
                for (const OperatorId op : frame.nodes) add({id, op, trapBefore, -1, ValueId()});
            }
        }
    }
    bool met(const BreakEvent& event, const BreakSite&) override
    {
        const FrameInfo frame = event.executor.frame(event.frames - 1);
        return frame.enteredAtStep == event.op.step && m_iterations.contains(frame.iteration);
    }

private:
    IterationSet m_iterations;
};

/// Something that the graph leaves to chance was noticed.
class RaceKind final : public BreakKind {
public:
    explicit RaceKind(const BreakContext& context) : BreakKind(context)
    {
        for (size_t g = 0; g < model().graphs.size(); ++g)
            for (size_t o = 0; o < model().graphs[g].operators.size(); ++o)
                add({GraphId(static_cast<int64_t>(g)), OperatorId(static_cast<int64_t>(o)), trapAfter, -1, ValueId()});
    }
    bool met(const BreakEvent& event, const BreakSite&) override
    {
        return std::ranges::any_of(event.executor.races(), [&](const DataflowRace& race) { return race.step == event.op.step; });
    }
};

Status checkDialect(const BreakContext& context, std::string_view name)
{
    if (context.target.model.dialect == Dialect::tf) return {};
    return Error(ErrorCode::usage, "only in TensorFlow v1 graphs").at("break " + std::string(name));
}

Result<std::unique_ptr<BreakKind>> makeFrameKind(const BreakContext& context, std::span<const std::string> operands, bool atEnd)
{
    const std::string name = atEnd ? "frame-done" : "frame";
    LS_CHECK_OK(checkDialect(context, name));
    if (operands.size() != 1) return wrongOperands(name);
    auto kind = std::make_unique<FrameKind>(context, operands[0], atEnd);
    if (!kind->sites().empty()) return finished(std::move(kind), name + " " + operands[0], operands[0]);
    std::vector<std::string> names;
    for (const Graph& graph : context.target.model.graphs)
        for (const Operator& op : graph.operators)
            if (entersFrame(op)) names.emplace_back(frameNameOf(op));
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return Error(ErrorCode::usage, "no frame '" + operands[0] + "'").nearest(nearestNames(operands[0], names));
}

} // namespace

Result<std::unique_ptr<BreakKind>> makeDead(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    LS_CHECK_OK(checkDialect(context, "dead"));
    if (operands.size() > 1) return wrongOperands("dead");
    if (operands.empty()) return finished(std::make_unique<DeadKind>(context, allPlaces(context.target)), "dead", "");
    LS_TRY(Places places, resolvePlaces(context.target, frame, operands[0]));
    const std::string text = places.text;
    return finished(std::make_unique<DeadKind>(context, std::move(places)), "dead " + text, text);
}

Result<std::unique_ptr<BreakKind>> makeMerge(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    LS_CHECK_OK(checkDialect(context, "merge"));
    if (operands.empty() || operands.size() > 2) return wrongOperands("merge");
    LS_TRY(Places places, resolvePlaces(context.target, frame, operands[0]));
    const auto isMerge = [&](const PlacedOperator& placed) {
        return flowRole(context.target.model.graph(placed.graph).op(placed.op)) == FlowRole::merge;
    };
    if (places.operators.empty() || !std::ranges::all_of(places.operators, isMerge))
        return Error(ErrorCode::usage, "'" + operands[0] + "' is no Merge");
    int64_t wanted = -1;
    if (operands.size() == 2) {
        const std::string& text = operands[1];
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), wanted);
        if (error != std::errc() || end != text.data() + text.size() || wanted < 0)
            return Error(ErrorCode::usage, "'" + text + "' is no input of a Merge").expected("its number, from 0");
    }
    const std::string text = places.text;
    return finished(std::make_unique<MergeKind>(context, std::move(places), wanted),
                    "merge " + text + (wanted < 0 ? "" : " " + operands[1]), text);
}

Result<std::unique_ptr<BreakKind>> makeFrame(const BreakContext& context, FrameContext, std::span<const std::string> operands)
{
    return makeFrameKind(context, operands, false);
}

Result<std::unique_ptr<BreakKind>> makeFrameDone(const BreakContext& context, FrameContext, std::span<const std::string> operands)
{
    return makeFrameKind(context, operands, true);
}

Result<std::unique_ptr<BreakKind>> makeFrameIterations(const BreakContext& context, std::string_view name, IterationSet iterations)
{
    auto kind = std::make_unique<FrameIterationKind>(context, name, std::move(iterations));
    if (kind->sites().empty()) return Error(ErrorCode::usage, "no frame '" + std::string(name) + "'");
    return finished(std::move(kind), "", std::string(name));
}

Result<std::unique_ptr<BreakKind>> makeRace(const BreakContext& context, FrameContext, std::span<const std::string> operands)
{
    LS_CHECK_OK(checkDialect(context, "race"));
    if (!operands.empty()) return wrongOperands("race");
    return finished(std::make_unique<RaceKind>(context), "race", "");
}

} // namespace loopscope
