// Expressions at a stop: values of frames, the past and other iterations by travelling there, and what `set` makes.
#include "tests/unit/debug/debug_fixture.h"

namespace loopscope::testing {
namespace {

/// Collatz of 27 before the branch of iteration 37: arg1 is 593 (commands.md 5.2 has the same numbers).
class AtIteration37 : public ::testing::Test {
protected:
    void SetUp() override
    {
        EXPECT_OK(run.timeline->start());
        EXPECT_OK(run.timeline->goTo(279));
        ASSERT_EQ(run.executor->positionAddress(), "main/while#0@37:body/if#2");
    }
    DebugRun run{kCollatzOfThree, 27};
};

TEST_F(AtIteration37, ReadsTheFrame)
{
    EXPECT_EQ(run.print("arg1, even, mod + 1"), "593; false; 2");
    EXPECT_EQ(run.print("next"), "not written");
    EXPECT_EQ(run.print("iter, iter(while#0), trip(while#0), step, depth"), "37; 37; 37; 278; 1");
    EXPECT_EQ(run.print("x", 0), "27");
    EXPECT_EQ(run.print("{../x}"), "27");
    EXPECT_EQ(run.print("{main/x}, {floor_mod#0}, {./equal#1:0}"), "27; 1; false");
    EXPECT_EQ(run.print("branch(if#2)"), "none");
}

TEST_F(AtIteration37, LooksThePastUp)
{
    EXPECT_EQ(run.print("arg1, prev(arg1)"), "593; 1186");
    EXPECT_EQ(run.print("prev(next), prev(next, 2), first(arg1)"), "593; 1186; 27");
    EXPECT_EQ(run.print("at(0, arg1), at(36, next), at(iter - 1, add) + 1 == add"), "27; 593; false");
    EXPECT_EQ(run.print("changed(arg1), changed(mod), delta(arg1)"), "true; true; -593");
    EXPECT_EQ(run.print("{main/while#0@5:body/if#2:0}"), "94");
    EXPECT_EQ(run.print("prev(arg1, 38)"), "none");
    EXPECT_EQ(run.executor->positionAddress(), "main/while#0@37:body/if#2");
    EXPECT_EQ(run.print("arg1"), "593");
}

TEST_F(AtIteration37, LooksInsideInvocationsThatWereLeft)
{
    EXPECT_OK(run.timeline->goTo(282));
    ASSERT_EQ(run.executor->positionAddress(), "main/while#0@37:body/add#3");
    EXPECT_EQ(run.print("{if#2:else/mul}, next, branch(if#2)"), "1779; 1780; \"else\"");
    EXPECT_EQ(run.print("next.step, next.writer"), "280; \"main/while#0@37:body/if#2:0\"");
    EXPECT_EQ(run.print("mod.step, {if#2:then/half}"), "276; not written");
}

TEST_F(AtIteration37, KnowsTheFutureThatWasSeen)
{
    EXPECT_EQ(run.print("at(40, arg1)"), "none");
    EXPECT_OK(run.timeline->goToEnd());
    EXPECT_EQ(run.print("trip(while#0), value, steps"), "111; 1; 111");
    EXPECT_OK(run.timeline->goTo(279));
    EXPECT_EQ(run.print("at(38, arg1)"), "1780");
}

TEST_F(AtIteration37, NamesWhatIsWrong)
{
    EXPECT_EQ(run.print("arg7"), "1:1: no value 'arg7' here; did you mean 'arg0' or 'arg1' or 'arg2'?");
    EXPECT_EQ(run.print("trip(while#1)"), "1:6: no loop 'while#1' here; did you mean 'while#0'?");
    EXPECT_EQ(run.print("ref(arg1)"), "1:1: ref(arg1): there is no reference run; use --against");
}

TEST_F(AtIteration37, EditsValues)
{
    auto edit = evaluateEdit(*run.target, {}, "arg1", "prev(arg1) + 1");
    ASSERT_TRUE(edit.ok()) << edit.error().message();
    EXPECT_EQ(edit->depth, 1);
    EXPECT_EQ(*edit->tensor.as<int32_t>(), 1187);
    const auto refused = [&](const char* place, const char* value) {
        auto result = evaluateEdit(*run.target, {}, place, value);
        return result.ok() ? std::string() : result.error().message();
    };
    EXPECT_EQ(refused("next", "1"), "'next' is not written yet");
    EXPECT_EQ(refused("two", "1"), "'two' is a constant");
    EXPECT_EQ(refused("arg1 + 1", "1"), "1:1: only a value, an element or a slice of it can be set, found arg1 + 1");
    EXPECT_EQ(refused("arg1", "0.5"), "a value of another type, found float, expected i32");
    EXPECT_EQ(refused("arg1", "3000000000"), "a number that i32 cannot hold, found 3000000000");
}

constexpr const char* kSlices = R"(
graph main(n: i32[], x: f32[4]) {
  q = quantize(x) : i8[4] q(0.5, -1)
  y = dequantize(q) : f32[4]
  return y
}
)";

TEST(Edit, SlicesAndQuantizedValues)
{
    DebugRun run(textSubject(kSlices, 1));
    EXPECT_OK(run.timeline->start());
    EXPECT_OK(run.timeline->goTo(1));
    const auto set = [&](const char* place, const char* value) {
        auto edit = evaluateEdit(*run.target, {}, place, value);
        if (!edit.ok()) return edit.error().message();
        std::string text;
        for (int64_t i = 0; i < edit->tensor.elementCount(); ++i) {
            const bool isFloat = edit->tensor.dtype == DType::f32;
            if (i > 0) text += ' ';
            if (isFloat) text += std::to_string(static_cast<int>(edit->tensor.as<float>()[i] * 100));
            else text += std::to_string(edit->tensor.as<int8_t>()[i]);
        }
        return text;
    };
    EXPECT_EQ(set("x[1:3]", "[7, 8]"), "150 700 800 300"); // x is 1.5 -2 0.25 3
    EXPECT_EQ(set("x[x < 0]", "0.5"), "150 50 25 300");
    EXPECT_EQ(set("x[-1]", "x[0]"), "150 -200 25 150");
    EXPECT_EQ(set("q[0]", "10"), "19 -5 0 5"); // 10 / 0.5 - 1
    EXPECT_EQ(set("q.q[0]", "10"), "10 -5 0 5");
    EXPECT_EQ(set("q", "1000"), "127 127 127 127");
    EXPECT_EQ(set("x[1:3]", "[1, 2, 3]"), "another shape, found int[3], expected [2]");
    EXPECT_EQ(set("x[4]", "1"), "1:3: index 4 out of range for dimension 0 of size 4");
}

} // namespace
} // namespace loopscope::testing
