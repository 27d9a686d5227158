// What an observer may be beside: one that takes whole iterations of a loop at once, as the bytes of their results. Telling of each
// operator takes several times as long as an operator of scalars does.
#pragma once

#include "engine/base/counts.h"
#include "engine/base/ids.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace loopscope {

/// Iterations of a loop in whose graphs there is nothing that is entered, so that each of them is a row: the operators of the body, then
/// those of the next condition. Results keep their places in memory descriptors, types and sizes all the time; valid during the call.
struct TripsStart {
    InvocationId invocation; ///< of the iteration whose body is next
    InvocationId following;  ///< of the one behind it; each further one has one more
    Step step;               ///< index of the next operator to complete
    GraphId body, cond;
    std::span<const std::span<const Tensor*const>> ofBody, ofCond; ///< results, by operator
};

/// One result of a row.
struct TripCell {
    const Tensor* result = nullptr;
    size_t offset = 0;          ///< in the row
    size_t bytes = 0;           ///< not 0
    int32_t kernel = INT32_MAX; ///< which operator of the row writes it; of one behind the last: as it is here
};

/// Where the bytes go, or what they are compared with.
struct TripTape {
    const TripCell* cells = nullptr; ///< of a row, by operator, and one more behind the last
    std::byte* rows = nullptr;
    size_t rowBytes = 0;
    int64_t count = 0;     ///< rows, at the most
    bool compares = false; ///< stops behind an operator whose result is not that of the tape; else the tape is written
};

/// An observer that is one of these is asked before iterations that consist of operators alone, wherever nobody else listens.
class TripTaker {
public:
    virtual ~TripTaker() = default;
    /// Null: tell of each operator as ever. The tape stays valid until tripsEnded.
    virtual const TripTape* tripsStarted(const TripsStart& start) = 0;
    /// So many rows are done, and of one more, in which it stops, so many operators (−1: there is none), which are not told of otherwise.
    /// What comes behind them is, first the operator that fails or whose result differs. Not called where a run ends by an exception.
    virtual void tripsEnded(int64_t rows, int32_t kernels) = 0;
};

} // namespace loopscope
