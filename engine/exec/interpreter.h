// The stepping interpreter of functional graphs: explicit frames, no native recursion, one operator at a time, state that can be
// saved and restored between any two operators. docs/execution.md describes how it works.
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/result.h"
#include "engine/exec/machine_state.h"
#include "engine/ir/model.h"
#include "engine/kernels/kernel.h"
#include "engine/observe/execution_observer.h"
#include "engine/tensor/tensor.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace loopscope {

struct ExecutionOptions {
    Profile profile = Profile::reference;
    std::string signature;            ///< name under which the root graph is run, for listeners; empty: none
    int64_t maxSteps = 1'000'000'000; ///< per run
    int32_t maxDepth = 256;           ///< nested invocations
    uint64_t seed = 1;                ///< of random operators
    int32_t threads = 1;              ///< never changes results
    bool keepAll = false; ///< keep values that are no longer needed until their frame is left, for inspection; takes more memory
    const CancelFlag* cancel = nullptr;
};

/// Where the executor stands: between operators.
struct Position {
    bool started = false;
    bool finished = false;
    int64_t step = 0;  ///< operators completed so far in this run
    GraphId graph;     ///< of the next operator
    OperatorId op;     ///< the next operator
    InvocationId invocation = 0;
    int32_t depth = 0; ///< frames on the stack, from 1
};

/// One frame of the call stack, innermost last in `callStack()`.
struct FrameInfo {
    InvocationId invocation = 0;
    GraphId graph;         ///< the graph that runs: of a loop its cond or its body
    CallRole role = CallRole::main;
    int32_t branch = -1;
    OperatorId site;       ///< call operator in the frame outside
    int64_t iteration = -1;
    bool inCond = false;
    OperatorId next;       ///< next operator of this frame (outer frames: the call operator that is running)
    int64_t enteredAtStep = 0;
};

/// Runs one graph of a model, as often as wanted; variables and random state carry over from run to run until reset().
/// Not thread-safe; owned and driven by one thread. The model must outlive it.
class Interpreter {
public:
    /// Checks the model as far as `root` reaches and prepares nothing yet. Errors: badFile, unsupported.
    static Result<std::unique_ptr<Interpreter>> create(const Model& model, GraphId root, const ExecutionOptions& options = {});
    ~Interpreter();
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;

    /// Copies the value of root input `index` (in graph order). A shape that differs from the declared one resizes the input, rank
    /// included (LiteRT's ResizeInputTensor does the same; commands are stricter). Errors: usage on dtype or number of bytes.
    Status setInput(int index, const Tensor& value);
    /// Begins a run: plans if shapes are new, places constants, announces runStarted. Errors as found by planning and preparing, each
    /// with the operator's address; usage if an input is missing.
    Status start();
    /// Executes the next operator, or enters it if it is a call. Afterwards position() is before the next operator or finished.
    Status step();
    /// Steps to the end of the run. Errors: execution (kernel, budget, depth), cancelled. The run can be inspected afterwards.
    Status run();
    /// Runs at full speed up to the stop at `tick`, or to the first stop where `step` or more operators have completed, or to the end,
    /// whichever comes first. Does nothing where it stands at or beyond one of them. Errors as of run().
    Status runTo(int64_t tick, int64_t step = INT64_MAX);
    /// Orders the stops of a run: operators completed, and calls entered that have not returned. Each step() adds exactly one (a root
    /// graph without operators finishes at tick 0).
    int64_t tick() const;

    const Position& position() const;
    std::vector<FrameInfo> callStack() const;
    /// "main/while#0@37:body/if#2": the next operator, or the root when finished.
    std::string positionAddress() const;
    /// Values of the frame at `depth` (0 = root, −1 = innermost) by id; null if not written in this invocation or freed already.
    const Tensor* value(int depth, ValueId id) const;
    const Tensor& output(int index) const; ///< after the run finished

    /// Everything that determines what happens next. Restoring continues bit for bit as the original went on.
    MachineState snapshot() const;
    /// The same, sharing bytes with `previous`: the state that was taken or restored last, with nothing but execution since. What an
    /// invocation has written never changes, so only what is new is copied.
    MachineState snapshot(const MachineState& previous) const;
    Status restore(const MachineState& state);
    /// Forgets variables, tables, call-once marks and random numbers.
    void reset();

    void setObserver(ExecutionObserver* observer); ///< null: none; takes effect at the next start()
    /// In the present run: what the observer has heard must not be told again when it is re-executed. `also` hears what happens in
    /// either case until the next call; it may hear ends of invocations whose start it missed.
    void muteObserver(bool muted, ExecutionObserver* also = nullptr);
    const Model& model() const;
    GraphId root() const;
    ResourceStore& resources();

    /// How the memory of the present plan was laid out.
    struct MemoryReport {
        uint64_t arenaBytes = 0;   ///< one arena for all subgraphs
        uint64_t lowerBoundBytes = 0; ///< max over steps of the bytes live there
        uint64_t heapBytes = 0;    ///< dynamic values, grown on demand
    };
    MemoryReport memory() const;

private:
    class Impl;
    explicit Interpreter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

} // namespace loopscope
