#include "app/dap/breakpoint_book.h"

#include <algorithm>

namespace loopscope::app::dap {

const std::vector<BookedBreakpoint>& BreakpointBook::replace(DebugSession& session, const std::string& group,
                                                             std::vector<WantedBreakpoint> wanted)
{
    std::vector<BookedBreakpoint> before = std::exchange(m_groups[group], {});
    std::vector<BookedBreakpoint>& now = m_groups[group];
    std::vector<BookedBreakpoint*> made;
    now.reserve(wanted.size());
    for (WantedBreakpoint& want : wanted) {
        const auto old = std::ranges::find_if(before, [&](const BookedBreakpoint& b) { return b.key == want.key && !b.numbers.empty(); });
        if (old != before.end()) {
            now.push_back(std::move(*old));
            before.erase(old);
            continue;
        }
        now.push_back({m_nextId++, std::move(want.key), {}, std::move(want.problem)});
        BookedBreakpoint& booked = now.back();
        if (!booked.problem.empty()) continue;
        for (const BreakpointSpec& spec : want.specs) {
            const Result<BreakpointInfo> info = session.addBreakpoint(spec);
            if (info.ok()) booked.numbers.push_back(info->number);
            else booked.problem = info.error().message();
        }
    }
    for (const BookedBreakpoint& old : before)
        for (const int number : old.numbers) static_cast<void>(session.removeBreakpoint(number).ok()); // a command may have removed it
    return now;
}

int64_t BreakpointBook::idOf(int number, std::string* group) const
{
    for (const auto& [name, list] : m_groups)
        for (const BookedBreakpoint& booked : list)
            if (std::ranges::find(booked.numbers, number) != booked.numbers.end()) {
                if (group != nullptr) *group = name;
                return booked.id;
            }
    const auto other = m_others.find(number);
    return other == m_others.end() ? 0 : other->second.first;
}

void BreakpointBook::clear()
{
    m_groups.clear();
    m_others.clear();
    m_told.clear();
}

BreakpointBook::Changes BreakpointBook::follow(const std::vector<BreakpointInfo>& all)
{
    Changes changes;
    std::map<int, const BreakpointInfo*> there;
    for (const BreakpointInfo& info : all) there[info.number] = &info;
    for (auto& [name, list] : m_groups)
        for (BookedBreakpoint& booked : list) {
            const bool wasSet = !booked.numbers.empty();
            std::erase_if(booked.numbers, [&](int number) { return !there.contains(number); });
            if (wasSet && booked.numbers.empty()) changes.removed.push_back(booked.id);
        }
    for (auto other = m_others.begin(); other != m_others.end();) {
        const bool isThere = there.contains(other->first);
        if (!isThere) changes.removed.push_back(other->second.first);
        other = isThere ? std::next(other) : m_others.erase(other);
    }
    for (const BreakpointInfo& info : all) {
        std::string group;
        const int64_t id = idOf(info.number, &group);
        if (id == 0) {
            m_others[info.number] = {m_nextId, info.enabled};
            changes.added.emplace_back(m_nextId++, info);
        } else if (const auto other = m_others.find(info.number); other != m_others.end() && other->second.second != info.enabled) {
            other->second.second = info.enabled;
            changes.changed.emplace_back(id, info);
        } else if (!group.empty() && !info.disabledBecause.empty() && m_told.insert(info.number).second) {
            changes.changed.emplace_back(id, info);
        }
    }
    return changes;
}

} // namespace loopscope::app::dap
