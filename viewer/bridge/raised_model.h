// What raising made of the TensorFlow 1 graph that is open: the raised model, which of its places stands for which node, and what stayed as
// it was. Made once, off the GUI thread; plain values.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::viewer {

/// An operator, or an input of a graph where `op` is invalid.
struct ModelPlace {
    GraphId graph;
    OperatorId op;
    ValueId value;
    bool operator==(const ModelPlace&) const = default;
};

/// Something that raising left, with the rule that it breaks.
struct LeftAsItWas {
    std::string node, reason;
};

class RaisedModel {
public:
    /// `v1` is only looked at here.
    RaisedModel(const Model& v1, std::shared_ptr<const Model> raised, std::vector<LeftAsItWas> left, size_t rewrites);

    const Model& model() const { return *m_model; }
    size_t rewrites() const { return m_rewrites; } ///< loops and conditionals that were raised
    struct Left {
        std::string node, reason;
        std::string address; ///< static, in the v1 graph; empty: the node lies in a function
    };
    const std::vector<Left>& left() const { return m_left; }
    /// What stands for a node; nothing: nothing does.
    std::optional<ModelPlace> raisedOf(GraphId graph, OperatorId node) const;
    /// The node that a place of the raised model stands for.
    std::optional<ModelPlace> nodeOf(const ModelPlace& raised) const;

private:
    using Key = std::pair<int64_t, int64_t>; ///< graph and operator

    std::shared_ptr<const Model> m_model;
    size_t m_rewrites;
    std::vector<Left> m_left;
    std::map<Key, ModelPlace> m_raised, m_nodes;
    std::map<Key, ModelPlace> m_nodesOfInputs; ///< by graph and value of the raised model
};

/// The static address of a node of a graph that is nobody's callee: "main/ctx:frame/add".
std::string addressInFrames(const Graph& graph, OperatorId node);

} // namespace loopscope::viewer
