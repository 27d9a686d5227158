// Three passes in one order of the nodes: frames, then the parts of each loop, then guards.
#include "engine/ir/frames.h"

#include "engine/ir/flow_role.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace loopscope {

bool entersFrame(const Operator& op) { return flowRole(op) == FlowRole::enter; }
bool leavesFrame(const Operator& op) { return flowRole(op) == FlowRole::exit; }
std::string_view frameNameOf(const Operator& enter) { return attributeString(enter.attributes, "frame_name", ""); }

namespace {

constexpr int32_t kDeepestFrame = 64; ///< deeper frames count as part of their parent
constexpr size_t kMostProblems = 20;
constexpr size_t kMostGuards = 32;  ///< of one node; beyond, inner ones are left out
constexpr int kLongestChain = 1000; ///< Identity nodes behind each other that are looked through

bool isMerge(const Operator& op) { return flowRole(op) == FlowRole::merge; }
bool isSwitch(const Operator& op) { return flowRole(op) == FlowRole::choice; }
bool isNext(const Operator& op) { return flowRole(op) == FlowRole::nextIteration; }
bool isLoopCond(const Operator& op) { return flowRole(op) == FlowRole::loopCondition; }

size_t at(OperatorId id) { return static_cast<size_t>(id.index); }

class Analysis {
public:
    explicit Analysis(const Graph& graph) : m_graph(graph) {}

    FrameAnalysis run()
    {
        m_out.frames.emplace_back();
        sortNodes();
        findFrames();
        for (size_t f = 1; f < m_out.frames.size(); ++f) describe(m_out.frames[f]);
        findGuards();
        return std::move(m_out);
    }

private:
    const Operator* producer(ValueId id) const
    {
        if (!id.valid()) return nullptr;
        const Value& value = m_graph.value(id);
        return value.role == ValueRole::result ? &m_graph.op(value.producer) : nullptr;
    }
    OperatorId producerId(ValueId id) const { return producer(id) ? m_graph.value(id).producer : OperatorId(); }

    template <typename Visit> void eachSource(OperatorId id, Visit visit) const
    {
        const Operator& op = m_graph.op(id);
        for (const ValueId input : op.inputs)
            if (const OperatorId source = producerId(input); source.valid()) visit(source);
        for (const OperatorId control : op.controlInputs) visit(control);
    }

    bool isBackEdge(OperatorId from, OperatorId to) const { return isNext(m_graph.op(from)) && isMerge(m_graph.op(to)); }

    void problem(std::string text)
    {
        if (m_out.problems.size() < kMostProblems) m_out.problems.push_back(std::move(text));
    }

    void sortNodes()
    {
        const size_t count = m_graph.operators.size();
        std::vector<int32_t> waiting(count);
        std::vector<std::vector<int32_t>> users(count);
        for (size_t i = 0; i < count; ++i) {
            const OperatorId id(static_cast<int64_t>(i));
            eachSource(id, [&](OperatorId source) {
                if (isBackEdge(source, id)) return;
                users[at(source)].push_back(id.index);
                ++waiting[i];
            });
        }
        std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
        for (size_t i = 0; i < count; ++i)
            if (waiting[i] == 0) ready.push(static_cast<int32_t>(i));
        std::vector<bool> done(count);
        while (!ready.empty()) {
            const int32_t next = ready.top();
            ready.pop();
            done[static_cast<size_t>(next)] = true;
            m_out.order.emplace_back(next);
            for (const int32_t user : users[static_cast<size_t>(next)])
                if (--waiting[static_cast<size_t>(user)] == 0) ready.push(user);
        }
        if (m_out.order.size() == count) return;
        const auto stuck = static_cast<size_t>(std::ranges::find(done, false) - done.begin());
        problem("node '" + m_graph.operators[onCycle(stuck, done)].name + "' is on a cycle without NextIteration");
        for (size_t i = 0; i < count; ++i)
            if (!done[i]) m_out.order.emplace_back(static_cast<int64_t>(i));
    }

    /// A node on a cycle, found by going back from one that waits.
    size_t onCycle(size_t start, const std::vector<bool>& done) const
    {
        std::vector<bool> seen(done.size());
        size_t node = start;
        while (!seen[node]) {
            seen[node] = true;
            OperatorId before;
            eachSource(OperatorId(static_cast<int64_t>(node)), [&](OperatorId source) {
                if (!done[at(source)] && !isBackEdge(source, OperatorId(static_cast<int64_t>(node)))) before = source;
            });
            if (!before.valid()) break;
            node = at(before);
        }
        return node;
    }

    /// The frame that a node's results are in.
    int32_t frameBehind(OperatorId id)
    {
        const Operator& op = m_graph.op(id);
        const int32_t frame = m_out.frameOf[at(id)];
        if (leavesFrame(op)) return std::max(m_out.frames[static_cast<size_t>(frame)].parent, 0);
        if (!entersFrame(op)) return frame;
        const std::string name(frameNameOf(op));
        const auto [known, isNew] = m_frameIds.emplace(std::pair(frame, name), static_cast<int32_t>(m_out.frames.size()));
        if (isNew) {
            const int32_t depth = m_out.frames[static_cast<size_t>(frame)].depth + 1;
            if (depth > kDeepestFrame) {
                problem("frame '" + name + "' is nested deeper than " + std::to_string(kDeepestFrame));
                known->second = frame;
                return frame;
            }
            if (name.empty()) problem("node '" + op.name + "' is an Enter without a frame name");
            Frame& added = m_out.frames.emplace_back();
            added.name = name;
            added.parent = frame;
            added.depth = depth;
            added.parallelIterations = attributeInt(op.attributes, "parallel_iterations", 10);
        }
        return known->second;
    }

    void findFrames()
    {
        m_out.frameOf.assign(m_graph.operators.size(), 0);
        std::vector<int32_t> behind(m_graph.operators.size(), -1);
        for (const OperatorId id : m_out.order) {
            int32_t frame = -1;
            OperatorId from;
            eachSource(id, [&](OperatorId source) {
                const int32_t other = behind[at(source)];
                if (other < 0 || other == frame) return;
                if (frame >= 0 && !isBackEdge(source, id))
                    problem("node '" + m_graph.op(id).name + "' has inputs from different frames: '" + m_graph.op(from).name +
                            "' is in frame '" + m_out.frames[static_cast<size_t>(frame)].name + "', '" + m_graph.op(source).name +
                            "' in frame '" + m_out.frames[static_cast<size_t>(other)].name + "'");
                if (frame >= 0 && m_out.frames[static_cast<size_t>(other)].depth <= m_out.frames[static_cast<size_t>(frame)].depth) return;
                frame = other;
                from = source;
            });
            m_out.frameOf[at(id)] = std::max(frame, 0);
            behind[at(id)] = frameBehind(id);
            if (entersFrame(m_graph.op(id)) && behind[at(id)] != m_out.frameOf[at(id)])
                m_out.frames[static_cast<size_t>(behind[at(id)])].enters.push_back(id);
        }
        for (size_t i = 0; i < m_graph.operators.size(); ++i)
            m_out.frames[static_cast<size_t>(m_out.frameOf[i])].nodes.emplace_back(static_cast<int64_t>(i));
        for (Frame& frame : m_out.frames) std::ranges::sort(frame.enters);
    }

    /// The predicate behind copies of it.
    ValueId rootOf(ValueId id) const
    {
        for (int i = 0; i < kLongestChain; ++i) {
            const Operator* op = producer(id);
            if (!op || op->kind.name != "Identity" || op->inputs.size() != 1) break;
            id = op->inputs.front();
        }
        return id;
    }

    /// The loop whose condition gates this Switch; none if it is an ordinary one.
    OperatorId gatingCondition(const Operator& op) const
    {
        if (!isSwitch(op) || op.inputs.size() != 2) return {};
        const OperatorId condition = producerId(rootOf(op.inputs[1]));
        return condition.valid() && isLoopCond(m_graph.op(condition)) ? condition : OperatorId();
    }

    /// Finds the parts of a loop, or why the frame is none.
    void describe(Frame& frame) const
    {
        std::string why;
        const auto irregular = [&](const std::string& reason) {
            if (why.empty()) why = reason;
        };
        OperatorId condition;
        std::map<OperatorId, size_t> byMerge;
        std::map<OperatorId, OperatorId> gates; // Switch → Merge
        for (const OperatorId id : frame.nodes) {
            const Operator& op = m_graph.op(id);
            if (isLoopCond(op)) {
                if (condition.valid())
                    irregular("it has more than one LoopCond: '" + m_graph.op(condition).name + "' and '" + op.name + "'");
                condition = id;
            }
            if (!isMerge(op)) continue;
            LoopVariable variable;
            variable.merge = id;
            for (const ValueId input : op.inputs) {
                const OperatorId source = producerId(input);
                if (source.valid() && entersFrame(m_graph.op(source))) variable.enter = source;
                if (source.valid() && isNext(m_graph.op(source))) variable.next = source;
            }
            if (!variable.enter.valid() && !variable.next.valid()) continue; // the end of a conditional
            if (!variable.enter.valid() || !variable.next.valid() || op.inputs.size() != 2)
                irregular("Merge '" + op.name + "' does not join one Enter and one NextIteration");
            byMerge.emplace(id, frame.variables.size());
            frame.variables.push_back(std::move(variable));
        }
        if (!condition.valid()) irregular("it has no LoopCond");
        for (const OperatorId id : frame.nodes) {
            const Operator& op = m_graph.op(id);
            if (!gatingCondition(op).valid()) continue;
            const OperatorId data = producerId(op.inputs[0]);
            const auto variable = data.valid() ? byMerge.find(data) : byMerge.end();
            if (gatingCondition(op) != condition || variable == byMerge.end()) {
                irregular("Switch '" + op.name + "' gates no loop variable of this frame");
                continue;
            }
            LoopVariable& v = frame.variables[variable->second];
            if (v.gate.valid()) irregular("Merge '" + m_graph.op(v.merge).name + "' has two Switches on the condition");
            v.gate = id;
            gates.emplace(id, data);
        }
        for (const OperatorId id : frame.nodes) {
            const Operator& op = m_graph.op(id);
            if (!leavesFrame(op) || op.inputs.empty()) continue;
            const auto gate = gates.find(producerId(op.inputs[0]));
            if (gate == gates.end() || m_graph.value(op.inputs[0]).slot != 0)
                irregular("Exit '" + op.name + "' does not read a variable's Switch");
            else frame.variables[byMerge.at(gate->second)].exits.push_back(id);
        }
        std::set<OperatorId> initial, used;
        for (const LoopVariable& variable : frame.variables) initial.insert(variable.enter);
        for (const OperatorId id : frame.nodes)
            for (const ValueId input : m_graph.op(id).inputs) used.insert(producerId(input));
        for (const OperatorId id : frame.enters) {
            if (initial.contains(id)) continue;
            if (!attributeBool(m_graph.op(id).attributes, "is_constant", false) && used.contains(id))
                irregular("Enter '" + m_graph.op(id).name + "' is used without a Merge");
            frame.invariants.push_back(id);
        }
        frame.irregular = why;
        if (why.empty()) {
            frame.condition = condition;
        } else {
            frame.variables.clear();
            frame.invariants.clear();
        }
    }

    static void add(std::vector<Guard>& list, const std::vector<Guard>& more)
    {
        for (const Guard& guard : more)
            if (list.size() < kMostGuards && std::ranges::find(list, guard) == list.end()) list.push_back(guard);
    }

    /// What a value needs: its producer's guards, and the side of a Switch that it comes from.
    std::vector<Guard> guardsOf(ValueId id) const
    {
        const Operator* op = producer(id);
        if (!op) return {};
        const OperatorId source = producerId(id);
        if (entersFrame(*op)) return {}; // a frame's inside begins anew
        if (leavesFrame(*op)) return m_out.frameGuards[static_cast<size_t>(m_out.frameOf[at(source)])];
        std::vector<Guard> guards = m_out.guards[at(source)];
        if (isSwitch(*op) && op->inputs.size() == 2 && !gatingCondition(*op).valid())
            add(guards, {{rootOf(op->inputs[1]), m_graph.value(id).slot == 1}});
        return guards;
    }

    void findGuards()
    {
        std::vector<int32_t> place(m_graph.operators.size()); // in the order
        for (size_t i = 0; i < m_out.order.size(); ++i) place[at(m_out.order[i])] = static_cast<int32_t>(i);
        const auto placeOf = [&](const Guard& guard) {
            const OperatorId source = producerId(guard.predicate);
            return source.valid() ? place[at(source)] : -1;
        };
        m_out.guards.resize(m_graph.operators.size());
        m_out.frameGuards.resize(m_out.frames.size());
        m_out.neverLives.assign(m_graph.operators.size(), false);
        std::set<ValueId> predicates;
        for (const OperatorId id : m_out.order) {
            const Operator& op = m_graph.op(id);
            std::vector<Guard>& own = m_out.guards[at(id)];
            bool dead = false;
            if (isMerge(op)) {
                // One live operand is enough: what all of them need.
                bool first = true;
                bool allDead = !op.inputs.empty();
                for (const ValueId input : op.inputs) {
                    const OperatorId source = producerId(input);
                    if (source.valid() && isBackEdge(source, id)) {
                        allDead = false;
                        continue;
                    }
                    std::vector<Guard> needed = guardsOf(input);
                    allDead = allDead && (isContradiction(needed) || (source.valid() && m_out.neverLives[at(source)]));
                    if (first) own = std::move(needed);
                    else std::erase_if(own, [&](const Guard& g) { return std::ranges::find(needed, g) == needed.end(); });
                    first = false;
                }
                dead = allDead;
            } else {
                for (const ValueId input : op.inputs) add(own, guardsOf(input));
                for (const OperatorId control : op.controlInputs) {
                    const Operator& source = m_graph.op(control);
                    if (entersFrame(source)) continue;
                    add(own, leavesFrame(source) ? m_out.frameGuards[static_cast<size_t>(m_out.frameOf[at(control)])]
                                                 : m_out.guards[at(control)]);
                }
                if (flowRole(op) != FlowRole::controlTrigger)
                    eachSource(id, [&](OperatorId source) { dead = dead || (m_out.neverLives[at(source)] && !isBackEdge(source, id)); });
                dead = (dead || isContradiction(own)) && flowRole(op) != FlowRole::controlTrigger;
                if (flowRole(op) == FlowRole::controlTrigger) own.clear();
            }
            std::ranges::stable_sort(own, {}, placeOf);
            m_out.neverLives[at(id)] = dead;
            if (entersFrame(op)) {
                const auto frame = static_cast<size_t>(frameBehind(id));
                add(m_out.frameGuards[frame], own);
                std::ranges::stable_sort(m_out.frameGuards[frame], {}, placeOf);
            }
            if (isSwitch(op) && op.inputs.size() == 2 && !gatingCondition(op).valid()) predicates.insert(rootOf(op.inputs[1]));
        }
        m_out.conditionals = static_cast<int64_t>(predicates.size());
    }

    bool isContradiction(const std::vector<Guard>& guards) const
    {
        return std::ranges::any_of(guards, [&](const Guard& guard) {
            const auto constant = constantOf(guard.predicate);
            return (constant && *constant != guard.branch) ||
                   std::ranges::find(guards, Guard{guard.predicate, !guard.branch}) != guards.end();
        });
    }

    std::optional<bool> constantOf(ValueId id) const
    {
        const Operator* op = producer(id);
        const Attribute* value = op && op->kind.name == "Const" ? findAttribute(op->attributes, "value") : nullptr;
        const auto* tensor = value ? value->as<TensorAttribute>() : nullptr;
        if (!tensor || tensor->type.dtype != DType::boolean || !tensor->data->hasBytes() || tensor->data->size() != 1) return std::nullopt;
        return tensor->data->bytes().view().front() != std::byte{0};
    }

    const Graph& m_graph;
    FrameAnalysis m_out;
    std::map<std::pair<int32_t, std::string>, int32_t> m_frameIds;
};

} // namespace

int32_t FrameAnalysis::ancestorAt(int32_t frame, int32_t depth) const
{
    while (frames[static_cast<size_t>(frame)].depth > depth) frame = frames[static_cast<size_t>(frame)].parent;
    return frame;
}

bool hasFramesOrSwitches(const Graph& graph)
{
    return std::ranges::any_of(graph.operators, [](const Operator& op) {
        return entersFrame(op) || leavesFrame(op) || isMerge(op) || isSwitch(op) || isNext(op) || isLoopCond(op);
    });
}

FrameAnalysis analyzeFrames(const Graph& graph) { return Analysis(graph).run(); }

} // namespace loopscope
