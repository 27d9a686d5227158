#include "app/wiring/tf_target.h"

#include "app/wiring/command_line.h"
#include "converters/savedmodel/savedmodel.h"
#include "engine/api/inputs/inputs.h"
#include "engine/base/text.h"
#include "engine/ir/flow_role.h"
#include "engine/ir/frames.h"
#include "engine/ops/lost_values.h"
#include "engine/transform/graph_editor.h"

#include <algorithm>

namespace loopscope::app {

namespace {

/// A value that a session may have none of, or several: an output of a Switch or of what lives under a predicate only, or one that lies in
/// a frame, to which what leaves an inner one still belongs. Indices of Merges are no answers.
bool isInsideFlow(const Graph& graph, const Value& value, const FrameAnalysis& analysis)
{
    const FlowRole role = flowRole(graph.op(value.producer));
    if (role == FlowRole::choice || role == FlowRole::manyChoice || role == FlowRole::enter) return true;
    if (role == FlowRole::merge && value.slot > 0) return true;
    const auto op = static_cast<size_t>(value.producer.index);
    const auto frame = static_cast<size_t>(analysis.frameOf[op]);
    if (analysis.neverLives[op]) return true;
    if (role == FlowRole::exit) return analysis.frames[frame].parent > 0 || !analysis.frameGuards[frame].empty();
    return frame > 0 || !analysis.guards[op].empty();
}

/// Nodes that others wait for.
std::vector<bool> awaited(const Graph& graph)
{
    std::vector<bool> are(graph.operators.size(), false);
    for (const Operator& op : graph.operators)
        for (const OperatorId before : op.controlInputs) are[static_cast<size_t>(before.index)] = true;
    return are;
}

bool isAssignment(const Operator& op) { return op.kind.name == "Assign" || op.kind.name == "AssignVariableOp"; }

bool saves(const Operator& op)
{
    return op.kind.name == "SaveV2" || op.kind.name == "Save" || op.kind.name == "SaveSlices" || op.kind.name == "MergeV2Checkpoints";
}

/// What nobody reads and nobody wants either who did not say so: assignments that a node waits for (it initialises or restores), what
/// waits for a checkpoint to be written, constants, and statistics that only training needs.
bool isIncidental(const Graph& graph, const Value& value, const std::vector<bool>& isAwaited)
{
    const Operator& op = graph.op(value.producer);
    if (op.kind.name == "Const" || op.kind.name == "VarIsInitializedOp" || (value.slot > 0 && op.kind.name.starts_with("FusedBatchNorm")))
        return true;
    if (isAssignment(op) && isAwaited[static_cast<size_t>(value.producer.index)]) return true;
    return std::ranges::any_of(op.controlInputs, [&](OperatorId before) { return saves(graph.op(before)); });
}

/// What runs where nobody said what is wanted: all values that no operator reads are fetched as far as a session has exactly one of each;
/// the others, and operators that give nothing, run without being fetched. With `all` what is incidental, too.
void addUnread(const Graph& graph, RunSelection& asked, bool all)
{
    const std::vector<bool> isAwaited = awaited(graph);
    FrameAnalysis frames;
    if (hasFramesOrSwitches(graph)) frames = analyzeFrames(graph);
    std::vector<bool> read(graph.values.size(), false);
    for (const Operator& op : graph.operators)
        for (const ValueId input : op.inputs)
            if (input.valid()) read[static_cast<size_t>(input.index)] = true;
    for (const Operator& op : graph.operators) {
        bool isUnread = true, isInside = false;
        for (const ValueId result : op.results) {
            const Value& value = graph.value(result);
            const bool handle = value.type.dtype == DType::resource || value.type.dtype == DType::variant;
            isUnread = isUnread && !read[static_cast<size_t>(result.index)];
            if (read[static_cast<size_t>(result.index)] || handle || (!all && isIncidental(graph, value, isAwaited))) continue;
            if (frames.frameOf.empty() || !isInsideFlow(graph, value, frames)) asked.fetches.push_back(value.id);
            else isInside = true;
        }
        if (isUnread && isInside) asked.targets.push_back(op.name);
    }
    if (!asked.fetches.empty() || !asked.targets.empty()) return;
    if (!all) return addUnread(graph, asked, true);
    for (const Operator& op : graph.operators)
        if (op.results.empty()) asked.targets.push_back(op.name);
}

} // namespace

std::vector<std::string> unreadValues(const Graph& graph)
{
    RunSelection whole;
    addUnread(graph, whole, false);
    return whole.fetches;
}

namespace {

/// Adds every Placeholder that the selection runs.
Status addPlaceholders(const Model& model, GraphId root, RunSelection& selection)
{
    LS_TRY(const Model selected, selectForRun(model, root, selection));
    for (const Operator& op : selected.graph(root).operators)
        if (op.kind.name == "Placeholder" || op.kind.name == "PlaceholderV2") selection.feeds.push_back(op.name);
    return {};
}

/// An input of an entry point that is called in front of a host loop, and of none that is called in it.
bool isOfBefore(const Model& model, const Signature* main, const std::string& name, const Arguments& arguments)
{
    const auto has = [&](const Signature& signature, std::string_view wanted) {
        return std::ranges::find(signature.inputs, wanted, &SignatureBinding::name) != signature.inputs.end();
    };
    if (main != nullptr && has(*main, name)) return false;
    for (const std::string& key : arguments.all("before")) {
        const auto signature = std::ranges::find(model.signatures, key, &Signature::key);
        if (signature == model.signatures.end()) continue;
        if (has(*signature, name) || (name.starts_with(key + ".") && has(*signature, name.substr(key.size() + 1)))) return true;
    }
    return false;
}

/// Whether running a node assigns variables what they begin with: it waits for assignments, of nothing that comes from a checkpoint.
bool initialises(const Graph& graph, const Operator& op, int depth = 0)
{
    constexpr int kDeepest = 4;
    if (op.kind.name != "NoOp" || op.controlInputs.empty() || depth > kDeepest) return false;
    return std::ranges::all_of(op.controlInputs, [&](OperatorId id) {
        const Operator& before = graph.op(id);
        if (before.kind.name == "NoOp") return initialises(graph, before, depth + 1);
        if (!isAssignment(before) || before.inputs.size() < 2 || !before.inputs[1].valid()) return false;
        OperatorId source = graph.value(before.inputs[1]).producer;
        for (int k = 0; k < kDeepest && source.valid() && graph.op(source).kind.name == "Identity"; ++k) {
            const std::vector<ValueId>& inputs = graph.op(source).inputs;
            source = inputs.empty() || !inputs[0].valid() ? OperatorId() : graph.value(inputs[0]).producer;
        }
        return !source.valid() || !graph.op(source).kind.name.starts_with("Restore");
    });
}

/// Nodes that run once before anything else, behind those that the model names.
Status addInitialisers(Model& model, const Arguments& arguments)
{
    if (!arguments.has("init")) return {};
    std::string nodes(attributeString(model.attributes, "init_op", ""));
    for (const std::string& name : namesOf(arguments, "init")) {
        std::vector<std::string> known;
        for (const Operator& op : model.graphs.front().operators) known.push_back(op.name);
        if (std::ranges::find(known, name) == known.end())
            return Error(ErrorCode::usage, "no such node").at("init '" + name + "'").nearest(nearestNames(name, known));
        nodes += (nodes.empty() ? "" : " ") + name;
    }
    setAttribute(model.attributes, "init_op", nodes);
    return {};
}

} // namespace

std::string initialiserOf(const Model& model)
{
    if (model.dialect != Dialect::tf || model.graphs.empty() || !attributeString(model.attributes, "init_op", "").empty()) return {};
    const Graph& graph = model.graphs.front();
    const Operator* most = nullptr; // that of all variables, if there are several
    for (const Operator& op : graph.operators)
        if (initialises(graph, op) && (!most || op.controlInputs.size() > most->controlInputs.size())) most = &op;
    return most ? most->name : std::string();
}

Error withAdviceOnVariables(Error error, const Model& model, const std::string& initialiser)
{
    error = withLostValue(std::move(error), model);
    const std::string text = error.message();
    const bool isUnset = text.find("uninitialized value") != std::string::npos || text.find("Could not find variable") != std::string::npos;
    return isUnset && !initialiser.empty() ? std::move(error).note("'" + initialiser + "' assigns it: --init " + initialiser)
                                           : std::move(error);
}

std::vector<std::string> namesOf(const Arguments& arguments, std::string_view option)
{
    std::vector<std::string> names;
    for (const std::string& text : arguments.all(option))
        for (size_t at = 0; at <= text.size();) {
            const size_t comma = std::min(text.find(',', at), text.size());
            if (comma > at) names.push_back(text.substr(at, comma - at));
            at = comma + 1;
        }
    return names;
}

GraphId rootOf(const Model& model, std::string_view signature)
{
    const Signature* chosen = chooseSignature(model, signature);
    return chosen != nullptr ? chosen->graph : GraphId(0);
}

Result<RunSelection> completeSelection(const Model& model, RunSelection asked, std::string_view signature)
{
    const GraphId root = rootOf(model, signature);
    if (!model.hasGraph(root)) return Error(ErrorCode::badFile, "the model has no graphs");
    const Graph& graph = model.graph(root);
    const bool nothingAsked = asked.fetches.empty() && asked.targets.empty();
    if (nothingAsked && asked.feeds.empty() && !graph.outputs.empty()) return asked;
    const Signature* chosen = chooseSignature(model, signature);
    if (nothingAsked && chosen == nullptr && signatureNames(model).find(", ") != std::string::npos)
        return Error(ErrorCode::usage, "it is not said what runs")
            .expected("--signature NAME (" + signatureNames(model) + ") or --fetch NAME");
    if (nothingAsked && chosen != nullptr) {
        for (const SignatureBinding& binding : chosen->outputs) asked.fetches.push_back(graph.value(binding.value).id);
        for (const SignatureBinding& binding : chosen->inputs)
            if (const std::string& id = graph.value(binding.value).id; std::ranges::find(asked.feeds, id) == asked.feeds.end())
                asked.feeds.push_back(id);
    }
    if (nothingAsked && asked.fetches.empty()) addUnread(graph, asked, false);
    // The graph's own inputs stay: what is selected may read them.
    for (const ValueId input : graph.inputs)
        if (const std::string& id = graph.value(input).id; std::ranges::find(asked.feeds, id) == asked.feeds.end())
            asked.feeds.push_back(id);
    LS_CHECK_OK(addPlaceholders(model, root, asked));
    return asked;
}

Status attachFiles(Model& model, const Arguments& arguments)
{
    if (arguments.has("checkpoint")) LS_CHECK_OK(attachCheckpoint(model, arguments.text("checkpoint")));
    for (const std::string& text : arguments.all("asset")) {
        const size_t equals = text.rfind('=');
        if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
            return Error(ErrorCode::usage, "option '--asset'").found("'" + text + "'").expected("NAME=FILE");
        LS_CHECK_OK(attachFile(model, text.substr(0, equals), text.substr(equals + 1)));
    }
    return {};
}

Result<RunSelection> selectionFromArguments(LoadedModel& file, const Arguments& arguments)
{
    Model& model = file.model;
    LS_CHECK_OK(attachFiles(model, arguments));
    const std::string key = arguments.text("signature");
    LS_CHECK_OK(checkSignature(model, key));
    const GraphId root = rootOf(model, key);
    if (!model.hasGraph(root)) return Error(ErrorCode::badFile, "the model has no graphs").at(file.path);
    const Signature* const signature = chooseSignature(model, key);
    RunSelection asked;
    for (const std::string& name : namesOf(arguments, "fetch"))
        asked.fetches.push_back(signatureValue(model, signature, &Signature::outputs, name));
    asked.targets = namesOf(arguments, "target");
    if (model.graph(root).inputs.empty()) // a function has its own
        for (const char* option : {"input", "feed"})
            for (const std::string& text : arguments.all(option)) {
                LS_TRY(const InputOption input, splitInputOption(text));
                if (!input.name.empty() && input.name != "all" && !isOfBefore(model, signature, input.name, arguments))
                    asked.feeds.push_back(signatureValue(model, signature, &Signature::inputs, input.name));
            }
    LS_CHECK_OK(addInitialisers(model, arguments));
    return completeSelection(model, std::move(asked), key);
}

namespace {

/// What is called in front of a host loop (--before) gets a graph of its own, since signatures of one file share theirs.
Result<std::vector<OtherRun>> runsBefore(Model& model, const Arguments& arguments)
{
    std::vector<OtherRun> runs;
    for (const std::string& key : arguments.all("before")) {
        LS_CHECK_OK(checkSignature(model, key));
        const auto signature = std::ranges::find(model.signatures, key, &Signature::key);
        if (signature == model.signatures.end() || std::ranges::any_of(runs, [&](const OtherRun& o) { return o.root == signature->graph; }))
            continue; // called twice: once selected
        LS_TRY(RunSelection selection, completeSelection(model, {}, key));
        std::string id = key;
        for (int k = 1; model.findGraph(id).valid(); ++k) id = key + "_" + std::to_string(k);
        Graph graph = copyGraph(model.graph(signature->graph), id);
        signature->graph = GraphId(std::ssize(model.graphs));
        runs.push_back({signature->graph, std::move(selection)});
        model.graphs.push_back(std::move(graph));
    }
    return runs;
}

} // namespace

Status selectFromArguments(LoadedModel& file, const Arguments& arguments)
{
    if (file.model.dialect != Dialect::tf) return {};
    LS_TRY(const RunSelection selection, selectionFromArguments(file, arguments));
    const GraphId root = rootOf(file.model, arguments.text("signature"));
    LS_TRY(const std::vector<OtherRun> before, runsBefore(file.model, arguments));
    LS_TRY(file.model, selectForRun(file.model, root, selection, before));
    return {};
}

} // namespace loopscope::app
