// Builds the scenes of every model of a corpus and checks their geometry. Usage: scenes_check [FOLDER…]; without one, $LOOPSCOPE_CORPUS
// or ../shared/corpus. Exit codes: 0, 1 (failures, each named on stdout), 77 (no corpus).
#include "converters/formats.h"
#include "tests/conformance/corpus_walk.h"
#include "tests/unit/viewer/scene/scene_checks.h"

#include <filesystem>
#include <string>
#include <vector>

namespace loopscope::viewer {
namespace {

std::string check(const std::string& path)
{
    const auto file = loadModel(path);
    if (!file.ok() || file->model.graphs.empty()) return {}; // others test opening
    ViewState initial = initialView(file->model);
    ViewState open = initial;
    open.allExpanded = true;
    open.showAttributes = open.showConstants = open.showNames = true;
    ViewState turned = initial;
    turned.leftToRight = true;
    turned.dense = true;
    for (const auto& [view, name] :
         {std::pair(&initial, "as it opens: "), std::pair(&open, "all open: "), std::pair(&turned, "left to right: ")}) {
        const auto scene = buildScene(file->model, *view, approximateTextMeasure());
        if (!scene.ok()) return name + scene.error().message();
        if (std::string problem = testing::problemOf(**scene); !problem.empty()) return name + problem;
        // Every operator of the graph is found, drawn or folded.
        const Graph& graph = file->model.graph((*scene)->graph);
        if ((*scene)->operators != static_cast<int64_t>(graph.operators.size())) return name + std::string("operators are missing");
    }
    return {};
}

bool isModel(const std::filesystem::path& path)
{
    return path.extension() == ".tflite" || path.extension() == ".circle" || path.extension() == ".pb" || path.extension() == ".pbtxt" ||
           path.extension() == ".meta";
}

} // namespace
} // namespace loopscope::viewer

int main(int argc, char** argv)
{
    return loopscope::testing::checkCorpus({argv + 1, argv + argc}, "models", loopscope::viewer::isModel, loopscope::viewer::check);
}
