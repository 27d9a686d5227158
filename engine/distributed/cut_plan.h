// Which rank runs which part of a graph that is cut between devices, and what the parts hand to each other. Every rank derives the same.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

struct CutPlan {
    struct Channel {
        int32_t fromRank = -1, toRank = -1;
    };
    std::vector<std::string> devices; ///< in the order of their first operator; device k belongs to rank k modulo the number of ranks
    std::map<std::string, int32_t, std::less<>> rankOf; ///< by device
    std::vector<Channel> channels;
    std::map<std::string, int32_t, std::less<>> numberOf; ///< channels by what their Send says

    std::vector<std::string> devicesOf(int32_t rank) const;
    /// "rank 1 (b, c)".
    std::string nameOf(int32_t rank) const;
};

/// `graph` is cut (cutGraph).
CutPlan planCut(const Graph& graph, int32_t ranks);

/// Under which the two ends of a channel know each other.
std::string channelKey(std::string_view sendDevice, std::string_view recvDevice, std::string_view tensorName);

} // namespace loopscope
