// What is computed does not depend on the number of threads: operators with work enough to share, bit for bit.
#include "kernel_harness.h"

#include <gtest/gtest.h>
#include <random>

using namespace loopscope;

namespace {

template <typename T> TestTensor randomTensor(const Shape& shape, uint32_t seed)
{
    std::mt19937 random(seed);
    std::vector<T> values(static_cast<size_t>(shape.elementCount()));
    for (T& v : values) {
        if constexpr (std::is_floating_point_v<T>) v = std::uniform_real_distribution<T>(-2, 2)(random);
        else v = static_cast<T>(std::uniform_int_distribution<int>(-100, 100)(random));
    }
    return tensorOf<T>(shape, values);
}

/// Runs with 1 thread and with others; the work must be beyond what one thread keeps for itself (nn_common.h, shareWork).
void expectSameBits(const std::string& name, const std::vector<const TestTensor*>& inputs, RunOptions options)
{
    options.threads = 1;
    const auto alone = runOperator(name, inputs, options);
    ASSERT_TRUE(alone.ok()) << alone.error().message();
    for (const int threads : {2, 3, 7}) {
        options.threads = threads;
        const auto shared = runOperator(name, inputs, options);
        ASSERT_TRUE(shared.ok()) << shared.error().message();
        for (size_t k = 0; k < alone->size(); ++k)
            EXPECT_EQ((*alone)[k].data, (*shared)[k].data) << name << ", " << threads << " threads, result " << k;
    }
}

RunOptions withResult(DType dtype, float scale)
{
    RunOptions options;
    options.results = {declared(dtype, scale, 0)};
    return options;
}

TEST(Threads, fullyConnected)
{
    const Shape x = {5, 301};
    const Shape w = {203, 301};
    const TestTensor floats = randomTensor<float>(x, 1);
    const TestTensor floatWeights = randomTensor<float>(w, 2);
    const TestTensor bias = randomTensor<float>({203}, 3);
    expectSameBits("fully_connected", {&floats, &floatWeights, &bias}, {});
    const TestTensor i8 = randomTensor<int8_t>(x, 4).quantized(0.5F, 3);
    const TestTensor weights = randomTensor<int8_t>(w, 5).quantized(0.25F, 0);
    const TestTensor i32Bias = randomTensor<int32_t>({203}, 6);
    expectSameBits("fully_connected", {&i8, &weights, &i32Bias}, withResult(DType::i8, 40.0F));
    const TestTensor i16 = randomTensor<int16_t>(x, 7).quantized(0.5F, 0);
    expectSameBits("fully_connected", {&i16, &weights, nullptr}, withResult(DType::i16, 1.0F));
    expectSameBits("fully_connected", {&floats, &weights, &bias}, {});
    const TestTensor wide = randomTensor<int16_t>(w, 8).quantized(0.25F, 0);
    expectSameBits("fully_connected", {&i16, &wide, nullptr}, withResult(DType::i16, 1.0F));
}

TEST(Threads, fullyConnectedWithShuffledWeights)
{
    const TestTensor x = randomTensor<uint8_t>({4, 320}, 1).quantized(0.5F, 128);
    const TestTensor w = randomTensor<uint8_t>({300, 320}, 2).quantized(0.5F, 128);
    const TestTensor bias = randomTensor<int32_t>({300}, 3);
    RunOptions options;
    options.results = {declared(DType::i16, 4.0F, 0), {}};
    setAttribute(options.attributes, "weights_format", Word{"SHUFFLED4x16INT8"});
    expectSameBits("fully_connected", {&x, &w, &bias}, options);
}

TEST(Threads, batchMatmul)
{
    for (const bool adjoint : {false, true}) {
        const Shape left = adjoint ? Shape{2, 97, 65} : Shape{2, 65, 97};
        const Shape right = adjoint ? Shape{1, 83, 97} : Shape{1, 97, 83};
        RunOptions options;
        setAttribute(options.attributes, "adj_x", adjoint);
        setAttribute(options.attributes, "adj_y", adjoint);
        const TestTensor x = randomTensor<float>(left, 1);
        const TestTensor y = randomTensor<float>(right, 2);
        expectSameBits("batch_matmul", {&x, &y}, options);
        const TestTensor i8 = randomTensor<int8_t>(right, 3).quantized(0.5F, 0);
        expectSameBits("batch_matmul", {&x, &i8}, options);
        const TestTensor i8Left = randomTensor<int8_t>(left, 4).quantized(0.5F, -4);
        options.results = {declared(DType::i8, 20.0F, 1)};
        expectSameBits("batch_matmul", {&i8Left, &i8}, options);
        const TestTensor i16Left = randomTensor<int16_t>(left, 5).quantized(0.5F, 0);
        const TestTensor i16 = randomTensor<int16_t>(right, 6).quantized(0.5F, 0);
        options.results = {declared(DType::i16, 1.0F, 0)};
        expectSameBits("batch_matmul", {&i16Left, &i16}, options);
    }
}

TEST(Threads, transposeConv)
{
    const TestTensor size = tensorOf<int32_t>({4}, {2, 25, 23, 19});
    const Shape image = {2, 13, 12, 17};
    const Shape filter = {19, 3, 3, 17};
    RunOptions options;
    setAttribute(options.attributes, "padding", Word{"SAME"});
    setAttribute(options.attributes, "stride_h", int64_t{2});
    setAttribute(options.attributes, "stride_w", int64_t{2});
    const TestTensor x = randomTensor<float>(image, 1);
    const TestTensor w = randomTensor<float>(filter, 2);
    expectSameBits("transpose_conv", {&size, &w, &x}, options);
    const TestTensor weights = randomTensor<int8_t>(filter, 3).quantized(0.5F, 0);
    expectSameBits("transpose_conv", {&size, &weights, &x}, options);
    const TestTensor i8 = randomTensor<int8_t>(image, 4).quantized(0.5F, -3);
    options.results = {declared(DType::i8, 20.0F, 0)};
    expectSameBits("transpose_conv", {&size, &weights, &i8}, options);
    const TestTensor i16 = randomTensor<int16_t>(image, 5).quantized(0.5F, 0);
    options.results = {declared(DType::i16, 1.0F, 0)};
    expectSameBits("transpose_conv", {&size, &weights, &i16}, options);
}

} // namespace
