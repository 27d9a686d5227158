#include "engine/api/inputs/literal.h"

#include "engine/base/memory_budget.h"
#include "engine/tensor/half.h"
#include "engine/tensor/strings.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace loopscope {

namespace {

constexpr int kMaxDepth = 32;

/// Bytes of one element of `dtype` as parsed; packed types one byte each, strings in `text`.
struct Scalars {
    DType dtype;
    std::vector<std::byte> bytes;
    std::vector<std::string> strings;
    int64_t count = 0;

    template <typename T> void push(T value)
    {
        const auto* begin = reinterpret_cast<const std::byte*>(&value);
        bytes.insert(bytes.end(), begin, begin + sizeof value);
        ++count;
    }
};

class LiteralReader {
public:
    LiteralReader(std::string_view text, DType dtype) : m_text(text) { m_out.dtype = dtype; }

    Status read()
    {
        LS_CHECK_OK(value(0));
        skipBlanks();
        if (m_at < m_text.size()) return fail("unexpected '" + std::string(m_text.substr(m_at, 12)) + "' after the value");
        return {};
    }

    Scalars& scalars() { return m_out; }
    /// Sizes by depth; empty for a scalar.
    const std::vector<int64_t>& nesting() const { return m_nesting; }

private:
    void skipBlanks()
    {
        while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == '\t' || m_text[m_at] == '\n')) ++m_at;
    }
    bool take(char c)
    {
        skipBlanks();
        if (m_at >= m_text.size() || m_text[m_at] != c) return false;
        ++m_at;
        return true;
    }
    Error fail(std::string what) const { return Error(ErrorCode::usage, "column " + std::to_string(m_at + 1) + ": " + std::move(what)); }

    Status value(size_t depth)
    {
        if (!take('[')) {
            if (m_scalarDepth != kNoDepth && m_scalarDepth != depth) return fail("lists are not nested equally deep");
            m_scalarDepth = depth;
            return scalar();
        }
        if (depth >= kMaxDepth) return fail("lists are nested too deep");
        int64_t size = 0;
        if (!take(']')) {
            do {
                LS_CHECK_OK(value(depth + 1));
                ++size;
            } while (take(','));
            if (!take(']')) return fail("expected ',' or ']'");
        }
        if (m_nesting.size() <= depth) m_nesting.resize(depth + 1, -1);
        if (m_nesting[depth] >= 0 && m_nesting[depth] != size)
            return fail("lists differ in length: found " + std::to_string(size) + ", expected " + std::to_string(m_nesting[depth]));
        m_nesting[depth] = size;
        return {};
    }

    Status scalar()
    {
        skipBlanks();
        if (m_at >= m_text.size()) return fail("expected a value");
        const DTypeClass kind = dtypeClass(m_out.dtype);
        if (m_text[m_at] == '"') {
            if (kind != DTypeClass::string) return fail("found a string, expected " + std::string(dtypeName(m_out.dtype)));
            return string();
        }
        if (m_text[m_at] == '(') return complex();
        const size_t begin = m_at;
        while (m_at < m_text.size() && std::string_view(" \t\n,[]").find(m_text[m_at]) == std::string_view::npos) {
            if (m_text[m_at] == '(') // nan(0x7fc00001)
                while (m_at < m_text.size() && m_text[m_at] != ')') ++m_at;
            if (m_at < m_text.size()) ++m_at;
        }
        const std::string_view token = m_text.substr(begin, m_at - begin);
        m_at = begin;
        Status status = kind == DTypeClass::boolean    ? boolean(token)
                        : kind == DTypeClass::floating ? floating(token)
                        : kind == DTypeClass::signedInteger || kind == DTypeClass::unsignedInteger
                            ? integer(token)
                            : Status(fail("found '" + std::string(token) + "', expected " +
                                          (kind == DTypeClass::string ? "a string in quotes" : std::string(dtypeName(m_out.dtype)))));
        m_at = begin + token.size();
        return status;
    }

    Status boolean(std::string_view token)
    {
        if (token != "true" && token != "false" && token != "1" && token != "0")
            return fail("found '" + std::string(token) + "', expected true or false");
        m_out.push(token == "true" || token == "1");
        return {};
    }

    Status integer(std::string_view token)
    {
        const auto wrong = [&] { return fail("found '" + std::string(token) + "', expected " + std::string(dtypeName(m_out.dtype))); };
        const auto outside = [&] {
            return fail(std::string(token) + " does not fit " + std::string(dtypeName(m_out.dtype)) + " (" +
                        std::to_string(integerMin(m_out.dtype)) + " to " + std::to_string(integerMax(m_out.dtype)) + ")");
        };
        const char* begin = token.data();
        const char* end = token.data() + token.size();
        if (!token.empty() && token[0] == '-') {
            int64_t value = 0;
            const auto [at, error] = std::from_chars(begin, end, value);
            if (error == std::errc::result_out_of_range) return outside();
            if (error != std::errc() || at != end) return wrong();
            if (value < integerMin(m_out.dtype)) return outside();
            return pushInteger(value);
        }
        uint64_t value = 0;
        const auto [at, error] = std::from_chars(begin, end, value);
        if (error == std::errc::result_out_of_range) return outside();
        if (error != std::errc() || at != end) return wrong();
        if (value > integerMax(m_out.dtype)) return outside();
        return pushInteger(static_cast<int64_t>(value));
    }

    Status pushInteger(int64_t value)
    {
        switch (bitWidth(m_out.dtype)) {
        case 16: m_out.push(static_cast<int16_t>(value)); break;
        case 32: m_out.push(static_cast<int32_t>(value)); break;
        case 64: m_out.push(value); break;
        default: m_out.push(static_cast<int8_t>(value)); break; // 8 bits, and packed types before packing
        }
        return {};
    }

    Status floating(std::string_view token)
    {
        if (token.starts_with("nan(0x") && token.ends_with(")")) {
            uint64_t bits = 0;
            const char* end = token.data() + token.size() - 1;
            const auto [at, error] = std::from_chars(token.data() + 6, end, bits, 16);
            if (error != std::errc() || at != end) return fail("found '" + std::string(token) + "', expected nan(0xBITS)");
            return pushInteger(static_cast<int64_t>(bits));
        }
        // Rounded once, from the digits to the element type; the narrow floats go through f32, as NumPy's casts do.
        if (m_out.dtype == DType::f64) {
            double value = 0;
            LS_CHECK_OK(number(token, value));
            m_out.push(value);
            return {};
        }
        float value = 0;
        LS_CHECK_OK(number(token, value));
        switch (m_out.dtype) {
        case DType::f16: m_out.push(floatToF16(value)); break;
        case DType::bf16: m_out.push(floatToBf16(value)); break;
        case DType::f8e4m3fn: m_out.push(floatToF8e4m3fn(value)); break;
        case DType::f8e5m2: m_out.push(floatToF8e5m2(value)); break;
        default: m_out.push(value); break;
        }
        return {};
    }

    template <typename T> Status number(std::string_view token, T& value)
    {
        const bool negative = token.starts_with("-");
        const std::string_view digits = negative ? token.substr(1) : token;
        if (digits == "nan") value = std::numeric_limits<T>::quiet_NaN();
        else if (digits == "inf") value = std::numeric_limits<T>::infinity();
        else {
            const auto [at, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
            if (error == std::errc::result_out_of_range) {
                // Too large or too small for T: the nearest representable, as strtod gives it.
                const double wide = std::strtod(std::string(digits).c_str(), nullptr);
                value = static_cast<T>(wide);
            } else if (error != std::errc() || at != digits.data() + digits.size()) {
                return fail("found '" + std::string(token) + "', expected a number");
            }
        }
        if (negative) value = -value;
        return {};
    }

    Status complex()
    {
        if (dtypeClass(m_out.dtype) != DTypeClass::complex)
            return fail("found a complex number, expected " + std::string(dtypeName(m_out.dtype)));
        const size_t end = m_text.find(')', m_at);
        const size_t comma = m_text.find(',', m_at);
        if (end == std::string_view::npos || comma == std::string_view::npos || comma > end) return fail("expected (REAL, IMAGINARY)");
        const auto trimmed = [](std::string_view t) {
            while (!t.empty() && t.front() == ' ') t.remove_prefix(1);
            while (!t.empty() && t.back() == ' ') t.remove_suffix(1);
            return t;
        };
        double re = 0, im = 0;
        LS_CHECK_OK(number(trimmed(m_text.substr(m_at + 1, comma - m_at - 1)), re));
        LS_CHECK_OK(number(trimmed(m_text.substr(comma + 1, end - comma - 1)), im));
        if (m_out.dtype == DType::c64) m_out.push(std::array<float, 2>{static_cast<float>(re), static_cast<float>(im)});
        else m_out.push(std::array<double, 2>{re, im});
        m_at = end + 1;
        return {};
    }

    Status string()
    {
        std::string text;
        for (++m_at; m_at < m_text.size() && m_text[m_at] != '"'; ++m_at) {
            if (m_text[m_at] != '\\') {
                text += m_text[m_at];
                continue;
            }
            if (++m_at >= m_text.size()) break;
            const char c = m_text[m_at];
            if (c == 'n') text += '\n';
            else if (c == 't') text += '\t';
            else if (c == '"' || c == '\\') text += c;
            else if (c == 'x' && m_at + 2 < m_text.size()) {
                unsigned byte = 0;
                const auto [at, error] = std::from_chars(m_text.data() + m_at + 1, m_text.data() + m_at + 3, byte, 16);
                if (error != std::errc() || at != m_text.data() + m_at + 3) return fail("expected two hex digits after \\x");
                text += static_cast<char>(byte);
                m_at += 2;
            } else return fail("unknown escape '\\" + std::string(1, c) + "'");
        }
        if (m_at >= m_text.size()) return fail("string does not end");
        ++m_at;
        m_out.strings.push_back(std::move(text));
        ++m_out.count;
        return {};
    }

    static constexpr size_t kNoDepth = SIZE_MAX;
    std::string_view m_text;
    size_t m_at = 0;
    Scalars m_out;
    std::vector<int64_t> m_nesting;
    size_t m_scalarDepth = kNoDepth;
};

/// The shape that `count` elements in a flat list take.
Result<Shape> shapeFor(int64_t count, const Shape& wanted)
{
    if (!wanted.hasRank()) return Shape{count};
    int64_t known = 1;
    int unknown = 0;
    for (int64_t dim : wanted.dims()) {
        if (dim < 0) ++unknown;
        else known *= dim;
    }
    Shape shape = wanted;
    if (unknown == 1 && known > 0 && count % known == 0) {
        for (int d = 0; d < shape.rank(); ++d)
            if (shape[d] < 0) shape[d] = count / known;
        return shape;
    }
    if (unknown == 0 && known == count) return shape;
    return Error(ErrorCode::usage, "found " + std::to_string(count) + (count == 1 ? " element" : " elements") + ", expected shape " +
                                       toString(wanted) + (unknown > 1 ? " (nest the lists to say the shape)" : ""));
}

} // namespace

Result<int64_t> madeElements(DType dtype, const Shape& shape)
{
    constexpr size_t kAskedAbove = size_t{1} << 20; // bytes: asking costs a look at a file of the system
    const auto count = checkedElementCount(shape);
    if (!count || *count > kMostMadeElements) return Error(ErrorCode::usage, "shape " + toString(shape) + " is too large");
    const size_t bytes = dtype == DType::string ? static_cast<size_t>(*count) * (sizeof(std::string) + 8) : byteSize(dtype, *count);
    if (bytes > kAskedAbove) LS_CHECK_OK(checkMemory(bytes, "array"));
    return *count;
}

Result<Array> parseLiteral(std::string_view text, DType dtype, const Shape& wanted, ScalarMeans scalar)
{
    LiteralReader reader(text, dtype);
    LS_CHECK_OK(reader.read());
    Scalars& scalars = reader.scalars();
    Array array;
    array.dtype = dtype;
    int64_t copies = 1;
    if (reader.nesting().empty()) {
        if (wanted.hasRank() && wanted.isStatic()) {
            LS_TRY(const int64_t count, madeElements(dtype, wanted));
            if (count != 1 && scalar != ScalarMeans::fill)
                return Error(ErrorCode::usage, "found a scalar").expected("shape " + toString(wanted));
            array.shape = wanted;
            copies = count;
        } else if (wanted.hasRank()) {
            array.shape = Shape::ofRank(wanted.rank(), 1);
            for (int d = 0; d < wanted.rank(); ++d)
                if (wanted[d] >= 0) array.shape[d] = wanted[d];
            LS_TRY(copies, madeElements(dtype, array.shape));
        }
    } else if (reader.nesting().size() == 1) {
        LS_TRY(array.shape, shapeFor(scalars.count, wanted));
    } else {
        array.shape = Shape(std::span<const int64_t>(reader.nesting()));
    }

    if (dtype == DType::string) {
        std::vector<std::string> strings = scalars.strings;
        if (reader.nesting().empty()) strings.assign(static_cast<size_t>(copies), scalars.strings.front());
        array.bytes = packStrings(strings);
        return array;
    }
    if (reader.nesting().empty()) {
        array.bytes.reserve(scalars.bytes.size() * static_cast<size_t>(copies));
        for (int64_t i = 0; i < copies; ++i) array.bytes.insert(array.bytes.end(), scalars.bytes.begin(), scalars.bytes.end());
    } else {
        array.bytes = std::move(scalars.bytes);
    }
    if (const int bits = bitWidth(dtype); bits > 0 && bits < 8) array.bytes = packElements(array.bytes, dtype);
    return array;
}

Status setElement(Array& array, int64_t index, std::string_view value)
{
    LS_TRY(const Array element, parseLiteral(value, array.dtype, Shape{}, ScalarMeans::oneElement));
    if (array.dtype == DType::string) {
        LS_TRY(const std::vector<std::string_view> views, unpackStrings(array.bytes));
        LS_TRY(const std::vector<std::string_view> one, unpackStrings(element.bytes));
        std::vector<std::string> strings(views.begin(), views.end());
        strings[static_cast<size_t>(index)] = std::string(one.front());
        array.bytes = packStrings(strings);
        return {};
    }
    if (const int bits = bitWidth(array.dtype); bits < 8) {
        std::vector<std::byte> each = unpackElements(array.view());
        each[static_cast<size_t>(index)] = unpackElements(element.view()).front();
        array.bytes = packElements(each, array.dtype);
        return {};
    }
    std::memcpy(array.bytes.data() + static_cast<size_t>(index) * element.bytes.size(), element.bytes.data(), element.bytes.size());
    return {};
}

DType literalDtype(std::string_view text)
{
    bool wide = false;
    for (size_t at = 0; at < text.size();) {
        if (text[at] == '"') return DType::string;
        if (text[at] == '(') return DType::c64;
        const size_t begin = at;
        while (at < text.size() && std::string_view(" \t\n,[]").find(text[at]) == std::string_view::npos) ++at;
        const std::string_view token = text.substr(begin, at - begin);
        if (token == "true" || token == "false") return DType::boolean;
        if (token.find_first_of(".eni") != std::string_view::npos) return DType::f32;
        if (!token.empty()) {
            int32_t narrow = 0;
            wide = wide || std::from_chars(token.data(), token.data() + token.size(), narrow).ec != std::errc();
        }
        if (at < text.size()) ++at;
    }
    return wide ? DType::i64 : DType::i32;
}

} // namespace loopscope
