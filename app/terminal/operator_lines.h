// The operators of one graph as lines of the structured view, with calls on a single line: what stops and frames quote.
#pragma once

#include "engine/ir/model.h"

#include <map>
#include <string>
#include <vector>

namespace loopscope::app {

struct OperatorLine {
    std::string text; ///< "cond = if(Equal, arg1)"
    std::string type; ///< "i32[]"
};

/// Made when a graph is asked for first. Not thread-safe.
class OperatorLines {
public:
    explicit OperatorLines(const Model& model) : m_model(model) {}
    const OperatorLine& of(GraphId graph, OperatorId op);
    const Model& model() const { return m_model; }

private:
    const Model& m_model;
    std::map<GraphId, std::vector<OperatorLine>> m_graphs;
};

/// "add#2".
std::string operatorLabelOf(const Model& model, GraphId graph, OperatorId op);

} // namespace loopscope::app
