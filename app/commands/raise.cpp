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
#include "converters/passes/pass_manager.h"
#include "engine/base/bytes.h"

namespace loopscope::app {

namespace {

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
    SaveOptions saving;
    saving.format = arguments.text("format");
    saving.overwrite = arguments.has("force");
    if (!out.empty()) {
        LS_TRY([[maybe_unused]] const Format* const format, formatToSave(out, saving));
    }
    LS_CHECK_OK(checkReportName(reportPath));
    LS_CHECK_OK(checkWritable(out, saving.overwrite));
    LS_CHECK_OK(checkWritable(reportPath, saving.overwrite));
    LS_TRY(const PassPlan plan, planOf(context));
    LS_TRY(LoadedModel file, loadModel(arguments.positionals[0]));
    const Model before = file.model;
    const PassContext passes{visibleNames(arguments.all("fetch"), arguments.all("target"), arguments.all("feed")), constantEvaluator()};
    Result<std::vector<PassRun>> runs = runPasses(file.model, plan, passes);
    if (!runs.ok()) return std::move(runs).takeError().at(file.path);
    const std::vector<Declined> declined = allDeclined(*runs);
    if (console.verbose())
        for (const PassRun& run : *runs)
            console.note("pass " + std::string(run.pass->name) + ": " +
                         (run.isSkipped ? "skipped" : std::to_string(run.durationNs / 1000) + " us"));
    if (console.json()) console.line(rewriteJson(*runs));
    else console.print(rewriteText(*runs));
    if (!reportPath.empty()) {
        LS_TRY(const std::string report, rewriteReport(reportPath, fileNameOf(file.path), before, file.model, *runs));
        LS_CHECK_OK(writeFile(reportPath, report, saving.overwrite));
    }
    if (arguments.has("strict") && !declined.empty())
        return Error(ErrorCode::unsupported, declined.front().where + ": " + declined.front().reason)
            .at(file.path)
            .note(std::to_string(declined.size()) + (declined.size() == 1 ? " place is left as it was" : " places are left as they were") +
                  "; nothing was written");
    if (out.empty()) return 0;
    saving.source = file.content;
    LS_CHECK_OK(saveModel(file.model, out, saving));
    if (!console.json()) console.line("written: " + out);
    return 0;
}

} // namespace loopscope::app
