#include "engine/exec/dataflow/graph_code.h"

#include "engine/exec/dataflow/straight_frames.h"
#include "engine/ir/flow_role.h"
#include "engine/ops/catalog.h"
#include "engine/ops/tf_rules.h"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>

namespace loopscope::dataflow {

namespace {

constexpr int32_t kMostParallelIterations = 1 << 20;

struct KindName {
    std::string_view name;
    NodeKind kind;
};

/// Nodes beside those of control flow that run without a kernel.
constexpr KindName kKinds[] = {
    {"Identity", NodeKind::forward}, {"RefIdentity", NodeKind::forward}, {"NoOp", NodeKind::nothing},   {"Const", NodeKind::constant},
    {"Send", NodeKind::send},        {"_Send", NodeKind::send},          {"_HostSend", NodeKind::send}, {"Recv", NodeKind::receive},
    {"_Recv", NodeKind::receive},    {"_HostRecv", NodeKind::receive},   {"Abort", NodeKind::abort},
};

NodeKind kindOf(const Operator& op)
{
    switch (flowRole(op)) {
    case FlowRole::choice: return NodeKind::switchNode;
    case FlowRole::manyChoice: return NodeKind::switchMany;
    case FlowRole::merge: return NodeKind::merge;
    case FlowRole::enter: return attributeBool(op.attributes, "is_constant", false) ? NodeKind::constantEnter : NodeKind::enter;
    case FlowRole::exit: return NodeKind::exit;
    case FlowRole::nextIteration: return NodeKind::nextIteration;
    case FlowRole::loopCondition: return NodeKind::forward;
    case FlowRole::controlTrigger: return NodeKind::nothing;
    case FlowRole::none: break;
    }
    if (op.kind.dialect != "tf") return NodeKind::kernel;
    const auto found = std::ranges::find(kKinds, op.kind.name, &KindName::name);
    return found == std::end(kKinds) ? NodeKind::kernel : found->kind;
}

bool isEnter(NodeKind kind) { return kind == NodeKind::enter || kind == NodeKind::constantEnter; }

/// Whether the operands and results of a kind have the number that its rules count on.
Status checkCounts(const Operator& op, NodeKind kind)
{
    const size_t inputs = op.inputs.size();
    const size_t outputs = op.results.size();
    const auto wrong = [&](const char* expected) {
        return invalidArgument(nodeText(op) + " has " + std::to_string(inputs) + " operands and " + std::to_string(outputs) +
                               " results, expected " + expected);
    };
    switch (kind) {
    case NodeKind::forward:
    case NodeKind::enter:
    case NodeKind::constantEnter:
    case NodeKind::exit:
    case NodeKind::nextIteration:
        if (inputs != 1 || outputs != 1) return wrong("1 and 1");
        break;
    case NodeKind::switchNode:
        if (inputs != 2 || outputs != 2) return wrong("2 and 2");
        break;
    case NodeKind::switchMany:
        if (inputs != 2 || outputs < 1) return wrong("2 and at least 1");
        break;
    case NodeKind::merge:
        if (inputs < 1 || outputs < 1 || outputs > 2) return wrong("at least 1 and 2");
        break;
    case NodeKind::constant:
        if (inputs != 0 || outputs != 1) return wrong("0 and 1");
        break;
    case NodeKind::nothing:
        if (inputs != 0 || outputs != 0) return wrong("none");
        break;
    case NodeKind::send:
        if (inputs != 1 || outputs != 0) return wrong("1 and 0");
        break;
    case NodeKind::receive:
        if (inputs != 0 || outputs != 1) return wrong("0 and 1");
        break;
    default: return {};
    }
    for (const ValueId input : op.inputs)
        if (!input.valid()) return wrong("no operand left out");
    return {};
}

/// A call: an operator with graphs, For, or, in the old style, an operator that is called like a function of the model.
bool callOf(const Model& model, const Operator& op, CallCode& call)
{
    call.form = callForm(op);
    if (call.form.kind != CallKind::none) return true;
    if (op.kind.dialect != "tf") return false;
    if (op.kind.name == "For") {
        call.form.kind = CallKind::loop;
        call.form.tensorflow = true;
        call.form.firstArgument = 3;
        call.form.callees = {{"body", attributeGraph(op.attributes, "body")}};
        call.isFor = true;
        return true;
    }
    if (findOp(op.kind) != nullptr) return false;
    const GraphId function = model.findGraph(op.kind.name);
    if (!function.valid()) return false;
    call.form.kind = CallKind::call;
    call.form.tensorflow = true;
    call.form.callees = {{"call", function}};
    return true;
}

class Compiler {
public:
    Compiler(const Model& model, GraphId id) : m_model(model), m_graph(model.graph(id))
    {
        m_code.id = id;
        m_code.graph = &m_graph;
    }

    Result<GraphCode> compile()
    {
        const size_t count = m_graph.operators.size();
        m_kinds.resize(count);
        m_calls.resize(count);
        for (size_t o = 0; o < count; ++o) {
            const Operator& op = m_graph.operators[o];
            m_kinds[o] = kindOf(op);
            LS_CHECK_OK(checkCounts(op, m_kinds[o]));
            if (m_kinds[o] == NodeKind::kernel && callOf(m_model, op, m_calls[o])) m_kinds[o] = NodeKind::call;
        }
        connect();
        LS_CHECK_OK(findFrames());
        LS_CHECK_OK(checkFrames());
        LS_TRY(const std::vector<int32_t> order, sort());
        place(order);
        placeValues();
        addEdges();
        countWaiting();
        findStraightFrames(m_code);
        return std::move(m_code);
    }

private:
    struct Frame {
        int32_t frame = -1;  ///< in which the node runs; −1: not reached
        int32_t inside = -1; ///< where its results lie
        int32_t from = -1;   ///< the node by which it was reached first
    };

    void connect()
    {
        const size_t count = m_graph.operators.size();
        m_followers.resize(count);
        m_readers.resize(m_graph.values.size());
        for (size_t o = 0; o < count; ++o) {
            const Operator& op = m_graph.operators[o];
            for (size_t i = 0; i < op.inputs.size(); ++i) {
                if (!op.inputs[i].valid()) continue;
                const Value& value = m_graph.value(op.inputs[i]);
                m_readers[static_cast<size_t>(op.inputs[i].index)].push_back({static_cast<int32_t>(o), static_cast<int32_t>(i)});
                if (value.role == ValueRole::result)
                    m_followers[static_cast<size_t>(value.producer.index)].push_back(static_cast<int32_t>(o));
            }
            for (const OperatorId control : op.controlInputs)
                m_followers[static_cast<size_t>(control.index)].push_back(static_cast<int32_t>(o));
        }
    }

    bool isRoot(size_t o) const
    {
        const Operator& op = m_graph.operators[o];
        return op.controlInputs.empty() && std::ranges::none_of(op.inputs, [&](ValueId input) { return input.valid(); });
    }

    /// The frame of a name inside `parent`, made when it is first met.
    int32_t frameOf(const std::string& name, int32_t parent)
    {
        const auto [at, isNew] = m_frameOf.try_emplace(name, static_cast<int32_t>(m_code.frames.size()));
        if (isNew) {
            FrameCode& frame = m_code.frames.emplace_back();
            frame.name = name;
            frame.parent = parent;
        }
        return at->second;
    }

    /// From the roots on, breadth first (TensorFlow's core/graph/control_flow.cc): every way to a node must lead through the same frames.
    Status findFrames()
    {
        m_code.frames.emplace_back();
        m_frameOf.emplace("", 0);
        m_frames.resize(m_graph.operators.size());
        std::deque<int32_t> open;
        for (size_t o = 0; o < m_graph.operators.size(); ++o)
            if (isRoot(o)) LS_CHECK_OK(reach(static_cast<int32_t>(o), 0, -1, open));
        for (const ValueId input : m_graph.inputs)
            for (const auto& [reader, operand] : m_readers[static_cast<size_t>(input.index)]) LS_CHECK_OK(reach(reader, 0, -1, open));
        while (!open.empty()) {
            const int32_t o = open.front();
            open.pop_front();
            // Only now, as TensorFlow does: an operand in another frame that is met before this is the first fault.
            if (m_kinds[static_cast<size_t>(o)] == NodeKind::exit && m_frames[static_cast<size_t>(o)].frame == 0)
                return invalidArgument("Invalid Exit op: Cannot find a corresponding Enter op. The Exit is " +
                                       nodeText(m_graph.operators[static_cast<size_t>(o)]) + ".");
            const int32_t inside = m_frames[static_cast<size_t>(o)].inside;
            for (const int32_t next : m_followers[static_cast<size_t>(o)]) LS_CHECK_OK(reach(next, inside, o, open));
        }
        return {};
    }

    Status reach(int32_t o, int32_t frame, int32_t from, std::deque<int32_t>& open)
    {
        const Operator& op = m_graph.operators[static_cast<size_t>(o)];
        const NodeKind kind = m_kinds[static_cast<size_t>(o)];
        Frame& place = m_frames[static_cast<size_t>(o)];
        if (place.frame >= 0) {
            if (place.frame == frame) return {};
            return invalidArgument(nodeText(op) + " has inputs from different frames. The input " + sourceText(from) + " is in frame '" +
                                   m_code.frames[static_cast<size_t>(frame)].name + "'. The input " + sourceText(place.from) +
                                   " is in frame '" + m_code.frames[static_cast<size_t>(place.frame)].name + "'.");
        }
        place = {frame, frame, from};
        if (isEnter(kind)) {
            const std::string name(attributeString(op.attributes, "frame_name", ""));
            if (name.empty()) return invalidArgument("The Enter " + nodeText(op) + " must have a frame name.");
            place.inside = frameOf(name, frame);
            FrameCode& child = m_code.frames[static_cast<size_t>(place.inside)];
            if (child.parent != frame)
                return invalidArgument("Invalid loop structure: Mismatched parent frames for \"" + name + "\": \"" +
                                       m_code.frames[static_cast<size_t>(child.parent)].name + "\" vs \"" +
                                       m_code.frames[static_cast<size_t>(frame)].name + "\". The node giving this error: " + nodeText(op));
        } else if (kind == NodeKind::exit && frame != 0) {
            place.inside = m_code.frames[static_cast<size_t>(frame)].parent;
        }
        open.push_back(o);
        return {};
    }

    std::string sourceText(int32_t o) const { return o < 0 ? "of the graph" : nodeText(m_graph.operators[static_cast<size_t>(o)]); }

    /// One predicate in a frame; counters of forward and backward loops share theirs (TensorFlow exempts them by name).
    Status checkFrames()
    {
        std::map<int32_t, const Operator*> predicates;
        for (size_t o = 0; o < m_graph.operators.size(); ++o) {
            const Operator& op = m_graph.operators[o];
            const int32_t frame = m_frames[o].frame;
            if (frame < 0 || flowRole(op) != FlowRole::loopCondition) continue;
            const auto [at, isNew] = predicates.try_emplace(frame, &op);
            const auto isCounter = [](const Operator& cond) { return cond.name.find("LoopCounter") != std::string::npos; };
            if (isNew || isCounter(op) || isCounter(*at->second)) continue;
            return invalidArgument("Invalid loop structure: Loop \"" + m_code.frames[static_cast<size_t>(frame)].name +
                                   "\" has more than one LoopCond node: " + nodeText(op) + " and " + nodeText(*at->second) + ".");
        }
        for (size_t o = 0; o < m_graph.operators.size(); ++o) { // those that are not reached keep their frame waiting, too
            if (!isEnter(m_kinds[o])) continue;
            const Operator& op = m_graph.operators[o];
            const auto found = m_frameOf.find(std::string(attributeString(op.attributes, "frame_name", "")));
            if (found == m_frameOf.end() || found->second == 0) continue;
            FrameCode& frame = m_code.frames[static_cast<size_t>(found->second)];
            const int64_t wanted = attributeInt(op.attributes, "parallel_iterations", 10);
            const auto parallel = static_cast<int32_t>(std::clamp<int64_t>(wanted, 1, kMostParallelIterations));
            if (!frame.enter.valid()) {
                frame.enter = OperatorId(static_cast<int64_t>(o));
                frame.parallelIterations = parallel;
            } else if (frame.parallelIterations != parallel) {
                m_code.warnings.push_back("frame '" + frame.name + "' has two values for parallel_iterations, " +
                                          std::to_string(frame.parallelIterations) + " and " + std::to_string(parallel) +
                                          "; the first counts");
            }
            ++frame.enterCount;
        }
        return {};
    }

    /// An order of execution that ignores what NextIterations lead to; of several nodes the first in the file. A Recv stands behind the
    /// Send of its frame, unless parts of the graph wait for each other.
    Result<std::vector<int32_t>> sort()
    {
        std::vector<int32_t> waits;
        const std::vector<std::vector<int32_t>> received = receivers();
        const auto reached = static_cast<size_t>(std::ranges::count_if(m_frames, [](const Frame& frame) { return frame.frame >= 0; }));
        std::vector<int32_t> order = sorted(received, waits);
        if (order.size() < reached && !received.empty()) order = sorted({}, waits);
        if (order.size() == reached) return order;
        std::string names;
        size_t named = 0;
        for (size_t o = 0; o < waits.size() && named < 3; ++o) {
            if (m_frames[o].frame < 0 || waits[o] == 0) continue;
            names += (named++ == 0 ? "" : ", ") + nodeText(m_graph.operators[o]);
        }
        return invalidArgument(std::to_string(reached - order.size()) +
                               " nodes in a cycle without a NextIteration, or behind one: " + names);
    }

    /// Nodes behind those they wait for, and what waits for ever is left out; `waits`: for how many.
    std::vector<int32_t> sorted(const std::vector<std::vector<int32_t>>& received, std::vector<int32_t>& waits) const
    {
        const size_t count = m_graph.operators.size();
        waits.assign(count, 0);
        const auto visit = [&](size_t from, auto&& each) {
            if (m_frames[from].frame < 0 || m_kinds[from] == NodeKind::nextIteration) return;
            for (const int32_t next : m_followers[from]) each(next);
            if (!received.empty())
                for (const int32_t next : received[from]) each(next);
        };
        for (size_t o = 0; o < count; ++o) visit(o, [&](int32_t next) { ++waits[static_cast<size_t>(next)]; });
        std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
        for (size_t o = 0; o < count; ++o)
            if (m_frames[o].frame >= 0 && waits[o] == 0) ready.push(static_cast<int32_t>(o));
        std::vector<int32_t> order;
        order.reserve(count);
        while (!ready.empty()) {
            const int32_t o = ready.top();
            ready.pop();
            order.push_back(o);
            visit(static_cast<size_t>(o), [&](int32_t next) {
                if (--waits[static_cast<size_t>(next)] == 0) ready.push(next);
            });
        }
        return order;
    }

    /// By operator: the Recvs in the frame of a Send that TensorFlow has put between parts of a graph. Empty if there are none.
    std::vector<std::vector<int32_t>> receivers() const
    {
        std::map<std::string, std::vector<int32_t>> waiting;
        const auto keyOf = [&](size_t o) {
            const AttributeList& a = m_graph.operators[o].attributes;
            return std::string(attributeString(a, "send_device", "")) + ";" + std::string(attributeString(a, "recv_device", "")) + ";" +
                   std::string(attributeString(a, "tensor_name", "")) + ";" + std::to_string(m_frames[o].frame);
        };
        const auto isWithin = [&](size_t o, NodeKind kind) {
            return m_kinds[o] == kind && m_frames[o].frame >= 0 && m_graph.operators[o].kind.name.starts_with('_');
        };
        for (size_t o = 0; o < m_kinds.size(); ++o)
            if (isWithin(o, NodeKind::receive)) waiting[keyOf(o)].push_back(static_cast<int32_t>(o));
        std::vector<std::vector<int32_t>> received;
        if (waiting.empty()) return received;
        received.resize(m_kinds.size());
        for (size_t o = 0; o < m_kinds.size(); ++o)
            if (isWithin(o, NodeKind::send))
                if (const auto at = waiting.find(keyOf(o)); at != waiting.end()) received[o] = at->second;
        return received;
    }

    void place(const std::vector<int32_t>& order)
    {
        m_code.nodeOf.assign(m_graph.operators.size(), -1);
        for (size_t f = 0; f < m_code.frames.size(); ++f) {
            FrameCode& frame = m_code.frames[f];
            frame.firstNode = static_cast<int32_t>(m_code.nodes.size());
            for (const int32_t o : order) {
                if (m_frames[static_cast<size_t>(o)].frame != static_cast<int32_t>(f)) continue;
                const Operator& op = m_graph.operators[static_cast<size_t>(o)];
                m_code.nodeOf[static_cast<size_t>(o)] = static_cast<int32_t>(m_code.nodes.size());
                Node& node = m_code.nodes.emplace_back();
                node.kind = m_kinds[static_cast<size_t>(o)];
                node.isMerge = node.kind == NodeKind::merge;
                node.isTrigger = flowRole(op) == FlowRole::controlTrigger;
                node.op = OperatorId(o);
                node.frame = static_cast<int32_t>(f);
                node.position = frame.nodeCount++;
                node.inputCount = static_cast<int32_t>(op.inputs.size());
                node.outputCount = static_cast<int32_t>(op.results.size());
                if (isEnter(node.kind)) node.childFrame = m_frames[static_cast<size_t>(o)].inside;
                if (node.kind == NodeKind::send || node.kind == NodeKind::receive) node.channel = channelOf(op);
                int32_t call = -1;
                if (node.kind == NodeKind::call) {
                    call = static_cast<int32_t>(m_code.calls.size());
                    m_code.calls.push_back(m_calls[static_cast<size_t>(o)]);
                }
                m_code.callOf.push_back(call);
            }
        }
    }

    int32_t channelOf(const Operator& op)
    {
        ChannelCode channel;
        channel.sendDevice = attributeString(op.attributes, "send_device", "");
        channel.recvDevice = attributeString(op.attributes, "recv_device", "");
        channel.tensorName = attributeString(op.attributes, "tensor_name", "");
        channel.isWithinCall = op.kind.name.starts_with('_');
        const std::string key =
            channel.sendDevice + ";" + channel.recvDevice + ";" + channel.tensorName + (channel.isWithinCall ? ";_" : ";");
        const auto [at, isNew] = m_channelOf.try_emplace(key, static_cast<int32_t>(m_code.channels.size()));
        if (isNew) m_code.channels.push_back(std::move(channel));
        return at->second;
    }

    /// A result lies where its producer's results lie; a graph input outside of all frames.
    void placeValues()
    {
        m_code.values.resize(m_graph.values.size());
        const auto put = [&](ValueId value, int32_t frame) {
            FrameCode& code = m_code.frames[static_cast<size_t>(frame)];
            m_code.values[static_cast<size_t>(value.index)] = {frame, static_cast<int32_t>(code.slots.size())};
            code.slots.push_back(value);
            code.uses.push_back(0);
        };
        for (const ValueId input : m_graph.inputs)
            if (m_code.values[static_cast<size_t>(input.index)].frame < 0) put(input, 0);
        for (const Node& node : m_code.nodes)
            for (const ValueId result : m_graph.op(node.op).results) put(result, m_frames[static_cast<size_t>(node.op.index)].inside);
        for (const Node& node : m_code.nodes) // what unreachable nodes would give: never there
            for (const ValueId input : m_graph.op(node.op).inputs)
                if (input.valid() && m_code.values[static_cast<size_t>(input.index)].frame < 0) put(input, node.frame);
    }

    void addReaders(ValueId value, std::vector<Edge>& edges)
    {
        const ValuePlace place = m_code.values[static_cast<size_t>(value.index)];
        for (const auto& [reader, operand] : m_readers[static_cast<size_t>(value.index)])
            if (const int32_t node = m_code.nodeOf[static_cast<size_t>(reader)]; node >= 0) edges.push_back({place.slot, node, operand});
        for (size_t k = 0; k < m_graph.outputs.size(); ++k)
            if (m_graph.outputs[k].value == value) edges.push_back({place.slot, -1, static_cast<int32_t>(k)});
    }

    void addEdges()
    {
        std::vector<std::vector<int32_t>> controls(m_graph.operators.size());
        for (const Node& node : m_code.nodes)
            for (const OperatorId control : m_graph.op(node.op).controlInputs)
                controls[static_cast<size_t>(control.index)].push_back(m_code.nodeOf[static_cast<size_t>(node.op.index)]);
        for (Node& node : m_code.nodes) {
            const Operator& op = m_graph.op(node.op);
            FrameCode& frame = m_code.frames[static_cast<size_t>(node.frame)];
            node.firstInput = static_cast<int32_t>(m_code.inputs.size());
            for (size_t i = 0; i < op.inputs.size(); ++i) {
                InputCode input;
                if (op.inputs[i].valid()) {
                    input.slot = m_code.values[static_cast<size_t>(op.inputs[i].index)].slot;
                    input.readsReference = m_graph.value(op.inputs[i]).type.isReference && !takesReference(op, static_cast<int>(i));
                    int32_t& uses = frame.uses[static_cast<size_t>(input.slot)];
                    uses = node.isMerge || uses >= kManyUses ? kManyUses : uses + 1;
                    node.readsReference = node.readsReference || input.readsReference;
                }
                m_code.inputs.push_back(input);
            }
            node.firstOutput = static_cast<int32_t>(m_code.outputs.size());
            for (const ValueId result : op.results) m_code.outputs.push_back(m_code.values[static_cast<size_t>(result.index)].slot);
            node.firstEdge = static_cast<int32_t>(m_code.edges.size());
            for (const ValueId result : op.results) addReaders(result, m_code.edges);
            node.firstControl = static_cast<int32_t>(m_code.edges.size());
            for (const int32_t follower : controls[static_cast<size_t>(node.op.index)]) m_code.edges.push_back({-1, follower, -1});
            node.lastEdge = static_cast<int32_t>(m_code.edges.size());
        }
        for (const ValueId input : m_graph.inputs) {
            addReaders(input, m_code.inputEdges);
            m_code.inputEdgeEnds.push_back(static_cast<int32_t>(m_code.inputEdges.size()));
        }
    }

    void countWaiting()
    {
        for (FrameCode& frame : m_code.frames) frame.waiting.resize(static_cast<size_t>(frame.nodeCount));
        for (size_t n = 0; n < m_code.nodes.size(); ++n) {
            const Node& node = m_code.nodes[n];
            const Operator& op = m_graph.op(node.op);
            const auto controls = static_cast<int32_t>(op.controlInputs.size());
            const auto data = static_cast<int32_t>(std::ranges::count_if(op.inputs, [](ValueId input) { return input.valid(); }));
            Waiting& waiting = m_code.frames[static_cast<size_t>(node.frame)].waiting[static_cast<size_t>(node.position)];
            waiting.pending = node.isMerge ? 1 + 2 * controls : data + controls;
            if (controls + data == 0) m_code.roots.push_back(static_cast<int32_t>(n));
        }
    }

    const Model& m_model;
    const Graph& m_graph;
    GraphCode m_code;
    std::vector<NodeKind> m_kinds;
    std::vector<CallCode> m_calls;
    std::vector<std::vector<int32_t>> m_followers;                   ///< by operator, once for each edge
    std::vector<std::vector<std::pair<int32_t, int32_t>>> m_readers; ///< by value: operator, operand
    std::vector<Frame> m_frames;
    std::map<std::string, int32_t> m_frameOf;
    std::map<std::string, int32_t> m_channelOf;
};

} // namespace

std::string nodeText(const Operator& op) { return "{{node " + op.name + "}}"; }

Result<GraphCode> compileGraph(const Model& model, GraphId graph) { return Compiler(model, graph).compile(); }

} // namespace loopscope::dataflow
