#include "viewer/timeline/event_pyramid.h"

#include <algorithm>
#include <cstdlib>

namespace loopscope::viewer {

void EventPyramid::add(int64_t step, uint8_t flags)
{
    if (!m_steps.empty() && step < m_steps.back()) { // rare: hits of an earlier moment; made anew
        const auto at = std::ranges::upper_bound(m_steps, step);
        const auto index = static_cast<size_t>(at - m_steps.begin());
        std::vector<int64_t> steps = m_steps;
        std::vector<uint8_t> marks = m_levels.front();
        steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(index), step);
        marks.insert(marks.begin() + static_cast<std::ptrdiff_t>(index), flags);
        clear();
        for (size_t i = 0; i < steps.size(); ++i) add(steps[i], marks[i]);
        return;
    }
    size_t at = m_steps.size();
    m_steps.push_back(step);
    for (size_t level = 0;; ++level, at /= 4) {
        if (m_levels.size() <= level) m_levels.emplace_back();
        std::vector<uint8_t>& marks = m_levels[level];
        if (marks.size() <= at) marks.push_back(at == 0 && level > 0 ? m_levels[level - 1].front() : uint8_t{0});
        marks[at] |= flags;
        if (at == 0) break;
    }
}

void EventPyramid::clear()
{
    m_steps.clear();
    m_levels.clear();
}

size_t EventPyramid::lowerBound(int64_t step) const
{
    return static_cast<size_t>(std::ranges::lower_bound(m_steps, step) - m_steps.begin());
}

uint8_t EventPyramid::flagsIn(int64_t first, int64_t last) const
{
    return first < last ? flagsOfRange(lowerBound(first), lowerBound(last)) : uint8_t{0};
}

uint8_t EventPyramid::flagsOfRange(size_t first, size_t last) const
{
    uint8_t flags = 0;
    for (size_t level = 0; first < last; ++level, first /= 4, last /= 4) {
        const bool top = level + 1 >= m_levels.size();
        while (first < last && (top || first % 4 != 0)) flags |= m_levels[level][first++];
        while (first < last && last % 4 != 0) flags |= m_levels[level][--last];
    }
    return flags;
}

size_t EventPyramid::nearest(int64_t step, uint8_t flags, int64_t reach) const
{
    size_t best = size();
    int64_t distance = reach + 1;
    const size_t from = lowerBound(step - reach), to = lowerBound(step + reach + 1);
    for (size_t i = from; i < to; ++i)
        if ((flagsAt(i) & flags) != 0 && std::abs(m_steps[i] - step) < distance) {
            distance = std::abs(m_steps[i] - step);
            best = i;
        }
    return best;
}

} // namespace loopscope::viewer
