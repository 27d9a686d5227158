// From the dtype that an array has to the one that an input wants, and from stored integers to the reals they stand for.
#pragma once

#include "engine/api/inputs/run_target.h"
#include "engine/base/result.h"
#include "engine/tensor/npy.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope {

/// How real numbers become another dtype.
enum class Conversion : uint8_t {
    none,
    cast,    ///< as C++ converts; notes tell how many elements change
    quantize ///< round(x / scale) + zero point of the input, kept within its dtype
};

/// bool, integers and floats, of any width.
bool isNumeric(DType dtype);

/// Checks an array against the declaration; converts storage forms and, if asked, the dtype. Errors: usage (another dtype or rank; a cast
/// that would change elements of a quantized input; nothing to quantize to).
Result<Array> conform(const Port& port, Array array, Conversion conversion, std::vector<std::string>& notes);

/// The reals that a quantized tensor stands for, as f32; any other tensor as it is.
Array dequantized(const Tensor& tensor);

} // namespace loopscope
