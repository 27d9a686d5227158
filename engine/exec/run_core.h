// What every machine that runs a graph does alike, whatever it runs it with, a recording included: the life of a run, how far it goes,
// traps, what is announced, how it ends. A machine adds the loop that runs operators.
#pragma once

#include "engine/exec/execution_options.h"
#include "engine/exec/executor.h"
#include "engine/exec/kernel_host.h"
#include "engine/exec/machine_state.h"
#include "engine/exec/run_audience.h"
#include "engine/exec/run_limits.h"
#include "engine/exec/variable_races.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// `dtype`: the one that the input must have.
Status checkInput(const Value& declared, DType dtype, const Tensor& value);

class RunCore : public KernelHost, public ResourceListener {
public:
    RunCore(const Model& model, GraphId root, const ExecutionOptions& options);
    ~RunCore() override;

    // The requests of an executor; engine/exec/executor.h says what they promise.
    Status start();
    Status stepOnce();
    Status run();
    Status runTo(Tick tick, Step step);
    void setTraps(const TrapSet& traps, TrapHandler* handler);
    virtual void setObserver(ExecutionObserver* observer) { m_audience.setNext(observer); }
    void muteObserver(bool muted, ExecutionObserver* also);
    const Model& model() const { return m_model; }
    GraphId root() const { return m_root; }
    const ExecutionOptions& options() const { return m_options; }
    const Position& position() const { return m_position; }
    Tick tick() const { return m_step + m_limits.openCalls(); }
    bool trapped() const { return m_limits.stops(); }
    virtual Status setInput(int index, const Tensor& value) = 0;
    /// Of the next operator, or the root.
    virtual std::string address() const = 0;

    // What the parts of a machine ask of the run.
    Step stepsDone() const { return m_step; }
    bool isRunning() const { return m_phase == Phase::running; }
    const RunAudience& audience() const { return m_audience; }
    OperatorEvent eventOf(InvocationId invocation, GraphId graph, OperatorId op) const;
    InvocationId newInvocation() { return m_nextInvocation++; }
    InvocationId nextInvocation() const { return m_nextInvocation; }
    void setNextInvocation(InvocationId next) { m_nextInvocation = next; }
    void endInvocation(InvocationId invocation, int64_t startNs);
    VariableRaces& races() { return m_races; }
    const VariableRaces& races() const { return m_races; }
    /// An operator reads or writes a variable: looks for races with what else does.
    void touched(const std::string& variable, bool isWrite);
    /// What is queued on a device is done, and what is looked at is on the host.
    void synchronise(SyncPoint point) const
    {
        if (m_options.synchroniser) m_options.synchroniser->reach(point);
        if (m_options.device && (point == SyncPoint::snapshot || point == SyncPoint::restore)) m_options.device->settle();
    }

    /// Brings a value that somebody looks at to the host. False: it went with the device.
    bool show(const Tensor& tensor) const
    {
        if (!m_options.device) return true;
        m_options.device->hostBytes(tensor);
        return m_options.device->placementOf(tensor) != Placement::device;
    }

    // ResourceListener: of TensorFlow graphs it looks for races, too
    void accessed(const std::string& name, AccessKind kind, const Tensor* value) override;
    void elementsPileUp() override { m_limits.setPause(true); }
    void printed(std::string_view stream, std::string_view text) override
    {
        if (m_audience.present()) m_audience.present()->printed({stream, text, m_step});
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
    /// Calls `visit` with every value that may still be read.
    virtual void visitValues(const std::function<void(const Tensor&)>& visit) const = 0;
    virtual std::vector<const Tensor*> outputTensors() const = 0;
    /// The operator that is running and the calls around it, innermost first; none: it is none of the run's.
    virtual std::vector<AccessSite> accessSites() const = 0;
    virtual void trapsChanged() = 0;

    /// Declared input `index`, if it can be set now.
    Result<const Value*> settableInput(int index) const;

    // For the loop.
    /// Before the next operator, or one of the `operators` that come next.
    bool mustHalt(int64_t operators = 1) const { return m_limits.isReached(m_step + (operators - 1)) || m_cancel.requested(); }
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
    ResourceListener* listener() { return m_audience.present() || m_model.dialect == Dialect::tf ? this : nullptr; }

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
    RunAudience m_audience;
    RunLimits m_limits;
    Phase m_phase = Phase::idle;
    Step m_step;
    const bool m_isTensorFlow; ///< and there are no other operators, and no kernels of somebody else
    bool m_asking = false;     ///< run() and runTo() ask about traps, stepOnce() does not
    TrapSet m_traps;
    TrapHandler* m_trapHandler = nullptr;
    InvocationId m_nextInvocation = 1;

private:
    template <typename Work> Status guarded(Work work);
    Status runGuarded();
    void endRun(RunEnd::Reason reason, std::string_view message);

    int64_t m_askedBefore = -1; ///< tick of the stop whose next operator was asked about last; −1: none
    Position m_position;
    VariableRaces m_races;
};

} // namespace loopscope
