#include "engine/debug/control/goals.h"

#include "engine/debug/inspect/call_path.h"
#include "engine/debug/inspect/run_survey.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"

#include <algorithm>

namespace loopscope {

namespace {

/// The text of an address that ends with a step, as people write it: the body's role is implied.
std::string stepText(const Address& place, size_t step)
{
    Address address;
    address.root = place.root;
    address.steps.assign(place.steps.begin(), place.steps.begin() + static_cast<std::ptrdiff_t>(step) + 1);
    std::string text = toString(address);
    if (address.steps.back().role == StepRole::body && text.ends_with(":body")) text.resize(text.size() - 5);
    return text;
}

} // namespace

PlaceGoal::PlaceGoal(const Executor& executor, const ResolvedAddress& place) : m_executor(executor), m_place(place)
{
    const Model& model = executor.model();
    m_ordered = executor.stopsInAddressOrder();
    m_traps.add(place.graph, place.op.valid() ? place.op : OperatorId(0), trapBefore);
    if (!m_ordered) {
        m_place.address.target = place.op.valid() ? TargetKind::op : TargetKind::invocation;
        m_place.address.slot = -1;
        m_place.address.op = place.op.valid() ? operatorName(model.graph(place.graph).op(place.op), place.op.index) : OperatorName();
        if (place.op.valid()) return;
        for (size_t o = 1; o < model.graph(place.graph).operators.size(); ++o) // any of them may come first
            m_traps.add(place.graph, OperatorId(static_cast<int64_t>(o)), trapBefore);
        return;
    }
    m_order = orderOf(model, place);
    Address upTo;
    upTo.root = place.address.root;
    size_t at = 0;
    for (const AddressStep& step : place.address.steps) {
        m_iteration = step.iteration;
        const Result<ResolvedAddress> caller = resolveAddress(model, upTo);
        if (caller.ok()) m_traps.add(caller->graph, OperatorId(m_order[3 * at++]), trapAfter);
        upTo.steps.push_back(step);
    }
}

bool PlaceGoal::beforeOperator(const OperatorEvent&, Tick tick)
{
    if (!m_ordered) {
        Result<Address> here = parseAddress(m_executor.positionAddress());
        if (!here.ok()) return false;
        if (!m_place.op.valid()) {
            here->target = TargetKind::invocation;
            here->op = {};
        }
        // Of a frame of which no iteration is said the first in which the run comes there.
        const std::vector<AddressStep>& wanted = m_place.address.steps;
        for (size_t k = 0; k < std::min(here->steps.size(), wanted.size()); ++k)
            if (wanted[k].iteration < 0) here->steps[k].iteration = wanted[k].iteration;
        // As texts: a name reads as that of a value, too.
        return counts(tick) && toString(*here) == toString(m_place.address) && meet(tick);
    }
    if (m_iteration >= 0 && m_executor.frame(-1).iteration != m_iteration) return false;
    m_met = orderOf(m_executor) == m_order;
    return m_met;
}

/// A call on the way to the place has returned.
bool PlaceGoal::afterOperator(const OperatorEvent& event, Tick)
{
    StopOrder here = orderOf(m_executor);
    here.back() = event.op.index;
    if (here.size() > m_order.size() || !std::equal(here.begin(), here.end(), m_order.begin())) return false;
    m_passedStep = here.size() / 3;
    m_trips = event.trips;
    return true;
}

Error PlaceGoal::absence() const
{
    const Address& address = m_place.address;
    if (m_passedStep >= address.steps.size()) return Error(ErrorCode::usage, "the run does not come there").at(toString(address));
    const AddressStep& step = address.steps[m_passedStep];
    const std::string where = stepText(address, m_passedStep);
    if (m_trips >= 0) {
        const std::string range = m_trips > 0 ? " (0 to " + std::to_string(m_trips - 1) + ")" : "";
        return Error(ErrorCode::usage, "the loop ran " + std::to_string(m_trips) + (m_trips == 1 ? " iteration" : " iterations") + range)
            .at(where);
    }
    if (step.role == StepRole::init) return Error(ErrorCode::usage, "the graph had been run before").at(where);
    return Error(ErrorCode::usage, "this branch was not taken").at(where);
}

PatternGoal::PatternGoal(const Executor& executor, std::vector<AddressPattern> patterns)
    : m_executor(executor),
      m_patterns(std::move(patterns))
{
    // Where the target of a pattern may lie: its steps are looked at on the way.
    std::vector<AddressPattern> anywhere;
    for (const AddressPattern& pattern : m_patterns) {
        Address target = pattern.pattern();
        target.root.clear();
        target.steps.assign(1, AddressStep());
        target.steps[0].anySteps = true;
        anywhere.emplace_back(std::move(target));
    }
    const Model& model = executor.model();
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        const GraphId graph(static_cast<int64_t>(g));
        const std::vector<Operator>& operators = model.graph(graph).operators;
        for (size_t o = 0; o < operators.size(); ++o) {
            const auto index = static_cast<int64_t>(o);
            Address address;
            address.root = model.graph(graph).id;
            address.target = TargetKind::op;
            address.op = operatorName(operators[o], index);
            const bool first = o == 0; // patterns of invocations stop at their first operator
            const bool wanted = std::ranges::any_of(anywhere, [&](const AddressPattern& pattern) {
                return pattern.matches(address) || (first && pattern.pattern().target == TargetKind::invocation);
            });
            if (wanted) m_traps.add(graph, OperatorId(index), trapBefore);
        }
    }
}

bool PatternGoal::beforeOperator(const OperatorEvent& event, Tick tick)
{
    if (!counts(tick)) return false;
    const Result<Address> here = parseAddress(m_executor.positionAddress());
    if (!here.ok()) return false;
    const bool matches = std::ranges::any_of(m_patterns, [&](const AddressPattern& pattern) {
        if (pattern.pattern().target != TargetKind::invocation) return pattern.matches(*here);
        if (event.op.index != 0) return pattern.matches(*here);
        Address invocation = *here;
        invocation.target = TargetKind::invocation;
        invocation.op = {};
        return pattern.matches(invocation) || pattern.matches(*here);
    });
    return matches && meet(tick);
}

OutsideGoal::OutsideGoal(const Executor& executor, int depth)
    : m_executor(executor),
      m_depth(depth),
      m_site(executor.frame(depth).site),
      m_caller(executor.frame(depth - 1).invocation),
      m_isCond(executor.frame(depth).inCond)
{
    const Model& model = executor.model();
    for (size_t g = 0; g < model.graphs.size(); ++g)
        for (size_t o = 0; o < model.graphs[g].operators.size(); ++o)
            m_traps.add(GraphId(static_cast<int64_t>(g)), OperatorId(static_cast<int64_t>(o)), trapBefore);
}

bool OutsideGoal::beforeOperator(const OperatorEvent&, Tick tick)
{
    if (!counts(tick)) return false;
    const bool inside = m_executor.position().depth > m_depth && m_executor.frame(m_depth).site == m_site &&
                        m_executor.frame(m_depth - 1).invocation == m_caller && (!m_isCond || m_executor.frame(m_depth).inCond);
    return !inside && meet(tick);
}

void TripMemory::note(TimelineId timeline, const OperatorEvent& event, Tick tick, const Executor& executor)
{
    keep(Key(timeline, event.invocation, event.graph.index, event.op.index), event.trips, tick,
         [&] { return executedAddress(executor, event); });
}

bool TripMemory::note(TimelineId timeline, const SurveyedLoop& loop)
{
    return keep(Key(timeline, loop.caller, loop.graph.index, loop.site.index), loop.trips, loop.endTick, [&] { return loop.address; });
}

bool TripMemory::keep(const Key& key, int64_t count, Tick tick, const std::function<std::string()>& address)
{
    const auto [at, isNew] = m_trips.insert_or_assign(key, Trips{count, tick, ""});
    if (isNew) m_order.push_back(key);
    if (m_named < kNamed || !isNew) {
        at->second.address = address();
        m_named += isNew ? 1 : 0;
    }
    if (m_order.size() > m_limit) {
        m_trips.erase(m_order.front());
        m_order.pop_front();
    }
    return isNew;
}

/// Whether what was noted on a line at a tick is part of the present timeline.
bool TripMemory::holds(const Timeline& timeline, TimelineId line, Tick tick) const
{
    Tick until = INT64_MAX;
    for (TimelineId id = timeline.current(); id != 0;) {
        if (id == line) return tick <= until;
        const TimelineInfo& info = timeline.info(id);
        until = std::min(until, info.forkTick);
        id = info.parent;
    }
    return false;
}

std::vector<LoopRun> TripMemory::list(const Timeline& timeline) const
{
    std::vector<LoopRun> runs;
    for (const auto& [key, trips] : m_trips)
        if (!trips.address.empty() && holds(timeline, std::get<0>(key), trips.tick))
            runs.push_back({trips.address, trips.count, trips.tick});
    std::ranges::sort(runs, {}, &LoopRun::address);
    return runs;
}

std::optional<int64_t> TripMemory::find(const Timeline& timeline, InvocationId caller, GraphId graph, OperatorId op) const
{
    Tick until = INT64_MAX;
    for (TimelineId id = timeline.current(); id != 0;) {
        const auto found = m_trips.find(Key(id, caller, graph.index, op.index));
        if (found != m_trips.end() && found->second.tick <= until) return found->second.count;
        const TimelineInfo& info = timeline.info(id);
        until = std::min(until, info.forkTick);
        id = info.parent;
    }
    return std::nullopt;
}

void TripMemory::clear()
{
    m_trips.clear();
    m_order.clear();
    m_named = 0;
}

} // namespace loopscope
