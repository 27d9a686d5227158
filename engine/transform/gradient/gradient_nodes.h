// Nodes of a gradient graph, written as arithmetic: what rules of gradients (gradient_rules.h) are put together from.
#pragma once

#include "engine/transform/graph_editor.h"

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

class GradientNodes;

/// A value of the graph under construction. Arithmetic on it adds nodes.
struct GradientValue {
    GradientNodes* nodes = nullptr;
    ValueId id;
    bool valid() const { return id.valid(); }
};

/// Adds nodes to a graph. Attributes that follow from the operands (`T`, `N`, `Tin`) are filled in.
class GradientNodes {
public:
    explicit GradientNodes(GraphEditor& editor) : m_editor(editor) {}

    /// Nodes from here on are named `scope/KIND` and stand for `sources`; no node of the graph has such a name yet.
    void setScope(std::string scope, Sources sources)
    {
        m_scope = std::move(scope);
        m_sources = std::move(sources);
        m_used.clear();
    }

    /// All results of a new node; one without a result per its signature gives none.
    std::vector<GradientValue> add(std::string_view kind, std::span<const GradientValue> inputs, AttributeList attributes = {});
    /// The same with a name of its own instead of one in the scope.
    std::vector<GradientValue> addNamed(std::string name, std::string_view kind, std::span<const GradientValue> inputs,
                                        AttributeList attributes = {});
    /// The first result.
    GradientValue node(std::string_view kind, std::initializer_list<GradientValue> inputs, AttributeList attributes = {});

    /// The shape of a value as it runs, i32, once for each.
    GradientValue shape(GradientValue of);

    GradientValue value(ValueId id) { return {this, id}; }
    DType dtype(GradientValue value) const { return value.valid() ? m_editor.value(value.id).type.dtype : DType::unknown; }
    /// A scalar of that dtype.
    GradientValue number(double value, DType dtype);
    GradientValue integer(int32_t value);
    GradientValue integers(std::span<const int32_t> values);

private:
    GradientValue constant(TensorType type, const void* data, size_t bytes);
    std::string freshName(const std::string& kind);

    GraphEditor& m_editor;
    std::string m_scope;
    Sources m_sources = Sources::none();
    std::map<std::string, int> m_used; ///< kinds in this scope
    std::map<ValueId, GradientValue> m_shapes;
    std::map<std::vector<int32_t>, GradientValue> m_lists; ///< constants, once each: in a loop they are steps
    std::map<int32_t, GradientValue> m_integers;
};

/// A scope for new nodes that no node or value of the graph is in: `wanted`, or `wanted_1`, ….
std::string freshScope(const Graph& graph, const std::string& wanted);

GradientValue operator+(GradientValue a, GradientValue b);
GradientValue operator-(GradientValue a, GradientValue b);
GradientValue operator*(GradientValue a, GradientValue b);
GradientValue operator/(GradientValue a, GradientValue b);
GradientValue operator-(GradientValue a);
/// With a scalar of the value's dtype.
GradientValue operator+(double a, GradientValue b);
GradientValue operator-(double a, GradientValue b);
GradientValue operator*(double a, GradientValue b);

} // namespace loopscope
