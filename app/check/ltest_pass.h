// Passes in text tests: `== pass NAME`, and what must have become of the model.
#pragma once

#include "app/check/ltest_file.h"
#include "converters/passes/rewrite.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <string>
#include <vector>

namespace loopscope::app {

/// Runs the passes that the section names (`raise,remove-dead`); `fetch=`, `target=` and `feed=` say what keeps its name.
/// Errors: usage, and what the passes say.
Result<RewriteReport> runTestPasses(Model& model, const LtestSection& section);

/// The model's graphs as `list` prints them, without what stands in front of them. Null: none.
std::vector<std::string> graphLines(const Model* model);

/// What a pass left, a line each: "node: rule".
std::vector<std::string> declinedLines(const RewriteReport& report);

/// Why `== unchanged [reason "…"]` does not hold; empty: it does.
std::string whyChanged(const LtestSection& section, const Model& before, const Model& after, const RewriteReport& report);

} // namespace loopscope::app
