// The folder from the top: choose the MetaGraph, import it, then attach variables, assets and the initialising node.
#include "converters/savedmodel/savedmodel.h"

#include "converters/graphdef/graphdef.h"
#include "converters/graphdef/import_meta_graph.h"
#include "converters/graphdef/messages.h"
#include "converters/savedmodel/checkpoint.h"
#include "converters/savedmodel/object_variables.h"
#include "converters/savedmodel/registered_gradients.h"
#include "converters/savedmodel/restored_variables.h"
#include "engine/base/bytes.h"
#include "engine/base/file_guard.h"
#include "engine/ops/lost_values.h"
#include "engine/ops/op_traits.h"

#include "meta_graph.pb.h"

#include <algorithm>
#include <filesystem>

namespace loopscope {

namespace {

/// "node:0" → "node".
std::string nodeOf(const std::string& tensor) { return tensor.substr(0, tensor.find(':')); }

OperatorId findNode(const Graph& graph, std::string_view name)
{
    const auto found = std::ranges::find(graph.operators, name, &Operator::name);
    return found == graph.operators.end() ? OperatorId() : OperatorId(found - graph.operators.begin());
}

/// The node that initialises tables and assets, by either of the two ways in which writers name it; empty if there is none.
std::string initNode(const tfpb::MetaGraphDef& meta)
{
    if (const auto signature = meta.signature_def().find("__saved_model_init_op"); signature != meta.signature_def().end())
        for (const auto& [name, info] : signature->second.outputs())
            if (!info.name().empty()) return nodeOf(info.name());
    for (const char* key : {"saved_model_main_op", "legacy_init_op"})
        if (const auto collection = meta.collection_def().find(key); collection != meta.collection_def().end())
            for (const std::string& node : collection->second.node_list().value()) return nodeOf(node);
    return {};
}

struct Asset {
    std::string node, file;
};

Status attachAssets(Model& model, const std::string& folder, const std::vector<Asset>& assets)
{
    for (const auto& [node, name] : assets) {
        const std::filesystem::path relative(name);
        const bool leaves = relative.is_absolute() || std::ranges::find(relative, std::filesystem::path("..")) != relative.end();
        if (name.empty() || leaves) return Error(ErrorCode::badFile, "asset '" + name + "' lies outside of the folder");
        const OperatorId op = findNode(model.graphs.front(), node);
        if (!op.valid()) return Error(ErrorCode::badFile, "asset '" + name + "' belongs to node '" + node + "', which is not in the graph");
        LS_TRY(const Bytes content, mapFile(folder + "/assets/" + name));
        const std::string entry = "assets/" + name;
        setAttribute(model.graphs.front().operators[static_cast<size_t>(op.index)].attributes, "@asset", entry);
        if (std::ranges::find(model.metadata, entry, &Metadata::name) == model.metadata.end())
            model.metadata.push_back({entry, std::make_shared<Constant>(content)});
    }
    return {};
}

/// Whether the graph is worth opening without what the error speaks of: a file is damaged, or has a form that is not read.
bool isLoss(const Error& error) { return error.code() == ErrorCode::badFile || error.code() == ErrorCode::unsupported; }

/// No variable that has no value yet will get one.
Status loseRest(Model& model, const Error& why)
{
    if (!isLoss(why)) return why.copy();
    for (Operator& op : model.graphs.front().operators)
        if (hasTrait(op.kind, OpTrait::variable) && findAttribute(op.attributes, "@value") == nullptr &&
            findAttribute(op.attributes, kLostValue) == nullptr)
            setAttribute(op.attributes, std::string(kLostValue), why.message());
    return {};
}

/// What the graph itself restores, and of the other variables what the saved objects say.
Result<std::vector<savedmodel::RestoredVariable>> variablesOf(const Model& model, savedmodel::Checkpoint& checkpoint)
{
    std::vector<savedmodel::RestoredVariable> variables = savedmodel::restoredVariables(model);
    const auto rest = std::ranges::find(model.metadata, kMetaGraphEntry, &Metadata::name);
    if (rest == model.metadata.end() || !rest->data->hasBytes()) return variables;
    LS_TRY(std::vector<savedmodel::RestoredVariable> objects, savedmodel::objectVariables(model, rest->data->bytes().view(), checkpoint));
    for (savedmodel::RestoredVariable& object : objects)
        if (std::ranges::find(variables, object.variable, &savedmodel::RestoredVariable::variable) == variables.end())
            variables.push_back(std::move(object));
    return variables;
}

/// What the graph does not restore may have an entry of its name: what writes checkpoints for a graph without a saver calls them so.
void addNamed(const Model& model, const savedmodel::Checkpoint& checkpoint, std::vector<savedmodel::RestoredVariable>& variables)
{
    const std::vector<Operator>& operators = model.graphs.front().operators;
    for (size_t o = 0; o < operators.size(); ++o) {
        const Operator& op = operators[o];
        const OperatorId id(static_cast<int64_t>(o));
        if (op.kind.name != "VarHandleOp" && op.kind.name != "VariableV2" && op.kind.name != "Variable") continue;
        if (std::ranges::find(variables, id, &savedmodel::RestoredVariable::variable) != variables.end()) continue;
        if (checkpoint.entries().contains(op.name)) variables.push_back({id, op.name});
    }
}

enum class Damage : uint8_t { fails, loses };

Status giveValues(Model& model, savedmodel::Checkpoint& checkpoint, const std::vector<savedmodel::RestoredVariable>& variables,
                  Damage damage)
{
    Graph& main = model.graphs.front();
    for (const savedmodel::RestoredVariable& restored : variables) {
        Operator& op = main.operators[static_cast<size_t>(restored.variable.index)];
        Result<TensorAttribute> value =
            restored.slice.empty() ? checkpoint.read(restored.key) : checkpoint.readSlice(restored.key, restored.slice);
        if (value.ok()) {
            removeAttribute(op.attributes, kLostValue);
            setAttribute(op.attributes, "@value", std::move(value).value());
        } else if (damage == Damage::loses && isLoss(value.error()))
            setAttribute(op.attributes, std::string(kLostValue), value.error().message());
        else return std::move(value).takeError().at("variable '" + op.name + "'");
    }
    return {};
}

Status attachVariables(Model& model, const std::string& folder)
{
    std::error_code ignored;
    const std::string prefix = folder + "/variables/variables";
    if (!std::filesystem::exists(prefix + ".index", ignored) && savedmodel::restoredVariables(model).empty()) return {};
    Result<savedmodel::Checkpoint> checkpoint = savedmodel::Checkpoint::open(prefix);
    if (!checkpoint.ok()) return loseRest(model, checkpoint.error());
    const Result<std::vector<savedmodel::RestoredVariable>> variables = variablesOf(model, *checkpoint);
    LS_CHECK_OK(giveValues(model, *checkpoint, variables.ok() ? *variables : savedmodel::restoredVariables(model), Damage::loses));
    return variables.ok() ? Status() : loseRest(model, variables.error());
}

/// Everything that is read of a SavedModel lies in its folder: a link may not lead out of it. Errors: badFile.
Status checkLinks(const std::string& folder, const std::string& messageFile)
{
    namespace fs = std::filesystem;
    LS_CHECK_OK(checkWithin(folder, messageFile));
    for (const char* part : {"/variables", "/assets"}) {
        LS_CHECK_OK(checkWithin(folder, folder + part));
        std::error_code error;
        for (fs::recursive_directory_iterator entry(folder + part, error), end; !error && entry != end; entry.increment(error))
            if (entry->is_symlink(error)) LS_CHECK_OK(checkWithin(folder, entry->path().string()));
    }
    return {};
}

Result<Model> importMessage(tfpb::SavedModel& message, const std::string& folder, size_t fileBytes)
{
    if (message.meta_graphs_size() == 0) return Error(ErrorCode::badFile, "holds no graph");
    int chosen = 0;
    for (int i = message.meta_graphs_size() - 1; i >= 0; --i) {
        const auto& tags = message.meta_graphs(i).meta_info_def().tags();
        if (std::ranges::find(tags, "serve") != tags.end()) chosen = i;
    }
    tfpb::MetaGraphDef& meta = *message.mutable_meta_graphs(chosen);
    const std::string init = initNode(meta);
    std::vector<Asset> assets;
    for (const tfpb::AssetFileDef& asset : meta.asset_file_def()) assets.push_back({nodeOf(asset.tensor_info().name()), asset.filename()});
    LS_TRY(Model model, graphdef::modelOf(meta, fileBytes));
    if (findNode(model.graphs.front(), init).valid()) setAttribute(model.attributes, "init_op", init);
    LS_CHECK_OK(attachAssets(model, folder, assets));
    LS_CHECK_OK(attachVariables(model, folder));
    if (const auto rest = std::ranges::find(model.metadata, kMetaGraphEntry, &Metadata::name); rest != model.metadata.end())
        LS_CHECK_OK(savedmodel::nameRegisteredGradients(model, rest->data->bytes().view()));
    return model;
}

} // namespace

namespace {

Status attachCheckpointOf(Model& model, const std::string& prefix, Damage damage)
{
    LS_TRY(savedmodel::Checkpoint checkpoint, savedmodel::Checkpoint::open(prefix));
    std::vector<savedmodel::RestoredVariable> variables = savedmodel::restoredVariables(model);
    addNamed(model, checkpoint, variables);
    if (variables.empty()) return Error(ErrorCode::badFile, "holds no value of a variable of this graph").at(prefix + ".index");
    return giveValues(model, checkpoint, variables, damage);
}

} // namespace

Status attachCheckpoint(Model& model, const std::string& prefix) { return attachCheckpointOf(model, prefix, Damage::fails); }

Result<bool> attachCheckpointBeside(Model& model, const std::string& path)
{
    namespace fs = std::filesystem;
    const fs::path prefix = fs::path(path).replace_extension();
    std::error_code error;
    if (!fs::is_regular_file(prefix.string() + ".index", error)) return false;
    const std::string folder = prefix.has_parent_path() ? prefix.parent_path().string() : ".";
    const std::string shards = prefix.filename().string() + ".";
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
        if (entry->is_symlink(error) && entry->path().filename().string().starts_with(shards))
            LS_CHECK_OK(checkWithin(folder, entry->path().string()));
    Status status = attachCheckpointOf(model, prefix.string(), Damage::loses);
    if (!status.ok()) LS_CHECK_OK(loseRest(model, std::move(status).takeError()));
    return true;
}

Status attachFile(Model& model, const std::string& name, const std::string& path)
{
    LS_TRY(const Bytes content, mapFile(path));
    const std::string entry = "assets/" + name;
    const auto known = std::ranges::find(model.metadata, entry, &Metadata::name);
    auto bytes = std::make_shared<Constant>(content);
    if (known != model.metadata.end()) known->data = std::move(bytes);
    else model.metadata.push_back({entry, std::move(bytes)});
    return {};
}

std::string savedModelFile(const std::string& folder)
{
    std::error_code ignored;
    for (const char* name : {"/saved_model.pb", "/saved_model.pbtxt"})
        if (std::filesystem::is_regular_file(folder + name, ignored)) return folder + name;
    return {};
}

bool isSavedModelFolder(const std::string& path) { return !savedModelFile(path).empty(); }

Result<Model> importSavedModel(const std::string& folder)
{
    const std::string path = savedModelFile(folder);
    if (path.empty()) return Error(ErrorCode::badFile, "no saved_model.pb in this folder").at(folder);
    LS_CHECK_OK(checkLinks(folder, path));
    LS_TRY(const Bytes content, mapFile(path));
    tfpb::SavedModel message;
    const bool isText = graphdef::textKind(content.view()) == graphdef::TextKind::savedModel;
    // The object graph has no fields here, and nothing is written back: text may name what we do not know.
    Status status = isText ? graphdef::parseText(message, content.view(), graphdef::UnknownNames::skip)
                           : graphdef::parseBinary(message, content.view());
    if (!status.ok()) return std::move(status).takeError().at(path);
    Result<Model> model = importMessage(message, folder, content.size());
    if (!model.ok()) return std::move(model).takeError().at(folder);
    return model;
}

} // namespace loopscope
