// Addresses against a model: what is found, how it is spelled canonically, and what is said where nothing is.
#include "engine/ir/text/parser.h"
#include "engine/observe/address_resolution.h"

#include <gmock/gmock.h>

namespace loopscope {
namespace {

using testing::ElementsAre;

Model model()
{
    auto parsed = parseModel(R"(signature "serve" @main("n"=n) -> ("r"=r)

graph main(n: i32[]) {
  zero = const i32[] 0

  i, r = while(zero, n) body=@step cond=@more : (i32[], i32[])
  z = custom.Mine(r, n) : i32[]
  return r
}

graph more(i: i32[], n: i32[]) {
  go = less(i, n) : bool[]
  return go
}

graph step(i: i32[], n: i32[]) {
  j = add(i, n) : i32[]
  k = if(j, j) else=@same then=@same : i32[]
  return j, n
}

graph same(v: i32[]) {
  j = neg(v) : i32[]
  return v
}
)",
                             "test");
    EXPECT_TRUE(parsed.ok());
    return std::move(parsed).value();
}

/// The canonical spelling, or the error.
std::string resolved(std::string_view text)
{
    const auto address = parseAddress(text);
    EXPECT_TRUE(address.ok()) << text;
    const auto place = resolveAddress(model(), *address);
    return place.ok() ? toString(place->address) : place.error().message();
}

TEST(AddressResolution, FindsPlaces)
{
    EXPECT_EQ(resolved("main"), "main");
    EXPECT_EQ(resolved("main/n"), "main/n");
    EXPECT_EQ(resolved("main/zero"), "main/zero");
    EXPECT_EQ(resolved("main/r"), "main/while#0:1") << "ids of results become outputs";
    EXPECT_EQ(resolved("main/while#0@5:body/j"), "main/while#0@5:body/add#0:0");
    EXPECT_EQ(resolved("main/while#0@5/if#1:else/j"), "main/while#0@5:body/if#1:else/neg#0:0");
    EXPECT_EQ(resolved("main/#1"), "main/custom#1");
    EXPECT_EQ(resolved("main/z"), "main/custom#1:0");
    EXPECT_EQ(resolved("sig:serve/while#0:cond/less#0:in1"), "main/while#0:cond/less#0:in1");
    const auto place = resolveAddress(model(), *parseAddress("main/while#0@5:body/add#0:in1"));
    ASSERT_TRUE(place.ok());
    EXPECT_EQ(place->graph.index, 2);
    EXPECT_EQ(place->op.index, 0);
    EXPECT_EQ(place->value.index, 1);
}

TEST(AddressResolution, SaysWhatIsNotThere)
{
    EXPECT_EQ(resolved("mian"), "mian: no graph 'mian'; did you mean 'main'?");
    EXPECT_EQ(resolved("sig:serv"), "sig:serv: no signature 'serv'; did you mean 'serve'?");
    EXPECT_EQ(resolved("main/while#0@3:body/ad#1"), "main/while#0@3:body/ad#1: no operator 'ad#1' in step; operator 1 is if#1");
    EXPECT_EQ(resolved("main/while#0@3:body/add#9"), "main/while#0@3:body/add#9: no operator 'add#9' in step, which has 2 operators");
    EXPECT_EQ(resolved("main/while#0:then/j"), "main/while#0:then/j: while#0 has no then, expected cond, body");
    EXPECT_EQ(resolved("main/while#0:cond/less#0:call"), "main/while#0:cond/less#0:call: less#0 has no call; it calls nothing");
    EXPECT_EQ(resolved("main/zerro"), "main/zerro: no value 'zerro' in main; did you mean 'zero'?");
    EXPECT_EQ(resolved("main/while#0:2"), "main/while#0:2: while#0 has 2 outputs, found number 2");
    EXPECT_EQ(resolved("main/while#0:in7"), "main/while#0:in7: while#0 has 2 inputs, found number 7");
    EXPECT_EQ(resolved("main/Mine#1"), "main/Mine#1: no operator 'Mine#1' in main; operator 1 is custom#1");
}

TEST(AddressResolution, TensorFlowNodesHaveNames)
{
    const auto parsed = parseModel("graph main(x: f32) {\n  while = While(x) body=@b cond=@b : f32\n  a/b = AddV2(x, while) : (f32, f32)\n"
                                   "  case = Case(x, x) branches=[@b, @b] : f32\n  in = Enter(x) frame_name=\"ctx\" : f32\n}\ngraph b(x: "
                                   "f32) {\n  y = Neg(x) : f32\n  return y=y\n}\n",
                                   "test");
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    const auto spelled = [&](std::string_view text) {
        const auto place = resolveAddress(*parsed, *parseAddress(text));
        return place.ok() ? toString(place->address) : place.error().message();
    };
    EXPECT_EQ(spelled("main/while@3:body/y"), "main/while@3:body/y:0");
    EXPECT_EQ(spelled("main/#1"), "main/a/b");
    EXPECT_EQ(spelled("main/a/b:1"), "main/a/b:1");
    EXPECT_EQ(spelled("main/case:branch1/y"), "main/case:branch1/y:0");
    EXPECT_EQ(spelled("main/a/c"), "main/a/c: no value 'a/c' in main; did you mean 'a/b'?");
    EXPECT_EQ(spelled("main/ctx@2:frame/a/b:0"), "main/ctx@2:frame/a/b:0");
    EXPECT_EQ(spelled("main/ctc@2:frame/a/b"), "main/ctc@2:frame/a/b: no frame 'ctc' in main; did you mean 'ctx'?");
}

TEST(AddressResolution, PatternsFollowIds)
{
    const auto patterns = [](std::string_view text) {
        const auto resolved = resolvePattern(model(), text);
        std::vector<std::string> texts;
        if (!resolved.ok()) return std::vector<std::string>{resolved.error().message()};
        for (const AddressPattern& pattern : *resolved) texts.push_back(toString(pattern.pattern()));
        return texts;
    };
    EXPECT_THAT(patterns("main/while#0@1..3/j"), ElementsAre("main/while#0@1..3:body/add#0:0"));
    EXPECT_THAT(patterns("main/while#0@all/*"), ElementsAre("main/while#0@all:body/*"));
    EXPECT_THAT(patterns(".../j"), ElementsAre(".../j", ".../add#0:0", ".../neg#0:0"));
    EXPECT_THAT(patterns("main/.../add#*"), ElementsAre("main/.../add#*"));
    EXPECT_THAT(patterns("main/while#1@all/*"),
                ElementsAre("main/while#1@all:body: no operator 'while#1' in main; operator 1 is custom#1"));
    EXPECT_THAT(patterns("main/nosuch"), ElementsAre("main/nosuch: no value 'nosuch' in main"));
    EXPECT_THAT(patterns("main/x y"), ElementsAre("main/x y: column 7: found ' ', expected '@', ':' or the end"));
}

} // namespace
} // namespace loopscope
