// Inputs that are read where they lie, and outputs whose memory is handed over.
#include "converters/lsir/lsir.h"
#include "engine/exec/interpreter.h"
#include "engine/exec/machine_state.h"

#include <array>
#include <gtest/gtest.h>

namespace loopscope::testing {
namespace {

/// y is computed, x comes out as it went in.
constexpr const char* kModel = "lsir 1\ngraph main(x: f32[4]) {\n  y = neg(x) : f32[4]\n  return y, x, y\n}\n";

class LentValues : public ::testing::Test {
protected:
    LentValues() : model(modelFromText(kModel, "test").value()), interpreter(Interpreter::create(model, GraphId(0)).value()) {}

    Tensor input()
    {
        Tensor tensor;
        tensor.dtype = DType::f32;
        tensor.shape = Shape{4};
        tensor.data = reinterpret_cast<std::byte*>(numbers.data());
        tensor.bytes = sizeof numbers;
        return tensor;
    }
    void run()
    {
        ASSERT_TRUE(interpreter->start().ok());
        ASSERT_TRUE(interpreter->run().ok());
    }
    float first(int output) { return *reinterpret_cast<const float*>(interpreter->output(output).data); }

    alignas(16) std::array<float, 4> numbers = {1, 2, 3, 4};
    Model model;
    std::unique_ptr<Interpreter> interpreter;
};

TEST_F(LentValues, AreReadWhereTheyLieUntilTheLoanEnds)
{
    ASSERT_TRUE(interpreter->lendInput(0, input()).ok());
    numbers[0] = 7; // had it been copied, this would not be seen
    run();
    EXPECT_EQ(first(0), -7);
    interpreter->endLoans();
    EXPECT_EQ(first(1), 7);
    const Status status = interpreter->start();
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.detail().what.find("missing"), std::string::npos);
    ASSERT_TRUE(interpreter->setInput(0, input()).ok());
    numbers[0] = 8;
    run();
    EXPECT_EQ(first(0), -7);
    interpreter->endLoans(); // nothing was lent
    run();
    EXPECT_EQ(first(0), -7);
}

TEST_F(LentValues, StatesOfAllRunsShareWhatAnInputHolds)
{
    const auto start = [&] {
        EXPECT_TRUE(interpreter->start().ok());
        MachineState state = interpreter->snapshot();
        EXPECT_TRUE(interpreter->run().ok());
        return state;
    };
    const auto bytesOf = [](const MachineState& state) { return state.frames.at(0).values.at(0).bytes; };
    ASSERT_TRUE(interpreter->setInput(0, input()).ok());
    const MachineState one = start();
    const MachineState two = start();
    EXPECT_EQ(bytesOf(one).data(), bytesOf(two).data());
    numbers[0] = 9;
    ASSERT_TRUE(interpreter->setInput(0, input()).ok());
    EXPECT_EQ(*bytesOf(start()).as<float>(), 9);
    EXPECT_EQ(*bytesOf(one).as<float>(), 1);
    // What is lent may change without a word.
    ASSERT_TRUE(interpreter->lendInput(0, input()).ok());
    EXPECT_EQ(*bytesOf(start()).as<float>(), 9);
    numbers[0] = 5;
    EXPECT_EQ(*bytesOf(start()).as<float>(), 5);
}

TEST_F(LentValues, ThatAreNotAlignedAreCopied)
{
    Tensor tensor = input();
    std::array<std::byte, sizeof numbers + 17> bytes{};
    const size_t odd = reinterpret_cast<uintptr_t>(bytes.data()) % 16 == 0 ? 1 : 0;
    std::copy_n(tensor.data, tensor.bytes, bytes.data() + odd);
    tensor.data = bytes.data() + odd;
    ASSERT_TRUE(interpreter->lendInput(0, tensor).ok());
    bytes.fill(std::byte{0});
    run();
    EXPECT_EQ(first(0), -1);
}

TEST_F(LentValues, OutputsAreHandedOverAndTheNextRunHasMemoryOfItsOwn)
{
    ASSERT_TRUE(interpreter->setInput(0, input()).ok());
    run();
    MemoryBlock block = interpreter->emptyBlock();
    const std::byte* const place = interpreter->output(0).data;
    ASSERT_TRUE(interpreter->swapOutput(0, block));
    EXPECT_EQ(block.data(), place);
    EXPECT_FALSE(interpreter->swapOutput(0, block)); // it has none any more
    MemoryBlock second = interpreter->emptyBlock();
    ASSERT_TRUE(interpreter->swapOutput(1, second));
    EXPECT_EQ(*reinterpret_cast<const float*>(second.data()), 1);
    numbers = {5, 6, 7, 8};
    ASSERT_TRUE(interpreter->setInput(0, input()).ok());
    run();
    EXPECT_EQ(*reinterpret_cast<const float*>(block.data()), -1);
    EXPECT_EQ(first(0), -5);
    EXPECT_EQ(first(2), -5);
    ASSERT_TRUE(interpreter->swapOutput(0, block)); // and back: the next run writes where the first one did
    run();
    EXPECT_EQ(interpreter->output(0).data, place);
}

} // namespace
} // namespace loopscope::testing
