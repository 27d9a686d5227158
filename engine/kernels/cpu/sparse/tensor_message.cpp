#include "engine/kernels/cpu/sparse/tensor_message.h"

#include "engine/base/wire_reader.h"
#include "engine/ops/tf_rules.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <array>
#include <vector>

namespace loopscope {

namespace {

/// types.proto's DataType, by its number.
constexpr std::array kTypes = {DType::unknown, DType::f32,    DType::f64,      DType::i32,     DType::u8,      DType::i16,
                               DType::i8,      DType::string, DType::c64,      DType::i64,     DType::boolean, DType::qi8,
                               DType::qu8,     DType::qi32,   DType::bf16,     DType::qi16,    DType::qu16,    DType::u16,
                               DType::c128,    DType::f16,    DType::resource, DType::variant, DType::u32,     DType::u64};

std::string varint(uint64_t value)
{
    std::string out;
    for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>(value | 0x80U));
    out.push_back(static_cast<char>(value));
    return out;
}

std::string part(int number, std::string_view bytes)
{
    return varint(static_cast<uint64_t>(number) << 3U | 2U) + varint(bytes.size()) + std::string(bytes);
}

std::span<const uint8_t> bytesOf(std::string_view text) { return {reinterpret_cast<const uint8_t*>(text.data()), text.size()}; }
std::string_view textOf(std::span<const uint8_t> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

Error damaged() { return invalidArgument("Could not parse serialized proto"); }

Result<Shape> readShape(std::span<const uint8_t> message)
{
    Shape shape;
    for (WireReader dims(message); !dims.atEnd();) {
        const auto dim = dims.field();
        if (!dim) return damaged();
        if (dim->number != 2 || dim->type != 2) continue;
        int64_t size = 0;
        for (WireReader parts(dim->bytes); !parts.atEnd();) {
            const auto field = parts.field();
            if (!field) return damaged();
            if (field->number == 1) size = static_cast<int64_t>(field->value);
        }
        if (size < 0 || shape.rank() > 250) return damaged();
        shape.append(size);
    }
    return shape;
}

/// The lengths of all texts, then the texts.
Result<std::vector<std::string>> readTexts(std::string_view content, int64_t count)
{
    WireReader reader(bytesOf(content));
    std::vector<uint64_t> lengths;
    uint64_t total = 0;
    size_t head = 0;
    for (int64_t i = 0; i < count; ++i) {
        const auto length = reader.varint();
        if (!length || *length > content.size()) return damaged();
        lengths.push_back(*length);
        head += varint(*length).size();
        total += *length;
    }
    if (head + total != content.size()) return damaged();
    std::vector<std::string> texts;
    for (const uint64_t length : lengths) {
        texts.emplace_back(content.substr(head, length));
        head += length;
    }
    return texts;
}

} // namespace

Result<std::string> tensorMessage(const VariantTensor& tensor)
{
    const auto type = std::ranges::find(kTypes, tensor.dtype);
    if (type == kTypes.end() || tensor.dtype == DType::resource || tensor.dtype == DType::variant || tensor.dtype == DType::unknown)
        return Error(ErrorCode::unsupported, "a message of a tensor of " + std::string(dtypeName(tensor.dtype)));
    std::string dims;
    for (const int64_t dim : tensor.shape.dims())
        dims += part(2, dim == 0 ? std::string() : varint(1U << 3U) + varint(static_cast<uint64_t>(dim)));
    std::string message = varint(1U << 3U) + varint(static_cast<uint64_t>(type - kTypes.begin())) + part(2, dims);
    if (tensor.dtype != DType::string) return tensor.bytes.empty() ? message : message + part(4, tensor.bytes);
    LS_TRY(const auto texts, unpackStrings({reinterpret_cast<const std::byte*>(tensor.bytes.data()), tensor.bytes.size()}));
    std::string lengths, content;
    for (const std::string_view text : texts) {
        lengths += varint(text.size());
        content += text;
    }
    return texts.empty() ? message : message + part(4, lengths + content);
}

Result<VariantTensor> readTensorMessage(std::string_view message, std::deque<std::string>& storage)
{
    VariantTensor tensor;
    std::string_view content;
    std::vector<std::string> texts;
    for (WireReader reader(bytesOf(message)); !reader.atEnd();) {
        const auto field = reader.field();
        if (!field) return damaged();
        if (field->number == 1) tensor.dtype = field->value < kTypes.size() ? kTypes[field->value] : DType::unknown;
        else if (field->number == 2) {
            LS_TRY(tensor.shape, readShape(field->bytes));
        } else if (field->number == 4) content = textOf(field->bytes);
        else if (field->number == 8) texts.emplace_back(textOf(field->bytes));
        else if (field->number != 3) return Error(ErrorCode::unsupported, "a tensor's message that has its numbers one by one");
    }
    const auto count = checkedElementCount(tensor.shape);
    if (!count) return damaged();
    if (tensor.dtype == DType::string) {
        if (!content.empty()) {
            LS_TRY(texts, readTexts(content, *count));
        }
        if (static_cast<int64_t>(texts.size()) != *count) return damaged();
        const auto block = packStrings(texts);
        content = storage.emplace_back(reinterpret_cast<const char*>(block.data()), block.size());
    } else if (bitWidth(tensor.dtype) < 8 || tensor.dtype == DType::resource || tensor.dtype == DType::variant ||
               content.size() != byteSize(tensor.dtype, *count)) {
        return damaged();
    }
    tensor.bytes = content;
    return tensor;
}

} // namespace loopscope
