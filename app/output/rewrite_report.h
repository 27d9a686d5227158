// What passes did to a model, for people and for programs.
#pragma once

#include "converters/passes/pass_manager.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <string>
#include <vector>

namespace loopscope::app {

/// Everything that stays, of all passes, each place and rule once.
std::vector<Declined> allDeclined(const std::vector<PassRun>& runs);

/// "while  x  frame 'collatz' -> main/collatz" a line, then what was left and why.
std::string rewriteText(const std::vector<PassRun>& runs);
/// `{"rewrites":[…],"declined":[…]}` as docs/commands.md says.
std::string rewriteJson(const std::vector<PassRun>& runs);

/// Errors: usage, if there is no report of that extension. An empty path is fine.
Status checkReportName(const std::string& path);

/// A report by the extension of its file: .md, .json or .html, the last one self-contained. Errors: as checkReportName.
Result<std::string> rewriteReport(const std::string& path, const std::string& title, const Model& before, const Model& after,
                                  const std::vector<PassRun>& runs);

} // namespace loopscope::app
