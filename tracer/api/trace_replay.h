// A recorded run as something that can be stepped through again: the graphs' texts and constants, the invocations in order, and the values
// of every step as far as they were recorded.
#pragma once

#include "engine/base/result.h"
#include "engine/tensor/dtype.h"
#include "engine/tensor/shape.h"
#include "engine/tensor/statistics.h"
#include "tracer/api/trace_reader.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

/// A graph of the recorded model, in the model's order.
struct RecordedGraph {
    std::string name;
    std::string listing; ///< canonical text; large constants are hashes
    size_t operators = 0;
};

/// One entering of a graph, or one iteration of a loop. Ids grow in order of starting.
struct RecordedInvocation {
    int64_t id = 0, parent = 0;      ///< 0: the root has none
    int graph = -1;                  ///< of a loop its body
    int cond = -1;                   ///< of a loop
    int callerGraph = -1, site = -1; ///< the call operator; −1: root, v1 frame
    std::string role;                ///< "main", "loop", "then", "else", "branch2", "call", "init", "frame", …
    int64_t iteration = -1;
    int64_t firstStep = 0; ///< of the next operator to complete at entry
    int64_t steps = 0;     ///< completed inside, callees included
};

/// An operator that completed. Dataflow graphs complete theirs in an order of their own.
struct RecordedEvent {
    int64_t invocation = 0;
    int graph = -1, op = -1;
    bool isDead = false, hasFailed = false;
};

/// One iteration of an execution of a loop.
struct RecordedIteration {
    int64_t invocation = 0;
    int64_t iteration = 0;
    int64_t firstStep = 0;
    int64_t steps = 0; ///< completed inside, callees included
};

/// What is known of a value that was written.
struct RecordedValue {
    bool hasElements = false;     ///< else only `statistics`, if these
    DType dtype = DType::unknown; ///< of a single element kept as a number it may be wider than the value's own: f64 or i64
    Shape shape;
    std::vector<std::byte> bytes;
    std::optional<TensorStatistics> statistics;
    bool isDead = false;
};

/// One result of an operator that ran.
struct RecordedWrite {
    int64_t step = 0;
    int64_t invocation = 0;
    std::optional<double> number;       ///< of a single element
    std::optional<RecordedValue> value; ///< else what is known
};

class RecordedRun {
public:
    /// `run` null: the default run. The reader must outlive it. Errors: usage (there is no run), badFile.
    static Result<std::unique_ptr<RecordedRun>> open(const TraceReader& trace, const TraceRun* run = nullptr);
    ~RecordedRun();
    RecordedRun(const RecordedRun&) = delete;
    RecordedRun& operator=(const RecordedRun&) = delete;

    const TraceRun& run() const;
    const std::string& modelFormat() const; ///< "tflite", "graphdef", …
    const std::vector<RecordedGraph>& graphs() const;
    /// Bytes of the constant with this id, if the trace stores them.
    Result<std::optional<RecordedValue>> constant(int graph, const std::string& id) const;

    /// Of this run. none: there is none with this id, or none at all. Errors: badFile.
    Result<std::optional<RecordedInvocation>> invocation(int64_t id) const;
    Result<std::optional<RecordedInvocation>> firstInvocation() const;
    Result<std::optional<RecordedInvocation>> lastInvocation() const;
    /// The iteration of the same execution of a loop. none: there is none.
    Result<std::optional<RecordedInvocation>> sibling(const RecordedInvocation& invocation, int64_t iteration) const;
    /// The step at which an operator completed in an invocation. none: it did not, or was not recorded.
    Result<std::optional<int64_t>> stepOf(const RecordedInvocation& invocation, int graph, int op) const;
    /// Iterations of the loop that operator `op` of `graph` is, in the invocation `caller`, in order. Errors: badFile.
    Result<std::vector<RecordedIteration>> iterations(int64_t caller, int graph, int op) const;
    /// Result `slot` of each run of an operator in steps first … last, in order, until `handle` returns false. Errors: badFile.
    using WriteHandler = std::function<bool(RecordedWrite write)>;
    Status eachWrite(int graph, int op, int slot, int64_t first, int64_t last, const WriteHandler& handle) const;
    /// The operator that completed at a step. none: not recorded. Steps are read in blocks. Errors: badFile.
    Result<std::optional<RecordedEvent>> event(int64_t step) const;
    /// Result `slot` of the operator that completed at a step. none: not recorded.
    Result<std::optional<RecordedValue>> value(int64_t step, int slot) const;
    /// What the model printed in steps first … last, in order.
    Result<std::string> printed(int64_t first, int64_t last) const;
    /// What input `position` of the root graph was fed with. none: not recorded.
    Result<std::optional<RecordedValue>> feed(int position) const;

private:
    class Impl;
    explicit RecordedRun(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

} // namespace loopscope
