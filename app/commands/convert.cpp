// `loopscope convert`: models from one format to another.
#include "app/commands/commands.h"
#include "app/output/console.h"
#include "app/output/json_writer.h"
#include "app/wiring/initial_values.h"
#include "app/wiring/lowering.h"
#include "app/wiring/outputs.h"
#include "app/wiring/recording.h"
#include "app/wiring/tf_target.h"
#include "converters/formats.h"
#include "converters/lower/states.h"
#include "converters/tflite/file_archive.h"
#include "engine/api/inputs/inputs.h"
#include "engine/api/inputs/run_target.h"
#include "engine/base/text.h"
#include "engine/transform/freeze.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::app {

namespace {

void tellLostFiles(Console& console, const LoadedModel& file)
{
    std::vector<std::string> names;
    for (const ArchivedFile& lost : readFileArchive(file.content).files) names.push_back(lost.name);
    if (!names.empty()) console.warning("left out, for the format has no room for files beside the model: " + join(names, ", "));
}

/// What was frozen, in words.
struct FrozenText {
    bool isFrozen = false;
    int64_t variables = 0;
    std::vector<std::string> lines;
};

/// "x -> serving_default_x:0, y -> …": a signature for those who have only the nodes' names.
std::string bindingText(const Graph& graph, const std::vector<SignatureBinding>& bindings)
{
    std::vector<std::string> parts;
    for (const SignatureBinding& binding : bindings) parts.push_back(binding.name + " -> " + graph.value(binding.value).id);
    return join(parts, ", ");
}

Result<FrozenText> freeze(LoadedModel& file, const Arguments& arguments, bool keepsSignatures)
{
    Model& model = file.model;
    if (model.dialect != Dialect::tf)
        return Error(ErrorCode::usage, "--freeze is for TensorFlow graphs").found("dialect " + std::string(dialectName(model.dialect)));
    LS_TRY(const RunSelection selection, selectionFromArguments(file, arguments));
    const std::string key = arguments.text("signature");
    const Signature* const chosen = chooseSignature(model, key);
    LS_TRY(const Frozen frozen, freezeVariables(model, rootOf(model, key), selection, chosen ? chosen->key : ""));
    FrozenText text;
    text.isFrozen = true;
    text.variables = frozen.variables;
    text.lines.push_back(groupThousands(frozen.variables) +
                         (frozen.variables == 1 ? " variable is a constant" : " variables are constants") +
                         " now; fetched: " + join(selection.fetches, ", "));
    if (!frozen.tables.empty())
        text.lines.push_back("tables are filled by " +
                             std::string(attributeString(model.attributes, "init_op", "nothing that the file names")) +
                             ", which has to run first: " + join(frozen.tables, ", "));
    if (keepsSignatures) return text;
    for (const Signature& signature : model.signatures)
        text.lines.push_back("signature '" + signature.key + "': " + bindingText(model.graph(signature.graph), signature.inputs) + "; " +
                             bindingText(model.graph(signature.graph), signature.outputs));
    model.signatures.clear(); // a GraphDef has no place for them
    return text;
}

/// `--feed NAME` and `--feed NAME=SOURCE` name inputs; a source only gives the shape.
Result<std::vector<std::pair<std::string, std::string>>> feedsOf(const Arguments& arguments)
{
    std::vector<std::pair<std::string, std::string>> feeds;
    for (const std::string& text : arguments.all("feed")) {
        if (text.find('=') == std::string::npos) {
            feeds.emplace_back(text, "");
            continue;
        }
        LS_TRY(const InputOption input, splitInputOption(text));
        feeds.emplace_back(input.name, text.substr(text.find('=') + 1));
    }
    return feeds;
}

/// Shapes of inputs as their sources have them.
Status shapeInputs(Model& model, GraphId root, const RunSelection& selection, const std::vector<std::pair<std::string, std::string>>& feeds)
{
    LS_TRY(const Model selected, selectForRun(model, root, selection));
    LS_TRY(const RunTarget target, selectTarget(selected, ""));
    for (const auto& [name, source] : feeds) {
        if (source.empty()) continue;
        LS_TRY(const Port* const port, findInput(target, name));
        Port shaped = *port;
        if (source.starts_with('@')) shaped.type.dtype = DType::f32; // only the shape of what is drawn counts
        LS_TRY(const Array array, bindInput(shaped, source, 1, nullptr));
        TensorType& type = model.graph(root).value(port->value).type;
        type = TensorType(type.dtype, array.shape);
    }
    return {};
}

/// A TensorFlow graph as TFLite. Notes say what was left out.
Result<std::vector<std::string>> lower(LoadedModel& file, const Arguments& arguments)
{
    Model& model = file.model;
    const std::string key = arguments.text("signature");
    LS_TRY(const auto feeds, feedsOf(arguments));
    LS_TRY(RunSelection selection, selectionFromArguments(file, arguments));
    const GraphId root = rootOf(model, key);
    LS_CHECK_OK(takeInitialValues(model, root));
    std::vector<std::string> order;
    for (const auto& [name, source] : feeds) {
        const std::string id = name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
        const Signature* const signature = chooseSignature(model, key);
        const auto binding = [&](const SignatureBinding& b) { return b.name == name; };
        const auto bound = signature ? std::ranges::find_if(signature->inputs, binding) : std::vector<SignatureBinding>::const_iterator();
        const bool isBound = signature && bound != signature->inputs.end();
        order.push_back(isBound ? model.graph(root).value(bound->value).id : id);
    }
    for (const std::string& feed : selection.feeds)
        if (std::ranges::find(order, feed) == order.end() && std::ranges::find(order, feed + ":0") == order.end()) order.push_back(feed);
    selection.feeds = std::move(order);
    LS_CHECK_OK(shapeInputs(model, root, selection, feeds));
    const Signature* const chosen = chooseSignature(model, key);
    LS_TRY(LoweredModel lowered, loweredModel(model, root, selection, chosen ? chosen->key : "", {arguments.has("allow-custom")}));
    if (!lowered.noForm.empty()) return noFormError(lowered);
    file.model = std::move(lowered.model);
    return std::move(lowered.notes);
}

} // namespace

Result<int> runConvert(const CommandContext& context)
{
    Console& console = context.console;
    const Arguments& arguments = context.arguments;
    LS_TRY(const std::string out, outputPath(arguments, "convert", "loopscope convert model.tflite -o model.lsir"));
    SaveOptions options = savingOptions(arguments);
    const std::string data = arguments.text("data");
    if (data == "inline") options.data = DataMode::inlineData;
    else if (data == "side") options.data = DataMode::side;
    else if (data == "none") options.data = DataMode::none;
    LS_TRY(LoadedModel file, loadModel(arguments.positionals[0]));
    options.source = file.content;
    LS_TRY(const Format* const format, formatToSave(out, options));
    FrozenText frozen;
    const LoadedModel before = file;
    const bool isLowered = file.model.dialect == Dialect::tf && (format->extension == "tflite" || format->extension == "circle");
    if (isLowered) {
        Result<std::vector<std::string>> notes = lower(file, arguments);
        if (!notes.ok()) return std::move(notes).takeError().at(file.path);
        for (const std::string& note : *notes) console.note(note);
        recordDerivation(file.model, derivationFrom(before, "lower"), before.model);
    } else if (arguments.has("freeze")) {
        Result<FrozenText> done = freeze(file, arguments, format->extension != "pb" && format->extension != "pbtxt");
        if (!done.ok()) return std::move(done).takeError().at(file.path);
        frozen = std::move(done).value();
        recordDerivation(file.model, derivationFrom(before, "freeze"), before.model);
    } else {
        for (const char* option : {"signature", "fetch", "feed"})
            if (arguments.has(option))
                return Error(ErrorCode::usage, "--" + std::string(option) + " says what --freeze keeps").expected("--freeze, too");
        if (arguments.has("allow-custom")) return Error(ErrorCode::usage, "--allow-custom is for TensorFlow graphs that become .tflite");
    }
    if (format->extension == "tflite" || format->extension == "circle") {
        LS_TRY(const std::vector<std::string> notes, storeStates(file.model));
        for (const std::string& note : notes) console.note(note);
    }
    LS_CHECK_OK(format->save(file.model, out, options));
    if (!format->keepsFiles) tellLostFiles(console, file);
    std::error_code error;
    const auto bytes = std::filesystem::file_size(out, error);
    if (console.json()) {
        JsonWriter json;
        json.beginObject().key("schema").value(1).key("file").value(out).key("bytes").value(static_cast<int64_t>(error ? 0 : bytes));
        if (frozen.isFrozen) json.key("variables").value(frozen.variables);
        console.line(json.endObject().text());
    } else if (!error) {
        console.line(out + ": " + formatBytes(bytes));
        for (const std::string& line : frozen.lines) console.line(line);
    }
    return 0;
}

} // namespace loopscope::app
