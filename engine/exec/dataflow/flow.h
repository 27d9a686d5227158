// Where values lie and what they make ready: frames and their iterations, TensorFlow's rules of activation, and which node is next.
#pragma once

#include "engine/exec/dataflow/frames.h"
#include "engine/exec/run_core.h"

#include <deque>
#include <vector>

namespace loopscope::dataflow {

/// Where the machine stands.
struct Standing {
    Iteration* iteration = nullptr; ///< of the next node
    const Node* node = nullptr;     ///< the next node; null: none
    bool isDead = false;            ///< it will be passed over
};

enum class Announce : uint8_t { yes, no };

/// Not thread-safe. Knows nothing of kernels and calls.
class Flow {
public:
    explicit Flow(RunCore& core);

    CellPool& cells() { return m_cells; }
    const CellPool& cells() const { return m_cells; }
    /// Of the node that runs; null or dead: not given.
    std::vector<Cell*>& results() { return m_results; }

    // What is next
    Standing& standing() { return m_standing; }
    const Standing& standing() const { return m_standing; }
    /// Makes the next node the one where the machine stands. False: there is none.
    bool select();
    /// Iterations with ready nodes, in no order; some have none any more.
    const std::vector<Iteration*>& active() const { return m_active; }
    /// The order of execution: callees before what is around them, inner frames after it, iterations by number, frames by opening.
    static bool precedes(const Iteration& a, const Iteration& b);
    /// State of the random order; 0: the documented order.
    uint64_t schedule() const { return m_schedule; }
    void setSchedule(uint64_t seed) { m_schedule = seed; }
    /// The node is taken, or given back.
    static void unmark(Iteration& iteration, const Node& node);
    static void mark(Iteration& iteration, const Node& node);

    // Where values go
    /// The results of the node that ran go where they belong.
    Status propagate(Iteration& iteration, const Node& node, bool isDead);
    Status deliverEdge(Iteration& target, const Program& program, const Edge& edge, bool sourceDead, bool fromEnter);
    void put(Iteration& iteration, int32_t slot, Cell* cell);
    void markReady(Iteration& iteration, int32_t position, bool isDead);
    void dropResults(int32_t count);

    // whole.cpp: iterations of straight frames (FrameCode::straight), whose nodes run one after the other by position
    void beginWhole(const Iteration& iteration);
    /// Whether the node is dead, if it is no Merge.
    bool isPassedOver(int32_t position) const { return (m_deadNodes[static_cast<size_t>(position) / 64] >> (position % 64) & 1) != 0; }
    /// How many live operands a Merge has; the first is chosen.
    static int32_t chooseOperand(Iteration& iteration, const Node& merge);
    /// What propagate() does, but for noting what waits for it.
    Status keepResults(Iteration& iteration, const Node& node, bool isDead);
    /// Nobody reads the value any more.
    void forget(Iteration& iteration, int32_t slot);
    /// Before the node at `position`: what was not noted is made up for, and the iteration goes on like any other.
    Status leaveWhole(Iteration& iteration, int32_t position);
    /// All nodes have run; the last of them counts as running still.
    static void endWhole(Iteration& iteration);

    // Frames and iterations
    /// The root's, or null.
    Frame* root() const { return m_root; }
    Frame& openFrame(Activation& activation, int32_t index, Iteration* parent);
    Iteration& addIteration(Frame& frame, int64_t number);
    /// Takes an iteration out of everything but its frame's list.
    void dropIteration(Iteration& iteration);
    /// Drops a frame with everything that lies in it, frames inside it included.
    void dropFrame(Frame& frame, Announce announce);
    /// Ends iterations that have nothing left to do, in order, and with the last one the frame.
    Status retire(Frame& innermost);
    int64_t serial() const { return m_serial; }
    /// Of the next frame; and that iterations with ready nodes are known, when a state is restored.
    void restoreSerial(int64_t serial) { m_serial = serial; }
    void restoreActive(Iteration& iteration);
    /// Everything goes, unheard.
    void clear();

private:
    Iteration* firstActive();
    bool pickAny(int32_t& position);
    Status deliver(Iteration& target, const Program& program, const Node& source, bool isDead);
    Status enterFrame(Iteration& iteration, const Node& node, bool isDead);
    Status startIteration(Frame& frame);
    Status nextIteration(Iteration& iteration, const Node& node, bool isDead);
    Status leaveFrame(Iteration& iteration, const Node& node, bool isDead);
    void consume(Iteration& iteration, const Node& node);
    Status arrive(Iteration& target, const Program& program, const Edge& edge, bool isLive, bool fromEnter, Step at);
    void passOver(const Program& program, const Edge& edge);
    Result<Frame*> completeFrame(Frame& frame);

    RunCore& m_core;
    const bool m_keepAll;
    CellPool m_cells;
    std::vector<Cell*> m_results;
    std::deque<Frame> m_frameStore;
    std::vector<Frame*> m_idleFrames;
    std::vector<Iteration*> m_active;
    Standing m_standing;
    Frame* m_root = nullptr;
    int64_t m_serial = 0;
    uint64_t m_schedule;
    // Of the iteration that runs as a whole
    Step m_wholeFrom;                               ///< when it began
    std::vector<uint64_t> m_deadNodes, m_deadSlots; ///< bits by position, and by slot: found dead
};

} // namespace loopscope::dataflow
