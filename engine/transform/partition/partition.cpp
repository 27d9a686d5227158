#include "engine/transform/partition/partition.h"

#include "engine/ir/flow_role.h"
#include "engine/ir/frames.h"
#include "engine/ops/control_flow.h"
#include "engine/transform/graph_editor.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>

namespace loopscope {

namespace {

const TensorType kToken(DType::f32, Shape({0})); ///< what stands for "it has happened"

size_t at(OperatorId id) { return static_cast<size_t>(id.index); }

/// A device's name as part of a node's.
std::string nodePart(const std::string& device)
{
    std::string part;
    for (const char c : device) part += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' ? c : '_';
    return part;
}

class Cutter {
public:
    Cutter(Model& model, GraphId graph, const DevicePlacement& placement)
        : m_frames(analyzeFrames(model.graph(graph))),
          m_editor(model, graph),
          m_placement(placement)
    {
    }

    Result<CutReport> run()
    {
        const std::vector<OperatorId> order = m_editor.order();
        for (const OperatorId id : order) m_editor.setAttribute(id, "@device", device(deviceOf(id)));
        for (const OperatorId id : order) {
            const std::vector<ValueId> inputs = m_editor.op(id).inputs;
            for (size_t i = 0; i < inputs.size(); ++i) {
                if (!inputs[i].valid() || m_editor.value(inputs[i]).role != ValueRole::result) continue;
                if (deviceOf(m_editor.value(inputs[i]).producer) == deviceOf(id)) continue;
                LS_TRY(const ValueId received, receive(inputs[i], deviceOf(id), frameOf(id)));
                m_editor.setInput(id, static_cast<int32_t>(i), received);
            }
            const std::vector<OperatorId> controls = m_editor.op(id).controlInputs;
            for (const OperatorId control : controls) {
                if (deviceOf(control) == deviceOf(id)) continue;
                LS_TRY(const OperatorId happened, receiveControl(control, deviceOf(id), frameOf(id)));
                m_editor.removeControlInput(id, control);
                m_editor.addControlInput(id, happened);
            }
        }
        LS_CHECK_OK(m_editor.finish());
        return std::move(m_report);
    }

private:
    int32_t deviceOf(OperatorId id) const
    {
        return at(id) < m_placement.deviceOf.size() ? m_placement.deviceOf[at(id)] : m_added.at(id.index).first;
    }
    int32_t frameOf(OperatorId id) const
    {
        return at(id) < m_frames.frameOf.size() ? m_frames.frameOf[at(id)] : m_added.at(id.index).second;
    }
    const std::string& device(int32_t number) const { return m_placement.devices[static_cast<size_t>(number)]; }

    OperatorId add(std::string_view kind, const std::string& name, std::vector<ValueId> inputs, AttributeList attributes,
                   std::vector<TensorType> results, int32_t onDevice, int32_t inFrame, const Sources& sources)
    {
        OperatorDraft draft;
        draft.kind = {"tf", std::string(kind)};
        draft.name = name;
        draft.inputs = std::move(inputs);
        draft.attributes = std::move(attributes);
        draft.results = std::move(results);
        setAttribute(draft.attributes, "@device", device(onDevice));
        const OperatorId id = m_editor.append(std::move(draft), sources);
        m_added[id.index] = {onDevice, inFrame};
        return id;
    }

    ValueId result(OperatorId id, size_t k = 0) const { return m_editor.op(id).results[k]; }

    ValueId token(const std::string& name, int32_t onDevice, int32_t inFrame, const Sources& sources)
    {
        const ConstantPtr data = std::make_shared<Constant>(Bytes::copyOf(nullptr, 0));
        return result(add("Const", name, {}, {{"dtype", DType::f32}, {"value", TensorAttribute{kToken, data}}}, {kToken}, onDevice, inFrame,
                          sources));
    }

    /// The value on another device, in the frame where it is read.
    Result<ValueId> receive(ValueId value, int32_t to, int32_t frame)
    {
        const auto known = m_received.find({value.index, to});
        if (known != m_received.end()) return known->second;
        const OperatorId producer = m_editor.value(value).producer;
        const int32_t from = deviceOf(producer);
        TensorType type = m_editor.value(value).type;
        if (type.isReference)
            return Error(ErrorCode::usage, "'" + m_editor.value(value).id + "' is a reference, which no other device can read");
        const std::string name = m_editor.op(producer).name;
        const std::string key = "edge_" + std::to_string(m_report.edges + m_report.controls) + "_" + name;
        AttributeList common = {{"client_terminated", false},
                                {"recv_device", device(to)},
                                {"send_device", device(from)},
                                {"send_device_incarnation", int64_t{1}},
                                {"tensor_name", key}};
        AttributeList sent = common;
        setAttribute(sent, "T", type.dtype);
        setAttribute(common, "tensor_type", type.dtype);
        add("_Send", name + "/_send", {value}, std::move(sent), {}, from, frame, producer);
        const OperatorId recv = add("_Recv", name + "/_recv", {}, std::move(common), {std::move(type)}, to, frame, producer);
        m_received[{value.index, to}] = result(recv);
        ++m_report.edges;
        if (frame > 0) {
            LS_TRY(const OperatorId pulse, controlLoop(frame, to));
            m_editor.addControlInput(recv, pulse);
        }
        return result(recv);
    }

    /// A node on another device that stands for another one's having run.
    Result<OperatorId> receiveControl(OperatorId source, int32_t to, int32_t frame)
    {
        const auto known = m_happened.find({source.index, to});
        if (known != m_happened.end()) return known->second;
        const std::string name = m_editor.op(source).name;
        const ValueId sign = token(name + "/_ctrl", deviceOf(source), frame, source);
        m_editor.addControlInput(m_editor.value(sign).producer, source);
        LS_TRY(const ValueId received, receive(sign, to, frame));
        --m_report.edges;
        ++m_report.controls;
        const OperatorId identity = add("Identity", name + "/_happened", {received}, {{"T", DType::f32}}, {kToken}, to, frame, source);
        m_happened[{source.index, to}] = identity;
        return identity;
    }

    /// The Merge of the control loop of a frame on a device: it runs once in each iteration.
    Result<OperatorId> controlLoop(int32_t frame, int32_t on)
    {
        const auto known = m_loops.find({frame, on});
        if (known != m_loops.end()) return known->second;
        const Frame& about = m_frames.frames[static_cast<size_t>(frame)];
        const bool isLoop = about.condition.valid();
        const auto goesRound = [&](OperatorId id) { return flowRole(m_editor.op(id)) == FlowRole::nextIteration; };
        if (!isLoop && std::ranges::any_of(about.nodes, goesRound))
            return Error(ErrorCode::usage, "a loop that is cut between devices needs a LoopCond")
                .found("frame '" + about.name + "' without one");
        const Sources sources = isLoop ? about.condition : about.enters.front();
        const std::string name = "_cloop/" + about.name + "/" + nodePart(device(on)) + "/";
        ValueId start;
        if (about.parent > 0) {
            LS_TRY(const OperatorId outer, controlLoop(about.parent, on));
            start = result(outer);
        } else {
            start = token(name + "Start", on, 0, sources);
        }
        const OperatorId enter =
            add("Enter", name + "Enter", {start},
                {{"T", DType::f32}, {"frame_name", about.name}, {"is_constant", false}, {"parallel_iterations", about.parallelIterations}},
                {kToken}, on, about.parent, sources);
        if (!isLoop) { // it has one iteration
            m_added[enter.index].second = frame;
            return m_loops[{frame, on}] = enter;
        }
        const OperatorId merge = add("Merge", name + "Merge", {result(enter), result(enter)}, {{"N", int64_t{2}}, {"T", DType::f32}},
                                     {kToken, TensorType(DType::i32, Shape())}, on, frame, sources);
        m_loops[{frame, on}] = merge;
        m_report.controlLoops.push_back("'" + about.name + "' on " + device(on));
        ValueId goesOn = m_editor.op(about.condition).results[0];
        if (deviceOf(about.condition) != on) {
            LS_TRY(goesOn, receive(goesOn, on, frame));
        }
        const OperatorId gate =
            add("Switch", name + "Switch", {result(merge), goesOn}, {{"T", DType::f32}}, {kToken, kToken}, on, frame, sources);
        const OperatorId next =
            add("NextIteration", name + "NextIteration", {result(gate, 1)}, {{"T", DType::f32}}, {kToken}, on, frame, sources);
        m_editor.setInput(merge, 1, result(next));
        return merge;
    }

    const FrameAnalysis m_frames;
    GraphEditor m_editor;
    const DevicePlacement& m_placement;
    CutReport m_report;
    std::map<int32_t, std::pair<int32_t, int32_t>> m_added;       ///< new operators: device, frame
    std::map<std::pair<int32_t, int32_t>, ValueId> m_received;    ///< value, device
    std::map<std::pair<int32_t, int32_t>, OperatorId> m_happened; ///< operator, device
    std::map<std::pair<int32_t, int32_t>, OperatorId> m_loops;    ///< frame, device → the Merge of its control loop
};

/// A graph and those that its operators call, it as the first; the others go.
void keepCalled(Model& model, GraphId root)
{
    std::vector<bool> needed(model.graphs.size(), false);
    std::vector<size_t> open = {static_cast<size_t>(root.index)};
    needed[open.front()] = true;
    if (const GraphId first = attributeGraph(model.attributes, kInitialiserGraph); model.hasGraph(first) && first != root) {
        needed[static_cast<size_t>(first.index)] = true;
        open.push_back(static_cast<size_t>(first.index));
    }
    const std::function<void(const Attribute&)> visit = [&](const Attribute& attribute) {
        if (const auto* ref = attribute.as<GraphRef>();
            ref && model.hasGraph(ref->graph) && !needed[static_cast<size_t>(ref->graph.index)]) {
            needed[static_cast<size_t>(ref->graph.index)] = true;
            open.push_back(static_cast<size_t>(ref->graph.index));
        }
        if (const auto* items = attribute.as<AttributeItems>())
            for (const Attribute& item : *items) visit(item);
    };
    while (!open.empty()) {
        const size_t graph = open.back();
        open.pop_back();
        for (const Operator& op : model.graphs[graph].operators)
            for (const NamedAttribute& attribute : op.attributes) visit(attribute.value);
    }
    std::vector<int64_t> numbers(model.graphs.size(), -1);
    std::vector<Graph> kept;
    const auto rootIndex = static_cast<size_t>(root.index);
    numbers[rootIndex] = 0;
    kept.push_back(std::move(model.graphs[rootIndex]));
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        if (!needed[g] || g == rootIndex) continue;
        numbers[g] = static_cast<int64_t>(kept.size());
        kept.push_back(std::move(model.graphs[g]));
    }
    const std::function<void(Attribute&)> renumber = [&](Attribute& attribute) {
        if (auto* ref = attribute.as<GraphRef>(); ref && ref->graph.valid())
            ref->graph = model.hasGraph(ref->graph) ? GraphId(numbers[static_cast<size_t>(ref->graph.index)]) : GraphId();
        if (auto* items = attribute.as<AttributeItems>())
            for (Attribute& item : *items) renumber(item);
    };
    for (NamedAttribute& attribute : model.attributes) renumber(attribute.value);
    for (Graph& graph : kept)
        for (Operator& op : graph.operators)
            for (NamedAttribute& attribute : op.attributes) renumber(attribute.value);
    model.graphs = std::move(kept);
}

} // namespace

Result<CutReport> cutGraph(Model& model, GraphId graph, const DevicePlacement& placement)
{
    if (model.dialect != Dialect::tf)
        return Error(ErrorCode::usage, "only TensorFlow graphs are cut between devices")
            .found("dialect " + std::string(dialectName(model.dialect)));
    return Cutter(model, graph, placement).run();
}

Result<Model> partOf(const Model& cut, GraphId graph, const std::vector<std::string>& devices)
{
    Model part = cut;
    part.signatures.clear(); // they are the whole's
    part.gradients.clear();
    {
        GraphEditor editor(part, graph);
        const auto isHere = [&](OperatorId id) {
            return std::ranges::find(devices, attributeString(editor.op(id).attributes, "@device", "")) != devices.end();
        };
        std::vector<GraphOutput> outputs;
        for (const GraphOutput& output : editor.graph().outputs) {
            const Value& value = editor.value(output.value);
            if (value.role == ValueRole::result && isHere(value.producer)) outputs.push_back(output);
        }
        std::vector<std::pair<std::string, OperatorId>> controls;
        for (const auto& [name, id] : editor.graph().controlOutputs)
            if (isHere(id)) controls.emplace_back(name, id);
        editor.setOutputs(std::move(outputs));
        editor.setControlOutputs(std::move(controls));
        std::vector<OperatorId> roots;
        for (const OperatorId id : editor.order())
            if (isHere(id)) roots.push_back(id);
        editor.eraseUnneeded(roots);
        std::vector<ValueId> inputs;
        for (const ValueId input : editor.graph().inputs)
            if (!editor.uses(input).empty()) inputs.push_back(input);
        editor.setGraphInputs(std::move(inputs));
        LS_CHECK_OK(editor.finish(GraphEditor::Values::dropUnused));
    }
    keepCalled(part, graph);
    return part;
}

} // namespace loopscope
