// The stepping interpreter of functional graphs: explicit frames, no native recursion, one operator at a time, state that can be
// saved and restored between any two operators. docs/execution.md describes how it works.
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/result.h"
#include "engine/exec/executor.h"
#include "engine/exec/memory_block.h"
#include "engine/exec/sync_point.h"
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
    uint64_t scheduleSeed = 0;        ///< DataflowExecutor: picks among ready nodes; 0: the documented order
    bool keepAll = false; ///< keep values that are no longer needed until their frame is left, for inspection; takes more memory
    const CancelFlag* cancel = nullptr;
    BlockAllocator* allocator = nullptr;  ///< of all memory for values; null: the host's heap
    Synchroniser* synchroniser = nullptr; ///< null: nothing runs behind the executor's back
};

/// The executor of functional graphs.
class Interpreter final : public Executor {
public:
    /// Checks the model as far as `root` reaches and prepares nothing yet. Errors: badFile, unsupported.
    static Result<std::unique_ptr<Interpreter>> create(const Model& model, GraphId root, const ExecutionOptions& options = {});
    ~Interpreter() override;
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;

    const Model& model() const override;
    GraphId root() const override;
    /// A shape that differs from the declared one resizes the input, rank included (LiteRT's ResizeInputTensor does the same; commands are
    /// stricter).
    Status setInput(int index, const Tensor& value) override;
    Status start() override;
    Status step() override;
    Status run() override;
    Status runTo(int64_t tick, int64_t step = INT64_MAX) override;
    int64_t tick() const override;
    const Position& position() const override;
    FrameInfo frame(int depth) const override;
    std::string positionAddress() const override;
    const Tensor* value(int depth, ValueId id) const override;
    const Tensor& output(int index) const override;
    MachineState snapshot() const override;
    /// What an invocation has written never changes, so only what is new is copied.
    MachineState snapshot(const MachineState& previous) const override;
    Status restore(const MachineState& state) override;
    void setObserver(ExecutionObserver* observer) override;
    void muteObserver(bool muted, ExecutionObserver* also = nullptr) override;
    void setTraps(const TrapSet& traps, TrapHandler* handler) override;
    bool trapped() const override;
    std::vector<DataflowRace> races() const override;
    const KernelReport& kernelReport() const override;
    int64_t maxSteps() const override;

    /// Forgets variables, tables, call-once marks and random numbers.
    void reset();
    ResourceStore& resources();

    /// How the memory of the present plan was laid out.
    struct MemoryReport {
        uint64_t arenaBytes = 0;      ///< one arena for all subgraphs
        uint64_t lowerBoundBytes = 0; ///< max over steps of the bytes live there
        uint64_t heapBytes = 0;       ///< dynamic values, grown on demand
    };
    MemoryReport memory() const;

private:
    class Impl;
    explicit Interpreter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

} // namespace loopscope
