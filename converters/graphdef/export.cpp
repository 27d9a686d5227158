// Models to GraphDef and MetaGraphDef: the inverse of the import, node for node.
#include "converters/graphdef/graphdef.h"
#include "converters/graphdef/import_state.h"
#include "converters/graphdef/messages.h"
#include "engine/base/text.h"

#include "graph.pb.h"
#include "meta_graph.pb.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <set>

namespace loopscope::graphdef {

namespace {

class Export {
public:
    explicit Export(const Model& model) : m_model(model) {}

    Status graphDef(tfpb::GraphDef& out)
    {
        versions(out);
        LS_CHECK_OK(facts(m_model.attributes, "@debug", [&] { return out.mutable_debug_info(); }));
        LS_CHECK_OK(facts(m_model.attributes, "@unknown", [&] { return &out; }));
        for (size_t g = 1; g < m_model.graphs.size(); ++g) {
            tfpb::OpDef signature;
            LS_CHECK_OK(signatureOfGraph(m_model.graphs[g], signature));
            m_functions.emplace(m_model.graphs[g].id, signatureOf(signature));
        }
        if (!m_model.graphs.empty()) LS_CHECK_OK(body(m_model.graphs.front(), false, *out.mutable_node()));
        for (size_t g = 1; g < m_model.graphs.size(); ++g)
            if (Status status = function(m_model.graphs[g], *out.mutable_library()->add_function()); !status.ok())
                return std::move(status).takeError().at("function '" + m_model.graphs[g].id + "'");
        for (const auto& [graph, name] : m_model.gradients) {
            tfpb::GradientDef& gradient = *out.mutable_library()->add_gradient();
            gradient.set_function_name(m_model.graph(graph).id);
            gradient.set_gradient_func(name);
        }
        return facts(m_model.attributes, "@library", [&] { return out.mutable_library(); });
    }

    /// What no GraphDef can say of this model, by name.
    Error* unsayable(bool asMetaGraph)
    {
        const std::string place = std::string("cannot convert to ") + (asMetaGraph ? "MetaGraphDef" : "GraphDef");
        std::vector<std::string> parts;
        if (m_model.dialect != Dialect::tf) {
            m_unsayable = std::make_unique<Error>(Error(ErrorCode::unsupported, "it holds TensorFlow's operators")
                                                      .at(place)
                                                      .found("dialect " + std::string(dialectName(m_model.dialect))));
            return m_unsayable.get();
        }
        if (!asMetaGraph)
            for (const Signature& signature : m_model.signatures) parts.push_back("signature \"" + signature.key + "\"");
        for (const Metadata& metadata : m_model.metadata)
            if (!asMetaGraph || metadata.name != kMetaGraphEntry) parts.push_back("metadata \"" + metadata.name + "\"");
        if (!m_model.versions.empty()) parts.emplace_back("operator versions");
        if (!m_model.graphs.empty()) {
            const Graph& main = m_model.graphs.front();
            if (!main.inputs.empty() || !main.outputs.empty()) parts.push_back("inputs and outputs of graph " + main.id);
            if (!main.attributes.empty()) parts.push_back("attributes of graph " + main.id);
        }
        if (!m_model.graphs.empty())
            for (const Operator& op : m_model.graphs.front().operators)
                if (findAttribute(op.attributes, "@value")) parts.push_back("the value of variable '" + op.name + "'");
        for (const Graph& graph : m_model.graphs)
            for (const Value& value : graph.values)
                if (value.role != ValueRole::input && value.role != ValueRole::result)
                    parts.push_back("declared value '" + value.id + "' of graph " + graph.id);
        if (parts.empty()) return nullptr;
        if (parts.size() > kMostNamed) {
            const size_t more = parts.size() - kMostNamed;
            parts.resize(kMostNamed);
            parts.push_back(std::to_string(more) + " more");
        }
        m_unsayable = std::make_unique<Error>(Error(ErrorCode::unsupported, "no place there for " + join(parts, ", ")).at(place));
        if (!asMetaGraph) *m_unsayable = std::move(*m_unsayable).note("a MetaGraphDef (.meta) keeps signatures");
        return m_unsayable.get();
    }

private:
    static constexpr size_t kMostNamed = 5;

    /// Bytes that import kept under a fact, back into the message that they came from.
    template <typename Target> static Status facts(const AttributeList& list, std::string_view key, Target target)
    {
        const Attribute* kept = findAttribute(list, key);
        if (!kept) return {};
        const auto* hex = kept->as<HexBytes>();
        if (!hex || !mergeBytes(*target(), hex->bytes))
            return Error(ErrorCode::badFile, "fact " + std::string(key) + " holds no bytes of a message");
        return {};
    }

    void versions(tfpb::GraphDef& out) const
    {
        const AttributeList& list = m_model.attributes;
        const auto number = [&](std::string_view key) { return static_cast<int32_t>(attributeInt(list, key, 0)); };
        if (findAttribute(list, "producer") || findAttribute(list, "min_consumer") || findAttribute(list, "bad_consumers") ||
            findAttribute(list, "@versions")) {
            tfpb::VersionDef& versions = *out.mutable_versions();
            versions.set_producer(number("producer"));
            versions.set_min_consumer(number("min_consumer"));
            for (const int64_t bad : attributeInts(list, "bad_consumers")) versions.add_bad_consumers(static_cast<int32_t>(bad));
            if (const Attribute* kept = findAttribute(list, "@versions"); kept && kept->as<HexBytes>())
                mergeBytes(versions, kept->as<HexBytes>()->bytes);
        }
        out.set_version(number("version"));
    }

    Status attributes(const AttributeList& list, google::protobuf::Map<std::string, tfpb::AttrValue>& out) const
    {
        for (const NamedAttribute& a : list) {
            if (a.key.starts_with('@')) continue;
            if (Status status = writeAttribute(a.value, m_model, out[a.key]); !status.ok())
                return std::move(status).takeError().at("attribute '" + a.key + "'");
        }
        return {};
    }

    Status body(const Graph& graph, bool isFunction, google::protobuf::RepeatedPtrField<tfpb::NodeDef>& out) const
    {
        out.Reserve(static_cast<int>(graph.operators.size()));
        for (const Operator& op : graph.operators)
            if (Status status = node(graph, op, isFunction, *out.Add()); !status.ok())
                return std::move(status).takeError().at("node '" + op.name + "'");
        return {};
    }

    Status node(const Graph& graph, const Operator& op, bool isFunction, tfpb::NodeDef& out) const
    {
        if (op.kind.dialect != "tf") return Error(ErrorCode::unsupported, "TensorFlow has no operator " + op.kind.full());
        out.set_name(op.name);
        out.set_op(op.kind.name);
        for (const ValueId input : op.inputs) {
            if (!input.valid()) return Error(ErrorCode::unsupported, "TensorFlow has no operands that are left out");
            out.add_input(tensorName(graph, input, isFunction));
        }
        for (const OperatorId control : op.controlInputs) out.add_input("^" + graph.op(control).name);
        if (const Attribute* kept = findAttribute(op.attributes, "@control_arguments"))
            if (const auto* items = kept->as<AttributeItems>())
                for (const Attribute& item : *items)
                    if (const auto* name = item.as<std::string>()) out.add_input("^" + *name);
        LS_CHECK_OK(attributes(op.attributes, *out.mutable_attr()));
        out.set_device(std::string(attributeString(op.attributes, "@device", "")));
        LS_CHECK_OK(facts(op.attributes, "@debug", [&] { return out.mutable_experimental_debug_info(); }));
        LS_CHECK_OK(facts(op.attributes, "@fulltype", [&] { return out.mutable_experimental_type(); }));
        return facts(op.attributes, "@unknown", [&] { return &out; });
    }

    /// As operands and `ret` spell a value: outputs by number in the main graph, by argument in functions.
    std::string tensorName(const Graph& graph, ValueId id, bool isFunction) const
    {
        const Value& value = graph.value(id);
        if (!isFunction || value.role != ValueRole::result || isNamed(graph, value)) return value.id;
        const Operator& op = graph.op(value.producer);
        const TfOpSignature* signature = findTfOp(op.kind.name);
        if (signature == nullptr)
            if (const auto found = m_functions.find(op.kind.name); found != m_functions.end()) signature = &found->second;
        if (signature == nullptr) return value.id;
        const auto name = tfSlotName(*signature, signature->outputs, op.attributes, value.slot);
        return name ? op.name + ":" + std::string(name->argument) + ":" + std::to_string(name->k) : value.id;
    }

    static bool isNamed(const Graph& graph, const Value& value)
    {
        const std::string& node = graph.op(value.producer).name;
        return value.id.find(':', std::min(value.id.size(), node.size() + 1)) != std::string::npos;
    }

    static Status signatureOfGraph(const Graph& graph, tfpb::OpDef& signature)
    {
        deriveSignature(graph, signature);
        const Attribute* kept = findAttribute(graph.attributes, "@signature");
        if (!kept) return {};
        tfpb::OpDef own;
        const auto* hex = kept->as<HexBytes>();
        if (!hex || !mergeBytes(own, hex->bytes))
            return Error(ErrorCode::badFile, "fact @signature holds no signature").at("function '" + graph.id + "'");
        if (!own.name().empty()) {
            signature = std::move(own);
            return {};
        }
        std::vector<const google::protobuf::FieldDescriptor*> fields;
        own.GetReflection()->ListFields(own, &fields);
        for (const auto* field : fields) signature.GetReflection()->ClearField(&signature, field);
        signature.MergeFrom(own);
        return {};
    }

    Status function(const Graph& graph, tfpb::FunctionDef& out) const
    {
        LS_CHECK_OK(signatureOfGraph(graph, *out.mutable_signature()));
        LS_CHECK_OK(attributes(graph.attributes, *out.mutable_attr()));
        LS_CHECK_OK(facts(graph.attributes, "@unknown", [&] { return &out; }));
        for (size_t i = 0; i < graph.inputs.size(); ++i) {
            const Value& value = graph.value(graph.inputs[i]);
            const auto index = static_cast<uint32_t>(i);
            if (const Attribute* number = findAttribute(value.attributes, "@resource_id"); number && number->as<int64_t>())
                (*out.mutable_resource_arg_unique_id())[index] = static_cast<uint32_t>(*number->as<int64_t>());
            const bool own = std::ranges::any_of(value.attributes, [](const NamedAttribute& a) { return !a.key.starts_with('@'); });
            if (own) LS_CHECK_OK(attributes(value.attributes, *(*out.mutable_arg_attr())[index].mutable_attr()));
        }
        LS_CHECK_OK(body(graph, true, *out.mutable_node_def()));
        for (const GraphOutput& output : graph.outputs) (*out.mutable_ret())[output.name] = tensorName(graph, output.value, true);
        for (const auto& [name, node] : graph.controlOutputs) (*out.mutable_control_ret())[name] = graph.op(node).name;
        return {};
    }

    const Model& m_model;
    std::unordered_map<std::string, TfOpSignature> m_functions;
    std::unique_ptr<Error> m_unsayable;
};

/// A signature that is not in what import kept: made by a text or a pass.
void writeSignatures(const Model& model, tfpb::MetaGraphDef& out)
{
    for (const Signature& signature : model.signatures) {
        if (out.signature_def().contains(signature.key) || !model.hasGraph(signature.graph)) continue;
        const Graph& graph = model.graph(signature.graph);
        tfpb::SignatureDef& message = (*out.mutable_signature_def())[signature.key];
        message.set_method_name("tensorflow/serving/predict");
        const auto write = [&](const std::vector<SignatureBinding>& list, auto& map) {
            for (const SignatureBinding& binding : list) {
                const Value& value = graph.value(binding.value);
                tfpb::TensorInfo& info = map[binding.name];
                info.set_name(value.role == ValueRole::result && value.slot == 0 ? value.id + ":0" : value.id);
                info.set_dtype(static_cast<tfpb::DataType>(numberOfType(value.type.dtype)));
                writeShape(value.type.shape, *info.mutable_tensor_shape());
            }
        };
        write(signature.inputs, *message.mutable_inputs());
        write(signature.outputs, *message.mutable_outputs());
    }
    if (const Attribute* tags = findAttribute(model.attributes, "tags"); tags && out.meta_info_def().tags().empty())
        if (const auto* items = tags->as<AttributeItems>())
            for (const Attribute& tag : *items)
                if (const auto* text = tag.as<std::string>()) out.mutable_meta_info_def()->add_tags(*text);
}

Result<std::string> serialized(const google::protobuf::Message& message)
{
    if (message.ByteSizeLong() > INT32_MAX)
        return Error(ErrorCode::unsupported, "a protobuf message is at most 2 GiB long")
            .found(std::to_string(message.ByteSizeLong()) + " bytes");
    std::string bytes = bytesOf(message);
    if (!readsBack(message, bytes))
        return Error(ErrorCode::unsupported, "a name that is not UTF-8 has no place in a message, nor has deeper nesting");
    return bytes;
}

} // namespace

} // namespace loopscope::graphdef

namespace loopscope {

using namespace graphdef;

Result<std::string> exportGraphDef(const Model& model)
{
    google::protobuf::Arena arena;
    auto& message = *google::protobuf::Arena::CreateMessage<tfpb::GraphDef>(&arena);
    Export out(model);
    if (Error* error = out.unsayable(false)) return std::move(*error);
    LS_CHECK_OK(out.graphDef(message));
    return serialized(message);
}

Result<std::string> exportGraphDefText(const Model& model)
{
    tfpb::GraphDef message;
    Export out(model);
    if (Error* error = out.unsayable(false)) return std::move(*error);
    LS_CHECK_OK(out.graphDef(message));
    return textOf(message);
}

Result<std::string> exportMetaGraph(const Model& model)
{
    google::protobuf::Arena arena;
    auto& message = *google::protobuf::Arena::CreateMessage<tfpb::MetaGraphDef>(&arena);
    Export out(model);
    if (Error* error = out.unsayable(true)) return std::move(*error);
    for (const Metadata& metadata : model.metadata)
        if (metadata.data && metadata.data->hasBytes())
            if (const auto view = metadata.data->bytes().view();
                !mergeBytes(message, {reinterpret_cast<const char*>(view.data()), view.size()}))
                return Error(ErrorCode::badFile, "metadata \"" + metadata.name + "\" holds no MetaGraphDef");
    LS_CHECK_OK(out.graphDef(*message.mutable_graph_def()));
    writeSignatures(model, message);
    return serialized(message);
}

} // namespace loopscope
