#include "viewer/panels/common.h"

#include "engine/base/text.h"

namespace loopscope::viewer {

BreakMark breakMarkOf(const BreakpointRow& row)
{
    if (!row.problem.empty()) return BreakMark::unbound;
    if (!row.enabled) return BreakMark::disabled;
    if (row.isLog) return BreakMark::log;
    return row.condition.empty() ? BreakMark::stop : BreakMark::conditional;
}

bool sitsOn(const BreakpointRow& row, const std::string& address)
{
    if (row.address.empty()) return false;
    const std::string place = staticAddress(row.address);
    return place.starts_with(".../") ? address.ends_with(place.substr(3)) : place == address;
}

void toggleBreakpoint(Document& document, const std::string& address)
{
    if (const Result<Address> place = parseAddress(address); place.ok()) document.perform(request::ToggleBreakpoint{*place});
}

std::string graphAddressOf(const std::string& invocation)
{
    const Result<Address> parsed = parseAddress(invocation);
    if (!parsed.ok()) return invocation;
    Address address = *parsed;
    while (!address.steps.empty() && address.steps.back().role == StepRole::frame) address.steps.pop_back();
    return toString(address);
}

int frameInView(const Document& document)
{
    const auto stop = document.stop();
    const auto count = static_cast<int>(stop->stack.size());
    if (!stop->started || count == 0) return -1;
    return document.frame() < 0 || document.frame() >= count ? count - 1 : document.frame();
}

QString counted(qint64 count, const QString& noun) { return toText(groupThousands(count)) + " " + noun + (count == 1 ? "" : "s"); }

} // namespace loopscope::viewer
