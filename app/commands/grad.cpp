// `loopscope grad`: a graph that computes gradients beside its values.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/output/rewrite_report.h"
#include "app/wiring/lowering.h"
#include "app/wiring/model_file.h"
#include "app/wiring/outputs.h"
#include "app/wiring/pass_context.h"
#include "app/wiring/tf_target.h"
#include "converters/passes/pass_manager.h"
#include "engine/ir/frames.h"

namespace loopscope::app {

namespace {

/// Graphs of TensorFlow 1 are raised first: loops are differentiated as While.
PassPlan planFor(const Model& model)
{
    PassPlan plan;
    for (const Graph& graph : model.graphs)
        if (plan.passes.empty() && model.dialect == Dialect::tf && hasFramesOrSwitches(graph)) plan.passes.emplace_back("raise");
    plan.passes.emplace_back("gradient");
    return plan;
}

/// What a session could be asked for stays, though gradients do not need it.
void keepEverything(const Model& model, RaiseOptions& visible)
{
    if (model.graphs.empty() || model.dialect != Dialect::tf) return;
    const Graph& graph = model.graphs.front();
    for (std::string& name : unreadValues(graph)) visible.fetches.push_back(std::move(name));
    for (const Operator& op : graph.operators)
        if (op.results.empty()) visible.targets.push_back(op.name);
}

std::string gradientsJson(const RewriteReport& report)
{
    JsonWriter json;
    json.beginObject().key("schema").value(1).key("gradients").beginArray();
    for (const Rewrite& rewrite : report.rewrites)
        json.value(rewrite.name.find(':') == std::string::npos ? rewrite.name + ":0" : rewrite.name);
    json.endArray().key("unconnected").beginArray();
    for (const Rewrite& rewrite : report.rewrites)
        if (rewrite.kind == "zeros") json.value(rewrite.nodes.front());
    return json.endArray().endObject().text();
}

/// What could not be raised is why the gradient fails there.
Error withRefusals(Error error, const Model& model, const LoadedModel& file, const PassContext& context)
{
    Model raised = model;
    Result<RewriteReport> report = raiseControlFlow(raised, context.visible);
    if (report.ok() && !report->declined.empty())
        error = std::move(error).note(report->declined.front().where + " could not be raised: " + report->declined.front().reason);
    return std::move(error).at(file.path);
}

} // namespace

Result<int> runGrad(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    LS_TRY(const std::string out, outputPath(arguments, "grad", "loopscope grad model.pb --of loss --wrt w -o gradient.pb"));
    SaveOptions saving = savingOptions(arguments);
    LS_TRY(const Format* const format, formatToSave(out, saving));
    LS_CHECK_OK(checkWritable(out, saving.overwrite));
    GradientNames names;
    names.of = namesIn(arguments.all("of"));
    names.wrt = namesIn(arguments.all("wrt"));
    names.recompute = namesIn(arguments.all("recompute"));
    names.stacks = arguments.has("stacks");
    if (names.of.empty() || names.wrt.empty())
        return Error(ErrorCode::usage, "'grad' has to know what of and by what").expected("--of NAME --wrt NAME");
    LS_TRY(LoadedModel file, loadModel(arguments.positionals[0]));
    LS_CHECK_OK(attachFiles(file.model, arguments));
    names.root = rootOf(file.model, arguments.text("signature"));
    PassContext passes{visibleNames(arguments.all("of"), {}, {}), constantEvaluator(), names};
    keepEverything(file.model, passes.visible);
    for (const std::string& name : names.wrt) passes.visible.fetches.push_back(name);
    const bool isLifted = file.model.dialect != Dialect::tf;
    const PassPlan plan = planFor(file.model);
    const bool isRaised = plan.passes.size() > 1;
    const Model before = isRaised ? file.model : Model();
    Result<std::vector<PassRun>> runs = runPasses(file.model, plan, passes);
    if (!runs.ok()) {
        Error error = std::move(runs).takeError();
        return isRaised ? withRefusals(std::move(error), before, file, passes) : std::move(error).at(file.path);
    }
    if (isLifted && (format->extension == "tflite" || format->extension == "circle")) {
        LS_TRY(LoweredModel lowered, lowerToTflite(file.model, names.root));
        if (!lowered.noForm.empty()) return noFormError(lowered);
        file.model = std::move(lowered.model);
    } else {
        saving.source = file.content;
    }
    LS_CHECK_OK(saveModel(file.model, out, saving));
    const RewriteReport& report = runs->back().report;
    if (console.json()) {
        console.line(gradientsJson(report));
        return 0;
    }
    for (const Rewrite& rewrite : report.rewrites) console.line(rewrite.name + "  " + rewrite.kind + " " + rewrite.from);
    console.line("written: " + out);
    return 0;
}

} // namespace loopscope::app
