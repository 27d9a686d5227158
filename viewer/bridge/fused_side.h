// The other side of a comparison where that is the model itself, fused, or another file that tells the model's operators otherwise: which
// rewrites lie between the two, and what was not fused and why. Plain values.
#pragma once

#include "engine/base/ids.h"

#include <string>
#include <string_view>
#include <vector>

namespace loopscope::viewer {

/// Where a rule is not to be used. Of another file: the graph and the names of the operators of this side, and no rule.
struct FusionSwitch {
    std::string rule, graph, where;
    bool operator==(const FusionSwitch&) const = default;
};

/// An operator of one of the two models.
struct RewrittenOperator {
    GraphId graph;
    OperatorId op;
    bool operator==(const RewrittenOperator&) const = default;
};

struct FusedSide {
    struct Rewrite {
        FusionSwitch place;
        std::string to;                ///< "CONV_2D+bias+RELU"
        std::string name;              ///< of the new operator, in the fused model
        std::vector<std::string> from; ///< names of operators, in the model
        std::string equality;          ///< what it promises: "exact", "real-equal", "approximate"
        bool isOn = true;
        // Of another file:
        std::vector<RewrittenOperator> here, there; ///< what it was made of, and what is there instead
        std::string isKept;                         ///< why it cannot be switched off; empty: it can
    };
    struct Refusal {
        FusionSwitch place;
        std::string to, reason;
    };
    std::vector<Rewrite> rewrites;
    std::vector<Refusal> refusals;
    std::string file; ///< the other one; empty: the model itself, fused
};

/// How such a side is asked for in place of a file: "fused:", and a line for each place that stays as it is.
inline constexpr std::string_view kFusedSide = "fused:";
std::string fusedSideText(const std::vector<FusionSwitch>& off);
/// The same of a file, in which what is switched off is as on this side: its path, and a line for each.
std::string rewrittenSideText(const std::string& file, const std::vector<FusionSwitch>& off);
/// The model itself once more, on other kernels: "kernels:xnnpack", a profile or "vulkan".
inline constexpr std::string_view kKernelsSide = "kernels:";
std::string fileOfSide(const std::string& text); ///< without what is switched off
std::vector<FusionSwitch> switchedOff(std::string_view text);

} // namespace loopscope::viewer
