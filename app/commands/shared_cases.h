// Cases that a pool of processes runs, here and on the other ranks of mpirun: what `check`, `trace DIR` and `prove DIR` have in common.
#pragma once

#include "app/check/verdict.h"
#include "app/ranks/ranks.h"

#include <string_view>
#include <vector>

namespace loopscope::app {

class Arguments;
class Console;

/// --filter: what does not match goes. Errors: usage, nothing matches.
Status filterCases(const Arguments& arguments, std::vector<CaseJob>& jobs);

/// Runs the cases, shared with other ranks where there are some, and shows how far it is; under --json a line for each. `verb`: "checking".
Result<std::vector<CaseResult>> runCases(Console& console, const Arguments& arguments, Ranks* ranks, const std::vector<CaseJob>& jobs,
                                         std::string_view verb);
/// Another rank than 0: runs what it is given, and says nothing but to rank 0. The exit code.
int helpWithCases(const Arguments& arguments, Ranks& ranks, const Result<std::vector<CaseJob>>& jobs);

/// Counts, then what did not pass, aligned.
void printCases(Console& console, const std::vector<CaseResult>& results, size_t total, double seconds);
/// 1 if a case failed, else 4 if one was unsupported, else 0; of a cancelled run that of a cancellation.
int exitCodeOf(const std::vector<CaseResult>& results);

} // namespace loopscope::app
