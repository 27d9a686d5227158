// Which value of one model is which of another: by place where both have the same structure, else by the full names that their files give.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

/// What pairs with what, as `info against` tells it.
struct PairingSummary {
    std::string how;     ///< "address" or "name"
    std::string note;    ///< "int8 weights, f32 activations": where this side differs from the other; empty: nothing to say
    int64_t paired = 0;  ///< inputs of the run and computed values that have a partner
    int64_t total = 0;
    std::vector<std::string> unpaired; ///< addresses without iterations, of those that have none
};

class ValuePairing {
public:
    /// Of everything that is reachable from the two roots.
    static ValuePairing create(const Model& model, GraphId root, const Model& reference, GraphId referenceRoot);

    /// The reference's graph that pairs with a call of `graph`, which itself pairs with `there`.
    struct Step {
        OperatorId site; ///< in `there`; invalid: the call has no partner
        GraphId graph;
    };
    Step into(GraphId graph, GraphId there, OperatorId site, GraphId entered) const;
    /// The partner of a value; invalid: none.
    ValueId partner(GraphId graph, GraphId there, ValueId value) const;
    const PairingSummary& summary() const { return m_summary; }

private:
    using Graphs = std::pair<GraphId, GraphId>;
    struct Pairs {
        std::map<ValueId, ValueId> values;
        std::map<std::pair<OperatorId, GraphId>, Step> calls;
    };
    void pairGraphs(const Model& model, const Model& reference, Graphs graphs, const std::string& path, bool sameStructure);

    std::map<Graphs, Pairs> m_pairs;
    PairingSummary m_summary;
};

} // namespace loopscope
