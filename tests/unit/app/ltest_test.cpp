// The text-test runner itself: what passes, what fails and how it says so, and how replies are matched and renewed.
#include "app/check/ltest_run.h"

#include "engine/base/bytes.h"
#include "tests/scratch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loopscope::app {
namespace {

using testing::HasSubstr;

constexpr std::string_view kAdd = "== test t\n"
                                  "== model\n"
                                  "graph main(x: i32[2], y: i32[2]) {\n"
                                  "  z = add(x, y) : i32[2]\n"
                                  "  return z\n"
                                  "}\n";

CaseResult runText(const std::string& text)
{
    const auto file = parseLtest("t.ltest", text);
    if (!file.ok()) {
        CaseResult result;
        result.message = file.error().message();
        return result;
    }
    return runLtestCase(*file, file->cases.front(), nullptr);
}

CaseResult runAfterAdd(const std::string& sections) { return runText(std::string(kAdd) + sections); }

TEST(Ltest, a_right_expectation_passes)
{
    const CaseResult r = runAfterAdd("== run\nx = [1, 2]\ny = [3, 4]\n== expect exact\nz = [4, 6]\n");
    EXPECT_EQ(r.verdict, Verdict::pass) << r.message;
    EXPECT_EQ(r.id, "t.ltest:t");
}

TEST(Ltest, a_wrong_expectation_fails_and_says_what_differs)
{
    const CaseResult r = runAfterAdd("== run\nx = [1, 2]\ny = [3, 4]\n== expect exact\nz = [4, 7]\n");
    EXPECT_EQ(r.verdict, Verdict::fail);
    EXPECT_THAT(r.message, HasSubstr("line 10: z at [1]: got 6, want 7"));
    ASSERT_TRUE(r.worst.has_value());
    EXPECT_EQ(r.worst->gotValue, 6);
}

TEST(Ltest, an_expected_shape_counts)
{
    EXPECT_THAT(runAfterAdd("== run\nx = [1, 2]\ny = [3, 4]\n== expect\nz = i32[1,2] [4, 6]\n").message,
                HasSubstr("shape [2], want [1,2]"));
    EXPECT_THAT(runAfterAdd("== run\nx = [1, 2]\ny = [3, 4]\n== expect\nz = [4, 6, 8]\n").message, HasSubstr("found 3 elements"));
}

TEST(Ltest, an_unexpected_error_fails)
{
    const CaseResult r = runAfterAdd("== run max_steps=0\nx = [1, 2]\ny = [3, 4]\n== expect\nz = [4, 6]\n");
    EXPECT_EQ(r.verdict, Verdict::fail);
    EXPECT_THAT(r.message, HasSubstr("budget"));
}

TEST(Ltest, an_expected_error_must_come_and_match)
{
    EXPECT_EQ(runAfterAdd("== run max_steps=0\nx = [1, 2]\ny = [3, 4]\n== error run\nstep budget\n").verdict, Verdict::pass);
    EXPECT_THAT(runAfterAdd("== run max_steps=0\nx = [1, 2]\ny = [3, 4]\n== error run\nno such words\n").message,
                HasSubstr("want 'no such words' in it"));
    EXPECT_THAT(runAfterAdd("== run\nx = [1, 2]\ny = [3, 4]\n== error run\nanything\n").message, HasSubstr("no error, want one in run"));
    EXPECT_THAT(runAfterAdd("== run max_steps=0\nx = [1, 2]\ny = [3, 4]\n== error prepare\nstep budget\n").message,
                HasSubstr("failed in run, want prepare"));
}

TEST(Ltest, later_runs_have_their_own_options_and_the_same_state)
{
    const std::string text =
        "== test t\n== model\ngraph main(x: f32[]) {\n  h = var_handle() container=\"\" shared_name=\"v\" : resource[]\n"
        "  assign_variable(h, x)\n  return x\n}\ngraph read() {\n  h = var_handle() container=\"\" shared_name=\"v\" : resource[]\n"
        "  y = read_variable(h) : f32[]\n  return y\n}\n== run\nx = 3\n== run max_steps=0\nx = 4\n== error run\nbudget\n";
    EXPECT_EQ(runText(text).verdict, Verdict::pass) << runText(text).message;
    const std::string signatures = "== test t\n== model\nlsir 1\nmodel tfl\nsignature \"write\" @main(\"x\"=x) -> (\"x\"=x)\nsignature "
                                   "\"read\" @read() -> (\"y\"=y)\n\n" +
                                   text.substr(text.find("graph main"), text.find("== run") - text.find("graph main")) +
                                   "== run signature=write\nx = 3\n== run signature=read max_steps=100\n== expect\ny = 3\n";
    EXPECT_EQ(runText(signatures).verdict, Verdict::pass) << runText(signatures).message;
}

TEST(Ltest, parse_errors_have_line_and_column)
{
    const std::string text = "== test t\n== model\ngraph main(x: i32[2]) {\n  z = neg(q) : i32[2]\n  return z\n}\n== error parse\n";
    EXPECT_EQ(runText(text + "4:11: no value 'q'\n").verdict, Verdict::pass) << runText(text + "4:11: no value 'q'\n").message;
    EXPECT_EQ(runText(text + "2:11: no value 'q'\n").verdict, Verdict::fail); // lines count from the file's top
}

TEST(Ltest, print_and_infer)
{
    const CaseResult r =
        runAfterAdd("== print\n...\ngraph main(x: i32[2], y: {{i\\d+}}[2]) {\n  z = add(x, y) ...\n...\n== infer\nz : i32[2]\n");
    EXPECT_EQ(r.verdict, Verdict::pass) << r.message;
    EXPECT_EQ(runAfterAdd("== infer\nz : i32[3]\n").verdict, Verdict::fail);
    EXPECT_EQ(runAfterAdd("== print\nnothing like it\n").verdict, Verdict::fail);
}

TEST(Ltest, a_trace_can_be_queried)
{
    const std::string run = "== run\nx = [1, 2]\ny = [3, 4]\n== trace level=statistics\n== sql\nSELECT op, min, max FROM writes\n--\n";
    EXPECT_EQ(runAfterAdd(run + "add#0|4|6\n").verdict, Verdict::pass) << runAfterAdd(run + "add#0|4|6\n").message;
    EXPECT_EQ(runAfterAdd(run + "add#0|4|7\n").verdict, Verdict::fail);
}

TEST(Ltest, a_random_input_repeats)
{
    const std::string text =
        "== test t\n== model\ngraph main(x: f32[4], y: f32[4]) {\n  z = sub(x, y) : f32[4]\n  return z\n}\n== run\nx = seed 7 [-1, 1]\n"
        "y = seed 7 [-1, 1]\n== expect\nz = splat 0.0\n";
    EXPECT_EQ(runText(text).verdict, Verdict::pass) << runText(text).message;
}

TEST(Ltest, sections_that_are_not_built_are_unsupported)
{
    EXPECT_EQ(runText("== test t requires=vulkan\n== model\n").verdict, Verdict::unsupported);
}

TEST(Ltest, sessions_compare_replies)
{
    EXPECT_EQ(runAfterAdd("== session\n> stpe\nerror: unknown command 'stpe'; did you mean ...\n").verdict, Verdict::pass);
    const CaseResult wrong = runAfterAdd("== session\n> info breakpoints\nno breakpoint\n");
    EXPECT_EQ(wrong.verdict, Verdict::fail);
    EXPECT_THAT(wrong.message, HasSubstr("'> info breakpoints': line 1: got 'no breakpoints', want 'no breakpoint'"));
    EXPECT_EQ(runAfterAdd("== session\nrun\n").verdict, Verdict::error) << "a session without a command";
    EXPECT_EQ(runAfterAdd("== session steps=3\n> run\n").verdict, Verdict::error) << "an unknown option";
}

TEST(Ltest, malformed_files_are_errors)
{
    EXPECT_THAT(parseLtest("t", "words\n").error().message(), HasSubstr("t:1: text before"));
    EXPECT_THAT(parseLtest("t", "== test a\n== modell\n").error().message(), HasSubstr("unknown section 'modell'; did you mean 'model'?"));
    EXPECT_THAT(parseLtest("t", "== test a\n== test a\n").error().message(), HasSubstr("t:2: test 'a' is already there"));
    EXPECT_FALSE(parseLtest("t", "== model\n").ok());
    EXPECT_EQ(runText("== test t\n").verdict, Verdict::error);
    EXPECT_EQ(runText("== test t\n== run\n").verdict, Verdict::error);
    EXPECT_EQ(runAfterAdd("== run\nx = [1, 2]\n== expect\nz = [1, 2]\n").verdict, Verdict::error); // y is missing
    EXPECT_EQ(runAfterAdd("== run\nx = [1, 2]\ny = [3, 4]\n== expect\nq = [1, 2]\n").verdict, Verdict::error);
}

TEST(Match, blanks_dots_patterns_and_captures)
{
    EXPECT_EQ(matchReply({"a  b ", "c"}, {"a b", "c"}), "");
    EXPECT_EQ(matchReply({"a", "...", "d"}, {"a", "b", "c", "d"}), "");
    EXPECT_EQ(matchReply({"...", "d"}, {"d"}), "");
    EXPECT_EQ(matchReply({"x ... z"}, {"x y y z"}), "");
    EXPECT_EQ(matchReply({"step {{1:\\d+}}", "again {{1}}"}, {"step 42", "again 42"}), "");
    EXPECT_NE(matchReply({"step {{1:\\d+}}", "again {{1}}"}, {"step 42", "again 43"}), "");
    EXPECT_NE(matchReply({"a.c"}, {"abc"}), ""); // signs stand for themselves
    EXPECT_THAT(matchReply({"a", "b"}, {"a", "x"}), HasSubstr("line 2: got 'x', want 'b'"));
    EXPECT_THAT(matchReply({"a"}, {"a", "b"}), HasSubstr("got 'b', want no more lines"));
    EXPECT_THAT(matchReply({"a", "b"}, {"a"}), HasSubstr("got no more lines, want 'b'"));
    EXPECT_THAT(matchReply({"{{(}}"}, {"a"}), HasSubstr("bad {{pattern}}"));
}

TEST(Update, rewrites_replies_and_nothing_else)
{
    const ScratchFolder folder;
    const std::string path = folder.path("update.ltest");
    const std::string before = "# a comment\n" + std::string(kAdd) +
                               "== run\nx = [1, 2]\ny = [3, 4]\n== trace\n== sql\nSELECT op, max FROM writes\n--\nwrong\n\n"
                               "== expect\nz = [0, 0]\n";
    ASSERT_TRUE(writeFile(path, before, true).ok());
    const auto changed = updateLtest(path);
    ASSERT_TRUE(changed.ok()) << changed.error().message();
    EXPECT_EQ(*changed, 1);
    const auto content = mapFile(path);
    ASSERT_TRUE(content.ok());
    const std::string after(content->as<char>(), content->size());
    std::string want = before;
    want.replace(want.find("wrong"), 5, "add#0|6");
    EXPECT_EQ(after, want); // the wrong expectation stays
}

TEST(Ltest, a_pattern_takes_lines_of_any_length)
{
    const std::string line(4'000'000, 'a'); // a backtracking matcher runs out of stack
    EXPECT_EQ(matchReply({"{{(a|aa)*}}"}, {line}), "");
    EXPECT_NE(matchReply({"{{(a|aa)*}}b"}, {line}), "");
    EXPECT_FALSE(occursIn("{{(a|aa)+}}b", line));
    EXPECT_NE(matchReply({"{{(}}"}, {line}).find("bad {{pattern}}"), std::string::npos);
}

} // namespace
} // namespace loopscope::app
