// `loopscope run`: executes a model and prints or stores its outputs.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/output/progress.h"
#include "app/ranks/distributed_run.h"
#include "app/wiring/asked_run.h"
#include "app/wiring/backend.h"
#include "app/wiring/outputs.h"
#include "app/wiring/run_observers.h"
#include "app/wiring/session.h"
#include "app/wiring/tf_target.h"
#include "engine/base/clock.h"

namespace loopscope::app {

namespace {

void printLoops(Console& console, int64_t steps, const LoopCounter& loops)
{
    constexpr size_t kShown = 3;
    std::string line = console.number(steps) + (steps == 1 ? " step" : " steps");
    const std::vector<LoopTrips> trips = loops.loops();
    for (size_t i = 0; i < trips.size() && i < kShown; ++i)
        line += ", " + console.number(trips[i].trips) + (trips[i].trips == 1 ? " iteration of " : " iterations of ") + trips[i].address;
    if (trips.size() > kShown) line += ", and " + std::to_string(trips.size() - kShown) + " more loops";
    console.line(line);
}

} // namespace

Result<int> runRun(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    if (arguments.has("distributed")) return runDistributed(console, arguments);
    LS_TRY(const AskedRun asked, askedRun(console, arguments, KeptLoop::used));
    const auto& [options, runs, timeout, file, target, inputs, initialiser] = asked;
    const std::string outPath = arguments.text("output");
    LS_CHECK_OK(checkWritable(outPath, arguments.has("force")));

    ModelSession session(file.model, options);
    LS_TRY(Executor* const executor, session.enter(target.graph));
    const std::vector<std::string> warnings = runWarnings(file.model, target.graph);
    for (const std::string& warning : warnings) console.warning(warning);

    PrintedLines printed(console);
    LoopCounter loops(&printed);
    OperatorTimes times(arguments.has("time") ? dynamic_cast<VulkanMemory*>(session.deviceOf(*executor)) : nullptr);
    FanOut both;
    both.add(loops);
    both.add(times);
    executor->setObserver(arguments.has("time") ? static_cast<ExecutionObserver*>(&both) : &loops);

    OutputSink sink(target);
    int64_t steps = 0;
    const int64_t started = nowNs();
    for (int64_t run = 0; run < runs; ++run) {
        ProgressMeter meter(console, "running", knownSteps(file.model, target.graph), "steps/s");
        Status status = session.run(*executor, inputs, run, console.showsProgress() ? &meter : nullptr, timeout);
        steps += executor->position().step;
        for (const DataflowRace& race : executor->races()) console.warning("race: " + race.text);
        if (!status.ok()) return withAdviceOnVariables(std::move(status).takeError(), file.model, initialiser);
        LS_CHECK_OK(checkStrict(arguments, *executor));
        if (const std::string text = fallbackText(executor->model(), executor->kernelReport(), options.profile); run == 0 && !text.empty())
            console.note(text);
        if (const std::string text = fullDeviceText(session.deviceOf(*executor)); run + 1 == runs && !text.empty()) console.note(text);
        std::vector<Tensor> outputs;
        std::vector<Array> reals; // what `outputs` shows of them under --dequantize
        for (const Port& port : target.outputs) {
            outputs.push_back(executor->output(port.index));
            if (!arguments.has("dequantize")) continue;
            reals.push_back(dequantized(outputs.back()));
            outputs.back() = reals.back().view();
        }
        if (!outPath.empty()) sink.keep(outputs, runs > 1 ? run + 1 : 0);
        if (console.json() || !outPath.empty()) {
            if (console.json()) {
                JsonWriter json;
                json.beginObject().key("schema").value(1);
                if (runs > 1) json.key("run").value(run + 1);
                json.key("outputs").beginArray();
                for (size_t k = 0; k < outputs.size(); ++k) json.tensor(target.outputs[k].name, outputs[k]);
                json.endArray().key("steps").value(executor->position().step);
                json.key("seconds").value(static_cast<double>(nowNs() - started) / 1e9).key("loops").beginArray();
                for (const LoopTrips& loop : loops.loops())
                    json.beginObject().key("address").value(loop.address).key("trips").value(loop.trips).endObject();
                json.endArray().key("warnings").beginArray();
                for (const std::string& warning : warnings) json.value(warning);
                json.endArray().endObject();
                console.line(json.text());
            }
            continue;
        }
        if (runs > 1) console.line(console.paint(Style::faint, "run " + std::to_string(run + 1)));
        console.print(outputsText(target, outputs, arguments.has("print")));
    }
    executor->setObserver(nullptr);
    if (!outPath.empty()) LS_CHECK_OK(sink.write(outPath, arguments.text("format"), arguments.has("force")));
    if (console.json()) return 0;
    if (arguments.has("time")) console.print(times.table(file.model, executor->kernelReport(), options.profile));
    if (!outPath.empty()) console.line(outPath + ": " + std::to_string(sink.count()) + (sink.count() == 1 ? " array" : " arrays"));
    printLoops(console, steps, loops);
    return 0;
}

} // namespace loopscope::app
