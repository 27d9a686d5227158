// Scenes of small models: what is in them, and that their geometry holds.
#include "converters/formats.h"
#include "converters/lsir/lsir.h"
#include "viewer/scene/scene.h"

#include <gtest/gtest.h>

namespace loopscope::viewer {

namespace {

Model sample(const std::string& name)
{
    Result<LoadedModel> file = loadModel("samples/text/" + name);
    if (!file.ok()) ADD_FAILURE() << file.error().message();
    return file.ok() ? std::move(*file).model : Model();
}

std::shared_ptr<const Scene> sceneOf(const Model& model, const ViewState& view)
{
    Result<std::shared_ptr<const Scene>> scene = buildScene(model, view, approximateTextMeasure());
    if (!scene.ok()) ADD_FAILURE() << scene.error().message();
    return scene.ok() ? *scene : nullptr;
}

} // namespace

TEST(Scene, LoopIsInlineWithItsBindings)
{
    const Model model = sample("collatz.lsir");
    const auto scene = sceneOf(model, initialView(model));
    ASSERT_TRUE(scene);
    ASSERT_EQ(scene->regions.size(), 4U);
    const SceneRegion& loop = scene->regions[0];
    EXPECT_EQ(loop.kind, RegionKind::loop);
    EXPECT_EQ(loop.id, "main/while#0:body");
    EXPECT_EQ(loop.site, "main/while#0");
    ASSERT_EQ(loop.bindings.size(), 2U);
    EXPECT_EQ(loop.bindings[0].actualText, "x");
    EXPECT_EQ(loop.bindings[1].actualText, "0");
    EXPECT_EQ(loop.bindings[1].feedbackText, "next_count, add#3");
    EXPECT_FALSE(loop.bindings[1].rail.empty());
    EXPECT_GE(scene->findNode("main/while#0@5:body/if#2:then/floor_div#0"), 0);
    EXPECT_EQ(scene->findNode("main/while#0:body/nothing#7"), -1);
}

} // namespace loopscope::viewer
