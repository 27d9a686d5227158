// NumPy's .npy format, and the tensor that owns its bytes: how arrays enter and leave the program.
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace loopscope {

/// A tensor that owns its bytes; their layout is that of Tensor. Not quantized: elements are as stored.
struct Array {
    DType dtype = DType::unknown;
    Shape shape;
    std::vector<std::byte> bytes;

    /// A view without quantization, valid as long as the array lives and is not changed.
    Tensor view() const
    {
        Tensor t;
        t.data = const_cast<std::byte*>(bytes.data());
        t.bytes = bytes.size();
        t.dtype = dtype;
        t.shape = shape;
        return t;
    }
};

/// A copy of `tensor`; its shape must be static and its data present.
Array copyOf(const Tensor& tensor);

/// Reads one .npy file (versions 1 to 3, any byte order, C or Fortran order). `|S` and `<U` arrays become strings; trailing NULs end
/// them, as in NumPy. Errors: badFile with the header's place and what it says; unsupported for records and objects.
Result<Array> readNpy(std::span<const std::byte> content);

/// Writes version 1, C order. dtypes that NumPy lacks are stored as: bf16 → uint16 bits, f8 → uint8 bits, i4 and i2 → one int8 per
/// element, u4 → one uint8 per element, strings → `|S` of the longest. Errors: unsupported (resources, variants, block formats).
Result<std::vector<std::byte>> writeNpy(const Tensor& tensor);

/// The dtype under which writeNpy stores `dtype`.
DType npyStorageType(DType dtype);

/// Changes an array read from .npy into `dtype` where that is stored otherwise: uint16 → bf16 bits, int8 → packed i4, … .
/// Errors: usage if `array` is not npyStorageType(dtype) or an element does not fit.
Result<Array> fromNpyStorage(Array array, DType dtype);

/// One element per byte, sign-extended, of a packed i2, i4 or u4 tensor; the inverse of packElements.
std::vector<std::byte> unpackElements(const Tensor& tensor);
std::vector<std::byte> packElements(std::span<const std::byte> oneByteEach, DType packed);

} // namespace loopscope
