// Run control over TensorFlow 1 graphs, whose stops do not come in the order of addresses and whose frames nothing calls.
#include "tests/unit/debug/v1_debugger.h"

#include <optional>
#include <random>

namespace loopscope::testing {
namespace {

TEST(V1Control, stops_in_iterations_of_frames)
{
    V1Debugger debugger(kV1Loop);
    RunControl& control = debugger.control;
    const auto place = [&](const char* text) { return debugger.place(text); };
    const auto address = [&](const Result<StopReport>& report) { return debugger.address(report); };
    ASSERT_TRUE(control.start().ok());
    EXPECT_EQ(address(control.goTo(place("main/foo@4:frame/add"))), "main/foo@4:frame/add; step done");
    EXPECT_EQ(address(control.step(Direction::backward)), "main/foo@4:frame/switch; step done");
    EXPECT_EQ(address(control.goTo(place("main/foo@2:frame/less"))), "main/foo@2:frame/less; step done");
    EXPECT_EQ(address(control.iterateBy(5, {})), "main/foo@7:frame/less; step done");
    EXPECT_EQ(address(control.iterateLast({})), "main/foo@10:frame/less; step done");
    EXPECT_EQ(address(control.iterate(3, {})), "main/foo@3:frame/less; step done");
    EXPECT_EQ(address(control.iterate(300, {})), "error: main/foo@300:frame/less: the run does not come there");
    EXPECT_EQ(address(control.goTo(place("main/foo@11:frame/less"))), "error: main/foo@11:frame/less: the run does not come there");
    EXPECT_EQ(address(control.goTo(place("main/foo@10:frame/less"))), "main/foo@10:frame/less; step done");
    EXPECT_EQ(address(control.finish(Direction::forward)), "main/out; returned");
    EXPECT_EQ(address(control.resume(Direction::forward)), "main; finished");
}

TEST(V1Control, leaves_frames_backward)
{
    V1Debugger debugger(kV1Loop);
    RunControl& control = debugger.control;
    const auto place = [&](const char* text) { return debugger.place(text); };
    const auto address = [&](const Result<StopReport>& report) { return debugger.address(report); };
    ASSERT_TRUE(control.start().ok());
    ASSERT_TRUE(control.goTo(place("main/foo@4:frame/add")).ok());
    const Result<StopReport> report = control.finish(Direction::backward);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->position.depth, 1);
    EXPECT_EQ(address(control.until()), "main; finished");
}

/// Iterations of the outer loop run an inner one; nodes of both wait for each other.
constexpr const char* kNestedFrames = R"(
graph main {
  zero = Const() dtype=i32 value=i32[] 0 : i32
  one = Const() dtype=i32 value=i32[] 1 : i32
  n = Const() dtype=i32 value=i32[] 3 : i32
  i0 = Enter(zero) T=i32 frame_name="outer" is_constant=false parallel_iterations=10 : i32
  one1 = Enter(one) T=i32 frame_name="outer" is_constant=true parallel_iterations=10 : i32
  n1 = Enter(n) T=i32 frame_name="outer" is_constant=true parallel_iterations=10 : i32
  i = Merge(i0, i_next) N=2 T=i32 : (i32, i32)
  i_less = Less(i, n1) T=i32 : bool
  i_cond = LoopCond(i_less) : bool
  i_switch = Switch(i, i_cond) T=i32 : (i32, i32)
  i_add = AddV2(i_switch:1, one1) T=i32 : i32
  k0 = Enter(i_add) T=i32 frame_name="inner" is_constant=false parallel_iterations=10 : i32
  one2 = Enter(one1) T=i32 frame_name="inner" is_constant=true parallel_iterations=10 : i32
  n2 = Enter(n1) T=i32 frame_name="inner" is_constant=true parallel_iterations=10 : i32
  k = Merge(k0, k_next) N=2 T=i32 : (i32, i32)
  k_less = Less(k, n2) T=i32 : bool
  k_cond = LoopCond(k_less) : bool
  k_switch = Switch(k, k_cond) T=i32 : (i32, i32)
  k_add = AddV2(k_switch:1, one2) T=i32 : i32
  k_next = NextIteration(k_add) T=i32 : i32
  k_exit = Exit(k_switch) T=i32 : i32
  sum = AddV2(k_exit, i_add) T=i32 : i32
  less = Less(sum, n1) T=i32 : bool
  both = Switch(i_add, less) T=i32 : (i32, i32)
  same = Merge(both, both:1) N=2 T=i32 : (i32, i32)
  i_next = NextIteration(same) T=i32 : i32
  i_exit = Exit(i_switch) T=i32 : i32
  out = Identity(i_exit) T=i32 : i32
}
)";

/// A stop of a forward run.
struct Stop {
    std::string address;
    uint64_t hash = 0;
};

void expectRandomRequestsLeadWhereAForwardRunSays(const char* text, int requests)
{
    V1Debugger debugger(text);
    std::vector<Stop> stops;
    {
        V1Debugger plain(text);
        ASSERT_TRUE(plain.executor->start().ok());
        for (;;) {
            stops.push_back({plain.executor->positionAddress(), plain.executor->snapshot().hash()});
            if (plain.executor->position().finished) break;
            ASSERT_TRUE(plain.executor->step().ok());
        }
    }
    const auto end = static_cast<int64_t>(stops.size()) - 1;
    ASSERT_GT(end, 50);
    ASSERT_TRUE(debugger.control.start().ok());
    std::mt19937 random(5);
    const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint32_t>(limit)); };
    std::optional<AddressPattern> pattern;
    int number = 0;
    const auto hits = [&](int64_t tick) {
        const Result<Address> address = parseAddress(stops[static_cast<size_t>(tick)].address);
        return pattern && tick < end && address.ok() && pattern->matches(*address);
    };
    for (int i = 0; i < requests; ++i) {
        const int64_t from = debugger.timeline.tick();
        int64_t wanted = from;
        Result<StopReport> report = debugger.control.here();
        switch (below(7)) {
        case 0: {
            const int64_t count = 1 + below(9);
            for (wanted = std::min(from + 1, end); wanted < std::min(from + count, end) && !hits(wanted);) ++wanted;
            report = debugger.control.step(Direction::forward, count);
            break;
        }
        case 1:
        case 2: {
            const int64_t count = 1 + below(9);
            wanted = std::max<int64_t>(from - count, 0);
            report = debugger.control.step(Direction::backward, count);
            break;
        }
        case 3:
            for (wanted = std::min(from + 1, end); wanted < end && !hits(wanted);) ++wanted;
            report = debugger.control.resume(Direction::forward);
            break;
        case 4:
            for (wanted = std::max<int64_t>(from - 1, 0); wanted > 0 && !hits(wanted);) --wanted;
            report = debugger.control.resume(Direction::backward);
            break;
        case 5: {
            wanted = below(end);
            report = debugger.control.goTo(debugger.place(stops[static_cast<size_t>(wanted)].address));
            break;
        }
        default: {
            if (number > 0) EXPECT_OK(debugger.breakpoints.remove(number));
            const std::string& spec = stops[static_cast<size_t>(below(end))].address;
            const Result<int> added = debugger.breakpoints.add(BreakpointCommand::breakpoint, spec, {0});
            ASSERT_TRUE(added.ok()) << spec << ": " << added.error().message();
            number = *added;
            pattern = *AddressPattern::parse(spec);
        }
        }
        ASSERT_EQ(debugger.timeline.tick(), wanted) << "from " << from << ": " << debugger.address(report);
        ASSERT_EQ(debugger.executor->positionAddress(), stops[static_cast<size_t>(wanted)].address);
        ASSERT_EQ(debugger.executor->snapshot().hash(), stops[static_cast<size_t>(wanted)].hash) << "tick " << wanted;
    }
}

TEST(V1Control, random_requests_lead_where_a_forward_run_says)
{
    expectRandomRequestsLeadWhereAForwardRunSays(kV1Loop, 2000);
    expectRandomRequestsLeadWhereAForwardRunSays(kNestedFrames, 2000);
}

} // namespace
} // namespace loopscope::testing
