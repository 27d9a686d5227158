// Traps: at which operators a running executor asks, what the handler can see there, and where a run stops.
#include "converters/lsir/lsir.h"
#include "engine/exec/interpreter.h"
#include "engine/exec/machine_state.h"
#include "tests/unit/exec/model_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace loopscope::testing {
namespace {

/// Counts from 0 to n; each iteration has a call.
constexpr const char* kCounting = R"(
graph main(n: i32[]) {
  zero = const i32[] 0
  i, m = while(zero, n) cond=@cond body=@body : (i32[], i32[])
  out = add(i, m) : i32[]
  return out
}
graph cond(i: i32[], n: i32[]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[]) {
  one = const i32[] 1
  small = less(i, one) : bool[]
  next = if(small, i) then=@plus else=@plus : i32[]
  return next, n
}
graph plus(i: i32[]) {
  one = const i32[] 1
  next = add(i, one) : i32[]
  return next
}
)";

constexpr GraphId kMain(0), kCond(1), kBody(2), kPlus(3);

/// Writes down what it is asked.
class Listener final : public TrapHandler {
public:
    explicit Listener(const Interpreter& interpreter) : m_interpreter(interpreter) {}

    std::vector<std::string> heard;
    std::function<bool(int64_t tick)> stops = [](int64_t) { return false; };
    std::function<void(const OperatorEvent&)> look = [](const OperatorEvent&) {};

    bool beforeOperator(const OperatorEvent& event, Tick tick) override
    {
        EXPECT_TRUE(event.results.empty());
        EXPECT_EQ(tick, m_interpreter.tick());
        EXPECT_EQ(m_interpreter.position().op, event.op);
        heard.push_back("before " + m_interpreter.positionAddress() + " " + std::to_string(tick));
        look(event);
        return stops(tick);
    }
    bool afterOperator(const OperatorEvent& event, Tick tick) override
    {
        const Operator& op = m_interpreter.model().graph(event.graph).op(event.op);
        EXPECT_EQ(event.results.size(), op.results.size());
        EXPECT_EQ(m_interpreter.position().graph, event.graph);
        EXPECT_EQ(m_interpreter.position().invocation, event.invocation);
        heard.push_back("after " + op.kind.name + "#" + std::to_string(event.op.index) + " " + std::to_string(tick) +
                        (event.trips >= 0 ? " trips " + std::to_string(event.trips) : ""));
        look(event);
        return stops(tick);
    }

private:
    const Interpreter& m_interpreter;
};

class Traps : public ::testing::Test {
public:
    Traps()
    {
        Result<Model> parsed = modelFromText(kCounting, "test");
        EXPECT_TRUE(parsed.ok());
        model = std::move(parsed).value();
        Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, GraphId(0));
        EXPECT_TRUE(made.ok());
        interpreter = std::move(made).value();
        std::vector<int32_t> n = {2};
        EXPECT_TRUE(interpreter->setInput(0, tensorOver(n, Shape{})).ok());
        EXPECT_TRUE(interpreter->start().ok());
    }

    void arm(TrapHandler& handler, std::initializer_list<std::tuple<GraphId, int, uint8_t>> marks)
    {
        TrapSet traps;
        for (const auto& [graph, op, trap] : marks) traps.add(graph, OperatorId(op), trap);
        interpreter->setTraps(traps, &handler);
    }

    Model model;
    std::unique_ptr<Interpreter> interpreter;
};

TEST_F(Traps, ask_before_and_after_with_the_ticks_of_the_stops)
{
    Listener listener(*interpreter);
    arm(listener, {{kPlus, 0, trapBefore | trapAfter}, {kMain, 0, trapAfter}, {kBody, 1, trapAfter}});
    ASSERT_TRUE(interpreter->run().ok());
    // Ticks: while entered 1, less 2, less 3, if entered 4, add and the if returned 5: the next iteration.
    EXPECT_THAT(listener.heard, ::testing::ElementsAre("before main/while#0@0:body/if#1:then/add#0 4", "after add#0 5", "after if#1 5",
                                                       "before main/while#0@1:body/if#1:else/add#0 8", "after add#0 9", "after if#1 9",
                                                       "after while#0 10 trips 2"));
    EXPECT_TRUE(interpreter->position().finished);
    EXPECT_FALSE(interpreter->trapped());
}

TEST_F(Traps, stop_before_the_operator_or_at_the_next_one)
{
    Listener listener(*interpreter);
    listener.stops = [](int64_t tick) { return tick == 4 || tick == 5; };
    arm(listener, {{kPlus, 0, trapBefore | trapAfter}});
    ASSERT_TRUE(interpreter->run().ok());
    EXPECT_TRUE(interpreter->trapped());
    EXPECT_EQ(interpreter->tick(), 4);
    EXPECT_EQ(interpreter->positionAddress(), "main/while#0@0:body/if#1:then/add#0");
    // It was asked about this stop; the ends of the branch and of the iteration are no places to stop at.
    ASSERT_TRUE(interpreter->run().ok());
    EXPECT_TRUE(interpreter->trapped());
    EXPECT_EQ(interpreter->tick(), 5);
    EXPECT_EQ(interpreter->positionAddress(), "main/while#0@1:cond/less#0");
    EXPECT_EQ(listener.heard.size(), 2U);
}

TEST_F(Traps, reasons_of_both_kinds_come_together)
{
    Listener listener(*interpreter);
    listener.stops = [](int64_t tick) { return tick == 3; };
    arm(listener, {{kBody, 0, trapAfter}, {kBody, 1, trapBefore}});
    interpreter->setTraps({}, nullptr);
    TrapSet traps;
    traps.add(kCond, OperatorId(0), trapAfter);
    traps.add(kBody, OperatorId(0), trapBefore | trapAfter);
    traps.add(kBody, OperatorId(1), trapBefore);
    interpreter->setTraps(traps, &listener);
    ASSERT_TRUE(interpreter->run().ok());
    EXPECT_THAT(listener.heard, ::testing::ElementsAre("after less#0 2", "before main/while#0@0:body/less#0 2", "after less#0 3",
                                                       "before main/while#0@0:body/if#1 3"));
    EXPECT_EQ(interpreter->tick(), 3);
}

TEST_F(Traps, ask_about_the_stop_that_a_run_goes_to_once)
{
    Listener listener(*interpreter);
    arm(listener, {{kBody, 0, trapBefore}});
    ASSERT_TRUE(interpreter->runTo(2).ok());
    EXPECT_EQ(listener.heard.size(), 1U);
    EXPECT_FALSE(interpreter->trapped());
    ASSERT_TRUE(interpreter->runTo(3).ok());
    EXPECT_EQ(listener.heard.size(), 1U);
    // Armed anew it is asked about anew.
    ASSERT_TRUE(interpreter->restore(interpreter->snapshot()).ok());
    arm(listener, {{kBody, 1, trapBefore}});
    ASSERT_TRUE(interpreter->runTo(4).ok());
    arm(listener, {{kBody, 1, trapBefore}});
    EXPECT_EQ(listener.heard.size(), 2U);
    EXPECT_EQ(listener.heard.back(), "before main/while#0@0:body/if#1 3");
}

TEST_F(Traps, single_steps_ask_nothing)
{
    Listener listener(*interpreter);
    listener.stops = [](int64_t) { return true; };
    arm(listener, {{kMain, 0, trapBefore | trapAfter}, {kBody, 0, trapBefore | trapAfter}, {kPlus, 0, trapBefore | trapAfter}});
    while (!interpreter->position().finished) ASSERT_TRUE(interpreter->step().ok());
    EXPECT_TRUE(listener.heard.empty());
    EXPECT_FALSE(interpreter->trapped());
}

TEST_F(Traps, let_the_handler_read_what_is_live)
{
    Listener listener(*interpreter);
    std::vector<int32_t> numbers;
    listener.look = [&](const OperatorEvent& event) {
        const ValueId id = event.results.empty() ? model.graph(kPlus).inputs[0] : model.graph(kPlus).op(event.op).results[0];
        const Tensor* const value = interpreter->value(-1, id);
        ASSERT_NE(value, nullptr);
        numbers.push_back(*value->as<int32_t>());
        EXPECT_EQ(interpreter->frame(1).iteration, static_cast<int64_t>(numbers.size() - 1) / 2);
    };
    arm(listener, {{kPlus, 0, trapBefore | trapAfter}});
    ASSERT_TRUE(interpreter->run().ok());
    EXPECT_THAT(numbers, ::testing::ElementsAre(0, 1, 1, 2));
}

TEST_F(Traps, change_nothing_of_what_is_computed)
{
    Listener listener(*interpreter);
    listener.stops = [](int64_t tick) { return tick % 2 == 0; };
    arm(listener, {{kPlus, 0, trapBefore | trapAfter}, {kCond, 0, trapAfter}, {kBody, 1, trapBefore | trapAfter}, {kMain, 1, trapBefore}});
    while (!interpreter->position().finished) ASSERT_TRUE(interpreter->run().ok());
    EXPECT_EQ(elements<int32_t>(interpreter->output(0)), std::vector<int32_t>{4});
}

TEST_F(Traps, are_gone_when_they_are_taken_away)
{
    Listener listener(*interpreter);
    arm(listener, {{kPlus, 0, trapBefore}});
    ASSERT_TRUE(interpreter->runTo(4).ok());
    EXPECT_EQ(listener.heard.size(), 1U);
    interpreter->setTraps({}, nullptr);
    ASSERT_TRUE(interpreter->run().ok());
    EXPECT_EQ(listener.heard.size(), 1U);
}

} // namespace
} // namespace loopscope::testing
