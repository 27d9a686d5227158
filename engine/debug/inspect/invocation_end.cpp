#include "engine/debug/inspect/invocation_end.h"

#include "engine/base/clock.h"
#include "engine/debug/evaluate_after.h"
#include "engine/debug/excursion.h"
#include "engine/debug/inspect/call_path.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/exec/machine_state.h"
#include "engine/observe/address_resolution.h"

#include <algorithm>

namespace loopscope {

namespace {

/// Listens for the last operator of one invocation, and for signs that it does not come any more.
class EndFinder final : public TrapHandler {
public:
    EndFinder(const DebugTarget& target, const CallPath& path, const Address& wanted, const EndSearch& search)
        : m_target(target),
          m_path(path),
          m_search(search),
          m_began(nowNs())
    {
        for (const AddressStep& step : wanted.steps) m_iterations.push_back(step.iteration);
        const Model& model = target.model;
        m_traps.add(path.graph(), lastOperator(model, path.graph()), trapBefore | trapAfter);
        for (size_t level = 0; level < m_iterations.size(); ++level) {
            const GraphId graph = path.levels[level].graph;
            if (m_iterations[level] >= 0 && !model.graph(graph).operators.empty()) m_traps.add(graph, OperatorId(0), trapBefore);
        }
    }

    static OperatorId lastOperator(const Model& model, GraphId graph) { return OperatorId(std::ssize(model.graph(graph).operators) - 1); }
    const TrapSet& traps() const { return m_traps; }

    bool beforeOperator(const OperatorEvent& event, Tick tick) override
    {
        const Executor& executor = m_target.executor;
        const int frames = executor.position().depth;
        if (frames == m_path.depth() + 1 && event.graph == m_path.graph() && event.op == lastOperator(m_target.model, event.graph) &&
            isOnPath(executor, frames, m_path)) {
            m_before = tick;
            m_invocation = event.invocation;
        }
        return isBehind(frames) || isHopeless();
    }

    bool afterOperator(const OperatorEvent& event, Tick) override
    {
        if (event.invocation != m_invocation) return false; // a call in between has the same operator
        const Executor& executor = m_target.executor;
        int other = -1;
        for (size_t level = 0; level < m_iterations.size(); ++level) {
            const int64_t iteration = executor.frame(static_cast<int>(level) + 1).iteration;
            if (m_iterations[level] < 0 || iteration == m_iterations[level]) continue;
            if (other >= 0 || static_cast<int>(level) != m_search.nearestInStep) return false;
            other = static_cast<int>(level);
        }
        if (other >= 0 && !isLate(1)) return false;
        m_event = event;
        m_results.clear();
        for (const Tensor* const result : event.results) m_results.emplace_back(*result);
        return m_isFound = true;
    }

    bool isFound() const { return m_isFound; }
    bool isTooFar() const { return m_isTooFar; }
    int64_t before() const { return m_before; }
    const OperatorEvent& event() const { return m_event; }
    std::vector<KeptTensor> takeResults() { return std::move(m_results); }

private:
    bool isLate(int64_t times) const { return m_search.budgetNs > 0 && nowNs() - m_began > times * m_search.budgetNs; }
    bool isHopeless()
    {
        m_isTooFar = m_isTooFar || isLate(m_search.nearestInStep < 0 ? 1 : 4);
        return m_isTooFar;
    }
    /// A loop on the way is in an iteration after the one that is wanted, and all around it is as it should be.
    bool isBehind(int frames) const
    {
        const Executor& executor = m_target.executor;
        for (int depth = 1; depth < frames && depth <= m_path.depth(); ++depth) {
            const FrameInfo frame = executor.frame(depth);
            const auto level = static_cast<size_t>(depth) - 1;
            if (frame.site != m_path.levels[level].site) return false;
            if (m_iterations[level] >= 0 && frame.iteration != m_iterations[level]) return frame.iteration > m_iterations[level];
        }
        return false;
    }

    const DebugTarget& m_target;
    const CallPath& m_path;
    const EndSearch& m_search;
    const int64_t m_began;
    std::vector<int64_t> m_iterations; ///< by level of the path; −1: it is no loop
    TrapSet m_traps;
    int64_t m_before = 0;
    InvocationId m_invocation = 0;
    bool m_isFound = false, m_isTooFar = false;
    OperatorEvent m_event;
    std::vector<KeptTensor> m_results;
};

/// A stop from which on the end is to come: the last saved one that the invocation does not lie behind, or this one if that is nearer.
int64_t startOf(const DebugTarget& target, const StopOrder& wanted)
{
    const std::optional<int64_t> saved = target.timeline.lastSaved([&](const MachineState& state) { return orderOf(state) <= wanted; });
    const int64_t now = target.timeline.tick();
    const bool isNear = orderOf(target.executor) <= wanted && now >= saved.value_or(0);
    return isNear ? now : saved.value_or(0);
}

} // namespace

EndedInvocation::EndedInvocation(const DebugTarget& target, OperatorEvent last, std::vector<KeptTensor> results)
    : m_target(target),
      m_results(std::move(results)),
      m_last(last)
{
    for (const KeptTensor& result : m_results) m_views.push_back(&result.tensor);
    m_last.results = m_views;
}

std::string EndedInvocation::address() const { return toString(frameAddress(m_target.executor, depth())); }

FrameInfo EndedInvocation::frame() const { return m_target.executor.frame(depth()); }

int EndedInvocation::depth() const { return m_target.executor.position().depth - 1; }

const Tensor* EndedInvocation::value(ValueId id) const
{
    const Value& value = m_target.model.graph(m_last.graph).value(id);
    if (value.role == ValueRole::result && value.producer == m_last.op)
        return static_cast<size_t>(value.slot) < m_views.size() ? m_views[static_cast<size_t>(value.slot)] : nullptr;
    return m_target.executor.value(depth(), id);
}

Result<std::vector<EvaluatedValue>> EndedInvocation::evaluate(std::string_view text) const { return evaluateAfter(m_target, m_last, text); }

Result<EndFound> lookAtEnd(const DebugTarget& target, const Address& invocation, const EndSearch& search,
                           const std::function<void(const EndedInvocation&)>& look)
{
    LS_TRY(const ResolvedAddress place, resolveAddress(target.model, invocation));
    LS_TRY(const CallPath path, pathOf(target.model, target.executor.root(), place.address));
    if (path.entersFrames() || !target.executor.stopsInAddressOrder())
        return Error(ErrorCode::usage, "operators of TensorFlow 1 run in no order: go there to look").at(toString(invocation));
    if (target.model.graph(path.graph()).operators.empty()) return Error(ErrorCode::usage, "has no operators").at(toString(invocation));
    const TimelineInfo& line = target.timeline.info();
    const Tick until = std::max(line.frontier, line.lastTick);

    Excursion excursion(target);
    EndFinder finder(target, path, place.address, search);
    Status status = scan(target, startOf(target, orderOf(target.model, place)), until, finder.traps(), finder);
    if (!finder.isFound() && !status.ok() && status.detail().code != ErrorCode::execution) return std::move(status).takeError();
    if (finder.isFound()) {
        OperatorEvent last = finder.event();
        LS_CHECK_OK(excursion.goTo(finder.before()));
        look(EndedInvocation(target, last, finder.takeResults()));
    }
    LS_CHECK_OK(excursion.comeBack());
    return finder.isFound() ? EndFound::yes : finder.isTooFar() ? EndFound::tooFar : EndFound::notRun;
}

} // namespace loopscope
