// Passes: rewrites of whole models that have a name. Each is a function in a table; the pass manager runs them.
#pragma once

#include "converters/passes/rewrite.h"
#include "converters/raise/raise.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Runs the first graph of a model that takes nothing, and gives its outputs. Passes know no kernels: who runs them has some.
using ConstantEvaluator = std::function<Result<std::vector<TensorAttribute>>(const Model&)>;

/// What the pass 'gradient' is asked for: values of a graph by name.
struct GradientNames {
    GraphId root = GraphId(0);
    std::vector<std::string> of, wrt;   ///< "node", "node:slot", or what a signature calls them
    std::vector<std::string> recompute; ///< GradientRequest::recompute
    bool stacks = false;                ///< GradientRequest::stacks
};

/// Which rules the passes 'fuse' and 'unfuse' use: those in `only`, or all, without those in `skipped`.
struct RuleNames {
    std::vector<std::string> only, skipped;
    std::string composites;      ///< "keep", "body"; else operators
    double nearness = 0;         ///< FusionOptions::nearness
    bool fusesTanh = false;      ///< FusionOptions::fusesTanh
    int64_t mostWeightBytes = 0; ///< FusionOptions::mostWeightBytes; 0: what that is by itself
};

struct PassContext {
    RaiseOptions visible = {};       ///< what keeps its name at the top of the primary graph
    ConstantEvaluator evaluate = {}; ///< empty: nothing is computed
    GradientNames gradient = {};
    RuleNames rules = {};
};

struct Pass {
    std::string_view name;
    std::string_view summary; ///< one line
    /// Changes the model through GraphEditor, which keeps the origin. Errors: usage (a model that the pass is not for).
    Result<RewriteReport> (*run)(Model& model, const PassContext& context);
};

/// In the order in which they are run when several are asked for without an order.
std::span<const Pass> allPasses();
/// Errors: usage, with near names.
Result<const Pass*> findPass(std::string_view name);

// The passes themselves, each described where it is defined.
Result<RewriteReport> runRaise(Model& model, const PassContext& context);
Result<RewriteReport> runResourceVariables(Model& model, const PassContext& context);
Result<RewriteReport> turnArraysIntoLists(Model& model, const PassContext& context);
Result<RewriteReport> turnStacksIntoLists(Model& model, const PassContext& context);
Result<RewriteReport> lowerCase(Model& model, const PassContext& context);
Result<RewriteReport> lowerFor(Model& model, const PassContext& context);
Result<RewriteReport> dropStateless(Model& model, const PassContext& context);
Result<RewriteReport> inlineFunctions(Model& model, const PassContext& context);
Result<RewriteReport> foldConstants(Model& model, const PassContext& context);
Result<RewriteReport> handConstantsInward(Model& model, const PassContext& context);
Result<RewriteReport> runLowering(Model& model, const PassContext& context);
Result<RewriteReport> runFuse(Model& model, const PassContext& context);
Result<RewriteReport> runUnfuse(Model& model, const PassContext& context);
Result<RewriteReport> runGradient(Model& model, const PassContext& context);
Result<RewriteReport> removeDead(Model& model, const PassContext& context);

} // namespace loopscope
