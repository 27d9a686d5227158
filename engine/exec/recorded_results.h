// What a recording knows of a run of a dataflow graph: it takes the place of kernels where such a run is stepped through again.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/observe/events.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/tensor.h"

#include <cstdint>
#include <optional>
#include <string>

namespace loopscope {

/// The node that completed at a step.
struct RecordedNode {
    InvocationId invocation;
    GraphId graph;
    OperatorId op;
    EventState state = EventState::live;
};

/// A result, as far as it is known. The pointers are valid until RecordedResults::movedOn().
struct RecordedResult {
    const Tensor* tensor = nullptr;               ///< null: its elements were not recorded
    const TensorStatistics* statistics = nullptr; ///< null: none
    bool isDead = false;
};

/// Not thread-safe; asked by the executor's thread.
class RecordedResults {
public:
    static constexpr Step kInputs = -1; ///< instead of a step: slot k is input k of the root graph

    virtual ~RecordedResults() = default;
    virtual const Model& model() const = 0;
    virtual GraphId root() const = 0;
    virtual InvocationId firstInvocation() const = 0;
    virtual Step steps() const = 0; ///< that were recorded, gaps included
    /// none: it was not recorded. Errors: badFile.
    virtual Result<std::optional<RecordedNode>> node(Step step) const = 0;
    /// With id, parent, role, iteration, step and, but for frames, callerGraph and site. none: there is none with this id. Errors: badFile.
    virtual Result<std::optional<InvocationStart>> invocation(InvocationId id) const = 0;
    virtual RecordedResult result(Step step, int32_t slot) = 0;
    /// Why nothing follows at this place, after the last step.
    virtual Error ending(const std::string& address) const = 0;
    /// The executor moves on: what result() gave may go.
    virtual void movedOn() = 0;
};

} // namespace loopscope
