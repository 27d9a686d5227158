#include "fixture.h"
#include "tracer/api/trace_diff.h"

#include <cmath>
#include <gmock/gmock.h>

namespace loopscope::test {
namespace {

TraceDiff diff(const Recording& a, const Recording& b, const DiffOptions& options = {})
{
    Result<TraceDiff> result = diffTraces(*a.reader, *b.reader, options);
    if (result.ok()) return *result;
    ADD_FAILURE() << result.error().message();
    return {};
}

DiffOptions exactly()
{
    DiffOptions options;
    options.tolerance = {};
    return options;
}

/// The first write whose numbers differ in two lists of facts.
const Fact* firstDifference(const std::vector<Fact>& a, const std::vector<Fact>& b)
{
    for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
        if (a[i].data != b[i].data) return &a[i];
    }
    return nullptr;
}

TEST(Diff, equalRunsAreEqual)
{
    const Recording a = record(optionsFor(tracePath("a.lstrace")), {{.outer = 2000}}),
                    b = record(optionsFor(tracePath("b.lstrace")), {{.outer = 2000}});
    const TraceDiff d = diff(a, b, exactly());
    EXPECT_TRUE(d.equal);
    EXPECT_EQ(d.compared, static_cast<int64_t>(a.facts.size())) << "skipped by digests or not, every write counts";
    EXPECT_GT(a.steps, 3 * 4096) << "long enough for digests";
}

TEST(Diff, findsTheFirstWriteThatDiffersBeforeAndAfterDigests)
{
    for (const int32_t from : {3, 1500}) {
        const Recording a = record(optionsFor(tracePath("a.lstrace")), {{.outer = 2000}});
        const Recording b = record(optionsFor(tracePath("b.lstrace")), {{.outer = 2000, .perturbFrom = from}});
        const TraceDiff d = diff(a, b);
        ASSERT_FALSE(d.equal);
        const Fact* expected = firstDifference(a.facts, b.facts);
        EXPECT_EQ(d.differences[0].address, expected->address);
        EXPECT_EQ(d.differences[0].step, expected->step);
        EXPECT_EQ(d.differences[0].kind, "value");
        EXPECT_EQ(*d.differences[0].maxAbs, 1);
        EXPECT_EQ(d.differences[0].a, cell(expected->data[0]));
    }
}

TEST(Diff, ofRunsInOneFile)
{
    const Recording r = record(optionsFor(tracePath()), {{}, {.perturbFrom = 4}});
    const TraceDiff d = diff(r, r);
    ASSERT_FALSE(d.equal);
    EXPECT_EQ(d.differences[0].address, firstDifference(r.factsOfRuns[0], r.factsOfRuns[1])->address);
    DiffOptions same;
    same.runA = same.runB = 2;
    EXPECT_TRUE(diff(r, r, same).equal);
}

TEST(Diff, listsAllDifferences)
{
    const Recording a = record(optionsFor(tracePath("a.lstrace"))), b = record(optionsFor(tracePath("b.lstrace")), {{.perturbFrom = 4}});
    int64_t expected = 0;
    for (size_t i = 0; i < a.facts.size(); ++i) expected += a.facts[i].data != b.facts[i].data ? 1 : 0;
    DiffOptions options;
    options.limit = 0;
    EXPECT_EQ(static_cast<int64_t>(diff(a, b, options).differences.size()), expected);
    options.limit = 3;
    EXPECT_EQ(diff(a, b, options).differences.size(), 3U);
}

TEST(Diff, namesOtherBranches)
{
    const Recording a = record(optionsFor(tracePath("a.lstrace"))), b = record(optionsFor(tracePath("b.lstrace")), {{.branchFlipAt = 7}});
    const TraceDiff d = diff(a, b);
    ASSERT_FALSE(d.equal);
    EXPECT_EQ(d.differences[0].kind, "branch");
    EXPECT_EQ(d.differences[0].address, "main/while#0@7:body/if#3");
    EXPECT_EQ(d.differences[0].a, "else");
    EXPECT_EQ(d.differences[0].b, "then");
}

TEST(Diff, namesOtherTrips)
{
    // The condition says something else first: that is the first difference when it is compared …
    const Recording a = record(optionsFor(tracePath("a.lstrace"))), b = record(optionsFor(tracePath("b.lstrace")), {{.extraInnerAt = 5}});
    const TraceDiff d = diff(a, b);
    ASSERT_FALSE(d.equal);
    EXPECT_EQ(d.differences[0].address, "main/while#0@5:body/while#4@1:cond/less#0:0");
    // … and the trips when the tolerance lets it pass.
    DiffOptions loose;
    loose.tolerance.close = Tolerance::Close{0, 1000};
    const TraceDiff trips = diff(a, b, loose);
    ASSERT_FALSE(trips.equal);
    EXPECT_EQ(trips.differences[0].kind, "trips");
    EXPECT_EQ(trips.differences[0].address, "main/while#0@5:body/while#4");
    EXPECT_EQ(trips.differences[0].a, "1 iterations");
    EXPECT_EQ(trips.differences[0].b, "2 iterations");
}

TEST(Diff, noticesThatOneRunEnded)
{
    const Recording a = record(optionsFor(tracePath("a.lstrace"))), b = record(optionsFor(tracePath("b.lstrace")), {{.stopAfterStep = 60}});
    const TraceDiff d = diff(a, b);
    ASSERT_FALSE(d.equal);
    EXPECT_EQ(d.differences[0].kind, "missing");
    EXPECT_EQ(d.differences[0].step, 61);
    EXPECT_EQ(d.differences[0].b, "ended (failed)");
}

TEST(Diff, comparesElementsWhereTheyAreStored)
{
    const auto all = [](const char* name) {
        RecorderOptions options = optionsFor(tracePath(name), TraceLevel::all);
        options.iterations = *parseIterations("all");
        return options;
    };
    const Recording a = record(all("a.lstrace")), b = record(all("b.lstrace"), {{.nanAt = 6}});
    const TraceDiff d = diff(a, b);
    ASSERT_FALSE(d.equal);
    EXPECT_EQ(d.differences[0].address, "main/while#0@6:body/split#5:1");
    EXPECT_EQ(d.differences[0].at, "[0]");
    EXPECT_TRUE(std::isinf(*d.differences[0].maxAbs)) << "a NaN against a number";
    EXPECT_FALSE(d.differences[0].fromStatistics);
    // The same from statistics alone.
    const Recording c = record(optionsFor(tracePath("c.lstrace"))), e = record(optionsFor(tracePath("e.lstrace")), {{.nanAt = 6}});
    const TraceDiff statistics = diff(c, e);
    ASSERT_FALSE(statistics.equal);
    EXPECT_EQ(statistics.differences[0].address, "main/while#0@6:body/split#5:1");
    EXPECT_TRUE(statistics.differences[0].fromStatistics);
}

TEST(Diff, toleratesWhatTheOptionsAllow)
{
    const Recording a = record(optionsFor(tracePath("a.lstrace"))), b = record(optionsFor(tracePath("b.lstrace")), {{.perturbFrom = 11}});
    DiffOptions options;
    options.tolerance.close = Tolerance::Close{0, 1.5};
    EXPECT_TRUE(diff(a, b, options).equal);
    options.tolerance.close = Tolerance::Close{0, 0.5};
    EXPECT_FALSE(diff(a, b, options).equal);
}

TEST(Diff, asksForElementsWhereACosineNeedsThem)
{
    const Recording a = record(optionsFor(tracePath("a.lstrace"))), b = record(optionsFor(tracePath("b.lstrace")), {{.nanAt = 6}});
    DiffOptions options;
    options.tolerance = {};
    options.tolerance.cosine = 0.9;
    const Result<TraceDiff> result = diffTraces(*a.reader, *b.reader, options);
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message(), testing::HasSubstr("a cosine needs stored elements"));
}

TEST(Diff, pairsByName)
{
    const Recording a = record(optionsFor(tracePath("a.lstrace")));
    Recording b = record(optionsFor(tracePath("b.lstrace")), {{.perturbFrom = 4}});
    // Another model: other labels, the same names.
    edit(b, "UPDATE op SET label = 'x' || label");
    DiffOptions options;
    EXPECT_FALSE(diffTraces(*a.reader, *b.reader, options).ok()) << "no operator in common";
    options.pairing = DiffPairing::name;
    const TraceDiff d = diff(a, b, options);
    ASSERT_FALSE(d.equal);
    EXPECT_EQ(d.differences[0].address, firstDifference(a.facts, b.facts)->address);
    EXPECT_EQ(d.unpaired, 0);
}

TEST(Diff, leavesGapsOut)
{
    RecorderOptions filtered = optionsFor(tracePath("b.lstrace"));
    filtered.except.push_back(*AddressPattern::parse(".../if#3"));
    const Recording a = record(optionsFor(tracePath("a.lstrace"))), b = record(std::move(filtered));
    EXPECT_TRUE(diff(a, b).equal);
}

TEST(Diff, refusesTracesWithoutValues)
{
    const Recording a = record(optionsFor(tracePath("a.lstrace"), TraceLevel::control)), b = record(optionsFor(tracePath("b.lstrace")));
    const Result<TraceDiff> result = diffTraces(*a.reader, *b.reader, {});
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message(), testing::HasSubstr("recorded at level control"));
    const Result<TraceDiff> single = diffTraces(*b.reader, *b.reader, {});
    ASSERT_FALSE(single.ok());
    EXPECT_THAT(single.error().message(), testing::HasSubstr("the trace holds one run, expected two"));
}

} // namespace
} // namespace loopscope::test
