// Calls that are drawn inside: loops with their bindings, branches side by side, functions.
#include "engine/ir/ids.h"
#include "engine/ops/catalog.h"
#include "viewer/layout/index.h"
#include "viewer/scene/scene_builder.h"

#include <algorithm>

namespace loopscope::viewer {

namespace {

std::string opCount(size_t count) { return std::to_string(count) + (count == 1 ? " op" : " ops"); }

} // namespace

std::vector<bool> foldedInvariants(const Graph& body)
{
    std::vector<bool> folded(body.inputs.size(), false);
    if (body.inputs.size() <= kMostRails) return folded;
    for (size_t k = 0; k < body.inputs.size() && k < body.outputs.size(); ++k)
        folded[k] = body.inputs[k].valid() && body.outputs[k].value == body.inputs[k];
    if (std::count(folded.begin(), folded.end(), true) < 2) folded.assign(folded.size(), false);
    return folded;
}

std::string SceneBuilder::actualText(const Graph& graph, ValueId id) const
{
    if (!id.valid()) return "none";
    const Value& value = graph.value(id);
    switch (value.role) {
    case ValueRole::constant: return constantText(value);
    case ValueRole::result: {
        if (!value.producer.valid()) return value.id;
        const std::string label = operatorLabel(graph.op(value.producer), value.producer.index);
        return value.slot == 0 ? label : label + ":" + std::to_string(value.slot);
    }
    case ValueRole::input:
    case ValueRole::variable:
    case ValueRole::absent: break;
    }
    return value.id;
}

int SceneBuilder::calleeRegion(const Emission& caller, const CallPlace& call, const Callee& callee, RegionKind kind, int parent, bool named)
{
    const Operator& op = m_model.graph(caller.graph).op(call.op);
    SceneRegion region;
    region.kind = kind;
    region.id = call.site + ":" + callee.role;
    region.site = call.site;
    region.graph = callee.graph;
    region.caller = caller.graph;
    region.op = call.op;
    region.role = callee.role;
    if (named) {
        region.name = op.name.empty() ? op.kind.name : op.name;
        if (op.name.empty()) region.index = "#" + std::to_string(call.op.index);
    } else {
        region.name = callee.role;
    }
    region.note = opCount(m_model.graph(callee.graph).operators.size());
    region.parent = parent;
    return addRegion(std::move(region));
}

SceneBuilder::Emission SceneBuilder::emitCallee(Emission& caller, const CallPlace& call, const Callee& callee, int region,
                                                std::vector<std::vector<int>>& formals)
{
    const Graph& outer = m_model.graph(caller.graph);
    const Graph& inner = m_model.graph(callee.graph);
    const Operator& op = outer.op(call.op);
    // The actuals stand in front of the pills in listing order.
    std::vector<int> actuals;
    const bool isBody = m_scene.regions[at(region)].kind == RegionKind::loop;
    const std::vector<bool> folded = foldedInputs(inner, isBody);
    const size_t first = static_cast<size_t>(call.form.firstArgument);
    const std::string prefix = call.site + ":" + callee.role;
    for (size_t k = 0; k < inner.inputs.size() && first + k < op.inputs.size(); ++k) {
        if (folded[k]) {
            actuals.push_back(-1);
            continue;
        }
        SceneNode node;
        node.kind = NodeKind::actual;
        node.id = prefix + ">" + (inner.inputs[k].valid() ? inner.value(inner.inputs[k]).id : std::to_string(k)) + "^";
        node.graph = caller.graph;
        node.value = op.inputs[first + k];
        node.name = actualText(outer, node.value);
        if (node.value.valid()) node.shape = shapeText(outer.value(node.value).type);
        node.region = region;
        node.rect.height = 12;
        actuals.push_back(addNode(std::move(node)));
    }
    Emission emission = emitGraph(callee.graph, prefix, region, call.depth + 1, isBody);
    SceneRegion& made = m_scene.regions[at(region)];
    for (size_t k = 0; k < emission.inputs.size() && k < actuals.size(); ++k) {
        const int formal = emission.inputs[k], actual = actuals[k];
        if (actual >= 0) m_actualOf[at(formal)] = actual;
        formals[first + k].push_back(formal);
        LoopBinding binding;
        const Value& value = inner.value(inner.inputs[k]);
        binding.variable = value.id;
        binding.actual = actual;
        binding.formal = formal;
        binding.actualValue = op.inputs[first + k];
        binding.formalValue = inner.inputs[k];
        binding.actualText = actualText(outer, op.inputs[first + k]);
        binding.formalText = value.id + " in " + callee.role;
        made.bindings.push_back(std::move(binding));
        // A constant has no line that leads here; the binding does.
        if (actual >= 0 && producersOf(caller, op.inputs[first + k]).empty()) {
            Draft draft;
            draft.from = actual;
            draft.to = formal;
            draft.graph = caller.graph;
            draft.value = op.inputs[first + k];
            draft.style = EdgeStyle::binding;
            m_drafts.push_back(std::move(draft));
        }
    }
    return emission;
}

void SceneBuilder::bindLoop(const Emission& caller, const CallPlace& call, const Emission& body, int region)
{
    const Graph& outer = m_model.graph(caller.graph);
    const Graph& inner = m_model.graph(body.graph);
    const Operator& op = outer.op(call.op);
    SceneRegion& made = m_scene.regions[at(region)];
    const bool bundled = made.bindings.size() > kMostRails;
    if (bundled) made.foldedRails = static_cast<int>(made.bindings.size());
    std::vector<char> used(outer.values.size(), 0);
    for (const Operator& consumer : outer.operators)
        for (const ValueId input : consumer.inputs)
            if (input.valid()) used[at(input.index)] = 1;
    for (const GraphOutput& output : outer.outputs)
        if (output.value.valid()) used[at(output.value.index)] = 1;
    for (size_t k = 0; k < made.bindings.size() && k < inner.outputs.size(); ++k) {
        LoopBinding& binding = made.bindings[k];
        const ValueId result = inner.outputs[k].value;
        binding.result = body.outputs[k];
        binding.resultValue = result;
        binding.invariant = result.valid() && result == binding.formalValue;
        if (result.valid()) {
            const Value& value = inner.value(result);
            binding.feedbackText =
                value.role == ValueRole::result ? value.id + ", " + actualText(inner, result) : actualText(inner, result);
            if (binding.invariant) binding.feedbackText = value.id + ", unchanged";
        }
        if (k < op.results.size() && op.results[k].valid()) {
            binding.exitValue = op.results[k];
            binding.exitText = operatorLabel(op, call.op.index) + ":" + std::to_string(k);
            if (used[at(op.results[k].index)] == 0) binding.exitText += ", unused";
        }
        Draft draft;
        draft.from = binding.result;
        draft.to = binding.formal;
        draft.graph = body.graph;
        draft.value = result;
        draft.style = EdgeStyle::feedback;
        draft.fromPort = 0.25F;
        draft.toPort = 0.25F;
        draft.label = "feedback " + std::to_string(k) + " → " + binding.variable;
        draft.region = region;
        draft.binding = static_cast<int>(k);
        if (!bundled) m_drafts.push_back(std::move(draft));
    }
}

/// The condition reads the same variables as the body: its pills hang below the body's.
void SceneBuilder::emitCond(const CallPlace& call, const Emission& body, int region)
{
    const Callee& cond = call.form.callees[0];
    SceneRegion opened;
    opened.kind = RegionKind::call;
    opened.id = call.site + ":" + cond.role;
    opened.site = call.site;
    opened.graph = cond.graph;
    opened.caller = m_scene.regions[at(region)].caller;
    opened.op = call.op;
    opened.role = cond.role;
    opened.name = "cond";
    opened.note = opCount(m_model.graph(cond.graph).operators.size());
    opened.parent = region;
    const int condRegion = addRegion(std::move(opened));
    const Emission emission = emitGraph(cond.graph, call.site + ":" + cond.role, condRegion, call.depth + 1);
    const Graph& inner = m_model.graph(body.graph);
    for (size_t k = 0; k < emission.inputs.size() && k < body.inputs.size(); ++k) addValueEdges(body, inner.inputs[k], emission.inputs[k]);
}

void SceneBuilder::emitCall(Emission& caller, OperatorId id, const std::string& site, int parent, int depth)
{
    const Operator& op = m_model.graph(caller.graph).op(id);
    const CallPlace call{id, site, callForm(op), parent, depth};
    std::vector<std::vector<int>> formals(op.inputs.size());
    std::vector<std::vector<int>> results(op.results.size());
    const auto takeResults = [&](const Emission& callee) {
        for (size_t k = 0; k < results.size() && k < callee.outputs.size(); ++k) results[k].push_back(callee.outputs[k]);
    };
    switch (call.form.kind) {
    case CallKind::loop: {
        const Callee& body = call.form.callees[1];
        const int region = calleeRegion(caller, call, body, RegionKind::loop, parent, true);
        m_scene.regions[at(region)].note = "cond " + opCount(m_model.graph(call.form.callees[0].graph).operators.size());
        const Emission inner = emitCallee(caller, call, body, region, formals);
        bindLoop(caller, call, inner, region);
        if (m_view.condOpen.contains(site) || m_view.allExpanded) emitCond(call, inner, region);
        takeResults(inner);
        break;
    }
    case CallKind::branch:
    case CallKind::select: {
        SceneRegion around;
        around.kind = RegionKind::branch;
        around.id = site;
        around.site = site;
        around.graph = caller.graph;
        around.caller = caller.graph;
        around.op = id;
        around.name = op.name.empty() ? op.kind.name : op.name;
        if (op.name.empty()) around.index = "#" + std::to_string(id.index);
        around.note = std::to_string(call.form.callees.size()) + " sides";
        around.parent = parent;
        const int box = addRegion(std::move(around));
        SceneNode steering;
        steering.kind = NodeKind::input;
        steering.id = site + ">" + (call.form.kind == CallKind::branch ? "predicate" : "index");
        steering.graph = caller.graph;
        steering.op = id;
        steering.value = op.inputs.empty() ? ValueId() : op.inputs[0];
        steering.name = call.form.kind == CallKind::branch ? "predicate" : "index";
        if (steering.value.valid()) steering.shape = shapeText(m_model.graph(caller.graph).value(steering.value).type);
        steering.region = box;
        steering.rect.width = std::max(56.0, textWidth(steering.name, TextStyle::name) + 20);
        steering.rect.height = 28;
        const int pill = addNode(std::move(steering));
        if (!formals.empty()) formals[0].push_back(pill);
        for (const Callee& callee : call.form.callees) {
            const int region = calleeRegion(caller, call, callee, RegionKind::branch, box, false);
            takeResults(emitCallee(caller, call, callee, region, formals));
        }
        break;
    }
    case CallKind::call:
    case CallKind::once: {
        const int region = calleeRegion(caller, call, call.form.callees[0], RegionKind::call, parent, true);
        takeResults(emitCallee(caller, call, call.form.callees[0], region, formals));
        break;
    }
    case CallKind::none: return;
    }
    caller.inlinedAs[at(id.index)] = static_cast<int>(caller.formals.size());
    caller.formals.push_back(std::move(formals));
    for (size_t k = 0; k < results.size(); ++k) {
        if (!op.results[k].valid() || results[k].empty()) continue;
        int& producer = caller.producer[at(op.results[k].index)];
        if (results[k].size() == 1) {
            producer = results[k][0];
        } else {
            producer = -2 - static_cast<int>(caller.joined.size());
            caller.joined.push_back(std::move(results[k]));
        }
    }
}

} // namespace loopscope::viewer
