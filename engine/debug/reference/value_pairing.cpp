#include "engine/debug/reference/value_pairing.h"

#include "engine/debug/reference/frame_nodes.h"
#include "engine/debug/reference/structure_pairing.h"
#include "engine/ir/ids.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"

#include <algorithm>

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

/// Parts of a joined name in order, so that "a;b" and "b;a" are one.
std::string sortedName(const std::string& name)
{
    if (name.find(';') == std::string::npos) return name;
    std::vector<std::string> parts;
    for (size_t at = 0; at <= name.size();) {
        const size_t end = std::min(name.find(';', at), name.size());
        parts.push_back(name.substr(at, end - at));
        at = end + 1;
    }
    std::ranges::sort(parts);
    std::string sorted;
    for (const std::string& part : parts) sorted += (sorted.empty() ? "" : ";") + part;
    return sorted;
}

bool isComputed(const Value& value) { return value.role == ValueRole::result || value.role == ValueRole::input; }

/// Not where both are known to have other shapes: a converter may give a layer's name to its unpacked weights.
bool mayBeEqual(const Value& a, const Value& b)
{
    return !a.type.shape.isStatic() || !b.type.shape.isStatic() || a.type.shape == b.type.shape;
}

std::map<std::string, ValueId> byName(const Graph& graph, bool ids)
{
    std::map<std::string, ValueId> names;
    std::map<std::string, int> counts;
    for (size_t v = 0; v < graph.values.size(); ++v) {
        if (graph.values[v].role == ValueRole::absent) continue;
        const std::string name = ids ? graph.values[v].id : sortedName(graph.values[v].displayName());
        ++counts[name];
        names.emplace(name, ValueId(static_cast<int64_t>(v)));
    }
    std::erase_if(names, [&](const auto& entry) { return counts[entry.first] > 1; }); // which of them is meant, nobody knows
    return names;
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

} // namespace

std::string_view pairedByText(PairedBy how)
{
    switch (how) {
    case PairedBy::address: return "address";
    case PairedBy::name: return "name";
    case PairedBy::position: return "position";
    case PairedBy::structure: return "structure";
    }
    return "";
}

ValuePairing ValuePairing::create(const Model& model, GraphId root, const Model& reference, GraphId referenceRoot)
{
    ValuePairing pairing;
    const bool same = root == referenceRoot && haveSameStructure(model, reference);
    const Graph &here = model.graph(root), &there = reference.graph(referenceRoot);
    pairing.pairGraphs(model, reference, {root, referenceRoot}, here.id, there.id, same);
    PairingSummary& summary = pairing.m_summary;
    summary.how = same ? "address" : summary.byStructure > 0 && 2 * summary.byStructure > summary.paired ? "structure" : "name";
    const DType weights = mostCommon(here, true), activations = mostCommon(here, false);
    const bool differs = weights != mostCommon(there, true) || activations != mostCommon(there, false);
    if (differs && weights != DType::unknown && activations != DType::unknown)
        summary.note = dtypeText(weights) + " weights, " + dtypeText(activations) + " activations";
    return pairing;
}

void ValuePairing::pairByName(const Graph& here, const Graph& there, Pairs& pairs)
{
    const std::map<std::string, ValueId> names = byName(there, false), ids = byName(there, true);
    for (size_t v = 0; v < here.values.size(); ++v) {
        const Value& value = here.values[v];
        if (value.role == ValueRole::absent) continue;
        auto found = names.find(sortedName(value.displayName()));
        if (found == names.end()) { // files without full names, and traces
            found = ids.find(value.id);
            if (found == ids.end() || (!value.name.empty() && !there.value(found->second).name.empty())) continue;
        }
        if (isComputed(value) == isComputed(there.value(found->second)) && mayBeEqual(value, there.value(found->second)))
            pairs.values[ValueId(static_cast<int64_t>(v))] = {found->second, PairedBy::name};
    }
    // Formals of callees, and inputs of the run whose names differ, pair by position.
    for (size_t i = 0; i < here.inputs.size() && here.inputs.size() == there.inputs.size(); ++i)
        pairs.values.try_emplace(here.inputs[i], Partner{there.inputs[i], PairedBy::position});
}

/// What names left over: results of operators that stand in the same order between operators that pair.
void ValuePairing::pairOperators(const Graph& here, const Graph& there, Pairs& pairs)
{
    std::vector<int> partners(here.operators.size(), -1);
    std::vector<char> taken(there.operators.size(), 0);
    for (const auto& [value, partner] : pairs.values) {
        const OperatorId one = here.value(value).producer, other = there.value(partner.value).producer;
        if (other.valid()) taken[static_cast<size_t>(other.index)] = 1;
        if (one.valid() && other.valid()) partners[static_cast<size_t>(one.index)] = other.index;
    }
    for (const auto& [one, other] : pairByStructure(here, there, partners, taken)) {
        const Operator &a = here.op(one), &b = there.op(other);
        for (size_t k = 0; k < a.results.size(); ++k)
            if (a.results[k].valid() && b.results[k].valid())
                pairs.values.try_emplace(a.results[k], Partner{b.results[k], PairedBy::structure});
    }
}

/// Frames of one name pair, else those whose Enters do.
void ValuePairing::pairFrames(const Graph& here, const Graph& there, Graphs graphs, Pairs& pairs)
{
    std::map<std::string, OperatorId> others;
    for (size_t i = 0; i < there.operators.size(); ++i)
        if (entersFrame(there.operators[i])) others.try_emplace(frameNameOf(there.operators[i]), OperatorId(static_cast<int64_t>(i)));
    if (others.empty()) return;
    struct Mine {
        OperatorId first;
        OperatorId partner;
    };
    std::map<std::string, Mine> mine;
    for (size_t i = 0; i < here.operators.size(); ++i) {
        const Operator& op = here.operators[i];
        if (!entersFrame(op)) continue;
        const std::string name = frameNameOf(op);
        Mine& frame = mine.try_emplace(name, Mine{OperatorId(static_cast<int64_t>(i)), {}}).first->second;
        if (frame.partner.valid()) continue;
        auto other = others.find(name);
        for (size_t k = 0; k < op.results.size() && other == others.end(); ++k) {
            const auto found = pairs.values.find(op.results[k]);
            const OperatorId enter = found == pairs.values.end() ? OperatorId() : there.value(found->second.value).producer;
            if (enter.valid() && entersFrame(there.op(enter))) other = others.find(frameNameOf(there.op(enter)));
        }
        if (other != others.end()) frame.partner = other->second;
    }
    for (const auto& [name, frame] : mine)
        if (frame.partner.valid()) pairs.calls[{frame.first, graphs.first}] = {frame.partner, graphs.second};
}

void ValuePairing::count(const Graph& here, const Graph& there, const Pairs& pairs, const std::string& path, const std::string& pathThere,
                         bool isRoot)
{
    const auto counts = [isRoot](const Value& value) {
        return value.role == ValueRole::result || (isRoot && value.role == ValueRole::input);
    };
    std::vector<char> taken(there.values.size(), 0);
    for (size_t v = 0; v < here.values.size(); ++v) {
        const auto partner = pairs.values.find(ValueId(static_cast<int64_t>(v)));
        if (partner != pairs.values.end()) taken[static_cast<size_t>(partner->second.value.index)] = 1;
        if (!counts(here.values[v])) continue;
        ++m_summary.total;
        if (partner == pairs.values.end()) m_summary.unpaired.push_back(path + "/" + here.values[v].id);
        else ++m_summary.paired;
        if (partner != pairs.values.end() && partner->second.how == PairedBy::structure) ++m_summary.byStructure;
    }
    for (size_t v = 0; v < there.values.size(); ++v)
        if (taken[v] == 0 && counts(there.values[v])) m_summary.unpairedThere.push_back(pathThere + "/" + there.values[v].id);
}

void ValuePairing::pairGraphs(const Model& model, const Model& reference, Graphs graphs, const std::string& path,
                              const std::string& pathThere, bool sameStructure)
{
    const auto [entry, isNew] = m_pairs.try_emplace(graphs);
    if (!isNew) return;
    Pairs& pairs = entry->second;
    const Graph &here = model.graph(graphs.first), &there = reference.graph(graphs.second);
    if (sameStructure) {
        for (size_t v = 0; v < here.values.size(); ++v) {
            const ValueId value(static_cast<int64_t>(v));
            pairs.values[value] = {value, PairedBy::address};
        }
    } else {
        pairByName(here, there, pairs);
        pairOperators(here, there, pairs);
    }
    pairFrames(here, there, graphs, pairs);
    count(here, there, pairs, path, pathThere, m_pairs.size() == 1);
    // A call pairs with the call that gives the partner of one of its results, and its callees with those in the same role.
    struct Further {
        Graphs graphs;
        std::string path, pathThere;
    };
    std::vector<Further> further;
    for (size_t i = 0; i < here.operators.size(); ++i) {
        const Operator& op = here.operators[i];
        const std::vector<Callee> callees = calleesOf(op);
        if (callees.empty()) continue;
        OperatorId site;
        if (sameStructure) site = OperatorId(static_cast<int64_t>(i));
        for (size_t k = 0; k < op.results.size() && !site.valid(); ++k)
            if (const auto found = pairs.values.find(op.results[k]); found != pairs.values.end())
                site = there.value(found->second.value).producer;
        if (!site.valid() || callForm(there.op(site)).kind != callForm(op).kind) continue;
        const std::vector<Callee> others = calleesOf(there.op(site));
        for (const Callee& callee : callees) {
            const auto other = std::ranges::find(others, callee.role, &Callee::role);
            if (other == others.end() || !model.hasGraph(callee.graph) || !reference.hasGraph(other->graph)) continue;
            pairs.calls[{OperatorId(static_cast<int64_t>(i)), callee.graph}] = {site, other->graph};
            further.push_back({{callee.graph, other->graph},
                               path + "/" + operatorLabel(op, static_cast<int64_t>(i)) + ":" + callee.role,
                               pathThere + "/" + operatorLabel(there.op(site), site.index) + ":" + callee.role});
        }
    }
    for (const Further& next : further) pairGraphs(model, reference, next.graphs, next.path, next.pathThere, sameStructure);
}

ValuePairing::Step ValuePairing::into(GraphId graph, GraphId there, OperatorId site, GraphId entered) const
{
    const auto pairs = m_pairs.find({graph, there});
    if (pairs == m_pairs.end()) return {};
    const auto call = pairs->second.calls.find({site, entered});
    return call == pairs->second.calls.end() ? Step{} : call->second;
}

const ValuePairing::Partner* ValuePairing::find(GraphId graph, GraphId there, ValueId value) const
{
    const auto pairs = m_pairs.find({graph, there});
    if (pairs == m_pairs.end()) return nullptr;
    const auto found = pairs->second.values.find(value);
    return found == pairs->second.values.end() ? nullptr : &found->second;
}

ValueId ValuePairing::partner(GraphId graph, GraphId there, ValueId value) const
{
    const Partner* const found = find(graph, there, value);
    return found ? found->value : ValueId();
}

PairedBy ValuePairing::how(GraphId graph, GraphId there, ValueId value) const
{
    const Partner* const found = find(graph, there, value);
    return found ? found->how : PairedBy::name;
}

} // namespace loopscope
