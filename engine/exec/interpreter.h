// The stepping interpreter of functional graphs: explicit frames, no native recursion, one operator at a time, state that can be
// saved and restored between any two operators. docs/execution.md describes how it works.
#pragma once

#include "engine/base/result.h"
#include "engine/exec/core_executor.h"
#include "engine/exec/execution_options.h"
#include "engine/exec/memory_block.h"
#include "engine/ir/model.h"

#include <memory>

namespace loopscope {

/// The executor of functional graphs. An input whose shape differs from the declared one is resized, rank included (LiteRT's
/// ResizeInputTensor does the same; commands are stricter).
class Interpreter final : public CoreExecutor {
public:
    /// Checks the model as far as `root` reaches and prepares nothing yet. Errors: badFile, unsupported.
    static Result<std::unique_ptr<Interpreter>> create(const Model& model, GraphId root, const ExecutionOptions& options = {});
    ~Interpreter() override;
    Interpreter(const Interpreter&) = delete;
    Interpreter& operator=(const Interpreter&) = delete;

    FrameInfo frame(int depth) const override;
    const Tensor* value(int depth, ValueId id) const override;
    bool isLost(int depth, ValueId id) const override;
    const Tensor& output(int index) const override;
    MachineState snapshot() const override;
    /// What an invocation has written never changes, so only what is new is copied.
    MachineState snapshot(const MachineState& previous) const override;
    Status restore(const MachineState& state) override;

    // Values that change hands without being copied, for callers with large arrays of their own.
    /// As setInput(), but the bytes are read where they lie until endLoans(). Copied all the same: what is not aligned to 16 bytes, and
    /// where a device computes.
    Status lendInput(int index, const Tensor& value);
    /// The inputs that were lent are missing from now on. What the last run computed is forgotten, too, but its outputs.
    void endLoans();
    /// After a run: `block` gets the memory in which an output lies, and the output goes on with that of `block`, which is one of
    /// emptyBlock() or was had from here before. False, and nothing has changed: the output does not lie in memory of its own.
    bool swapOutput(int index, MemoryBlock& block);
    /// Counted as memory of this interpreter, which must outlive it.
    MemoryBlock emptyBlock() const;

    /// Forgets variables, tables, call-once marks and random numbers.
    void reset();
    ResourceStore& resources();
    const ResourceStore* sessionResources() const override;

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
