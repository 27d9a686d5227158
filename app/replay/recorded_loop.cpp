#include "app/replay/recorded_loop.h"

#include "engine/ops/control_flow.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace loopscope::app {

namespace {

struct LoopGraphs {
    GraphId cond, body;
};

LoopGraphs graphsOf(const Operator& site)
{
    LoopGraphs graphs;
    for (const Callee& callee : callForm(site).callees) {
        if (callee.role == "cond") graphs.cond = callee.graph;
        if (callee.role == "body") graphs.body = callee.graph;
    }
    return graphs;
}

/// The operator whose result is the value, in the same iteration or, as a carried value, in the one before.
struct Source {
    GraphId graph;
    ValueId value;
    bool isCarried = false;
};

std::optional<Source> sourceOf(const Model& model, const LoopGraphs& graphs, GraphId graph, ValueId id)
{
    const Graph& where = model.graph(graph);
    if (where.value(id).role == ValueRole::result) return Source{graph, id, false};
    const auto formal = std::ranges::find(where.inputs, id);
    const Graph& body = model.graph(graphs.body);
    const auto position = static_cast<size_t>(formal - where.inputs.begin());
    if (formal == where.inputs.end() || position >= body.outputs.size()) return std::nullopt;
    const ValueId next = body.outputs[position].value;
    if (body.value(next).role != ValueRole::result) return std::nullopt;
    return Source{graphs.body, next, true};
}

bool callsNothing(const Graph& graph)
{
    return std::ranges::all_of(graph.operators, [](const Operator& op) { return callForm(op).kind == CallKind::none; });
}

/// Iterations are numbered from 0 without a gap, and the value is of one of the loop's graphs.
bool isWhole(const std::vector<RecordedIteration>& iterations)
{
    for (size_t k = 0; k < iterations.size(); ++k)
        if (iterations[k].iteration != static_cast<int64_t>(k)) return false;
    return !iterations.empty();
}

/// Whether the body of an iteration began of which only the condition has completed: then the condition held.
Result<bool> bodyBegan(const Model& model, const RecordedRun& run, RecordedValues& values, GraphId condGraph, const RecordedIteration& last)
{
    const Graph& cond = model.graph(condGraph);
    if (cond.outputs.empty()) return false;
    LS_TRY(const std::optional<RecordedInvocation> row, run.invocation(last.invocation));
    const KnownValue* const known = row ? values.find(*row, condGraph, cond.outputs[0].value) : nullptr;
    if (!known || !known->isRecorded) return false;
    const Result<bool> holds = tfTruth(known->tensor);
    return holds.ok() && *holds;
}

} // namespace

Result<LoopAnswer> hearRecordedLoop(const Model& model, const RecordedRun& run, RecordedValues& values, const LoopQuery& query,
                                    LoopListener& listener)
{
    const LoopGraphs graphs = graphsOf(model.graph(query.outside).op(query.site));
    if (!graphs.cond.valid() || !graphs.body.valid() || (query.graph != graphs.cond && query.graph != graphs.body))
        return LoopAnswer::unknown;
    const Graph& cond = model.graph(graphs.cond);
    const std::optional<Source> source = sourceOf(model, graphs, query.graph, query.value);
    if (!source || !callsNothing(cond) || model.graph(graphs.body).operators.empty()) return LoopAnswer::unknown;
    LS_TRY(const std::vector<RecordedIteration> iterations, run.iterations(query.caller, query.outside.index, query.site.index));
    if (!isWhole(iterations)) return LoopAnswer::unknown;

    const auto condSteps = std::ssize(cond.operators);
    const int64_t before = query.graph == graphs.body ? condSteps : 0; // operators of an iteration before the graph begins
    const RecordedIteration& last = iterations.back();
    bool isLastOpen = false; // the recording ended in it, before anything in the body had completed
    if (last.steps == condSteps) {
        LS_TRY(isLastOpen, bodyBegan(model, run, values, graphs.cond, last));
    }
    const auto entered = [&](const RecordedIteration& iteration) {
        return iteration.steps > condSteps || (isLastOpen && &iteration == &last);
    };
    for (const RecordedIteration& row : iterations)
        if (entered(row) && !listener.bodyBegan(row.iteration, row.firstStep + condSteps)) return LoopAnswer::incomplete;

    const Value& value = model.graph(query.graph).value(query.value);
    const auto tell = [&](const KnownValue& known, int64_t iteration, int64_t step) {
        LoopWrite write;
        if (known.isRecorded) write.tensor = &known.tensor;
        else if (known.statistics) write.statistics = &*known.statistics;
        return listener.written(iteration, step, write);
    };
    if (source->isCarried && entered(iterations[0])) {
        LS_TRY(const std::optional<RecordedInvocation> first, run.invocation(iterations[0].invocation));
        const KnownValue* const known = first ? values.find(*first, query.graph, query.value) : nullptr;
        if (known && !tell(*known, 0, iterations[0].firstStep + before - 1)) return LoopAnswer::incomplete;
    }
    const Value& written = model.graph(source->graph).value(source->value);
    bool isWanted = true;
    size_t at = 0;
    LS_CHECK_OK(run.eachWrite(source->graph.index, written.producer.index, written.slot, iterations.front().firstStep,
                              iterations.back().firstStep + iterations.back().steps, [&](RecordedWrite write) {
                                  while (at < iterations.size() && iterations[at].invocation < write.invocation) ++at;
                                  if (at == iterations.size()) return false;
                                  if (iterations[at].invocation != write.invocation || (write.value && write.value->isDead)) return true;
                                  const size_t to = source->isCarried ? at + 1 : at;
                                  if (to == iterations.size() || (source->isCarried && !entered(iterations[to]))) return true;
                                  const auto iteration = static_cast<int64_t>(to);
                                  const int64_t step = source->isCarried ? iterations[to].firstStep + before - 1 : write.step;
                                  if (write.number) return isWanted = listener.written(iteration, step, {.number = write.number});
                                  KnownValue known = values.adapted(std::move(write.value), value);
                                  known.tensor.data = known.bytes.data();
                                  known.tensor.bytes = known.bytes.size();
                                  return isWanted = tell(known, iteration, step);
                              }));
    if (!isWanted) return LoopAnswer::incomplete;
    LS_TRY(const std::optional<RecordedInvocation> caller, run.invocation(query.caller));
    if (!caller) return LoopAnswer::incomplete;
    LS_TRY(const std::optional<int64_t> end, run.stepOf(*caller, query.outside.index, query.site.index));
    return end ? LoopAnswer::complete : LoopAnswer::incomplete;
}

} // namespace loopscope::app
