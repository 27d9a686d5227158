#include "engine/transform/call_pruning.h"

#include "engine/ops/control_flow.h"
#include "engine/ops/dataflow.h"
#include "engine/transform/graph_selection.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace loopscope {

namespace {

using Flags = std::vector<bool>;

/// Calls nested deeper keep what they call as it is.
constexpr int kDeepestCalls = 256;

/// Whether a FakeParam may stand for a value of that dtype: a handle would have to be one.
bool canFake(DType dtype) { return dtype != DType::unknown && dtype != DType::resource; }

/// A value that stands for one of that dtype which nobody looks at; invalid if there is none.
ValueId addFakeParam(Graph& graph, DType dtype, const std::string& name)
{
    if (!canFake(dtype)) return {};
    Operator op;
    op.kind = {"tf", "FakeParam"};
    op.name = name;
    op.attributes = {{"dtype", dtype}, {"shape", Shape({0})}};
    Value value;
    value.id = name;
    value.type = TensorType(dtype, Shape({0}));
    value.role = ValueRole::result;
    value.producer = OperatorId(static_cast<int64_t>(graph.operators.size()));
    const ValueId id(static_cast<int64_t>(graph.values.size()));
    op.results = {id};
    graph.values.push_back(std::move(value));
    graph.operators.push_back(std::move(op));
    return id;
}

class CallPruner {
public:
    explicit CallPruner(Model& model) : m_model(model) {}

    void runRoot(GraphId root, const std::vector<std::string>& targets)
    {
        Graph graph = m_model.graph(root);
        std::set<OperatorId> whole;
        for (const GraphOutput& output : graph.outputs)
            if (graph.value(output.value).role == ValueRole::result) whole.insert(graph.value(output.value).producer);
        for (size_t o = 0; o < graph.operators.size(); ++o)
            if (std::ranges::find(targets, graph.operators[o].name) != targets.end()) whole.insert(OperatorId(static_cast<int64_t>(o)));
        const size_t originals = m_model.graphs.size();
        if (prune(graph, whole, false)) m_model.graph(root) = std::move(graph);
        dropUnused(root, originals);
    }

private:
    /// A function as some calls need it.
    struct Part {
        GraphId graph;
        Flags uses; ///< of its inputs
    };

    static bool isPrunable(const Model& model, const Operator& op)
    {
        if (op.kind.dialect != "tf") return false;
        const std::string& name = op.kind.name;
        if (name == "PartitionedCall" || name == "StatefulPartitionedCall") {
            const GraphId callee = attributeGraph(op.attributes, "f");
            return model.hasGraph(callee) && !attributeBool(model.graph(callee).attributes, "_noinline", false);
        }
        const bool lowers = attributeBool(op.attributes, "_lower_using_switch_merge", false);
        return lowers && (name == "If" || name == "StatelessIf" || name == "Case" || name == "StatelessCase" || name == "While" ||
                          name == "StatelessWhile");
    }

    /// Operators in `roots` and, if `effects`, those with side effects run whatever reads them; `roots` are not reduced. True if something
    /// changed.
    bool prune(Graph& graph, const std::set<OperatorId>& roots, bool effects)
    {
        for (size_t o = 0; o < graph.operators.size(); ++o) // only graphs in order: others have cycles
            for (const ValueId input : graph.operators[o].inputs)
                if (input.valid() && graph.value(input).role == ValueRole::result &&
                    graph.value(input).producer.index >= static_cast<int32_t>(o))
                    return false;
        const size_t count = graph.operators.size();
        Flags needed(graph.values.size(), false), runs(count, false), awaited(count, false);
        for (const GraphOutput& output : graph.outputs) needed[static_cast<size_t>(output.value.index)] = true;
        for (const auto& [name, op] : graph.controlOutputs)
            runs[static_cast<size_t>(op.index)] = awaited[static_cast<size_t>(op.index)] = true;
        bool changed = false;
        for (size_t o = count; o-- > 0;) {
            const OperatorId id(static_cast<int64_t>(o));
            Flags results;
            for (const ValueId result : graph.operators[o].results)
                results.push_back(result.valid() && needed[static_cast<size_t>(result.index)]);
            const bool isRoot = roots.contains(id);
            runs[o] = runs[o] || isRoot || (effects && hasEffects(graph.operators[o])) || std::ranges::find(results, true) != results.end();
            if (!runs[o]) {
                changed = true;
                continue;
            }
            if (!isRoot && isPrunable(m_model, graph.operators[o])) changed = reduce(graph, id, results, awaited[o] || effects) || changed;
            needed.resize(graph.values.size(), false);
            const Operator& op = graph.operators[o];
            for (const ValueId input : op.inputs)
                if (input.valid()) needed[static_cast<size_t>(input.index)] = true;
            for (const OperatorId control : op.controlInputs)
                runs[static_cast<size_t>(control.index)] = awaited[static_cast<size_t>(control.index)] = true;
        }
        if (!changed) return false;
        GraphSelection selection(graph);
        for (size_t o = 0; o < count; ++o)
            if (runs[o]) selection.need(OperatorId(static_cast<int64_t>(o)));
        selection.close();
        selection.reorder();
        return true;
    }

    /// Points a call at what of its callees the needed results take.
    bool reduce(Graph& graph, OperatorId id, const Flags& results, bool effects)
    {
        const Operator op = graph.op(id);
        const CallForm form = callForm(op);
        const auto first = static_cast<size_t>(form.firstArgument);
        if (std::ranges::any_of(form.callees, [&](const Callee& c) { return !m_model.hasGraph(c.graph); }) || op.inputs.size() < first)
            return false;
        Flags uses(op.inputs.size() - first, false);
        std::vector<GraphId> callees;
        const bool loops = op.kind.name.ends_with("While");
        if (loops) { // a loop variable is needed if the condition reads it, or another that is needed
            const Part cond = part(form.callees[0].graph, Flags(1, true), true, false);
            Flags live = results;
            if (cond.uses.size() != live.size() || uses.size() != live.size() ||
                m_model.graph(form.callees[1].graph).outputs.size() != live.size())
                return false;
            for (bool grows = true; grows;) {
                for (size_t i = 0; i < live.size(); ++i) {
                    const ValueId operand = op.inputs[first + i];
                    live[i] = live[i] || cond.uses[i] || !operand.valid() || !canFake(graph.value(operand).type.dtype);
                }
                const Part body = part(form.callees[1].graph, live, true, true);
                if (body.uses.size() != live.size()) return false;
                grows = false;
                for (size_t i = 0; i < live.size(); ++i) {
                    grows = grows || (body.uses[i] && !live[i]);
                    live[i] = live[i] || body.uses[i];
                }
                callees = {cond.graph, body.graph};
            }
            uses = live;
        } else {
            for (const Callee& callee : form.callees) {
                const Part taken = part(callee.graph, results, effects, false);
                if (taken.uses.size() != uses.size()) return false;
                for (size_t i = 0; i < uses.size(); ++i) uses[i] = uses[i] || taken.uses[i];
                callees.push_back(taken.graph);
            }
        }
        return rewrite(graph, id, uses, first, callees);
    }

    bool rewrite(Graph& graph, OperatorId id, const Flags& uses, size_t first, const std::vector<GraphId>& callees)
    {
        bool changed = false;
        for (size_t i = 0; i < uses.size(); ++i) {
            const ValueId operand = graph.op(id).inputs[first + i];
            if (uses[i] || !operand.valid() || graph.value(operand).role != ValueRole::result || !canFake(graph.value(operand).type.dtype))
                continue;
            const std::string name = graph.op(id).name + "/unneeded_" + std::to_string(i);
            graph.operators[static_cast<size_t>(id.index)].inputs[first + i] = addFakeParam(graph, graph.value(operand).type.dtype, name);
            changed = true;
        }
        size_t next = 0;
        const auto point = [&](Attribute& attribute) {
            auto* const ref = attribute.as<GraphRef>();
            if (!ref || next >= callees.size()) return;
            changed = changed || ref->graph != callees[next];
            ref->graph = callees[next++];
        };
        Operator& op = graph.operators[static_cast<size_t>(id.index)];
        for (const char* key : {"f", "cond", "body", "then_branch", "else_branch", "branches"})
            for (NamedAttribute& attribute : op.attributes) {
                if (attribute.key != key) continue;
                if (auto* const items = attribute.value.as<AttributeItems>()) std::ranges::for_each(*items, point);
                else point(attribute.value);
            }
        return changed;
    }

    /// The function with nothing but what those of its outputs and, if `effects`, its side effects need. The other outputs are the inputs
    /// at their places, if it is the body of a loop.
    Part part(GraphId function, const Flags& outputs, bool effects, bool isBody)
    {
        const auto [at, isNew] = m_parts.try_emplace(std::tuple(function, outputs, effects, isBody),
                                                     Part{function, Flags(m_model.graph(function).inputs.size(), true)});
        Part& known = at->second; // of a function that calls itself: as it is
        if (!isNew || m_depth >= kDeepestCalls || outputs.size() != m_model.graph(function).outputs.size()) return known;
        Graph copy = m_model.graph(function);
        bool changed = false;
        for (size_t k = 0; k < outputs.size(); ++k) {
            if (outputs[k]) continue;
            ValueId& value = copy.outputs[k].value;
            const DType dtype = copy.value(value).type.dtype;
            const ValueId other =
                isBody && k < copy.inputs.size() ? copy.inputs[k] : addFakeParam(copy, dtype, "unneeded_" + std::to_string(k));
            if (!other.valid() || other == value || copy.value(other).type.dtype != dtype) continue;
            value = other;
            changed = true;
        }
        if (!effects) {
            changed = changed || !copy.controlOutputs.empty();
            copy.controlOutputs.clear();
        }
        GraphSelection selection(copy);
        for (size_t o = 0; o < copy.operators.size(); ++o) selection.need(OperatorId(static_cast<int64_t>(o)));
        selection.reorder(); // what was added stands in front of who reads it
        ++m_depth;
        changed = prune(copy, {}, effects) || changed;
        --m_depth;
        Flags isUsed(copy.values.size(), false), uses;
        for (const Operator& op : copy.operators)
            for (const ValueId input : op.inputs)
                if (input.valid()) isUsed[static_cast<size_t>(input.index)] = true;
        for (size_t k = 0; k < outputs.size(); ++k)
            if (outputs[k]) isUsed[static_cast<size_t>(copy.outputs[k].value.index)] = true;
        for (const ValueId input : copy.inputs) uses.push_back(isUsed[static_cast<size_t>(input.index)]);
        if (changed) {
            copy.id += "__part" + std::to_string(m_parts.size());
            copy.name.clear();
            known.graph = GraphId(static_cast<int64_t>(m_model.graphs.size()));
            m_model.graphs.push_back(std::move(copy));
        }
        known.uses = std::move(uses);
        return known;
    }

    /// Drops those of the copies behind the `originals` that nothing calls: bodies that loops were tried with.
    void dropUnused(GraphId root, size_t originals)
    {
        const auto isCopy = [originals](GraphId graph) { return graph.valid() && static_cast<size_t>(graph.index) >= originals; };
        std::vector<GraphId> places(m_model.graphs.size()); // of the copies that are called, where they are moved to
        std::vector<GraphId> called = {root};
        for (size_t k = 0; k < called.size(); ++k)
            for (const Operator& op : m_model.graph(called[k]).operators)
                for (const Callee& callee : calleesOf(op)) {
                    if (!isCopy(callee.graph) || places[static_cast<size_t>(callee.graph.index)].valid()) continue;
                    places[static_cast<size_t>(callee.graph.index)] = callee.graph;
                    called.push_back(callee.graph);
                }
        size_t next = originals;
        for (size_t g = originals; g < places.size(); ++g) {
            if (!places[g].valid()) continue;
            places[g] = GraphId(static_cast<int64_t>(next));
            if (next != g) m_model.graphs[next] = std::move(m_model.graphs[g]);
            ++next;
        }
        if (next == places.size()) return;
        m_model.graphs.resize(next);
        const auto move = [&](Attribute& attribute) {
            if (auto* const ref = attribute.as<GraphRef>(); ref && isCopy(ref->graph))
                ref->graph = places[static_cast<size_t>(ref->graph.index)];
        };
        for (size_t k = 0; k < called.size(); ++k) {
            const GraphId at = k == 0 ? root : places[static_cast<size_t>(called[k].index)];
            for (Operator& op : m_model.graph(at).operators)
                for (NamedAttribute& attribute : op.attributes) {
                    if (auto* const items = attribute.value.as<AttributeItems>()) std::ranges::for_each(*items, move);
                    else move(attribute.value);
                }
        }
    }

    Model& m_model;
    std::map<std::tuple<GraphId, Flags, bool, bool>, Part> m_parts;
    int m_depth = 0; ///< functions that are being pruned, each for a call in another
};

} // namespace

void pruneCalls(Model& model, GraphId root, const std::vector<std::string>& targets) { CallPruner(model).runRoot(root, targets); }

} // namespace loopscope
