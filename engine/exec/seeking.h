// What an executor over a recording can do and one that computes cannot: be at a distant stop at once, and tell what happened in a loop
// without going through it.
#pragma once

#include "engine/base/counts.h"
#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/observe/events.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/tensor.h"

#include <cstdint>
#include <optional>

namespace loopscope {

/// A value in one execution of a loop.
struct LoopQuery {
    InvocationId caller; ///< the invocation in which the loop is called
    GraphId outside;     ///< its graph
    OperatorId site;     ///< the loop
    GraphId graph;       ///< the loop's cond or body, where the value lies
    ValueId value;
};

/// What is known of a value in an iteration: one of these, or nothing.
struct LoopWrite {
    std::optional<double> number;                 ///< of a single element
    const Tensor* tensor = nullptr;               ///< of several
    const TensorStatistics* statistics = nullptr; ///< where elements were not recorded
};

/// Who is told what happened in a loop. False: no more is wanted.
class LoopListener {
public:
    virtual ~LoopListener() = default;
    /// `step`: operators completed when the body began.
    virtual bool bodyBegan(int64_t iteration, Step step) = 0;
    /// The operator that completed at `step` was the last one before the value was there.
    virtual bool written(int64_t iteration, Step step, const LoopWrite& write) = 0;
};

enum class LoopAnswer : uint8_t {
    unknown,    ///< nothing was told: it has to be gone through
    incomplete, ///< the recording, or who listened, ended before the loop did
    complete
};

/// Beside Executor, for those that may seek.
class Seeking {
public:
    virtual ~Seeking() = default;
    /// True if runTo() takes no longer for a distant tick than for a near one, as things are: nobody listens, nothing is trapped.
    virtual bool seeksNow() const = 0;
    /// The tick of a stop near the end of what was recorded, to halve up to.
    virtual Tick lastTick() const = 0;
    /// All iterations in order, then all writes in order. Does not move. Errors: badFile.
    virtual Result<LoopAnswer> hearLoop(const LoopQuery& query, LoopListener& listener) = 0;
};

} // namespace loopscope
