#include "engine/debug/breakpoints/hit_log.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr size_t kMostMarks = 1 << 16;

} // namespace

void HitLog::clear()
{
    m_parts.clear();
    begin(0);
}

void HitLog::forgetAfter(Tick tick)
{
    std::erase_if(m_parts, [&](const Part& part) { return part.from >= tick; });
    if (!m_parts.empty() && m_parts.back().to > tick) m_parts.back() = cut(m_parts.back(), tick);
    begin(tick);
}

void HitLog::begin(Tick tick)
{
    m_part.from = m_part.to = tick;
    m_part.count = 0;
    m_part.marks.clear();
    m_stride = 1;
    m_lastTick = -1;
}

void HitLog::append(Tick tick)
{
    ++m_part.count;
    if (m_part.count % m_stride != 0) return;
    m_part.marks.push_back({tick, m_part.count});
    if (m_part.marks.size() < kMostMarks) return;
    thin(m_part);
    m_stride *= 2;
}

/// Every second mark goes, of those in the same distance.
void HitLog::thin(Part& part)
{
    size_t kept = 0;
    for (size_t i = 1; i < part.marks.size(); i += 2) part.marks[kept++] = part.marks[i];
    part.marks.resize(kept);
}

/// The last tick up to `tick` for which the count is known, and the count.
HitLog::Mark HitLog::countUpTo(const Part& part, Tick tick)
{
    if (tick >= part.to) return {part.to, part.count};
    const auto after = std::ranges::upper_bound(part.marks, tick, {}, &Mark::tick);
    const Mark before = after == part.marks.begin() ? Mark{part.from, 0} : *(after - 1);
    const Mark next = after == part.marks.end() ? Mark{part.to, part.count} : *after;
    // Between two marks lies nothing if they are one hit apart, or, behind the last one, none.
    const int64_t hidden = next.count - before.count - (after == part.marks.end() ? 0 : 1);
    return hidden == 0 ? Mark{tick, before.count} : before;
}

HitLog::Part HitLog::cut(const Part& part, int64_t to)
{
    const Mark end = countUpTo(part, to);
    Part result;
    result.from = part.from;
    result.to = end.tick;
    result.count = end.count;
    for (const Mark& mark : part.marks)
        if (mark.tick <= end.tick) result.marks.push_back(mark);
    return result;
}

/// What is behind `from`, where the count is known there; else behind the end, nothing.
HitLog::Part HitLog::cutFront(const Part& part, int64_t from)
{
    const Mark begin = countUpTo(part, from);
    Part result;
    result.from = begin.tick == from ? from : part.to;
    result.to = part.to;
    if (result.from == part.to) return result;
    result.count = part.count - begin.count;
    for (const Mark& mark : part.marks)
        if (mark.tick > from) result.marks.push_back({mark.tick, mark.count - begin.count});
    return result;
}

void HitLog::extend(Tick tick)
{
    if (tick <= m_part.from) return;
    m_part.to = tick;
    const auto contains = [&](const Part& part) { return part.from <= m_part.from && part.to >= m_part.to; };
    if (std::ranges::none_of(m_parts, contains)) {
        // What was known of this part before goes: it says the same.
        std::vector<Part> parts;
        for (Part& part : m_parts) {
            if (part.to <= m_part.from || part.from >= m_part.to) {
                parts.push_back(std::move(part));
                continue;
            }
            if (part.from < m_part.from && countUpTo(part, m_part.from).tick > part.from) parts.push_back(cut(part, m_part.from));
            Part behind = cutFront(part, m_part.to);
            if (behind.from < behind.to) parts.push_back(std::move(behind));
        }
        const auto at = std::ranges::upper_bound(parts, m_part.from, {}, &Part::from);
        const auto index = static_cast<size_t>(at - parts.begin());
        if (index > 0 && parts[index - 1].to == m_part.from) { // goes on where another ended
            Part& joined = parts[index - 1];
            for (const Mark& mark : m_part.marks) joined.marks.push_back({mark.tick, joined.count + mark.count});
            joined.count += m_part.count;
            joined.to = m_part.to;
            while (joined.marks.size() >= kMostMarks) thin(joined);
        } else {
            parts.insert(at, m_part);
        }
        m_parts = std::move(parts);
    }
    begin(tick);
}

HitLog::Known HitLog::known(Tick from, Tick to) const
{
    Known result{from, 0};
    for (const Part& part : m_parts) {
        if (part.to <= result.upTo) continue;
        if (part.from > result.upTo || result.upTo >= to) break;
        const Mark begin = countUpTo(part, std::max(result.upTo, part.from));
        if (begin.tick < result.upTo) break;
        const Mark end = countUpTo(part, to);
        if (end.tick <= result.upTo) break;
        result.count += end.count - begin.count;
        result.upTo = end.tick;
    }
    return result;
}

} // namespace loopscope
