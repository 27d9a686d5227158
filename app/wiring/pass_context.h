// What passes are given by the program around them: what keeps its name, and something that computes constants.
#pragma once

#include "converters/passes/pass.h"

#include <string>
#include <vector>

namespace loopscope::app {

/// Runs with the reference kernels, in a session of its own.
ConstantEvaluator constantEvaluator();

/// The parts of lists such as `--of a,b --of c`.
std::vector<std::string> namesIn(const std::vector<std::string>& lists);

/// The names of `--fetch`, `--target` and `--feed`, apart by commas; of a feed without what it is fed.
RaiseOptions visibleNames(const std::vector<std::string>& fetches, const std::vector<std::string>& targets,
                          const std::vector<std::string>& feeds);

} // namespace loopscope::app
