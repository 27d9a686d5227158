#include "converters/passes/handle_threading.h"

#include "engine/ops/control_flow.h"

#include <algorithm>
#include <set>

namespace loopscope {

bool isNamed(const Operator& op, std::string_view name) { return op.kind.dialect == "tf" && op.kind.name == name; }

bool isBranchOrCall(const Operator& op)
{
    return isNamed(op, "If") || isNamed(op, "StatelessIf") || isNamed(op, "PartitionedCall") || isNamed(op, "StatefulPartitionedCall");
}

HandleFlow::HandleFlow(const Model& model, Maker made) : m_model(model), m_made(made), m_kinds(model.graphs.size())
{
    for (size_t g = 0; g < model.graphs.size(); ++g) m_kinds[g].resize(model.graphs[g].values.size(), none);
    for (bool grows = true; grows;) {
        grows = false;
        for (size_t g = 0; g < model.graphs.size(); ++g)
            for (const Operator& op : model.graphs[g].operators) grows = follow(g, op) || grows;
    }
}

bool HandleFlow::any(size_t graph) const
{
    return std::ranges::any_of(m_kinds[graph], [](Kind kind) { return kind != none; });
}

std::vector<HandleFlow::Kind> HandleFlow::operandsOf(size_t graph, const Operator& op) const
{
    std::vector<Kind> kinds;
    for (const ValueId input : op.inputs) kinds.push_back(kind(graph, input));
    return kinds;
}

bool HandleFlow::mark(size_t graph, ValueId value, Kind wanted)
{
    if (wanted == none || !value.valid() || kind(graph, value) != none) return false;
    m_kinds[graph][static_cast<size_t>(value.index)] = wanted;
    return true;
}

bool HandleFlow::follow(size_t graph, const Operator& op)
{
    bool grows = false;
    const std::vector<Kind> operands = operandsOf(graph, op);
    if (isNamed(op, "Identity")) return mark(graph, op.results[0], operands[0]);
    if (!isLoop(op) && !isBranchOrCall(op)) {
        for (size_t k = 0; k < op.results.size(); ++k) grows = mark(graph, op.results[k], m_made(op, k, operands)) || grows;
        return grows;
    }
    const CallForm form = callForm(op);
    const auto first = static_cast<size_t>(form.firstArgument);
    for (size_t i = first; i < op.inputs.size(); ++i) {
        if (isLoop(op) && i < op.results.size()) grows = mark(graph, op.results[i], operands[i]) || grows;
        for (const Callee& callee : form.callees)
            if (m_model.hasGraph(callee.graph) && i - first < m_model.graph(callee.graph).inputs.size())
                grows = mark(static_cast<size_t>(callee.graph.index), m_model.graph(callee.graph).inputs[i - first], operands[i]) || grows;
    }
    if (isLoop(op)) return grows;
    for (const Callee& callee : form.callees) {
        if (!m_model.hasGraph(callee.graph)) continue;
        const std::vector<GraphOutput>& outputs = m_model.graph(callee.graph).outputs;
        for (size_t k = 0; k < std::min(outputs.size(), op.results.size()); ++k)
            grows = mark(graph, op.results[k], kind(static_cast<size_t>(callee.graph.index), outputs[k].value)) || grows;
    }
    return grows;
}

HandleThreading::HandleThreading(Model& model, const HandleFlow& flow, size_t graph, bool isCalled)
    : m_flow(flow),
      m_graph(graph),
      m_editor(model, GraphId(static_cast<int64_t>(graph))),
      m_isCalled(isCalled)
{
}

TensorType HandleThreading::list() { return {DType::variant, Shape{}}; }

Status HandleThreading::run(RewriteReport& report)
{
    m_editor.sortTopologically();
    const std::vector<ValueId> inputs = m_editor.graph().inputs;
    for (const ValueId input : inputs) {
        if (kind(input) != HandleFlow::none) m_editor.setType(input, list());
        if (kind(input) == HandleFlow::handle || kind(input) == HandleFlow::gradient) begin(input, input);
    }
    const std::vector<OperatorId> order = m_editor.order();
    for (const OperatorId id : order) {
        const Operator op = m_editor.op(id);
        rewrite(id, op, report);
        done(op);
    }
    atEnd();
    std::vector<GraphOutput> outputs = m_editor.graph().outputs;
    for (GraphOutput& output : outputs)
        if (isHandle(output.value)) output.value = now(output.value);
    if (m_isCalled)
        for (const ValueId input : inputs)
            if (isHandle(input)) outputs.push_back({m_editor.value(input).id + "_after", now(input)});
    m_editor.setOutputs(std::move(outputs));
    return m_editor.finish(GraphEditor::Values::dropUnused);
}

void HandleThreading::begin(ValueId value, ValueId list)
{
    m_root[value.index] = value.index;
    m_now[value.index] = list;
}

void HandleThreading::rewrite(OperatorId id, const Operator& op, RewriteReport& report)
{
    if (isLoop(op) || isBranchOrCall(op)) {
        handOn(id, op);
    } else if (isNamed(op, "Identity") && kind(op.results[0]) != HandleFlow::none) {
        m_editor.setAttribute(id, "T", DType::variant);
        m_editor.setType(op.results[0], list());
        if (!isHandle(op.inputs[0])) return;
        m_editor.setInput(id, 0, now(op.inputs[0]));
        alias(op.results[0], rootOf(op.inputs[0]));
    } else {
        rewriteOwn(id, op, report);
    }
}

/// A loop gives what its body left; branches and functions give their states behind their results.
void HandleThreading::handOn(OperatorId id, const Operator& op)
{
    std::vector<ValueId> results = op.results;
    std::vector<int32_t> added;
    bool isConcerned = false;
    for (const ValueId result : results)
        if (kind(result) != HandleFlow::none) {
            m_editor.setType(result, list());
            isConcerned = true;
        }
    for (size_t i = 0; i < op.inputs.size(); ++i) {
        isConcerned = isConcerned || kind(op.inputs[i]) != HandleFlow::none;
        if (!isHandle(op.inputs[i])) continue;
        const int32_t root = rootToHandOn(id, op, i);
        m_editor.setInput(id, static_cast<int32_t>(i), m_now.at(root));
        if (isLoop(op)) alias(results[i], rootOf(op.inputs[i]));
        else results.emplace_back();
        if (std::ranges::find(added, root) != added.end()) m_obstacles.push_back({op.name, "one state goes into it twice"});
        added.push_back(root);
    }
    if (!isConcerned) return;
    const std::vector<ValueId>& inputs = m_editor.op(id).inputs;
    if (isLoop(op)) {
        size_t k = 0;
        for (size_t i = 0; i < op.inputs.size(); ++i)
            if (isHandle(op.inputs[i])) setNow(added[k++], results[i]);
        m_editor.setAttribute(id, "T", dtypesOf(m_editor.graph(), inputs));
        return;
    }
    for (const ValueId result : op.results)
        if (kind(result) == HandleFlow::handle || kind(result) == HandleFlow::gradient)
            m_obstacles.push_back({op.name, "a state that begins in it leaves it"});
    const std::vector<ValueId> made = m_editor.setResults(id, results);
    for (size_t k = 0; k < added.size(); ++k) {
        m_editor.setType(made[op.results.size() + k], list());
        setNow(added[k], made[op.results.size() + k]);
    }
    const ptrdiff_t first = isNamed(op, "If") || isNamed(op, "StatelessIf") ? 1 : 0;
    m_editor.setAttribute(id, "Tin", dtypesOf(m_editor.graph(), {inputs.begin() + first, inputs.end()}));
    m_editor.setAttribute(id, "Tout", dtypesOf(m_editor.graph(), made));
}

void HandleThreading::become(OperatorId id, std::string_view kind, std::string_view typeKey, AttributeList attributes)
{
    if (const Attribute* const said = findAttribute(m_editor.op(id).attributes, typeKey)) attributes.push_back({"element_dtype", *said});
    m_editor.setKind(id, {"tf", std::string(kind)});
    m_editor.setAttributes(id, std::move(attributes));
}

ValueId HandleThreading::anyShape(OperatorId id)
{
    const ValueId made = appendScalar(m_editor, m_editor.op(id).name + "/element_shape", -1, id);
    m_editor.move(m_editor.value(made).producer, InsertPoint::before(id));
    return made;
}

Result<RewriteReport> threadAll(Model& model, const HandleFlow& flow, const MakeThreading& make)
{
    std::set<GraphId> called;
    for (const Graph& graph : model.graphs)
        for (const Operator& op : graph.operators)
            if (isBranchOrCall(op))
                for (const Callee& callee : callForm(op).callees) called.insert(callee.graph);
    RewriteReport report;
    Model edited = model;
    for (size_t g = 0; g < flow.graphCount(); ++g) {
        if (!flow.any(g)) continue;
        const std::unique_ptr<HandleThreading> threading = make(edited, flow, g, called.contains(GraphId(static_cast<int64_t>(g))));
        LS_CHECK_OK(threading->run(report));
        if (threading->obstacles().empty()) continue;
        report = {};
        report.declined = threading->obstacles();
        return report;
    }
    model = std::move(edited);
    return report;
}

} // namespace loopscope
