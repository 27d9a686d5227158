// Recipes about what a plain recording does not hold: TensorFlow's dead tokens and frames, multiply-adds, saturation. Their rows
// are added to a recording by hand, and the answers follow from these rows.
#include "fixture.h"

#include <cmath>

namespace loopscope::test {
namespace {

using Lines = std::vector<std::string>;

TEST(RecipesOfRows, deadNodes)
{
    Recording r = record(optionsFor(tracePath()));
    // Two nodes in a frame of three iterations: one dead in iterations 1 and 2, one always.
    edit(r, "INSERT INTO run SELECT 2, model, 8192, 8192, 8197, NULL, NULL, 'record', 'complete', 1, 'all', 'cpu', 'reference', NULL, "
            "NULL, started, 1, NULL FROM run;"
            "INSERT INTO op VALUES (101, 1, 90, 'Sub', 'Sub', 'tf.Sub', '{}', NULL, NULL, NULL), (102, 1, 91, 'Exit', 'Exit', 'tf.Exit', "
            "'{}', NULL, NULL, NULL);"
            "INSERT INTO call VALUES (50, NULL, 'main', 1, NULL, NULL), (51, NULL, 'frame', 1, NULL, 'while/ctx');"
            "INSERT INTO invocation VALUES (1001, 2, NULL, 50, NULL, 8192, 6, 1), (1002, 2, 1001, 51, 0, 8192, 2, 1), (1003, 2, 1001, 51, "
            "1, 8194, 2, 1), "
            "(1004, 2, 1001, 51, 2, 8196, 2, 1);"
            "INSERT INTO event(id, invocation, op, state) VALUES (8192, 1002, 101, NULL), (8193, 1002, 102, 1), (8194, 1003, 101, 1), "
            "(8195, 1003, 102, 1), "
            "(8196, 1004, 101, 1), (8197, 1004, 102, 1)");
    EXPECT_EQ(r.recipe("dead-nodes", {{"run", "2"}}), (Lines{"Exit|3|3", "Sub|2|3"}));
    EXPECT_EQ(r.recipe("dead-always", {{"run", "2"}}), Lines{"Exit|3"});
    EXPECT_EQ(r.recipe("dead-per-iteration", {{"run", "2"}}), (Lines{"while/ctx|0|1|2", "while/ctx|1|2|2", "while/ctx|2|2|2"}));
    EXPECT_EQ(r.rows("SELECT path FROM path WHERE id = 1003"), Lines{"main/while/ctx@1:frame"});
    EXPECT_EQ(r.recipe("loop-trips", {{"run", "2"}}), Lines{"while/ctx|main|2|6"});
}

TEST(RecipesOfRows, multiplyAdds)
{
    Recording r = record(optionsFor(tracePath()), {{.outer = 4}});
    edit(r, "UPDATE op SET macs = 5000 WHERE label = 'split#5'");
    int64_t ns = 0, times = 0;
    for (const Fact& fact : r.facts) {
        if (fact.op != "split#5" || fact.slot != 0) continue;
        ns += fact.ns;
        ++times;
    }
    const double rate = std::round(static_cast<double>(times * 5000) / static_cast<double>(ns) * 1000) / 1000;
    EXPECT_EQ(r.recipe("macs-per-second"), Lines{"split#5|4|20000|" + cell(rate)});
}

TEST(RecipesOfRows, saturation)
{
    Recording r = record(optionsFor(tracePath()), {{.outer = 3}});
    edit(r, "INSERT INTO abnormal SELECT event, slot, 0, 0, 0, 0, iteration + 1, -1 FROM writes WHERE value = 'low'");
    EXPECT_EQ(r.recipe("saturated"), Lines{"outer_body|low|6|3"});
}

TEST(RecipesOfRows, loopsThatComeBack)
{
    // A loop whose accumulator alternates; its counter is taken out of the carried values.
    Recording r = record(optionsFor(tracePath()), {{.outer = 8}});
    edit(r, "DELETE FROM carry WHERE slot <> 1; UPDATE event SET lo = (SELECT CASE WHEN i.iteration >= 3 THEN i.iteration % 2 ELSE "
            "-i.iteration END FROM invocation i "
            "WHERE i.id = event.invocation) WHERE op = (SELECT id FROM op WHERE label = 'if#3')");
    // States: 0 -1 -2 1 0 1 0 1: iteration 4 has the state of iteration 0 again.
    EXPECT_EQ(r.recipe("loop-repeats", {{"op", "while#0"}}), Lines{"0|4"});
}

} // namespace
} // namespace loopscope::test
