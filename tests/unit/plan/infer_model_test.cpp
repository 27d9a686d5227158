// Types that a text leaves out, and stated ones that cannot be.
#include "converters/lsir/lsir.h"
#include "engine/ops/catalog.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

Model parsed(std::string_view text)
{
    Result<Model> model = modelFromText(text, "test"); // infers what is not stated
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message());
    return model.ok() ? std::move(model).value() : Model();
}

std::string typeOf(const Model& model, std::string_view id)
{
    const Graph& main = model.graphs[0];
    const TensorType& type = main.value(main.findValue(id)).type;
    return std::string(dtypeName(type.dtype)) + (type.shape.hasRank() ? toString(type.shape) : "[*]");
}

TEST(InferModel, joinsTheShapesOfBranches)
{
    const Model model = parsed(R"(
graph main(p: bool[], x: f32[2,3]) {
  a, b = if(p, x) then=@same else=@other
  return a, b
}
graph same(x: f32[2,3]) {
  y = add(x, x)
  return y, x
}
graph other(x: f32[2,3]) {
  y = concatenation(x, x) axis=0
  return y, x
}
)");
    EXPECT_EQ(typeOf(model, "a"), "f32[?,3]");
    EXPECT_EQ(typeOf(model, "b"), "f32[2,3]");
}

TEST(InferModel, givesLoopsTheirCarriedTypes)
{
    const Model model = parsed(R"(
graph main(n: i32[], list: f32[0,2]) {
  m, longer = while(n, list) cond=@go body=@append
  return longer
}
graph go(n: i32[], list: f32[?,2]) {
  zero = const i32[] 0
  t = greater(n, zero)
  return t
}
graph append(n: i32[], list: f32[?,2]) {
  one = const i32[] 1
  row = const f32[1,2] [1.0, 2.0]
  m = sub(n, one)
  longer = concatenation(list, row) axis=0
  return m, longer
}
)");
    EXPECT_EQ(typeOf(model, "m"), "i32[]");
    EXPECT_EQ(typeOf(model, "longer"), "f32[?,2]");
}

TEST(InferModel, leavesRecursionWhatItStates)
{
    const Model model = parsed(R"(
graph main(x: f32[2]) {
  y = call(x) call=@main : f32[2]
  z = add(y, y)
  return z
}
)");
    EXPECT_EQ(typeOf(model, "z"), "f32[2]");
}

TEST(InferModel, refusesAStatedDtypeThatCannotBe)
{
    Model model = parsed(R"(
graph main(x: f32[2]) {
  y = add(x, x) : f32[2]
  return y
}
)");
    Graph& main = model.graphs[0];
    main.value(main.findValue("y")).type.dtype = DType::i32;
    Status status = inferModel(model);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(std::move(status).takeError().message(), "main/add#0: result 0 'y' is stated with another dtype, found i32, expected f32");
}

} // namespace
} // namespace loopscope
