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

/// A loop with a branch inside, as TensorFlow 1 writes it, and as raising leaves it.
constexpr const char* kV1 = R"(model tf
graph main {
  n = Placeholder() dtype=i32 shape=shape[] : i32[]
  x/Enter = Enter(n) T=i32 frame_name="w/ctx" is_constant=false parallel_iterations=10 : i32
  x = Merge(x/Enter, x/Next) N=2 T=i32 : (i32, i32[])
  more = Less(x, x) T=i32 : bool
  w/LoopCond = LoopCond(more) : bool
  x/Switch = Switch(x, w/LoopCond) T=i32 : (i32, i32)
  out = Exit(x/Switch) T=i32 : i32
  odd = Less(x/Switch:1, x/Switch:1) T=i32 : bool
  branch = Switch(x/Switch:1, odd) T=i32 : (i32, i32)
  up = Neg(branch:1) T=i32 : i32
  y = Merge(branch, up) N=2 T=i32 : (i32, i32[])
  x/Next = NextIteration(y) T=i32 : i32
}
)";
constexpr const char* kRaised = R"(model tf
graph main {
  n = Placeholder() dtype=i32 shape=shape[] : i32[]
  w = While(n) T=[i32] _origin=["out"] body=@w_body cond=@w_cond output_shapes=[] parallel_iterations=10 : i32
}
graph w_cond(x: i32 {_origin="x"}) _origin_frames=["w/ctx"] _origin_graph="main" {
  more = Less(x, x) T=i32 : bool
  return output_0=more
}
graph w_body(x: i32 {_origin="x/Switch:1"}) _origin_frames=["w/ctx"] _origin_graph="main" {
  odd = Less(x, x) T=i32 : bool
  y/If = If(odd, x) Tcond=bool Tin=[i32] Tout=[i32] _origin=["y"] else_branch=@same output_shapes=[] then_branch=@up : i32
  return output_0=y/If
}
graph up(x: i32 {_origin="branch:1"}) _origin_frames=["w/ctx"] _origin_graph="main" {
  up = Neg(x) T=i32 : i32
  return output_0=up
}
graph same(x: i32 {_origin="branch"}) _origin_frames=["w/ctx"] _origin_graph="main" {
  return output_0=x
}
)";

std::string resolvedIn(const char* text, std::string_view place)
{
    const auto parsed = parseModel(text, "test");
    EXPECT_TRUE(parsed.ok()) << parsed.error().message();
    const auto address = parseAddress(place);
    EXPECT_TRUE(address.ok()) << place;
    const auto found = resolveAddress(*parsed, *address);
    return found.ok() ? toString(found->address) : found.error().message();
}

TEST(AddressResolution, PlacesOfAV1GraphHoldInWhatWasRaisedFromIt)
{
    EXPECT_EQ(resolvedIn(kRaised, "main/w%2Fctx@3:frame/odd"), "main/w@3:body/odd");
    EXPECT_EQ(resolvedIn(kRaised, "main/w/ctx@3:frame/odd:0"), "main/w@3:body/odd:0");
    EXPECT_EQ(resolvedIn(kRaised, "main/w/ctx@3:frame/more"), "main/w@3:cond/more") << "the condition's side";
    EXPECT_EQ(resolvedIn(kRaised, "main/w/ctx@3:frame/up"), "main/w@3:body/y/If:then/up") << "into the branch that it needs";
    EXPECT_EQ(resolvedIn(kRaised, "main/w/ctx@3:frame/y"), "main/w@3:body/y/If") << "a Merge is the If";
    EXPECT_EQ(resolvedIn(kRaised, "main/w/ctx@3:frame/x"), "main/w@3:cond/x") << "a loop's Merge is the input";
    EXPECT_EQ(resolvedIn(kRaised, "main/w/ctx@3:frame"), "main/w@3:body");
    EXPECT_EQ(resolvedIn(kRaised, "main/out"), "main/w") << "an Exit is the While";
    EXPECT_EQ(resolvedIn(kRaised, "main/w/ctx@3:frame/out"), "main/w") << "from inside, too";
    EXPECT_EQ(resolvedIn(kRaised, "main/odd"), "main/w:body/odd") << "a name alone, in whatever iteration";
    EXPECT_EQ(resolvedIn(kRaised, "main/w/ctx@3:frame/nobody"), "main/w/ctx@3:frame/nobody: no frame 'w/ctx' in main")
        << "what there is on no side is an error of this side";
}

TEST(AddressResolution, PlacesOfARaisedGraphHoldInTheV1Graph)
{
    EXPECT_EQ(resolvedIn(kV1, "main/w@3:body/odd"), "main/w/ctx@3:frame/odd");
    EXPECT_EQ(resolvedIn(kV1, "main/w@3:cond/more"), "main/w/ctx@3:frame/more");
    EXPECT_EQ(resolvedIn(kV1, "main/w@3:body/y/If:then/up"), "main/w/ctx@3:frame/up");
    EXPECT_EQ(resolvedIn(kV1, "main/w@3:body/y/If"), "main/w/ctx@3:frame/y");
    EXPECT_EQ(resolvedIn(kV1, "main/w@3:body"), "main/w/ctx@3:frame");
    EXPECT_EQ(resolvedIn(kV1, "main/v@3:body").substr(0, 34), "main/v@3:body: no operator 'v' in ") << "no such loop";
}

/// A loop in a frame in which nothing goes round, and what raising leaves of both.
constexpr const char* kV1Once = R"(model tf
graph main {
  n = Placeholder() dtype=i32 shape=shape[] : i32[]
  a = Enter(n) T=i32 frame_name="once" is_constant=false parallel_iterations=10 : i32
  b = Neg(a) T=i32 : i32
  x/Enter = Enter(b) T=i32 frame_name="w" is_constant=false parallel_iterations=10 : i32
  x = Merge(x/Enter, x/Next) N=2 T=i32 : (i32, i32[])
  more = Less(x, x) T=i32 : bool
  w/LoopCond = LoopCond(more) : bool
  x/Switch = Switch(x, w/LoopCond) T=i32 : (i32, i32)
  up = Neg(x/Switch:1) T=i32 : i32
  x/Next = NextIteration(up) T=i32 : i32
  inner = Exit(x/Switch) T=i32 : i32
  out = Exit(inner) T=i32 : i32
}
)";
constexpr const char* kRaisedOnce = R"(model tf
graph main {
  n = Placeholder() dtype=i32 shape=shape[] : i32[]
  a = Identity(n) T=i32 _origin_opened="once" : i32
  b = Neg(a) T=i32 : i32
  w = While(b) T=[i32] _origin=["inner"] body=@w_body cond=@w_cond output_shapes=[] parallel_iterations=10 : i32
  out = Identity(w) T=i32 : i32
}
graph w_cond(x: i32 {_origin="x"}) _origin_frames=["w"] _origin_graph="main" {
  more = Less(x, x) T=i32 : bool
  return output_0=more
}
graph w_body(x: i32 {_origin="x/Switch:1"}) _origin_frames=["w"] _origin_graph="main" {
  up = Neg(x) T=i32 : i32
  return output_0=up
}
)";

TEST(AddressResolution, FramesNeedNotBeNamed)
{
    EXPECT_EQ(resolvedIn(kV1, "main/odd"), "main/w/ctx:frame/odd:0");
    EXPECT_EQ(resolvedIn(kV1, "main/out"), "main/w/ctx:frame/out:0") << "an Exit runs in the frame that it leaves";
    EXPECT_EQ(resolvedIn(kV1, "main/x/Enter"), "main/x/Enter:0") << "an Enter outside";
    EXPECT_EQ(resolvedIn(kV1Once, "main/b"), "main/once:frame/b:0");
    EXPECT_EQ(resolvedIn(kV1Once, "main/up:0"), "main/once:frame/w:frame/up:0");
    EXPECT_EQ(resolvedIn(kV1Once, "main/w@3:frame/up"), "main/once:frame/w@3:frame/up:0");
    EXPECT_EQ(resolvedIn(kV1Once, "main/inner"), "main/once:frame/w:frame/inner:0");
    EXPECT_EQ(resolvedIn(kV1Once, "main/out"), "main/once:frame/out:0");
    EXPECT_EQ(resolvedIn(kV1Once, "main/w@3:frame/b"), "main/w@3:frame/b:0") << "it does not lie there";
}

TEST(AddressResolution, FramesInWhichNothingGoesRoundMapBothWays)
{
    EXPECT_EQ(resolvedIn(kRaisedOnce, "main/once@0:frame/b"), "main/b");
    EXPECT_EQ(resolvedIn(kRaisedOnce, "main/once:frame/b:0"), "main/b:0");
    EXPECT_EQ(resolvedIn(kRaisedOnce, "main/once@0:frame/w@3:frame/up"), "main/w@3:body/up");
    EXPECT_EQ(resolvedIn(kRaisedOnce, "main/once@2:frame/b"), "main/once@2:frame/b: no frame 'once' in main") << "it has one iteration";
    EXPECT_EQ(resolvedIn(kV1Once, "main/w@3:body/up"), "main/once@0:frame/w@3:frame/up");
    EXPECT_EQ(resolvedIn(kV1Once, "main/w@3:body"), "main/once@0:frame/w@3:frame");
    EXPECT_EQ(resolvedIn(kV1Once, "main/w"), "main/once@0:frame/w@0:frame") << "where a While begins";
}

} // namespace
} // namespace loopscope
