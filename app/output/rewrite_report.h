// What passes did to a model, for people and for programs.
#pragma once

#include "app/output/report_page.h"
#include "converters/passes/pass_manager.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <string>
#include <vector>

namespace loopscope::app {

/// How far the rewrites of a model are proved, in the words of whoever proved it.
struct RewriteProof {
    std::string verdict; ///< "exact", …; empty: nothing was proved
    double error = 0;    ///< the largest difference of two floats
    std::vector<std::string> lines;
    std::string json; ///< the whole of it, an object
};

/// Everything that stays, of all passes, each place and rule once.
std::vector<Declined> allDeclined(const std::vector<PassRun>& runs);

/// "while  x  frame 'collatz' -> main/collatz" a line, then what was left and why.
std::string rewriteText(const std::vector<PassRun>& runs);
/// `{"rewrites":[…],"declined":[…]}` as docs/commands.md says.
std::string rewriteJson(const std::vector<PassRun>& runs, const RewriteProof& proof = {});

/// A report by the extension of its file: .md, .json or .html, the last one self-contained and with both graphs as pictures.
/// Errors: as checkReportName; of Graphviz.
Result<std::string> rewriteReport(const std::string& path, const std::string& title, const Model& before, const Model& after,
                                  const std::vector<PassRun>& runs, const RewriteProof& proof = {});

} // namespace loopscope::app
