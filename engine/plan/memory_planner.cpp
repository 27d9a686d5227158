#include "engine/plan/memory_planner.h"

#include <algorithm>
#include <numeric>

namespace loopscope {

namespace {

bool overlaps(const BufferLifetime& a, const BufferLifetime& b) { return a.first <= b.last && b.first <= a.last; }

/// Places buffers one after the other, each into the smallest gap that holds it among those alive with it.
class Placement {
public:
    explicit Placement(std::span<const BufferLifetime> buffers) : m_buffers(buffers), m_offsets(buffers.size(), 0) {}

    /// The arena's bytes for this order.
    uint64_t place(std::span<const int32_t> order)
    {
        m_placed.clear();
        m_bytes = 0;
        m_top = -1;
        for (const int32_t buffer : order) placeOne(buffer);
        return m_bytes;
    }

    const std::vector<uint64_t>& offsets() const { return m_offsets; }
    int32_t topBuffer() const { return m_top; }            ///< the first that reached the arena's end
    void forgetTop(int32_t previous) { m_top = previous; } ///< the last order was not kept

private:
    void placeOne(int32_t buffer)
    {
        const BufferLifetime& wanted = m_buffers[static_cast<size_t>(buffer)];
        const uint64_t size = alignArena(wanted.bytes);
        uint64_t end = 0; // of what lies below
        uint64_t best = 0;
        uint64_t bestGap = UINT64_MAX;
        for (const int32_t other : m_placed) { // by offset
            const BufferLifetime& life = m_buffers[static_cast<size_t>(other)];
            if (!overlaps(life, wanted)) continue;
            const uint64_t offset = m_offsets[static_cast<size_t>(other)];
            if (offset > end && offset - end >= size && offset - end < bestGap) {
                bestGap = offset - end;
                best = end;
            }
            end = std::max(end, offset + alignArena(life.bytes));
        }
        const uint64_t offset = bestGap == UINT64_MAX ? end : best;
        m_offsets[static_cast<size_t>(buffer)] = offset;
        if (offset + size > m_bytes) {
            m_bytes = offset + size;
            m_top = buffer;
        }
        const auto at = std::upper_bound(m_placed.begin(), m_placed.end(), offset,
                                         [&](uint64_t o, int32_t b) { return o < m_offsets[static_cast<size_t>(b)]; });
        m_placed.insert(at, buffer);
    }

    std::span<const BufferLifetime> m_buffers;
    std::vector<uint64_t> m_offsets;
    std::vector<int32_t> m_placed; ///< by offset
    uint64_t m_bytes = 0;
    int32_t m_top = -1;
};

template <typename Key> std::vector<int32_t> orderBy(std::span<const int32_t> items, Key key)
{
    std::vector<int32_t> order(items.begin(), items.end());
    std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return key(a) > key(b); });
    return order;
}

/// Live bytes at every step, by difference sums.
std::vector<uint64_t> liveBytes(std::span<const BufferLifetime> buffers)
{
    int32_t steps = 0;
    for (const BufferLifetime& b : buffers) steps = std::max(steps, b.last + 1);
    std::vector<uint64_t> live(static_cast<size_t>(steps) + 1, 0);
    for (const BufferLifetime& b : buffers) {
        live[static_cast<size_t>(b.first)] += alignArena(b.bytes);
        live[static_cast<size_t>(b.last) + 1] -= alignArena(b.bytes); // wraps, and the running sum wraps back
    }
    std::partial_sum(live.begin(), live.end(), live.begin());
    return live;
}

} // namespace

uint64_t liveBytesBound(std::span<const BufferLifetime> buffers)
{
    const std::vector<uint64_t> live = liveBytes(buffers);
    return live.empty() ? 0 : *std::ranges::max_element(live);
}

MemoryLayout planMemory(std::span<const BufferLifetime> buffers)
{
    MemoryLayout layout;
    layout.offsets.assign(buffers.size(), 0);
    std::vector<int32_t> items;
    for (size_t i = 0; i < buffers.size(); ++i)
        if (buffers[i].bytes > 0) items.push_back(static_cast<int32_t>(i));
    if (items.empty()) return layout;

    const std::vector<uint64_t> live = liveBytes(buffers);
    layout.lowerBound = *std::ranges::max_element(live);
    layout.bytes = UINT64_MAX;

    Placement placement(buffers);
    std::vector<int32_t> bestOrder;
    const auto attempt = [&](const std::vector<int32_t>& order) {
        const uint64_t bytes = placement.place(order);
        if (bytes >= layout.bytes) return false;
        layout.bytes = bytes;
        layout.offsets = placement.offsets();
        bestOrder = order;
        return true;
    };
    const auto at = [&](int32_t i) -> const BufferLifetime& { return buffers[static_cast<size_t>(i)]; };
    const auto span = [&](int32_t i) { return static_cast<uint64_t>(at(i).last - at(i).first + 1); };
    const auto peak = [&](int32_t i) {
        const auto first = live.begin() + at(i).first;
        return *std::max_element(first, first + static_cast<std::ptrdiff_t>(span(i)));
    };

    attempt(orderBy(items, [&](int32_t i) { return at(i).bytes; }));
    // A bigger search costs more than the memory it could save where there are very many buffers.
    constexpr size_t kManyBuffers = 4000;
    if (layout.bytes == layout.lowerBound || items.size() > kManyBuffers) return layout;
    attempt(orderBy(items, [&](int32_t i) { return at(i).bytes * span(i); }));
    if (layout.bytes != layout.lowerBound) attempt(orderBy(items, [&](int32_t i) { return std::pair(span(i), at(i).bytes); }));
    if (layout.bytes != layout.lowerBound) attempt(orderBy(items, [&](int32_t i) { return std::pair(peak(i), at(i).bytes); }));

    // The buffer that reached the end was placed too late for the good gaps: move it ahead, now here, now there, and keep what is no worse.
    constexpr size_t kWork = 8'000'000; // pairs of buffers looked at: about 20 ms
    const size_t rounds = std::min<size_t>(kWork / (items.size() * items.size()), 150);
    uint64_t present = placement.place(bestOrder);
    std::vector<int32_t> order = bestOrder;
    uint32_t random = 1;
    for (size_t round = 0; round < rounds && layout.bytes != layout.lowerBound; ++round) {
        random = random * 1664525 + 1013904223; // Numerical Recipes' generator: any will do, as long as it is always the same
        std::vector<int32_t> changed = order;
        const auto top = std::ranges::find(changed, placement.topBuffer());
        const auto ahead = static_cast<uint32_t>(top - changed.begin());
        if (ahead == 0) break;
        std::rotate(changed.begin() + (random >> 8) % ahead, top, top + 1);
        const int32_t previousTop = placement.topBuffer();
        const uint64_t bytes = placement.place(changed);
        if (bytes > present) {
            placement.forgetTop(previousTop);
            continue;
        }
        present = bytes;
        order = std::move(changed);
        if (bytes < layout.bytes) {
            layout.bytes = bytes;
            layout.offsets = placement.offsets();
        }
    }
    return layout;
}

} // namespace loopscope
