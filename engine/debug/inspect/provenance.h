// Where a value came from: the operator that wrote it, through formals of graphs and carried values of loops, or the input or constant
// that it began as.
#pragma once

#include "engine/debug/inspect/write_search.h"

#include <optional>
#include <string>
#include <vector>

namespace loopscope {

/// A value at a moment of the run.
struct ValueAt {
    Tick tick = 0; ///< a stop at which the value's frame is on the stack
    Tick until;    ///< the moment: everything that ends at or before this stop has happened
    int depth = 0; ///< of the frame, 0 = root
    ValueId value;
};

enum class OriginKind : uint8_t { write, input, constant, variable, notWritten };

struct Origin {
    OriginKind kind = OriginKind::notWritten;
    std::optional<WriteHit> hit;   ///< kind write
    int slot = 0;                  ///< kind write
    ValueAt at;                    ///< the value that is written, fed or constant; kind write: `tick` is the stop before the write
    GraphId graph;                 ///< of `at`
    std::vector<std::string> hops; ///< "arg1 is carried from cond", "arg0 begins as x", "arg0 is arg1 outside"
    /// One entry for each formal that was followed: where its value is seen.
    std::vector<ValueAt> formals;
};

/// Follows formals to what they stand for. Leaves the timeline anywhere. Errors: of Timeline.
Result<Origin> originOf(const DebugTarget& target, ValueAt at);

/// The value inside the callee that became result `slot` of the call that `hit` is. none: the operator calls nothing, or left at once.
/// Leaves the timeline anywhere. Errors: of Timeline.
Result<std::optional<ValueAt>> resultInside(const DebugTarget& target, const WriteHit& hit, int slot);

/// The operators of a graph that write a variable value of it (is_variable).
std::vector<OperatorId> variableWriters(const Graph& graph, ValueId variable);

/// What writes a value, whatever the iteration: formals are followed through the text of the model only.
struct StaticWriter {
    CallPath path;
    std::vector<OperatorId> ops; ///< empty: nothing in the run writes it
    int slot = -1;
    std::string hop;      ///< of the last formal that was followed; empty: none
    CallPath carriedPath; ///< of a loop's body whose carried value `carried` the writer gives; meaningful if `carried` is valid
    ValueId carried;
    std::string unwritten; ///< why `ops` is empty: "x is an input of the run", "two is a constant"
};
StaticWriter staticWriterOf(const Model& model, CallPath path, ValueId value);

} // namespace loopscope
