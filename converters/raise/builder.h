// A graph that is being written: the v1 graph itself, or a function made of a part of it. It knows what became of the v1 graph's values
// here, and asks the graph around it for what it does not have.
#pragma once

#include "converters/raise/flow.h"
#include "engine/transform/graph_editor.h"

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace loopscope::raising {

/// What a loop takes beside its variables: values that are the same in every iteration. Condition and body share the list.
struct Invariants {
    std::vector<ValueId> values; ///< of the v1 graph
    std::unordered_map<int32_t, size_t> places;
};

/// Why writing failed: the attempt is given up, and made again with more that stays.
struct Failure {
    OperatorId keep; ///< what stays the next time; invalid: everything
    std::string reason;
};

class Builder {
public:
    /// The v1 graph, changed in place.
    Builder(const Flow& flow, GraphEditor& editor) : m_flow(flow), m_editor(editor) {}
    /// A new function, called from `parent`.
    Builder(const Flow& flow, Builder& parent, int32_t region, std::string id, const std::vector<std::string>& frames,
            Invariants* invariants);

    bool isTop() const { return m_parent == nullptr; }
    int32_t region() const { return m_region; }
    GraphEditor& editor() { return m_editor; }
    const std::vector<ValueId>& captures() const { return m_captures; }
    Builder* parent() const { return m_parent; }
    const std::string& id() const { return m_graph->id; }

    /// The value here that stands for one of the v1 graph. Invalid, and a failure is noted, if there is none.
    ValueId lookUp(ValueId value);
    void define(ValueId value, ValueId here) { m_values[value.index] = here; }
    bool defines(ValueId value) const { return m_values.contains(value.index); }
    /// An input of the function for a value of the v1 graph.
    ValueId addInput(ValueId value, const std::string& origin, const std::string& name);
    /// The input that stands for a captured value or an invariant; made if there is none.
    ValueId inputFor(ValueId value);

    void setOperator(int32_t item, OperatorId here) { m_operators[item] = here; }
    std::optional<OperatorId> operatorOf(int32_t item) const;

    /// Sources of the v1 graph, as this graph's editor wants them.
    Sources sources(const std::vector<OperatorId>& ops) const;
    /// The graph with its inputs and outputs in their final order.
    Graph finish(const std::vector<ValueId>& inputs, const std::vector<ValueId>& outputs);

    const std::optional<Failure>& failure() const { return m_parent ? m_parent->failure() : m_failure; }
    bool failed() const { return failure().has_value(); }
    void fail(OperatorId keep, std::string reason);

private:
    const Flow& m_flow;
    std::unique_ptr<Graph> m_graph; ///< of a function
    std::unique_ptr<GraphEditor> m_ownEditor;
    GraphEditor& m_editor;
    Builder* m_parent = nullptr;
    int32_t m_region = 0;
    Invariants* m_invariants = nullptr; ///< of a loop's condition or body
    std::unordered_map<int32_t, ValueId> m_values;
    std::unordered_map<int32_t, OperatorId> m_operators;

    std::vector<ValueId> m_captures;
    std::optional<Failure> m_failure;
};

/// "node" or "node:2" of a value of the v1 graph; its id if nothing writes it.
std::string originText(const Graph& graph, ValueId value);

} // namespace loopscope::raising
