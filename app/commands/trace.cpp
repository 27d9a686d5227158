// `loopscope trace`: runs a model and records what happens.
#include "app/commands/commands.h"
#include "app/commands/folder_runs.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/output/progress.h"
#include "app/ranks/driven_run.h"
#include "app/wiring/asked_run.h"
#include "app/wiring/backend.h"
#include "app/wiring/outputs.h"
#include "app/wiring/recording.h"
#include "app/wiring/run_observers.h"
#include "app/wiring/session.h"
#include "app/wiring/signals.h"
#include "app/wiring/tf_target.h"
#include "engine/base/text.h"

#include <filesystem>

namespace loopscope::app {

namespace {

/// Of a trace that is being written: the file and its write-ahead log.
uint64_t sizeOnDisk(const std::string& path)
{
    uint64_t sum = 0;
    for (const char* suffix : {"", "-wal"}) {
        std::error_code error;
        const auto bytes = std::filesystem::file_size(path + suffix, error);
        if (!error) sum += bytes;
    }
    return sum;
}

/// Where the operators of a graph that is cut between devices stand.
std::vector<TracePlace> placesOf(const Graph& graph, GraphId id, const CutPlan* plan)
{
    std::vector<TracePlace> places;
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const std::string device(attributeString(graph.operators[o].attributes, "@device", ""));
        if (device.empty()) continue;
        places.push_back({id, OperatorId(static_cast<int64_t>(o)), device, plan ? plan->rankOf.at(device) : 0});
    }
    return places;
}

void report(Console& console, const RecordingSummary& summary, TraceLevel level)
{
    if (console.json()) {
        JsonWriter json;
        json.beginObject().key("schema").value(1).key("file").value(summary.path).key("events").value(summary.events);
        json.key("bytes").value(summary.bytes).key("level").value(levelName(level)).key("state").value(summary.state);
        json.key("gaps").value(summary.gaps).key("steps").value(summary.steps).key("alerts").value(summary.alerts).endObject();
        console.line(json.text());
        return;
    }
    std::string line =
        summary.path + ": " + console.number(summary.events) + (summary.events == 1 ? " event" : " events") + ", level " + levelName(level);
    if (summary.gaps > 0) line += ", " + console.number(summary.gaps) + (summary.gaps == 1 ? " gap" : " gaps");
    if (summary.alerts > 0) line += ", " + console.number(summary.alerts) + (summary.alerts == 1 ? " alert" : " alerts");
    if (summary.state != "complete") line += ", " + summary.state;
    if (console.verbose()) line += ", " + formatBytes(summary.bytes);
    console.line(line);
}

} // namespace

Result<int> runTrace(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    if (namesGoldenFolder(arguments)) return traceFolder(context);
    LS_TRY(const std::unique_ptr<DrivenRanks> ranks, DrivenRanks::join(arguments));
    if (const std::optional<int> code = ranks->serve(arguments)) return *code;
    LS_TRY(AskedRun asked, askedRun(console, arguments, KeptLoop::used));
    ranks->drive(asked.file.model, asked.target.graph, asked.options);
    const auto& [options, runs, timeout, file, target, inputs, initialiser] = asked;

    LS_TRY(RecorderOptions recording, recorderOptions(arguments, file, inputs));
    recording.profile = profileName(options.profile);
    if (options.profile == Profile::vulkan) recording.backend = "vulkan";
    if (inputs.usedSeed) recording.seed = options.seed;
    recording.places = placesOf(file.model.graph(target.graph), target.graph, ranks->plan());
    const TraceLevel level = recording.level;
    if (recording.path.empty()) recording.path = std::filesystem::path(file.path).stem().string() + ".lstrace";
    const std::string path = recording.path;
    if (recording.append && recording.overwrite) return Error(ErrorCode::usage, "--append and --force exclude each other");
    if (!recording.append) LS_CHECK_OK(checkWritable(path, recording.overwrite));

    ModelSession session(file.model, options);
    LS_TRY(Executor* const executor, session.enter(target.graph));
    for (const std::string& warning : runWarnings(file.model, target.graph)) console.warning(warning);
    LS_TRY(const std::unique_ptr<TraceRecorder> recorder, TraceRecorder::create(file.model, std::move(recording)));
    PrintedLines printed(console);
    FanOut observers;
    observers.add(*recorder);
    observers.add(printed);
    executor->setObserver(&observers);

    Status outcome;
    for (int64_t run = 0; run < runs && outcome.ok(); ++run) {
        ProgressMeter meter(console, "recording", knownSteps(file.model, target.graph), "steps/s");
        outcome = session.run(*executor, inputs, run, console.showsProgress() ? &meter : nullptr, timeout,
                              [&] { return formatBytes(sizeOnDisk(path)); });
    }
    executor->setObserver(nullptr);
    if (const std::string text = fallbackText(executor->model(), executor->kernelReport(), options.profile); !text.empty())
        console.note(text);
    if (const std::string text = fullDeviceText(session.deviceOf(*executor)); !text.empty()) console.note(text);
    // The file is closed whatever happened: a cancelled or failed run leaves a valid trace up to there.
    const Unhurried closing;
    Status closed = recorder->finish();
    if (closed.ok() || recorder->summary().events > 0) report(console, recorder->summary(), level);
    if (recorder->summary().events == 0 && outcome.ok() && level != TraceLevel::control && arguments.has("only"))
        console.note("nothing is recorded: no operator that ran fits --only " + join(arguments.all("only"), " --only "));
    if (!outcome.ok()) return withAdviceOnVariables(std::move(outcome).takeError(), file.model, initialiser);
    if (!closed.ok()) return std::move(closed).takeError();
    if (recorder->summary().state == "quota")
        return Error(ErrorCode::cannotWrite, "the quota is used up: events are missing ('loopscope query TRACE gaps' lists them)").at(path);
    LS_CHECK_OK(checkStrict(arguments, *executor));
    return 0;
}

} // namespace loopscope::app
