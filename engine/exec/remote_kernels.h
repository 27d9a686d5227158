// Kernels that run on other ranks while this machine runs the graph: where the parts of a run stand apart but are stepped through as one
// (docs/distributed.md).
#pragma once

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/exec/remote_value.h"
#include "engine/kernels/kernel.h"

#include <cstdint>
#include <span>

namespace loopscope {

/// Of one executor, on its thread.
class RemoteKernels {
public:
    virtual ~RemoteKernels() = default;
    /// The rank of an operator that runs for `outermost`, an operator of the root graph (itself, or the call that it is inside of); 0:
    /// here.
    virtual int32_t rankOf(OperatorId outermost, GraphId graph, OperatorId op) = 0;
    /// Whether the value need not come here to be an operand of what runs on `rank`.
    virtual bool isThere(int32_t rank, const RemoteValue& value) const = 0;
    /// The large values of one call.
    struct Values {
        std::span<const RemoteValuePtr> operands; ///< of those that are there no data are looked at
        std::span<RemoteValuePtr> results;        ///< filled in for those that stay there; they have no data afterwards
        bool areShown = false;                    ///< somebody looks at results as soon as they are there: their data come at once
    };
    /// Runs the kernel there. Errors: of the kernel; execution, if that rank is lost.
    virtual Status run(int32_t rank, GraphId graph, OperatorId op, const KernelArgs& args, const Values& values) = 0;
};

} // namespace loopscope
