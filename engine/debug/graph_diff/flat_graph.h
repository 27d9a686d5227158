// A graph with its calls opened, to be looked at: what functions compute stands among the operators that call them, so that a model that
// keeps its functions can be held against one that has none.
#pragma once

#include "engine/ir/model.h"

#include <utility>
#include <vector>

namespace loopscope {

/// Only functions that are called at one place of what the graph reaches are opened; loops and branches stay closed.
class FlatGraph {
public:
    /// A graph, and the calls that lead to it from the one that was asked for.
    struct Place {
        GraphId graph;
        std::vector<OperatorId> sites;
        int parent = -1; ///< of places
    };

    /// `model` must outlive it. Unless it `opens` calls it is the graph itself.
    FlatGraph(const Model& model, GraphId root, bool opens = true);

    bool isOpened() const { return places.size() > 1; }
    const Graph& graph() const { return isOpened() ? m_own : m_model.graph(places.front().graph); }

    std::vector<Place> places; ///< the first is the graph that was asked for
    /// Of each operator of graph(): where it stands.
    std::pair<int, OperatorId> originOf(OperatorId op) const;
    /// Of each value of graph(): where it is computed.
    std::pair<int, ValueId> originOf(ValueId value) const;
    /// The value of graph() that one of a place is: an argument and what it is called inside are one.
    ValueId flat(int place, ValueId value) const;
    /// The place that a call at a place leads to; −1: it is not opened.
    int entered(int place, OperatorId site) const;

private:
    void findPlaces();
    void copy();
    std::pair<int, ValueId> sourceOf(int place, ValueId value) const;
    const Graph& at(int place) const { return m_model.graph(places[static_cast<size_t>(place)].graph); }

    const Model& m_model;
    Graph m_own;
    std::vector<std::pair<int, OperatorId>> m_operators;
    std::vector<std::pair<int, ValueId>> m_values;
    std::vector<std::vector<ValueId>> m_flat;                     ///< by place and value
    std::vector<std::vector<std::pair<OperatorId, int>>> m_calls; ///< by place, in order of operators: which are opened
};

} // namespace loopscope
