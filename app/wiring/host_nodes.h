// Operators of the graphs that a host loop is made of, in TFLite's dialect or TensorFlow's, under TFLite's names: what writes such graphs
// need not know which. Everything is written by the graph editor.
#pragma once

#include "engine/transform/gradient/gradient_nodes.h"
#include "engine/transform/graph_editor.h"

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::app {

/// A graph that is being written. finish() ends it.
class HostNodes {
public:
    HostNodes(std::string id, Dialect dialect);

    ValueId input(const std::string& name, const TensorType& type) { return m_editor.addInput(name, type); }
    ValueId constant(const std::string& name, const TensorType& type, const void* data, size_t bytes);
    ValueId integer(const std::string& name, int32_t value)
    {
        return constant(name, TensorType(DType::i32, Shape()), &value, sizeof value);
    }
    ValueId integers(const std::string& name, const std::vector<int32_t>& values);
    /// An operator with several results. Of TensorFlow their types are what follows from the operands. `label`: how addresses name it.
    std::vector<ValueId> op(const std::string& kind, const std::vector<ValueId>& inputs,
                            const std::vector<std::pair<std::string, TensorType>>& results, AttributeList attributes = {},
                            const std::string& label = {});
    ValueId one(const std::string& kind, const std::vector<ValueId>& inputs, const std::string& name, const TensorType& type,
                AttributeList attributes = {})
    {
        return op(kind, inputs, {{name, type}}, std::move(attributes)).front();
    }
    /// A further name, which commands take in quotes and inputs are given by.
    void alsoCalled(ValueId value, std::string name) { m_fullNames.emplace_back(value, std::move(name)); }
    const TensorType& type(ValueId value) const { return m_editor.value(value).type; }
    void output(ValueId value) { m_outputs.push_back({"", value}); }
    bool isTensorFlow() const { return m_dialect == Dialect::tf; }
    Result<Graph> finish();

private:
    Dialect m_dialect;
    Graph m_graph;
    GraphEditor m_editor;
    GradientNodes m_nodes;
    std::vector<GraphOutput> m_outputs;
    std::vector<std::pair<ValueId, std::string>> m_names; ///< of results behind the first, which the editor does not take
    std::vector<std::pair<ValueId, std::string>> m_fullNames;
    std::vector<std::pair<ValueId, std::string>>
        m_labels; ///< of operators by their first results, which it does not take of TFLite's either
};

} // namespace loopscope::app
