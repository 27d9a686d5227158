// Content keys: what makes two values the same, and the set of keys that are stored already.
#pragma once

#include "engine/base/hash.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace loopscope {

/// The leading and the other half of the XXH3-128 of (dtype, dimensions, XXH3-128 of the bytes); signed, as SQLite stores them.
struct ContentKey {
    int64_t key = 0;
    int64_t guard = 0;
    bool operator==(const ContentKey&) const = default;
};

ContentKey contentKey(DType dtype, const Shape& shape, std::span<const std::byte> bytes);

/// Keys with their guards, 16 bytes each; open addressing. Stops taking more at 64 MiB.
class ContentSet {
public:
    enum class Answer : uint8_t { added, known, clash, full };
    /// `clash`: the key is there with another guard, so the two contents differ.
    Answer insert(const ContentKey& key);
    bool has(const ContentKey& key);
    size_t size() const { return m_size; }

private:
    /// Where the key is, or the empty place where it would go. The table must not be empty; it is never full.
    ContentKey* placeOf(const ContentKey& key);
    void grow();
    std::vector<ContentKey> m_table;
    size_t m_size = 0;
};

} // namespace loopscope
