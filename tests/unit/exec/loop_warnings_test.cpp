// Which loops and branches are reported as coming out differently in LiteRT.
#include "converters/lsir/lsir.h"
#include "engine/ops/control_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loopscope {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> warningsOf(const std::string& text)
{
    const Result<Model> model = modelFromText(text, "test");
    EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message());
    std::vector<std::string> warnings;
    if (model.ok())
        for (const ModelWarning& warning : loopWarnings(*model)) warnings.push_back(warning.address + ": " + warning.text);
    return warnings;
}

/// A loop over three scalars whose body returns `values`.
std::string loopReturning(const std::string& values)
{
    return R"(
graph main(a: i32[], b: i32[], c: i32[]) {
  x, y, z = while(a, b, c) cond=@go body=@body : (i32[], i32[], i32[])
  return x, y, z
}
graph go(a: i32[], b: i32[], c: i32[]) {
  t = less(a, b) : bool[]
  return t
}
graph body(a: i32[], b: i32[], c: i32[]) {
  s = add(a, b) : i32[]
  return )" +
           values + "\n}\n";
}

constexpr const char* kSwaps = "main/while#0: body swaps its inputs; LiteRT 2.3 computes a different answer here";
constexpr const char* kLater = "main/while#0: body returns an input at a later position; LiteRT 2.3 computes a different answer here";

TEST(LoopWarnings, inputsReturnedAtALaterPosition)
{
    EXPECT_THAT(warningsOf(loopReturning("b, a, c")), ElementsAre(kSwaps));
    EXPECT_THAT(warningsOf(loopReturning("s, a, c")), ElementsAre(kLater));
    EXPECT_THAT(warningsOf(loopReturning("c, a, b")), ElementsAre(kLater));
    EXPECT_THAT(warningsOf(loopReturning("b, c, a")), ElementsAre(kLater));
}

TEST(LoopWarnings, bodiesThatLiteRtGetsRight)
{
    for (const char* values : {"a, b, c", "s, b, c", "b, s, c", "a, a, c", "b, b, c", "s, s, s"})
        EXPECT_THAT(warningsOf(loopReturning(values)), IsEmpty()) << values;
}

TEST(LoopWarnings, stringsEmptyStartsAndSharedConditions)
{
    EXPECT_THAT(warningsOf(R"(
graph main(n: i32[], s: str[1], list: i32[0]) {
  n2, s2, longer = while(n, s, list) cond=@go body=@outer : (i32[], str[1], i32[?])
  return s2, longer
}
graph go(n: i32[], s: str[1], list: i32[?]) {
  zero = const i32[] 0
  t = less(n, zero) : bool[]
  return t
}
graph outer(n: i32[], s: str[1], list: i32[?]) {
  n2, s2, longer = while(n, s, list) cond=@go body=@inner : (i32[], str[1], i32[?])
  return n2, s2, longer
}
graph inner(n: i32[], s: str[1], list: i32[?]) {
  longer = concatenation(list, list) axis=0 : i32[?]
  return n, s, longer
}
)"),
                ElementsAre("main/while#0: value 2 grows from an empty tensor; LiteRT 2.3 fails here",
                            "main/while#0: cond 'go' also serves a loop around or inside this one; LiteRT 2.3 fails here",
                            "main/while#0:body/while#0: string value 1 is passed on unchanged; LiteRT 2.3 loses it",
                            "main/while#0:body/while#0: cond 'go' also serves a loop around or inside this one; LiteRT 2.3 fails here"));
}

TEST(LoopWarnings, oneGraphAsBranchAndBody)
{
    EXPECT_THAT(warningsOf(R"(
graph main(p: bool[], n: i32[]) {
  a = if(p, n) then=@step else=@same : i32[]
  b = while(a) cond=@go body=@step : i32[]
  return b
}
graph step(n: i32[]) {
  m = add(n, n) : i32[]
  return m
}
graph same(n: i32[]) {
  return n
}
graph go(n: i32[]) {
  limit = const i32[] 100
  t = less(n, limit) : bool[]
  return t
}
)"),
                ElementsAre("main/if#0: then 'step' is also the body of a loop; LiteRT 2.3 computes a different answer here"));
}

} // namespace
} // namespace loopscope
