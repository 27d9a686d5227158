// An invocation as it ended: its last operator has run, and what it computed is still there. What faces show of iterations and calls that
// the run has left.
#pragma once

#include "engine/debug/evaluate.h"
#include "engine/debug/inspect/write_search.h"
#include "engine/observe/address.h"
#include "engine/observe/events.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// What can be read there. The executor stands before the last operator; what that gave is kept beside it.
class EndedInvocation {
public:
    EndedInvocation(const DebugTarget& target, OperatorEvent last, std::vector<KeptTensor> results);
    EndedInvocation(const EndedInvocation&) = delete;
    EndedInvocation& operator=(const EndedInvocation&) = delete;

    std::string address() const; ///< canonical: "main/while#0@37:body"
    FrameInfo frame() const;     ///< of the invocation
    int depth() const;           ///< of its frame
    /// Null: there is none. Valid until the executor moves.
    const Tensor* value(ValueId id) const;
    /// As evaluateList().
    Result<std::vector<EvaluatedValue>> evaluate(std::string_view text) const;

private:
    const DebugTarget& m_target;
    std::vector<KeptTensor> m_results;
    std::vector<const Tensor*> m_views;
    OperatorEvent m_last;
};

struct EndSearch {
    int64_t budgetNs = 0;   ///< about how long the search may take; 0: as long as it takes
    int nearestInStep = -1; ///< step of the address of which an earlier iteration will do when the time is over; −1: none will
};

enum class EndFound : uint8_t {
    yes,
    notRun, ///< this timeline did not come to its end, or does not come there
    tooFar, ///< the time was over
};

/// Goes to the end of an invocation ("main/while#0@37:body/if#2:then"), as far as this timeline was run before, lets `look` read it, and
/// stands where it stood afterwards. Errors: usage (no such place; nothing to look at in TensorFlow 1 frames, whose operators run in no
/// order, and in graphs without operators), execution, cancelled.
Result<EndFound> lookAtEnd(const DebugTarget& target, const Address& invocation, const EndSearch& search,
                           const std::function<void(const EndedInvocation&)>& look);

} // namespace loopscope
