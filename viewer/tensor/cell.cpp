#include "viewer/tensor/cell.h"

#include "engine/tensor/statistics.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace loopscope::viewer {

namespace {

constexpr PlainRange kPlain = {1e-3, 1e6};

uint64_t storedBits(const Tensor& tensor, int64_t index)
{
    const int width = bitWidth(tensor.dtype) / 8;
    if (width == 0 || width > 8) return 0;
    uint64_t bits = 0;
    std::memcpy(&bits, tensor.data + index * width, static_cast<size_t>(width));
    return bits;
}

/// "1.5e-05" → "1.5e-5", "nan" → "NaN", and the screen's minus.
std::string finish(std::string text, bool screen)
{
    if (text == "nan") return "NaN";
    if (text.ends_with("inf")) text[text.size() - 3] = 'I';
    const size_t e = text.find("0x") == std::string::npos ? text.find('e') : std::string::npos;
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
    default: cell.real = std::numeric_limits<double>::quiet_NaN(); break;
    }
    return cell;
}

std::string shortNumber(double value, bool screen) { return value == 0 ? "0" : finish(realText(value, 4, kPlain), screen); }

std::string exactNumber(double value, DType dtype, bool screen) { return finish(exactText(value, dtype, kPlain), screen); }

double complexPart(const Cell& cell, CellStyle::Complex part)
{
    const auto re = std::bit_cast<double>(cell.bits);
    switch (part) {
    case CellStyle::Complex::phase: return std::atan2(cell.imaginary, re);
    case CellStyle::Complex::real: return re;
    case CellStyle::Complex::imaginary: return cell.imaginary;
    default: return std::hypot(re, cell.imaginary);
    }
}

std::string cellText(const Cell& cell, const CellStyle& style)
{
    if (!cell.known) return {};
    switch (dtypeClass(style.dtype)) {
    case DTypeClass::boolean: return cell.bits != 0 ? "1" : "0";
    case DTypeClass::signedInteger:
    case DTypeClass::unsignedInteger:
        if (style.quantized && !style.raw) return numberText(cell.real, style, DType::f32);
        return finish(integerText(cell.bits, dtypeClass(style.dtype) == DTypeClass::unsignedInteger, style.hex), style.screen);
    case DTypeClass::floating:
        if (style.raw || style.hex) return hexBits(cell.bits, bitWidth(style.dtype));
        if (style.dtype == DType::f8e4m3fn || style.dtype == DType::f8e5m2)
            return numberText(cell.real, style, style.dtype) + " " + hexBits(cell.bits, 8).substr(2);
        return numberText(cell.real, style, style.dtype);
    case DTypeClass::complex: {
        if (style.complex != CellStyle::Complex::both) return numberText(complexPart(cell, style.complex), style, style.dtype);
        std::string imaginary = numberText(cell.imaginary, style, style.dtype);
        if (!std::signbit(cell.imaginary) || std::isnan(cell.imaginary)) imaginary = "+" + imaginary;
        return numberText(std::bit_cast<double>(cell.bits), style, style.dtype) + imaginary + "i";
    }
    default: return {};
    }
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
