// Functions of the library to graphs: parameters, `ret`, control outputs, attributes of the function and of its arguments.
#include "converters/graphdef/import_state.h"

#include "graph.pb.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>

namespace loopscope::graphdef {

namespace {

TfArgument argumentOf(const tfpb::OpDef::ArgDef& arg)
{
    TfArgument argument;
    argument.name = arg.name();
    argument.typeAttr = arg.type_attr();
    argument.numberAttr = arg.number_attr();
    argument.typeListAttr = arg.type_list_attr();
    argument.isReference = arg.is_ref();
    if (const auto type = typeOfNumber(arg.type())) {
        argument.dtype = type->dtype;
        argument.isReference = argument.isReference || type->isReference;
    }
    return argument;
}

TensorType typeOf(const tfpb::OpDef::ArgDef& arg)
{
    const TfArgument argument = argumentOf(arg);
    TensorType type;
    type.dtype = argument.dtype;
    type.isReference = argument.isReference;
    if (!argument.typeListAttr.empty()) type.parameter = argument.typeListAttr;
    else if (!argument.numberAttr.empty() && !argument.typeAttr.empty()) type.parameter = argument.numberAttr + "*" + argument.typeAttr;
    else type.parameter = argument.numberAttr.empty() ? argument.typeAttr : argument.numberAttr;
    // Elsewhere what is held has no form here and stays with the signature's bytes.
    if (type.dtype != DType::resource && type.dtype != DType::variant) return type;
    for (const auto& held : arg.handle_data()) {
        const auto dtype = typeOfNumber(held.dtype());
        const auto shape = shapeOf(held.shape());
        if (dtype && shape && !dtype->isReference) type.elementTypes.emplace_back(dtype->dtype, *shape);
    }
    return type;
}

/// Shapes of the parameters where the function's attributes state them.
void describeInputs(Graph& graph)
{
    const Attribute* shapes = findAttribute(graph.attributes, "_input_shapes");
    const auto* items = shapes ? shapes->as<AttributeItems>() : nullptr;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
        Value& value = graph.value(graph.inputs[i]);
        const Attribute* own = findAttribute(value.attributes, "_output_shapes");
        const auto* ownItems = own ? own->as<AttributeItems>() : nullptr;
        const Shape* shape = nullptr;
        if (ownItems && ownItems->size() == 1) shape = ownItems->front().as<Shape>();
        else if (items && items->size() == graph.inputs.size()) shape = (*items)[i].as<Shape>();
        if (shape && value.type.parameter.empty()) value.type.shape = *shape;
    }
}

void writeArgument(const Value& value, std::string_view name, tfpb::OpDef::ArgDef& arg)
{
    const TensorType& type = value.type;
    arg.set_name(name.data(), name.size());
    if (const size_t star = type.parameter.find('*'); star != std::string::npos) {
        arg.set_number_attr(type.parameter.substr(0, star));
        arg.set_type_attr(type.parameter.substr(star + 1));
    } else if (!type.parameter.empty() && type.dtype != DType::unknown) {
        arg.set_number_attr(type.parameter);
    } else {
        arg.set_type_attr(type.parameter);
    }
    arg.set_type(static_cast<tfpb::DataType>(numberOfType(type.dtype)));
    arg.set_is_ref(type.isReference);
}

/// The fields of `original` that `derived` does not have the same, cleared of the others. A field that is only in `derived` cannot be
/// taken away by what is kept: then all of `original` is kept, with its name.
tfpb::OpDef differenceOf(const tfpb::OpDef& original, const tfpb::OpDef& derived)
{
    using google::protobuf::FieldDescriptor;
    tfpb::OpDef kept = original;
    const auto* reflection = original.GetReflection();
    const auto* descriptor = original.GetDescriptor();
    for (int f = 0; f < descriptor->field_count(); ++f) {
        const FieldDescriptor* field = descriptor->field(f);
        tfpb::OpDef a, b;
        const auto copyField = [&](const tfpb::OpDef& from, tfpb::OpDef& to) {
            to = from;
            for (int g = 0; g < descriptor->field_count(); ++g)
                if (g != f) reflection->ClearField(&to, descriptor->field(g));
            reflection->MutableUnknownFields(&to)->Clear();
        };
        copyField(original, a);
        copyField(derived, b);
        const std::string left = bytesOf(a);
        const std::string right = bytesOf(b);
        if (left == right) reflection->ClearField(&kept, field);
        else if (left.empty()) return original;
    }
    return kept;
}

} // namespace

TfOpSignature signatureOf(const tfpb::OpDef& op)
{
    TfOpSignature signature;
    signature.name = op.name();
    signature.isStateful = op.is_stateful();
    for (const auto& arg : op.input_arg()) signature.inputs.push_back(argumentOf(arg));
    for (const auto& arg : op.output_arg()) signature.outputs.push_back(argumentOf(arg));
    for (const auto& attr : op.attr()) {
        TfAttributeDef def;
        def.name = attr.name();
        def.kind = attr.type();
        signature.attributes.push_back(std::move(def));
    }
    return signature;
}

void deriveSignature(const Graph& graph, tfpb::OpDef& op)
{
    op.set_name(graph.id);
    for (const ValueId input : graph.inputs) {
        const Value& value = graph.value(input);
        tfpb::OpDef::ArgDef& arg = *op.add_input_arg();
        writeArgument(value, value.id, arg);
        for (const TensorType& held : value.type.elementTypes) {
            auto& data = *arg.add_handle_data();
            data.set_dtype(static_cast<tfpb::DataType>(numberOfType(held.dtype)));
            writeShape(held.shape, *data.mutable_shape());
        }
    }
    for (const GraphOutput& output : graph.outputs) writeArgument(graph.value(output.value), output.name, *op.add_output_arg());
    for (const auto& [name, node] : graph.controlOutputs) op.add_control_output(name);
    if (findAttribute(graph.attributes, "@stateful")) op.set_is_stateful(true);
}

Status importFunction(ImportState& state, tfpb::FunctionDef& function, Graph& graph)
{
    tfpb::OpDef& signature = *function.mutable_signature();
    BodyImport body(state, graph, true);
    for (const auto& arg : signature.input_arg()) {
        if (arg.name().empty() || arg.name().find(':') != std::string::npos)
            return Error(ErrorCode::badFile, "argument '" + arg.name() + "' has no proper name");
        Value& value = graph.values.emplace_back();
        value.id = arg.name();
        value.role = ValueRole::input;
        value.type = typeOf(arg);
        graph.inputs.emplace_back(static_cast<int64_t>(graph.values.size()) - 1);
    }
    for (const ValueId input : graph.inputs) LS_CHECK_OK(body.argument(input));
    const auto attributes = [&](auto& map, AttributeList& list) -> Status {
        for (auto& [key, value] : map) {
            if (key.starts_with('@')) return Error(ErrorCode::badFile, "attribute '" + key + "': a name must not begin with '@'");
            LS_TRY(Attribute attribute, state.values.attribute(value));
            list.push_back({key, std::move(attribute)});
        }
        std::ranges::sort(list, {}, &NamedAttribute::key);
        return {};
    };
    LS_CHECK_OK(attributes(*function.mutable_attr(), graph.attributes));
    for (auto& [index, own] : *function.mutable_arg_attr()) {
        if (index >= graph.inputs.size())
            return Error(ErrorCode::badFile, "attributes of argument " + std::to_string(index))
                .expected("one of " + std::to_string(graph.inputs.size()));
        LS_CHECK_OK(attributes(*own.mutable_attr(), graph.value(graph.inputs[index]).attributes));
    }
    for (const auto& [index, number] : function.resource_arg_unique_id()) {
        if (index >= graph.inputs.size())
            return Error(ErrorCode::badFile, "unique id of argument " + std::to_string(index))
                .expected("one of " + std::to_string(graph.inputs.size()));
        setAttribute(graph.value(graph.inputs[index]).attributes, "@resource_id", int64_t{number});
    }
    describeInputs(graph);
    if (std::string unknown = unknownBytesOf(function); !unknown.empty())
        setAttribute(graph.attributes, "@unknown", HexBytes{std::move(unknown)});
    if (signature.is_stateful()) setAttribute(graph.attributes, "@stateful", true);

    LS_CHECK_OK(body.nodes(*function.mutable_node_def()));
    for (const auto& [name, tensor] : function.ret()) body.mention(tensor);
    LS_CHECK_OK(body.connect(function.node_def()));
    for (const auto& arg : signature.output_arg()) {
        const auto ret = function.ret().find(arg.name());
        if (ret == function.ret().end()) return Error(ErrorCode::badFile, "output '" + arg.name() + "' is not returned");
        const ValueId value = body.resolve(ret->second);
        if (!value.valid()) return Error(ErrorCode::badFile, "output '" + arg.name() + "' returns unknown tensor '" + ret->second + "'");
        graph.outputs.push_back({arg.name(), value});
    }
    if (function.ret().size() != graph.outputs.size())
        return Error(ErrorCode::badFile, "returns")
            .found(std::to_string(function.ret().size()) + " tensors")
            .expected(std::to_string(graph.outputs.size()));
    std::vector<std::string> controls(signature.control_output().begin(), signature.control_output().end());
    std::vector<std::string> others;
    for (const auto& [name, node] : function.control_ret())
        if (std::ranges::find(controls, name) == controls.end()) others.push_back(name);
    std::ranges::sort(others);
    controls.insert(controls.end(), others.begin(), others.end());
    for (const std::string& name : controls) {
        const auto ret = function.control_ret().find(name);
        const OperatorId node = ret == function.control_ret().end() ? OperatorId() : body.findNode(ret->second);
        if (!node.valid()) return Error(ErrorCode::badFile, "control output '" + name + "' names no node");
        graph.controlOutputs.emplace_back(name, node);
    }
    tfpb::OpDef derived;
    deriveSignature(graph, derived);
    if (const std::string kept = bytesOf(differenceOf(signature, derived)); !kept.empty())
        setAttribute(graph.attributes, "@signature", HexBytes{kept});
    return {};
}

} // namespace loopscope::graphdef
