// LSTM cells on the device beside the reference kernels': random forms of them, whose states go on from one call to the next.
#include "engine/device/vulkan_memory.h"
#include "engine/kernels/registry.h"
#include "engine/tensor/device_host.h"
#include "tests/unit/kernels/kernel_harness.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace loopscope {
namespace {

class CellRuntime final : public TestRuntime, public DeviceHost {
public:
    explicit CellRuntime(std::shared_ptr<VulkanDevice> device) : m_memory(std::move(device)) {}
    DeviceMemory* deviceMemory() override { return &m_memory; }
    VulkanMemory& memory() { return m_memory; }

private:
    VulkanMemory m_memory;
};

/// An operator with one cell or two, by a seed.
struct RandomLstm {
    explicit RandomLstm(uint64_t seed) : random(seed)
    {
        const char* const names[] = {"lstm", "unidirectional_sequence_lstm", "bidirectional_sequence_lstm"};
        const uint64_t kind = seed % 3;
        op.kind = {"tfl", names[kind]};
        const int64_t batches = upTo(3), times = kind == 0 ? 1 : upTo(4);
        const bool isTimeMajor = upTo(2) == 1, merges = upTo(2) == 1, isStateless = kind == 1 && upTo(3) == 1;
        inputs = upTo(9);
        const char* const acts[] = {"TANH", "RELU", "RELU6", "RELU_N1_TO_1", "SIGMOID", "NONE"};
        setAttribute(op.attributes, "act", Word{upTo(2) == 1 ? acts[0] : acts[upTo(6) - 1]});
        if (kind > 0) setAttribute(op.attributes, "time_major", isTimeMajor);
        if (kind == 2) setAttribute(op.attributes, "merge_outputs", merges);
        if (isStateless) setAttribute(op.attributes, "@stateless", true);
        if (upTo(2) == 1) setAttribute(op.attributes, "cell_clip", 0.5);
        if (upTo(2) == 1) setAttribute(op.attributes, "proj_clip", 0.25);
        Shape input = kind == 0     ? Shape({batches, inputs})
                      : isTimeMajor ? Shape({times, batches, inputs})
                                    : Shape({batches, times, inputs});
        operands.resize(kind == 2 ? 48 : 20);
        operands[0] = tensor(input);
        const int64_t first = addCell(1, kind == 2 ? 35 : 18, batches), second = kind == 2 ? addCell(18, 37, batches) : 0;
        input[input.rank() - 1] = first + (merges && kind == 2 ? second : 0);
        results.push_back(tensor(input));
        input[input.rank() - 1] = second;
        if (kind == 2 && !merges) results.push_back(tensor(input));
        states = kind == 2 ? std::vector<size_t>{35, 36, 37, 38} : std::vector<size_t>{18, 19};
    }

    int64_t upTo(int64_t n) { return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(n)); }
    TestTensor tensor(const Shape& shape)
    {
        std::vector<float> values(static_cast<size_t>(shape.elementCount()));
        std::normal_distribution<float> normal(0, 0.7F);
        for (float& value : values) value = normal(random);
        return tensorOf(shape, values);
    }
    /// The numbers that come out of it.
    int64_t addCell(size_t at, size_t state, int64_t batches)
    {
        const int64_t cells = upTo(7);
        const bool isCoupled = upTo(3) == 1, hasPeepholes = upTo(2) == 1, isProjected = upTo(2) == 1;
        const int64_t outputs = isProjected ? upTo(cells) : cells;
        for (size_t g = isCoupled ? 1 : 0; g < 4; ++g) {
            operands[at + g] = tensor(Shape({cells, inputs}));
            operands[at + 4 + g] = tensor(Shape({cells, outputs}));
            operands[at + 11 + g] = tensor(Shape({cells}));
        }
        for (size_t p = isCoupled ? 1 : 0; p < 3 && hasPeepholes; ++p) operands[at + 8 + p] = tensor(Shape({cells}));
        if (isProjected) operands[at + 15] = tensor(Shape({outputs, cells}));
        if (isProjected && upTo(2) == 1) operands[at + 16] = tensor(Shape({outputs}));
        operands[state] = tensor(Shape({batches, outputs}));
        operands[state + 1] = tensor(Shape({batches, cells}));
        return outputs;
    }

    std::mt19937_64 random;
    Operator op;
    int64_t inputs = 1;
    std::vector<TestTensor> operands; ///< of unknown dtype: missing
    std::vector<TestTensor> results;
    std::vector<size_t> states;
};

/// Calls it twice; what comes out of both calls, and the states behind them. Errors: the kernel's.
Result<std::vector<float>> twice(RandomLstm lstm, Profile profile, CellRuntime& runtime)
{
    std::vector<Tensor> views, known;
    std::vector<const Tensor*> in, prepared, outConst;
    std::vector<Tensor*> out;
    const auto view = [](TestTensor& t) { return Tensor{t.data.data(), t.data.size(), t.dtype, t.shape, nullptr}; };
    for (TestTensor& operand : lstm.operands) views.push_back(view(operand));
    known = views;
    known[0].data = nullptr;
    for (const size_t state : lstm.states) known[state].data = nullptr;
    for (size_t i = 0; i < views.size(); ++i) {
        const bool isThere = views[i].dtype != DType::unknown;
        in.push_back(isThere ? &views[i] : nullptr);
        prepared.push_back(isThere ? &known[i] : nullptr);
    }
    std::vector<Tensor> results;
    for (TestTensor& result : lstm.results) results.push_back(view(result));
    for (Tensor& result : results) out.push_back(&result);
    outConst.assign(out.begin(), out.end());
    LS_TRY(const PreparedKernel kernel,
           KernelRegistry::builtin().find(lstm.op.kind, profile)->prepare(KernelSetup{lstm.op, prepared, outConst, true}));
    std::vector<float> all;
    const auto take = [&](const Tensor& tensor) {
        runtime.memory().hostBytes(tensor);
        all.insert(all.end(), tensor.as<float>(), tensor.as<float>() + tensor.elementCount());
    };
    for (int call = 0; call < 2; ++call) {
        LS_CHECK_OK(
            kernel.run({in.data(), out.data(), kernel.params.get(), &runtime, static_cast<int>(in.size()), static_cast<int>(out.size())}));
        for (const Tensor& result : results) take(result);
    }
    for (const size_t state : lstm.states) take(views[state]);
    LS_CHECK_OK(runtime.memory().check());
    return all;
}

TEST(VulkanLstm, movesStatesAsTheReferenceKernelDoes)
{
    const Result<std::shared_ptr<VulkanDevice>> device = VulkanDevice::opened();
    if (!device.ok()) GTEST_SKIP() << device.error().message();
    for (uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        CellRuntime onHost(*device), onDevice(*device);
        const Result<std::vector<float>> expected = twice(RandomLstm(seed), Profile::reference, onHost),
                                         found = twice(RandomLstm(seed), Profile::vulkan, onDevice);
        ASSERT_TRUE(expected.ok()) << expected.error().message();
        ASSERT_TRUE(found.ok()) << found.error().message();
        ASSERT_EQ(expected->size(), found->size());
        float largest = 0;
        for (const float value : *expected) largest = std::max(largest, std::abs(value));
        for (size_t i = 0; i < found->size(); ++i) ASSERT_NEAR((*expected)[i], (*found)[i], 2e-5F * largest) << i;
    }
}

} // namespace
} // namespace loopscope
