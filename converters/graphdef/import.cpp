// The import from the top: the library's functions, the main graph, versions, gradients; for a MetaGraphDef its signatures and tags.
#include "converters/graphdef/graphdef.h"
#include "converters/graphdef/import_meta_graph.h"
#include "converters/graphdef/import_state.h"
#include "converters/graphdef/messages.h"

#include "graph.pb.h"
#include "meta_graph.pb.h"

#include <google/protobuf/arena.h>

#include <algorithm>

namespace loopscope::graphdef {

namespace {

Attribute integers(const google::protobuf::RepeatedField<int32_t>& list)
{
    AttributeItems items;
    for (const int32_t i : list) items.emplace_back(int64_t{i});
    return Attribute(std::move(items));
}

void readVersions(const tfpb::GraphDef& graph, AttributeList& list)
{
    if (graph.has_versions()) {
        const tfpb::VersionDef& versions = graph.versions();
        setAttribute(list, "producer", int64_t{versions.producer()});
        if (versions.min_consumer() != 0) setAttribute(list, "min_consumer", int64_t{versions.min_consumer()});
        if (versions.bad_consumers_size() > 0) setAttribute(list, "bad_consumers", integers(versions.bad_consumers()));
        if (std::string unknown = unknownBytesOf(versions); !unknown.empty()) setAttribute(list, "@versions", HexBytes{std::move(unknown)});
    }
    if (graph.version() != 0) setAttribute(list, "version", int64_t{graph.version()});
}

/// Graphs for the functions, so that attributes can name them; their bodies come later.
Status declareFunctions(ImportState& state, const tfpb::FunctionDefLibrary& library)
{
    state.model.graphs.resize(1);
    for (const tfpb::FunctionDef& function : library.function()) {
        const std::string& name = function.signature().name();
        const GraphId id(static_cast<int64_t>(state.model.graphs.size()));
        if (name.empty()) return Error(ErrorCode::badFile, "function " + std::to_string(id.index - 1) + " of the library has no name");
        if (!state.functionIds.emplace(name, id).second) return Error(ErrorCode::badFile, "two functions have the name '" + name + "'");
        state.functionSignatures.emplace(name, signatureOf(function.signature()));
        state.model.graphs.emplace_back().id = name;
    }
    std::string main = "main";
    for (int n = 1; state.functionIds.contains(main); ++n) main = "main_" + std::to_string(n);
    state.model.graphs.front().id = main;
    return {};
}

/// Gradients of functions; what is not of that form stays as bytes.
void readGradients(ImportState& state, tfpb::FunctionDefLibrary& library)
{
    tfpb::FunctionDefLibrary rest;
    for (const tfpb::GradientDef& gradient : library.gradient()) {
        const auto function = state.functionIds.find(gradient.function_name());
        if (function != state.functionIds.end() && unknownBytesOf(gradient).empty())
            state.model.gradients.emplace_back(function->second, gradient.gradient_func());
        else *rest.add_gradient() = gradient;
    }
    *rest.mutable_registered_gradients() = library.registered_gradients();
    mergeBytes(rest, unknownBytesOf(library));
    if (std::string bytes = bytesOf(rest); !bytes.empty()) setAttribute(state.model.attributes, "@library", HexBytes{std::move(bytes)});
}

struct Binding {
    std::string name;
    std::string tensor;
};

/// The parts of a signature that are tensors of the graph, by name.
std::vector<Binding> bindingsOf(const google::protobuf::Map<std::string, tfpb::TensorInfo>& map)
{
    std::vector<Binding> bindings;
    for (const auto& [name, info] : map)
        if (info.encoding_case() == tfpb::TensorInfo::kName) bindings.push_back({name, info.name()});
    std::ranges::sort(bindings, {}, &Binding::name);
    return bindings;
}

/// A name without output number is, in a signature, a node that is run for its effect.
Status bindAll(const BodyImport& body, const std::vector<Binding>& bindings, const std::string& what, std::vector<SignatureBinding>& list)
{
    for (const Binding& binding : bindings) {
        const ValueId value = body.resolve(binding.tensor);
        if (value.valid()) list.push_back({binding.name, value});
        else if (!body.findNode(binding.tensor).valid())
            return Error(ErrorCode::badFile,
                         what + " '" + binding.name + "' is tensor '" + binding.tensor + "', which is not in the graph");
    }
    return {};
}

Result<Model> import(tfpb::GraphDef& graph, tfpb::MetaGraphDef* metaGraph, size_t fileBytes)
{
    ImportState state;
    state.slotsLeft += static_cast<int64_t>(fileBytes);
    state.model.dialect = Dialect::tf;
    state.producer = graph.versions().producer();
    LS_CHECK_OK(declareFunctions(state, graph.library()));
    readVersions(graph, state.model.attributes);
    if (graph.has_debug_info()) setAttribute(state.model.attributes, "@debug", HexBytes{bytesOf(graph.debug_info())});
    if (std::string unknown = unknownBytesOf(graph); !unknown.empty())
        setAttribute(state.model.attributes, "@unknown", HexBytes{std::move(unknown)});
    readGradients(state, *graph.mutable_library());

    BodyImport body(state, state.model.graphs.front(), false);
    LS_CHECK_OK(body.nodes(*graph.mutable_node()));
    std::vector<std::string> keys;
    if (metaGraph != nullptr)
        for (const auto& [key, signature] : metaGraph->signature_def()) {
            keys.push_back(key);
            for (const auto* map : {&signature.inputs(), &signature.outputs()})
                for (const Binding& binding : bindingsOf(*map)) body.mention(binding.tensor);
        }
    LS_CHECK_OK(body.connect(graph.node()));
    std::ranges::sort(keys);
    for (const std::string& key : keys) {
        const tfpb::SignatureDef& message = metaGraph->signature_def().at(key);
        Signature& signature = state.model.signatures.emplace_back();
        signature.key = key;
        signature.graph = GraphId(0);
        Status status = bindAll(body, bindingsOf(message.inputs()), "input", signature.inputs);
        if (status.ok()) status = bindAll(body, bindingsOf(message.outputs()), "output", signature.outputs);
        if (!status.ok()) return std::move(status).takeError().at("signature \"" + key + "\"");
    }
    for (int f = 0; f < graph.library().function_size(); ++f) {
        Graph& function = state.model.graphs[static_cast<size_t>(f) + 1];
        if (Status status = importFunction(state, *graph.mutable_library()->mutable_function(f), function); !status.ok())
            return std::move(status).takeError().at("function '" + function.id + "'");
    }
    return std::move(state.model);
}

Error inFile(Error error, const std::string& path) { return std::move(error).at(path); }

} // namespace

Result<Model> modelOf(tfpb::GraphDef& graph, size_t fileBytes) { return import(graph, nullptr, fileBytes); }

Result<Model> modelOf(tfpb::MetaGraphDef& metaGraph, size_t fileBytes)
{
    tfpb::GraphDef graph;
    graph.Swap(metaGraph.mutable_graph_def());
    metaGraph.clear_graph_def();
    LS_TRY(Model model, import(graph, &metaGraph, fileBytes));
    AttributeItems tags;
    for (const std::string& tag : metaGraph.meta_info_def().tags()) tags.emplace_back(tag);
    if (!tags.empty()) setAttribute(model.attributes, "tags", Attribute(std::move(tags)));
    const std::string rest = bytesOf(metaGraph);
    model.metadata.push_back({std::string(kMetaGraphEntry), std::make_shared<Constant>(Bytes::copyOf(rest.data(), rest.size()))});
    return model;
}

} // namespace loopscope::graphdef

namespace loopscope {

using namespace graphdef;

Result<Model> importGraphDef(const std::string& path, Bytes content)
{
    google::protobuf::Arena arena;
    const auto read = [&](auto& message) -> Result<Model> {
        LS_CHECK_OK(parseBinary(message, content.view()));
        return modelOf(message, content.size());
    };
    Result<Model> model = looksLikeMetaGraph(content.view()) ? read(*google::protobuf::Arena::CreateMessage<tfpb::MetaGraphDef>(&arena))
                                                             : read(*google::protobuf::Arena::CreateMessage<tfpb::GraphDef>(&arena));
    if (!model.ok()) return inFile(std::move(model).takeError(), path);
    return model;
}

Result<Model> importGraphDefText(const std::string& path, Bytes content)
{
    const auto read = [&](auto message) -> Result<Model> {
        // Line and column follow the file's name directly, as everywhere.
        LS_CHECK_OK(parseText(message, content.view()));
        return modelOf(message, content.size());
    };
    Result<Model> model = textKind(content.view()) == TextKind::metaGraph ? read(tfpb::MetaGraphDef()) : read(tfpb::GraphDef());
    if (!model.ok()) return inFile(std::move(model).takeError(), path);
    return model;
}

} // namespace loopscope
