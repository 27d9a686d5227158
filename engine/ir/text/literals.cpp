// Number texts come from std::to_chars and go through std::from_chars: neither knows locales, and both are exact.
#include "engine/ir/text/literals.h"

#include "engine/ir/text/lexer.h"
#include "engine/tensor/half.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace loopscope {

namespace {

/// Bits of the quiet NaN that `nan` stands for.
uint64_t plainNan(DType dtype)
{
    switch (dtype) {
    case DType::f64: return 0x7ff8000000000000;
    case DType::f32: return 0x7fc00000;
    case DType::f16: return 0x7e00;
    case DType::bf16: return 0x7fc0;
    case DType::f8e4m3fn: return 0x7f;
    case DType::f8e5m2: return 0x7e;
    default: return 0;
    }
}

float narrowToFloat(DType dtype, uint64_t bits)
{
    switch (dtype) {
    case DType::f16: return f16ToFloat(static_cast<uint16_t>(bits));
    case DType::bf16: return bf16ToFloat(static_cast<uint16_t>(bits));
    case DType::f8e4m3fn: return f8e4m3fnToFloat(static_cast<uint8_t>(bits));
    case DType::f8e5m2: return f8e5m2ToFloat(static_cast<uint8_t>(bits));
    default: return std::bit_cast<float>(static_cast<uint32_t>(bits));
    }
}

uint64_t floatToNarrow(DType dtype, float value)
{
    switch (dtype) {
    case DType::f16: return floatToF16(value);
    case DType::bf16: return floatToBf16(value);
    case DType::f8e4m3fn: return floatToF8e4m3fn(value);
    case DType::f8e5m2: return floatToF8e5m2(value);
    default: return std::bit_cast<uint32_t>(value);
    }
}

double asDouble(DType dtype, uint64_t bits)
{
    return dtype == DType::f64 ? std::bit_cast<double>(bits) : static_cast<double>(narrowToFloat(dtype, bits));
}

/// to_chars writes "1", "1e+20", "1e-07"; text wants a point or an exponent, and no sign or zero that says nothing.
std::string tidied(std::string_view text)
{
    const size_t e = text.find('e');
    std::string out(text.substr(0, e));
    if (e == std::string_view::npos) {
        if (out.find('.') == std::string::npos) out += ".0";
        return out;
    }
    out += 'e';
    std::string_view exponent = text.substr(e + 1);
    if (exponent.front() == '-') out += '-';
    if (exponent.front() == '-' || exponent.front() == '+') exponent.remove_prefix(1);
    while (exponent.size() > 1 && exponent.front() == '0') exponent.remove_prefix(1);
    out += exponent;
    return out;
}

template <typename T> std::string finiteText(T value)
{
    char text[64];
    return tidied({text, std::to_chars(text, text + sizeof text, value).ptr});
}

std::string elementText(DType dtype, uint64_t bits)
{
    const double value = asDouble(dtype, bits);
    if (std::isnan(value)) {
        if (bits == plainNan(dtype)) return "nan";
        char text[20];
        const auto end = std::to_chars(text, text + sizeof text, bits, 16).ptr;
        const auto digits = static_cast<size_t>(end - text);
        // Full width, so that the sign and the quiet bit can be read off.
        const size_t width = dtype == DType::f64 ? 16 : dtype == DType::f32 ? 8 : dtype == DType::f16 || dtype == DType::bf16 ? 4 : 2;
        return "nan(0x" + std::string(width - digits, '0') + std::string(text, digits) + ")";
    }
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    if (dtype == DType::f64) return finiteText(value);
    const float narrow = narrowToFloat(dtype, bits);
    if (dtype == DType::f32) return finiteText(narrow);
    for (int precision = 1; precision <= 9; ++precision) {
        char text[64];
        const auto end = std::to_chars(text, text + sizeof text, narrow, std::chars_format::scientific, precision - 1).ptr;
        float back = 0;
        double wide = 0;
        std::from_chars(text, end, back);
        std::from_chars(text, end, wide);
        if (floatToNarrow(dtype, back) == bits) return finiteText(wide);
    }
    return finiteText(narrow);
}

/// from_chars with the two ends of the range told apart: too small becomes a zero, too large is none.
template <typename T> std::optional<T> finiteFrom(std::string_view text)
{
    T value = 0;
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) {
        // The mantissa is nonzero, so the sign of the exponent decides, or the leading "0." where there is none.
        const size_t e = text.find_first_of("eE");
        const bool negative = text.front() == '-';
        const bool tiny = e != std::string_view::npos ? text[e + 1] == '-' : text.substr(negative ? 1 : 0).starts_with("0.");
        if (!tiny) return std::nullopt;
        return negative ? -T(0) : T(0);
    }
    if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
    return value;
}

std::string doesNotFit(std::string_view text, DType dtype)
{
    std::string message = std::string(text) + " does not fit " + std::string(dtypeName(dtype));
    if (isInteger(dtype)) message += " (" + std::to_string(integerMin(dtype)) + " to " + std::to_string(integerMax(dtype)) + ")";
    return message;
}

bool isPacked(DType dtype) { return bitWidth(dtype) > 0 && bitWidth(dtype) < 8; }

std::string needs(DType dtype, std::string_view what, const Scalar& found)
{
    const std::string text = found.kind == Scalar::Kind::string    ? "a string"
                             : found.kind == Scalar::Kind::complex ? "(" + found.text + ", " + found.imaginary + ")"
                                                                   : found.text;
    return std::string(dtypeName(dtype)) + " needs " + std::string(what) + ", found " + text;
}

} // namespace

std::string realText(float value) { return elementText(DType::f32, std::bit_cast<uint32_t>(value)); }

std::string realText(double value) { return elementText(DType::f64, std::bit_cast<uint64_t>(value)); }

std::string parseReal(std::string_view text, DType dtype, uint64_t& bits)
{
    if (text == "nan") {
        bits = plainNan(dtype);
        return {};
    }
    if (text.starts_with("nan(0x") && text.ends_with(")")) {
        const char* end = text.data() + text.size() - 1;
        const auto [at, error] = std::from_chars(text.data() + 6, end, bits, 16);
        const bool fits = bitWidth(dtype) == 64 || (bits >> bitWidth(dtype)) == 0;
        if (error != std::errc() || at != end || !fits || !std::isnan(asDouble(dtype, bits)))
            return std::string(text) + " is not a NaN of " + std::string(dtypeName(dtype));
        return {};
    }
    if (text == "inf" || text == "-inf") {
        const float infinity = text.front() == '-' ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
        bits = dtype == DType::f64 ? std::bit_cast<uint64_t>(static_cast<double>(infinity)) : floatToNarrow(dtype, infinity);
        if (dtype == DType::f8e4m3fn) return doesNotFit(text, dtype);
        return {};
    }
    if (dtype == DType::f64) {
        const auto value = finiteFrom<double>(text);
        if (!value) return doesNotFit(text, dtype);
        bits = std::bit_cast<uint64_t>(*value);
        return {};
    }
    const auto value = finiteFrom<float>(text);
    if (!value) return doesNotFit(text, dtype);
    bits = floatToNarrow(dtype, *value);
    if (!std::isfinite(narrowToFloat(dtype, bits))) return doesNotFit(text, dtype);
    return {};
}

std::string parseInteger(std::string_view text, DType dtype, uint64_t& bits)
{
    const char* end = text.data() + text.size();
    if (text.starts_with('-')) {
        int64_t value = 0;
        const auto [at, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc() || at != end || value < integerMin(dtype)) return doesNotFit(text, dtype);
        bits = static_cast<uint64_t>(value);
        return {};
    }
    const auto [at, error] = std::from_chars(text.data(), end, bits);
    if (error != std::errc() || at != end || bits > integerMax(dtype)) return doesNotFit(text, dtype);
    return {};
}

std::optional<double> parseDouble(std::string_view text)
{
    uint64_t bits = 0;
    if (!parseReal(text, DType::f64, bits).empty()) return std::nullopt;
    return std::bit_cast<double>(bits);
}

std::optional<float> parseFloat(std::string_view text)
{
    uint64_t bits = 0;
    if (!parseReal(text, DType::f32, bits).empty()) return std::nullopt;
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

std::optional<int64_t> parseInt64(std::string_view text)
{
    int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || at != end) return std::nullopt;
    return value;
}

std::string ElementEncoder::add(const Scalar& scalar)
{
    using enum Scalar::Kind;
    const auto put = [&](uint64_t bits, size_t bytes) {
        const size_t at = m_bytes.size();
        m_bytes.resize(at + bytes);
        std::memcpy(m_bytes.data() + at, &bits, bytes);
    };
    const bool number = scalar.kind == integer || scalar.kind == real;
    uint64_t bits = 0;
    std::string error;
    switch (dtypeClass(m_dtype)) {
    case DTypeClass::floating:
        if (!number) return needs(m_dtype, "a number", scalar);
        error = parseReal(scalar.text, m_dtype, bits);
        if (error.empty()) put(bits, static_cast<size_t>(bitWidth(m_dtype)) / 8);
        break;
    case DTypeClass::signedInteger:
    case DTypeClass::unsignedInteger:
        if (scalar.kind != integer) return needs(m_dtype, "an integer", scalar);
        error = parseInteger(scalar.text, m_dtype, bits);
        if (error.empty()) put(bits, isPacked(m_dtype) ? 1 : static_cast<size_t>(bitWidth(m_dtype)) / 8);
        break;
    case DTypeClass::boolean:
        if (scalar.kind != boolean) return needs(m_dtype, "true or false", scalar);
        put(scalar.text == "true" ? 1 : 0, 1);
        break;
    case DTypeClass::string:
        if (scalar.kind != string) return needs(m_dtype, "a string", scalar);
        m_strings.push_back(scalar.text);
        break;
    case DTypeClass::complex: {
        if (scalar.kind != complex) return needs(m_dtype, "(real, imaginary)", scalar);
        const DType part = m_dtype == DType::c64 ? DType::f32 : DType::f64;
        uint64_t imaginary = 0;
        error = parseReal(scalar.text, part, bits);
        if (error.empty()) error = parseReal(scalar.imaginary, part, imaginary);
        if (!error.empty()) break;
        put(bits, static_cast<size_t>(bitWidth(part)) / 8);
        put(imaginary, static_cast<size_t>(bitWidth(part)) / 8);
        break;
    }
    case DTypeClass::none:
    case DTypeClass::handle:
    case DTypeClass::block: return std::string(dtypeName(m_dtype)) + " has no literals; its data is written as a hash";
    }
    if (error.empty()) ++m_count;
    return error;
}

void ElementEncoder::repeat(int64_t count)
{
    if (m_count != 1) return;
    if (m_dtype == DType::string) {
        m_strings.resize(static_cast<size_t>(count), m_strings.front());
    } else {
        const size_t size = m_bytes.size();
        m_bytes.resize(size * static_cast<size_t>(count));
        for (size_t done = size; done < m_bytes.size();) {
            const size_t part = std::min(done, m_bytes.size() - done);
            std::memcpy(m_bytes.data() + done, m_bytes.data(), part);
            done += part;
        }
    }
    m_count = count;
}

Bytes ElementEncoder::finish()
{
    if (m_dtype == DType::string) m_bytes = packStrings(m_strings);
    if (isPacked(m_dtype)) {
        const auto width = static_cast<size_t>(bitWidth(m_dtype));
        const size_t perByte = 8 / width;
        std::vector<std::byte> packed((m_bytes.size() + perByte - 1) / perByte);
        for (size_t i = 0; i < m_bytes.size(); ++i) {
            const auto element = static_cast<unsigned>(m_bytes[i]) & ((1U << width) - 1);
            packed[i / perByte] |= static_cast<std::byte>(element << (i % perByte * width));
        }
        m_bytes = std::move(packed);
    }
    auto owner = std::make_shared<std::vector<std::byte>>(std::move(m_bytes));
    return Bytes(std::span<const std::byte>(*owner), owner);
}

std::optional<ElementReader> ElementReader::create(DType dtype, int64_t count, std::span<const std::byte> bytes)
{
    ElementReader reader(dtype, count, bytes);
    switch (dtypeClass(dtype)) {
    case DTypeClass::string: {
        auto strings = unpackStrings(bytes);
        if (!strings.ok() || static_cast<int64_t>(strings->size()) != count) return std::nullopt;
        // Written in the one way that the parser packs them?
        size_t at = 4 * (strings->size() + 2);
        for (const std::string_view s : *strings) {
            if (reinterpret_cast<const std::byte*>(s.data()) != bytes.data() + at) return std::nullopt;
            at += s.size();
        }
        if (at != bytes.size()) return std::nullopt;
        reader.m_strings = std::move(strings).value();
        return reader;
    }
    case DTypeClass::none:
    case DTypeClass::handle:
    case DTypeClass::block: return std::nullopt;
    default: break;
    }
    if (byteSize(dtype, count) != bytes.size()) return std::nullopt;
    if (dtype == DType::boolean) {
        // Only what will be shown needs to be plain, and more than a few elements are shown only if all equal the first.
        const int64_t shown = std::min<int64_t>(count, 4096);
        for (int64_t i = 0; i < shown; ++i)
            if (bytes[static_cast<size_t>(i)] > std::byte{1}) return std::nullopt;
    } else if (isPacked(dtype) && !bytes.empty()) {
        const auto used = static_cast<unsigned>(static_cast<uint64_t>(count) * static_cast<uint64_t>(bitWidth(dtype)) % 8);
        if (used != 0 && (static_cast<unsigned>(bytes.back()) >> used) != 0) return std::nullopt;
    }
    return reader;
}

uint64_t ElementReader::bits(int64_t index) const
{
    const auto i = static_cast<size_t>(index);
    const auto width = static_cast<size_t>(bitWidth(m_dtype));
    if (width < 8) {
        const size_t bit = i * width;
        return (static_cast<uint64_t>(m_bytes[bit / 8]) >> (bit % 8)) & ((1U << width) - 1);
    }
    uint64_t value = 0;
    std::memcpy(&value, m_bytes.data() + i * (width / 8), width / 8);
    return value;
}

std::string ElementReader::text(int64_t index) const
{
    switch (dtypeClass(m_dtype)) {
    case DTypeClass::floating: return elementText(m_dtype, bits(index));
    case DTypeClass::signedInteger: {
        const int unused = 64 - bitWidth(m_dtype);
        return std::to_string(static_cast<int64_t>(bits(index) << unused) >> unused);
    }
    case DTypeClass::unsignedInteger: return std::to_string(bits(index));
    case DTypeClass::boolean: return bits(index) == 0 ? "false" : "true";
    case DTypeClass::complex: {
        const DType part = m_dtype == DType::c64 ? DType::f32 : DType::f64;
        const size_t size = static_cast<size_t>(bitWidth(part)) / 8;
        uint64_t real = 0;
        uint64_t imaginary = 0;
        const std::byte* at = m_bytes.data() + 2 * size * static_cast<size_t>(index);
        std::memcpy(&real, at, size);
        std::memcpy(&imaginary, at + size, size);
        return "(" + elementText(part, real) + ", " + elementText(part, imaginary) + ")";
    }
    default: return quoted(m_strings[static_cast<size_t>(index)]);
    }
}

bool ElementReader::allEqual() const
{
    if (m_count < 2) return true;
    if (m_dtype == DType::string)
        return std::all_of(m_strings.begin(), m_strings.end(), [&](std::string_view s) { return s == m_strings.front(); });
    const auto width = static_cast<size_t>(bitWidth(m_dtype));
    if (width >= 8) {
        // Equal to itself moved by one element; memcmp stops at the first difference.
        const size_t size = width / 8;
        return std::memcmp(m_bytes.data(), m_bytes.data() + size, m_bytes.size() - size) == 0;
    }
    const size_t perByte = 8 / width;
    const size_t whole = static_cast<size_t>(m_count) / perByte;
    for (int64_t i = 1; i < std::min<int64_t>(m_count, static_cast<int64_t>(perByte)); ++i)
        if (bits(i) != bits(0)) return false;
    if (whole > 1 && std::memcmp(m_bytes.data(), m_bytes.data() + 1, whole - 1) != 0) return false;
    for (auto i = static_cast<int64_t>(whole * perByte); i < m_count; ++i)
        if (bits(i) != bits(0)) return false;
    return true;
}

std::optional<int64_t> storedElements(const Sparsity& sparsity)
{
    int64_t count = 1;
    for (const SparseDimension& dimension : sparsity.dimensions) {
        if (dimension.compressed) {
            count = static_cast<int64_t>(dimension.indices.size());
        } else {
            if (dimension.denseSize < 0 || __builtin_mul_overflow(count, int64_t{dimension.denseSize}, &count)) return std::nullopt;
        }
        if (count > (int64_t{1} << 40)) return std::nullopt;
    }
    return count;
}

std::optional<uint64_t> expectedBytes(const TensorType& type, const Sparsity* sparsity)
{
    if (bitWidth(type.dtype) == 0 || type.dtype == DType::resource) return std::nullopt;
    const auto count = sparsity ? storedElements(*sparsity) : checkedElementCount(type.shape);
    if (!type.shape.hasRank() || !count) return std::nullopt;
    return byteSize(type.dtype, *count);
}

} // namespace loopscope
