// Kinds about TensorFlow 1 control flow: nodes that become dead, Merges that choose an input, frames that open or end, races.
#include "engine/debug/breakpoints/kind.h"

#include "engine/base/text.h"
#include "engine/exec/dataflow_executor.h"
#include "engine/ir/frames.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace loopscope {

namespace {

std::string_view frameNameOf(const Operator& enter) { return attributeString(enter.attributes, "frame_name", ""); }

bool isOneOf(const Operator& op, std::string_view name)
{
    return op.kind.dialect == "tf" && (op.kind.name == name || op.kind.name == "Ref" + std::string(name));
}

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
        : BreakKind(context), m_path(std::move(places.path)), m_wanted(wanted)
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

/// The first node of a frame instance, or an Exit that hands the loop's result out.
class FrameKind final : public BreakKind {
public:
    FrameKind(const BreakContext& context, std::string_view name, bool atEnd) : BreakKind(context), m_atEnd(atEnd)
    {
        for (size_t g = 0; g < model().graphs.size(); ++g) addSites(GraphId(static_cast<int64_t>(g)), name);
    }
    bool met(const BreakEvent& event, const BreakSite&) override
    {
        if (event.frames < 2 || event.op.state == EventState::failed) return false;
        const FrameInfo frame = event.executor.frame(event.frames - 1);
        if (frame.role != CallRole::frame) return false;
        if (m_atEnd) return event.op.state == EventState::live;
        return frame.iteration == 0 && frame.enteredAtStep == event.op.step; // an iteration begins with its first node
    }

private:
    /// What can run first in a frame reads an Enter; what ends it is its first Exit.
    void addSites(GraphId id, std::string_view name)
    {
        const Graph& graph = model().graph(id);
        std::set<int32_t> inside; ///< operators whose operands lie in the frame
        std::vector<int32_t> open;
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            const Operator& op = graph.operators[o];
            const auto isFromEnter = [&](ValueId input) {
                if (!input.valid() || !graph.value(input).producer.valid()) return false;
                const Operator& producer = graph.op(graph.value(input).producer);
                return isOneOf(producer, "Enter") && frameNameOf(producer) == name;
            };
            if (!std::ranges::any_of(op.inputs, isFromEnter)) continue;
            const auto index = static_cast<int32_t>(o);
            if (!m_atEnd) add({id, OperatorId(index), trapBefore, -1, ValueId()});
            if (inside.insert(index).second) open.push_back(index);
        }
        if (!m_atEnd || open.empty()) return;
        std::vector<std::vector<int32_t>> readers(graph.values.size());
        for (size_t o = 0; o < graph.operators.size(); ++o)
            for (const ValueId input : graph.operators[o].inputs)
                if (input.valid()) readers[static_cast<size_t>(input.index)].push_back(static_cast<int32_t>(o));
        int32_t first = -1;
        for (size_t i = 0; i < open.size(); ++i) {
            const Operator& op = graph.operators[static_cast<size_t>(open[i])];
            if (isOneOf(op, "Exit")) {
                if (first < 0 || open[i] < first) first = open[i];
                continue;
            }
            if (isOneOf(op, "Enter")) continue; // into a frame inside it
            for (const ValueId result : op.results)
                for (const int32_t reader : readers[static_cast<size_t>(result.index)])
                    if (inside.insert(reader).second) open.push_back(reader);
        }
        if (first >= 0) add({id, OperatorId(first), trapAfter, -1, ValueId()});
    }

    bool m_atEnd;
};

/// The first node of iterations of a frame.
class FrameIterationKind final : public BreakKind {
public:
    FrameIterationKind(const BreakContext& context, std::string_view name, IterationSet iterations)
        : BreakKind(context), m_iterations(std::move(iterations))
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
        const auto* const executor = dynamic_cast<const DataflowExecutor*>(&event.executor);
        if (!executor) return false;
        return std::ranges::any_of(executor->view().races(), [&](const DataflowRace& race) { return race.step == event.op.step; });
    }
};

Result<std::unique_ptr<BreakKind>> finish(std::unique_ptr<BreakKind> kind, std::string head, std::string place)
{
    kind->head = std::move(head);
    kind->place = std::move(place);
    return kind;
}

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
    if (!kind->sites().empty()) return finish(std::move(kind), name + " " + operands[0], operands[0]);
    std::vector<std::string> names;
    for (const Graph& graph : context.target.model.graphs)
        for (const Operator& op : graph.operators)
            if (isOneOf(op, "Enter")) names.emplace_back(frameNameOf(op));
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return Error(ErrorCode::usage, "no frame '" + operands[0] + "'").nearest(nearestNames(operands[0], names));
}

} // namespace

Result<std::unique_ptr<BreakKind>> makeDead(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    LS_CHECK_OK(checkDialect(context, "dead"));
    if (operands.size() > 1) return wrongOperands("dead");
    if (operands.empty()) return finish(std::make_unique<DeadKind>(context, allPlaces(context.target)), "dead", "");
    LS_TRY(Places places, resolvePlaces(context.target, frame, operands[0]));
    const std::string text = places.text;
    return finish(std::make_unique<DeadKind>(context, std::move(places)), "dead " + text, text);
}

Result<std::unique_ptr<BreakKind>> makeMerge(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    LS_CHECK_OK(checkDialect(context, "merge"));
    if (operands.empty() || operands.size() > 2) return wrongOperands("merge");
    LS_TRY(Places places, resolvePlaces(context.target, frame, operands[0]));
    const auto isMerge = [&](const PlacedOperator& placed) {
        return isOneOf(context.target.model.graph(placed.graph).op(placed.op), "Merge");
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
    return finish(std::make_unique<MergeKind>(context, std::move(places), wanted), "merge " + text + (wanted < 0 ? "" : " " + operands[1]),
                  text);
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
    return finish(std::move(kind), "", std::string(name));
}

Result<std::unique_ptr<BreakKind>> makeRace(const BreakContext& context, FrameContext, std::span<const std::string> operands)
{
    LS_CHECK_OK(checkDialect(context, "race"));
    if (!operands.empty()) return wrongOperands("race");
    return finish(std::make_unique<RaceKind>(context), "race", "");
}

} // namespace loopscope
