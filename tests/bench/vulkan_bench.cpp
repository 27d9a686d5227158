// The Vulkan backend beside the device's own costs: start, submission, a step that is looked at, matrix products, element-wise operators
// and reductions. Goals of speed are those of the device at hand: Mesa's software device has others than a GPU.
#include "engine/base/clock.h"
#include "engine/device/vulkan_memory.h"
#include "engine/kernels/registry.h"
#include "engine/kernels/resources.h"
#include "engine/kernels/vulkan/plan.h"
#include "engine/tensor/device_host.h"
#include "tests/bench/report.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace loopscope::bench {
namespace {

double milliseconds(const std::function<void()>& work)
{
    const int64_t from = nowNs();
    work();
    return static_cast<double>(nowNs() - from) / 1e6;
}

/// What else the machine does only makes it longer.
double least(int times, const std::function<void()>& work)
{
    double least = milliseconds(work);
    for (int i = 1; i < times; ++i) least = std::min(least, milliseconds(work));
    return least;
}

double median(int times, const std::function<void()>& work)
{
    std::vector<double> all;
    for (int i = 0; i < times; ++i) all.push_back(milliseconds(work));
    std::sort(all.begin(), all.end());
    return all[all.size() / 2];
}

class Runtime final : public KernelRuntime, public DeviceHost {
public:
    explicit Runtime(std::shared_ptr<VulkanDevice> device) : memory(std::move(device)) {}
    std::byte* scratch(size_t) override { return nullptr; }
    Status resize(Tensor&, const Shape&, size_t) override { return {}; }
    ResourceStore& resources() override { return m_resources; }
    RandomState& random() override { return m_random; }
    DeviceMemory* deviceMemory() override { return &memory; }

    VulkanMemory memory;

private:
    ResourceStore m_resources;
    RandomState m_random;
};

void mustWork(const Status& status)
{
    if (status.ok()) return;
    std::printf("failed: %s\n", status.detail().what.c_str());
    std::exit(1);
}

/// One operator with tensors of its own, prepared for the device.
class Work {
public:
    Work(Runtime& runtime, const char* name, std::vector<Shape> inputs, const Shape& output, std::vector<int32_t> axes = {},
         DType dtype = DType::f32)
        : m_runtime(runtime),
          m_dtype(dtype),
          m_axes(std::move(axes))
    {
        m_op.kind = {"tfl", name};
        for (const Shape& shape : inputs) add(shape);
        m_count = m_tensors.size();
        if (!m_axes.empty()) {
            Tensor tensor;
            tensor.dtype = DType::i32;
            tensor.shape = Shape({static_cast<int64_t>(m_axes.size())});
            tensor.data = reinterpret_cast<std::byte*>(m_axes.data());
            tensor.bytes = m_axes.size() * 4;
            m_tensors.push_back(tensor);
        }
        add(output);
        for (size_t i = 0; i + 1 < m_tensors.size(); ++i) m_inputs.push_back(&m_tensors[i]);
        m_output = &m_tensors.back();
        std::vector<Tensor> unknown = m_tensors;
        for (Tensor& tensor : unknown)
            if (tensor.dtype == DType::f32 || &tensor == &unknown.front()) tensor.data = nullptr;
        std::vector<const Tensor*> in;
        for (size_t i = 0; i + 1 < unknown.size(); ++i) in.push_back(&unknown[i]);
        const Tensor* const out[] = {&unknown.back()};
        Result<PreparedKernel> kernel = KernelRegistry::builtin().find(m_op.kind, Profile::vulkan)->prepare({m_op, in, out, true});
        if (!kernel.ok()) mustWork(Status(std::move(kernel).takeError()));
        m_kernel = std::move(kernel).value();
        for (const vulkan::Step& step : vulkan::PlanBuilder::planOf(m_kernel)->steps) // else whoever launches it first compiles it
            mustWork(runtime.memory.device().compile(*step.pipeline));
    }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    void launch()
    {
        mustWork(m_kernel.run({m_inputs.data(), &m_output, m_kernel.params.get(), &m_runtime, static_cast<int>(m_inputs.size()), 1}));
    }
    /// Milliseconds of one launch among `times` in one submission.
    double each(int times)
    {
        constexpr int64_t kWarmNs = 100'000'000; // an idle GPU's clock takes its time
        for (const int64_t until = nowNs() + (m_isGpu ? kWarmNs : 1); nowNs() < until;) {
            launch();
            mustWork(m_runtime.memory.finish());
        }
        return median(5,
                      [&] {
                          for (int i = 0; i < times; ++i) launch();
                          mustWork(m_runtime.memory.finish());
                      }) /
               times;
    }
    Tensor& output() { return *m_output; }

private:
    void add(const Shape& shape)
    {
        const size_t bytes = byteSize(m_dtype, shape.elementCount());
        m_blocks.push_back(std::make_unique<std::vector<float>>((bytes + 3) / 4));
        uint32_t state = 1; // numbers that differ: a device is quicker on equal ones
        for (float& value : *m_blocks.back()) {
            state = state * 1'664'525 + 1'013'904'223;
            value = static_cast<float>(state >> 8) / 16'777'216.0F - 0.5F;
        }
        Tensor tensor;
        tensor.dtype = m_dtype;
        tensor.shape = shape;
        tensor.data = reinterpret_cast<std::byte*>(m_blocks.back()->data());
        tensor.bytes = bytes;
        if (m_dtype == DType::i8) tensor.quantization = &m_scale;
        m_tensors.push_back(tensor);
    }

    Runtime& m_runtime;
    const bool m_isGpu = !m_runtime.memory.device().info().isSoftware();
    const DType m_dtype;
    const Quantization m_scale = Quantization::perTensor(0.05F, 0);
    Operator m_op;
    std::vector<int32_t> m_axes;
    std::vector<std::unique_ptr<std::vector<float>>> m_blocks;
    std::vector<Tensor> m_tensors;
    size_t m_count = 0;
    std::vector<const Tensor*> m_inputs;
    Tensor* m_output = nullptr;
    PreparedKernel m_kernel;
};

/// A product of square matrices by the simplest form of the shader: an invocation a result, one number at a time. Milliseconds.
double simplest(Runtime& runtime, VulkanDevice& device, uint32_t size)
{
    using namespace vulkan;
    const uint32_t constants[] = {inFloat, storeF32, storeF32, storeF32, 0, 1, 1, 0, 0, 0, 0, 0, 0};
    Result<const DevicePipeline*> pipeline = device.pipeline(shaderCode(Shader::matmul), constants);
    if (!pipeline.ok()) mustWork(Status(std::move(pipeline).takeError()));
    std::vector<uint32_t> push(23);
    push[0] = push[1] = push[2] = push[22] = size;
    push[5] = bitsOf(-std::numeric_limits<float>::infinity());
    push[6] = bitsOf(std::numeric_limits<float>::infinity());
    std::vector<DeviceBuffer> buffers;
    for (int i = 0; i < 5; ++i) {
        Result<DeviceBuffer> buffer = runtime.memory.scratch(uint64_t{size} * size * 4);
        if (!buffer.ok()) mustWork(Status(std::move(buffer).takeError()));
        buffers.push_back(*buffer);
    }
    const double ms = least(4, [&] {
        mustWork(runtime.memory.launch({*pipeline, buffers, push, {size * size / 256, 1, 1}}));
        mustWork(runtime.memory.finish());
    });
    runtime.memory.endOperator();
    return ms;
}

void products(Runtime& runtime, VulkanDevice& device, bool isGpu)
{
    if (!isGpu) {
        Work product(runtime, "batch_matmul", {Shape({512, 512}), Shape({512, 512})}, Shape({512, 512}));
        const double tiled = least(5, [&] {
            product.launch();
            mustWork(runtime.memory.finish());
        });
        report("vulkan_matmul_512_of_simplest", tiled / simplest(runtime, device, 512), "of its time", 1.0 / 9);
    }
    for (const int64_t size : isGpu ? std::vector<int64_t>{512, 1024, 4096} : std::vector<int64_t>{512}) {
        Work product(runtime, "batch_matmul", {Shape({size, size}), Shape({size, size})}, Shape({size, size}));
        const double ms = product.each(isGpu ? 20 : 2), rate = 2.0 * static_cast<double>(size * size * size) / ms / 1e9;
        const std::string name = "vulkan_matmul_" + std::to_string(size) + "_f32";
        if (isGpu && size > 512) reportRate(name.c_str(), rate, "TFLOP/s", size == 1024 ? 30 : 42);
        else note(name.c_str(), rate, "TFLOP/s");
    }
    const int64_t size = isGpu ? 4096 : 256;
    Work bytes(runtime, "fully_connected", {Shape({size, size}), Shape({size, size})}, Shape({size, size}), {}, DType::i8);
    const double rate = 2.0 * static_cast<double>(size * size * size) / bytes.each(isGpu ? 20 : 2) / 1e9;
    if (isGpu) reportRate("vulkan_fully_connected_4096_int8", rate, "TOP/s", 98);
    else note("vulkan_fully_connected_256_int8", rate, "TOP/s");
}

void streams(Runtime& runtime, bool isGpu)
{
    const int64_t count = isGpu ? int64_t{1} << 26 : int64_t{1} << 22;
    const auto stream = [&](const char* name, double ms, int64_t bytes) {
        const double rate = static_cast<double>(bytes) / ms / 1e6;
        if (isGpu) reportRate(name, rate, "GB/s", 2800);
        else note(name, rate, "GB/s");
    };
    Work add(runtime, "add", {Shape({count}), Shape({count})}, Shape({count}));
    stream("vulkan_add", add.each(isGpu ? 50 : 2), count * 12);
    Work exponential(runtime, "exp", {Shape({count})}, Shape({count}));
    stream("vulkan_exp", exponential.each(isGpu ? 50 : 2), count * 8);
    Work sum(runtime, "sum", {Shape({1024, count / 1024})}, Shape({1024}), {1});
    stream("vulkan_sum_rows", sum.each(isGpu ? 50 : 2), count * 4);
    Work transposed(runtime, "transpose", {Shape({2048, count / 2048})}, Shape({count / 2048, 2048}), {1, 0});
    note("vulkan_transpose", static_cast<double>(count * 8) / transposed.each(isGpu ? 20 : 2) / 1e6, "GB/s");
}

int run()
{
    std::shared_ptr<VulkanDevice> device;
    const double opening = milliseconds([&] {
        VulkanDevice::choose({"", std::getenv("LOOPSCOPE_CACHE") ? std::getenv("LOOPSCOPE_CACHE") : "", false});
        Result<std::shared_ptr<VulkanDevice>> opened = VulkanDevice::opened();
        if (opened.ok()) device = *opened;
        else std::printf("skipped: %s\n", opened.error().message().c_str());
    });
    if (!device) return 0;
    const bool isGpu = !device->info().isSoftware();
    std::printf("# %s, %s\n", device->info().name.c_str(), device->info().driver.c_str());
    note("vulkan_open", opening, "ms");
    Runtime runtime(device);
    note("vulkan_prepare_first", milliseconds([&] { Work one(runtime, "add", {Shape({4}), Shape({4})}, Shape({4})); }), "ms");
    note("vulkan_prepare_again", milliseconds([&] { Work one(runtime, "add", {Shape({4}), Shape({4})}, Shape({4})); }), "ms");
    Work small(runtime, "add", {Shape({1024}), Shape({1024})}, Shape({1024}));
    small.launch();
    mustWork(runtime.memory.finish());
    const double empty = least(301, [&] { mustWork(runtime.memory.submitNothing()); });
    note("vulkan_empty_submit", empty * 1e3, "us");
    const double stepped = least(301, [&] {
        small.launch();
        runtime.memory.hostBytes(small.output());
    });
    report("vulkan_step_with_4KiB", stepped * 1e3, "us", isGpu ? 25 : empty * 1e3 * 1.15);
    note("vulkan_launch_each", small.each(1000) * 1e3, "us");
    const double recording = milliseconds([&] {
        for (int i = 0; i < 1000; ++i) small.launch();
    });
    mustWork(runtime.memory.finish());
    note("vulkan_record_each", recording, "us");
    streams(runtime, isGpu);
    products(runtime, *device, isGpu);
    return 0;
}

} // namespace
} // namespace loopscope::bench

int main() { return loopscope::bench::run(); }
