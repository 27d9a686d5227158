#include "app/commands/diff_models.h"

#include "app/wiring/tf_target.h"
#include "converters/fuse/fuse.h"
#include "engine/api/inputs/run_target.h"
#include "engine/debug/graph_diff/graph_diff.h"
#include "engine/debug/reference/operator_match.h"
#include "engine/ir/text/printer.h"
#include "engine/observe/address.h"
#include "engine/observe/address_names.h"
#include "engine/observe/address_resolution.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <map>
#include <set>

namespace loopscope::app {

namespace {

constexpr size_t kMostShown = 60; ///< characters of an attribute

/// An operator of a model, found again by its address.
struct Found {
    GraphId graph;
    OperatorId op;
};

class Comparer {
public:
    Comparer(const Model& a, const Model& b) : m_a(a), m_b(b), m_pairing(ValuePairing::create(a, GraphId(0), b, GraphId(0))) {}

    ModelDiff run()
    {
        m_diff.pairedBy = m_pairing.summary().how;
        if (m_diff.pairedBy != "address") return byGroups();
        std::set<std::string> seenThere;
        std::string last;
        for (const OperatorMatch& match : matchOperators(m_a, GraphId(0), m_b, GraphId(0), m_pairing)) {
            if (!match.there.empty()) seenThere.insert(match.there);
            if (match.here == last) continue; // another result of the same operator
            last = match.here;
            if (match.there.empty()) unmatched(match.here);
            else matched(match.here, match.there);
        }
        // The other way round only to name what pairs with nothing.
        const ValuePairing back = ValuePairing::create(m_b, GraphId(0), m_a, GraphId(0));
        for (const OperatorMatch& match : matchOperators(m_b, GraphId(0), m_a, GraphId(0), back)) {
            if (!match.there.empty() || !seenThere.insert(match.here).second) continue;
            const Found there = find(m_b, match.here);
            if (!there.op.valid() || hasNoResults(m_b, there)) continue;
            ++m_diff.onlyB;
            note(m_b, there, ScopeState::onlyThere);
            add(match.here, "missing", "nothing", nameOf(m_b, there));
        }
        return finished();
    }

private:
    /// Where the structure differs: what was fused, split, moved, renamed, added and removed.
    ModelDiff byGroups()
    {
        const GraphDiff groups = diffGraphs(m_a, GraphId(0), m_b, GraphId(0));
        std::map<MatchedBy, int64_t> how;
        for (const MatchedGroup& group : groups.groups) {
            if (group.here.empty() || group.there.empty()) {
                alone(group);
                continue;
            }
            ++how[group.how];
            const Found a{group.graph, group.here.front()}, b{group.graphThere, group.there.front()};
            if (m_a.graph(a.graph).op(a.op).kind.name == "Const") continue;
            const std::string here = placeOf(m_a, a), there = placeOf(m_b, b), place = here == there ? here : here + " = " + there;
            const int64_t differing = m_diff.differing;
            compare(a, b, place);
            const size_t before = m_diff.differences.size();
            if (group.here.size() + group.there.size() > 2)
                add(place, group.here.size() > group.there.size() ? "fused" : "split", kindsOf(m_a, a.graph, group.here),
                    kindsOf(m_b, b.graph, group.there));
            if (group.isMoved) add(place, "moved", "reads one operator", "reads another");
            if (m_diff.differences.size() > before && m_diff.differing == differing) ++m_diff.differing;
            const ScopeState state = m_diff.differing == differing ? ScopeState::alike : ScopeState::differs;
            for (const OperatorId op : group.here) note(m_a, {group.graph, op}, state);
            m_diff.paired += static_cast<int64_t>(group.here.size()) - 1;
        }
        const auto most = std::ranges::max_element(how, {}, [](const auto& entry) { return entry.second; });
        if (most != how.end()) m_diff.pairedBy = matchedByText(most->first);
        return finished();
    }

    void alone(const MatchedGroup& group)
    {
        if (group.there.empty()) {
            const Found own{group.graph, group.here.front()};
            ++m_diff.onlyA;
            note(m_a, own, ScopeState::onlyHere);
            add(placeOf(m_a, own), "missing", nameOf(m_a, own), "nothing");
        } else {
            const Found other{group.graphThere, group.there.front()};
            ++m_diff.onlyB;
            note(m_b, other, ScopeState::onlyThere);
            add(placeOf(m_b, other), "missing", "nothing", nameOf(m_b, other));
        }
    }

    static std::string placeOf(const Model& model, const Found& found)
    {
        return model.graph(found.graph).id + "/" + labelText(operatorName(opOf(model, found), found.op.index));
    }

    static std::string kindsOf(const Model& model, GraphId graph, const std::vector<OperatorId>& ops)
    {
        std::string text;
        for (const OperatorId op : ops) text += (text.empty() ? "" : " + ") + model.graph(graph).op(op).kind.name;
        return text;
    }

    static Found find(const Model& model, const std::string& address)
    {
        const Result<Address> parsed = parseAddress(address);
        if (!parsed.ok()) return {};
        const Result<ResolvedAddress> place = resolveAddress(model, *parsed);
        return place.ok() ? Found{place->graph, place->op} : Found{};
    }

    static const Operator& opOf(const Model& model, const Found& found) { return model.graph(found.graph).op(found.op); }
    static bool hasNoResults(const Model& model, const Found& found) { return opOf(model, found).results.empty(); }
    static std::string nameOf(const Model& model, const Found& found) { return opOf(model, found).kind.full(); }

    void note(const Model& model, const Found& found, ScopeState state)
    {
        const Operator& op = opOf(model, found);
        if (op.kind.name != "Const") m_scoped.push_back({scopedName(model.graph(found.graph), op), state});
    }

    ModelDiff finished()
    {
        m_diff.scopes = summarizeScopes(m_scoped);
        return std::move(m_diff);
    }

    void add(const std::string& address, std::string kind, std::string a, std::string b)
    {
        m_diff.differences.push_back({address, std::move(kind), std::move(a), std::move(b)});
    }

    void unmatched(const std::string& address)
    {
        const Found here = find(m_a, address);
        // What gives nothing has no value that could pair; the same place is then its partner.
        if (here.op.valid() && hasNoResults(m_a, here)) {
            const Found there = find(m_b, address);
            if (there.op.valid() && opOf(m_b, there).kind == opOf(m_a, here).kind) return matched(address, address);
        }
        ++m_diff.onlyA;
        if (here.op.valid()) note(m_a, here, ScopeState::onlyHere);
        add(address, "missing", here.op.valid() ? nameOf(m_a, here) : "", "nothing");
    }

    void matched(const std::string& here, const std::string& there)
    {
        const Found a = find(m_a, here), b = find(m_b, there);
        if (!a.op.valid() || !b.op.valid()) return;
        const int64_t differing = m_diff.differing;
        compare(a, b, here == there ? here : here + " = " + there);
        note(m_a, a, m_diff.differing == differing ? ScopeState::alike : ScopeState::differs);
    }

    void compare(const Found& a, const Found& b, const std::string& place)
    {
        ++m_diff.paired;
        const size_t before = m_diff.differences.size();
        const Operator& x = opOf(m_a, a);
        const Operator& y = opOf(m_b, b);
        const bool isTranslated = x.kind.dialect != y.kind.dialect; // which has other attributes and operands
        if (x.kind == y.kind) attributes(place, x, a, y, b);
        else if (!isTranslated || kindAcrossDialects(x.kind) != kindAcrossDialects(y.kind))
            add(place, "operator", x.kind.full(), y.kind.full());
        if (isTranslated) {
            m_diff.differing += m_diff.differences.size() > before ? 1 : 0;
            return;
        }
        operands(place, x, a, y, b);
        for (size_t k = 0; k < std::min(x.results.size(), y.results.size()); ++k)
            types(place, "result " + std::to_string(k), m_a.graph(a.graph).value(x.results[k]).type,
                  m_b.graph(b.graph).value(y.results[k]).type);
        if (m_diff.differences.size() > before) ++m_diff.differing;
    }

    void attributes(const std::string& place, const Operator& x, const Found& a, const Operator& y, const Found& b)
    {
        std::set<std::string> keys;
        for (const auto* op : {&x, &y})
            for (const NamedAttribute& attribute : op->attributes) keys.insert(attribute.key);
        for (const std::string& key : keys) {
            const Attribute* const left = findAttribute(x.attributes, key);
            const Attribute* const right = findAttribute(y.attributes, key);
            // Graphs are compared inside; facts say where an operator came from.
            if (key.starts_with('@') || (left && left->as<GraphRef>()) || (right && right->as<GraphRef>())) continue;
            const std::string l = left ? attributeText(*left, m_a, &m_a.graph(a.graph)) : "not given";
            const std::string r = right ? attributeText(*right, m_b, &m_b.graph(b.graph)) : "not given";
            if (l != r) add(place, "attribute " + key, cut(l), cut(r));
        }
    }

    static std::string cut(std::string text)
    {
        if (text.size() <= kMostShown) return text;
        return text.substr(0, kMostShown) + "…";
    }

    void operands(const std::string& place, const Operator& x, const Found& a, const Operator& y, const Found& b)
    {
        const size_t count = std::max(x.inputs.size(), y.inputs.size());
        for (size_t i = 0; i < count; ++i) {
            const ValueId left = i < x.inputs.size() ? x.inputs[i] : ValueId();
            const ValueId right = i < y.inputs.size() ? y.inputs[i] : ValueId();
            const std::string what = "operand " + std::to_string(i);
            if (!left.valid() || !right.valid()) {
                if (left.valid() != right.valid())
                    add(place, what, left.valid() ? m_a.graph(a.graph).value(left).id : "none",
                        right.valid() ? m_b.graph(b.graph).value(right).id : "none");
                continue;
            }
            const Value& v = m_a.graph(a.graph).value(left);
            const Value& w = m_b.graph(b.graph).value(right);
            if (v.role == ValueRole::constant && w.role == ValueRole::constant) {
                if (types(place, what, v.type, w.type)) continue;
                if (v.constant && w.constant && !v.constant->sameContent(*w.constant))
                    add(place, what, v.id + " " + shortType(v.type), "other elements");
            } else if (m_diff.pairedBy != "address") {
                continue; // names differ; what reads another operator is told as moved
            } else if (const auto* const partner = m_pairing.partner(a.graph, b.graph, left);
                       partner != nullptr && partner->value != right) {
                add(place, what, v.id, w.id);
            }
        }
    }

    bool types(const std::string& place, const std::string& what, const TensorType& x, const TensorType& y)
    {
        if (x == y) return false;
        const std::string l = shortType(x), r = shortType(y);
        add(place, what, l == r ? typeText(x) : l, l == r ? typeText(y) : r);
        return true;
    }

    const Model& m_a;
    const Model& m_b;
    const ValuePairing m_pairing;
    ModelDiff m_diff;
    std::vector<ScopedOperator> m_scoped;
};

/// A TensorFlow model as a converter sees it: variables as constants, the bodies of what is called in their places.
Status openWhole(Model& model)
{
    if (model.dialect != Dialect::tf) return {};
    const Signature* const chosen = chooseSignature(model, "");
    FusionOptions options;
    options.signature = chosen != nullptr ? chosen->key : "";
    options.root = rootOf(model, options.signature);
    LS_TRY(options.selection, completeSelection(model, {}, options.signature));
    options.keeps = options.selection->fetches;
    LS_CHECK_OK(openForFusion(model, options));
    LS_TRY(model, selectForRun(model, options.root, *options.selection));
    return {};
}

} // namespace

Status openForDiff(Model& a, Model& b)
{
    if ((a.dialect == Dialect::tf) == (b.dialect == Dialect::tf)) return {};
    LS_CHECK_OK(openWhole(a));
    return openWhole(b);
}

ModelDiff diffModels(const Model& a, const Model& b)
{
    if (a.graphs.empty() || b.graphs.empty()) return {};
    return Comparer(a, b).run();
}

} // namespace loopscope::app
