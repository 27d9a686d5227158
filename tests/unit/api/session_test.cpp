// The engine thread of a session: answers, tags, pause and cancel, from other threads.
#include "engine/api/session.h"
#include "engine/base/clock.h"
#include "tests/unit/debug/debugger_fixture.h"

#include <atomic>
#include <chrono>

namespace loopscope::testing {
namespace {

constexpr const char* kEndless = R"(
graph main(i: i32[]) {
  n = while(i) cond=@cond body=@body : i32[]
  return n
}
graph cond(i: i32[]) {
  go = equal(i, i) : bool[]
  return go
}
graph body(i: i32[]) {
  one = const i32[] 1
  n = add(i, one) : i32[]
  return n
}
)";

std::unique_ptr<Session> open(const Subject& subject)
{
    auto cancel = std::make_unique<CancelFlag>();
    ExecutionOptions options;
    options.cancel = cancel.get();
    std::unique_ptr<Interpreter> executor = subject.make(options);
    return std::make_unique<Session>(std::move(executor), std::move(cancel));
}

Subject endless()
{
    Subject subject;
    subject.model = std::make_shared<Model>(textModel(kEndless));
    subject.add<int32_t>(Shape{}, {0});
    subject.maxSteps = INT64_MAX;
    return subject;
}

void waitUntilBusy(const Session& session, const std::string& tag)
{
    while (session.progress().tag != tag) std::this_thread::yield();
}

TEST(Session, answers_on_the_engine_thread_in_order)
{
    const Subject subject = collatz(27);
    const auto session = open(subject);
    EXPECT_EQ(text(session->call([](Debugger& debugger) { return debugger.control().start(); })), "main/while#0, step 0: step done");
    EXPECT_EQ(text(session->call([](Debugger& debugger) { return debugger.control().goToStep(239); })),
              "main/while#0@37:body/floor_mod#0, step 239: step done");
    const std::thread::id engine = session->call([](Debugger&) { return std::this_thread::get_id(); });
    EXPECT_NE(engine, std::this_thread::get_id());
    while (session->progress().busy) std::this_thread::yield(); // the answer comes a moment before the thread is free
    EXPECT_EQ(session->progress().tag, "");
}

TEST(Session, a_newer_request_replaces_a_queued_one_with_its_tag)
{
    const Subject subject = collatz(27);
    const auto session = open(subject);
    std::promise<void> gate;
    std::shared_future<void> opened = gate.get_future().share();
    session->post("block", [opened](Debugger&) { opened.wait(); });
    waitUntilBusy(*session, "block");
    std::vector<int> ran;
    std::vector<int> dropped;
    for (int i = 0; i < 3; ++i)
        session->post(
            "hover", [&ran, i](Debugger&) { ran.push_back(i); }, [&dropped, i] { dropped.push_back(i); });
    session->post("", [&ran](Debugger&) { ran.push_back(10); });
    session->post("", [&ran](Debugger&) { ran.push_back(11); });
    EXPECT_EQ(dropped, (std::vector<int>{0, 1}));
    gate.set_value();
    session->call([](Debugger&) {});
    EXPECT_EQ(ran, (std::vector<int>{2, 10, 11}));
}

TEST(Session, pause_ends_a_run_that_never_ends)
{
    const Subject subject = endless();
    const auto session = open(subject);
    std::promise<Result<StopReport>> promise;
    session->post("run", [&](Debugger& debugger) { promise.set_value(debugger.control().run()); });
    waitUntilBusy(*session, "run");
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    EXPECT_GT(session->progress().tick, 0);
    EXPECT_EQ(session->progress().target, INT64_MAX);
    session->pause();
    const Result<StopReport> report = promise.get_future().get();
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->has(StopCause::cancelled));
    EXPECT_GT(report->tick, 0);
    // The stop is a place like any other.
    const Result<StopReport> before = session->call([](Debugger& debugger) { return debugger.control().step(Direction::backward); });
    ASSERT_TRUE(before.ok()) << before.error().message();
    EXPECT_EQ(before->tick, report->tick - 1);
    const Result<StopReport> again = session->call([](Debugger& debugger) { return debugger.control().step(Direction::forward); });
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->tick, report->tick);
    EXPECT_EQ(again->address, report->address);
}

/// Pauses a request of the endless model once it is on its way.
Result<StopReport> paused(Session& session, std::function<Result<StopReport>(Debugger&)> request)
{
    std::promise<Result<StopReport>> promise;
    std::future<Result<StopReport>> answer = promise.get_future();
    session.post("long", [&](Debugger& debugger) { promise.set_value(request(debugger)); });
    static_cast<void>(answer.wait_for(std::chrono::milliseconds(100)));
    session.pause();
    // If the thread had not begun by then, the pause was for nobody.
    while (answer.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) session.pause();
    return answer.get();
}

TEST(Session, pause_ends_a_search_for_a_place)
{
    const Subject subject = endless();
    const auto session = open(subject);
    ASSERT_TRUE(session->call([](Debugger& debugger) { return debugger.control().start(); }).ok());
    const auto far = [](Debugger& debugger) -> Result<StopReport> {
        LS_TRY(const TypedPlace place, resolveTyped(debugger.target(), {}, "main/while#0@2000000000:body/add#0"));
        return debugger.control().goTo(place.resolved);
    };
    const Result<StopReport> report = paused(*session, far);
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->has(StopCause::cancelled));
    EXPECT_GT(report->tick, 0);
    // Looking for a place without going there comes back.
    const auto look = [](Debugger& debugger) -> Result<StopReport> {
        LS_TRY(const TypedPlace place, resolveTyped(debugger.target(), {}, "main/while#0@2000000000:body/add#0"));
        const Result<std::optional<int64_t>> tick = debugger.control().tickOf(place.resolved);
        EXPECT_FALSE(tick.ok());
        return debugger.control().here();
    };
    const Result<StopReport> still = paused(*session, look);
    ASSERT_TRUE(still.ok());
    EXPECT_EQ(still->tick, report->tick);
}

TEST(Session, pause_ends_a_search_backward_where_nothing_was_found_behind)
{
    const Subject subject = endless();
    const auto session = open(subject);
    const Result<StopReport> there = paused(*session, [](Debugger& debugger) { return debugger.control().run(); });
    ASSERT_TRUE(there.ok());
    session->call([](Debugger& debugger) {
        EXPECT_TRUE(debugger.breakpoints().add(BreakpointCommand::breakpoint, "main/while#0@0:body/add#0", {}).ok());
    });
    // The request may be over before it is paused: then it has found the breakpoint.
    const Result<StopReport> report = paused(*session, [](Debugger& debugger) { return debugger.control().resume(Direction::backward); });
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->has(StopCause::cancelled) || report->has(StopCause::breakpoint)) << text(report);
    const Result<StopReport> found = report->has(StopCause::breakpoint)
                                         ? session->call([](Debugger& debugger) -> Result<StopReport> { return debugger.control().here(); })
                                         : session->call([](Debugger& debugger) { return debugger.control().resume(Direction::backward); });
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->address, "main/while#0@0:body/add#0");
}

TEST(Session, pause_without_a_request_does_nothing)
{
    const Subject subject = collatz(27);
    const auto session = open(subject);
    session->pause();
    EXPECT_EQ(text(session->call([](Debugger& debugger) { return debugger.control().run(); })), "main, step 709: finished");
}

TEST(Session, ends_while_a_request_runs_and_others_wait)
{
    const Subject subject = endless();
    auto session = open(subject);
    std::atomic<bool> ran = false;
    session->post("run", [](Debugger& debugger) { static_cast<void>(debugger.control().run().ok()); });
    session->post("", [&](Debugger&) { ran = true; });
    waitUntilBusy(*session, "run");
    session.reset();
    EXPECT_FALSE(ran);
}

} // namespace
} // namespace loopscope::testing
