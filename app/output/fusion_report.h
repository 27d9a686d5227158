// What fusing did to a model, for people and for programs: lines, JSON, and the page with both graphs.
#pragma once

#include "app/wiring/fusion_proof.h"
#include "engine/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace loopscope::app {

/// Everything there is to tell. `proof.proofs` is empty where nothing was proved.
struct ToldFusion {
    FusionProof proof;
    bool isProved = false;
    std::vector<FusionFigures> figures; ///< before and after; empty: not measured
};

/// One line for each rewrite and each refusal.
std::string fusionText(const ToldFusion& told);
/// `{"rewrites":[…],"declined":[…]}` as docs/commands.md says.
std::string fusionJson(const ToldFusion& told);
/// By the extension of `path`: .md, .json or .html. Errors: as checkReportName; of Graphviz.
Result<std::string> fusionReport(const std::string& path, const std::string& title, const Model& before, const Model& after,
                                 const ToldFusion& told);
/// The refusals that concern an operator or value of `model`, which became what `report` tells: lines for people, one where
/// nothing began to match. Errors: nothing of that name is there.
Result<std::vector<std::string>> whyNotFused(const Model& model, const FusionReport& report, std::string_view op);

/// The same of a model that is debugged. Errors: of fusing too.
Result<std::vector<std::string>> whyNotFused(const Model& model, const RunTarget& target, std::string_view op);

} // namespace loopscope::app
