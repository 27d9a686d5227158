// Values that a device computes: they come to the host when somebody looks, once, and kernels of the host never meet stale ones.
#include "converters/lsir/lsir.h"
#include "engine/exec/interpreter.h"
#include "engine/exec/machine_state.h"
#include "engine/kernels/registry.h"
#include "tests/unit/exec/random_model.h"

#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace loopscope::testing {
namespace {

/// Memory that only its own kernels read. What they compute lies there; the host's place of it holds rubbish until it is read back.
class FakeDevice final : public DeviceMemory {
public:
    std::map<const std::byte*, std::vector<std::byte>> held; ///< by place on the host
    int reads = 0;
    bool isLost = false;

protected:
    Status readBack(std::byte* place, size_t bytes) override
    {
        if (isLost) return Error(ErrorCode::device, "the device was lost");
        ++reads;
        std::memcpy(place, held.at(place).data(), bytes);
        return {};
    }
};

FakeDevice* present = nullptr; ///< of the test that runs: kernels are plain functions

/// The reference kernel on what the device holds.
Status runThere(const KernelArgs& args)
{
    std::vector<Tensor> operands(static_cast<size_t>(args.inputCount)), results(static_cast<size_t>(args.outputCount));
    std::vector<const Tensor*> in(operands.size(), nullptr);
    std::vector<Tensor*> out;
    std::vector<std::vector<std::byte>> blocks;
    for (size_t i = 0; i < operands.size(); ++i) {
        if (!args.has(static_cast<int>(i))) continue;
        operands[i] = args.in(static_cast<int>(i));
        in[i] = &operands[i];
        if (present->placementOf(operands[i]) != Placement::host) operands[i].data = present->held.at(operands[i].data).data();
    }
    for (size_t k = 0; k < results.size(); ++k) {
        results[k] = args.out(static_cast<int>(k));
        results[k].data = blocks.emplace_back(results[k].bytes + 1).data();
        out.push_back(&results[k]);
    }
    const auto& kernel = args.paramsAs<PreparedKernel>();
    LS_CHECK_OK(kernel.run({in.data(), out.data(), kernel.params.get(), args.runtime, args.inputCount, args.outputCount}));
    for (size_t k = 0; k < results.size(); ++k) {
        const Tensor& home = args.out(static_cast<int>(k));
        std::memset(home.data, 0xEE, home.bytes);
        present->held[home.data] = std::move(blocks[k]);
        present->computed(home);
    }
    return {};
}

Result<PreparedKernel> prepareThere(const KernelSetup& setup)
{
    LS_TRY(PreparedKernel kernel, KernelRegistry::builtin().find(setup.op.kind, Profile::reference)->prepare(setup));
    return PreparedKernel{runThere, std::make_shared<const PreparedKernel>(std::move(kernel))};
}

/// The kernels of the host that are built in, and those operators on the device.
KernelRegistry registryWith(std::initializer_list<std::string_view> names)
{
    KernelRegistry registry;
    for (const KernelEntry& entry : KernelRegistry::builtin().entries())
        if (entry.profile != Profile::vulkan) registry.add(entry);
    for (const std::string_view name : names) registry.add({"tfl", name, Profile::vulkan, prepareThere, "i32"});
    return registry;
}

class DeviceMemoryTest : public ::testing::Test {
protected:
    DeviceMemoryTest()
    {
        present = &device;
        options.profile = Profile::vulkan;
        options.device = &device;
        options.kernels = &registry;
    }
    std::unique_ptr<Interpreter> interpreterOf(const Model& model)
    {
        Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, GraphId(0), options);
        EXPECT_TRUE(made.ok());
        return std::move(made).value();
    }

    FakeDevice device;
    KernelRegistry registry = registryWith({"add", "mul"});
    ExecutionOptions options;
};

/// a = x + x and b = a + x on the device, c = b - x on the host.
Model chain()
{
    Model model;
    GraphBuilder main = addGraph(model, "main");
    const ValueId x = main.input(DType::i32, Shape({2}));
    const ValueId a = main.one("add", {x, x}, DType::i32);
    const ValueId b = main.one("add", {a, x}, DType::i32);
    main.returns({main.one("sub", {b, x}, DType::i32)});
    return model;
}

TEST_F(DeviceMemoryTest, aKernelOfTheHostReadsBackWhatItTakesAndNothingElse)
{
    const Model model = chain();
    const auto interpreter = interpreterOf(model);
    std::vector<int32_t> x = {3, 4};
    ASSERT_TRUE(interpreter->setInput(0, tensorOver(x, Shape({2}))).ok() && interpreter->start().ok() && interpreter->run().ok());
    EXPECT_EQ(elements<int32_t>(interpreter->output(0)), (std::vector<int32_t>{6, 8}));
    EXPECT_EQ(device.reads, 1) << "b; nobody looked at a";
    EXPECT_EQ(interpreter->kernelReport().asWanted(), 2U);
}

TEST_F(DeviceMemoryTest, whoeverLooksReadsBackOnce)
{
    const Model model = chain();
    const auto interpreter = interpreterOf(model);
    std::vector<int32_t> x = {3, 4};
    ASSERT_TRUE(interpreter->setInput(0, tensorOver(x, Shape({2}))).ok() && interpreter->start().ok() && interpreter->step().ok());
    EXPECT_EQ(device.reads, 0) << "a stays where it was computed";
    const ValueId a = model.graph(GraphId(0)).operators[0].results[0];
    for (int look = 0; look < 3; ++look) EXPECT_EQ(elements<int32_t>(*interpreter->value(-1, a)), (std::vector<int32_t>{6, 8})) << look;
    EXPECT_EQ(device.reads, 1);
    EXPECT_EQ(device.placementOf(*interpreter->value(-1, a)), Placement::both);
    const MachineState state = interpreter->snapshot();
    EXPECT_EQ(device.reads, 1) << "the host has it already";
    ASSERT_TRUE(interpreter->step().ok());
    EXPECT_EQ(device.reads, 1);
    ASSERT_TRUE(interpreter->restore(state).ok() && interpreter->run().ok());
    EXPECT_EQ(elements<int32_t>(interpreter->output(0)), (std::vector<int32_t>{6, 8}));
}

class ResultListener final : public ExecutionObserver {
public:
    void operatorExecuted(const OperatorEvent& event) override { seen.push_back(elements<int32_t>(*event.results[0])); }
    std::vector<std::vector<int32_t>> seen;
};

TEST_F(DeviceMemoryTest, observersAreShownWhatTheDeviceComputed)
{
    const Model model = chain();
    const auto interpreter = interpreterOf(model);
    ResultListener listener;
    interpreter->setObserver(&listener);
    std::vector<int32_t> x = {3, 4};
    ASSERT_TRUE(interpreter->setInput(0, tensorOver(x, Shape({2}))).ok() && interpreter->start().ok() && interpreter->run().ok());
    EXPECT_EQ(listener.seen, (std::vector<std::vector<int32_t>>{{6, 8}, {9, 12}, {6, 8}}));
    EXPECT_EQ(device.reads, 2) << "a and b, each once";
}

TEST_F(DeviceMemoryTest, aLostDeviceEndsTheRun)
{
    const Model model = chain();
    const auto interpreter = interpreterOf(model);
    std::vector<int32_t> x = {3, 4};
    ASSERT_TRUE(interpreter->setInput(0, tensorOver(x, Shape({2}))).ok() && interpreter->start().ok());
    device.isLost = true;
    Status status = interpreter->run();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(std::move(status).takeError().message(), "main/sub#2: the device was lost");
}

TEST_F(DeviceMemoryTest, loopsOnADeviceGiveWhatTheHostGives)
{
    const Result<Model> model = modelFromText("graph main(n: i32[]) {\n"
                                              "  zero = const i32[] 0\n"
                                              "  i, acc, m = while(zero, zero, n) body=@step cond=@more : (i32[], i32[], i32[])\n"
                                              "  return acc\n"
                                              "}\n"
                                              "graph more(i: i32[], acc: i32[], n: i32[]) {\n"
                                              "  go = less(i, n) : bool[]\n"
                                              "  return go\n"
                                              "}\n"
                                              "graph step(i: i32[], acc: i32[], n: i32[]) {\n"
                                              "  one = const i32[] 1\n"
                                              "  acc2 = add(acc, i) : i32[]\n"
                                              "  i2 = add(i, one) : i32[]\n"
                                              "  return i2, acc2, n\n"
                                              "}\n",
                                              "test");
    ASSERT_TRUE(model.ok());
    const auto interpreter = interpreterOf(*model);
    std::vector<int32_t> n = {10};
    ASSERT_TRUE(interpreter->setInput(0, tensorOver(n, Shape{})).ok() && interpreter->start().ok() && interpreter->run().ok());
    EXPECT_EQ(elements<int32_t>(interpreter->output(0)), (std::vector<int32_t>{45}));
}

TEST_F(DeviceMemoryTest, randomModelsGiveWhatTheHostGives)
{
    for (uint32_t seed = 1; seed <= 60; ++seed) {
        RandomModel random(seed);
        const std::vector<Plain> inputs = random.inputs();
        const auto outputsOf = [&](const ExecutionOptions& with) {
            Result<std::unique_ptr<Interpreter>> made = Interpreter::create(random.model(), GraphId(0), with);
            EXPECT_TRUE(made.ok());
            for (size_t i = 0; i < inputs.size(); ++i) {
                std::vector<int32_t> data = inputs[i].data;
                EXPECT_TRUE((*made)->setInput(static_cast<int>(i), tensorOver(data, inputs[i].shape)).ok());
            }
            EXPECT_TRUE((*made)->start().ok() && (*made)->run().ok());
            std::vector<std::vector<int32_t>> outputs;
            for (size_t k = 0; k < random.model().graph(GraphId(0)).outputs.size(); ++k)
                outputs.push_back(elements<int32_t>((*made)->output(static_cast<int>(k))));
            return outputs;
        };
        EXPECT_EQ(outputsOf(options), outputsOf({})) << "seed " << seed;
    }
}

} // namespace
} // namespace loopscope::testing
