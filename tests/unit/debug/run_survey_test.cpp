// What ran, part by part: held against the known course of a Collatz sequence of 111 iterations.
#include "engine/debug/inspect/run_survey.h"

#include "engine/debug/inspect/value_history.h"
#include "tests/unit/debug/inspect_models.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace loopscope::testing {
namespace {

Inspected collatz(int32_t x)
{
    return Inspected(kCountedCollatz, [x](Subject& subject) { subject.add<int32_t>(Shape{}, {x}); });
}

/// All parts up to the frontier, joined.
RunSurvey whole(const Inspected& session, SurveyRequest request)
{
    RunSurvey all;
    for (int guard = 0; guard < 10'000; ++guard) {
        Result<RunSurvey> part = surveyRun(session.target(), request);
        EXPECT_TRUE(part.ok());
        if (!part.ok()) break;
        all.invocations.insert(all.invocations.end(), part->invocations.begin(), part->invocations.end());
        all.ends.insert(all.ends.end(), part->ends.begin(), part->ends.end());
        all.loops.insert(all.loops.end(), part->loops.begin(), part->loops.end());
        all.accesses.insert(all.accesses.end(), part->accesses.begin(), part->accesses.end());
        all.toStep = part->toStep;
        all.reachedEnd = part->reachedEnd;
        request.fromTick = part->toTick;
        if (part->reachedFrontier) break;
    }
    return all;
}

int64_t iterations(const RunSurvey& survey)
{
    return std::ranges::count_if(survey.invocations, [](const SurveyedInvocation& i) { return i.role == CallRole::loop; });
}

TEST(RunSurvey, HearsEachIterationOfAFinishedRun)
{
    Inspected session = collatz(27);
    ASSERT_TRUE(session.timeline().goToEnd().ok());
    const RunSurvey survey = whole(session, {});
    EXPECT_EQ(iterations(survey), 112); // the last one holds the condition only
    ASSERT_EQ(survey.loops.size(), 1U);
    EXPECT_EQ(survey.loops[0].trips, 111);
    EXPECT_EQ(survey.loops[0].endStep, 820);
    EXPECT_TRUE(survey.reachedEnd);
    EXPECT_EQ(survey.toStep, 820);
    for (const SurveyedInvocation& i : survey.invocations)
        EXPECT_TRUE(i.iteration != 36 || i.firstStep == 268) << i.firstStep; // floor_mod#0 of it is step 269, behind the condition
    EXPECT_TRUE(session.timeline().finished());
}

TEST(RunSurvey, GoesNoFartherThanTheRunCame)
{
    Inspected session = collatz(27);
    session.goTo("main/while#0@36:body/if#2");
    const int64_t tick = session.timeline().tick();
    EXPECT_EQ(iterations(whole(session, {})), 37);
    EXPECT_EQ(session.timeline().tick(), tick);
    EXPECT_EQ(session.executor().positionAddress(), "main/while#0@36:body/if#2");
    EXPECT_EQ(session.timeline().timelines()[0].frontier, tick);
}

TEST(RunSurvey, PartsGiveWhatTheWholeGives)
{
    Inspected session = collatz(27);
    ASSERT_TRUE(session.timeline().goToEnd().ok());
    SurveyRequest small;
    small.maxEvents = 3;
    const RunSurvey parts = whole(session, small), all = whole(session, {});
    ASSERT_EQ(parts.invocations.size(), all.invocations.size());
    for (size_t i = 0; i < all.invocations.size(); ++i) {
        EXPECT_EQ(parts.invocations[i].id, all.invocations[i].id);
        EXPECT_EQ(parts.invocations[i].firstStep, all.invocations[i].firstStep);
    }
    EXPECT_EQ(parts.ends.size(), all.ends.size());
}

TEST(RunSurvey, KnowsWhenAValueIsWrittenAndRead)
{
    Inspected session = collatz(27);
    ASSERT_TRUE(session.timeline().goToEnd().ok());
    const ResolvedAddress next = session.place("main/while#0@36:body/next");
    SurveyRequest request;
    request.invocations = false;
    request.graph = next.graph;
    request.value = next.value;
    const RunSurvey survey = whole(session, request);
    EXPECT_TRUE(survey.invocations.empty());
    EXPECT_EQ(survey.accesses.size(), 111U); // carried out of the body; no operator reads it
    EXPECT_TRUE(std::ranges::any_of(survey.accesses, [](const SurveyedAccess& a) { return a.isWrite && a.step == 265; }));

    const ResolvedAddress x = session.place("main/while#0@36:body/x");
    request.graph = x.graph;
    request.value = x.value;
    const RunSurvey carried = whole(session, request);
    EXPECT_EQ(std::ranges::count_if(carried.accesses, &SurveyedAccess::isWrite), 112);
    EXPECT_EQ(std::ranges::count_if(carried.accesses, [](const SurveyedAccess& a) { return !a.isWrite && a.step == 269; }), 1);
}

TEST(RunSurvey, RunsNothingAgainWhereNothingIsCalled)
{
    Inspected session(R"(
graph main(x: f32[2]) {
  a = neg(x) : f32[2]
  b = neg(a) : f32[2]
  c = add(a, b) : f32[2]
  return c
}
)",
                      [](Subject& subject) {
                          subject.add<float>(Shape{2}, {1, 2});
                      });
    ASSERT_TRUE(session.timeline().goTo(2).ok());
    SurveyRequest request;
    request.graph = GraphId(0);
    request.value = session.place("main/a").value;
    const RunSurvey half = whole(session, request);
    EXPECT_EQ(half.toStep, 2);
    EXPECT_FALSE(half.reachedEnd);
    ASSERT_TRUE(session.timeline().goToEnd().ok());
    const RunSurvey survey = whole(session, request);
    EXPECT_TRUE(survey.reachedEnd);
    ASSERT_EQ(survey.accesses.size(), 3U); // written by 0, read by 1 and 2
    EXPECT_TRUE(survey.accesses[0].isWrite);
    EXPECT_EQ(survey.accesses[2].step, 2);
}

TEST(RunSurvey, NeedsARun)
{
    const Inspected session = collatz(27);
    SurveyRequest request;
    request.fromTick = 1'000'000; // beyond the frontier: nothing to hear
    const Result<RunSurvey> survey = surveyRun(session.target(), request);
    ASSERT_TRUE(survey.ok());
    EXPECT_TRUE(survey->reachedFrontier);
    EXPECT_TRUE(survey->invocations.empty());
}

TEST(ValueSeries, KeepsContentsAndStopsWhereTheRunCame)
{
    Inspected session = collatz(27);
    session.goTo("main/while#0@36:body/add#3");
    SeriesOptions options;
    options.onlyWhatRan = true;
    options.keepBytes = 20 * 4;
    const Result<ValueSeries> series = collectSeries(session.target(), {}, session.place("main/while#0@36:body/next"), options);
    ASSERT_TRUE(series.ok()) << series.error().message();
    EXPECT_EQ(series->iterations, 37);
    EXPECT_FALSE(series->complete);
    EXPECT_EQ(series->numbers[35], 1186);
    EXPECT_EQ(series->steps[35], 265);
    EXPECT_EQ(series->steps[36], 272);
    EXPECT_EQ(series->dtype, DType::i32);
    EXPECT_EQ(series->contentBytes, 4U);
    EXPECT_EQ(series->keptIterations(), 20); // the first ones that fit
    int32_t first = 0;
    std::memcpy(&first, series->contents.data(), 4);
    EXPECT_EQ(first, 82);
}

TEST(ValueSeries, ContinuesWhereAPartEnded)
{
    Inspected session = collatz(27);
    ASSERT_TRUE(session.timeline().goToEnd().ok());
    const ResolvedAddress next = session.place("main/while#0@36:body/next");
    SeriesOptions options;
    options.onlyWhatRan = true;
    options.keepBytes = 1 << 12;
    const Result<ValueSeries> all = collectSeries(session.target(), {}, next, options);
    ASSERT_TRUE(all.ok());
    options.budgetNs = 1;
    int parts = 0;
    for (;; ++parts) {
        Result<ValueSeries> part = collectSeries(session.target(), {}, next, options);
        ASSERT_TRUE(part.ok());
        options.continued = std::make_shared<const ValueSeries>(std::move(part).value());
        if (!options.continued->isPart) break;
        ASSERT_LT(parts, 100);
    }
    EXPECT_GT(parts, 0);
    EXPECT_EQ(options.continued->numbers, all->numbers);
    EXPECT_EQ(options.continued->contents, all->contents);
    EXPECT_TRUE(options.continued->complete);
}

} // namespace
} // namespace loopscope::testing
