#include "app/check/ltest_pass.h"

#include "app/output/listing.h"
#include "app/wiring/pass_context.h"
#include "converters/passes/pass_manager.h"

#include <algorithm>

namespace loopscope::app {

Result<RewriteReport> runTestPasses(Model& model, const LtestSection& section)
{
    if (section.words.empty()) return Error(ErrorCode::usage, "'== pass' names no pass");
    PassPlan plan;
    LS_TRY(plan.passes, passNames(section.words.front()));
    const PassContext context{
        visibleNames({section.value("fetch")}, {section.value("target")}, {section.value("feed")}),
        constantEvaluator(),
        {GraphId(0), namesIn({section.value("of")}), namesIn({section.value("wrt")}), namesIn({section.value("recompute")})}};
    LS_TRY(std::vector<PassRun> runs, runPasses(model, plan, context));
    RewriteReport all;
    for (PassRun& run : runs) {
        std::ranges::move(run.report.rewrites, std::back_inserter(all.rewrites));
        std::ranges::move(run.report.declined, std::back_inserter(all.declined));
    }
    return all;
}

std::vector<std::string> graphLines(const Model* model)
{
    std::vector<std::string> lines;
    if (!model) return lines;
    for (const ListingLine& line : listModel(*model, std::nullopt))
        if (!lines.empty() || line.text.starts_with("graph ")) lines.push_back(line.text);
    return lines;
}

std::vector<std::string> declinedLines(const RewriteReport& report)
{
    std::vector<std::string> lines;
    for (const Declined& declined : report.declined) {
        std::string line = declined.where + ": " + declined.reason;
        if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    }
    return lines;
}

std::string whyChanged(const LtestSection& section, const Model& before, const Model& after, const RewriteReport& report)
{
    if (!sameModel(before, after)) return "the model changed: " + firstDifference(before, after);
    const auto reason = std::ranges::find(section.words, "reason");
    if (reason == section.words.end() || reason + 1 == section.words.end()) return {};
    std::string wanted = *(reason + 1);
    std::erase(wanted, '"');
    std::string told;
    for (const std::string& line : declinedLines(report)) {
        if (occursIn(wanted, line)) return {};
        told += (told.empty() ? "'" : ", '") + line + "'";
    }
    return "it was left for " + (told.empty() ? "no reason" : told) + ", want '" + wanted + "'";
}

} // namespace loopscope::app
