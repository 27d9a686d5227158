// What breakpoints cost that are never met, over a loop of about 2 µs an iteration: a scalar condition on a hot operator, one on the
// statistics of 1,024 elements, and a thousand places.
#include "converters/lsir/lsir.h"
#include "engine/debug/breakpoints/breakpoint_set.h"
#include "engine/debug/control/run_control.h"
#include "engine/debug/timeline.h"
#include "engine/exec/interpreter.h"
#include "tests/bench/report.h"
#include "tests/unit/exec/model_builder.h"

#include <algorithm>
#include <cstdlib>
#include <time.h>

using namespace loopscope;
using namespace loopscope::testing;

namespace {

constexpr int32_t kTrips = 50'000;
constexpr int kRounds = 7;

constexpr const char* kLoop = R"(
graph main(n: i32[], x: f32[1024]) {
  zero = const i32[] 0
  i, m, y = while(zero, n, x) cond=@cond body=@body : (i32[], i32[], f32[1024])
  return y
}
graph cond(i: i32[], n: i32[], x: f32[1024]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], x: f32[1024]) {
  one = const i32[] 1
  half = const f32[] 0.5
  next = add(i, one) : i32[]
  h = mul(x, half) : f32[1024]
  a = add(h, half) : f32[1024]
  b = mul(a, a) : f32[1024]
  t = sqrt(b) : f32[1024]
  u = mul(t, half) : f32[1024]
  v = div(b, t) : f32[1024]
  w = maximum(v, u) : f32[1024]
  y = sub(w, h) : f32[1024]
  return next, n, y
}
)";

void expect(Status status)
{
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", std::move(status).takeError().message().c_str());
    std::exit(1);
}

/// Time of this thread alone: differences of a few percent are measured.
int64_t cpuNs()
{
    timespec t = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

struct Debugger {
    explicit Debugger(const Model& model)
    {
        Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, GraphId(0));
        if (!made.ok()) expect(std::move(made).takeError());
        executor = std::move(*made);
        std::vector<int32_t> trips = {kTrips};
        std::vector<float> x(1024, 1.0F);
        expect(executor->setInput(0, tensorOver(trips, Shape{})));
        expect(executor->setInput(1, tensorOver(x, Shape{1024})));
        timeline = std::make_unique<Timeline>(*executor);
        target = std::make_unique<DebugTarget>(DebugTarget{model, *executor, *timeline, travel});
        breakpoints = std::make_unique<BreakpointSet>(*target);
        control = std::make_unique<RunControl>(*target, *breakpoints);
    }
    void add(const std::string& spec)
    {
        Result<int> number = breakpoints->add(BreakpointCommand::breakpoint, spec, {});
        if (!number.ok()) expect(std::move(number).takeError());
    }
    double run()
    {
        const int64_t from = cpuNs();
        Result<StopReport> report = control->run();
        if (!report.ok()) expect(std::move(report).takeError());
        if (!report->position.finished) expect(Error(ErrorCode::internal, "a breakpoint stopped"));
        return static_cast<double>(cpuNs() - from) / kTrips;
    }
    TravelControl travel;
    std::unique_ptr<Interpreter> executor;
    std::unique_ptr<Timeline> timeline;
    std::unique_ptr<DebugTarget> target;
    std::unique_ptr<BreakpointSet> breakpoints;
    std::unique_ptr<RunControl> control;
};

} // namespace

int main()
{
    Result<Model> model = modelFromText(kLoop, "bench");
    if (!model.ok()) expect(std::move(model).takeError());
    Debugger plain(*model);
    Debugger scalar(*model);
    scalar.add(".../mul#1 if i < 0");
    Debugger history(*model);
    history.add(".../mul#1 if prev(i) > i");
    Debugger statistics(*model);
    statistics.add("write .../y if max(y) > 1e30");
    Debugger nan(*model);
    nan.add("nan");
    Debugger places(*model);
    for (int k = 0; k < 1000; ++k) places.add("main/while#0@" + std::to_string(2'000'000 + k) + "/#" + std::to_string(k % 9));

    Debugger* const all[] = {&plain, &scalar, &history, &statistics, &nan, &places};
    double best[6] = {1e18, 1e18, 1e18, 1e18, 1e18, 1e18};
    for (int round = 0; round < kRounds; ++round) // in turn: the machine does other things, too
        for (size_t k = 0; k < 6; ++k) best[k] = std::min(best[k], all[k]->run());
    bench::note("breakpoint_iteration", best[0], "ns");
    bench::report("breakpoint_scalar_condition", 100 * (best[1] / best[0] - 1), "%", 10);
    bench::note("breakpoint_scalar_condition_each", best[1] - best[0], "ns");
    bench::note("breakpoint_previous_value_each", best[2] - best[0], "ns");
    bench::report("breakpoint_statistics_of_1024", 100 * (best[3] / best[0] - 1), "%", 25);
    bench::note("breakpoint_nan_everywhere", 100 * (best[4] / best[0] - 1), "%");
    bench::report("breakpoint_thousand_places", 100 * (best[5] / best[0] - 1), "%", 5);
}
