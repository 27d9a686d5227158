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

    /// Through calls of the reference, from where a way has come to.
    std::string pathThrough(const Way& way, const std::vector<OperatorId>& sites) const
    {
        std::string path = way.pathThere;
        GraphId graph = way.there;
        for (const OperatorId site : sites) {
            path = addressOf(path, m_reference.graph(graph), site) + ":call";
            const std::vector<Callee> callees = calleesOf(m_reference.graph(graph).op(site));
            if (!callees.empty()) graph = callees.front().graph;
        }
        return path;
    }

    void matchOperator(Way& way)
    {
        const Graph& graph = m_model.graph(way.here);
        const OperatorId id(static_cast<int64_t>(way.next++));
        const Operator& op = graph.op(id);
        const std::string here = addressOf(way.path, graph, id);
        std::vector<OperatorId> partners;
        for (size_t k = 0; k < op.results.size() && way.there.valid(); ++k) {
            const ValuePairing::Partner* const partner =
                op.results[k].valid() ? m_pairing.partner(way.here, way.there, op.results[k]) : nullptr;
            if (partner == nullptr) continue;
            const Graph& other = m_reference.graph(partner->graph);
            const OperatorId producer = other.value(partner->value).producer;
            if (!producer.valid() || std::ranges::find(partners, producer) != partners.end()) continue;
            partners.push_back(producer);
            const std::string path = pathThrough(way, partner->sites);
            m_matches.push_back({here, addressOf(path, other, producer), partner->how});
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
        if (step.graph.valid()) {
            inner.there = step.graph;
            inner.pathThere = pathThrough(way, step.sites);
            if (!step.sites.empty()) { // the last call is the partner, whose role is that of the call here
                inner.pathThere.resize(inner.pathThere.rfind(':') + 1);
                inner.pathThere += callee.role;
            }
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
