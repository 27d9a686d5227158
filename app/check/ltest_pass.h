// Passes in text tests: `== pass NAME`, and what must have become of the model.
#pragma once

#include "app/check/ltest_file.h"
#include "converters/passes/rewrite.h"
#include "engine/base/result.h"
#include "engine/ir/model.h"

#include <string>
#include <vector>

namespace loopscope::app {

/// Runs the passes that the section names (`raise,remove-dead`); `fetch=`, `target=` and `feed=` say what keeps its name, `only=` and
/// `skip=` which rules of fusing are used.
/// Errors: usage, and what the passes say.
Result<RewriteReport> runTestPasses(Model& model, const LtestSection& section);

/// The rewrites that the pass 'fuse' of the section makes of `before`, each proved in its class on drawn inputs: "HARD_SWISH from a, y
/// (hard-swish, real-equal)". What does not hold says so. Errors: of fusing; usage, without a pass that fuses.
Result<std::vector<std::string>> provedLines(const Model& before, const LtestSection* section);

/// The model's graphs as `list` prints them, without what stands in front of them. Null: none.
std::vector<std::string> graphLines(const Model* model);

/// What a pass left, a line each: "node: rule".
std::vector<std::string> declinedLines(const RewriteReport& report);

/// Why `== unchanged [reason "…"]` does not hold; empty: it does.
std::string whyChanged(const LtestSection& section, const Model& before, const Model& after, const RewriteReport& report);

} // namespace loopscope::app
