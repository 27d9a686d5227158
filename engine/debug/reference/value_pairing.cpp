#include "engine/debug/reference/value_pairing.h"

#include "engine/debug/graph_diff/flat_graph.h"
#include "engine/ir/frames.h"
#include "engine/ir/ids.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"

#include <algorithm>
#include <deque>
#include <optional>

namespace loopscope {

namespace {

/// The same graphs, operators and operands: places of one are places of the other.
bool haveSameStructure(const Model& a, const Model& b)
{
    if (a.graphs.size() != b.graphs.size()) return false;
    for (size_t g = 0; g < a.graphs.size(); ++g) {
        const Graph &x = a.graphs[g], &y = b.graphs[g];
        if (x.id != y.id || x.operators.size() != y.operators.size() || x.values.size() != y.values.size() || x.inputs != y.inputs)
            return false;
        for (size_t i = 0; i < x.operators.size(); ++i) {
            const Operator &p = x.operators[i], &q = y.operators[i];
            if (p.kind != q.kind || p.inputs != q.inputs || p.results != q.results) return false;
        }
        for (size_t v = 0; v < x.values.size(); ++v)
            if (x.values[v].type.dtype != y.values[v].type.dtype) return false;
    }
    return true;
}

const char* commonName(DType dtype)
{
    switch (dtype) {
    case DType::i8: return "int8";
    case DType::u8: return "uint8";
    case DType::i16: return "int16";
    case DType::i4: return "int4";
    default: return nullptr;
    }
}

/// The dtype of most elements of constants (weights), or of most results (activations).
DType mostCommon(const Graph& graph, bool weights)
{
    std::map<DType, int64_t> elements;
    for (const Value& value : graph.values) {
        const bool counts = weights ? value.role == ValueRole::constant : value.role == ValueRole::result;
        if (!counts || !(isFloat(value.type.dtype) || value.type.quantization) || !value.type.shape.isStatic()) continue;
        const std::optional<int64_t> count = checkedElementCount(value.type.shape);
        if (count) elements[value.type.dtype] += weights ? *count : 1;
    }
    DType best = DType::unknown;
    int64_t most = 0;
    for (const auto& [dtype, count] : elements)
        if (count > most) {
            best = dtype;
            most = count;
        }
    return best;
}

std::string dtypeText(DType dtype)
{
    const char* const common = commonName(dtype);
    return common ? common : std::string(dtypeName(dtype));
}

using Pairs = ValuePairing::Pairs;
using Partner = ValuePairing::Partner;

/// Frames of one name pair, else those whose Enters do.
void pairFrames(const Graph& here, const Graph& there, ValuePairing::Graphs graphs, Pairs& pairs)
{
    std::map<std::string, OperatorId> others;
    for (size_t i = 0; i < there.operators.size(); ++i)
        if (entersFrame(there.operators[i]))
            others.try_emplace(std::string(frameNameOf(there.operators[i])), OperatorId(static_cast<int64_t>(i)));
    if (others.empty()) return;
    struct Mine {
        OperatorId first;
        OperatorId partner;
    };
    std::map<std::string, Mine> mine;
    for (size_t i = 0; i < here.operators.size(); ++i) {
        const Operator& op = here.operators[i];
        if (!entersFrame(op)) continue;
        const std::string name(frameNameOf(op));
        Mine& frame = mine.try_emplace(name, Mine{OperatorId(static_cast<int64_t>(i)), {}}).first->second;
        if (frame.partner.valid()) continue;
        auto other = others.find(name);
        for (size_t k = 0; k < op.results.size() && other == others.end(); ++k) {
            const auto found = pairs.values.find(op.results[k]);
            if (found == pairs.values.end() || !found->second.sites.empty()) continue;
            const OperatorId enter = there.value(found->second.value).producer;
            if (enter.valid() && entersFrame(there.op(enter))) other = others.find(std::string(frameNameOf(there.op(enter))));
        }
        if (other != others.end()) frame.partner = other->second;
    }
    for (const auto& [name, frame] : mine)
        if (frame.partner.valid()) pairs.calls[{frame.first, graphs.first}] = {{frame.partner}, graphs.second};
}

/// "main/call#3:call": where the operators of a place are.
std::string pathOf(const Model& model, const FlatGraph& flat, int place, const std::string& path)
{
    std::string text = path;
    GraphId graph = flat.places.front().graph;
    for (const OperatorId site : flat.places[static_cast<size_t>(place)].sites) {
        const Operator& call = model.graph(graph).op(site);
        text += "/" + operatorLabel(call, site.index) + ":call";
        graph = calleesOf(call).front().graph;
    }
    return text;
}

/// Which values a run computes to be read: constants of TensorFlow are operators, and its operators have results that nobody wants.
std::vector<char> countedValues(const Graph& graph, bool isRoot)
{
    std::vector<char> isCounted(graph.values.size(), 0), isRead(graph.values.size(), 0);
    for (const Operator& op : graph.operators)
        for (const ValueId input : op.inputs)
            if (input.valid()) isRead[static_cast<size_t>(input.index)] = 1;
    for (size_t v = 0; v < graph.values.size(); ++v) {
        const Value& value = graph.values[v];
        if (value.role == ValueRole::input) isCounted[v] = isRoot ? 1 : 0;
        if (value.role != ValueRole::result || !value.producer.valid()) continue;
        const Kind& kind = graph.op(value.producer).kind;
        const bool computes = kind.name != "Const" && kind.name != "VarHandleOp" && kind.name != "ReadVariableOp";
        isCounted[v] = kind.dialect != "tf" || (computes && (value.slot == 0 || isRead[v] != 0)) ? 1 : 0;
    }
    return isCounted;
}

std::string pathOf(const Model& model, const FlatGraph& flat, ValueId value, const std::string& path)
{
    const auto [place, id] = flat.originOf(value);
    return pathOf(model, flat, place, path) + "/" + model.graph(flat.places[static_cast<size_t>(place)].graph).value(id).id;
}

} // namespace

class ValuePairing::Builder {
public:
    Builder(const Model& model, const Model& reference, bool isSameStructure)
        : m_model(model),
          m_reference(reference),
          m_isSame(isSameStructure)
    {
    }

    ValuePairing run(Graphs roots)
    {
        m_open.push_back({roots, m_model.graph(roots.first).id, m_reference.graph(roots.second).id});
        for (size_t at = 0; at < m_open.size(); ++at) {
            const Further next = m_open[at];
            if (!m_pairing.m_pairs.contains(next.graphs)) pair(next, at == 0);
        }
        return std::move(m_pairing);
    }

private:
    /// Graphs that pair, and how to come to them.
    struct Further {
        Graphs graphs;
        std::string path, pathThere;
    };

    void pair(const Further& from, bool isRoot)
    {
        const FlatGraph here(m_model, from.graphs.first, !m_isSame), there(m_reference, from.graphs.second, !m_isSame);
        PairedValues pairs;
        if (m_isSame) {
            for (size_t v = 0; v < here.graph().values.size(); ++v) {
                const ValueId value(static_cast<int64_t>(v));
                pairs[value] = {value, PairedBy::address};
            }
        } else {
            pairs = pairValues(m_model, here.graph(), m_reference, there.graph());
        }
        for (size_t p = 0; p < here.places.size(); ++p) tellPlace(here, static_cast<int>(p), there, pairs, from.graphs);
        Pairs& root = m_pairing.m_pairs[from.graphs];
        for (size_t p = 1; p < there.places.size(); ++p) {
            const FlatGraph::Place& place = there.places[p];
            root.openedThere.push_back({there.places[static_cast<size_t>(place.parent)].graph, place.sites.back(), place.graph});
        }
        pairFrames(m_model.graph(from.graphs.first), m_reference.graph(from.graphs.second), from.graphs, root);
        count(here, there, pairs, from, isRoot);
        for (size_t i = 0; i < here.graph().operators.size(); ++i) pairCall(here, there, OperatorId(static_cast<int64_t>(i)), pairs, from);
    }

    /// The pairs of one graph, which opened calls may lead to.
    void tellPlace(const FlatGraph& here, int p, const FlatGraph& there, const PairedValues& pairs, Graphs graphs)
    {
        const FlatGraph::Place& place = here.places[static_cast<size_t>(p)];
        Pairs& told = m_pairing.m_pairs[{place.graph, graphs.second}];
        told.around = graphs.first;
        for (size_t v = 0; v < m_model.graph(place.graph).values.size(); ++v) {
            const ValueId value(static_cast<int64_t>(v));
            const auto found = pairs.find(here.flat(p, value));
            if (found == pairs.end()) continue;
            const auto [other, partner] = there.originOf(found->second.value);
            const FlatGraph::Place& lies = there.places[static_cast<size_t>(other)];
            told.values[value] = {partner, lies.graph, lies.sites, found->second.how};
        }
        if (p > 0)
            m_pairing.m_pairs[{here.places[static_cast<size_t>(place.parent)].graph, graphs.second}]
                .calls[{place.sites.back(), place.graph}] = {{}, graphs.second};
    }

    /// A call pairs with the call that gives the partner of one of its results, and its callees with those in the same role.
    void pairCall(const FlatGraph& here, const FlatGraph& there, OperatorId flat, const PairedValues& pairs, const Further& from)
    {
        const Operator& op = here.graph().op(flat);
        const std::vector<Callee> callees = calleesOf(op);
        if (callees.empty()) return;
        OperatorId flatSite;
        if (m_isSame) flatSite = flat;
        for (size_t k = 0; k < op.results.size() && !flatSite.valid(); ++k)
            if (const auto found = pairs.find(op.results[k]); found != pairs.end())
                flatSite = there.graph().value(found->second.value).producer;
        if (!flatSite.valid() || callForm(there.graph().op(flatSite)).kind != callForm(op).kind) return;
        const std::vector<Callee> others = calleesOf(there.graph().op(flatSite));
        const auto [place, own] = here.originOf(flat);
        const auto [placeThere, site] = there.originOf(flatSite);
        const GraphId graph = here.places[static_cast<size_t>(place)].graph;
        for (const Callee& callee : callees) {
            const auto other = std::ranges::find(others, callee.role, &Callee::role);
            if (other == others.end() || !m_model.hasGraph(callee.graph) || !m_reference.hasGraph(other->graph)) continue;
            std::vector<OperatorId> sites = there.places[static_cast<size_t>(placeThere)].sites;
            sites.push_back(site);
            m_pairing.m_pairs[{graph, from.graphs.second}].calls[{own, callee.graph}] = {std::move(sites), other->graph};
            m_open.push_back({{callee.graph, other->graph},
                              pathOf(m_model, here, place, from.path) + "/" + operatorLabel(op, own.index) + ":" + callee.role,
                              pathOf(m_reference, there, placeThere, from.pathThere) + "/" +
                                  operatorLabel(there.graph().op(flatSite), site.index) + ":" + callee.role});
        }
    }

    void count(const FlatGraph& here, const FlatGraph& there, const PairedValues& pairs, const Further& from, bool isRoot)
    {
        PairingSummary& summary = m_pairing.m_summary;
        std::vector<char> isTaken(there.graph().values.size(), 0);
        for (const auto& [value, partner] : pairs) isTaken[static_cast<size_t>(partner.value.index)] = 1;
        const std::vector<char> isCounted = countedValues(here.graph(), isRoot), isCountedThere = countedValues(there.graph(), isRoot);
        for (size_t v = 0; v < isCounted.size(); ++v) {
            const ValueId value(static_cast<int64_t>(v));
            if (isCounted[v] == 0) continue;
            ++summary.total;
            const auto found = pairs.find(value);
            if (found == pairs.end()) summary.unpaired.push_back(pathOf(m_model, here, value, from.path));
            else ++summary.paired;
            if (found != pairs.end() && found->second.how == PairedBy::structure) ++summary.byStructure;
        }
        for (size_t v = 0; v < isTaken.size(); ++v) {
            const ValueId value(static_cast<int64_t>(v));
            if (isTaken[v] == 0 && isCountedThere[v] != 0)
                summary.unpairedThere.push_back(pathOf(m_reference, there, value, from.pathThere));
        }
    }

    const Model& m_model;
    const Model& m_reference;
    bool m_isSame;
    std::deque<Further> m_open;
    ValuePairing m_pairing;
};

ValuePairing ValuePairing::create(const Model& model, GraphId root, const Model& reference, GraphId referenceRoot)
{
    const bool same = root == referenceRoot && haveSameStructure(model, reference);
    const Graph &here = model.graph(root), &there = reference.graph(referenceRoot);
    ValuePairing pairing = Builder(model, reference, same).run({root, referenceRoot});
    PairingSummary& summary = pairing.m_summary;
    summary.how = same ? "address" : summary.byStructure > 0 && 2 * summary.byStructure > summary.paired ? "structure" : "name";
    const DType weights = mostCommon(here, true), activations = mostCommon(here, false);
    const bool differs = weights != mostCommon(there, true) || activations != mostCommon(there, false);
    if (differs && weights != DType::unknown && activations != DType::unknown)
        summary.note = dtypeText(weights) + " weights, " + dtypeText(activations) + " activations";
    return pairing;
}

ValuePairing::Step ValuePairing::into(GraphId graph, GraphId there, OperatorId site, GraphId entered) const
{
    const auto pairs = m_pairs.find({graph, there});
    if (pairs == m_pairs.end()) return {};
    const auto call = pairs->second.calls.find({site, entered});
    return call == pairs->second.calls.end() ? Step{} : call->second;
}

const ValuePairing::Partner* ValuePairing::partner(GraphId graph, GraphId there, ValueId value) const
{
    const auto pairs = m_pairs.find({graph, there});
    if (pairs == m_pairs.end()) return nullptr;
    const auto found = pairs->second.values.find(value);
    return found == pairs->second.values.end() ? nullptr : &found->second;
}

} // namespace loopscope
