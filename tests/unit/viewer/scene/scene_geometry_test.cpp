// Where things stand in the pictures of all samples, in every kind of view: no overlaps, regions in one piece, what follows a loop below
// it, and that opening something moves only what lies inside of it or below.
#include "converters/formats.h"
#include "engine/ops/control_flow.h"
#include "tests/unit/viewer/scene/scene_checks.h"
#include "viewer/scene/scene.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace loopscope::viewer {

namespace {

std::vector<std::string> sampleFiles()
{
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator("samples/text"))
        if (entry.path().extension() == ".lsir") files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    return files;
}

Model modelOf(const std::string& file)
{
    Result<LoadedModel> loaded = loadModel(file);
    if (!loaded.ok()) ADD_FAILURE() << file << ": " << loaded.error().message();
    return loaded.ok() ? std::move(*loaded).model : Model();
}

std::shared_ptr<const Scene> sceneOf(const Model& model, const ViewState& view)
{
    Result<std::shared_ptr<const Scene>> scene = buildScene(model, view, approximateTextMeasure());
    if (!scene.ok()) ADD_FAILURE() << scene.error().message();
    return scene.ok() ? *scene : std::make_shared<const Scene>();
}

bool liesIn(const Scene& scene, int region, int outer)
{
    for (; region >= 0; region = scene.regions[static_cast<size_t>(region)].parent)
        if (region == outer) return true;
    return false;
}

/// What a region hands on stands below it, what it gets above. Empty: all does.
std::string outOfOrder(const Scene& scene)
{
    for (const SceneEdge& edge : scene.edges) {
        if (edge.style == EdgeStyle::feedback) continue;
        const SceneNode& from = scene.nodes[static_cast<size_t>(edge.from)];
        const SceneNode& to = scene.nodes[static_cast<size_t>(edge.to)];
        for (int region = from.region; region >= 0; region = scene.regions[static_cast<size_t>(region)].parent)
            if (!liesIn(scene, to.region, region) && to.rect.y < scene.regions[static_cast<size_t>(region)].rect.bottom())
                return to.id + " stands beside or above " + scene.regions[static_cast<size_t>(region)].id;
        for (int region = to.region; region >= 0; region = scene.regions[static_cast<size_t>(region)].parent)
            if (!liesIn(scene, from.region, region) && from.rect.bottom() > scene.regions[static_cast<size_t>(region)].rect.y)
                return from.id + " stands beside or below " + scene.regions[static_cast<size_t>(region)].id;
    }
    return {};
}

/// Nothing that stood above the opened box has moved up or down, and nothing below it has come nearer.
std::string movedBy(const Scene& before, const Scene& after, const Rect& opened)
{
    for (const SceneNode& node : before.nodes) {
        const auto found = after.nodeById.find(node.id);
        if (found == after.nodeById.end() || after.nodes[static_cast<size_t>(found->second)].id != node.id) continue;
        const Rect& now = after.nodes[static_cast<size_t>(found->second)].rect;
        if (node.rect.bottom() <= opened.y && now.y != node.rect.y) return node.id + " stood above and moved";
        if (node.rect.y >= opened.bottom() && now.y < node.rect.y) return node.id + " stood below and moved up";
    }
    return {};
}

} // namespace

class SceneGeometry : public ::testing::TestWithParam<std::string> {};

TEST_P(SceneGeometry, HoldsInEveryView)
{
    const Model model = modelOf(GetParam());
    const ViewState initial = initialView(model);
    std::vector<std::pair<std::string, ViewState>> views = {{"initial", initial}};
    const auto with = [&](const std::string& name, auto change) {
        views.emplace_back(name, initial);
        change(views.back().second);
    };
    with("folded", [](ViewState& v) {
        v.inlined.clear();
        v.expanded.clear();
    });
    with("expanded", [](ViewState& v) { v.allExpanded = true; });
    with("conditions", [](ViewState& v) { v.condOpen = v.inlined; });
    with("constants", [](ViewState& v) { v.showConstants = v.showAttributes = true; });
    with("dense", [](ViewState& v) { v.dense = true; });
    with("left to right", [](ViewState& v) { v.leftToRight = true; });
    for (const auto& [name, view] : views) {
        const auto scene = sceneOf(model, view);
        EXPECT_EQ(testing::problemOf(*scene), "") << name;
        if (!view.leftToRight) {
            EXPECT_EQ(outOfOrder(*scene), "") << name;
        }
    }
}

TEST_P(SceneGeometry, OpeningMovesOnlyWhatIsBelow)
{
    const Model model = modelOf(GetParam());
    ViewState view = initialView(model);
    view.inlined.clear();
    const auto folded = sceneOf(model, view);
    for (const SceneNode& node : folded->nodes) {
        ViewState opened = view;
        if (node.kind == NodeKind::group) opened.expanded.insert(node.id);
        else if (node.call) opened.inlined.insert(node.id);
        else continue;
        EXPECT_EQ(movedBy(*folded, *sceneOf(model, opened), node.rect), "") << "opening " << node.id;
    }
}

INSTANTIATE_TEST_SUITE_P(Samples, SceneGeometry, ::testing::ValuesIn(sampleFiles()), [](const auto& info) {
    std::string name = std::filesystem::path(info.param).stem().string();
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name;
});

} // namespace loopscope::viewer
