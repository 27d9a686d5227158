#include "app/wiring/tf_target.h"

#include "app/wiring/command_line.h"
#include "engine/api/inputs/inputs.h"
#include "engine/ir/frames.h"

#include <algorithm>

namespace loopscope::app {

namespace {

const Signature* chooseSignature(const Model& model, std::string_view key)
{
    for (const Signature& s : model.signatures)
        if (key.empty() ? model.signatures.size() == 1 || s.key == "serving_default" : s.key == key) return &s;
    return nullptr;
}

/// A value that would be dead or given more than once: an output of a Switch, or one that lies in a frame. Indices of Merges are no
/// answers.
bool isInsideFlow(const Graph& graph, const Value& value, const FrameAnalysis& frames)
{
    const std::string& kind = graph.op(value.producer).kind.name;
    if (kind == "Switch" || kind == "RefSwitch" || kind == "_SwitchN") return true;
    if (kind == "Merge" || kind == "RefMerge") return value.slot > 0 || frames.frameOf[static_cast<size_t>(value.producer.index)] > 0;
    const bool leaves = kind == "Exit" || kind == "RefExit";
    return kind == "Enter" || kind == "RefEnter" || (!leaves && frames.frameOf[static_cast<size_t>(value.producer.index)] > 0);
}

/// Values that no operator reads, as far as a session can hand them out.
std::vector<std::string> unreadValues(const Graph& graph)
{
    FrameAnalysis frames;
    if (hasFramesOrSwitches(graph)) frames = analyzeFrames(graph);
    std::vector<bool> read(graph.values.size(), false);
    for (const Operator& op : graph.operators)
        for (const ValueId input : op.inputs)
            if (input.valid()) read[static_cast<size_t>(input.index)] = true;
    std::vector<std::string> names;
    for (size_t v = 0; v < graph.values.size(); ++v) {
        const Value& value = graph.values[v];
        const bool handle = value.type.dtype == DType::resource || value.type.dtype == DType::variant;
        if (value.role != ValueRole::result || read[v] || handle) continue;
        if (frames.frameOf.empty() || !isInsideFlow(graph, value, frames)) names.push_back(value.id);
    }
    return names;
}

/// Adds every Placeholder that the selection runs.
Status addPlaceholders(const Model& model, GraphId root, RunSelection& selection)
{
    LS_TRY(const Model selected, selectForRun(model, root, selection));
    for (const Operator& op : selected.graph(root).operators)
        if (op.kind.name == "Placeholder" || op.kind.name == "PlaceholderV2") selection.feeds.push_back(op.name);
    return {};
}

/// The value that a signature's input stands for; other names as they are.
std::string feedOf(const Model& model, std::string_view signature, const std::string& name)
{
    const Signature* chosen = chooseSignature(model, signature);
    if (chosen != nullptr)
        for (const SignatureBinding& binding : chosen->inputs)
            if (binding.name == name) return model.graph(chosen->graph).value(binding.value).id;
    return name;
}

} // namespace

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
    const auto add = [&](std::vector<std::string>& names, const std::vector<SignatureBinding>& bindings) {
        for (const SignatureBinding& binding : bindings) {
            const std::string& id = graph.value(binding.value).id;
            if (std::find(names.begin(), names.end(), id) == names.end()) names.push_back(id);
        }
    };
    if (nothingAsked && chosen != nullptr) add(asked.fetches, chosen->outputs);
    if (nothingAsked && chosen != nullptr) add(asked.feeds, chosen->inputs);
    if (nothingAsked && asked.fetches.empty()) asked.fetches = unreadValues(graph);
    // The graph's own inputs stay: what is selected may read them.
    for (const ValueId input : graph.inputs)
        if (const std::string& id = graph.value(input).id; std::ranges::find(asked.feeds, id) == asked.feeds.end())
            asked.feeds.push_back(id);
    LS_CHECK_OK(addPlaceholders(model, root, asked));
    return asked;
}

Status selectFromArguments(Model& model, const Arguments& arguments)
{
    if (model.dialect != Dialect::tf) return {};
    if (!model.hasGraph(rootOf(model, arguments.text("signature")))) return Error(ErrorCode::badFile, "the model has no graphs");
    RunSelection asked;
    asked.fetches = arguments.all("fetch");
    asked.targets = arguments.all("target");
    if (model.graph(rootOf(model, arguments.text("signature"))).inputs.empty()) // a function has its own
        for (const char* option : {"input", "feed"})
            for (const std::string& text : arguments.all(option)) {
                LS_TRY(const InputOption input, splitInputOption(text));
                if (!input.name.empty() && input.name != "all")
                    asked.feeds.push_back(feedOf(model, arguments.text("signature"), input.name));
            }
    LS_TRY(const RunSelection selection, completeSelection(model, std::move(asked), arguments.text("signature")));
    LS_TRY(model, selectForRun(model, rootOf(model, arguments.text("signature")), selection));
    return {};
}

} // namespace loopscope::app
