// The profile `fast`: the layers of two MobileNets, a ResNet-50 and a transformer's block, operator by operator on one thread,
// beside oneDNN called directly where this was built with it and beside the reference kernels: each ratio is of medians that were taken in
// turn, in CPU time of the thread: what else the machine does hardly shows. And on two threads. With LAYERS set each layer is listed; with
// ONLY set only the networks whose names have that in them.
#include "engine/base/clock.h"
#include "tests/bench/networks.h"
#include "tests/bench/onednn.h"
#include "tests/bench/report.h"
#include "tests/unit/kernels/kernel_harness.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace loopscope;

namespace {

using bench::Layer;

TestTensor filled(DType dtype, const Shape& shape, float scale)
{
    TestTensor tensor;
    tensor.dtype = dtype;
    tensor.shape = shape;
    tensor.data.resize(byteSize(dtype, shape.elementCount()));
    uint32_t random = 1;
    for (size_t i = 0; i < tensor.data.size() / (dtype == DType::i8 ? 1 : 4); ++i) {
        random = random * 1664525U + 1013904223U;
        const auto number = static_cast<int8_t>(random >> 24);
        if (dtype == DType::i8) tensor.data[i] = static_cast<std::byte>(number);
        else if (dtype == DType::f32) reinterpret_cast<float*>(tensor.data.data())[i] = static_cast<float>(number) / 128.0F;
        else reinterpret_cast<int32_t*>(tensor.data.data())[i] = number;
    }
    if (dtype != DType::f32) tensor.quantization = std::make_shared<const Quantization>(Quantization::perTensor(scale, 0));
    return tensor;
}

/// Its scratch memory stays, as an interpreter's does, and its threads serve all operators.
class Runtime : public TestRuntime {
public:
    using TestRuntime::TestRuntime;
    std::byte* scratch(size_t bytes) override
    {
        if (m_block.size() < bytes + 64) m_block.resize(bytes + 64);
        return m_block.data() + (64 - reinterpret_cast<uintptr_t>(m_block.data()) % 64) % 64;
    }

private:
    std::vector<std::byte> m_block;
};

/// One operator, prepared for a profile, with its operands.
class Prepared {
public:
    Prepared(const std::string& kind, const AttributeList& attributes, std::vector<TestTensor> inputs, const Shape& result, Profile profile,
             Runtime& runtime)
        : m_inputs(std::move(inputs)),
          m_result(filled(m_inputs[0].dtype, result, 0.05F)),
          m_runtime(runtime)
    {
        m_op.kind = {"tfl", kind};
        for (const NamedAttribute& attribute : attributes) setAttribute(m_op.attributes, attribute.key, attribute.value);
        for (TestTensor& input : m_inputs) m_views.push_back(view(input));
        for (const Tensor& input : m_views) m_in.push_back(&input);
        m_out = view(m_result);
        const Tensor* const out = &m_out;
        auto kernel = KernelRegistry::builtin().find(m_op.kind, profile)->prepare({m_op, m_in, {&out, 1}, true, nullptr, profile});
        if (!kernel.ok()) {
            std::fprintf(stderr, "error: %s: %s\n", kind.c_str(), kernel.error().message().c_str());
            std::exit(1);
        }
        m_kernel = std::move(kernel).value();
    }
    void run()
    {
        Tensor* out = &m_out;
        if (!m_kernel.run({m_in.data(), &out, m_kernel.params.get(), &m_runtime, static_cast<int>(m_in.size()), 1}).ok()) std::exit(1);
    }

private:
    static Tensor view(TestTensor& from)
    {
        Tensor tensor;
        tensor.dtype = from.dtype;
        tensor.shape = from.shape;
        tensor.data = from.data.data();
        tensor.bytes = from.data.size();
        tensor.quantization = from.quantization.get();
        return tensor;
    }

    Operator m_op;
    std::vector<TestTensor> m_inputs;
    TestTensor m_result;
    std::vector<Tensor> m_views;
    std::vector<const Tensor*> m_in;
    Tensor m_out;
    PreparedKernel m_kernel;
    Runtime& m_runtime;
};

Prepared prepared(const Layer& layer, DType dtype, Profile profile, Runtime& runtime)
{
    const int64_t side = (layer.side + layer.stride - 1) / layer.stride;
    const Shape filter = layer.isDepthwise ? Shape({1, layer.filter, layer.filter, layer.inputs})
                                           : Shape({layer.outputs, layer.filter, layer.filter, layer.inputs});
    const AttributeList attributes = {{"padding", Word{"SAME"}},
                                      {"stride_h", layer.stride},
                                      {"stride_w", layer.stride},
                                      {"act", Word{"RELU6"}},
                                      {"depth_multiplier", int64_t{1}}};
    return {layer.isDepthwise ? "depthwise_conv_2d" : "conv_2d",
            attributes,
            {filled(dtype, Shape({1, layer.side, layer.side, layer.inputs}), 0.02F), filled(dtype, filter, 0.01F),
             filled(dtype == DType::f32 ? DType::f32 : DType::i32, Shape({layer.outputs}), 0.0002F)},
            Shape({1, side, side, layer.outputs}),
            profile,
            runtime};
}

int64_t clockNs(clockid_t clock)
{
    timespec t = {};
    clock_gettime(clock, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

template <typename Run> int64_t duration(Run run, clockid_t clock)
{
    const int64_t from = clockNs(clock);
    run();
    return clockNs(clock) - from;
}

int64_t median(std::vector<int64_t>& times)
{
    std::nth_element(times.begin(), times.begin() + static_cast<int64_t>(times.size() / 2), times.end());
    return times[times.size() / 2];
}

/// Adds the medians of both, taken in turn.
template <typename A, typename B> void inTurn(A a, B b, int64_t& sumA, int64_t& sumB)
{
    constexpr clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    std::vector<int64_t> timesA, timesB;
    a();
    b();
    for (int i = 0; i < 15; ++i) {
        timesA.push_back(duration(a, clock));
        timesB.push_back(duration(b, clock));
    }
    sumA += median(timesA);
    sumB += median(timesB);
}

double ratio(int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(std::max<int64_t>(b, 1)); }

/// The layers of a network one after the other, as an interpreter runs them, with threads of its own.
class Network {
public:
    Network(const std::vector<Layer>& layers, DType dtype, int threads) : m_runtime(threads), m_least(layers.size(), INT64_MAX)
    {
        for (const Layer& layer : layers) m_operators.emplace_back(new Prepared(prepared(layer, dtype, Profile::fast, m_runtime)));
    }
    void run()
    {
        int64_t from = clockNs(CLOCK_MONOTONIC);
        for (size_t i = 0; i < m_operators.size(); ++i) {
            m_operators[i]->run();
            const int64_t to = clockNs(CLOCK_MONOTONIC);
            m_least[i] = std::min(m_least[i], to - from);
            from = to;
        }
    }
    int64_t least(size_t layer) const { return m_least[layer]; }
    int64_t least() const { return std::accumulate(m_least.begin(), m_least.end(), int64_t{0}); }

private:
    Runtime m_runtime;
    std::vector<std::unique_ptr<Prepared>> m_operators;
    std::vector<int64_t> m_least; ///< wall time of each
};

/// Two threads beside one, and beside what the machine has to give: the network twice at once, each on a thread and with memory of its own,
/// that know nothing of each other. Least wall times of each layer in 40 runs taken in turn.
void measureThreads(const std::string& prefix, const std::vector<Layer>& layers, DType dtype)
{
    Network one(layers, dtype, 1), two(layers, dtype, 2), here(layers, dtype, 1), there(layers, dtype, 1);
    for (int i = 0; i < 40; ++i) {
        one.run();
        one.run();
        two.run();
        two.run();
        std::atomic<int> ready = 0;
        const auto atOnce = [&](Network& network) {
            ++ready;
            while (ready < 2) {
            }
            network.run();
            network.run();
        };
        std::thread other([&] { atOnce(there); });
        atOnce(here);
        other.join();
    }
    bench::report((prefix + "_two_threads_of_one").c_str(), ratio(two.least(), one.least()), "times", 0.56);
    bench::note((prefix + "_two_apart_of_one").c_str(), ratio(here.least() + there.least(), 4 * one.least()), "times");
    if (!std::getenv("LAYERS")) return;
    for (size_t i = 0; i < layers.size(); ++i) {
        const Layer& layer = layers[i];
        std::printf("  %3ld %4ld to %4ld by %ld, stride %ld%s: %6.0f us, on two threads %.2f times, apart %.2f\n", layer.side, layer.inputs,
                    layer.outputs, layer.filter, layer.stride, layer.isDepthwise ? ", depthwise" : "",
                    static_cast<double>(one.least(i)) / 1e3, ratio(two.least(i), one.least(i)),
                    ratio(here.least(i) + there.least(i), 4 * one.least(i)));
    }
}

void measure(const char* name, const std::vector<Layer>& layers, DType dtype, double goal)
{
    const std::string prefix = std::string("fast_") + name;
    if (const char* const only = std::getenv("ONLY"); only && prefix.find(only) == std::string::npos) return;
    int64_t ours = 0, reference = 0;
    for (const Layer& layer : layers) {
        Runtime runtime(1);
        Prepared fast = prepared(layer, dtype, Profile::fast, runtime), slow = prepared(layer, dtype, Profile::reference, runtime);
        inTurn([&] { fast.run(); }, [&] { slow.run(); }, ours, reference);
    }
    bench::note((prefix + "_time").c_str(), static_cast<double>(ours) / 1e6, "ms");
    bench::report((prefix + "_of_reference").c_str(), ratio(ours, reference), "times", 0.6);
    measureThreads(prefix, layers, dtype);
    if (!bench::OneDnn::isHere()) return;
    int64_t again = 0, theirs = 0;
    for (const Layer& layer : layers) {
        Runtime runtime(1);
        Prepared fast = prepared(layer, dtype, Profile::fast, runtime);
        bench::OneDnn beside(layer.side, layer.inputs, layer.outputs, layer.filter, layer.stride, layer.isDepthwise, dtype == DType::i8);
        const int64_t before = again, theirsBefore = theirs;
        inTurn([&] { fast.run(); }, [&] { beside.run(); }, again, theirs);
        if (std::getenv("LAYERS"))
            std::printf("  %3ld %4ld to %4ld by %ld, stride %ld%s: %6.0f us, %.2f times\n", layer.side, layer.inputs, layer.outputs,
                        layer.filter, layer.stride, layer.isDepthwise ? ", depthwise" : "", static_cast<double>(again - before) / 1e3,
                        ratio(again - before, theirs - theirsBefore));
    }
    bench::report((prefix + "_of_onednn").c_str(), ratio(again, theirs), "times", goal);
}

} // namespace

int main(int count, char** words)
{
    if (count == 3 && std::string(words[1]) == "text") { // the model of a name, to be measured beside other programs
        const std::string name = words[2];
        if (name == "lstm_loop") std::printf("%s", bench::lstmLoopText(64, 100).c_str());
        if (name == "mobilenet_v1_i8") std::printf("%s", bench::textOf(bench::mobilenetV1(), true).c_str());
        if (name == "mobilenet_v2_i8") std::printf("%s", bench::textOf(bench::mobilenetV2(), true).c_str());
        return 0;
    }
    measure("mobilenet_f32", bench::mobilenetV1(), DType::f32, 1.10);
    measure("mobilenet_i8", bench::mobilenetV1(), DType::i8, 1.35);
    measure("mobilenet_v2_f32", bench::mobilenetV2(), DType::f32, 1.25);
    measure("resnet_f32", bench::resnet50(), DType::f32, 1.25);
    measure("transformer_f32", bench::transformerBlock(), DType::f32, 1.2);
    if (!bench::OneDnn::isHere()) std::printf("onednn skipped: built without it\n");
    return 0;
}
