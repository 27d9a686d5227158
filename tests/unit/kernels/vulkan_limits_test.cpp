// The Vulkan kernels at the largest shapes that their planners accept: Mesa's software device ends the loops of an invocation silently
// after 65,535 iterations, exits of inner loops counted as well, so what a planner lets through must stay below.
#include "engine/device/vulkan_memory.h"
#include "engine/kernels/registry.h"
#include "engine/tensor/device_host.h"
#include "tests/unit/kernels/kernel_harness.h"

#include <cmath>
#include <cstdlib>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <string_view>

namespace loopscope {
namespace {

class LimitRuntime final : public TestRuntime, public DeviceHost {
public:
    explicit LimitRuntime(std::shared_ptr<VulkanDevice> device) : m_memory(std::move(device)) {}
    DeviceMemory* deviceMemory() override { return &m_memory; }
    VulkanMemory& memory() { return m_memory; }

private:
    VulkanMemory m_memory;
};

/// An operator on operands of one size.
struct Sized {
    std::vector<Shape> operands; ///< f32 ones, the first `computed` of them known only when running
    Shape result;
    DType dtype = DType::f32;
    std::vector<int32_t> constant = {}; ///< a last operand of i32, or the first (`leads`)
    bool leads = false;
    bool hasPlaces = false; ///< a second result, i32 and of the same shape
};

struct Case {
    const char* name;
    std::function<Sized(int64_t)> at;
    int64_t most; ///< sizes beyond are not tried
    AttributeList attributes = {};
};

/// Whole numbers, so that sums in any order are equal; the last is the largest, so that extremes see a loop that ends early, too.
std::vector<float> rising(int64_t count)
{
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7 == 3) + (i + 1 == values.size() ? 2.0F : 0.0F);
    return values;
}

/// Runs whose exponentials are ones and zeros: their sum is whole.
std::vector<float> switched(int64_t count)
{
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = i % 7 == 3 || i + 1 == values.size() ? 200.0F : 0.0F;
    return values;
}

class Limits {
public:
    Limits(const Case& one, int64_t size) : m_case(one.at(size)), m_isSoftmax(std::string_view(one.name).ends_with("softmax"))
    {
        m_op.kind = {"tfl", one.name};
        m_op.attributes = one.attributes;
        if (m_case.leads) addConstant();
        for (const Shape& shape : m_case.operands) {
            Tensor tensor;
            tensor.dtype = DType::f32;
            tensor.shape = shape;
            m_tensors.push_back(tensor);
        }
        if (!m_case.leads && !m_case.constant.empty()) addConstant();
    }

    std::vector<Tensor> results() const
    {
        std::vector<Tensor> all(m_case.hasPlaces ? 2 : 1);
        for (Tensor& tensor : all) {
            tensor.dtype = &tensor == all.data() ? m_case.dtype : DType::i32;
            tensor.shape = m_case.result;
        }
        return all;
    }
    Result<PreparedKernel> prepare(Profile profile, std::span<const Tensor> results)
    {
        std::vector<const Tensor*> in, out;
        for (const Tensor& tensor : m_tensors) in.push_back(&tensor);
        for (const Tensor& tensor : results) out.push_back(&tensor);
        return KernelRegistry::builtin().find(m_op.kind, profile)->prepare(KernelSetup{m_op, in, out, true});
    }
    bool isAccepted() { return prepare(Profile::vulkan, results()).ok(); }
    /// Errors: of either kernel.
    Result<std::vector<std::byte>> run(Profile profile, const std::shared_ptr<VulkanDevice>& device)
    {
        std::vector<Tensor> results = this->results();
        LS_TRY(const PreparedKernel kernel, prepare(profile, results));
        std::vector<Tensor> known = m_tensors;
        std::vector<const Tensor*> in;
        std::deque<std::vector<float>> values;
        for (Tensor& tensor : known) {
            in.push_back(&tensor);
            if (tensor.data) continue;
            values.push_back(m_isSoftmax ? switched(tensor.shape.elementCount()) : rising(tensor.shape.elementCount()));
            tensor.data = reinterpret_cast<std::byte*>(values.back().data());
            tensor.bytes = values.back().size() * 4;
        }
        std::vector<std::byte> bytes(results.size() * byteSize(DType::f32, m_case.result.elementCount())); // of f32 and i32 alike
        std::vector<Tensor*> out;
        for (Tensor& result : results) {
            result.bytes = bytes.size() / results.size();
            result.data = bytes.data() + out.size() * result.bytes;
            out.push_back(&result);
        }
        LimitRuntime runtime(device);
        LS_CHECK_OK(
            kernel.run({in.data(), out.data(), kernel.params.get(), &runtime, static_cast<int>(in.size()), static_cast<int>(out.size())}));
        for (const Tensor& result : results) runtime.memory().hostBytes(result);
        LS_CHECK_OK(runtime.memory().check());
        return bytes;
    }

private:
    void addConstant()
    {
        Tensor tensor;
        tensor.dtype = DType::i32;
        tensor.shape = Shape({static_cast<int64_t>(m_case.constant.size())});
        tensor.data = reinterpret_cast<std::byte*>(m_case.constant.data());
        tensor.bytes = m_case.constant.size() * 4;
        m_tensors.push_back(tensor);
    }

    Sized m_case;
    bool m_isSoftmax;
    Operator m_op;
    std::vector<Tensor> m_tensors;
};

/// The largest size that the planner accepts.
int64_t largestOf(const Case& one)
{
    int64_t good = 1, bad = one.most + 1;
    while (bad - good > 1) {
        const int64_t middle = good + (bad - good) / 2;
        (Limits(one, middle).isAccepted() ? good : bad) = middle;
    }
    return good;
}

AttributeList windowed(const char* height, const char* width, int64_t size)
{
    AttributeList attributes;
    for (const char* const name : {"stride_h", "stride_w"}) setAttribute(attributes, name, int64_t{1});
    setAttribute(attributes, "padding", Word{"VALID"});
    setAttribute(attributes, height, size);
    setAttribute(attributes, width, size);
    return attributes;
}

/// A loop over sizes of each shader, and the operators whose loops it is.
std::vector<Case> cases()
{
    const auto along = [](int64_t n) { return Sized{{Shape({2, n})}, Shape({2}), DType::f32, {1}}; };
    const auto apart = [](int64_t n) { return Sized{{Shape({2, 2, n, 2, 2})}, Shape({2, 2}), DType::f32, {0, 2, 4}}; };
    const auto few = [](int64_t n) { return Sized{{Shape({2, 2, n, 2, 2})}, Shape({2, 2}), DType::f32, {0, 2, 4}}; };
    const auto place = [](int64_t n) { return Sized{{Shape({2, n})}, Shape({2}), DType::i32, {1}}; };
    const auto row = [](int64_t n) { return Sized{{Shape({2, n})}, Shape({2, n})}; };
    const auto running = [](int64_t n) { return Sized{{Shape({2, n})}, Shape({2, n}), DType::f32, {1}}; };
    const auto largest = [](int64_t n) { return Sized{{Shape({2, n})}, Shape({2, 3}), DType::f32, {3}, false, true}; };
    const auto ordered = [](int64_t n) {
        return Sized{{Shape({1, n})}, Shape({1, n}), DType::f32, {static_cast<int32_t>(n)}, false, true};
    };
    const auto layer = [](int64_t n) { return Sized{{Shape({9, n}), Shape({9, n})}, Shape({9, 9})}; };
    const auto window = [](int64_t n) { return Sized{{Shape({1, n, 2, 3}), Shape({2, n, 2, 3})}, Shape({1, 1, 1, 2})}; };
    const auto depthwise = [](int64_t n) { return Sized{{Shape({1, n, 2, 3}), Shape({1, n, 2, 3})}, Shape({1, 1, 1, 3})}; };
    const auto transposed = [](int64_t n) {
        return Sized{{Shape({1, n, 2, 1}), Shape({1, 1, 1, 1})}, Shape({1, n, 2, 1}), DType::f32, {1, static_cast<int32_t>(n), 2, 1}, true};
    };
    const AttributeList one = windowed("dilation_h_factor", "dilation_w_factor", 1);
    AttributeList softmax;
    setAttribute(softmax, "beta", 1.0);
    return {{"sum", along, 1 << 24},
            {"reduce_max", along, 1 << 24},
            {"sum", apart, 1 << 22},
            {"sum", few, 60},
            {"arg_max", place, 1 << 20},
            {"arg_min", place, 1 << 20},
            {"softmax", row, 1 << 21, softmax},
            {"log_softmax", row, 1 << 21},
            {"l2_normalization", row, 1 << 21},
            {"cumsum", running, 1 << 20},
            {"topk_v2", largest, 1 << 21},
            {"topk_v2", ordered, 1 << 12},
            {"fully_connected", layer, 1 << 18},
            {"conv_2d", window, 1 << 16, one},
            {"depthwise_conv_2d", depthwise, 1 << 17, one},
            {"transpose_conv", transposed, 1 << 17, one}};
}

TEST(VulkanLimits, resultsAreWholeAtTheLargestShapesThatPlannersAccept)
{
    const Result<std::shared_ptr<VulkanDevice>> device = VulkanDevice::opened();
    if (!device.ok()) GTEST_SKIP() << device.error().message();
    for (const Case& one : cases()) {
        const int64_t size = largestOf(one);
        SCOPED_TRACE(std::string(one.name) + " of " + std::to_string(size));
        Limits limits(one, size);
        const Result<std::vector<std::byte>> expected = limits.run(Profile::reference, *device),
                                             found = limits.run(Profile::vulkan, *device);
        ASSERT_TRUE(expected.ok()) << expected.error().message();
        ASSERT_TRUE(found.ok()) << found.error().message();
        ASSERT_EQ(expected->size(), found->size());
        size_t different = 0;
        for (size_t i = 0; i + 4 <= found->size(); i += 4) {
            float a = 0, b = 0;
            std::memcpy(&a, expected->data() + i, 4);
            std::memcpy(&b, found->data() + i, 4);
            different += std::abs(a - b) > 1e-4F * std::abs(a) || std::isnan(a) != std::isnan(b);
        }
        EXPECT_EQ(different, 0U);
    }
}

} // namespace
} // namespace loopscope
