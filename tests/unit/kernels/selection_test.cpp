// Which kernel an operator gets in a profile, what is told of it, and that the kernels of `fast` keep the bound that they state.
#include "engine/kernels/selection.h"
#include "tests/unit/kernels/kernel_harness.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>

namespace loopscope::testing {
namespace {

Status doNothing(const KernelArgs&) { return {}; }
Status doNothingFast(const KernelArgs&) { return {}; }

Result<PreparedKernel> prepareAny(const KernelSetup&) { return PreparedKernel{doNothing, nullptr}; }
Result<PreparedKernel> prepareF32(const KernelSetup& setup)
{
    if (setup.in(0).dtype != DType::f32) return Error(ErrorCode::unsupported, "f32 only").found(std::string(dtypeName(setup.in(0).dtype)));
    return PreparedKernel{doNothingFast, nullptr};
}
Result<PreparedKernel> prepareBroken(const KernelSetup&) { return Error(ErrorCode::badFile, "the filter has no columns"); }

KernelRegistry registryOfThree()
{
    KernelRegistry registry;
    registry.add({"tfl", "neg", Profile::reference, prepareAny, "f32 i8"});
    registry.add({"tfl", "neg", Profile::fast, prepareF32, "f32"});
    registry.add({"tfl", "abs", Profile::reference, prepareAny, "f32"});
    registry.add({"tfl", "floor", Profile::reference, prepareAny, "f32"});
    registry.add({"tfl", "floor", Profile::fast, prepareBroken, "f32"});
    return registry;
}

Result<ChosenKernel> chosen(const char* kind, DType dtype, Profile wanted)
{
    Operator op;
    op.kind = {"tfl", kind};
    Tensor tensor;
    tensor.dtype = dtype;
    const Tensor* const tensors[] = {&tensor};
    return chooseKernel(registryOfThree(), KernelSetup{op, tensors, tensors}, wanted);
}

TEST(KernelSelection, takesTheWantedProfile)
{
    const Result<ChosenKernel> kernel = chosen("neg", DType::f32, Profile::fast);
    ASSERT_TRUE(kernel.ok());
    EXPECT_EQ(kernel->used, Profile::fast);
    EXPECT_EQ(kernel->kernel.run, doNothingFast);
    EXPECT_EQ(kernel->reason, "");
}

TEST(KernelSelection, anUnsupportedDtypeTriesTheReference)
{
    const Result<ChosenKernel> kernel = chosen("neg", DType::i8, Profile::fast);
    ASSERT_TRUE(kernel.ok());
    EXPECT_EQ(kernel->used, Profile::reference);
    EXPECT_EQ(kernel->kernel.run, doNothing);
    EXPECT_EQ(kernel->reason, "f32 only, found i8");
}

TEST(KernelSelection, aKindWithoutAKernelTriesTheReference)
{
    const Result<ChosenKernel> kernel = chosen("abs", DType::f32, Profile::fast);
    ASSERT_TRUE(kernel.ok());
    EXPECT_EQ(kernel->reason, "no fast kernel");
    EXPECT_FALSE(chosen("exp", DType::f32, Profile::fast).ok());
}

TEST(KernelSelection, otherErrorsAreNoReasonToFallBack)
{
    const Result<ChosenKernel> kernel = chosen("floor", DType::f32, Profile::fast);
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().code(), ErrorCode::badFile);
}

TEST(KernelReport, countsEachOperatorOnceAndGroupsWhatItSays)
{
    Model model;
    model.graphs.resize(1);
    for (const char* kind : {"neg", "abs", "abs", "neg"}) {
        Operator op;
        op.kind = {"tfl", kind};
        model.graphs[0].operators.push_back(op);
    }
    KernelReport report;
    const ChosenKernel fast{{}, Profile::fast, ""}, none{{}, Profile::reference, "no fast kernel"},
        dtype{{}, Profile::reference, "f32 only"};
    const auto note = [&](int op, const ChosenKernel& kernel) { report.note(GraphId(0), OperatorId(op), Profile::fast, kernel); };
    note(0, fast);
    note(1, none);
    note(2, none);
    note(2, none);
    note(3, fast);
    note(3, dtype); // in another run its operands are of another dtype
    EXPECT_EQ(report.asWanted(), 1U);
    ASSERT_EQ(report.fallbacks().size(), 3U);
    EXPECT_EQ(report.fallbacks()[2], (KernelFallback{GraphId(0), OperatorId(3), Profile::fast, Profile::reference, "f32 only"}));
    EXPECT_EQ(fallbackText(model, report, Profile::fast),
              "profile 'fast': 1 operator; with reference kernels 3: abs ×2 (no fast kernel), neg (f32 only)");
    EXPECT_EQ(fallbackText(model, KernelReport(), Profile::reference), "");
}

/// Numbers of all sizes, with what is special among them.
TestTensor randomNumbers(std::mt19937& random, const Shape& shape)
{
    constexpr float kSpecial[] = {0.0F,
                                  -0.0F,
                                  1.0F,
                                  -1.0F,
                                  6.5F,
                                  std::numeric_limits<float>::infinity(),
                                  -std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::max(),
                                  std::numeric_limits<float>::denorm_min()};
    std::vector<float> values;
    for (int64_t i = 0; i < shape.elementCount(); ++i)
        values.push_back(random() % 8 == 0
                             ? kSpecial[random() % std::size(kSpecial)]
                             : std::ldexp(static_cast<float>(random() % 2001) - 1000.0F, static_cast<int>(random() % 60) - 30));
    TestTensor tensor;
    tensor.dtype = DType::f32;
    tensor.shape = shape;
    tensor.data.resize(values.size() * sizeof(float));
    if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
    return tensor;
}

TEST(FastKernels, ofArithmeticGiveTheBitsOfTheReference)
{
    std::mt19937 random(7);
    int compared = 0;
    const auto compare = [&](const char* kind, const char* activation, const TestTensor& a, const TestTensor& b) {
        RunOptions options;
        options.attributes = {{"fused_activation_function", Word{activation}}};
        const auto reference = runOperator(kind, {&a, &b}, options);
        options.profile = Profile::fast;
        const auto fast = runOperator(kind, {&a, &b}, options);
        ASSERT_TRUE(reference.ok() && fast.ok()) << kind << " " << toString(a.shape) << " " << toString(b.shape);
        ASSERT_EQ(reference->front().data, fast->front().data)
            << kind << " " << activation << " " << toString(a.shape) << " " << toString(b.shape);
        ++compared;
    };
    for (const char* kind : {"add", "sub", "mul", "div", "maximum", "minimum", "squared_difference"})
        for (const char* activation : {"NONE", "RELU", "RELU6", "RELU_N1_TO_1"})
            for (const Shape& shape : {Shape(), Shape({0}), Shape({3}), Shape({2, 3, 5}), Shape({33, 1031})}) {
                const TestTensor whole = randomNumbers(random, shape), other = randomNumbers(random, shape),
                                 one = randomNumbers(random, Shape({1}));
                for (const auto& [a, b] : {std::pair(&whole, &other), {&whole, &one}, {&one, &whole}}) compare(kind, activation, *a, *b);
            }
    // Every way to broadcast: rows that come again, in one operand or the other, columns, both.
    const std::pair<Shape, Shape> broadcasts[] = {{Shape({40, 50, 17}), Shape({17})},         {Shape({17}), Shape({40, 50, 17})},
                                                  {Shape({2, 50, 17}), Shape({1, 50, 17})},   {Shape({3, 4, 700}), Shape({4, 700})},
                                                  {Shape({30, 40, 5}), Shape({30, 40, 1})},   {Shape({30, 1, 5}), Shape({1, 40, 1})},
                                                  {Shape({2, 3, 4, 5}), Shape({2, 1, 4, 1})}, {Shape({1, 1, 3}), Shape({2, 2, 1})}};
    for (const char* kind : {"add", "sub", "mul", "div", "maximum", "minimum", "squared_difference"})
        for (const auto& [a, b] : broadcasts) compare(kind, "RELU6", randomNumbers(random, a), randomNumbers(random, b));
    for (const Shape& alpha : {Shape({1, 1, 17}), Shape({9, 8, 17}), Shape({1, 1, 1})})
        compare("prelu", "NONE", randomNumbers(random, Shape({3, 9, 8, 17})), randomNumbers(random, alpha));
    EXPECT_EQ(compared, 7 * 4 * 5 * 3 + 7 * 8 + 3);
}

TEST(FastKernels, sayWhatTheyDoNotDo)
{
    std::mt19937 random(7);
    TestTensor table = randomNumbers(random, Shape({2, 3}));
    table.dtype = DType::i32;
    RunOptions options;
    options.profile = Profile::fast;
    EXPECT_EQ(messageOf("add", {&table, &table}, options), "f32 only, found i32");
}

TEST(FastKernels, stateABoundAndHaveAReference)
{
    int count = 0;
    for (const KernelEntry& entry : KernelRegistry::builtin().entries()) {
        if (entry.profile != Profile::fast) continue;
        EXPECT_TRUE(KernelRegistry::builtin().has({std::string(entry.dialect), std::string(entry.name)})) << entry.name;
        EXPECT_TRUE(entry.bounds.isStated) << entry.name;
        ++count;
    }
    EXPECT_GE(count, 3);
}

} // namespace
} // namespace loopscope::testing
