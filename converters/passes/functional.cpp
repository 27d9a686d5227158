// The functional control flow that is neither If nor While becomes one of them.
#include "converters/passes/graph_walk.h"
#include "converters/passes/pass.h"
#include "engine/ir/verifier.h"

#include <algorithm>

namespace loopscope {

namespace {

const TensorType kBool(DType::boolean, Shape());
const TensorType kInt(DType::i32, Shape());

ValueId compare(GraphEditor& editor, std::string_view kind, ValueId a, ValueId b, const Sources& sources)
{
    AttributeList attributes = {{"T", DType::i32}};
    if (kind == "Equal") attributes.push_back({"incompatible_shape_error", true});
    return appendNode(editor, kind, std::string(kind), {a, b}, std::move(attributes), kBool, sources);
}

ValueId combine(GraphEditor& editor, std::string_view kind, ValueId a, ValueId b, const Sources& sources)
{
    return appendNode(editor, kind, std::string(kind), {a, b}, {}, kBool, sources);
}

/// One Case: its branches as a chain of Ifs.
class CaseChain {
public:
    CaseChain(Model& model, GraphIds& ids, const Graph& graph, const Operator& op, const std::vector<GraphId>& branches)
        : m_model(model),
          m_ids(ids),
          m_argumentTypes(dtypesOf(graph, {op.inputs.begin() + 1, op.inputs.end()})),
          m_resultDtypes(dtypesOf(graph, op.results)),
          m_branches(branches)
    {
        for (const ValueId result : op.results) m_resultTypes.push_back(graph.value(result).type);
    }

    /// The attributes of the If that decides about branch k; it takes the index, too, if there are more than two left.
    AttributeList decide(size_t k)
    {
        const bool isLast = k + 2 == m_branches.size();
        AttributeItems types = m_argumentTypes;
        if (!isLast) types.insert(types.begin(), Attribute(DType::i32));
        const GraphId yes = isLast ? m_branches[k] : withIndex(m_branches[k]);
        const GraphId no = isLast ? m_branches[k + 1] : chain(k + 1);
        return {{"Tcond", DType::boolean},
                {"Tin", std::move(types)},
                {"Tout", m_resultDtypes},
                {"_lower_using_switch_merge", true},
                {"else_branch", GraphRef{no, nullptr}},
                {"output_shapes", AttributeItems()},
                {"then_branch", GraphRef{yes, nullptr}}};
    }

    bool takesIndex(size_t k) const { return k + 2 < m_branches.size(); }

private:
    /// The branch with the index in front of its arguments, which it does not look at.
    GraphId withIndex(GraphId branch)
    {
        Graph copy = copyGraph(m_model.graph(branch), m_ids.fresh(m_model.graph(branch).id + "_indexed"));
        {
            GraphEditor editor(copy, Dialect::tf);
            std::vector<ValueId> inputs = copy.inputs;
            inputs.insert(inputs.begin(), editor.addInput("branch_index", kInt));
            editor.setGraphInputs(std::move(inputs));
        }
        return add(std::move(copy));
    }

    /// A function that decides about branch k.
    GraphId chain(size_t k)
    {
        AttributeList attributes = decide(k);
        const Graph& branch = m_model.graph(m_branches[k]);
        Graph made;
        made.id = m_ids.fresh(branch.id + "_or_later");
        std::vector<GraphOutput> outputs = branch.outputs;
        {
            GraphEditor editor(made, Dialect::tf);
            std::vector<ValueId> arguments = {editor.addInput("branch_index", kInt)};
            for (const ValueId input : branch.inputs)
                arguments.push_back(editor.addInput(branch.value(input).id, branch.value(input).type));
            OperatorDraft draft;
            draft.kind = {"tf", "If"};
            draft.name = "decide";
            draft.inputs = {compare(editor, "Equal", arguments[0], appendScalar(editor, "number", static_cast<int32_t>(k), Sources::none()),
                                    Sources::none())};
            draft.inputs.insert(draft.inputs.end(), arguments.begin() + (takesIndex(k) ? 0 : 1), arguments.end());
            draft.attributes = std::move(attributes);
            draft.results = m_resultTypes;
            const OperatorId decision = editor.append(std::move(draft), Sources::none());
            for (size_t o = 0; o < outputs.size(); ++o) outputs[o].value = editor.op(decision).results[o];
            editor.setOutputs(std::move(outputs));
        }
        return add(std::move(made));
    }

    GraphId add(Graph graph)
    {
        m_model.graphs.push_back(std::move(graph));
        return GraphId(static_cast<int64_t>(m_model.graphs.size() - 1));
    }

    Model& m_model;
    GraphIds& m_ids;
    const AttributeItems m_argumentTypes, m_resultDtypes; ///< without the index
    std::vector<TensorType> m_resultTypes;
    const std::vector<GraphId> m_branches;
};

/// Branches that can be copied; empty, and the reason, otherwise.
std::vector<GraphId> branchesOf(const Model& model, const Operator& op, std::string& reason)
{
    std::vector<GraphId> branches;
    const Attribute* const said = findAttribute(op.attributes, "branches");
    const auto* const items = said ? said->as<AttributeItems>() : nullptr;
    for (size_t k = 0; items && k < items->size(); ++k) {
        const auto* const ref = (*items)[k].as<GraphRef>();
        if (!ref || !model.hasGraph(ref->graph)) reason = "branch " + std::to_string(k) + " is no function of the model";
        else if (ref->attributes) reason = "branch " + std::to_string(k) + " has type parameters";
        else if (model.graph(ref->graph).outputs.size() != op.results.size())
            reason = "branch " + std::to_string(k) + " gives another number of results";
        else branches.push_back(ref->graph);
    }
    if (!items || items->empty()) reason = "Case has no branches";
    return branches;
}

} // namespace

/// case-to-if: an index that no branch has takes the last one, as Case does.
Result<RewriteReport> lowerCase(Model& model, const PassContext&)
{
    LS_CHECK_OK(needsTensorFlow(model));
    struct Lowered {
        OperatorId op;
        std::string kind;
        AttributeList attributes;
        bool takesIndex = false;
    };
    RewriteReport report;
    GraphIds ids(model);
    const size_t count = model.graphs.size();
    for (size_t g = 0; g < count; ++g) {
        const GraphId graph(static_cast<int64_t>(g));
        std::vector<Lowered> all; // functions are added first, for an editor wants its graph to stay where it is
        for (const OperatorId id : operatorsNamed(model.graph(graph), {"Case", "StatelessCase"})) {
            const Operator op = model.graph(graph).op(id);
            std::string reason;
            const std::vector<GraphId> branches = branchesOf(model, op, reason);
            if (reason.empty() && op.inputs.empty()) reason = "Case has no index";
            if (!reason.empty()) {
                report.declined.push_back({op.name, reason});
            } else if (branches.size() > 1) {
                CaseChain chain(model, ids, model.graph(graph), op, branches);
                AttributeList attributes = chain.decide(0);
                all.push_back({id, "If", std::move(attributes), chain.takesIndex(0)});
            } else {
                AttributeList attributes = {{"Tin", dtypesOf(model.graph(graph), {op.inputs.begin() + 1, op.inputs.end()})},
                                            {"Tout", dtypesOf(model.graph(graph), op.results)},
                                            {"f", GraphRef{branches.front(), nullptr}}};
                all.push_back({id, "StatefulPartitionedCall", std::move(attributes), false});
            }
        }
        if (all.empty()) continue;
        GraphEditor editor(model, graph);
        for (Lowered& lowered : all) {
            const OperatorId id = lowered.op;
            const std::string name = editor.op(id).name;
            report.rewrites.push_back(
                {lowered.kind == "If" ? "if" : "call", editor.op(id).kind.name + " " + name, editor.graph().id, name, {name}});
            std::vector<ValueId> inputs = editor.op(id).inputs;
            const ValueId index = inputs.front();
            if (!lowered.takesIndex) inputs.erase(inputs.begin());
            if (lowered.kind == "If")
                inputs.insert(inputs.begin(), compare(editor, "Equal", index, appendScalar(editor, name + "/number", 0, id), id));
            editor.setInputs(id, std::move(inputs));
            editor.setKind(id, {"tf", lowered.kind});
            editor.setAttributes(id, std::move(lowered.attributes));
        }
        if (!editor.isInOrder()) editor.sortTopologically();
        LS_CHECK_OK(editor.finish());
    }
    return report;
}

namespace {

/// cond(i, limit, delta, …): whether the loop that counts by delta has not reached the limit.
Graph countingCondition(const Graph& body, std::string id)
{
    Graph made;
    made.id = std::move(id);
    GraphEditor editor(made, Dialect::tf);
    const Sources none = Sources::none();
    const ValueId i = editor.addInput("i", kInt), limit = editor.addInput("limit", kInt), delta = editor.addInput("delta", kInt);
    for (size_t k = 1; k < body.inputs.size(); ++k) editor.addInput(body.value(body.inputs[k]).id, body.value(body.inputs[k]).type);
    const ValueId zero = appendScalar(editor, "zero", 0, none);
    const ValueId up =
        combine(editor, "LogicalAnd", compare(editor, "Greater", delta, zero, none), compare(editor, "Less", i, limit, none), none);
    const ValueId down =
        combine(editor, "LogicalAnd", compare(editor, "Less", delta, zero, none), compare(editor, "Greater", i, limit, none), none);
    editor.setOutputs({{"goes_on", combine(editor, "LogicalOr", up, down, none)}});
    (void)editor.finish();
    return made;
}

/// body(i, limit, delta, …): the old body, and the next number.
Graph countingBody(const Graph& body, GraphId callee, std::string id)
{
    Graph made;
    made.id = std::move(id);
    GraphEditor editor(made, Dialect::tf);
    const Sources none = Sources::none();
    const ValueId i = editor.addInput("i", kInt), limit = editor.addInput("limit", kInt), delta = editor.addInput("delta", kInt);
    OperatorDraft call;
    call.kind = {"tf", "StatefulPartitionedCall"};
    call.name = "call";
    call.inputs = {i};
    for (size_t k = 1; k < body.inputs.size(); ++k)
        call.inputs.push_back(editor.addInput(body.value(body.inputs[k]).id, body.value(body.inputs[k]).type));
    for (const GraphOutput& output : body.outputs) call.results.push_back(body.value(output.value).type);
    AttributeItems types;
    for (const TensorType& type : call.results) types.emplace_back(type.dtype);
    call.attributes = {{"Tin", dtypesOf(editor.graph(), call.inputs)}, {"Tout", std::move(types)}, {"f", GraphRef{callee, nullptr}}};
    const OperatorId called = editor.append(std::move(call), none);
    const ValueId next = appendNode(editor, "AddV2", "next", {i, delta}, {{"T", DType::i32}}, kInt, none);
    std::vector<GraphOutput> outputs = {{"i_out", next}, {"limit_out", limit}, {"delta_out", delta}};
    for (size_t k = 0; k < body.outputs.size(); ++k) outputs.push_back({body.outputs[k].name + "_out", editor.op(called).results[k]});
    editor.setOutputs(std::move(outputs));
    (void)editor.finish();
    return made;
}

/// Start, limit and delta that For refuses are refused still.
OperatorId checkBounds(GraphEditor& editor, const Operator& op, OperatorId id)
{
    const ValueId start = op.inputs[0], limit = op.inputs[1], delta = op.inputs[2];
    const ValueId zero = appendScalar(editor, op.name + "/zero", 0, id);
    const auto both = [&](std::string_view sign, std::string_view order) {
        return combine(editor, "LogicalAnd", compare(editor, sign, delta, zero, id), compare(editor, order, start, limit, id), id);
    };
    const ValueId counts = combine(editor, "LogicalOr", both("Greater", "LessEqual"), both("Less", "GreaterEqual"), id);
    const ValueId isRight = combine(editor, "LogicalOr", counts, both("Equal", "Equal"), id);
    OperatorDraft check;
    check.kind = {"tf", "Assert"};
    check.name = op.name + "/check";
    check.inputs = {isRight, appendText(editor, op.name + "/message", "Invalid start/limit/delta:", id), start, limit, delta};
    check.attributes = {{"T", AttributeItems{DType::string, DType::i32, DType::i32, DType::i32}}, {"summarize", int64_t{3}}};
    check.controlInputs = op.controlInputs;
    return editor.append(std::move(check), id);
}

} // namespace

/// for-to-while: the number, the limit and the step become loop variables.
Result<RewriteReport> lowerFor(Model& model, const PassContext&)
{
    LS_CHECK_OK(needsTensorFlow(model));
    struct Lowered {
        OperatorId op;
        GraphId condition, body;
    };
    RewriteReport report;
    GraphIds ids(model);
    const size_t count = model.graphs.size();
    for (size_t g = 0; g < count; ++g) {
        const GraphId graph(static_cast<int64_t>(g));
        std::vector<Lowered> all; // functions are added first, for an editor wants its graph to stay where it is
        for (const OperatorId id : operatorsNamed(model.graph(graph), {"For"})) {
            const Operator op = model.graph(graph).op(id);
            const Attribute* const said = findAttribute(op.attributes, "body");
            const auto* const ref = said ? said->as<GraphRef>() : nullptr;
            if (!ref || !model.hasGraph(ref->graph) || ref->attributes || op.inputs.size() < 3 ||
                model.graph(ref->graph).inputs.size() != op.inputs.size() - 2 ||
                model.graph(ref->graph).outputs.size() != op.results.size()) {
                report.declined.push_back(
                    {op.name, "the body is no function that takes the number and the variables and gives the variables"});
                continue;
            }
            const GraphId body = ref->graph;
            Graph condition = countingCondition(model.graph(body), ids.fresh(model.graph(body).id + "_cond"));
            Graph counting = countingBody(model.graph(body), body, ids.fresh(model.graph(body).id + "_body"));
            const auto next = static_cast<int64_t>(model.graphs.size());
            model.graphs.push_back(std::move(condition));
            model.graphs.push_back(std::move(counting));
            all.push_back({id, GraphId(next), GraphId(next + 1)});
        }
        if (all.empty()) continue;
        GraphEditor editor(model, graph);
        for (const auto& [id, condition, body] : all) {
            const Operator op = editor.op(id);
            OperatorDraft loop;
            loop.kind = {"tf", "While"};
            loop.name = op.name + "/While";
            loop.inputs = op.inputs;
            loop.results = {kInt, kInt, kInt};
            for (const ValueId result : op.results) loop.results.push_back(editor.value(result).type);
            loop.attributes = {
                {"T", dtypesOf(editor.graph(), loop.inputs)}, {"_lower_using_switch_merge", true}, {"body", GraphRef{body, nullptr}},
                {"cond", GraphRef{condition, nullptr}},       {"output_shapes", AttributeItems()}, {"parallel_iterations", int64_t{10}}};
            loop.controlInputs = {checkBounds(editor, op, id)};
            const OperatorId made = editor.append(std::move(loop), id);
            const std::vector<ValueId>& results = editor.op(made).results;
            report.rewrites.push_back({"while", "For " + op.name, editor.graph().id, editor.op(made).name, {op.name}});
            handOn(editor, id, {results.begin() + 3, results.end()}, op.results.empty() ? std::vector{made} : std::vector<OperatorId>());
        }
        if (!editor.isInOrder()) editor.sortTopologically();
        LS_CHECK_OK(editor.finish());
    }
    return report;
}

/// stateless-to-stateful: that nothing in them has effects is not said any more, and true as before.
Result<RewriteReport> dropStateless(Model& model, const PassContext&)
{
    LS_CHECK_OK(needsTensorFlow(model));
    RewriteReport report;
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        const GraphId graph(static_cast<int64_t>(g));
        const std::vector<OperatorId> found = operatorsNamed(model.graph(graph), {"StatelessIf", "StatelessCase", "StatelessWhile"});
        if (found.empty()) continue;
        GraphEditor editor(model, graph);
        for (const OperatorId id : found) {
            const Operator& op = editor.op(id);
            const std::string kind = op.kind.name.substr(std::string_view("Stateless").size());
            report.rewrites.push_back({kind, op.kind.name + " " + op.name, model.graph(graph).id, op.name, {op.name}});
            editor.setKind(id, {"tf", kind});
        }
        LS_CHECK_OK(editor.finish());
    }
    return report;
}

} // namespace loopscope
