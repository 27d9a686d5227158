// Who wrote a value, when it changes, and how it goes over iterations: held against a plain forward run that notes every write.
#include "engine/debug/inspect/value_history.h"

#include "engine/tensor/statistics.h"
#include "tests/unit/debug/inspect_models.h"

#include <gtest/gtest.h>

#include <map>

namespace loopscope::testing {
namespace {

Inspected collatz(int32_t x)
{
    return Inspected(kCountedCollatz, [x](Subject& subject) { subject.add<int32_t>(Shape{}, {x}); });
}

std::string found(const Inspected& session, const std::string& value, HistoryQuery query)
{
    const Result<std::optional<ValueWrite>> write = findWrite(session.target(), {}, session.place(value), query);
    if (!write.ok()) return "error: " + write.error().message();
    if (!*write) return "none";
    const ValueWrite& w = **write;
    return w.address + " = " + std::to_string(elementAsInteger(w.tensor, 0)) + ", step " + std::to_string(w.step) +
           (w.origin.empty() ? "" : " (" + w.origin + ")");
}

TEST(ValueHistory, FollowsACarriedValueToTheIterationBefore)
{
    Inspected session = collatz(27);
    session.goTo("main/while#0@36:body/if#2");
    const int64_t tick = session.timeline().tick();
    const std::string x = "main/while#0@36:body/x";
    EXPECT_EQ(found(session, x, HistoryQuery::lastWrite), "main/while#0@35:body/if#2:0 = 1186, step 265 (x is carried from next)");
    EXPECT_EQ(found(session, x, HistoryQuery::lastChange), "main/while#0@35:body/if#2:0 = 1186, step 265 (x is carried from next)");
    EXPECT_EQ(found(session, x, HistoryQuery::nextWrite), "main/while#0@36:body/if#2:0 = 593, step 272 (x is carried from next)");
    EXPECT_EQ(session.timeline().tick(), tick);
    EXPECT_EQ(session.executor().positionAddress(), "main/while#0@36:body/if#2");
}

TEST(ValueHistory, FindsWritesOfResultsAndNotOfInputs)
{
    Inspected session = collatz(27);
    session.goTo("main/while#0@36:body/if#2");
    EXPECT_EQ(found(session, "main/while#0@36:body/mod", HistoryQuery::lastWrite), "main/while#0@36:body/floor_mod#0:0 = 0, step 269");
    EXPECT_EQ(found(session, "main/while#0@36:body/next", HistoryQuery::lastWrite), "main/while#0@35:body/if#2:0 = 1186, step 265");
    EXPECT_EQ(found(session, "main/n", HistoryQuery::lastWrite), "none");
    EXPECT_EQ(found(session, "main/n", HistoryQuery::nextWrite), "main/while#0:2 = 111, step 819");
    EXPECT_EQ(found(session, "main/x", HistoryQuery::lastWrite), "error: main/x: x is an input of the run: no operator writes it");
    EXPECT_EQ(found(session, "main/while#0@36:body/two", HistoryQuery::nextWrite),
              "error: main/while#0@36:body/two: two is a constant: no operator writes it");
}

TEST(ValueHistory, FollowsArgumentsOfCallsAndTheFirstIteration)
{
    Inspected session = collatz(27);
    session.goTo("main/while#0@1:body/if#2:then/floor_div#0");
    EXPECT_EQ(found(session, "main/while#0@1:body/if#2:then/x", HistoryQuery::lastWrite),
              "main/while#0@0:body/if#2:0 = 82, step 5 (x is x; x is carried from next)");
    session.goTo("main/while#0@0:body/floor_mod#0");
    EXPECT_EQ(found(session, "main/while#0@0:body/x", HistoryQuery::lastWrite),
              "error: main/while#0@0:body/x: x is an input of the run: no operator writes it");
}

/// Every write of `mod` in order, as a forward run sees it.
TEST(ValueHistory, AgreesWithAForwardRunAtEveryStop)
{
    struct Noted {
        int64_t step;
        int32_t value;
    };
    struct Notes final : ExecutionObserver {
        std::vector<Noted> mods;
        GraphId body{2};
        void operatorExecuted(const OperatorEvent& e) override
        {
            if (e.graph == body && e.op.index == 0) mods.push_back({e.step, *e.results[0]->as<int32_t>()});
        }
    } notes;
    Inspected session = collatz(6);
    ASSERT_EQ(session.model().findGraph("body").index, 2);
    Inspected run = collatz(6);
    run.executor().setObserver(&notes);
    EXPECT_OK(run.executor().start());
    EXPECT_OK(run.executor().run());
    ASSERT_EQ(notes.mods.size(), 8U);
    for (int64_t tick = 0; !session.timeline().finished(); ++tick) {
        EXPECT_OK(session.timeline().goTo(tick));
        const int64_t step = session.timeline().position().step;
        int64_t last = -1, lastChange = -1, next = -1, nextChange = -1;
        for (size_t i = 0; i < notes.mods.size(); ++i) {
            const bool changed = i == 0 || notes.mods[i].value != notes.mods[i - 1].value;
            if (notes.mods[i].step < step) {
                last = notes.mods[i].step;
                if (changed) lastChange = last;
            } else {
                if (next < 0) next = notes.mods[i].step;
                if (nextChange < 0 && changed) nextChange = notes.mods[i].step;
            }
        }
        const auto at = [&](HistoryQuery query) {
            const Result<std::optional<ValueWrite>> write = findWrite(session.target(), {}, session.place("main/while#0:body/mod"), query);
            EXPECT_TRUE(write.ok());
            return write.ok() && *write ? (*write)->step : Step(-1);
        };
        EXPECT_EQ(at(HistoryQuery::lastWrite), last) << "step " << step;
        EXPECT_EQ(at(HistoryQuery::lastChange), lastChange) << "step " << step;
        EXPECT_EQ(at(HistoryQuery::nextWrite), next) << "step " << step;
        EXPECT_EQ(at(HistoryQuery::nextChange), nextChange) << "step " << step;
    }
}

TEST(ValueHistory, CollectsAValueOverTheIterations)
{
    Inspected session = collatz(27);
    session.goTo("main/while#0@36:body/if#2");
    const Result<ValueSeries> series = collectSeries(session.target(), {}, session.place("main/while#0@36:body/x"), std::nullopt);
    ASSERT_TRUE(series.ok()) << series.error().message();
    EXPECT_EQ(series->loop, "main/while#0");
    EXPECT_TRUE(series->complete);
    EXPECT_TRUE(series->isScalar);
    ASSERT_EQ(series->iterations, 111);
    ASSERT_EQ(series->numbers.size(), 111U);
    EXPECT_EQ(series->numbers[0], 27);
    EXPECT_EQ(series->numbers[77], 9232);
    EXPECT_EQ(series->numbers[110], 2);
    // Where a branch was not taken there is no number.
    const Result<ValueSeries> half = collectSeries(session.target(), {}, session.place("main/while#0@36:body/if#2:then/y"), std::nullopt);
    ASSERT_TRUE(half.ok());
    EXPECT_TRUE(std::isnan(half->numbers[0]));
    EXPECT_EQ(half->numbers[1], 41);
    // After the end it is the last execution.
    EXPECT_OK(session.timeline().goToEnd());
    const Result<ValueSeries> after = collectSeries(session.target(), {}, session.place("main/while#0:body/n"), "while#0");
    ASSERT_TRUE(after.ok()) << after.error().message();
    EXPECT_EQ(after->numbers[110], 110);
    // Outside of all loops the result of one is what its body gives; nothing else has a history there.
    const Result<ValueSeries> given = collectSeries(session.target(), {}, session.place("main/n"), std::nullopt);
    ASSERT_TRUE(given.ok()) << given.error().message();
    EXPECT_EQ(given->loop, "main/while#0");
    EXPECT_EQ(given->numbers[110], 111);
    const Result<ValueSeries> none = collectSeries(session.target(), {}, session.place("main/x"), std::nullopt);
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().message(), "the value is in no loop");
}

TEST(ValueHistory, KeepsStatisticsOfTensors)
{
    Inspected session(kDivisions, [](Subject& subject) {
        subject.add<int32_t>(Shape{}, {20});
        std::vector<float> table(700, 2);
        subject.add<float>(Shape{700}, table);
        subject.add<float>(Shape{2}, {1, 3});
    });
    const Result<ValueSeries> series = collectSeries(session.target(), {}, session.place("main/while#0:body/state"), std::nullopt);
    ASSERT_TRUE(series.ok()) << series.error().message();
    EXPECT_FALSE(series->isScalar);
    ASSERT_EQ(series->statistics.size(), 20U);
    EXPECT_EQ(series->statistics[19].max, 3);
    EXPECT_EQ(series->numbers[19], 2);
}

TEST(SeriesTail, KeepsCountAndShapeOfAnyNumberOfIterations)
{
    SeriesTail tail(100);
    EXPECT_EQ(tail.iterations(), 0);
    tail.reach(100);
    EXPECT_EQ(tail.iterations(), 1);
    EXPECT_EQ(tail.maxAt(), -1);
    for (int64_t i = 100; i < 10'100; ++i) tail.note(i, i == 5'000 ? std::nan("") : i == 7'000 ? 1e6 : static_cast<double>(i % 10) - 3);
    EXPECT_EQ(tail.iterations(), 10'000);
    EXPECT_EQ(tail.min(), -3);
    EXPECT_EQ(tail.max(), 1e6);
    EXPECT_EQ(tail.maxAt(), 7'000);
    EXPECT_EQ(tail.abnormalAt(), 5'000);
    EXPECT_EQ(tail.bucketLength(), 16) << "the least power of two with which 1,024 suffice";
    ASSERT_EQ(tail.greatest().size(), 625U);
    EXPECT_EQ(tail.greatest()[(7'000 - 100) / 16], 1e6);
    EXPECT_EQ(tail.greatest()[0], 6);
}

TEST(ValueHistory, StopsWhenItIsCancelled)
{
    Inspected session(kSum, [](Subject& subject) { subject.add<int32_t>(Shape{}, {200000}); });
    EXPECT_OK(session.timeline().goTo(3000));
    CancelFlag cancel;
    cancel.request();
    session.target().control.cancel = &cancel;
    const Result<std::optional<ValueWrite>> write = findWrite(session.target(), {}, session.place("main/m"), HistoryQuery::nextWrite);
    ASSERT_FALSE(write.ok());
    EXPECT_EQ(write.error().code(), ErrorCode::cancelled);
    EXPECT_EQ(session.timeline().tick(), 3000);
}

} // namespace
} // namespace loopscope::testing
