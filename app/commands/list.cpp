// `loopscope list`: a model as text, or as a short program.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/output/listing.h"
#include "app/wiring/model_file.h"
#include "app/wiring/outputs.h"
#include "engine/base/bytes.h"
#include "engine/base/text.h"
#include "engine/ir/ids.h"
#include "engine/ir/text/structured.h"
#include "engine/ops/catalog.h"
#include "engine/tensor/value_text.h"
#include "tracer/api/trace_reader.h"

#include <algorithm>
#include <optional>

namespace loopscope::app {

namespace {

/// Inferred result types where they say something else than the file: a comment for an operator's line.
std::string inferredText(const Model& declared, const Model& inferred, GraphId graph, OperatorId op)
{
    std::string text;
    for (const ValueId result : declared.graph(graph).op(op).results) {
        const TensorType& a = declared.graph(graph).value(result).type;
        const TensorType& b = inferred.graph(graph).value(result).type;
        if (!(a.shape == b.shape)) text += (text.empty() ? "inferred " : ", ") + shortType(b);
    }
    return text;
}

/// A copy of the model whose results have the types that inference alone gives them.
std::optional<Model> inferredCopy(const Model& model)
{
    Model copy = model;
    for (Graph& graph : copy.graphs)
        for (Value& value : graph.values)
            if (value.role == ValueRole::result) value.type.dtype = DType::unknown;
    if (!inferModel(copy).ok()) return std::nullopt;
    return copy;
}

std::string lineJson(size_t number, const std::string& text, int depth, const std::string& graph, OperatorId op, const std::string& address)
{
    JsonWriter json;
    json.beginObject()
        .key("schema")
        .value(1)
        .key("line")
        .value(static_cast<int64_t>(number))
        .key("text")
        .value(text)
        .key("depth")
        .value(depth);
    json.key("graph").value(graph).key("op");
    if (op.valid()) json.value(static_cast<int64_t>(op.index));
    else json.null();
    json.key("address");
    if (address.empty()) json.null();
    else json.value(address);
    return json.endObject().text();
}

/// The listings that a trace carries of the graphs it recorded.
Result<int> listTrace(Console& console, const std::string& path, const std::string& graph)
{
    LS_TRY(const std::unique_ptr<TraceReader> reader, TraceReader::open(path));
    LS_TRY(const QueryResult graphs, reader->query("SELECT name, listing FROM graph ORDER BY model, ordinal", {}));
    std::string out;
    std::vector<std::string> names;
    for (const auto& row : graphs.rows) {
        names.push_back(sqlText(row[0]));
        if (graph.empty() || names.back() == graph) out += (out.empty() ? "" : "\n") + sqlText(row[1]);
    }
    if (out.empty() && !graph.empty())
        return Error(ErrorCode::usage, "no graph '" + graph + "'").at(path).nearest(nearestNames(graph, names));
    console.page(out);
    return 0;
}

} // namespace

Result<int> runList(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    const std::string& path = arguments.positionals[0];
    if (isTraceFile(path)) return listTrace(console, path, arguments.positionals.size() > 1 ? arguments.positionals[1] : "");
    LS_TRY(const LoadedModel file, loadModel(path));
    const Model& model = file.model;
    std::optional<GraphId> only;
    if (arguments.positionals.size() > 1) {
        LS_TRY(only, findGraph(model, arguments.positionals[1]));
    }
    std::string out;
    size_t number = 1;
    if (arguments.has("structured")) {
        StructuredOptions options;
        options.full = arguments.has("full");
        options.root = only.value_or(GraphId());
        for (const StructuredLine& line : structuredView(model, options)) {
            if (console.json())
                out +=
                    lineJson(number, line.text, line.depth, line.graph.valid() ? model.graph(line.graph).id : "", line.op, line.address) +
                    "\n";
            else out += line.text + "\n";
            ++number;
        }
    } else {
        PrintOptions options;
        options.origin = arguments.has("origin");
        options.addresses = arguments.has("addresses");
        options.fullConstants = arguments.has("full");
        std::optional<Model> inferred;
        if (arguments.has("shapes")) {
            inferred = inferredCopy(model);
            if (!inferred) console.note("shapes cannot be inferred for this model");
        }
        if (inferred) options.comment = [&](GraphId graph, OperatorId op) { return inferredText(model, *inferred, graph, op); };
        const std::vector<ListingLine> lines = listModel(model, only, options);
        size_t width = 0;
        if (arguments.has("numbers"))
            for (const ListingLine& line : lines)
                if (line.op.valid()) width = std::max(width, std::to_string(line.op.index).size());
        for (const ListingLine& line : lines) {
            std::string text = line.text;
            if (width > 0) {
                const std::string digits = line.op.valid() ? std::to_string(line.op.index) : "";
                text = std::string(width - digits.size(), ' ') + digits + (text.empty() ? "" : "  ") + text;
                if (line.text.empty()) text.clear();
            }
            if (console.json()) {
                const std::string graph = line.graph.valid() ? model.graph(line.graph).id : "";
                const std::string address =
                    line.op.valid() ? graph + "/" + addressSite(model.graph(line.graph).op(line.op), line.op.index) : "";
                const size_t indent = line.text.find_first_not_of(' ');
                const int depth = indent == std::string::npos ? 0 : static_cast<int>(indent / 2);
                out += lineJson(number, line.text, depth, graph, line.op, address) + "\n";
            } else {
                out += text + "\n";
            }
            ++number;
        }
    }
    const std::string target = arguments.text("output");
    if (target.empty()) {
        console.page(out);
        return 0;
    }
    LS_CHECK_OK(writeFile(target, out, arguments.has("force")));
    return 0;
}

} // namespace loopscope::app
