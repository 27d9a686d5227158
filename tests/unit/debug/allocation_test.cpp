// Conditions are evaluated at every hit: after the first evaluation they take no memory from the heap. The test counts
// them by counting_new.h.
#include "tests/unit/debug/counting_new.h"
#include "tests/unit/debug/scripted_source.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

TEST(ExpressionAllocation, NoneAfterTheFirstEvaluation)
{
    ScriptedSource run;
    fillExampleRun(run);
    for (const char* text : {"acc > 100", "acc % 3 == 2 and iter == 3", "prev(acc) + at(1, acc) < acc", "x[0, iter - 1, -1] == 0.1",
                             "x.shape != prev(x).shape", "changed(h[1])", "branch(if#3) == \"else\"",
                             "contains(text[0], \"no such long text in it\")", "matches(txt, \"er+or \\\\d\")", "max(abs(x)) > 1e4",
                             "median(x) > 3", "any(x[..., 0] > 5)", "nans(x) > 0", "ulp(y, ref(y)) > 4", "close(y, ref(y))"}) {
        auto expression = Expression::compile(text, run, ExpressionUse::condition);
        ASSERT_TRUE(expression.ok()) << text << ": " << expression.error().message();
        ASSERT_TRUE(expression->holds(run).ok()) << text;
        const size_t before = allocationCount();
        const bool ok = expression->holds(run).ok();
        const size_t after = allocationCount();
        EXPECT_TRUE(ok) << text;
        EXPECT_EQ(after - before, 0U) << text;
    }
    const size_t before = allocationCount();
    const auto error = Expression::compile("no_such_value", run, ExpressionUse::value);
    EXPECT_FALSE(error.ok());
    EXPECT_GT(allocationCount(), before) << "the count counts";
}

} // namespace
} // namespace loopscope
