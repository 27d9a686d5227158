// Answers to why: on models in which the answer is known.
#include "engine/debug/inspect/element_map.h"
#include "engine/debug/inspect/why_answers.h"
#include "engine/exec/dataflow_executor.h"
#include "tests/unit/debug/inspect_models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace loopscope::testing {
namespace {

using Lines = std::vector<std::string>;

Lines linesOf(const Result<Explanation>& answer)
{
    if (!answer.ok()) return {"error: " + answer.error().message()};
    return answer->lines;
}

ValueAt valueAt(const Inspected& session, int depth, const std::string& id)
{
    const int64_t now = session.target().timeline.tick();
    const GraphId graph = session.target().executor.frame(depth).graph;
    return {now, now, depth, session.model().graph(graph).findValue(id)};
}

TEST(WhyLoop, ProvesThatAnExtremeBoundIsNeverPassed)
{
    Inspected session(kSum, [](Subject& subject) { subject.add<int32_t>(Shape{}, {std::numeric_limits<int32_t>::max()}); });
    EXPECT_OK(session.timeline().goToStep(300'000));
    EXPECT_EQ(linesOf(explainLoop(session.target(), 1)),
              (Lines{"while#0 goes on while i <= n: true at @100000", "  i  grows by 1 each iteration; now 100,000",
                     "  n  never changes: 2,147,483,647, the largest i32",
                     "No i32 is greater than n: the loop cannot end. i wraps after iteration 2,147,483,647.",
                     "also: s wrapped first at @65536 (2147450880 + 65536 -> -2147450880)"}));
}

TEST(WhyLoop, CountsTheIterationsThatAreLeft)
{
    Inspected session(kSum, [](Subject& subject) { subject.add<int32_t>(Shape{}, {1000}); });
    session.goTo("main/while#0@10:body/add#0");
    EXPECT_EQ(linesOf(explainLoop(session.target(), 1)),
              (Lines{"while#0 goes on while i <= n: true at @10", "  i  grows by 1 each iteration; now 10", "  n  never changes: 1,000",
                     "If i goes on like this, the loop ends in 991 iterations, at @1001."}));
    EXPECT_OK(session.timeline().goToEnd());
    EXPECT_EQ(linesOf(explainLoopEnd(session.target(), pathAt(session.executor(), 0), OperatorId(0))),
              (Lines{"while#0 ended after 1,001 iterations: i <= n was false", "  i  1,001", "  n  1,000"}));
}

TEST(WhyLoop, NoticesAStateThatComesAgain)
{
    Inspected session(kRing, [](Subject& subject) {
        for (int i = 0; i < 3; ++i) subject.add<int32_t>(Shape{}, {i});
    });
    session.goTo("main/while#0@9:body/add#0");
    const Lines lines = linesOf(explainLoop(session.target(), 1));
    ASSERT_EQ(lines.size(), 3U);
    EXPECT_EQ(lines[0], "while#0 goes on while k < 10: true at @9");
    EXPECT_EQ(lines[1], "  k  changes between 0 and 2 over the last 10 iterations; now 2");
    EXPECT_EQ(lines[2], "k of iteration 3 = k of iteration 0, and nothing else decides: the loop repeats itself and cannot end.");
}

TEST(WhyLoop, AnswersForFramesOfV1Graphs)
{
    const Model model = textModel(R"(
graph main {
  zero = Const() dtype=i32 value=i32[] 0 : i32
  one = Const() dtype=i32 value=i32[] 1 : i32
  n = Const() dtype=i32 value=i32[] 9 : i32
  w/n = Enter(n) T=i32 frame_name="w" is_constant=true parallel_iterations=10 : i32
  w/one = Enter(one) T=i32 frame_name="w" is_constant=true parallel_iterations=10 : i32
  w/i_0 = Enter(zero) T=i32 frame_name="w" is_constant=false parallel_iterations=10 : i32
  i = Merge(w/i_0, w/i_n) N=2 T=i32 : (i32, i32)
  w/less = Less(i, w/n) T=i32 : bool
  w/cond = LoopCond(w/less) : bool
  w/i_s = Switch(i, w/cond) T=i32 : (i32, i32)
  w/add = AddV2(w/i_s:1, w/one) T=i32 : i32
  w/i_n = NextIteration(w/add) T=i32 : i32
  w/i_x = Exit(w/i_s) T=i32 : i32
  out = Identity(w/i_x) T=i32 : i32
}
)");
    Result<std::unique_ptr<DataflowExecutor>> made = DataflowExecutor::create(model, GraphId(0));
    ASSERT_TRUE(made.ok());
    Timeline timeline(**made);
    TravelControl control;
    const DebugTarget target{model, **made, timeline, control};
    EXPECT_OK(timeline.start());
    while ((*made)->positionAddress() != "main/w@4:frame/w/add" && timeline.forward().ok()) {
    }
    EXPECT_EQ(linesOf(explainFrame(target, 1)), (Lines{"w goes on while i < 9: true at @4", "  i  grows by 1 each iteration; now 4",
                                                       "If i goes on like this, the loop ends in 5 iterations, at @9."}));
    EXPECT_EQ((*made)->positionAddress(), "main/w@4:frame/w/add");
}

TEST(WhyBranch, NamesPredicateAndTheLastOtherWay)
{
    Inspected session(kCountedCollatz, [](Subject& subject) { subject.add<int32_t>(Shape{}, {27}); });
    session.goTo("main/while#0@37:body/if#2");
    EXPECT_EQ(linesOf(explainBranch(session.target(), pathAt(session.executor(), 1), OperatorId(2))),
              (Lines{"if#2 takes else in iteration 37: x % 2 == 0 is false", "  x  593", "It last took then in iteration 36, step 270."}));
    session.goTo("main/while#0@0:body/if#2:else/add#1");
    EXPECT_EQ(linesOf(explainBranch(session.target(), pathAt(session.executor(), 1), OperatorId(2))),
              (Lines{"if#2 took else in iteration 0: x % 2 == 0 is false", "  x  27", "It was never otherwise before."}));
}

TEST(WhyNan, LeadsThroughManyIterationsToTheDivision)
{
    Inspected session(kDivisions, [](Subject& subject) {
        subject.add<int32_t>(Shape{}, {700});
        std::vector<float> table(700, 2);
        table[613] = 0;
        subject.add<float>(Shape{700}, table);
        subject.add<float>(Shape{2}, {1, 3});
    });
    EXPECT_OK(session.timeline().goToEnd());
    EXPECT_EQ(linesOf(explainNan(session.target(), valueAt(session, 0, "shifted"), std::nullopt)),
              (Lines{"shifted[0] <- main/add#1 <- main/while#0:3",
                     "  <- @699:body/mul#3:0  2 of 2 NaN: reads the state, NaN since iteration 613 wrote it",
                     "  <- @613:body/div#2:0, step 3068: no NaN among its inputs: div(0, 0)     origin"}));
}

TEST(WhyNan, EndsInAnInput)
{
    Inspected session(kDivisions, [](Subject& subject) {
        subject.add<int32_t>(Shape{}, {3});
        std::vector<float> table(700, 2);
        table[1] = std::numeric_limits<float>::quiet_NaN();
        subject.add<float>(Shape{700}, table);
        subject.add<float>(Shape{2}, {1, 3});
    });
    EXPECT_OK(session.timeline().goToEnd());
    EXPECT_EQ(
        linesOf(explainNan(session.target(), valueAt(session, 0, "shifted"), 1)),
        (Lines{"shifted[1] <- main/add#1 <- main/while#0:3", "  <- @2:body/mul#3:0  2 of 2 NaN: reads the state written in iteration 1",
               "  <- @1:body/gather#1:0, step 7: copies table[1]     first NaN inside the loop",
               "  <- input table[1]                                  origin"}));
    EXPECT_OK(session.timeline().goToEnd());
    EXPECT_EQ(linesOf(explainNan(session.target(), valueAt(session, 0, "shifted"), std::nullopt)).size(), 4U);
    EXPECT_OK(session.timeline().goTo(3));
    EXPECT_EQ(linesOf(explainNan(session.target(), valueAt(session, 0, "n"), std::nullopt)), Lines{"error: n: holds no NaN"});
}

TEST(WhyNan, EndsInAnEdit)
{
    Inspected session(kDivisions, [](Subject& subject) {
        subject.add<int32_t>(Shape{}, {9});
        subject.add<float>(Shape{700}, std::vector<float>(700, 2));
        subject.add<float>(Shape{2}, {1, 3});
    });
    session.goTo("main/while#0@5:body/mul#3");
    std::vector<float> edited = {1, std::numeric_limits<float>::quiet_NaN()};
    const GraphId body = session.executor().frame(1).graph;
    ASSERT_TRUE(session.timeline().edit(1, session.model().graph(body).findValue("state"), tensorOver(edited, Shape{2})).ok());
    EXPECT_OK(session.timeline().goToEnd());
    const Lines lines = linesOf(explainNan(session.target(), valueAt(session, 0, "shifted"), std::nullopt));
    EXPECT_EQ(lines.front(), "shifted[1] <- main/add#1 <- main/while#0:3");
    EXPECT_EQ(lines.back(), "  <- @4:body/mul#3:0 [1], step 24: was edited afterwards     origin");
}

TEST(WhyElement, FollowsElementsThroughMovement)
{
    Inspected session(R"(
graph main(x: f32[2,3], y: f32[1,3]) {
  turn = const i32[2] [1, 0]
  pads = const i32[2,2] [0, 1, 0, 0]
  joined = concatenation(x, y) axis=0 : f32[3,3]
  turned = transpose(joined, turn) : f32[3,3]
  padded = pad(turned, pads) : f32[4,3]
  doubled = add(padded, padded) : f32[4,3]
  return doubled
}
)",
                      [](Subject& subject) {
                          subject.add<float>(Shape{2, 3}, {1, 2, 3, 4, 5, 6});
                          subject.add<float>(Shape{1, 3}, {7, 8, 9});
                      });
    EXPECT_OK(session.timeline().goToEnd());
    EXPECT_EQ(linesOf(explainElement(session.target(), valueAt(session, 0, "doubled"), 5)), // [1,2]
              (Lines{"doubled[1,2] = 16", "  <- main/add#3:0, step 3: add(padded[1,2] = 8, padded[1,2] = 8)",
                     "  <- main/pad#2:0, step 2: copies turned[1,2]", "  <- main/transpose#1:0, step 1: copies joined[2,1]",
                     "  <- main/concatenation#0:0, step 0: copies y[0,1]", "  <- input y[0,1]"}));
    EXPECT_OK(session.timeline().goToEnd());
    EXPECT_EQ(linesOf(explainElement(session.target(), valueAt(session, 0, "doubled"), 9)),
              (Lines{"doubled[3,0] = 0", "  <- main/add#3:0, step 3: add(padded[3,0] = 0, padded[3,0] = 0)",
                     "  <- main/pad#2:0, step 2: filled in"}));
}

TEST(Why, ReadsTheQuestionAndComesBack)
{
    Inspected session(kDivisions, [](Subject& subject) {
        subject.add<int32_t>(Shape{}, {3});
        std::vector<float> table(700, 2);
        table[1] = 0;
        subject.add<float>(Shape{700}, table);
        subject.add<float>(Shape{2}, {1, 3});
    });
    session.goTo("main/while#0@2:body/mul#3");
    const int64_t tick = session.timeline().tick();
    const auto why = [&](const char* question) { return linesOf(explainWhy(session.target(), {}, question)); };
    EXPECT_EQ(why("nan state").back(), "state[0] <- main/while#0@1:body/div#2:0, step 8: no NaN among its inputs: div(0, 0)     origin");
    EXPECT_EQ(why(""), why("nan"));
    EXPECT_EQ(why("loop")[0], "while#0 goes on while i < n: true at @2");
    EXPECT_EQ(why("loop while#0"), why("loop"));
    EXPECT_EQ(why(" state[1] ")[0], "state[1] = nan");
    EXPECT_EQ(why("state[-1]"), why("state[1]"));
    EXPECT_EQ(why("../shifted"), Lines{"error: ../shifted: not written yet"});
    EXPECT_EQ(why("state[2]"), Lines{"error: index 2 out of range for dimension 0 of size 2"});
    EXPECT_EQ(why("state[x]"), Lines{"error: index 'x' is not a list of integers"});
    EXPECT_EQ(why("state[0,0]"), Lines{"error: [0,0] has a wrong number of indices, found 2, expected 1"});
    EXPECT_EQ(why("branch"), Lines{"error: no branch is next or around here; say which: why branch ADDRESS"});
    EXPECT_EQ(why("branch mul#3"), Lines{"error: mul#3: is no branch"});
    EXPECT_EQ(why("loop mul#3"), Lines{"error: mul#3: is no loop"});
    EXPECT_EQ(why("nan n"), Lines{"error: n: holds no NaN"});
    EXPECT_EQ(session.timeline().tick(), tick);
    EXPECT_EQ(session.executor().positionAddress(), "main/while#0@2:body/mul#3");
}

TEST(ElementMap, BroadcastsElementwiseOperands)
{
    Operator op;
    op.kind = {"tfl", "mul"};
    std::vector<float> a(6), b(3);
    const Tensor left = tensorOver(a, Shape{2, 3}), right = tensorOver(b, Shape{3});
    const std::vector<const Tensor*> operands = {&left, &right};
    const std::vector<ElementSource> sources = elementSources(op, operands, Shape{2, 3}, 0, 4);
    EXPECT_EQ(sources[0].index, 4);
    EXPECT_EQ(sources[1].index, 1);
    op.kind = {"tfl", "softmax"};
    EXPECT_EQ(elementSources(op, operands, Shape{2, 3}, 0, 4)[0].use, ElementUse::all);
}

} // namespace
} // namespace loopscope::testing
