// Numbers of nodes as Model Explorer reads and writes them: {"main": {"results": {"7": {"value": 0.5}}}}. What a recording knows of
// operators can be looked at there, and what others computed for that tool here.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "tracer/api/trace_reader.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace loopscope::app {

/// Rows that name operators, in columns `graph` and `op`, or `op` alone where its label is unique. Nodes are named as that tool does: those
/// of TensorFlow by name, others by their index. `column`: which number they get; empty: the last. Errors: usage.
Result<std::string> nodeDataJson(const TraceReader& trace, const QueryResult& result, const std::string& column);

/// A number for each operator that such a text names, by its graph and index; nodes by index, name, or the name of a value that they write.
/// A text of one graph alone is of the primary one. Errors: badFile.
using NodeData = std::map<std::pair<GraphId, OperatorId>, double>;
Result<NodeData> readNodeData(const Model& model, std::string_view json);

/// "#fff8ef" for the least number to "#f0922b" for the largest.
std::string nodeColor(double share);

} // namespace loopscope::app
