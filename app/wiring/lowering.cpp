#include "app/wiring/lowering.h"

#include "app/wiring/pass_context.h"
#include "converters/passes/pass.h"
#include "converters/raise/raise.h"
#include "engine/ir/frames.h"
#include "engine/transform/freeze.h"
#include "engine/transform/resource_variables.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace loopscope::app {

namespace {

constexpr int kMostInward = 8; ///< how often constants are handed to functions

Status raise(Model& model, GraphId root, const RunSelection& selection)
{
    if (std::ranges::none_of(model.graphs, hasFramesOrSwitches)) return {};
    // What nobody asks for need not be raised.
    LS_TRY(Model needed, selectForRun(model, root, selection));
    LS_TRY(const RewriteReport report, raiseControlFlow(needed, {selection.fetches, selection.targets, selection.feeds}));
    if (!report.declined.empty()) {
        Error error(ErrorCode::unsupported, "its control flow cannot be raised: " + report.declined.front().reason);
        return std::move(error).at(report.declined.front().where);
    }
    model = std::move(needed);
    return {};
}

} // namespace

Result<LoweredModel> loweredModel(Model model, GraphId root, const RunSelection& selection, const std::string& signature,
                                  const LowerOptions& options)
{
    LS_CHECK_OK(raise(model, root, selection));
    LS_CHECK_OK(useResourceVariables(model, root, selection.fetches));
    std::vector<std::string> notes;
    const Result<Frozen> frozen = freezeVariables(model, root, selection, signature);
    if (!frozen.ok()) {
        if (frozen.error().code() != ErrorCode::unsupported) return frozen.error().copy();
        notes.push_back("variables stay variables: " + frozen.error().message());
    }
    LS_TRY(Model selected, selectForRun(model, root, selection));
    PassContext context; // what can be computed here needs no form there
    context.evaluate = constantEvaluator();
    constexpr std::array<std::string_view, 3> kOnlyOfLists = {"TensorArrayConcatV3", "TensorArrayGradV3", "TensorArraySplitV3"};
    const auto needsLists = [&](const Operator& op) { return std::ranges::find(kOnlyOfLists, op.kind.name) != kOnlyOfLists.end(); };
    if (std::ranges::any_of(selected.graphs, [&](const Graph& graph) { return std::ranges::any_of(graph.operators, needsLists); }))
        LS_CHECK_OK(turnArraysIntoLists(selected, context)); // others are lowered by their flow alone
    LS_CHECK_OK(turnStacksIntoLists(selected, context));
    LS_CHECK_OK(lowerFor(selected, context));
    LS_CHECK_OK(foldConstants(selected, context));
    for (int depth = 0; depth < kMostInward; ++depth) { // loops in loops are reached from without
        LS_TRY(const RewriteReport known, handConstantsInward(selected, context));
        if (known.rewrites.empty()) break;
        LS_CHECK_OK(foldConstants(selected, context));
    }
    LS_TRY(LoweredModel lowered, lowerToTflite(selected, root, options));
    lowered.notes.insert(lowered.notes.begin(), notes.begin(), notes.end());
    return lowered;
}

Error noFormError(const LoweredModel& lowered)
{
    constexpr size_t kMostReasons = 20;
    const size_t count = lowered.noForm.size();
    std::string places;
    for (const NoForm& each : lowered.noForm) places += (places.empty() ? "" : ", ") + each.place;
    Error error(ErrorCode::unsupported, "cannot convert to tflite: " + std::to_string(count) +
                                            (count == 1 ? " operator has" : " operators have") + " no form there: " + places +
                                            " (--allow-custom keeps them)");
    for (size_t i = 0; i < count && i < kMostReasons; ++i)
        error = std::move(error).note(lowered.noForm[i].place + " (" + lowered.noForm[i].kind + "): " + lowered.noForm[i].reason);
    return error;
}

Result<Composites> compositesOf(const std::string& choice, Composites otherwise)
{
    if (choice.empty()) return otherwise;
    if (choice == "operator") return Composites::operators;
    if (choice == "keep") return Composites::keep;
    if (choice == "body") return Composites::body;
    return Error(ErrorCode::usage, "--composites").found("'" + choice + "'").expected("operator, keep or body");
}

Status chooseComposites(Model& model, const std::string& choice)
{
    FusionOptions options;
    options.only = {"composite-operator"};
    LS_TRY(options.composites, compositesOf(choice, Composites::keep));
    if (options.composites == Composites::keep) return {};
    Result<FusionReport> report = fuseOperators(model, options);
    return report.ok() ? Status() : Status(std::move(report).takeError());
}

} // namespace loopscope::app
