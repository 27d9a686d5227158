// The interpreter's inside: frames on an explicit stack, the loop that runs instructions, and how calls are entered and left.
#pragma once

#include "engine/exec/activation_store.h"
#include "engine/exec/call_state.h"
#include "engine/exec/interpreter.h"
#include "engine/exec/machine_state.h"
#include "engine/exec/run_core.h"
#include "engine/exec/taken_from.h"
#include "engine/plan/planner.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
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
    InvocationId invocation;
    int64_t iteration = -1;
    Step enteredAtStep;
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
    bool lent = false;  ///< the bytes are the caller's
    mutable Bytes kept; ///< the bytes as states hold them: copied once, for all runs on this input
};

inline void forgetAccesses(VariableRaces& races, InvocationId invocation)
{
    if (races.hasAccesses()) races.forget(invocation);
}

class Interpreter::Impl final : public RunCore {
public:
    Impl(const Model& model, GraphId root, const ExecutionOptions& options);

    // interpreter.cpp: life, inputs, inspection
    Status setInput(int index, const Tensor& value) override;
    void reset();
    /// `isLost`: Executor::isLost().
    const Tensor* value(int depth, ValueId id, bool* isLost = nullptr) const;
    FrameInfo frame(int depth) const;
    MemoryReport memory() const;

    // location.cpp: where things are, in words
    std::string address() const override;

    // snapshot.cpp
    MachineState snapshot(const MachineState* previous) const;
    Status restore(const MachineState& state);

    ActivationStore m_store;
    std::deque<RootValue> m_inputs, m_outputs;

private:
    friend class Interpreter; // root_loans.cpp
    // interpreter.cpp
    Status begin() override;
    void enterRoot() override;
    std::vector<const Tensor*> inputTensors() const override;
    void visitValues(const std::function<void(const Tensor&)>& visit) const override; // snapshot.cpp
    std::vector<const Tensor*> outputTensors() const override;
    void trapsChanged() override { m_store.setTraps(m_traps); }
    bool isLive(size_t frame, ValueId id) const;

    // machine.cpp: the loop
    enum class GraphEnd : uint8_t { entered, returned, over };
    Status advance(bool single) override;
    template <bool Single> Status execute();
    GraphEnd passEnd(CallFrame& frame, Status& status, bool single);
    /// The next iteration of a loop begins, with its cond; `listener` is told, if there is one.
    void nextIteration(CallFrame& frame, const ExecutionObserver* listener)
    {
        if (listener) [[unlikely]]
            endInvocation(frame.invocation, frame.invocationStart);
        forgetAccesses(races(), frame.invocation);
        frame.taken = {};
        ++frame.iteration;
        frame.inCond = true;
        frame.activation = frame.call->cond;
        frame.enteredAtStep = m_step;
        frame.invocation = newInvocation();
        if (listener) [[unlikely]]
            startInvocation(frame);
    }
    Status runTrips(CallFrame& frame, const Instruction*& at);

    // taped_trips.cpp: the same for an observer that takes whole iterations
    class TapedRun;
    /// Operators whose results stay as they are until the last of them has run, and what is taken of them then.
    struct TripSegment {
        const Instruction *begin, *end;
        const TripCell *cells, *wordsEnd, *bytesEnd, *cellsEnd; ///< numbers of four bytes, those of one, and others
    };
    Status runTapedTrips(CallFrame& frame, TripTaker& taker, const Instruction*& at);
    /// Kernels one after the other; at an error frame.next says which. `step` is m_step, which kernels can see: as a number of
    /// the caller's it need not be read back from memory for each of them, what a loop of scalars would wait for.
    [[gnu::always_inline]] inline Status runKernels(CallFrame& frame, const Instruction* at, const Instruction* end, int64_t& step)
    {
        for (; at != end; ++at) {
            frame.next = at->index;
            if (Status status = at->run(at->args); !status.ok()) [[unlikely]]
                return status;
            m_step = ++step;
        }
        return {};
    }
    Status runSized(const Instruction& instruction);
    Status inferResults(const Instruction& instruction, const Operator& op, const OpDef* def);
    Status readReferences(const Instruction& instruction);
    Status bringOperands(const Program& program, const Instruction& instruction);
    Status runObserved(const CallFrame& frame, const Instruction& instruction);
    Status runTrapped(CallFrame& frame, const Instruction& instruction, bool single);
    Status refuse(const CallFrame& frame, const Instruction& instruction);
    void locate(Position& position) const override;
    OperatorEvent eventOf(const CallFrame& frame, OperatorId op) const
    {
        return RunCore::eventOf(frame.invocation, frame.activation->plan().graph, op);
    }

    bool isQuiet(const CallFrame& frame) const
    {
        return m_trapHandler->quiet.invocation == frame.invocation && m_trapHandler->quiet.graph == frame.activation->plan().graph;
    }

    // calls.cpp: entering and leaving graphs
    Status enter(CallFrame& caller, const Instruction& instruction, bool single);
    Status enterGraph(CallState& call, size_t callee, CallRole role, int32_t branch);
    Status enterLoop(CallState& call, std::span<const Tensor* const> initial, bool single);
    // device_loops.cpp: loops that a device runs by itself
    Status runOnDevice();
    bool mayRunOnDevice(const CallFrame& frame) const;
    Status takeCarriedValues(CallState& call, std::span<Tensor* const> values);
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
    void startInvocation(CallFrame& frame);

    // snapshot.cpp
    Status restoreFrame(const FrameState& state);
    Status restoreCall(CallState& call, const FrameState& state);
    Status restoreValues(Activation& activation, const FrameState& state);

    // What kernels and resources ask of the machine
    Status resize(Tensor& output, const Shape& shape, size_t bytes) override;
    std::vector<AccessSite> accessSites() const override;
    int64_t iterationTick() const override
    {
        return std::ranges::any_of(m_frames, [](const CallFrame& frame) { return frame.role == CallRole::loop; }) ? tick().number : -1;
    }
    void elementTaken(int64_t tick, bool pops) override
    {
        for (size_t f = m_frames.size(); f-- > 0;)
            if (m_frames[f].role == CallRole::loop) return m_frames[f].taken.note(tick, pops);
    }

    DeviceTrips* loopRun() override { return m_loopRun; }

    DeviceTrips* m_loopRun = nullptr; ///< while a loop's kernel runs
    std::unique_ptr<Planner> m_planner;
    MemoryBlock m_arena;
    const GraphPlan* m_rootPlan = nullptr;
    std::vector<InferredType> m_inferred;
    std::vector<std::span<const Tensor* const>> m_tripResults; ///< of a body's operators and its condition's
    std::vector<TripSegment> m_tripSegments;
    std::vector<TripCell> m_tripCells;
    std::vector<CallFrame> m_frames;
    std::set<GraphId> m_initialised; ///< graphs that call_once has run
};

} // namespace loopscope
