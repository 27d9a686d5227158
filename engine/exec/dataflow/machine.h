// The dataflow executor's inside: frames, iterations and tokens, the loop that runs ready nodes, and how callees are entered and left.
// docs/dataflow.md states the rules; the names are TensorFlow's (core/common_runtime/propagator_state.h).
#pragma once

#include "engine/base/thread_pool.h"
#include "engine/exec/dataflow/cell.h"
#include "engine/exec/dataflow/graph_code.h"
#include "engine/exec/dataflow_executor.h"
#include "engine/kernels/resources.h"
#include "engine/observe/address.h"
#include "engine/ops/catalog.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
    int32_t depth = 0;           ///< frames around it
    InvocationId invocation = 0; ///< 0 until its first node runs
    int64_t enteredAtStep = 0;
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
    std::vector<std::vector<Iteration*>> idle; ///< by frame
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
    InvocationId invocation = 0;
    int64_t startNs = 0, invocationStartNs = 0;
    int64_t counter = 0, limit = 0, delta = 0; ///< For
};

} // namespace loopscope::dataflow

namespace loopscope {

class DataflowExecutor::Impl final : public KernelRuntime, public ResourceListener, public DataflowView {
public:
    using Cell = dataflow::Cell;
    using Iteration = dataflow::Iteration;
    using DynamicFrame = dataflow::Frame;
    using Call = dataflow::Call;
    using Program = dataflow::Program;
    using Node = dataflow::Node;
    using Edge = dataflow::Edge;
    using Running = dataflow::Activation;

    Impl(const Model& model, GraphId root, const ExecutionOptions& options);
    ~Impl() override;

    // executor.cpp: life, inputs, runs
    Status setInput(int index, const Tensor& value);
    Status begin();
    Status start();
    Status step();
    Status run();
    Status runTo(int64_t tick, int64_t step);
    int64_t tick() const { return m_step + m_openCalls; }
    void setTraps(const TrapSet& traps, TrapHandler* handler);
    void muteObserver(bool muted, ExecutionObserver* also);
    void reset();
    void clear();
    template <typename Work> Status guarded(Work work);
    void setLimit();
    Result<Program*> program(GraphId graph);
    void markTraps(Program& program) const;

    // machine.cpp: the loop
    template <bool Single> Status execute();
    bool selectNext();
    Iteration* firstActive();
    static bool precedes(const Iteration& a, const Iteration& b);
    Status runNode(Iteration& iteration, const Node& node, bool isDead);
    void askBefore(const Node& node, bool isDead);
    Status halt();
    Status checkBudget();
    Status finishRun();
    Error fail(Error error);
    Error stopAt(Error error, RunEnd::Reason reason);
    void endRun(RunEnd::Reason reason, std::string_view message);
    void updatePosition();
    void showPosition(Iteration& iteration, const Node& node);
    /// What is queued on a device is done, and what is looked at is on the host.
    void synchronise(SyncPoint point) const
    {
        if (m_options.synchroniser) m_options.synchroniser->reach(point);
    }
    OperatorEvent eventOf(const Iteration& iteration, const Node& node) const;

    // nodes.cpp: what nodes compute
    Status compute(Iteration& iteration, const Node& node);
    Result<Cell*> operand(Iteration& iteration, const Node& node, int32_t i);
    Result<const Tensor*> view(const Iteration& iteration, const Node& node, int32_t i, Tensor& room);
    Status readVariable(const Tensor& handle, Tensor& view);
    void refresh(Cell& cell) const;
    Status runSwitch(Iteration& iteration, const Node& node);
    Result<int32_t> portOf(const Iteration& iteration, const Node& node);
    Status runMerge(Iteration& iteration, const Node& node);
    Status runConstant(Iteration& iteration, const Node& node);
    Cell* indexCell(int32_t index);
    Status runKernel(Iteration& iteration, const Node& node);
    Status prepare(const Program& program, const Node& node, dataflow::KernelState& state);
    Status inferOutputs(const Program& program, const Node& node, dataflow::KernelState& state);
    Status send(Iteration& iteration, const Node& node, bool isDead);
    bool isSent(Iteration& iteration, const Node& node);
    std::string rendezvousKey(const Iteration& iteration, const Operator& op) const;
    void dropResults(int32_t count);

    // propagate.cpp: where values go and what they make ready
    Status propagate(Iteration& iteration, const Node& node, bool isDead);
    Status deliver(Iteration& target, const Program& program, const Node& source, bool isDead);
    Status deliverEdge(Iteration& target, const Program& program, const Edge& edge, bool sourceDead, bool fromEnter);
    void put(Iteration& iteration, int32_t slot, Cell* cell);
    void markReady(Iteration& iteration, int32_t position, bool isDead);
    Status enterFrame(Iteration& iteration, const Node& node, bool isDead);
    Status startIteration(DynamicFrame& frame);
    Status nextIteration(Iteration& iteration, const Node& node, bool isDead);
    Status leaveFrame(Iteration& iteration, const Node& node, bool isDead);
    void consume(Iteration& iteration, const Node& node);
    Status finishNode(Iteration& iteration);
    Status retire(DynamicFrame& frame);
    Result<DynamicFrame*> completeFrame(DynamicFrame& frame);
    DynamicFrame& openFrame(Running& activation, int32_t index, Iteration* parent);
    Iteration& addIteration(DynamicFrame& frame, int64_t number);
    void dropIteration(Iteration& iteration);
    void dropFrame(DynamicFrame& frame);

    // callees.cpp: functions
    Status enterCall(Iteration& iteration, const Node& node);
    static Result<size_t> chooseCallee(const Call& call, const Tensor& steering);
    Status activate(Call& call, GraphId graph, CallRole role, int32_t branch);
    Status begin(Running& activation, std::span<Cell* const> arguments);
    Status settle(Running* activation, Call* call = nullptr);
    Result<Running*> continueCall(Call& call);
    Result<Running*> continueLoop(Call& call);
    Result<Running*> completeCall(Call& call);
    void dropActivation(Running& activation);
    Result<std::vector<Cell*>> takeOutputs(Running& activation);
    void startInvocation(Iteration& iteration);
    void endInvocation(const Iteration& iteration);
    void endInvocation(InvocationId invocation, int64_t startNs);

    // replay.cpp: a recording instead of kernels
    void follow();
    bool isNext(const Iteration& iteration, OperatorId op, const RecordedNode& wanted) const;
    Result<std::optional<RecordedNode>> nextRecorded() const;
    Status checkRecorded();
    Status recall(Iteration& iteration, const Node& node);
    void recallResults(const Node& node, bool replaces);
    std::optional<int32_t> recordedPort(const Node& node) const;
    bool load(Cell& cell) const;
    bool isRecorded(int depth, ValueId id) const;
    const TensorStatistics* recordedStatistics(int depth, ValueId id) const;

    // location.cpp: where things are
    Address addressOf(const Iteration& iteration) const;
    std::string addressOf(const Iteration& iteration, OperatorId op, int32_t slot = -1) const;
    std::string address() const;
    std::vector<const Iteration*> stack() const;
    FrameInfo frame(int depth) const;
    const Tensor* value(int depth, ValueId id) const;
    Cell* cellOf(int depth, ValueId id) const;
    static const Iteration* parentOf(const Iteration& iteration) { return iteration.frame->parent; }

    // snapshot.cpp
    MachineState snapshot() const;
    Status restore(const MachineState& state);
    Status restoreRun(const MachineState& state);

    // view.cpp
    std::vector<DataflowFrame> frames() const override;
    std::vector<DataflowToken> tokens() const override;
    std::vector<DataflowValue> values() const override;
    std::vector<DataflowReady> ready() const override;
    bool nextIsDead() const override { return m_node && m_nextIsDead && m_phase == Phase::running; }
    std::vector<DataflowTally> tallies() const override;
    bool isDead(int depth, ValueId value) const override;
    Result<std::vector<DeadHop>> whyDead(GraphId graph, OperatorId op) const override;
    std::vector<DataflowRace> races() const override { return m_races; }
    std::vector<std::string> endingFrames() const override;
    const Iteration* iterationOf(const Program& program, int32_t frame) const;
    std::pair<OperatorId, std::string> predicateOf(const Iteration& iteration, const Node& switchNode) const;
    std::vector<DeadHop> hopsOf(const Iteration& iteration, const Node& node) const;
    int64_t reachableNodes() const override;
    std::vector<std::string> warnings() const override;

    // KernelRuntime
    std::byte* scratch(size_t bytes) override;
    Status resize(Tensor& output, const Shape& shape, size_t bytes) override;
    ResourceStore& resources() override { return m_resources; }
    RandomState& random() override { return m_random; }
    int threads() const override { return std::max(m_options.threads, 1); }
    void parallel(int64_t count, BlockFunction work) override;
    int64_t iterationTick() const override;
    void elementTaken(int64_t tick, bool pops) override;
    // ResourceListener: it looks for races, too
    void accessed(const std::string& name, AccessKind kind, const Tensor* value) override;
    void printed(std::string_view stream, std::string_view text) override
    {
        if (m_observer) m_observer->printed({stream, text, m_step});
    }
    void touched(const std::string& variable, bool isWrite);

    enum class Phase : uint8_t { idle, running, finished, ended };

    static Program& programOf(const Iteration& iteration) { return *iteration.frame->activation->program; }
    static int32_t nodeIndex(const Iteration& iteration, const Node& node) { return iteration.frame->code->firstNode + node.position; }

    const Model& m_model;
    const GraphId m_root;
    const ExecutionOptions m_options;
    const CancelFlag m_neverCancelled;
    const CancelFlag& m_cancel;
    MemoryAccount m_account;
    KernelReport m_kernelReport;
    dataflow::CellPool m_cells;
    MemoryBlock m_scratch;
    std::map<GraphId, std::unique_ptr<Program>> m_programs;
    std::vector<Cell*> m_inputs; ///< of the root; null: not set
    std::vector<Tensor> m_outputs;

    ExecutionObserver* m_nextObserver = nullptr;
    ExecutionObserver* m_runObserver = nullptr;
    ExecutionObserver* m_observer = nullptr;
    FanOut m_joined;
    bool m_times = false;
    int64_t m_runStart = 0;

    Phase m_phase = Phase::idle;
    std::deque<DynamicFrame> m_frameStore;
    std::vector<DynamicFrame*> m_idleFrames;
    std::vector<std::unique_ptr<Running>> m_activations; ///< [0]: the root
    std::vector<std::unique_ptr<Call>> m_calls;          ///< that are running
    std::vector<Iteration*> m_active;                    ///< iterations with ready nodes, in no order
    Iteration* m_iteration = nullptr;                    ///< of the next node
    const Node* m_node = nullptr;                        ///< the next node; null: none
    bool m_nextIsDead = false;
    int64_t m_serial = 0;
    uint64_t m_schedule = 0;                  ///< state of the random order; 0: deterministic order
    std::multimap<std::string, Cell*> m_sent; ///< rendezvous: what nobody has received yet; of one key in the order in which it came
    std::multimap<std::string, std::pair<Iteration*, int32_t>> m_parked; ///< Recvs that wait, and their positions

    int64_t m_step = 0;
    int64_t m_openCalls = 0;
    int64_t m_limit = 0;
    int64_t m_tickLimit = INT64_MAX;
    int64_t m_stepLimit = INT64_MAX;
    TrapSet m_traps;
    TrapHandler* m_trapHandler = nullptr;
    bool m_asking = false;
    int64_t m_askedBefore = -1; ///< the stop whose next node was asked about last
    bool m_untouched = false;   ///< the node that runs has changed nothing yet
    bool m_stopAsked = false;
    InvocationId m_nextInvocation = 1;
    Position m_position;

    // Of the node that runs.
    std::vector<const Tensor*> m_in;
    std::vector<Tensor> m_views;  ///< variables that operands refer to
    std::vector<Cell*> m_results; ///< null or dead: not given
    std::vector<Tensor*> m_out;
    std::vector<InferredType> m_inferred;
    std::vector<Tensor> m_hidden;
    std::vector<Cell*> m_indexCells; ///< scalars 0, 1, …: what Merges say they chose
    std::vector<DataflowRace> m_races;
    VariableRaces m_accesses;

    std::shared_ptr<RecordedResults> m_recorded; ///< null: a live run
    std::optional<RecordedNode> m_recordedNode;  ///< the next node, if it was recorded
    std::optional<Error> m_divergence;           ///< the recording cannot be followed from here

    ResourceStore m_resources;
    RandomState m_random;
    std::unique_ptr<ThreadPool> m_threads; ///< made when a kernel first wants it
};

} // namespace loopscope
