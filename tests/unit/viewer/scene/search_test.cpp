// Queries over the operators, tensors and attributes of a model.
#include "viewer/scene/search.h"

#include "converters/lsir/lsir.h"

#include <gtest/gtest.h>

namespace loopscope::viewer {
namespace {

constexpr const char* kModel = R"(
graph main(x: f32[1,4], n: i32[]) {
  one = const f32[1,4] [1.0, 1.0, 1.0, 1.0]
  a = add(x, one) : f32[1,4]
  r = relu(a) : f32[1,4]
  y, m = while(r, n) cond=@test body=@step : (f32[1,4], i32[])
  z = concatenation(y, a) axis=1 : f32[1,8]
  return z
}
graph test(y: f32[1,4], n: i32[]) {
  zero = const i32[] 0
  go = greater(n, zero) : bool[]
  return go
}
graph step(y: f32[1,4], n: i32[]) {
  one = const i32[] 1
  sum = add(y, y) : f32[1,4]
  less_n = sub(n, one) : i32[]
  return sum, less_n
}
)";

class Search : public ::testing::Test {
protected:
    void SetUp() override
    {
        Result<Model> read = modelFromText(kModel, "test.lsir");
        ASSERT_TRUE(read.ok()) << read.error().message();
        model = std::move(read).value();
        index = SearchIndex::build(model);
    }
    std::string hits(std::string_view query, SearchKind kind = SearchKind::operators) const
    {
        const SearchAnswer answer = index->find(query, kind);
        if (!answer.problem.empty()) return answer.problem;
        std::string text;
        for (const SearchHit& hit : answer.hits) text += (text.empty() ? "" : " ") + hit.address;
        return text;
    }
    Model model;
    std::shared_ptr<const SearchIndex> index;
};

TEST_F(Search, finds_names_kinds_and_indexes_in_all_graphs)
{
    EXPECT_EQ(hits("add"), "main/add#0 main/while#2:body/add#0");
    EXPECT_EQ(hits("ADD"), "main/add#0 main/while#2:body/add#0");
    EXPECT_EQ(hits("op:while"), "main/while#2");
    EXPECT_EQ(hits("less_n"), "main/while#2:body/sub#1");
    EXPECT_EQ(hits("#1"), "main/relu#1 main/while#2:body/sub#1");
    EXPECT_EQ(hits("#1 graph:step"), "main/while#2:body/sub#1");
    EXPECT_EQ(hits("/^s(ub|um)$/"), "main/while#2:body/add#0 main/while#2:body/sub#1");
}

TEST_F(Search, finds_types_and_attributes)
{
    EXPECT_EQ(hits("shape:[1,8]"), "main/concatenation#3");
    EXPECT_EQ(hits("shape:[?,4] op:add"), "main/add#0 main/while#2:body/add#0");
    EXPECT_EQ(hits("dtype:bool"), "main/while#2:cond/greater#0");
    EXPECT_EQ(hits("axis=1"), "main/concatenation#3");
    EXPECT_EQ(hits("attr:axis"), "main/concatenation#3");
    EXPECT_EQ(hits("axis=2"), "");
    EXPECT_EQ(hits("axis", SearchKind::attributes), "main/concatenation#3");
    EXPECT_EQ(hits("dtype:i32 n", SearchKind::tensors),
              "main/n main/while#2:cond/n main/while#2:body/n main/while#2:body/one main/while#2:body/sub#1");
}

TEST_F(Search, follows_paths)
{
    EXPECT_EQ(hits("add > relu"), "main/relu#1");
    EXPECT_EQ(hits("add > relu > while"), "main/while#2");
    EXPECT_EQ(hits("relu > add"), "");
    EXPECT_EQ(hits("relu >"), "1:1: '>' stands between two conditions: conv_2d > add");
}

TEST_F(Search, counts_and_suggests)
{
    const SearchAnswer none = index->find("concatenatoin", SearchKind::operators);
    EXPECT_EQ(none.count, 0);
    EXPECT_EQ(none.searched, 7);
    EXPECT_EQ(none.nearest, "concatenation");
    const SearchAnswer some = index->find("dtype:f32", SearchKind::operators, 2);
    EXPECT_EQ(some.count, 5);
    EXPECT_EQ(some.hits.size(), 2U);
    EXPECT_EQ(hits("/a(/"), "1:1: not a regular expression: /a(/");
    EXPECT_EQ(hits("add shape:x"), "1:5: not a shape: x, expected [1,?,576]");
    EXPECT_EQ(hits("#x"), "1:1: not a number: x");
    EXPECT_EQ(index->find("", SearchKind::operators).count, 0);
}

TEST_F(Search, stops_when_asked)
{
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(SearchIndex::build(model, stop.get_token()), nullptr);
}

} // namespace
} // namespace loopscope::viewer
