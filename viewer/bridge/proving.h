// Whether what rewrites made of the model computes the same: the raised form of a TensorFlow 1 graph, and each rewrite of a fused side.
// Backends that can run both are this, too.
#pragma once

#include "engine/base/result.h"
#include "viewer/bridge/fused_side.h"

#include <stop_token>
#include <string>
#include <vector>

namespace loopscope::viewer {

struct ProvedForm {
    std::string verdict;            ///< "exact", "within 1e-6", "different", "undecided"
    bool differs = false;           ///< it was refuted
    std::vector<std::string> lines; ///< what paired, on how many inputs, the first difference
};

struct ProvedRewrite {
    FusionSwitch place;
    std::string text; ///< "exact", "real-equal, at most 3e-8 apart", "different: …", "not decided: …"
    bool holds = true;
};

class Proving {
public:
    virtual ~Proving() = default;
    // From any thread, on the inputs of the last run, where there was one, and on drawn ones. Errors: unsupported (a recording), usage, of
    // running, cancelled.
    virtual Result<ProvedForm> proveRaised(const std::stop_token& stop) const = 0;
    virtual Result<std::vector<ProvedRewrite>> proveFused(const std::stop_token& stop) const = 0;
};

} // namespace loopscope::viewer
