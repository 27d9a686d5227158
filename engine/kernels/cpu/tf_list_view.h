// TensorLists as they are encoded: their elements are found, and lists with one element more, less or changed are written, without taking
// the whole list apart. In a loop not even its bytes are copied: memory that a list is written to mostly holds what the same list was an
// iteration or two before, and only what has changed since is written again. A hash in the list's header says whether it does.
#pragma once

#include "engine/kernels/cpu/tf_variant.h"
#include "engine/tensor/variant_format.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

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
    /// Where element `i`, which is in no chapter, begins, or the end (i = count()).
    Result<size_t> offsetOf(int64_t i) const;
    Result<VariantTensor> elementOfChapter(int64_t i) const;
    Result<bool> writeAsChapter(const KernelArgs& args, int k, const VariantTensor& element) const;
    Status writeWithoutChapter(const KernelArgs& args, int k) const;
    struct Change;
    Status writeParts(const KernelArgs& args, int k, std::initializer_list<std::string_view> parts, const Change& change) const;
    void finish(const KernelArgs& args, int k, const Change& change) const;
    /// What differs between this list and the one that is written.
    struct Change {
        int64_t index = 0;        ///< of the element that is set, appended, or taken off
        std::string_view element; ///< encoded; empty: taken off
        int64_t count = 0;        ///< of the new list
        int64_t elementSize = 0;  ///< of the new list
        uint64_t hash = 0;        ///< of the new list
    };
    Result<Change> changeOf(int64_t i, std::string_view element) const;
    Status write(const KernelArgs& args, int k, const Change& change) const;
    Status writeWithRoom(const KernelArgs& args, int k, int64_t i, const VariantTensor& element) const;
    Result<bool> bringUpToDate(const KernelArgs& args, int k, const Change& change) const;
    std::string_view encoded(int64_t i) const
    {
        return m_bytes.substr(m_body + static_cast<size_t>((i - m_first) * m_elementSize), static_cast<size_t>(m_elementSize));
    }

    std::string_view m_bytes;
    size_t m_head = 0;   ///< where the header ends
    size_t m_body = 0;   ///< where elements begin, behind the chapters
    int64_t m_first = 0; ///< the first one there
    DType m_elementType = DType::unknown;
    Shape m_elementShape;
    int64_t m_maxElements = -1, m_count = 0;
    int64_t m_elementSize = 0; ///< encoded, if all have the same; 0: there is none, −1: they differ
    uint64_t m_hash = 0;       ///< of all elements (listHash)
};

} // namespace loopscope
