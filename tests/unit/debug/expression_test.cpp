// The examples and errors of docs/expressions.md, value for value, and what else the page promises.
#include "tests/unit/debug/scripted_source.h"
#include "tests/unit/doc_tables.h"

#include <gtest/gtest.h>

namespace loopscope {
namespace {

constexpr const char* kPage = "docs/expressions.md";

struct ExampleRun : ScriptedSource {
    ExampleRun() { fillExampleRun(*this); }
};

TEST(ExpressionPage, ExamplesGiveWhatTheRunHolds)
{
    const std::map<std::string, std::string> expected = {
        {"acc", "i32[] 8"},
        {"acc > 100", "false"},
        {"any(isnan(x))", "false"},
        {"nans(x) > 0", "false"},
        {"not finite(x)", "false"},
        {"x[0, 1:3, -1]", "float[2] [3.0, 5.0]"},
        {"x[..., 0]", "float[2,3] [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]"},
        {"max(abs(x)) > 1e4", "false"},
        {"mean(x, axis=0)", "float[3,2] [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]"},
        {"argmax(probs) == 3", "true"},
        {"qx.q[0] == -128", "true"},
        {"sats(qx) / qx.size > 0.05", "true"},
        {"x.shape != prev(x).shape", "true"},
        {"changed(state)", "true"},
        {"max(abs(delta(h))) < 1e-6", "false"},
        {"iter == 613", "false"},
        {"iter % 100 == 0", "false"},
        {"iter(while#7) >= 10 and iter == 2", "false"},
        {"branch(if#3) == \"else\"", "true"},
        {"trip(while#7) > 1000", "true"},
        {"at(iter - 2, acc) + at(iter - 1, acc) == acc", "true"},
        {"{main/while#7@36/add#2:0} == acc", "true"},
        {"{../limit} - i < 2", "true"},
        {"ulp(y, ref(y)) > 4", "true"},
        {"not close(y, ref(y), rtol=1e-5, atol=1e-6)", "false"},
        {"contains(text[0], \"error\") or len(text[0]) == 0", "true"},
        {"%iter + %\"while/add_1;full\"", "76"},
        {"y.dead", "true"},
    };
    const auto rows = tableBelow(kPage, "Examples");
    ASSERT_EQ(rows.size(), 29U);
    ExampleRun run;
    for (const auto& row : rows) {
        if (row[0] == "qx.scale * (qx.q - qx.zero)") {
            EXPECT_EQ(evaluated(run, "all(" + row[0] + " == qx)"), "true");
            continue;
        }
        ASSERT_TRUE(expected.contains(row[0])) << row[0];
        EXPECT_EQ(evaluated(run, row[0]), expected.at(row[0])) << row[0];
    }
}

TEST(ExpressionPage, ErrorsAreWorded)
{
    const auto rows = tableBelow(kPage, "Errors");
    ASSERT_EQ(rows.size(), 6U);
    ExampleRun run;
    for (const auto& row : rows) {
        const auto compiled = Expression::compile(row[0], run, ExpressionUse::condition);
        ASSERT_FALSE(compiled.ok()) << row[0];
        EXPECT_EQ(compiled.error().message(), row[1]);
        EXPECT_EQ(compiled.error().code(), ErrorCode::usage);
    }
}

struct Case {
    const char* text;
    const char* expected;
};

class ExpressionCase : public testing::TestWithParam<Case> {};

TEST_P(ExpressionCase, GivesTheValue)
{
    ExampleRun run;
    EXPECT_EQ(evaluated(run, GetParam().text), GetParam().expected) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(Scalars, ExpressionCase,
                         testing::Values(Case{"1 + 2 * 3 ** 2", "19"}, Case{"-2 ** 2", "-4"}, Case{"2 ** -1", "0.5"}, Case{"7 / 2", "3.5"},
                                         Case{"6 / 2", "3.0"}, Case{"-7 // 2", "-4"}, Case{"-7 % 3", "2"}, Case{"7 % -3", "-2"},
                                         Case{"-7.5 // 2", "-4.0"}, Case{"-7.5 % 2", "0.5"}, Case{"1e3 == 1000", "true"},
                                         Case{"2 ** 53 + 1 == 2.0 ** 53", "false"}, Case{"9223372036854775807 + 0", "9223372036854775807"},
                                         Case{"9223372036854775807 + 1", "error: 1:21: 9223372036854775807 + 1 does not fit 64 bits"},
                                         Case{"1 // 0", "error: 1:3: integer division by zero"},
                                         Case{"9223372036854775808", "error: 1:1: 9223372036854775808 does not fit 64 bits"},
                                         Case{"1 % 0", "error: 1:3: integer division by zero"}, Case{"nan == nan", "false"},
                                         Case{"-inf < 0", "true"}, Case{"true and not false or false", "true"},
                                         Case{"\"abc\" < \"abd\"", "true"}, Case{"true + 1", "error: 1:6: cannot compute bool + int"},
                                         Case{"1 < 2 < 3", "error: 1:7: comparisons do not chain; write a < b and b < c"},
                                         Case{"round(2.5)", "2.0"}, Case{"abs(-3)", "3"}, Case{"clamp(7, 0, 5)", "5"},
                                         Case{"bits(f32(1))", "1065353216"}, Case{"i8(-3.7)", "-3"},
                                         Case{"i8(300)", "error: 1:1: 300 does not fit i8"}, Case{"step + hits + run + depth", "50"},
                                         Case{"iter(\"outer\")", "12"}, Case{"none == none", "false"}, Case{"none != 1", "false"},
                                         Case{"1 + none", "none"}, Case{"none or true", "true"}, Case{"not none", "none"}));

INSTANTIATE_TEST_SUITE_P(
    Tensors, ExpressionCase,
    testing::Values(Case{"v == 0.1", "bool[4] [false, false, true, false]"}, Case{"v[2] == 0.1", "true"}, Case{"max(v[:3])", "1.0"},
                    Case{"max(v)", "nan"}, Case{"nans(v)", "1"}, Case{"nans(v * 1)", "1"}, Case{"finite(v[1:3])", "true"},
                    Case{"count(isnan(v))", "1"}, Case{"x[flags]", "float[2] [0.0, 11.0]"}, Case{"x[x > 9]", "float[2] [10.0, 11.0]"},
                    Case{"x[::-1, 0, 0]", "float[2] [6.0, 0.0]"}, Case{"x[1, ..., ::2]", "float[3,1] [6.0, 8.0, 10.0]"},
                    Case{"x[5:, 0, 0]", "float[0] []"}, Case{"sum(x, axis=[0, -1])", "float[3] [14.0, 22.0, 30.0]"},
                    Case{"median(x)", "5.5"}, Case{"quantile(x, 0.25)", "2.75"}, Case{"std(state)", "1.0"}, Case{"norm([3, 4])", "5.0"},
                    Case{"argmin(x, axis=1)", "int[2,2] [0, 0, 0, 0]"}, Case{"state + [10, 20]", "int[2] [11, 23]"},
                    Case{"x.shape", "[2,3,2]"}, Case{"x.shape[-1] * x.rank", "6"}, Case{"x.shape == [2, 3, 2]", "true"},
                    Case{"x.dtype == f32 and x.dtype == \"f32\"", "true"}, Case{"qx.dtype", "i8"}, Case{"qx.q", "i8[4] [-128, 1, 127, 3]"},
                    Case{"qx.q + 1000", "int[4] [872, 1001, 1127, 1003]"}, Case{"qx.zero", "-1"}, Case{"x.bytes", "48"},
                    Case{"x.name", "\"x;full\""}, Case{"x.writer", "\"main/add#2\""}, Case{"step(x)", "12"}, Case{"a.b", "i32[] 4"},
                    Case{"a.b.rank", "0"}, Case{"while/add_1", "i32[] 6"}, Case{"%while/add_1.rank", "0"}, Case{"len(text)", "2"},
                    Case{"len(txt)", "8"}, Case{"matches(txt, \"^error \\\\d+$\")", "true"}, Case{"text == \"\"", "bool[2] [false, true]"},
                    Case{"startswith(text[0], \"an\")", "true"}, Case{"[1, 2.5]", "float[2] [1.0, 2.5]"},
                    Case{"x + v", "error: 1:3: shapes [2,3,2] and [4] do not broadcast"},
                    Case{"min(x[5:])", "error: 1:1: min of no elements"},
                    Case{"sum(x, axis=3)", "error: 1:1: axis 3 out of range for rank 3"}));

INSTANTIATE_TEST_SUITE_P(History, ExpressionCase,
                         testing::Values(Case{"prev(acc)", "i32[] 5"}, Case{"prev(acc, 3)", "i32[] 2"}, Case{"prev(acc, 4)", "none"},
                                         Case{"prev(acc + 1)", "6"}, Case{"first(acc)", "i32[] 2"}, Case{"prev(i) > 0", "false"},
                                         Case{"prev(i) + 1", "none"}, Case{"changed(i)", "true"}, Case{"changed(same_state)", "false"},
                                         Case{"changed(h[0])", "false"}, Case{"changed(h[1])", "true"},
                                         Case{"delta(h)", "float[2] [0.0, 0.5]"}, Case{"at(0, acc, while#7)", "i32[] 2"},
                                         Case{"at(-1, acc)", "none"}, Case{"maxdiff(y, ref(y)) < 1e-4", "true"},
                                         Case{"same(y, file(\"y.npy\"))", "true"}, Case{"cosine(y, 2 * y) > 0.999999", "true"},
                                         Case{"prev(prev(acc))", "error: 1:6: prev cannot stand inside prev( )"},
                                         Case{"prev(3)", "error: 1:6: prev needs a value of the model"},
                                         Case{"prev(acc, 0)", "error: 1:11: prev goes back by 1 or more"},
                                         Case{"ref(x)", "error: 1:1: ref(x): there is no reference run; use --against"}));

INSTANTIATE_TEST_SUITE_P(
    Errors, ExpressionCase,
    testing::Values(
        Case{"", "error: 1:1: the expression ends too early"}, Case{"x[", "error: 1:3: the expression ends too early"},
        Case{"x]", "error: 1:2: unexpected \"]\""}, Case{"x.shap", "error: 1:3: no accessor 'shap'; did you mean 'shape' or 'step'?"},
        Case{"prev(x).shap", "error: 1:9: no accessor 'shap'; did you mean 'shape' or 'step'?"},
        Case{"maxx(x)", "error: 1:1: no function 'maxx'; did you mean 'max'?"},
        Case{"max(x, y)", "error: 1:1: max takes 1 argument, found 2"}, Case{"max(x, rtol=1)", "error: 1:8: max takes no argument 'rtol'"},
        Case{"x[0,\n  7]", "error: 2:3: index 7 out of range for dimension 1 of size 3"},
        Case{"x[0, 0, 0, 0]", "error: 1:12: 4 indices for a value of rank 3"},
        Case{"x[::0]", "error: 1:5: the step of a slice cannot be 0"}, Case{"!true", "error: 1:1: ! is written 'not'"},
        Case{"acc = 3", "error: 1:5: = is written '=='"}, Case{"trip", "error: 1:1: trip needs an operator, as in trip(while#7)"},
        Case{"trip(while#9)", "error: 1:6: no loop 'while#9' here"}, Case{"\"abc", "error: 1:1: the string has no end"},
        Case{"x.q[0]", "error: 1:3: x has no stored integers, found f32[2,3,2]"},
        Case{"x > 0 and true", "error: 1:1: x > 0 gives bool[2,3,2]; and, or, not need one bool: any(...) or all(...)"},
        Case{"x.shape < x.shape", "error: 1:9: cannot order shape and shape; only == and != apply"},
        Case{"{main/while#7@x}", "error: 1:1: main/while#7@x: column 14: found 'x', expected a number"}));

TEST(Expression, ConditionsNeedOneBool)
{
    ExampleRun run;
    EXPECT_EQ(evaluated(run, "acc > 7", ExpressionUse::condition), "holds");
    EXPECT_EQ(evaluated(run, "flags[0, 0, :1]", ExpressionUse::condition), "holds");
    EXPECT_EQ(evaluated(run, "prev(i) == 9", ExpressionUse::condition), "does not hold");
    EXPECT_EQ(evaluated(run, "acc", ExpressionUse::condition), "error: 1:1: acc gives int; a condition needs one bool");
    EXPECT_EQ(evaluated(run, "flags[flags]", ExpressionUse::condition),
              "error: 1:1: flags[flags] gives bool[2]; a condition needs one bool: any(...) or all(...)");
}

TEST(Expression, IndexThatBecameInvalidIsAnError)
{
    ExampleRun run;
    auto expression = Expression::compile("v[iter] > 0", run, ExpressionUse::condition);
    ASSERT_TRUE(expression.ok());
    EXPECT_TRUE(expression->holds(run).ok());
    run.iter = 4;
    const auto late = expression->holds(run);
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().message(), "1:3: index 4 out of range for dimension 0 of size 4");
    run.iter = std::nullopt;
    const auto none = expression->holds(run);
    ASSERT_TRUE(none.ok());
    EXPECT_FALSE(*none);
}

TEST(Expression, CostIsThatOfTheDearestPart)
{
    const std::vector<std::pair<const char*, ExpressionCost>> cases = {{"acc > 3 and iter == 2", ExpressionCost::constant},
                                                                       {"x[0, 0, 0] > 1", ExpressionCost::constant},
                                                                       {"x.shape", ExpressionCost::constant},
                                                                       {"max(x) > 3", ExpressionCost::perWrite},
                                                                       {"nans(x)", ExpressionCost::perWrite},
                                                                       {"prev(acc) + max(x)", ExpressionCost::previousValue},
                                                                       {"prev(acc, 8)", ExpressionCost::previousValue},
                                                                       {"changed(acc)", ExpressionCost::previousValue},
                                                                       {"first(acc)", ExpressionCost::previousValue},
                                                                       {"prev(acc, 9)", ExpressionCost::farHistory},
                                                                       {"prev(acc, i)", ExpressionCost::farHistory},
                                                                       {"at(1, acc)", ExpressionCost::farHistory},
                                                                       {"{main/while#7@36/add#2:0}", ExpressionCost::farHistory},
                                                                       {"ref(y)", ExpressionCost::reference},
                                                                       {"file(\"y.npy\")", ExpressionCost::reference}};
    ExampleRun run;
    for (const auto& [text, cost] : cases) {
        const auto expression = Expression::compile(text, run, ExpressionUse::value);
        ASSERT_TRUE(expression.ok()) << text << expression.error().message();
        EXPECT_EQ(expressionCostName(expression->cost()), expressionCostName(cost)) << text;
    }
}

TEST(Expression, DependenciesNameValuesAndVersions)
{
    ExampleRun run;
    const uint32_t acc = run.findValue("acc")->handle, h = run.findValue("h")->handle;
    const auto expression = Expression::compile("acc + prev(acc, 2) + acc > 0 and changed(h)", run, ExpressionUse::condition);
    ASSERT_TRUE(expression.ok());
    const std::vector<ExpressionDependency> found(expression->dependencies().begin(), expression->dependencies().end());
    const std::vector<ExpressionDependency> wanted = {{acc, ExpressionHistory::current, 0},
                                                      {acc, ExpressionHistory::previous, 2},
                                                      {h, ExpressionHistory::current, 0},
                                                      {h, ExpressionHistory::changed, 0}};
    EXPECT_EQ(found, wanted);
}

TEST(Expression, ListsKeepPositionsOfTheWholeText)
{
    ExampleRun run;
    auto list = Expression::compileList("at(0, acc), prev(acc)", run);
    ASSERT_TRUE(list.ok());
    ASSERT_EQ(list->size(), 2U);
    EXPECT_EQ((*list)[1].text(), "prev(acc)");
    EXPECT_EQ(toString(**(*list)[1].evaluate(run)), "i32[] 5");
    const auto bad = Expression::compileList("acc, acd", run);
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().message(), "1:6: no value 'acd' here; did you mean 'acc'?");
}

TEST(Expression, PerChannelQuantizationBroadcastsAlongItsAxis)
{
    ScriptedSource run;
    auto quantization = std::make_shared<Quantization>(Quantization::perTensor(0.5F, 0));
    quantization->scales = {0.5F, 0.3F};
    quantization->zeroPoints = {0, 10};
    quantization->axis = 0;
    quantization->perChannel = true;
    run.add("w", {bytes({2, 2}, {1, 2, 3, 4})}, quantization);
    EXPECT_EQ(evaluated(run, "w.zero"), "int[2,1] [0, 10]");
    EXPECT_EQ(evaluated(run, "all(w.scale * (w.q - w.zero) == w)"), "true");
    EXPECT_EQ(evaluated(run, "w[0]"), "float[2] [0.5, 1.0]");
}

} // namespace
} // namespace loopscope
