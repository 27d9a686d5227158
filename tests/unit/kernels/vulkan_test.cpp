// The Vulkan kernels against the reference kernels on random operands, within the bounds that their table states; on whatever device there
// is, Mesa's software one at least.
#include "engine/device/vulkan_memory.h"
#include "engine/kernels/registry.h"
#include "engine/tensor/compare.h"
#include "engine/tensor/device_host.h"
#include "tests/unit/kernels/kernel_harness.h"

#include <array>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>

namespace loopscope {
namespace {

/// A runtime whose tensors a device computes.
class DeviceRuntime final : public TestRuntime, public DeviceHost {
public:
    explicit DeviceRuntime(std::shared_ptr<VulkanDevice> device) : m_memory(std::move(device)) {}
    DeviceMemory* deviceMemory() override { return &m_memory; }
    VulkanMemory& memory() { return m_memory; }

private:
    VulkanMemory m_memory;
};

class RandomOperands {
public:
    explicit RandomOperands(uint64_t seed) : m_random(seed) {}

    int upTo(int n) { return static_cast<int>(m_random() % static_cast<uint64_t>(n + 1)); }

    TestTensor tensor(DType dtype, Shape shape)
    {
        TestTensor t;
        t.dtype = dtype;
        t.shape = std::move(shape);
        const auto count = static_cast<size_t>(t.shape.elementCount());
        t.data.resize(byteSize(dtype, t.shape.elementCount()));
        std::normal_distribution<float> normal(0, 2);
        for (size_t i = 0; i < count; ++i) {
            if (dtype == DType::f32) {
                const float value = normal(m_random);
                std::memcpy(t.data.data() + i * 4, &value, 4);
            } else if (dtype == DType::i32) {
                const int32_t value = upTo(6) - 2;
                std::memcpy(t.data.data() + i * 4, &value, 4);
            } else if (dtype == DType::i64) {
                const int64_t value = upTo(600) - 200;
                std::memcpy(t.data.data() + i * 8, &value, 8);
            } else {
                for (size_t b = 0; b < t.data.size() / count; ++b)
                    t.data[i * t.data.size() / count + b] = static_cast<std::byte>(dtype == DType::boolean ? upTo(1) : upTo(255));
            }
        }
        if (dtype == DType::i8 || dtype == DType::u8)
            t.quantization =
                std::make_shared<const Quantization>(Quantization::perTensor(0.05F * static_cast<float>(1 + upTo(3)), upTo(8) - 4));
        if (dtype == DType::i16) t.quantization = std::make_shared<const Quantization>(Quantization::perTensor(1.0F / 4096, 0));
        return t;
    }
    Shape shape()
    {
        Shape shape;
        const int rank = upTo(4);
        for (int i = 0; i < rank; ++i) shape.append(1 + upTo(4));
        return shape;
    }

private:
    std::mt19937_64 m_random;
};

struct Attempt {
    bool ran = false; ///< on both
    std::string difference;
};

/// Runs an operator on random operands with the reference kernel and, if it can, on the device.
Attempt attempt(const OpDef& def, const KernelEntry& entry, uint64_t seed, const std::shared_ptr<VulkanDevice>& device)
{
    RandomOperands random(seed);
    Operator op;
    op.kind = {std::string(def.dialect), std::string(def.name)};
    if (random.upTo(2) == 0) setAttribute(op.attributes, "act", Word{random.upTo(1) == 0 ? "RELU" : "RELU6"});
    if (random.upTo(1) == 0) setAttribute(op.attributes, "axis", int64_t{random.upTo(2) - 1});
    setAttribute(op.attributes, "alpha", 0.25);
    static constexpr DType kFavourites[] = {DType::f32, DType::f32, DType::f32, DType::i32,    DType::i64,
                                            DType::i8,  DType::u8,  DType::i16, DType::boolean};
    const DType favourite = kFavourites[random.upTo(std::size(kFavourites) - 1)];
    const int most = def.maxInputs < 0 ? 3 : def.maxInputs;
    const int count = std::max(1, def.minInputs + random.upTo(std::max(0, most - def.minInputs)));
    std::deque<TestTensor> operands;
    const bool isSelect = def.name == "select" || def.name == "select_v2";
    for (int i = 0; i < count; ++i) {
        const bool isParameter = i > 0 && random.upTo(2) == 0;
        const Shape shape = i > 0 && random.upTo(2) != 0 ? operands.front().shape : random.shape();
        operands.push_back(random.tensor(isSelect && i == 0 ? DType::boolean : isParameter ? DType::i32 : favourite, shape));
    }
    std::vector<Tensor> views;
    std::vector<const Tensor*> in, known;
    for (TestTensor& t : operands) {
        Tensor view{t.data.data(), t.data.size(), t.dtype, t.shape, t.quantization.get()};
        views.push_back(view);
    }
    for (const Tensor& view : views) in.push_back(&view);
    std::vector<Tensor> unknown = views; // constants are known beforehand, what is computed is not
    for (size_t i = 0; i < unknown.size(); ++i) {
        if (unknown[i].dtype != DType::i32 || i == 0) unknown[i].data = nullptr;
        known.push_back(&unknown[i]);
    }
    std::vector<InferredType> inferred(static_cast<size_t>(std::max(1, def.minOutputs)));
    if (!inferOperator(op, in, inferred).ok()) return {};
    std::vector<Tensor> results;
    std::vector<std::vector<std::byte>> blocks;
    const QuantizationPtr quantization =
        std::make_shared<const Quantization>(Quantization::perTensor(0.1F, favourite == DType::i16 ? 0 : 3));
    for (const InferredType& type : inferred) {
        if (!type.shape.isStatic() || type.shape.elementCount() > 100'000 || bitWidth(type.dtype) == 0) return {};
        blocks.emplace_back(byteSize(type.dtype, type.shape.elementCount()) + 1);
        const bool isQuantized = isInteger(type.dtype) && bitWidth(type.dtype) <= 16;
        const Quantization* const own = random.upTo(1) == 0 ? operands.front().quantization.get() : quantization.get();
        results.push_back({blocks.back().data(), blocks.back().size() - 1, type.dtype, type.shape, isQuantized ? own : nullptr});
    }
    const auto run = [&](const KernelEntry& kernelEntry, std::span<const Tensor* const> prepared, KernelRuntime& runtime,
                         std::vector<Tensor>& out) -> Status {
        std::vector<Tensor*> pointers;
        for (Tensor& tensor : out) pointers.push_back(&tensor);
        const std::vector<const Tensor*> constOut(pointers.begin(), pointers.end());
        LS_TRY(const PreparedKernel kernel, kernelEntry.prepare(KernelSetup{op, prepared, constOut, true}));
        return kernel.run({in.data(), pointers.data(), kernel.params.get(), &runtime, count, static_cast<int>(out.size())});
    };
    TestRuntime host;
    const KernelEntry* const reference = KernelRegistry::builtin().find(op.kind, Profile::reference);
    if (!run(*reference, in, host, results).ok()) return {};
    std::vector<Tensor> there = results;
    std::vector<std::vector<std::byte>> thereBlocks = blocks;
    for (size_t k = 0; k < there.size(); ++k) there[k].data = thereBlocks[k].data();
    DeviceRuntime runtime(device);
    Status status = run(entry, known, runtime, there);
    if (!status.ok()) {
        Error error = std::move(status).takeError();
        return {false, error.code() == ErrorCode::unsupported ? "" : error.message()};
    }
    for (size_t k = 0; k < there.size(); ++k) {
        runtime.memory().hostBytes(there[k]);
        if (Status read = runtime.memory().check(); !read.ok()) return {true, std::move(read).takeError().message()};
        const Tolerance tolerance = widenedTo({}, entry.bounds.of(there[k].dtype), results[k]);
        const Comparison c = compareTensors(there[k], results[k], tolerance);
        if (c.equal) continue;
        std::string shapes;
        for (const Tensor& view : views) shapes += std::string(dtypeName(view.dtype)) + toString(view.shape) + " ";
        return {true, "seed " + std::to_string(seed) + " result " + std::to_string(k) + " of " + shapes + "-> " +
                          toString(results[k].shape) + ": " + c.mismatch + " " + std::to_string(c.different) + " differ, by " +
                          std::to_string(c.maxAbs)};
    }
    return {true, ""};
}

TEST(VulkanKernels, giveWhatTheReferenceKernelsGive)
{
    const char* const asked = std::getenv("LOOPSCOPE_VALIDATE");
    const bool validates = asked != nullptr && *asked == '1';
    VulkanDevice::choose({"", "", validates});
    const Result<std::shared_ptr<VulkanDevice>> device = VulkanDevice::opened();
    if (!device.ok()) GTEST_SKIP() << device.error().message();
    int ran = 0, kinds = 0;
    for (const KernelEntry& entry : KernelRegistry::builtin().entries()) {
        if (entry.profile != Profile::vulkan) continue;
        const OpDef* const def = findOp({std::string(entry.dialect), std::string(entry.name)});
        ASSERT_NE(def, nullptr) << entry.name;
        int here = 0, wrong = 0;
        for (uint64_t seed = 1; seed <= (validates ? 1 : 6) && wrong < 3; ++seed) {
            const Attempt one = attempt(*def, entry, seed * 1009 + std::hash<std::string_view>()(def->name) % 1000, *device);
            here += one.ran;
            if (one.difference.empty()) continue;
            ++wrong;
            ADD_FAILURE() << entry.name << ": " << one.difference;
        }
        ran += here;
        kinds += here > 0;
        if (here == 0) std::printf("never ran: %s\n", std::string(entry.name).c_str());
    }
    for (const std::string& message : (*device)->validationMessages()) ADD_FAILURE() << message;
    EXPECT_GT(ran, validates ? 20 : 120);
    EXPECT_GT(kinds, validates ? 20 : 60);
}

/// The operator on the host and on the device; empty: equal within the bound of its kernel. `like`: dtype, shape and scale of the result;
/// operands from `constants` on are known beforehand.
std::string differenceOf(const char* name, const std::vector<TestTensor>& operands, const AttributeList& attributes, const TestTensor& like,
                         size_t constants, const std::shared_ptr<VulkanDevice>& device)
{
    Operator op;
    op.kind = {"tfl", name};
    op.attributes = attributes;
    std::vector<Tensor> views, unknown;
    for (const TestTensor& t : operands)
        views.push_back({const_cast<std::byte*>(t.data.data()), t.data.size(), t.dtype, t.shape, t.quantization.get()});
    unknown = views;
    std::vector<const Tensor*> in, open;
    for (size_t i = 0; i < views.size(); ++i) {
        if (i < constants) unknown[i].data = nullptr;
        in.push_back(&views[i]);
        open.push_back(&unknown[i]);
    }
    std::vector<std::byte> blocks[2];
    Tensor results[2];
    DeviceRuntime runtime(device);
    for (const bool isThere : {false, true}) {
        Tensor& result = results[isThere];
        blocks[isThere].resize(byteSize(like.dtype, like.shape.elementCount()));
        result = {blocks[isThere].data(), blocks[isThere].size(), like.dtype, like.shape, like.quantization.get()};
        Tensor* const out[] = {&result};
        const Tensor* const constOut[] = {&result};
        const KernelEntry* const entry = KernelRegistry::builtin().find(op.kind, isThere ? Profile::vulkan : Profile::reference);
        Result<PreparedKernel> kernel = entry->prepare(KernelSetup{op, isThere ? open : in, constOut, true});
        if (!kernel.ok()) return kernel.error().message();
        Status status = kernel->run({in.data(), out, kernel->params.get(), &runtime, static_cast<int>(in.size()), 1});
        if (!status.ok()) return std::move(status).takeError().message();
        if (isThere) runtime.memory().hostBytes(result);
    }
    const KernelEntry* const entry = KernelRegistry::builtin().find(op.kind, Profile::vulkan);
    const Comparison c = compareTensors(results[1], results[0], widenedTo({}, entry->bounds.of(like.dtype), results[0]));
    return c.equal ? "" : std::to_string(c.beyond) + " of " + std::to_string(c.elements) + " differ, by up to " + std::to_string(c.maxAbs);
}
std::string differenceOf(const char* name, const std::vector<TestTensor>& operands, const AttributeList& attributes, const Shape& shape,
                         const std::shared_ptr<VulkanDevice>& device)
{
    TestTensor like;
    like.dtype = DType::f32;
    like.shape = shape;
    return differenceOf(name, operands, attributes, like, operands.size(), device);
}

// Tiles that are whole and that are not, read one and four elements at a time.
TEST(VulkanKernels, multiplyMatricesOfManySizes)
{
    const Result<std::shared_ptr<VulkanDevice>> device = VulkanDevice::opened();
    if (!device.ok()) GTEST_SKIP() << device.error().message();
    RandomOperands random(7);
    for (const auto& [m, n, k] :
         {std::array<int64_t, 3>{1, 5, 7}, {3, 1, 20}, {64, 64, 16}, {70, 36, 52}, {129, 130, 33}, {17, 200, 64}, {700, 2056, 20}})
        for (const int form : {0, 1, 2, 3}) {
            const bool adjX = (form & 1) != 0, adjY = (form & 2) != 0;
            AttributeList attributes;
            setAttribute(attributes, "adj_x", adjX);
            setAttribute(attributes, "adj_y", adjY);
            const TestTensor x = random.tensor(DType::f32, adjX ? Shape({2, k, m}) : Shape({2, m, k}));
            const TestTensor y = random.tensor(DType::f32, adjY ? Shape({n, k}) : Shape({k, n}));
            EXPECT_EQ(differenceOf("batch_matmul", {x, y}, attributes, Shape({2, m, n}), *device), "")
                << m << "x" << k << " times " << k << "x" << n << ", form " << form;
        }
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 10, 64}, {65, 33, 40}, {30, 128, 27}}) {
        const std::vector<TestTensor> operands = {random.tensor(DType::f32, Shape({m, k})), random.tensor(DType::f32, Shape({n, k})),
                                                  random.tensor(DType::f32, Shape({n}))};
        EXPECT_EQ(differenceOf("fully_connected", operands, {}, Shape({m, n}), *device), "") << m << " " << n << " " << k;
    }
}

// Signed bytes whose rows are whole words are multiplied in fours where a GPU can; their zero point goes to the bias then.
TEST(VulkanKernels, multiplyBytesOfManySizes)
{
    const Result<std::shared_ptr<VulkanDevice>> device = VulkanDevice::opened();
    if (!device.ok()) GTEST_SKIP() << device.error().message();
    RandomOperands random(9);
    const auto scaled = [](double scale, int64_t zero) {
        return std::make_shared<const Quantization>(Quantization::perTensor(static_cast<float>(scale), zero));
    };
    for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 10, 64}, {65, 33, 48}, {30, 128, 20}, {130, 140, 256}, {700, 1030, 16}})
        for (const bool hasBias : {true, false}) {
            std::vector<TestTensor> operands = {random.tensor(DType::i8, Shape({m, k})), random.tensor(DType::i8, Shape({n, k}))};
            operands[0].quantization = scaled(0.05, -7);
            operands[1].quantization = scaled(0.02, 0);
            if (hasBias) {
                operands.push_back(random.tensor(DType::i32, Shape({n})));
                operands[2].quantization = scaled(0.001, 0);
            }
            TestTensor like;
            like.dtype = DType::i8;
            like.shape = Shape({m, n});
            like.quantization = scaled(0.4, 3);
            EXPECT_EQ(differenceOf("fully_connected", operands, {}, like, 1, *device), "") << m << " " << n << " " << k << " " << hasBias;
        }
}

TEST(VulkanKernels, convolveAsTheReferenceKernelDoes)
{
    const Result<std::shared_ptr<VulkanDevice>> device = VulkanDevice::opened();
    if (!device.ok()) GTEST_SKIP() << device.error().message();
    RandomOperands random(11);
    for (const int64_t channels : {6, 8}) // read one and four at a time
        for (const int64_t filter : {1, 3})
            for (const int64_t stride : {1, 2})
                for (const bool isSame : {true, false}) {
                    AttributeList attributes;
                    setAttribute(attributes, "stride_h", stride);
                    setAttribute(attributes, "stride_w", stride);
                    setAttribute(attributes, "padding", Word{isSame ? "SAME" : "VALID"});
                    const auto sized = [&](int64_t size) {
                        return isSame ? (size + stride - 1) / stride : (size - filter + stride) / stride;
                    };
                    const TestTensor image = random.tensor(DType::f32, Shape({2, 9, 11, channels})),
                                     bias = random.tensor(DType::f32, Shape({2 * channels}));
                    const Shape result({2, sized(9), sized(11), 2 * channels});
                    const std::string where = std::to_string(channels) + " channels, " + std::to_string(filter) + " by " +
                                              std::to_string(stride) + (isSame ? " SAME" : " VALID");
                    EXPECT_EQ(differenceOf("conv_2d",
                                           {image, random.tensor(DType::f32, Shape({2 * channels, filter, filter, channels})), bias},
                                           attributes, result, *device),
                              "")
                        << where;
                    EXPECT_EQ(differenceOf("depthwise_conv_2d",
                                           {image, random.tensor(DType::f32, Shape({1, filter, filter, 2 * channels})), bias}, attributes,
                                           result, *device),
                              "")
                        << where;
                    const TestTensor filters = random.tensor(DType::f32, Shape({1, filter, filter, channels}));
                    EXPECT_EQ(differenceOf("depthwise_conv_2d", {image, filters, random.tensor(DType::f32, Shape({channels}))}, attributes,
                                           Shape({2, sized(9), sized(11), channels}), *device),
                              "")
                        << where;
                }
}

TEST(VulkanKernels, launchesAreTimedWhileThatIsAskedFor)
{
    const Result<std::shared_ptr<VulkanDevice>> device = VulkanDevice::opened();
    if (!device.ok()) GTEST_SKIP() << device.error().message();
    RandomOperands random(3);
    const TestTensor x = random.tensor(DType::f32, Shape({64}));
    DeviceRuntime runtime(*device);
    const auto nsOf = [&](int launches) {
        const uint64_t before = runtime.memory().traffic().deviceNs;
        Operator op;
        op.kind = {"tfl", "exp"};
        Tensor in = {const_cast<std::byte*>(x.data.data()), x.data.size(), x.dtype, x.shape, nullptr}, result = in;
        std::vector<std::byte> place(result.bytes);
        result.data = place.data();
        Tensor unknown = in;
        unknown.data = nullptr;
        const Tensor *const operands[] = {&in}, *const open[] = {&unknown}, *const outs[] = {&result};
        Tensor* out[] = {&result};
        Result<PreparedKernel> kernel = KernelRegistry::builtin().find(op.kind, Profile::vulkan)->prepare({op, open, outs, true});
        EXPECT_TRUE(kernel.ok());
        for (int i = 0; i < launches; ++i) EXPECT_TRUE(kernel->run({operands, out, kernel->params.get(), &runtime, 1, 1}).ok());
        EXPECT_TRUE(runtime.memory().finish().ok());
        return runtime.memory().traffic().deviceNs - before;
    };
    EXPECT_EQ(nsOf(1), 0U);
    if (Status status = runtime.memory().timeLaunches(true); !status.ok()) GTEST_SKIP() << status.detail().what;
    EXPECT_GT(nsOf(1), 0U);
    EXPECT_GT(nsOf(600), nsOf(1)); // more than one submission has room for
    ASSERT_TRUE(runtime.memory().timeLaunches(false).ok());
    EXPECT_EQ(nsOf(1), 0U);
}

} // namespace
} // namespace loopscope
