#include "app/check/ltest_pass.h"

#include "app/output/listing.h"
#include "app/wiring/fusion_proof.h"
#include "app/wiring/pass_context.h"
#include "app/wiring/tf_target.h"
#include "converters/fuse/batch.h"
#include "converters/passes/pass_manager.h"

#include <algorithm>
#include <cstdlib>

namespace loopscope::app {

namespace {

/// `batch=N`: inputs of any number of rows take N.
Status giveBatchOf(Model& model, const LtestSection& section)
{
    const std::string size = section.value("batch");
    return size.empty() ? Status() : giveBatch(model, GraphId(0), std::strtoll(size.c_str(), nullptr, 10));
}

} // namespace

Result<RewriteReport> runTestPasses(Model& model, const LtestSection& section)
{
    if (section.words.empty()) return Error(ErrorCode::usage, "'== pass' names no pass");
    PassPlan plan;
    LS_TRY(plan.passes, passNames(section.words.front()));
    const PassContext context{
        visibleNames({section.value("fetch")}, {section.value("target")}, {section.value("feed")}),
        constantEvaluator(),
        {GraphId(0), namesIn({section.value("of")}), namesIn({section.value("wrt")}), namesIn({section.value("recompute")})},
        {namesIn({section.value("only")}), namesIn({section.value("skip")}), section.value("composites"),
         std::strtod(section.value("near", "0").c_str(), nullptr), section.hasWord("tanh"),
         std::strtoll(section.value("weights", "0").c_str(), nullptr, 10)}};
    LS_CHECK_OK(giveBatchOf(model, section));
    LS_TRY(std::vector<PassRun> runs, runPasses(model, plan, context));
    RewriteReport all;
    for (PassRun& run : runs) {
        std::ranges::move(run.report.rewrites, std::back_inserter(all.rewrites));
        std::ranges::move(run.report.declined, std::back_inserter(all.declined));
    }
    return all;
}

Result<std::vector<std::string>> provedLines(const Model& before, const LtestSection* section)
{
    if (section == nullptr) return Error(ErrorCode::usage, "'== proved' without '== pass'");
    LoadedModel file;
    file.model = before;
    LS_CHECK_OK(giveBatchOf(file.model, *section));
    FusionOptions options;
    options.only = namesIn({section->value("only")});
    options.skipped = namesIn({section->value("skip")});
    options.isReverse = section->hasWord("unfuse");
    options.isForCircle = section->value("for") == "circle";
    options.nearness = std::strtod(section->value("near", "0").c_str(), nullptr);
    options.fusesTanh = section->hasWord("tanh");
    if (section->value("composites") == "body") options.composites = Composites::body;
    if (before.dialect == Dialect::tf) {
        const RunSelection asked = {namesIn({section->value("feed")}), namesIn({section->value("fetch")}),
                                    namesIn({section->value("target")})};
        LS_TRY(options.selection, completeSelection(before, asked, ""));
        for (const auto* names : {&options.selection->fetches, &options.selection->feeds, &options.selection->targets})
            options.keeps.insert(options.keeps.end(), names->begin(), names->end());
    }
    LS_TRY(const FusionProof proof, fuseAndProve(file, options, {}));
    std::vector<std::string> lines;
    for (size_t k = 0; k < proof.report.rewrites.size(); ++k) {
        const Fusion& fusion = proof.report.rewrites[k];
        const FusionVerdict& verdict = proof.proofs[k];
        std::string from;
        for (const std::string& name : fusion.from) from += (from.empty() ? " from " : ", ") + name;
        std::string line = fusion.to + from + " (" + fusion.rule + ", " + std::string(equalityText(fusion.equality)) + ")";
        if (!verdict.isDecided || !verdict.holds) line += ": " + proofText(verdict);
        else if (!verdict.domain.empty()) line += ": " + verdict.domain.substr(0, verdict.domain.find(';'));
        if (!fusion.note.empty()) line += "; " + fusion.note;
        lines.push_back(std::move(line));
    }
    for (size_t k = 0; k < proof.rolledBack.size(); ++k)
        lines.push_back("undone: " + proof.rolledBack[k].to + " (" + proof.rolledBack[k].rule + "): " + proofText(proof.failures[k]));
    if (proof.whole.isDecided && !proof.whole.holds) lines.push_back("the whole model: " + proofText(proof.whole));
    return lines;
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
