// Whether what rewrites made of the model computes the same: the raised form of a TensorFlow 1 graph, and each rewrite of a fused side; and
// which operators make the difference where the other side is the model itself on other kernels.
// Backends that can run both are this, too.
#pragma once

#include "engine/base/result.h"
#include "viewer/bridge/fused_side.h"

#include <cstdint>
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

/// What the outputs become when one operator alone has the other kernels.
struct KernelEffect {
    GraphId graph;
    OperatorId op;
    std::string place;  ///< "main/conv_2d#3"
    std::string change; ///< "0.125 (3 steps)": the largest difference of an output
    int64_t different = 0, elements = 0;
    std::string why, apart; ///< what its kernel does otherwise; by how much its own results differ for that
};

struct KernelsApart {
    std::string first, difference, why; ///< address of the first result that differs, by how much, and why; empty: all are equal
    std::vector<KernelEffect> effects;  ///< the largest first
    int64_t tried = 0, total = 0;       ///< operators that have such kernels; fewer tried where the time was not enough
};

class Proving {
public:
    virtual ~Proving() = default;
    // From any thread, on the inputs of the last run, where there was one, and on drawn ones. Errors: unsupported (a recording), usage, of
    // running, cancelled.
    virtual Result<ProvedForm> proveRaised(const std::stop_token& stop) const = 0;
    virtual Result<std::vector<ProvedRewrite>> proveFused(const std::stop_token& stop) const = 0;
    /// On the inputs of the last run alone; the other side is one of kernels. Errors: also unsupported (another side).
    virtual Result<KernelsApart> kernelsApart(const std::stop_token& stop) const = 0;
};

} // namespace loopscope::viewer
