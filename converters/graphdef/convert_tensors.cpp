// TensorProto to constants and back. Elements are raw bytes or a list whose last entry is repeated; constants are always all elements.
#include "converters/graphdef/convert_values.h"
#include "engine/ir/text/literals.h"
#include "engine/tensor/strings.h"

#include "graph.pb.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace loopscope::graphdef {

namespace {

using tfpb::TensorProto;

constexpr std::array kTypes = {
    DType::unknown, DType::f32,     DType::f64,      DType::i32,     DType::u8,   DType::i16,  DType::i8,     DType::string,   DType::c64,
    DType::i64,     DType::boolean, DType::qi8,      DType::qu8,     DType::qi32, DType::bf16, DType::qi16,   DType::qu16,     DType::u16,
    DType::c128,    DType::f16,     DType::resource, DType::variant, DType::u32,  DType::u64,  DType::f8e5m2, DType::f8e4m3fn,
};
constexpr int kInt4 = 29;
constexpr int kUint4 = 30;
constexpr int kInt2 = 31;
constexpr int kReference = 100; ///< DT_FLOAT_REF is DT_FLOAT + 100

/// Elements that TensorFlow stores one to a byte and we pack.
bool isPacked(DType dtype) { return bitWidth(dtype) == 4 || bitWidth(dtype) == 2; }

Error badTensor(std::string what) { return Error(ErrorCode::badFile, std::move(what)); }

/// Whole elements of a byte each into `bits` of theirs, the first in the lowest.
std::vector<std::byte> packed(std::span<const std::byte> elements, int bits)
{
    const size_t each = 8 / static_cast<size_t>(bits);
    const auto mask = static_cast<unsigned>((1 << bits) - 1);
    std::vector<std::byte> out((elements.size() + each - 1) / each);
    for (size_t i = 0; i < elements.size(); ++i)
        out[i / each] |= static_cast<std::byte>((std::to_integer<unsigned>(elements[i]) & mask) << (i % each * static_cast<size_t>(bits)));
    return out;
}

ConstantPtr constantOf(std::vector<std::byte> bytes)
{
    auto owned = std::make_shared<std::vector<std::byte>>(std::move(bytes));
    return std::make_shared<Constant>(Bytes({owned->data(), owned->size()}, owned));
}

/// Takes the string's memory where it is its own; no byte is copied.
ConstantPtr constantOf(std::string bytes)
{
    auto owned = std::make_shared<std::string>(std::move(bytes));
    return std::make_shared<Constant>(Bytes({reinterpret_cast<const std::byte*>(owned->data()), owned->size()}, owned));
}

/// `count` elements of T from a list whose last entry is repeated; zeros if it is empty.
template <typename T, typename List> std::vector<std::byte> expanded(const List& list, int64_t count, int64_t parts = 1)
{
    std::vector<std::byte> bytes(static_cast<size_t>(count * parts) * sizeof(T));
    const auto given = static_cast<int64_t>(list.size()) / parts * parts;
    if (given == 0) return bytes;
    for (int64_t i = 0; i < count * parts; ++i) {
        const int64_t from = i < given ? i : given - parts + i % parts;
        const T element = static_cast<T>(list.Get(static_cast<int>(from)));
        std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &element, sizeof(T));
    }
    return bytes;
}

std::vector<std::byte> fromLists(const TensorProto& m, DType dtype, int64_t count)
{
    switch (dtype) {
    case DType::f32: return expanded<float>(m.float_val(), count);
    case DType::f64: return expanded<double>(m.double_val(), count);
    case DType::f16:
    case DType::bf16: return expanded<uint16_t>(m.half_val(), count);
    case DType::c64: return expanded<float>(m.scomplex_val(), count, 2);
    case DType::c128: return expanded<double>(m.dcomplex_val(), count, 2);
    case DType::i64: return expanded<int64_t>(m.int64_val(), count);
    case DType::u32: return expanded<uint32_t>(m.uint32_val(), count);
    case DType::u64: return expanded<uint64_t>(m.uint64_val(), count);
    case DType::boolean: return expanded<uint8_t>(m.bool_val(), count);
    case DType::i32:
    case DType::qi32: return expanded<int32_t>(m.int_val(), count);
    case DType::i16:
    case DType::u16:
    case DType::qi16:
    case DType::qu16: return expanded<uint16_t>(m.int_val(), count);
    case DType::f8e5m2:
    case DType::f8e4m3fn: {
        std::vector<std::byte> bytes(static_cast<size_t>(count));
        const std::string& given = m.float8_val();
        for (size_t i = 0; i < bytes.size() && !given.empty(); ++i) bytes[i] = static_cast<std::byte>(given[std::min(i, given.size() - 1)]);
        return bytes;
    }
    default: return expanded<uint8_t>(m.int_val(), count);
    }
}

/// Strings in tensor_content: the lengths as varints, then the bytes.
Result<std::vector<std::string>> stringsOfContent(std::string_view content, int64_t count)
{
    std::vector<uint64_t> lengths;
    size_t at = 0;
    for (int64_t i = 0; i < count; ++i) {
        uint64_t length = 0;
        int shift = 0;
        bool more = true;
        for (; more && at < content.size() && shift < 63; shift += 7) {
            const auto byte = static_cast<unsigned char>(content[at++]);
            length |= static_cast<uint64_t>(byte & 0x7F) << shift;
            more = (byte & 0x80) != 0;
        }
        if (more) return badTensor("the lengths of its strings end early").found(std::to_string(i)).expected(std::to_string(count));
        lengths.push_back(length);
    }
    std::vector<std::string> strings;
    for (const uint64_t length : lengths) {
        if (length > content.size() - at)
            return badTensor("a string reaches beyond the end")
                .found(std::to_string(content.size() - at) + " bytes")
                .expected(std::to_string(length));
        strings.emplace_back(content.substr(at, length));
        at += length;
    }
    return strings;
}

} // namespace

std::optional<NumberedType> typeOfNumber(int number)
{
    NumberedType type;
    type.isReference = number > kReference;
    if (type.isReference) number -= kReference;
    if (number == 0 && type.isReference) return std::nullopt;
    if (number >= 0 && static_cast<size_t>(number) < kTypes.size()) type.dtype = kTypes[static_cast<size_t>(number)];
    else if (number == kInt4) type.dtype = DType::i4;
    else if (number == kUint4) type.dtype = DType::u4;
    else if (number == kInt2) type.dtype = DType::i2;
    else return std::nullopt;
    return type;
}

int numberOfType(DType dtype, bool isReference)
{
    int number = 0;
    if (dtype == DType::i4) number = kInt4;
    else if (dtype == DType::u4) number = kUint4;
    else if (dtype == DType::i2) number = kInt2;
    else if (const auto at = std::ranges::find(kTypes, dtype); at != kTypes.end()) number = static_cast<int>(at - kTypes.begin());
    return number == 0 ? 0 : number + (isReference ? kReference : 0);
}

Status ValueReader::spend(uint64_t bytes)
{
    if (bytes > kMostExpansion - m_expanded)
        return badTensor("the tensors of this file grow beyond " + std::to_string(kMostExpansion) + " bytes");
    m_expanded += bytes;
    return {};
}

Result<std::optional<TensorAttribute>> ValueReader::tensor(TensorProto& m)
{
    const std::optional<TensorAttribute> kNone;
    const auto type = typeOfNumber(m.dtype());
    const auto shape = shapeOf(m.tensor_shape());
    const bool typed = type && type->dtype != DType::unknown && !type->isReference;
    if (!typed || !shape || !shape->isStatic() || m.version_number() != 0 || !unknownBytesOf(m).empty()) return kNone;
    const DType dtype = type->dtype;
    if (dtype == DType::resource || dtype == DType::variant) return kNone;
    const auto count = checkedElementCount(*shape);
    if (!count) return badTensor("a tensor of shape " + toString(*shape) + " is too large");
    TensorAttribute out{TensorType(dtype, *shape), nullptr};
    const bool hasContent = !m.tensor_content().empty();
    if (dtype == DType::string) {
        std::vector<std::string> strings;
        if (hasContent) {
            if (static_cast<uint64_t>(*count) > m.tensor_content().size())
                return badTensor("the lengths of its strings end early").found(std::to_string(m.tensor_content().size()) + " bytes");
            LS_TRY(strings, stringsOfContent(m.tensor_content(), *count));
        } else {
            const int given = m.string_val_size();
            const uint64_t longest = given > 0 ? m.string_val(given - 1).size() : 0;
            if (*count > given) LS_CHECK_OK(spend((longest + 40) * static_cast<uint64_t>(*count - given)));
            for (int64_t i = 0; i < *count; ++i)
                strings.push_back(given == 0 ? std::string() : m.string_val(static_cast<int>(std::min<int64_t>(i, given - 1))));
        }
        uint64_t bytes = (static_cast<uint64_t>(*count) + 2) * 4;
        for (const std::string& s : strings) bytes += s.size();
        if (bytes > INT32_MAX) return badTensor("the strings of one tensor are longer than 2 GiB");
        out.data = constantOf(packStrings(strings));
        return std::optional(std::move(out));
    }
    const bool packs = isPacked(dtype);
    const uint64_t wanted = packs ? static_cast<uint64_t>(*count) : byteSize(dtype, *count);
    if (hasContent) {
        std::string& content = *m.mutable_tensor_content();
        if (content.size() != wanted)
            return badTensor("the data of a " + std::string(dtypeName(dtype)) + toString(*shape) + " tensor has another size")
                .found(std::to_string(content.size()) + " bytes")
                .expected(std::to_string(wanted));
        if (packs) out.data = constantOf(packed(std::as_bytes(std::span(content)), bitWidth(dtype)));
        else {
            if (dtype == DType::boolean)
                for (char& c : content) c = c != 0 ? 1 : 0;
            out.data = constantOf(std::move(content));
        }
        return std::optional(std::move(out));
    }
    LS_CHECK_OK(spend(wanted));
    std::vector<std::byte> bytes = fromLists(m, dtype, *count);
    out.data = constantOf(packs ? packed(bytes, bitWidth(dtype)) : std::move(bytes));
    return std::optional(std::move(out));
}

namespace {

template <typename T, typename Add> void addElements(std::span<const std::byte> bytes, size_t count, Add add)
{
    for (size_t i = 0; i < count; ++i) {
        T element;
        std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
        add(element);
    }
}

/// The first `count` elements into the list of their type.
void writeList(std::span<const std::byte> bytes, DType dtype, size_t count, TensorProto& m)
{
    const auto ints = [&](auto v) { m.add_int_val(static_cast<int32_t>(v)); };
    switch (dtype) {
    case DType::f32: addElements<float>(bytes, count, [&](float v) { m.add_float_val(v); }); break;
    case DType::f64: addElements<double>(bytes, count, [&](double v) { m.add_double_val(v); }); break;
    case DType::f16:
    case DType::bf16: addElements<uint16_t>(bytes, count, [&](uint16_t v) { m.add_half_val(v); }); break;
    case DType::c64: addElements<float>(bytes, 2 * count, [&](float v) { m.add_scomplex_val(v); }); break;
    case DType::c128: addElements<double>(bytes, 2 * count, [&](double v) { m.add_dcomplex_val(v); }); break;
    case DType::i64: addElements<int64_t>(bytes, count, [&](int64_t v) { m.add_int64_val(v); }); break;
    case DType::u32: addElements<uint32_t>(bytes, count, [&](uint32_t v) { m.add_uint32_val(v); }); break;
    case DType::u64: addElements<uint64_t>(bytes, count, [&](uint64_t v) { m.add_uint64_val(v); }); break;
    case DType::boolean: addElements<uint8_t>(bytes, count, [&](uint8_t v) { m.add_bool_val(v != 0); }); break;
    case DType::i32:
    case DType::qi32: addElements<int32_t>(bytes, count, ints); break;
    case DType::i16:
    case DType::qi16: addElements<int16_t>(bytes, count, ints); break;
    case DType::u16:
    case DType::qu16: addElements<uint16_t>(bytes, count, ints); break;
    case DType::i8:
    case DType::qi8: addElements<int8_t>(bytes, count, ints); break;
    case DType::u8:
    case DType::qu8: addElements<uint8_t>(bytes, count, ints); break;
    case DType::f8e5m2:
    case DType::f8e4m3fn: m.mutable_float8_val()->assign(reinterpret_cast<const char*>(bytes.data()), count); break;
    default: break;
    }
}

bool allEqual(std::span<const std::byte> bytes, size_t each)
{
    for (size_t at = each; at + each <= bytes.size(); at += each)
        if (std::memcmp(bytes.data(), bytes.data() + at, each) != 0) return false;
    return true;
}

} // namespace

Status writeTensor(const TensorAttribute& tensor, TensorProto& m)
{
    const DType dtype = tensor.type.dtype;
    const std::string text = std::string(dtypeName(dtype)) + toString(tensor.type.shape);
    const int number = numberOfType(dtype);
    const auto count = tensor.type.shape.isStatic() ? checkedElementCount(tensor.type.shape) : std::nullopt;
    if (number == 0 || !count || tensor.type.quantization || dtype == DType::resource || dtype == DType::variant)
        return Error(ErrorCode::unsupported, "TensorFlow has no form for a tensor of type " + text);
    if (!tensor.data || !tensor.data->hasBytes()) return badTensor("the bytes of a " + text + " tensor are not known");
    const std::span<const std::byte> bytes = tensor.data->bytes().view();
    m.set_dtype(static_cast<tfpb::DataType>(number));
    writeShape(tensor.type.shape, *m.mutable_tensor_shape());
    const auto elements = static_cast<size_t>(*count);
    if (dtype == DType::string) {
        LS_TRY(const std::vector<std::string_view> strings, unpackStrings(bytes));
        if (strings.size() != elements)
            return badTensor("a " + text + " tensor").found(std::to_string(strings.size()) + " strings").expected(std::to_string(elements));
        for (const std::string_view s : strings) m.add_string_val(s.data(), s.size());
        return {};
    }
    if (bytes.size() != byteSize(dtype, *count))
        return badTensor("a " + text + " tensor")
            .found(std::to_string(bytes.size()) + " bytes")
            .expected(std::to_string(byteSize(dtype, *count)));
    if (isPacked(dtype)) {
        const auto reader = ElementReader::create(dtype, *count, bytes);
        if (!reader) return badTensor("a " + text + " tensor cannot be read");
        for (int64_t i = 0; i < *count; ++i) m.add_int_val(std::stoi(reader->text(i)));
        return {};
    }
    const size_t each = elements == 0 ? 1 : bytes.size() / elements;
    if (elements > 0 && allEqual(bytes, each)) writeList(bytes, dtype, 1, m);
    else m.set_tensor_content(bytes.data(), bytes.size());
    return {};
}

} // namespace loopscope::graphdef
