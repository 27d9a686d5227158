// Fusion as a pass: its rewrites and refusals in the words that all passes share.
#include "converters/fuse/fuse.h"
#include "converters/passes/pass.h"

namespace loopscope {

namespace {

Result<RewriteReport> fuseOrUnfuse(Model& model, const PassContext& context, bool isReverse)
{
    FusionOptions options;
    options.isReverse = isReverse;
    if (context.rules.composites == "keep") options.composites = Composites::keep;
    if (context.rules.composites == "body") options.composites = Composites::body;
    for (const auto* names : {&context.visible.fetches, &context.visible.feeds, &context.visible.targets})
        options.keeps.insert(options.keeps.end(), names->begin(), names->end());
    options.only = context.rules.only;
    options.skipped = context.rules.skipped;
    options.nearness = context.rules.nearness;
    options.fusesTanh = context.rules.fusesTanh;
    if (context.rules.mostWeightBytes > 0) options.mostWeightBytes = context.rules.mostWeightBytes;
    if (model.dialect == Dialect::tf && !context.visible.fetches.empty()) // who knows what is run may open calls
        options.selection = {context.visible.feeds, context.visible.fetches, context.visible.targets};
    LS_TRY(FusionReport fusion, fuseOperators(model, options));
    RewriteReport report;
    for (Fusion& rewrite : fusion.rewrites)
        report.rewrites.push_back(
            {std::move(rewrite.to), rewrite.rule, std::move(rewrite.graph), std::move(rewrite.name), std::move(rewrite.from)});
    for (FusionDeclined& declined : fusion.declined)
        report.declined.push_back({std::move(declined.where), declined.to + ": " + declined.reason});
    for (FusionLabel& label : fusion.labels)
        report.declined.push_back({std::move(label.where), label.name + ": recognised, and left as it is"});
    return report;
}

} // namespace

Result<RewriteReport> runFuse(Model& model, const PassContext& context) { return fuseOrUnfuse(model, context, false); }
Result<RewriteReport> runUnfuse(Model& model, const PassContext& context) { return fuseOrUnfuse(model, context, true); }

} // namespace loopscope
