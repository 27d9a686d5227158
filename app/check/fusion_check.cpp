#include "app/check/fusion_check.h"

#include "app/wiring/tf_target.h"
#include "engine/base/text.h"
#include "engine/ir/verifier.h"

#include <algorithm>
#include <cstdint>
#include <set>

namespace loopscope::app {

namespace {

/// A name as a set of words, the operator among them. A batch norm is a scale and a bias.
std::set<std::string> partsOf(std::string_view name)
{
    std::set<std::string> parts;
    for (size_t at = 0; at <= name.size();) {
        const size_t end = std::min(name.find('+', at), name.size());
        const std::string part(name.substr(at, end - at));
        if (part == "batchnorm") parts.insert({"bias", "weights_scaled"});
        else parts.insert(part);
        at = end + 1;
    }
    return parts;
}

/// "SWISH (label only)" → "SWISH"; "MUL (x*x)" → "MUL"; "QUANTIZE+DEQUANTIZE pair" → both
std::string withoutRemark(std::string_view name)
{
    if (name.ends_with(" pair")) name.remove_suffix(5);
    return std::string(name.substr(0, name.find(" (")));
}

/// "AVERAGE_POOL_2D+RESHAPE" may also mean one operator behind the other: as often as the rarest comes out.
int64_t countOfRow(const FusionReport& report, const std::set<std::string>& wanted)
{
    const bool isActivated = std::ranges::any_of(wanted, [](const std::string& name) { return name.starts_with("RELU"); });
    int64_t least = wanted.size() < 2 || isActivated ? 0 : INT64_MAX;
    for (const std::string& name : wanted)
        least =
            std::min<int64_t>(least, std::ranges::count_if(report.operators, [&](const FusedOperator& op) { return op.label == name; }));
    return least;
}

int64_t countOf(const FusionReport& report, const std::string& name)
{
    const std::set<std::string> wanted = partsOf(name);
    int64_t count = std::ranges::count_if(report.operators, [&](const FusedOperator& op) {
        std::set<std::string> parts = partsOf(op.label);
        if (!wanted.contains("dilation")) parts.erase("dilation"); // the graph may have said so itself
        return parts == wanted;
    });
    if (count == 0) count = std::ranges::count_if(report.rewrites, [&](const Fusion& fusion) { return fusion.to == name; });
    if (count == 0) count = std::ranges::count_if(report.labels, [&](const FusionLabel& label) { return label.name == name; });
    return count > 0 ? count : countOfRow(report, wanted);
}

/// Alternatives are joined by "or".
int64_t countOfAny(const FusionReport& report, const std::string& names)
{
    int64_t count = 0;
    for (size_t at = 0; at <= names.size();) {
        const size_t end = std::min(names.find(" or ", at), names.size());
        count += countOf(report, withoutRemark(names.substr(at, end - at)));
        at = end + 4;
    }
    return count;
}

/// What the first run of that signature asks for.
Result<FusionOptions> optionsOf(const GoldenRun& run, const Model& model)
{
    FusionOptions options;
    if (model.dialect != Dialect::tf) return options;
    LS_TRY(options.selection, completeSelection(model, {run.feeds, run.fetches, run.targets}, run.signature));
    for (const auto* names : {&options.selection->fetches, &options.selection->feeds, &options.selection->targets})
        options.keeps.insert(options.keeps.end(), names->begin(), names->end());
    options.signature = run.signature;
    options.root = rootOf(model, run.signature);
    return options;
}

std::string unmet(const FusionExpectation& expectation, int64_t count)
{
    if (expectation.isDeclined) return expectation.name + " came out, must not";
    return expectation.name + " came out " + std::to_string(count) + " times, want " + std::to_string(expectation.count);
}

} // namespace

Result<FusionCheck> checkFusion(const GoldenCase& golden, const LoadedModel& file)
{
    FusionCheck check;
    std::vector<FusionReport> reports;
    for (const GoldenRun& run : golden.runs) {
        if (check.fused.contains(run.signature)) continue;
        LoadedModel& fused = check.fused[run.signature] = file;
        LS_TRY(const FusionOptions options, optionsOf(run, file.model));
        LS_TRY(FusionReport report, fuseOperators(fused.model, options));
        LS_CHECK_OK(verifyModel(fused.model));
        reports.push_back(std::move(report));
    }
    for (const FusionExpectation& expectation : golden.expectations) {
        int64_t most = 0;
        bool isMet = expectation.isDeclined;
        for (const FusionReport& report : reports) {
            const int64_t count = countOfAny(report, expectation.name);
            isMet = expectation.isDeclined ? isMet && count == 0 : isMet || count == expectation.count;
            most = std::max(most, count);
        }
        ++check.total;
        check.met += isMet ? 1 : 0;
        if (!isMet && check.firstUnmet.empty()) check.firstUnmet = unmet(expectation, most);
    }
    return check;
}

} // namespace loopscope::app
