// What a dataflow run consists of beside its values, as plain data: calls, frames, iterations, what their nodes wait for, and where each
// value lies. Part of a MachineState; numbers are positions in these lists, so that a state belongs to a model and to no session.
#pragma once

#include "engine/base/counts.h"
#include "engine/base/ids.h"
#include "engine/exec/taken_from.h"
#include "engine/observe/events.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope {

/// Where a value is found.
struct CellState {
    enum class Kind : uint8_t {
        absent,
        dead,
        token,    ///< MachineState::tokens[index]
        inFrame,  ///< values[index] of the frame of the stack that the iteration is (IterationState::stackFrame)
        recorded, ///< of a recording: result `slot` of step `index`
        alias,    ///< what the variable with handle `index` holds, whatever it becomes
    } kind = Kind::absent;
    int32_t slot = 0;
    int64_t index = 0;
    bool operator==(const CellState&) const = default;
};

/// A value that waits in a frame for iterations to come, and the node that gave it.
struct HeldState {
    int32_t node = -1;
    CellState cell;
    bool operator==(const HeldState&) const = default;
};

/// What a node waits for, where it is not what every iteration begins with.
struct WaitingState {
    int32_t position = 0; ///< of the node in its frame
    int32_t pending = 0, dead = 0, chosen = -1;
    bool operator==(const WaitingState&) const = default;
};

/// A value that lies in an iteration.
struct SlotState {
    int32_t slot = 0;
    int32_t uses = 0; ///< reads that are left
    CellState cell;
    bool operator==(const SlotState&) const = default;
};

struct IterationState {
    int64_t number = 0;
    InvocationId invocation; ///< 0 until its first node runs
    Step enteredAtStep;
    TakenFrom taken;
    int32_t outstanding = 0;
    int32_t stackFrame = -1; ///< index into MachineState::frames; −1: it is not on the stack
    std::vector<WaitingState> waiting;
    std::vector<uint64_t> ready, dead; ///< bits by position
    std::vector<SlotState> values;     ///< by slot
    bool operator==(const IterationState&) const = default;
};

/// A frame instance, or the graph of an activation.
struct DataflowFrameState {
    int32_t activation = 0; ///< index into DataflowState::activations
    int32_t index = 0;      ///< which of its graph's frames; 0: the graph itself
    int32_t parent = -1;    ///< the iteration around it: all iterations counted through, frame by frame; −1: none
    int32_t pendingEnters = 0;
    int64_t serial = 0; ///< order of opening
    int64_t iterationCount = 0;
    std::vector<HeldState> deferred, invariants;
    std::vector<int32_t> deadExits; ///< nodes
    std::vector<IterationState> iterations;
    bool operator==(const DataflowFrameState&) const = default;
};

/// A call node that is running.
struct DataflowCallState {
    int32_t caller = -1; ///< the iteration that it runs in, counted as DataflowFrameState::parent
    int32_t node = -1;
    int64_t iteration = -1;
    bool inCond = false;
    InvocationId invocation;
    int64_t counter = 0, limit = 0, delta = 0; ///< For
    std::vector<CellState> arguments;
    bool operator==(const DataflowCallState&) const = default;
};

/// A graph that is running.
struct ActivationState {
    GraphId graph;
    int32_t call = -1; ///< index into DataflowState::calls; −1: the root
    CallRole role = CallRole::main;
    int32_t branch = -1;
    int64_t outstanding = 0;
    std::vector<CellState> outputs;
    bool operator==(const ActivationState&) const = default;
};

/// A value that was sent and that nobody has received.
struct SentState {
    std::string key;
    CellState cell;
    bool operator==(const SentState&) const = default;
};

/// A Recv that waits.
struct ParkedState {
    std::string key;
    int32_t iteration = -1; ///< counted as DataflowFrameState::parent
    int32_t position = 0;
    bool operator==(const ParkedState&) const = default;
};

/// How often a node has run.
struct TallyState {
    GraphId graph;
    int32_t node = -1;
    int64_t runs = 0, dead = 0, lastLive = -1, lastDead = -1;
    bool operator==(const TallyState&) const = default;
};

struct DataflowState {
    int64_t serial = 0;                       ///< of the next frame
    std::vector<DataflowCallState> calls;     ///< in order of beginning
    std::vector<ActivationState> activations; ///< [0]: the root
    std::vector<DataflowFrameState> frames;   ///< from the outside inwards
    std::vector<SentState> sent;              ///< by key; of one key in the order in which they came
    std::vector<ParkedState> parked;          ///< by key
    std::vector<TallyState> tallies;          ///< of nodes that have run, graph by graph
    bool operator==(const DataflowState&) const = default;
    /// Bytes that it holds.
    uint64_t byteSize() const;
};

} // namespace loopscope
