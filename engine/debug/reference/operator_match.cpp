#include "engine/debug/reference/operator_match.h"

#include "engine/observe/address.h"
#include "engine/observe/address_resolution.h"
#include "engine/ops/control_flow.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr size_t kMostMatches = 1'000'000;

class Matcher {
public:
    Matcher(const Model& model, const Model& reference, const ValuePairing& pairing)
        : m_model(model),
          m_reference(reference),
          m_pairing(pairing)
    {
    }

    std::vector<OperatorMatch> match(GraphId root, GraphId referenceRoot)
    {
        m_open.push_back({root, referenceRoot, m_model.graph(root).id, m_reference.graph(referenceRoot).id});
        while (!m_open.empty() && m_matches.size() < kMostMatches) {
            Way& way = m_open.back();
            const Graph& graph = m_model.graph(way.here);
            if (way.entering < way.callees.size()) enter(way);
            else if (way.next < graph.operators.size()) matchOperator(way);
            else m_open.pop_back();
        }
        return std::move(m_matches);
    }

private:
    /// A graph that is being gone through. `there` is invalid where the way has no partner.
    struct Way {
        GraphId here, there;
        std::string path, pathThere;
        size_t next = 0;
        std::vector<Callee> callees = {}; ///< of the operator before `next`
        size_t entering = 0;
    };

    static std::string addressOf(const std::string& path, const Graph& graph, OperatorId op)
    {
        Address address;
        address.root = "g";
        address.target = TargetKind::op;
        address.op = operatorName(graph.op(op), op.index);
        return path + toString(address).substr(1);
    }

    void matchOperator(Way& way)
    {
        const Graph& graph = m_model.graph(way.here);
        const OperatorId id(static_cast<int64_t>(way.next++));
        const Operator& op = graph.op(id);
        const std::string here = addressOf(way.path, graph, id);
        std::vector<OperatorId> partners;
        if (way.there.valid()) {
            const Graph& other = m_reference.graph(way.there);
            for (const ValueId result : op.results) {
                if (!result.valid()) continue;
                const ValueId partner = m_pairing.partner(way.here, way.there, result);
                const OperatorId producer = partner.valid() ? other.value(partner).producer : OperatorId();
                if (!producer.valid() || std::ranges::find(partners, producer) != partners.end()) continue;
                partners.push_back(producer);
                m_matches.push_back({here, addressOf(way.pathThere, other, producer), m_pairing.how(way.here, way.there, result)});
            }
        }
        if (partners.empty()) m_matches.push_back({here, {}, PairedBy::address});
        way.callees = calleesOf(op);
        way.entering = 0;
    }

    void enter(Way& way)
    {
        const Callee callee = way.callees[way.entering++];
        const OperatorId site(static_cast<int64_t>(way.next) - 1);
        if (!m_model.hasGraph(callee.graph) || std::ranges::find(m_open, callee.graph, &Way::here) != m_open.end()) return;
        ValuePairing::Step step;
        if (way.there.valid()) step = m_pairing.into(way.here, way.there, site, callee.graph);
        Way inner{callee.graph, {}, addressOf(way.path, m_model.graph(way.here), site) + ":" + callee.role, {}};
        if (step.site.valid()) {
            inner.there = step.graph;
            inner.pathThere = addressOf(way.pathThere, m_reference.graph(way.there), step.site) + ":" + callee.role;
        }
        m_open.push_back(std::move(inner));
    }

    const Model &m_model, &m_reference;
    const ValuePairing& m_pairing;
    std::vector<Way> m_open;
    std::vector<OperatorMatch> m_matches;
};

} // namespace

std::vector<OperatorMatch> matchOperators(const Model& model, GraphId root, const Model& reference, GraphId referenceRoot,
                                          const ValuePairing& pairing)
{
    return Matcher(model, reference, pairing).match(root, referenceRoot);
}

} // namespace loopscope
