// The kernels of the profile `fast` against the reference kernels, on random operands: integers bit for bit, floats within the bound that
// the kernel states, and the same bits for any number of threads. Machines with wide vectors run the plain loops beside them.
#include "engine/kernels/fast/packed.h"
#include "engine/kernels/fast/product.h"
#include "engine/kernels/fast/product_avx512.h"
#include "tests/unit/kernels/fast_harness.h"

#include <algorithm>
#include <cmath>

namespace loopscope::testing {
namespace {

struct Window {
    Shape input, filter;
    int64_t strideH, strideW, dilationH, dilationW;
    const char *padding, *activation;
};

class FastConvolutions : public ::testing::TestWithParam<DType> {};

void expectConvolution(const std::string& kind, const Window& w, DType dtype, bool hasBias, bool isQuantizedLater = false)
{
    const bool isDepthwise = kind == "depthwise_conv_2d";
    std::mt19937 random(static_cast<unsigned>(w.input.elementCount() + w.filter.elementCount()));
    TestTensor input = randomTensor(random, dtype, w.input), filter = randomTensor(random, dtype, w.filter);
    const int channels = static_cast<int>(w.filter[isDepthwise ? 3 : 0]);
    TestTensor bias = randomTensor(random, dtype == DType::f32 ? DType::f32 : DType::i32, Shape({channels}));
    input.quantization = scaleOf(dtype, 0.02F);
    filter.quantization = dtype == DType::i8 ? scaleOf(dtype, 0.005F, channels, isDepthwise ? 3 : 0) : scaleOf(dtype, 0.005F);
    if (dtype == DType::u8) bias.quantization = std::make_shared<const Quantization>(Quantization::perTensor(0.02F * 0.005F, 0));
    RunOptions options;
    options.attributes = {{"padding", Word{w.padding}}, {"stride_h", w.strideH},     {"stride_w", w.strideW},
                          {"dilation_h", w.dilationH},  {"dilation_w", w.dilationW}, {"act", Word{w.activation}}};
    options.results = {DeclaredResult{dtype, scaleOf(dtype, 0.11F)}};
    options.isQuantizedLater = isQuantizedLater;
    EXPECT_EQ(difference(kind, {&input, &filter, hasBias ? &bias : nullptr}, options), "")
        << kind << " of " << toString(w.input) << " by " << toString(w.filter) << ", " << w.padding;
}

TEST_P(FastConvolutions, giveWhatTheReferenceGives)
{
    const Window windows[] = {
        {Shape({1, 5, 5, 8}), Shape({16, 1, 1, 8}), 1, 1, 1, 1, "SAME", "NONE"},
        {Shape({2, 7, 9, 5}), Shape({19, 3, 3, 5}), 1, 1, 1, 1, "SAME", "RELU"},
        {Shape({1, 13, 11, 3}), Shape({33, 3, 5, 3}), 2, 2, 1, 1, "SAME", "RELU6"},
        {Shape({1, 9, 9, 4}), Shape({7, 3, 3, 4}), 1, 1, 2, 3, "SAME", "NONE"},
        {Shape({1, 12, 10, 16}), Shape({24, 1, 1, 16}), 2, 3, 1, 1, "VALID", "NONE"},
        {Shape({1, 6, 6, 12}), Shape({9, 3, 3, 4}), 1, 1, 1, 1, "SAME", "NONE"}, // three groups
        {Shape({1, 1, 1, 31}), Shape({80, 1, 1, 31}), 1, 1, 1, 1, "VALID", "NONE"},
        {Shape({1, 2, 2, 3}), Shape({4, 5, 5, 3}), 1, 1, 1, 1, "SAME", "RELU_N1_TO_1"}, // larger than the image
        {Shape({1, 40, 40, 3}), Shape({16, 3, 3, 3}), 1, 1, 1, 1, "SAME", "NONE"},
    };
    for (const Window& w : windows)
        for (const bool hasBias : {false, true}) expectConvolution("conv_2d", w, GetParam(), hasBias);
}

TEST_P(FastConvolutions, giveWhatTheReferenceGivesChannelByChannel)
{
    for (const int64_t channels : {1, 3, 8, 13, 16, 40, 67})
        for (const bool hasBias : {false, true}) {
            expectConvolution("depthwise_conv_2d", {Shape({2, 7, 6, channels}), Shape({1, 3, 3, channels}), 1, 1, 1, 1, "SAME", "NONE"},
                              GetParam(), hasBias);
            expectConvolution("depthwise_conv_2d", {Shape({1, 9, 8, channels}), Shape({1, 5, 3, channels}), 2, 2, 1, 1, "SAME", "RELU6"},
                              GetParam(), hasBias);
            expectConvolution("depthwise_conv_2d", {Shape({1, 8, 9, channels}), Shape({1, 2, 2, channels}), 1, 1, 2, 2, "VALID", "RELU"},
                              GetParam(), hasBias);
            expectConvolution("depthwise_conv_2d", {Shape({2, 6, 5, channels}), Shape({1, 3, 2, 3 * channels}), 1, 1, 1, 1, "SAME", "NONE"},
                              GetParam(), hasBias); // three results for each channel
        }
}

TEST_P(FastConvolutions, giveWhatTheReferenceGivesAsMatrixProducts)
{
    for (const int64_t rows : {1, 2, 7, 100})
        for (const int64_t depth : {1, 8, 37, 1100})
            for (const int64_t units : {1, 16, 70}) {
                const DType dtype = GetParam();
                std::mt19937 random(static_cast<unsigned>(rows * 10000 + depth * 100 + units));
                TestTensor input = randomTensor(random, dtype, Shape({rows, depth}));
                TestTensor weights = randomTensor(random, dtype, Shape({units, depth}));
                TestTensor bias = randomTensor(random, dtype == DType::f32 ? DType::f32 : DType::i32, Shape({units}));
                input.quantization = scaleOf(dtype, 0.02F);
                weights.quantization = scaleOf(dtype, 0.005F);
                if (dtype != DType::f32)
                    bias.quantization = std::make_shared<const Quantization>(Quantization::perTensor(0.02F * 0.005F, 0));
                RunOptions options;
                options.attributes = {{"act", Word{"NONE"}}, {"weights_format", Word{"DEFAULT"}}};
                options.results = {DeclaredResult{dtype, scaleOf(dtype, 0.11F)}};
                EXPECT_EQ(difference("fully_connected", {&input, &weights, rows == 2 ? nullptr : &bias}, options), "")
                    << rows << " rows of " << depth << " by " << units;
            }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, FastConvolutions, ::testing::Values(DType::f32, DType::i8, DType::u8),
                         [](const auto& info) { return std::string(dtypeName(info.param)); });

TEST(FastMatrixProducts, ofBatchesGiveWhatTheReferenceGives)
{
    std::mt19937 random(3);
    for (const bool adjX : {false, true})
        for (const bool adjY : {false, true})
            for (const int64_t columns : {1, 5, 90}) {
                TestTensor x = randomTensor(random, DType::i8, adjX ? Shape({2, 3, 11, 7}) : Shape({2, 3, 7, 11}));
                TestTensor y = randomTensor(random, DType::i8, adjY ? Shape({3, columns, 11}) : Shape({3, 11, columns}));
                x.quantization = scaleOf(DType::i8, 0.02F);
                y.quantization = scaleOf(DType::i8, 0.03F);
                RunOptions options;
                options.attributes = {{"adj_x", adjX}, {"adj_y", adjY}};
                options.results = {DeclaredResult{DType::i8, scaleOf(DType::i8, 0.2F)}};
                EXPECT_EQ(difference("batch_matmul", {&x, &y}, options), "") << adjX << adjY << columns;
            }
    for (const bool adjX : {false, true})
        for (const bool adjY : {false, true})
            for (const int64_t columns : {1, 5, 90}) {
                RunOptions options;
                options.attributes = {{"adj_x", adjX}, {"adj_y", adjY}};
                for (const int64_t rows : {1, 3, 7})
                    for (const int64_t depth : {11, 70}) {
                        const TestTensor x =
                            randomTensor(random, DType::f32, adjX ? Shape({2, 3, depth, rows}) : Shape({2, 3, rows, depth}));
                        const TestTensor y =
                            randomTensor(random, DType::f32, adjY ? Shape({3, columns, depth}) : Shape({3, depth, columns}));
                        EXPECT_EQ(difference("batch_matmul", {&x, &y}, options), "") << adjX << adjY << columns << rows;
                    }
            }
}

/// Floats that are quantized further on have the bits of the reference, not only its bound.
TEST(FastProducts, keepTheBitsOfFloatsThatAreQuantizedLater)
{
    for (const int64_t channels : {1, 5, 40}) {
        expectConvolution("conv_2d", {Shape({1, 9, 9, channels}), Shape({37, 3, 3, channels}), 1, 1, 1, 1, "SAME", "RELU"}, DType::f32,
                          true, true);
        expectConvolution("conv_2d", {Shape({1, 1, 1, 90 * channels}), Shape({70, 1, 1, 90 * channels}), 1, 1, 1, 1, "VALID", "NONE"},
                          DType::f32, false, true);
        expectConvolution("depthwise_conv_2d", {Shape({1, 9, 9, channels}), Shape({1, 3, 3, channels}), 1, 1, 1, 1, "SAME", "NONE"},
                          DType::f32, true, true);
    }
    std::mt19937 random(8);
    RunOptions options;
    options.isQuantizedLater = true;
    for (const int64_t rows : {1, 2, 9}) {
        const TestTensor input = randomTensor(random, DType::f32, Shape({rows, 700}));
        const TestTensor weights = randomTensor(random, DType::f32, Shape({50, 700}));
        options.attributes = {{"act", Word{"NONE"}}, {"weights_format", Word{"DEFAULT"}}};
        EXPECT_EQ(difference("fully_connected", {&input, &weights, nullptr}, options), "") << rows;
        const TestTensor turned = randomTensor(random, DType::f32, Shape({700, 50}));
        options.attributes = {{"adj_x", false}, {"adj_y", false}};
        EXPECT_EQ(difference("batch_matmul", {&input, &turned}, options), "") << rows;
        options.attributes = {{"adj_x", false}, {"adj_y", true}};
        EXPECT_EQ(difference("batch_matmul", {&input, &weights}, options), "") << rows;
    }
    const TestTensor size = tensorOf<int32_t>(Shape({4}), {1, 8, 8, 19});
    const TestTensor filter = randomTensor(random, DType::f32, Shape({19, 3, 3, 24})),
                     image = randomTensor(random, DType::f32, Shape({1, 4, 4, 24}));
    options.attributes = {{"padding", Word{"SAME"}}, {"stride_h", int64_t{2}}, {"stride_w", int64_t{2}}};
    EXPECT_EQ(difference("transpose_conv", {&size, &filter, &image}, options), "");
}

/// All 8-bit numbers with each other, at scales near and far from each other.
TEST(FastElements, of8BitsHaveTheReferencesBits)
{
    std::vector<int8_t> left, right;
    for (int a = -128; a < 128; ++a)
        for (int b = -128; b < 128; ++b) {
            left.push_back(static_cast<int8_t>(a));
            right.push_back(static_cast<int8_t>(b));
        }
    for (const DType dtype : {DType::i8, DType::u8})
        for (const auto& [scaleA, scaleB, scaleOut] : {std::tuple(0.1F, 0.1F, 0.2F), {0.003F, 1.7F, 1.1F}, {0.5F, 0.02F, 0.3F}})
            for (const char* kind : {"add", "sub", "mul"})
                for (const char* activation : {"NONE", "RELU6"}) {
                    TestTensor a = tensorOf<int8_t>(Shape({256, 256}), left), b = tensorOf<int8_t>(Shape({256, 256}), right);
                    TestTensor row = tensorOf<int8_t>(Shape({256}), std::vector<int8_t>(right.begin(), right.begin() + 256));
                    a.dtype = b.dtype = row.dtype = dtype;
                    a.quantization = scaleOf(dtype, scaleA);
                    b.quantization = row.quantization = scaleOf(dtype, scaleB);
                    RunOptions options;
                    options.attributes = {{"act", Word{activation}}};
                    options.results = {DeclaredResult{dtype, scaleOf(dtype, scaleOut)}};
                    EXPECT_EQ(difference(kind, {&a, &b}, options), "") << kind << scaleA;
                    EXPECT_EQ(difference(kind, {&a, &row}, options), "") << kind << scaleA;
                }
}

TEST(FastElements, ofOneOperandGiveWhatTheReferenceGives)
{
    std::vector<float> numbers = {0.0F, -0.0F, INFINITY, -INFINITY, NAN, 1e-40F, -1e-40F, 3e38F, -3e38F, 88.7F, -103.9F, -87.4F, 0.625F};
    std::mt19937 random(9);
    for (int i = 0; i < 20000; ++i)
        numbers.push_back(std::ldexp(static_cast<float>(random() % 20001) / 10000.0F - 1.0F, static_cast<int>(random() % 20) - 12));
    const TestTensor floats = tensorOf<float>(Shape({static_cast<int64_t>(numbers.size())}), numbers);
    for (const char* kind : {"relu", "relu6", "relu_n1_to_1", "relu_0_to_1", "leaky_relu", "hard_swish", "abs", "neg", "square", "exp",
                             "logistic", "tanh", "gelu"}) {
        RunOptions options;
        for (const bool isApproximate : {false, true}) {
            options.attributes = {{"alpha", 0.3}, {"approximate", isApproximate}};
            EXPECT_EQ(difference(kind, {&floats}, options), "") << kind;
        }
    }
    for (const DType to : {DType::i8, DType::u8}) {
        RunOptions options;
        options.results = {DeclaredResult{to, scaleOf(to, 0.05F)}};
        EXPECT_EQ(difference("quantize", {&floats}, options), "");
        for (const char* kind : {"relu", "leaky_relu", "hard_swish", "quantize"}) {
            TestTensor bytes = randomTensor(random, to, Shape({3, 1000}));
            bytes.quantization = scaleOf(to, 0.04F);
            options.attributes = {{"alpha", 0.3}};
            EXPECT_EQ(difference(kind, {&bytes}, options), "") << kind;
        }
        TestTensor bytes = randomTensor(random, to, Shape({3, 1000}));
        bytes.quantization = scaleOf(to, 0.04F);
        options.results = {DeclaredResult{DType::f32, nullptr}};
        EXPECT_EQ(difference("dequantize", {&bytes}, options), "");
    }
    for (const int64_t length : {1, 7, 16, 33, 1000}) {
        const TestTensor rows = randomTensor(random, DType::f32, Shape({5, length}));
        RunOptions options;
        options.attributes = {{"beta", 1.0}};
        EXPECT_EQ(difference("softmax", {&rows}, options), "") << length;
        for (const DType dtype : {DType::i8, DType::u8}) {
            TestTensor bytes = randomTensor(random, dtype, Shape({5, std::min<int64_t>(length, 100)}));
            bytes.quantization = scaleOf(dtype, 0.06F);
            options.results = {DeclaredResult{
                dtype, std::make_shared<const Quantization>(Quantization::perTensor(1.0F / 256, dtype == DType::i8 ? -128 : 0))}};
            EXPECT_EQ(difference("softmax", {&bytes}, options), "") << length;
        }
    }
}

TEST(FastKernels, leaveWhatTheyCannotPackToTheReference)
{
    std::mt19937 random(3);
    const TestTensor input = randomTensor(random, DType::f32, Shape({1, 4, 4, 2}));
    TestTensor filter = randomTensor(random, DType::f32, Shape({3, 3, 3, 2}));
    const float infinity = INFINITY;
    std::memcpy(filter.data.data() + 20, &infinity, sizeof(infinity));
    RunOptions options;
    options.profile = Profile::fast;
    options.attributes = {{"padding", Word{"SAME"}}, {"stride_h", int64_t{1}}, {"stride_w", int64_t{1}}};
    EXPECT_EQ(messageOf("conv_2d", {&input, &filter, nullptr}, options), "weights that are no finite numbers");
}

/// The loops of all machines against those of this one: floats may round otherwise, integers may not.
TEST(FastLoops, doTheSameOnMachinesWithoutWideVectors)
{
    std::mt19937 random(5);
    constexpr int64_t kDepth = 46;
    std::vector<int16_t> integers(static_cast<size_t>(fast::kTileRows * kDepth));
    for (int16_t& x : integers) x = static_cast<int16_t>(static_cast<int>(random() % 511) - 255);
    PackedWeights weights(2 * kDepth * fast::kTileColumns);
    for (int64_t i = 0; i < kDepth * fast::kTileColumns; ++i)
        weights.as<int16_t>()[i] = static_cast<int16_t>(static_cast<int>(random() % 511) - 255);
    const int16_t* rows[fast::kTileRows];
    for (int r = 0; r < fast::kTileRows; ++r) rows[r] = integers.data() + r * kDepth;
    for (int count = 1; count <= fast::kTileRows; ++count) {
        std::vector<int32_t> wide(fast::kTileRows * fast::kTileColumns, 7), plain = wide;
        fast::multiplyTile(rows, count, kDepth / 2, weights.as<int16_t>(), wide.data());
        fast::baseline::multiplyTile(rows, count, kDepth / 2, weights.as<int16_t>(), plain.data());
        EXPECT_EQ(wide, plain) << count;
    }
    std::vector<int8_t> bytes(128);
    for (int8_t& x : bytes) x = static_cast<int8_t>(random());
    const std::vector<int32_t> start(2 * fast::kTileColumns, -77);
    std::vector<int32_t> wide(4 * fast::kTileColumns), plain = wide;
    const int8_t* const taps[] = {bytes.data(),      bytes.data() + 32, bytes.data() + 64, bytes.data() + 96,
                                  bytes.data() + 32, bytes.data() + 96, bytes.data() + 16, bytes.data()}; // of two pixels
    fast::multiplyTaps(taps, 2, 2, weights.as<int16_t>(), start.data(), 2, wide.data());
    fast::baseline::multiplyTaps(taps, 2, 2, weights.as<int16_t>(), start.data(), 2, plain.data());
    EXPECT_EQ(wide, plain);

    std::vector<float> numbers(static_cast<size_t>(fast::kTileRows * kDepth));
    for (float& x : numbers) x = static_cast<float>(random() % 1000) / 500.0F;
    PackedWeights panel(4 * kDepth * fast::kTileColumns);
    for (int64_t i = 0; i < kDepth * fast::kTileColumns; ++i) panel.as<float>()[i] = static_cast<float>(random() % 1000) / 500.0F;
    const float* floatRows[fast::kTileRows];
    for (int r = 0; r < fast::kTileRows; ++r) floatRows[r] = numbers.data() + r * kDepth;
    std::vector<float> wideSums(fast::kTileRows * fast::kTileColumns), plainSums = wideSums;
    const std::vector<float> bias(40, 0.25F);
    const fast::FloatFinish finish = {bias.data(), 0.0F, 50.0F};
    fast::multiplyTile(floatRows, fast::kTileRows, kDepth, panel.as<float>(), finish, wideSums.data(), fast::kTileColumns);
    fast::baseline::multiplyTile(floatRows, fast::kTileRows, kDepth, panel.as<float>(), finish, plainSums.data(), fast::kTileColumns);
    for (size_t i = 0; i < wideSums.size(); ++i) EXPECT_NEAR(wideSums[i], plainSums[i], 1e-4F) << i;
    std::vector<float> packed(2 * 32); // of the first of two blocks of 32 channels, the other has 8
    for (size_t t = 0; t < 2; ++t)
        for (size_t c = 0; c < 32; ++c) packed[t * 32 + c] = panel.as<float>()[t * 40 + c];
    fast::multiplyTaps(floatRows, 2, 2, panel.as<float>(), packed.data(), 40, finish, wideSums.data());
    fast::baseline::multiplyTaps(floatRows, 2, 2, panel.as<float>(), 40, finish, plainSums.data());
    for (size_t i = 0; i < 80; ++i) EXPECT_NEAR(wideSums[i], plainSums[i], 1e-5F) << i;
}

#if defined(__x86_64__)

/// The loops for AVX-512 against those that a machine without it takes: the same bits, of integers those of every machine.
TEST(FastLoops, doTheSameWithTheWidestVectors)
{
    if (!fast::avx512::hasPairs()) GTEST_SKIP() << "no AVX-512 here";
    std::mt19937 random(6);
    constexpr int64_t kDepth = 46, kPanel = kDepth * fast::kTileColumns;
    std::vector<int16_t> integers(static_cast<size_t>(fast::kTileRows * kDepth));
    for (int16_t& x : integers) x = static_cast<int16_t>(static_cast<int>(random() % 511) - 255);
    PackedWeights weights(2 * kPanel * sizeof(int16_t)), panels(2 * kPanel * sizeof(float));
    for (int64_t i = 0; i < 2 * kPanel; ++i) weights.as<int16_t>()[i] = static_cast<int16_t>(static_cast<int>(random() % 511) - 255);
    for (int64_t i = 0; i < 2 * kPanel; ++i) panels.as<float>()[i] = static_cast<float>(random() % 1000) / 500.0F - 1.0F;
    std::vector<float> numbers(static_cast<size_t>(fast::kTileRows * kDepth));
    for (float& x : numbers) x = static_cast<float>(random() % 1000) / 500.0F - 1.0F;
    const int16_t* rows[fast::kTileRows];
    const float* floatRows[fast::kTileRows];
    for (int r = 0; r < fast::kTileRows; ++r) {
        rows[r] = integers.data() + r * kDepth;
        floatRows[r] = numbers.data() + r * kDepth;
    }
    const std::vector<float> bias(2 * fast::kTileColumns, 0.25F);
    const fast::FloatFinish finish = {bias.data(), -2.0F, 5.0F};
    constexpr size_t kSums = static_cast<size_t>(fast::kMostPanels * fast::kTileRows * fast::kTileColumns);
    for (int count = 1; count <= fast::kTileRows; ++count) {
        std::vector<int32_t> wide(kSums, 7), plain = wide;
        fast::avx512::multiplyTiles(rows, count, kDepth / 2, weights.as<int16_t>(), 2, kPanel, wide.data());
        for (int k = 0; k < 2; ++k)
            fast::baseline::multiplyTile(rows, count, kDepth / 2, weights.as<int16_t>() + k * kPanel,
                                         plain.data() + k * fast::kTileRows * fast::kTileColumns);
        EXPECT_EQ(wide, plain) << count;
        std::vector<float> together(kSums, 7.0F), apart = together;
        fast::avx512::multiplyTiles(floatRows, count, kDepth, panels.as<float>(), 2, kPanel, finish, together.data(),
                                    2 * fast::kTileColumns);
        for (int r = 0; r < count; ++r)
            for (int k = 0; k < 2; ++k)
                for (int64_t c = 0; c < fast::kTileColumns; ++c) {
                    float sum = 0;
                    for (int64_t d = 0; d < kDepth; ++d)
                        sum = std::fma(floatRows[r][d], panels.as<float>()[k * kPanel + d * fast::kTileColumns + c], sum);
                    apart[static_cast<size_t>((r * 2 + k) * fast::kTileColumns + c)] = std::min(std::max(sum + 0.25F, -2.0F), 5.0F);
                }
        EXPECT_EQ(together, apart) << count;
    }
    for (int panelCount = 1; panelCount <= 2; ++panelCount) { // with several sums under way
        std::vector<int32_t> wide(kSums, 7), plain = wide;
        fast::avx512::multiplyRow(rows[0], kDepth / 2, weights.as<int16_t>(), panelCount, wide.data());
        for (int k = 0; k < panelCount; ++k)
            fast::baseline::multiplyTile(rows, 1, kDepth / 2, weights.as<int16_t>() + k * kPanel, plain.data() + k * fast::kTileColumns);
        EXPECT_EQ(wide, plain) << panelCount;
    }
}

/// Bytes in fours, with a sign and without, against plain sums.
TEST(FastLoops, multiplyBytesAsTheyAre)
{
    if (!fast::multipliesBytes()) GTEST_SKIP() << "no AVX-512 here";
    std::mt19937 random(7);
    constexpr int64_t kDepth = 46, kPanel = kDepth * fast::kTileColumns;
    constexpr size_t kSums = static_cast<size_t>(fast::kMostPanels * fast::kTileRows * fast::kTileColumns);
    PackedWeights fours(4 * kPanel);
    for (int64_t i = 0; i < 4 * kPanel; ++i) fours.as<int8_t>()[i] = static_cast<int8_t>(random());
    std::vector<int8_t> bytes(static_cast<size_t>(fast::kTileRows * kDepth));
    for (int8_t& x : bytes) x = static_cast<int8_t>(random());
    std::vector<int32_t> start(4 * fast::kTileColumns);
    for (int32_t& x : start) x = static_cast<int32_t>(random());
    constexpr int64_t kQuads = 11, kApart = kQuads * 4 * fast::kTileColumns;
    const auto sumOf = [&](const auto* row, int32_t offset, int k, int64_t c) {
        auto sum = static_cast<uint32_t>(start[static_cast<size_t>(k * fast::kTileColumns + c)]);
        for (int64_t d = 0; d < 4 * kQuads; ++d)
            sum += static_cast<uint32_t>((row[d] + offset) * fours.as<int8_t>()[k * kApart + d / 4 * 64 + 4 * c + d % 4]);
        return static_cast<int32_t>(sum);
    };
    const auto expectBytes = [&](const auto* first, int32_t offset) {
        std::remove_cvref_t<decltype(first)> byteRows[fast::kTileRows];
        for (int r = 0; r < fast::kTileRows; ++r) byteRows[r] = first + r * kDepth;
        for (int count = 1; count <= fast::kTileRows; ++count) {
            std::vector<int32_t> wide(kSums, 7), plain = wide;
            fast::multiplyTiles(byteRows, count, kQuads, fours.as<int8_t>(), 2, kApart, start.data(), wide.data());
            for (int r = 0; r < count; ++r)
                for (int k = 0; k < 2; ++k)
                    for (int64_t c = 0; c < fast::kTileColumns; ++c)
                        plain[static_cast<size_t>((k * fast::kTileRows + r) * fast::kTileColumns + c)] = sumOf(byteRows[r], offset, k, c);
            EXPECT_EQ(wide, plain) << count;
        }
        for (int panelCount = 1; panelCount <= 4; ++panelCount) {
            std::vector<int32_t> wide(kSums, 7), plain = wide;
            fast::multiplyRow(byteRows[0], kQuads, fours.as<int8_t>(), panelCount, start.data(), wide.data());
            for (int k = 0; k < panelCount; ++k)
                for (int64_t c = 0; c < fast::kTileColumns; ++c)
                    plain[static_cast<size_t>(k * fast::kTileColumns + c)] = sumOf(byteRows[0], offset, k, c);
            EXPECT_EQ(wide, plain) << panelCount;
        }
    };
    expectBytes(bytes.data(), 128);
    expectBytes(reinterpret_cast<const uint8_t*>(bytes.data()), 0);
}

#endif

TEST(PackedWeights, areSharedByAllWhoHoldTheSameAndCounted)
{
    const int64_t before = MemoryShares::all().packedWeights;
    std::mt19937 random(1);
    const TestTensor weights = randomTensor(random, DType::f32, Shape({4, 4}));
    Tensor view;
    view.dtype = DType::f32;
    view.shape = weights.shape;
    view.data = const_cast<std::byte*>(weights.data.data());
    view.bytes = weights.data.size();
    int packed = 0;
    const auto fill = [&](PackedWeights&) { ++packed; };
    const auto first = *packedOnce(view, {4, 4, 1, 0, 1}, 64, fill), again = *packedOnce(view, {4, 4, 1, 0, 1}, 64, fill);
    const auto other = *packedOnce(view, {4, 4, 1, 0, 2}, 64, fill);
    EXPECT_EQ(first, again);
    EXPECT_NE(first, other);
    EXPECT_EQ(packed, 2);
    EXPECT_EQ(MemoryShares::all().packedWeights - before, 128);
    const auto tooLarge = packedOnce(view, {4, 4, 1, 0, 3}, size_t{1} << 50, fill);
    EXPECT_EQ(tooLarge.ok() ? "" : tooLarge.error().message(), "no memory for packed weights, found 1125899906842624 bytes");
}

} // namespace
} // namespace loopscope::testing
