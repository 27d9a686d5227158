// What a file declares about a value: dtype, shape, signature, quantization. Written `i8[1,3,40] q(0.1, -128)` in text.
#pragma once

#include "engine/tensor/dtype.h"
#include "engine/tensor/quantization.h"
#include "engine/tensor/shape.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

/// The declared type of a value.
struct TensorType {
    DType dtype = DType::unknown;
    Shape shape = Shape::unknownRank();
    /// The file's shape signature, kept only if it holds a −1: which dimensions are declared dynamic. `f32[1?,96]` has shape [1,96]
    /// and signature [−1,96].
    std::optional<Shape> signature;
    QuantizationPtr quantization;
    bool isReference = false;             ///< TensorFlow reference type, `f32&[2]`
    std::vector<TensorType> elementTypes; ///< resource or variant: types of what it holds
    std::string parameter;                ///< function signatures only: `$T` as "T", `$N*f32` as "N" with dtype f32, `$N*T` as "N*T"

    TensorType() = default;
    TensorType(DType d, Shape s, QuantizationPtr q = nullptr) : dtype(d), shape(std::move(s)), quantization(std::move(q)) {}

    bool operator==(const TensorType& other) const
    {
        return dtype == other.dtype && shape == other.shape && signature == other.signature &&
               sameQuantization(quantization, other.quantization) && isReference == other.isReference &&
               elementTypes == other.elementTypes && parameter == other.parameter;
    }

    /// The shape with every dimension that the signature leaves open unknown: what inference starts from.
    Shape dynamicShape() const { return signature ? *signature : shape; }
};

} // namespace loopscope
