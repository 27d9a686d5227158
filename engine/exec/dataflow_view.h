// What a debugger shows of a TensorFlow 1 graph that runs: frames, values under way, what is ready, what is dead and why. Plain values,
// valid after the executor has moved on.
#pragma once

#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/exec/race.h"
#include "engine/observe/events.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

/// A frame instance with iterations that are alive, or the root graph.
struct DataflowFrame {
    std::string name;    ///< frame name; of the root and of callees the graph's id
    std::string address; ///< of its newest iteration: "main/outer@3:frame/inner@2"
    GraphId graph;
    OperatorId enter; ///< the first Enter that leads into it; invalid for graphs
    CallRole role = CallRole::frame;
    int depth = 0; ///< 0: the root
    int64_t oldestIteration = 0, newestIteration = 0;
    int32_t parallelIterations = 1;
    int32_t missingEnters = 0;         ///< Enters that have not run yet
    int32_t deferred = 0;              ///< values that wait for parallel_iterations to allow another iteration
    int32_t ready = 0;                 ///< nodes, in all of its iterations
    int32_t values = 0;                ///< that lie in its iterations
    std::vector<OperatorId> deadExits; ///< Exits that leave the frame dead if this iteration is its last
};

/// A value that lies in an iteration and that some node has not taken yet.
struct DataflowToken {
    std::string address; ///< of the value: "main/ctx@2:frame/Add:0"
    GraphId graph;
    ValueId value;
    int64_t iteration = -1;
    bool isDead = false;
    std::vector<OperatorId> waiting; ///< nodes that read it and wait for something else
};

/// A value that lies in an iteration, whether or not all who read it have taken it.
struct DataflowValue {
    GraphId graph;
    ValueId value;
    int32_t frame = 0; ///< index into frames()
    int64_t iteration = -1;
    bool isDead = false;
    std::string text; ///< of one element: "4", "true"; empty: more, or no number
};

/// A node that can run now, in the order in which nodes will run.
struct DataflowReady {
    std::string address;
    GraphId graph;
    OperatorId op;
    InvocationId invocation;
    bool willBeDead = false;
};

/// How often a node ran in this run, and how often it was dead.
struct DataflowTally {
    GraphId graph;
    OperatorId op;
    int64_t runs = 0, dead = 0;
    int64_t lastLive = -1, lastDead = -1; ///< iterations; −1: never, or outside of frames
};

/// One hop from a dead node to the reason.
struct DeadHop {
    OperatorId op;
    enum class Cause : uint8_t {
        untaken,     ///< `op` reads output `slot` of the Switch `source`, and the predicate chose the other
        deadInput,   ///< `op` reads output `slot` of `source`, which was dead itself
        deadControl, ///< `op` waits for `source`, which was dead
        unsent,      ///< a Recv got what a dead Send sent
        unknown,     ///< what it read is gone
    } cause = Cause::unknown;
    OperatorId source;
    int32_t slot = -1;
    OperatorId predicate;      ///< untaken: the node that gave the predicate, before Identities
    std::string predicateText; ///< "true", "false", the index of a _SwitchN; empty if it is gone
};

/// A Recv that waits, and what keeps its Send from sending.
struct DataflowWait {
    GraphId graph;
    OperatorId receive;
    std::string address, key;    ///< of the Recv; under which it waits
    OperatorId send;             ///< invalid: nobody in what runs sends that
    std::vector<OperatorId> way; ///< from the Send backwards over nodes that have not run; empty: it does not run in this iteration
    int64_t other = -1;          ///< the way ends at another Recv that waits: which of those listed; −1: it does not
    bool canRun = false;         ///< the way ends at a node that can run now
    bool isInside = false;       ///< the way ends at an Exit of a loop that still runs
};

/// Read-only questions to a DataflowExecutor, about where it stands.
class DataflowView {
public:
    virtual ~DataflowView() = default;
    virtual std::vector<DataflowFrame> frames() const = 0;
    virtual std::vector<DataflowToken> tokens() const = 0;
    virtual std::vector<DataflowValue> values() const = 0;
    virtual std::vector<DataflowReady> ready() const = 0;
    /// Picks among the ready nodes; 0: they run as they arrive.
    virtual uint64_t scheduleSeed() const = 0;
    /// The next node will be passed over as dead.
    virtual bool nextIsDead() const = 0;
    /// Nodes that have run, in the order of the file, graph by graph.
    virtual std::vector<DataflowTally> tallies() const = 0;
    /// True if the value of the frame at `depth` (0 = root, −1 = innermost) is dead in its present iteration.
    virtual bool isDead(int depth, ValueId value) const = 0;
    /// From the node backwards to the Switch and its predicate, in the present iteration of its frame. Errors: usage if it is not dead.
    virtual Result<std::vector<DeadHop>> whyDead(GraphId graph, OperatorId op) const = 0;
    virtual std::vector<DataflowWait> waits() const = 0;
    virtual std::vector<DataflowRace> races() const = 0;
    /// While a handler is told that a node has run (TrapHandler::afterOperator): names of the frames that complete with it, innermost
    /// first.
    virtual std::vector<std::string> endingFrames() const = 0;
    /// Nodes of the root graph that run, of all that it has; what TensorFlow would log about it.
    virtual int64_t reachableNodes() const = 0;
    virtual std::vector<std::string> warnings() const = 0;
};

} // namespace loopscope
