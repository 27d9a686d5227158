// A trie as Darts lays it out, in two arrays that lie in each other: SentencePiece's models and TF Text's hold theirs so. They come out of
// files: a step that leads out of the array finds nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace loopscope {

class DoubleArray {
public:
    DoubleArray() = default;
    explicit DoubleArray(std::span<const std::byte> units) : m_units(units) {}

    bool isEmpty() const { return size() == 0; }

    /// Calls found(length, value) for each entry that `text` begins with, the shortest first.
    template <typename F> void prefixesOf(std::string_view text, F&& found) const
    {
        if (isEmpty()) return;
        uint32_t at = offset(unit(0));
        for (size_t i = 0; i < text.size(); ++i) {
            const uint8_t byte = static_cast<uint8_t>(text[i]);
            at ^= byte;
            if (at >= size()) return;
            const uint32_t node = unit(at);
            if ((node & 0x800000ffU) != byte) return;
            at ^= offset(node);
            if (at >= size()) return;
            if ((node & 0x100U) != 0) found(i + 1, static_cast<int32_t>(unit(at) & 0x7fffffffU));
        }
    }

private:
    size_t size() const { return m_units.size() / sizeof(uint32_t); }
    uint32_t unit(size_t i) const
    {
        uint32_t value = 0;
        std::memcpy(&value, m_units.data() + i * sizeof value, sizeof value);
        return value;
    }
    static uint32_t offset(uint32_t unit) { return (unit >> 10U) << ((unit & 0x200U) >> 6U); }

    std::span<const std::byte> m_units;
};

} // namespace loopscope
