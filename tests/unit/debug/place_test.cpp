// Places as they are typed at a stop, and the order of places and stops.
#include "engine/debug/place.h"
#include "engine/exec/machine_state.h"
#include "tests/unit/debug/debugger_fixture.h"

namespace loopscope::testing {
namespace {

class Places : public ::testing::Test {
public:
    Subject subject = collatz(27);
    DebuggerFixture debugger = DebuggerFixture(subject);

    /// Where short forms are typed: in the branch of iteration 4's If, which has three frames.
    void SetUp() override
    {
        ASSERT_TRUE(debugger.control.start().ok());
        ASSERT_TRUE(debugger.control.goTo(debugger.place("main/while#0@4:body/if#2:then/floor_div#0")).ok());
    }

    std::string typed(std::string_view text, int depth = -1) const
    {
        const Result<TypedPlace> place = resolveTyped(debugger.target, {depth}, text);
        if (!place.ok()) return "error: " + place.error().message();
        return toString(place->resolved.address) + (place->note.empty() ? "" : " (" + place->note + ")");
    }
};

TEST_F(Places, short_forms_belong_to_the_frame)
{
    EXPECT_EQ(typed("floor_div#0"), "main/while#0@4:body/if#2:then/floor_div#0");
    EXPECT_EQ(typed("#0"), "main/while#0@4:body/if#2:then/floor_div#0");
    EXPECT_EQ(typed("y"), "main/while#0@4:body/if#2:then/floor_div#0:0");
    EXPECT_EQ(typed(" x "), "main/while#0@4:body/if#2:then/x");
    EXPECT_EQ(typed("./floor_div#0:in1"), "main/while#0@4:body/if#2:then/floor_div#0:in1");
    EXPECT_EQ(typed("."), "main/while#0@4:body/if#2:then");
    EXPECT_EQ(typed("../m"), "main/while#0@4:body/add#3:0");
    EXPECT_EQ(typed("../if#2:else/mul#0"), "main/while#0@4:body/if#2:else/mul#0");
    EXPECT_EQ(typed(".."), "main/while#0@4:body");
    EXPECT_EQ(typed("../../steps"), "main/while#0:1");
    EXPECT_EQ(typed("add#3", 1), "main/while#0@4:body/add#3");
    EXPECT_EQ(typed("while#0@37", 0), "main/while#0@37:body");
    EXPECT_EQ(typed("while#0@37/m", 0), "main/while#0@37:body/add#3:0");
}

TEST_F(Places, what_a_frame_lacks_is_the_nearest_callers)
{
    EXPECT_EQ(typed("if#2"), "main/while#0@4:body/if#2");
    EXPECT_EQ(typed("m"), "main/while#0@4:body/add#3:0");
    EXPECT_EQ(typed("while#0@9"), "main/while#0@9:body");
    EXPECT_EQ(typed("steps"), "main/while#0:1");
    EXPECT_EQ(typed("if#2", 0), "error: main/if#2: no operator 'if#2' in main, which has 1 operator");
}

TEST_F(Places, cond_and_body_of_a_loop_see_each_other)
{
    EXPECT_EQ(typed("go", 1), "main/while#0@4:cond/not_equal#0:0");
    EXPECT_EQ(typed("not_equal#0", 1), "main/while#0@4:cond/not_equal#0");
    ASSERT_TRUE(debugger.control.goTo(debugger.place("main/while#0@9:cond")).ok());
    EXPECT_EQ(typed("if#2"), "main/while#0@9:body/if#2");
    EXPECT_EQ(typed("x"), "main/while#0@9:cond/x");
}

TEST_F(Places, canonical_addresses_take_the_iterations_of_the_present_path)
{
    EXPECT_EQ(typed("main/while#0@7:body/add#3"), "main/while#0@7:body/add#3");
    EXPECT_EQ(typed("main/while#0:body/add#3"), "main/while#0@4:body/add#3");
    EXPECT_EQ(typed("main/while#0:cond"), "main/while#0@4:cond");
    EXPECT_EQ(typed("main"), "main");
    EXPECT_EQ(typed("main/y"), "main/while#0:0");
}

TEST_F(Places, what_could_be_both_is_read_here)
{
    // In the root, `x` is an input; a graph of that name would be one, too.
    EXPECT_EQ(typed("half"), "half"); // no value here has this name: it is the graph
    Subject other = collatz(3);
    other.model->graphs[3].id = "x";
    DebuggerFixture both(other);
    ASSERT_TRUE(both.control.start().ok());
    const Result<TypedPlace> place = resolveTyped(both.target, {}, "x");
    ASSERT_TRUE(place.ok());
    EXPECT_EQ(toString(place->resolved.address), "main/x");
    EXPECT_EQ(place->note, "'x' is also a graph; read as main/x");
}

TEST_F(Places, errors_name_what_is_near)
{
    EXPECT_EQ(typed("floor_div#3"),
              "error: main/while#0@4:body/if#2:then/floor_div#3: no operator 'floor_div#3' in half, which has 1 operator");
    EXPECT_EQ(typed("twoo"), "error: main/while#0@4:body/if#2:then/twoo: no value 'twoo' in half; did you mean 'two'?");
    EXPECT_EQ(typed("main/while#0@1:body/ad"), "error: main/while#0@1:body/ad: no value 'ad' in body");
    EXPECT_EQ(typed("../../../x"), "error: ../x: there is no frame outside the root");
    EXPECT_EQ(typed(""), "error: an address is empty");
    EXPECT_EQ(typed("\"no such name\""), "error: no value with the name \"no such name\" here");
    EXPECT_EQ(typed("\"open"), "error: \"open: the quote is not closed");
}

TEST_F(Places, full_names_and_signatures)
{
    subject.model->graphs[3].values[0].name = "model/x;other";
    EXPECT_EQ(typed("\"model/x;other\""), "main/while#0@4:body/if#2:then/x");
    subject.model->signatures.push_back({"serving", GraphId(0), {}, {}});
    EXPECT_EQ(typed("sig:serving/while#0@2"), "main/while#0@2:body");
}

TEST_F(Places, frames_have_addresses)
{
    EXPECT_EQ(toString(frameAddress(*debugger.executor, -1)), "main/while#0@4:body/if#2:then");
    EXPECT_EQ(toString(frameAddress(*debugger.executor, 1)), "main/while#0@4:body");
    EXPECT_EQ(toString(frameAddress(*debugger.executor, 0)), "main");
    ASSERT_TRUE(debugger.control.goToEnd().ok());
    EXPECT_EQ(toString(frameAddress(*debugger.executor, -1)), "main");
}

TEST_F(Places, before_a_start_there_is_only_the_root)
{
    DebuggerFixture fresh(subject);
    const Result<TypedPlace> place = resolveTyped(fresh.target, {}, "while#0@3");
    ASSERT_TRUE(place.ok());
    EXPECT_EQ(toString(place->resolved.address), "main/while#0@3:body");
}

TEST_F(Places, are_ordered_as_they_are_executed)
{
    const std::vector<std::string> ordered = {"main/while#0@0:cond/not_equal#0",
                                              "main/while#0@0:body/floor_mod#0",
                                              "main/while#0@0:body/if#2:then/floor_div#0",
                                              "main/while#0@0:body/if#2",
                                              "main/while#0@0:body/add#3",
                                              "main/while#0@1:cond/not_equal#0",
                                              "main/while#0@10:body/if#2",
                                              "main/while#0"};
    for (size_t a = 0; a < ordered.size(); ++a)
        for (size_t b = 0; b < ordered.size(); ++b) {
            const int order = compareOrder(*subject.model, debugger.place(ordered[a]), debugger.place(ordered[b]));
            EXPECT_EQ(order < 0, a < b) << ordered[a] << " " << ordered[b];
            EXPECT_EQ(order > 0, a > b) << ordered[a] << " " << ordered[b];
        }
}

TEST_F(Places, stops_come_in_their_order)
{
    ASSERT_TRUE(debugger.control.goToStart().ok());
    StopOrder last;
    while (!debugger.timeline.finished()) {
        const StopOrder now = orderOf(*debugger.executor);
        EXPECT_EQ(now, orderOf(debugger.executor->snapshot()));
        EXPECT_EQ(now, orderOf(*subject.model, debugger.place(debugger.executor->positionAddress())));
        EXPECT_LT(last, now);
        last = now;
        ASSERT_TRUE(debugger.timeline.forward().ok());
    }
}

} // namespace
} // namespace loopscope::testing
