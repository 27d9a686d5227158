// Each request of run control on small models, forward and backward, with the stops worked out by hand.
#include "engine/debug/inspect/run_survey.h"
#include "tests/unit/debug/debugger_fixture.h"

namespace loopscope::testing {
namespace {

// 27 takes 111 iterations; x is 82 in iteration 1. An iteration has 7 steps where x is odd and 6 where it is even.
class Collatz : public ::testing::Test {
public:
    Subject subject = collatz(27);
    DebuggerFixture debugger = DebuggerFixture(subject);
    RunControl& control = debugger.control;

    void breakAt(std::string_view spec)
    {
        const Result<int> number = debugger.breakpoints.add(BreakpointCommand::breakpoint, spec, {});
        EXPECT_TRUE(number.ok()) << spec;
    }
};

TEST_F(Collatz, nothing_goes_before_a_start)
{
    EXPECT_EQ(text(control.step(Direction::forward)), "error: no run was started");
    EXPECT_EQ(text(control.goToStart()), "error: no run was started");
}

TEST_F(Collatz, steps_into_calls_and_back)
{
    EXPECT_EQ(text(control.start()), "main/while#0, step 0: step done");
    EXPECT_EQ(text(control.step(Direction::forward)), "main/while#0@0:cond/not_equal#0, step 0: step done");
    EXPECT_EQ(text(control.step(Direction::forward, 4)), "main/while#0@0:body/if#2:else/mul#0, step 3: step done");
    EXPECT_EQ(text(control.step(Direction::backward)), "main/while#0@0:body/if#2, step 3: step done");
    EXPECT_EQ(text(control.step(Direction::backward, 100)), "main/while#0, step 0: start reached");
    EXPECT_EQ(text(control.step(Direction::backward)), "error: the run is at its start");
}

TEST_F(Collatz, a_single_step_says_what_it_wrote)
{
    ASSERT_TRUE(control.start().ok());
    ASSERT_TRUE(control.step(Direction::forward, 2).ok());
    const Result<StopReport> report = control.step(Direction::forward);
    ASSERT_TRUE(report.ok());
    ASSERT_EQ(report->written.size(), 1U);
    EXPECT_EQ(report->written[0].depth, 1);
    EXPECT_EQ(subject.model->graph(report->position.graph).value(report->written[0].value).id, "mod");
    ASSERT_TRUE(control.step(Direction::forward).ok());
    const Result<StopReport> call = control.next(Direction::forward);
    ASSERT_TRUE(call.ok());
    ASSERT_EQ(call->written.size(), 1U);
    EXPECT_EQ(subject.model->graph(call->position.graph).value(call->written[0].value).id, "y");
    // The end of an iteration is the end of its invocation.
    const Result<StopReport> end = control.step(Direction::forward);
    ASSERT_TRUE(end.ok());
    EXPECT_TRUE(end->written.empty());
}

TEST_F(Collatz, marks_of_the_first_timeline_stay_when_it_is_started_again)
{
    ASSERT_TRUE(control.start().ok());
    ASSERT_TRUE(control.goToStep(100).ok());
    ASSERT_TRUE(control.mark("first").ok());
    std::vector<int32_t> two = {2};
    ASSERT_TRUE(control.goTo(debugger.place("main/while#0@3:cond")).ok());
    ASSERT_TRUE(control.edit(-1, subject.model->graph(GraphId(1)).findValue("x"), tensorOver(two, Shape{})).ok());
    ASSERT_TRUE(control.mark("second").ok());
    ASSERT_TRUE(control.start().ok());
    ASSERT_EQ(control.marks().size(), 1U);
    const Result<StopReport> report = control.goToMark("first");
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->position.step, 100);
    EXPECT_EQ(text(control.back()), "main/while#0, step 0: step done");
    EXPECT_EQ(text(control.back()), "error: no jump to go back from");
}

TEST_F(Collatz, next_goes_over_calls_both_ways)
{
    ASSERT_TRUE(control.start().ok());
    ASSERT_TRUE(control.step(Direction::forward, 4).ok());
    EXPECT_EQ(text(control.next(Direction::forward)), "main/while#0@0:body/add#3, step 6: step done");
    EXPECT_EQ(text(control.next(Direction::forward)), "main/while#0@1:cond/not_equal#0, step 7: step done");
    EXPECT_EQ(text(control.next(Direction::backward, 2)), "main/while#0@0:body/if#2, step 3: step done");
    EXPECT_EQ(text(control.next(Direction::backward, 3)), "main/while#0@0:cond/not_equal#0, step 0: step done");
    EXPECT_EQ(text(control.next(Direction::backward)), "main/while#0, step 0: step done");
    EXPECT_EQ(text(control.next(Direction::forward)), "main, step 709: step done; finished");
    EXPECT_EQ(text(control.next(Direction::backward)), "main/while#0, step 0: step done");
}

TEST_F(Collatz, finish_leaves_the_invocation_and_comes_back_before_its_call)
{
    ASSERT_TRUE(control.start().ok());
    ASSERT_TRUE(control.step(Direction::forward, 5).ok());
    EXPECT_EQ(text(control.finish(Direction::forward)), "main/while#0@0:body/add#3, step 6: returned");
    EXPECT_EQ(text(control.finish(Direction::forward)), "main, step 709: returned; finished");
    EXPECT_EQ(text(control.step(Direction::backward, 9)), "main/while#0@109:body/if#2:then/floor_div#0, step 698: step done");
    EXPECT_EQ(text(control.finish(Direction::backward)), "main/while#0@109:body/if#2, step 698: step done");
    EXPECT_EQ(text(control.finish(Direction::backward)), "main/while#0, step 0: step done");
    EXPECT_EQ(text(control.finish(Direction::forward, 5)), "error: no frame 5, expected 0 to 0");
}

TEST_F(Collatz, until_goes_past_the_loop)
{
    ASSERT_TRUE(control.start().ok());
    ASSERT_TRUE(control.step(Direction::forward, 5).ok());
    EXPECT_EQ(text(control.until()), "main, step 709: returned; finished");
    EXPECT_EQ(text(control.resume(Direction::forward)), "error: the run is at its end");
}

TEST_F(Collatz, breakpoints_stop_before_the_operator_in_both_directions)
{
    breakAt("main/while#0:body/if#2:else/mul#0");
    EXPECT_EQ(text(control.run()), "main/while#0@0:body/if#2:else/mul#0, step 3: breakpoint 1");
    EXPECT_EQ(text(control.resume(Direction::forward)), "main/while#0@2:body/if#2:else/mul#0, step 16: breakpoint 1");
    EXPECT_EQ(text(control.resume(Direction::forward, 2)), "main/while#0@9:body/if#2:else/mul#0, step 61: breakpoint 1");
    EXPECT_EQ(text(control.resume(Direction::backward)), "main/while#0@7:body/if#2:else/mul#0, step 48: breakpoint 1");
    EXPECT_EQ(text(control.resume(Direction::backward, 1)), "main/while#0@2:body/if#2:else/mul#0, step 16: breakpoint 1");
    EXPECT_EQ(text(control.resume(Direction::backward)), "main/while#0@0:body/if#2:else/mul#0, step 3: breakpoint 1");
    EXPECT_EQ(text(control.resume(Direction::backward)), "main/while#0, step 0: start reached");
}

TEST_F(Collatz, a_breakpoint_at_the_first_operator_is_met_at_the_start)
{
    breakAt("main/while#0");
    EXPECT_EQ(text(control.run()), "main/while#0, step 0: breakpoint 1");
    EXPECT_EQ(text(control.resume(Direction::forward)), "main, step 709: finished");
    EXPECT_EQ(text(control.resume(Direction::backward)), "main/while#0, step 0: breakpoint 1; start reached");
}

TEST_F(Collatz, a_step_onto_a_breakpoint_has_both_reasons)
{
    breakAt("main/while#0:body/floor_mod#0");
    ASSERT_TRUE(control.start().ok());
    ASSERT_TRUE(control.step(Direction::forward).ok());
    EXPECT_EQ(text(control.step(Direction::forward)), "main/while#0@0:body/floor_mod#0, step 1: breakpoint 1; step done");
    EXPECT_EQ(text(control.step(Direction::forward)), "main/while#0@0:body/equal#1, step 2: step done");
}

TEST_F(Collatz, next_and_finish_stop_at_breakpoints_inside)
{
    breakAt("main/while#0:body/if#2:else/add#1");
    ASSERT_TRUE(control.start().ok());
    ASSERT_TRUE(control.step(Direction::forward, 4).ok());
    EXPECT_EQ(text(control.next(Direction::forward)), "main/while#0@0:body/if#2:else/add#1, step 4: breakpoint 1");
    EXPECT_EQ(text(control.finish(Direction::forward)), "main/while#0@0:body/add#3, step 6: returned");
    EXPECT_EQ(text(control.next(Direction::backward)), "main/while#0@0:body/if#2:else/add#1, step 4: breakpoint 1");
    EXPECT_EQ(text(control.finish(Direction::backward)), "main/while#0@0:body/if#2, step 3: step done");
}

TEST_F(Collatz, goes_to_addresses_wherever_they_lie)
{
    ASSERT_TRUE(control.start().ok());
    const auto to = [&](const char* address) { return text(control.goTo(debugger.place(address))); };
    EXPECT_EQ(to("main/while#0@37:body/if#2"), "main/while#0@37:body/if#2, step 241: step done");
    EXPECT_EQ(to("main/while#0@36:body/if#2"), "main/while#0@36:body/if#2, step 235: step done");
    EXPECT_EQ(to("main/while#0@0:cond"), "main/while#0@0:cond/not_equal#0, step 0: step done");
    EXPECT_EQ(to("main/while#0@111:cond"), "main/while#0@111:cond/not_equal#0, step 707: step done");
    EXPECT_EQ(to("main"), "main/while#0, step 0: step done");
    EXPECT_EQ(to("main/while#0@37:body/y"), "main/while#0@37:body/if#2, step 241: step done");
    // What is not there leaves everything as it was.
    EXPECT_EQ(to("main/while#0@111"), "error: main/while#0@111: the loop ran 111 iterations (0 to 110)");
    EXPECT_EQ(to("main/while#0@112:cond"), "error: main/while#0@112:cond: the loop ran 111 iterations (0 to 110)");
    EXPECT_EQ(to("main/while#0@37:body/if#2:then/floor_div#0"), "error: main/while#0@37:body/if#2:then: this branch was not taken");
    EXPECT_EQ(text(control.here()), "main/while#0@37:body/if#2, step 241:");
    EXPECT_EQ(text(control.back()), "main/while#0, step 0: step done");
    EXPECT_EQ(text(control.back()), "main/while#0@111:cond/not_equal#0, step 707: step done");
    EXPECT_EQ(text(control.forward()), "main/while#0, step 0: step done");
}

TEST_F(Collatz, knows_where_places_lie_without_going_there)
{
    ASSERT_TRUE(control.start().ok());
    const Result<std::optional<Tick>> tick = control.tickOf(debugger.place("main/while#0@37:body/if#2"));
    ASSERT_TRUE(tick.ok());
    EXPECT_EQ(*tick, 242);
    const Result<std::optional<Tick>> none = control.tickOf(debugger.place("main/while#0@500:body/if#2"));
    ASSERT_TRUE(none.ok());
    EXPECT_EQ(*none, std::nullopt);
    EXPECT_EQ(debugger.timeline.tick(), 0);
}

TEST_F(Collatz, learns_how_often_loops_run_on_the_way_to_the_end)
{
    ASSERT_TRUE(control.start().ok());
    EXPECT_TRUE(control.loopRuns().empty());
    EXPECT_EQ(text(control.goToEnd()), "main, step 709: step done; finished");
    ASSERT_EQ(control.loopRuns().size(), 1U);
    EXPECT_EQ(control.loopRuns().front().address, "main/while#0");
    EXPECT_EQ(control.loopRuns().front().trips, 111);
    ASSERT_TRUE(control.goTo(debugger.place("main/while#0@37:body/if#2")).ok());
    EXPECT_EQ(control.knownTrips(1), 111);
}

TEST_F(Collatz, goes_to_other_iterations_at_the_same_operator)
{
    ASSERT_TRUE(control.start().ok());
    EXPECT_EQ(text(control.iterate(3, {})), "error: main: there is no loop around this stop");
    ASSERT_TRUE(control.goTo(debugger.place("main/while#0@37:body/if#2:else/mul#0")).ok());
    EXPECT_EQ(control.knownTrips(1), std::nullopt);
    EXPECT_EQ(text(control.iterateBy(-1, {1})), "main/while#0@36:body/if#2, step 235: step done");
    EXPECT_EQ(text(control.iterateLast({})), "main/while#0@110:body/if#2, step 704: step done");
    EXPECT_EQ(control.knownTrips(1), 111);
    EXPECT_EQ(text(control.iterate(0, {})), "main/while#0@0:body/if#2, step 3: step done");
    ASSERT_TRUE(control.step(Direction::forward).ok());
    // Iteration 1 takes the other branch.
    EXPECT_EQ(text(control.iterate(1, {})), "main/while#0@1:cond/not_equal#0, step 7: step done");
    EXPECT_EQ(text(control.iterate(300, {})), "error: main/while#0@300:cond: the loop ran 111 iterations (0 to 110)");
    EXPECT_EQ(text(control.iterateBy(-2, {})), "error: no iteration -1, expected 0 or more");
}

TEST_F(Collatz, advances_to_short_forms_in_any_iteration)
{
    ASSERT_TRUE(control.start().ok());
    ASSERT_TRUE(control.goTo(debugger.place("main/while#0@37:cond")).ok());
    EXPECT_EQ(text(control.advance("if#2", {})), "main/while#0@37:body/if#2, step 241: step done");
    EXPECT_EQ(text(control.advance("if#2", {})), "main/while#0@38:body/if#2, step 248: step done");
    EXPECT_EQ(text(control.advance(".../floor_div#0", {})), "main/while#0@38:body/if#2:then/floor_div#0, step 248: step done");
    EXPECT_EQ(text(control.advance("main/while#0@all%40/add#3", {})), "main/while#0@40:body/add#3, step 263: step done");
    EXPECT_EQ(text(control.advance("if#2", {}, Direction::backward)), "main/while#0@40:body/if#2, step 260: step done");
    EXPECT_EQ(text(control.advance("main/while#0@all%40/add#3", {}, Direction::backward)), "main/while#0@0:body/add#3, step 6: step done");
    EXPECT_EQ(text(control.advance("ad#7", {})), "error: main/while#0@0:body/ad#7: no operator 'ad#7' in body, which has 4 operators");
}

TEST_F(Collatz, steps_shares_and_marks)
{
    ASSERT_TRUE(control.start().ok());
    EXPECT_EQ(text(control.goToStep(239)), "main/while#0@37:body/floor_mod#0, step 239: step done");
    ASSERT_TRUE(control.mark("here").ok());
    EXPECT_EQ(control.knownEnd(), std::nullopt);
    EXPECT_EQ(text(control.goToPercent(100)), "main, step 709: step done; finished");
    EXPECT_EQ(control.knownEnd(), 709);
    EXPECT_EQ(text(control.goToPercent(0)), "main/while#0@0:cond/not_equal#0, step 0: step done");
    EXPECT_EQ(text(control.goToMark("here")), "main/while#0@37:body/floor_mod#0, step 239: step done");
    EXPECT_EQ(text(control.goToMark("her")), "error: no mark 'her'; did you mean 'here'?");
    EXPECT_EQ(text(control.goToPercent(101)), "error: a share of the run, expected 0% to 100%");
}

TEST_F(Collatz, edits_fork_and_both_timelines_stay)
{
    ASSERT_TRUE(control.start().ok());
    ASSERT_TRUE(control.goTo(debugger.place("main/while#0@3:cond")).ok());
    std::vector<int32_t> two = {2};
    const Result<StopReport> report = control.edit(-1, subject.model->graph(GraphId(1)).findValue("x"), tensorOver(two, Shape{}));
    EXPECT_EQ(text(report), "main/while#0@3:cond/not_equal#0, step 20: edited");
    EXPECT_EQ(report->timeline, 2);
    EXPECT_EQ(text(control.resume(Direction::forward)), "main, step 28: finished");
    EXPECT_EQ(text(control.goTo(debugger.place("main/while#0@4"))), "error: main/while#0@4: the loop ran 4 iterations (0 to 3)");
    EXPECT_EQ(text(control.switchTo(1)), "main/while#0@3:cond/not_equal#0, step 20: step done");
    EXPECT_EQ(text(control.goTo(debugger.place("main/while#0@4"))), "main/while#0@4:body/floor_mod#0, step 27: step done");
    EXPECT_EQ(text(control.switchTo(3)), "error: no timeline 3, expected 1 to 2");
}

TEST(RunControl, a_budget_is_a_reason_to_stop)
{
    Subject subject = collatz(27);
    subject.maxSteps = 100;
    DebuggerFixture debugger(subject);
    EXPECT_EQ(text(debugger.control.run()), "main/while#0@15:body/if#2, step 100: budget: 100 steps");
    EXPECT_EQ(text(debugger.control.step(Direction::backward)), "main/while#0@15:body/equal#1, step 99: step done");
    EXPECT_EQ(text(debugger.control.goToPercent(50)), "main/while#0@7:body/if#2:else/add#1, step 49: step done"); // two complete at once
    EXPECT_EQ(debugger.control.knownEnd(), std::nullopt);
}

TEST(RunControl, a_failing_kernel_is_a_reason_to_stop_before_it)
{
    Subject subject;
    subject.model = std::make_shared<Model>(textModel(R"(
graph main(x: i32[2], i: i32[1]) {
  y = add(x, x) : i32[2]
  z = gather(y, i) axis=0 batch_dims=0 : i32[1]
  return z
}
)"));
    subject.add<int32_t>(Shape{2}, {1, 2});
    subject.add<int32_t>(Shape{1}, {7});
    DebuggerFixture debugger(subject);
    const Result<StopReport> report = debugger.control.run();
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->has(StopCause::error)) << text(report);
    EXPECT_EQ(report->address, "main/gather#1");
    EXPECT_EQ(text(debugger.control.step(Direction::backward)), "main/add#0, step 0: step done");
}

TEST(RunControl, executions_of_loops_are_remembered_with_their_places)
{
    Subject subject;
    subject.model = std::make_shared<Model>(textModel(R"(
graph main(rows: i32[]) {
  zero = const i32[] 0
  r, last = while(zero, rows) cond=@less body=@row : (i32[], i32[])
  return r
}
graph less(a: i32[], b: i32[]) {
  more = less(a, b) : bool[]
  return more
}
graph row(r: i32[], rows: i32[]) {
  zero = const i32[] 0
  one = const i32[] 1
  c, same = while(zero, r) cond=@less body=@cell : (i32[], i32[])
  next = add(r, one) : i32[]
  return next, rows
}
graph cell(c: i32[], r: i32[]) {
  one = const i32[] 1
  next = add(c, one) : i32[]
  return next, r
}
)"));
    subject.add<int32_t>(Shape{}, {3});
    DebuggerFixture debugger(subject);
    const auto runs = [&] {
        std::string all;
        for (const LoopRun& run : debugger.control.loopRuns()) all += run.address + " " + std::to_string(run.trips) + "; ";
        return all;
    };
    ASSERT_TRUE(debugger.control.start().ok());
    EXPECT_EQ(runs(), "");
    EXPECT_FALSE(debugger.control.knownSteps());
    ASSERT_TRUE(debugger.control.resume(Direction::forward).ok());
    const std::string all = "main/while#0 3; main/while#0@0:body/while#0 0; main/while#0@1:body/while#0 1; main/while#0@2:body/while#0 2; ";
    EXPECT_EQ(runs(), all);
    EXPECT_EQ(debugger.control.knownSteps(), 20); // 1 + 4 tests + 3 inner loops, their 6 tests and 3 additions, 3 additions
    ASSERT_TRUE(debugger.control.goToStart().ok());
    EXPECT_EQ(runs(), all); // what is known of the run stays known

    // A jump hears nothing; a survey of what it passed by does, and notes the same.
    const std::vector<LoopRun> heard = debugger.control.loopRuns();
    ASSERT_TRUE(debugger.control.start().ok());
    ASSERT_TRUE(debugger.timeline.goToEnd().ok());
    EXPECT_EQ(runs(), "");
    const Result<RunSurvey> survey = surveyRun(debugger.target, {});
    ASSERT_TRUE(survey.ok());
    EXPECT_TRUE(debugger.control.noteTrips(*survey));
    EXPECT_EQ(runs(), all);
    for (size_t i = 0; i < heard.size(); ++i) EXPECT_EQ(debugger.control.loopRuns()[i].tick, heard[i].tick) << heard[i].address;
    EXPECT_FALSE(debugger.control.noteTrips(*survey));
}

TEST(RunControl, a_cancelled_request_stops_where_it_is_and_can_go_on)
{
    Subject subject = collatz(27);
    DebuggerFixture debugger(subject);
    ASSERT_TRUE(debugger.control.start().ok());
    debugger.cancel.request();
    EXPECT_EQ(text(debugger.control.resume(Direction::forward)), "main/while#0, step 0: cancelled");
    EXPECT_EQ(text(debugger.control.resume(Direction::forward)), "main, step 709: finished");
}

} // namespace
} // namespace loopscope::testing
