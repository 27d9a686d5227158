#include "engine/tensor/npy.h"

#include "engine/base/memory_budget.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace loopscope {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
/// Strings of no width take no bytes in the file, so only this bounds how many a small file can claim.
constexpr int64_t kMaxEmptyStrings = 1 << 20;
constexpr uint64_t kAskedAbove = 1 << 20; ///< bytes

struct Header {
    std::string descr;
    bool fortranOrder = false;
    Shape shape;
};

/// Reads the header's Python dictionary: `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
class HeaderReader {
public:
    explicit HeaderReader(std::string_view text) : m_text(text) {}

    Result<Header> read()
    {
        Header header;
        bool hasDescr = false, hasOrder = false, hasShape = false;
        if (!take('{')) return fail("expected '{'");
        while (!take('}')) {
            const std::optional<std::string> key = string();
            if (!key || !take(':')) return fail("expected a quoted key and ':'");
            if (*key == "descr") {
                if (peek() == '[') return Error(ErrorCode::unsupported, "record arrays are not supported").at("header");
                const std::optional<std::string> value = string();
                if (!value) return fail("expected a quoted dtype");
                header.descr = *value;
                hasDescr = true;
            } else if (*key == "fortran_order") {
                if (word("True")) header.fortranOrder = true;
                else if (!word("False")) return fail("expected True or False");
                hasOrder = true;
            } else if (*key == "shape") {
                if (!readShape(header.shape)) return fail("expected a tuple of sizes");
                hasShape = true;
            } else {
                return fail("unknown key '" + *key + "'");
            }
            if (!take(',') && peek() != '}') return fail("expected ',' or '}'");
        }
        if (!hasDescr || !hasOrder || !hasShape) return fail("expected the keys descr, fortran_order and shape");
        return header;
    }

private:
    void skipBlanks()
    {
        while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == '\n' || m_text[m_at] == '\t')) ++m_at;
    }
    char peek()
    {
        skipBlanks();
        return m_at < m_text.size() ? m_text[m_at] : '\0';
    }
    bool take(char c)
    {
        if (peek() != c) return false;
        ++m_at;
        return true;
    }
    bool word(std::string_view w)
    {
        skipBlanks();
        if (m_text.substr(m_at, w.size()) != w) return false;
        m_at += w.size();
        return true;
    }
    std::optional<std::string> string()
    {
        const char quote = peek();
        if (quote != '\'' && quote != '"') return std::nullopt;
        const size_t end = m_text.find(quote, m_at + 1);
        if (end == std::string_view::npos) return std::nullopt;
        std::string text(m_text.substr(m_at + 1, end - m_at - 1));
        m_at = end + 1;
        return text;
    }
    bool readShape(Shape& shape)
    {
        if (!take('(')) return false;
        while (!take(')')) {
            skipBlanks();
            int64_t size = 0;
            const char* begin = m_text.data() + m_at;
            const auto [end, error] = std::from_chars(begin, m_text.data() + m_text.size(), size);
            if (error != std::errc() || size < 0 || shape.rank() >= 64) return false;
            m_at += static_cast<size_t>(end - begin);
            word("L"); // Python 2 wrote long integers so
            shape.append(size);
            if (!take(',') && peek() != ')') return false;
        }
        return true;
    }
    Error fail(const std::string& what) const { return Error(ErrorCode::badFile, what).at("header, column " + std::to_string(m_at + 1)); }

    std::string_view m_text;
    size_t m_at = 0;
};

/// What a dtype string such as `<f4` means.
struct Element {
    DType dtype = DType::unknown;
    size_t size = 0;     ///< bytes of one element in the file
    size_t swapUnit = 1; ///< bytes to reverse when the file is big-endian: an element, or half of a complex one
    bool bigEndian = false;
    bool unicode = false; ///< `U`: 4 bytes a character
};

Result<Element> parseDescr(const std::string& descr)
{
    const Error unknown = Error(ErrorCode::unsupported, "dtype '" + descr + "' is not supported");
    std::string_view text = descr;
    Element e;
    if (!text.empty() && std::string_view("<>|=").find(text[0]) != std::string_view::npos) {
        e.bigEndian = text[0] == '>';
        text.remove_prefix(1);
    }
    if (text.size() < 2) return unknown.copy();
    const char kind = text[0];
    size_t size = 0;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), size);
    if (error != std::errc() || end != text.data() + text.size() || size > (1U << 28)) return unknown.copy();
    struct Row {
        char kind;
        size_t size;
        DType dtype;
        size_t unit;
    };
    static constexpr std::array kRows = {
        Row{'f', 2, DType::f16, 2}, Row{'f', 4, DType::f32, 4},   Row{'f', 8, DType::f64, 8}, Row{'i', 1, DType::i8, 1},
        Row{'i', 2, DType::i16, 2}, Row{'i', 4, DType::i32, 4},   Row{'i', 8, DType::i64, 8}, Row{'u', 1, DType::u8, 1},
        Row{'u', 2, DType::u16, 2}, Row{'u', 4, DType::u32, 4},   Row{'u', 8, DType::u64, 8}, Row{'b', 1, DType::boolean, 1},
        Row{'c', 8, DType::c64, 4}, Row{'c', 16, DType::c128, 8},
    };
    for (const Row& row : kRows)
        if (row.kind == kind && row.size == size) return Element{row.dtype, size, row.unit, e.bigEndian, false};
    if (kind == 'S') return Element{DType::string, size, 1, false, false};
    if (kind == 'U') return Element{DType::string, size * 4, 4, e.bigEndian, true};
    return unknown.copy();
}

void appendUtf8(std::string& out, uint32_t c)
{
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xc0 | (c >> 6));
        out += static_cast<char>(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        out += static_cast<char>(0xe0 | (c >> 12));
        out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
        out += static_cast<char>(0x80 | (c & 0x3f));
    } else {
        out += static_cast<char>(0xf0 | ((c >> 18) & 7));
        out += static_cast<char>(0x80 | ((c >> 12) & 0x3f));
        out += static_cast<char>(0x80 | ((c >> 6) & 0x3f));
        out += static_cast<char>(0x80 | (c & 0x3f));
    }
}

Result<std::vector<std::byte>> readStrings(const std::byte* data, const Element& element, int64_t count)
{
    LS_CHECK_OK(checkMemory(static_cast<uint64_t>(count) * (sizeof(std::string) + element.size), "strings"));
    std::vector<std::string> strings(static_cast<size_t>(count));
    uint64_t total = 8;
    for (std::string& s : strings) {
        const char* begin = reinterpret_cast<const char*>(data);
        data += element.size;
        if (element.unicode) {
            size_t length = element.size / 4;
            std::vector<uint32_t> points(length);
            std::memcpy(points.data(), begin, length * 4);
            while (length > 0 && points[length - 1] == 0) --length;
            for (size_t i = 0; i < length; ++i) appendUtf8(s, points[i]);
        } else {
            size_t length = element.size;
            while (length > 0 && begin[length - 1] == '\0') --length;
            s.assign(begin, length);
        }
        total += s.size() + 4;
    }
    if (total > INT32_MAX) return Error(ErrorCode::unsupported, "strings take more than 2 GiB");
    return packStrings(strings);
}

/// Reorders column-major elements into row-major ones.
std::vector<std::byte> fromFortranOrder(std::span<const std::byte> source, const Shape& shape, size_t elementSize)
{
    std::vector<std::byte> out(source.size());
    const int rank = shape.rank();
    std::vector<int64_t> index(static_cast<size_t>(rank), 0), stride(static_cast<size_t>(rank), 1);
    for (int d = 1; d < rank; ++d) stride[static_cast<size_t>(d)] = stride[static_cast<size_t>(d - 1)] * shape[d - 1];
    const int64_t count = shape.elementCount();
    int64_t from = 0;
    for (int64_t i = 0; i < count; ++i) {
        std::memcpy(out.data() + static_cast<size_t>(i) * elementSize, source.data() + static_cast<size_t>(from) * elementSize,
                    elementSize);
        for (int d = rank - 1; d >= 0; --d) {
            const auto k = static_cast<size_t>(d);
            from += stride[k];
            if (++index[k] < shape[d]) break;
            from -= stride[k] * shape[d];
            index[k] = 0;
        }
    }
    return out;
}

std::string describe(DType dtype, size_t longestString)
{
    switch (dtype) {
    case DType::f16: return "<f2";
    case DType::f32: return "<f4";
    case DType::f64: return "<f8";
    case DType::i8: return "|i1";
    case DType::i16: return "<i2";
    case DType::i32: return "<i4";
    case DType::i64: return "<i8";
    case DType::u8: return "|u1";
    case DType::u16: return "<u2";
    case DType::u32: return "<u4";
    case DType::u64: return "<u8";
    case DType::boolean: return "|b1";
    case DType::c64: return "<c8";
    case DType::c128: return "<c16";
    case DType::string: return "|S" + std::to_string(std::max<size_t>(longestString, 1));
    default: return "";
    }
}

} // namespace

Array copyOf(const Tensor& tensor)
{
    Array array;
    array.dtype = tensor.dtype;
    array.shape = tensor.shape;
    array.bytes.assign(tensor.data, tensor.data + tensor.bytes);
    return array;
}

Result<Array> readNpy(std::span<const std::byte> content)
{
    const auto text = std::string_view(reinterpret_cast<const char*>(content.data()), content.size());
    if (text.size() < 10 || text.substr(0, kMagic.size()) != kMagic)
        return Error(ErrorCode::badFile, "not a .npy array: expected it to begin with \\x93NUMPY");
    const int version = static_cast<unsigned char>(text[6]);
    if (version < 1 || version > 3) return Error(ErrorCode::unsupported, ".npy version").found(std::to_string(version)).expected("1 to 3");
    const size_t lengthBytes = version == 1 ? 2 : 4;
    if (text.size() < 8 + lengthBytes) return Error(ErrorCode::badFile, "truncated in its header");
    uint64_t headerSize = 0;
    for (size_t i = 0; i < lengthBytes; ++i) headerSize |= static_cast<uint64_t>(static_cast<unsigned char>(text[8 + i])) << (8 * i);
    const size_t begin = 8 + lengthBytes;
    if (headerSize > text.size() - begin)
        return Error(ErrorCode::badFile, "truncated in its header")
            .found(std::to_string(text.size()) + " bytes")
            .expected("at least " + std::to_string(begin + headerSize));

    LS_TRY(Header header, HeaderReader(text.substr(begin, headerSize)).read());
    LS_TRY(const Element element, parseDescr(header.descr));
    const std::optional<int64_t> count = checkedElementCount(header.shape);
    if (!count || (element.size > 0 && static_cast<uint64_t>(*count) > (UINT64_MAX >> 2) / element.size))
        return Error(ErrorCode::badFile, "shape " + toString(header.shape) + " is too large");
    if (element.size == 0 && *count > kMaxEmptyStrings)
        return Error(ErrorCode::badFile, "shape " + toString(header.shape) + " is too large for strings of no width");
    const std::span<const std::byte> data = content.subspan(begin + headerSize);
    const uint64_t needed = static_cast<uint64_t>(*count) * element.size;
    if (data.size() < needed)
        return Error(ErrorCode::badFile,
                     "truncated: " + header.descr + toString(header.shape) + " needs " + std::to_string(needed) + " bytes")
            .found(std::to_string(data.size()));

    if (needed > kAskedAbove) LS_CHECK_OK(checkMemory(needed, "array"));
    std::vector<std::byte> bytes(data.begin(), data.begin() + static_cast<ptrdiff_t>(needed));
    if (element.bigEndian && element.swapUnit > 1)
        for (size_t at = 0; at + element.swapUnit <= bytes.size(); at += element.swapUnit)
            std::reverse(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.begin() + static_cast<ptrdiff_t>(at + element.swapUnit));
    if (header.fortranOrder && header.shape.rank() > 1 && element.size > 0) bytes = fromFortranOrder(bytes, header.shape, element.size);

    Array array;
    array.dtype = element.dtype;
    array.shape = header.shape;
    if (element.dtype == DType::string) {
        LS_TRY(array.bytes, readStrings(bytes.data(), element, *count));
    } else {
        if (element.dtype == DType::boolean)
            for (std::byte& b : bytes) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
        array.bytes = std::move(bytes);
    }
    return array;
}

DType npyStorageType(DType dtype)
{
    switch (dtype) {
    case DType::bf16: return DType::u16;
    case DType::f8e4m3fn:
    case DType::f8e5m2: return DType::u8;
    case DType::i2:
    case DType::i4:
    case DType::qi8: return DType::i8;
    case DType::u4:
    case DType::qu8: return DType::u8;
    case DType::qi16: return DType::i16;
    case DType::qu16: return DType::u16;
    case DType::qi32: return DType::i32;
    default: return dtype;
    }
}

std::vector<std::byte> unpackElements(const Tensor& tensor)
{
    const int bits = bitWidth(tensor.dtype);
    const bool isSigned = tensor.dtype != DType::u4;
    std::vector<std::byte> out(static_cast<size_t>(tensor.elementCount()));
    for (size_t i = 0; i < out.size(); ++i) {
        const size_t bit = i * static_cast<size_t>(bits);
        int value = (std::to_integer<int>(tensor.data[bit / 8]) >> (bit % 8)) & ((1 << bits) - 1);
        if (isSigned && value >= (1 << (bits - 1))) value -= 1 << bits;
        out[i] = static_cast<std::byte>(value);
    }
    return out;
}

std::vector<std::byte> packElements(std::span<const std::byte> oneByteEach, DType packed)
{
    const int bits = bitWidth(packed);
    std::vector<std::byte> out(byteSize(packed, static_cast<int64_t>(oneByteEach.size())), std::byte{0});
    for (size_t i = 0; i < oneByteEach.size(); ++i) {
        const size_t bit = i * static_cast<size_t>(bits);
        const int value = std::to_integer<int>(oneByteEach[i]) & ((1 << bits) - 1);
        out[bit / 8] |= static_cast<std::byte>(value << (bit % 8));
    }
    return out;
}

Result<Array> fromNpyStorage(Array array, DType dtype)
{
    if (array.dtype == dtype) return array;
    if (npyStorageType(dtype) != array.dtype)
        return Error(ErrorCode::usage,
                     std::string(dtypeName(dtype)) + " arrays are stored as " + std::string(dtypeName(npyStorageType(dtype))))
            .found(std::string(dtypeName(array.dtype)));
    if (const int bits = bitWidth(dtype); bits < 8) {
        const int64_t low = integerMin(dtype), high = static_cast<int64_t>(integerMax(dtype));
        for (size_t i = 0; i < array.bytes.size(); ++i) {
            const int64_t value = low < 0 ? static_cast<int8_t>(array.bytes[i]) : static_cast<uint8_t>(array.bytes[i]);
            if (value < low || value > high)
                return Error(ErrorCode::usage,
                             "element " + std::to_string(i) + " is " + std::to_string(value) + ", beyond " + std::string(dtypeName(dtype)));
        }
        array.bytes = packElements(array.bytes, dtype);
    }
    array.dtype = dtype;
    return array;
}

Result<std::vector<std::byte>> writeNpy(const Tensor& tensor)
{
    const DType stored = npyStorageType(tensor.dtype);
    std::vector<std::byte> data;
    size_t longest = 0;
    if (tensor.dtype == DType::string) {
        LS_TRY(const std::vector<std::string_view> strings, unpackStrings(tensor.view()));
        for (std::string_view s : strings) longest = std::max(longest, s.size());
        longest = std::max<size_t>(longest, 1);
        data.assign(strings.size() * longest, std::byte{0});
        for (size_t i = 0; i < strings.size(); ++i)
            if (!strings[i].empty()) std::memcpy(data.data() + i * longest, strings[i].data(), strings[i].size());
    } else if (const int bits = bitWidth(tensor.dtype); bits > 0 && bits < 8) {
        data = unpackElements(tensor);
    } else if (tensor.bytes > 0) {
        data.assign(tensor.data, tensor.data + tensor.bytes);
    }
    const std::string descr = describe(stored, longest);
    if (descr.empty()) return Error(ErrorCode::unsupported, std::string(dtypeName(tensor.dtype)) + " has no form in .npy files");

    std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
    for (int d = 0; d < tensor.shape.rank(); ++d) header += (d > 0 ? " " : "") + std::to_string(tensor.shape[d]) + ",";
    if (tensor.shape.rank() > 1) header.pop_back();
    header += "), }";
    // Magic, version, length, text and newline fill a multiple of 64 bytes, as the format asks for.
    while ((10 + header.size() + 1) % 64 != 0) header += ' ';
    header += '\n';
    std::string head(kMagic);
    head += '\x01';
    head += '\x00';
    head += static_cast<char>(header.size() & 0xff);
    head += static_cast<char>(header.size() >> 8);
    head += header;

    std::vector<std::byte> out(head.size() + data.size());
    std::memcpy(out.data(), head.data(), head.size());
    if (!data.empty()) std::memcpy(out.data() + head.size(), data.data(), data.size());
    return out;
}

} // namespace loopscope
