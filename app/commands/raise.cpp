// `loopscope raise` and `loopscope passes`: graphs of TensorFlow 1 in the form that TensorFlow 2 and TFLite have, and other rewrites by
// name.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/output/listing.h"
#include "app/output/rewrite_report.h"
#include "app/wiring/model_file.h"
#include "app/wiring/outputs.h"
#include "app/wiring/pass_context.h"
#include "app/wiring/proof_run.h"
#include "app/wiring/recording.h"
#include "app/wiring/tf_target.h"
#include "converters/passes/pass_manager.h"
#include "engine/base/bytes.h"
#include "engine/transform/run_selection.h"

#include <algorithm>

namespace loopscope::app {

namespace {

constexpr int64_t kDrawn = 8; ///< inputs of `--prove` where none are given

Result<PassPlan> planOf(const CommandContext& context)
{
    const Arguments& arguments = context.arguments;
    PassPlan plan;
    LS_TRY(plan.passes, passNames(arguments.text("passes", "raise")));
    LS_TRY(plan.skipped, passNames(arguments.text("skip")));
    if (!arguments.has("show")) return plan;
    LS_TRY(const std::vector<std::string> shown, passNames(arguments.text("show")));
    plan.show = [shown, &console = context.console](const Pass& pass, PassMoment moment, const Model& model) {
        if (std::find(shown.begin(), shown.end(), pass.name) == shown.end()) return;
        console.line("; " + std::string(moment == PassMoment::before ? "before " : "after ") + std::string(pass.name));
        for (const ListingLine& line : listModel(model, std::nullopt)) console.line(line.text);
    };
    return plan;
}

/// Makes both graphs run that a proof holds against each other: what is asked for, or else of what nothing reads all that both have.
Status selectShared(Model& before, Model& after, RunSelection selection, GraphId root, bool isAsked, Console& console)
{
    const Graph& there = after.graph(root);
    if (!isAsked) {
        const size_t all = selection.fetches.size();
        std::erase_if(selection.fetches, [&](const std::string& id) { return !there.findValue(id).valid(); });
        if (const size_t missing = all - selection.fetches.size(); missing > 0)
            console.note(std::to_string(missing) + " of " + std::to_string(all) +
                         " values that nothing reads are not at the top of what came out; --fetch says which are wanted");
        std::erase_if(selection.targets, [&](const std::string& name) {
            return std::ranges::find(there.operators, name, &Operator::name) == there.operators.end();
        });
        if (selection.fetches.empty() && selection.targets.empty() && there.outputs.empty())
            return Error(ErrorCode::usage, "there is nothing to ask both graphs for").at("'--prove'").expected("--fetch NAME");
    }
    RunSelection other = selection;
    std::erase_if(other.feeds, [&](const std::string& id) { return !there.findValue(id).valid(); });
    LS_TRY(before, selectForRun(before, root, selection));
    LS_TRY(after, selectForRun(after, root, other));
    return {};
}

/// Holds what came out against what went in, on the inputs that the command line names or that are drawn. The exit code of a proof.
Result<int> provedOf(const CommandContext& context, const LoadedModel& file, const Model& raised, RewriteProof& told)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    LoadedModel before = file, after = file;
    after.model = raised;
    const std::string signature = arguments.text("signature");
    LS_TRY(RunSelection selection, selectionFromArguments(before, arguments));
    setAttribute(after.model.attributes, "init_op", std::string(attributeString(before.model.attributes, "init_op", "")));
    const GraphId root = rootOf(before.model, signature);
    if (!raised.hasGraph(root)) return Error(ErrorCode::usage, "the graph that runs is gone").at("'--prove'");
    const bool isAsked = arguments.has("fetch") || arguments.has("target");
    LS_CHECK_OK(selectShared(before.model, after.model, std::move(selection), root, isAsked, console));
    LS_TRY(const RunTarget target, targetOf(before, signature));
    LS_TRY(const RunTarget other, targetOf(after, signature));
    LS_TRY(ProofRequest asked, proofRequest(console, arguments, target, kDrawn));
    LS_TRY(asked.pair, pairForProof(before.model, target, after.model, other));
    LS_TRY(const ProofOutcome outcome, proveAll(console, asked));
    told.verdict = verdictWord(outcome);
    told.error = outcome.proof.maxAbs;
    told.lines = pairingLines(asked);
    const std::vector<std::string> lines = outcomeLines(console, asked, outcome);
    told.lines.insert(told.lines.end(), lines.begin(), lines.end());
    JsonWriter json;
    json.beginObject();
    addProof(json, asked, outcome);
    told.json = json.endObject().text();
    if (!console.json())
        for (const std::string& line : told.lines) console.line(line);
    return exitCodeOf(outcome);
}

} // namespace

Result<int> runPassList(const CommandContext& context)
{
    for (const Pass& pass : allPasses()) {
        if (context.console.json())
            context.console.line(JsonWriter()
                                     .beginObject()
                                     .key("schema")
                                     .value(1)
                                     .key("name")
                                     .value(pass.name)
                                     .key("summary")
                                     .value(pass.summary)
                                     .endObject()
                                     .text());
        else
            context.console.line(std::string(pass.name) + std::string(pass.name.size() < 24 ? 24 - pass.name.size() : 1, ' ') +
                                 std::string(pass.summary));
    }
    return 0;
}

Result<int> runRaiseCommand(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    const std::string reportPath = arguments.text("report");
    std::string out = arguments.text("output");
    if (out.empty() && reportPath.empty()) {
        LS_TRY(out, outputPath(arguments, "raise", "loopscope raise samples/text/v1_collatz.lsir -o collatz.pb"));
    }
    SaveOptions saving = savingOptions(arguments);
    if (!out.empty()) {
        LS_TRY([[maybe_unused]] const Format* const format, formatToSave(out, saving));
    }
    LS_CHECK_OK(checkReportName(reportPath));
    LS_CHECK_OK(checkWritable(out, saving.overwrite));
    LS_CHECK_OK(checkWritable(reportPath, saving.overwrite));
    LS_TRY(const PassPlan plan, planOf(context));
    LS_TRY(LoadedModel file, loadModel(arguments.positionals[0]));
    LS_CHECK_OK(attachFiles(file.model, arguments));
    const LoadedModel before = file;
    std::vector<std::string> targets = arguments.all("target"); // what a session runs, be it before anything else
    if (arguments.has("fetch") || arguments.has("target")) std::ranges::copy(arguments.all("init"), std::back_inserter(targets));
    const PassContext passes{
        visibleNames(arguments.all("fetch"), targets, arguments.all("feed")),
        constantEvaluator(),
        {GraphId(0), namesIn(arguments.all("of")), namesIn(arguments.all("wrt")), namesIn(arguments.all("recompute"))}};
    Result<std::vector<PassRun>> runs = runPasses(file.model, plan, passes);
    if (!runs.ok()) return std::move(runs).takeError().at(file.path);
    const std::vector<Declined> declined = allDeclined(*runs);
    if (console.verbose())
        for (const PassRun& run : *runs)
            console.note("pass " + std::string(run.pass->name) + ": " +
                         (run.isSkipped ? "skipped" : std::to_string(run.durationNs / 1000) + " us"));
    if (!console.json()) console.print(rewriteText(*runs));
    RewriteProof proof;
    int code = 0;
    if (arguments.has("prove")) {
        LS_TRY(code, provedOf(context, before, file.model, proof));
    }
    if (console.json()) console.line(rewriteJson(*runs, proof));
    if (!reportPath.empty()) {
        LS_TRY(const std::string report, rewriteReport(reportPath, fileNameOf(file.path), before.model, file.model, *runs, proof));
        LS_CHECK_OK(writeFile(reportPath, report, saving.overwrite));
    }
    if (arguments.has("strict") && !declined.empty())
        return Error(ErrorCode::unsupported, declined.front().where + ": " + declined.front().reason)
            .at(file.path)
            .note(std::to_string(declined.size()) + (declined.size() == 1 ? " place is left as it was" : " places are left as they were") +
                  "; nothing was written");
    if (out.empty()) return code;
    if (code != 0 && !saving.overwrite) {
        console.note("nothing was written, since the result is not proved; --force writes it all the same");
        return code;
    }
    saving.source = file.content;
    if (std::ranges::any_of(*runs, [](const PassRun& run) { return !run.report.rewrites.empty(); }))
        recordDerivation(file.model, derivationFrom(before, plan.passes.size() == 1 ? plan.passes.front() : "rewrite"), before.model);
    LS_CHECK_OK(saveModel(file.model, out, saving));
    if (!console.json()) console.line("written: " + out);
    return code;
}

} // namespace loopscope::app
