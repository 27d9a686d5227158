#include "viewer/timeline/recorded_course.h"

#include "tracer/api/trace_reader.h"
#include "viewer/timeline/run_course.h"

#include <algorithm>
#include <map>

namespace loopscope::viewer {

namespace {

constexpr std::string_view kInvocations = "SELECT i.id, i.parent, c.role, caller.name, o.ordinal, g.name, i.iteration, i.first - r.base, "
                                          "i.steps FROM invocation i JOIN run r ON r.id = i.run "
                                          "JOIN call c ON c.id = i.call JOIN graph g ON g.id = c.graph LEFT JOIN op o ON o.id = c.op LEFT "
                                          "JOIN graph caller ON caller.id = o.graph "
                                          "WHERE i.run = :run ORDER BY i.id";
constexpr std::string_view kEvents =
    "SELECT e.id - r.base, e.invocation, e.state FROM run r JOIN invocation i ON i.run = r.id JOIN event e ON e.invocation = i.id "
    "WHERE r.id = :run ORDER BY e.id";

int64_t integerOf(const SqlValue& value, int64_t otherwise)
{
    const auto* const integer = std::get_if<int64_t>(&value);
    return integer != nullptr ? *integer : otherwise;
}

CallRole roleOf(const std::string& name)
{
    return name == "main" ? CallRole::main : name == "loop" ? CallRole::loop : name == "frame" ? CallRole::frame : CallRole::call;
}

} // namespace

RunSurvey recordedSurvey(const Model& model, const std::string& path, std::stop_token stop)
{
    RunSurvey survey;
    const Result<std::unique_ptr<TraceReader>> reader = TraceReader::open(path);
    if (!reader.ok() || (*reader)->defaultRun() == nullptr) return survey;
    const QueryParameters run = {{"run", std::to_string((*reader)->defaultRun()->id)}};
    CancelFlag cancel;
    const std::stop_callback onStop(std::move(stop), [&] { cancel.request(); });
    QueryLimits limits;
    limits.cancel = &cancel;
    limits.seconds = 0;
    limits.rows = static_cast<int64_t>(RunCourse::kMostIterations);
    const Result<QueryResult> rows = (*reader)->query(kInvocations, run, limits);
    if (!rows.ok()) return survey;
    bool hasFrames = false;
    std::map<std::pair<InvocationId, OperatorId>, const std::vector<SqlValue>*> lastOf; // of each execution of a loop
    for (const std::vector<SqlValue>& row : rows->rows) {
        SurveyedInvocation invocation;
        invocation.id = static_cast<InvocationId>(integerOf(row[0], 0));
        invocation.parent = static_cast<InvocationId>(integerOf(row[1], 0));
        invocation.role = roleOf(sqlText(row[2]));
        invocation.callerGraph = model.findGraph(sqlText(row[3]));
        if (const int64_t site = integerOf(row[4], -1); site >= 0) invocation.site = OperatorId(site);
        invocation.graph = model.findGraph(sqlText(row[5]));
        invocation.iteration = integerOf(row[6], -1);
        invocation.firstStep = integerOf(row[7], 0);
        hasFrames = hasFrames || invocation.role == CallRole::frame;
        if (const int64_t steps = integerOf(row[8], -1); steps >= 0) {
            survey.ends.push_back({invocation.id, invocation.firstStep + steps});
            survey.toStep = std::max(survey.toStep, Step(invocation.firstStep + steps));
            if (invocation.role == CallRole::loop) lastOf[{invocation.parent, invocation.site}] = &row;
        }
        survey.invocations.push_back(invocation);
    }
    // The last invocation of a loop that ended held nothing but its condition.
    for (const auto& [execution, row] : lastOf)
        survey.loops.push_back(
            {execution.first, execution.second, integerOf((*row)[6], 0), integerOf((*row)[7], 0) + integerOf((*row)[8], 0) + 1});
    std::ranges::stable_sort(survey.ends, {}, &SurveyedEnd::endStep);
    std::ranges::stable_sort(survey.loops, {}, &SurveyedLoop::endStep);
    if (hasFrames) {
        limits.rows = static_cast<int64_t>(RunCourse::kMostEvents);
        if (const Result<QueryResult> events = (*reader)->query(kEvents, run, limits); events.ok())
            for (const std::vector<SqlValue>& row : events->rows) {
                SurveyedOperator event;
                event.step = integerOf(row[0], 0);
                event.invocation = static_cast<InvocationId>(integerOf(row[1], 0));
                event.isDead = integerOf(row[2], 0) == 1;
                survey.operators.push_back(event);
                survey.toStep = std::max(survey.toStep, Step(event.step + 1));
            }
    }
    survey.toTick = survey.frontierTick = survey.toStep.number; // a recording knows steps alone
    survey.reachedFrontier = survey.reachedEnd = !survey.invocations.empty();
    return survey;
}

} // namespace loopscope::viewer
