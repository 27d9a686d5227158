// The other side of a comparison where that is the model itself, fused: which rewrites made it, and what was not fused and why. Plain
// values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace loopscope::viewer {

/// Where a rule is not to be used.
struct FusionSwitch {
    std::string rule, graph, where;
    bool operator==(const FusionSwitch&) const = default;
};

struct FusedSide {
    struct Rewrite {
        FusionSwitch place;
        std::string to;                ///< "CONV_2D+bias+RELU"
        std::string name;              ///< of the new operator, in the fused model
        std::vector<std::string> from; ///< names of operators, in the model
        std::string equality;          ///< what it promises: "exact", "real-equal", "approximate"
        bool isOn = true;
    };
    struct Refusal {
        FusionSwitch place;
        std::string to, reason;
    };
    std::vector<Rewrite> rewrites;
    std::vector<Refusal> refusals;
};

/// How such a side is asked for in place of a file: "fused:", and a line for each place that stays as it is.
inline constexpr std::string_view kFusedSide = "fused:";
std::string fusedSideText(const std::vector<FusionSwitch>& off);
std::vector<FusionSwitch> switchedOff(std::string_view text);

} // namespace loopscope::viewer
