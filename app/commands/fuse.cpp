// `loopscope fuse`: operators become the one that computes what they compute together; what was not fused says why.
#include "converters/fuse/fuse.h"
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/fusion_report.h"
#include "app/output/report_page.h"
#include "app/wiring/fusion_proof.h"
#include "app/wiring/input_sources.h"
#include "app/wiring/lowering.h"
#include "app/wiring/model_file.h"
#include "app/wiring/outputs.h"
#include "app/wiring/recording.h"
#include "app/wiring/session.h"
#include "app/wiring/tf_target.h"
#include "app/wiring/tolerance.h"
#include "converters/fuse/batch.h"
#include "converters/fuse/binary_code_outputs.h"
#include "converters/lower/states.h"
#include "engine/base/bytes.h"
#include "engine/ir/verifier.h"

#include <algorithm>
#include <string>
#include <vector>

namespace loopscope::app {

namespace {

std::vector<std::string> wordsOf(const std::string& list)
{
    std::vector<std::string> words;
    for (size_t at = 0; at < list.size();) {
        const size_t end = std::min(list.find(',', at), list.size());
        if (end > at) words.push_back(list.substr(at, end - at));
        at = end + 1;
    }
    return words;
}

constexpr int64_t kDrawn = 8; ///< inputs that a proof draws

/// Nobody asks for what an operator gives beside what is read: the final states of a layer whose outputs go on.
void dropUnreadBeside(const Graph& graph, RunSelection& selection)
{
    std::vector<bool> isRead(graph.values.size(), false);
    for (const Operator& op : graph.operators)
        for (const ValueId input : op.inputs)
            if (input.valid()) isRead[static_cast<size_t>(input.index)] = true;
    std::erase_if(selection.fetches, [&](const std::string& id) {
        const ValueId value = graph.findValue(id);
        if (!value.valid() || graph.value(value).role != ValueRole::result || isRead[static_cast<size_t>(value.index)]) return false;
        return std::ranges::any_of(graph.op(graph.value(value).producer).results,
                                   [&](ValueId result) { return isRead[static_cast<size_t>(result.index)]; });
    });
}

/// What of a TensorFlow graph is run, and what keeps its name.
Result<FusionOptions> optionsOf(LoadedModel& file, const Arguments& arguments)
{
    FusionOptions options;
    options.only = wordsOf(arguments.text("passes"));
    options.skipped = wordsOf(arguments.text("skip"));
    options.isReverse = arguments.has("unfuse");
    options.fusesTanh = arguments.has("tanh");
    LS_TRY(options.nearness, arguments.real("near", 0));
    if (!(options.nearness >= 0 && options.nearness < 1))
        return Error(ErrorCode::usage, "--near").found("'" + arguments.text("near") + "'").expected("a part between 0 and 1");
    LS_TRY(options.composites, compositesOf(arguments.text("composites"), Composites::operators));
    if (file.model.dialect != Dialect::tf) return options;
    LS_TRY(RunSelection selection, selectionFromArguments(file, arguments));
    const Signature* const chosen = chooseSignature(file.model, arguments.text("signature"));
    options.signature = chosen != nullptr ? chosen->key : "";
    options.root = rootOf(file.model, options.signature);
    if (!arguments.has("fetch") && chosen == nullptr) dropUnreadBeside(file.model.graph(options.root), selection);
    for (const auto* names : {&selection.fetches, &selection.feeds, &selection.targets})
        options.keeps.insert(options.keeps.end(), names->begin(), names->end());
    options.selection = std::move(selection);
    return options;
}

Result<FusionProofOptions> proofOptionsOf(const Arguments& arguments)
{
    FusionProofOptions options;
    LS_TRY(options.sources, inputSources(arguments));
    LS_TRY(options.samples, arguments.integer("samples", kDrawn, 0, 1'000'000));
    LS_TRY(options.tolerance, toleranceOf(arguments));
    LS_TRY(options.execution, executionOptions(arguments));
    options.signature = arguments.text("signature");
    options.isForced = arguments.has("force");
    return options;
}

/// A TensorFlow graph that goes into a .tflite or .circle file is lowered first. Errors: unsupported, with what has no form there.
Status saveFused(Console& console, const LoadedModel& before, Model model, const Format& format, const std::string& out, SaveOptions saving,
                 const FusionOptions& options, bool isChanged)
{
    const std::string step = options.isReverse ? "unfuse" : "fuse";
    const bool isLite = format.extension == "tflite" || format.extension == "circle";
    if (model.dialect != Dialect::tf || !isLite) {
        if (model.dialect != Dialect::tf && isLite) {
            LS_TRY(const std::vector<std::string> notes, storeStates(model)); // what is reported runs as the proof did
            for (const std::string& note : notes) console.note(note);
            for (const std::string& note : dropBinaryCodeOutputs(model)) console.note(note);
        }
        if (isChanged) recordDerivation(model, derivationFrom(before, step), before.model);
        return format.save(model, out, saving);
    }
    LS_TRY(LoweredModel lowered, loweredModel(std::move(model), options.root, *options.selection, options.signature, {}));
    if (!lowered.noForm.empty()) return noFormError(lowered);
    for (const std::string& note : lowered.notes) console.note(note);
    saving.source = {};
    recordDerivation(lowered.model, derivationFrom(before, step + "+lower"), before.model);
    return format.save(lowered.model, out, saving);
}

/// `fuse IN --why OP`: nothing is written.
Result<int> tellWhy(const CommandContext& context, const Model& before, const FusionReport& report, const std::string& op)
{
    LS_TRY(const std::vector<std::string> lines, whyNotFused(before, report, op));
    for (const std::string& line : lines) context.console.line(line);
    return 0;
}

} // namespace

Result<int> runFuse(const CommandContext& context)
{
    const Arguments& arguments = context.arguments;
    const std::string why = arguments.text("why"), report = arguments.text("report");
    std::string out = arguments.text("output");
    if (out.empty() && why.empty() && report.empty()) {
        LS_TRY(out, outputPath(arguments, "fuse", "loopscope fuse model.pb -o fused.lsir"));
    }
    SaveOptions saving = savingOptions(arguments);
    LS_CHECK_OK(checkReportName(report));
    LS_TRY(LoadedModel file, loadModel(arguments.positionals[0]));
    saving.source = file.content;
    const Format* format = nullptr;
    if (!out.empty()) {
        LS_TRY(format, formatToSave(out, saving));
    }
    LS_CHECK_OK(checkWritable(out, saving.overwrite));
    LS_CHECK_OK(checkWritable(report, saving.overwrite));
    LS_TRY(FusionOptions options, optionsOf(file, arguments));
    if (arguments.has("batch-size")) {
        LS_TRY(const int64_t size, arguments.integer("batch-size", 1, 1, 1'000'000));
        LS_CHECK_OK(giveBatch(file.model, options.root, size));
        options.followsShapes = true;
    }
    options.isForCircle = format != nullptr && format->extension == "circle";
    LS_TRY(const FusionProofOptions asked, proofOptionsOf(arguments));
    const LoadedModel before = file;
    ToldFusion told;
    told.isProved = arguments.has("prove");
    if (told.isProved) {
        LS_TRY(told.proof, fuseAndProve(file, options, asked));
    } else {
        LS_TRY(told.proof.report, fuseOperators(file.model, options));
    }
    LS_CHECK_OK(verifyModel(file.model));
    if (!why.empty()) return tellWhy(context, before.model, told.proof.report, why);
    if (format != nullptr)
        LS_CHECK_OK(saveFused(context.console, before, file.model, *format, out, saving, options, !told.proof.report.rewrites.empty()));
    if (!report.empty()) {
        if (Result<std::vector<FusionFigures>> figures = measureFusion(before.model, file.model, options, asked); figures.ok())
            told.figures = std::move(figures).value();
        LS_TRY(const std::string text, fusionReport(report, "Fusion of " + fileNameOf(file.path), before.model, file.model, told));
        LS_CHECK_OK(writeFile(report, text, saving.overwrite));
    }
    if (context.console.json()) context.console.line(fusionJson(told));
    else context.console.print(fusionText(told));
    return told.proof.differs() ? 1 : 0;
}

} // namespace loopscope::app
