// Arrays made element by element from real numbers.
#pragma once

#include "engine/base/interruption.h"
#include "engine/tensor/npy.h"

#include <cstddef>
#include <cstdint>

namespace loopscope {

/// Stores a real number as an element of a numeric dtype, packed ones as a byte each, as C++ converts (saturating where that would be
/// undefined).
void storeReal(std::byte* to, DType dtype, double value);

/// An array of `count` elements, as many as `shape` has, each a function of its index.
template <typename F> Array filledWith(DType dtype, const Shape& shape, int64_t count, F&& element)
{
    Array array;
    array.dtype = dtype;
    array.shape = shape;
    const int bits = bitWidth(dtype);
    const size_t width = bits < 8 ? 1 : static_cast<size_t>(bits) / 8;
    array.bytes.resize(static_cast<size_t>(count) * width);
    LoopPace pace;
    for (int64_t i = 0; i < count; ++i) {
        storeReal(array.bytes.data() + static_cast<size_t>(i) * width, dtype, element(i));
        pace.did(1);
    }
    if (bits < 8) array.bytes = packElements(array.bytes, dtype);
    return array;
}

} // namespace loopscope
