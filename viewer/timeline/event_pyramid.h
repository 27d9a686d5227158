// Events of a run by step, with a pyramid of powers of 4 above them, so that a column of pixels is told what lies under it without looking
// at each event: one event among a million is still one visible pixel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace loopscope::viewer {

class EventPyramid {
public:
    /// `flags`: whatever the owner distinguishes. Fastest where steps come in order.
    void add(int64_t step, uint8_t flags);
    void clear();
    size_t size() const { return m_steps.size(); }
    int64_t stepAt(size_t index) const { return m_steps[index]; }
    uint8_t flagsAt(size_t index) const { return m_levels.empty() ? uint8_t{0} : m_levels.front()[index]; }
    /// Index of the first event at `step` or after it.
    size_t lowerBound(int64_t step) const;
    /// All flags of the events from step `first` to before `last`. About 8 look-ups for each power of 4.
    uint8_t flagsIn(int64_t first, int64_t last) const;
    /// How many events that is.
    size_t countIn(int64_t first, int64_t last) const { return first < last ? lowerBound(last) - lowerBound(first) : 0; }
    /// The nearest event to `step` that has one of `flags`, at most `reach` steps away; size(): none.
    size_t nearest(int64_t step, uint8_t flags, int64_t reach) const;

private:
    uint8_t flagsOfRange(size_t first, size_t last) const;

    std::vector<int64_t> m_steps;
    std::vector<std::vector<uint8_t>> m_levels; ///< m_levels[k][i]: of the events 4^k · i to before 4^k · (i + 1)
};

} // namespace loopscope::viewer
