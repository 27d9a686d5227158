// What a call operator of an activation keeps from one execution to the next: its operands and results, where its block lies, and for
// loops the buffers that carried values alternate between.
#pragma once

#include "engine/exec/activation.h"
#include "engine/observe/events.h"

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <vector>

namespace loopscope {

/// Exchanges the carried values of a loop between iterations. The body's input slots hold the carried values; cond's alias them.
/// Initial values are the operator's own operands, read only. Nothing is copied but values of variables.
class LoopExchange {
public:
    explicit LoopExchange(MemoryAccount& account) : m_account(account) {}

    /// Begins a loop: carried values are `initial`, the body writes to `homes` (the operator's results) or their alternates, which lie
    /// at `block`. Errors: execution, no memory.
    Status begin(const LoopPlan& plan, Activation& cond, Activation& body, std::span<const Tensor* const> initial,
                 std::span<Slot* const> homes, std::byte* block);
    /// The body has run: its outputs become the carried values, all at once.
    Status next();
    /// The loop is over: its carried values go to the homes.
    Status finish();

    /// Whether every exchange is the same few pointers, of values whose shapes never change. True at the earliest after the first next().
    bool isPlain() const { return m_isPlain; }
    /// Until the next loop begins that is not worth asking: its graphs hold more than kernels.
    void setMixed()
    {
        m_isMixed = true;
        m_isPlain = false;
    }
    /// next() where that is so.
    void nextPlain()
    {
        for (Pair& pair : m_pairs) {
            if (pair.heap[0]) { // a list
                pair.input->data = pair.condInput->data = pair.output->data;
                pair.input->bytes = pair.condInput->bytes = pair.output->bytes;
                pair.now ^= 1;
                pair.output->heap = pair.heap[pair.now];
                continue;
            }
            pair.input->data = pair.condInput->data = pair.data[pair.now];
            pair.now ^= 1;
            pair.output->data = pair.data[pair.now];
        }
    }

    /// The carried value at a position.
    const Slot& carried(size_t position) const { return m_body->input(position); }
    size_t size() const { return m_plan->sources.size(); }

private:
    /// A buffer of the pool: the home of a result or its alternate.
    struct Buffer {
        std::byte* data = nullptr;
        MemoryBlock* heap = nullptr;
        uint64_t sizeClass = 0; ///< bytes; kHeapClass for heap blocks
        bool used = false;      ///< holds a carried value, or is being written
    };
    /// The buffers of one size class, side by side in the pool.
    struct SizeClass {
        uint64_t size = 0;
        size_t begin = 0;
        size_t next = 0; ///< buffers before this one were looked at in this exchange
    };
    /// A position in the direct form: the body's output goes to the one of two buffers that does not hold the present value.
    struct Pair {
        Slot* output;
        Slot* input;
        Slot* condInput;
        std::byte* data[2];
        MemoryBlock* heap[2];
        int32_t now; ///< the buffer that the body writes to
    };
    static constexpr uint64_t kHeapClass = UINT64_MAX;

    Status beginDirect(std::span<Slot* const> homes, std::byte* block);
    Status beginPooled(std::span<Slot* const> homes, std::byte* block);
    Status aimOutputs();
    Status nextPooled();
    Status moveHome(std::vector<size_t> positions);
    const std::byte* homeData(size_t position) const;
    MemoryBlock* alternateHeap(size_t index);

    MemoryAccount& m_account;
    const LoopPlan* m_plan = nullptr;
    Activation* m_cond = nullptr;
    Activation* m_body = nullptr;
    std::vector<Slot*> m_homes;
    std::vector<Pair> m_pairs;        ///< direct form
    std::vector<int32_t> m_constants; ///< direct form: positions that turn constant after the first iteration
    bool m_isPlain = false, m_isMixed = false;
    std::vector<Buffer> m_pool; ///< pooled form, by size class
    std::vector<SizeClass> m_classes;
    std::vector<size_t> m_classOf; ///< of the written positions, in the plan's order
    std::vector<int32_t> m_held;   ///< by position: the pool's buffer behind the carried value, −1: none of the pool
    std::vector<int32_t> m_aimed;  ///< by position: the pool's buffer that the body's output is written to, −1: none
    std::vector<int32_t> m_newlyHeld;
    std::vector<Slot> m_incoming;
    std::deque<MemoryBlock> m_heaps; ///< alternates of values whose size changes
    std::vector<std::byte> m_aside;  ///< breaks cycles of the final copy
};

/// The role in which a call of that kind enters its callee (loops: both callees).
inline CallRole roleOf(CallKind kind, size_t callee)
{
    switch (kind) {
    case CallKind::branch: return callee == 0 ? CallRole::thenBranch : CallRole::elseBranch;
    case CallKind::select: return CallRole::branch;
    case CallKind::loop: return CallRole::loop;
    case CallKind::once: return CallRole::init;
    default: return CallRole::call;
    }
}

/// Which of a TensorFlow call's callees the operand that chooses has chosen.
Result<size_t> chooseTfCallee(const CallForm& form, const Tensor& steering);

/// A call operator of an activation.
struct CallState {
    CallState(MemoryAccount& account, OperatorId op_) : op(op_), own(account), verdict(account), exchange(account) {}

    OperatorId op;
    const PlannedCall* planned = nullptr; ///< of the graph's plan, or `late`
    std::unique_ptr<PlannedCall> late;    ///< planned when it was reached (recursion)
    std::vector<Shape> lateShapes;        ///< of the operands that `late` is for
    std::vector<const Tensor*> operands;
    std::vector<Slot*> results;
    std::vector<ActivationPool*> pools; ///< by callee of `planned`; null before the first time
    std::vector<bool> checked;          ///< by callee: it obeys what only a taken branch must obey
    MemoryBlock own;                    ///< the block of a late call
    // While the call runs:
    Activation* cond = nullptr; ///< loops
    Activation* body = nullptr; ///< loops: the body; other calls: the callee
    MemoryBlock verdict;        ///< loops: what cond returns
    Slot verdictHome;
    const Slot* verdictSlot = nullptr; ///< loops: cond's output
    bool verdictIsPlain = false;       ///< it is a single bool whatever happens: no need to look at its type every time
    LoopExchange exchange;
    std::deque<MemoryBlock> restored; ///< loops: carried values that a snapshot brought back
};

} // namespace loopscope
