// An executor whose machine is built on the run core: everything that the core answers is answered here, once.
#pragma once

#include "engine/exec/executor.h"

#include <string>
#include <vector>

namespace loopscope {

class RunCore;

class CoreExecutor : public Executor {
public:
    const Model& model() const final;
    GraphId root() const final;
    Status setInput(int index, const Tensor& value) final;
    Status start() final;
    Status step() final;
    Status run() final;
    Status runTo(Tick tick, Step step = INT64_MAX) final;
    Tick tick() const final;
    const Position& position() const final;
    std::string positionAddress() const final;
    void setObserver(ExecutionObserver* observer) final;
    void muteObserver(bool muted, ExecutionObserver* also = nullptr) final;
    void setTraps(const TrapSet& traps, TrapHandler* handler) final;
    bool trapped() const final;
    std::vector<DataflowRace> races() const final;
    const KernelReport& kernelReport() const final;
    int64_t maxSteps() const final;

protected:
    /// The core is part of what the executor owns.
    explicit CoreExecutor(RunCore& core) : m_core(core) {}

private:
    RunCore& m_core;
};

} // namespace loopscope
