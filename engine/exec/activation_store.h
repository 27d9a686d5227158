// All activations of the graphs that a run reaches, and the variables that they share. They are made when first needed, kept, and used
// again.
#pragma once

#include "engine/exec/activation.h"
#include "engine/exec/call_state.h"
#include "engine/exec/machine_state.h"
#include "engine/kernels/quantized_later.h"

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>

namespace loopscope {

class ActivationStore {
public:
    ActivationStore(const Model& model, GraphId root, const ExecutionOptions& options, KernelRuntime& runtime, MemoryAccount& account,
                    KernelReport& report);

    /// Makes the is_variable values of every graph that the root reaches. Errors: badFile, no definite size; execution, no memory.
    Status prepareVariables();
    /// Gives them their first contents.
    void clearVariables();
    /// Brings what a device alone has of them to the host. Errors: device, one went with it.
    Status bringVariables() const;
    /// `previous` as of Executor::snapshot; null: nothing is shared.
    void saveVariables(MachineState& state, const MachineState* previous) const;
    Status restoreVariables(const MachineState& state);

    /// There is another plan: nothing of the present ones is used any more.
    void forget();
    /// Nobody uses any of them just now.
    void reclaim();
    void setTraps(const TrapSet& traps);

    ActivationPool& poolOf(const GraphPlan& plan) { return m_pools[&plan]; }
    ActivationPool& poolOf(CallState& call, size_t callee);
    /// An activation whose region lies at `base`. Errors: execution, no memory.
    Result<Activation*> take(ActivationPool& pool, const GraphPlan& plan, std::byte* base);
    static void giveBack(Activation& activation) { activation.pool().idle.push_back(&activation); }

private:
    const Model& m_model;
    const GraphId m_root;
    const ExecutionOptions& m_options;
    KernelRuntime& m_runtime;
    MemoryAccount& m_account;
    KernelReport& m_report;                         ///< of kernels that were chosen
    std::optional<QuantizedLater> m_quantizedLater; ///< for profiles whose kernels ask for it
    TrapSet m_traps;
    std::deque<MemoryBlock> m_variableBlocks;
    std::map<GraphId, VariableSlots> m_variables;
    std::map<const GraphPlan*, ActivationPool> m_pools;
    std::deque<std::unique_ptr<Activation>> m_activations;
};

} // namespace loopscope
