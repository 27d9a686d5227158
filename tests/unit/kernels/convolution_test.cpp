// Convolutions and matrix products against seven plain loops that follow the definition, on many small geometries: floats bit for bit,
// integers exactly. Rounding of the rescaled results is covered by the text tests and quantized_math_test.
#include "kernel_harness.h"

#include "engine/kernels/cpu/gemm.h"
#include "engine/kernels/cpu/quantized_math.h"

#include <gmock/gmock.h>
#include <random>

using namespace loopscope;

namespace {

struct Geometry {
    int64_t batch, height, width, channels, outChannels, kernelH, kernelW, strideH, strideW, dilationH, dilationW, groups;
    bool same;
};

std::vector<Geometry> geometries()
{
    return {
        {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, true},    {2, 5, 7, 3, 4, 3, 3, 1, 1, 1, 1, 1, true},
        {1, 6, 9, 2, 17, 3, 2, 2, 3, 1, 1, 1, true},   {1, 8, 8, 5, 33, 3, 3, 1, 2, 2, 2, 1, true},
        {2, 9, 4, 4, 6, 2, 3, 1, 1, 3, 1, 1, false},   {1, 7, 11, 6, 6, 3, 3, 2, 1, 1, 1, 3, true},
        {1, 5, 13, 4, 40, 1, 1, 1, 1, 1, 1, 2, false}, {1, 2, 2, 3, 5, 5, 5, 1, 1, 1, 1, 1, true},
        {3, 4, 4, 19, 8, 1, 1, 2, 2, 1, 1, 1, true},   {2, 33, 31, 32, 20, 3, 3, 1, 1, 1, 1, 1, true}, // enough work for several threads
    };
}

AttributeList attributesOf(const Geometry& g)
{
    AttributeList list;
    setAttribute(list, "padding", Word{g.same ? "SAME" : "VALID"});
    setAttribute(list, "stride_h", g.strideH);
    setAttribute(list, "stride_w", g.strideW);
    setAttribute(list, "dilation_h_factor", g.dilationH);
    setAttribute(list, "dilation_w_factor", g.dilationW);
    return list;
}

int64_t outputSize(int64_t input, int64_t kernel, int64_t stride, int64_t dilation, bool same)
{
    return same ? (input + stride - 1) / stride : (input - (kernel - 1) * dilation - 1) / stride + 1;
}

int64_t paddingBefore(int64_t input, int64_t output, int64_t kernel, int64_t stride, int64_t dilation)
{
    return std::max<int64_t>(0, (output - 1) * stride + (kernel - 1) * dilation + 1 - input) / 2;
}

template <typename T> std::vector<T> randomValues(int64_t count, std::mt19937& random)
{
    std::vector<T> values(static_cast<size_t>(count));
    for (T& v : values) {
        if constexpr (std::is_floating_point_v<T>) v = std::uniform_real_distribution<T>(-2, 2)(random);
        else v = static_cast<T>(std::uniform_int_distribution<int>(std::numeric_limits<T>::min(), std::numeric_limits<T>::max())(random));
    }
    return values;
}

/// The definition: sum over filter row, filter column, channel, in this order, then the bias. `depthwise`: filter [1,KH,KW,O].
template <typename T, typename W, typename Sum>
std::vector<Sum> plainConvolution(const Geometry& g, const std::vector<T>& x, Sum zero, const std::vector<W>& w, bool depthwise)
{
    const int64_t oh = outputSize(g.height, g.kernelH, g.strideH, g.dilationH, g.same);
    const int64_t ow = outputSize(g.width, g.kernelW, g.strideW, g.dilationW, g.same);
    const int64_t top = paddingBefore(g.height, oh, g.kernelH, g.strideH, g.dilationH);
    const int64_t left = paddingBefore(g.width, ow, g.kernelW, g.strideW, g.dilationW);
    const int64_t depth = g.channels / g.groups;
    std::vector<Sum> sums;
    for (int64_t b = 0; b < g.batch; ++b)
        for (int64_t y = 0; y < oh; ++y)
            for (int64_t q = 0; q < ow; ++q)
                for (int64_t o = 0; o < g.outChannels; ++o) {
                    Sum sum = 0;
                    for (int64_t ky = 0; ky < g.kernelH; ++ky)
                        for (int64_t kx = 0; kx < g.kernelW; ++kx) {
                            const int64_t iy = y * g.strideH - top + ky * g.dilationH;
                            const int64_t ix = q * g.strideW - left + kx * g.dilationW;
                            if (iy < 0 || iy >= g.height || ix < 0 || ix >= g.width) continue;
                            const int64_t pixel = ((b * g.height + iy) * g.width + ix) * g.channels;
                            if (depthwise) {
                                const int64_t c = o / (g.outChannels / g.channels);
                                sum += (static_cast<Sum>(x[static_cast<size_t>(pixel + c)]) - zero) *
                                       static_cast<Sum>(w[static_cast<size_t>((ky * g.kernelW + kx) * g.outChannels + o)]);
                                continue;
                            }
                            const int64_t first = o / (g.outChannels / g.groups) * depth;
                            for (int64_t c = 0; c < depth; ++c)
                                sum += (static_cast<Sum>(x[static_cast<size_t>(pixel + first + c)]) - zero) *
                                       static_cast<Sum>(w[static_cast<size_t>(((o * g.kernelH + ky) * g.kernelW + kx) * depth + c)]);
                        }
                    sums.push_back(sum);
                }
    return sums;
}

/// What the rescaling of the sums with one scale for all channels gives.
template <typename Out, typename Sum>
std::vector<Out> rescaled(const std::vector<Sum>& sums, const std::vector<int32_t>& bias, double factor, int zero)
{
    std::vector<Out> out;
    for (size_t i = 0; i < sums.size(); ++i) {
        const int32_t value =
            multiplyByQuantizedMultiplier(static_cast<int32_t>(sums[i]) + bias[i % bias.size()], quantizeMultiplier(factor)) + zero;
        out.push_back(static_cast<Out>(std::clamp<int32_t>(value, std::numeric_limits<Out>::min(), std::numeric_limits<Out>::max())));
    }
    return out;
}

TEST(Convolution, FloatsAddInTheOrderOfTheDefinition)
{
    std::mt19937 random(1);
    for (const Geometry& g : geometries()) {
        const int64_t depth = g.channels / g.groups;
        const auto x = randomValues<float>(g.batch * g.height * g.width * g.channels, random);
        const auto w = randomValues<float>(g.outChannels * g.kernelH * g.kernelW * depth, random);
        const auto bias = randomValues<float>(g.outChannels, random);
        std::vector<float> want = plainConvolution<float, float, float>(g, x, 0, w, false);
        for (size_t i = 0; i < want.size(); ++i) want[i] += bias[i % bias.size()];
        const TestTensor input = tensorOf<float>({g.batch, g.height, g.width, g.channels}, x);
        const TestTensor filter = tensorOf<float>({g.outChannels, g.kernelH, g.kernelW, depth}, w);
        const TestTensor biasTensor = tensorOf<float>({g.outChannels}, bias);
        RunOptions options;
        options.attributes = attributesOf(g);
        EXPECT_EQ(valuesOf<float>("conv_2d", {&input, &filter, &biasTensor}, options), want)
            << messageOf("conv_2d", {&input, &filter, &biasTensor}, options);
    }
}

TEST(Convolution, IntegersWithZeroPoints)
{
    std::mt19937 random(2);
    for (const Geometry& g : geometries()) {
        const int64_t depth = g.channels / g.groups;
        const auto x = randomValues<int8_t>(g.batch * g.height * g.width * g.channels, random);
        const auto w = randomValues<int8_t>(g.outChannels * g.kernelH * g.kernelW * depth, random);
        std::vector<int32_t> bias;
        for (int64_t o = 0; o < g.outChannels; ++o) bias.push_back(static_cast<int32_t>(o * 100 - 300));
        const double factor = static_cast<double>(0.5F) * static_cast<double>(0.25F) / static_cast<double>(100.0F);
        const auto want = rescaled<int8_t>(plainConvolution<int8_t, int8_t, int32_t>(g, x, 7, w, false), bias, factor, -3);
        const TestTensor input = tensorOf<int8_t>({g.batch, g.height, g.width, g.channels}, x).quantized(0.5F, 7);
        const TestTensor filter = tensorOf<int8_t>({g.outChannels, g.kernelH, g.kernelW, depth}, w).quantized(0.25F, 0);
        const TestTensor biasTensor = tensorOf<int32_t>({g.outChannels}, bias);
        RunOptions options;
        options.attributes = attributesOf(g);
        options.results = {declared(DType::i8, 100.0F, -3)};
        EXPECT_EQ(valuesOf<int8_t>("conv_2d", {&input, &filter, &biasTensor}, options), want)
            << messageOf("conv_2d", {&input, &filter, &biasTensor}, options);
    }
}

TEST(DepthwiseConvolution, FloatsAndIntegers)
{
    std::mt19937 random(3);
    for (Geometry g : geometries()) {
        g.groups = 1;
        for (const int64_t multiplier : {1, 3}) {
            g.outChannels = g.channels * multiplier;
            const int64_t filterElements = g.kernelH * g.kernelW * g.outChannels;
            const auto x = randomValues<float>(g.batch * g.height * g.width * g.channels, random);
            const auto w = randomValues<float>(filterElements, random);
            const TestTensor input = tensorOf<float>({g.batch, g.height, g.width, g.channels}, x);
            const TestTensor filter = tensorOf<float>({1, g.kernelH, g.kernelW, g.outChannels}, w);
            RunOptions options;
            options.attributes = attributesOf(g);
            EXPECT_EQ(valuesOf<float>("depthwise_conv_2d", {&input, &filter}, options),
                      (plainConvolution<float, float, float>(g, x, 0, w, true)));

            const auto xi = randomValues<int8_t>(g.batch * g.height * g.width * g.channels, random);
            const auto wi = randomValues<int8_t>(filterElements, random);
            const std::vector<int32_t> bias(static_cast<size_t>(g.outChannels), 50);
            const double factor = static_cast<double>(0.5F) * static_cast<double>(0.25F) / static_cast<double>(20.0F);
            const TestTensor inputI = tensorOf<int8_t>({g.batch, g.height, g.width, g.channels}, xi).quantized(0.5F, -128);
            const TestTensor filterI = tensorOf<int8_t>({1, g.kernelH, g.kernelW, g.outChannels}, wi).quantized(0.25F, 0);
            const TestTensor biasI = tensorOf<int32_t>({g.outChannels}, bias);
            options.results = {declared(DType::i8, 20.0F, 5)};
            EXPECT_EQ(valuesOf<int8_t>("depthwise_conv_2d", {&inputI, &filterI, &biasI}, options),
                      rescaled<int8_t>(plainConvolution<int8_t, int8_t, int32_t>(g, xi, -128, wi, true), bias, factor, 5));
        }
    }
}

TEST(TransposeConvolution, SpreadsInputsOverTheOutput)
{
    std::mt19937 random(4);
    for (const Geometry& g : geometries()) {
        if (g.groups != 1 || g.dilationH != 1 || g.dilationW != 1) continue;
        // The forward convolution maps [height, width] to [ih, iw]; we go back.
        const int64_t ih = outputSize(g.height, g.kernelH, g.strideH, 1, g.same);
        const int64_t iw = outputSize(g.width, g.kernelW, g.strideW, 1, g.same);
        const int64_t top = paddingBefore(g.height, ih, g.kernelH, g.strideH, 1);
        const int64_t left = paddingBefore(g.width, iw, g.kernelW, g.strideW, 1);
        const auto x = randomValues<float>(g.batch * ih * iw * g.channels, random);
        const auto w = randomValues<float>(g.outChannels * g.kernelH * g.kernelW * g.channels, random);
        std::vector<float> want(static_cast<size_t>(g.batch * g.height * g.width * g.outChannels), 0.0F);
        for (int64_t b = 0; b < g.batch; ++b)
            for (int64_t y = 0; y < ih; ++y)
                for (int64_t q = 0; q < iw; ++q)
                    for (int64_t c = 0; c < g.channels; ++c)
                        for (int64_t ky = 0; ky < g.kernelH; ++ky)
                            for (int64_t kx = 0; kx < g.kernelW; ++kx)
                                for (int64_t o = 0; o < g.outChannels; ++o) {
                                    const int64_t oy = y * g.strideH - top + ky;
                                    const int64_t ox = q * g.strideW - left + kx;
                                    if (oy < 0 || oy >= g.height || ox < 0 || ox >= g.width) continue;
                                    want[static_cast<size_t>(((b * g.height + oy) * g.width + ox) * g.outChannels + o)] +=
                                        x[static_cast<size_t>(((b * ih + y) * iw + q) * g.channels + c)] *
                                        w[static_cast<size_t>(((o * g.kernelH + ky) * g.kernelW + kx) * g.channels + c)];
                                }
        const TestTensor size = tensorOf<int32_t>({4}, {static_cast<int32_t>(g.batch), static_cast<int32_t>(g.height),
                                                        static_cast<int32_t>(g.width), static_cast<int32_t>(g.outChannels)});
        const TestTensor filter = tensorOf<float>({g.outChannels, g.kernelH, g.kernelW, g.channels}, w);
        const TestTensor input = tensorOf<float>({g.batch, ih, iw, g.channels}, x);
        RunOptions options;
        options.attributes = attributesOf(g);
        EXPECT_EQ(valuesOf<float>("transpose_conv", {&size, &filter, &input}, options), want)
            << messageOf("transpose_conv", {&size, &filter, &input}, options);
    }
}

TEST(MatrixProduct, BatchesBroadcastAndAdjointsTurn)
{
    std::mt19937 random(5);
    const int64_t m = 5;
    const int64_t k = 7;
    const int64_t n = 18;
    const auto x = randomValues<float>(3 * m * k, random); // [3,1,M,K]
    const auto y = randomValues<float>(2 * k * n, random); // [2,K,N]
    for (const bool adjX : {false, true})
        for (const bool adjY : {false, true}) {
            std::vector<float> want;
            for (int64_t b = 0; b < 6; ++b)
                for (int64_t i = 0; i < m; ++i)
                    for (int64_t j = 0; j < n; ++j) {
                        float sum = 0;
                        for (int64_t d = 0; d < k; ++d)
                            sum += x[static_cast<size_t>(b / 2 * m * k + (adjX ? d * m + i : i * k + d))] *
                                   y[static_cast<size_t>(b % 2 * k * n + (adjY ? j * k + d : d * n + j))];
                        want.push_back(sum);
                    }
            const TestTensor left = tensorOf<float>(adjX ? Shape{3, 1, k, m} : Shape{3, 1, m, k}, x);
            const TestTensor right = tensorOf<float>(adjY ? Shape{2, n, k} : Shape{2, k, n}, y);
            RunOptions options;
            setAttribute(options.attributes, "adj_x", adjX);
            setAttribute(options.attributes, "adj_y", adjY);
            EXPECT_EQ(valuesOf<float>("batch_matmul", {&left, &right}, options), want);
        }
}

TEST(MatrixProduct, FullyConnectedRoundsTheRealProduct)
{
    std::mt19937 random(6);
    const int64_t batch = 3;
    const int64_t depth = 45;
    const int64_t units = 7;
    const auto x = randomValues<int8_t>(batch * depth, random);
    const auto w = randomValues<int8_t>(units * depth, random);
    std::vector<int8_t> want;
    const double factor = static_cast<double>(0.1F) * static_cast<double>(0.02F) / static_cast<double>(0.7F);
    for (int64_t b = 0; b < batch; ++b)
        for (int64_t o = 0; o < units; ++o) {
            int32_t sum = 11;
            for (int64_t d = 0; d < depth; ++d)
                sum += (x[static_cast<size_t>(b * depth + d)] + 4) * (w[static_cast<size_t>(o * depth + d)] - 2);
            want.push_back(static_cast<int8_t>(std::clamp(std::round(sum * factor) + 1.0, -128.0, 127.0)));
        }
    const TestTensor input = tensorOf<int8_t>({batch, depth}, x).quantized(0.1F, -4);
    const TestTensor filter = tensorOf<int8_t>({units, depth}, w).quantized(0.02F, 2);
    const TestTensor bias = tensorOf<int32_t>({units}, std::vector<int32_t>(units, 11));
    RunOptions options;
    options.results = {declared(DType::i8, 0.7F, 1)};
    EXPECT_EQ(valuesOf<int8_t>("fully_connected", {&input, &filter, &bias}, options), want)
        << messageOf("fully_connected", {&input, &filter, &bias}, options);
}

TEST(InnerLoops, FastOnesGiveTheBitsOfThePlainOnes)
{
    std::mt19937 random(7);
    const int64_t depth = 37;
    const int64_t rows = 21;
    const auto input = randomValues<float>(4 * depth, random);
    const auto weights = randomValues<float>(rows * depth, random);
    std::vector<float> panels(static_cast<size_t>(panelFloats(rows, depth)));
    packPanels(weights.data(), rows, depth, depth, 1, panels.data());
    const std::vector<ProductRun> runs = {{0, 0, 20}, {20, 20, 17}};
    for (int count = 1; count <= kTilePositions; ++count) {
        std::vector<float> fast(4 * rows, -1.0F);
        std::vector<float> plain(4 * rows, -1.0F);
        for (std::vector<float>* sums : {&fast, &plain}) {
            FloatTile tile = {};
            tile.input = input.data();
            tile.count = count;
            for (int p = 0; p < count; ++p) {
                tile.positions[p] = p * depth;
                tile.sums[p] = sums->data() + p * rows;
            }
            if (sums == &fast) {
                multiplyTile(tile, runs, panels.data(), rows, depth);
            } else {
                baseline::multiplyTile(tile, runs, panels.data(), rows, depth);
            }
        }
        EXPECT_EQ(fast, plain) << count;
    }
    const auto numbers = randomValues<int16_t>(48, random);
    const auto matrix = randomValues<int16_t>(8 * 48, random);
    std::vector<int32_t> fast(8);
    std::vector<int32_t> plain(8);
    dotRows(numbers.data(), matrix.data(), 8, 48, 48, fast.data(), false);
    baseline::dotRows(numbers.data(), matrix.data(), 8, 48, 48, plain.data());
    EXPECT_EQ(fast, plain);
    dotRows2(numbers.data(), numbers.data(), matrix.data(), 8, 48, 48, fast.data(), plain.data());
    EXPECT_EQ(fast, plain);
}

} // namespace
