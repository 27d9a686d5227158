// Attribute values and shapes between messages and the IR, and the few things that are done to messages as such.
#include "converters/graphdef/convert_values.h"

#include "engine/ir/text/lexer.h"

#include "graph.pb.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <memory>

namespace loopscope::graphdef {

namespace {

using tfpb::AttrValue;

/// Keys of the map that stands for a function which the library does not have.
constexpr std::string_view kFunctionKey = "function";
constexpr std::string_view kAttributesKey = "attributes";

bool hasUnknown(const google::protobuf::Message& message) { return !message.GetReflection()->GetUnknownFields(message).empty(); }

template <typename Map> std::vector<std::string> sortedKeys(const Map& map)
{
    std::vector<std::string> keys;
    for (const auto& [key, value] : map) keys.push_back(key);
    std::ranges::sort(keys);
    return keys;
}

} // namespace

void silenceProtobuf()
{
    static const auto kPrevious = google::protobuf::SetLogHandler(nullptr);
    (void)kPrevious;
}

std::string bytesOf(const google::protobuf::Message& message)
{
    std::string bytes;
    {
        google::protobuf::io::StringOutputStream stream(&bytes);
        google::protobuf::io::CodedOutputStream out(&stream);
        out.SetSerializationDeterministic(true);
        message.SerializeToCodedStream(&out);
    }
    return bytes;
}

std::string unknownBytesOf(const google::protobuf::Message& message)
{
    const auto& fields = message.GetReflection()->GetUnknownFields(message);
    std::string bytes;
    if (!fields.empty()) fields.SerializeToString(&bytes);
    return bytes;
}

bool mergeBytes(google::protobuf::Message& message, std::string_view bytes)
{
    google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
    return bytes.size() < INT32_MAX && message.MergePartialFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

std::optional<Shape> shapeOf(const tfpb::TensorShapeProto& message)
{
    if (hasUnknown(message)) return std::nullopt;
    if (message.unknown_rank()) return message.dim_size() == 0 ? std::optional(Shape::unknownRank()) : std::nullopt;
    Shape shape;
    for (const auto& dim : message.dim()) {
        if (dim.size() < kUnknownDim || !dim.name().empty() || hasUnknown(dim)) return std::nullopt;
        shape.append(dim.size());
    }
    return shape;
}

void writeShape(const Shape& shape, tfpb::TensorShapeProto& message)
{
    if (!shape.hasRank()) message.set_unknown_rank(true);
    for (const int64_t dim : shape.dims()) message.add_dim()->set_size(dim);
}

Result<Attribute> ValueReader::attribute(AttrValue& message)
{
    LS_TRY(std::optional<Attribute> value, plain(message));
    if (value) return std::move(*value);
    return Attribute(HexBytes{bytesOf(message)});
}

Result<std::optional<Attribute>> ValueReader::plain(AttrValue& message)
{
    const std::optional<Attribute> kNone;
    if (hasUnknown(message)) return kNone;
    switch (message.value_case()) {
    case AttrValue::kS: return std::optional(Attribute(message.s()));
    case AttrValue::kI: return std::optional(Attribute(static_cast<int64_t>(message.i())));
    case AttrValue::kF: return std::optional(floatAttribute(message.f()));
    case AttrValue::kB: return std::optional(Attribute(message.b()));
    case AttrValue::kType: {
        const auto type = typeOfNumber(message.type());
        return type && !type->isReference ? std::optional(Attribute(type->dtype)) : kNone;
    }
    case AttrValue::kShape: {
        const auto shape = shapeOf(message.shape());
        return shape ? std::optional(Attribute(*shape)) : kNone;
    }
    case AttrValue::kTensor: {
        LS_TRY(std::optional<TensorAttribute> tensor, this->tensor(*message.mutable_tensor()));
        return tensor ? std::optional(Attribute(std::move(*tensor))) : kNone;
    }
    case AttrValue::kList: return list(message);
    case AttrValue::kFunc: return function(*message.mutable_func());
    case AttrValue::kPlaceholder:
        return isPlainWord(message.placeholder()) ? std::optional(Attribute(Placeholder{message.placeholder()})) : kNone;
    case AttrValue::VALUE_NOT_SET: return std::optional(Attribute());
    }
    return kNone;
}

Result<std::optional<Attribute>> ValueReader::list(AttrValue& message)
{
    const std::optional<Attribute> kNone;
    AttrValue::ListValue& list = *message.mutable_list();
    if (hasUnknown(list)) return kNone;
    // Elements of more than one kind have no order among each other.
    int kinds = 0;
    for (const int size : {list.s_size(), list.i_size(), list.f_size(), list.b_size(), list.type_size(), list.shape_size(),
                           list.tensor_size(), list.func_size()})
        kinds += size > 0 ? 1 : 0;
    if (kinds > 1) return kNone;
    AttributeItems items;
    for (const std::string& s : list.s()) items.emplace_back(s);
    for (const int64_t i : list.i()) items.emplace_back(i);
    for (const float f : list.f()) items.push_back(floatAttribute(f));
    for (const bool b : list.b()) items.emplace_back(b);
    for (const int number : list.type()) {
        const auto type = typeOfNumber(number);
        if (!type || type->isReference) return kNone;
        items.emplace_back(type->dtype);
    }
    for (const tfpb::TensorShapeProto& s : list.shape()) {
        const auto shape = shapeOf(s);
        if (!shape) return kNone;
        items.emplace_back(*shape);
    }
    // What is converted has lost its bytes: elements that cannot be must be found first.
    for (const tfpb::NameAttrList& f : list.func())
        if (hasUnknown(f)) return kNone;
    for (const tfpb::TensorProto& t : list.tensor()) {
        const auto type = typeOfNumber(t.dtype());
        const auto shape = shapeOf(t.tensor_shape());
        const bool plain = type && type->dtype != DType::unknown && !type->isReference && type->dtype != DType::resource &&
                           type->dtype != DType::variant && shape && shape->isStatic() && t.version_number() == 0 && !hasUnknown(t);
        if (!plain) return kNone;
    }
    for (tfpb::TensorProto& t : *list.mutable_tensor()) {
        LS_TRY(std::optional<TensorAttribute> tensor, this->tensor(t));
        if (!tensor) return kNone;
        items.emplace_back(std::move(*tensor));
    }
    for (tfpb::NameAttrList& f : *list.mutable_func()) {
        LS_TRY(std::optional<Attribute> function, this->function(f));
        if (!function) return kNone;
        items.push_back(std::move(*function));
    }
    return std::optional(Attribute(std::move(items)));
}

Result<std::optional<Attribute>> ValueReader::function(tfpb::NameAttrList& message)
{
    if (hasUnknown(message)) return std::optional<Attribute>();
    AttributeList own;
    for (const std::string& key : sortedKeys(message.attr())) {
        LS_TRY(Attribute value, attribute(message.mutable_attr()->at(key)));
        own.push_back({key, std::move(value)});
    }
    if (m_functions != nullptr)
        if (const auto found = m_functions->find(message.name()); found != m_functions->end()) {
            GraphRef ref{found->second, nullptr};
            if (!own.empty()) ref.attributes = std::make_shared<const AttributeList>(std::move(own));
            return std::optional(Attribute(std::move(ref)));
        }
    AttributeMap map;
    map.emplace_back(kFunctionKey, Attribute(message.name()));
    AttributeMap attributes;
    for (NamedAttribute& a : own) attributes.emplace_back(std::move(a.key), std::move(a.value));
    if (!attributes.empty()) map.emplace_back(kAttributesKey, Attribute(std::move(attributes)));
    return std::optional(Attribute(std::move(map)));
}

namespace {

Error noForm(std::string_view what)
{
    return Error(ErrorCode::unsupported, "TensorFlow has no attribute of this kind").found(std::string(what));
}

Status writeFunction(const Attribute& attribute, const Model& model, tfpb::NameAttrList& message)
{
    if (const auto* ref = attribute.as<GraphRef>()) {
        if (!model.hasGraph(ref->graph)) return noForm("a graph that is not in the model");
        message.set_name(model.graph(ref->graph).id);
        if (ref->attributes)
            for (const NamedAttribute& a : *ref->attributes) LS_CHECK_OK(writeAttribute(a.value, model, (*message.mutable_attr())[a.key]));
        return {};
    }
    const auto* map = attribute.as<AttributeMap>();
    const auto* name = map && !map->empty() && map->front().first == kFunctionKey ? map->front().second.as<std::string>() : nullptr;
    if (!name || map->size() > 2) return noForm("a map that names no function");
    message.set_name(*name);
    if (map->size() == 1) return {};
    const auto* own = (*map)[1].second.as<AttributeMap>();
    if (!own || (*map)[1].first != kAttributesKey) return noForm("a map that names no function");
    for (const auto& [key, value] : *own) LS_CHECK_OK(writeAttribute(value, model, (*message.mutable_attr())[key]));
    return {};
}

Status writeItem(const Attribute& item, const Model& model, AttrValue::ListValue& list)
{
    if (const auto* s = item.as<std::string>()) list.add_s(*s);
    else if (const auto* i = item.as<int64_t>()) list.add_i(*i);
    else if (const auto* f = item.as<double>()) list.add_f(static_cast<float>(*f));
    else if (const auto* b = item.as<bool>()) list.add_b(*b);
    else if (const auto* t = item.as<DType>()) list.add_type(static_cast<tfpb::DataType>(numberOfType(*t)));
    else if (const auto* shape = item.as<Shape>()) writeShape(*shape, *list.add_shape());
    else if (const auto* tensor = item.as<TensorAttribute>()) return writeTensor(*tensor, *list.add_tensor());
    else if (item.as<GraphRef>() || item.as<AttributeMap>()) return writeFunction(item, model, *list.add_func());
    else return noForm("a list of such elements");
    return {};
}

} // namespace

Status writeAttribute(const Attribute& attribute, const Model& model, AttrValue& message)
{
    if (const auto* s = attribute.as<std::string>()) message.set_s(*s);
    else if (const auto* i = attribute.as<int64_t>()) message.set_i(*i);
    else if (const auto* f = attribute.as<double>()) message.set_f(static_cast<float>(*f));
    else if (const auto* b = attribute.as<bool>()) message.set_b(*b);
    else if (const auto* t = attribute.as<DType>()) message.set_type(static_cast<tfpb::DataType>(numberOfType(*t)));
    else if (const auto* shape = attribute.as<Shape>()) writeShape(*shape, *message.mutable_shape());
    else if (const auto* tensor = attribute.as<TensorAttribute>()) return writeTensor(*tensor, *message.mutable_tensor());
    else if (const auto* placeholder = attribute.as<Placeholder>()) message.set_placeholder(placeholder->name);
    else if (attribute.as<GraphRef>() || attribute.as<AttributeMap>()) return writeFunction(attribute, model, *message.mutable_func());
    else if (const auto* items = attribute.as<AttributeItems>()) {
        AttrValue::ListValue& list = *message.mutable_list();
        for (const Attribute& item : *items) LS_CHECK_OK(writeItem(item, model, list));
    } else if (const auto* hex = attribute.as<HexBytes>()) {
        if (!mergeBytes(message, hex->bytes)) return noForm("bytes that are no attribute value");
    } else if (!std::holds_alternative<std::monostate>(attribute.value())) {
        return noForm("a word or a value's name");
    }
    return {};
}

} // namespace loopscope::graphdef
