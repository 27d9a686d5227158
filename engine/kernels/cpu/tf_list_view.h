// TensorLists as they are encoded: their elements are found, and lists with one element more, less or changed are written, without taking
// the whole list apart. In a loop not even its bytes are copied: memory that a list is written to mostly holds what the same list was an
// iteration or two before, and only what has changed since is written again. A hash in the list's header says whether it does.
#pragma once

#include "engine/kernels/cpu/tf_variant.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace loopscope {

constexpr int64_t kVariantMagic = 0x4c535642;      ///< "LSVB": an encoded variant begins with it
constexpr size_t kListBlock = 3 * sizeof(int32_t); ///< before the bytes of a block of one string (strings.h)
/// An encoded element begins with its dtype (8 bits), its rank plus one (8 bits; 0: it is not known), and, of lists, its hash. Dimensions,
/// origin and number of bytes follow, then the bytes.
constexpr size_t kElementHash = sizeof(int64_t);       ///< where the hash lies
constexpr size_t kElementHeader = 4 * sizeof(int64_t); ///< at rank 0
constexpr int64_t elementKind(int64_t dtype, int64_t rank) { return dtype | (rank + 1) << 8; }

/// What element `i`, encoded, contributes to the hash of a list, which is the sum over all: a change of one element is a change of one
/// term. The element holds it, so that it is computed once.
uint64_t longElementHash(int64_t i, std::string_view element);
/// Of few words it is a few products side by side: a loop of scalars waits for it in each iteration.
inline uint64_t listElementHash(int64_t i, std::string_view element)
{
    constexpr size_t kWord = sizeof(uint64_t), kMostWords = 16;
    constexpr uint64_t kOdd[] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb};
    if (element.size() % kWord != 0 || element.size() > kMostWords * kWord) return longElementHash(i, element);
    const auto mixed = [](uint64_t a, uint64_t b) {
        __extension__ using Wide = unsigned __int128;
        const Wide product = static_cast<Wide>(a) * b;
        return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64U);
    };
    const auto word = [&](size_t at) {
        uint64_t value;
        std::memcpy(&value, element.data() + at, kWord);
        return value;
    };
    const auto place = static_cast<uint64_t>(i);
    uint64_t hash = mixed(place ^ kOdd[0], element.size() ^ kOdd[1]);
    if (element.size() >= kElementHeader) hash += mixed(word(0) ^ kOdd[1], place * kOdd[0] ^ kOdd[2]);
    size_t at = 2 * kWord; // behind what the element holds of the hash itself
    for (; at + kWord < element.size(); at += 2 * kWord)
        hash += mixed(word(at) ^ (kOdd[1] + at), word(at + kWord) ^ ((place + at) * kOdd[0] ^ kOdd[2]));
    if (at < element.size()) hash += mixed(word(at) ^ (kOdd[1] + at), (place + at) * kOdd[0] ^ kOdd[2]);
    return mixed(hash ^ kOdd[0], kOdd[2]);
}
/// The hash that an element holds; 0 if it is none.
inline uint64_t hashIn(std::string_view element)
{
    uint64_t hash = 0;
    if (element.size() >= kElementHeader) std::memcpy(&hash, element.data() + kElementHash, sizeof hash);
    return hash;
}

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
        return m_bytes.substr(m_body + static_cast<size_t>(i * m_elementSize), static_cast<size_t>(m_elementSize));
    }

    std::string_view m_bytes;
    size_t m_body = 0; ///< where elements begin
    DType m_elementType = DType::unknown;
    Shape m_elementShape;
    int64_t m_maxElements = -1, m_count = 0;
    int64_t m_elementSize = 0; ///< encoded, if all have the same; 0: there is none, −1: they differ
    uint64_t m_hash = 0;       ///< of all elements (listHash)
};

} // namespace loopscope
