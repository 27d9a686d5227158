// What a dataflow machine consists of while it runs: programs, frames, iterations, activations and calls. docs/dataflow.md states the
// rules; the names are TensorFlow's (core/common_runtime/propagator_state.h).
#pragma once

#include "engine/exec/dataflow/cell.h"
#include "engine/exec/dataflow/graph_code.h"
#include "engine/exec/dataflow_state.h"
#include "engine/exec/taken_from.h"
#include "engine/kernels/kernel.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace loopscope::dataflow {

struct Frame;
struct Activation;
struct Call;

/// One iteration of a frame instance: what each node waits for, and the values that lie in it. Iterations are pooled for each frame code.
struct Iteration {
    Frame* frame = nullptr;
    int64_t number = 0;
    int32_t depth = 0;       ///< frames around it
    InvocationId invocation; ///< 0 until its first node runs
    Step enteredAtStep;
    int64_t startNs = 0; ///< if times are on
    TakenFrom taken;
    int32_t outstanding = 0; ///< nodes that are ready or running
    int32_t ready = 0;
    int32_t firstWord = 0;                     ///< no earlier word of readyBits has a bit
    bool active = false;                       ///< it is in the machine's list of iterations with ready nodes
    std::vector<Waiting> waiting;              ///< by position
    std::vector<Cell*> slots;                  ///< null: not there (yet)
    std::vector<int32_t> uses;                 ///< by slot: reads that are left
    std::vector<uint64_t> readyBits, deadBits; ///< by position
    std::vector<Frame*> children;              ///< frames and callees opened in it that have not completed
};

/// A value that waits in a frame for iterations to come, and the node that gave it.
struct Held {
    int32_t node = -1;
    Cell* cell = nullptr;
};

/// A frame instance: of a frame name in one iteration of the frame around it, or of a graph that is called.
struct Frame {
    const FrameCode* code = nullptr;
    int32_t index = 0; ///< in GraphCode::frames
    Activation* activation = nullptr;
    Iteration* parent = nullptr; ///< null: the root
    int64_t serial = 0;          ///< order of opening
    int64_t iterationCount = 0;  ///< the newest iteration
    int32_t pendingEnters = 0;
    std::vector<Iteration*> alive;  ///< in order
    std::vector<Held> deferred;     ///< NextIterations beyond parallel_iterations
    std::vector<Held> invariants;   ///< constant Enters
    std::vector<int32_t> deadExits; ///< nodes
};

struct OutputPlan {
    DType dtype = DType::unknown;
    Shape shape = Shape::unknownRank();
    size_t bytes = 0;
    bool isFixed = false; ///< else the kernel gives it its size
};

/// A kernel that is prepared for the shapes that came last.
struct KernelState {
    KernelFunction run = nullptr;
    std::shared_ptr<const void> params;
    bool isReady = false;        ///< `outputs` hold for the shapes below
    bool infersFromData = false; ///< sizes depend on operands' values: infer every time
    int preparations = 0;
    std::vector<std::pair<DType, Shape>> inputs;
    std::vector<OutputPlan> outputs;
};

struct Tally {
    int64_t runs = 0, dead = 0, lastLive = -1, lastDead = -1;
};

/// A graph made ready: its code, kernels and constants, and what has been counted.
struct Program {
    explicit Program(GraphCode compiled) : code(std::move(compiled)) {}
    GraphCode code;
    std::vector<KernelState> kernels;          ///< by node
    std::vector<Cell*> constants;              ///< by node; null until first used
    std::vector<Tally> tallies;                ///< by node
    std::vector<int32_t> channels;             ///< by GraphCode::channels: of the rendezvous
    std::vector<std::vector<Iteration*>> idle; ///< by frame
    std::vector<bool> hasTraps;                ///< by frame
    std::deque<Iteration> iterations;
};

/// A graph that is running: the root, or a callee.
struct Activation {
    Program* program = nullptr;
    Call* call = nullptr; ///< null: the root
    CallRole role = CallRole::main;
    int32_t branch = -1;
    Frame* frame = nullptr;
    int64_t outstanding = 0;    ///< nodes ready or running in all its frames
    std::vector<Cell*> outputs; ///< null: not there (yet)
};

/// A call node that is running.
struct Call {
    Iteration* caller = nullptr;
    int32_t node = -1;
    const CallCode* code = nullptr;
    Activation* callee = nullptr;
    std::vector<Cell*> arguments; ///< of loops the carried values
    int64_t iteration = -1;       ///< loops
    bool inCond = false;
    InvocationId invocation;
    int64_t startNs = 0, invocationStartNs = 0;
    int64_t counter = 0, limit = 0, delta = 0; ///< For
};

inline Program& programOf(const Iteration& iteration) { return *iteration.frame->activation->program; }
inline int32_t nodeIndex(const Iteration& iteration, const Node& node) { return iteration.frame->code->firstNode + node.position; }
inline const Iteration* parentOf(const Iteration& iteration) { return iteration.frame->parent; }
/// The call node that the graph of `iteration` runs for: it is a callee's own.
inline const Node& callNodeOf(const Iteration& iteration)
{
    const Frame& frame = *iteration.frame;
    return programOf(*frame.parent).code.nodes[static_cast<size_t>(frame.activation->call->node)];
}
/// Iterations of frames, and callees that loops run again and again.
inline bool isLoopIteration(const Iteration& iteration)
{
    return iteration.frame->index != 0 || iteration.frame->activation->role == CallRole::loop;
}

} // namespace loopscope::dataflow
