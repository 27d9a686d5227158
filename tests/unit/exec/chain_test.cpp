// Chains of element-wise operators that run as one pass: the same bits as operator by operator, in every profile, with any number of
// threads, and at every stop what stepping finds there.
#include "converters/lsir/lsir.h"
#include "engine/exec/interpreter.h"
#include "engine/exec/machine_state.h"
#include "tests/unit/exec/model_builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace loopscope::testing {
namespace {

constexpr const char* kUnary[] = {"relu", "relu6",  "tanh", "logistic",   "abs",  "neg",
                                  "exp",  "square", "sqrt", "hard_swish", "gelu", "floor"};
constexpr const char* kBinary[] = {"add", "sub", "mul", "div", "maximum", "minimum", "squared_difference"};

/// Random operators on f32[rows, 96] with a scalar and a row beside, a reduction between them now and then, in a loop or not.
class RandomChain {
public:
    explicit RandomChain(uint32_t seed) : rows(171 + static_cast<int64_t>(seed) % 7 * 131), m_random(seed) {}

    std::string text()
    {
        const std::string type = "f32[" + std::to_string(rows) + ",96]";
        const bool loops = pick(3) == 0;
        std::string body;
        m_values = {"x", "y"};
        std::string last = "x";
        for (int count = 3 + pick(12), k = 0; k < count; ++k) {
            const std::string name = "v" + std::to_string(k);
            if (pick(12) == 0) { // no operator of a chain
                body += "  m" + name + " = reduce_max(" + last + ", axis) keep_dims=true : f32[1,96]\n";
                body += "  " + name + " = add(" + last + ", m" + name + ") : " + type + "\n";
            } else if (pick(2) == 0) {
                body += "  " + name + " = " + kUnary[pick(std::size(kUnary))] + "(" + value() + ") : " + type + "\n";
            } else {
                static constexpr const char* kBeside[] = {"row", "one", "half"};
                std::string a = value(), b = pick(2) == 0 ? value() : kBeside[pick(3)];
                if (pick(3) == 0) std::swap(a, b);
                body += "  " + name + " = " + kBinary[pick(std::size(kBinary))] + "(" + a + ", " + b + ") : " + type + "\n";
            }
            m_values.push_back(last = name);
        }
        const std::string constants = "  axis = const i32[1] [0]\n  half = const f32[] 0.5\n";
        const std::string formals = "x: " + type + ", y: " + type + ", row: f32[96], one: f32[1]";
        const std::string other = value();
        if (!loops) return "graph main(" + formals + ") {\n" + constants + body + "  return " + last + ", " + other + "\n}\n";
        return "graph main(" + formals +
               ") {\n  zero = const i32[] 0\n  i, a, b, r, o = while(zero, x, y, row, one) cond=@cond body=@body : (i32[], " + type + ", " +
               type + ", f32[96], f32[1])\n  return a, b\n}\ngraph cond(i: i32[], " + formals +
               ") {\n  n = const i32[] 3\n  go = less(i, n) : bool[]\n  return go\n}\ngraph body(i: i32[], " + formals + ") {\n" +
               constants + "  step = const i32[] 1\n" + body + "  next = add(i, step) : i32[]\n  return next, " + last + ", " + other +
               ", row, one\n}\n";
    }

    const int64_t rows;

private:
    int pick(size_t count) { return static_cast<int>(m_random() % count); }
    std::string value() { return m_values[m_values.size() - 1 - static_cast<size_t>(pick(std::min<size_t>(m_values.size(), 4)))]; }
    std::mt19937 m_random;
    std::vector<std::string> m_values;
};

/// Numbers of all sizes, infinities, NaN, denormals and both zeros.
std::vector<float> numbers(int64_t count, uint32_t seed)
{
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    static constexpr float kOdd[] = {0.0F, -0.0F, kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 1e-40F, -1e-42F, 3e38F};
    std::mt19937 random(seed);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values)
        value = random() % 50 == 0 ? kOdd[random() % std::size(kOdd)] : std::ldexp(static_cast<float>(static_cast<int32_t>(random())), -29);
    return values;
}

struct Runner {
    Runner(const Model& model, int64_t rows, Profile profile, int threads)
        : inputs{numbers(rows * 96, 1), numbers(rows * 96, 2), numbers(96, 3), {1.5F}}
    {
        ExecutionOptions options;
        options.profile = profile;
        options.threads = threads;
        Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, GraphId(0), options);
        EXPECT_TRUE(made.ok());
        interpreter = std::move(made).value();
        const Shape shapes[] = {Shape{rows, 96}, Shape{rows, 96}, Shape{96}, Shape{1}};
        for (int i = 0; i < 4; ++i) EXPECT_TRUE(interpreter->setInput(i, tensorOver(inputs[static_cast<size_t>(i)], shapes[i])).ok());
        Status status = interpreter->start();
        EXPECT_TRUE(status.ok()) << std::move(status).takeError().message();
    }
    uint64_t hash() const { return interpreter->snapshot().hash(); }

    std::vector<std::vector<float>> inputs;
    std::unique_ptr<Interpreter> interpreter;
};

bool hasSameOutputs(const Interpreter& a, const Interpreter& b)
{
    for (int k = 0; k < 2; ++k)
        if (a.output(k).bytes != b.output(k).bytes || std::memcmp(a.output(k).data, b.output(k).data, a.output(k).bytes) != 0) return false;
    return true;
}

TEST(Chains, leaveWhatOperatorsLeaveOneByOne)
{
    std::mt19937 random(1);
    for (uint32_t seed = 0; seed < 45; ++seed) {
        RandomChain chain(seed);
        const std::string text = chain.text();
        SCOPED_TRACE(text);
        Result<Model> model = modelFromText(text, "chain");
        ASSERT_TRUE(model.ok()) << model.error().message();
        const Profile profile = seed % 2 == 0 ? Profile::reference : Profile::fast;
        Runner stepped(*model, chain.rows, profile, 1);
        std::vector<uint64_t> hashes = {stepped.hash()};
        while (!stepped.interpreter->position().finished) {
            ASSERT_TRUE(stepped.interpreter->step().ok());
            hashes.push_back(stepped.hash());
        }
        for (const int threads : {1, 2, 3}) {
            Runner whole(*model, chain.rows, profile, threads);
            ASSERT_TRUE(whole.interpreter->run().ok());
            ASSERT_TRUE(hasSameOutputs(*whole.interpreter, *stepped.interpreter)) << threads;
        }
        for (int i = 0; i < 3; ++i) {
            const auto at = static_cast<int64_t>(random() % hashes.size());
            Runner stopped(*model, chain.rows, profile, 1);
            ASSERT_TRUE(stopped.interpreter->runTo(at).ok());
            ASSERT_EQ(stopped.interpreter->tick(), at);
            ASSERT_EQ(stopped.hash(), hashes[static_cast<size_t>(at)]) << at;
            if (stopped.interpreter->position().finished) continue;
            ASSERT_TRUE(stopped.interpreter->run().ok());
            ASSERT_TRUE(hasSameOutputs(*stopped.interpreter, *stepped.interpreter)) << at;
        }
    }
}

/// Looks at the result of one operator, and does not stop.
struct Look final : TrapHandler {
    bool beforeOperator(const OperatorEvent&, Tick) override { return false; }
    bool afterOperator(const OperatorEvent& event, Tick) override
    {
        ++count;
        first = event.results[0]->as<float>()[0];
        last = event.results[0]->as<float>()[event.results[0]->elementCount() - 1];
        return false;
    }
    int count = 0;
    float first = 0, last = 0;
};

TEST(Chains, splitWhereSomebodyLooks)
{
    Result<Model> model = modelFromText(R"(
graph main(x: f32[171,96], y: f32[171,96], row: f32[96], one: f32[1]) {
  a = add(x, y) : f32[171,96]
  b = mul(a, row) : f32[171,96]
  c = abs(b) : f32[171,96]
  d = sub(c, one) : f32[171,96]
  return d, d
}
)",
                                        "chain");
    ASSERT_TRUE(model.ok()) << model.error().message();
    for (int64_t op = 0; op < 4; ++op) {
        Runner runner(*model, 171, Profile::reference, 1);
        Look look;
        TrapSet traps;
        traps.add(GraphId(0), OperatorId(op), trapAfter);
        runner.interpreter->setTraps(traps, &look);
        ASSERT_TRUE(runner.interpreter->run().ok());
        ASSERT_EQ(look.count, 1);
        const auto expected = [&](size_t i) {
            const float a = runner.inputs[0][i] + runner.inputs[1][i], b = a * runner.inputs[2][i % 96], c = std::fabs(b);
            return op == 0 ? a : op == 1 ? b : op == 2 ? c : c - 1.5F;
        };
        EXPECT_EQ(look.first, expected(0)) << op;
        EXPECT_EQ(look.last, expected(171 * 96 - 1)) << op;
    }
    Runner runner(*model, 171, Profile::reference, 1);
    ASSERT_TRUE(runner.interpreter->runTo(3).ok());
    EXPECT_TRUE(runner.interpreter->value(0, model->graphs[0].operators[2].results[0])) << "the last operator's result";
    EXPECT_TRUE(runner.interpreter->value(0, model->graphs[0].operators[1].results[0])) << "what it has read";
}

} // namespace
} // namespace loopscope::testing
