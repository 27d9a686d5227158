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
    /// Runs the kernel there. Of operands that are there no data are looked at. A result that stays there has no data afterwards, but
    /// stands in `results`. Errors: of the kernel; execution, if that rank is lost.
    virtual Status run(int32_t rank, GraphId graph, OperatorId op, const KernelArgs& args, std::span<const RemoteValuePtr> operands,
                       std::span<RemoteValuePtr> results) = 0;
};

} // namespace loopscope
