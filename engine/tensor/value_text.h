// How values are written for people: numbers, whole small tensors, statistics and edges of large ones.
#pragma once

#include "engine/tensor/tensor.h"
#include "engine/tensor/tensor_type.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace loopscope {

/// How numbers are written.
struct NumberFormat {
    static constexpr int kExact = -1;
    int digits = 0;      ///< significant ones; 0: what the dtype deserves; kExact: the fewest that give the same element back
    bool hex = false;    ///< floats as hexadecimal floats, integers in base 16
    bool stored = false; ///< quantized values: only the integers that are stored
};

/// Magnitudes that are written without an exponent: `from` and more, less than `below`.
struct PlainRange {
    double from = 1e-4, below = 1e7;
};
/// At most `digits` significant digits, fewer if that is exact. "nan", "inf", "-inf".
std::string realText(double value, int digits, PlainRange plain = {});
/// The fewest digits that read back as the same number of a float dtype; of others as the same f32 (f64 for 64-bit integers).
std::string exactText(double value, DType dtype, PlainRange plain = {});
/// Of sign-extended bits: "-3", "0x1f", "-0x3".
std::string integerText(uint64_t bits, bool isUnsigned, bool hex);
/// Significant digits that a dtype deserves: 7 for f32 and quantized values, 16 for f64, 4 for the narrow floats.
int significantDigits(DType dtype);
/// One element: real units for quantized tensors, `"text"` for strings, `#3` for handles.
std::string elementText(const Tensor& tensor, int64_t index, const NumberFormat& format = {});
/// Nested brackets of all elements: `[[0.013 0.035] [1 2]]`; a scalar has none.
std::string elementsText(const Tensor& tensor, const NumberFormat& format = {});
/// "i32[] = 1", "f32[1,4]  [[…]]", or for more than 16 elements the statistics followed by the first and last 3 of each axis, on lines
/// indented by `indent` blanks. Ends without a newline.
std::string valueText(const Tensor& tensor, int indent, const NumberFormat& format = {});
/// "f32[1,?,3]", "i8[4] q(0.5, -1)": the type as messages write it.
std::string shortType(const TensorType& type);
std::string shortType(const Tensor& tensor);
/// "min 0  max 14.553  mean 1.9351  std 3.1264  zeros 65", then " nan 1 inf 0, first [0,1]" if there are any.
std::string statisticsText(const Tensor& tensor);
/// `"text"` with escapes, bytes that are no UTF-8 as \xNN; at most `limit` bytes of it and then `…N` with the whole length. 0: all.
std::string quotedText(std::string_view text, size_t limit = 60);

} // namespace loopscope
