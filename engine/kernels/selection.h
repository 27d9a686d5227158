// Choosing the kernel of an operator: the wanted profile's, and where that has none or does not do these dtypes or shapes, the reference
// kernel. What fell back is a value that a run hands on, so that nobody takes reference kernels for fast ones.
#pragma once

#include "engine/kernels/kernel.h"
#include "engine/kernels/registry.h"

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

/// A kernel that was prepared for one operator.
struct ChosenKernel {
    PreparedKernel kernel;
    Profile used = Profile::reference;
    std::string reason; ///< why it is not the wanted profile's: "no fast kernel", "no kernel for these dtypes, found i8, i8 -> i8"
};

/// Errors: unsupported, "no kernel" if the operator has none at all; what the reference kernel says when it is prepared.
Result<ChosenKernel> chooseKernel(const KernelRegistry& registry, const KernelSetup& setup, Profile wanted);

/// An operator that runs with another profile's kernel than was asked for.
struct KernelFallback {
    GraphId graph;
    OperatorId op;
    Profile wanted = Profile::reference, used = Profile::reference;
    std::string reason;
    bool operator==(const KernelFallback&) const = default;
};

/// What was chosen while a model ran: each operator once, whatever shapes it was prepared for. Filled on the executor's thread.
class KernelReport {
public:
    void note(GraphId graph, OperatorId op, Profile wanted, const ChosenKernel& chosen);

    std::span<const KernelFallback> fallbacks() const { return m_fallbacks; }
    /// Operators that run with the wanted profile's kernel whatever their shapes were.
    size_t asWanted() const { return m_seen.size() - m_fallbacks.size(); }

private:
    std::vector<KernelFallback> m_fallbacks;               ///< in the order in which they were met
    std::map<std::pair<GraphId, OperatorId>, bool> m_seen; ///< whether the operator fell back
};

/// What of a model has kernels of that profile, as far as that can be told without running it: by kind. For models that are only looked at.
KernelReport expectedKernels(const Model& model, Profile wanted);

/// "profile 'fast': 2 operators; with reference kernels 3: abs ×2 (no fast kernel), add (no kernel for these dtypes, …)". Empty if nothing
/// fell back.
std::string fallbackText(const Model& model, const KernelReport& report, Profile wanted);

} // namespace loopscope
