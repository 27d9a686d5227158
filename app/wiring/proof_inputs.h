// Inputs that a proof tries beside those that it is given: drawn from what a program declares, with the corners where programs part, and
// made smaller as long as they still show a difference.
#pragma once

#include "engine/api/inputs/run_target.h"
#include "engine/base/result.h"
#include "engine/tensor/npy.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace loopscope::app {

/// How many kinds of draws there are; sample k is of kind k modulo this: plain random numbers, zeros, ±1, ordinary numbers with corners
/// among them, extremes, NaN and infinities, empty dimensions, other sizes.
inline constexpr int kDrawKinds = 8;
std::string drawKindText(int64_t sample);

/// One input after the other. `own`: what the program is given, whose sizes are kept where dimensions are open; empty: not known. Only
/// seed, sample and types decide. Errors: unsupported (an input of a dtype that nothing can be drawn of), usage (too large).
Result<std::vector<Array>> drawInputs(const RunTarget& target, std::span<const Array> own, uint64_t seed, int64_t sample);

/// Makes counts, open dimensions and elements smaller as long as `shows` says yes, at most `most` times asked. What it gives shows it.
std::vector<Array> minimized(const RunTarget& target, std::vector<Array> inputs, const std::function<bool(std::span<const Array>)>& shows,
                             int most = 400);

/// "n=3  x=[[1,2],[3,4]]": as `-i` takes them, of long ones the beginning.
std::string inputsText(const RunTarget& target, std::span<const Array> inputs);

} // namespace loopscope::app
