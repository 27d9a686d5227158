// What every machine that runs a graph does alike, whatever it runs it with: the life of a run, its budget and its limits, traps, who
// listens, how it ends, and what kernels and resources are given. A machine adds the loop that runs operators.
#pragma once

#include "engine/base/clock.h"
#include "engine/base/thread_pool.h"
#include "engine/exec/execution_options.h"
#include "engine/exec/executor.h"
#include "engine/exec/memory_block.h"
#include "engine/exec/variable_races.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/resources.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

class RunCore : public KernelRuntime, public ResourceListener {
public:
    RunCore(const Model& model, GraphId root, const ExecutionOptions& options);
    ~RunCore() override;
    RunCore(const RunCore&) = delete;
    RunCore& operator=(const RunCore&) = delete;

    // The requests of an executor; engine/exec/executor.h says what they promise.
    Status start();
    Status stepOnce();
    Status run();
    Status runTo(Tick tick, Step step);
    void setTraps(const TrapSet& traps, TrapHandler* handler);
    virtual void setObserver(ExecutionObserver* observer) { m_nextObserver = observer; }
    void muteObserver(bool muted, ExecutionObserver* also);
    const Model& model() const { return m_model; }
    GraphId root() const { return m_root; }
    const ExecutionOptions& options() const { return m_options; }
    const Position& position() const { return m_position; }
    Tick tick() const { return m_step + m_openCalls; }
    bool trapped() const { return m_stopAsked; }
    const std::vector<DataflowRace>& races() const { return m_races; }
    virtual Status setInput(int index, const Tensor& value) = 0;
    /// Of the next operator, or the root.
    virtual std::string address() const = 0;

    // What the parts of a machine ask of the run.
    Step stepsDone() const { return m_step; }
    bool isRunning() const { return m_phase == Phase::running; }
    ExecutionObserver* observer() const { return m_observer; }
    bool hasTimes() const { return m_times; }
    /// Duration since `from`, or −1 if times are off.
    int64_t nsSince(int64_t from) const { return m_times ? nowNs() - from : -1; }
    int64_t now() const { return m_times ? nowNs() : 0; } ///< 0 if times are off
    OperatorEvent eventOf(InvocationId invocation, GraphId graph, OperatorId op) const;
    InvocationId newInvocation() { return m_nextInvocation++; }
    InvocationId nextInvocation() const { return m_nextInvocation; }
    void setNextInvocation(InvocationId next) { m_nextInvocation = next; }
    void endInvocation(InvocationId invocation, int64_t startNs);
    VariableRaces& accesses() { return m_accesses; }
    void noteRace(DataflowRace race) { addRace(m_races, std::move(race)); }
    /// An operator reads or writes a variable: looks for races with what else does.
    void touched(const std::string& variable, bool isWrite);
    MemoryAccount& account() { return m_account; }
    KernelReport& kernelReport() { return m_kernelReport; }
    const KernelReport& kernelReport() const { return m_kernelReport; }
    /// What is queued on a device is done, and what is looked at is on the host.
    void synchronise(SyncPoint point) const
    {
        if (m_options.synchroniser) m_options.synchroniser->reach(point);
    }

    // KernelRuntime
    std::byte* scratch(size_t bytes) override;
    ResourceStore& resources() override { return m_resources; }
    RandomState& random() override { return m_random; }
    int threads() const override { return std::max(m_options.threads, 1); }
    void parallel(int64_t count, BlockFunction work) override;
    // ResourceListener: of TensorFlow graphs it looks for races, too
    void accessed(const std::string& name, AccessKind kind, const Tensor* value) override;
    void printed(std::string_view stream, std::string_view text) override
    {
        if (m_observer) m_observer->printed({stream, text, m_step});
    }

protected:
    enum class Phase : uint8_t { idle, running, finished, ended };

    // What a machine does.
    /// Checks the inputs and puts the root graph at its first operator.
    virtual Status begin() = 0;
    /// Numbers and announces the root's invocation.
    virtual void enterRoot() = 0;
    /// Before the next operator from here on (one step), or at the end, at a limit or at a trap.
    virtual Status advance(bool single) = 0;
    /// Everything of a position but what the core counts.
    virtual void locate(Position& position) const = 0;
    virtual std::vector<const Tensor*> inputTensors() const = 0;
    virtual std::vector<const Tensor*> outputTensors() const = 0;
    /// The operator that is running and the calls around it, innermost first; none: it is none of the run's.
    virtual std::vector<AccessSite> accessSites() const = 0;
    virtual void trapsChanged() = 0;

    /// Declared input `index`, if it can be set now.
    Result<const Value*> settableInput(int index) const;
    static Status checkInput(const Value& declared, DType dtype, const Tensor& value);

    // For the loop.
    bool mustHalt() const { return m_step >= m_limit || m_cancel.requested(); }
    void setLimit()
    {
        m_limit = std::min({m_options.maxSteps, m_stepLimit, m_tickLimit - m_openCalls});
        if (m_stopAsked) m_limit = INT64_MIN;
    }
    void setOpenCalls(int64_t count) ///< entered and not returned
    {
        m_openCalls = count;
        setLimit();
    }
    /// Before an operator: runTo() is there, or the run ends here.
    Status halt();
    Status checkBudget();
    Error fail(Error error);
    Error stopAt(Error error, RunEnd::Reason reason);
    Status finish(InvocationId rootInvocation, int64_t startNs);
    void updatePosition();
    /// Asks about the operator that is next, unless it was asked about at this stop.
    void askBefore(const OperatorEvent& event);
    void askAfter(const OperatorEvent& event);
    ResourceListener* listener() { return m_observer || m_model.dialect == Dialect::tf ? this : nullptr; }

    // For reset and restore: what outlives an operator.
    void forgetRun();
    void saveTo(MachineState& state) const;
    void restoreFrom(const MachineState& state);
    void continueRun(const MachineState& state);

    const Model& m_model;
    const GraphId m_root;
    const ExecutionOptions m_options;
    const CancelFlag m_neverCancelled;
    const CancelFlag& m_cancel;
    MemoryAccount m_account;
    KernelReport m_kernelReport;
    ExecutionObserver* m_observer = nullptr; ///< who hears of events now: m_runObserver unless it is muted, or joined by another
    bool m_times = false;
    Phase m_phase = Phase::idle;
    Step m_step;
    bool m_asking = false; ///< run() and runTo() ask about traps, stepOnce() does not
    TrapSet m_traps;
    TrapHandler* m_trapHandler = nullptr;
    InvocationId m_nextInvocation = 1;
    ResourceStore m_resources;
    RandomState m_random;

private:
    template <typename Work> Status guarded(Work work);
    Status checkRunning() const;
    Status runGuarded();
    void endRun(RunEnd::Reason reason, std::string_view message);

    int64_t m_limit = 0; ///< stop before an operator once so many have completed: the least of the budget and of what runTo() wants
    int64_t m_openCalls = 0;
    int64_t m_tickLimit = INT64_MAX;
    int64_t m_stepLimit = INT64_MAX;
    bool m_stopAsked = false;   ///< a trap wants to stop: at the next operator, or at the end
    int64_t m_askedBefore = -1; ///< tick of the stop whose next operator was asked about last; −1: none
    Position m_position;
    ExecutionObserver* m_nextObserver = nullptr;
    ExecutionObserver* m_runObserver = nullptr; ///< of the present run
    FanOut m_joined;
    int64_t m_runStart = 0;
    MemoryBlock m_scratch;
    VariableRaces m_accesses;
    std::vector<DataflowRace> m_races;
    std::unique_ptr<ThreadPool> m_threads; ///< made when a kernel first wants it
};

} // namespace loopscope
