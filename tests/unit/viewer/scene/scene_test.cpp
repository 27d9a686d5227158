// Scenes of small models: what is in them, and that their geometry holds.
#include "converters/formats.h"
#include "converters/lsir/lsir.h"
#include "engine/ir/text/parser.h"
#include "tests/unit/viewer/scene/scene_checks.h"
#include "viewer/scene/scene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

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

/// The nodes of a line of a graph's text under another scope.
static std::string underScope(const std::string& line, const std::set<std::string>& nodes, const std::string& scope)
{
    std::string made, word;
    for (const char c : line + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '_') {
            word += c;
            continue;
        }
        made += (nodes.contains(word) && c != '(' && c != '=' ? scope : "") + word + c;
        word.clear();
    }
    return made;
}

TEST(Scene, AWideV1GraphOpensFoldedByFrame)
{
    // Nine times the same loop, side by side.
    std::ifstream file("samples/text/v1_collatz.lsir");
    std::string text;
    for (std::string line; std::getline(file, line) && line != "graph main {";) text += line + "\n";
    std::vector<std::string> body;
    std::set<std::string> nodes;
    for (std::string line; std::getline(file, line) && line != "}";) {
        body.push_back(line);
        nodes.insert(line.substr(2, line.find(' ', 2) - 2));
    }
    ASSERT_GT(nodes.size(), 20U);
    text += "graph main {\n";
    for (int copy = 0; copy < 9; ++copy)
        for (const std::string& line : body) {
            std::string made = underScope(line, nodes, "part" + std::to_string(copy) + "/");
            if (const size_t frame = made.find("\"collatz\""); frame != std::string::npos) made.insert(frame + 1, std::to_string(copy));
            text += made + "\n";
        }
    Result<Model> model = modelFromText(text + "}\n", "wide");
    ASSERT_TRUE(model.ok()) << model.error().message();
    const auto scene = sceneOf(*model, initialView(*model));
    ASSERT_TRUE(scene);
    const auto isFrame = [](const SceneRegion& region) { return region.kind == RegionKind::frame; };
    const auto open = std::count_if(scene->regions.begin(), scene->regions.end(), isFrame);
    EXPECT_GE(open, 1);
    EXPECT_LE(open, 5); // of 20 operators and more each
    // A small graph stays open.
    const Model small = sample("v1_collatz.lsir");
    const auto one = sceneOf(small, initialView(small));
    EXPECT_EQ(std::count_if(one->regions.begin(), one->regions.end(), isFrame), 1);
}

TEST(Scene, FramesAndConditionalsOfV1AreNested)
{
    const Model model = sample("v1_collatz.lsir");
    const auto scene = sceneOf(model, initialView(model));
    ASSERT_TRUE(scene);
    ASSERT_TRUE(scene->frames);
    const auto frame = scene->regionById.find("main/collatz");
    ASSERT_NE(frame, scene->regionById.end());
    const SceneRegion& loop = scene->regions[static_cast<size_t>(frame->second)];
    EXPECT_EQ(loop.kind, RegionKind::frame);
    EXPECT_EQ(loop.frame, 1);
    ASSERT_EQ(loop.bindings.size(), 2U);
    EXPECT_EQ(loop.bindings[1].feedbackText, "steps/NextIteration");
    EXPECT_FALSE(loop.bindings[1].rail.empty());
    const int half = scene->findNode("main/collatz@3:frame/half");
    ASSERT_GE(half, 0);
    const SceneRegion& side = scene->regions[static_cast<size_t>(scene->nodes[static_cast<size_t>(half)].region)];
    EXPECT_EQ(side.role, "false");
    EXPECT_EQ(side.kind, RegionKind::branch);
    // The frame can be folded: then its nodes are found in its box.
    ViewState folded = initialView(model);
    folded.expanded.clear();
    const auto small = sceneOf(model, folded);
    ASSERT_TRUE(small);
    const int box = small->findNode("main/collatz:frame/half");
    ASSERT_GE(box, 0);
    EXPECT_EQ(small->nodes[static_cast<size_t>(box)].kind, NodeKind::group);
    EXPECT_EQ(small->nodes[static_cast<size_t>(box)].id, "main/collatz");
}

namespace {

/// `blocks` blocks of four operators each, names as Keras writes them, with a skip line past each block.
Model blockModel(int blocks)
{
    Model model;
    Graph graph;
    graph.id = "main";
    const auto addValue = [&](const std::string& name, ValueRole role) {
        Value value;
        value.id = "v" + std::to_string(graph.values.size());
        value.name = name;
        value.type = TensorType(DType::f32, Shape{2, 4});
        value.role = role;
        graph.values.push_back(std::move(value));
        return ValueId(static_cast<int64_t>(graph.values.size()) - 1);
    };
    ValueId last = addValue("x", ValueRole::input);
    graph.inputs = {last};
    for (int b = 0; b < blocks; ++b) {
        const ValueId skip = last;
        for (const char* name : {"expand_relu/Relu6", "depthwise_relu/Relu6", "project_BN/FusedBatchNormV3", "add/add"}) {
            Operator op;
            op.kind = {"tfl", std::string(name) == "add/add" ? "add" : "conv_2d"};
            op.inputs = {last};
            if (op.kind.name == "add") op.inputs.push_back(skip);
            last = addValue("net/model/block_" + std::to_string(b) + "_" + name, ValueRole::result);
            graph.values.back().producer = OperatorId(static_cast<int64_t>(graph.operators.size()));
            op.results = {last};
            graph.operators.push_back(std::move(op));
        }
    }
    graph.outputs.push_back({"", last});
    model.graphs.push_back(std::move(graph));
    return model;
}

} // namespace

TEST(Scene, BlocksFoldByTheirTensorNames)
{
    const Model model = blockModel(20);
    ViewState view = initialView(model);
    const auto folded = sceneOf(model, view);
    ASSERT_TRUE(folded);
    EXPECT_EQ(folded->folded, 20);
    EXPECT_EQ(folded->operators, 80);
    const int block = folded->findNode("main/depthwise_conv_2d#1");
    EXPECT_EQ(block, -1);
    const int first = folded->findNode("main/conv_2d#1");
    ASSERT_GE(first, 0);
    EXPECT_EQ(folded->nodes[static_cast<size_t>(first)].name, "block_0");
    EXPECT_EQ(folded->nodes[static_cast<size_t>(first)].detail, "4 ops");
    EXPECT_EQ(folded->nodes[static_cast<size_t>(first)].strip.size(), 4U);

    // Opening a block moves only what lies below it.
    const int seventh = folded->findNode("main/conv_2d#28");
    ASSERT_GE(seventh, 0);
    const std::string id = folded->nodes[static_cast<size_t>(seventh)].id;
    view.expanded.insert(id);
    const auto opened = sceneOf(model, view);
    ASSERT_TRUE(opened);
    EXPECT_EQ(opened->folded, 19);
    ASSERT_EQ(opened->regions.size(), 1U);
    EXPECT_EQ(opened->regions[0].id, id);
    EXPECT_EQ(opened->regions[0].note, "4 ops, from tensor names");
    EXPECT_EQ(opened->nodes[static_cast<size_t>(opened->findNode("main/conv_2d#29"))].region, 0);
    const double line = folded->nodes[static_cast<size_t>(seventh)].rect.y;
    for (const SceneNode& before : folded->nodes) {
        const auto found = opened->nodeById.find(before.id);
        if (found == opened->nodeById.end() || before.id == id) continue;
        const Rect& after = opened->nodes[static_cast<size_t>(found->second)].rect;
        if (before.rect.y < line) EXPECT_EQ(after.y, before.rect.y) << before.id;
        else EXPECT_GT(after.y, before.rect.y) << before.id;
    }
}

TEST(Scene, ConstantsAndConditionsOnRequest)
{
    const Model model = sample("collatz.lsir");
    ViewState view = initialView(model);
    view.showConstants = true;
    view.condOpen.insert("main/while#0");
    const auto scene = sceneOf(model, view);
    ASSERT_TRUE(scene);
    EXPECT_EQ(testing::problemOf(*scene), "");
    const auto cond = scene->regionById.find("main/while#0:cond");
    ASSERT_NE(cond, scene->regionById.end());
    EXPECT_EQ(scene->regions[static_cast<size_t>(cond->second)].parent, scene->regionById.at("main/while#0:body"));
    EXPECT_GE(scene->findNode("main/while#0@0:cond/not_equal#0"), 0);
    const int two = scene->findNode("main/while#0:body=two");
    ASSERT_GE(two, 0);
    EXPECT_EQ(scene->nodes[static_cast<size_t>(two)].kind, NodeKind::constant);
    EXPECT_EQ(scene->nodes[static_cast<size_t>(two)].name, "2");
}

/// What a caller passes may be wider than its pill, up to the middle between it and its neighbours.
TEST(Scene, ActualsTakeTheRoomBesideTheirPills)
{
    const Result<Model> model = parseModel(R"(
graph main(a_long_name_of_what_is_passed: f32[2], another_long_name_that_is_passed: f32[2]) {
  x, y = while(a_long_name_of_what_is_passed, another_long_name_that_is_passed) cond=@cond body=@body : (f32[2], f32[2])
  return x, y
}
graph cond(x: f32[2], y: f32[2]) {
  go = const bool[] false
  return go
}
graph body(x: f32[2], y: f32[2]) {
  return x, y
}
)",
                                           "long");
    ASSERT_TRUE(model.ok()) << model.error().message();
    ViewState view;
    view.inlined.insert("main/while#0");
    const auto scene = sceneOf(*model, view);
    ASSERT_TRUE(scene);
    std::vector<const SceneNode*> actuals;
    for (const SceneNode& node : scene->nodes)
        if (node.kind == NodeKind::actual) actuals.push_back(&node);
    ASSERT_EQ(actuals.size(), 2U);
    const SceneRegion& loop = scene->regions[0];
    for (size_t i = 0; i < 2; ++i) {
        const Rect& pill = scene->nodes[static_cast<size_t>(loop.bindings[i].formal)].rect;
        EXPECT_GT(actuals[i]->rect.width, pill.width);
        EXPECT_NEAR(actuals[i]->rect.center().x, pill.center().x, 1);
        EXPECT_GT(actuals[i]->rect.x, loop.rect.x);
        EXPECT_LT(actuals[i]->rect.right(), loop.rect.right());
    }
    EXPECT_FALSE(actuals[0]->rect.intersects(actuals[1]->rect));
}

TEST(Scene, SourcesAreLeftOutAndKindsShown)
{
    const Result<Model> model = parseModel(R"(
lsir 1
model tf
graph main {
  x = Placeholder() dtype=f32 shape=shape[2] : f32[2]
  block/v = VarHandleOp() container="" dtype=f32 shape=shape[2] shared_name="v" : resource
  two = Const() dtype=f32 value=f32[] 2.0 : f32[]
  f = StatefulPartitionedCall(x, block/v) Tin=[f32, resource] Tout=[f32] f=@f : f32[2]
  net/block/y = Mul(f, two) T=f32 : f32[2]
}
graph f(a: f32[2], v: resource) {
  now = ReadVariableOp(v) dtype=f32 : f32[2]
  b = AddV2(a, now) T=f32 : f32[2]
  return b=b
}
)",
                                           "sources");
    ASSERT_TRUE(model.ok()) << model.error().message();
    ViewState view = initialView(*model);
    view.allExpanded = view.hideSources = view.showKinds = true;
    const auto scene = buildScene(*model, view, approximateTextMeasure());
    ASSERT_TRUE(scene.ok()) << scene.error().message();
    std::vector<std::string> shown;
    for (const SceneNode& node : (*scene)->nodes)
        if (node.kind == NodeKind::op || node.kind == NodeKind::input)
            shown.push_back(node.name + (node.detail.empty() ? "" : " " + node.detail));
    EXPECT_EQ(shown, (std::vector<std::string>{"Placeholder x", "a", "1 variable", "AddV2 b", "Mul block/y"}));
}

TEST(Scene, ManyLoopVariablesShareOneBundle)
{
    for (const int count : {12, 13}) {
        std::string inputs, formals, results, returns;
        for (int k = 0; k < count; ++k) {
            const std::string comma = k == 0 ? "" : ", ", n = std::to_string(k);
            inputs += comma + "a" + n + ": i32[]";
            formals += comma + "a" + n;
            results += comma + "r" + n;
            returns += comma + "i32[]";
        }
        const std::string text = "graph main(" + inputs + ") {\n  " + results + " = while(" + formals + ") body=@body cond=@cond : (" +
                                 returns + ")\n  return " + results + "\n}\ngraph cond(" + inputs +
                                 ") {\n  c = less(a0, a1) : bool[]\n  return c\n}\ngraph body(" + inputs +
                                 ") {\n  b = add(a0, a1) : i32[]\n  return b" + formals.substr(2) + "\n}\n";
        const Result<Model> model = parseModel(text, "many");
        ASSERT_TRUE(model.ok()) << model.error().message();
        const auto scene = sceneOf(*model, initialView(*model));
        ASSERT_TRUE(scene);
        EXPECT_EQ(testing::problemOf(*scene), "");
        const SceneRegion& loop = scene->regions[0];
        EXPECT_EQ(loop.bindings.size(), static_cast<size_t>(count));
        EXPECT_EQ(loop.foldedRails, count == 12 ? 0 : 13);
        EXPECT_EQ(loop.bindings[1].rail.empty(), count == 13);
        EXPECT_TRUE(loop.bindings[1].invariant);
        EXPECT_FALSE(loop.bindings[0].invariant);
        // Those that never change have one pill at each end then, and every one of them is still found.
        const int together = scene->findNode("main/while#0:body>*invariant");
        EXPECT_EQ(together >= 0, count == 13);
        if (count == 12) continue;
        EXPECT_EQ(scene->nodes[static_cast<size_t>(together)].name, "12 invariant");
        EXPECT_EQ(loop.bindings[1].formal, together);
        EXPECT_EQ(loop.bindings[12].result, scene->findNode("main/while#0:body<*invariant"));
        EXPECT_EQ(scene->findNode("main/while#0:body>a7"), together);
        EXPECT_NE(loop.bindings[0].formal, together);
        EXPECT_EQ(
            std::count_if(scene->edges.begin(), scene->edges.end(), [&](const SceneEdge& e) { return e.style == EdgeStyle::passThrough; }),
            1);
    }
}

/// Twice as many calls in each graph as in the one around it: all of them would be 2^30.
TEST(Scene, ExpandAllEndsWhereCallsMultiply)
{
    std::string text;
    for (int i = 0; i < 30; ++i) {
        const std::string next = "@g" + std::to_string(i + 1);
        text += "graph g" + std::to_string(i) + "(x: i32[], c: bool[]) {\n  y = if(c, x, c) else=" + next + " then=" + next +
                " : i32[]\n  return y\n}\n";
    }
    const auto model = modelFromText(text + "graph g30(x: i32[], c: bool[]) {\n  y = neg(x) : i32[]\n  return y\n}\n", "test");
    ASSERT_TRUE(model.ok()) << model.error().message();
    ViewState view = initialView(*model);
    view.allExpanded = true;
    view.rows = true; // what is in it, not how it is laid out
    const auto scene = sceneOf(*model, view);
    ASSERT_TRUE(scene);
    EXPECT_GT(scene->nodes.size(), 50000U);
    EXPECT_LT(scene->nodes.size(), 51000U);
}

TEST(Scene, RootThatIsNotThere)
{
    const Model model = sample("collatz.lsir");
    ViewState view;
    view.root = "main/while#7:body";
    const auto scene = buildScene(model, view, approximateTextMeasure());
    ASSERT_FALSE(scene.ok());
    EXPECT_EQ(scene.error().code(), ErrorCode::usage);
    view.root = "main/while#0:body";
    EXPECT_TRUE(buildScene(model, view, approximateTextMeasure()).ok());
}

TEST(Scene, StopsWhenAsked)
{
    const Model model = sample("collatz.lsir");
    std::stop_source stop;
    stop.request_stop();
    const auto scene = buildScene(model, initialView(model), approximateTextMeasure(), {{}, stop.get_token()});
    ASSERT_FALSE(scene.ok());
    EXPECT_EQ(scene.error().code(), ErrorCode::cancelled);
}

} // namespace loopscope::viewer
