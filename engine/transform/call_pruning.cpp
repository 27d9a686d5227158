#include "engine/transform/call_pruning.h"

#include "engine/ops/control_flow.h"
#include "engine/ops/dataflow.h"
#include "engine/transform/graph_editor.h"

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
ValueId addFakeParam(GraphEditor& editor, DType dtype, std::string name, const Sources& sources)
{
    if (!canFake(dtype)) return {};
    OperatorDraft fake;
    fake.kind = {"tf", "FakeParam"};
    fake.name = std::move(name);
    fake.attributes = {{"dtype", dtype}, {"shape", Shape({0})}};
    fake.results = {TensorType(dtype, Shape({0}))};
    return editor.op(editor.append(std::move(fake), sources)).results.front();
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
        GraphEditor editor(graph, Dialect::tf); // not the model's: what signatures name is no reason to run
        if (prune(editor, whole, false)) {
            (void)editor.finish();
            m_model.graph(root) = std::move(graph);
        }
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
    bool prune(GraphEditor& editor, const std::set<OperatorId>& roots, bool effects)
    {
        if (!editor.isInOrder()) return false; // it has cycles
        const Graph& graph = editor.graph();
        const std::vector<OperatorId> order = editor.order();
        const size_t count = graph.operators.size();
        Flags needed(graph.values.size(), false), runs(count, false), awaited(count, false);
        for (const GraphOutput& output : graph.outputs) needed[static_cast<size_t>(output.value.index)] = true;
        for (const auto& [name, op] : graph.controlOutputs)
            runs[static_cast<size_t>(op.index)] = awaited[static_cast<size_t>(op.index)] = true;
        bool changed = false;
        for (auto at = order.rbegin(); at != order.rend(); ++at) {
            const OperatorId id = *at;
            const auto o = static_cast<size_t>(id.index);
            Flags results;
            for (const ValueId result : editor.op(id).results)
                results.push_back(result.valid() && needed[static_cast<size_t>(result.index)]);
            const bool isRoot = roots.contains(id);
            runs[o] = runs[o] || isRoot || (effects && hasEffects(editor.op(id))) || std::ranges::find(results, true) != results.end();
            if (!runs[o]) {
                changed = true;
                continue;
            }
            if (!isRoot && isPrunable(m_model, editor.op(id))) changed = reduce(editor, id, results, awaited[o] || effects) || changed;
            needed.resize(graph.values.size(), false);
            for (const ValueId input : editor.op(id).inputs)
                if (input.valid()) needed[static_cast<size_t>(input.index)] = true;
            for (const OperatorId control : editor.op(id).controlInputs)
                runs[static_cast<size_t>(control.index)] = awaited[static_cast<size_t>(control.index)] = true;
        }
        if (!changed) return false;
        std::vector<OperatorId> running;
        for (const OperatorId id : order)
            if (runs[static_cast<size_t>(id.index)]) running.push_back(id);
        editor.eraseUnneeded(running);
        editor.sortTopologically();
        return true;
    }

    /// Points a call at what of its callees the needed results take.
    bool reduce(GraphEditor& editor, OperatorId id, const Flags& results, bool effects)
    {
        const Operator op = editor.op(id);
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
                    live[i] = live[i] || cond.uses[i] || !operand.valid() || !canFake(editor.value(operand).type.dtype);
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
        return rewrite(editor, id, uses, first, callees);
    }

    bool rewrite(GraphEditor& editor, OperatorId id, const Flags& uses, size_t first, const std::vector<GraphId>& callees)
    {
        bool changed = false;
        for (size_t i = 0; i < uses.size(); ++i) {
            const ValueId operand = editor.op(id).inputs[first + i];
            if (uses[i] || !operand.valid() || editor.value(operand).role != ValueRole::result ||
                !canFake(editor.value(operand).type.dtype))
                continue;
            const std::string name = editor.op(id).name + "/unneeded_" + std::to_string(i);
            editor.setInput(id, static_cast<int32_t>(first + i), addFakeParam(editor, editor.value(operand).type.dtype, name, id));
            changed = true;
        }
        size_t next = 0;
        const auto point = [&](Attribute& attribute) {
            auto* const ref = attribute.as<GraphRef>();
            if (!ref || next >= callees.size()) return;
            changed = changed || ref->graph != callees[next];
            ref->graph = callees[next++];
        };
        AttributeList attributes = editor.op(id).attributes;
        for (const char* key : {"f", "cond", "body", "then_branch", "else_branch", "branches"})
            for (NamedAttribute& attribute : attributes) {
                if (attribute.key != key) continue;
                if (auto* const items = attribute.value.as<AttributeItems>()) std::ranges::for_each(*items, point);
                else point(attribute.value);
            }
        editor.setAttributes(id, std::move(attributes));
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
        Graph copy = copyGraph(m_model.graph(function), m_model.graph(function).id);
        bool changed = false;
        Flags uses;
        {
            GraphEditor editor(copy, Dialect::tf);
            changed = leaveOut(editor, outputs, isBody);
            if (!effects) {
                changed = changed || !copy.controlOutputs.empty();
                editor.setControlOutputs({});
            }
            editor.sortTopologically(); // what was added stands in front of who reads it
            ++m_depth;
            changed = prune(editor, {}, effects) || changed;
            --m_depth;
            const auto counts = [&](const ValueUse& use) {
                return use.kind != ValueUse::Kind::output || outputs[static_cast<size_t>(use.index)];
            };
            for (const ValueId input : copy.inputs) uses.push_back(std::ranges::any_of(editor.uses(input), counts));
        }
        if (changed) {
            copy.id += "__part" + std::to_string(m_parts.size());
            known.graph = GraphId(static_cast<int64_t>(m_model.graphs.size()));
            m_model.graphs.push_back(std::move(copy));
        }
        known.uses = std::move(uses);
        return known;
    }

    /// Outputs that are not looked at become something that needs no computing. True if one did.
    static bool leaveOut(GraphEditor& editor, const Flags& outputs, bool isBody)
    {
        bool changed = false;
        for (size_t k = 0; k < outputs.size(); ++k) {
            if (outputs[k]) continue;
            const Graph& graph = editor.graph();
            const ValueId value = graph.outputs[k].value;
            const DType dtype = graph.value(value).type.dtype;
            const OperatorId producer = graph.value(value).producer;
            const ValueId other = isBody && k < graph.inputs.size() ? graph.inputs[k]
                                                                    : addFakeParam(editor, dtype, "unneeded_" + std::to_string(k),
                                                                                   producer.valid() ? Sources(producer) : Sources::none());
            if (!other.valid() || other == value || graph.value(other).type.dtype != dtype) continue;
            editor.setOutput(static_cast<int32_t>(k), other);
            changed = true;
        }
        return changed;
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
