// A tensor in memory as kernels, observers and tools see it: dtype, shape, quantization and a pointer. It owns nothing.
#pragma once

#include "engine/tensor/dtype.h"
#include "engine/tensor/quantization.h"
#include "engine/tensor/shape.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace loopscope {

/// Elements are row-major, little-endian. Packed types (i2, i4, u4) hold their first element in the lowest bits of byte 0.
/// Strings are packed as int32 count, count + 1 int32 offsets from the start of the block, then the bytes (strings.h).
/// A resource is an int32 number of a variable or table of the session.
struct Tensor {
    std::byte* data = nullptr; ///< null: no memory yet, or (in inference) not known
    size_t bytes = 0;          ///< bytes in use
    DType dtype = DType::unknown;
    Shape shape;
    const Quantization* quantization = nullptr; ///< null: not quantized; owned by the model

    template <typename T> T* as() { return reinterpret_cast<T*>(data); }
    template <typename T> const T* as() const { return reinterpret_cast<const T*>(data); }
    int64_t elementCount() const { return shape.elementCount(); }
    std::span<const std::byte> view() const { return {data, bytes}; }
};

} // namespace loopscope
