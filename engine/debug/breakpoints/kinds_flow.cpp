// Kinds about control flow: iterations of a loop, its beginning and end, how often it ran, and which branch is taken.
#include "engine/debug/breakpoints/kind.h"

#include "engine/base/text.h"
#include "engine/exec/executor.h"
#include "engine/observe/host_address.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <map>

namespace loopscope {

namespace {

constexpr std::string_view kNoOperators = "the loop has no operators to stop at";

/// Where an iteration begins: the first operator of cond, or of body where cond has none. None where both are empty.
std::optional<BreakSite> iterationSite(const Model& model, const PlacedOperator& loop)
{
    for (const Callee& callee : callForm(model.graph(loop.graph).op(loop.op)).callees)
        if (!model.graph(callee.graph).operators.empty()) return BreakSite{callee.graph, OperatorId(0), trapBefore, -1, ValueId()};
    return std::nullopt;
}

/// A loop at a place, at the beginning of its iterations or when it has ended.
class LoopKind : public BreakKind {
public:
    LoopKind(const BreakContext& context, Places places, bool atIterations, bool atEnd)
        : BreakKind(context),
          m_path(places.path),
          m_loops(std::move(places.operators))
    {
        for (const PlacedOperator& loop : m_loops) {
            const std::optional<BreakSite> site = iterationSite(model(), loop);
            if (site && atIterations) add(*site);
            if (atEnd) add({loop.graph, loop.op, trapAfter, -1, ValueId()});
        }
    }

protected:
    /// The iteration that begins, if it is one of the loop; −1: it is not.
    int64_t beginning(const BreakEvent& event) const
    {
        if (event.frames < 2) return -1;
        const FrameInfo frame = event.executor.frame(event.frames - 1);
        if (frame.role != CallRole::loop) return -1;
        const GraphId caller = event.executor.frame(event.frames - 2).graph;
        const auto isIt = [&](const PlacedOperator& loop) { return loop.op == frame.site && loop.graph == caller; };
        if (!std::ranges::any_of(m_loops, isIt) || !m_path.matches(event.executor, event.frames - 1)) return -1;
        return frame.iteration;
    }
    bool isHere(const BreakEvent& event) const { return m_path.matches(event.executor, event.frames); }
    const std::vector<PlacedOperator>& loopOperators() const { return m_loops; }

private:
    PathFilter m_path;
    std::vector<PlacedOperator> m_loops;
};

class IterationKind final : public LoopKind {
public:
    IterationKind(const BreakContext& context, Places places, IterationSet set)
        : LoopKind(context, std::move(places), true, false),
          m_set(std::move(set))
    {
        const auto& ranges = m_set.ranges;
        if (ranges.size() == 1 && ranges[0].low == ranges[0].high && !ranges[0].openEnd && !ranges[0].powersOfTwo)
            m_only = ranges[0].low.offset;
    }
    bool met(const BreakEvent& event, const BreakSite&) override
    {
        const int64_t iteration = beginning(event);
        return iteration >= 0 && (m_only >= 0 ? iteration == m_only : m_set.contains(iteration));
    }
    int64_t onlyIteration() const override { return m_only; }

private:
    IterationSet m_set;
    int64_t m_only = -1;
};

/// Iterations counted from the last one: known where this execution of the loop was seen to its end, and then also of those that passed.
class LastIterationKind final : public LoopKind {
public:
    LastIterationKind(const BreakContext& context, Places places, IterationSet set)
        : LoopKind(context, std::move(places), true, true),
          m_set(std::move(set))
    {
        note = "known once the loop was seen to its end";
    }
    bool met(const BreakEvent& event, const BreakSite&) override
    {
        late.clear();
        if (event.isAfter) return ended(event);
        const int64_t iteration = beginning(event);
        if (iteration < 0) return false;
        const FrameInfo caller = event.executor.frame(event.frames - 2);
        const OperatorId loop = event.executor.frame(event.frames - 1).site;
        if (const auto trips = m_context.trips.of(caller.graph, loop, caller.invocation)) return m_set.contains(iteration, *trips - 1);
        std::vector<std::pair<int64_t, int64_t>>& passed = m_passed[caller.invocation];
        if (iteration == 0) passed.clear();
        const auto reach = static_cast<size_t>(std::min<int64_t>(m_set.reachFromLast(), kMostPassed)) + 2;
        if (passed.size() >= reach) passed.erase(passed.begin());
        passed.emplace_back(iteration, event.tick);
        return false;
    }
    std::vector<PlacedOperator> loops() const override { return loopOperators(); }

private:
    static constexpr int64_t kMostPassed = 4096;

    /// Whether iterations that passed were among them: it is known too late to stop there.
    bool ended(const BreakEvent& event)
    {
        const auto passed = m_passed.find(event.op.invocation);
        if (passed == m_passed.end()) return false;
        if (isHere(event))
            for (const auto& [iteration, tick] : passed->second)
                if (m_set.contains(iteration, event.op.trips - 1)) late.push_back(tick);
        m_passed.erase(passed);
        return !late.empty();
    }

    IterationSet m_set;
    std::map<InvocationId, std::vector<std::pair<int64_t, int64_t>>> m_passed; ///< iterations and their ticks, by invocation of the caller
};

class ExitKind final : public LoopKind {
public:
    ExitKind(const BreakContext& context, Places places) : LoopKind(context, std::move(places), false, true) {}
    bool met(const BreakEvent& event, const BreakSite&) override { return isHere(event); }
};

class BranchKind final : public BreakKind {
public:
    BranchKind(const BreakContext& context, Places places, int64_t wanted) : BreakKind(context), m_path(places.path), m_wanted(wanted)
    {
        for (const PlacedOperator& placed : places.operators) {
            add({placed.graph, placed.op, trapBefore, -1, ValueId()});
            m_isIf.push_back(callForm(operatorAt(m_sites.back())).kind == CallKind::branch);
            m_count.push_back(static_cast<int64_t>(callForm(operatorAt(m_sites.back())).callees.size()));
            const Operator& op = operatorAt(m_sites.back());
            if (wanted < 0) m_keepers.push_back(context.kept.keeper(model(), placed.graph, op.inputs[0], 1, true, false));
        }
    }
    bool met(const BreakEvent& event, const BreakSite& site) override
    {
        if (!m_path.matches(event.executor, event.frames)) return false;
        const auto s = static_cast<size_t>(&site - m_sites.data());
        const int64_t now = taken(s, event.executor.value(event.frames - 1, operatorAt(site).inputs[0]));
        if (m_wanted >= 0) return now == m_wanted;
        const KeptWrite* kept = m_keepers[s]->before(event.op.invocation, 1);
        const int64_t then = kept && kept->hasCopy ? taken(s, &kept->tensor) : -1;
        return now >= 0 && then >= 0 && now != then;
    }
    ExpressionCost cost() const override { return m_wanted < 0 ? ExpressionCost::previousValue : ExpressionCost::constant; }
    uint64_t keptBytes() const override
    {
        uint64_t bytes = 0;
        for (const auto& keeper : m_keepers) bytes += keeper->byteSize();
        return bytes;
    }

private:
    /// Which callee the value chooses; −1: none.
    int64_t taken(size_t site, const Tensor* steer) const
    {
        if (!steer || !steer->data || steer->bytes == 0) return -1;
        const int64_t value = elementAsInteger(*steer, 0);
        if (m_isIf[site]) return value != 0 ? 0 : 1;
        return value < 0 || value >= m_count[site] ? m_count[site] - 1 : value;
    }

    PathFilter m_path;
    int64_t m_wanted; ///< −1: another one than the last time
    std::vector<bool> m_isIf;
    std::vector<int64_t> m_count;
    std::vector<std::shared_ptr<ValueKeeper>> m_keepers; ///< of what chooses, by site; only for `changed`
};

std::string joined(std::span<const std::string> words)
{
    std::string text;
    for (const std::string& word : words) text += word;
    return text;
}

/// "37", ">= 37", "> 36", "%100", "last", "0..63,pow2".
Result<IterationSet> iterationsOf(std::string text)
{
    if (text.starts_with(">=")) text = text.substr(2) + "..";
    else if (text.starts_with("%")) text = "all" + text;
    else if (text.starts_with("=")) text = text.substr(text.starts_with("==") ? 2 : 1);
    else if (text.starts_with(">")) {
        LS_TRY(const int64_t number, parseCount(std::string_view(text).substr(1), "an iteration"));
        text = std::to_string(number + 1) + "..";
    }
    return parseIterations(text);
}

} // namespace

Result<std::unique_ptr<BreakKind>> makeIter(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    if (operands.size() < 2) return wrongOperands("iter");
    auto parsed = iterationsOf(joined(operands.subspan(1)));
    if (!parsed.ok()) return std::move(parsed).takeError().at("break iter");
    if (!parsed->usesLast()) { // a v1 frame by its name
        const std::string iterations = toString(*parsed);
        auto frames = makeFrameIterations(context, operands[0], *parsed);
        if (frames.ok()) {
            (*frames)->head = "iter " + operands[0] + " " + iterations;
            (*frames)->place += "@" + iterations;
            return frames;
        }
    }
    LS_TRY(Places loop, resolveLoop(context.target, frame, operands[0]));
    const bool isHost = loop.text == std::string(kHostGraph) + "/" + std::string(kHostLoop); // its iterations are calls
    const std::string text = isHost ? std::string(kHostLoop) : loop.text;
    const std::string iterations = toString(*parsed);
    std::unique_ptr<BreakKind> kind;
    if (parsed->usesLast()) kind = std::make_unique<LastIterationKind>(context, std::move(loop), std::move(*parsed));
    else kind = std::make_unique<IterationKind>(context, std::move(loop), std::move(*parsed));
    return finished(std::move(kind), "iter " + text + " " + iterations, text + "@" + iterations, kNoOperators);
}

Result<std::unique_ptr<BreakKind>> makeLoopEntry(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    if (operands.size() != 1) return wrongOperands("loop");
    LS_TRY(Places loop, resolveLoop(context.target, frame, operands[0]));
    LS_TRY(IterationSet first, parseIterations("0"));
    const std::string text = loop.text;
    return finished(std::make_unique<IterationKind>(context, std::move(loop), std::move(first)), "loop " + text, text, kNoOperators);
}

Result<std::unique_ptr<BreakKind>> makeExit(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    if (operands.size() != 1) return wrongOperands("exit");
    LS_TRY(Places loop, resolveLoop(context.target, frame, operands[0]));
    const std::string text = loop.text;
    return finished(std::make_unique<ExitKind>(context, std::move(loop)), "exit " + text, text, kNoOperators);
}

Result<std::unique_ptr<BreakKind>> makeTrips(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    if (operands.size() < 2) return wrongOperands("trips");
    LS_TRY(Places loop, resolveLoop(context.target, frame, operands[0]));
    std::string_view number = operands[1];
    const std::string bound = joined(operands.subspan(1));
    number = bound;
    const bool orEqual = number.starts_with(">=");
    if (!number.starts_with(">")) return wrongOperands("trips");
    number.remove_prefix(orEqual ? 2 : 1);
    LS_TRY(const int64_t trips, parseCount(number, "a number of trips"));
    // When iteration k begins, k have run.
    LS_TRY(IterationSet at, parseIterations(std::to_string(orEqual ? trips : trips + 1)));
    const std::string text = loop.text;
    return finished(std::make_unique<IterationKind>(context, std::move(loop), std::move(at)),
                    "trips " + text + (orEqual ? " >= " : " > ") + std::to_string(trips), text, kNoOperators);
}

Result<std::unique_ptr<BreakKind>> makeBranch(const BreakContext& context, FrameContext frame, std::span<const std::string> operands)
{
    if (operands.size() != 2) return wrongOperands("branch");
    LS_TRY(Places places, resolvePlaces(context.target, frame, operands[0]));
    const auto formOf = [&](const PlacedOperator& placed) { return callForm(context.target.model.graph(placed.graph).op(placed.op)); };
    const auto isBranch = [&](const PlacedOperator& placed) {
        const CallKind kind = formOf(placed).kind;
        return kind == CallKind::branch || kind == CallKind::select;
    };
    if (places.isInvocation || places.operators.empty() || !std::ranges::all_of(places.operators, isBranch))
        return Error(ErrorCode::usage, "'" + operands[0] + "' is no branch").expected("an if or a stablehlo_case");
    const std::string& which = operands[1];
    int64_t wanted = -1;
    if (which != "changed") {
        const std::vector<Callee> callees = formOf(places.operators[0]).callees;
        std::vector<std::string> roles = {"changed"};
        for (size_t k = 0; k < callees.size(); ++k) {
            roles.push_back(callees[k].role);
            if (callees[k].role == which) wanted = static_cast<int64_t>(k);
        }
        if (wanted < 0)
            return Error(ErrorCode::usage, "no branch '" + which + "'").expected(join(roles, ", ")).nearest(nearestNames(which, roles));
    }
    const std::string text = places.text;
    return finished(std::make_unique<BranchKind>(context, std::move(places), wanted), "branch " + text + " " + which, text, kNoOperators);
}

} // namespace loopscope
