#include "viewer/trace/opening_query.h"

#include "engine/ir/ids.h"
#include "engine/ops/control_flow.h"
#include "tracer/api/trace_reader.h"

#include <algorithm>
#include <vector>

namespace loopscope::viewer {

namespace {

constexpr int kDepth = 8;         ///< of calls that are looked into for loops
constexpr size_t kMostTried = 16; ///< values that loops carry
constexpr double kSeconds = 1;    ///< for each recipe

/// A value that an operator in a loop's body makes for the next iteration.
struct Carried {
    std::string op; ///< address without roles of loops, as recipes take it
    int32_t slot = 0;
    int rank = 0; ///< 0: the most telling
};

int rankOf(const TensorType& type)
{
    const bool isScalar = type.shape.rank() == 0;
    return (isFloat(type.dtype) ? 0 : 2) + (isScalar ? 1 : 0); // counters are integers without dimensions
}

void findCarried(const Model& model, GraphId id, const std::string& place, int depth, std::vector<Carried>& found)
{
    if (depth > kDepth || !model.hasGraph(id)) return;
    const Graph& graph = model.graph(id);
    for (size_t i = 0; i < graph.operators.size() && found.size() < kMostTried; ++i) {
        const Operator& op = graph.operators[i];
        const CallForm form = callForm(op);
        const std::string site = place + "/" + addressSite(op, static_cast<int64_t>(i));
        if (form.kind == CallKind::call && !form.callees.empty())
            findCarried(model, form.callees[0].graph, site + ":call", depth + 1, found);
        if (form.kind != CallKind::loop || form.callees.size() < 2 || !model.hasGraph(form.callees[1].graph)) continue;
        const Graph& body = model.graph(form.callees[1].graph);
        for (const GraphOutput& result : body.outputs) {
            const Value& value = body.value(result.value);
            if (value.role != ValueRole::result) continue;
            found.push_back({site + "/" + addressSite(body.op(value.producer), value.producer.index), value.slot, rankOf(value.type)});
        }
    }
}

} // namespace

OpeningQuery openingQuery(const Model& model, const std::string& path, std::stop_token stop)
{
    const Result<std::unique_ptr<TraceReader>> reader = TraceReader::open(path);
    if (!reader.ok() || (*reader)->defaultRun() == nullptr) return {};
    CancelFlag cancel;
    const std::stop_callback onStop(std::move(stop), [&] { cancel.request(); });
    QueryLimits limits;
    limits.cancel = &cancel;
    limits.seconds = kSeconds;
    limits.rows = 2;
    const auto hasRows = [&](std::string_view recipe, const QueryParameters& parameters, size_t count) {
        const Result<QueryResult> rows = (*reader)->recipe(recipe, parameters, limits);
        if (!rows.ok() || rows->rows.size() < count) return false;
        return rows->columns.size() < 2 || !std::holds_alternative<std::monostate>(rows->rows[0][1]); // a run without statistics
    };
    std::vector<Carried> carried;
    if (!model.graphs.empty()) findCarried(model, GraphId(0), model.graphs.front().id, 0, carried);
    std::ranges::stable_sort(carried, {}, &Carried::rank);
    for (const Carried& value : carried) {
        const std::map<std::string, std::string> parameters = {{"op", value.op}, {"slot", std::to_string(value.slot)}};
        if (hasRows("value-per-iteration", {parameters.begin(), parameters.end()}, 2)) return {"value-per-iteration", parameters};
    }
    for (const char* const recipe : {"dead-per-iteration", "ranges"})
        if (hasRows(recipe, {}, 2)) return {recipe, {}};
    return {"op-counts", {}};
}

} // namespace loopscope::viewer
