// Dtypes, shapes, tensors and attribute values between protobuf messages and the IR. Inside of converters/graphdef and
// converters/savedmodel only; the messages themselves are declared here, not included.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace google::protobuf {
class Message;
}
namespace loopscope::tfpb {
class AttrValue;
class NameAttrList;
class TensorProto;
class TensorShapeProto;
} // namespace loopscope::tfpb

namespace loopscope::graphdef {

/// A DT_… number as dtype and whether it is a reference type. None for numbers that we have no dtype for; DT_INVALID is unknown.
struct NumberedType {
    DType dtype = DType::unknown;
    bool isReference = false;
};
std::optional<NumberedType> typeOfNumber(int number);
/// The inverse; 0 (DT_INVALID) for dtypes that TensorFlow lacks.
int numberOfType(DType dtype, bool isReference = false);

/// None if the message says what a Shape cannot: names of dimensions, sizes below −1, unknown fields.
std::optional<Shape> shapeOf(const tfpb::TensorShapeProto& message);
void writeShape(const Shape& shape, tfpb::TensorShapeProto& message);

/// Bytes that compressed tensors of one file may grow to: a few bytes must not stand for gigabytes.
inline constexpr uint64_t kMostExpansion = uint64_t{1} << 31;

/// What conversions of one file share.
class ValueReader {
public:
    /// Functions by name; null while there are none.
    explicit ValueReader(const std::unordered_map<std::string, GraphId>* functions) : m_functions(functions) {}

    /// An attribute value. What the IR has no form for comes as HexBytes of the message. The message is left without its large parts:
    /// bytes of tensors are moved out, not copied. Errors: badFile (tensors that contradict themselves).
    Result<Attribute> attribute(tfpb::AttrValue& message);
    /// The tensor; none where the IR has no form for it (resources, variants, partial shapes).
    Result<std::optional<TensorAttribute>> tensor(tfpb::TensorProto& message);

private:
    Result<std::optional<Attribute>> plain(tfpb::AttrValue& message);
    Result<std::optional<Attribute>> list(tfpb::AttrValue& message);
    Result<std::optional<Attribute>> function(tfpb::NameAttrList& message);
    Status spend(uint64_t bytes);

    const std::unordered_map<std::string, GraphId>* m_functions;
    uint64_t m_expanded = 0;
};

/// Errors: unsupported (no form in TensorFlow), badFile (a tensor without bytes). `model` names the graphs.
Status writeAttribute(const Attribute& attribute, const Model& model, tfpb::AttrValue& message);
Status writeTensor(const TensorAttribute& tensor, tfpb::TensorProto& message);

/// The message's bytes, the same for equal messages (maps are sorted).
std::string bytesOf(const google::protobuf::Message& message);
/// The unknown fields of a message as bytes; empty if it has none.
std::string unknownBytesOf(const google::protobuf::Message& message);
/// Adds fields to a message; false if the bytes are none.
bool mergeBytes(google::protobuf::Message& message, std::string_view bytes);

/// The protobuf library writes its complaints to stderr; this ends that. Errors come as results.
void silenceProtobuf();

} // namespace loopscope::graphdef
