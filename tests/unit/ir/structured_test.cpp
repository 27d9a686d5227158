// The structured view against its description: loops, branches, calls, shared and recursive graphs, the column of types.
#include "engine/ir/text/parser.h"
#include "engine/ir/text/structured.h"

#include <gmock/gmock.h>

namespace loopscope {
namespace {

using testing::HasSubstr;
using testing::Not;

Model parsed(const std::string& text)
{
    auto model = parseModel(text, "test");
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message());
    return model.ok() ? std::move(model).value() : Model();
}

std::string viewOf(const std::string& text, const StructuredOptions& options = {})
{
    return structuredText(structuredView(parsed(text), options));
}

constexpr const char* kNestedLoop = R"(graph main(t0: i32[], t1: i32[]) {
  zero = const i32[] 0

  t2, t3, t4 = while(zero, t0, t1) body=@body_o cond=@cond_o : (i32[], i32[], i32[])
  return t2, t3, t4
}
graph cond_o(t0: i32[], t1: i32[], t2: i32[]) {
  t3 = less(t0, t1) : bool[]
  return t3
}
graph body_o(t0: i32[], t1: i32[], t2: i32[]) {
  zero = const i32[] 0
  one  = const i32[] 1

  t3, t4, t5 = while(zero, t0, t2) body=@body_i cond=@cond_i : (i32[], i32[], i32[])
  t8 = add(t0, one) : i32[]
  return t8, t1, t5
}
graph cond_i(t0: i32[], t1: i32[], t2: i32[]) {
  t3 = less(t0, t1) : bool[]
  return t3
}
graph body_i(t0: i32[], t1: i32[], t2: i32[]) {
  one = const i32[] 1

  t4 = add(t0, one) : i32[]
  t5 = mul(t0, t1) : i32[]
  t6 = add(t2, t5) : i32[]
  return t4, t1, t6
}
)";

TEST(Structured, NestedLoop)
{
    EXPECT_EQ(viewOf(kNestedLoop), R"(main(t0: i32[], t1: i32[])
   0 while
       t0 = 0   i32[]  -> t2
       t1 = t0  i32[]  -> t3  (invariant)
       t2 = t1  i32[]  -> t4
     cond cond_o:
   0   t3 = less(t0, t1)                                    bool[]
       test t3
     body body_o:
   0   while
         t0 = 0   i32[]  -> t3
         t1 = t0  i32[]  -> t4  (invariant)
         t2 = t2  i32[]  -> t5
       cond cond_i:
   0     t3 = less(t0, t1)                                  bool[]
         test t3
       body body_i:
   0     t4 = add(t0, 1)                                    i32[]
   1     t5 = mul(t0, t1)                                   i32[]
   2     t6 = add(t2, t5)                                   i32[]
         next t0 = t4, t2 = t6
   1   t8 = add(t0, 1)                                      i32[]
       next t0 = t8, t2 = t5
     return t2, t3, t4
)");
}

TEST(Structured, LinesKnowTheirPlace)
{
    const std::vector<StructuredLine> lines = structuredView(parsed(kNestedLoop));
    EXPECT_EQ(lines[0].address, "main");
    EXPECT_EQ(lines[1].address, "main/while#0");
    EXPECT_EQ(lines[1].op.index, 0);
    EXPECT_EQ(lines[2].address, "main/while#0:body/t0");
    EXPECT_FALSE(lines[2].op.valid());
    EXPECT_EQ(lines[18].address, "main/while#0:body/while#0:body/mul#1") << lines[18].text;
    EXPECT_EQ(lines[17].depth, 2);
    EXPECT_EQ(lines[17].graph.index, 4);
    EXPECT_EQ(lines[20].address, "main/while#0:body/while#0:body") << lines[20].text;
}

TEST(Structured, BranchesCallsAndLiterals)
{
    EXPECT_EQ(viewOf(R"(graph main(p: bool[], i: i32[], x: f32[4]) {
  zeros = const f32[4] splat 0.0
  big   = const f32[5] splat 0.0
  two   = const i32[2] [1, 2]

  call_once() init=@setup
  y = if(p, x) else=@no then=@yes : f32[4]
  z = stablehlo_case(i, y) branch0=@yes branch1=@no : f32[4]
  a = add(z, zeros) act=RELU : f32[4]
  c = conv_2d(a, big, _) dilation_h_factor=1 padding=SAME stride_h=1 stride_w=2 @version=3 : f32[4]
  r = reshape(c, two) : f32[1,2]
  p1, p2, p3, p4 = unpack(r) : (f32[], f32[], f32[], f32[])
  s = stablehlo_reduce(r, x) region=@plus : f32[]
  return s, two
}
graph setup {
  h = var_handle() : resource[]
  assign_variable(h, h)
}
graph yes(v: f32[4]) {
  w = neg(v) : f32[4]
  return w
}
graph no(arg0: f32[4]) {
  return arg0
}
graph plus(l: f32[], r: f32[]) {
  s = add(l, r) : f32[]
  return s
}
graph alone(x: f32[]) {
  y = call(x) call=@self : f32[]
}
graph self(x: f32[]) {
  y = call(x) call=@self : f32[]
  return y
}
)"),
              R"(main(p: bool[], i: i32[], x: f32[4])
   0 call_once()
     init setup:
   0   h = var_handle()                                     resource[]
   1   assign_variable(h, h)
   1 y = if(p, x)                                           f32[4]
     then yes(v = x):
   0   w = neg(v)                                           f32[4]
       yield w
     else no(arg0 = x): yield arg0
   2 z = stablehlo_case(i, y)                               f32[4]
     branch0 yes(v = y): as above (line 7)
     branch1 no(arg0 = y): as above (line 10)
   3 a = add(z, [0.0 x4]) act=RELU                          f32[4]
   4 c = conv_2d(a, big, _) padding=SAME stride_w=2         f32[4]
   5 r = reshape(c, [1, 2])                                 f32[1,2]
   6 p1, p2, p3, p4 = unpack(r)                             f32[] (+3)
   7 s = stablehlo_reduce(r, x)                             f32[]
     region plus(l, r):
   0   s = add(l, r)                                        f32[]
       yield s
     return s, [1, 2]

; not called
alone(x: f32[])
   0 y = call(x)                                            f32[]
     call self(x = x):
   0   y = call(x)                                          f32[]
       call self(x = x): recursive
       yield y
)");
}

TEST(Structured, CondFormalsThatDifferAreNamed)
{
    const std::string text = viewOf("graph main(n: i32[]) {\n  m = while(n) body=@b cond=@c : i32[]\n  return m\n}\n"
                                    "graph c(less_n: i32[]) {\n  g = less(less_n, less_n) : bool[]\n  return g\n}\n"
                                    "graph b(n_0: i32[]) {\n  return n_0\n}\n");
    EXPECT_THAT(text, HasSubstr("     cond c(less_n = n_0):\n"));
    EXPECT_THAT(text, HasSubstr("     body b:\n       next\n"));
}

TEST(Structured, TypesStandAfterTheLongestLine)
{
    const std::string id(70, 'a');
    const std::string text = viewOf("graph main(x: f32[]) {\n  " + id + " = neg(x) : f32[]\n  y = neg(x) : f32[]\n  " +
                                    std::string(100, 'b') + " = neg(x) : f32[]\n}\n");
    EXPECT_THAT(text, HasSubstr("   0 " + id + " = neg(x)  f32[]\n"));
    EXPECT_THAT(text, HasSubstr("   1 y = neg(x)" + std::string(71, ' ') + "f32[]\n"));
    EXPECT_THAT(text, HasSubstr(std::string(100, 'b') + " = neg(x)  f32[]\n"));
}

TEST(Structured, FullShowsWhatIsHidden)
{
    const std::string text =
        "graph main(x: i8[4] q(0.5, 0)) {\n  one = const i8[] 1\n  y = add(x, one) @version=2 stride_h=1 : i8[4] q(0.5, 0)\n}\n";
    EXPECT_THAT(viewOf(text), HasSubstr("y = add(x, 1)   "));
    StructuredOptions options;
    options.full = true;
    EXPECT_THAT(viewOf(text, options), HasSubstr("y = add(x, one) @version=2 stride_h=1"));
    EXPECT_THAT(viewOf(text, options), HasSubstr("i8[4] q(0.5, 0)\n"));
}

TEST(Structured, NotesAndSingleGraphs)
{
    StructuredOptions options;
    options.root = GraphId(4);
    options.note = [](const StructuredLine& line) { return line.op.index == 1 ? std::string("; = 3") : std::string(); };
    const std::string text = viewOf(kNestedLoop, options);
    EXPECT_THAT(text, HasSubstr("body_i(t0: i32[], t1: i32[], t2: i32[])\n   0 t4 = add(t0, 1)"));
    EXPECT_THAT(text, HasSubstr("i32[]  ; = 3\n"));
    EXPECT_THAT(text, Not(HasSubstr("cond_o")));
}

TEST(Structured, DeepChainsOfCallsAreCut)
{
    std::string text;
    for (int i = 0; i < 3000; ++i)
        text +=
            "graph g" + std::to_string(i) + " {\n" + (i + 1 < 3000 ? "  call_once() init=@g" + std::to_string(i + 1) + "\n" : "") + "}\n";
    const std::vector<StructuredLine> lines = structuredView(parsed(text));
    EXPECT_GT(lines.size(), 6000U);
    EXPECT_THAT(structuredText(lines), HasSubstr("init g101: listed below\n"));
    EXPECT_THAT(structuredText(lines), Not(HasSubstr("not called")));
}

} // namespace
} // namespace loopscope
