// Which value of a v1 graph a value stands for, as it is read off a model: names, attributes, and what the editor keeps by itself.
#include "engine/ir/origin.h"

#include "converters/lsir/lsir.h"
#include "engine/transform/graph_editor.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace loopscope {
namespace {

constexpr const char* kRaised = R"(
graph main {
  n = Placeholder() dtype=i32 shape=shape[] : i32[]
  loop = While(n) T=[i32] _origin=["exit"] body=@body cond=@cond output_shapes=[] parallel_iterations=10 : i32
  two = TopKV2(loop, n) T=i32 Tindices=i32 index_type=i32 sorted=true : (i32, i32)
}
graph cond(x: i32 {_origin="merge"}) _origin_frames=["outer", "inner"] _origin_graph="main" {
  less = Less(x, x) T=i32 : bool
  return output_0=less
}
graph body(x: i32 {_origin="gate:1"}) _origin_frames=["outer", "inner"] _origin_graph="main" {
  add_1 = AddV2(x, x) T=i32 _origin=["add"] : i32
  made = Neg(add_1) T=i32 _origin=[""] : i32
  return output_0=made
}
)";

std::string textOf(const Model& model, const OriginPair& pair)
{
    std::string text = pair.sourceGraph;
    for (const std::string& frame : pair.frames) text += "/" + frame;
    return text + " " + pair.node + ":" + std::to_string(pair.slot) + " = " + model.graph(pair.graph).id + "/" +
           model.graph(pair.graph).value(pair.value).id;
}

TEST(Origin, pairs_follow_from_names_and_attributes)
{
    const Result<Model> model = modelFromText(kRaised, "raised");
    ASSERT_TRUE(model.ok()) << model.error().message();
    std::vector<std::string> texts;
    for (const OriginPair& pair : originPairs(*model)) texts.push_back(textOf(*model, pair));
    const std::vector<std::string> expected = {"main n:0 = main/n",
                                               "main exit:0 = main/loop",
                                               "main two:0 = main/two",
                                               "main two:1 = main/two:1",
                                               "main/outer/inner merge:0 = cond/x",
                                               "main/outer/inner less:0 = cond/less",
                                               "main/outer/inner gate:1 = body/x",
                                               "main/outer/inner add:0 = body/add_1"};
    EXPECT_EQ(texts, expected);
}

TEST(Origin, operators_of_other_graphs_are_named_with_their_graph)
{
    const Result<Model> model = modelFromText(kRaised, "raised");
    ASSERT_TRUE(model.ok());
    const Graph& source = model->graph(model->findGraph("cond"));
    Graph made;
    made.id = "made";
    GraphEditor editor(made, Dialect::tf);
    const ValueId x = editor.addInput("x", TensorType(DType::i32, Shape()));
    const OperatorId copy = cloneFrom(editor, source, OperatorId(0), {x, x}, {}, InsertPoint::end());
    EXPECT_EQ(editor.op(copy).name, "less");
    EXPECT_EQ(editor.op(copy).origin, std::vector<std::string>{"@cond/less"});
}

} // namespace
} // namespace loopscope
