// The interpreter's inside: frames on an explicit stack, the loop that runs instructions, and how calls are entered and left.
#pragma once

#include "engine/base/thread_pool.h"
#include "engine/exec/call_state.h"
#include "engine/exec/interpreter.h"
#include "engine/plan/planner.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// One activation on the stack. Of a loop there is one frame, whose activation is its cond or its body.
struct CallFrame {
    Activation* activation = nullptr;
    CallState* call = nullptr; ///< in the frame outside; null for the root
    CallRole role = CallRole::main;
    int32_t branch = -1;
    int32_t next = 0; ///< index of the next operator; of outer frames the call that is running
    bool inCond = false;
    InvocationId invocation = 0;
    int64_t iteration = -1;
    int64_t enteredAtStep = 0;
    TakenFrom taken;
    int64_t invocationStart = 0; ///< nanoseconds, if times are on
    int64_t callStart = 0;
};

/// A value of the root graph that the interpreter itself keeps: an input, or an output.
struct RootValue {
    explicit RootValue(MemoryAccount& account) : block(account) {}
    MemoryBlock block;
    Slot slot;
    bool set = false;
};

class Interpreter::Impl final : public KernelRuntime, public ResourceListener {
public:
    Impl(const Model& model, GraphId root, const ExecutionOptions& options);

    // interpreter.cpp: life, inputs, runs
    Status prepareVariables();
    void clearVariables();
    Status setInput(int index, const Tensor& value);
    Status start();
    Status begin();
    void reset();
    Status step();
    Status run();
    Status runTo(int64_t tick, int64_t step);
    int64_t tick() const;
    void setLimit()
    {
        m_limit = std::min({m_options.maxSteps, m_stepLimit, m_tickLimit - (static_cast<int64_t>(m_frames.size()) - 1)});
        if (m_stopAsked) m_limit = INT64_MIN;
    }
    void setTraps(const TrapSet& traps, TrapHandler* handler);
    void muteObserver(bool muted, ExecutionObserver* also);
    template <typename Work> Status guarded(Work work);
    const Tensor* value(int depth, ValueId id) const;
    bool isLive(size_t frame, ValueId id) const;
    FrameInfo frame(int depth) const;
    MemoryReport memory() const;

    // machine.cpp: the loop
    template <bool Single> Status execute();
    Status runSized(const Instruction& instruction);
    Status readReferences(const Instruction& instruction);
    Status runObserved(const CallFrame& frame, const Instruction& instruction);
    Status runTrapped(CallFrame& frame, const Instruction& instruction);
    /// What is queued on a device is done, and what is looked at is on the host.
    void synchronise(SyncPoint point) const
    {
        if (m_options.synchroniser) m_options.synchroniser->reach(point);
    }
    OperatorEvent eventOf(const CallFrame& frame, OperatorId op) const;
    bool isQuiet(const CallFrame& frame) const
    {
        return m_trapHandler->quiet.invocation == frame.invocation && m_trapHandler->quiet.graph == frame.activation->plan().graph;
    }
    void askBefore(const CallFrame& frame, const Instruction& instruction);
    void askAfter(const OperatorEvent& event);
    Status refuse(const CallFrame& frame, const Instruction& instruction);
    Status checkBudget();
    Status halt();
    Error fail(Error error);
    Error stopAt(Error error, RunEnd::Reason reason);
    void endRun(RunEnd::Reason reason, std::string_view message);
    void updatePosition();

    // calls.cpp: entering and leaving graphs
    Status enter(CallFrame& caller, const Instruction& instruction);
    Status enterGraph(CallState& call, size_t callee, CallRole role, int32_t branch);
    Status enterLoop(CallState& call, std::span<const Tensor* const> initial);
    Status planLate(CallState& call, GraphId graph);
    Status bindCallee(CallState& call, size_t callee);
    Status bindLoop(CallState& call, std::span<const Tensor* const> initial);
    Result<size_t> chooseCallee(const CallState& call) const;
    Status checkTaken(CallState& call, GraphId graph, size_t callee) const;
    Result<bool> readVerdict(const CallFrame& frame) const;
    Status leaveGraph(CallFrame& frame);
    Status finishRoot();
    Status publishOutputs();
    void completeCall(CallFrame& frame);
    void pushFrame(CallState& call, CallRole role, int32_t branch, Activation& activation);
    void popFrame();
    void forgetAccesses(InvocationId invocation)
    {
        if (!m_accesses.empty()) m_accesses.forget(invocation);
    }
    void startInvocation(CallFrame& frame);
    void endInvocation(const CallFrame& frame);
    ActivationPool& poolOf(const GraphPlan& plan) { return m_pools[&plan]; }
    ActivationPool& poolOf(CallState& call, size_t callee);
    Result<Activation*> take(ActivationPool& pool, const GraphPlan& plan, std::byte* base);
    static void giveBack(Activation& activation) { activation.pool().idle.push_back(&activation); }

    // location.cpp: where things are, in words
    std::string address() const;

    // snapshot.cpp
    MachineState snapshot(const MachineState* previous) const;
    Status restore(const MachineState& state);
    Status restoreFrame(const FrameState& state);
    Status restoreCall(CallState& call, const FrameState& state);
    Status restoreValues(Activation& activation, const FrameState& state);

    // KernelRuntime
    std::byte* scratch(size_t bytes) override;
    Status resize(Tensor& output, const Shape& shape, size_t bytes) override;
    ResourceStore& resources() override { return m_resources; }
    RandomState& random() override { return m_random; }
    int threads() const override { return std::max(m_options.threads, 1); }
    void parallel(int64_t count, BlockFunction work) override;
    int64_t iterationTick() const override
    {
        return std::ranges::any_of(m_frames, [](const CallFrame& frame) { return frame.role == CallRole::loop; }) ? tick() : -1;
    }
    void elementTaken(int64_t tick, bool pops) override
    {
        for (size_t f = m_frames.size(); f-- > 0;)
            if (m_frames[f].role == CallRole::loop) return m_frames[f].taken.note(tick, pops);
    }
    // ResourceListener: of TensorFlow graphs it looks for races, too
    ResourceListener* listener() { return m_observer || m_model.dialect == Dialect::tf ? this : nullptr; }
    void accessed(const std::string& name, AccessKind kind, const Tensor* value) override;
    void printed(std::string_view stream, std::string_view text) override
    {
        if (m_observer) m_observer->printed({stream, text, m_step});
    }

    enum class Phase : uint8_t { idle, running, finished, ended };

    const Model& m_model;
    const GraphId m_root;
    const ExecutionOptions m_options;
    const CancelFlag m_neverCancelled;
    const CancelFlag& m_cancel;
    MemoryAccount m_account;
    KernelReport m_kernelReport;
    std::unique_ptr<Planner> m_planner;
    ExecutionObserver* m_nextObserver = nullptr;
    ExecutionObserver* m_runObserver = nullptr; ///< of the present run
    ExecutionObserver* m_observer = nullptr;    ///< who hears of events now: m_runObserver unless it is muted, or joined by another
    FanOut m_joined;
    bool m_times = false;
    int64_t m_runStart = 0;

    std::deque<RootValue> m_inputs, m_outputs;
    std::deque<MemoryBlock> m_variableBlocks;
    std::map<GraphId, VariableSlots> m_variables;
    MemoryBlock m_arena;
    MemoryBlock m_scratch;
    const GraphPlan* m_rootPlan = nullptr;
    std::map<const GraphPlan*, ActivationPool> m_pools;
    std::deque<std::unique_ptr<Activation>> m_activations;
    std::vector<InferredType> m_inferred;

    Phase m_phase = Phase::idle;
    std::vector<CallFrame> m_frames;
    int64_t m_step = 0;
    int64_t m_limit = 0; ///< stop before an operator once so many have completed: the least of the budget and of what runTo() wants
    int64_t m_tickLimit = INT64_MAX;
    int64_t m_stepLimit = INT64_MAX;
    TrapSet m_traps;
    TrapHandler* m_trapHandler = nullptr;
    bool m_asking = false;      ///< run() and runTo() ask about traps, step() does not
    int64_t m_askedBefore = -1; ///< the stop whose next operator was asked about last
    bool m_stopAsked = false;   ///< a trap wants to stop: at the next operator, or at the end
    InvocationId m_nextInvocation = 1;
    Position m_position;

    ResourceStore m_resources;
    RandomState m_random;
    VariableRaces m_accesses;
    std::vector<DataflowRace> m_races;
    std::unique_ptr<ThreadPool> m_threads; ///< made when a kernel first wants it
    std::set<GraphId> m_initialised;       ///< graphs that call_once has run
};

} // namespace loopscope
