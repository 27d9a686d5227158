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
        return Error(ErrorCode::unsupported, "compressed constant of dtype " + std::string(dtypeName(value.type.dtype))).expected("i8 or u8, not sparse");
    const std::optional<int64_t> count = checkedElementCount(value.type.shape);
    if (!count) return Error(ErrorCode::badFile, "compressed constant of shape " + toString(value.type.shape));
    return decodeHuffman(value.constant->bytes().view(), static_cast<uint64_t>(*count));
}

} // namespace loopscope
