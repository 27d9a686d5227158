// How soon a recording of four million events is somewhere and knows a value's history: a loop of a million iterations is recorded at the
// default level and stepped through again.
#include "app/output/listing.h"
#include "app/replay/replay_executor.h"
#include "converters/lsir/lsir.h"
#include "engine/base/clock.h"
#include "engine/debug/breakpoints/breakpoint_set.h"
#include "engine/debug/control/run_control.h"
#include "engine/debug/inspect/value_history.h"
#include "engine/debug/timeline.h"
#include "engine/exec/interpreter.h"
#include "tests/bench/report.h"
#include "tests/unit/exec/model_builder.h"
#include "tracer/record/recorder.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

using namespace loopscope;
using namespace loopscope::testing;

namespace {

constexpr int32_t kTrips = 1'000'000;

constexpr const char* kLoop = R"(
graph main(n: i32[]) {
  zero = const i32[] 0
  i, s, m = while(zero, zero, n) cond=@cond body=@body : (i32[], i32[], i32[])
  return s
}
graph cond(i: i32[], s: i32[], n: i32[]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], s: i32[], n: i32[]) {
  one = const i32[] 1
  next = add(i, one) : i32[]
  more = add(s, next) : i32[]
  half = sub(more, i) : i32[]
  return next, half, n
}
)";

template <typename T> T expect(Result<T> result)
{
    if (!result.ok()) {
        std::fprintf(stderr, "%s\n", result.error().message().c_str());
        std::exit(1);
    }
    return std::move(result).value();
}

void expect(Status status)
{
    if (!status.ok()) expect(Result<int>(std::move(status).takeError()));
}

void record(const Model& model, const std::string& path)
{
    RecorderOptions options;
    options.path = path;
    options.overwrite = true;
    options.listing = app::graphListing;
    const auto recorder = expect(TraceRecorder::create(model, options));
    const auto interpreter = expect(Interpreter::create(model, GraphId(0), {}));
    std::vector<int32_t> trips = {kTrips};
    expect(interpreter->setInput(0, tensorOver(trips, Shape{})));
    interpreter->setObserver(recorder.get());
    expect(interpreter->start());
    expect(interpreter->run());
    expect(recorder->finish());
}

double ms(int64_t from) { return static_cast<double>(nowNs() - from) / 1e6; }

ResolvedAddress place(const Model& model, const char* text) { return expect(resolveAddress(model, expect(parseAddress(text)))); }

} // namespace

int main()
{
    const char* folder = std::getenv("TMPDIR");
    const std::string path = std::string(folder != nullptr ? folder : "/tmp") + "/loopscope_bench_" + std::to_string(getpid()) + ".lstrace";
    record(expect(modelFromText(kLoop, "loop")), path);

    const int64_t opening = nowNs();
    const auto replay = app::replayExecutor(expect(app::openRecording(path, 0)), nullptr);
    Timeline timeline(*replay);
    TravelControl travel;
    const DebugTarget target{replay->model(), *replay, timeline, travel};
    BreakpointSet breakpoints(target);
    RunControl control(target, breakpoints);
    expect(control.start());
    bench::note("replay_first_stop", ms(opening), "ms");
    double worst = 0;
    for (const char* text : {"main/while#0@999999:body/sub#2", "main/while#0@3:cond/less#0", "main/while#0@500000:body/add#1"}) {
        const int64_t from = nowNs();
        const StopReport report = expect(control.goTo(place(replay->model(), text)));
        worst = std::max(worst, ms(from));
        if (report.address != text) std::fprintf(stderr, "stands at %s instead of %s\n", report.address.c_str(), text);
    }
    bench::report("replay_goto_in_4m_events", worst, "ms", 100);
    const int64_t stepping = nowNs();
    expect(control.goToStep(3'123'456));
    bench::report("replay_goto_step", ms(stepping), "ms", 100);
    worst = 0;
    for (const char* text : {"main/while#0@500000:body/more", "main/while#0@500000:body/i"}) {
        const int64_t from = nowNs();
        const ValueSeries series = expect(collectSeries(target, {}, place(replay->model(), text), SeriesOptions()));
        worst = std::max(worst, ms(from));
        if (series.iterations != kTrips || !series.complete)
            std::fprintf(stderr, "%s: %lld iterations\n", text, static_cast<long long>(series.iterations));
    }
    bench::report("replay_hist_of_1m_iterations", worst, "ms", 1000);
    for (const char* suffix : {"", "-wal", "-shm"}) unlink((path + suffix).c_str());
    return 0;
}
