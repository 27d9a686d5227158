// One element of a tensor as the viewer holds it, and how it is written. No widgets.
#pragma once

#include "engine/tensor/tensor.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace loopscope::viewer {

/// An element, copied out of its tensor. Which fields count depends on the dtype.
struct Cell {
    double real = 0;      ///< in real units: dequantized; magnitude of complex numbers; length of strings; NaN where there is none
    uint64_t bits = 0;    ///< as stored: the integer sign-extended, the float's bits (f64 whole); complex: real part as f64 bits
    double imaginary = 0; ///< complex
    bool known = false;
    bool saturated = false; ///< quantized, at a limit of its dtype
};

/// What cells are written by.
struct CellStyle {
    DType dtype = DType::unknown;
    bool quantized = false; ///< real units are shown
    bool raw = false;       ///< quantized: the stored integer instead; floats: their bits in hex
    bool hex = false;       ///< integers
    enum class Complex : uint8_t { both, magnitude, phase, real, imaginary } complex = Complex::both;
    int digits = 0;     ///< significant ones; 0: the shortest that give the same number back
    bool screen = true; ///< U+2212 as the minus sign; false: ASCII, for copying
};

/// Element `index` of a tensor whose data is present.
Cell cellOf(const Tensor& tensor, int64_t index);
/// A complex cell as one real number; `both`: the magnitude.
double complexPart(const Cell& cell, CellStyle::Complex part);
/// "−0.2331", "141", "0x8d", "true"; strings are written elsewhere. Unknown cells are "".
std::string cellText(const Cell& cell, const CellStyle& style);
/// 4 significant digits, exponent below 1e−3 and from 1e6: for lists, axes and statistics. "NaN", "Inf", "−Inf".
std::string shortNumber(double value, bool screen = true);
/// The shortest digits that read back as the same number of the dtype.
std::string exactNumber(double value, DType dtype, bool screen = true);
/// A flat index of `3,7,0`, `[3,7,0]` or `flat`; −1: it is no element of the shape.
int64_t parseIndex(std::string_view text, const Shape& shape);
/// True if the dtype holds signed numbers: a diverging colour map fits.
bool isSigned(DType dtype);

} // namespace loopscope::viewer
