#include "engine/transform/partition/partition.h"

#include "engine/ir/flow_role.h"
#include "engine/ir/frames.h"
#include "engine/ops/control_flow.h"
#include "engine/transform/graph_editor.h"
#include "engine/transform/partition/live_with_body.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <unordered_set>

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
        LiveWithBody isBody(m_editor.graph(), m_frames);
        for (const OperatorId id : m_frames.order) {
            if (!m_frames.frames[static_cast<size_t>(frameOf(id))].isLoop()) continue;
            const Operator& op = m_editor.op(id);
            const bool handsOn = op.inputs.size() == 1 && op.controlInputs.empty() && m_gateValues.contains(op.inputs[0].index);
            for (const ValueId value : op.results) {
                if (!isBody(value)) continue;
                m_bodyValues.insert(value.index);
                if (handsOn || flowRole(op) == FlowRole::choice) m_gateValues.insert(value.index);
            }
        }
    }

    Result<CutReport> run()
    {
        const std::vector<OperatorId> order = m_editor.order();
        for (const OperatorId id : order) m_editor.setAttribute(id, "@device", device(deviceOf(id)));
        // Constants, and what only waits, once it is known which values cross anyway.
        for (const bool ofConstants : {false, true})
            for (const OperatorId id : order) LS_CHECK_OK(cutInputs(id, ofConstants));
        for (const OperatorId id : order) {
            const std::vector<OperatorId> controls = m_editor.op(id).controlInputs;
            for (const OperatorId control : controls) {
                if (deviceOf(control) == deviceOf(id)) continue;
                OperatorId there = waitsOnly(id) ? bodySign(control, deviceOf(id), frameOf(id)) : OperatorId();
                if (!there.valid()) {
                    LS_TRY(there, receiveControl(control, deviceOf(id), frameOf(id)));
                }
                m_editor.removeControlInput(id, control);
                m_editor.addControlInput(id, there);
            }
        }
        LS_CHECK_OK(closeLoops());
        LS_CHECK_OK(m_editor.finish());
        return std::move(m_report);
    }

private:
    Status cutInputs(OperatorId id, bool ofConstants)
    {
        const std::vector<ValueId> inputs = m_editor.op(id).inputs;
        for (size_t i = 0; i < inputs.size(); ++i) {
            if (!inputs[i].valid() || m_editor.value(inputs[i]).role != ValueRole::result) continue;
            const OperatorId producer = m_editor.value(inputs[i]).producer;
            if (deviceOf(producer) == deviceOf(id) || isConstant(producer) != ofConstants) continue;
            ValueId there = ofConstants ? copyThere(producer, deviceOf(id), frameOf(id)) : ValueId();
            if (!there.valid()) {
                LS_TRY(there, receive(inputs[i], deviceOf(id), frameOf(id)));
            }
            m_editor.setInput(id, static_cast<int32_t>(i), there);
        }
        return {};
    }

    bool isConstant(OperatorId id) const { return m_editor.op(id).kind.name == "Const" && m_editor.op(id).inputs.empty(); }

    /// What a control edge says of it is in which iterations it lives: it does nothing that others would see.
    bool waitsOnly(OperatorId id) const { return isConstant(id); }

    /// A constant once more where it is read, if that sends nothing; invalid: it does.
    ValueId copyThere(OperatorId constant, int32_t on, int32_t frame)
    {
        const auto known = m_copies.find({constant.index, on});
        if (known != m_copies.end()) return known->second;
        OperatorId sign;
        if (!m_editor.op(constant).controlInputs.empty() || frame != 0) {
            sign = bodySign(constant, on, frame);
            if (!sign.valid()) return {};
        }
        const Operator op = m_editor.op(constant);
        const OperatorId copy =
            add("Const", op.name + "/_copy", {}, op.attributes, {m_editor.value(op.results[0]).type}, on, frame, constant);
        if (sign.valid()) m_editor.addControlInput(copy, sign);
        return m_copies[{constant.index, on}] = result(copy);
    }

    /// A node on another device that lives in each iteration in which `source` does, of a value that crosses anyway; invalid: there is
    /// none. The value is there when the body begins: whoever waits for it holds up nothing that it needs.
    OperatorId bodySign(OperatorId source, int32_t on, int32_t frame)
    {
        const std::vector<ValueId>& results = m_editor.op(source).results;
        if (results.empty() || flowRole(m_editor.op(source)) != FlowRole::none || !m_bodyValues.contains(results[0].index)) return {};
        const ValueId received = receivedOf(m_gateValues, on, frame);
        return received.valid() ? happened(received, on, frame, source) : OperatorId();
    }

    /// One of these values that a device receives in a frame; invalid: there is none.
    ValueId receivedOf(const std::unordered_set<int64_t>& values, int32_t on, int32_t frame) const
    {
        for (const auto& [of, received] : m_received)
            if (of.second == on && values.contains(of.first) && frameOf(m_editor.value(received).producer) == frame) return received;
        return {};
    }

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
        // A value of it that comes there says as much.
        const FlowRole role = flowRole(m_editor.op(source));
        if (role == FlowRole::none || role == FlowRole::merge)
            for (const ValueId value : m_editor.op(source).results)
                if (const auto there = m_received.find({value.index, to}); there != m_received.end())
                    return m_happened[{source.index, to}] = happened(there->second, to, frame, source);
        const std::string name = m_editor.op(source).name;
        const ValueId sign = token(name + "/_ctrl", deviceOf(source), frame, source);
        m_editor.addControlInput(m_editor.value(sign).producer, source);
        LS_TRY(const ValueId received, receive(sign, to, frame));
        --m_report.edges;
        ++m_report.controls;
        return m_happened[{source.index, to}] = happened(received, to, frame, source);
    }

    /// A node that others can wait for, dead where what was received is: a Recv itself runs in any case.
    OperatorId happened(ValueId received, int32_t on, int32_t frame, OperatorId source)
    {
        if (const auto known = m_seen.find(received.index); known != m_seen.end()) return known->second;
        const TensorType type = m_editor.value(received).type;
        const std::string name = m_editor.op(source).name + "/_happened";
        return m_seen[received.index] = add("Identity", name, {received}, {{"T", type.dtype}}, {type}, on, frame, source);
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
        m_open.push_back({frame, on, merge});
        return merge;
    }

    /// Lets control loops go round, now that everything that comes to them is known.
    Status closeLoops()
    {
        for (size_t k = 0; k < m_open.size(); ++k) { // a predicate that is received may begin others
            const auto [frame, on, merge] = m_open[k];
            const Frame& about = m_frames.frames[static_cast<size_t>(frame)];
            const std::string name = "_cloop/" + about.name + "/" + nodePart(device(on)) + "/";
            LS_TRY(const ValueId goesOn, trips(frame, on, merge, name));
            const OperatorId next =
                add("NextIteration", name + "NextIteration", {goesOn}, {{"T", DType::f32}}, {kToken}, on, frame, about.condition);
            m_editor.setInput(merge, 1, result(next));
        }
        return {};
    }

    /// The token of a control loop, dead in the last iteration.
    Result<ValueId> trips(int32_t frame, int32_t on, OperatorId merge, const std::string& name)
    {
        const OperatorId condition = m_frames.frames[static_cast<size_t>(frame)].condition;
        ValueId predicate = m_editor.op(condition).results[0];
        if (deviceOf(condition) != on && !m_received.contains({predicate.index, on})) {
            if (const ValueId received = receivedOf(m_bodyValues, on, frame); received.valid()) {
                const OperatorId pass =
                    add("Identity", name + "Pass", {result(merge)}, {{"T", DType::f32}}, {kToken}, on, frame, condition);
                m_editor.addControlInput(pass, happened(received, on, frame, condition));
                return result(pass);
            }
        }
        if (deviceOf(condition) != on) {
            LS_TRY(predicate, receive(predicate, on, frame));
        }
        const OperatorId gate =
            add("Switch", name + "Switch", {result(merge), predicate}, {{"T", DType::f32}}, {kToken, kToken}, on, frame, condition);
        return result(gate, 1);
    }

    struct OpenLoop {
        int32_t frame = 0, on = 0;
        OperatorId merge;
    };

    const FrameAnalysis m_frames;
    GraphEditor m_editor;
    const DevicePlacement& m_placement;
    CutReport m_report;
    std::unordered_set<int64_t> m_bodyValues; ///< live where their loop's predicate is true
    std::unordered_set<int64_t> m_gateValues; ///< of those what a loop carries, as a body begins with it
    std::vector<OpenLoop> m_open;
    std::map<int32_t, std::pair<int32_t, int32_t>> m_added;       ///< new operators: device, frame
    std::map<std::pair<int32_t, int32_t>, ValueId> m_received;    ///< value, device
    std::map<std::pair<int32_t, int32_t>, ValueId> m_copies;      ///< constant, device
    std::map<int32_t, OperatorId> m_seen;                         ///< received value → Identity of it
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
