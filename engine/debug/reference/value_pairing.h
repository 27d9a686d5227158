// Which value of one model is which of another: by place where both have the same structure, else by the full names that their files give,
// and what is left over between named neighbours by its kind, shape and order.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace loopscope {

enum class PairedBy : uint8_t {
    address,   ///< both models have the same structure
    name,      ///< full tensor names, else ids
    position,  ///< inputs of graphs
    structure, ///< structure_pairing.h
};
std::string_view pairedByText(PairedBy how);

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

    /// The reference's graph that pairs with a call of `graph`, which itself pairs with `there`. A v1 frame is such a call: its site is the
    /// first Enter of its name in the file, and it leads to the graph that it lies in.
    struct Step {
        OperatorId site; ///< in `there`; invalid: the call has no partner
        GraphId graph;
    };
    Step into(GraphId graph, GraphId there, OperatorId site, GraphId entered) const;
    /// The partner of a value; invalid: none.
    ValueId partner(GraphId graph, GraphId there, ValueId value) const;
    /// Of a value that has a partner.
    PairedBy how(GraphId graph, GraphId there, ValueId value) const;
    const PairingSummary& summary() const { return m_summary; }

    using Graphs = std::pair<GraphId, GraphId>; ///< here, there
    struct Partner {
        ValueId value;
        PairedBy how = PairedBy::name;
    };
    struct Pairs {
        std::map<ValueId, Partner> values;
        std::map<std::pair<OperatorId, GraphId>, Step> calls; ///< by site and graph entered
    };
    /// Everything that pairs, for those who go through it all.
    const std::map<Graphs, Pairs>& pairs() const { return m_pairs; }

private:
    void pairGraphs(const Model& model, const Model& reference, Graphs graphs, const std::string& path, const std::string& pathThere,
                    bool sameStructure);
    static void pairByName(const Graph& here, const Graph& there, Pairs& pairs);
    static void pairOperators(const Graph& here, const Graph& there, Pairs& pairs);
    static void pairFrames(const Graph& here, const Graph& there, Graphs graphs, Pairs& pairs);
    void count(const Graph& here, const Graph& there, const Pairs& pairs, const std::string& path, const std::string& pathThere,
               bool isRoot);
    const Partner* find(GraphId graph, GraphId there, ValueId value) const;

    std::map<Graphs, Pairs> m_pairs;
    PairingSummary m_summary;
};

} // namespace loopscope
