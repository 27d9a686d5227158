// What a check must know of kernel profiles: which ones a model can be run with, how far their results may be from the reference kernels',
// and what ran with them.
#pragma once

#include "app/check/ltest_file.h"
#include "app/check/verdict.h"
#include "engine/exec/executor.h"
#include "engine/ir/model.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/selection.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::app {

/// Profiles beside `reference` that have a kernel for an operator of the model.
std::vector<Profile> furtherProfiles(const Model& model);
/// How far a result of that dtype may be from the reference kernels': the widest bound of the profile's kernels for the model, and
/// a step of 8 bits where an operator quantizes what floats such a kernel gave it.
ErrorBound profileBound(const Model& model, Profile profile, DType dtype);

/// Adds up what the executors of one case ran with; each may run several times.
class KernelTally {
public:
    void note(const Executor& executor)
    {
        const KernelReport& report = executor.kernelReport();
        const auto fallbacks = report.fallbacks();
        std::string fallback = fallbacks.empty() ? "" : fallbackText(executor.model(), report, fallbacks.front().wanted);
        m_counts[&executor] = {static_cast<int64_t>(report.asWanted()), std::ssize(fallbacks), std::move(fallback)};
    }
    KernelCounts sum() const
    {
        KernelCounts all;
        for (const auto& [executor, counts] : m_counts) all.add(counts);
        return all;
    }

private:
    std::map<const Executor*, KernelCounts> m_counts;
};

/// The profiles that a case names by `== run profile=fast,…`; none: all. `unknown`: the word that is no profile, if there is one.
std::optional<std::vector<std::string>> namedProfiles(const LtestCase& test, std::string& unknown);

} // namespace loopscope::app
