#include "engine/debug/graph_diff/flat_graph.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr size_t kMostPassed = 10'000; ///< calls that one value goes through

/// The graph that an operator calls once; invalid: it does something else.
GraphId calledBy(const Model& model, const Operator& op)
{
    const std::vector<Callee> callees = calleesOf(op);
    if (callees.size() != 1 || callees.front().role != "call" || !model.hasGraph(callees.front().graph)) return {};
    const Graph& callee = model.graph(callees.front().graph);
    const bool fits = callee.inputs.size() == op.inputs.size() && callee.outputs.size() >= op.results.size();
    return fits ? callees.front().graph : GraphId();
}

} // namespace

FlatGraph::FlatGraph(const Model& model, GraphId root, bool opens) : places{{root, {}, -1}}, m_model(model), m_calls(1)
{
    if (opens) findPlaces();
    if (isOpened()) copy();
}

void FlatGraph::findPlaces()
{
    std::vector<int> calls(m_model.graphs.size(), 0); // from what the root reaches: other signatures may call the same functions
    std::vector<GraphId> reached{places.front().graph};
    for (size_t g = 0; g < reached.size(); ++g)
        for (const Operator& op : m_model.graph(reached[g]).operators)
            for (const Callee& callee : calleesOf(op))
                if (m_model.hasGraph(callee.graph) && ++calls[static_cast<size_t>(callee.graph.index)] == 1 &&
                    callee.graph != reached.front())
                    reached.push_back(callee.graph);
    calls[static_cast<size_t>(places.front().graph.index)] = 2; // the root is not entered again
    for (size_t p = 0; p < places.size(); ++p) {
        const Graph& graph = at(static_cast<int>(p));
        for (size_t i = 0; i < graph.operators.size(); ++i) {
            const GraphId callee = calledBy(m_model, graph.operators[i]);
            if (!callee.valid() || calls[static_cast<size_t>(callee.index)] != 1) continue;
            const OperatorId site(static_cast<int64_t>(i));
            Place inner{callee, places[p].sites, static_cast<int>(p)};
            inner.sites.push_back(site);
            m_calls[p].emplace_back(site, static_cast<int>(places.size()));
            m_calls.emplace_back();
            places.push_back(std::move(inner));
        }
    }
}

int FlatGraph::entered(int place, OperatorId site) const
{
    const auto& calls = m_calls[static_cast<size_t>(place)];
    const auto found = std::ranges::lower_bound(calls, site.index, {}, [](const auto& call) { return call.first.index; });
    return found != calls.end() && found->first == site ? found->second : -1;
}

/// Out of what is called and into what calls, until somebody computes the value.
std::pair<int, ValueId> FlatGraph::sourceOf(int place, ValueId id) const
{
    for (size_t passed = 0; passed < kMostPassed; ++passed) {
        const Value& value = at(place).value(id);
        std::pair<int, ValueId> next(-1, ValueId());
        if (value.role == ValueRole::input && place > 0) {
            const Place& inner = places[static_cast<size_t>(place)];
            const auto& inputs = at(place).inputs;
            const auto position = static_cast<size_t>(std::ranges::find(inputs, id) - inputs.begin());
            const Operator& call = at(inner.parent).op(inner.sites.back());
            if (position < call.inputs.size()) next = {inner.parent, call.inputs[position]};
        } else if (value.role == ValueRole::result) {
            const int inside = entered(place, value.producer);
            const auto slot = static_cast<size_t>(value.slot);
            if (inside >= 0 && slot < at(inside).outputs.size()) next = {inside, at(inside).outputs[slot].value};
        }
        if (!next.second.valid()) break;
        place = next.first;
        id = next.second;
    }
    return {place, id};
}

void FlatGraph::copy()
{
    m_own.id = at(0).id;
    m_flat.resize(places.size());
    for (size_t p = 0; p < places.size(); ++p) m_flat[p].resize(at(static_cast<int>(p)).values.size());
    std::vector<std::vector<OperatorId>> operators(places.size());
    for (size_t p = 0; p < places.size(); ++p) {
        const int place = static_cast<int>(p);
        for (size_t i = 0; i < at(place).operators.size(); ++i) {
            const OperatorId id(static_cast<int64_t>(i));
            const bool isOpen = entered(place, id) >= 0;
            operators[p].push_back(isOpen ? OperatorId() : OperatorId(static_cast<int64_t>(m_operators.size())));
            if (!isOpen) m_operators.emplace_back(place, id);
        }
    }
    const auto flatOf = [&](int place, ValueId value) {
        if (!value.valid()) return ValueId();
        const auto [from, source] = sourceOf(place, value);
        ValueId& known = m_flat[static_cast<size_t>(from)][static_cast<size_t>(source.index)];
        if (!known.valid()) {
            known = ValueId(static_cast<int64_t>(m_values.size()));
            m_values.emplace_back(from, source);
            Value copied = at(from).value(source);
            if (copied.role == ValueRole::result)
                copied.producer = operators[static_cast<size_t>(from)][static_cast<size_t>(copied.producer.index)];
            if (copied.role == ValueRole::result && !copied.producer.valid()) copied.role = ValueRole::absent; // what nothing computes
            m_own.values.push_back(std::move(copied));
        }
        return m_flat[static_cast<size_t>(place)][static_cast<size_t>(value.index)] = known;
    };
    for (const ValueId input : at(0).inputs) m_own.inputs.push_back(flatOf(0, input));
    for (const auto& [place, id] : m_operators) {
        Operator op = at(place).op(id);
        for (ValueId& input : op.inputs) input = flatOf(place, input);
        for (ValueId& result : op.results) result = flatOf(place, result);
        std::erase_if(op.controlInputs, [&, p = static_cast<size_t>(place)](OperatorId& from) {
            from = operators[p][static_cast<size_t>(from.index)];
            return !from.valid();
        });
        m_own.operators.push_back(std::move(op));
    }
    for (size_t p = 0; p < places.size(); ++p)
        for (size_t v = 0; v < m_flat[p].size(); ++v) flatOf(static_cast<int>(p), ValueId(static_cast<int64_t>(v)));
    for (const GraphOutput& output : at(0).outputs) m_own.outputs.push_back({output.name, flatOf(0, output.value)});
}

std::pair<int, OperatorId> FlatGraph::originOf(OperatorId op) const
{
    return isOpened() ? m_operators[static_cast<size_t>(op.index)] : std::pair(0, op);
}

std::pair<int, ValueId> FlatGraph::originOf(ValueId value) const
{
    return isOpened() ? m_values[static_cast<size_t>(value.index)] : std::pair(0, value);
}

ValueId FlatGraph::flat(int place, ValueId value) const
{
    return isOpened() ? m_flat[static_cast<size_t>(place)][static_cast<size_t>(value.index)] : value;
}

} // namespace loopscope
