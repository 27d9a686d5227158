// Runs passes one after the other over a model: each is timed and its result verified, and whoever wants to see the model before and after
// is shown it.
#pragma once

#include "converters/passes/pass.h"
#include "engine/base/result.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

struct PassRun {
    const Pass* pass = nullptr;
    int64_t durationNs = 0;
    RewriteReport report;
    bool isSkipped = false;
};

enum class PassMoment : uint8_t { before, after };

struct PassPlan {
    std::vector<std::string> passes;                                 ///< in this order
    std::vector<std::string> skipped;                                ///< of those, what is left out
    std::function<void(const Pass&, PassMoment, const Model&)> show; ///< may be empty
};

/// "raise,remove-dead": names, each once. Errors: usage, with near names.
Result<std::vector<std::string>> passNames(std::string_view list);

/// Errors: usage (unknown pass, model of another dialect); internal, "pass 'x' left a model that …": the model is then not to be used.
Result<std::vector<PassRun>> runPasses(Model& model, const PassPlan& plan, const PassContext& context);

} // namespace loopscope
