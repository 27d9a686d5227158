// Writes what a model is into a trace, and remembers the row ids that events refer to.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "tracer/record/recorder.h"
#include "tracer/record/records.h"
#include "tracer/sqlite/database.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// Row ids of a model's parts. Operators and values of a graph have consecutive ids in file order.
struct ModelRows {
    int64_t model = 0;
    std::vector<int64_t> graphs, firstOps, firstValues; ///< by graph index
    /// Calls that the model names, in order of their operators.
    struct Call {
        int64_t id = 0, op = 0;
        std::string role;
    };
    std::vector<Call> calls;
    std::map<std::string, int64_t> made; ///< calls that the model does not name, roots and frames, by madeCallKey: those of earlier runs
    int64_t nextCall = 1;
};

/// Ids of rows, 0: none.
std::string madeCallKey(std::string_view role, int64_t graph, int64_t op, std::string_view frame);

/// `q(0.5, -1)`, `q(axis=0, 32 channels)`, …; empty for none.
std::string quantizationText(const Graph& graph, const Quantization* quantization);
/// Multiply-adds of one execution; −1 if the kind does not count them or a shape is unknown.
int64_t multiplyAdds(const Graph& graph, const Operator& op);

/// Fills model, graph, op, value, operand, result, call, carry and the constants' blobs. Inside the caller's transaction.
Result<ModelRows> writeModel(Database& database, const Model& model, const RecorderOptions& options);

/// A row of placement; `insert` takes its five columns.
Status writePlace(Statement& insert, int64_t run, const PlaceItem& place, std::string_view profile);

} // namespace loopscope
