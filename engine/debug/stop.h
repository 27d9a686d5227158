// What a debugger answers when it stops: where, why (every reason at once), and what changed on the way.
#pragma once

#include "engine/exec/executor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope {

enum class StopCause : uint8_t {
    breakpoint, ///< `number` and, for value breakpoints, `value`
    watch,      ///< the same, of a watch
    nan,        ///< a breakpoint on NaN
    stepDone,   ///< what was asked for is done: step, next, iter, goto
    returned,   ///< from an invocation
    finished,
    error, ///< a kernel, a budget of depth or memory: `text` is the message
    cancelled,
    budget, ///< the step budget
    edited,
    differs, ///< from the reference run
    startReached,
};

struct StopReason {
    StopCause cause = StopCause::stepDone;
    int number = 0;    ///< of the breakpoint, from 1; 0: none
    std::string value; ///< the value that it is about, as listed; empty: none
    std::string text;  ///< error message; of `differs`: got, want and where
    bool operator==(const StopReason&) const = default;
};

/// "breakpoint 1", "watch 2 (acc)", "NaN", "step done", "returned", "finished", "error: …", "cancelled", "budget: …", …
std::string toString(const StopReason& reason);

/// A value that another stop had with other contents. `text`s are as `print` shows them; empty `old`: it was not written then.
struct ValueChange {
    int depth = 0; ///< frame that holds it, 0 = root
    ValueId value;
};

/// A log point that was passed.
struct LogLine {
    int number = 0; ///< of the log point
    std::string text;
    std::string address;
    Step step = 0;
};

/// Plain data: it stays valid when the debugger moves on.
struct StopReport {
    std::vector<StopReason> reasons;
    std::string address; ///< of the next operator; the root when finished
    Position position;
    Tick tick = 0;
    TimelineId timeline = 1;
    Tick ranFrom;                     ///< tick at which the request began
    std::vector<ValueChange> written; ///< by a single step, or a call that was passed over, in the same invocation
    std::vector<LogLine> logs;
    bool has(StopCause cause) const
    {
        for (const StopReason& reason : reasons)
            if (reason.cause == cause) return true;
        return false;
    }
};

} // namespace loopscope
