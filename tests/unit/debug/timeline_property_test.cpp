// Random requests to timelines over many models: wherever they lead, the state is the one that a plain forward run has there.
#include "engine/debug/timeline.h"
#include "engine/exec/machine_state.h"
#include "tests/unit/debug/plain_run.h"
#include "tests/unit/debug/rounds.h"

namespace loopscope::testing {
namespace {

constexpr int kSequences = 100'000;
constexpr size_t kMostLines = 6;

/// A timeline of the test: its edits, its stops, and the stop at which the timeline it belongs to was left.
struct Expected {
    std::vector<PlainEdit> edits;
    std::vector<PlainStop> stops;
    int64_t end() const { return static_cast<int64_t>(stops.size()) - 1; }
};

class Traveller {
public:
    Traveller(const Subject& subject, uint32_t seed, const TimelineBudget& budget)
        : m_subject(subject),
          m_interpreter(subject.make()),
          m_timeline(*m_interpreter, budget),
          m_budget(budget),
          m_random(seed)
    {
        EXPECT_OK(m_timeline.start());
        m_lines.push_back({{}, plainRun(subject, {})});
        m_left.push_back(0);
    }

    void sequence()
    {
        const int length = 2 + below(5);
        for (int i = 0; i < length && !::testing::Test::HasFailure(); ++i) request();
    }

private:
    size_t present() const { return static_cast<size_t>(m_timeline.current() - 1); } ///< index of the present timeline
    int below(int64_t limit) { return static_cast<int>(m_random() % static_cast<uint32_t>(limit)); }

    void request()
    {
        const Expected& now = m_lines[present()];
        const int64_t from = m_timeline.tick();
        int64_t wanted = from;
        Status status;
        switch (below(12)) {
        case 0:
        case 1:
        case 2:
            wanted = std::min(from + 1, now.end());
            status = m_timeline.forward();
            break;
        case 3:
        case 4:
        case 5:
            wanted = std::max<int64_t>(from - 1, 0);
            status = m_timeline.back();
            break;
        case 6: // there and back again
            if (from == 0 || !m_timeline.back().ok()) break;
            status = m_timeline.forward();
            break;
        case 7:
        case 8:
        case 9: {
            const int64_t target = below(now.end() + 3);
            wanted = std::min(target, now.end());
            status = m_timeline.goTo(target);
            break;
        }
        case 10:
            if (m_lines.size() == 1) break;
            {
                const TimelineId id = 1 + below(static_cast<int64_t>(m_lines.size()));
                wanted = id == m_timeline.current() ? from : m_left[static_cast<size_t>(id - 1)];
                status = m_timeline.switchTo(id);
                EXPECT_EQ(m_timeline.current(), id);
            }
            break;
        default:
            if (m_lines.size() < kMostLines && below(4) == 0) edit();
        }
        static_cast<void>(status.ok()); // at the ends; what counts is where it stands
        check(wanted);
    }

    void edit()
    {
        RandomEdit edit;
        if (!edit.choose(m_interpreter->snapshot(), *m_subject.model, m_timeline.tick(), m_random)) return;
        const PlainEdit& plain = edit.plain;

        // The past that the present stop has: edits up to here of the timeline it is on.
        Expected fork;
        for (const PlainEdit& earlier : m_lines[present()].edits)
            if (earlier.tick <= plain.tick) fork.edits.push_back(earlier);
        fork.edits.push_back(plain);
        Result<TimelineId> made = m_timeline.edit(static_cast<int>(plain.frame), edit.value, edit.tensor());
        ASSERT_TRUE(made.ok()) << made.error().message();
        ASSERT_EQ(*made, std::ssize(m_lines) + 1);
        fork.stops = plainRun(m_subject, fork.edits);
        m_lines.push_back(std::move(fork));
        m_left.push_back(plain.tick);
    }

    void check(int64_t wanted)
    {
        const Expected& now = m_lines[present()];
        m_left[present()] = m_timeline.tick();
        ASSERT_EQ(m_timeline.tick(), wanted);
        ASSERT_EQ(m_interpreter->snapshot().hash(), now.stops[static_cast<size_t>(wanted)].hash)
            << "tick " << wanted << " of timeline " << m_timeline.current() << ", " << m_interpreter->positionAddress();
        ASSERT_LE(static_cast<double>(m_timeline.savedBytes()), 1.05 * static_cast<double>(m_budget.bytes));
    }

    const Subject& m_subject;
    std::unique_ptr<Interpreter> m_interpreter;
    Timeline m_timeline;
    TimelineBudget m_budget;
    std::mt19937 m_random;
    std::vector<Expected> m_lines;
    std::vector<int64_t> m_left; ///< by timeline: where it was left
};

TEST(Timeline, randomRequestsLeadToTheStatesOfForwardRuns)
{
    std::vector<Subject> subjects = {textSubject(kEverything, 7), textSubject(kNested, 4)};
    for (uint32_t seed = 0; subjects.size() < 50; ++seed) {
        Subject subject = randomSubject(seed);
        if (const size_t stops = plainRun(subject, {}).size(); stops >= 10 && stops <= 400) subjects.push_back(std::move(subject));
    }
    constexpr int kPerTraveller = 40;
    std::mt19937 random(7);
    for (int done = 0; done < rounds(kSequences); done += kPerTraveller) {
        const Subject& subject = subjects[random() % subjects.size()];
        TimelineBudget budget;
        budget.spacingNs = 1 << (random() % 16); // checkpoints from everywhere to hardly any
        budget.overhead = 1000;
        budget.undoStates = random() % 3 == 0 ? 2 : 256;
        if (random() % 2 == 0) budget.bytes = 64'000 + random() % 200'000; // most of what is saved must go again
        SCOPED_TRACE(done);
        Traveller traveller(subject, static_cast<uint32_t>(done), budget);
        for (int i = 0; i < kPerTraveller && !HasFailure(); ++i) traveller.sequence();
        ASSERT_FALSE(HasFailure());
    }
}

} // namespace
} // namespace loopscope::testing
