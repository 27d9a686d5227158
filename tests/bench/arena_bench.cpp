// How close the memory planner comes to the lower bound: on the intermediate tensors of MobileNet V1 and V2, and on random lifetimes.
#include "engine/base/clock.h"
#include "engine/plan/memory_planner.h"
#include "tests/bench/report.h"

#include <algorithm>
#include <random>

using namespace loopscope;

namespace {

double ratio(std::span<const BufferLifetime> buffers)
{
    const MemoryLayout layout = planMemory(buffers);
    return static_cast<double>(layout.bytes) / static_cast<double>(layout.lowerBound);
}

/// A chain of f32 tensors: each lives from the operator that makes it to the next.
std::vector<BufferLifetime> chain(std::initializer_list<int64_t> elements)
{
    std::vector<BufferLifetime> buffers;
    int32_t step = 0;
    for (const int64_t count : elements) {
        buffers.push_back({static_cast<uint64_t>(count) * 4, step, step + 1});
        ++step;
    }
    return buffers;
}

std::vector<BufferLifetime> mobileNetV1()
{
    std::vector<BufferLifetime> buffers;
    int32_t step = 0;
    const auto add = [&](int64_t side, int64_t channels) {
        buffers.push_back({static_cast<uint64_t>(side * side * channels * 4), step, step + 1});
        ++step;
    };
    add(112, 32);
    struct Block {
        int64_t side, in, out;
    };
    for (const Block& b : {Block{112, 32, 64},
                           {56, 64, 128},
                           {56, 128, 128},
                           {28, 128, 256},
                           {28, 256, 256},
                           {14, 256, 512},
                           {14, 512, 512},
                           {14, 512, 512},
                           {14, 512, 512},
                           {14, 512, 512},
                           {14, 512, 512},
                           {7, 512, 1024},
                           {7, 1024, 1024}}) {
        add(b.side, b.in);
        add(b.side, b.out);
    }
    add(1, 1024);
    add(1, 1001);
    return buffers;
}

/// Bottlenecks: expansion, depthwise, projection, and a residual that keeps the block's input alive.
std::vector<BufferLifetime> mobileNetV2()
{
    std::vector<BufferLifetime> buffers;
    int32_t step = 0;
    size_t last = 0;
    const auto add = [&](int64_t side, int64_t channels) {
        buffers.push_back({static_cast<uint64_t>(side * side * channels * 4), step, step + 1});
        ++step;
        return last = buffers.size() - 1;
    };
    add(112, 32);
    add(112, 32);
    size_t input = add(112, 16);
    int64_t side = 112;
    int64_t channels = 16;
    struct Stage {
        int64_t out, repeats, stride;
    };
    for (const Stage& stage : {Stage{24, 2, 2}, {32, 3, 2}, {64, 4, 2}, {96, 3, 1}, {160, 3, 2}, {320, 1, 1}}) {
        for (int64_t repeat = 0; repeat < stage.repeats; ++repeat) {
            const bool residual = repeat > 0;
            const int64_t outSide = residual ? side : side / stage.stride;
            add(side, channels * 6);
            add(outSide, channels * 6);
            const size_t projected = add(outSide, stage.out);
            if (residual) {
                buffers[input].last = step;
                input = add(outSide, stage.out);
            } else {
                input = projected;
            }
            side = outSide;
            channels = stage.out;
        }
    }
    add(side, 1280);
    add(1, 1280);
    add(1, 1001);
    return buffers;
}

/// 50 to 400 buffers of even sizes and lifetimes up to an eighth of the steps: greedy by size alone leaves 1.13 at p90.
std::vector<BufferLifetime> randomLifetimes(std::mt19937& random)
{
    const auto count = static_cast<int32_t>(50 + random() % 351);
    std::vector<BufferLifetime> buffers;
    for (int32_t i = 0; i < count; ++i) {
        const auto first = static_cast<int32_t>(random() % static_cast<uint32_t>(count));
        const auto span = static_cast<int32_t>(random() % static_cast<uint32_t>(count / 8 + 1));
        buffers.push_back({64 * (1 + random() % 1000), first, std::min(first + span, count)});
    }
    return buffers;
}

} // namespace

int main()
{
    bench::report("arena_chain", ratio(chain({100, 400, 200, 900, 50, 50, 700})), "of_bound", 1.0);
    bench::report("arena_mobilenet_v1", ratio(mobileNetV1()), "of_bound", 1.0);
    bench::report("arena_mobilenet_v2", ratio(mobileNetV2()), "of_bound", 1.0);
    std::mt19937 random(1);
    std::vector<double> ratios;
    double slowest = 0;
    for (int i = 0; i < 200; ++i) {
        const std::vector<BufferLifetime> buffers = randomLifetimes(random);
        const int64_t from = nowNs();
        ratios.push_back(ratio(buffers));
        slowest = std::max(slowest, static_cast<double>(nowNs() - from) / 1e6);
    }
    std::ranges::sort(ratios);
    bench::note("arena_random_median", ratios[100], "of_bound");
    bench::report("arena_random_p90", ratios[180], "of_bound", 1.10);
    bench::note("arena_random_worst", ratios[199], "of_bound");
    bench::note("arena_random_slowest", slowest, "ms");
}
