#include "converters/fuse/region.h"

#include "engine/ops/tf_registry.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

namespace loopscope::fusing {

namespace {

constexpr int kDeepestConstant = 16;

bool namesGraph(const Operator& op)
{
    return std::ranges::any_of(op.attributes, [](const NamedAttribute& attribute) {
        if (attribute.value.as<GraphRef>() != nullptr) return true;
        const auto* const items = attribute.value.as<AttributeItems>();
        return items != nullptr && std::ranges::any_of(*items, [](const Attribute& item) { return item.as<GraphRef>() != nullptr; });
    });
}

/// Computed from constants and shapes alone: zeros as many as a batch has rows are zeros in every run.
bool isConstantTree(const Graph& graph, ValueId id, int depth)
{
    const Value& value = graph.value(id);
    if (value.role == ValueRole::constant) return true;
    if (value.role != ValueRole::result || depth > kDeepestConstant) return false;
    const Operator& op = graph.op(value.producer);
    if (!op.controlInputs.empty() || namesGraph(op)) return false;
    if (op.kind.dialect == "tf") {
        if (op.kind.name == "Const" || op.kind.name == "Shape") return true;
        const TfOpSignature* const known = findTfOp(op.kind.name);
        if (known == nullptr || known->isStateful) return false;
    }
    return !op.inputs.empty() && (op.kind.name == "shape" || std::ranges::all_of(op.inputs, [&](ValueId input) {
                                      return input.valid() && isConstantTree(graph, input, depth + 1);
                                  }));
}

using Affected = std::function<bool(OperatorId)>;

/// The operators that lead to some values, back to what a rewrite left alone.
class Slice {
public:
    Slice(const Graph& graph, const Affected& isAffected) : m_graph(&graph), m_isAffected(&isAffected) {}

    void visit(ValueId id)
    {
        if (!id.valid() || !m_seen.insert(id.index).second) return;
        const Value& value = m_graph->value(id);
        if (value.role == ValueRole::constant || value.role == ValueRole::variable || value.role == ValueRole::absent) return;
        if (value.role == ValueRole::input || !((*m_isAffected)(value.producer) || isConstantTree(*m_graph, id, 0))) {
            inputs.push_back(id);
            return;
        }
        if (!m_entered.insert(value.producer.index).second) return;
        for (const ValueId input : m_graph->op(value.producer).inputs) visit(input);
        operators.push_back(value.producer);
    }

    std::vector<OperatorId> operators; ///< producers first
    std::vector<ValueId> inputs;

private:
    const Graph* m_graph;
    const Affected* m_isAffected;
    std::unordered_set<int32_t> m_seen, m_entered;
};

/// The graphs that `graph` calls, each with the number that it has; the others, of which one is being edited, have nothing in them.
void takeCallees(const Model& source, const Graph& graph, Model& model)
{
    std::vector<bool> isCalled(source.graphs.size(), false);
    std::vector<const Graph*> open = {&graph};
    const auto reach = [&](GraphId id) {
        if (!source.hasGraph(id) || isCalled[static_cast<size_t>(id.index)]) return;
        isCalled[static_cast<size_t>(id.index)] = true;
        open.push_back(&source.graph(id));
    };
    while (!open.empty()) {
        const Graph& next = *open.back();
        open.pop_back();
        for (const Operator& op : next.operators) {
            if (op.kind.dialect == "tf" && findTfOp(op.kind.name) == nullptr) reach(source.findGraph(op.kind.name));
            for (const NamedAttribute& attribute : op.attributes) {
                if (const auto* const ref = attribute.value.as<GraphRef>()) reach(ref->graph);
                if (const auto* const items = attribute.value.as<AttributeItems>())
                    for (const Attribute& item : *items)
                        if (const auto* const ref = item.as<GraphRef>()) reach(ref->graph);
            }
        }
    }
    for (size_t g = 0; g < source.graphs.size(); ++g) {
        if (isCalled[g]) {
            model.graphs.push_back(source.graphs[g]);
        } else {
            model.graphs.emplace_back();
            model.graphs.back().id = source.graphs[g].id;
        }
    }
}

Model modelOf(const Model& source, Graph graph)
{
    Model model;
    model.dialect = source.dialect;
    model.attributes = source.attributes;
    std::erase_if(model.attributes, [](const NamedAttribute& attribute) { return attribute.key == "init_op"; });
    model.versions = source.versions;
    const auto isFunction = [&](const Operator& op) { // TensorFlow calls a function by a node of its name, too
        return op.kind.dialect == "tf" && findTfOp(op.kind.name) == nullptr && source.findGraph(op.kind.name).valid();
    };
    const bool calls = std::ranges::any_of(graph.operators, [&](const Operator& op) { return namesGraph(op) || isFunction(op); });
    if (calls) takeCallees(source, graph, model);
    const GraphId own(static_cast<int64_t>(model.graphs.size())); // what it calls keeps its number
    Signature signature;
    signature.key = FusionRegion::kSignature;
    signature.graph = own;
    for (const ValueId input : graph.inputs) signature.inputs.push_back({graph.value(input).id, input});
    for (const GraphOutput& output : graph.outputs) signature.outputs.push_back({output.name, output.value});
    model.signatures.push_back(std::move(signature));
    model.graphs.push_back(std::move(graph));
    return model;
}

/// Marks the operators through which some values follow from others that one side of a region begins with, too: it begins with these.
class Dependence {
public:
    Dependence(const Graph& graph, const std::vector<ValueId>& begins, std::unordered_set<int32_t>& marked)
        : m_graph(graph),
          m_begins(begins),
          m_marked(marked)
    {
    }

    /// False: it does not, as far as one looks.
    bool follows(ValueId id, int depth = 0)
    {
        constexpr int kDeepest = 24;
        constexpr size_t kMost = 256;
        if (!id.valid()) return false;
        if (depth > 0 && std::ranges::find(m_begins, id) != m_begins.end()) return true;
        const Value& value = m_graph.value(id);
        if (value.role != ValueRole::result || depth > kDeepest || !m_seen.insert(id.index).second || m_seen.size() > kMost) return false;
        bool found = false;
        for (const ValueId input : m_graph.op(value.producer).inputs) found = follows(input, depth + 1) || found;
        if (found) m_marked.insert(value.producer.index);
        return found;
    }

private:
    const Graph& m_graph;
    const std::vector<ValueId>& m_begins;
    std::unordered_set<int32_t>& m_marked;
    std::unordered_set<int32_t> m_seen;
};

bool sameOperator(const Operator& a, const Operator& b) { return a.kind == b.kind && a.inputs == b.inputs && a.attributes == b.attributes; }

} // namespace

Graph cutOut(const Graph& source, std::span<const OperatorId> operators, std::span<const ValueId> inputs, std::span<const ValueId> outputs)
{
    Graph graph;
    graph.id = source.id + std::string(FusionRegion::kSuffix);
    std::unordered_map<int32_t, ValueId> known;
    const auto take = [&](ValueId id) {
        if (!id.valid()) return id;
        const auto [entry, isNew] = known.try_emplace(id.index, ValueId(static_cast<int64_t>(graph.values.size())));
        if (isNew) graph.values.push_back(source.value(id));
        return entry->second;
    };
    for (const ValueId input : inputs) {
        const ValueId id = take(input);
        Value& value = graph.value(id);
        value.role = ValueRole::input;
        value.producer = {};
        value.slot = 0;
        graph.inputs.push_back(id);
    }
    for (const OperatorId id : operators) {
        Operator op = source.op(id);
        op.controlInputs.clear();
        const OperatorId own(static_cast<int64_t>(graph.operators.size()));
        for (ValueId& input : op.inputs) input = take(input);
        for (ValueId& result : op.results) {
            result = take(result);
            if (result.valid()) graph.value(result).producer = own;
        }
        graph.operators.push_back(std::move(op));
    }
    for (size_t k = 0; k < outputs.size(); ++k) graph.outputs.push_back({"out" + std::to_string(k), take(outputs[k])});
    return graph;
}

GraphState stateOf(const GraphEditor& editor)
{
    GraphState state{editor.graph(), {}};
    for (size_t k = 0; k < state.graph.operators.size(); ++k) state.isAlive.push_back(editor.isAlive(OperatorId(static_cast<int64_t>(k))));
    return state;
}

std::shared_ptr<const FusionRegion> changedRegion(const Model& model, const GraphState& before, const GraphEditor& editor)
{
    const Graph& after = editor.graph();
    const size_t common = before.graph.operators.size();
    std::vector<bool> isChanged(common, false);
    std::vector<ValueId> was, is;
    const auto pair = [&](ValueId a, ValueId b) {
        if (!a.valid() || !b.valid()) return;
        for (size_t k = 0; k < was.size(); ++k)
            if (was[k] == a && is[k] == b) return;
        was.push_back(a);
        is.push_back(b);
    };
    for (size_t k = 0; k < common; ++k) {
        const OperatorId op(static_cast<int64_t>(k));
        if (!before.isAlive[k] || !editor.isAlive(op)) {
            isChanged[k] = true;
            for (const ValueId result : before.graph.op(op).results) // something else computes it now
                if (before.isAlive[k] && result.valid() && after.value(result).role == ValueRole::result &&
                    editor.isAlive(after.value(result).producer))
                    pair(result, result);
            continue;
        }
        const Operator &a = before.graph.op(op), &b = after.op(op);
        if (sameOperator(a, b)) continue;
        isChanged[k] = true;
        const bool onlyReads = a.kind == b.kind && a.inputs.size() == b.inputs.size() && a.attributes.size() == b.attributes.size();
        for (size_t i = 0; i < a.inputs.size() && onlyReads; ++i)
            if (a.inputs[i] != b.inputs[i]) pair(a.inputs[i], b.inputs[i]);
        for (size_t i = 0; i < a.results.size() && !onlyReads; ++i) pair(a.results[i], a.results[i]);
    }
    for (size_t k = 0; k < before.graph.outputs.size() && k < after.outputs.size(); ++k)
        if (before.graph.outputs[k].value != after.outputs[k].value) pair(before.graph.outputs[k].value, after.outputs[k].value);
    if (was.empty()) return nullptr;
    std::unordered_set<int32_t> between; // unchanged, but what one side begins with follows from what the other does
    const Affected wasAffected = [&](OperatorId op) { return isChanged[static_cast<size_t>(op.index)] || between.contains(op.index); };
    const Affected isAffected = [&](OperatorId op) { return static_cast<size_t>(op.index) >= common || wasAffected(op); };
    Slice old(before.graph, wasAffected), now(after, isAffected);
    for (size_t known = SIZE_MAX; known != between.size();) {
        known = between.size();
        old = Slice(before.graph, wasAffected);
        now = Slice(after, isAffected);
        for (const ValueId value : was) old.visit(value);
        for (const ValueId value : is) now.visit(value);
        for (const ValueId input : old.inputs) Dependence(before.graph, now.inputs, between).follows(input);
        for (const ValueId input : now.inputs) Dependence(after, old.inputs, between).follows(input);
    }
    std::vector<ValueId> inputs = old.inputs;
    for (const ValueId input : now.inputs)
        if (std::ranges::find(inputs, input) == inputs.end()) {
            // A value that only the new operators have cannot be given to the old ones.
            if (static_cast<size_t>(input.index) >= before.graph.values.size()) return nullptr;
            inputs.push_back(input);
        }
    auto region = std::make_shared<FusionRegion>();
    for (const ValueId input : inputs) region->inputs.push_back(before.graph.value(input).id);
    region->before = modelOf(model, cutOut(before.graph, old.operators, inputs, was));
    region->after = modelOf(model, cutOut(after, now.operators, inputs, is));
    return region;
}

} // namespace loopscope::fusing
