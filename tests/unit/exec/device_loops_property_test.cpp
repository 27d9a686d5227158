// Random loops with branches, reductions and other loops inside: the device gives what the host gives, wherever a run is stopped on the
// way.
#include "converters/lsir/lsir.h"
#include "engine/exec/interpreter.h"
#include "tests/unit/exec/device_fixture.h"
#include "tests/unit/exec/model_builder.h"

#include <gtest/gtest.h>

#include <random>

namespace loopscope::testing {
namespace {

/// The text of a model: every graph takes and gives (i32[], i32[], i32[3]), and so does what it calls.
class RandomLoops {
public:
    RandomLoops(uint64_t seed, bool hasProducts) : m_random(seed), m_hasProducts(hasProducts) {}

    std::string text()
    {
        const std::string body = graph(0), cond = condition();
        return "graph main(n: i32[]) {\n  zero = const i32[] 0\n  v0 = const i32[3] [3, -4, 5]\n  i, m, v = while(zero, n, v0) cond=@" +
               cond + " body=@" + body + " : (i32[], i32[], i32[3])\n  return m, v, i\n}\n" + m_graphs;
    }

private:
    int upTo(int n) { return 1 + static_cast<int>(m_random() % static_cast<uint64_t>(n)); }
    template <typename T> const T& oneOf(const std::vector<T>& all)
    {
        return all[static_cast<size_t>(upTo(static_cast<int>(all.size())) - 1)];
    }
    std::string newName(const char* stem) { return stem + std::to_string(++m_names); }

    /// i < n.
    std::string condition()
    {
        std::string name = newName("cond");
        m_graphs += "graph " + name + "(i: i32[], n: i32[], v: i32[3]) {\n  go = less(i, n) : bool[]\n  return go\n}\n";
        return name;
    }

    /// A body at that depth: i goes on by one, n stays, v is what came of it. A branch (depth 9) gives any of its numbers.
    std::string graph(int depth)
    {
        std::string name = newName("graph");
        std::string lines;
        std::vector<std::string> numbers = {"i", "n"}, vectors = {"v"};
        const auto line = [&](const std::string& what, const char* type) {
            std::string result = newName("x");
            lines += "  " + result + " = " + what + " : " + type + "\n";
            return result;
        };
        const auto small = [&](const std::string& value, const char* type) { return line("floor_mod(" + value + ", limit)", type); };
        for (int count = upTo(depth == 9 ? 3 : 6); count > 0; --count) {
            switch (upTo(12)) {
            case 1: numbers.push_back(small(line("add(" + oneOf(numbers) + ", " + oneOf(numbers) + ")", "i32[]"), "i32[]")); break;
            case 2: numbers.push_back(line("sum(" + oneOf(vectors) + ", axes)", "i32[]")); break;
            case 3: numbers.push_back(line("reduce_max(" + oneOf(vectors) + ", axes)", "i32[]")); break;
            case 4: numbers.push_back(line("arg_min(" + oneOf(vectors) + ", zero)", "i32[]")); break;
            case 5: vectors.push_back(small(line("sub(" + oneOf(vectors) + ", " + oneOf(numbers) + ")", "i32[3]"), "i32[3]")); break;
            case 6: vectors.push_back(line("maximum(" + oneOf(vectors) + ", " + oneOf(vectors) + ")", "i32[3]")); break;
            case 7: vectors.push_back(line("reverse_v2(" + oneOf(vectors) + ", axes)", "i32[3]")); break;
            case 8:
                if (m_hasProducts) vectors.push_back(product(line, oneOf(vectors)));
                break;
            default: call(depth, lines, numbers, vectors); break;
            }
        }
        std::string head = "graph " + name + "(i: i32[], n: i32[], v: i32[3]) {\n  zero = const i32[] 0\n  one = const i32[] 1\n" +
                           "  limit = const i32[] 17\n  few = const i32[] 4\n  axes = const i32[1] [0]\n";
        if (m_hasProducts) head += "  w = const f32[3,3] [0.5, -1, 2, 1, 0.25, -0.5, -2, 1, 0.5]\n";
        const bool isBranch = depth == 9;
        const std::string next = isBranch ? oneOf(numbers) : line("add(i, one)", "i32[]");
        m_graphs += head + lines + "  return " + next + ", " + (isBranch ? oneOf(numbers) : "n") + ", " + vectors.back() + "\n}\n";
        return name;
    }

    /// No step of one workgroup.
    template <typename Line> std::string product(const Line& line, const std::string& vector)
    {
        const std::string real = line("cast(" + vector + ")", "f32[3]"), row = line("expand_dims(" + real + ", zero)", "f32[1,3]"),
                          times = line("fully_connected(" + row + ", w, _)", "f32[1,3]"), flat = line("squeeze(" + times + ")", "f32[3]");
        return line("floor_mod(" + line("cast(" + flat + ")", "i32[3]") + ", limit)", "i32[3]");
    }

    /// An If, or a While of a few iterations.
    void call(int depth, std::string& lines, std::vector<std::string>& numbers, std::vector<std::string>& vectors)
    {
        const std::string a = newName("x"), b = newName("x"), v = newName("x");
        const std::string number = oneOf(numbers), other = oneOf(numbers), vector = oneOf(vectors);
        if (depth == 9 || (depth == 2 && upTo(2) == 1)) return;
        if (upTo(2) == 1) {
            const std::string then = graph(9), otherwise = graph(9), less = newName("x");
            lines += "  " + less + " = less(" + number + ", " + other + ") : bool[]\n";
            lines += "  " + a + ", " + b + ", " + v + " = if(" + less + ", " + number + ", " + other + ", " + vector + ") else=@" +
                     otherwise + " then=@" + then + " : (i32[], i32[], i32[3])\n";
        } else {
            const std::string body = graph(depth + 1), cond = condition(), trips = newName("x");
            lines += "  " + trips + " = floor_mod(" + number + ", few) : i32[]\n";
            lines += "  " + a + ", " + b + ", " + v + " = while(zero, " + trips + ", " + vector + ") body=@" + body + " cond=@" + cond +
                     " : (i32[], i32[], i32[3])\n";
        }
        numbers.insert(numbers.end(), {a, b});
        vectors.push_back(v);
    }

    std::mt19937_64 m_random;
    bool m_hasProducts;
    std::string m_graphs;
    int m_names = 0;
};

class DeviceLoopsPropertyTest : public DeviceFixture, public ::testing::WithParamInterface<bool> {
protected:
    std::unique_ptr<Interpreter> started(const Model& model, bool isOnDevice, int32_t n)
    {
        ExecutionOptions options;
        if (isOnDevice) {
            options.profile = Profile::vulkan;
            options.device = m_memory.get();
        }
        Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, GraphId(0), options);
        EXPECT_TRUE(made.ok());
        std::vector<int32_t> count = {n};
        EXPECT_TRUE((*made)->setInput(0, tensorOver(count, Shape())).ok());
        EXPECT_TRUE((*made)->start().ok());
        return std::move(made).value();
    }
};
INSTANTIATE_TEST_SUITE_P(Ways, DeviceLoopsPropertyTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "chunks" : "oneDispatch"; });

TEST_P(DeviceLoopsPropertyTest, resultsStepsAndPlacesAreThoseOfTheHost)
{
    const uint64_t before = m_memory->traffic().launches;
    int64_t steps = 0;
    for (uint64_t seed = 1; seed <= 25; ++seed) {
        const std::string text = RandomLoops(seed, GetParam()).text();
        SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
        const Result<Model> model = importLsir("random", Bytes::copyOf(text.data(), text.size()));
        ASSERT_TRUE(model.ok()) << model.error().message();
        std::mt19937_64 random(seed);
        const auto n = static_cast<int32_t>(random() % 12);
        const auto host = started(*model, false, n), device = started(*model, true, n);
        ASSERT_TRUE(host->run().ok());
        ASSERT_TRUE(device->run().ok());
        steps += host->position().step;
        EXPECT_EQ(device->position().step, host->position().step);
        for (const int k : {0, 1, 2}) EXPECT_EQ(elements<int32_t>(device->output(k)), elements<int32_t>(host->output(k))) << k;
        const int64_t ticks = host->position().step;
        for (int stop = 0; stop < 3 && ticks > 0; ++stop) {
            const auto tick = static_cast<int64_t>(random() % static_cast<uint64_t>(ticks));
            const auto here = started(*model, false, n), there = started(*model, true, n);
            ASSERT_TRUE(here->runTo(tick).ok());
            ASSERT_TRUE(there->runTo(tick).ok());
            EXPECT_EQ(there->positionAddress(), here->positionAddress());
            EXPECT_EQ(there->position().invocation, here->position().invocation);
            ASSERT_TRUE(there->run().ok());
            EXPECT_EQ(there->position().step, host->position().step);
            EXPECT_EQ(elements<int32_t>(there->output(1)), elements<int32_t>(host->output(1)));
        }
        if (HasFailure()) return;
    }
    std::printf("%lld operators, %llu launches\n", static_cast<long long>(steps),
                static_cast<unsigned long long>(m_memory->traffic().launches - before));
}

TEST_P(DeviceLoopsPropertyTest, validationHasNothingToSay)
{
    for (const std::string& message : m_memory->device().validationMessages()) ADD_FAILURE() << message;
}

} // namespace
} // namespace loopscope::testing
