// Which kernel an operator gets in a profile, what is told of it, and that the kernels of `fast` keep the bound that they state.
#include "engine/kernels/quantized_later.h"
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

/// What a kernel may get wrong in the last place moves a number to another step where it is quantized.
TEST(KernelSelection, floatsThatAreQuantizedLaterGoToKernelsThatKeepTheirBits)
{
    KernelRegistry registry;
    for (const char* kind : {"exp", "neg", "conv_2d"}) registry.add({"tfl", kind, Profile::reference, prepareAny, "f32 i8"});
    registry.add({"tfl", "exp", Profile::fast, prepareF32, "f32", withinUlp(3)});
    registry.add({"tfl", "neg", Profile::fast, prepareF32, "f32", kExact});
    registry.add({"tfl", "conv_2d", Profile::fast, prepareF32, "f32", withinUlp(3), true});
    Tensor tensor;
    tensor.dtype = DType::f32;
    const Tensor* const tensors[] = {&tensor};
    for (const auto& [kind, used] : {std::pair("exp", Profile::reference), {"neg", Profile::fast}, {"conv_2d", Profile::fast}}) {
        Operator op;
        op.kind = {"tfl", kind};
        KernelSetup setup{op, tensors, tensors};
        setup.isQuantizedLater = true;
        const Result<ChosenKernel> kernel = chooseKernel(registry, setup, Profile::fast);
        ASSERT_TRUE(kernel.ok()) << kind;
        EXPECT_EQ(kernel->used, used) << kind;
        EXPECT_EQ(kernel->reason, used == Profile::fast ? "" : "its floats are quantized further on") << kind;
    }
}

/// x → exp → while (its body: tanh → fully_connected with weights of i8 → logistic) → exp
TEST(QuantizedLater, followsFloatsBackThroughOperatorsAndLoops)
{
    Model model;
    const auto add = [](Graph& graph, const char* kind, std::vector<ValueId> inputs, AttributeList attributes = {}) {
        Operator op;
        op.kind = {"tfl", kind};
        op.inputs = std::move(inputs);
        op.attributes = std::move(attributes);
        op.results = {ValueId(static_cast<int64_t>(graph.values.size()))};
        graph.values.emplace_back().type.dtype = DType::f32;
        graph.operators.push_back(op);
        return op.results.front();
    };
    model.graphs.resize(3);
    for (Graph& graph : model.graphs) {
        graph.inputs = {ValueId(0)};
        graph.values.emplace_back().type.dtype = DType::f32;
    }
    Graph &main = model.graphs[0], &body = model.graphs[2];
    const AttributeList callees = {{"body", GraphRef{GraphId(2), nullptr}}, {"cond", GraphRef{GraphId(1), nullptr}}};
    main.outputs = {{"", add(main, "exp", {add(main, "while", {add(main, "exp", {ValueId(0)})}, callees)})}};
    const ValueId weights(static_cast<int64_t>(body.values.size()));
    body.values.emplace_back().type.dtype = DType::i8;
    body.values.back().type.quantization = std::make_shared<const Quantization>(Quantization::perTensor(0.1F, 0));
    body.outputs = {{"", add(body, "logistic", {add(body, "fully_connected", {add(body, "tanh", {ValueId(0)}), weights})})}};
    const QuantizedLater later(model);
    const auto held = [&](int64_t graph) {
        std::vector<bool> all;
        for (size_t o = 0; o < model.graphs[static_cast<size_t>(graph)].operators.size(); ++o)
            all.push_back(later.holds(GraphId(graph), OperatorId(static_cast<int64_t>(o))));
        return all;
    };
    EXPECT_THAT(held(0), ::testing::ElementsAre(true, false, false));
    EXPECT_THAT(held(2), ::testing::ElementsAre(true, true, true)); // the next iteration quantizes what logistic gives
    body.value(weights).type.quantization = nullptr;                // no weights of steps
    EXPECT_FALSE(QuantizedLater(model).holds(GraphId(0), OperatorId(0)));
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
