#include "viewer/tensor/cell.h"

#include "engine/tensor/statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace loopscope::viewer {

namespace {

constexpr double kSmallest = 1e-3, kLargest = 1e6; ///< outside of these numbers have an exponent

uint64_t storedBits(const Tensor& tensor, int64_t index)
{
    const int width = bitWidth(tensor.dtype) / 8;
    if (width == 0 || width > 8) return 0;
    uint64_t bits = 0;
    std::memcpy(&bits, tensor.data + index * width, static_cast<size_t>(width));
    return bits;
}

/// "1.5e-05" → "1.5e-5", and the screen's minus.
std::string finish(std::string text, bool screen)
{
    const size_t e = text.find('e');
    if (e != std::string::npos) {
        size_t digits = e + 1;
        if (text[digits] == '+') text.erase(digits, 1);
        else if (text[digits] == '-') ++digits;
        while (digits + 1 < text.size() && text[digits] == '0') text.erase(digits, 1);
    }
    if (!screen) return text;
    std::string out;
    for (const char c : text) c == '-' ? out += "\u2212" : out += c;
    return out;
}

template <typename T> std::string shortest(T value)
{
    std::array<char, 64> buffer = {};
    const double magnitude = std::fabs(static_cast<double>(value));
    const auto format = magnitude != 0 && (magnitude < kSmallest || magnitude >= kLargest) ? std::chars_format::scientific : std::chars_format::fixed;
    return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format).ptr};
}

std::string abnormal(double value, bool screen)
{
    if (std::isnan(value)) return "NaN";
    return value > 0 ? "Inf" : screen ? "\u2212Inf" : "-Inf";
}

std::string integerText(uint64_t bits, bool isUnsigned, bool hex, bool screen)
{
    std::array<char, 32> buffer = {};
    char* end = nullptr;
    const auto value = static_cast<int64_t>(bits);
    if (hex) {
        const bool negative = !isUnsigned && value < 0;
        end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), negative ? uint64_t{0} - bits : bits, 16).ptr;
        return finish((negative ? "-0x" : "0x") + std::string(buffer.data(), end), screen);
    }
    end = isUnsigned ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), bits).ptr
                     : std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
    return finish(std::string(buffer.data(), end), screen);
}

std::string hexBits(uint64_t bits, int width)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "0x";
    for (int nibble = width / 4; nibble-- > 0;) text += digits[(bits >> (nibble * 4)) & 15];
    return text;
}

std::string numberText(double value, const CellStyle& style, DType precision)
{
    return style.digits > 0 ? shortNumber(value, style.screen) : exactNumber(value, precision, style.screen);
}

} // namespace

bool isSigned(DType dtype)
{
    const DTypeClass c = dtypeClass(dtype);
    return c == DTypeClass::floating || c == DTypeClass::signedInteger;
}

Cell cellOf(const Tensor& tensor, int64_t index)
{
    Cell cell;
    cell.known = true;
    switch (dtypeClass(tensor.dtype)) {
    case DTypeClass::floating:
        cell.real = elementAsReal(tensor, index);
        cell.bits = tensor.dtype == DType::f64 ? std::bit_cast<uint64_t>(cell.real) : storedBits(tensor, index);
        break;
    case DTypeClass::boolean:
        cell.bits = elementAsInteger(tensor, index) != 0;
        cell.real = static_cast<double>(cell.bits);
        break;
    case DTypeClass::signedInteger:
    case DTypeClass::unsignedInteger: {
        const int64_t value = elementAsInteger(tensor, index);
        cell.bits = static_cast<uint64_t>(value);
        const bool affine = tensor.quantization != nullptr && tensor.quantization->kind == Quantization::Kind::affine;
        cell.real = elementAsReal(tensor, index);
        const bool wide = tensor.dtype == DType::u64;
        cell.saturated = affine && (wide ? cell.bits == 0 || cell.bits == integerMax(tensor.dtype)
                                         : value == integerMin(tensor.dtype) || (value >= 0 && cell.bits == integerMax(tensor.dtype)));
        break;
    }
    case DTypeClass::complex: {
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
        cell.real = std::hypot(re, im);
        cell.bits = std::bit_cast<uint64_t>(re);
        cell.imaginary = im;
        break;
    }
    default:
        cell.real = std::numeric_limits<double>::quiet_NaN();
        break;
    }
    return cell;
}

std::string shortNumber(double value, bool screen)
{
    if (!std::isfinite(value)) return abnormal(value, screen);
    if (value == 0) return "0";
    std::array<char, 40> rounded = {};
    std::to_chars(rounded.data(), rounded.data() + rounded.size() - 1, value, std::chars_format::scientific, 3);
    double shown = 0;
    std::from_chars(rounded.data(), rounded.data() + std::strlen(rounded.data()), shown);
    return finish(shortest(shown), screen);
}

std::string exactNumber(double value, DType dtype, bool screen)
{
    if (!std::isfinite(value)) return abnormal(value, screen);
    if (value == 0) return std::signbit(value) ? finish("-0", screen) : "0";
    const bool wide = dtype == DType::f64 || dtype == DType::c128 || dtype == DType::i64 || dtype == DType::u64;
    return finish(wide ? shortest(value) : shortest(static_cast<float>(value)), screen);
}

std::string cellText(const Cell& cell, const CellStyle& style)
{
    if (!cell.known) return {};
    switch (dtypeClass(style.dtype)) {
    case DTypeClass::boolean:
        return cell.bits != 0 ? "1" : "0";
    case DTypeClass::signedInteger:
    case DTypeClass::unsignedInteger:
        if (style.quantized && !style.raw) return numberText(cell.real, style, DType::f32);
        return integerText(cell.bits, dtypeClass(style.dtype) == DTypeClass::unsignedInteger, style.hex, style.screen);
    case DTypeClass::floating:
        if (style.raw || style.hex) return hexBits(cell.bits, bitWidth(style.dtype));
        if (style.dtype == DType::f8e4m3fn || style.dtype == DType::f8e5m2)
            return numberText(cell.real, style, style.dtype) + " " + hexBits(cell.bits, 8).substr(2);
        return numberText(cell.real, style, style.dtype);
    case DTypeClass::complex: {
        const auto re = std::bit_cast<double>(cell.bits);
        switch (style.complex) {
        case CellStyle::Complex::magnitude:
            return numberText(cell.real, style, style.dtype);
        case CellStyle::Complex::phase:
            return numberText(std::atan2(cell.imaginary, re), style, style.dtype);
        case CellStyle::Complex::real:
            return numberText(re, style, style.dtype);
        case CellStyle::Complex::imaginary:
            return numberText(cell.imaginary, style, style.dtype);
        case CellStyle::Complex::both:
            break;
        }
        std::string imaginary = numberText(cell.imaginary, style, style.dtype);
        if (!std::signbit(cell.imaginary) || std::isnan(cell.imaginary)) imaginary = "+" + imaginary;
        return numberText(re, style, style.dtype) + imaginary + "i";
    }
    default:
        return {};
    }
}

std::string quotedString(std::string_view text, size_t limit)
{
    constexpr std::string_view digits = "0123456789abcdef";
    size_t shown = limit == 0 ? text.size() : std::min(limit, text.size());
    while (shown > 0 && shown < text.size() && (static_cast<unsigned char>(text[shown]) & 0xc0) == 0x80) --shown; // not inside a character
    std::string out = "\"";
    for (size_t i = 0; i < shown;) {
        const auto c = static_cast<unsigned char>(text[i]);
        size_t length = c < 0x80 ? 1 : c >= 0xf0 && c < 0xf5 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 0;
        if (c >= 0xf5 || i + length > text.size()) length = 0;
        for (size_t k = 1; k < length; ++k)
            if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) {
                length = 0;
                break;
            }
        if (length > 1) {
            out += text.substr(i, length);
            i += length;
            continue;
        }
        ++i;
        if (c == '"' || c == '\\') {
            out += '\\';
            out += static_cast<char>(c);
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (length == 0 || c < 0x20 || c == 0x7f) {
            out += "\\x";
            out += digits[c >> 4];
            out += digits[c & 15];
        } else {
            out += static_cast<char>(c);
        }
    }
    out += '"';
    if (shown < text.size()) out += "… " + std::to_string(text.size());
    return out;
}

std::string indexText(const Shape& shape, int64_t flat)
{
    std::string text = "[";
    for (int axis = 0; axis < shape.rank(); ++axis) {
        const int64_t inner = shape.countOf(axis + 1, shape.rank());
        text += (axis > 0 ? "," : "") + std::to_string(inner > 0 && shape[axis] > 0 ? flat / inner % shape[axis] : 0);
    }
    return text + "]";
}

int64_t parseIndex(std::string_view text, const Shape& shape)
{
    std::vector<int64_t> numbers;
    int64_t number = -1;
    for (const char c : text) {
        if (c >= '0' && c <= '9') {
            number = std::max<int64_t>(number, 0) * 10 + (c - '0');
            if (number > (int64_t{1} << 56)) return -1;
        } else if (c == ',' || c == ' ' || c == ']') {
            if (number >= 0) numbers.push_back(number);
            else if (c == ',') return -1;
            number = -1;
        } else if (c != '[') {
            return -1;
        }
    }
    if (number >= 0) numbers.push_back(number);
    const int64_t count = shape.elementCount();
    if (numbers.size() == 1 && shape.rank() != 1) return numbers[0] < count ? numbers[0] : -1;
    if (static_cast<int>(numbers.size()) != shape.rank() || numbers.empty()) return -1;
    int64_t flat = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (numbers[static_cast<size_t>(axis)] >= shape[axis]) return -1;
        flat = flat * shape[axis] + numbers[static_cast<size_t>(axis)];
    }
    return flat;
}

} // namespace loopscope::viewer
