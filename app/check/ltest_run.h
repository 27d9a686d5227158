// Runs the cases of a text test: models, inputs, expectations, messages, listings, traces and queries.
#pragma once

#include "app/check/ltest_file.h"
#include "app/check/verdict.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace loopscope::app {

/// Replies that `--update` writes: line of the section's `==` → its new lines.
using LtestReplies = std::map<size_t, std::vector<std::string>>;

/// Runs one case. Never fails itself: what goes wrong is the verdict. With `replies` not null, replies that differ are collected there
/// instead of failing.
CaseResult runLtestCase(const LtestFile& file, const LtestCase& test, LtestReplies* replies);

/// Rewrites the replies of `print`, `sql` and `session` sections that differ; the number of sections changed. Errors: badFile, cannotWrite.
Result<int64_t> updateLtest(const std::string& path);

} // namespace loopscope::app
