// Nodes to operators, and the references between them: results of known operators come from their signatures, those of unknown ones
// from what others read of them.
#include "converters/graphdef/import_state.h"

#include "engine/ir/flow_role.h"
#include "graph.pb.h"

#include <algorithm>
#include <charconv>

namespace loopscope::graphdef {

namespace {

/// GraphDefs older than this write a placeholder of unknown shape as a scalar.
constexpr int32_t kScalarPlaceholders = 24;

constexpr std::string_view kTooManyOutputs = "the nodes of this file claim more outputs than it can mean";

Error badNode(std::string_view name, std::string what)
{
    return Error(ErrorCode::badFile, std::move(what)).at("node '" + std::string(name) + "'");
}

bool isNumber(std::string_view text)
{
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace

std::optional<TensorName> parseTensorName(std::string_view text)
{
    TensorName name;
    const size_t first = text.find(':');
    name.node = text.substr(0, first);
    if (first == std::string_view::npos) return name;
    std::string_view rest = text.substr(first + 1);
    if (!isNumber(rest)) {
        const size_t second = rest.find(':');
        name.argument = rest.substr(0, second);
        if (name.argument.empty()) return std::nullopt;
        if (second == std::string_view::npos) return name;
        rest.remove_prefix(second + 1);
        if (!isNumber(rest)) return std::nullopt;
    }
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), name.number);
    if (error != std::errc() || end != rest.data() + rest.size()) return std::nullopt;
    name.hasNumber = true;
    return name;
}

const TfOpSignature* ImportState::signature(std::string_view op) const
{
    if (const TfOpSignature* known = findTfOp(op)) return known;
    const auto function = functionSignatures.find(std::string(op));
    return function == functionSignatures.end() ? nullptr : &function->second;
}

Status BodyImport::argument(ValueId value)
{
    const std::string& id = m_graph.value(value).id;
    if (!m_arguments.emplace(id, value).second) return Error(ErrorCode::badFile, "two arguments have the name '" + id + "'");
    return {};
}

Status BodyImport::nodes(Nodes& nodes)
{
    m_graph.operators.reserve(static_cast<size_t>(nodes.size()));
    m_nodes.reserve(static_cast<size_t>(nodes.size()));
    m_signatures.reserve(static_cast<size_t>(nodes.size()));
    m_types.reserve(static_cast<size_t>(nodes.size()));
    for (tfpb::NodeDef& message : nodes) LS_CHECK_OK(node(message));
    m_hasUnknown = std::ranges::find(m_signatures, nullptr) != m_signatures.end();
    if (!m_hasUnknown) return {};
    for (const tfpb::NodeDef& message : nodes)
        for (const std::string& input : message.input())
            if (!input.starts_with('^')) mention(input);
    return {};
}

Status BodyImport::node(tfpb::NodeDef& message)
{
    const OperatorId id(static_cast<int64_t>(m_graph.operators.size()));
    if (message.name().empty())
        return Error(ErrorCode::badFile, "node " + std::to_string(id.index) + " (" + message.op() + ") has no name");
    if (message.name().starts_with('^') || message.name().find(':') != std::string::npos)
        return badNode(message.name(), "a node's name must not hold ':' or begin with '^'");
    if (message.op().empty()) return badNode(message.name(), "has no operator");
    Operator& op = m_graph.operators.emplace_back();
    op.kind = {"tf", message.op()};
    op.name = std::move(*message.mutable_name());
    if (!m_nodes.emplace(op.name, id).second || m_arguments.contains(op.name)) return badNode(op.name, "its name is not unique");
    AttributeList& list = op.attributes;
    list.reserve(static_cast<size_t>(message.attr_size()) + 1);
    for (auto& [key, value] : *message.mutable_attr()) {
        if (key.starts_with('@')) return badNode(op.name, "attribute '" + key + "': a name must not begin with '@'");
        Result<Attribute> attribute = m_state.values.attribute(value);
        if (!attribute.ok()) return std::move(attribute).takeError().at("node '" + op.name + "': attribute '" + key + "'");
        list.push_back({key, std::move(attribute).value()});
    }
    std::ranges::sort(list, {}, &NamedAttribute::key);
    if (!message.device().empty()) setAttribute(list, "@device", message.device());
    if (message.has_experimental_debug_info()) setAttribute(list, "@debug", HexBytes{bytesOf(message.experimental_debug_info())});
    if (message.has_experimental_type()) setAttribute(list, "@fulltype", HexBytes{bytesOf(message.experimental_type())});
    if (std::string unknown = unknownBytesOf(message); !unknown.empty()) setAttribute(list, "@unknown", HexBytes{std::move(unknown)});
    m_signatures.push_back(m_state.signature(op.kind.name));
    // An operator whose attributes do not say how many results it has is one that we do not know.
    const TfOpSignature* signature = m_signatures.back();
    std::optional<std::vector<TfSlotType>> types = signature ? tfSlotTypes(*signature, signature->outputs, list) : std::nullopt;
    if (!types) m_signatures.back() = nullptr;
    m_resultCount += types ? types->size() : 0;
    if (m_resultCount > static_cast<size_t>(m_state.slotsLeft)) return badNode(op.name, std::string(kTooManyOutputs));
    m_types.push_back(types ? std::move(*types) : std::vector<TfSlotType>());
    return {};
}

void BodyImport::mention(std::string_view tensor)
{
    if (!m_hasUnknown) return;
    const auto name = parseTensorName(tensor);
    if (!name) return;
    const auto found = m_nodes.find(name->node);
    if (found == m_nodes.end() || m_signatures[static_cast<size_t>(found->second.index)] != nullptr) return;
    if (name->argument.empty()) {
        int64_t& count = m_mentioned[found->second.index];
        count = std::max(count, name->number + 1);
        return;
    }
    std::vector<std::string>& named = m_named[found->second.index];
    std::string output = std::string(name->argument) + ":" + std::to_string(name->number);
    if (std::ranges::find(named, output) == named.end()) named.push_back(std::move(output));
}

Status BodyImport::results(OperatorId id)
{
    Operator& op = m_graph.operators[static_cast<size_t>(id.index)];
    std::vector<TfSlotType> types = std::move(m_types[static_cast<size_t>(id.index)]);
    std::vector<std::string> named;
    if (const auto found = m_mentioned.find(id.index); found != m_mentioned.end()) {
        if (found->second > kMostTfSlots)
            return badNode(op.name, "output " + std::to_string(found->second - 1) + " of it is read: more than a node can have");
        types.resize(static_cast<size_t>(found->second));
    }
    if (const auto found = m_named.find(id.index); found != m_named.end()) named = std::move(found->second);
    std::ranges::sort(named);
    m_state.slotsLeft -= static_cast<int64_t>(types.size());
    if (m_state.slotsLeft < 0) return badNode(op.name, std::string(kTooManyOutputs));
    op.results.reserve(types.size() + named.size());
    const auto add = [&](std::string valueId, TfSlotType type) {
        Value& value = m_graph.values.emplace_back();
        value.id = std::move(valueId);
        value.type.dtype = type.dtype;
        value.type.isReference = type.isReference;
        value.role = ValueRole::result;
        value.producer = id;
        value.slot = static_cast<int32_t>(op.results.size());
        op.results.emplace_back(static_cast<int64_t>(m_graph.values.size()) - 1);
    };
    for (size_t k = 0; k < types.size(); ++k) add(k == 0 ? op.name : op.name + ":" + std::to_string(k), types[k]);
    for (const std::string& output : named) add(op.name + ":" + output, {});
    describeTypes(id);
    return {};
}

/// Shapes that the node itself states. Nothing is inferred here.
void BodyImport::describeTypes(OperatorId id)
{
    const Operator& op = m_graph.op(id);
    if (op.results.empty()) return;
    TensorType& first = m_graph.value(op.results.front()).type;
    const std::string& kind = op.kind.name;
    for (const std::string_view key : {"_output_shapes", "output_shapes"}) {
        const Attribute* shapes = findAttribute(op.attributes, key);
        const auto* items = shapes ? shapes->as<AttributeItems>() : nullptr;
        if (!items || items->size() != op.results.size()) continue;
        for (size_t k = 0; k < items->size(); ++k)
            if (const auto* shape = (*items)[k].as<Shape>()) m_graph.value(op.results[k]).type.shape = *shape;
    }
    if (kind == "Const") {
        const Attribute* value = findAttribute(op.attributes, "value");
        if (const auto* tensor = value ? value->as<TensorAttribute>() : nullptr) first.shape = tensor->type.shape;
    } else if (kind == "Placeholder" || kind == "PlaceholderWithDefault" || kind == "VariableV2" || kind == "Variable") {
        const Attribute* shape = findAttribute(op.attributes, "shape");
        const auto* stated = shape ? shape->as<Shape>() : nullptr;
        const bool says = stated && !(kind == "Placeholder" && stated->rank() == 0 && m_state.producer < kScalarPlaceholders);
        if (says) first.shape = *stated;
    } else if (kind == "VarHandleOp") {
        first.shape = Shape();
        const Attribute* dtype = findAttribute(op.attributes, "dtype");
        const Attribute* shape = findAttribute(op.attributes, "shape");
        if (dtype && shape && dtype->as<DType>() && shape->as<Shape>()) first.elementTypes = {{*dtype->as<DType>(), *shape->as<Shape>()}};
    } else if (flowRole(op) == FlowRole::merge && op.results.size() == 2) {
        m_graph.value(op.results[1]).type.shape = Shape();
    }
}

Error BodyImport::badInput(OperatorId id, std::string_view input) const
{
    const Operator& op = m_graph.op(id);
    const auto name = parseTensorName(input.starts_with('^') ? input.substr(1) : input);
    const auto source = name ? m_nodes.find(name->node) : m_nodes.end();
    if (source == m_nodes.end()) return badNode(op.name, "unknown input node '" + std::string(input) + "'");
    const size_t count = m_graph.op(source->second).results.size();
    return badNode(op.name, "connecting to invalid output '" + std::string(input) + "' of source node '" + std::string(name->node) +
                                "', which has " + std::to_string(count) + (count == 1 ? " output" : " outputs"));
}

Status BodyImport::connect(const Nodes& nodes)
{
    m_graph.values.reserve(m_graph.values.size() + m_resultCount);
    for (size_t i = 0; i < m_graph.operators.size(); ++i) LS_CHECK_OK(results(OperatorId(static_cast<int64_t>(i))));
    for (int i = 0; i < nodes.size(); ++i) LS_CHECK_OK(operands(nodes.Get(i), OperatorId(i)));
    return {};
}

Status BodyImport::operands(const tfpb::NodeDef& message, OperatorId id)
{
    Operator& op = m_graph.operators[static_cast<size_t>(id.index)];
    op.inputs.reserve(static_cast<size_t>(message.input_size()));
    AttributeItems fromArguments; // an argument is no node, and always there: these mean nothing but are kept
    for (const std::string& input : message.input()) {
        if (input.starts_with('^')) {
            const OperatorId source = findNode(std::string_view(input).substr(1));
            if (source.valid()) op.controlInputs.push_back(source);
            else if (m_arguments.contains(input.substr(1))) fromArguments.emplace_back(input.substr(1));
            else return badInput(id, input);
            continue;
        }
        if (!op.controlInputs.empty())
            return badNode(op.name,
                           "non-control input '" + input + "' after control input '^" + m_graph.op(op.controlInputs.back()).name + "'");
        const ValueId value = resolve(input);
        if (!value.valid()) return badInput(id, input);
        op.inputs.push_back(value);
    }
    if (!fromArguments.empty()) setAttribute(op.attributes, "@control_arguments", Attribute(std::move(fromArguments)));
    return {};
}

OperatorId BodyImport::findNode(std::string_view name) const
{
    const auto found = m_nodes.find(name);
    return found == m_nodes.end() ? OperatorId() : found->second;
}

ValueId BodyImport::resolve(std::string_view tensor) const
{
    const auto name = parseTensorName(tensor);
    if (!name) return {};
    const auto found = m_nodes.find(name->node);
    if (found == m_nodes.end()) {
        // A list argument has one value here, which stands for its only element.
        const auto argument = m_arguments.find(std::string(name->node));
        return argument == m_arguments.end() || !name->argument.empty() || name->number != 0 ? ValueId() : argument->second;
    }
    const Operator& op = m_graph.op(found->second);
    const TfOpSignature* signature = m_signatures[static_cast<size_t>(found->second.index)];
    std::optional<int64_t> slot = name->number;
    if (!name->argument.empty()) {
        if (!m_isFunction) return {};
        if (signature == nullptr) {
            const std::string id = op.name + ":" + std::string(name->argument) + ":" + std::to_string(name->number);
            for (const ValueId result : op.results)
                if (m_graph.value(result).id == id) return result;
            return {};
        }
        slot = tfSlotOf(*signature, signature->outputs, op.attributes, name->argument, name->number);
    }
    return slot && static_cast<size_t>(*slot) < op.results.size() ? op.results[static_cast<size_t>(*slot)] : ValueId();
}

} // namespace loopscope::graphdef
