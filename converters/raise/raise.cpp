// Raises graph by graph. What fails is tried again with more that stays as it is, so that one irregular place costs nothing else.
#include "converters/raise/raise.h"

#include "converters/raise/emitter.h"
#include "converters/raise/flow.h"
#include "engine/base/text.h"
#include "engine/ir/frames.h"
#include "engine/ir/origin.h"
#include "engine/transform/graph_editor.h"
#include "engine/transform/resource_variables.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace loopscope {

namespace {

using namespace raising;

constexpr int kMostAttempts = 50;

/// Graph outputs, bound values and, in the primary graph, what the options name.
class WantedNames {
public:
    WantedNames(const Model& model, GraphId id) : m_model(model), m_graph(model.graph(id)), m_id(id)
    {
        m_wanted.values.assign(m_graph.values.size(), false);
        m_wanted.operators.assign(m_graph.operators.size(), false);
        m_wanted.fed.assign(m_graph.operators.size(), false);
    }

    Result<Wanted> find(const RaiseOptions& options)
    {
        for (const GraphOutput& output : m_graph.outputs) m_wanted.values[at(output.value)] = true;
        for (const auto& [name, op] : m_graph.controlOutputs) m_wanted.operators[at(op)] = true;
        for (const Signature& signature : m_model.signatures) {
            if (signature.graph != m_id) continue;
            for (const auto* bindings : {&signature.inputs, &signature.outputs})
                for (const SignatureBinding& binding : *bindings)
                    if (binding.value.valid()) m_wanted.values[at(binding.value)] = true;
        }
        if (m_id.index != 0) return std::move(m_wanted);
        for (size_t o = 0; o < m_graph.operators.size(); ++o)
            m_nodes.emplace(m_graph.operators[o].name, OperatorId(static_cast<int64_t>(o)));
        for (const std::string& name : options.fetches) {
            LS_TRY(const ValueId value, valueNamed("fetch", name));
            m_wanted.values[at(value)] = true;
        }
        for (const std::string& name : options.feeds) {
            LS_TRY(const ValueId value, valueNamed("feed", name));
            if (m_graph.value(value).role != ValueRole::result) continue;
            const OperatorId op = m_graph.value(value).producer;
            if (flowRole(m_graph.op(op)) == FlowRole::none) m_wanted.fed[at(op)] = true;
            else m_wanted.fedFlow.push_back(op);
        }
        for (const std::string& name : options.targets) {
            const auto found = m_nodes.find(name);
            if (found == m_nodes.end()) return unknown("target", name);
            m_wanted.operators[at(found->second)] = true;
        }
        return std::move(m_wanted);
    }

private:
    Result<ValueId> valueNamed(const char* what, const std::string& name) const
    {
        const auto [node, slot] = originParts(name);
        const auto found = m_nodes.find(node);
        if (found == m_nodes.end()) {
            if (const ValueId value = m_graph.findValue(name); value.valid()) return value;
            return unknown(what, name);
        }
        const std::vector<ValueId>& results = m_graph.op(found->second).results;
        if (slot < 0 || static_cast<size_t>(slot) >= results.size())
            return Error(ErrorCode::usage, std::string(what) + " '" + name + "': the node has no such output")
                .expected(std::to_string(results.size()) + " outputs");
        return results[static_cast<size_t>(slot)];
    }

    Error unknown(const char* what, const std::string& name) const
    {
        std::vector<std::string> names;
        for (const auto& [node, op] : m_nodes) names.push_back(node);
        return Error(ErrorCode::usage, std::string(what) + " '" + name + "': no such node").nearest(nearestNames(name, names));
    }

    const Model& m_model;
    const Graph& m_graph;
    GraphId m_id;
    Wanted m_wanted;
    std::unordered_map<std::string, OperatorId> m_nodes;
};

/// Results of Merges and Exits at the top that nobody reads are what a session fetches when it is not told what.
void wantUnread(Flow& flow, Wanted& wanted)
{
    const Graph& graph = flow.graph();
    std::vector<bool> isRead(graph.values.size(), false);
    for (const Operator& op : graph.operators)
        for (const ValueId input : op.inputs)
            if (input.valid()) isRead[at(input)] = true;
    for (const OperatorId id : flow.order()) {
        const FlowRole role = flow.role(id);
        const bool isMerge = role == FlowRole::merge && flow.regionOf(id) == 0;
        const bool isExit =
            role == FlowRole::exit && flow.regionOfFrame(flow.frames().frames[static_cast<size_t>(flow.frameOf(id))].parent) == 0;
        if (!isMerge && !isExit) continue;
        const ValueId value = graph.op(id).results[0];
        if (!isRead[at(value)] && flow.livesAs(value) == kAlways) wanted.values[at(value)] = true;
    }
}

/// Nodes of control flow that are fed stay, and Switches that are asked for, since only they have an output that is dead. True if there
/// was one.
bool keepAsked(Flow& flow, const Wanted& wanted, RewriteReport& report)
{
    bool found = false;
    for (const OperatorId op : wanted.fedFlow) {
        report.declined.push_back({flow.graph().op(op).name, "what it gives is fed"});
        flow.keep(op);
        found = true;
    }
    for (const OperatorId id : flow.order()) {
        const std::vector<ValueId>& results = flow.graph().op(id).results;
        if (flow.role(id) != FlowRole::choice || std::ranges::none_of(results, [&](ValueId value) { return wanted.values[at(value)]; }))
            continue;
        report.declined.push_back({flow.graph().op(id).name, "an output of the Switch is asked for, and one of them is dead"});
        flow.keep(id);
        found = true;
    }
    return found;
}

/// A node that could not be written stays with what gates it, or with its frame. False: there is nothing to try.
bool keepNextTime(Flow& flow, const Failure& failure, std::unordered_set<int32_t>& tried)
{
    if (!failure.keep.valid() || !tried.insert(failure.keep.index).second) return false;
    if (flow.role(failure.keep) == FlowRole::loopCondition) flow.keepFrame(flow.frameOf(failure.keep));
    else flow.keep(failure.keep);
    return true;
}

/// Whether nothing goes round in the frame, so that all of it runs once, and nothing in it is fed, asked for or waits for a first
/// iteration.
bool runsOnce(const Graph& graph, const Frame& frame, const Wanted& wanted)
{
    if (frame.isLoop() || frame.enters.empty()) return false;
    const std::unordered_set<OperatorId> enters(frame.enters.begin(), frame.enters.end());
    for (const OperatorId id : frame.nodes) {
        const Operator& op = graph.op(id);
        const FlowRole role = flowRole(op);
        if (role == FlowRole::nextIteration || role == FlowRole::loopCondition || wanted.fed[at(id)]) return false;
        for (const ValueId result : op.results)
            if (wanted.values[at(result)] && role != FlowRole::exit) return false;
        for (const ValueId input : op.inputs) // a Merge dies with one dead Enter
            if (role == FlowRole::merge && input.valid() && graph.value(input).role == ValueRole::result &&
                enters.contains(graph.value(input).producer))
                return false;
    }
    return std::ranges::none_of(frame.enters, [&](OperatorId enter) { return graph.value(graph.op(enter).results[0]).type.isReference; });
}

/// Frames without a loop hand their values in and out, and that is all: Enter and Exit become Identities.
Status openFrames(Graph& graph, const Wanted& wanted, RewriteReport& report)
{
    const FrameAnalysis analysis = analyzeFrames(graph);
    if (!analysis.problems.empty()) return {}; // TensorFlow would not run it
    GraphEditor editor(graph, Dialect::tf);
    for (size_t f = 1; f < analysis.frames.size(); ++f) {
        const Frame& frame = analysis.frames[f];
        if (!runsOnce(graph, frame, wanted)) continue;
        std::vector<OperatorId> ends = frame.enters;
        for (const OperatorId id : frame.nodes)
            if (flowRole(graph.op(id)) == FlowRole::exit) ends.push_back(id);
        report.rewrites.push_back({"identity", frame.name, graph.id, frame.name, {}});
        for (const OperatorId id : ends) {
            report.rewrites.back().nodes.push_back(graph.op(id).name);
            const DType dtype = graph.value(graph.op(id).results[0]).type.dtype;
            AttributeList attributes = {{"T", dtype}};
            if (flowRole(graph.op(id)) == FlowRole::enter) attributes.push_back({std::string(kOriginOpened), frame.name});
            editor.setKind(id, {"tf", "Identity"});
            editor.setAttributes(id, std::move(attributes));
        }
    }
    return editor.finish();
}

Status raiseGraph(Model& model, GraphId id, const RaiseOptions& options, RewriteReport& report)
{
    LS_TRY(Wanted wanted, WantedNames(model, id).find(options));
    Graph original = model.graph(id);
    { // operators have their random streams and origins from here on
        GraphEditor pinned(original, Dialect::tf);
    }
    LS_CHECK_OK(openFrames(original, wanted, report));
    Flow flow(original, wanted);
    std::unordered_set<int32_t> tried;
    bool wantsUnread = false;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
        if (!flow.analyze(report.declined).ok()) return {};
        if (attempt == 0 && keepAsked(flow, wanted, report)) continue;
        if (!wantsUnread && id.index == 0 && options.fetches.empty() && original.outputs.empty()) wantUnread(flow, wanted);
        wantsUnread = true;
        Graph edited = original;
        GraphEditor editor(edited, Dialect::tf);
        Emitter emitter(flow, editor, model.graphs.size(), [&](const std::string& name) {
            return std::ranges::any_of(model.graphs, [&](const Graph& graph) { return graph.id == name; });
        });
        const std::optional<Failure> failure = emitter.run();
        if (failure) {
            const std::string where = failure->keep.valid() ? original.op(failure->keep).name : original.id;
            report.declined.push_back({where, failure->reason});
            if (!keepNextTime(flow, *failure, tried)) return {};
            continue;
        }
        LS_CHECK_OK(editor.finish());
        model.graph(id) = std::move(edited);
        LS_CHECK_OK(GraphEditor(model, id).finish(GraphEditor::Values::dropUnused)); // files have no place for what nobody writes
        for (Graph& function : emitter.functions()) model.graphs.push_back(std::move(function));
        for (Rewrite& raised : emitter.raised()) report.rewrites.push_back(std::move(raised));
        return {};
    }
    return {};
}

/// What neither fetches nor targets need does not run in a session that asks for them, effects included: it goes, as it does there. A While
/// would keep its effects.
void leaveOut(Model& model, GraphId id, const RaiseOptions& options)
{
    std::unordered_set<std::string> asked(options.targets.begin(), options.targets.end());
    for (const auto* names : {&options.fetches, &options.feeds})
        for (const std::string& name : *names) asked.insert(originParts(name).first);
    std::vector<OperatorId> roots;
    const Graph& graph = model.graph(id);
    for (size_t o = 0; o < graph.operators.size(); ++o)
        if (asked.contains(graph.operators[o].name)) roots.emplace_back(static_cast<int64_t>(o));
    GraphEditor editor(model, id);
    editor.eraseUnneeded(roots);
    (void)editor.finish(GraphEditor::Values::dropUnused);
}

} // namespace

Result<RewriteReport> raiseControlFlow(Model& model, const RaiseOptions& options)
{
    if (model.dialect != Dialect::tf)
        return Error(ErrorCode::usage, "only TensorFlow graphs have control flow to raise")
            .found("dialect " + std::string(dialectName(model.dialect)));
    RewriteReport report;
    const size_t count = model.graphs.size();
    for (size_t g = 0; g < count; ++g) {
        const GraphId id(static_cast<int64_t>(g));
        if (!hasFramesOrSwitches(model.graph(id))) continue;
        if (g == 0 && !(options.fetches.empty() && options.targets.empty())) leaveOut(model, id, options);
        // If and While take handles. What takes references and has no such form may well be outside of them.
        LS_TRY(ResourceVariables variables, useResourceVariables(model, id, options.fetches));
        const size_t declined = report.declined.size();
        Status status = raiseGraph(model, id, options, report);
        if (!status.ok()) return std::move(status).takeError();
        if (report.declined.size() > declined) // why there still are references
            for (auto& [where, reason] : variables.without) report.declined.push_back({std::move(where), std::move(reason)});
    }
    return report;
}

} // namespace loopscope
