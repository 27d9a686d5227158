#include "engine/debug/inspect/run_survey.h"

#include "engine/base/clock.h"
#include "engine/debug/excursion.h"
#include "engine/debug/inspect/call_path.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <set>

namespace loopscope {

namespace {

constexpr int64_t kFirstChunk = 512;         ///< ticks between looks at the clock, to begin with
constexpr int64_t kMostStatistics = 1 << 16; ///< elements of a write that is looked through for NaN

/// Notes what it hears.
class Listener final : public ExecutionObserver {
public:
    Listener(const Executor& executor, const SurveyRequest& request, RunSurvey& survey)
        : m_executor(executor),
          m_request(request),
          m_survey(survey)
    {
        const Model& model = executor.model();
        if (!request.graph.valid() || !request.value.valid()) return;
        const Graph& graph = model.graph(request.graph);
        const Value& value = graph.value(request.value);
        if (value.role == ValueRole::result) m_producer = value.producer;
        m_slot = value.slot;
        m_isInput = value.role == ValueRole::input;
        for (size_t i = 0; i < graph.operators.size(); ++i)
            if (std::ranges::find(graph.operators[i].inputs, request.value) != graph.operators[i].inputs.end())
                m_readers.insert(OperatorId(static_cast<int64_t>(i)));
    }

    void invocationStarted(const InvocationStart& event) override
    {
        if (m_isInput && event.graph == m_request.graph) m_survey.accesses.push_back({event.step, true, false});
        if (m_request.invocations)
            m_survey.invocations.push_back(
                {event.id, event.parent, event.role, event.callerGraph, event.site, event.graph, event.iteration, event.step});
    }
    void invocationEnded(const InvocationEnd& event) override
    {
        if (m_request.invocations) m_survey.ends.push_back({event.id, event.step});
    }
    void operatorExecuted(const OperatorEvent& event) override
    {
        if (event.state == EventState::failed) return;
        if (m_request.invocations && event.trips >= 0) endLoop(event);
        if (m_request.operators)
            m_survey.operators.push_back({event.step, event.invocation, event.graph, event.op, event.state == EventState::dead});
        if (event.graph != m_request.graph || event.state == EventState::dead) return;
        if (m_readers.contains(event.op)) m_survey.accesses.push_back({event.step, false, false});
        if (m_producer.valid() && event.op == m_producer) m_survey.accesses.push_back({event.step, true, isAbnormal(event)});
    }
    int64_t events() const
    {
        return static_cast<int64_t>(m_survey.invocations.size() + m_survey.ends.size() + m_survey.accesses.size() +
                                    m_survey.operators.size());
    }

private:
    void endLoop(const OperatorEvent& event)
    {
        SurveyedLoop loop{event.invocation, event.op, event.trips, event.step + 1, m_executor.tick() + 1, event.graph, {}};
        if (m_survey.loops.size() < kNamedLoops) loop.address = executedAddress(m_executor, event);
        m_survey.loops.push_back(std::move(loop));
    }
    bool isAbnormal(const OperatorEvent& event) const
    {
        const auto slot = static_cast<size_t>(m_slot);
        if (slot >= event.results.size() || event.results[slot] == nullptr) return false;
        const Tensor& tensor = *event.results[slot];
        if (!isFloat(tensor.dtype) || tensor.data == nullptr || tensor.elementCount() > kMostStatistics) return false;
        return computeStatistics(tensor).firstAbnormal >= 0;
    }

    const Executor& m_executor;
    const SurveyRequest& m_request;
    RunSurvey& m_survey;
    OperatorId m_producer;
    int32_t m_slot = 0;
    bool m_isInput = false;
    std::set<OperatorId> m_readers;
};

Tick frontierOf(const Timeline& timeline)
{
    const TimelineInfo& line = timeline.info();
    return std::max({line.frontier, line.lastTick, timeline.tick()});
}

/// A graph of TFLite or Circle that calls nothing: its operators run once, in the order of the file, so that nothing needs to run again.
bool isPlain(const DebugTarget& target)
{
    if (target.model.dialect == Dialect::tf) return false;
    const Graph& graph = target.model.graph(target.executor.root());
    return std::ranges::none_of(graph.operators, [](const Operator& op) { return !callForm(op).callees.empty(); });
}

void surveyPlain(const DebugTarget& target, const SurveyRequest& request, RunSurvey& survey)
{
    const GraphId root = target.executor.root();
    const Graph& graph = target.model.graph(root);
    survey.toTick = survey.frontierTick;
    survey.toStep = survey.frontierTick.number; // where nothing is called, ticks are steps
    survey.reachedFrontier = true;
    survey.reachedEnd = survey.frontierTick >= static_cast<int64_t>(graph.operators.size());
    if (request.graph != root || !request.value.valid()) return;
    const Value& value = graph.value(request.value);
    for (Step step = request.fromTick.number; step < survey.toStep; ++step) {
        const Operator& op = graph.op(OperatorId(step));
        if (std::ranges::find(op.inputs, request.value) != op.inputs.end()) survey.accesses.push_back({step, false, false});
        if (value.role == ValueRole::result && value.producer == OperatorId(step)) survey.accesses.push_back({step, true, false});
    }
}

Status listen(const DebugTarget& target, const SurveyRequest& request, RunSurvey& survey)
{
    Listener listener(target.executor, request, survey);
    const int64_t began = nowNs();
    const Tick from = std::clamp<int64_t>(request.fromTick, 0, survey.frontierTick);
    LS_CHECK_OK(target.timeline.goTo(from, target.control));
    int64_t chunk = kFirstChunk;
    while (target.timeline.tick() < survey.frontierTick && !target.timeline.finished()) {
        LS_CHECK_OK(target.timeline.replay(std::min(Tick(target.timeline.tick() + chunk), survey.frontierTick), listener, target.control));
        const int64_t spent = nowNs() - began;
        if (spent > request.budgetNs || listener.events() > request.maxEvents) break;
        if (spent < request.budgetNs / 4) chunk = std::min<int64_t>(chunk * 2, int64_t{1} << 20);
    }
    survey.toTick = target.timeline.tick();
    survey.toStep = target.timeline.position().step;
    survey.reachedEnd = target.timeline.finished();
    survey.reachedFrontier = survey.reachedEnd || survey.toTick >= survey.frontierTick;
    return {};
}

} // namespace

Result<RunSurvey> surveyRun(const DebugTarget& target, const SurveyRequest& request)
{
    if (!target.timeline.position().started) return Error(ErrorCode::usage, "nothing has run yet");
    RunSurvey survey;
    survey.fromTick = request.fromTick;
    survey.timeline = target.timeline.current();
    survey.run = target.timeline.runs();
    survey.frontierTick = frontierOf(target.timeline);
    if (isPlain(target) && !request.operators) {
        surveyPlain(target, request, survey);
        survey.checkpointSteps = target.timeline.checkpointSteps();
        return survey;
    }
    Excursion excursion(target);
    Status status = listen(target, request, survey);
    LS_CHECK_OK(excursion.comeBack());
    LS_CHECK_OK(std::move(status));
    if (survey.reachedFrontier) survey.checkpointSteps = target.timeline.checkpointSteps();
    return survey;
}

} // namespace loopscope
