// Values as people type them: `27`, `0.5`, `[1, 2, 3]`, `[[1, 2], [3, 4]]`, `true`, `nan`, `"text"`, `(1.0, -2.0)`.
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/npy.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace loopscope {

/// What a bare scalar gives when more elements are wanted.
enum class ScalarMeans : unsigned char { oneElement, fill };

/// How many elements an array made from a few words may have: no model takes more, and a file may declare any shape.
constexpr int64_t kMostMadeElements = int64_t{1} << 31;
/// The number of elements of an array of this dtype and shape that a few words ask for. Errors: usage (not static, or too many), execution
/// (more memory than the limit leaves).
Result<int64_t> madeElements(DType dtype, const Shape& shape);

/// Reads a literal as `dtype` (never unknown). Nested lists give the shape; a flat list takes the shape `wanted`, whose unknown
/// dimensions follow from the count if there is only one. Integers must fit the dtype; a float literal for an integer dtype is an error.
/// Errors: usage, with the column.
Result<Array> parseLiteral(std::string_view text, DType dtype, const Shape& wanted, ScalarMeans scalar);

/// Replaces one element of `array`: `value` is a scalar literal. Errors: usage.
Status setElement(Array& array, int64_t index, std::string_view value);

/// The dtype a literal without one has: i32 (i64 if it does not fit), f32 if it holds a point, exponent, nan or inf, bool, str.
DType literalDtype(std::string_view text);

} // namespace loopscope
