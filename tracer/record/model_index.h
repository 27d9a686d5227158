// What the executor's side of the recorder looks up for every event: row ids, hashes and flags of operators, results and calls.
#pragma once

#include "engine/ir/ids.h"
#include "engine/ir/model.h"
#include "engine/observe/address_names.h"
#include "engine/observe/events.h"
#include "tracer/record/model_tables.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

/// A result of an operator, with what changes while running.
struct ResultInfo {
    int64_t value = 0;                        ///< row id; 0: the result has no value
    bool isCarried = false;                   ///< becomes a value of the next iteration where its graph is a loop's body, or in a v1 frame
    bool isOutput = false;                    ///< output of its graph
    bool hadNaN = false, hadInfinity = false; ///< in this run
    Shape shape;                              ///< in force
};

struct CallInfo {
    int64_t id = 0; ///< row id
    CallRole role = CallRole::call;
    int32_t branch = -1;
};

struct OperatorInfo {
    int32_t row = 0;
    uint32_t firstResult = 0, results = 0;
    uint32_t firstCall = 0, calls = 0;
    uint64_t hash = 0; ///< of graph id and label: the same in every trace of the model
};

class ModelIndex {
public:
    ModelIndex(const Model& model, const ModelRows& rows);

    const Model& model() const { return m_model; }
    OperatorInfo& op(GraphId graph, OperatorId id)
    {
        return m_operators[m_firstOperator[static_cast<size_t>(graph.index)] + static_cast<size_t>(id.index)];
    }
    ResultInfo& result(const OperatorInfo& op, size_t slot) { return m_results[op.firstResult + slot]; }
    std::span<const CallInfo> callsOf(const OperatorInfo& op) const { return {m_calls.data() + op.firstCall, op.calls}; }
    bool isTensorFlow() const { return m_model.dialect == Dialect::tf; }
    /// True if graph and operator exist: what an executor announces is checked once, here.
    bool has(GraphId graph, OperatorId id) const
    {
        return m_model.hasGraph(graph) && id.index >= 0 && static_cast<size_t>(id.index) < m_model.graph(graph).operators.size();
    }
    std::string label(GraphId graph, OperatorId id) const { return operatorLabel(m_model.graph(graph).op(id), id.index); }
    /// Back to the declared shapes, no NaN seen yet.
    void startRun();

private:
    const Model& m_model;
    std::vector<size_t> m_firstOperator;
    std::vector<OperatorInfo> m_operators;
    std::vector<ResultInfo> m_results;
    std::vector<Shape> m_declared; ///< by result
    std::vector<CallInfo> m_calls;
};

/// "main", "loop", "then", "branch2", …: the column `call.role`.
std::string callRoleText(CallRole role, int32_t branch);

} // namespace loopscope
