// Every recipe about values, branches, loops and times, against a calculation from the script's own list of what it did.
#include "fixture.h"

#include <algorithm>
#include <cmath>
#include <gmock/gmock.h>
#include <map>
#include <set>

namespace loopscope::test {
namespace {

using Lines = std::vector<std::string>;

/// Joins cells with "|".
template <typename... Cells> std::string line(const Cells&... cells)
{
    std::string out;
    const auto add = [&](const auto& value) {
        if (!out.empty()) out += "|";
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
            if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>) out += cell(static_cast<int64_t>(value));
            else out += cell(static_cast<double>(value));
        } else {
            out += value;
        }
    };
    (add(cells), ...);
    return out;
}

Lines sorted(Lines lines)
{
    std::sort(lines.begin(), lines.end());
    return lines;
}

struct Numbers {
    int64_t finite = 0, nan = 0, inf = 0, zeros = 0;
    double min = INFINITY, max = -INFINITY, mean = 0, std = 0;
    explicit Numbers(const Fact& fact)
    {
        double sum = 0;
        for (const double v : fact.data) {
            zeros += v == 0;
            nan += std::isnan(v);
            inf += std::isinf(v);
            if (!std::isfinite(v)) continue;
            ++finite;
            min = std::min(min, v);
            max = std::max(max, v);
            sum += v;
        }
        if (finite == 0) return;
        mean = sum / static_cast<double>(finite);
        for (const double v : fact.data) {
            if (std::isfinite(v)) std += (v - mean) * (v - mean);
        }
        std = std::sqrt(std / static_cast<double>(finite));
    }
};

/// One recording for all tests of the suite: 200 outer iterations, a NaN in iteration 6, infinities when the products overflow.
class RecipesOfOneRun : public testing::Test {
protected:
    static void SetUpTestSuite()
    {
        s_recording = new Recording(record(optionsFor(tracePath(), TraceLevel::hashes), {{.outer = 200, .nanAt = 6}}));
    }
    static void TearDownTestSuite()
    {
        delete s_recording;
        s_recording = nullptr;
    }
    static const Recording& r() { return *s_recording; }
    static Lines ask(std::string_view name, QueryParameters parameters = {})
    {
        parameters.try_emplace("limit", "100000");
        return s_recording->recipe(name, parameters);
    }
    /// Facts of one operator, by graph and label.
    static std::vector<Fact> writesOf(const std::string& graph, const std::string& op, int slot = -1)
    {
        std::vector<Fact> found;
        for (const Fact& fact : r().facts) {
            if (fact.graph == graph && fact.op == op && (slot < 0 || fact.slot == slot)) found.push_back(fact);
        }
        return found;
    }
    static const InvocationFact& invocation(int64_t id) { return r().invocations[static_cast<size_t>(id - 1)]; }

private:
    static Recording* s_recording;
};
Recording* RecipesOfOneRun::s_recording = nullptr;

TEST_F(RecipesOfOneRun, firstNaNAndInfinity)
{
    for (const bool wantsNaN : {true, false}) {
        const auto isBad = [&](const Fact& fact) { return wantsNaN ? Numbers(fact).nan > 0 : Numbers(fact).inf > 0; };
        const auto first = std::find_if(r().facts.begin(), r().facts.end(), isBad);
        ASSERT_NE(first, r().facts.end());
        Lines expected;
        for (const Fact& fact : r().facts) {
            if (fact.step != first->step) continue;
            const std::string iteration = fact.iteration < 0 ? "NULL" : cell(fact.iteration);
            if (wantsNaN) expected.push_back(line(fact.step, fact.op, fact.value, iteration, Numbers(fact).nan, fact.path));
            else expected.push_back(line(fact.step, fact.op, fact.value, iteration, Numbers(fact).inf));
        }
        EXPECT_EQ(sorted(ask(wantsNaN ? "first-nan" : "first-inf")), sorted(expected));
    }
}

TEST_F(RecipesOfOneRun, abnormalByOp)
{
    struct Sum {
        int64_t writes = 0, nan = 0, inf = 0, since = -1;
    };
    std::map<std::pair<std::string, std::string>, Sum> sums;
    for (const Fact& fact : r().facts) {
        const Numbers n(fact);
        if (n.nan + n.inf == 0) continue;
        Sum& sum = sums[{fact.graph, fact.op}];
        ++sum.writes;
        sum.nan += n.nan;
        sum.inf += n.inf;
        if (sum.since < 0) sum.since = fact.step;
    }
    Lines expected;
    for (const auto& [op, sum] : sums) expected.push_back(line(op.first, op.second, sum.writes, sum.nan, sum.inf, sum.since));
    ASSERT_GT(expected.size(), 3U);
    EXPECT_EQ(sorted(ask("abnormal-by-op")), sorted(expected));
}

TEST_F(RecipesOfOneRun, abnormalPerIteration)
{
    std::map<int64_t, int64_t> byIteration;
    for (const Fact& fact : writesOf("outer_body", "split#5")) {
        if (Numbers(fact).nan > 0) byIteration[fact.iteration] += Numbers(fact).nan;
    }
    Lines expected;
    for (const auto& [iteration, nan] : byIteration) expected.push_back(line(iteration, nan));
    EXPECT_EQ(ask("abnormal-per-iteration", {{"op", "main/while#0/split#5"}}), expected);
}

TEST_F(RecipesOfOneRun, valuePerIteration)
{
    Lines expected;
    for (const Fact& fact : writesOf("outer_body", "if#3")) {
        const Numbers n(fact);
        expected.push_back(line(fact.iteration, n.min, n.max, n.mean, n.std));
    }
    EXPECT_EQ(ask("value-per-iteration", {{"op", "main/while#0/if#3"}}), expected);
    expected.clear();
    for (const Fact& fact : writesOf("outer_body", "split#5", 1)) {
        if (fact.iteration > 4) continue; // later ones hold a NaN or rounding of the deviation
        const Numbers n(fact);
        expected.push_back(line(fact.iteration, n.min, n.max, n.mean, n.std));
    }
    Lines lines = ask("value-per-iteration", {{"op", "main/while#0/split#5"}, {"slot", "1"}});
    lines.resize(expected.size());
    EXPECT_EQ(lines, expected);
}

TEST_F(RecipesOfOneRun, valueAt)
{
    for (const Fact& fact : writesOf("inner_body", "mul#1")) {
        if (fact.path != "main/while#0@7:body/while#4@1") continue;
        const Numbers n(fact);
        EXPECT_EQ(ask("value-at", {{"op", "main/while#0/while#4/mul#1"},
                                   {"outer", "main/while#0"},
                                   {"inner", "main/while#0/while#4"},
                                   {"i", "7"},
                                   {"j", "1"}}),
                  Lines{line(n.min, n.max, n.mean)});
        return;
    }
    FAIL() << "the script has no such write";
}

TEST_F(RecipesOfOneRun, branches)
{
    Lines perIteration, changes;
    std::map<std::string, std::vector<int64_t>> taken;
    std::string before;
    for (const InvocationFact& fact : r().invocations) {
        if (fact.role != "then" && fact.role != "else") continue;
        const int64_t iteration = invocation(fact.parent).iteration;
        perIteration.push_back(line(iteration, fact.role, fact.first));
        if (!before.empty() && before != fact.role) changes.push_back(line(iteration, fact.role));
        before = fact.role;
        taken[fact.role].push_back(iteration);
    }
    EXPECT_EQ(ask("branch-per-iteration", {{"op", "if#3"}}), perIteration);
    EXPECT_EQ(ask("branch-changes", {{"op", "if#3"}}), changes);
    Lines counts;
    for (const auto& [role, iterations] : taken)
        counts.push_back(line("if#3", role, iterations.size(), iterations.front(), iterations.back()));
    EXPECT_EQ(sorted(ask("branch-counts")), sorted(counts));
    EXPECT_EQ(ask("branch-never"), Lines{});
}

TEST_F(RecipesOfOneRun, branchNever)
{
    const Recording once = record(optionsFor(tracePath()), {{.outer = 1}});
    EXPECT_EQ(once.recipe("branch-never"), Lines{"if#3|else"}) << "one iteration, an even one";
}

TEST_F(RecipesOfOneRun, loopTrips)
{
    struct Loop {
        int64_t trips = 0, steps = 0, first = 0;
        std::string name, inside;
    };
    std::map<std::pair<int64_t, std::string>, Loop> loops;
    for (const InvocationFact& fact : r().invocations) {
        if (fact.role != "loop") continue;
        const auto [place, isNew] = loops.try_emplace({fact.parent, fact.op});
        Loop& loop = place->second;
        if (isNew) loop.first = fact.first;
        loop.trips = std::max(loop.trips, fact.iteration);
        loop.steps += fact.steps;
        loop.name = fact.op;
        loop.inside = invocation(fact.parent).path;
    }
    Lines expected;
    struct Summary {
        int64_t executions = 0, least = INT64_MAX, most = 0, total = 0;
    };
    std::map<std::string, Summary> summaries;
    for (const auto& [key, loop] : loops) {
        expected.push_back(line(loop.name, loop.inside, loop.trips, loop.steps));
        Summary& s = summaries[loop.name];
        ++s.executions;
        s.least = std::min(s.least, loop.trips);
        s.most = std::max(s.most, loop.trips);
        s.total += loop.trips;
    }
    EXPECT_EQ(sorted(ask("loop-trips")), sorted(expected));
    Lines summary;
    for (const auto& [name, s] : summaries) summary.push_back(line(name, s.executions, s.least, s.most, s.total));
    EXPECT_EQ(sorted(ask("loop-trips-summary")), sorted(summary));
}

TEST_F(RecipesOfOneRun, loopCondition)
{
    Lines read, said;
    for (const Fact& fact : writesOf("outer_body", "add#0")) read.insert(read.begin(), line(fact.iteration, "i", fact.data[0]));
    for (const Fact& fact : writesOf("outer_cond", "less#0")) said.insert(said.begin(), line(fact.iteration, fact.data[0]));
    EXPECT_EQ(ask("loop-condition", {{"op", "main/while#0"}}), read);
    EXPECT_EQ(ask("loop-condition-result", {{"loop", "main/while#0"}}), said);
    Lines three = read;
    three.resize(3);
    EXPECT_EQ(ask("loop-condition", {{"op", "main/while#0"}, {"limit", "3"}}), three);
}

TEST_F(RecipesOfOneRun, loopIterationsByTimeAndSteps)
{
    std::vector<InvocationFact> iterations;
    std::map<int64_t, int64_t> frequency;
    for (const InvocationFact& fact : r().invocations) {
        if (fact.role != "loop" || fact.op != "while#0") continue;
        iterations.push_back(fact);
        ++frequency[fact.steps];
    }
    // The most frequent number of steps; the smaller one of a tie.
    int64_t usual = -1;
    for (const auto& [steps, count] : frequency) {
        if (usual < 0 || count > frequency[usual]) usual = steps;
    }
    Lines odd, slow;
    for (const InvocationFact& fact : iterations) {
        if (fact.steps != usual) odd.push_back(line(fact.iteration, fact.steps));
    }
    std::stable_sort(iterations.begin(), iterations.end(), [](const auto& a, const auto& b) { return a.ns > b.ns; });
    for (const InvocationFact& fact : iterations) slow.push_back(line(fact.iteration, fact.ns, fact.steps));
    EXPECT_EQ(ask("loop-odd-iterations", {{"op", "while#0"}}), odd);
    EXPECT_EQ(ask("loop-slowest-iterations", {{"op", "while#0"}}), slow);
}

TEST_F(RecipesOfOneRun, neverChanges)
{
    std::map<std::tuple<std::string, std::string, std::string>, std::vector<const Fact*>> writes;
    for (const Fact& fact : r().facts) {
        if (fact.iteration >= 0) writes[{fact.graph, fact.op, fact.value}].push_back(&fact);
    }
    Lines expected;
    for (const auto& [what, facts] : writes) {
        const bool same = std::all_of(facts.begin(), facts.end(),
                                      [&](const Fact* f) { return f->data == facts[0]->data && f->shape == facts[0]->shape; });
        if (facts.size() > 1 && same) expected.push_back(line(std::get<0>(what), std::get<1>(what), std::get<2>(what), facts.size()));
    }
    EXPECT_THAT(expected, testing::Contains("outer_body|neg#6|invariant|200"));
    EXPECT_EQ(sorted(ask("never-changes")), sorted(expected));
}

TEST_F(RecipesOfOneRun, largestJump)
{
    const std::vector<Fact> writes = writesOf("outer_body", "if#3");
    std::string expected;
    double most = -1;
    for (size_t i = 1; i < writes.size(); ++i) {
        const double jump = std::fabs(writes[i].data[0] - writes[i - 1].data[0]);
        if (jump <= most) continue;
        most = jump;
        expected = line(writes[i].iteration, writes[i - 1].data[0], writes[i].data[0], jump);
    }
    const Lines lines = ask("largest-jump", {{"op", "if#3"}});
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].substr(lines[0].rfind('|')), expected.substr(expected.rfind('|')));
}

TEST_F(RecipesOfOneRun, writesAroundAStep)
{
    const int64_t step = 500;
    const std::vector<Fact> writes = writesOf("outer_body", "if#3");
    const Fact *last = nullptr, *next = nullptr, *changed = nullptr, *before = nullptr;
    for (const Fact& fact : writes) {
        if (fact.step < step) last = &fact;
        else if (next == nullptr) next = &fact;
        if (fact.step < step && (before == nullptr || before->data != fact.data)) changed = &fact;
        before = &fact;
    }
    const QueryParameters parameters{{"op", "if#3"}, {"step", "500"}};
    EXPECT_EQ(ask("last-write", parameters), Lines{line(last->step, last->iteration, last->data[0])});
    EXPECT_EQ(ask("next-write", parameters), Lines{line(next->step, next->iteration, next->data[0])});
    EXPECT_EQ(ask("last-change", parameters), Lines{line(changed->step, changed->iteration)});
    // A value that changes seldom: the ramp's content repeats every third iteration, the invariant never changes after its first write.
    const std::vector<Fact> invariant = writesOf("outer_body", "neg#6");
    EXPECT_EQ(ask("last-change", {{"op", "neg#6"}, {"step", "500"}}), Lines{line(invariant[0].step, 0)});
    Lines around;
    for (const Fact& fact : r().facts) {
        if (fact.step >= 495 && fact.step <= 505)
            around.push_back(line(fact.step, fact.op, fact.value, Numbers(fact).finite > 0 ? cell(Numbers(fact).mean) : "NULL"));
    }
    EXPECT_EQ(ask("around", {{"step", "500"}}), around);
}

TEST_F(RecipesOfOneRun, times)
{
    struct Sum {
        int64_t times = 0, ns = 0;
    };
    std::map<std::pair<std::string, std::string>, Sum> byOp;
    std::map<std::string, Sum> byKind, byGraph;
    int64_t total = 0;
    for (const Fact& fact : r().facts) {
        if (fact.isCall || fact.slot != 0) continue;
        Sum& op = byOp[{fact.graph, fact.op}];
        ++op.times;
        op.ns += fact.ns;
        Sum& kind = byKind[fact.kind];
        ++kind.times;
        kind.ns += fact.ns;
        total += fact.ns;
    }
    Lines ops, kinds, graphs;
    for (const auto& [op, sum] : byOp)
        ops.push_back(line(op.first, op.second, sum.times, sum.ns, static_cast<double>(sum.ns) * 100.0 / static_cast<double>(total)));
    for (const auto& [kind, sum] : byKind) kinds.push_back(line(kind, sum.times, sum.ns));
    EXPECT_EQ(sorted(ask("slowest-ops")), sorted(ops));
    EXPECT_EQ(sorted(ask("slowest-kinds")), sorted(kinds));
    const std::map<std::string, std::string> graphOf = {
        {"while#0", "outer_body"}, {"while#4", "inner_body"}, {"then", "then_graph"}, {"else", "else_graph"}};
    for (const InvocationFact& fact : r().invocations) {
        Sum& sum = byGraph[fact.role == "main" ? "main" : graphOf.at(fact.role == "loop" ? fact.op : fact.role)];
        ++sum.times;
        sum.ns += fact.ns;
    }
    for (const auto& [graph, sum] : byGraph) graphs.push_back(line(graph, sum.times, sum.ns));
    EXPECT_EQ(sorted(ask("time-per-graph")), sorted(graphs));
}

TEST_F(RecipesOfOneRun, slowestComeFirst)
{
    int64_t before = INT64_MAX;
    const Result<QueryResult> result = r().reader->recipe("slowest-ops", {{"limit", "5"}});
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->rows.size(), 5U);
    for (const auto& row : result->rows) {
        EXPECT_LE(std::get<int64_t>(row[3]), before);
        before = std::get<int64_t>(row[3]);
    }
}

TEST_F(RecipesOfOneRun, counts)
{
    std::map<std::pair<std::string, std::string>, int64_t> counts;
    for (const Fact& fact : r().facts) counts[{fact.graph, fact.op}] += fact.slot == 0 ? 1 : 0;
    Lines expected;
    for (const auto& [op, count] : counts) expected.push_back(line(op.first, op.second, count));
    EXPECT_EQ(sorted(ask("op-counts")), sorted(expected));
    EXPECT_EQ(ask("never-executed"), Lines{});
    const Recording none = record(optionsFor(tracePath()), {{.outer = 1}});
    EXPECT_EQ(sorted(none.recipe("never-executed")), (Lines{"else_graph|add#0", "inner_body|add#0", "inner_body|mul#1"}));
}

TEST_F(RecipesOfOneRun, rangesAndConstants)
{
    struct Range {
        double min = INFINITY, max = -INFINITY;
        int64_t writes = 0, finite = 0;
    };
    std::map<std::tuple<std::string, std::string, int>, std::pair<Range, std::string>> ranges;
    Lines constant;
    for (const Fact& fact : r().facts) {
        const Numbers n(fact);
        if (n.finite == 0) continue;
        auto& [range, value] = ranges[{fact.graph, fact.op, fact.slot}];
        value = fact.value;
        range.min = std::min(range.min, n.min);
        range.max = std::max(range.max, n.max);
        ++range.writes;
        if (fact.shape.rank() > 0 && n.min == n.max) constant.push_back(line(fact.step, fact.op, fact.value, n.min));
    }
    Lines expected, zero;
    for (const auto& [key, entry] : ranges) {
        expected.push_back(line(std::get<0>(key), entry.second, entry.first.min, entry.first.max, entry.first.writes));
        if (entry.first.min == 0 && entry.first.max == 0) zero.push_back(line(std::get<0>(key), entry.second, entry.first.writes));
    }
    EXPECT_EQ(sorted(ask("ranges")), sorted(expected));
    EXPECT_EQ(sorted(ask("all-zero")), sorted(zero));
    EXPECT_THAT(zero, testing::Contains("outer_body|zero|200"));
    EXPECT_EQ(sorted(ask("constant-tensors")), sorted(constant));
}

TEST_F(RecipesOfOneRun, shapeChanges)
{
    Lines expected;
    std::vector<int64_t> before;
    for (const auto& [step, dims] : r().shapes) {
        if (!before.empty() && before != dims) expected.push_back(line(step, "ramp", "[" + cell(dims[0]) + "]"));
        before = dims;
    }
    EXPECT_EQ(ask("shape-changes"), expected);
}

TEST_F(RecipesOfOneRun, callStack)
{
    // A step inside the inner loop of iteration 3.
    for (const Fact& fact : r().facts) {
        if (fact.path != "main/while#0@3:body/while#4@2") continue;
        Lines expected;
        int64_t id = fact.invocation;
        const Lines segments = {"while#4@2", "while#0@3", "main"};
        for (size_t depth = 0; depth < 3; ++depth) {
            expected.push_back(line(depth, segments[depth], invocation(id).first));
            id = invocation(id).parent;
        }
        EXPECT_EQ(ask("call-stack", {{"step", cell(fact.step)}}), expected);
        return;
    }
    FAIL() << "the script has no such step";
}

TEST_F(RecipesOfOneRun, runsAlertsAndWholeness)
{
    EXPECT_EQ(ask("runs"), Lines{line(1, 1, "record", "cpu", "complete", r().steps, "NULL")});
    EXPECT_EQ(ask("models"), Lines{line(1, "", "", "NULL", 1, "")});
    EXPECT_EQ(ask("origins"), Lines{}); // operators of the script are those of its file
    EXPECT_EQ(ask("incomplete"), Lines{});
    EXPECT_EQ(ask("gaps"), Lines{});
    Lines expected;
    std::set<std::tuple<std::string, std::string, int, bool>> seen;
    for (const Fact& fact : r().facts) {
        const Numbers n(fact);
        const std::string place = fact.address + ": first ";
        if (n.nan > 0 && seen.insert({fact.graph, fact.op, fact.slot, true}).second) {
            const auto at =
                std::find_if(fact.data.begin(), fact.data.end(), [](double v) { return !std::isfinite(v); }) - fact.data.begin();
            expected.push_back(line("nan", fact.step, place + "NaN, at element " + cell(static_cast<int64_t>(at))));
        }
        if (n.inf > 0 && seen.insert({fact.graph, fact.op, fact.slot, false}).second)
            expected.push_back(line("overflow", fact.step, place + "infinity"));
    }
    EXPECT_EQ(sorted(ask("alerts")), sorted(expected));
    const Recording failed = record(optionsFor(tracePath()), {{.stopAfterStep = 40}});
    EXPECT_EQ(failed.recipe("incomplete"), Lines{"1|failed|main/mul#1: C2: stopped by the script"});
}

TEST_F(RecipesOfOneRun, rate)
{
    const Lines clock = r().rows("SELECT event, ns FROM clock ORDER BY event");
    const Lines rate = ask("rate");
    ASSERT_EQ(clock.size(), rate.size());
    std::pair<double, double> before;
    for (size_t i = 0; i < clock.size(); ++i) {
        const double event = std::stod(clock[i]), ns = std::stod(clock[i].substr(clock[i].find('|') + 1));
        const double perSecond = std::stod("0" + (i == 0 ? "" : rate[i].substr(rate[i].rfind('|') + 1)));
        // The recipe divides whole numbers.
        if (i > 0) {
            EXPECT_NEAR(perSecond, (event - before.first) * 1e9 / (ns - before.second), perSecond * 1e-9 + 1);
        }
        before = {event, ns};
    }
}

TEST(RecipesOfTwoRuns, findDifferences)
{
    const Recording r = record(optionsFor(tracePath(), TraceLevel::hashes), {{}, {.perturbFrom = 5}});
    const std::vector<Fact>&a = r.factsOfRuns[0], &b = r.factsOfRuns[1];
    for (size_t i = 0; i < a.size(); ++i) {
        if (a[i].data == b[i].data) continue;
        EXPECT_EQ(
            r.recipe("first-difference"),
            Lines{line(a[i].step, a[i].op, a[i].value, a[i].iteration < 0 ? "NULL" : cell(a[i].iteration), a[i].data[0], b[i].data[0])});
        break;
    }
    EXPECT_EQ(r.recipe("branch-differences"), Lines{});
    EXPECT_EQ(r.recipe("trip-differences"), Lines{});
}

TEST(RecipesOfTwoRuns, findOtherBranchesAndTrips)
{
    const Recording r = record(optionsFor(tracePath()), {{}, {.branchFlipAt = 7, .extraInnerAt = 4}});
    EXPECT_EQ(r.recipe("branch-differences"), Lines{"7|if#3|else|then"});
    EXPECT_EQ(r.recipe("trip-differences"), Lines{"while#4|5|0|1"}) << "the fifth execution of the inner loop, in iteration 4";
    EXPECT_EQ(r.recipe("branch-differences", {{"a", "2"}, {"b", "1"}}), Lines{"7|if#3|then|else"});
}

TEST(RecipesOfValues, tellWhatFillsTheFile)
{
    RecorderOptions options = optionsFor(tracePath(), TraceLevel::all);
    options.iterations = *parseIterations("all");
    const Recording r = record(std::move(options));
    std::map<std::pair<std::string, std::vector<double>>, int64_t> uses;
    for (const Fact& fact : r.facts) {
        if (fact.data.size() > 1) ++uses[{toString(fact.shape), fact.data}];
    }
    // The constant of three floats is stored, but no operator writes it.
    int64_t bytes = 12;
    Lines shared;
    for (const auto& [content, count] : uses) {
        const auto size = static_cast<int64_t>(content.second.size() * 4);
        bytes += size;
        shared.push_back(line(size, count, (count - 1) * size));
    }
    Lines lines = r.recipe("shared-values");
    for (std::string& text : lines) text = text.substr(text.find('|') + 1);
    // Scalars equal to a constant share its blob too; they are not counted above.
    std::erase_if(lines, [](const std::string& text) { return text.starts_with("4|"); });
    EXPECT_EQ(sorted(lines), sorted(shared));
    EXPECT_EQ(sorted(r.recipe("stored-bytes")), (Lines{line("f32", uses.size() + 1, bytes, bytes, 1), line("i32", 2, 8, 8, 1)}));
}

} // namespace
} // namespace loopscope::test
