// Location breakpoints on operators.
#include "engine/debug/breakpoints/breakpoint_set.h"

#include <algorithm>

namespace loopscope {

class BreakpointSet::Impl final : public TrapHandler {
public:
    struct Breakpoint {
        BreakpointInfo info;
        ResolvedAddress place;
    };

    explicit Impl(DebugTarget target_) : target(target_) {}

    bool beforeOperator(const OperatorEvent& event, int64_t tick) override
    {
        if (tick <= after) return false;
        bool stop = false;
        for (Breakpoint& b : points) {
            if (!b.info.enabled || b.place.graph != event.graph || b.place.op != event.op) continue;
            if (!matches(b)) continue;
            const StopReason reason{StopCause::breakpoint, b.info.number, "", ""};
            if (mode == Mode::scan) hits.push_back({tick, b.info.number, reason});
            else reasons.push_back(reason);
            stop = true;
        }
        return stop && mode == Mode::stop;
    }
    bool afterOperator(const OperatorEvent&, int64_t) override { return false; }

    bool matches(const Breakpoint& b) const
    {
        const Result<Address> here = parseAddress(target.executor.positionAddress());
        return here.ok() && AddressPattern(b.place.address).matches(*here);
    }

    DebugTarget target;
    std::vector<Breakpoint> points;
    int next = 1;
    Mode mode = Mode::stop;
    int64_t after = -1;
    std::vector<StopReason> reasons;
    std::vector<BreakpointHit> hits;
};

BreakpointSet::BreakpointSet(DebugTarget target) : m_impl(std::make_unique<Impl>(target)) {}
BreakpointSet::~BreakpointSet() = default;

Result<int> BreakpointSet::add(BreakpointCommand command, std::string_view spec, FrameContext frame)
{
    LS_TRY(TypedPlace place, resolveTyped(m_impl->target, frame, spec));
    if (!place.resolved.op.valid()) return Error(ErrorCode::usage, "not an operator").at(std::string(spec));
    Impl::Breakpoint breakpoint;
    breakpoint.info.number = m_impl->next++;
    breakpoint.info.command = command;
    breakpoint.info.kind = "operator";
    breakpoint.info.spec = toString(place.resolved.address);
    breakpoint.info.place = breakpoint.info.spec;
    breakpoint.place = std::move(place.resolved);
    if (const Result<Address> exact = parseAddress(spec); exact.ok()) breakpoint.place.address = *exact; // iterations only as typed
    m_impl->points.push_back(std::move(breakpoint));
    return m_impl->next - 1;
}

Status BreakpointSet::remove(int number)
{
    const auto found = std::ranges::find_if(m_impl->points, [&](const Impl::Breakpoint& b) { return b.info.number == number; });
    if (found == m_impl->points.end()) return Error(ErrorCode::usage, "no breakpoint " + std::to_string(number));
    m_impl->points.erase(found);
    return {};
}

void BreakpointSet::removeAll()
{
    m_impl->points.clear();
}

Status BreakpointSet::setEnabled(int number, bool enabled)
{
    for (Impl::Breakpoint& b : m_impl->points)
        if (b.info.number == number) {
            b.info.enabled = enabled;
            return {};
        }
    return Error(ErrorCode::usage, "no breakpoint " + std::to_string(number));
}

Status BreakpointSet::setCondition(int, std::string_view, FrameContext)
{
    return Error(ErrorCode::unsupported, "conditions");
}

Status BreakpointSet::setIgnore(int, int64_t)
{
    return Error(ErrorCode::unsupported, "ignoring hits");
}

Status BreakpointSet::setCommands(int, std::vector<std::string>)
{
    return Error(ErrorCode::unsupported, "commands");
}

std::vector<BreakpointInfo> BreakpointSet::list() const
{
    std::vector<BreakpointInfo> infos;
    for (const Impl::Breakpoint& b : m_impl->points) infos.push_back(b.info);
    return infos;
}

Result<BreakpointInfo> BreakpointSet::get(int number) const
{
    for (const Impl::Breakpoint& b : m_impl->points)
        if (b.info.number == number) return b.info;
    return Error(ErrorCode::usage, "no breakpoint " + std::to_string(number));
}

std::string BreakpointSet::save() const
{
    std::string text;
    for (const Impl::Breakpoint& b : m_impl->points) text += "break " + b.info.spec + "\n";
    return text;
}

Status BreakpointSet::load(std::string_view)
{
    return Error(ErrorCode::unsupported, "loading breakpoints");
}

TrapSet BreakpointSet::traps() const
{
    TrapSet traps;
    for (const Impl::Breakpoint& b : m_impl->points)
        if (b.info.enabled) traps.add(b.place.graph, b.place.op, trapBefore);
    return traps;
}

void BreakpointSet::moved(int64_t) {}

TrapHandler& BreakpointSet::handler(Mode mode, int64_t after)
{
    m_impl->mode = mode;
    m_impl->after = after;
    return *m_impl;
}

std::vector<StopReason> BreakpointSet::takeReasons()
{
    return std::exchange(m_impl->reasons, {});
}

std::vector<LogLine> BreakpointSet::takeLogs()
{
    return {};
}

std::vector<BreakpointHit> BreakpointSet::takeHits()
{
    return std::exchange(m_impl->hits, {});
}

int64_t BreakpointSet::historyNeeded() const
{
    return 0;
}

void BreakpointSet::dropTemporary(const std::vector<StopReason>& reasons)
{
    for (const StopReason& reason : reasons) {
        const Result<BreakpointInfo> info = get(reason.number);
        if (info.ok() && info->command == BreakpointCommand::temporary) static_cast<void>(remove(reason.number).ok());
    }
}

} // namespace loopscope
