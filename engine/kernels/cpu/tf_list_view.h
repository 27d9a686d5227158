// TensorLists as they are encoded: their elements are found, and lists with one element more, less or changed are written, without taking
// the whole list apart. What is left of a push is one copy of the list's bytes.
#pragma once

#include "engine/kernels/cpu/tf_variant.h"

namespace loopscope {

/// Views an encoded list; lives as long as the operand that it was read from.
class ListView {
public:
    /// The list in scalar operand `i`. Errors: InvalidArgument if it is none.
    static Result<ListView> of(const KernelArgs& args, int i);

    DType elementType() const { return m_elementType; }
    const Shape& elementShape() const { return m_elementShape; }
    int64_t maxElements() const { return m_maxElements; } ///< −1: any number
    int64_t count() const { return m_count; }

    /// 0 ≤ i < count(). At once if all elements before it have one size, else by way of them. Errors: InvalidArgument on damaged bytes.
    Result<VariantTensor> element(int64_t i) const;

    /// Result `k` becomes this list with `element` in place of the one at `i`, or behind the last (i = count()).
    Status writeWith(const KernelArgs& args, int k, int64_t i, const VariantTensor& element) const;
    /// Result `k` becomes this list without its last element, of which there is one.
    Status writeWithoutLast(const KernelArgs& args, int k) const;

private:
    /// Where element `i` begins, or the end (i = count()).
    Result<size_t> offsetOf(int64_t i) const;
    Status write(const KernelArgs& args, int k, int64_t count, int64_t elementSize, std::span<const std::string_view> parts) const;

    std::string_view m_bytes;
    size_t m_body = 0; ///< where elements begin
    DType m_elementType = DType::unknown;
    Shape m_elementShape;
    int64_t m_maxElements = -1, m_count = 0;
    int64_t m_elementSize = 0; ///< encoded, if all have the same; 0: there is none, −1: they differ
};

} // namespace loopscope
