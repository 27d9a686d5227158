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
#include "engine/ir/origin.h"
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

/// What a line of the program was before it was rewritten: nodes; of a loop's variable the v1 value; of a function its frame.
std::vector<std::string> originOfLine(const Model& model, const StructuredLine& line, bool opensCall)
{
    if (!line.graph.valid()) return {};
    const Graph& graph = model.graph(line.graph);
    if (line.op.valid()) return originNodes(graph, graph.op(line.op));
    if (opensCall) {
        const std::vector<std::string> frames = originFrames(graph);
        return frames.empty() ? frames : std::vector<std::string>{"frame '" + join(frames, "/") + "'"};
    }
    for (const ValueId input : graph.inputs)
        if (line.address.ends_with("/" + escapeAddressName(graph.value(input).id, true)))
            if (const std::string_view origin = attributeString(graph.value(input).attributes, kOrigin, ""); !origin.empty())
                return {std::string(origin)};
    return {};
}

/// The lines as text, with what they were before in a column of its own.
std::string programText(const Model& model, const std::vector<StructuredLine>& lines, bool withOrigin)
{
    constexpr size_t kWidest = 88; // longer lines do not move the column
    size_t column = 0;
    std::vector<std::string> notes;
    std::string called;
    for (const StructuredLine& line : lines) {
        if (!withOrigin) break;
        const bool opensCall = !line.op.valid() && line.address != called && line.text.ends_with(':');
        if (opensCall) called = line.address;
        notes.push_back(join(originOfLine(model, line, opensCall), " "));
        if (!notes.back().empty() && line.text.size() <= kWidest) column = std::max(column, line.text.size());
    }
    std::string out;
    for (size_t i = 0; i < lines.size(); ++i) {
        out += lines[i].text;
        if (withOrigin && !notes[i].empty()) {
            out.append(column > lines[i].text.size() ? column - lines[i].text.size() : 0, ' ');
            out += "  ; " + notes[i];
        }
        out += "\n";
    }
    return out;
}

std::string lineJson(size_t number, const std::string& text, int depth, const std::string& graph, OperatorId op, const std::string& address,
                     const std::vector<std::string>* origin = nullptr)
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
    if (origin) {
        json.key("origin").beginArray();
        for (const std::string& node : *origin) json.value(node);
        json.endArray();
    }
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
        const std::vector<StructuredLine> lines = structuredView(model, options);
        if (!console.json()) {
            out = programText(model, lines, arguments.has("origin"));
        } else {
            for (const StructuredLine& line : lines) {
                const std::vector<std::string> origin = originOfLine(model, line, false);
                out += lineJson(number, line.text, line.depth, line.graph.valid() ? model.graph(line.graph).id : "", line.op, line.address,
                                arguments.has("origin") ? &origin : nullptr) +
                       "\n";
                ++number;
            }
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
