// What a view shows of a graph: pills, operators, folded and open groups, inlined calls, and the edges between them.
#include "viewer/scene/scene_builder.h"

#include "engine/ir/flow_role.h"
#include "engine/observe/address.h"
#include "viewer/layout/index.h"

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr int kDeepestInlining = 32;
constexpr size_t kMostNodes = 50000; ///< of callees that "expand all" opens: their number may double with every call inside another

/// Operands of v1 nodes: back to the next iteration, or the same in every iteration.
EdgeStyle operandStyle(bool hasFrames, const Graph& graph, const Operator& op, ValueId input)
{
    if (!hasFrames || !input.valid()) return EdgeStyle::data;
    const OperatorId producer = graph.value(input).producer;
    const FlowRole role = flowRole(op);
    if (producer.valid() && role == FlowRole::merge && flowRole(graph.op(producer)) == FlowRole::nextIteration) return EdgeStyle::feedback;
    if (role == FlowRole::enter && attributeBool(op.attributes, "is_constant", false)) return EdgeStyle::captured;
    return EdgeStyle::data;
}

} // namespace

SceneEdge SceneBuilder::Draft::edge() const
{
    SceneEdge edge;
    edge.from = from;
    edge.to = to;
    edge.graph = graph;
    edge.value = value;
    edge.style = style;
    edge.label = label;
    return edge;
}

Result<std::shared_ptr<const Scene>> SceneBuilder::build(GraphId graph, const std::string& prefix)
{
    m_scene.view = m_view;
    m_scene.graph = graph;
    m_scene.operators = static_cast<int64_t>(m_model.graph(graph).operators.size());
    emitGraph(graph, prefix, -1, 0);
    if (m_progress.stop.stop_requested()) return Error(ErrorCode::cancelled, "layout cancelled");
    if (m_progress.report) m_progress.report(0.2);
    LS_CHECK_OK(m_view.rows ? placeRows() : place());
    return std::shared_ptr<const Scene>(std::make_shared<Scene>(std::move(m_scene)));
}

std::vector<int> SceneBuilder::producersOf(const Emission& emission, ValueId value) const
{
    if (!value.valid()) return {};
    const int node = emission.producer[at(value.index)];
    if (node >= 0) return {node};
    if (node <= -2) return emission.joined[at(-2 - node)];
    return {};
}

bool SceneBuilder::opensCallee(const std::string& site, const CallForm& form, int depth) const
{
    if (form.kind == CallKind::none || depth >= kDeepestInlining) return false;
    for (const Callee& callee : form.callees)
        if (!m_model.hasGraph(callee.graph)) return false;
    if (m_view.inlined.contains(site)) return true;
    if (!m_view.allExpanded || m_view.folded.contains(site) || m_scene.nodes.size() > kMostNodes) return false;
    return std::none_of(form.callees.begin(), form.callees.end(),
                        [&](const Callee& callee) { return std::find(m_open.begin(), m_open.end(), callee.graph) != m_open.end(); });
}

SceneBuilder::Emission SceneBuilder::emitGraph(GraphId id, const std::string& prefix, int region, int depth, bool foldInvariants)
{
    const Graph& graph = m_model.graph(id);
    m_open.push_back(id);
    Emission emission;
    emission.graph = id;
    emission.prefix = prefix;
    emission.region = region;
    emission.producer.assign(graph.values.size(), -1);
    emission.nodeOf.assign(graph.operators.size(), -1);
    emission.inlinedAs.assign(graph.operators.size(), -1);
    const std::vector<bool> folded = foldedInputs(graph, foldInvariants);
    const auto invariants = static_cast<size_t>(std::count(folded.begin(), folded.end(), true));
    int together = -1;
    for (size_t k = 0; k < graph.inputs.size(); ++k) {
        if (folded[k] && together < 0)
            together = addTogether(NodeKind::input, emission,
                                   std::to_string(invariants) + (foldInvariants    ? " invariant"
                                                                 : invariants == 1 ? " variable"
                                                                                   : " variables"));
        const int pill = folded[k] ? together : addPill(NodeKind::input, emission, graph.inputs[k], k);
        if (folded[k]) m_scene.nodeById.emplace(prefix + ">" + graph.value(graph.inputs[k]).id, pill);
        emission.inputs.push_back(pill);
        if (graph.inputs[k].valid()) emission.producer[at(graph.inputs[k].index)] = pill;
    }
    const OpGroups groups = groupsOf(emission);
    emitOperators(emission, groups, depth);
    together = -1;
    for (size_t k = 0; k < graph.outputs.size(); ++k) {
        const bool isFolded = foldInvariants && k < folded.size() && folded[k];
        if (isFolded && together < 0) together = addTogether(NodeKind::output, emission, std::to_string(invariants) + " invariant");
        emission.outputs.push_back(isFolded ? together : addPill(NodeKind::output, emission, graph.outputs[k].value, k));
    }
    emitEdges(emission);
    if (emission.frames) bindFrames(emission);
    m_open.pop_back();
    return emission;
}

/// Inputs that have no pill of their own: what a loop's body only hands on, and variables where sources are not shown.
std::vector<bool> SceneBuilder::foldedInputs(const Graph& graph, bool isBody) const
{
    if (isBody) return foldedInvariants(graph);
    std::vector<bool> folded(graph.inputs.size(), false);
    for (size_t k = 0; k < folded.size(); ++k)
        folded[k] = m_view.hideSources && graph.inputs[k].valid() && graph.value(graph.inputs[k]).type.dtype == DType::resource;
    return folded;
}

OpGroups SceneBuilder::groupsOf(Emission& emission)
{
    const Graph& graph = m_model.graph(emission.graph);
    OpGroups groups;
    if (m_model.dialect == Dialect::tf && hasFramesOrSwitches(graph)) {
        emission.frames = std::make_shared<const FrameAnalysis>(analyzeFrames(graph));
        if (!m_scene.frames) m_scene.frames = emission.frames;
        groups = frameGroups(graph, *emission.frames);
        for (const Frame& frame : emission.frames->frames) {
            Address address;
            address.root = "g";
            AddressStep step;
            step.site.name = frame.name;
            step.role = StepRole::frame;
            if (frame.parent >= 0) address.steps.push_back(step);
            emission.framePrefixes.push_back(frame.parent < 0 ? emission.prefix
                                                              : emission.framePrefixes[at(frame.parent)] + toString(address).substr(1));
        }
    }
    if (m_view.groupByNames) addNameGroups(graph, groups);
    groups.groupOf.resize(graph.operators.size(), -1);
    return groups;
}

namespace {

/// Nodes of TensorFlow that only give constants: Const, handles of variables, and what reads or hands on those.
std::vector<char> sourcesOf(const Graph& graph)
{
    std::vector<char> isSource(graph.operators.size(), 0);
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const Operator& op = graph.operators[o];
        const bool begins = op.kind.name == "Const" || op.kind.name == "VarHandleOp" || op.kind.name == "VariableV2";
        const bool handsOn = op.kind.name == "ReadVariableOp" || op.kind.name == "Identity";
        const auto isGiven = [&](ValueId input) {
            if (!input.valid()) return false;
            if (graph.value(input).role == ValueRole::input) return graph.value(input).type.dtype == DType::resource;
            if (graph.value(input).role != ValueRole::result) return false;
            const OperatorId producer = graph.value(input).producer;
            return producer.valid() && isSource[at(producer.index)] != 0; // of graphs in order, as those of files are
        };
        isSource[o] = op.kind.dialect == "tf" && op.controlInputs.empty() &&
                      (begins || (handsOn && op.inputs.size() == 1 && isGiven(op.inputs.front())));
    }
    for (const GraphOutput& output : graph.outputs) // what is asked for is drawn
        if (output.value.valid() && graph.value(output.value).role == ValueRole::result)
            if (const OperatorId producer = graph.value(output.value).producer; producer.valid()) isSource[at(producer.index)] = 0;
    return isSource;
}

} // namespace

void SceneBuilder::emitOperators(Emission& emission, const OpGroups& groups, int depth)
{
    const Graph& graph = m_model.graph(emission.graph);
    const int own = emission.region;
    // Per group: its region if it is open, its node if it is folded.
    std::vector<int> regionOf(groups.groups.size(), -1), foldedAs(groups.groups.size(), -1);
    std::vector<char> met(groups.groups.size(), 0);
    std::vector<int> path;
    m_scene.groups += static_cast<int64_t>(groups.groups.size());
    const std::vector<char> isHidden = m_view.hideSources ? sourcesOf(graph) : std::vector<char>(graph.operators.size(), 0);
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        if ((o & 1023U) == 0 && m_progress.stop.stop_requested()) return;
        if (isHidden[o] != 0) continue;
        const OperatorId id(static_cast<int64_t>(o));
        const Operator& op = graph.operators[o];
        path.clear();
        for (int g = groups.groupOf[o]; g >= 0; g = groups.groups[at(g)].parent) path.push_back(g);
        int region = own, folded = -1;
        std::string_view scope;
        for (auto g = path.rbegin(); g != path.rend() && folded < 0; ++g) {
            const OpGroup& group = groups.groups[at(*g)];
            if (met[at(*g)] == 0) {
                met[at(*g)] = 1;
                if (isOpen(emission.prefix + groupSuffix(group))) {
                    SceneRegion opened;
                    opened.kind = group.kind;
                    opened.id = emission.prefix + groupSuffix(group);
                    opened.role = group.role;
                    opened.graph = emission.graph;
                    opened.name = group.name;
                    opened.note = std::to_string(group.members.size()) + (group.members.size() == 1 ? " op" : " ops") +
                                  (group.note.empty() ? "" : ", " + group.note);
                    opened.parent = region;
                    opened.frame = group.frame;
                    regionOf[at(*g)] = addRegion(std::move(opened));
                } else {
                    foldedAs[at(*g)] = addGroupNode(emission, group, region);
                }
            }
            if (regionOf[at(*g)] >= 0) {
                region = regionOf[at(*g)];
                scope = group.scope;
            } else {
                folded = foldedAs[at(*g)];
            }
        }
        if (folded >= 0) {
            emission.nodeOf[o] = folded;
        } else {
            emission.region = region;
            const std::string address = operatorAddress(emission.prefixOf(id), op, id);
            if (!calleesOf(op).empty() && opensCallee(address, callForm(op), depth)) {
                emitCall(emission, id, address, region, depth);
                continue;
            }
            if (m_view.showConstants) addConstants(emission, op);
            emission.nodeOf[o] = addOperator(emission, id, address, scope);
            if (emission.frames) m_scene.nodeById.emplace(operatorAddress(emission.prefix, op, id), emission.nodeOf[o]);
        }
        for (const ValueId result : op.results)
            if (result.valid()) emission.producer[at(result.index)] = emission.nodeOf[o];
    }
    emission.region = own;
}

/// Pills of the constants that `op` is the first to use.
void SceneBuilder::addConstants(Emission& emission, const Operator& op)
{
    const Graph& graph = m_model.graph(emission.graph);
    for (const ValueId input : op.inputs) {
        if (!input.valid() || graph.value(input).role != ValueRole::constant || emission.producer[at(input.index)] != -1) continue;
        const Value& value = graph.value(input);
        SceneNode node;
        node.kind = NodeKind::constant;
        node.id = emission.prefix + "=" + value.id;
        node.graph = emission.graph;
        node.value = input;
        node.name = constantText(value);
        node.shape = shapeText(value.type);
        node.detail = value.displayName();
        node.family = Family::state;
        node.region = emission.region;
        node.rect.width = std::clamp(textWidth(node.name, TextStyle::monoSmall) + 20, 40.0, 160.0);
        node.rect.height = 18;
        emission.producer[at(input.index)] = addNode(std::move(node));
    }
}

void SceneBuilder::addValueEdges(const Emission& emission, ValueId value, int to, EdgeStyle style, int actual)
{
    if (!value.valid() || to < 0) return;
    if (m_view.hideSources && m_model.graph(emission.graph).value(value).type.dtype == DType::resource) return;
    const int values = static_cast<int>(m_model.graph(emission.graph).values.size());
    for (const int from : producersOf(emission, value)) {
        if (from == to) continue;
        const SceneNode& target = m_scene.nodes[at(to)];
        if (target.kind == NodeKind::group && !m_groupEdges.insert((static_cast<int64_t>(to) << 32) | value.index).second) continue;
        Draft draft;
        draft.from = from;
        draft.to = to;
        draft.graph = emission.graph;
        draft.value = value;
        draft.style = style;
        draft.actual = actual;
        draft.net = value.index + (style == EdgeStyle::passThrough ? values : 0);
        if (target.kind == NodeKind::input || target.kind == NodeKind::output) draft.toPort = 0.5F;
        const NodeKind source = m_scene.nodes[at(from)].kind;
        if (source == NodeKind::output) {
            draft.net = values * 2 + value.index;
            draft.fromPort = 0.5F;
        }
        m_drafts.push_back(std::move(draft));
    }
}

void SceneBuilder::emitEdges(Emission& emission)
{
    const Graph& graph = m_model.graph(emission.graph);
    const int controls = 3 * static_cast<int>(graph.values.size());
    if (m_progress.stop.stop_requested()) return;
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const Operator& op = graph.operators[o];
        if (emission.inlinedAs[o] >= 0) {
            const auto& formals = emission.formals[at(emission.inlinedAs[o])];
            for (size_t k = 0; k < op.inputs.size() && k < formals.size(); ++k)
                for (const int formal : formals[k]) addValueEdges(emission, op.inputs[k], formal, EdgeStyle::data, m_actualOf[at(formal)]);
        } else {
            for (const ValueId input : op.inputs)
                addValueEdges(emission, input, emission.nodeOf[o], operandStyle(emission.frames != nullptr, graph, op, input));
        }
        for (const OperatorId control : op.controlInputs) {
            if (!control.valid()) continue;
            const int from = emission.nodeOf[at(control.index)], to = emission.nodeOf[o];
            if (from < 0 || to < 0 || from == to) continue;
            if (!m_groupEdges.insert((static_cast<int64_t>(to) << 32) | (0x80000000LL + from)).second) continue;
            Draft draft;
            draft.from = from;
            draft.to = to;
            draft.graph = emission.graph;
            draft.style = EdgeStyle::control;
            draft.net = controls;
            m_drafts.push_back(std::move(draft));
        }
    }
    for (size_t k = 0; k < graph.outputs.size(); ++k) {
        const ValueId value = graph.outputs[k].value;
        if (!value.valid()) continue;
        const std::vector<int> producers = producersOf(emission, value);
        const bool unchanged = producers.size() == 1 && m_scene.nodes[at(producers[0])].kind == NodeKind::input;
        // All that one pill hands on to another is one line.
        if (unchanged && std::find(emission.outputs.begin(), emission.outputs.begin() + static_cast<std::ptrdiff_t>(k),
                                   emission.outputs[k]) != emission.outputs.begin() + static_cast<std::ptrdiff_t>(k))
            continue;
        addValueEdges(emission, value, emission.outputs[k], unchanged ? EdgeStyle::passThrough : EdgeStyle::data);
    }
}

/// Loop variables of the frames that are open: where a value enters, waits, and goes back.
void SceneBuilder::bindFrames(const Emission& emission)
{
    const Graph& graph = m_model.graph(emission.graph);
    const auto nodeOf = [&](OperatorId op) { return op.valid() ? emission.nodeOf[at(op.index)] : -1; };
    const auto resultOf = [&](OperatorId op) {
        return op.valid() && !graph.op(op).results.empty() ? graph.op(op).results.front() : ValueId();
    };
    const auto nameOf = [&](OperatorId op) { return op.valid() ? graph.op(op).name : std::string("none"); };
    for (SceneRegion& region : m_scene.regions) {
        if (region.kind != RegionKind::frame || region.frame < 0 || region.graph != emission.graph) continue;
        const Frame& frame = emission.frames->frames[at(region.frame)];
        region.note = std::to_string(frame.variables.size()) + (frame.variables.size() == 1 ? " variable" : " variables") +
                      (frame.irregular.empty() ? "" : ", " + frame.irregular);
        for (const LoopVariable& variable : frame.variables) {
            LoopBinding binding;
            binding.variable = nameOf(variable.merge);
            binding.actual = nodeOf(variable.enter);
            binding.formal = nodeOf(variable.merge);
            binding.result = nodeOf(variable.next);
            binding.actualValue = resultOf(variable.enter);
            binding.formalValue = resultOf(variable.merge);
            binding.resultValue = resultOf(variable.next);
            binding.actualText = nameOf(variable.enter);
            binding.formalText = nameOf(variable.merge);
            binding.feedbackText = nameOf(variable.next);
            binding.exitText = variable.exits.empty() ? "unused" : nameOf(variable.exits.front());
            if (!variable.exits.empty()) binding.exitValue = resultOf(variable.exits.front());
            for (Draft& draft : m_drafts)
                if (draft.style == EdgeStyle::feedback && draft.from == binding.result && draft.to == binding.formal && draft.binding < 0) {
                    draft.region = static_cast<int>(&region - m_scene.regions.data());
                    draft.binding = static_cast<int>(region.bindings.size());
                    draft.label = "feedback " + binding.feedbackText + " → " + binding.formalText;
                }
            region.bindings.push_back(std::move(binding));
        }
    }
}

} // namespace loopscope::viewer
