// Conversions between f32 and the narrow floats: IEEE f16, bfloat16, and the 8-bit formats of the OCP specification (E4M3FN, E5M2).
// Narrowing rounds to nearest, ties to even.
#pragma once

#include <cstdint>

namespace loopscope {

float f16ToFloat(uint16_t bits);
uint16_t floatToF16(float value);
float bf16ToFloat(uint16_t bits);
uint16_t floatToBf16(float value);
float f8e4m3fnToFloat(uint8_t bits);  ///< no infinities; 0x7f and 0xff are NaN
uint8_t floatToF8e4m3fn(float value); ///< beyond ±448 gives NaN, as the format has no infinity
float f8e5m2ToFloat(uint8_t bits);
uint8_t floatToF8e5m2(float value);

} // namespace loopscope
