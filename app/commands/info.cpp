// `loopscope info`: the first look at a model or a trace.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/output/table.h"
#include "app/wiring/model_file.h"
#include "app/wiring/model_summary.h"
#include "app/wiring/prepared_kernels.h"
#include "app/wiring/run_observers.h"
#include "app/wiring/signals.h"
#include "app/wiring/tf_target.h"
#include "converters/formats.h"
#include "converters/tflite/model_metadata.h"
#include "engine/base/text.h"
#include "engine/tensor/value_text.h"
#include "tracer/api/trace_reader.h"

#include <algorithm>

namespace loopscope::app {

namespace {

void jsonCounts(JsonWriter& json, std::string_view key, const std::map<std::string, int64_t>& counts)
{
    json.key(key).beginObject();
    for (const auto& [kind, count] : counts) json.key(kind).value(count);
    json.endObject();
}

/// Dtypes, quantization and placement.
void jsonTypes(JsonWriter& json, const ModelSummary& summary)
{
    json.key("dtypes").beginObject();
    for (const DTypeCount& count : summary.types.dtypes)
        json.key(dtypeName(count.dtype))
            .beginObject()
            .key("values")
            .value(count.values)
            .key("constants")
            .value(count.constants)
            .key("bytes")
            .value(count.constantBytes)
            .endObject();
    json.endObject().key("quantization").beginArray();
    for (const QuantizationScheme& scheme : summary.types.schemes)
        json.beginObject()
            .key("role")
            .value(scheme.role)
            .key("dtype")
            .value(dtypeName(scheme.dtype))
            .key("granularity")
            .value(scheme.granularity)
            .key("symmetric")
            .value(scheme.symmetric)
            .key("count")
            .value(scheme.count)
            .endObject();
    json.endArray();
    jsonCounts(json, "hybrid", summary.types.hybrid);
    json.key("weights_only").value(summary.types.dequantizedConstants);
    json.key("placement").beginObject().key("reference").value(summary.placement.kernels);
    jsonCounts(json, "interpreter", summary.placement.interpreter);
    jsonCounts(json, "nowhere", summary.placement.nowhere);
    jsonCounts(json, "custom", summary.placement.custom);
    json.endObject();
}

void jsonMetadata(JsonWriter& json, const ModelMetadata& metadata)
{
    json.key("metadata").beginObject();
    const auto text = [&](std::string_view key, const std::string& value) {
        if (!value.empty()) json.key(key).value(value);
    };
    text("name", metadata.name);
    text("description", metadata.description);
    text("version", metadata.version);
    text("author", metadata.author);
    text("license", metadata.license);
    json.key("tensors").beginArray();
    for (const TensorMetadata& tensor : metadata.tensors) {
        json.beginObject().key("place").value(tensor.place).key("description").value(tensor.description);
        const auto numbers = [&](std::string_view key, const std::vector<float>& values) {
            json.key(key).beginArray();
            for (const float value : values) json.value(static_cast<double>(value));
            json.endArray();
        };
        numbers("mean", tensor.mean);
        numbers("std", tensor.deviation);
        json.endObject();
    }
    json.endArray().key("files").beginArray();
    for (const AssociatedFile& file : metadata.files) {
        json.beginObject().key("name").value(file.name).key("role").value(file.role).key("tensor").value(file.tensor);
        json.key("bytes").value(file.size);
        if (file.role == "labels" && file.content) {
            json.key("labels").beginArray();
            for (const std::string& label : textLines(*file.content)) json.value(label);
            json.endArray();
        }
        json.endObject();
    }
    json.endArray().endObject();
}

/// What a graph that has no inputs of its own can be fed with, and what it ends in.
struct OpenEnds {
    std::vector<ValueId> placeholders, sinks;
};

OpenEnds openEnds(const Model& model)
{
    OpenEnds ends;
    if (model.dialect != Dialect::tf || model.graphs.empty() || !model.graphs.front().inputs.empty()) return ends;
    const Graph& graph = model.graphs.front();
    for (const Operator& op : graph.operators)
        if (op.kind.name.starts_with("Placeholder") && !op.results.empty()) ends.placeholders.push_back(op.results.front());
    if (!graph.outputs.empty()) return ends;
    for (const std::string& id : unreadValues(graph))
        if (const ValueId value = graph.findValue(id); std::ranges::find(ends.placeholders, value) == ends.placeholders.end())
            ends.sinks.push_back(value);
    return ends;
}

void jsonPort(JsonWriter& json, const std::string& name, const Value& value)
{
    json.beginObject().key("name").value(name).key("value").value(value.id).key("type").value(shortType(value.type)).endObject();
}

void jsonSignatures(JsonWriter& json, const Model& model)
{
    json.key("signatures").beginArray();
    for (const Signature& signature : model.signatures) {
        if (isInitialiser(signature) || !model.hasGraph(signature.graph)) continue;
        const Graph& graph = model.graph(signature.graph);
        const auto ports = [&](const char* key, const std::vector<SignatureBinding>& bindings) {
            json.key(key).beginArray();
            for (const SignatureBinding& b : bindings) jsonPort(json, b.name, graph.value(b.value));
            json.endArray();
        };
        json.beginObject().key("name").value(signature.key).key("graph").value(graph.id);
        ports("inputs", signature.inputs);
        ports("outputs", signature.outputs);
        json.endObject();
    }
    json.endArray();
    const OpenEnds ends = openEnds(model);
    const auto values = [&](const char* key, const std::vector<ValueId>& ids) {
        if (ids.empty()) return;
        json.key(key).beginArray();
        for (const ValueId id : ids) jsonPort(json, model.graphs.front().value(id).id, model.graphs.front().value(id));
        json.endArray();
    };
    values("placeholders", ends.placeholders);
    values("sinks", ends.sinks);
}

std::string infoJson(const LoadedModel& file, const ModelSummary& summary, const ModelMetadata& metadata)
{
    const Model& model = file.model;
    JsonWriter json;
    json.beginObject()
        .key("schema")
        .value(1)
        .key("file")
        .value(file.path)
        .key("format")
        .value(file.formatName)
        .key("bytes")
        .value(file.fileBytes());
    json.key("graphs").beginArray();
    for (const Graph& graph : model.graphs) {
        const auto ports = [&](const char* key, auto&& ids) {
            json.key(key).beginArray();
            for (const ValueId id : ids) {
                const Value& value = graph.value(id);
                json.beginObject()
                    .key("name")
                    .value(value.id)
                    .key("full_name")
                    .value(value.displayName())
                    .key("type")
                    .value(shortType(value.type))
                    .endObject();
            }
            json.endArray();
        };
        std::vector<ValueId> outputs;
        for (const GraphOutput& output : graph.outputs) outputs.push_back(output.value);
        json.beginObject().key("name").value(graph.id);
        ports("inputs", graph.inputs);
        ports("outputs", outputs);
        json.key("ops").value(static_cast<int64_t>(graph.operators.size()));
        json.key("calls").value(summary.calls[static_cast<size_t>(&graph - model.graphs.data())]).endObject();
    }
    json.endArray();
    jsonSignatures(json, model);
    json.key("ops").beginObject();
    for (const auto& [kind, count] : summary.operators) json.key(kind).value(count);
    json.endObject().key("macs");
    summary.macs ? json.value(*summary.macs) : json.null();
    json.key("parameters").value(summary.parameters).key("activation_peak");
    summary.activationPeak ? json.value(*summary.activationPeak) : json.null();
    json.key("unsized_values").value(summary.unsizedValues).key("dynamic_values").value(summary.dynamicValues);
    json.key("parameter_bytes").value(summary.constantBytes);
    jsonTypes(json, summary);
    json.key("control_flow").beginArray();
    for (const ControlFlowLine& line : summary.controlFlow)
        json.beginObject().key("address").value(line.address).key("depth").value(line.depth).key("text").value(line.text).endObject();
    json.endArray();
    if (summary.frames.any)
        json.key("v1")
            .beginObject()
            .key("frames")
            .value(summary.frames.frames)
            .key("loops")
            .value(summary.frames.loops)
            .key("nesting")
            .value(summary.frames.nesting)
            .key("conditionals")
            .value(summary.frames.conditionals)
            .key("never_live")
            .value(summary.frames.neverLive)
            .endObject();
    json.key("unsupported").beginArray();
    for (const std::string& kind : summary.missing) json.value(kind);
    json.endArray().key("warnings").beginArray();
    for (const std::string& warning : summary.warnings) json.value(warning);
    json.endArray();
    json.key("derived_from").beginArray();
    for (const Derivation& from : file.derivedFrom)
        json.beginObject().key("step").value(from.step).key("name").value(from.name).key("hash").value(from.hash).endObject();
    json.endArray();
    jsonMetadata(json, metadata);
    return json.endObject().text();
}

void printTensors(Console& console, const Model& model)
{
    Table table({"graph", "value", "role", "type", "name"});
    for (const Graph& graph : model.graphs)
        for (const Value& value : graph.values) {
            const char* role = value.role == ValueRole::input      ? "input"
                               : value.role == ValueRole::result   ? "result"
                               : value.role == ValueRole::constant ? "constant"
                               : value.role == ValueRole::variable ? "variable"
                                                                   : "absent";
            table.add({graph.id, value.id, role, shortType(value.type), value.name});
        }
    console.print(table.text());
}

/// "1001 labels: "background", "tench", "goldfish", …" of a text of lines; empty if it is none.
std::string firstLines(const Console& console, const AssociatedFile& file)
{
    if (!file.content) return "";
    const std::span<const std::byte> bytes = file.content->view();
    if (std::ranges::find(bytes, std::byte{0}) != bytes.end()) return "";
    const std::vector<std::string> lines = textLines(*file.content);
    constexpr size_t kShown = 3;
    std::string noun = file.role == "labels" ? "label" : "line";
    if (lines.size() != 1) noun += "s";
    std::string text = ": " + console.number(static_cast<int64_t>(lines.size())) + " " + noun;
    for (size_t i = 0; i < std::min(lines.size(), kShown); ++i) text += (i == 0 ? ": " : ", ") + quotedText(lines[i], 30);
    return text + (lines.size() > kShown ? ", …" : "");
}

/// "(x − 127.5) / 127.5", "(x − [1, 2, 3]) / [4, 5, 6]"; empty if the input is wanted as it is.
std::string normalizationText(const TensorMetadata& tensor)
{
    const auto numbers = [](const std::vector<float>& values) {
        std::vector<std::string> parts;
        for (const float value : values) parts.push_back(realText(value, 7));
        return parts.size() == 1 ? parts[0] : "[" + join(parts, ", ") + "]";
    };
    const bool shifted = !std::ranges::all_of(tensor.mean, [](float m) { return m == 0; });
    const bool scaled = !std::ranges::all_of(tensor.deviation, [](float d) { return d == 1; });
    std::string text = shifted ? "(x − " + numbers(tensor.mean) + ")" : "x";
    if (scaled) text += " / " + numbers(tensor.deviation);
    return shifted || scaled ? text : "";
}

/// What the file says of itself, and the files behind it.
void printModelMetadata(Console& console, const ModelMetadata& metadata)
{
    std::string head = metadata.name.empty() ? "" : quotedText(metadata.name);
    const auto add = [&](const std::string& noun, const std::string& text) {
        if (!text.empty()) head += (head.empty() ? "" : ", ") + noun + quotedText(text);
    };
    add("", metadata.description);
    add("version ", metadata.version);
    add("author ", metadata.author);
    add("licence ", metadata.license);
    std::vector<std::string> lines;
    if (!head.empty()) lines.push_back(head);
    for (const TensorMetadata& tensor : metadata.tensors) {
        std::string line = tensor.place;
        if (!tensor.description.empty()) line += ": " + quotedText(tensor.description);
        if (const std::string wanted = normalizationText(tensor); !wanted.empty()) line += "; wants " + wanted;
        lines.push_back(std::move(line));
    }
    for (const AssociatedFile& file : metadata.files)
        lines.push_back(file.role + " " + file.name + " (" + formatBytes(file.size) + (file.tensor.empty() ? "" : ", of " + file.tensor) +
                        ")" + firstLines(console, file));
    for (size_t i = 0; i < lines.size(); ++i) console.line((i == 0 ? "metadata       " : "               ") + lines[i]);
    for (const std::string& problem : metadata.problems) console.warning(problem);
}

void printMetadata(Console& console, const Model& model)
{
    Table table({"metadata", "bytes"});
    table.align(1, Align::right);
    for (const Metadata& entry : model.metadata) table.add({entry.name, entry.data ? std::to_string(entry.data->size()) : "-"});
    if (model.metadata.empty()) console.line("no metadata");
    else console.print(table.text());
}

std::string signatureText(const Model& model, const Signature& signature)
{
    const auto ports = [&](const std::vector<SignatureBinding>& bindings) {
        std::vector<std::string> texts;
        for (const SignatureBinding& b : bindings)
            texts.push_back(b.name + (model.hasGraph(signature.graph) ? ": " + shortType(model.graph(signature.graph).value(b.value).type)
                                                                      : std::string()));
        return join(texts, ", ");
    };
    return signature.key + "(" + ports(signature.inputs) + ") -> " + ports(signature.outputs);
}

/// "placeholders   x: f32[?,2], train: bool[]".
void printOpenEnds(Console& console, const Model& model)
{
    constexpr size_t kShown = 8;
    const OpenEnds ends = openEnds(model);
    const auto print = [&](const std::string& head, const std::vector<ValueId>& values) {
        std::vector<std::string> texts;
        for (size_t i = 0; i < std::min(values.size(), kShown); ++i) {
            const Value& value = model.graphs.front().value(values[i]);
            texts.push_back(value.id + ": " + shortType(value.type));
        }
        if (values.size() > kShown) texts.push_back("… " + std::to_string(values.size() - kShown) + " more");
        if (!values.empty()) console.line(head + join(texts, ", "));
    };
    print("placeholders   ", ends.placeholders);
    print("sinks          ", ends.sinks);
}

/// "constants      8 elements, 32 bytes; 144 multiply-adds; activations 64 bytes"
void printSizes(Console& console, const ModelSummary& summary)
{
    std::vector<std::string> parts;
    if (summary.parameters > 0)
        parts.push_back(console.number(summary.parameters) + (summary.parameters == 1 ? " element, " : " elements, ") +
                        formatBytes(summary.constantBytes));
    if (summary.macs && *summary.macs > 0)
        parts.push_back(console.number(*summary.macs) + " multiply-adds" + (summary.controlFlow.empty() ? "" : ", each loop once"));
    if (summary.activationPeak)
        parts.push_back("activations " + formatBytes(*summary.activationPeak) +
                        (summary.unsizedValues == 0   ? ""
                         : summary.unsizedValues == 1 ? " and 1 value sized while running"
                                                      : " and " + std::to_string(summary.unsizedValues) + " values sized while running"));
    if (parts.empty()) return;
    const bool counted = summary.dynamicInputs && (summary.macs || summary.activationPeak);
    console.line((summary.parameters > 0 ? "constants      " : "one pass       ") + join(parts, "; ") +
                 (counted ? " (unknown dimensions as 1)" : ""));
}

void printModel(Console& console, const LoadedModel& file, const ModelSummary& summary, const ModelMetadata& metadata)
{
    const Model& model = file.model;
    std::string head = console.paint(Style::location, fileNameOf(file.path)) + "   " + std::string(file.formatName) + ", " +
                       console.number(static_cast<int64_t>(file.fileBytes())) + " bytes";
    if (const std::string_view description = attributeString(model.attributes, "description", ""); !description.empty())
        head += ", " + quotedText(description);
    console.line(head);
    for (const Derivation& from : file.derivedFrom) console.line("made from      " + from.name + " (" + from.step + ")");
    if (!model.graphs.empty()) console.line(headText(model.graphs.front()));
    bool isFirst = true;
    for (const Signature& signature : model.signatures) {
        if (isInitialiser(signature)) continue;
        console.line((isFirst ? "signatures     " : "               ") + signatureText(model, signature));
        isFirst = false;
    }
    if (isFirst) printOpenEnds(console, model);
    console.line(std::to_string(model.graphs.size()) + (model.graphs.size() == 1 ? " graph, " : " graphs, ") +
                 console.number(summary.operatorCount) + (summary.operatorCount == 1 ? " operator: " : " operators: ") +
                 operatorCounts(summary.operators));
    size_t width = 0;
    for (const ControlFlowLine& line : summary.controlFlow)
        width = std::max(width, line.label.size() + static_cast<size_t>(line.depth) * 2);
    for (size_t i = 0; i < summary.controlFlow.size(); ++i) {
        const ControlFlowLine& line = summary.controlFlow[i];
        std::string label(static_cast<size_t>(line.depth) * 2, ' ');
        label += line.label;
        label.resize(width, ' ');
        console.line((i == 0 ? "control flow   " : "               ") + label + "  " + line.text);
    }
    if (summary.frames.any) {
        const FrameSummary& f = summary.frames;
        const auto some = [&](int64_t n, const std::string& what) { return console.number(n) + " " + what + (n == 1 ? "" : "s"); };
        std::string text = "v1             " + some(f.frames, "frame");
        if (f.frames > 0) text += ", " + some(f.loops, "loop") + ", nested " + std::to_string(f.nesting) + " deep";
        text += "; " + some(f.conditionals, "conditional");
        if (f.neverLive > 0) text += "; " + some(f.neverLive, "node") + " never live";
        console.line(text);
    }
    printSizes(console, summary);
    if (const std::string dtypes = dtypesText(summary.types); !dtypes.empty()) console.line("dtypes         " + dtypes);
    if (const std::string schemes = quantizationText(summary.types); !schemes.empty()) console.line("quantization   " + schemes);
    printModelMetadata(console, metadata);
    const Placement& placement = summary.placement;
    if (!placement.interpreter.empty() || !placement.nowhere.empty() || !placement.custom.empty())
        console.line("runs on        " + placementText(placement));
    std::string last;
    if (summary.missing.empty()) last = "all operators have reference kernels";
    else
        last = std::to_string(summary.missing.size()) + (summary.missing.size() == 1 ? " kind has" : " kinds have") +
               " no kernel: " + join(summary.missing, ", ");
    const auto count = [](int64_t n, const std::string& what) {
        return n == 0 ? "no " + what + "s" : std::to_string(n) + " " + what + (n == 1 ? "" : "s");
    };
    last += "; " + count(summary.variables, "variable");
    if (model.dialect != Dialect::tf)
        last += summary.dynamicValues == 0 ? ", no dynamic shapes" : ", " + count(summary.dynamicValues, "value") + " of dynamic shape";
    console.line(last);
    for (const std::string& warning : summary.warnings) console.warning(warning);
}

bool isThere(const SqlValue& value) { return !std::holds_alternative<std::monostate>(value); }

/// The models that ran: id, name, format, and the names of what they were made from, the nearest first.
Result<QueryResult> modelsOf(TraceReader& reader)
{
    return reader.query(
        "WITH RECURSIVE source(id, of, depth, name) AS (SELECT m.derived_from, m.id, 1, s.name FROM model m JOIN model s ON "
        "s.id = m.derived_from UNION SELECT s.derived_from, c.of, c.depth + 1, t.name FROM source c JOIN model s ON s.id = "
        "c.id JOIN model t ON t.id = s.derived_from WHERE c.depth < 64) SELECT m.id, m.name, m.format, (SELECT "
        "group_concat(name, ', ') FROM (SELECT name FROM source WHERE of = m.id ORDER BY depth)) FROM model m WHERE EXISTS "
        "(SELECT 1 FROM graph g WHERE g.model = m.id) ORDER BY m.id",
        {});
}

Result<int> infoTrace(Console& console, const std::string& path)
{
    LS_TRY(const std::unique_ptr<TraceReader> reader, TraceReader::open(path));
    if (!reader->note().empty()) console.note(reader->note());
    LS_TRY(const QueryResult models, modelsOf(*reader));
    // Of a very large recording the rest is told all the same.
    QueryResult loops;
    Result<QueryResult> counted = reader->query(
        "SELECT run, loop, count(*), sum(trips) FROM loops GROUP BY run, call ORDER BY run, min(step)", {}, {.cancel = &interruptFlag()});
    if (counted.ok()) loops = std::move(counted).value();
    else if (counted.error().code() == ErrorCode::execution) console.note("iterations are not counted: that takes too long");
    else return std::move(counted).takeError();
    if (console.json()) {
        for (const TraceRun& run : reader->runs()) {
            JsonWriter json;
            json.beginObject()
                .key("schema")
                .value(1)
                .key("run")
                .value(run.id)
                .key("state")
                .value(run.state)
                .key("steps")
                .value(run.steps())
                .key("level")
                .value(run.level);
            json.key("backend").value(run.backend).key("profile").value(run.profile).key("started").value(run.started);
            const auto model = std::ranges::find(models.rows, SqlValue(run.model), [](const auto& row) { return row[0]; });
            if (model != models.rows.end()) {
                json.key("model").value(sqlText((*model)[1])).key("derived_from");
                isThere((*model)[3]) ? json.value(sqlText((*model)[3])) : json.null();
            }
            json.endObject();
            console.line(json.text());
        }
        return 0;
    }
    std::string head = console.paint(Style::location, fileNameOf(path)) + "   trace";
    for (const auto& row : models.rows)
        head += " of " + sqlText(row[1]) + " (" + sqlText(row[2]) + (isThere(row[3]) ? ", made from " + sqlText(row[3]) : "") + ")";
    console.line(head + (reader->isIndexed() ? "" : ", without indexes"));
    Table table({"run", "state", "steps", "time", "level", "profile", "started"});
    for (size_t c : {size_t{0}, size_t{2}, size_t{3}}) table.align(c, Align::right);
    for (const TraceRun& run : reader->runs())
        table.add({std::to_string(run.id), run.state, console.number(run.steps()), run.ns ? durationText(*run.ns) : "-",
                   std::to_string(run.level), run.profile, run.started});
    console.print(table.text());
    for (const auto& row : loops.rows)
        console.line("run " + sqlText(row[0]) + ": " + sqlText(row[3]) + " iterations of " + sqlText(row[1]) +
                     (sqlText(row[2]) == "1" ? "" : ", in " + sqlText(row[2]) + " executions"));
    for (const TraceRun& run : reader->runs())
        if (run.error) console.line("run " + std::to_string(run.id) + ": " + console.paint(Style::bad, *run.error));
    return 0;
}

} // namespace

Result<int> runInfo(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    const std::string& path = arguments.positionals[0];
    if (isTraceFile(path)) return infoTrace(console, path);
    LS_TRY(const LoadedModel file, loadModel(path));
    const ModelSummary summary = summarize(file.model);
    const ModelMetadata metadata = readModelMetadata(file.model, file.content);
    if (console.json()) {
        console.line(infoJson(file, summary, metadata));
        return 0;
    }
    if (arguments.has("ops")) {
        Table table({"operator", "count"});
        table.align(1, Align::right);
        std::vector<std::pair<std::string, int64_t>> sorted(summary.operators.begin(), summary.operators.end());
        std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
        for (const auto& [kind, count] : sorted) table.add({kind, console.number(count)});
        console.print(table.text());
    } else if (arguments.has("tensors")) {
        printTensors(console, file.model);
    } else if (arguments.has("metadata")) {
        printMetadata(console, file.model);
    } else {
        printModel(console, file, summary, metadata);
        LS_TRY(const Profile profile, profileOption(arguments));
        const PreparedKernels kernels = prepareKernels(file.model, profile);
        if (kernels.packedWeights > 0)
            console.line("packed weights of its kernels: " + formatBytes(static_cast<uint64_t>(kernels.packedWeights)));
        if (const std::string text = fallbackText(file.model, kernels.report, profile); !text.empty()) console.note(text);
    }
    return 0;
}

} // namespace loopscope::app
