// Small things that passes share.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "engine/transform/graph_editor.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace loopscope {

/// Error: usage, for models of other dialects.
Status needsTensorFlow(const Model& model);

/// Ids for functions that are added to a model.
class GraphIds {
public:
    explicit GraphIds(const Model& model);
    /// One that no graph of the model has, nor was given out before: the wanted one, or with a number behind it.
    std::string fresh(const std::string& wanted);

private:
    std::unordered_set<std::string> m_taken;
    std::unordered_map<std::string, int> m_next; ///< by what was wanted
};

/// The tf operators of a graph with one of these names.
std::vector<OperatorId> operatorsNamed(const Graph& graph, std::initializer_list<std::string_view> names);

/// A tf operator with one result, behind all others.
ValueId appendNode(GraphEditor& editor, std::string_view kind, std::string name, std::vector<ValueId> inputs, AttributeList attributes,
                   TensorType result, const Sources& sources);
ValueId appendScalar(GraphEditor& editor, std::string name, int32_t number, const Sources& sources);
ValueId appendText(GraphEditor& editor, std::string name, const std::string& text, const Sources& sources);

/// Turns an operator that is no longer computed into one that hands values on under its name: what reads it stays as it is.
void handOn(GraphEditor& editor, OperatorId id, std::vector<ValueId> values, std::vector<OperatorId> controls);

/// The dtypes of values, as attributes such as Tin want them.
AttributeItems dtypesOf(const Graph& graph, const std::vector<ValueId>& values);

} // namespace loopscope
