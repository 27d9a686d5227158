#include "app/wiring/lowering.h"

#include "converters/raise/raise.h"
#include "engine/ir/frames.h"
#include "engine/transform/freeze.h"

#include <algorithm>
#include <map>

namespace loopscope::app {

namespace {

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
    std::vector<std::string> notes;
    const Result<Frozen> frozen = freezeVariables(model, root, selection, signature);
    if (!frozen.ok()) {
        if (frozen.error().code() != ErrorCode::unsupported) return frozen.error().copy();
        notes.push_back("variables stay variables: " + frozen.error().message());
    }
    LS_TRY(const Model selected, selectForRun(model, root, selection));
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

} // namespace loopscope::app
