// Random expressions over small tensors against a second evaluator that is written for plainness, and mutants of expressions, which must
// be refused or evaluated, never crash.
#include "tests/unit/debug/scripted_source.h"
#include "tests/unit/doc_tables.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace loopscope {
namespace {

using Index = std::vector<int64_t>;

/// A tensor as a function of its index: every element is a multiple of 0.25 and small, so that doubles are exact.
struct Plain {
    bool isInt = true;
    bool isBool = false;
    Index dims;
    std::map<Index, double> at;
};

void eachIndex(const Index& dims, const std::function<void(const Index&)>& f)
{
    Index index(dims.size(), 0);
    const std::function<void(size_t)> walk = [&](size_t d) {
        if (d == dims.size()) {
            f(index);
            return;
        }
        for (index[d] = 0; index[d] < dims[d]; ++index[d]) walk(d + 1);
    };
    walk(0);
}

bool broadcast(const Index& a, const Index& b, Index& out)
{
    out.assign(std::max(a.size(), b.size()), 1);
    for (const Index* side : {&a, &b}) {
        for (size_t i = 0; i < side->size(); ++i) {
            int64_t& dim = out[out.size() - side->size() + i];
            if (dim != 1 && (*side)[i] != 1 && dim != (*side)[i]) return false;
            if ((*side)[i] != 1) dim = (*side)[i];
        }
    }
    return true;
}

double pick(const Plain& p, const Index& index)
{
    Index own(index.end() - static_cast<std::ptrdiff_t>(p.dims.size()), index.end());
    for (size_t i = 0; i < own.size(); ++i) own[i] = p.dims[i] == 1 ? 0 : own[i];
    return p.at.at(own);
}

/// A text and what it means.
struct Made {
    std::string text;
    Plain value;
};

class Generator {
public:
    explicit Generator(uint32_t seed) : m_random(seed)
    {
        m_leaves = {leaf("a", {2, 3}, true), leaf("b", {3}, false), leaf("c", {}, true), leaf("d", {2, 1, 3}, false),
                    leaf("e", {2, 1}, true)};
        for (const Made& made : m_leaves) {
            Shape shape(std::span<const int64_t>(made.value.dims));
            if (made.value.isInt) {
                std::vector<int32_t> elements;
                for (const auto& [index, v] : made.value.at) elements.push_back(static_cast<int32_t>(v));
                source.add(made.text, {ints(shape, elements)});
            } else {
                std::vector<float> elements;
                for (const auto& [index, v] : made.value.at) elements.push_back(static_cast<float>(v));
                source.add(made.text, {floats(shape, elements)});
            }
        }
    }

    Made expression(int depth)
    {
        if (depth == 0) return below(4) == 0 ? literal() : m_leaves[below(m_leaves.size())];
        switch (below(6)) {
        case 0:
        case 1:
        case 2: return binary(depth);
        case 3: return reduced(expression(depth - 1));
        case 4: return indexed(expression(depth - 1));
        default: return unary(expression(depth - 1));
        }
    }

    ScriptedSource source;

private:
    size_t below(size_t n) { return m_random() % n; }

    Made leaf(const std::string& id, const Index& dims, bool isInt)
    {
        Made made{id, {isInt, false, dims, {}}};
        eachIndex(dims, [&](const Index& i) {
            const double v = static_cast<double>(below(9)) - 4;
            made.value.at[i] = isInt ? v : v / 4;
        });
        return made;
    }
    Made literal()
    {
        const int v = static_cast<int>(below(6));
        if (below(2) == 0) return {std::to_string(v), {true, false, {}, {{{}, static_cast<double>(v)}}}};
        return {std::to_string(v) + ".25", {false, false, {}, {{{}, v + 0.25}}}};
    }
    static Made number(Made made)
    {
        if (!made.value.isBool) return made;
        return {"i32(" + made.text + ")", {true, false, made.value.dims, made.value.at}};
    }

    Made binary(int depth)
    {
        const Made a = number(expression(depth - 1)), b = number(expression(depth - 1));
        Index dims;
        if (!broadcast(a.value.dims, b.value.dims, dims)) return a;
        static constexpr const char* kSymbols[] = {"+", "-", "*", "<", "==", "%", "//"};
        const size_t op = below(7);
        Made made{"(" + a.text + " " + kSymbols[op] + " " + b.text + ")", {a.value.isInt && b.value.isInt, false, dims, {}}};
        made.value.isBool = op == 3 || op == 4;
        bool isDefined = true;
        eachIndex(dims, [&](const Index& i) {
            const double x = pick(a.value, i), y = pick(b.value, i);
            isDefined = isDefined && (op < 5 || y != 0);
            const double quotient = std::floor(x / y);
            const double results[] = {x + y, x - y, x * y, double(x < y), double(x == y), x - quotient * y, quotient};
            made.value.at[i] = results[op];
            // Beyond this doubles would round, in one evaluator or the other.
            isDefined = isDefined && std::fabs(made.value.at[i]) < 1e6 && std::fabs(x) < 1e6 && std::fabs(y) < 1e6 &&
                        std::fabs(made.value.at[i] * 4096 - std::round(made.value.at[i] * 4096)) == 0;
        });
        return isDefined ? made : a;
    }

    Made unary(Made x)
    {
        x = number(std::move(x));
        const bool isAbs = below(2) == 0;
        Made made{isAbs ? "abs(" + x.text + ")" : "-" + x.text, x.value};
        for (auto& [index, v] : made.value.at) v = isAbs ? std::fabs(v) : -v;
        if (!isAbs) made.text = "(" + made.text + ")";
        return made;
    }

    Made reduced(Made x)
    {
        if (x.value.at.empty()) return x;
        static constexpr const char* kNames[] = {"sum", "min", "max", "count"};
        const size_t op = x.value.isBool ? 3 : below(3);
        const bool hasAxis = !x.value.dims.empty() && below(2) == 0;
        const size_t axis = hasAxis ? below(x.value.dims.size()) : 0;
        Made made{std::string(kNames[op]) + "(" + x.text + (hasAxis ? ", axis=" + std::to_string(axis) : "") + ")",
                  {x.value.isInt || op == 3, false, {}, {}}};
        if (hasAxis) {
            made.value.dims = x.value.dims;
            made.value.dims.erase(made.value.dims.begin() + static_cast<std::ptrdiff_t>(axis));
        }
        for (const auto& [index, v] : x.value.at) {
            Index to;
            if (hasAxis) {
                to = index;
                to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis));
            }
            const auto [cell, isNew] = made.value.at.emplace(to, v);
            if (isNew) continue;
            cell->second = op == 1 ? std::min(cell->second, v) : op == 2 ? std::max(cell->second, v) : cell->second + v;
        }
        return made;
    }

    /// Selects in the first dimension: one index, or a slice whose bounds may lie outside.
    Made indexed(Made x)
    {
        if (x.value.dims.empty() || x.value.dims[0] == 0) return x;
        const int64_t size = x.value.dims[0];
        std::vector<int64_t> chosen;
        Made made{"", {x.value.isInt, x.value.isBool, x.value.dims, {}}};
        const bool isSingle = below(2) == 0;
        if (isSingle) {
            const auto at = static_cast<int64_t>(below(static_cast<size_t>(2 * size))) - size;
            made.text = x.text + "[" + std::to_string(at) + "]";
            chosen = {(at + size) % size};
            made.value.dims.erase(made.value.dims.begin());
        } else {
            const auto begin = static_cast<int64_t>(below(4)), end = begin + static_cast<int64_t>(below(4));
            made.text = x.text + "[" + std::to_string(begin) + ":" + std::to_string(end) + ", ...]";
            for (int64_t i = begin; i < end && i < size; ++i) chosen.push_back(i);
            made.value.dims[0] = static_cast<int64_t>(chosen.size());
        }
        for (const auto& [index, v] : x.value.at) {
            for (size_t k = 0; k < chosen.size(); ++k) {
                if (chosen[k] != index[0]) continue;
                Index to(index.begin() + 1, index.end());
                if (!isSingle) to.insert(to.begin(), static_cast<int64_t>(k));
                made.value.at[to] = v;
            }
        }
        return made;
    }

    std::mt19937 m_random;
    std::vector<Made> m_leaves;
};

TEST(ExpressionProperty, AgreesWithAPlainEvaluator)
{
    for (uint32_t seed = 0; seed < 4000; ++seed) {
        Generator generator(seed);
        const Made made = generator.expression(1 + static_cast<int>(seed % 4));
        auto expression = Expression::compile(made.text, generator.source, ExpressionUse::value);
        ASSERT_TRUE(expression.ok()) << "seed " << seed << ": " << made.text << ": " << expression.error().message();
        const auto result = expression->evaluate(generator.source);
        ASSERT_TRUE(result.ok()) << "seed " << seed << ": " << made.text << ": " << result.error().message();
        const ExpressionValue& value = **result;
        const Index dims(value.shape().dims().begin(), value.shape().dims().end());
        ASSERT_EQ(dims, made.value.dims) << "seed " << seed << ": " << made.text;
        const auto type = made.value.isBool ? ExpressionType::boolean : made.value.isInt ? ExpressionType::integer : ExpressionType::real;
        ASSERT_EQ(expressionTypeName(value.type()), expressionTypeName(type)) << "seed " << seed << ": " << made.text;
        int64_t i = 0;
        for (const auto& [index, wanted] : made.value.at) ASSERT_EQ(value.realAt(i++), wanted) << "seed " << seed << ": " << made.text;
    }
}

TEST(ExpressionProperty, MutantsAreRefusedOrEvaluated)
{
    std::vector<std::string> samples;
    for (const char* table : {"Examples", "Errors"}) {
        for (const auto& row : tableBelow("docs/expressions.md", table)) samples.push_back(row[0]);
    }
    for (const char* more : {"matches(txt, \"(a|b)*[^c-d]\\\\w+$\")", "quantile(x, 0.9) + x[::-1, 1:, ...][0]", "i32(qx) ** 3 // -2",
                             "[1, 2.5, iter] == x.shape", "x[x > 3]"}) {
        samples.emplace_back(more);
    }
    ScriptedSource run;
    fillExampleRun(run);
    std::mt19937 random(7);
    constexpr std::string_view kBytes = "()[]{}.,:%\"\\+-*/<>=!#@0123456789 abiqxyzlenprevatmaxsum\n\xff";
    size_t evaluatedCount = 0;
    for (int n = 0; n < 20000; ++n) {
        std::string text = samples[random() % samples.size()];
        for (size_t k = 1 + random() % 3; k > 0; --k) {
            const size_t at = random() % (text.size() + 1);
            switch (random() % 4) {
            case 0: text.insert(at, 1, kBytes[random() % kBytes.size()]); break;
            case 1: text.erase(at, 1 + random() % 3); break;
            case 2:
                if (at < text.size()) text[at] = kBytes[random() % kBytes.size()];
                break;
            default: {
                const std::string& other = samples[random() % samples.size()];
                text = text.substr(0, at) + other.substr(random() % other.size());
                break;
            }
            }
        }
        const std::string result = evaluated(run, text, random() % 2 == 0 ? ExpressionUse::value : ExpressionUse::condition);
        if (!result.starts_with("error: ")) ++evaluatedCount;
        else ASSERT_GE(result[7], '1') << text << ": " << result; // every error has its place
    }
    EXPECT_GT(evaluatedCount, 500U);
}

TEST(ExpressionProperty, DeepAndLongTextsAreRefused)
{
    ScriptedSource run;
    fillExampleRun(run);
    for (const char* part : {"(", "[", "-", "not ", "x[", "prev(", "1+", "1**", "x.shape.", "acc "}) {
        std::string text;
        while (text.size() < 15000) text += part;
        EXPECT_TRUE(evaluated(run, text + "1").starts_with("error: 1:")) << part;
    }
    EXPECT_EQ(evaluated(run, std::string(20000, ' ') + "1"), "error: 1:1: the expression is too long");
}

} // namespace
} // namespace loopscope
