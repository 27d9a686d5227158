// Sessions without memory: every kind of request is made with each of its allocations failing in turn. It answers, and the session lives
// on where it stood.
#include "engine/api/debug_session.h"
#include "tests/unit/debug/debugger_fixture.h"

#include <cstdlib>
#include <new>

namespace {

constexpr int64_t kNever = -1;
thread_local int64_t allocationsLeft = kNever; ///< of this thread, until one fails
thread_local bool failsForGood = false;        ///< so do all after it, until it is armed anew
thread_local bool hasFailed = false;

void* allocated(std::size_t size)
{
    if (allocationsLeft == 0) {
        hasFailed = true;
        if (!failsForGood) allocationsLeft = kNever;
        throw std::bad_alloc();
    }
    if (allocationsLeft > 0) --allocationsLeft;
    if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
    throw std::bad_alloc();
}

} // namespace

void* operator new(std::size_t size) { return allocated(size); }
void* operator new[](std::size_t size) { return allocated(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace loopscope::testing {
namespace {

std::unique_ptr<DebugSession> collatzSession()
{
    OpenOptions options;
    options.inputs = {"x=27"};
    const auto read = [](const std::string&) -> Result<std::shared_ptr<const Model>> {
        return std::make_shared<const Model>(textModel(kCollatz));
    };
    Result<std::unique_ptr<DebugSession>> session = DebugSession::open("collatz.lsir", read, std::move(options));
    EXPECT_TRUE(session.ok());
    return std::move(session).value();
}

void arm(DebugSession& session, int64_t allocations, bool forGood)
{
    session.post("", [=](Inspector&) {
        allocationsLeft = allocations;
        failsForGood = forGood;
        hasFailed = false;
    });
}

/// Whether the request that was armed for came to the allocation that fails.
bool disarm(DebugSession& session)
{
    bool failed = false;
    const Status status = session.ask([&](Inspector&) {
        failed = hasFailed;
        allocationsLeft = kNever;
    });
    EXPECT_TRUE(status.ok());
    return failed;
}

Status statusOf(Result<Outcome> outcome)
{
    if (!outcome.ok()) return std::move(outcome).takeError();
    const bool ran = !outcome->stop || !outcome->stop->report.has(StopCause::error);
    return ran ? Status() : Status(Error(ErrorCode::execution, "the run stopped with an error"));
}

struct Case {
    const char* name;
    std::function<Status(DebugSession&)> work;
};

Case requestCase(const char* name, Request request)
{
    return {name, [request = std::move(request)](DebugSession& session) { return statusOf(session.perform(request)); }};
}

Case questionCase(const char* name, std::function<Status(Inspector&)> question)
{
    return {name, [question = std::move(question)](DebugSession& session) { return session.ask(question); }};
}

template <typename T> Status only(const Result<T>& result) { return result.ok() ? Status() : Status(result.error().copy()); }

std::vector<Case> cases()
{
    using namespace request;
    std::vector<Case> all = {
        requestCase("run", Begin()),
        requestCase("start", Begin{{}, false}),
        requestCase("continue", Move(Resume())),
        requestCase("reverse-continue", Move(Resume{Direction::backward})),
        requestCase("step", Move(request::Step{Direction::forward, 3})),
        requestCase("reverse-next", Move(request::Step{Direction::backward, 1, true})),
        requestCase("finish", Move(Finish())),
        requestCase("until", Move(Until())),
        requestCase("advance", Move(Advance{".../add#0"})),
        requestCase("iter", Move(Iterate{Iterate::To::number, 80})),
        requestCase("goto end", Move(GoToEnd())),
        requestCase("goto step", Move(GoToStep{600})),
        requestCase("goto place", Move(GoToPlace{"main/while#0@90:body/if#2"})),
        requestCase("goto write", Move(GoToWrite{HistoryQuery::nextWrite, "y"})),
        requestCase("set", SetValue{"x", "8"}),
        requestCase("break", AddBreakpoint{breakOn("iter", {"while#0", "70"})}),
        requestCase("watch", AddBreakpoint{watchFor("x")}),
        requestCase("toggle", ToggleBreakpoint{parseAddress("main/while#0:body/if#2").value()}),
        requestCase("condition", SetCondition{1, "iter > 3"}),
        requestCase("mark", SetMark{"here"}),
    };
    all.push_back(questionCase("print", [](Inspector& inspector) { return only(inspector.evaluate({}, "max(x) + prev(x) * 2")); }));
    all.push_back(questionCase("why", [](Inspector& inspector) { return only(inspector.why({}, "loop")); }));
    all.push_back(questionCase("survey", [](Inspector& inspector) { return only(inspector.survey(SurveyRequest())); }));
    all.push_back(questionCase("series", [](Inspector& inspector) -> Status {
        LS_TRY(const TypedPlace place, inspector.resolve({}, "x"));
        return only(inspector.series({}, place.resolved, SeriesOptions()));
    }));
    all.push_back(questionCase("history", [](Inspector& inspector) -> Status {
        LS_TRY(const TypedPlace place, inspector.resolve({}, "y"));
        return only(inspector.findWrite({}, place.resolved, HistoryQuery::lastWrite));
    }));
    return all;
}

struct Where {
    std::string address;
    int64_t tick = 0;
    bool operator==(const Where&) const = default;
};

Where whereIs(DebugSession& session)
{
    return session.ask([](Inspector& inspector) { return Where{inspector.positionAddress(), inspector.tick()}; }).value();
}

/// A session that stands in the middle of its run, with a breakpoint that was hit there.
void stand(DebugSession& session)
{
    ASSERT_TRUE(session.removeBreakpoint().ok());
    ASSERT_TRUE(session.begin({{}, false}).ok());
    ASSERT_TRUE(session.addBreakpoint(breakOn("main/while#0@37:body/if#2")).ok());
    const Result<Stop> stop = session.move(request::Resume());
    ASSERT_TRUE(stop.ok()) << stop.error().message();
    ASSERT_EQ(stop->report.address, "main/while#0@37:body/if#2");
}

void failEachAllocationOf(const Case& one, bool forGood)
{
    SCOPED_TRACE(one.name);
    const auto session = collatzSession();
    int failures = 0;
    for (int64_t allowed = 0;; allowed += 1 + allowed / 6) {
        stand(*session);
        const Where before = whereIs(*session);
        arm(*session, allowed, forGood);
        Status status = one.work(*session);
        if (!disarm(*session)) break; // it needs no more than that
        ++failures;
        if (!status.ok()) {
            EXPECT_NE(status.detail().code, ErrorCode::internal) << status.detail().what;
        }
        // Without memory for the way back the run is lost, and the session says so.
        const bool begins = std::string_view(one.name) == "run" || std::string_view(one.name) == "start";
        if (!status.ok() && status.detail().what == "out of memory" && session->isStarted() && !begins) {
            EXPECT_EQ(whereIs(*session), before) << "after " << allowed << " allocations";
        }
        ASSERT_TRUE(session->removeBreakpoint().ok());
        const Result<Stop> end = session->begin({});
        ASSERT_TRUE(end.ok()) << end.error().message();
        EXPECT_EQ(end->report.position.step, 709) << "after " << allowed << " allocations";
    }
    EXPECT_GT(failures, 0);
}

TEST(SessionMemory, every_request_answers_where_one_allocation_fails)
{
    for (const Case& one : cases()) failEachAllocationOf(one, false);
}

TEST(SessionMemory, every_request_answers_where_all_further_allocations_fail)
{
    for (const Case& one : cases()) failEachAllocationOf(one, true);
}

TEST(SessionMemory, an_exception_of_a_question_is_its_answer)
{
    const auto session = collatzSession();
    const Result<int> answer = session->ask([](Inspector&) -> int { throw std::runtime_error("a fault of ours"); });
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code(), ErrorCode::internal);
    EXPECT_EQ(answer.error().message(), "a fault of ours");
    EXPECT_EQ(session->begin({}).value().report.position.step, 709);
}

} // namespace
} // namespace loopscope::testing
