// Runs the cases of a text test: models, inputs, expectations, messages, listings, traces and queries.
#pragma once

#include "app/check/ltest_file.h"
#include "app/check/verdict.h"
#include "engine/kernels/kernel.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace loopscope::app {

/// Replies that `--update` writes: line of the section's `==` → its new lines.
using LtestReplies = std::map<size_t, std::vector<std::string>>;

/// Runs one case with every profile that has a kernel for it, or with `only` (with the reference kernels where the case is not for that
/// profile). Never fails itself: what goes wrong is the verdict. With `replies` not null, replies that differ are collected there instead
/// of failing.
CaseResult runLtestCase(const LtestFile& file, const LtestCase& test, LtestReplies* replies, std::optional<Profile> only = std::nullopt);

/// Rewrites the replies of `print`, `sql` and `session` sections that differ; the number of sections changed. Errors: badFile, cannotWrite.
Result<int64_t> updateLtest(const std::string& path);

} // namespace loopscope::app
