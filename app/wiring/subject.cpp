#include "app/wiring/subject.h"
#include "app/wiring/backend.h"

#include "app/output/listing.h"
#include "app/replay/replay_executor.h"
#include "app/replay/run_recording.h"
#include "app/wiring/host_loop.h"
#include "app/wiring/input_sources.h"
#include "app/wiring/model_file.h"
#include "app/wiring/proof.h"
#include "app/wiring/recording.h"
#include "app/wiring/reference_inputs.h"
#include "app/wiring/session.h"
#include "app/wiring/tf_target.h"
#include "app/wiring/tolerance.h"
#include "engine/api/debug_session.h"
#include "engine/api/inputs/inputs.h"
#include "engine/base/text.h"
#include "engine/exec/make_executor.h"
#include "engine/ir/frames.h"
#include "engine/ops/lost_values.h"
#include "engine/tensor/npz.h"
#include "tracer/api/trace_reader.h"

namespace loopscope::app {

namespace {

/// How runs of a model are recorded; `file`: what it was read from, null: not a file.
std::function<Result<std::unique_ptr<RunRecorder>>(const RecordingRequest&)> recorderOf(const Model& model, const std::string& profile,
                                                                                        std::shared_ptr<const LoadedModel> file)
{
    return [&model, profile, file = std::move(file)](const RecordingRequest& request) -> Result<std::unique_ptr<RunRecorder>> {
        RecorderOptions options;
        options.path = request.path;
        options.overwrite = request.overwrite;
        options.profile = profile;
        options.listing = graphListing;
        options.seed = request.seed;
        if (!request.level.empty()) {
            LS_TRY(options.level, parseLevel(request.level));
        }
        if (file) options.model = traceModelInfo(*file);
        LS_TRY(std::unique_ptr<RunRecording> recording, RunRecording::create(model, std::move(options)));
        return std::unique_ptr<RunRecorder>(std::move(recording));
    };
}

} // namespace

namespace {

/// A recording: stepped through as far as it was recorded, without running the model.
Result<DebugSubject> recordedSubject(const std::string& path);

/// What an operator of that address gave in the run of a recording, which is replayed beside the run that wants it.
Result<GivenResult> recordedResult(const std::string& path, int slot)
{
    LS_TRY(DebugSubject subject, recordedSubject(path));
    auto replay = std::make_shared<DebugSession>(std::move(subject));
    LS_TRY([[maybe_unused]] const Stop begun, replay->begin({{}, false}));
    LS_TRY([[maybe_unused]] const Stop ended, replay->move(request::GoToEnd())); // where all of its values are behind it
    return GivenResult([replay, path, slot](const std::string& address) -> Result<Array> {
        const std::string place = address + ":" + std::to_string(slot);
        const auto read = [&](Inspector& inspector) -> Result<Array> {
            LS_TRY(const std::vector<EvaluatedValue> values, inspector.evaluate({}, "{" + place + "}"));
            if (values.size() != 1 || values.front().tensor.data == nullptr)
                return Error(ErrorCode::execution, "not recorded").at(place).expected("a recording of level all");
            return copyOf(values.front().tensor);
        };
        Result<Array> array = replay->ask(read);
        if (!array.ok()) return std::move(array).takeError().at(fileNameOf(path));
        return array;
    });
}

} // namespace

Result<DebugSubject> liveSubject(const Model& model, const std::string& name, const std::string& signature, ExecutionOptions options)
{
    const std::string profile(profileName(options.profile));
    LS_CHECK_OK(giveDevice(options));
    LS_TRY(DebugSubject subject, subjectOf(model, name, {signature, {}, std::move(options)}));
    subject.record = recorderOf(model, profile, {});
    subject.recorded = recordedResult;
    return subject;
}

namespace {

constexpr size_t kNamedFrames = 3; ///< of a graph with more, only their number is said

Result<std::unique_ptr<Reference>> arraysOf(const std::string& path, const Model& model, GraphId root, const Tolerance& tolerance)
{
    LS_TRY(NpzFile archive, NpzFile::open(path));
    std::vector<NamedArray> arrays;
    for (const std::string& key : archive.keys()) {
        LS_TRY(Array array, archive.read(key));
        arrays.push_back({key, array.dtype, array.shape, std::move(array.bytes)});
    }
    return referenceToArrays(fileNameOf(path), std::move(arrays), model, root, tolerance);
}

/// What the run of a recording was fed with, as another model takes it.
Result<BoundInputs> recordedInputs(const std::string& path, const RunTarget& run, const RunTarget& other)
{
    LS_TRY(RecordingFile file, openRecording(path, 0));
    const std::unique_ptr<Executor> executor = replayExecutor(std::move(file), nullptr);
    LS_CHECK_OK(executor->start());
    std::vector<const Tensor*> given;
    for (const Port& port : run.inputs) given.push_back(executor->value(0, port.value));
    return takenInputs(run, given, other);
}

/// `recording`: the file that `subject` is stepped through; empty: it is a model.
Status holdAgainstModel(DebugSubject& subject, const std::string& recording, LoadedModel file, const Tolerance& tolerance,
                        const ExecutionOptions& options)
{
    struct Other {
        LoadedModel file;
        RunTarget target;
    };
    const Model& model = *subject.model;
    const GraphId root = subject.target.graph;
    LS_CHECK_OK(selectAlike(file.model, *subject.model, subject.target));
    auto other = std::make_shared<Other>(Other{std::move(file), {}});
    LS_TRY(other->target, targetOf(other->file, ""));
    const RunTarget target = subject.target;
    subject.reference = [=, &model](const std::vector<std::string>& sources,
                                    const BoundInputs* last) -> Result<std::unique_ptr<Reference>> {
        ExecutionOptions own = options;
        LS_CHECK_OK(giveDevice(own));
        own.keepAll = true;
        own.cancel = nullptr;
        LS_TRY(std::unique_ptr<Executor> executor, makeExecutor(other->file.model, other->target.graph, own));
        Result<BoundInputs> inputs = recording.empty() ? referenceInputs(target, other->target, sources, own.seed, last)
                                                       : recordedInputs(recording, target, other->target);
        if (!inputs.ok()) return std::move(inputs).takeError().at(fileNameOf(other->file.path));
        for (size_t i = 0; i < inputs->inputs.size(); ++i)
            LS_CHECK_OK(executor->setInput(static_cast<int>(i), inputs->inputs[i].forRun(0).view()));
        return referenceToRun(fileNameOf(other->file.path), std::move(executor), model, root, tolerance, nullptr);
    };
    return {};
}

/// `recording`: the file that `subject` is stepped through; empty: it is a model.
Status holdAgainst(DebugSubject& subject, const std::string& recording, const std::string& path, const Tolerance& tolerance,
                   const ExecutionOptions& options)
{
    const Model& model = *subject.model;
    const GraphId root = subject.target.graph;
    if (path.ends_with(".npz")) {
        subject.reference = [=, &model](const std::vector<std::string>&, const BoundInputs*) {
            return arraysOf(path, model, root, tolerance);
        };
        return {};
    }
    if (isTraceFile(path)) {
        subject.reference = [=, &model](const std::vector<std::string>&, const BoundInputs*) -> Result<std::unique_ptr<Reference>> {
            LS_TRY(RecordingFile file, openRecording(path, 0));
            std::unique_ptr<Executor> executor = replayExecutor(std::move(file), nullptr);
            return referenceToRun(fileNameOf(path), std::move(executor), model, root, tolerance, nullptr);
        };
        return {};
    }
    LS_TRY(LoadedModel file, loadModel(path));
    return holdAgainstModel(subject, recording, std::move(file), tolerance, options);
}

} // namespace

Status holdAgainst(DebugSubject& subject, LoadedModel other, const Tolerance& tolerance, const ExecutionOptions& options)
{
    return holdAgainstModel(subject, {}, std::move(other), tolerance, options);
}

Status holdAgainst(DebugSubject& subject, const std::string& path, const Tolerance& tolerance, const ExecutionOptions& options)
{
    return holdAgainst(subject, {}, path, tolerance, options);
}

namespace {

/// "22 of 25 nodes after pruning; frame while/while_context, parallel_iterations 10". Empty where nothing was pruned and there is no frame.
std::string selectionText(const Model& model, GraphId root, size_t nodes)
{
    if (model.dialect != Dialect::tf) return "";
    const Graph& graph = model.graph(root);
    const FrameAnalysis analysis = hasFramesOrSwitches(graph) ? analyzeFrames(graph) : FrameAnalysis();
    if (analysis.frames.size() < 2 && graph.operators.size() == nodes) return "";
    std::string text =
        groupThousands(std::ssize(graph.operators)) + " of " + groupThousands(static_cast<int64_t>(nodes)) + " nodes after pruning";
    if (analysis.frames.size() > 1 + kNamedFrames) return text + "; " + groupThousands(std::ssize(analysis.frames) - 1) + " frames";
    for (size_t f = 1; f < analysis.frames.size(); ++f)
        text += "; frame " + analysis.frames[f].name + ", parallel_iterations " + std::to_string(analysis.frames[f].parallelIterations);
    return text;
}

Result<DebugSubject> recordedSubject(const std::string& path)
{
    DebugSubject subject;
    subject.name = fileNameOf(path);
    subject.cancel = std::make_unique<CancelFlag>();
    LS_TRY(RecordingFile file, openRecording(path, 0));
    subject.note = file.reader->note();
    subject.level = file.level();
    subject.printed = [run = file.run.get()](int64_t first, int64_t last) { // the executor owns the run
        Result<std::string> text = run->printed(first, last);
        return text.ok() ? std::move(text).value() : std::string();
    };
    subject.executor = replayExecutor(std::move(file), subject.cancel.get());
    subject.model = &subject.executor->model();
    LS_TRY(subject.target, selectTarget(*subject.model, ""));
    subject.isReplay = true;
    return subject;
}

Result<DebugSubject> recordedAgainst(const std::string& path, const Arguments& arguments)
{
    LS_TRY(DebugSubject subject, recordedSubject(path));
    if (!arguments.has("against")) return subject;
    LS_TRY(const ExecutionOptions options, executionOptions(arguments));
    LS_TRY(const Tolerance tolerance, toleranceOf(arguments));
    LS_CHECK_OK(holdAgainst(subject, path, arguments.text("against"), tolerance, options));
    return subject;
}

} // namespace

Result<DebugSubject> openSubject(const Arguments& typed,
                                 const std::function<void(const Model& model, GraphId root, ExecutionOptions& options)>& prepare)
{
    Arguments arguments = typed;
    if (arguments.has("trace")) {
        if (!arguments.positionals.empty()) return Error(ErrorCode::usage, "'debug' takes a model or --trace, not both");
        return recordedAgainst(arguments.text("trace"), arguments);
    }
    if (arguments.positionals.empty())
        return Error(ErrorCode::usage, "no model is named")
            .at("'debug'")
            .expected("loopscope debug MODEL or debug --trace FILE")
            .note("for example: loopscope debug samples/text/collatz.lsir -i x=27");
    if (isTraceFile(arguments.positionals[0])) return recordedAgainst(arguments.positionals[0], arguments);
    LS_TRY(const bool isKept, useLoopFile(arguments));
    std::string whyNoDevice;
    LS_TRY(ExecutionOptions options, executionOptions(arguments, &whyNoDevice));
    LS_TRY(const Tolerance tolerance, toleranceOf(arguments));
    LS_TRY(std::vector<std::string> inputs, inputSources(arguments));
    LS_TRY(LoadedModel loaded, loadModel(arguments.positionals[0]));
    auto file = std::make_shared<LoadedModel>(std::move(loaded));
    const GraphId root = rootOf(file->model, arguments.text("signature"));
    const size_t nodes = file->model.hasGraph(root) ? file->model.graph(root).operators.size() : 0;
    LS_CHECK_OK(selectFromArguments(*file, arguments));
    const GraphId selected = rootOf(file->model, arguments.text("signature"));
    const std::string selection = file->model.hasGraph(selected) ? selectionText(file->model, selected, nodes) : "";
    LS_CHECK_OK(placeOperators(arguments, file->model));
    const bool isLoop = asksHostLoop(arguments);
    if (isLoop) LS_CHECK_OK(wrapInHostLoop(*file, arguments));
    const std::string signature = isLoop ? std::string() : arguments.text("signature");
    if (prepare) prepare(file->model, rootOf(file->model, signature), options);
    LS_TRY(DebugSubject subject, liveSubject(file->model, fileNameOf(file->path), signature, options));
    subject.owner = file;
    subject.selection = selection;
    subject.note = isKept ? loopNote(arguments.positionals[0]) : whyNoDevice;
    for (const std::string& lost : lostValueLines(file->model)) subject.note += (subject.note.empty() ? "" : "; ") + lost;
    subject.record = recorderOf(file->model, std::string(profileName(options.profile)), file);
    subject.inputs = std::move(inputs);
    if (arguments.has("against")) LS_CHECK_OK(holdAgainst(subject, arguments.text("against"), tolerance, options));
    return subject;
}

} // namespace loopscope::app
