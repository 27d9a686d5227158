#include "engine/distributed/cut_plan.h"

#include <algorithm>

namespace loopscope {

std::string channelKey(std::string_view sendDevice, std::string_view recvDevice, std::string_view tensorName)
{
    std::string key(sendDevice);
    key += ';';
    key += recvDevice;
    key += ';';
    key += tensorName;
    return key;
}

std::vector<std::string> CutPlan::devicesOf(int32_t rank) const
{
    std::vector<std::string> own;
    for (const std::string& device : devices)
        if (rankOf.at(device) == rank) own.push_back(device);
    return own;
}

std::string CutPlan::nameOf(int32_t rank) const
{
    std::string names;
    for (const std::string& device : devicesOf(rank)) names += (names.empty() ? "" : ", ") + device;
    return "rank " + std::to_string(rank) + (names.empty() ? "" : " (" + names + ")");
}

CutPlan planCut(const Graph& graph, int32_t ranks)
{
    CutPlan plan;
    for (const Operator& op : graph.operators) {
        const std::string device(attributeString(op.attributes, "@device", ""));
        if (!plan.rankOf.contains(device)) {
            plan.rankOf[device] = static_cast<int32_t>(plan.devices.size()) % ranks;
            plan.devices.push_back(device);
        }
    }
    for (const Operator& op : graph.operators) {
        if (op.kind.name != "_Send") continue;
        const auto text = [&](const char* name) { return attributeString(op.attributes, name, ""); };
        const auto from = plan.rankOf.find(text("send_device")), to = plan.rankOf.find(text("recv_device"));
        if (from == plan.rankOf.end() || to == plan.rankOf.end()) continue; // of a part of another cut
        const auto number = static_cast<int32_t>(plan.channels.size());
        if (plan.numberOf.emplace(channelKey(text("send_device"), text("recv_device"), text("tensor_name")), number).second)
            plan.channels.push_back({from->second, to->second});
    }
    return plan;
}

} // namespace loopscope
