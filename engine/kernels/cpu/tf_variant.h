// Variants of TensorFlow as bytes: a variant tensor is laid out as a string tensor (strings.h), each element one encoded variant. Values
// copy with their bytes, so a list has value semantics by itself, and snapshots, traces and data movement need no special case.
#pragma once

#include "engine/kernels/kernel.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// A tensor inside a variant. `dtype` unknown: not set. `bytes` view the encoded variant or whatever the caller keeps alive.
struct VariantTensor {
    DType dtype = DType::unknown;
    Shape shape;
    std::string_view bytes;
    int64_t origin = -1; ///< of elements of lists: ResourceStore::iterationTick() of who put it there
    bool isSet() const { return dtype != DType::unknown; }
    Tensor view() const;
};

enum class VariantKind : uint8_t {
    none,     ///< an empty string, too
    list,     ///< TensorList
    optional, ///< Optional: one tensor list of components, or none
    ragged,   ///< RaggedTensorToVariant: splits, then values
    tensors,  ///< other tensors in one variant (a serialised sparse tensor)
};

/// One decoded variant; views into the bytes that it was decoded from.
struct VariantValue {
    VariantKind kind = VariantKind::none;
    DType elementType = DType::unknown;        ///< lists
    Shape elementShape = Shape::unknownRank(); ///< lists
    int64_t maxElements = -1;                  ///< lists; −1: any number. optional: 1 if it has a value
    std::vector<VariantTensor> tensors;
};

std::string encodeVariant(const VariantValue& value);
/// Errors: InvalidArgument if the bytes are none of ours.
Result<VariantValue> decodeVariant(std::string_view bytes);

/// A tensor as an element of a variant.
VariantTensor variantTensor(const Tensor& tensor);

/// The list in scalar operand `i`. Errors: InvalidArgument if it is none.
Result<VariantValue> listOperand(const KernelArgs& args, int i);
/// Result `k` becomes a scalar variant.
Status writeVariant(const KernelArgs& args, int k, const VariantValue& value);

/// `element` if it is set, else zeros of `shape` (dims static), kept in `storage`.
VariantTensor orZeros(const VariantTensor& element, DType dtype, const Shape& shape, std::deque<std::string>& storage);

/// ZerosLike and AddN/Add of variants: lists element by element.
Status zerosLikeVariants(const KernelArgs& args);
Status addVariants(const KernelArgs& args);

} // namespace loopscope
