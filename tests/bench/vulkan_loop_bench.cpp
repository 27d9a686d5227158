// A While on the Vulkan device: driven by the host, operator by operator, and run by the device alone. The goal of one dispatch is for
// LP_NUM_THREADS=0 on Mesa's software device, which the program sets for itself unless it is set.
#include "converters/lsir/lsir.h"
#include "engine/base/clock.h"
#include "engine/device/vulkan_memory.h"
#include "engine/exec/interpreter.h"
#include "tests/bench/report.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace loopscope::bench {
namespace {

constexpr const char* kModel = R"(
graph main(n: i32[]) {
  zero = const i32[] 0
  i, m, sum = while(zero, n, zero) cond=@cond body=@body : (i32[], i32[], i32[])
  return sum
}
graph cond(i: i32[], n: i32[], sum: i32[]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], sum: i32[]) {
  one = const i32[] 1
  three = const i32[] 3
  next = add(i, one) : i32[]
  total = add(sum, three) : i32[]
  return next, n, total
}
)";

/// A body that wants the whole device, as far as one goes that is as quick on the host as can be: what is measured is the driving.
constexpr const char* kRecurrent = R"(
graph main(n: i32[]) {
  zero = const i32[] 0
  x = const f32[1, 2] [0.5, -1.5]
  i, m, sum, h = while(zero, n, zero, x) cond=@cond body=@body : (i32[], i32[], i32[], f32[1, 2])
  return sum
}
graph cond(i: i32[], n: i32[], sum: i32[], h: f32[1, 2]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], sum: i32[], h: f32[1, 2]) {
  one = const i32[] 1
  three = const i32[] 3
  w = const f32[2, 2] [0.5, -0.25, 0.125, 1]
  b = const f32[2] [0.1, -0.2]
  next = add(i, one) : i32[]
  total = add(sum, three) : i32[]
  product = fully_connected(h, w, b) : f32[1, 2]
  return next, n, total, product
}
)";

class Bystander final : public TrapHandler {
public:
    bool beforeOperator(const OperatorEvent&, Tick) override { return false; }
    bool afterOperator(const OperatorEvent&, Tick) override { return false; }
};

template <typename T> T must(Result<T> result)
{
    if (result.ok()) return std::move(result).value();
    std::printf("failed: %s\n", result.error().message().c_str());
    std::exit(1);
}

/// The least microseconds per trip of some runs: what else the machine does only makes them longer.
double perTrip(Interpreter& interpreter, int32_t trips, int runs)
{
    double least = 1e30;
    for (int run = 0; run < runs; ++run) {
        Tensor count;
        count.data = reinterpret_cast<std::byte*>(&trips);
        count.bytes = 4;
        count.dtype = DType::i32;
        const int64_t from = nowNs();
        const bool ok = interpreter.setInput(0, count).ok() && interpreter.start().ok() && interpreter.run().ok();
        if (!ok || *interpreter.output(0).as<int32_t>() != 3 * trips) {
            std::printf("failed: a loop of %d trips\n", trips);
            std::exit(1);
        }
        least = std::min(least, static_cast<double>(nowNs() - from) / 1e3 / trips);
    }
    return least;
}

int run()
{
    setenv("LP_NUM_THREADS", "0", 0);
    Result<std::shared_ptr<VulkanDevice>> device = VulkanDevice::opened();
    if (!device.ok()) {
        std::printf("skipped: %s\n", device.error().message().c_str());
        return 0;
    }
    const bool isGpu = !(*device)->info().isSoftware();
    std::printf("# %s, %s\n", (*device)->info().name.c_str(), (*device)->info().driver.c_str());
    VulkanMemory memory(*device);
    ExecutionOptions options;
    options.profile = Profile::vulkan;
    options.device = &memory;
    const auto measure = [&](const char* text, int32_t trips, int32_t drivenTrips) {
        const Model model = must(importLsir("bench", Bytes::copyOf(text, std::strlen(text))));
        const std::unique_ptr<Interpreter> driven = must(Interpreter::create(model, GraphId(0), options));
        Bystander bystander;
        TrapSet traps;
        traps.add(GraphId(2), OperatorId(0), trapBefore);
        driven->setTraps(traps, &bystander);
        const std::unique_ptr<Interpreter> alone = must(Interpreter::create(model, GraphId(0), options));
        return std::pair(perTrip(*driven, drivenTrips, 9), perTrip(*alone, trips, 9));
    };
    const auto [byHost, byDevice] = measure(kModel, 100'000, 300);
    note("vulkan_while_by_the_host", byHost, "us/trip");
    report("vulkan_while_in_one_dispatch", byDevice, "us/trip", isGpu ? 0.2 : byHost / 25);
    note("vulkan_while_in_one_dispatch_ratio", byHost / byDevice, "times");
    const auto [largeByHost, inChunks] = measure(kRecurrent, 1000, 300);
    note("vulkan_large_while_by_the_host", largeByHost, "us/trip");
    report("vulkan_large_while_in_chunks", inChunks, "us/trip", isGpu ? 5 * 2.5 : largeByHost / 1.15);
    note("vulkan_large_while_in_chunks_ratio", largeByHost / inChunks, "times");
    return 0;
}

} // namespace
} // namespace loopscope::bench

int main() { return loopscope::bench::run(); }
