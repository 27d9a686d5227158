// The parts of breakpoints: hit counts against a plain list of ticks whatever the order of hearing, conditions that are worked out in
// registers, integers that wrap, and hostile specifications.
#include "engine/debug/breakpoints/hit_log.h"
#include "engine/debug/breakpoints/overflow.h"
#include "engine/debug/breakpoints/scalar_condition.h"
#include "engine/debug/expression/expression.h"
#include "tests/unit/debug/breakpoint_models.h"
#include "tests/unit/debug/scripted_source.h"
#include "tests/unit/doc_tables.h"

#include <algorithm>
#include <random>
#include <set>

namespace loopscope::testing {
namespace {

/// Hears (from, to] of a run whose hits are `hits`.
void hear(HitLog& log, const std::set<int64_t>& hits, int64_t from, int64_t to)
{
    log.begin(from);
    for (auto hit = hits.upper_bound(from); hit != hits.end() && *hit <= to; ++hit) {
        EXPECT_TRUE(log.note(*hit));
        EXPECT_FALSE(log.note(*hit)); // the same stop
    }
    log.extend(to);
}

int64_t plainCount(const std::set<int64_t>& hits, int64_t from, int64_t to)
{
    return std::distance(hits.upper_bound(from), hits.upper_bound(std::max(from, to)));
}

TEST(HitLog, counts_what_was_heard_in_any_order)
{
    std::mt19937 random(5);
    const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % static_cast<uint32_t>(limit)); };
    for (int round = 0; round < 300; ++round) {
        std::set<int64_t> hits;
        for (int i = 0; i < 60; ++i) hits.insert(below(400));
        HitLog log;
        log.clear();
        std::vector<bool> heard(401, false); ///< by tick
        for (int part = 0; part < 12; ++part) {
            const int64_t from = below(400);
            const int64_t to = from + 1 + below(400 - from);
            hear(log, hits, from, to);
            for (int64_t tick = from + 1; tick <= to; ++tick) heard[static_cast<size_t>(tick)] = true;
            if (below(6) == 0) {
                const int64_t kept = below(400);
                log.forgetAfter(kept);
                std::fill(heard.begin() + kept + 1, heard.end(), false);
            }
            const int64_t begin = below(400);
            const int64_t end = begin + below(400 - begin);
            const HitLog::Known known = log.known(begin, end);
            ASSERT_GE(known.upTo, begin);
            ASSERT_LE(known.upTo, std::max(begin, end));
            ASSERT_EQ(known.count, plainCount(hits, begin, known.upTo));
            int64_t reach = begin; // so few hits are all kept one by one
            while (reach < end && heard[static_cast<size_t>(reach) + 1]) ++reach;
            ASSERT_EQ(known.upTo, reach);
        }
    }
}

TEST(HitLog, keeps_a_bounded_part_of_very_many_hits_and_never_a_wrong_count)
{
    std::set<int64_t> hits;
    for (int64_t tick = 1; tick <= 300'000; ++tick)
        if (tick % 7 != 0) hits.insert(tick);
    HitLog log;
    log.clear();
    hear(log, hits, -1, 150'000);
    hear(log, hits, 150'000, 300'000);
    EXPECT_EQ(log.known(-1, 300'000).upTo, 300'000);
    EXPECT_EQ(log.known(-1, 300'000).count, plainCount(hits, -1, 300'000));
    for (int64_t tick = 1; tick < 300'000; tick += 9973) {
        const HitLog::Known known = log.known(-1, tick);
        ASSERT_LE(tick - known.upTo, 64) << tick; // no more than that has to be looked at again
        ASSERT_EQ(known.count, plainCount(hits, -1, known.upTo));
    }
}

TEST(Breakpoints, hostile_specifications_are_refused_and_change_nothing)
{
    const Subject subject = examples(6);
    DebuggerFixture run(subject);
    std::vector<std::string> lines;
    for (const auto& row : tableBelow("docs/breakpoints.md", "Kinds")) lines.push_back(row[1]);
    ASSERT_FALSE(lines.empty());
    lines.emplace_back("break .../if#2 if max(arg1) > 3 and iter(while#0) == 2 hits %4 once in main/while#0@10..20 quiet");
    std::mt19937 random(3);
    const auto below = [&](size_t limit) { return random() % static_cast<uint32_t>(limit); };
    const std::string alphabet = "#@:/.*\"'()[]{}%$ <>=-+0123456789abifwhlemus,\\\x01\xff";
    size_t set = 0;
    for (int i = 0; i < 15'000; ++i) {
        std::string line = lines[below(lines.size())];
        for (size_t edits = 1 + below(4); edits > 0 && !line.empty(); --edits) {
            const size_t at = below(line.size());
            switch (below(4)) {
            case 0: line.erase(at, 1 + below(5)); break;
            case 1: line.insert(at, 1, alphabet[below(alphabet.size())]); break;
            case 2: line[at] = alphabet[below(alphabet.size())]; break;
            default: line += " " + lines[below(lines.size())].substr(below(6)); break;
            }
        }
        const Result<int> number = setLine(run.breakpoints, line);
        if (number.ok()) ++set;
        else ASSERT_FALSE(number.error().message().empty()) << line;
        if (!number.ok()) continue;
        ASSERT_TRUE(run.breakpoints.remove(*number).ok());
    }
    EXPECT_GT(set, 500U);
    EXPECT_TRUE(run.breakpoints.list().empty());
    ASSERT_TRUE(run.control.run().ok());
}

/// The short way to a condition's answer gives what the expression gives, or leaves it to it.
TEST(ScalarCondition, agrees_with_the_expression)
{
    ScriptedSource source;
    source.add("i", {ints({}, {3}), ints({}, {5})});
    source.add("j", {ints({}, {-7})});
    source.add("x", {floats({}, {0.1F})});
    source.add("v", {floats({5}, {1, -3, 2.5F, 7, 0})});
    source.add("bad", {floats({20}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, NAN, 19, 20})});
    source.add("large", {ints({}, {2147483647})});
    const std::vector<std::string> operands = {"i",
                                               "j",
                                               "x",
                                               "large",
                                               "iter",
                                               "step",
                                               "3",
                                               "-7",
                                               "0.1",
                                               "-2.5",
                                               "prev(i)",
                                               "max(v)",
                                               "min(v)",
                                               "max(bad)",
                                               "i * j",
                                               "i % 3",
                                               "j % 4",
                                               "x + i",
                                               "large * large",
                                               "-i",
                                               "prev(i, 9)",
                                               "9007199254740993"};
    size_t answered = 0;
    size_t asked = 0;
    for (const std::string& a : operands)
        for (const std::string& b : operands)
            for (const char* op : {"==", "!=", "<", "<=", ">", ">="})
                for (const char* form : {"A", "not A", "A and i == 5", "A or x == 0.1", "not (A) and not (j > 0)"}) {
                    std::string text = form;
                    text.replace(text.find('A'), 1, a + " " + op + " " + b);
                    Result<Expression> expression = Expression::compile(text, source, ExpressionUse::condition);
                    ASSERT_TRUE(expression.ok()) << text;
                    const auto scalar = ScalarCondition::compile(text, source);
                    if (!scalar) continue;
                    ++asked;
                    const std::optional<bool> quick = scalar->holds(source);
                    if (!quick) continue;
                    ++answered;
                    const Result<bool> slow = expression->holds(source);
                    ASSERT_TRUE(slow.ok()) << text << ": " << slow.error().message();
                    ASSERT_EQ(*quick, *slow) << text;
                }
    EXPECT_GT(asked, 10'000U);
    EXPECT_GT(answered, asked / 2);
    EXPECT_FALSE(ScalarCondition::compile("any(v > 0)", source)); // that takes an expression
}

/// Integer operators against what fits the dtype.
TEST(Overflow, tells_which_results_wrapped)
{
    const auto tensor = [](std::vector<int8_t>& data, const Shape& shape) {
        Tensor t;
        t.data = reinterpret_cast<std::byte*>(data.data());
        t.bytes = data.size();
        t.dtype = DType::i8;
        t.shape = shape;
        return t;
    };
    const auto wraps = [&](const char* name, std::vector<int8_t> a, std::vector<int8_t> b, std::vector<int8_t> result) {
        Operator op;
        op.kind = {"tfl", name};
        const Tensor x = tensor(a, Shape{static_cast<int64_t>(a.size())});
        const Tensor y = tensor(b, Shape{static_cast<int64_t>(b.size())});
        const Tensor r = tensor(result, Shape{static_cast<int64_t>(result.size())});
        std::vector<const Tensor*> inputs = {&x};
        if (!b.empty()) inputs.push_back(&y);
        return canOverflow(op) && hasOverflow(op, inputs, r);
    };
    EXPECT_FALSE(wraps("add", {100, 27}, {27, 100}, {127, 127}));
    EXPECT_TRUE(wraps("add", {100, 100}, {27, 28}, {127, -128}));
    EXPECT_TRUE(wraps("add", {100, 100}, {28}, {-128, -128})); // broadcast
    EXPECT_TRUE(wraps("sub", {-100}, {29}, {127}));
    EXPECT_FALSE(wraps("mul", {-16}, {8}, {-128}));
    EXPECT_TRUE(wraps("mul", {16}, {8}, {-128}));
    EXPECT_TRUE(wraps("neg", {-128}, {}, {-128}));
    EXPECT_TRUE(wraps("abs", {-128}, {}, {-128}));
    EXPECT_FALSE(wraps("abs", {-127}, {}, {127}));
    EXPECT_TRUE(wraps("sum", {100, 100}, {0}, {-56}));
    EXPECT_FALSE(wraps("sum", {100, -100, 27}, {0}, {27}));
    EXPECT_FALSE(wraps("reduce_prod", {100, 100, 0}, {0}, {0}));
    EXPECT_TRUE(wraps("reduce_prod", {16, 16}, {0}, {0}));
    EXPECT_TRUE(wraps("cumsum", {100, 100}, {0}, {100, -56}));
    EXPECT_FALSE(wraps("maximum", {100}, {100}, {100}));
}

} // namespace
} // namespace loopscope::testing
