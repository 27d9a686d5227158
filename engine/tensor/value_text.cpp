#include "engine/tensor/value_text.h"

#include "engine/tensor/compare.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/strings.h"

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
    out += '[';
    for (int64_t i = 0; i < size; ++i) {
        if (i > 0) {
            if (innermost)
                out += ' ';
            else
                out += '\n' + std::string(static_cast<size_t>(indent + axis + 1), ' ');
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

std::string complexText(const Tensor& tensor, int64_t index, int wanted)
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
    const int digits = wanted > 0 ? wanted : tensor.dtype == DType::c64 ? 7 : 16;
    return "(" + realText(re, digits) + ", " + realText(im, digits) + ")";
}

std::string hexReal(double value)
{
    if (std::isnan(value) || std::isinf(value)) return realText(value, 1);
    std::array<char, 40> text = {};
    std::snprintf(text.data(), text.size(), "%a", value);
    return text.data();
}

std::string hexInteger(int64_t value, bool isUnsigned)
{
    std::array<char, 24> text = {};
    const bool negative = value < 0 && !isUnsigned;
    const auto magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    char* end = std::to_chars(text.data(), text.data() + text.size(), magnitude, 16).ptr;
    return (negative ? "-0x" : "0x") + std::string(text.data(), end);
}

} // namespace

std::string realText(double value, int digits)
{
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    if (value == 0) return std::signbit(value) ? "-0" : "0";
    std::array<char, 40> text = {};
    // %g-like rounding to significant digits, then the shortest form of the rounded number.
    std::array<char, 40> rounded = {};
    std::to_chars(rounded.data(), rounded.data() + rounded.size() - 1, value, std::chars_format::scientific, digits - 1);
    const double shown = std::strtod(rounded.data(), nullptr);
    const double magnitude = std::fabs(shown);
    const auto format = magnitude < 1e-4 || magnitude >= 1e7 ? std::chars_format::scientific : std::chars_format::fixed;
    return std::string(text.data(), std::to_chars(text.data(), text.data() + text.size(), shown, format).ptr);
}

int significantDigits(DType dtype)
{
    switch (dtype) {
    case DType::f64:
        return 16;
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3fn:
    case DType::f8e5m2:
        return 4;
    default:
        return 7;
    }
}

std::string quotedText(std::string_view text, size_t limit)
{
    std::string out = "\"";
    for (char c : text.substr(0, limit)) {
        if (c == '"' || c == '\\')
            out += '\\', out += c;
        else if (c == '\n')
            out += "\\n";
        else if (c == '\t')
            out += "\\t";
        else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            constexpr std::string_view digits = "0123456789abcdef";
            out += "\\x";
            out += digits[static_cast<unsigned char>(c) >> 4];
            out += digits[static_cast<unsigned char>(c) & 15];
        } else
            out += c;
    }
    out += '"';
    if (text.size() > limit) out += "…" + std::to_string(text.size());
    return out;
}

std::string elementText(const Tensor& tensor, int64_t index, const NumberFormat& format)
{
    const int digits = format.digits > 0 ? format.digits : significantDigits(tensor.dtype);
    switch (dtypeClass(tensor.dtype)) {
    case DTypeClass::boolean:
        return elementAsInteger(tensor, index) != 0 ? "true" : "false";
    case DTypeClass::signedInteger:
    case DTypeClass::unsignedInteger:
        if (!format.stored && tensor.quantization != nullptr && tensor.quantization->kind == Quantization::Kind::affine)
            return realText(elementAsReal(tensor, index), digits) + "(" + std::to_string(elementAsInteger(tensor, index)) + ")";
        if (format.hex) return hexInteger(elementAsInteger(tensor, index), tensor.dtype == DType::u64);
        if (tensor.dtype == DType::u64) return std::to_string(static_cast<uint64_t>(elementAsInteger(tensor, index)));
        return std::to_string(elementAsInteger(tensor, index));
    case DTypeClass::floating:
        return format.hex ? hexReal(elementAsReal(tensor, index)) : realText(elementAsReal(tensor, index), digits);
    case DTypeClass::complex:
        return complexText(tensor, index, format.digits);
    case DTypeClass::string: {
        const auto strings = unpackStrings(tensor.view());
        if (!strings.ok() || index >= static_cast<int64_t>(strings->size())) return "?";
        return quotedText((*strings)[static_cast<size_t>(index)]);
    }
    case DTypeClass::handle:
        if (tensor.dtype == DType::resource && tensor.bytes >= static_cast<size_t>(index + 1) * 4) {
            int32_t handle = 0;
            std::memcpy(&handle, tensor.data + index * 4, 4);
            return "resource " + std::to_string(handle);
        }
        return "?";
    default:
        return "?";
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
