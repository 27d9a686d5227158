// `loopscope bench`: how long a model takes, run by run and operator by operator, beside what the machine did for others meanwhile.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/output/progress.h"
#include "app/output/table.h"
#include "app/wiring/asked_run.h"
#include "app/wiring/backend.h"
#include "app/wiring/run_observers.h"
#include "app/wiring/session.h"
#include "app/wiring/tf_target.h"
#include "app/wiring/timings.h"
#include "engine/base/clock.h"

#include <array>
#include <cstdio>

namespace loopscope::app {

namespace {

/// Runs until as many have been timed as were asked for. An interrupt or the time limit ends it with what there is.
/// What a device has to do for a run is done within it.
Status timeRuns(ModelSession& session, VulkanMemory* device, Executor& executor, const AskedRun& asked, int64_t warmup, int64_t repeat,
                ProgressMeter& meter, std::vector<int64_t>& ns)
{
    for (int64_t run = 0; run < warmup + repeat; ++run) {
        const int64_t started = nowNs();
        LS_CHECK_OK(session.run(executor, asked.inputs, 0, nullptr, asked.timeout));
        if (device) LS_CHECK_OK(device->finish());
        if (run >= warmup) ns.push_back(nowNs() - started);
        if (meter.due()) meter.show(run + 1, {}, {});
    }
    return {};
}

/// What a device did for each of several runs.
struct DeviceWork {
    int64_t dispatches = 0, copied = 0; ///< copied: bytes, in both directions
};

DeviceWork workOf(const DeviceTraffic& before, const DeviceTraffic& after, int64_t runs)
{
    const auto each = [&](uint64_t DeviceTraffic::*counter) { return static_cast<int64_t>(after.*counter - before.*counter) / runs; };
    return {each(&DeviceTraffic::launches), each(&DeviceTraffic::uploaded) + each(&DeviceTraffic::readBack)};
}

void sayJson(Console& console, const std::vector<Timing>& rows, const AskedRun& asked, double foreign, const DeviceWork& work)
{
    for (const Timing& row : rows) {
        JsonWriter json;
        json.beginObject().key("schema").value(1).key("name").value(row.name).key("runs").value(row.runs);
        json.key("median_ns").value(row.median).key("p95_ns").value(row.p95).key("min_ns").value(row.least);
        if (row.ratio > 0) json.key("ratio").value(row.ratio);
        if (work.dispatches > 0 && row.name == "run") json.key("dispatches").value(work.dispatches).key("copied_bytes").value(work.copied);
        json.key("profile").value(profileName(asked.options.profile)).key("threads").value(int64_t{asked.options.threads});
        console.line(json.key("foreign_cores").value(foreign).endObject().text());
    }
}

} // namespace

Result<int> runBench(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    LS_TRY(const int64_t warmup, arguments.integer("warmup", 3, 0, 1'000'000));
    LS_TRY(const int64_t repeat, arguments.integer("repeat", 30, 1, 1'000'000));
    const std::string beside = arguments.text("beside");
    const Peer* const peer = peerOf(beside);
    if (!beside.empty() && peer == nullptr)
        return Error(ErrorCode::usage, "option '--beside'").found("'" + beside + "'").expected("litert or tensorflow");
    LS_TRY(const AskedRun asked, askedRun(console, arguments));
    ModelSession session(asked.file.model, asked.options);
    LS_TRY(Executor* const executor, session.enter(asked.target.graph));

    auto* const device = dynamic_cast<VulkanMemory*>(session.deviceOf(*executor));
    const DeviceTraffic trafficBefore = device ? device->traffic() : DeviceTraffic();
    std::vector<int64_t> ns;
    const MachineLoad before = machineLoad();
    {
        ProgressMeter meter(console, "timing", warmup + repeat, "runs/s");
        LS_CHECK_OK(timeRuns(session, device, *executor, asked, warmup, repeat, meter, ns));
    }
    const double foreign = foreignCores(before, machineLoad());
    const DeviceWork work = device ? workOf(trafficBefore, device->traffic(), warmup + repeat) : DeviceWork();
    LS_CHECK_OK(checkStrict(arguments, *executor));
    std::vector<Timing> rows = {timingOf("run", ns)};

    if (peer) {
        LS_TRY(Timing there, timeBeside(*peer, asked, {warmup, repeat, namesOf(arguments, "init"), namesOf(arguments, "target")}));
        there.ratio = there.median > 0 ? static_cast<double>(rows.front().median) / static_cast<double>(there.median) : 0;
        rows.push_back(std::move(there));
    }

    // Operators are timed in runs of their own: looking at the clock costs more than some of them.
    constexpr int64_t kObserved = 5;
    OperatorTimes times(device);
    executor->setObserver(&times);
    for (int64_t run = 0; run < std::min(kObserved, repeat); ++run)
        LS_CHECK_OK(session.run(*executor, asked.inputs, 0, nullptr, asked.timeout));
    executor->setObserver(nullptr);

    if (console.json()) {
        sayJson(console, rows, asked, foreign, work);
        return 0;
    }
    Table table({"what", "runs", "median", "p95", "least", "ratio"});
    for (size_t c = 1; c < 6; ++c) table.align(c, Align::right);
    for (const Timing& row : rows)
        table.add({row.name, std::to_string(row.runs), durationText(row.median), durationText(row.p95), durationText(row.least),
                   row.ratio > 0 ? ratioText(row.ratio) : ""});
    console.print(table.text());
    console.line("profile " + std::string(profileName(asked.options.profile)) + ", " + std::to_string(asked.options.threads) +
                 (asked.options.threads == 1 ? " thread" : " threads") + "; other programs used " + ratioText(foreign) +
                 " cores meanwhile");
    if (device)
        console.line("device: " + device->device().info().name + ", " + std::to_string(work.dispatches) + " dispatches and " +
                     std::to_string(work.copied) + " bytes copied a run");
    if (const std::string text = fallbackText(executor->model(), executor->kernelReport(), asked.options.profile); !text.empty())
        console.note(text);
    if (const std::string text = fullDeviceText(device); !text.empty()) console.note(text);
    std::vector<Shape> shapes;
    for (const BoundInput& input : asked.inputs.inputs) shapes.push_back(input.forRun(0).shape);
    const OperatorTimes::Ceiling ceiling = {workOf(executor->model(), asked.target.graph, shapes), measureCeiling(), asked.options.threads};
    console.print(times.table(asked.file.model, executor->kernelReport(), asked.options.profile, &ceiling));
    std::array<char, 160> text = {};
    std::snprintf(text.data(), text.size(), "ceiling of one thread: %.1f GFLOP/s, %.1f GOP/s on 8 bits, memory %.1f GB/s",
                  2e-9 * ceiling.machine.floatMacs, 2e-9 * ceiling.machine.integerMacs, 1e-9 * ceiling.machine.bytes);
    console.line(text.data());
    return 0;
}

} // namespace loopscope::app
