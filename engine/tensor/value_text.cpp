#include "engine/tensor/value_text.h"

#include "engine/tensor/compare.h"
#include "engine/tensor/half.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/strings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace loopscope {

namespace {

constexpr int64_t kFullElements = 16;
constexpr int64_t kEdge = 3;

/// Writes the elements of one axis, all of them or its edges; `flat` is the first element below this axis.
void appendAxis(std::string& out, const Tensor& tensor, int axis, int64_t flat, bool edges, int indent, const NumberFormat& format)
{
    if (axis == tensor.shape.rank()) {
        out += elementText(tensor, flat, format);
        return;
    }
    const int64_t size = tensor.shape[axis];
    const int64_t stride = tensor.shape.countOf(axis + 1, tensor.shape.rank());
    const bool innermost = axis + 1 == tensor.shape.rank();
    edges = edges || stride == 0; // any number of rows may hold no element
    out += '[';
    for (int64_t i = 0; i < size; ++i) {
        if (i > 0) {
            if (innermost) out += ' ';
            else out += '\n' + std::string(static_cast<size_t>(indent + axis + 1), ' ');
        }
        if (edges && size > 2 * kEdge && i == kEdge) {
            out += "…";
            i = size - kEdge - 1;
            continue;
        }
        appendAxis(out, tensor, axis + 1, flat + i * stride, edges, indent, format);
    }
    out += ']';
}

std::string complexText(const Tensor& tensor, int64_t index, int digits)
{
    double re = 0, im = 0;
    if (tensor.dtype == DType::c64) {
        std::array<float, 2> parts = {};
        std::memcpy(parts.data(), tensor.data + static_cast<size_t>(index) * sizeof parts, sizeof parts);
        re = parts[0];
        im = parts[1];
    } else {
        std::array<double, 2> parts = {};
        std::memcpy(parts.data(), tensor.data + static_cast<size_t>(index) * sizeof parts, sizeof parts);
        re = parts[0];
        im = parts[1];
    }
    const auto part = [&](double value) {
        return digits == NumberFormat::kExact ? exactText(value, tensor.dtype)
                                              : realText(value, digits > 0                   ? digits
                                                                : tensor.dtype == DType::c64 ? 7
                                                                                             : 16);
    };
    return "(" + part(re) + ", " + part(im) + ")";
}

std::string hexReal(double value)
{
    if (std::isnan(value) || std::isinf(value)) return realText(value, 1);
    std::array<char, 40> text = {};
    std::snprintf(text.data(), text.size(), "%a", value);
    return text.data();
}

template <typename T> std::string digitsOf(T value, PlainRange plain)
{
    std::array<char, 64> text = {};
    const double magnitude = std::fabs(static_cast<double>(value));
    const auto format = magnitude < plain.from || magnitude >= plain.below ? std::chars_format::scientific : std::chars_format::fixed;
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value, format).ptr};
}

/// What a narrow float makes of a number.
double narrowed(double value, DType dtype)
{
    const auto single = static_cast<float>(value);
    const float stored = dtype == DType::f16        ? f16ToFloat(floatToF16(single))
                         : dtype == DType::bf16     ? bf16ToFloat(floatToBf16(single))
                         : dtype == DType::f8e4m3fn ? f8e4m3fnToFloat(floatToF8e4m3fn(single))
                                                    : f8e5m2ToFloat(floatToF8e5m2(single));
    return static_cast<double>(stored);
}

std::string wordOf(double value)
{
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    return std::signbit(value) ? "-0" : "0";
}

/// Bytes of the UTF-8 character that begins `text`; 0: it is none.
size_t characterLength(std::string_view text)
{
    const auto first = static_cast<unsigned char>(text[0]);
    const size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (length > text.size()) return 0;
    for (size_t i = 1; i < length; ++i)
        if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
    return length;
}

} // namespace

std::string realText(double value, int digits, PlainRange plain)
{
    if (!std::isfinite(value) || value == 0) return wordOf(value);
    // %g-like rounding to significant digits, then the shortest form of the rounded number.
    std::array<char, 40> rounded = {};
    std::to_chars(rounded.data(), rounded.data() + rounded.size() - 1, value, std::chars_format::scientific, digits - 1);
    return digitsOf(std::strtod(rounded.data(), nullptr), plain);
}

std::string exactText(double value, DType dtype, PlainRange plain)
{
    if (!std::isfinite(value) || value == 0) return wordOf(value);
    if (isFloat(dtype) && bitWidth(dtype) < 32)
        for (int digits = 1; digits < 9; ++digits)
            if (const std::string text = realText(value, digits, plain); narrowed(std::strtod(text.c_str(), nullptr), dtype) == value)
                return text;
    const bool isWide = dtype == DType::f64 || dtype == DType::c128 || dtype == DType::i64 || dtype == DType::u64;
    return isWide ? digitsOf(value, plain) : digitsOf(static_cast<float>(value), plain);
}

std::string integerText(uint64_t bits, bool isUnsigned, bool hex)
{
    std::array<char, 24> text = {};
    const bool negative = !isUnsigned && static_cast<int64_t>(bits) < 0;
    const uint64_t magnitude = negative ? uint64_t{0} - bits : bits;
    char* const end = std::to_chars(text.data(), text.data() + text.size(), magnitude, hex ? 16 : 10).ptr;
    return (negative ? "-" : "") + std::string(hex ? "0x" : "") + std::string(text.data(), end);
}

int significantDigits(DType dtype)
{
    switch (dtype) {
    case DType::f64: return 16;
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3fn:
    case DType::f8e5m2: return 4;
    default: return 7;
    }
}

std::string quotedText(std::string_view text, size_t limit)
{
    constexpr std::string_view digits = "0123456789abcdef";
    size_t shown = limit == 0 ? text.size() : std::min(limit, text.size());
    while (shown > 0 && shown < text.size() && (static_cast<unsigned char>(text[shown]) & 0xc0) == 0x80) --shown; // not inside a character
    std::string out = "\"";
    for (size_t at = 0; at < shown;) {
        const char c = text[at];
        const size_t length = characterLength(text.substr(at, shown - at));
        if (c == '"' || c == '\\') out += '\\', out += c;
        else if (c == '\n') out += "\\n";
        else if (c == '\t') out += "\\t";
        else if (length == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            out += "\\x";
            out += digits[static_cast<unsigned char>(c) >> 4];
            out += digits[static_cast<unsigned char>(c) & 15];
        } else out += text.substr(at, length);
        at += std::max<size_t>(1, length);
    }
    out += '"';
    if (shown < text.size()) out += "…" + std::to_string(text.size());
    return out;
}

std::string elementText(const Tensor& tensor, int64_t index, const NumberFormat& format)
{
    const auto real = [&](double value) {
        if (format.digits == NumberFormat::kExact) return exactText(value, tensor.dtype);
        return realText(value, format.digits > 0 ? format.digits : significantDigits(tensor.dtype));
    };
    switch (dtypeClass(tensor.dtype)) {
    case DTypeClass::boolean: return elementAsInteger(tensor, index) != 0 ? "true" : "false";
    case DTypeClass::signedInteger:
    case DTypeClass::unsignedInteger: {
        const auto stored = static_cast<uint64_t>(elementAsInteger(tensor, index));
        if (!format.stored && tensor.quantization != nullptr && tensor.quantization->kind == Quantization::Kind::affine)
            return real(elementAsReal(tensor, index)) + "(" + integerText(stored, false, false) + ")";
        return integerText(stored, tensor.dtype == DType::u64, format.hex);
    }
    case DTypeClass::floating: return format.hex ? hexReal(elementAsReal(tensor, index)) : real(elementAsReal(tensor, index));
    case DTypeClass::complex: return complexText(tensor, index, format.digits);
    case DTypeClass::string: {
        const auto strings = unpackStrings(tensor.view());
        if (!strings.ok() || index >= static_cast<int64_t>(strings->size())) return "?";
        return quotedText((*strings)[static_cast<size_t>(index)], format.digits == NumberFormat::kExact ? 0 : 60);
    }
    case DTypeClass::handle:
        if (tensor.dtype == DType::resource && tensor.bytes >= static_cast<size_t>(index + 1) * 4) {
            int32_t handle = 0;
            std::memcpy(&handle, tensor.data + index * 4, 4);
            return "resource " + std::to_string(handle);
        }
        return "?";
    default: return "?";
    }
}

std::string elementsText(const Tensor& tensor, const NumberFormat& format)
{
    std::string out;
    appendAxis(out, tensor, 0, 0, false, 0, format);
    return out;
}

std::string statisticsText(const Tensor& tensor)
{
    const TensorStatistics s = computeStatistics(tensor);
    std::string out;
    if (s.finite > 0) {
        out = "min " + realText(s.min, 5) + "  max " + realText(s.max, 5) + "  mean " + realText(s.mean, 5) + "  std " +
              realText(s.std, 5) + "  zeros " + std::to_string(s.zeros);
    } else {
        out = "no finite element";
    }
    if (s.firstAbnormal >= 0)
        out += "  nan " + std::to_string(s.nan) + " inf " + std::to_string(s.positiveInf + s.negativeInf) + ", first " +
               elementIndexText(tensor.shape, s.firstAbnormal);
    return out;
}

std::string valueText(const Tensor& tensor, int indent, const NumberFormat& format)
{
    std::string out = shortType(tensor);
    const int64_t count = tensor.elementCount();
    const DTypeClass kind = dtypeClass(tensor.dtype);
    const bool hasNumbers =
        kind != DTypeClass::string && kind != DTypeClass::handle && kind != DTypeClass::block && kind != DTypeClass::none;
    if (tensor.shape.rank() == 0) return out + " = " + elementText(tensor, 0, format);
    if (count > kFullElements) {
        if (hasNumbers) out += "  " + statisticsText(tensor);
        out += '\n' + std::string(static_cast<size_t>(indent), ' ');
        appendAxis(out, tensor, 0, 0, true, indent, format);
        return out;
    }
    out += "  ";
    const int column = indent + static_cast<int>(out.size());
    appendAxis(out, tensor, 0, 0, false, column, format);
    if (hasNumbers && isFloat(tensor.dtype)) {
        const TensorStatistics s = computeStatistics(tensor);
        if (s.firstAbnormal >= 0)
            out += "  nan " + std::to_string(s.nan) + " inf " + std::to_string(s.positiveInf + s.negativeInf) + ", first " +
                   elementIndexText(tensor.shape, s.firstAbnormal);
    }
    return out;
}

/// The shortest text that is this scale as an f32, which files store.
static std::string scaleText(double scale)
{
    if (static_cast<double>(static_cast<float>(scale)) != scale) return realText(scale, 8);
    for (int digits = 1; digits < 9; ++digits)
        if (static_cast<float>(std::strtod(realText(scale, digits).c_str(), nullptr)) == static_cast<float>(scale))
            return realText(scale, digits);
    return realText(scale, 9);
}

std::string shortType(const TensorType& type)
{
    std::string out(dtypeName(type.dtype));
    out += toString(type.dynamicShape());
    if (type.quantization && type.quantization->isPerTensor())
        out += " q(" + scaleText(type.quantization->scale()) + ", " + std::to_string(type.quantization->zeroPoint()) + ")";
    return out;
}

std::string shortType(const Tensor& tensor)
{
    std::string out = std::string(dtypeName(tensor.dtype)) + toString(tensor.shape);
    if (tensor.quantization != nullptr && tensor.quantization->isPerTensor())
        out += " q(" + scaleText(tensor.quantization->scale()) + ", " + std::to_string(tensor.quantization->zeroPoint()) + ")";
    return out;
}

} // namespace loopscope
