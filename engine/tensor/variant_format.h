// How variants.h encodes: what the quick ways through lists know of it, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace loopscope {

constexpr int64_t kVariantMagic = 0x4c535642;      ///< "LSVB": an encoded variant begins with it
constexpr size_t kListBlock = 3 * sizeof(int32_t); ///< before the bytes of a block of one string (strings.h)
/// An encoded element begins with its dtype (8 bits), its rank plus one (8 bits; 0: it is not known), whether its bytes lie elsewhere
/// (1 bit), and, of lists, its hash. Dimensions, origin and number of bytes follow, then the bytes or the key of the shared element.
constexpr size_t kElementHash = sizeof(int64_t);       ///< where the hash lies
constexpr size_t kElementHeader = 4 * sizeof(int64_t); ///< at rank 0
constexpr int64_t elementKind(int64_t dtype, int64_t rank) { return dtype | (rank + 1) << 8; }
constexpr int64_t kElementElsewhere = 1 << 16;
/// A long list of elements that lie elsewhere begins with chapters, each in place of kChapter elements: an entry of the same size, whose
/// key is that of their encodings and whose hash is the sum of theirs. Between kChapter and 2 · kChapter elements are left behind them.
constexpr int64_t kElementChapter = 1 << 17;
constexpr int64_t kChapter = 1024;
/// How many of so many entries of a list of `count` elements are chapters; −1: it is damaged.
constexpr int64_t chaptersIn(int64_t count, int64_t entries)
{
    const int64_t missing = count - entries, chapters = missing / (kChapter - 1);
    return missing < 0 || missing % (kChapter - 1) != 0 || chapters > entries ? -1 : chapters;
}
constexpr int64_t rankIn(int64_t elementKind) { return (elementKind >> 8 & 0xff) - 1; } ///< −1: it is not known

/// The numbers that end a header: how many elements there are, their encoded size if all have the same (else −1; 0: there is none), and of
/// lists a hash of them.
constexpr size_t kVariantTail = 3 * sizeof(int64_t);
constexpr int64_t combinedElementSize(int64_t sizeOfAll, int64_t size) { return sizeOfAll == 0 || sizeOfAll == size ? size : -1; }

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

} // namespace loopscope
