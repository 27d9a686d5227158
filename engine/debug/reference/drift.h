// How a run drifts away from its reference: per layer, per iteration inside loops, and where loops go round unlike often.
#pragma once

#include "engine/debug/place.h"
#include "engine/debug/reference/reference.h"
#include "engine/debug/target.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

/// How far values are apart: of one write, or of all writes of a result together.
struct DriftFigures {
    double maxAbs = 0;                                    ///< largest of all writes
    double meanAbs = 0;                                   ///< mean over the writes
    double cosine = 1;                                    ///< smallest
    double snr = std::numeric_limits<double>::infinity(); ///< dB, smallest; infinite: equal
    double maxRel = 0;                                    ///< largest; |got − want| / |want|
    std::optional<int64_t> maxUlp;                        ///< largest; floats of one dtype only
    int64_t elements = 0;                                 ///< of all writes
    int64_t different = 0;                                ///< of them, those that are not the same number
    int64_t quantized = 0;                                ///< of all writes, elements of quantized tensors on either side
    int64_t clipped = 0;   ///< of them, those at an end of their dtype; the low end counts where it does not stand for 0, as after a relu
    bool isBeyond = false; ///< the tolerance
    std::string mismatch;  ///< dtypes or shapes do not agree: nothing else is meaningful
};

/// One operator's result, over all its writes in the run; or one write of it.
struct DriftRow : DriftFigures {
    std::string layer;   ///< "fully_connected#1"; inside other graphs "while#0:body/add#2"; "@37": an iteration
    std::string address; ///< of the operator, without iterations: "main/while#0:body/add#2", "main/collatz:frame/up"
    GraphId graph;
    OperatorId op;
    int slot = 0; ///< which result
    int64_t writes = 0;
    Step firstStep = -1; ///< of its first write beyond the tolerance
    Step worstStep = -1; ///< of the write with the largest difference; without any, of the first
};

/// One write of a result inside a loop.
struct DriftWrite {
    int row = 0;
    Step step = -1;
    std::vector<int64_t> iterations; ///< of the loops around it, outermost first
    DriftFigures figures;
};

/// A loop, or a v1 frame, that the two runs left after unlike many iterations.
struct DriftTrips {
    std::string address; ///< of the loop, with the iterations of those around it: "main/while#1", "main/outer@3:frame/inner"
    int64_t here = 0, there = 0;
};

struct Drift {
    std::vector<DriftRow> rows;     ///< in order of the first writes
    std::vector<DriftWrite> writes; ///< in order; of a long run only the first
    bool writesAreCut = false;
    std::vector<DriftTrips> trips; ///< in order; of many only the first
    int first = -1;                ///< row whose write was the first beyond the tolerance; −1: none
    int64_t unpaired = 0;          ///< results that had no partner
};

/// Runs from the start to the end and holds every computed value against the reference. Stands where it stood afterwards. Errors: of
/// Timeline and of the reference.
Result<Drift> collectDrift(const DebugTarget& target, Reference& reference);
/// The same of one value, with a row for each iteration of the innermost loop around it.
Result<Drift> collectDriftOf(const DebugTarget& target, Reference& reference, const ResolvedAddress& value);
/// Goes to step `step`, the write of a row, and gives `use` its result with the partner, which is null where there is none. Both are valid
/// during the call. Stands where it stood afterwards. Errors: of Timeline and of the reference; usage where that step is no such write.
Status withBothSides(const DebugTarget& target, Reference& reference, const DriftRow& row, Step step,
                     const std::function<void(const Tensor& here, const Tensor* there)>& use);
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
