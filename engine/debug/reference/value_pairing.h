// Which value of one model is which of another, on every way through their calls: by place where both have the same structure, else as
// graph_pairs.h says, functions that are called once opened on both sides.
#pragma once

#include "engine/debug/reference/graph_pairs.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace loopscope {

/// What pairs with what, as `info against` tells it.
struct PairingSummary {
    std::string how; ///< "address", "name" or "structure": how most pair
    int64_t byStructure = 0;
    std::string note;   ///< "int8 weights, f32 activations": where this side differs from the other; empty: nothing to say
    int64_t paired = 0; ///< inputs of the run and computed values that have a partner
    int64_t total = 0;
    std::vector<std::string> unpaired;      ///< addresses without iterations, of those that have none
    std::vector<std::string> unpairedThere; ///< the same, of the reference: computed values that nothing here pairs with
};

class ValuePairing {
public:
    /// Of everything that is reachable from the two roots.
    static ValuePairing create(const Model& model, GraphId root, const Model& reference, GraphId referenceRoot);

    /// The reference's graph that pairs with a call of `graph`, which itself pairs with `there`, and the calls that lead to it from there.
    /// A v1 frame is such a call: its site is the first Enter of its name in the file, and it leads to the graph that it lies in.
    struct Step {
        std::vector<OperatorId> sites; ///< empty: what is called here stands in `there` itself
        GraphId graph;                 ///< invalid: the call has no partner
    };
    struct Partner {
        ValueId value;
        GraphId graph;                 ///< of the value
        std::vector<OperatorId> sites; ///< calls that lead to it, from the graph that was asked about; most often none
        PairedBy how = PairedBy::name;
    };
    Step into(GraphId graph, GraphId there, OperatorId site, GraphId entered) const;
    /// Null: the value has none.
    const Partner* partner(GraphId graph, GraphId there, ValueId value) const;
    const PairingSummary& summary() const { return m_summary; }

    using Graphs = std::pair<GraphId, GraphId>; ///< here, there
    /// A call that is opened, so that what it calls pairs as if it stood around it.
    struct Opened {
        GraphId caller;
        OperatorId site;
        GraphId callee;
    };
    struct Pairs {
        std::map<ValueId, Partner> values;
        std::map<std::pair<OperatorId, GraphId>, Step> calls; ///< by site and graph entered
        GraphId around;                                       ///< the graph of this side that opened calls lead from to this one, or itself
        std::vector<Opened> openedThere;                      ///< of the reference; told where `around` is the graph itself
    };
    /// Everything that pairs, for those who go through it all.
    const std::map<Graphs, Pairs>& pairs() const { return m_pairs; }

private:
    class Builder;

    std::map<Graphs, Pairs> m_pairs;
    PairingSummary m_summary;
};

} // namespace loopscope
