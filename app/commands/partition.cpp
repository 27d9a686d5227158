// `loopscope partition`: one graph per device.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/wiring/model_file.h"
#include "app/wiring/outputs.h"
#include "app/wiring/placement.h"
#include "app/wiring/tf_target.h"
#include "converters/formats.h"
#include "engine/ir/verifier.h"

#include <cctype>

namespace loopscope::app {

namespace {

/// "parts.pb" for the device "/device:CPU:1" is "parts._device_CPU_1.pb".
std::string fileFor(const std::string& out, const std::string& device)
{
    const size_t slash = out.rfind('/'), dot = out.rfind('.');
    const bool hasExtension = dot != std::string::npos && (slash == std::string::npos || dot > slash);
    std::string name;
    for (const char c : device) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    return hasExtension ? out.substr(0, dot) + "." + name + out.substr(dot) : out + "." + name;
}

struct WrittenPart {
    std::string device, path;
    size_t operators = 0, sends = 0, receives = 0;
};

size_t countOf(const Graph& graph, std::string_view kind)
{
    size_t count = 0;
    for (const Operator& op : graph.operators) count += op.kind.name == kind ? 1 : 0;
    return count;
}

void tell(Console& console, const std::vector<WrittenPart>& parts, const CutReport& report)
{
    if (console.json()) {
        JsonWriter json;
        json.beginObject().key("schema").value(1).key("edges").value(static_cast<int64_t>(report.edges)).key("controls");
        json.value(static_cast<int64_t>(report.controls)).key("control_loops").beginArray();
        for (const std::string& loop : report.controlLoops) json.value(loop);
        json.endArray().key("partitions").beginArray();
        for (const WrittenPart& part : parts)
            json.beginObject()
                .key("device")
                .value(part.device)
                .key("file")
                .value(part.path)
                .key("operators")
                .value(static_cast<int64_t>(part.operators))
                .key("sends")
                .value(static_cast<int64_t>(part.sends))
                .key("receives")
                .value(static_cast<int64_t>(part.receives))
                .endObject();
        console.line(json.endArray().endObject().text());
        return;
    }
    console.line(std::to_string(report.edges) + " values and " + std::to_string(report.controls) + " control edges cross devices");
    for (const std::string& loop : report.controlLoops) console.line("control loop for " + loop);
    for (const WrittenPart& part : parts)
        console.line(part.device + ": " + std::to_string(part.operators) + " operators, " + std::to_string(part.sends) + " _Send, " +
                     std::to_string(part.receives) + " _Recv, written: " + part.path);
}

} // namespace

Result<int> runPartition(const CommandContext& context)
{
    const Arguments& arguments = context.arguments;
    LS_TRY(const std::string out, outputPath(arguments, "partition", "loopscope partition model.pb --place 'while/*=b' -o parts.pb"));
    SaveOptions saving = savingOptions(arguments);
    LS_TRY([[maybe_unused]] const Format* const format, formatToSave(out, saving));
    LS_TRY(LoadedModel file, loadModel(arguments.positionals[0]));
    const GraphId root = rootOf(file.model, arguments.text("signature"));
    if (!file.model.hasGraph(root)) return Error(ErrorCode::usage, "the model has no graph").at(file.path);
    Result<DevicePlacement> placement = askedPlacement(arguments.all("place"), file.model.graph(root));
    if (!placement.ok()) return std::move(placement).takeError().at(file.path);
    for (const std::string& device : placement->devices) LS_CHECK_OK(checkWritable(fileFor(out, device), saving.overwrite));
    Result<CutReport> report = cutGraph(file.model, root, *placement);
    if (!report.ok()) return std::move(report).takeError().at(file.path);
    std::vector<WrittenPart> written;
    for (const std::string& device : placement->devices) {
        LS_TRY(const Model part, partOf(file.model, root, {device}));
        LS_CHECK_OK(verifyModel(part));
        const std::string path = fileFor(out, device);
        LS_CHECK_OK(saveModel(part, path, saving));
        const Graph& graph = part.graphs.front();
        written.push_back({device, path, graph.operators.size(), countOf(graph, "_Send"), countOf(graph, "_Recv")});
    }
    tell(context.console, written, *report);
    return 0;
}

} // namespace loopscope::app
