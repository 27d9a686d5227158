#include "engine/transform/gradient/activity.h"

#include "engine/ops/op_traits.h"
#include "engine/transform/gradient/backward_pass.h"

#include <algorithm>

namespace loopscope {

namespace {

/// Functions that call each other deeper than this call themselves.
constexpr int kDeepestCalls = 64;

bool isOneOf(const Operator& op, std::initializer_list<std::string_view> names)
{
    return op.kind.dialect == "tf" && std::ranges::find(names, op.kind.name) != names.end();
}

size_t at(ValueId value) { return static_cast<size_t>(value.index); }

/// Spreads a mark from values to all that depend on them.
class Spreading {
public:
    Spreading(const Model& model, const Graph& graph, int depth)
        : m_model(model),
          m_graph(graph),
          m_depth(depth),
          m_reached(graph.values.size(), false),
          m_readers(graph.values.size())
    {
        for (size_t o = 0; o < graph.operators.size(); ++o)
            for (const ValueId input : graph.operators[o].inputs)
                if (input.valid()) m_readers[at(input)].push_back(o);
    }

    void reach(ValueId value)
    {
        if (m_reached[at(value)] || !hasGradient(m_graph.value(value).type.dtype)) return;
        m_reached[at(value)] = true;
        m_open.push_back(value);
    }

    void run()
    {
        for (const Operator& op : m_graph.operators) { // what may depend on it though no operand does
            if (!isStackPop(op) && calledGraphs(op).empty()) continue;
            const std::vector<bool> results = reachedResults(m_model, op, std::vector<bool>(op.inputs.size(), false), m_depth);
            for (size_t k = 0; k < op.results.size(); ++k)
                if (results[k]) reach(op.results[k]);
        }
        while (!m_open.empty()) {
            const ValueId value = m_open.back();
            m_open.pop_back();
            for (const size_t reader : m_readers[at(value)]) {
                const Operator& op = m_graph.operators[reader];
                if (hasTrait(op.kind, OpTrait::noGradient)) continue;
                std::vector<bool> inputs;
                for (const ValueId input : op.inputs) inputs.push_back(input.valid() && m_reached[at(input)]);
                const std::vector<bool> results = reachedResults(m_model, op, inputs, m_depth);
                for (size_t k = 0; k < op.results.size(); ++k)
                    if (results[k]) reach(op.results[k]);
            }
        }
    }

    bool isReached(ValueId value) const { return value.valid() && m_reached[at(value)]; }

private:
    const Model& m_model;
    const Graph& m_graph;
    int m_depth;
    std::vector<bool> m_reached;
    std::vector<std::vector<size_t>> m_readers;
    std::vector<ValueId> m_open;
};

} // namespace

bool isLoop(const Operator& op) { return isOneOf(op, {"While", "StatelessWhile"}); }
bool isBranch(const Operator& op) { return isOneOf(op, {"If", "StatelessIf", "Case", "StatelessCase"}); }
bool isStackPop(const Operator& op) { return isOneOf(op, {"StackPop", "StackPopV2"}); }
bool isCall(const Operator& op) { return isOneOf(op, {"PartitionedCall", "StatefulPartitionedCall"}); }

std::vector<GraphId> calledGraphs(const Operator& op)
{
    std::vector<GraphId> called;
    const auto add = [&](std::string_view key) {
        if (const GraphId id = attributeGraph(op.attributes, key); id.valid()) called.push_back(id);
    };
    if (isLoop(op)) {
        add("cond");
        add("body");
    } else if (isOneOf(op, {"If", "StatelessIf"})) {
        add("then_branch");
        add("else_branch");
    } else if (isBranch(op)) {
        const Attribute* const said = findAttribute(op.attributes, "branches");
        const auto* const items = said ? said->as<AttributeItems>() : nullptr;
        for (size_t k = 0; items && k < items->size(); ++k)
            if (const auto* ref = (*items)[k].as<GraphRef>()) called.push_back(ref->graph);
    } else if (isCall(op)) {
        add("f");
    }
    return called;
}

std::vector<bool> reachedOutputs(const Model& model, const Graph& graph, const std::vector<bool>& inputs, int depth)
{
    Spreading spreading(model, graph, depth + 1);
    for (size_t i = 0; i < graph.inputs.size() && i < inputs.size(); ++i)
        if (inputs[i]) spreading.reach(graph.inputs[i]);
    spreading.run();
    std::vector<bool> outputs;
    for (const GraphOutput& output : graph.outputs) outputs.push_back(spreading.isReached(output.value));
    return outputs;
}

std::vector<bool> reachedResults(const Model& model, const Operator& op, const std::vector<bool>& reached, int depth)
{
    std::vector<bool> results(op.results.size(), true);
    if (isStackPop(op)) return results;
    const std::vector<GraphId> called = calledGraphs(op);
    const auto isThere = [&](GraphId id) { return model.hasGraph(id); };
    if (called.empty() || depth > kDeepestCalls || !std::ranges::all_of(called, isThere)) return results;
    const auto join = [](std::vector<bool>& all, const std::vector<bool>& more) {
        bool changed = false;
        for (size_t k = 0; k < all.size() && k < more.size(); ++k) {
            changed = changed || (more[k] && !all[k]);
            all[k] = all[k] || more[k];
        }
        return changed;
    };
    if (isLoop(op)) {
        if (called.size() != 2) return results;
        std::vector<bool> variables = reached;
        variables.resize(results.size(), false);
        while (join(variables, reachedOutputs(model, model.graph(called[1]), variables, depth))) {
        }
        return variables;
    }
    results.assign(results.size(), false);
    const std::vector<bool> arguments(reached.begin() + (isBranch(op) && !reached.empty() ? 1 : 0), reached.end());
    for (const GraphId graph : called) join(results, reachedOutputs(model, model.graph(graph), arguments, depth));
    return results;
}

std::vector<bool> neededInputs(const Graph& graph, const std::vector<bool>& wanted)
{
    std::vector<bool> needed(graph.values.size(), false);
    std::vector<ValueId> open;
    const auto need = [&](ValueId value) {
        if (!value.valid() || needed[at(value)]) return;
        needed[at(value)] = true;
        open.push_back(value);
    };
    for (size_t k = 0; k < graph.outputs.size() && k < wanted.size(); ++k)
        if (wanted[k]) need(graph.outputs[k].value);
    while (!open.empty()) {
        const Value& value = graph.value(open.back());
        open.pop_back();
        if (value.role != ValueRole::result) continue;
        const Operator& producer = graph.op(value.producer);
        if (hasTrait(producer.kind, OpTrait::noGradient)) continue;
        for (const ValueId input : producer.inputs) need(input);
    }
    std::vector<bool> inputs;
    for (const ValueId input : graph.inputs) inputs.push_back(needed[at(input)]);
    return inputs;
}

DType gradientDType(const Model& model, const Graph& graph, ValueId value, int depth)
{
    const Value& v = graph.value(value);
    if (v.type.dtype != DType::resource) return v.type.dtype;
    const auto said = [](const Operator& op) {
        const Attribute* const dtype = findAttribute(op.attributes, "dtype");
        const DType* const known = dtype ? dtype->as<DType>() : nullptr;
        return known ? *known : DType::unknown;
    };
    if (v.role == ValueRole::result) {
        const Operator& producer = graph.op(v.producer);
        if (producer.kind.name == "VarHandleOp") return said(producer);
        if (producer.kind.name == "Identity") return gradientDType(model, graph, producer.inputs[0], depth);
    }
    for (const Operator& op : graph.operators) {
        const auto use = std::ranges::find(op.inputs, value);
        if (use == op.inputs.end()) continue;
        if (isOneOf(op, {"ReadVariableOp", "ResourceGather", "ResourceGatherNd"})) return said(op);
        const std::vector<GraphId> called = calledGraphs(op);
        const auto slot = static_cast<size_t>(use - op.inputs.begin()) - (isBranch(op) && use != op.inputs.begin() ? 1 : 0);
        for (const GraphId id : called) {
            if (depth > kDeepestCalls || !model.hasGraph(id) || slot >= model.graph(id).inputs.size()) continue;
            const DType inside = gradientDType(model, model.graph(id), model.graph(id).inputs[slot], depth + 1);
            if (inside != DType::unknown) return inside;
        }
        if (op.kind.name == "Identity" && !op.results.empty())
            if (const DType behind = gradientDType(model, graph, op.results[0], depth + 1); behind != DType::unknown) return behind;
    }
    return DType::unknown;
}

} // namespace loopscope
