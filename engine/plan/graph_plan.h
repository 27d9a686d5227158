// What is decided about a graph before it runs, for one set of input shapes: the shape of every value, where it lies in memory and how
// long, and how each call is entered. Plain data; plans are shared by all call sites with the same shapes.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/ops/control_flow.h"
#include "engine/ops/op_def.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace loopscope {

struct GraphPlan;

/// Where the bytes of a value come from.
enum class Storage : uint8_t {
    none,     ///< nothing writes it and it has no data
    input,    ///< the caller's bytes, never written
    constant, ///< the file's bytes, never written
    variable, ///< the session's bytes
    arena,    ///< at `offset` in the graph's region
    heap,     ///< a block of its own that grows on demand: the size is not known before the value is computed
    output,   ///< written here, memory of the caller: the result is computed where it is wanted
};

struct PlannedValue {
    Storage storage = Storage::none;
    bool fixed = false; ///< shape and size are known and never change
    DType dtype = DType::unknown;
    Shape shape;         ///< unknown dimensions where they are not known before running
    uint64_t bytes = 0;  ///< if fixed
    uint64_t offset = 0; ///< storage arena: from the start of the graph's region
    int32_t first = -1;  ///< index of the operator that writes it; −1: there from the start
    int32_t last = -1;   ///< index of the last operator that reads it; the number of operators for outputs
};

/// One output of a graph.
struct PlannedOutput {
    ValueId value;
    /// True if an operator of the graph writes it and no earlier output is the same value: it is written straight into the caller's
    /// memory. Others (inputs, constants, variables, repetitions) are copied or passed on by the caller.
    bool direct = false;
};

/// A buffer that a loop alternates with the home of one of its results.
struct AlternateBuffer {
    int32_t position = 0; ///< carried value that it is of the size of
    uint64_t bytes = 0;   ///< 0 and no offset where the carried value is not fixed: it is a heap block then
    uint64_t offset = 0;  ///< from the start of the call's block
};

/// Where the next iteration's value of a carried position comes from.
struct CarrySource {
    enum class Kind : uint8_t { written, input, constant, variable } kind = Kind::written;
    int32_t position = 0; ///< written: the first output that is the same value; input: which of the body's inputs
};

/// How the carried values of a loop change places between iterations.
struct LoopPlan {
    std::vector<Shape> shapes;        ///< of the carried values over all iterations
    std::vector<CarrySource> sources; ///< by position
    /// Every position is its own input, a constant, or written by the body and nothing else: two buffers a position are enough and
    /// change places. Otherwise any free buffer of the right class serves.
    bool direct = false;
    std::vector<int32_t> written; ///< positions that need a buffer in every iteration
    std::vector<bool> pooled;     ///< by position: may hold a buffer of the pool (its home then belongs to the pool)
    /// One for each of `written`, in their order; further ones where a position holds a buffer of another size class than its home's.
    std::vector<AlternateBuffer> alternates;
};

/// How one operator calls graphs.
struct PlannedCall {
    CallForm form;
    /// By callee. Empty if the call is not planned, since a graph on the way calls itself: it is planned when it is reached.
    std::vector<const GraphPlan*> plans;
    bool planned = false;
    uint64_t offset = 0;     ///< of the call's block in the caller's region; alive while the call runs
    uint64_t bytes = 0;      ///< of the block: alternates, then the callees' regions, one over the other
    uint64_t regions = 0;    ///< offset of the callees' regions in the block
    uint64_t lowerBound = 0; ///< most bytes live in the block at any one time
    LoopPlan loop;           ///< only loops
};

struct PlannedOperator {
    const OpDef* def = nullptr;         ///< null: unknown to the catalogue
    bool fixed = false;                 ///< all operands and results are fixed: nothing to size while running
    std::shared_ptr<const Error> error; ///< found by inference: an error when, and only if, the operator is reached
    std::unique_ptr<PlannedCall> call;  ///< only calls
};

struct GraphPlan {
    GraphId graph;
    std::vector<Shape> inputShapes;
    std::vector<PlannedValue> values;
    std::vector<PlannedOperator> operators;
    std::vector<PlannedOutput> outputs;
    uint64_t bytes = 0;      ///< of the graph's region: values and the blocks of its calls
    uint64_t lowerBound = 0; ///< most bytes live at any one step, callees included
    bool laidOut = false;    ///< false: only types are known so far

    const PlannedValue& value(ValueId id) const { return values[static_cast<size_t>(id.index)]; }
    PlannedValue& value(ValueId id) { return values[static_cast<size_t>(id.index)]; }
};

} // namespace loopscope
