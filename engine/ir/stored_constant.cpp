#include "engine/ir/stored_constant.h"

#include "engine/tensor/huffman.h"
#include "engine/tensor/sparse.h"

#include <string>

namespace loopscope {

namespace {

constexpr std::string_view kCompression = "compression_type"; // Circle's Tensor.compression_type (docs/circle.md)

} // namespace

bool isPacked(const Value& value)
{
    return value.constant && (value.constant->sparsity || findAttribute(value.attributes, kCompression) != nullptr);
}

Result<Bytes> unpackConstant(const Value& value)
{
    if (findAttribute(value.attributes, kCompression) == nullptr) return densify(*value.constant, value.type.dtype, value.type.shape);
    if (const std::string_view form = attributeWord(value.attributes, kCompression, "?"); form != "HUFFMAN")
        return Error(ErrorCode::unsupported, "a constant with another compression_type than HUFFMAN");
    if (bitWidth(value.type.dtype) != 8 || value.constant->sparsity) // the only elements that its writer compresses
        return Error(ErrorCode::unsupported, "compressed constant of dtype " + std::string(dtypeName(value.type.dtype)))
            .expected("i8 or u8, not sparse");
    const std::optional<int64_t> count = checkedElementCount(value.type.shape);
    if (!count) return Error(ErrorCode::badFile, "compressed constant of shape " + toString(value.type.shape));
    return decodeHuffman(value.constant->bytes().view(), static_cast<uint64_t>(*count));
}

void setFoundData(ExternalBuffer& buffer, Bytes bytes)
{
    TensorType type;
    type.dtype = DType::u8;
    type.shape = {static_cast<int64_t>(bytes.size())};
    setAttribute(buffer.attributes, std::string(kFoundData),
                 TensorAttribute{std::move(type), std::make_shared<Constant>(std::move(bytes))});
}

Result<Bytes> externalData(const Model& model, const Value& value)
{
    const int32_t number = value.constant->externalBuffer();
    std::string place = "external buffer " + std::to_string(number);
    const std::optional<int64_t> count = checkedElementCount(value.type.shape);
    for (const ExternalBuffer& buffer : model.externalBuffers) {
        if (buffer.number != number) continue;
        const Attribute* found = findAttribute(buffer.attributes, kFoundData);
        const TensorAttribute* data = found ? found->as<TensorAttribute>() : nullptr;
        if (data && count && data->data->size() == byteSize(value.type.dtype, *count)) return data->data->bytes();
        place += ", " + std::to_string(attributeInt(buffer.attributes, "length", 0)) + " bytes at " +
                 std::to_string(attributeInt(buffer.attributes, "offset", 0)) + " of the file '" +
                 std::string(attributeString(buffer.attributes, "group", "")) + "'";
    }
    return Error(ErrorCode::unsupported, "the data of constant '" + value.id + "' lies in " + place)
        .expected("that file beside the model, and " + std::to_string(byteSize(value.type.dtype, count.value_or(0))) +
                  " bytes for its type");
}

} // namespace loopscope
