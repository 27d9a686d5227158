// How a run drifts away from its reference: per layer, and per iteration inside loops.
#pragma once

#include "engine/debug/place.h"
#include "engine/debug/reference/reference.h"
#include "engine/debug/target.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

/// One operator's result, over all its writes in the run; or one write of it.
struct DriftRow {
    std::string layer;      ///< "fully_connected#1"; inside other graphs "while#0:body/add#2"; "@37": an iteration
    int64_t writes = 0;
    double maxAbs = 0;      ///< largest of all writes
    double meanAbs = 0;     ///< mean over the writes
    double cosine = 1;      ///< smallest
    double snr = 0;         ///< dB, smallest; infinite: equal
    bool isBeyond = false;  ///< the tolerance
    int64_t firstStep = -1; ///< of its first write beyond the tolerance
    std::string mismatch;   ///< dtypes or shapes do not agree: nothing else is meaningful
};

struct Drift {
    std::vector<DriftRow> rows; ///< in order of the first writes
    int first = -1;             ///< row whose write was the first beyond the tolerance; −1: none
    int64_t unpaired = 0;       ///< results that had no partner
};

/// Runs from the start to the end and holds every computed value against the reference. Stands where it stood afterwards. Errors: of
/// Timeline and of the reference.
Result<Drift> collectDrift(const DebugTarget& target, Reference& reference);
/// The same of one value, with a row for each iteration of the innermost loop around it.
Result<Drift> collectDriftOf(const DebugTarget& target, Reference& reference, const ResolvedAddress& value);
/// As a table with aligned columns, ended lines.
std::string driftText(const Drift& drift);

/// A value of a frame at this stop against its partner.
struct ComparedValue {
    Comparison comparison;
    std::string text; ///< comparisonText
};
/// none: it pairs with nothing, or is not there. Errors: of the reference.
Result<std::optional<ComparedValue>> compareHere(const DebugTarget& target, Reference& reference, int depth, ValueId value);

} // namespace loopscope
