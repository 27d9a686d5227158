// Breakpoints in TensorFlow 1 graphs: nodes that are dead, Merges, frames.
#include "engine/debug/evaluate.h"
#include "tests/unit/debug/breakpoint_models.h"
#include "tests/unit/debug/v1_debugger.h"
#include "tests/unit/doc_tables.h"

namespace loopscope::testing {
namespace {

/// Where the line stops first, and how often altogether.
std::pair<std::string, int> stopsOf(std::string_view line)
{
    V1Debugger run(kV1Loop);
    const Result<int> number = setLine(run.breakpoints, line);
    EXPECT_TRUE(number.ok()) << line << ": " << (number.ok() ? "" : number.error().message());
    Result<StopReport> report = run.control.run();
    EXPECT_TRUE(report.ok());
    const std::string first = report->address;
    int count = 0;
    for (; report.ok() && report->has(StopCause::breakpoint); ++count) {
        if (report->position.finished) return {first, count + 1};
        report = run.control.resume(Direction::forward);
    }
    EXPECT_EQ(run.breakpoints.list()[0].hits, count) << line;
    return {first, count};
}

TEST(V1Breakpoints, frames_open_go_on_and_are_done)
{
    EXPECT_EQ(stopsOf("break frame foo"), std::pair(std::string("main/foo@0:frame/merge"), 1));
    EXPECT_EQ(stopsOf("break iter foo 3"), std::pair(std::string("main/foo@3:frame/merge"), 1));
    EXPECT_EQ(stopsOf("break iter foo >= 8").second, 3); // 8, 9, and 10, which ends the loop
    EXPECT_EQ(stopsOf("break frame-done foo").second, 1);
}

TEST(V1Breakpoints, dead_nodes_and_merges)
{
    EXPECT_EQ(stopsOf("break dead main/foo:frame/add").second, 1); // behind the last iteration
    EXPECT_EQ(stopsOf("break merge main/foo:frame/merge 0").second, 1);
    EXPECT_EQ(stopsOf("break merge main/foo:frame/merge 1").second, 10);
    EXPECT_EQ(stopsOf("break merge main/foo:frame/merge").second, 11);
    EXPECT_EQ(stopsOf("break main/foo@4:frame/less if merge == 4").second, 1);
    EXPECT_EQ(stopsOf("break write main/foo:frame/add if add > 7 and prev(add) < 9").second, 2); // 8 and 9
}

TEST(V1Breakpoints, values_that_were_not_computed_are_dead)
{
    V1Debugger run(kV1Loop);
    ASSERT_TRUE(setLine(run.breakpoints, "break dead main/foo:frame/add").ok());
    EXPECT_EQ(run.control.run()->address, "main/foo@10:frame/add");
    const auto values = evaluateList(run.target, {}, "%switch:1, %switch:1.dead, switch, iter");
    ASSERT_TRUE(values.ok()) << values.error().message();
    EXPECT_EQ((*values)[0].absence, Absence::dead);
    EXPECT_EQ(toString((*values)[1].value), "true");
    EXPECT_EQ(toString((*values)[2].value), "i32[] 10");
    EXPECT_EQ(toString((*values)[3].value), "10");
}

TEST(V1Breakpoints, every_example_of_the_page_can_be_set)
{
    const auto rows = tableBelow("docs/breakpoints.md", "TensorFlow 1 graphs");
    ASSERT_EQ(rows.size(), 6U);
    V1Debugger run(kV1Loop);
    for (const auto& row : rows) {
        const Result<int> number = setLine(run.breakpoints, row[1]);
        ASSERT_TRUE(number.ok()) << row[1] << ": " << number.error().message();
        const BreakpointInfo info = *run.breakpoints.get(*number);
        const Result<int> again = run.breakpoints.add(info.command, info.spec, {0});
        ASSERT_TRUE(again.ok()) << info.spec << ": " << again.error().message();
        EXPECT_EQ(run.breakpoints.get(*again)->spec, info.spec);
    }
    const Result<int> unknown = setLine(run.breakpoints, "break frame fou");
    EXPECT_EQ(unknown.ok() ? "" : unknown.error().message(), "no frame 'fou'; did you mean 'foo'?");
}

} // namespace
} // namespace loopscope::testing
