#include "tracer/record/content.h"

#include "engine/tensor/dtype.h"

#include <array>
#include <bit>
#include <cstring>

namespace loopscope {

namespace {

constexpr size_t kMostEntries = size_t{64} * 1024 * 1024 / sizeof(ContentKey);

} // namespace

ContentKey contentKey(DType dtype, const Shape& shape, std::span<const std::byte> bytes)
{
    // Name of the dtype, a zero, the dimensions, the hash of the bytes: what is hashed is the same on every machine.
    std::array<std::byte, 512> head = {};
    const Hash128 inner = hashBytes(bytes);
    const std::string_view name = dtypeName(dtype);
    size_t size = 0;
    const auto append = [&](const void* data, size_t n) {
        if (size + n > head.size()) return;
        std::memcpy(head.data() + size, data, n);
        size += n;
    };
    append(name.data(), name.size());
    append("", 1);
    // A rank that would not fit goes in by its hash.
    const std::span<const int64_t> dims = shape.dims();
    if (dims.size() <= 40) {
        append(dims.data(), dims.size_bytes());
    } else {
        const Hash128 dimensions = hashBytes(std::as_bytes(dims));
        append(&dimensions, sizeof(dimensions));
    }
    append(&inner.high, sizeof(inner.high));
    append(&inner.low, sizeof(inner.low));
    const Hash128 hash = hashBytes({head.data(), size});
    return {std::bit_cast<int64_t>(hash.high), std::bit_cast<int64_t>(hash.low)};
}

ContentKey* ContentSet::placeOf(const ContentKey& key)
{
    const size_t mask = m_table.size() - 1;
    size_t place = static_cast<uint64_t>(key.key) & mask;
    while (!(m_table[place] == ContentKey{}) && m_table[place].key != key.key) place = (place + 1) & mask;
    return &m_table[place];
}

void ContentSet::grow()
{
    std::vector<ContentKey> old = std::move(m_table);
    m_table.assign(old.empty() ? 1024 : old.size() * 2, ContentKey{});
    for (const ContentKey& key : old) {
        if (!(key == ContentKey{})) *placeOf(key) = key;
    }
}

bool ContentSet::has(const ContentKey& key) { return !m_table.empty() && !(key == ContentKey{}) && *placeOf(key) == key; }

ContentSet::Answer ContentSet::insert(const ContentKey& key)
{
    if (key == ContentKey{}) return Answer::full; // the mark of an empty place; SQLite is asked about it
    if (!m_table.empty()) {
        const ContentKey& entry = *placeOf(key);
        if (entry.key == key.key && !(entry == ContentKey{})) return entry.guard == key.guard ? Answer::known : Answer::clash;
    }
    if ((m_size + 1) * 4 > m_table.size() * 3) {
        if (m_table.size() * 2 > kMostEntries) return Answer::full;
        grow();
    }
    *placeOf(key) = key;
    ++m_size;
    return Answer::added;
}

} // namespace loopscope
