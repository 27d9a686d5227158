// A dataflow machine as a plain value, and back.
#pragma once

#include "engine/exec/dataflow/calls.h"
#include "engine/exec/dataflow/rendezvous.h"
#include "engine/exec/machine_state.h"

namespace loopscope::dataflow {

/// The parts of a machine that a state fills.
struct MachineParts {
    RunCore& core;
    Flow& flow;
    Calls& calls;
    Rendezvous& rendezvous;
    NodeRunner& runner;
    const Replay& replay;
};

/// Fills in all but what the core saves. The machine has a root frame.
void save(const Flow& flow, const Calls& calls, const Rendezvous& rendezvous, const NodeRunner& runner, MachineState& state);
/// Builds frames, iterations and calls of an empty machine as the state has them. Errors: usage where the state belongs to another model
/// or is not whole; the machine is to be cleared then.
Status restore(const MachineParts& parts, const MachineState& state);

} // namespace loopscope::dataflow
