// Passes that make graphs smaller and mean the same: calls are replaced by what they call, constants are computed, what is dead goes.
#include "converters/passes/graph_walk.h"
#include "converters/passes/pass.h"
#include "engine/base/text.h"
#include "engine/ir/frames.h"
#include "engine/ir/origin.h"
#include "engine/ir/random_stream.h"
#include "engine/ops/dataflow.h"

#include <algorithm>
#include <set>
#include <unordered_set>

namespace loopscope {

namespace {

constexpr int kMostRounds = 64;                 ///< calls in calls
constexpr size_t kMostOperators = 2'000'000;    ///< of a graph that grows
constexpr uint64_t kMostFoldedBytes = 1U << 20; ///< of one constant

bool isPureNode(const Operator& op)
{
    return op.kind.dialect == "tf" && !hasEffects(op) && !isDataflow(op) && !drawsRandomNumbers(op) && calleesOf(op).empty();
}

/// Whether a graph is called from itself.
bool callsItself(const Model& model, GraphId function)
{
    std::set<GraphId> seen;
    std::vector<GraphId> open = {function};
    while (!open.empty()) {
        const GraphId at = open.back();
        open.pop_back();
        for (const Operator& op : model.graph(at).operators)
            for (const Callee& callee : calleesOf(op)) {
                if (callee.graph == function) return true;
                if (model.hasGraph(callee.graph) && seen.insert(callee.graph).second) open.push_back(callee.graph);
            }
    }
    return false;
}

/// Why a call stays; empty: it can be replaced.
std::string whyNotInlined(const Model& model, const Operator& op, GraphId& callee)
{
    const Attribute* const said = findAttribute(op.attributes, "f");
    const auto* const ref = said ? said->as<GraphRef>() : nullptr;
    if (!ref || !model.hasGraph(ref->graph)) return "the function is not in the model";
    callee = ref->graph;
    const Graph& function = model.graph(callee);
    if (ref->attributes) return "the function has type parameters";
    if (attributeBool(function.attributes, "_noinline", false)) return "the function says _noinline";
    if (function.inputs.size() != op.inputs.size() || function.outputs.size() != op.results.size())
        return "the function takes or gives another number of values";
    if (callsItself(model, callee)) return "the function calls itself";
    const auto isEnter = [](const Operator& node) { return node.kind.name == "Enter" || node.kind.name == "RefEnter"; };
    if (std::ranges::any_of(function.operators, isEnter)) return "the function has frames, whose names would meet: raise it first";
    return {};
}

void inlineCall(GraphEditor& editor, const Graph& function, OperatorId id)
{
    const Operator op = editor.op(id);
    const CloneMap map = editor.cloneGraph(function, op.inputs, op.name + "/", InsertPoint::before(id));
    std::vector<OperatorId> effects;
    for (size_t o = 0; o < function.operators.size(); ++o) {
        const OperatorId here = map.operators[o];
        if (editor.op(here).inputs.empty() && editor.op(here).controlInputs.empty()) editor.setControlInputs(here, op.controlInputs);
        if (!isPureNode(function.operators[o])) effects.push_back(here);
    }
    for (const auto& [name, node] : function.controlOutputs) effects.push_back(map.operators[static_cast<size_t>(node.index)]);
    std::vector<ValueId> values;
    for (const GraphOutput& output : function.outputs) values.push_back(map.values[static_cast<size_t>(output.value.index)]);
    std::ranges::sort(effects);
    effects.erase(std::ranges::unique(effects).begin(), effects.end());
    handOn(editor, id, std::move(values), std::move(effects));
}

} // namespace

/// inline-functions: a call becomes an Identity under its name, that waits for what the function did.
Result<RewriteReport> inlineFunctions(Model& model, const PassContext&)
{
    LS_CHECK_OK(needsTensorFlow(model));
    RewriteReport report;
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        const GraphId graph(static_cast<int64_t>(g));
        for (int round = 0; round < kMostRounds; ++round) {
            const std::vector<OperatorId> calls = operatorsNamed(model.graph(graph), {"PartitionedCall", "StatefulPartitionedCall"});
            size_t done = 0;
            if (calls.empty()) break;
            GraphEditor editor(model, graph);
            for (const OperatorId id : calls) {
                const Operator op = editor.op(id);
                GraphId callee;
                std::string reason = whyNotInlined(model, op, callee);
                if (callee == graph) reason = "the function calls itself";
                if (reason.empty() && editor.graph().operators.size() > kMostOperators) reason = "the graph would become too large";
                if (!reason.empty()) {
                    const Declined declined{op.name, reason};
                    if (std::ranges::find(report.declined, declined) == report.declined.end()) report.declined.push_back(declined);
                    continue;
                }
                inlineCall(editor, Graph(model.graph(callee)), id);
                report.rewrites.push_back({"inlined", model.graph(callee).id, model.graph(graph).id, op.name, {op.name}});
                ++done;
            }
            if (!editor.isInOrder()) editor.sortTopologically();
            LS_CHECK_OK(editor.finish());
            if (done == 0) break;
        }
    }
    return report;
}

namespace {

/// The operators of a graph whose operands are constants, as a model of their own that gives what the others read of them. Where control
/// edges only say an order, and not which nodes are dead, what waits for others is one of them, too.
class FoldableCone {
public:
    explicit FoldableCone(const Graph& graph, const std::unordered_set<std::string>& fed) : m_graph(graph)
    {
        const bool mayWait = !hasFramesOrSwitches(graph);
        const auto order = [&] {
            Graph copy = graph;
            GraphEditor editor(copy, Dialect::tf);
            editor.sortTopologically();
            return editor.order();
        }();
        m_state.assign(graph.operators.size(), State::other);
        for (const OperatorId id : order) {
            const Operator& op = graph.op(id);
            if (fed.contains(op.name) || (!mayWait && !op.controlInputs.empty()) || op.results.empty()) continue;
            const bool isConst = op.kind.dialect == "tf" && op.kind.name == "Const";
            const auto isKnown = [&](ValueId input) {
                return input.valid() && graph.value(input).role == ValueRole::result &&
                       stateOf(graph.value(input).producer) != State::other;
            };
            if (isConst) stateOf(id) = State::constant;
            else if (!op.inputs.empty() && isPureNode(op) && std::ranges::all_of(op.inputs, isKnown)) stateOf(id) = State::folded;
        }
        findResults();
    }

    const std::vector<ValueId>& results() const { return m_results; }

    /// Only what these results need.
    Model modelFor(std::span<const ValueId> results) const
    {
        Model made;
        made.dialect = Dialect::tf;
        Graph graph = m_graph;
        graph.controlOutputs.clear();
        {
            GraphEditor editor(graph, Dialect::tf);
            editor.setGraphInputs({});
            std::vector<GraphOutput> outputs;
            for (const ValueId result : results) outputs.push_back({"result_" + std::to_string(outputs.size()), result});
            editor.setOutputs(std::move(outputs));
            for (const OperatorId id : editor.order())
                if (!editor.op(id).controlInputs.empty()) editor.setControlInputs(id, {});
            editor.eraseUnneeded({});
            editor.sortTopologically();
            (void)editor.finish(GraphEditor::Values::dropUnused);
        }
        made.graphs.push_back(std::move(graph));
        return made;
    }

    /// What the result, or what it is computed from, waits for.
    std::vector<OperatorId> awaitedBy(ValueId result) const
    {
        std::set<OperatorId> seen, awaited;
        std::vector<OperatorId> open = {m_graph.value(result).producer};
        while (!open.empty()) {
            const OperatorId id = open.back();
            open.pop_back();
            if (!seen.insert(id).second) continue;
            awaited.insert(m_graph.op(id).controlInputs.begin(), m_graph.op(id).controlInputs.end());
            for (const ValueId input : m_graph.op(id).inputs)
                if (input.valid() && m_graph.value(input).role == ValueRole::result) open.push_back(m_graph.value(input).producer);
        }
        return {awaited.begin(), awaited.end()};
    }

private:
    enum class State : uint8_t { other, constant, folded };
    State& stateOf(OperatorId id) { return m_state[static_cast<size_t>(id.index)]; }

    /// Results of folded operators that others read. Lists and handles are no constants.
    void findResults()
    {
        std::set<ValueId> found;
        const auto isFolded = [&](ValueId value) {
            if (!value.valid() || m_graph.value(value).role != ValueRole::result) return false;
            const DType dtype = m_graph.value(value).type.dtype;
            return dtype != DType::variant && dtype != DType::resource && stateOf(m_graph.value(value).producer) == State::folded;
        };
        for (size_t o = 0; o < m_graph.operators.size(); ++o)
            if (m_state[o] == State::other)
                for (const ValueId input : m_graph.operators[o].inputs)
                    if (isFolded(input)) found.insert(input);
        for (const GraphOutput& output : m_graph.outputs)
            if (isFolded(output.value)) found.insert(output.value);
        m_results.assign(found.begin(), found.end());
    }

    const Graph& m_graph;
    std::vector<State> m_state;
    std::vector<ValueId> m_results;
};

/// What each result is, or why it cannot be computed: all in one run, and by halves where that fails, so that one hides no other.
void evaluateAll(const FoldableCone& cone, const ConstantEvaluator& evaluate, std::span<const ValueId> results,
                 std::vector<Result<TensorAttribute>>& computed)
{
    Result<std::vector<TensorAttribute>> values = evaluate(cone.modelFor(results));
    if (values.ok() && values->size() == results.size()) {
        for (TensorAttribute& value : *values) computed.emplace_back(std::move(value));
    } else if (results.size() == 1) {
        computed.emplace_back(values.ok() ? Error(ErrorCode::internal, "it gives nothing") : std::move(values).takeError());
    } else {
        const size_t half = results.size() / 2;
        evaluateAll(cone, evaluate, results.first(half), computed);
        evaluateAll(cone, evaluate, results.subspan(half), computed);
    }
}

/// A constant in the place of one result of `producer`, which goes on.
ValueId appendConstant(GraphEditor& editor, std::string name, TensorAttribute data, OperatorId producer)
{
    const TensorType type = data.type;
    const ValueId made =
        appendNode(editor, "Const", std::move(name), {}, {{"dtype", type.dtype}, {"value", std::move(data)}}, type, producer);
    editor.move(editor.value(made).producer, InsertPoint::before(producer));
    return made;
}

/// The operator becomes the constant of its only result, under its name: outputs keep theirs. Whose values it read is added to `freed`.
ValueId becomeConstant(GraphEditor& editor, OperatorId id, TensorAttribute data, std::vector<OperatorId>& freed)
{
    for (const ValueId input : editor.op(id).inputs)
        if (editor.value(input).role == ValueRole::result) freed.push_back(editor.value(input).producer);
    const TensorType type = data.type;
    editor.setKind(id, {"tf", "Const"});
    editor.setInputs(id, {});
    editor.setControlInputs(id, {});
    editor.setAttributes(id, {{"dtype", type.dtype}, {"value", std::move(data)}});
    const ValueId result = editor.op(id).results.front();
    editor.setType(result, type);
    return result;
}

} // namespace

/// fold-constants: results of operators that read nothing but constants, up to 1 MiB each.
Result<RewriteReport> foldConstants(Model& model, const PassContext& context)
{
    LS_CHECK_OK(needsTensorFlow(model));
    RewriteReport report;
    if (!context.evaluate) return Error(ErrorCode::usage, "nothing is there that could compute constants");
    std::unordered_set<std::string> fed;
    for (const std::string& name : context.visible.feeds) fed.insert(originParts(name).first);
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        const GraphId graph(static_cast<int64_t>(g));
        const Graph before = model.graph(graph);
        const FoldableCone cone(before, fed);
        if (cone.results().empty()) continue;
        GraphEditor editor(model, graph);
        std::vector<OperatorId> replaced;
        std::vector<Result<TensorAttribute>> computed;
        evaluateAll(cone, context.evaluate, cone.results(), computed);
        for (size_t k = 0; k < computed.size(); ++k) {
            const ValueId result = cone.results()[k];
            const Value& value = before.value(result);
            const std::string& name = before.op(value.producer).name;
            if (!computed[k].ok()) {
                report.declined.push_back({name, computed[k].error().message()});
                continue;
            }
            TensorAttribute data = std::move(computed[k]).value();
            if (data.data->size() > kMostFoldedBytes) {
                report.declined.push_back({name, "the constant would take " + formatBytes(data.data->size())});
                continue;
            }
            std::vector<OperatorId> awaited = cone.awaitedBy(result);
            const ValueId made = before.op(value.producer).results.size() == 1
                                     ? becomeConstant(editor, value.producer, std::move(data), replaced)
                                     : appendConstant(editor, name + "/folded", std::move(data), value.producer);
            if (made != result) {
                editor.replaceUses(result, made);
                replaced.push_back(value.producer);
            }
            if (!awaited.empty()) editor.setControlInputs(editor.value(made).producer, std::move(awaited));
            report.rewrites.push_back(
                {"const", before.op(value.producer).kind.name + " " + name, before.id, editor.value(made).id, {name}});
        }
        for (size_t k = 0; k < replaced.size(); ++k) { // and what only they had read
            const OperatorId id = replaced[k];
            if (!editor.isAlive(id) || fed.contains(editor.op(id).name)) continue;
            const std::vector<ValueId> inputs = editor.op(id).inputs;
            if (!editor.erase(id)) continue;
            for (const ValueId input : inputs)
                if (editor.value(input).role == ValueRole::result) replaced.push_back(editor.value(input).producer);
        }
        LS_CHECK_OK(editor.finish(GraphEditor::Values::dropUnused));
    }
    return report;
}

/// remove-dead: what neither outputs nor effects need. Of a graph that says no outputs only what is asked for (fetches, targets) is known
/// to be needed; without those it stays as it is.
Result<RewriteReport> removeDead(Model& model, const PassContext& context)
{
    LS_CHECK_OK(needsTensorFlow(model));
    RewriteReport report;
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        const GraphId graph(static_cast<int64_t>(g));
        const Graph before = model.graph(graph);
        std::unordered_set<std::string> asked;
        if (g == 0) {
            for (const std::string& name : context.visible.fetches) asked.insert(originParts(name).first);
            for (const std::string& name : context.visible.feeds) asked.insert(originParts(name).first);
            asked.insert(context.visible.targets.begin(), context.visible.targets.end());
        }
        const bool isBound = std::ranges::any_of(model.signatures, [&](const Signature& s) { return s.graph == graph; });
        if (before.outputs.empty() && before.controlOutputs.empty() && asked.empty() && !isBound) continue;
        std::vector<OperatorId> roots;
        for (size_t o = 0; o < before.operators.size(); ++o)
            if (asked.contains(before.operators[o].name) || hasEffects(before.operators[o]) || isDataflow(before.operators[o]))
                roots.emplace_back(static_cast<int64_t>(o));
        GraphEditor editor(model, graph);
        if (editor.eraseUnneeded(roots) > 0)
            for (size_t o = 0; o < before.operators.size(); ++o)
                if (!editor.isAlive(OperatorId(static_cast<int64_t>(o))))
                    report.rewrites.push_back({"removed", before.operators[o].kind.name, before.id, "", {before.operators[o].name}});
        LS_CHECK_OK(editor.finish(GraphEditor::Values::dropUnused));
    }
    return report;
}

/// raise: described in docs/raising.md.
Result<RewriteReport> runRaise(Model& model, const PassContext& context) { return raiseControlFlow(model, context.visible); }

} // namespace loopscope
