// What a debugger costs: the first stop, steps, a run with and without breakpoints, pausing, and going back, over a loop of a million
// iterations with ten operators each. Models named in MODELS (paths, separated by blanks) are run plain and under the debugger, too,
// with PROFILE=fast by that profile; ONLY=networks measures the networks of the profile `fast` alone, or one by its name.
#include "converters/formats.h"
#include "engine/api/debug_session.h"
#include "engine/base/clock.h"
#include "engine/debug/timeline.h"
#include "engine/exec/interpreter.h"
#include "tests/bench/networks.h"
#include "tests/bench/report.h"
#include "tests/unit/exec/model_builder.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <future>
#include <random>
#include <sstream>

using namespace loopscope;
using namespace loopscope::testing;

namespace {

constexpr int32_t kTrips = 1'000'000;

/// Ten operators in an iteration, and a branch with a thousand that is never taken.
std::string loopText()
{
    std::string text = R"(
graph main(n: i32[], x: f32[16]) {
  zero = const i32[] 0
  i, m, y = while(zero, n, x) cond=@cond body=@body : (i32[], i32[], f32[16])
  small = less(n, zero) : bool[]
  z = if(small, y) then=@never else=@always : f32[16]
  return z
}
graph cond(i: i32[], n: i32[], x: f32[16]) {
  go = less(i, n) : bool[]
  return go
}
graph body(i: i32[], n: i32[], x: f32[16]) {
  one = const i32[] 1
  half = const f32[] 0.5
  next = add(i, one) : i32[]
  a = mul(x, half) : f32[16]
  b = add(a, half) : f32[16]
  c = sub(b, x) : f32[16]
  d = mul(c, half) : f32[16]
  e = add(d, a) : f32[16]
  f = mul(e, half) : f32[16]
  g = sub(f, d) : f32[16]
  h = add(g, half) : f32[16]
  return next, n, h
}
graph always(x: f32[16]) {
  half = const f32[] 0.5
  y = mul(x, half) : f32[16]
  return y
}
graph never(x: f32[16]) {
  half = const f32[] 0.5
  v0 = mul(x, half) : f32[16]
)";
    for (int i = 1; i < 1000; ++i) text += "  v" + std::to_string(i) + " = add(v" + std::to_string(i - 1) + ", half) : f32[16]\n";
    return text + "  return v999\n}\n";
}

[[noreturn]] void giveUp(Status status)
{
    std::fprintf(stderr, "%s\n", std::move(status).takeError().message().c_str());
    std::exit(1);
}

void expect(Status status)
{
    if (!status.ok()) giveUp(std::move(status));
}

StopReport expect(Result<StopReport> report)
{
    if (!report.ok()) giveUp(std::move(report).takeError());
    return std::move(report).value();
}

StopReport expect(Result<Stop> stop)
{
    if (!stop.ok()) giveUp(std::move(stop).takeError());
    return std::move(stop->report);
}

double share(std::vector<double> times, double part)
{
    std::ranges::sort(times);
    return times[static_cast<size_t>(part * static_cast<double>(times.size() - 1))];
}

/// Time that this thread ran: what others do to the machine shows less in it than in the time of day.
int64_t threadNs()
{
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

double since(int64_t from) { return static_cast<double>(nowNs() - from); }

Status setZeros(Interpreter& interpreter)
{
    const Graph& graph = interpreter.model().graph(interpreter.root());
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
        const TensorType& type = graph.value(graph.inputs[i]).type;
        std::vector<int64_t> dims;
        for (int d = 0; d < type.shape.rank(); ++d) dims.push_back(std::max<int64_t>(type.shape[d], 1));
        Tensor zeros;
        zeros.dtype = type.dtype;
        zeros.shape = Shape(std::span<const int64_t>(dims));
        std::vector<std::byte> bytes(byteSize(zeros.dtype, zeros.shape.elementCount()));
        zeros.data = bytes.data();
        zeros.bytes = bytes.size();
        LS_CHECK_OK(interpreter.setInput(static_cast<int>(i), zeros));
    }
    return {};
}

void setLoopInputs(Interpreter& interpreter)
{
    std::vector<int32_t> trips = {kTrips};
    std::vector<float> x(16, 1.0F);
    expect(interpreter.setInput(0, tensorOver(trips, Shape{})));
    expect(interpreter.setInput(1, tensorOver(x, Shape{16})));
}

/// An interpreter with the flag that cancels it.
struct Made {
    std::unique_ptr<CancelFlag> cancel = std::make_unique<CancelFlag>();
    std::unique_ptr<Interpreter> interpreter;
    Made(const Model& model, Profile profile)
    {
        ExecutionOptions options;
        options.profile = profile;
        options.cancel = cancel.get();
        Result<std::unique_ptr<Interpreter>> made = Interpreter::create(model, GraphId(0), options);
        if (!made.ok()) giveUp(std::move(made).takeError());
        interpreter = std::move(made).value();
    }
};

/// What a session has on its thread, on this one: what running costs is measured without the way to another thread.
struct Debugger {
    explicit Debugger(Made& made)
        : timeline(*made.interpreter),
          target{made.interpreter->model(), *made.interpreter, timeline, travel},
          breakpoints(target),
          control(target, breakpoints)
    {
    }
    Timeline timeline;
    TravelControl travel;
    DebugTarget target;
    BreakpointSet breakpoints;
    RunControl control;
};

std::unique_ptr<DebugSession> sessionOn(const Model& model)
{
    OpenOptions options;
    options.inputs = {"n=" + std::to_string(kTrips), "x=1"};
    options.execution.maxSteps = INT64_MAX;
    Result<DebugSubject> subject = subjectOf(model, "bench", std::move(options));
    if (!subject.ok()) giveUp(std::move(subject).takeError());
    return std::make_unique<DebugSession>(std::move(*subject));
}

void breakAt(DebugSession& session, const std::string& spec)
{
    if (const Result<BreakpointInfo> made = session.addBreakpoint(breakOn(spec)); !made.ok()) giveUp(made.error().copy());
}

void breakAt(Debugger& debugger, const std::string& spec)
{
    if (Result<int> number = debugger.breakpoints.add(breakOn(spec), {}); !number.ok()) giveUp(std::move(number).takeError());
}

void measureFirstStop(const Model& model)
{
    const int64_t from = nowNs();
    const auto session = sessionOn(model);
    expect(session->begin({{}, false}));
    bench::report("session_first_stop", since(from) / 1e6, "ms", 50);
}

/// A plain run, one under a debugger without breakpoints, and one with a thousand of them, in turn.
void measureRuns(const Model& model, const char* name, int rounds, bool manyBreakpoints, Profile profile = Profile::reference)
{
    Made made(model, profile);
    if (manyBreakpoints) setLoopInputs(*made.interpreter);
    else expect(setZeros(*made.interpreter));
    Debugger debugger(made);
    // By turns, in all orders: neighbours in time have the same neighbours on the machine.
    std::vector<double> plain;
    std::vector<double> idle;
    std::vector<double> many;
    double checkpoints = 1e18;
    const auto plainRun = [&] {
        const int64_t from = threadNs();
        expect(debugger.target.executor.start()); // the same memory: where it lies makes a difference of its own
        expect(debugger.target.executor.run());
        return static_cast<double>(threadNs() - from);
    };
    const auto debuggedRun = [&] {
        const int64_t from = threadNs();
        expect(debugger.control.run());
        return static_cast<double>(threadNs() - from);
    };
    for (int round = 0; round < rounds; ++round) {
        double times[3] = {};
        for (int turn = 0; turn < 3; ++turn) {
            const int which = (round + turn) % 3;
            if (which == 2 && !manyBreakpoints) continue;
            if (which == 2)
                for (int i = 0; i < 1000; ++i)
                    breakAt(debugger, "main/if#2:then/" + std::string(i == 0 ? "mul" : "add") + "#" + std::to_string(i));
            times[which] = which == 0 ? plainRun() : debuggedRun();
            if (which == 1) checkpoints = std::min(checkpoints, debugger.timeline.checkpointOverhead());
            debugger.breakpoints.removeAll();
        }
        plain.push_back(times[0]);
        idle.push_back(times[1] / times[0]);
        many.push_back(times[2] / times[0]);
    }
    // A run that is over in less than a millisecond shows what beginning and reporting cost, not running.
    const double time = share(plain, 0.5);
    const double more = share(idle, 0.5) - 1;
    if (time >= 1e6) bench::report((std::string(name) + "_idle_over_plain").c_str(), 100 * more, "%", 3);
    else bench::report((std::string(name) + "_begin_and_report").c_str(), more * time / 1e3, "us", 100);
    if (manyBreakpoints) bench::report((std::string(name) + "_1000_breakpoints_over_plain").c_str(), 100 * (share(many, 0.5) - 1), "%", 5);
    bench::report((std::string(name) + "_checkpoints").c_str(), 100 * checkpoints, "%", 5);
}

void measureSteps(DebugSession& session)
{
    std::vector<double> times;
    expect(session.begin({{}, false}));
    const int64_t from = nowNs();
    for (int i = 0; i < 100'000; ++i) {
        const int64_t begin = nowNs();
        expect(session.move(request::Step()));
        times.push_back(since(begin) / 1e3);
    }
    bench::report("session_step_p50", share(times, 0.5), "us", 100);
    bench::report("session_step_p99", share(times, 0.99), "us", 1000);
    bench::report("session_step_mean", since(from) / 1e3 / 100'000, "us", 100);
    times.clear();
    for (int i = 0; i < 10'000; ++i) {
        const int64_t begin = nowNs();
        expect(session.move(request::Step{Direction::backward}));
        times.push_back(since(begin) / 1e6);
    }
    bench::report("session_step_back_p50", share(times, 0.5), "ms", 1);
    bench::report("session_step_back_p99", share(times, 0.99), "ms", 5);
    breakAt(session, "main/if#2:then/mul#0");
    times.clear();
    for (int i = 0; i < 10'000; ++i) {
        const int64_t begin = nowNs();
        expect(session.move(request::Step()));
        times.push_back(since(begin) / 1e3);
    }
    bench::report("session_step_with_breakpoint_p50", share(times, 0.5), "us", 100);
    expect(session.removeBreakpoint());
}

/// Pauses at random moments of a long run, and of a long way back.
void measurePauses(DebugSession& session)
{
    std::mt19937 random(1);
    std::vector<double> times;
    for (int i = 0; i < 40; ++i) {
        const bool back = i % 2 == 1;
        std::promise<StopReport> promise;
        expect(session.move(request::GoToStart()));
        if (back) expect(session.move(request::GoToEnd()));
        breakAt(session, "main/if#2:then/mul#0");
        session.post("long", request::Resume{back ? Direction::backward : Direction::forward}, {},
                     [&](Result<Stop> stop) { promise.set_value(expect(std::move(stop))); });
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 50'000));
        const int64_t from = nowNs();
        session.pause();
        const StopReport report = promise.get_future().get();
        expect(session.removeBreakpoint());
        if (report.has(StopCause::cancelled)) times.push_back(since(from) / 1e6);
    }
    bench::report("session_pause_most", share(times, 1), "ms", 50);
}

void measureReverse(DebugSession& session)
{
    std::vector<double> ratios;
    for (const int64_t iteration : {100'000, 500'000, 900'000, 100'000, 500'000, 900'000}) {
        breakAt(session, "main/while#0@" + std::to_string(iteration) + ":body/mul#1");
        expect(session.move(request::GoToPlace{"main/while#0@" + std::to_string(iteration) + ":body/sub#3"}));
        int64_t from = nowNs();
        expect(session.move(request::Resume()));
        const double forward = since(from);
        from = nowNs();
        const StopReport report = expect(session.move(request::Resume{Direction::backward}));
        const double backward = since(from);
        if (!report.has(StopCause::breakpoint)) giveUp(Error(ErrorCode::internal, "not hit"));
        ratios.push_back(backward / forward);
        expect(session.removeBreakpoint());
    }
    double worst = 0; // of the three places, the better of two rounds
    for (size_t i = 0; i < 3; ++i) worst = std::max(worst, std::min(ratios[i], ratios[i + 3]));
    bench::report("session_reverse_continue", worst, "x forward", 1.3);
}

void measureJumps(DebugSession& session)
{
    std::mt19937 random(1);
    std::vector<double> times;
    expect(session.move(request::GoToPlace{"main/while#0@5:body/add#8"}));
    for (int i = 0; i < 300; ++i) {
        const int64_t from = nowNs();
        expect(session.move(request::Iterate{request::Iterate::To::number, static_cast<int64_t>(random() % kTrips)}));
        times.push_back(since(from) / 1e6);
    }
    bench::report("session_any_iteration_p95", share(times, 0.95), "ms", 50);
    bench::report("session_saved",
                  static_cast<double>(session.ask([](Inspector& inspector) { return inspector.savedStates().bytes; }).value()) / (1 << 20),
                  "MiB", 256);
}

/// A debugger that looks at nothing beside a plain run, on what the profile `fast` is measured with.
void measureNetworks(const std::string& only)
{
    const std::pair<const char*, std::string> texts[] = {{"mobilenet_v1_f32", bench::textOf(bench::mobilenetV1(), false)},
                                                         {"mobilenet_v1_i8", bench::textOf(bench::mobilenetV1(), true)},
                                                         {"mobilenet_v2_f32", bench::textOf(bench::mobilenetV2(), false)},
                                                         {"resnet_f32", bench::textOf(bench::resnet50(), false)},
                                                         {"transformer_f32", bench::textOf(bench::transformerBlock(), false)},
                                                         {"lstm_loop", bench::lstmLoopText(64, 10'000)}};
    for (const auto& [name, text] : texts) {
        if (only != "networks" && std::string(name).find(only) == std::string::npos) continue;
        Result<Model> model = modelFromText(text, name);
        if (!model.ok()) giveUp(std::move(model).takeError());
        measureRuns(*model, (std::string("session_") + name).c_str(), 30, false, Profile::fast);
    }
}

} // namespace

int main()
{
    if (const char* const only = std::getenv("ONLY")) {
        measureNetworks(only);
        return 0;
    }
    Result<Model> model = modelFromText(loopText(), "bench");
    if (!model.ok()) giveUp(std::move(model).takeError());
    measureFirstStop(*model);
    measureRuns(*model, "session", 15, true);
    const auto session = sessionOn(*model);
    measureSteps(*session);
    measurePauses(*session);
    expect(session->begin({{}, false}));
    measureReverse(*session);
    measureJumps(*session);
    measureNetworks({});
    const char* const models = std::getenv("MODELS");
    std::istringstream paths{std::string(models ? models : "")};
    for (std::string path; paths >> path;) {
        Result<LoadedModel> file = loadModel(path);
        if (!file.ok()) giveUp(std::move(file).takeError());
        const size_t slash = path.find_last_of('/');
        const size_t folder = slash == std::string::npos || slash == 0 ? 0 : path.find_last_of('/', slash - 1) + 1;
        const std::string name = path.substr(folder);
        const char* const profile = std::getenv("PROFILE");
        measureRuns(file->model, ("session_" + name).c_str(), 30, false,
                    profile && std::string(profile) == "fast" ? Profile::fast : Profile::reference);
    }
}
