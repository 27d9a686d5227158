// Random requests to run control, in both directions, with breakpoints and edits: where each leads is worked out from a list of all
// stops of a forward run, and the state must be that run's.
#include "engine/debug/timeline.h"
#include "engine/exec/machine_state.h"
#include "tests/unit/debug/debugger_fixture.h"
#include "tests/unit/debug/plain_run.h"
#include "tests/unit/debug/rounds.h"

#include <algorithm>

namespace loopscope::testing {
namespace {

constexpr int kSequences = 100'000;
constexpr size_t kMostLines = 5;
constexpr size_t kMostBreakpoints = 4;

/// One timeline as a plain run has it.
struct Expected {
    std::vector<PlainEdit> edits;
    std::vector<PlainStop> stops;
    int64_t left = 0;

    int64_t end() const { return static_cast<int64_t>(stops.size()) - 1; }
    const PlainStop& at(int64_t tick) const { return stops[static_cast<size_t>(tick)]; }
    /// The first stop behind a tick, or the last one before, with at most so many frames.
    int64_t outAfter(int64_t tick, int depth) const
    {
        do ++tick;
        while (tick < end() && at(tick).depth() > depth);
        return std::min(tick, end());
    }
    int64_t outBefore(int64_t tick, int depth) const
    {
        do --tick;
        while (tick > 0 && at(tick).depth() > depth);
        return tick;
    }
    int64_t find(const std::string& address) const
    {
        for (int64_t tick = 0; tick <= end(); ++tick)
            if (at(tick).address == address) return tick;
        return -1;
    }
};

struct Placed {
    int number = 0;
    AddressPattern pattern;
    int64_t origin = 0; ///< where the run stood when it was made: hits count from there
};

/// What a request should come to.
struct Outcome {
    int64_t tick = 0;
    bool refused = false;
    bool hit = false; ///< breakpoints are among the reasons
};

struct Visited {
    int line = 0;
    int64_t tick = 0;
};

class Tester {
public:
    Tester(const Subject& subject, uint32_t seed, const TimelineBudget& budget)
        : m_subject(subject),
          m_debugger(subject, budget),
          m_control(m_debugger.control),
          m_random(seed)
    {
        EXPECT_TRUE(m_control.start().ok());
        m_lines.push_back({{}, plainRun(subject, {}), 0});
    }

    void sequence()
    {
        const int length = 2 + below(5);
        for (int i = 0; i < length && !::testing::Test::HasFailure(); ++i) request();
    }

private:
    int below(int64_t limit) { return static_cast<int>(m_random() % static_cast<uint32_t>(limit)); }
    const Expected& now() const { return m_lines[static_cast<size_t>(m_line)]; }
    /// A run may also end before an operator that fails, or that the budget does not allow.
    bool isFinished(int64_t tick) const { return !now().at(tick).op.valid(); }

    bool hits(int64_t tick) const
    {
        return std::ranges::any_of(m_breakpoints, [&](const Placed& placed) { return hits(placed, tick); });
    }
    bool hits(const Placed& placed, int64_t tick) const
    {
        const PlainStop& stop = now().at(tick);
        if (!stop.op.valid()) return false;
        const Result<Address> address = parseAddress(stop.address);
        return address.ok() && placed.pattern.matches(*address);
    }
    /// The first hit in (from, to], else `to`.
    Outcome forward(int64_t from, int64_t to) const
    {
        for (int64_t tick = from + 1; tick <= to; ++tick)
            if (hits(tick)) return {tick, false, true};
        return {to};
    }
    /// The last hit in (to, from), else `to`.
    Outcome backward(int64_t from, int64_t to) const
    {
        for (int64_t tick = from - 1; tick > to; --tick)
            if (hits(tick)) return {tick, false, true};
        return {to};
    }

    /// The first stop after `tick` that is not in the cond of a loop in which the frame at `depth` stands.
    int64_t decidedAfter(int64_t tick, size_t depth) const
    {
        const std::vector<FrameInfo>& from = now().at(tick).frames;
        for (int64_t later = tick + 1; later < now().end(); ++later) {
            const std::vector<FrameInfo>& frames = now().at(later).frames;
            if (frames.size() <= depth || frames[depth].site != from[depth].site ||
                frames[depth - 1].invocation != from[depth - 1].invocation || !frames[depth].inCond)
                return later;
        }
        return now().end();
    }

    void request()
    {
        m_tick = m_debugger.timeline.tick();
        switch (below(20)) {
        case 0:
        case 1: step(); break;
        case 2: there_and_back(); break;
        case 3:
        case 4: stepBack(); break;
        case 5:
        case 6: next(); break;
        case 7:
        case 8: nextBack(); break;
        case 9: finish(); break;
        case 10: finishBack(); break;
        case 11:
        case 12: resume(); break;
        case 13: resumeBack(); break;
        case 14: goToPlace(); break;
        case 15: iterate(); break;
        case 16: history(); break;
        case 17: goToTick(); break;
        case 18: breakpoint(); break;
        default: edit();
        }
    }

    void check(const char* request, const Result<StopReport>& report, const Outcome& wanted)
    {
        SCOPED_TRACE(request);
        SCOPED_TRACE("from tick " + std::to_string(m_tick));
        ASSERT_EQ(report.ok(), !wanted.refused) << text(report);
        const int64_t tick = m_debugger.timeline.tick();
        ASSERT_EQ(tick, wanted.tick) << text(report);
        const PlainStop& stop = now().at(tick);
        ASSERT_EQ(m_debugger.executor->snapshot().hash(), stop.hash) << stop.address;
        m_lines[static_cast<size_t>(m_line)].left = tick;
        if (!report.ok()) return;
        ASSERT_EQ(report->address, stop.address);
        ASSERT_EQ(report->timeline, m_line + 1);
        ASSERT_EQ(report->has(StopCause::breakpoint), wanted.hit) << text(report);
        ASSERT_EQ(report->has(StopCause::finished), isFinished(tick)) << text(report);
        checkTrips(stop);
        if (below(4) == 0) checkHits();
    }

    /// Counts belong to the place in the run, however it was come to.
    void checkHits()
    {
        const int64_t here = m_debugger.timeline.tick();
        for (const Placed& placed : m_breakpoints) {
            int64_t count = 0;
            for (int64_t tick = placed.origin + 1; tick <= here; ++tick) count += hits(placed, tick) ? 1 : 0;
            const Result<BreakpointInfo> info = m_debugger.breakpoints.get(placed.number);
            ASSERT_TRUE(info.ok());
            ASSERT_EQ(info->hits, count) << info->spec << ", made at tick " << placed.origin << ", at tick " << here;
        }
        ASSERT_EQ(m_debugger.timeline.tick(), here);
    }

    /// What is known of a loop is what the plain run says.
    void checkTrips(const PlainStop& stop)
    {
        for (int depth = 1; depth < stop.depth(); ++depth) {
            const std::optional<int64_t> known = m_control.knownTrips(depth);
            if (!known) continue;
            int64_t trips = 0;
            for (int64_t tick = m_debugger.timeline.tick(); tick <= now().end() && now().at(tick).depth() > depth; ++tick)
                trips = now().at(tick).frames[static_cast<size_t>(depth)].iteration;
            ASSERT_EQ(*known, trips) << stop.address;
        }
    }

    void step()
    {
        const int64_t count = 1 + below(below(3) == 0 ? 20 : 2);
        Outcome wanted{m_tick, isFinished(m_tick)};
        if (!wanted.refused) wanted = forward(m_tick, std::min(m_tick + count, now().end()));
        check("step", m_control.step(Direction::forward, count), wanted);
    }

    void there_and_back()
    {
        if (m_tick == now().end() || !m_control.step(Direction::forward).ok()) return;
        check("step back after a step", m_control.step(Direction::backward), {m_tick});
    }

    void stepBack()
    {
        const int64_t count = 1 + below(below(3) == 0 ? 20 : 2);
        check("reverse-step", m_control.step(Direction::backward, count), {std::max<int64_t>(m_tick - count, 0), m_tick == 0});
    }

    void next()
    {
        Outcome wanted{m_tick, isFinished(m_tick)};
        if (!wanted.refused) wanted = forward(m_tick, now().outAfter(m_tick, now().at(m_tick).depth()));
        check("next", m_control.next(Direction::forward), wanted);
    }

    void nextBack()
    {
        Outcome wanted{m_tick, m_tick == 0};
        if (!wanted.refused) {
            const int64_t out = now().outBefore(m_tick, now().at(m_tick).depth());
            wanted = out == m_tick - 1 ? Outcome{out} : backward(m_tick, out);
        }
        check("reverse-next", m_control.next(Direction::backward), wanted);
    }

    void finish()
    {
        const PlainStop& from = now().at(m_tick);
        const int depth = below(from.depth());
        const bool inCond = depth > 0 && from.frames[static_cast<size_t>(depth)].inCond;
        Outcome wanted{m_tick, isFinished(m_tick)};
        if (!wanted.refused)
            wanted = forward(m_tick, depth == 0 ? now().end()
                                     : inCond   ? decidedAfter(m_tick, static_cast<size_t>(depth))
                                                : now().outAfter(m_tick, depth));
        check("finish", m_control.finish(Direction::forward, depth), wanted);
    }

    void finishBack()
    {
        const int depth = below(now().at(m_tick).depth());
        Outcome wanted{m_tick, m_tick == 0};
        if (!wanted.refused) wanted = backward(m_tick, depth == 0 ? 0 : now().outBefore(m_tick, depth));
        check("reverse-finish", m_control.finish(Direction::backward, depth), wanted);
    }

    void resume()
    {
        Outcome wanted{m_tick, isFinished(m_tick)};
        const int ignore = below(3) == 0 ? below(3) : 0;
        if (!wanted.refused) {
            wanted = forward(m_tick, now().end());
            for (int i = 0; i < ignore && wanted.hit; ++i) wanted = forward(wanted.tick, now().end());
        }
        check("continue", m_control.resume(Direction::forward, ignore), wanted);
    }

    void resumeBack()
    {
        Outcome wanted{m_tick, m_tick == 0};
        const int ignore = below(3) == 0 ? below(3) : 0;
        if (!wanted.refused) {
            wanted = backward(m_tick, -1);
            for (int i = 0; i < ignore && wanted.tick > 0; ++i) wanted = backward(wanted.tick, -1);
            wanted.tick = std::max<int64_t>(wanted.tick, 0);
        }
        check("reverse-continue", m_control.resume(Direction::backward, ignore), wanted);
    }

    void jumped(int64_t tick)
    {
        if (tick == m_tick) return;
        m_past.push_back({m_line, m_tick});
        m_future.clear();
    }

    void goToTick()
    {
        const int64_t target = below(now().end() + 3);
        const int64_t wanted = std::min(target, now().end());
        check("goto tick", m_control.goToTick(target), {wanted});
        jumped(wanted);
    }

    void goToPlace()
    {
        const int64_t wanted = below(now().end());
        if (isFinished(wanted)) return;
        const ResolvedAddress place = m_debugger.place(now().at(wanted).address);
        const Result<std::optional<Tick>> tick = m_control.tickOf(place);
        ASSERT_TRUE(tick.ok()) << tick.error().message();
        ASSERT_EQ(*tick, wanted) << now().at(wanted).address;
        ASSERT_EQ(m_debugger.timeline.tick(), m_tick);
        check("goto address", m_control.goTo(place), {wanted});
        jumped(wanted);
    }

    /// The same operator in another iteration, or its cond, or not at all.
    void iterate()
    {
        Result<Address> address = parseAddress(now().at(m_tick).address);
        ASSERT_TRUE(address.ok());
        size_t loop = address->steps.size();
        while (loop > 0 && address->steps[loop - 1].iteration < 0) --loop;
        Outcome wanted{m_tick, loop == 0};
        const int64_t iteration = below(6);
        if (!wanted.refused) {
            address->steps[loop - 1].iteration = iteration;
            wanted.tick = now().find(toString(*address));
            if (wanted.tick < 0) { // where nothing is executed there is no stop
                address->steps.resize(loop);
                address->steps.back().role = StepRole::cond;
                address->target = TargetKind::op;
                const Result<ResolvedAddress> cond = [&] {
                    Address invocation = *address;
                    invocation.target = TargetKind::invocation;
                    invocation.op = {};
                    return resolveAddress(*m_subject.model, invocation);
                }();
                ASSERT_TRUE(cond.ok());
                address->op = operatorName(m_subject.model->graph(cond->graph).operators[0], 0);
                wanted.tick = now().find(toString(*address));
            }
            if (wanted.tick < 0) { // it is looked for up to the loop's exit, or to where the run fails
                const int64_t out = now().outAfter(m_tick, static_cast<int>(loop));
                const bool leaves = out <= now().end() && now().at(out).depth() <= static_cast<int>(loop);
                wanted = leaves ? Outcome{m_tick, true} : Outcome{now().end()};
            }
        }
        check("iter", m_control.iterate(iteration, {}), wanted);
        jumped(wanted.tick);
    }

    void history()
    {
        const bool back = below(2) == 0;
        std::vector<Visited>& from = back ? m_past : m_future;
        if (from.empty()) {
            check("history", back ? m_control.back() : m_control.forward(), {m_tick, true});
            return;
        }
        const Visited target = from.back();
        from.pop_back();
        (back ? m_future : m_past).push_back({m_line, m_tick});
        m_line = target.line;
        check("history", back ? m_control.back() : m_control.forward(), {target.tick});
    }

    void breakpoint()
    {
        if (m_breakpoints.size() >= kMostBreakpoints || (!m_breakpoints.empty() && below(2) == 0)) {
            const auto entry = m_breakpoints.begin() + below(static_cast<int64_t>(m_breakpoints.size()));
            EXPECT_OK(m_debugger.breakpoints.remove(entry->number));
            m_breakpoints.erase(entry);
            return;
        }
        Result<Address> address = parseAddress(now().at(below(now().end())).address);
        ASSERT_TRUE(address.ok());
        for (AddressStep& step : address->steps)
            if (below(3) > 0) step.iteration = -1;
        const std::string spec = toString(*address);
        const Result<int> number = m_debugger.breakpoints.add(BreakpointCommand::breakpoint, spec, {0});
        ASSERT_TRUE(number.ok()) << spec << ": " << number.error().message();
        m_breakpoints.push_back({*number, AddressPattern(*address), m_tick});
    }

    void edit()
    {
        if (m_lines.size() >= kMostLines || below(4) > 0) {
            if (m_lines.size() == 1) return;
            const int line = below(static_cast<int64_t>(m_lines.size()));
            const int before = m_line;
            m_line = line;
            const int64_t wanted = line == before ? m_tick : now().left;
            check("switch", m_control.switchTo(line + 1), {wanted});
            if (line != before || wanted != m_tick) {
                m_past.push_back({before, m_tick});
                m_future.clear();
            }
            return;
        }
        RandomEdit edit;
        if (!edit.choose(m_debugger.executor->snapshot(), *m_subject.model, m_tick, m_random)) return;
        Expected fork;
        for (const PlainEdit& earlier : now().edits)
            if (earlier.tick <= m_tick) fork.edits.push_back(earlier);
        fork.edits.push_back(edit.plain);
        fork.stops = plainRun(m_subject, fork.edits);
        const Result<StopReport> report = m_control.edit(static_cast<int>(edit.plain.frame), edit.value, edit.tensor());
        m_line = static_cast<int>(m_lines.size());
        m_lines.push_back(std::move(fork));
        check("edit", report, {m_tick});
    }

    const Subject& m_subject;
    DebuggerFixture m_debugger;
    RunControl& m_control;
    std::mt19937 m_random;
    std::vector<Expected> m_lines;
    int m_line = 0;
    int64_t m_tick = 0; ///< before the request
    std::vector<Placed> m_breakpoints;
    std::vector<Visited> m_past, m_future;
};

TEST(RunControl, random_requests_lead_where_a_forward_run_says)
{
    std::vector<Subject> subjects = {textSubject(kEverything, 7), textSubject(kNested, 4), collatz(7)};
    subjects.back().maxSteps = 500; // edits make it endless
    for (uint32_t seed = 100; subjects.size() < 40; ++seed) {
        Subject subject = randomSubject(seed);
        const std::vector<PlainStop> stops = plainRun(subject, {});
        if (stops.size() >= 10 && stops.size() <= 300 && !stops.back().op.valid()) subjects.push_back(std::move(subject));
    }
    constexpr int kPerTester = 50;
    std::mt19937 random(11);
    for (int done = 0; done < rounds(kSequences); done += kPerTester) {
        const Subject& subject = subjects[random() % subjects.size()];
        TimelineBudget budget;
        budget.spacingNs = 1 << (random() % 16); // checkpoints from everywhere to hardly any
        budget.overhead = 1000;
        budget.undoStates = random() % 3 == 0 ? 2 : 256;
        SCOPED_TRACE(done);
        Tester tester(subject, static_cast<uint32_t>(done), budget);
        for (int i = 0; i < kPerTester && !HasFailure(); ++i) tester.sequence();
        ASSERT_FALSE(HasFailure());
    }
}

} // namespace
} // namespace loopscope::testing
