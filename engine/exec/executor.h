// What runs a graph one operator at a time: the interface that time travel, breakpoints and sessions are built on. Functional graphs,
// TensorFlow v1 graphs and recordings each have one implementation.
#pragma once

#include "engine/base/counts.h"
#include "engine/base/ids.h"
#include "engine/base/result.h"
#include "engine/exec/dataflow_view.h"
#include "engine/exec/taken_from.h"
#include "engine/exec/traps.h"
#include "engine/ir/model.h"
#include "engine/kernels/selection.h"
#include "engine/observe/execution_observer.h"
#include "engine/tensor/statistics.h"
#include "engine/tensor/tensor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope {

struct MachineState;
class ResourceStore;

/// Where the executor stands: between operators.
struct Position {
    bool started = false;
    bool finished = false;
    Step step;     ///< operators completed so far in this run
    GraphId graph; ///< of the next operator
    OperatorId op; ///< the next operator
    InvocationId invocation;
    int32_t depth = 0; ///< frames on the stack, from 1
};

/// One frame of the call stack, innermost last in `callStack()`.
struct FrameInfo {
    InvocationId invocation;
    GraphId graph; ///< the graph that runs: of a loop its cond or its body
    CallRole role = CallRole::main;
    int32_t branch = -1;
    OperatorId site; ///< call operator in the frame outside
    int64_t iteration = -1;
    bool inCond = false;
    OperatorId next; ///< next operator of this frame (outer frames: the call operator that is running); invalid at its end
    Step enteredAtStep;
    TakenFrom taken; ///< iterations
};

/// Runs one graph of a model, as often as wanted; variables and random state carry over from run to run. Not thread-safe; owned and
/// driven by one thread. The model must outlive it.
class Executor {
public:
    virtual ~Executor() = default;

    virtual const Model& model() const = 0;
    virtual GraphId root() const = 0;
    /// Copies the value of root input `index` (in graph order). Errors: usage on dtype or number of bytes, or during a run.
    virtual Status setInput(int index, const Tensor& value) = 0;
    /// Begins a run: plans if shapes are new, announces runStarted. Errors as found by planning and preparing, each with the operator's
    /// address; usage if an input is missing.
    virtual Status start() = 0;
    /// Executes the next operator, or enters it if it is a call. Afterwards position() is before the next operator or finished. Traps do
    /// not count here.
    virtual Status step() = 0;
    /// Steps to the end of the run, or to a trap. Errors: execution (kernel, budget, depth), cancelled. The run can be inspected
    /// afterwards.
    virtual Status run() = 0;
    /// Runs at full speed up to the stop at `tick`, or to the first stop where `step` or more operators have completed, or to a trap that
    /// stops, or to the end, whichever comes first. Does nothing where it stands at or beyond one of them. Errors as of run().
    virtual Status runTo(Tick tick, Step step = INT64_MAX) = 0;
    /// Orders the stops of a run: operators completed, and calls entered that have not returned. Each step() adds exactly one (a root
    /// graph without operators finishes at tick 0).
    virtual Tick tick() const = 0;

    virtual const Position& position() const = 0;
    /// The frame at `depth` (0 = root, −1 = innermost), which must exist.
    virtual FrameInfo frame(int depth) const = 0;
    /// "main/while#0@37:body/if#2": the next operator, or the root when finished.
    virtual std::string positionAddress() const = 0;
    /// Values of the frame at `depth` (0 = root, −1 = innermost) by id; null if not written in this invocation or freed already.
    virtual const Tensor* value(int depth, ValueId id) const = 0;
    /// False where value() has nothing although it was written: a recording does not hold everything.
    virtual bool isRecorded(int, ValueId) const { return true; }
    /// The value was computed, on a device that is gone.
    virtual bool isLost(int, ValueId) const { return false; }
    /// What a recording knows of such a value; null: nothing.
    virtual const TensorStatistics* recordedStatistics(int, ValueId) const { return nullptr; }
    virtual const Tensor& output(int index) const = 0; ///< after the run finished
    std::vector<FrameInfo> callStack() const
    {
        std::vector<FrameInfo> stack;
        for (int depth = 0; depth < position().depth; ++depth) stack.push_back(frame(depth));
        return stack;
    }

    /// Everything that determines what happens next. Restoring continues bit for bit as the original went on.
    virtual MachineState snapshot() const = 0;
    /// The same, sharing bytes with `previous`: the state that was taken or restored last, with nothing but execution since.
    virtual MachineState snapshot(const MachineState& previous) const = 0;
    virtual Status restore(const MachineState& state) = 0;

    virtual void setObserver(ExecutionObserver* observer) = 0; ///< null: none; takes effect at the next start()
    /// In the present run: what the observer has heard must not be told again when it is re-executed. `also` hears what happens in
    /// either case until the next call; it may hear ends of invocations whose start it missed.
    virtual void muteObserver(bool muted, ExecutionObserver* also = nullptr) = 0;

    /// Sets which operators run() and runTo() ask `handler` about; null: none. Takes effect at once, in the present run, too. An operator
    /// without a trap costs nothing. The operator before which runTo() stops is asked about, too; about a stop that it was asked about
    /// last no executor asks again before the next setTraps(), restore() or start().
    virtual void setTraps(const TrapSet& traps, TrapHandler* handler) = 0;
    /// Whether the last run() or runTo() ended because a trap wanted to stop.
    virtual bool trapped() const = 0;
    /// Whether stops come in the order of their addresses (docs/text_ir.md, "Addresses") and states say where they lie, so that a place can
    /// be searched by halving.
    virtual bool stopsInAddressOrder() const { return true; }
    /// What this run has shown to depend on an order that the graph does not fix.
    virtual std::vector<DataflowRace> races() const { return {}; }
    /// Which operators run with another profile's kernels than was asked for, as far as they have been reached.
    virtual const KernelReport& kernelReport() const
    {
        static const KernelReport kNone;
        return kNone;
    }
    /// What a debugger asks about frames, tokens and dead values; null where graphs do not run by dataflow rules.
    virtual const DataflowView* dataflow() const { return nullptr; }
    /// ExecutionOptions::scheduleSeed of the next run; without effect where the order is fixed. A run that has begun keeps its order only
    /// if this is not called.
    virtual void setScheduleSeed(uint64_t) {}
    /// Variables, tables and what else kernels keep from run to run; null: a recording, which does not hold them.
    virtual const ResourceStore* sessionResources() const { return nullptr; }
    /// The step budget: operators that a run may complete.
    virtual int64_t maxSteps() const = 0;
};

} // namespace loopscope
