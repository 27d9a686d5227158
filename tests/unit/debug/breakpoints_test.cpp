// Breakpoints: what each kind stops at, how they are written, and what their conditions may say.
#include "tests/unit/debug/breakpoint_models.h"
#include "tests/unit/doc_tables.h"
#include "tests/unit/exec/model_builder.h"

#include <cmath>

namespace loopscope::testing {
namespace {

/// Always the same values, but for one element.
class FixedReference final : public ReferenceValues {
public:
    Result<const Tensor*> valueFor(const Executor& executor, int, ValueId) override
    {
        if (executor.frame(-1).graph != GraphId(0)) return nullptr;
        m_tensor.data = reinterpret_cast<std::byte*>(m_values.data());
        m_tensor.bytes = sizeof m_values;
        m_tensor.dtype = DType::f32;
        m_tensor.shape = Shape{1, 2, 2, 1};
        return &m_tensor;
    }

private:
    std::array<float, 4> m_values = {1, 0, 0, 300};
    Tensor m_tensor;
};

TEST(Breakpoints, every_example_of_the_page_can_be_set_and_is_written_the_same_again)
{
    const auto rows = tableBelow("docs/breakpoints.md", "Kinds");
    ASSERT_GE(rows.size(), 35U);
    const Subject subject = examples(27);
    DebuggerFixture run(subject);
    FixedReference reference;
    run.breakpoints.setReference(&reference);
    for (const auto& row : rows) {
        ASSERT_EQ(row.size(), 3U) << row[0];
        const Result<int> number = setLine(run.breakpoints, row[1]);
        ASSERT_TRUE(number.ok()) << row[1] << ": " << number.error().message();
        const Result<BreakpointInfo> info = run.breakpoints.get(*number);
        ASSERT_TRUE(info.ok());
        const Result<int> again = run.breakpoints.add(info->command, info->spec, {0});
        ASSERT_TRUE(again.ok()) << info->spec << ": " << again.error().message();
        EXPECT_EQ(run.breakpoints.get(*again)->spec, info->spec);
        EXPECT_EQ(run.breakpoints.get(*again)->place, info->place);
    }
    // The whole set, saved, loaded and saved again.
    const std::string saved = run.breakpoints.save();
    DebuggerFixture other(subject);
    other.breakpoints.setReference(&reference);
    EXPECT_OK(other.breakpoints.load(saved));
    EXPECT_EQ(other.breakpoints.save(), saved);
    for (const BreakpointInfo& info : other.breakpoints.list()) EXPECT_EQ(info.disabledBecause, "") << info.spec;
}

/// Where `line` stops first, and then again, and backwards from the end.
struct Stops {
    std::string first, second, last;
};
Stops stopsOf(const Subject& subject, std::string_view line)
{
    DebuggerFixture run(subject);
    FixedReference reference;
    run.breakpoints.setReference(&reference);
    const Result<int> number = setLine(run.breakpoints, line);
    EXPECT_TRUE(number.ok()) << line << ": " << (number.ok() ? "" : number.error().message());
    Stops stops;
    const auto words = [](const Result<StopReport>& report) { return text(report); };
    stops.first = words(run.control.run());
    if (!run.timeline.finished()) stops.second = words(run.control.resume(Direction::forward));
    EXPECT_TRUE(run.control.goToEnd().ok());
    stops.last = words(run.control.resume(Direction::backward));
    return stops;
}

TEST(Breakpoints, places_stop_before_the_operator)
{
    const Subject subject = examples(27);
    Stops stops = stopsOf(subject, "break main/while#0@37/add#3");
    EXPECT_EQ(stops.first, "main/while#0@37:body/add#3, step 281: breakpoint 1");
    EXPECT_EQ(stops.second, "main, step 826: finished");
    EXPECT_EQ(stops.last, stops.first);
    stops = stopsOf(subject, "break .../add#*");
    EXPECT_EQ(stops.first, "main/while#0@0:body/if#2:else/add#1, step 4: breakpoint 1");
    EXPECT_EQ(stops.second, "main/while#0@0:body/add#3, step 6: breakpoint 1");
    stops = stopsOf(subject, "break main/while#0@5");
    EXPECT_EQ(stops.first, "main/while#0@5:body/floor_mod#0, step 38: breakpoint 1");
    EXPECT_EQ(stops.second, "main, step 826: finished");
    stops = stopsOf(subject, "break type conv_2d");
    EXPECT_EQ(stops.first, "main/conv_2d#1, step 820: breakpoint 1");
    stops = stopsOf(subject, "break graph triple hits 2");
    EXPECT_EQ(stops.first, "main/while#0@2:body/if#2:else/mul#0, step 18: breakpoint 1");
    EXPECT_EQ(stops.last, stops.first);
    stops = stopsOf(subject, "break step:276");
    EXPECT_EQ(stops.first, "main/while#0@37:body/floor_mod#0, step 276: breakpoint 1");
    stops = stopsOf(subject, "break steps 1e2");
    EXPECT_EQ(stops.first.substr(stops.first.find(", ")), ", step 100: budget: 100 steps");
}

TEST(Breakpoints, loops_and_branches)
{
    const Subject subject = examples(27);
    Stops stops = stopsOf(subject, "break iter while#0 37");
    EXPECT_EQ(stops.first, "main/while#0@37:cond/not_equal#0, step 275: breakpoint 1");
    EXPECT_EQ(stops.last, stops.first);
    stops = stopsOf(subject, "break iter while#0 %100");
    EXPECT_EQ(stops.first, "main/while#0@0:cond/not_equal#0, step 0: breakpoint 1");
    EXPECT_EQ(stops.second.substr(0, 17), "main/while#0@100:");
    stops = stopsOf(subject, "break iter while#0 >= 110");
    EXPECT_EQ(stops.first.substr(0, 17), "main/while#0@110:");
    EXPECT_EQ(stops.second.substr(0, 17), "main/while#0@111:"); // cond ends the loop there
    stops = stopsOf(subject, "break iter while#0 last");
    EXPECT_EQ(stops.first, "main, step 826: finished"); // not known before
    EXPECT_EQ(stops.last.substr(0, 17), "main/while#0@110:");
    stops = stopsOf(subject, "break exit while#0");
    EXPECT_EQ(stops.first, "main/conv_2d#1, step 820: breakpoint 1");
    EXPECT_EQ(stops.last, stops.first);
    stops = stopsOf(subject, "break trips while#0 > 100");
    EXPECT_EQ(stops.first.substr(0, 17), "main/while#0@101:");
    EXPECT_EQ(stops.second, "main, step 826: finished");
    stops = stopsOf(subject, "break branch .../if#2 then"); // 27 is odd, 82 is even
    EXPECT_EQ(stops.first, "main/while#0@1:body/if#2, step 11: breakpoint 1");
    stops = stopsOf(subject, "break branch .../if#2 changed hits 2"); // 27 82 41: then at 1, else at 2
    EXPECT_EQ(stops.first, "main/while#0@2:body/if#2, step 18: breakpoint 1");
}

TEST(Breakpoints, a_loop_is_also_found_from_inside)
{
    const Subject subject = examples(27);
    DebuggerFixture run(subject);
    ASSERT_TRUE(run.control.start().ok());
    ASSERT_TRUE(run.control.goTo(run.place("main/while#0@3:body/if#2:then/floor_div#0")).ok());
    const Result<int> number = run.breakpoints.add(BreakpointCommand::breakpoint, "iter while#0 %10", {});
    ASSERT_TRUE(number.ok()) << number.error().message();
    EXPECT_EQ(run.breakpoints.get(*number)->place, "main/while#0@all%10");
    EXPECT_EQ(text(run.control.resume(Direction::forward)), "main/while#0@10:cond/not_equal#0, step 75: breakpoint 1");
}

TEST(Breakpoints, contents_stop_after_the_write)
{
    const Subject subject = examples(27, {1, -2, 0, 300});
    EXPECT_EQ(stopsOf(subject, "break write relu").first, "main/quantize#3, step 822: breakpoint 1 (relu)");
    EXPECT_EQ(stopsOf(subject, "break zeros relu >= 50%").first, "main/quantize#3, step 822: breakpoint 1 (relu)");
    EXPECT_EQ(stopsOf(subject, "break zeros relu > 50%").first, "main, step 826: finished");
    EXPECT_EQ(stopsOf(subject, "break range relu -1 300").first, "main, step 826: finished");
    EXPECT_EQ(stopsOf(subject, "break range relu -1 299").first, "main/quantize#3, step 822: breakpoint 1 (relu)");
    EXPECT_EQ(stopsOf(subject, "break saturated q >= 1").first, "main/var_handle#4, step 823: breakpoint 1 (q)");
    EXPECT_EQ(stopsOf(subject, "break nan").first, "main, step 826: finished");
    EXPECT_EQ(stopsOf(subject, "break differs relu").first, "main, step 826: finished");

    const Subject abnormal = examples(27, {NAN, 1e-39F, 0, INFINITY});
    EXPECT_EQ(stopsOf(abnormal, "break nan").first, "main/relu#2, step 821: NaN (conv)");
    EXPECT_EQ(stopsOf(abnormal, "break nan born").first, "main, step 826: finished"); // the image holds it
    EXPECT_EQ(stopsOf(abnormal, "break inf relu").first, "main/quantize#3, step 822: breakpoint 1 (relu)");
    EXPECT_EQ(stopsOf(abnormal, "break denormal").first, "main/quantize#3, step 822: breakpoint 1 (relu)");
    EXPECT_EQ(stopsOf(abnormal, "break differs relu").first.substr(0, 51), "main/quantize#3, step 822: differs from reference: ");
    EXPECT_EQ(stopsOf(abnormal, "break overflow").first, "main, step 826: finished");

    const Subject large = examples(1'431'655'765); // three times that, plus one, is 2^32: 0 in i32, which is never 1
    EXPECT_EQ(stopsOf(large, "break overflow once").first, "main/while#0@0:body/if#2:else/add#1, step 4: breakpoint 1 (mul)");
}

TEST(Breakpoints, watches_compare_with_the_write_before)
{
    const Subject subject = examples(27);
    Stops stops = stopsOf(subject, "watch .../mod"); // 1 0 1 0 0
    EXPECT_EQ(stops.first, "main/while#0@0:body/equal#1, step 2: watch 1 (mod)");
    EXPECT_EQ(stops.second, "main/while#0@1:body/equal#1, step 10: watch 1 (mod)");
    EXPECT_EQ(stopsOf(subject, "break unchanged .../mod").first, "main/while#0@4:body/equal#1, step 32: breakpoint 1 (mod)");
    EXPECT_EQ(stopsOf(subject, "watch main/while#0:body/arg1 hits 3").first, "main/while#0@2:body/floor_mod#0, step 16: watch 1 (arg1)");
    EXPECT_EQ(stopsOf(subject, "watch var:count").first, "main/read_variable#6, step 825: watch 1 (var:count)");
    EXPECT_EQ(stopsOf(subject, "rwatch var:count").first, "main, step 826: watch 1 (var:count); finished");
    EXPECT_EQ(stopsOf(subject, "awatch .../even").second, "main/while#0@0:body/add#3, step 6: watch 1 (even)");
    EXPECT_EQ(stopsOf(subject, "break shape .../next").first, "main, step 826: finished");
}

TEST(Breakpoints, conditions_read_values_history_and_positions)
{
    const Subject subject = examples(27);
    Stops stops = stopsOf(subject, "break .../if#2 if arg1 == 593");
    EXPECT_EQ(stops.first, "main/while#0@37:body/if#2, step 278: breakpoint 1");
    EXPECT_EQ(stops.last, stops.first);
    stops = stopsOf(subject, "break .../add#3 if next > 9000 and prev(next) < next");
    EXPECT_EQ(stops.first, "main/while#0@76:body/add#3, step 570: breakpoint 1"); // 9232 is the largest, at 77
    EXPECT_EQ(stops.last, stops.first);
    stops = stopsOf(subject, "break write .../next if prev(next, 3) == 3077 hits 1");
    EXPECT_EQ(stops.first, "main/while#0@78:body/add#3, step 584: breakpoint 1 (next)"); // 3077 9232 4616 2308
    EXPECT_EQ(stops.last, stops.first);
    EXPECT_EQ(stopsOf(subject, "break .../if#2 if hits == 5").first, "main/while#0@4:body/if#2, step 33: breakpoint 1");
    EXPECT_EQ(stopsOf(subject, "break .../mul#0 if {../even} == false and iter(while#0) > 30 once").first,
              "main/while#0@31:body/if#2:else/mul#0, step 233: breakpoint 1");
    EXPECT_EQ(stopsOf(subject, "break conv_2d#1 if trip(while#0) == 111").first, "main/conv_2d#1, step 820: breakpoint 1");
    EXPECT_EQ(stopsOf(subject, "break when arg1 * 2 > 10000").first, "main/while#0@67:cond/not_equal#0, step 498: breakpoint 1");
    EXPECT_EQ(stopsOf(subject, "break .../if#2 if first(arg1) == 27 and changed(mod) and iter > 2 in main/while#0@10..20").first,
              "main/while#0@10:body/if#2, step 78: breakpoint 1");
}

TEST(Breakpoints, a_condition_that_fails_stops_with_the_reason_and_disables_itself)
{
    const Subject subject = examples(27);
    DebuggerFixture run(subject);
    ASSERT_TRUE(setLine(run.breakpoints, "break .../if#2 if arg1 / (3 - iter) > -1000000 and 1 // (3 - iter) > 5").ok());
    EXPECT_EQ(text(run.control.run()), "main/while#0@3:body/if#2, step 26: breakpoint 1: 1:36: integer division by zero; disabled");
    EXPECT_EQ(run.breakpoints.list()[0].disabledBecause, "1:36: integer division by zero");
    EXPECT_EQ(text(run.control.resume(Direction::forward)), "main, step 826: finished");
}

TEST(Breakpoints, past_values_are_those_of_the_edited_course)
{
    const Subject subject = examples(27);
    DebuggerFixture run(subject);
    ASSERT_TRUE(setLine(run.breakpoints, "break main/while#0:body/add#3 if prev(next) == 1000").ok());
    ASSERT_TRUE(run.control.start().ok());
    ASSERT_TRUE(run.control.goTo(run.place("main/while#0@5:body/add#3")).ok());
    std::vector<int32_t> thousand = {1000};
    const ValueId next = subject.model->graph(run.executor->frame(-1).graph).findValue("next");
    ASSERT_TRUE(run.control.edit(1, next, tensorOver(thousand, Shape{})).ok());
    const std::string stop = "main/while#0@6:body/add#3";
    EXPECT_EQ(run.control.resume(Direction::forward)->address, stop);
    ASSERT_TRUE(run.control.goTo(run.place("main/while#0@8:body/add#3")).ok());
    EXPECT_EQ(run.control.resume(Direction::backward)->address, stop); // kept values are made again across the edit
    ASSERT_TRUE(run.control.switchTo(1).ok());
    EXPECT_TRUE(run.control.resume(Direction::forward)->position.finished);
}

TEST(Breakpoints, log_points_print_and_go_on)
{
    const Subject subject = examples(6);
    DebuggerFixture run(subject);
    ASSERT_TRUE(setLine(run.breakpoints, "log .../if#2 if iter < 2 \"at $(iter): $(arg1), hit $(hits)\"").ok());
    const Result<StopReport> report = run.control.run();
    ASSERT_TRUE(report.ok());
    ASSERT_EQ(report->logs.size(), 2U);
    EXPECT_EQ(report->logs[0].text, "at 0: 6, hit 1");
    EXPECT_EQ(report->logs[1].text, "at 1: 3, hit 2");
    EXPECT_EQ(report->logs[1].address, "main/while#0@1:body/if#2");
}

TEST(Breakpoints, errors_name_what_is_near)
{
    const Subject subject = examples(6);
    DebuggerFixture run(subject);
    const auto refused = [&](std::string_view line) {
        const Result<int> number = setLine(run.breakpoints, line);
        return number.ok() ? "set" : number.error().message();
    };
    EXPECT_EQ(refused("break rellu"), "no operator or value 'rellu' in main; did you mean 'relu'?");
    EXPECT_EQ(refused("break mod"), "set"); // only one graph has it
    EXPECT_EQ(refused("break type conv2d"), "no operator of type 'conv2d' can run; did you mean 'conv_2d'?");
    EXPECT_EQ(refused("break iter while#0"), "iter has other operands, expected break iter LOOP N");
    EXPECT_EQ(refused("break iter conv_2d#1 3"), "'conv_2d#1' is no loop");
    EXPECT_EQ(refused("break .../if#2 if arg7 > 3"), "1:1: no value 'arg7' here; did you mean 'arg1'?");
    EXPECT_EQ(refused("break .../if#2 if at(3, arg1) > 3"), "1:1: at(3, arg1): iteration 3 is not recorded; use trace --iterations all");
    EXPECT_EQ(refused("break .../if#2 if arg1"), "1:1: arg1 gives int; a condition needs one bool");
    EXPECT_EQ(refused("break .../if#2 hits x"), "hits needs a number: hits 4, hits %4 or hits >=4");
    EXPECT_EQ(refused("break .../if#2 often"),
              "found 'often' behind the place, expected if EXPR, hits N, once, in PATTERN, quiet or the end");
    EXPECT_EQ(refused("break frame foo"), "break frame: only in TensorFlow v1 graphs");
    EXPECT_EQ(refused("break dead"), "break dead: only in TensorFlow v1 graphs");
    EXPECT_EQ(refused("break differs"), "break differs: there is no reference run; use --against");
    EXPECT_EQ(refused("watch zero"), "zero: is a constant: nothing writes it");
    EXPECT_EQ(refused("watch var:cuont"), "no operator that can run writes a variable 'cuont'; did you mean 'count'?");
    EXPECT_EQ(refused("break branch .../if#2 els"), "no branch 'els', expected changed, then, else; did you mean 'else'?");
    EXPECT_EQ(refused("break main/while#0@last"),
              "main/while#0@last: which iteration is the last is known only afterwards; use break iter LOOP last");
    EXPECT_EQ(run.breakpoints.list().size(), 1U); // what was refused left nothing
}

TEST(Breakpoints, a_saved_line_that_no_longer_resolves_comes_back_disabled)
{
    const Subject subject = examples(6);
    DebuggerFixture run(subject);
    EXPECT_OK(run.breakpoints.load("# mine\nbreak main/gone#7\ncommands\n  print arg1\nend\nbreak nan disabled\n"));
    const std::vector<BreakpointInfo> list = run.breakpoints.list();
    ASSERT_EQ(list.size(), 2U);
    EXPECT_FALSE(list[0].enabled);
    EXPECT_EQ(list[0].disabledBecause, "main/gone#7: no operator 'gone#7' in main, which has 7 operators");
    EXPECT_EQ(list[0].commands, std::vector<std::string>{"print arg1"});
    EXPECT_FALSE(list[1].enabled);
    EXPECT_EQ(run.breakpoints.load("brake nan\n").ok(), false);
}

} // namespace
} // namespace loopscope::testing
