#include "app/replay/recording_file.h"

#include "engine/base/text.h"

#include <array>
#include <cstdlib>

namespace loopscope::app {

std::string RecordingFile::level() const
{
    constexpr std::array names = {"control", "statistics", "hashes", "values", "all"};
    const TraceRun& recorded = run->run();
    const std::string name =
        recorded.level >= 0 && static_cast<size_t>(recorded.level) < names.size() ? names[static_cast<size_t>(recorded.level)] : "?";
    return "level " + name + (recorded.policy.empty() ? "" : ", iterations " + recorded.policy);
}

Result<RecordingFile> openRecording(const std::string& path, int64_t runId)
{
    RecordingFile file;
    LS_TRY(file.reader, TraceReader::open(path));
    const TraceRun* const run = runId == 0 ? file.reader->defaultRun() : file.reader->findRun(runId);
    if (!run && runId != 0)
        return Error(ErrorCode::usage, "no run " + std::to_string(runId))
            .at(path)
            .expected(std::to_string(file.reader->runs().size()) + " runs");
    LS_TRY(file.run, RecordedRun::open(*file.reader, run));
    Result<Model> model = recordedModel(*file.run);
    if (!model.ok()) return std::move(model).takeError().at(path);
    file.model = std::move(model).value();
    LS_TRY(const std::optional<RecordedInvocation> first, file.run->firstInvocation());
    if (!first) return Error(ErrorCode::usage, "holds no invocation: there is nothing to step through").at(path);
    file.root = GraphId(first->graph);
    if (first->graph != 0) { // what ran is not the primary graph: a signature says so to whoever opens the model
        const Graph& root = file.model.graph(file.root);
        Signature signature{file.run->run().signature.value_or(root.id), file.root, {}, {}};
        for (const ValueId input : root.inputs) signature.inputs.push_back({root.value(input).id, input});
        for (const GraphOutput& output : root.outputs) signature.outputs.push_back({root.value(output.value).id, output.value});
        file.model.signatures = {std::move(signature)};
    }
    return file;
}

RecordedRole recordedRole(const std::string& text)
{
    if (text == "loop") return {CallRole::loop, -1};
    if (text == "then") return {CallRole::thenBranch, -1};
    if (text == "else") return {CallRole::elseBranch, -1};
    if (text.starts_with("branch")) return {CallRole::branch, static_cast<int32_t>(std::atoi(text.c_str() + 6))};
    if (text == "call") return {CallRole::call, -1};
    if (text == "init") return {CallRole::init, -1};
    if (text == "frame") return {CallRole::frame, -1};
    if (text.starts_with("region")) return {CallRole::region, -1};
    return {};
}

Error recordingEnds(const TraceRun& run, const std::string& address)
{
    if (run.state == "incomplete")
        return Error(ErrorCode::execution, "incomplete, ends at step " + groupThousands(run.steps()) +
                                               (run.error ? ": " + *run.error : ": its recorder was killed"))
            .at(address);
    if (run.error) return Error(ErrorCode::execution, *run.error);
    return Error(ErrorCode::execution, "the recording ends here: " + run.state).at(address);
}

} // namespace loopscope::app
