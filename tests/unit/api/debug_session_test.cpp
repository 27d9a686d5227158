// Sessions: typed requests, answers, tags, pause and cancel, from other threads.
#include "engine/api/debug_session.h"
#include "tests/unit/debug/debugger_fixture.h"

#include <atomic>
#include <chrono>
#include <future>
#include <gmock/gmock.h>

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

std::unique_ptr<DebugSession> open(const std::string& text, std::vector<std::string> inputs, int64_t maxSteps = 1'000'000)
{
    OpenOptions options;
    options.inputs = std::move(inputs);
    options.execution.maxSteps = maxSteps;
    const auto read = [&](const std::string&) -> Result<std::shared_ptr<const Model>> {
        return std::make_shared<const Model>(textModel(text.c_str()));
    };
    Result<std::unique_ptr<DebugSession>> session = DebugSession::open("model.lsir", read, std::move(options));
    EXPECT_TRUE(session.ok()) << (session.ok() ? "" : session.error().message());
    return std::move(session).value();
}

std::unique_ptr<DebugSession> endless() { return open(kEndless, {"i=0"}, INT64_MAX); }
std::unique_ptr<DebugSession> collatzSession() { return open(kCollatz, {"x=27"}); }

std::string text(const Result<Stop>& stop)
{
    if (!stop.ok()) return "error: " + stop.error().message();
    return testing::text(Result<StopReport>(stop->report));
}

std::string text(const Result<std::vector<EvaluatedValue>>& values)
{
    if (!values.ok()) return "error: " + values.error().message();
    std::string all;
    for (const EvaluatedValue& value : *values) all += (all.empty() ? "" : ", ") + bareText(value, {});
    return all;
}

std::string evaluated(DebugSession& session, const std::string& expression)
{
    return text(session.ask([&](Inspector& inspector) { return inspector.evaluate({}, expression); }));
}

void waitUntilBusy(const DebugSession& session, const std::string& tag)
{
    while (session.progress().tag != tag) std::this_thread::yield();
}

TEST(DebugSession, answers_on_the_engine_thread_in_order)
{
    const auto session = collatzSession();
    EXPECT_EQ(session->name(), "model.lsir");
    EXPECT_EQ(text(session->move(request::Step())),
              "error: the run has not begun; 'run' goes to the first stop, 'start' to the first operator");
    EXPECT_EQ(text(session->begin({{}, false})), "main/while#0, step 0: step done");
    EXPECT_EQ(text(session->move(request::GoToStep{239})), "main/while#0@37:body/floor_mod#0, step 239: step done");
    EXPECT_EQ(evaluated(*session, "iter"), "37");
    const std::thread::id engine = session->ask([](Inspector&) { return std::this_thread::get_id(); }).value();
    EXPECT_NE(engine, std::this_thread::get_id());
    while (session->progress().busy) std::this_thread::yield(); // the answer comes a moment before the thread is free
    EXPECT_EQ(session->progress().tag, "");
}

// A face asks about the stop that it shows, and the run may have gone on into another graph by then.
TEST(DebugSession, operators_of_another_graph_have_no_values)
{
    const auto session = collatzSession();
    EXPECT_EQ(text(session->begin({{}, false})), "main/while#0, step 0: step done");
    const auto values = session->ask([](Inspector& inspector) {
        return inspector.valuesOf(0, {OperatorId(0), OperatorId(7), OperatorId()}, true, [](const Tensor&) { return InlineValue(); });
    });
    ASSERT_TRUE(values.ok());
    ASSERT_EQ(values->size(), 3U); // main has one operator
    for (const OperatorValues& each : *values) EXPECT_NE(each.age, OperatorValues::Age::current);
}

TEST(DebugSession, a_signature_that_is_not_there_is_an_error)
{
    OpenOptions options;
    options.signature = "nowhere";
    const auto read = [](const std::string&) -> Result<std::shared_ptr<const Model>> {
        return std::make_shared<const Model>(textModel(kCollatz));
    };
    const Result<std::unique_ptr<DebugSession>> session = DebugSession::open("model.lsir", read, std::move(options));
    ASSERT_FALSE(session.ok());
    EXPECT_THAT(session.error().message(), ::testing::HasSubstr("nowhere"));
}

TEST(DebugSession, begins_again_with_other_inputs)
{
    const auto session = collatzSession();
    EXPECT_EQ(text(session->begin({})), "main, step 709: finished");
    EXPECT_EQ(text(session->begin({{"x=1"}, true})), "main, step 2: finished");
    ASSERT_TRUE(session->giveInput({"x=27"}).ok());
    EXPECT_EQ(text(session->begin({})), "main, step 709: finished");
    EXPECT_EQ(session->giveInput({"z=27"}).detail().code, ErrorCode::usage);
    EXPECT_EQ(text(session->begin({{"x=[1,2]"}, true})).substr(0, 6), "error:");
    EXPECT_EQ(text(session->move(request::GoToStart())), "main/while#0, step 0: step done"); // the run that there was is still there
}

TEST(DebugSession, breakpoints_are_values)
{
    const auto session = collatzSession();
    BreakpointSpec spec = breakOn("iter", {"while#0", "37"});
    spec.condition = "iter > 3";
    spec.once = true;
    EXPECT_EQ(commandText(request::AddBreakpoint{spec}), "break iter while#0 37 if iter > 3 once");
    const Result<BreakpointInfo> made = session->addBreakpoint(spec);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(made->kind, "iter");
    EXPECT_EQ(text(session->begin({})), "main/while#0@37:cond/not_equal#0, step 238: breakpoint 1");
    EXPECT_EQ(session->addBreakpoint(breakOn("nowhere")).error().code(), ErrorCode::usage);
}

TEST(DebugSession, toggling_follows_one_rule)
{
    const auto session = collatzSession();
    const Address place = parseAddress("main/while#0@3:body/if#2").value();
    const auto toggle = [&] {
        std::string commands;
        const Result<std::vector<Request>> plain = session->toggled({place});
        for (const Request& request : *plain) {
            commands += commandText(request) + ";";
            EXPECT_TRUE(session->perform(request).ok());
        }
        return commands;
    };
    EXPECT_EQ(toggle(), "break main/while#0:body/if#2;");
    EXPECT_EQ(toggle(), "delete 1;");
    EXPECT_EQ(toggle(), "break main/while#0:body/if#2;");
    BreakpointSpec once = breakAt(place);
    once.command = BreakpointCommand::temporary;
    ASSERT_TRUE(session->addBreakpoint(once).ok());
    Result<BreakpointSpec> log = parseSpec(BreakpointCommand::log, "main/while#0:body/if#2 \"here\"");
    ASSERT_TRUE(session->addBreakpoint(*log).ok());
    EXPECT_EQ(toggle(), "delete 2;delete 3;"); // the log point stays
    EXPECT_EQ(toggle(), "break main/while#0:body/if#2;");
}

TEST(DebugSession, requests_are_the_commands_that_a_person_types)
{
    using namespace request;
    const std::vector<std::pair<Request, std::string>> cases = {
        {Begin{{"x=27"}, true}, "run x=27"},
        {Begin{{}, false}, "start"},
        {GiveInput{"x=@7"}, "input x=@7"},
        {Move(Resume()), "continue"},
        {Move(Resume{Direction::backward, 3}), "reverse-continue 3"},
        {Move(request::Step{Direction::backward, 2, true}), "reverse-next 2"},
        {Move(request::Step()), "step"},
        {Move(Finish{Direction::backward}), "reverse-finish"},
        {Move(Iterate{Iterate::To::offset, 1}), "iter +1"},
        {Move(Iterate{Iterate::To::offset, -1}), "iter -1"},
        {Move(Iterate{Iterate::To::number, 37}), "iter 37"},
        {Move(Iterate{Iterate::To::last, 0}), "iter last"},
        {Move(GoToPercent{12.5}), "goto 12.5%"},
        {Move(GoToAddress{parseAddress("main/while#0@3:body/if#2").value()}), "goto main/while#0@3:body/if#2"},
        {Move(GoToWrite{HistoryQuery::nextChange, "n"}), "nextchange n -g"},
        {SetValue{"n[0]", "7"}, "set n[0] = 7"},
        {GiveOutput{"sinh#1", "out.npy"}, "give sinh#1 = out.npy"},
        {AddBreakpoint{watchFor("n")}, "watch n"},
        {RemoveBreakpoint{}, "delete"},
        {EnableBreakpoint{3, false}, "disable 3"},
        {SetCondition{3, ""}, "condition 3"},
        {IgnoreHits{3, 10}, "ignore 3 10"},
        {SetOrder{0}, "order arrival"},
        {RecordOn{"run.lstrace", "values", true}, "record on run.lstrace values --force"},
    };
    for (const auto& [request, command] : cases) EXPECT_EQ(commandText(request), command);
}

TEST(DebugSession, edits_fork_and_marks_stay)
{
    const auto session = collatzSession();
    ASSERT_TRUE(session->begin({{}, false}).ok());
    ASSERT_TRUE(session->move(request::GoToPlace{"main/while#0@36:body/if#2"}).ok());
    ASSERT_TRUE(session->mark("here").ok());
    const Result<Edited> edited = session->set({"x", "8"});
    ASSERT_TRUE(edited.ok()) << edited.error().message();
    EXPECT_EQ(edited->stop.report.timeline, 2);
    EXPECT_FALSE(edited->endsRecording);
    EXPECT_TRUE(session->move(request::GoToEnd()).ok());
    EXPECT_NE(session->ask([](Inspector& inspector) { return inspector.position().step; }).value(), 709);
    EXPECT_TRUE(session->move(request::SwitchTimeline{1}).ok());
    EXPECT_EQ(text(session->move(request::GoToEnd())), "main, step 709: step done; finished");
    EXPECT_EQ(text(session->move(request::GoToPlace{"here"})).substr(0, 25), "main/while#0@36:body/if#2");
    EXPECT_EQ(text(session->move(request::GoToWrite{HistoryQuery::nextWrite, "zero"})).substr(0, 6), "error:");
}

TEST(DebugSession, a_newer_request_replaces_a_queued_one_with_its_tag)
{
    const auto session = collatzSession();
    std::promise<void> gate;
    std::shared_future<void> opened = gate.get_future().share();
    session->post("block", [opened](Inspector&) { opened.wait(); });
    waitUntilBusy(*session, "block");
    std::vector<int> ran;
    std::vector<int> dropped;
    for (int i = 0; i < 3; ++i)
        session->post(
            "hover", [&ran, i](Inspector&) { ran.push_back(i); },
            [&dropped, i](const Error& error) {
                EXPECT_EQ(error.code(), ErrorCode::cancelled);
                dropped.push_back(i);
            });
    session->post("", [&ran](Inspector&) { ran.push_back(10); });
    session->post("", [&ran](Inspector&) { ran.push_back(11); });
    EXPECT_EQ(dropped, (std::vector<int>{0, 1}));
    gate.set_value();
    EXPECT_TRUE(session->ask([](Inspector&) {}).ok());
    EXPECT_EQ(ran, (std::vector<int>{2, 10, 11}));
}

/// Pauses a movement of the endless model once it is on its way.
Result<Stop> paused(DebugSession& session, const request::Move& move)
{
    std::promise<Result<Stop>> promise;
    std::future<Result<Stop>> answer = promise.get_future();
    session.post("long", move, {}, [&](Result<Stop> stop) { promise.set_value(std::move(stop)); });
    static_cast<void>(answer.wait_for(std::chrono::milliseconds(100)));
    session.pause();
    // If the thread had not begun by then, the pause was for nobody.
    while (answer.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) session.pause();
    return answer.get();
}

TEST(DebugSession, pause_ends_a_run_that_never_ends)
{
    const auto session = endless();
    ASSERT_TRUE(session->begin({{}, false}).ok());
    std::promise<Result<Stop>> promise;
    session->post("run", request::Resume(), {}, [&](Result<Stop> stop) { promise.set_value(std::move(stop)); });
    waitUntilBusy(*session, "run");
    std::this_thread::sleep_for(std::chrono::milliseconds(120));
    EXPECT_GT(session->progress().tick, 0);
    EXPECT_EQ(session->progress().target, INT64_MAX);
    session->pause();
    const Result<Stop> stop = promise.get_future().get();
    ASSERT_TRUE(stop.ok());
    EXPECT_TRUE(stop->report.has(StopCause::cancelled));
    EXPECT_GT(stop->report.tick, 0);
    // The stop is a place like any other.
    const Result<Stop> before = session->move(request::Step{Direction::backward});
    ASSERT_TRUE(before.ok()) << before.error().message();
    EXPECT_EQ(before->report.tick, stop->report.tick - 1);
    const Result<Stop> again = session->move(request::Step());
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->report.tick, stop->report.tick);
    EXPECT_EQ(again->report.address, stop->report.address);
}

TEST(DebugSession, pause_ends_a_search_for_a_place)
{
    const auto session = endless();
    ASSERT_TRUE(session->begin({{}, false}).ok());
    const Result<Stop> stop = paused(*session, request::GoToPlace{"main/while#0@2000000000:body/add#0"});
    ASSERT_TRUE(stop.ok());
    EXPECT_TRUE(stop->report.has(StopCause::cancelled));
    EXPECT_GT(stop->report.tick, 0);
}

TEST(DebugSession, pause_ends_a_search_backward_where_nothing_was_found_behind)
{
    const auto session = endless();
    ASSERT_TRUE(session->begin({{}, false}).ok());
    ASSERT_TRUE(paused(*session, request::Resume()).ok());
    ASSERT_TRUE(session->addBreakpoint(breakOn("main/while#0@0:body/add#0")).ok());
    // The request may be over before it is paused: then it has found the breakpoint.
    const Result<Stop> stop = paused(*session, request::Resume{Direction::backward});
    ASSERT_TRUE(stop.ok());
    EXPECT_TRUE(stop->report.has(StopCause::cancelled) || stop->report.has(StopCause::breakpoint)) << text(stop);
    if (stop->report.has(StopCause::breakpoint)) return;
    EXPECT_EQ(text(session->move(request::Resume{Direction::backward})).substr(0, 25), "main/while#0@0:body/add#0");
}

TEST(DebugSession, pause_without_a_request_does_nothing)
{
    const auto session = collatzSession();
    session->pause();
    EXPECT_EQ(text(session->begin({})), "main, step 709: finished");
}

TEST(DebugSession, ends_while_a_request_runs_and_others_wait)
{
    auto session = endless();
    ASSERT_TRUE(session->begin({{}, false}).ok());
    std::atomic<bool> ran = false, told = false;
    session->post("run", request::Resume(), {}, [](const Result<Stop>&) {});
    session->post(
        "", [&](Inspector&) { ran = true; }, [&](const Error&) { told = true; });
    waitUntilBusy(*session, "run");
    session.reset();
    EXPECT_FALSE(ran);
    EXPECT_TRUE(told);
}

} // namespace
} // namespace loopscope::testing
