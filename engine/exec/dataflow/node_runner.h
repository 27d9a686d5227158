// What nodes compute: control flow hands cells on, everything else calls its kernel. Holds the programs that kernels are prepared in.
#pragma once

#include "engine/exec/dataflow/flow.h"
#include "engine/exec/dataflow/rendezvous.h"
#include "engine/exec/dataflow/replay.h"
#include "engine/exec/remote_kernels.h"
#include "engine/ops/catalog.h"

#include <map>
#include <memory>
#include <vector>

namespace loopscope::dataflow {

/// Not thread-safe.
class NodeRunner {
public:
    NodeRunner(RunCore& core, Flow& flow, Rendezvous& rendezvous, Replay& replay);

    /// The compiled graph; made when it is first needed. Errors: of compileGraph.
    Result<Program*> program(GraphId graph);
    const std::map<GraphId, std::unique_ptr<Program>>& programs() const { return m_programs; }
    void setTraps(const TrapSet& traps);
    void forgetTallies();

    /// Gives the node its results (Flow::results). Calls are entered elsewhere.
    Status run(Iteration& iteration, const Node& node);
    /// A dead Send sends that nothing comes.
    Status sendDead(const Iteration& iteration, const Node& node);
    /// Operand `i` as the node reads it; a reference that is read as its value is shown in `room`.
    Result<const Tensor*> view(const Iteration& iteration, const Node& node, int32_t i, Tensor& room);
    /// Operand `i` to be handed on: shared. A reference that is read as its value becomes an alias: later writes to the variable are seen,
    /// as in TensorFlow, whose operators that hand on share the variable's buffer.
    Result<Cell*> operand(Iteration& iteration, const Node& node, int32_t i);
    Status readVariable(const Tensor& handle, Tensor& view);
    /// What an alias stands for now.
    void refresh(Cell& cell) const;
    /// Room for what a node shows of its results.
    std::vector<Tensor*>& shown() { return m_out; }

private:
    Status compute(Iteration& iteration, const Node& node);
    Status recall(Iteration& iteration, const Node& node);
    Status runSwitch(Iteration& iteration, const Node& node);
    Result<int32_t> portOf(const Iteration& iteration, const Node& node);
    Status runMerge(Iteration& iteration, const Node& node);
    Status runConstant(const Iteration& iteration, const Node& node);
    Cell* indexCell(int32_t index);
    int32_t rankOf(const Iteration& iteration, const Node& node);
    Status runKernel(const Iteration& iteration, const Node& node);
    Status runRemotely(int32_t rank, const Program& program, const Node& node, const KernelArgs& args);
    Status bringOperands(const Node& node, int32_t rank) const;
    Status prepare(const Program& program, const Node& node, KernelState& state);
    Status inferOutputs(const Program& program, const Node& node, KernelState& state);
    void markTraps(Program& program) const;

    RunCore& m_core;
    Flow& m_flow;
    CellPool& m_cells;
    Rendezvous& m_rendezvous;
    Replay& m_replay;
    ResourceStore& m_resources;
    RemoteKernels* const m_remote; ///< null: all kernels run here
    std::map<GraphId, std::unique_ptr<Program>> m_programs;
    TrapSet m_traps;
    // Of the node that runs
    std::vector<Cell*>& m_results;
    std::vector<const Tensor*> m_in;
    std::vector<Cell*> m_inCells; ///< null: no cell
    std::vector<RemoteValuePtr> m_remoteIn, m_remoteOut;
    std::vector<Tensor> m_views; ///< variables that operands refer to
    std::vector<Tensor*> m_out;
    std::vector<InferredType> m_inferred;
    std::vector<Tensor> m_hidden;
    std::vector<Cell*> m_indexCells; ///< scalars 0, 1, …: what Merges say they chose
};

} // namespace loopscope::dataflow
