// `loopscope export-graph`: the picture of a graph, as the desktop application draws it, in a file; no screen needed.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/output/node_data.h"
#include "app/wiring/model_file.h"
#include "app/wiring/outputs.h"
#include "engine/base/bytes.h"
#include "engine/base/text.h"
#include "viewer/layout/graphviz_export.h"
#include "viewer/scene/scene_dot.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace loopscope::app {

namespace {

/// What is open: all, none (every call and group folded), an id or the address of a call; else what the window shows at first.
void applyExpansion(viewer::ViewState& view, const std::vector<std::string>& words)
{
    for (const std::string& word : words) {
        if (word == "all") {
            view.allExpanded = true;
        } else if (word == "none") {
            view.inlined.clear();
            view.expanded.clear();
        } else {
            view.inlined.insert(word);
            view.expanded.insert(word);
        }
    }
}

/// Ids that can be opened, for messages.
std::vector<std::string> idsOf(const viewer::Scene& scene)
{
    std::vector<std::string> ids;
    for (const viewer::SceneNode& node : scene.nodes)
        if (node.kind == viewer::NodeKind::group || node.call) ids.push_back(node.id);
    for (const auto& [id, region] : scene.regionById) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    return ids;
}

/// Operators by the numbers that a file gives them. An empty path: none.
Result<viewer::SceneClasses> colorsOf(const Model& model, const std::string& path)
{
    viewer::SceneClasses classes;
    if (path.empty()) return classes;
    LS_TRY(const Bytes content, mapFile(path));
    Result<NodeData> data = readNodeData(model, {content.as<char>(), content.size()});
    if (!data.ok()) return std::move(data).takeError().at(path);
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (const auto& [place, value] : *data) {
        least = std::min(least, value);
        most = std::max(most, value);
    }
    classes.fill = [data = std::move(*data), least, most](const viewer::SceneNode& node) {
        const auto found = data.find({node.graph, node.op});
        if (found == data.end()) return std::string();
        return nodeColor(most > least ? (found->second - least) / (most - least) : 1);
    };
    return classes;
}

} // namespace

Result<int> runExportGraph(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    LS_TRY(const std::string path, outputPath(arguments, "export-graph", "loopscope export-graph model.tflite -o model.svg"));
    const std::string format = outputFormat(path, arguments.text("format"));
    const std::vector<std::string> formats = {"svg", "pdf", "png", "dot"};
    if (std::find(formats.begin(), formats.end(), format) == formats.end())
        return Error(ErrorCode::usage, "picture format")
            .found("'" + format + "'")
            .expected("svg, pdf, png or dot")
            .nearest(nearestNames(format, formats))
            .at(path);
    LS_CHECK_OK(checkWritable(path, arguments.has("force")));
    LS_TRY(const LoadedModel file, loadModel(arguments.positionals[0]));
    viewer::ViewState view = viewer::initialView(file.model);
    if (arguments.has("graph")) view.root = arguments.text("graph");
    const std::vector<std::string> opened = arguments.all("expand");
    applyExpansion(view, opened);
    const viewer::TextMeasure measure = viewer::approximateTextMeasure();
    LS_TRY(const std::shared_ptr<const viewer::Scene> scene, viewer::buildScene(file.model, view, measure));
    for (const std::string& id : opened) {
        if (id == "all" || id == "none" || scene->regionById.contains(id)) continue;
        return Error(ErrorCode::usage, "option '--expand'")
            .found("'" + id + "'")
            .expected("all, none, a call or a group of the picture")
            .nearest(nearestNames(id, idsOf(*scene)));
    }
    LS_TRY(const viewer::SceneClasses colors, colorsOf(file.model, arguments.text("node-data")));
    const std::string dot = viewer::sceneDot(*scene, measure, colors);
    layout::GraphvizOutput output;
    if (format == "dot") output.data = dot;
    else output = layout::runGraphviz(dot, "nop2", format.c_str());
    if (!output.error.empty()) return Error(ErrorCode::unsupported, output.error).at(path);
    LS_CHECK_OK(writeFile(path, output.data, arguments.has("force")));
    if (console.json()) {
        console.line(JsonWriter()
                         .beginObject()
                         .key("schema")
                         .value(1)
                         .key("file")
                         .value(path)
                         .key("operators")
                         .value(scene->operators)
                         .key("nodes")
                         .value(static_cast<int64_t>(scene->nodes.size()))
                         .key("regions")
                         .value(static_cast<int64_t>(scene->regions.size()))
                         .key("folded")
                         .value(scene->folded)
                         .endObject()
                         .text());
        return 0;
    }
    const auto count = [&](int64_t n, const char* noun) { return console.number(n) + " " + noun + (n == 1 ? "" : "s"); };
    console.line(path + ": " + view.root + ", " + count(static_cast<int64_t>(scene->nodes.size()), "node") + ", " +
                 count(static_cast<int64_t>(scene->regions.size()), "region") +
                 (scene->folded > 0 ? ", " + count(scene->folded, "group") + " folded (--expand all opens them)" : ""));
    return 0;
}

} // namespace loopscope::app
