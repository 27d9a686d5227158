#include "engine/tensor/device_memory.h"

#include <iterator>

namespace loopscope {

/// The first range that ends behind a place.
DeviceMemory::Ranges::const_iterator DeviceMemory::firstAt(const std::byte* place) const
{
    auto at = m_ranges.upper_bound(const_cast<std::byte*>(place)); // NOLINT(cppcoreguidelines-pro-type-const-cast): only compared
    if (at == m_ranges.begin()) return at;
    const auto before = std::prev(at);
    return before->first + before->second.bytes > place ? before : at;
}

Placement DeviceMemory::placementOf(const Tensor& tensor) const
{
    Placement placement = Placement::host;
    for (auto at = firstAt(tensor.data); at != m_ranges.end() && at->first < tensor.data + tensor.bytes; ++at) {
        if (at->second.isNewer) return Placement::device;
        placement = Placement::both;
    }
    return placement;
}

std::span<const std::byte> DeviceMemory::hostBytes(const Tensor& tensor)
{
    for (auto at = firstAt(tensor.data); at != m_ranges.end() && at->first < tensor.data + tensor.bytes; ++at)
        if (at->second.isNewer) fetch(at->first, m_ranges[at->first]);
    return tensor.view();
}

void DeviceMemory::settle()
{
    for (auto& [place, range] : m_ranges)
        if (range.isNewer) fetch(place, range);
    std::erase_if(m_ranges, [](const auto& one) { return !one.second.isNewer; });
}

void DeviceMemory::computed(const Tensor& tensor)
{
    written(tensor);
    if (tensor.bytes > 0) m_ranges[tensor.data] = {tensor.bytes, true};
}

void DeviceMemory::written(const Tensor& tensor)
{
    for (auto at = firstAt(tensor.data); at != m_ranges.end() && at->first < tensor.data + tensor.bytes;) at = m_ranges.erase(at);
}

void DeviceMemory::fetch(std::byte* place, Range& range)
{
    range.isNewer = false; // as readBack() finds it
    Status status = readBack(place, range.bytes);
    if (status.ok()) return;
    range.isNewer = true; // the host's bytes are not the value, and never will be
    if (!m_failure) m_failure = std::move(status).takeError();
}

} // namespace loopscope
