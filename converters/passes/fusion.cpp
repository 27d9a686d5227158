// Fusion as a pass: its rewrites and refusals in the words that all passes share.
#include "converters/fuse/fuse.h"
#include "converters/passes/pass.h"

namespace loopscope {

Result<RewriteReport> runFuse(Model& model, const PassContext& context)
{
    FusionOptions options;
    for (const auto* names : {&context.visible.fetches, &context.visible.feeds, &context.visible.targets})
        options.keeps.insert(options.keeps.end(), names->begin(), names->end());
    LS_TRY(FusionReport fusion, fuseOperators(model, options));
    RewriteReport report;
    for (Fusion& rewrite : fusion.rewrites)
        report.rewrites.push_back(
            {std::move(rewrite.to), rewrite.rule, std::move(rewrite.graph), std::move(rewrite.name), std::move(rewrite.from)});
    for (FusionDeclined& declined : fusion.declined)
        report.declined.push_back({std::move(declined.where), declined.to + ": " + declined.reason});
    return report;
}

} // namespace loopscope
