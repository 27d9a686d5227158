// The state of an interpreter between two operators as a plain value: no pointers into a session, so it can be kept, compared,
// hashed and restored at any time.
#pragma once

#include "engine/base/bytes.h"
#include "engine/base/counts.h"
#include "engine/base/ids.h"
#include "engine/exec/dataflow_state.h"
#include "engine/exec/remote_value.h"
#include "engine/exec/variable_races.h"
#include "engine/kernels/resources.h"
#include "engine/observe/events.h"
#include "engine/tensor/dtype.h"
#include "engine/tensor/shape.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace loopscope {

/// A live value of a frame. Bytes are shared between snapshots where the writer can tell they are the same.
struct ValueState {
    ValueId value;
    DType dtype = DType::unknown;
    Shape shape;
    Bytes bytes;
    RemoteValuePtr remote; ///< the rank that has the bytes; null: they are here
};

/// One frame: which graph, how entered, where it stands, what is live in it.
struct FrameState {
    GraphId graph;
    CallRole role = CallRole::main;
    int32_t branch = -1;
    InvocationId invocation;
    OperatorId site;
    int64_t iteration = -1;
    bool inCond = false;
    int32_t next = 0; ///< index of the next operator
    Step enteredAtStep;
    TakenFrom taken;
    std::vector<ValueState> values;
    std::vector<ValueState> carried; ///< loops: the carried values, by position (ValueState::value is the position)
};

struct MachineState {
    Step step;
    InvocationId nextInvocation = 1;
    bool finished = false;
    std::vector<FrameState> frames; ///< outermost first
    ResourceStore resources;
    RandomState random;
    std::vector<GraphId> initialised;                      ///< graphs that CALL_ONCE has run
    std::vector<std::pair<GraphId, ValueState>> variables; ///< is_variable values of all graphs
    std::vector<ValueState> tokens;                        ///< DataflowExecutor: values that lie outside of `frames`
    DataflowState dataflow;                                ///< DataflowExecutor: everything that is no value
    /// What has been noticed about orders, which decides nothing about what happens next: no part of the hash.
    VariableAccesses accesses;
    std::vector<DataflowRace> races;

    /// Content hash: equal for equal states. The property tests of stepping and time travel compare it.
    uint64_t hash() const;
    /// Bytes this snapshot holds.
    uint64_t byteSize() const;
};

} // namespace loopscope
