// Products of rows that a loop takes from a sequence, made ahead: the same bits as row by row, whatever the loop takes when.
#include "converters/lsir/lsir.h"
#include "engine/exec/coming_rows.h"
#include "engine/exec/interpreter.h"
#include "tests/unit/exec/model_builder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace loopscope::testing {
namespace {

constexpr int64_t kSteps = 41, kDepth = 48, kUnits = 96;

/// acc = acc / 2 + tanh-free sums of x[index(i)] · w. `handsOn`: the loop hands x on as it is, else as a sum with 0, of the same bits.
std::string loopText(const std::string& index, int64_t rows, bool handsOn)
{
    const std::string r = std::to_string(rows), n = std::to_string(kSteps), d = std::to_string(kDepth), u = std::to_string(kUnits);
    const std::string sequence = "f32[" + n + "," + r + "," + d + "]", sums = "f32[" + r + "," + u + "]";
    const std::string formals = "(i: i32[], acc: " + sums + ", x: " + sequence + ")";
    return "graph main(x: " + sequence + ", start: " + sums + ") {\n  zero = const i32[] 0\n" +
           "  i, acc, y = while(zero, start, x) cond=@cond body=@body : (i32[], " + sums + ", " + sequence + ")\n  return acc\n}\n" +
           "graph cond" + formals + " {\n  n = const i32[] " + n + "\n  go = less(i, n) : bool[]\n  return go\n}\n" + "graph body" +
           formals + " {\n  one = const i32[] 1\n  two = const i32[] 2\n  last = const i32[] " + std::to_string(kSteps - 1) +
           "\n  seven = const i32[] 7\n  n = const i32[] " + n + "\n  half = const f32[] 0.5\n  none = const f32[] 0\n" +
           "  w = const f32[" + u + "," + d + "] splat 0\n  next = add(i, one) : i32[]\n" + index + "  row = gather(x, at) axis=0 : f32[" +
           r + "," + d + "]\n  y = fully_connected(row, w, _) : " + sums + "\n  less = mul(acc, half) : " + sums +
           "\n  more = add(less, y) : " + sums + "\n" + (handsOn ? "" : "  z = add(x, none) : " + sequence + "\n") +
           "  return next, more, " + (handsOn ? "x" : "z") + "\n}\n";
}

std::vector<float> drawn(int64_t count, uint32_t seed)
{
    std::mt19937 random(seed);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = std::ldexp(static_cast<float>(static_cast<int32_t>(random())), -31);
    return values;
}

/// The model of a text, its weights drawn.
Model parsed(const std::string& text)
{
    Result<Model> model = modelFromText(text, "rows");
    EXPECT_TRUE(model.ok()) << model.error().message();
    const std::vector<float> weights = drawn(kUnits * kDepth, 5);
    for (Value& value : model->graphs[2].values)
        if (value.id == "w")
            value.constant = std::make_shared<const Constant>(Bytes::copyOf(weights.data(), weights.size() * sizeof(float)));
    return std::move(model).value();
}

struct Machine {
    Machine(const Model& model, int64_t rows, Profile profile) : x(drawn(kSteps * rows * kDepth, 1)), start(drawn(rows * kUnits, 2))
    {
        ExecutionOptions options;
        options.profile = profile;
        Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, GraphId(0), options);
        EXPECT_TRUE(made.ok());
        interpreter = std::move(made).value();
        EXPECT_TRUE(interpreter->setInput(0, tensorOver(x, Shape{kSteps, rows, kDepth})).ok());
        EXPECT_TRUE(interpreter->setInput(1, tensorOver(start, Shape{rows, kUnits})).ok());
        EXPECT_TRUE(interpreter->start().ok());
    }
    std::vector<float> finish() const
    {
        EXPECT_TRUE(interpreter->run().ok());
        return elements<float>(interpreter->output(0));
    }
    std::vector<float> x, start;
    std::unique_ptr<Interpreter> interpreter;
};

TEST(ComingRows, haveTheBitsOfRowsOneByOne)
{
    const char* const kIndices[] = {"  at = add(i, none_i) : i32[]\n", "  at = sub(last, i) : i32[]\n",
                                    "  far = mul(i, seven) : i32[]\n  at = floor_mod(far, n) : i32[]\n",
                                    "  at = floor_div(i, two) : i32[]\n", "  at = sub(i, i) : i32[]\n"};
    for (const std::string index : kIndices)
        for (const int64_t rows : {1, 2, 4, 5}) {
            SCOPED_TRACE(index + std::to_string(rows));
            const std::string own = "  none_i = const i32[] 0\n" + index;
            const Model ahead = parsed(loopText(own, rows, true)), oneByOne = parsed(loopText(own, rows, false));
            const std::vector<float> expected = Machine(oneByOne, rows, Profile::fast).finish();
            Machine machine(ahead, rows, Profile::fast);
            EXPECT_EQ(machine.finish(), expected);
            ASSERT_TRUE(machine.interpreter->start().ok()); // the same activations again
            EXPECT_EQ(machine.finish(), expected);
        }
}

TEST(ComingRows, areThoseOfAStateThatIsRestored)
{
    const std::string index = "  at = sub(last, i) : i32[]\n";
    const Model model = parsed(loopText(index, 1, true));
    const std::vector<float> expected = Machine(model, 1, Profile::fast).finish();
    Machine machine(model, 1, Profile::fast);
    ASSERT_TRUE(machine.interpreter->runTo(60).ok());
    const MachineState state = machine.interpreter->snapshot();
    ASSERT_TRUE(machine.interpreter->runTo(200).ok());
    ASSERT_TRUE(machine.interpreter->restore(state).ok());
    EXPECT_EQ(machine.finish(), expected);
}

/// A kernel that counts what it is asked for: each result is the sum of its operand's row.
int calls = 0;
Status sumRows(const KernelArgs& args)
{
    ++calls;
    const int64_t rows = args.in(0).shape[0], depth = args.in(0).shape[1];
    for (int64_t r = 0; r < rows; ++r) {
        float sum = 0;
        for (int64_t d = 0; d < depth; ++d) sum += args.in(0).as<float>()[r * depth + d];
        args.out(0).as<float>()[r] = sum;
    }
    return {};
}

/// A gather and what reads it, by hand.
struct Pair {
    Pair() : sequence(drawn(100 * 4, 3)), row(4), sum(1), index(1)
    {
        whole = tensorOver(sequence, Shape{100, 4});
        at = tensorOver(index, Shape{});
        operand = tensorOver(row, Shape{1, 4});
        result = tensorOver(sum, Shape{1, 1});
        gather.inputs = gathered;
        gather.inputCount = 2;
        product.inputs = &first;
        product.outputs = &out;
        product.inputCount = product.outputCount = 1;
        rows = std::make_unique<ComingRows>(sumRows, product, gather, account);
        product.params = rows.get();
        calls = 0;
    }
    float next(int32_t position)
    {
        index[0] = position;
        std::memcpy(row.data(), sequence.data() + static_cast<ptrdiff_t>(position) * 4, 4 * sizeof(float));
        EXPECT_TRUE(ComingRows::run(product).ok());
        return sum[0];
    }
    float expected(int32_t position) const
    {
        const float* const from = sequence.data() + static_cast<ptrdiff_t>(position) * 4;
        return ((0.0F + from[0]) + from[1] + from[2]) + from[3];
    }

    MemoryAccount account{0, 1 << 20};
    std::vector<float> sequence, row, sum;
    std::vector<int32_t> index;
    Tensor whole, at, operand, result;
    const Tensor* gathered[2] = {&whole, &at};
    const Tensor* first = &operand;
    Tensor* out = &result;
    KernelArgs gather = {}, product = {};
    std::unique_ptr<ComingRows> rows;
};

TEST(ComingRows, askTheKernelOnceForTwelve)
{
    Pair pair;
    for (int32_t i = 0; i < 100; ++i) EXPECT_EQ(pair.next(i), pair.expected(i)) << i;
    EXPECT_EQ(calls, 9); // eight times twelve, and the last four
    for (int32_t i = 99; i >= 0; --i) EXPECT_EQ(pair.next(i), pair.expected(i)) << i;
    EXPECT_LE(calls, 9 + 10);
}

TEST(ComingRows, areNotTakenWhereTheSequenceHasChanged)
{
    Pair pair;
    for (int32_t i = 0; i < 3; ++i) EXPECT_EQ(pair.next(i), pair.expected(i));
    pair.sequence[4 * 5] = 1000;
    for (int32_t i = 3; i < 40; ++i) EXPECT_EQ(pair.next(i), pair.expected(i)) << i;
}

TEST(ComingRows, giveUpWhereRowsComeInNoOrder)
{
    Pair pair;
    for (int32_t round = 0; round < 30; ++round) // each begins as if it went on, and jumps
        for (const int32_t i : {40, 41, 10, 11, 70}) EXPECT_EQ(pair.next(i), pair.expected(i));
    EXPECT_GE(calls, 140); // few of 150 were ahead, and none was made for nothing after three
}

TEST(ComingRows, doWithoutMemory)
{
    Pair pair;
    pair.account.limit = 0;
    for (int32_t i = 0; i < 20; ++i) EXPECT_EQ(pair.next(i), pair.expected(i));
    EXPECT_EQ(calls, 20);
}

} // namespace
} // namespace loopscope::testing
