// A graph made ready to run: its plan bound to memory, and one prepared instruction for each operator.
#pragma once

#include "engine/exec/chain.h"
#include "engine/exec/coming_rows.h"
#include "engine/exec/execution_options.h"
#include "engine/exec/inference_memo.h"
#include "engine/exec/memory_block.h"
#include "engine/exec/traps.h"
#include "engine/kernels/kernel.h"
#include "engine/kernels/quantized_later.h"
#include "engine/kernels/selection.h"
#include "engine/plan/graph_plan.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace loopscope {

/// The tensor of a value in one activation, and the block behind it.
struct Slot : Tensor {
    MemoryBlock* heap = nullptr; ///< not null: sized when it is written, in this block
    bool fixed = true;           ///< shape and size never change
};

/// Only its bytes change in size, for which its kernel gives it room: a list is one.
inline bool isScalarVariant(const Tensor& tensor)
{
    return tensor.dtype == DType::variant && tensor.shape.hasRank() && tensor.shape.rank() == 0;
}
/// `actual` agrees with what the plan knows: the same rank and dimensions where they are planned.
bool isCompatible(const Shape& planned, const Shape& actual);
/// Gives a slot a shape, and room for it if its elements have a fixed size (strings get their room from the kernel).
/// Errors: execution if the shape is not definite, too large, or there is no memory.
Status sizeSlot(Slot& slot, const Shape& shape);
/// The same for a slot that mostly has that shape already, only in another block.
inline Status sizeSlotAgain(Slot& slot, const Shape& shape)
{
    if (!slot.heap || slot.bytes == 0 || !(slot.shape == shape)) return sizeSlot(slot, shape);
    LS_CHECK_OK(slot.heap->reserve(slot.bytes));
    slot.data = slot.heap->data();
    return {};
}
/// Makes a slot ready, which has a block, for a kernel that will size it.
inline Status emptySlot(Slot& slot, const Shape& shape)
{
    if (!(slot.shape == shape)) slot.shape = shape;
    slot.bytes = 0;
    LS_CHECK_OK(slot.heap->reserve(0));
    slot.data = slot.heap->data();
    return {};
}
/// Makes `slot` a copy of `source`, sized if the slot is not fixed.
Status copyToSlot(Slot& slot, const Tensor& source);
/// Lets `slot` stand for the bytes of `source` without copying.
inline void aliasSlot(Slot& slot, const Tensor& source)
{
    slot.data = source.data;
    if (slot.fixed) return;
    slot.bytes = source.bytes;
    slot.shape = source.shape;
}
/// Lets what is written to `slot` land in the memory of `home`, a slot of the caller. Errors: execution, no memory.
inline Status directSlot(Slot& slot, Slot& home)
{
    if (!home.heap) {
        slot.data = home.data;
        return {};
    }
    slot.heap = home.heap;
    if (!slot.fixed) return {};
    slot.heap = nullptr;
    LS_CHECK_OK(home.heap->reserve(slot.bytes));
    slot.data = home.heap->data();
    return {};
}

enum class InstructionKind : uint8_t {
    kernel,  ///< run it: the sizes of its results are known, or are the kernel's business alone
    chained, ///< the same, and those behind it can run with it in one pass: Program::chainAt
    sized,   ///< infer and size the results, then run it
    reads,   ///< as sized, after operands that are references (TensorFlow 1 variables) were looked up
    call,    ///< enter a graph
    fail,    ///< the operator cannot run; Program::failures says why
    trapped, ///< one of the above with a trap: Instruction::plain says which
    end,     ///< the end of the graph
};

/// One operator of an activation: everything that running it needs, in one cache line.
struct Instruction {
    KernelFunction run = nullptr;
    KernelArgs args = {};
    InstructionKind kind = InstructionKind::end;  ///< what the loop does
    InstructionKind plain = InstructionKind::end; ///< the same without traps
    uint8_t traps = trapNone;
    int32_t index = 0; ///< of the operator
};

/// An operand that is a reference, seen as the variable's value while the operator runs.
struct ReferenceRead {
    const Slot* handle = nullptr;
    Tensor value;
};

/// What all activations of one plan share: kernels are chosen and prepared once.
class Program {
public:
    /// Kernels are of the options' profile, or what that falls back to, which `report` is told. The options must outlive it.
    Program(const Model& model, const GraphPlan& plan, const ExecutionOptions& options, const QuantizedLater& quantizedLater,
            KernelReport& report);

    const GraphPlan& plan() const { return m_plan; }
    const Graph& graph() const { return m_graph; }
    /// Of a loop: what runs it on the device. `run` is null where the host drives it, and of other calls.
    const PreparedKernel& kernel(int32_t op) const { return m_kernels[static_cast<size_t>(op)]; }
    /// Whether its kernel is a device's, which looks for operands and leaves results there.
    bool isOnDevice(int32_t op) const { return m_onDevice[static_cast<size_t>(op)]; }
    /// Null: there is no device.
    DeviceMemory* device() const { return m_options.device; }
    /// The tensor of a constant, dense whatever the file has.
    Tensor constant(ValueId value) const;
    /// Operators before which some earlier result has to be looked at, since its memory is used again, and the end of the graph: between
    /// two of them results stay as they are. Of graphs that hold nothing but kernels.
    std::span<const int32_t> lookPoints() const;
    /// The chain that begins with an operator of kind `chained`.
    Chain& chainAt(int32_t op) const { return *std::ranges::find(m_chains, op, &Chain::begin); }
    std::span<const Chain> chains() const { return m_chains; }
    std::span<const RowProduct> rowProducts() const { return m_rowProducts; }
    /// Null if the operator can run.
    const Error* failure(int32_t op) const { return m_failures[static_cast<size_t>(op)].get(); }

private:
    void makeDense();
    void prepare(int32_t op, std::span<Tensor> tensors, const QuantizedLater& quantizedLater, KernelReport& report);
    void prepareLoop(int32_t op, std::span<const Tensor> tensors);
    void findChains(std::span<const Tensor> tensors);
    void findRowsToCome();

    const Model& m_model;
    const GraphPlan& m_plan;
    const Graph& m_graph;
    const ExecutionOptions& m_options;
    std::vector<PreparedKernel> m_kernels;
    std::vector<Profile> m_used;  ///< by operator: whose kernel it has
    std::vector<bool> m_onDevice; ///< by operator
    std::vector<std::shared_ptr<const Error>> m_failures;
    std::map<ValueId, Bytes> m_dense;    ///< of constants that are stored sparse
    mutable std::vector<Chain> m_chains; ///< they keep what they run with
    std::vector<RowProduct> m_rowProducts;
    mutable std::vector<int32_t> m_lookPoints; ///< empty: not asked for yet
};

/// The is_variable values of a graph, kept between its activations and between runs.
struct VariableSlots {
    std::vector<std::pair<ValueId, Slot>> slots;
};

struct CallState;
class Activation;

/// The activations of one plan that nobody uses just now, and what they share.
struct ActivationPool {
    std::unique_ptr<Program> program;
    std::vector<Activation*> idle;
};

/// One set of slots of a graph. Activations are kept and used again; only a change of their address binds them anew.
class Activation {
public:
    /// Errors: execution, no memory.
    static Result<std::unique_ptr<Activation>> create(ActivationPool& pool, KernelRuntime& runtime, MemoryAccount& account,
                                                      const VariableSlots* variables);
    ~Activation();

    ActivationPool& pool() const { return m_pool; }
    const Program& program() const { return m_program; }
    const GraphPlan& plan() const { return m_program.plan(); }
    std::byte* base() const { return m_base; }
    /// Marks the instructions that have traps, and no others.
    void setTraps(const TrapSet& traps);
    /// Places the region of the graph at `base`.
    void bind(std::byte* base);

    Slot& slot(ValueId value) { return m_slots[static_cast<size_t>(value.index)]; }
    const Slot& slot(ValueId value) const { return m_slots[static_cast<size_t>(value.index)]; }
    Slot& input(size_t i) { return slot(m_program.graph().inputs[i]); }
    Slot& output(size_t k) { return slot(plan().outputs[k].value); }
    const Instruction* code() const { return m_code.data(); }
    /// The references that an operator of kind `reads` looks up.
    std::span<ReferenceRead> references(int32_t op) { return m_references[op]; }
    CallState& call(int32_t op) { return *m_calls[static_cast<size_t>(op)]; }
    /// Of an operator whose results are sized when it runs.
    InferenceMemo& memo(int32_t op)
    {
        if (m_memos.empty()) m_memos.resize(m_code.size());
        return m_memos[static_cast<size_t>(op)];
    }

private:
    Activation(ActivationPool& pool, KernelRuntime& runtime, MemoryAccount& account);
    void addInstruction(int32_t op, KernelRuntime& runtime, MemoryAccount& account, std::span<const Tensor*> inputs,
                        std::span<Tensor*> results);
    bool lookUpReferences(int32_t op, std::span<const Tensor*> inputs);
    void markChains();
    void lookAhead(MemoryAccount& account);

    ActivationPool& m_pool;
    const Program& m_program;
    std::byte* m_base = nullptr;
    std::vector<Slot> m_slots;
    std::deque<MemoryBlock> m_blocks;
    std::vector<const Tensor*> m_inputs; ///< of all instructions, one after the other
    std::vector<Tensor*> m_results;
    std::vector<Instruction> m_code;                            ///< one for each operator, and the end
    std::map<int32_t, std::vector<ReferenceRead>> m_references; ///< by operator
    std::vector<std::unique_ptr<CallState>> m_calls;            ///< by operator; null: no call
    std::vector<InferenceMemo> m_memos;                         ///< by operator; empty: nothing was sized yet
    std::vector<std::unique_ptr<ComingRows>> m_comingRows;
};

} // namespace loopscope
