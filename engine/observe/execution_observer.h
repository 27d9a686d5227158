// The interface through which recorders, debuggers and profilers follow an execution. All methods have empty defaults.
#pragma once

#include "engine/observe/events.h"

#include <vector>

namespace loopscope {

/// Called on the executor's thread, in the order of execution.
class ExecutionObserver {
public:
    virtual ~ExecutionObserver() = default;
    /// Asked once per run: stamp operators and invocations with durations? A clock read costs more than a scalar operator.
    virtual bool wantsTimes() const { return false; }
    /// Asked with it: tell of every operator? Who only follows invocations says no: telling costs as much as a scalar operator.
    virtual bool wantsOperators() const { return true; }
    /// False: of results that a device alone has it asks DeviceMemory::describe(); they are not brought to the host for it.
    virtual bool wantsElements() const { return true; }
    virtual void runStarted(const RunStart&) {}
    virtual void invocationStarted(const InvocationStart&) {}
    virtual void operatorExecuted(const OperatorEvent&) {}
    virtual void variableAccessed(const VariableAccess&) {}
    virtual void printed(const PrintedText&) {}
    virtual void invocationEnded(const InvocationEnd&) {}
    virtual void runEnded(const RunEnd&) {}
};

/// Passes every event on to several observers, in order.
class FanOut final : public ExecutionObserver {
public:
    void add(ExecutionObserver& observer) { m_observers.push_back(&observer); }

    bool wantsTimes() const override
    {
        for (const ExecutionObserver* o : m_observers)
            if (o->wantsTimes()) return true;
        return false;
    }
    bool wantsOperators() const override
    {
        for (const ExecutionObserver* o : m_observers)
            if (o->wantsOperators()) return true;
        return false;
    }
    bool wantsElements() const override
    {
        for (const ExecutionObserver* o : m_observers)
            if (o->wantsElements()) return true;
        return false;
    }
    void runStarted(const RunStart& e) override
    {
        for (auto* o : m_observers) o->runStarted(e);
    }
    void invocationStarted(const InvocationStart& e) override
    {
        for (auto* o : m_observers) o->invocationStarted(e);
    }
    void operatorExecuted(const OperatorEvent& e) override
    {
        for (auto* o : m_observers) o->operatorExecuted(e);
    }
    void variableAccessed(const VariableAccess& e) override
    {
        for (auto* o : m_observers) o->variableAccessed(e);
    }
    void printed(const PrintedText& e) override
    {
        for (auto* o : m_observers) o->printed(e);
    }
    void invocationEnded(const InvocationEnd& e) override
    {
        for (auto* o : m_observers) o->invocationEnded(e);
    }
    void runEnded(const RunEnd& e) override
    {
        for (auto* o : m_observers) o->runEnded(e);
    }

private:
    std::vector<ExecutionObserver*> m_observers;
};

} // namespace loopscope
