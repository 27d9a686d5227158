// Finding the moments at which operators ran, forwards and backwards, by running parts of the timeline with traps on these operators
// and nothing else.
#pragma once

#include "engine/debug/inspect/call_path.h"
#include "engine/debug/target.h"
#include "engine/tensor/tensor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

/// A copy of a value that stays when the run goes on.
struct KeptTensor {
    Tensor tensor; ///< data is that of `bytes`
    std::vector<std::byte> bytes;

    KeptTensor() = default;
    explicit KeptTensor(const Tensor& source) { assign(source); }
    KeptTensor(const KeptTensor& other) : tensor(other.tensor), bytes(other.bytes) { tensor.data = bytes.data(); }
    KeptTensor(KeptTensor&& other) noexcept : tensor(other.tensor), bytes(std::move(other.bytes)) { tensor.data = bytes.data(); }
    KeptTensor& operator=(KeptTensor other) noexcept
    {
        tensor = other.tensor;
        bytes = std::move(other.bytes);
        tensor.data = bytes.data();
        return *this;
    }
    ~KeptTensor() = default;
    void assign(const Tensor& source);
};

/// The same dtype, shape and bits.
bool isSameTensor(const Tensor& a, const Tensor& b);

/// An operator that has run.
struct WriteHit {
    Tick before;       ///< tick of the stop before it: a call is entered there
    int64_t after = 0; ///< tick of the stop after it
    Step step = 0;
    OperatorId op;
    std::vector<FrameInfo> stack; ///< the last is the operator's frame
    KeptTensor result;            ///< of the slot that was asked for; empty if none was
};

/// What is looked for: one of these operators of the graph that the path leads to.
struct WriteQuery {
    CallPath path;
    std::vector<OperatorId> ops;
    int slot = -1;           ///< result that is kept; −1: none
    int iterationDepth = -1; ///< depth of a loop's frame, of which only iteration `iteration` counts; −1: all
    int64_t iteration = 0;
    /// Further condition, asked while the executor is after the operator: `stack` and `result` are not filled in yet. Empty: none.
    std::function<bool(const Executor&, const OperatorEvent&)> accepts;
};

/// The last hit that ends at or before the stop `until`. none: there is none. Leaves the timeline anywhere. Errors: of Timeline.
Result<std::optional<WriteHit>> findLast(const DebugTarget& target, const WriteQuery& query, Tick until);
/// The last hit that ends at or before `until` and gave another value than the hit before it; the first one of all counts as a change.
Result<std::optional<WriteHit>> findLastChange(const DebugTarget& target, const WriteQuery& query, Tick until);
/// The first hit that ends after the stop `from` and, where `differsFrom` is given, with another value than that. Where the run fails or
/// ends before: none.
Result<std::optional<WriteHit>> findFirst(const DebugTarget& target, const WriteQuery& query, int64_t from,
                                          const Tensor* differsFrom = nullptr);

/// The stop at which a call was entered that is open at the stop `inside`: the call operator `op` of the invocation `caller`, whose frame
/// is at `depth`; `inside` itself where it is not open there. Leaves the timeline anywhere. Errors: of Timeline.
Result<Tick> findEntry(const DebugTarget& target, int depth, InvocationId caller, OperatorId op, Tick inside);

/// Goes to the stop `from` and runs from there to the stop `to`, with these traps and no others, unless a trap stops before. Stands where
/// it came to. Errors: of Timeline.
Status scan(const DebugTarget& target, int64_t from, int64_t to, const TrapSet& traps, TrapHandler& handler);

} // namespace loopscope
