#include "engine/api/inputs/filled_array.h"

#include "engine/tensor/half.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace loopscope {

void storeReal(std::byte* to, DType dtype, double value)
{
    const auto put = [&](auto element) { std::memcpy(to, &element, sizeof element); };
    const auto integer = [&](auto least, auto most) {
        using T = decltype(least);
        if (std::isnan(value)) put(T{0});
        else if (value <= static_cast<double>(least)) put(least);
        else if (value >= static_cast<double>(most)) put(most);
        else put(static_cast<T>(value));
    };
    switch (dtype) {
    case DType::f16: put(floatToF16(static_cast<float>(value))); break;
    case DType::bf16: put(floatToBf16(static_cast<float>(value))); break;
    case DType::f32: put(static_cast<float>(value)); break;
    case DType::f64: put(value); break;
    case DType::f8e4m3fn: put(floatToF8e4m3fn(static_cast<float>(value))); break;
    case DType::f8e5m2: put(floatToF8e5m2(static_cast<float>(value))); break;
    case DType::i16: integer(std::numeric_limits<int16_t>::min(), std::numeric_limits<int16_t>::max()); break;
    case DType::i32: integer(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()); break;
    case DType::i64: integer(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()); break;
    case DType::u8: integer(uint8_t{0}, std::numeric_limits<uint8_t>::max()); break;
    case DType::u16: integer(uint16_t{0}, std::numeric_limits<uint16_t>::max()); break;
    case DType::u32: integer(uint32_t{0}, std::numeric_limits<uint32_t>::max()); break;
    case DType::u64: integer(uint64_t{0}, std::numeric_limits<uint64_t>::max()); break;
    case DType::boolean: put(value != 0); break;
    case DType::u4: integer(uint8_t{0}, uint8_t{15}); break;
    default:
        integer(static_cast<int8_t>(std::max<int64_t>(integerMin(dtype), -128)),
                static_cast<int8_t>(std::min<uint64_t>(integerMax(dtype), 127)));
        break;
    }
}

} // namespace loopscope
