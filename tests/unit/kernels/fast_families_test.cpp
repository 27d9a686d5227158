// Pooling, reductions, resizing, movement, transposed convolution, wide and hybrid products and LSTM cells of the profile `fast`, against
// the reference kernels.
#include "tests/unit/kernels/fast_harness.h"

namespace loopscope::testing {
namespace {

constexpr DType kDtypes[] = {DType::f32, DType::i8, DType::u8};

TEST(FastFamilies, poolWhatTheReferencePools)
{
    std::mt19937 random(11);
    for (const DType dtype : kDtypes)
        for (const int64_t channels : {1, 3, 8, 32, 45})
            for (const auto& [filter, stride, padding] :
                 {std::tuple(int64_t{2}, int64_t{2}, "VALID"), {3, 2, "SAME"}, {7, 1, "VALID"}, {3, 1, "SAME"}})
                for (const char* kind : {"max_pool_2d", "average_pool_2d"}) {
                    TestTensor input = randomTensor(random, dtype, Shape({2, 9, 7, channels}));
                    input.quantization = scaleOf(dtype, 0.05F);
                    RunOptions options;
                    options.attributes = {{"filter_height", filter}, {"filter_width", filter},   {"stride_h", stride},
                                          {"stride_w", stride},      {"padding", Word{padding}}, {"act", Word{"RELU6"}}};
                    options.results = {DeclaredResult{dtype, scaleOf(dtype, 0.05F)}};
                    EXPECT_EQ(difference(kind, {&input}, options), "") << kind << channels << filter << dtypeName(dtype);
                }
}

TEST(FastFamilies, reduceWhatTheReferenceReduces)
{
    std::mt19937 random(12);
    const std::vector<std::vector<int32_t>> allAxes = {{0}, {3}, {1, 2}, {2, 3}, {0, 1, 2, 3}, {-1}, {1, 3}, {0, 2}};
    for (const DType dtype : kDtypes)
        for (const auto& axes : allAxes)
            for (const char* kind : {"sum", "mean", "reduce_max", "reduce_min"})
                for (const Shape& shape : {Shape({3, 5, 4, 70}), Shape({1, 7, 7, 300}), Shape({2, 3, 90, 1})}) {
                    TestTensor input = randomTensor(random, dtype, shape);
                    const TestTensor axis = tensorOf<int32_t>(Shape({static_cast<int64_t>(axes.size())}), axes);
                    input.quantization = scaleOf(dtype, 0.05F);
                    const bool isSum = std::string(kind) == "sum" || std::string(kind) == "mean";
                    RunOptions options;
                    options.attributes = {{"keep_dims", false}};
                    options.results = {DeclaredResult{dtype, scaleOf(dtype, isSum ? 0.3F : 0.05F)}};
                    EXPECT_EQ(difference(kind, {&input, &axis}, options), "")
                        << kind << axes.size() << axes[0] << dtypeName(dtype) << toString(shape);
                }
}

TEST(FastFamilies, keepANanThatBeginsAReductionOfEverything)
{
    const TestTensor input = tensorOf<float>(Shape({3}), {NAN, 1, 2}), later = tensorOf<float>(Shape({3}), {1, NAN, 2});
    const TestTensor axis = tensorOf<int32_t>(Shape({1}), {0});
    for (const char* kind : {"reduce_max", "reduce_min"})
        for (const TestTensor* const operand : {&input, &later}) EXPECT_EQ(difference(kind, {operand, &axis}, {}), "") << kind;
}

TEST(FastFamilies, resizeAsTheReferenceResizes)
{
    std::mt19937 random(13);
    for (const DType dtype : kDtypes)
        for (const char* kind : {"resize_bilinear", "resize_nearest_neighbor"})
            for (const int64_t channels : {1, 3, 17})
                for (const int side : {3, 10, 37})
                    for (const auto& [aligned, half] : {std::pair(false, false), {true, false}, {false, true}}) {
                        TestTensor input = randomTensor(random, dtype, Shape({2, 7, 9, channels}));
                        input.quantization = scaleOf(dtype, 0.05F);
                        const TestTensor size = tensorOf<int32_t>(Shape({2}), {side, side + 2});
                        RunOptions options;
                        options.attributes = {{"align_corners", aligned}, {"half_pixel_centers", half}};
                        options.results = {DeclaredResult{dtype, scaleOf(dtype, 0.05F)}};
                        EXPECT_EQ(difference(kind, {&input, &size}, options), "") << kind << channels << side << dtypeName(dtype);
                    }
}

TEST(FastFamilies, moveWhatTheReferenceMoves)
{
    std::mt19937 random(14);
    for (const DType dtype : {DType::f32, DType::i8, DType::i32}) {
        const TestTensor input = randomTensor(random, dtype, Shape({3, 20, 1, 33}));
        for (const auto& order : {std::vector<int32_t>{0, 3, 1, 2}, {3, 2, 1, 0}, {1, 0, 2, 3}, {0, 1, 2, 3}, {1, 2, 3, 0}, {3, 0, 1, 2}}) {
            const TestTensor permutation = tensorOf<int32_t>(Shape({4}), order);
            EXPECT_EQ(difference("transpose", {&input, &permutation}, {}), "") << order[0] << order[1];
        }
        for (const int64_t axis : {0, 1, 3}) {
            const TestTensor positions = tensorOf<int32_t>(Shape({2, 2}), {2, 0, 1, 2});
            RunOptions options;
            options.attributes = {{"axis", axis}, {"batch_dims", int64_t{0}}};
            EXPECT_EQ(difference("gather", {&input, &positions}, options), "") << axis;
        }
        const TestTensor positions = tensorOf<int32_t>(Shape({3, 2}), {19, 0, 7, 7, 1, 2});
        RunOptions options;
        options.attributes = {{"axis", int64_t{1}}, {"batch_dims", int64_t{1}}};
        EXPECT_EQ(difference("gather", {&input, &positions}, options), "");
    }
    const TestTensor input = randomTensor(random, DType::f32, Shape({3, 4})), outside = tensorOf<int32_t>(Shape({1}), {3});
    RunOptions options;
    options.profile = Profile::fast;
    options.attributes = {{"axis", int64_t{0}}, {"batch_dims", int64_t{0}}};
    EXPECT_EQ(messageOf("gather", {&input, &outside}, options), "C4: position 0, found 3, expected 0 to 2");
}

TEST(FastFamilies, convolveBackwardsAsTheReferenceDoes)
{
    std::mt19937 random(15);
    for (const DType dtype : kDtypes)
        for (const auto& [filterSide, stride, padding] :
             {std::tuple(3, 2, "SAME"), {2, 2, "VALID"}, {4, 2, "SAME"}, {3, 1, "SAME"}, {1, 3, "SAME"}, {5, 3, "VALID"}})
            for (const int64_t channels : {1, 5, 20})
                for (const bool hasBias : {false, true}) {
                    const int64_t side = 6, outSide = std::string(padding) == "SAME" ? side * stride : (side - 1) * stride + filterSide;
                    TestTensor input = randomTensor(random, dtype, Shape({2, side, side + 1, 3})),
                               filter = randomTensor(random, dtype, Shape({channels, filterSide, filterSide, 3}));
                    const int64_t width = outSide + stride;
                    const TestTensor shape = tensorOf<int32_t>(
                        Shape({4}), {2, static_cast<int32_t>(outSide), static_cast<int32_t>(width), static_cast<int32_t>(channels)});
                    TestTensor bias = randomTensor(random, dtype == DType::f32 ? DType::f32 : DType::i32, Shape({channels}));
                    input.quantization = scaleOf(dtype, 0.02F);
                    filter.quantization = dtype == DType::i8 ? scaleOf(dtype, 0.005F, static_cast<int>(channels)) : scaleOf(dtype, 0.005F);
                    if (dtype == DType::u8)
                        bias.quantization = std::make_shared<const Quantization>(Quantization::perTensor(0.02F * 0.005F, 0));
                    RunOptions options;
                    options.attributes = {
                        {"padding", Word{padding}}, {"stride_h", int64_t{stride}}, {"stride_w", int64_t{stride}}, {"act", Word{"NONE"}}};
                    options.results = {DeclaredResult{dtype, scaleOf(dtype, 0.11F)}};
                    EXPECT_EQ(difference("transpose_conv", {&shape, &filter, &input, hasBias ? &bias : nullptr}, options), "")
                        << filterSide << stride << padding << channels << dtypeName(dtype);
                }
}

/// i16 activations have sums beyond 32 bits, floats with integer weights a scale for each row.
TEST(FastFamilies, multiplyWideAndHybridNumbersAsTheReferenceDoes)
{
    std::mt19937 random(16);
    for (const int64_t depth : {3, 16, 700})
        for (const bool hasBias : {false, true})
            for (const bool hasScales : {false, true}) {
                const int64_t units = 19;
                TestTensor weights = randomTensor(random, DType::i8, Shape({units, depth}));
                std::fill(weights.data.begin(), weights.data.begin() + depth, std::byte{127});
                weights.quantization = hasScales ? scaleOf(DType::i8, 0.005F, units)
                                                 : std::make_shared<const Quantization>(Quantization::perTensor(0.005F, 0));
                std::vector<int16_t> large;
                for (int64_t i = 0; i < 5 * depth; ++i) large.push_back(i % 7 == 0 ? int16_t{32767} : static_cast<int16_t>(random()));
                TestTensor wide = tensorOf<int16_t>(Shape({5, depth}), large);
                wide.quantization = scaleOf(DType::i16, 0.001F);
                const TestTensor wideBias = tensorOf<int64_t>(Shape({units}), std::vector<int64_t>(units, 123456789));
                const TestTensor narrowBias = randomTensor(random, DType::i32, Shape({units}));
                RunOptions options;
                options.attributes = {{"act", Word{"NONE"}}, {"weights_format", Word{"DEFAULT"}}};
                options.results = {DeclaredResult{DType::i16, scaleOf(DType::i16, 0.9F)}};
                EXPECT_EQ(difference("fully_connected", {&wide, &weights, hasBias ? &wideBias : nullptr}, options), "") << depth;
                EXPECT_EQ(difference("fully_connected", {&wide, &weights, &narrowBias}, options), "") << depth;
                const TestTensor floats = randomTensor(random, DType::f32, Shape({5, depth})),
                                 bias = randomTensor(random, DType::f32, Shape({units}));
                options.results = {DeclaredResult{DType::f32, nullptr}};
                options.isQuantizedLater = true; // the same integers, the same multiplications: the same bits
                for (const bool isAsymmetric : {false, true})
                    for (const char* act : {"NONE", "RELU", "RELU6"}) {
                        options.attributes = {
                            {"act", Word{act}}, {"weights_format", Word{"DEFAULT"}}, {"asymmetric_quantize_inputs", isAsymmetric}};
                        EXPECT_EQ(difference("fully_connected", {&floats, &weights, hasBias ? &bias : nullptr}, options), "")
                            << depth << act;
                    }
            }
}

TEST(FastFamilies, convolveWideAndHybridNumbersAsTheReferenceDoes)
{
    std::mt19937 random(17);
    for (const bool isHybrid : {false, true})
        for (const bool hasScales : {false, true})
            for (const int64_t side : {1, 3}) {
                TestTensor filter = randomTensor(random, DType::i8, Shape({18, side, side, 5}));
                filter.quantization =
                    hasScales ? scaleOf(DType::i8, 0.005F, 18) : std::make_shared<const Quantization>(Quantization::perTensor(0.005F, 0));
                const TestTensor floats = randomTensor(random, DType::f32, Shape({2, 6, 7, 5})),
                                 bias = randomTensor(random, DType::f32, Shape({18}));
                std::vector<int16_t> numbers;
                for (int i = 0; i < 2 * 6 * 7 * 5; ++i) numbers.push_back(static_cast<int16_t>(random()));
                TestTensor wide = tensorOf<int16_t>(Shape({2, 6, 7, 5}), numbers);
                wide.quantization = scaleOf(DType::i16, 0.001F);
                const TestTensor wideBias = tensorOf<int64_t>(Shape({18}), std::vector<int64_t>(18, -98765432));
                RunOptions options;
                options.attributes = {{"padding", Word{"SAME"}},  {"stride_h", int64_t{1}},   {"stride_w", int64_t{2}},
                                      {"dilation_h", int64_t{1}}, {"dilation_w", int64_t{1}}, {"act", Word{"RELU"}}};
                options.results = {isHybrid ? DeclaredResult{DType::f32, nullptr} : DeclaredResult{DType::i16, scaleOf(DType::i16, 0.01F)}};
                EXPECT_EQ(difference("conv_2d", {isHybrid ? &floats : &wide, &filter, isHybrid ? &bias : &wideBias}, options), "")
                    << side << hasScales;
                EXPECT_EQ(difference("conv_2d", {isHybrid ? &floats : &wide, &filter, nullptr}, options), "") << side << hasScales;
            }
}

TEST(FastFamilies, remember)
{
    std::mt19937 random(18);
    for (const bool isTimeMajor : {false, true})
        for (const double clip : {0.0, 0.4})
            for (const int64_t cells : {4, 21}) {
                const TestTensor input = randomTensor(random, DType::f32, Shape({6, 2, 5}));
                std::vector<TestTensor> weights;
                for (int i = 0; i < 4; ++i) weights.push_back(randomTensor(random, DType::f32, Shape({cells, 5})));
                for (int i = 0; i < 4; ++i) weights.push_back(randomTensor(random, DType::f32, Shape({cells, cells})));
                for (int i = 0; i < 4; ++i) weights.push_back(randomTensor(random, DType::f32, Shape({cells})));
                for (TestTensor& t : weights)
                    for (size_t i = 0; i < t.data.size() / 4; ++i) reinterpret_cast<float*>(t.data.data())[i] *= 0.2F;
                const int64_t batches = isTimeMajor ? 2 : 6;
                const TestTensor h = randomTensor(random, DType::f32, Shape({batches, cells})),
                                 c = randomTensor(random, DType::f32, Shape({batches, cells}));
                std::vector<const TestTensor*> operands(20, nullptr);
                operands[0] = &input;
                for (size_t g = 0; g < 4; ++g) {
                    operands[1 + g] = &weights[g];
                    operands[5 + g] = &weights[4 + g];
                    operands[12 + g] = &weights[8 + g];
                }
                operands[18] = &h;
                operands[19] = &c;
                RunOptions options; // states as they are: every run begins with the same
                options.attributes = {
                    {"act", Word{"TANH"}}, {"cell_clip", clip}, {"proj_clip", 0.0}, {"time_major", isTimeMajor}, {"@stateless", true}};
                EXPECT_EQ(difference("unidirectional_sequence_lstm", operands, options), "") << isTimeMajor << clip << cells;
            }
}

TEST(FastFamilies, rememberWithTwoGates)
{
    std::mt19937 random(19);
    for (const bool hasBias : {false, true})
        for (const int64_t hidden : {1, 7, 16, 45}) {
            const TestTensor input = randomTensor(random, DType::f32, Shape({6, 3, 5})),
                             state = randomTensor(random, DType::f32, Shape({3, hidden}));
            std::vector<TestTensor> weights;
            for (const Shape& shape : {Shape({3 * hidden, 5}), Shape({3 * hidden}), Shape({3 * hidden, hidden}), Shape({3 * hidden})}) {
                weights.push_back(randomTensor(random, DType::f32, shape));
                for (size_t i = 0; i < weights.back().data.size() / 4; ++i) reinterpret_cast<float*>(weights.back().data.data())[i] *= 0.2F;
            }
            RunOptions options;
            options.dialect = "circle";
            options.attributes = {{"act", Word{"TANH"}}, {"return_sequences", false}, {"time_major", true}};
            const TestTensor *const bias = hasBias ? &weights[1] : nullptr, *const stateBias = hasBias ? &weights[3] : nullptr;
            EXPECT_EQ(difference("gru", {&input, &weights[0], bias, &weights[2], stateBias, &state}, options), "") << hasBias << hidden;
        }
}

} // namespace
} // namespace loopscope::testing
