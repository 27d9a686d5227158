// From what a user calls an operator, a value or a loop to its row: addresses, labels, names of values, patterns.
#pragma once

#include "engine/base/result.h"
#include "tracer/api/trace_reader.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace loopscope {

/// An operator and, where the name said so, one of its results.
struct RecordedPlace {
    int64_t op = 0;
    std::optional<int64_t> slot;
};

/// An address ("main/while#1/add#2:1"; iterations are ignored), a label or the name of a value that occurs once, a pattern that matches
/// one operator ("add#*", ".../mul#3"), or the id of a row. Errors: usage, with the nearest names.
Result<RecordedPlace> findPlace(const TraceReader& trace, std::string_view text);
/// Any call of an operator, of a loop its body; or a frame by its name. Errors: usage.
Result<int64_t> findCall(const TraceReader& trace, std::string_view text);
/// The call of a loop operator, or of a frame by its name. Errors: usage (it is no loop).
Result<int64_t> findLoop(const TraceReader& trace, std::string_view text);
/// An operator that chooses a branch. Errors: usage (it does not).
Result<int64_t> findBranch(const TraceReader& trace, std::string_view text);
/// Where nothing was said: the only one that there is. Errors: usage, with those that there are.
Result<int64_t> onlyLoop(const TraceReader& trace);
Result<int64_t> onlyBranch(const TraceReader& trace);

} // namespace loopscope
