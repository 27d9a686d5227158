// What time travel costs over a loop of a million iterations: a step back, a jump to any iteration, and the checkpoints on the way.
#include "converters/lsir/lsir.h"
#include "engine/base/clock.h"
#include "engine/debug/timeline.h"
#include "engine/exec/interpreter.h"
#include "tests/bench/report.h"
#include "tests/unit/exec/model_builder.h"

#include <algorithm>
#include <cstdlib>
#include <random>

using namespace loopscope;
using namespace loopscope::testing;

namespace {

constexpr int32_t kTrips = 1'000'000;

constexpr const char* kLoop = R"(
graph main(n: i32[], x: f32[256]) {
  zero = const i32[] 0
  i, m, y = while(zero, n, x) cond=@cond body=@body : (i32[], i32[], f32[256])
  return y
}
graph cond(i: i32[], n: i32[], x: f32[256]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], x: f32[256]) {
  one = const i32[] 1
  half = const f32[] 0.5
  next = add(i, one) : i32[]
  h = mul(x, half) : f32[256]
  t = tanh(h) : f32[256]
  y = add(t, h) : f32[256]
  return next, n, y
}
)";

void expect(Status status)
{
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", std::move(status).takeError().message().c_str());
    std::exit(1);
}

double share(std::vector<double>& times, double part)
{
    std::ranges::sort(times);
    return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))];
}

} // namespace

int main()
{
    Result<Model> model = modelFromText(kLoop, "bench");
    if (!model.ok()) expect(std::move(model).takeError());
    Result<std::unique_ptr<Interpreter>> made = Interpreter::create(*model, GraphId(0));
    if (!made.ok()) expect(std::move(made).takeError());
    Interpreter& interpreter = **made;
    std::vector<int32_t> trips = {kTrips};
    std::vector<float> x(256, 1.0F);
    expect(interpreter.setInput(0, tensorOver(trips, Shape{})));
    expect(interpreter.setInput(1, tensorOver(x, Shape{256})));

    Timeline timeline(interpreter);
    double plain = 1e18;
    double travelled = 1e18;
    for (int round = 0; round < 3; ++round) { // in turn, the best of each: the machine does other things, too
        int64_t from = nowNs();
        expect(interpreter.start());
        expect(interpreter.run());
        plain = std::min(plain, static_cast<double>(nowNs() - from));
        from = nowNs();
        expect(timeline.start());
        expect(timeline.goToEnd());
        travelled = std::min(travelled, static_cast<double>(nowNs() - from));
    }
    bench::report("timeline_forward_over_plain", 100 * (travelled / plain - 1), "%", 5);
    const int64_t end = timeline.tick();
    bench::report("timeline_checkpoint_overhead", 100 * timeline.checkpointOverhead(), "%", 5);
    bench::note("timeline_checkpoints", static_cast<double>(timeline.checkpointCount()), "states");

    std::mt19937 random(1);
    std::vector<double> jumps;
    std::vector<double> steps;
    for (int i = 0; i < 300; ++i) {
        const int64_t target = static_cast<int64_t>(random() % static_cast<uint32_t>(kTrips)) * (end / kTrips) + 1;
        int64_t from = nowNs();
        expect(timeline.goTo(target));
        jumps.push_back(static_cast<double>(nowNs() - from) / 1e6);
        for (int k = 0; k < 5 && timeline.tick() > 0; ++k) {
            from = nowNs();
            expect(timeline.back());
            steps.push_back(static_cast<double>(nowNs() - from) / 1e6);
        }
    }
    bench::report("timeline_step_back_p50", share(steps, 0.5), "ms", 1);
    bench::note("timeline_step_back_p95", share(steps, 0.95), "ms");
    bench::report("timeline_any_iteration_p95", share(jumps, 0.95), "ms", 50);
    bench::report("timeline_saved", static_cast<double>(timeline.savedBytes()) / (1 << 20), "MiB", 256);
}
