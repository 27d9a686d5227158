// Watches, conditions on past values and hit rules against a plain forward run that remembers every write: the same stops and the same
// counts forwards, backwards and after jumps.
#include "engine/debug/timeline.h"
#include "tests/unit/debug/breakpoint_models.h"
#include "tests/unit/debug/rounds.h"

#include <algorithm>
#include <random>

namespace loopscope::testing {
namespace {

/// What one operator wrote.
struct Written {
    int64_t tick = 0; ///< of the stop behind it
    GraphId graph;
    OperatorId op;
    InvocationId invocation = 0;
    Shape shape;
    std::vector<std::byte> bytes;
    bool isEqual(const Written& other) const { return shape == other.shape && bytes == other.bytes; }
};

/// A stop before an operator.
struct Before {
    GraphId graph;
    OperatorId op;
    InvocationId invocation = 0;
    int64_t iteration = -1; ///< of the innermost loop
};

/// Steps through a run once and remembers.
class Recording final : public ExecutionObserver {
public:
    explicit Recording(const Subject& subject)
    {
        const auto interpreter = subject.make();
        interpreter->setObserver(this);
        EXPECT_OK(interpreter->start());
        for (;;) {
            const Position& position = interpreter->position();
            Before stop;
            if (!position.finished && position.op.valid()) {
                stop = {position.graph, position.op, position.invocation, -1};
                for (int d = position.depth - 1; d > 0 && stop.iteration < 0; --d) stop.iteration = interpreter->frame(d).iteration;
            }
            stops.push_back(stop);
            if (position.finished || !interpreter->step().ok()) return;
            for (; m_open < writes.size(); ++m_open) writes[m_open].tick = interpreter->tick();
        }
    }
    void operatorExecuted(const OperatorEvent& event) override
    {
        if (event.results.empty() || event.state != EventState::live) return;
        const Tensor& result = *event.results[0];
        writes.push_back({0, event.graph, event.op, event.invocation, result.shape, {result.data, result.data + result.bytes}});
    }
    int64_t end() const { return static_cast<int64_t>(stops.size()) - 1; }

    std::vector<Before> stops; ///< by tick
    std::vector<Written> writes;

private:
    size_t m_open = 0;
};

/// The writes of one operator, oldest first.
std::vector<const Written*> writesOf(const Recording& recording, const Written& like)
{
    std::vector<const Written*> writes;
    for (const Written& written : recording.writes)
        if (written.graph == like.graph && written.op == like.op) writes.push_back(&written);
    return writes;
}

struct Wanted {
    std::string line;
    std::vector<int64_t> met; ///< ticks, each once
};

/// A random breakpoint about a value that is written, and where it is met.
Wanted randomBreakpoint(const Model& model, const Recording& recording, std::mt19937& random)
{
    const auto below = [&](size_t limit) { return random() % static_cast<uint32_t>(limit); };
    const Written& about = recording.writes[below(recording.writes.size())];
    const Graph& graph = model.graph(about.graph);
    const Operator& op = graph.op(about.op);
    const std::string id = graph.value(op.results[0]).id;
    // By its full path it would be one invocation's; every way there counts.
    const std::string place = ".../" + op.kind.name + "#" + std::to_string(about.op.index);
    const std::vector<const Written*> writes = writesOf(recording, about);
    Wanted wanted;
    const auto addIf = [&](auto holds) {
        for (size_t i = 0; i < writes.size(); ++i)
            if (holds(i)) wanted.met.push_back(writes[i]->tick);
    };
    const auto isSame = [&](size_t i, size_t back) { return i >= back && writes[i]->isEqual(*writes[i - back]); };
    // Other graphs may have an operator of that name: the condition names the value, and `graph` must be alone with it.
    switch (below(6)) {
    case 0:
        wanted.line = "watch " + place + ":0";
        addIf([&](size_t i) { return !isSame(i, 1); });
        break;
    case 1: {
        const size_t count = 1 + below(3);
        wanted.line = "break unchanged " + place + ":0 for " + std::to_string(count);
        addIf([&](size_t i) {
            for (size_t k = 0; k < count; ++k)
                if (i < k + 1 || !isSame(i - k, 1)) return false;
            return true;
        });
        break;
    }
    case 2: {
        const size_t back = 1 + below(4);
        wanted.line = "break write " + place + ":0 if same(%" + id + ", prev(%" + id + ", " + std::to_string(back) + "))";
        addIf([&](size_t i) { return isSame(i, back); });
        break;
    }
    case 3:
        wanted.line = "break write " + place + ":0 if not same(%" + id + ", first(%" + id + "))";
        addIf([&](size_t i) { return !writes[i]->isEqual(*writes[0]); });
        break;
    case 4:
        wanted.line = "break shape " + place + ":0";
        addIf([&](size_t i) { return i > 0 && writes[i]->shape != writes[i - 1]->shape; });
        break;
    default: {
        // Before another operator of the graph, which may come before or behind the write.
        const size_t at = below(graph.operators.size());
        const int64_t every = 1 + static_cast<int64_t>(below(3));
        wanted.line = "break .../" + graph.operators[at].kind.name + "#" + std::to_string(at) + " if changed(%" + id + ") and iter % " +
                      std::to_string(every) + " == 0";
        for (int64_t tick = 0; tick <= recording.end(); ++tick) {
            const Before& stop = recording.stops[static_cast<size_t>(tick)];
            if (stop.graph != about.graph || stop.op.index != static_cast<int32_t>(at)) continue;
            if (stop.iteration < 0 || stop.iteration % every != 0) continue;
            const Written* now = nullptr;
            const Written* then = nullptr;
            for (const Written* written : writes) {
                if (written->tick > tick) break;
                if (written->invocation == stop.invocation) now = written;
                else if (written->invocation < stop.invocation) then = written;
            }
            if (!now || !then || !now->isEqual(*then)) wanted.met.push_back(tick);
        }
    }
    }
    return wanted;
}

/// Whether operators of that kind and index are in one graph only, so that `.../kind#n` means one.
bool isAlone(const Model& model, const std::string& line)
{
    const size_t begin = line.find(".../") + 4;
    const size_t end = line.find_first_of(": ", begin);
    const std::string site = line.substr(begin, end - begin);
    int count = 0;
    for (const Graph& graph : model.graphs)
        for (size_t o = 0; o < graph.operators.size(); ++o) count += graph.operators[o].kind.name + "#" + std::to_string(o) == site ? 1 : 0;
    return count == 1;
}

class Tester {
public:
    Tester(const Subject& subject, const Recording& recording, uint32_t seed)
        : m_random(seed),
          m_recording(recording),
          m_run(subject, budgetOf(seed))
    {
        for (int tries = 0; tries < 20 && m_breakpoints.size() < 3; ++tries) {
            Wanted wanted = randomBreakpoint(*subject.model, recording, m_random);
            if (!isAlone(*subject.model, wanted.line)) continue;
            m_stopping.push_back(wanted.met);
            std::string rule;
            const size_t number = 1 + below(4);
            const size_t kind = below(5);
            if (kind == 0) rule = " hits " + std::to_string(number);
            if (kind == 1) rule = " hits %" + std::to_string(number);
            if (kind == 2) rule = " hits >=" + std::to_string(number);
            std::vector<int64_t>& stopping = m_stopping.back();
            for (size_t hit = wanted.met.size(); hit > 0 && kind < 3; --hit) {
                const bool lets = kind == 0 ? hit == number : kind == 1 ? hit % number == 0 : hit >= number;
                if (!lets) stopping.erase(stopping.begin() + static_cast<std::ptrdiff_t>(hit) - 1);
            }
            wanted.line += rule;
            const Result<int> set = setLine(m_run.breakpoints, wanted.line);
            EXPECT_TRUE(set.ok()) << wanted.line << ": " << set.error().message();
            m_breakpoints.push_back(std::move(wanted));
        }
        EXPECT_TRUE(m_run.control.start().ok());
    }

    void request()
    {
        const int64_t from = m_run.timeline.tick();
        Result<StopReport> report = StopReport();
        int64_t wanted = from;
        std::string name = "continue";
        switch (below(5)) {
        case 0:
        case 1:
            wanted = from == m_recording.end() ? from : nextStop(from);
            if (wanted == from) return;
            report = m_run.control.resume(Direction::forward);
            break;
        case 2:
            name = "reverse-continue";
            if (from == 0) return;
            wanted = previousStop(from);
            report = m_run.control.resume(Direction::backward);
            break;
        case 3:
            name = "goto";
            wanted = static_cast<int64_t>(below(static_cast<size_t>(m_recording.end()) + 1));
            report = m_run.control.goToTick(wanted);
            break;
        default:
            name = "step";
            if (from == m_recording.end()) return;
            wanted = from + 1;
            report = m_run.control.step(Direction::forward);
            break;
        }
        SCOPED_TRACE(name + " from tick " + std::to_string(from) + " with " + lines());
        ASSERT_TRUE(report.ok()) << report.error().message();
        ASSERT_EQ(m_run.timeline.tick(), wanted) << text(report);
        if (below(3) > 0) return;
        for (size_t i = 0; i < m_breakpoints.size(); ++i) {
            const auto& met = m_breakpoints[i].met;
            const auto count = std::ranges::count_if(met, [&](int64_t tick) { return tick <= wanted; });
            ASSERT_EQ(m_run.breakpoints.list()[i].hits, count) << m_breakpoints[i].line << " at tick " << wanted;
        }
        ASSERT_EQ(m_run.timeline.tick(), wanted);
    }
    bool isEmpty() const { return m_breakpoints.empty(); }

private:
    static TimelineBudget budgetOf(uint32_t seed)
    {
        TimelineBudget budget;
        budget.spacingNs = 1 << (seed % 16);
        budget.overhead = 1000;
        return budget;
    }
    size_t below(size_t limit) { return m_random() % static_cast<uint32_t>(limit); }
    std::string lines() const
    {
        std::string all;
        for (const Wanted& wanted : m_breakpoints) all += wanted.line + "; ";
        return all;
    }
    int64_t nextStop(int64_t from) const
    {
        int64_t best = m_recording.end();
        for (const auto& ticks : m_stopping)
            for (const int64_t tick : ticks)
                if (tick > from) best = std::min(best, tick);
        return best;
    }
    int64_t previousStop(int64_t from) const
    {
        int64_t best = 0;
        for (const auto& ticks : m_stopping)
            for (const int64_t tick : ticks)
                if (tick < from) best = std::max(best, tick);
        return best;
    }

    std::mt19937 m_random;
    const Recording& m_recording;
    DebuggerFixture m_run;
    std::vector<Wanted> m_breakpoints;
    std::vector<std::vector<int64_t>> m_stopping;
};

TEST(BreakpointProperty, stops_and_counts_are_those_of_a_forward_run_that_remembers_everything)
{
    std::vector<Subject> subjects = {textSubject(kEverything, 9), textSubject(kNested, 5), examples(7), examples(27)};
    for (uint32_t seed = 1; subjects.size() < 30; ++seed) {
        Subject subject = randomSubject(seed);
        subject.maxSteps = 100'000;
        const auto interpreter = subject.make();
        if (interpreter->start().ok() && interpreter->run().ok() && interpreter->tick() >= 20 && interpreter->tick() <= 2000)
            subjects.push_back(std::move(subject));
    }
    int tested = 0;
    for (size_t s = 0; s < subjects.size(); ++s) {
        const Recording recording(subjects[s]);
        for (uint32_t seed = 0; seed < static_cast<uint32_t>(rounds(12)) && !HasFailure(); ++seed) {
            SCOPED_TRACE("subject " + std::to_string(s) + ", seed " + std::to_string(seed));
            Tester tester(subjects[s], recording, seed);
            if (tester.isEmpty()) continue;
            for (int i = 0; i < 25 && !HasFailure(); ++i) tester.request();
            ++tested;
        }
    }
    EXPECT_GT(tested, rounds(150));
}

} // namespace
} // namespace loopscope::testing
