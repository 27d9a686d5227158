#include "app/output/node_data.h"

#include "app/output/json_writer.h"
#include "engine/base/json.h"
#include "engine/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace loopscope::app {

namespace {

bool isNumber(const SqlValue& value) { return std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value); }

/// The column whose numbers count.
Result<size_t> numbersOf(const QueryResult& result, const std::string& column)
{
    for (size_t c = result.columns.size(); c-- > 0;) {
        if (!column.empty() && result.columns[c] != column) continue;
        const bool hasNumbers = std::ranges::any_of(result.rows, [c](const auto& row) { return isNumber(row[c]); });
        if (hasNumbers || (!column.empty() && result.rows.empty())) return c;
    }
    if (!column.empty())
        return Error(ErrorCode::usage, "no column of numbers '" + column + "'").nearest(nearestNames(column, result.columns));
    return Error(ErrorCode::usage, "no column holds numbers").found(join(result.columns, ", "));
}

/// "graph, label" and "label" → the graph's name and the node's.
using Nodes = std::map<std::pair<std::string, std::string>, std::vector<std::pair<std::string, std::string>>>;

Result<Nodes> nodesOf(const TraceReader& trace)
{
    LS_TRY(const QueryResult rows,
           trace.query("SELECT g.name, o.label, o.kind, o.ordinal FROM op o JOIN graph g ON g.id = o.graph ORDER BY o.id", {}));
    Nodes nodes;
    for (const auto& row : rows.rows) {
        const std::string graph = sqlText(row[0]), label = sqlText(row[1]);
        const std::pair node(graph, sqlText(row[2]).starts_with("tf.") ? label : sqlText(row[3]));
        for (const std::string& within : {graph, std::string()}) {
            auto& found = nodes[{within, label}];
            if (std::ranges::find(found, node) == found.end()) found.push_back(node);
        }
    }
    return nodes;
}

} // namespace

Result<std::string> nodeDataJson(const TraceReader& trace, const QueryResult& result, const std::string& column)
{
    const auto graphColumn = std::ranges::find(result.columns, "graph"), opColumn = std::ranges::find(result.columns, "op");
    if (opColumn == result.columns.end())
        return Error(ErrorCode::usage, "the rows name no operators").found(join(result.columns, ", ")).expected("columns graph and op");
    LS_TRY(const size_t numbers, numbersOf(result, column));
    LS_TRY(const Nodes nodes, nodesOf(trace));
    std::map<std::string, std::map<std::string, double>> values;
    for (const auto& row : result.rows) {
        if (!isNumber(row[numbers])) continue;
        const std::string label = sqlText(row[static_cast<size_t>(opColumn - result.columns.begin())]);
        const std::string graph =
            graphColumn == result.columns.end() ? "" : sqlText(row[static_cast<size_t>(graphColumn - result.columns.begin())]);
        const auto found = nodes.find({graph, label});
        if (found == nodes.end()) continue;
        if (found->second.size() > 1)
            return Error(ErrorCode::usage, "several graphs have an operator '" + label + "'").expected("a column graph beside op");
        const auto* integer = std::get_if<int64_t>(&row[numbers]);
        values[found->second.front().first][found->second.front().second] =
            integer != nullptr ? static_cast<double>(*integer) : std::get<double>(row[numbers]);
    }
    JsonWriter json;
    json.beginObject();
    for (const auto& [graph, ofGraph] : values) {
        json.key(graph).beginObject().key("results").beginObject();
        for (const auto& [node, value] : ofGraph) json.key(node).beginObject().key("value").value(value).endObject();
        json.endObject().key("gradient").beginArray();
        for (const int stop : {0, 1}) json.beginObject().key("stop").value(stop).key("bgColor").value(nodeColor(stop)).endObject();
        json.endArray().endObject();
    }
    return json.endObject().text();
}

Result<NodeData> readNodeData(const Model& model, std::string_view text)
{
    Result<Json> parsed = Json::parse(text);
    if (!parsed.ok()) return Error(ErrorCode::badFile, parsed.error().message());
    const auto number = [](const Json& value) -> std::optional<double> {
        if (!value.isNumber()) return {};
        double real = 0;
        const std::string written = value.dump();
        const auto [end, code] = std::from_chars(written.data(), written.data() + written.size(), real);
        return code == std::errc() ? std::optional(real) : std::nullopt;
    };
    NodeData data;
    const auto read = [&](GraphId graph, const Json& results) {
        const Graph& of = model.graph(graph);
        for (const auto& [key, result] : results.members()) {
            const std::optional<double> value = number(result.isObject() ? result["value"] : result);
            if (!value) continue;
            int64_t index = -1;
            const auto [end, code] = std::from_chars(key.data(), key.data() + key.size(), index);
            OperatorId op;
            if (code == std::errc() && end == key.data() + key.size() && index >= 0 && index < std::ssize(of.operators))
                op = OperatorId(index);
            for (size_t o = 0; !op.valid() && o < of.operators.size(); ++o) {
                const auto& results = of.operators[o].results;
                const bool writes = std::ranges::any_of(
                    results, [&](ValueId id) { return id.valid() && (of.value(id).id == key || of.value(id).name == key); });
                if (of.operators[o].name == key || writes) op = OperatorId(static_cast<int64_t>(o));
            }
            if (op.valid()) data[{graph, op}] = *value;
        }
    };
    if (!parsed->isObject() || model.graphs.empty()) return Error(ErrorCode::badFile, "no node data").expected("an object of graphs");
    if (parsed->has("results")) read(GraphId(0), (*parsed)["results"]);
    else
        for (const auto& [graph, content] : parsed->members()) {
            GraphId id = model.findGraph(graph);
            for (size_t g = 0; !id.valid() && g < model.graphs.size(); ++g)
                if (model.graphs[g].name == graph) id = GraphId(static_cast<int64_t>(g));
            if (id.valid()) read(id, content["results"]);
        }
    if (data.empty()) return Error(ErrorCode::badFile, "it names no node of this model");
    return data;
}

std::string nodeColor(double share)
{
    constexpr std::array<double, 3> kLow = {255, 248, 239}, kHigh = {240, 146, 43};
    std::string color = "#";
    for (size_t k = 0; k < kLow.size(); ++k) {
        const auto level = static_cast<unsigned>(std::lround(kLow[k] + (kHigh[k] - kLow[k]) * std::clamp(share, 0.0, 1.0)));
        color += "0123456789abcdef"[level / 16];
        color += "0123456789abcdef"[level % 16];
    }
    return color;
}

} // namespace loopscope::app
