// The table that shows a loop at a glance: one row for each iteration, a column for each value its condition and body compute, and the
// branch that each If inside took.
#pragma once

#include "engine/base/result.h"
#include "tracer/api/trace_reader.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace loopscope::app {

/// What `query` calls it.
inline constexpr std::string_view kIterationTable = "per-iteration";

/// SQL that gives the table. Parameter `op` names the loop (default: the loop with most iterations), `run` the run. Tensors of more than
/// one element show their mean. Errors: usage (no loop in the trace, not a loop).
Result<std::string> iterationTableSql(const TraceReader& trace, const QueryParameters& parameters);
/// The same of a `call` by its id.
Result<std::string> iterationTableSql(const TraceReader& trace, int64_t run, int64_t call);

} // namespace loopscope::app
