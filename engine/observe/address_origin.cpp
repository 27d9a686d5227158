#include "engine/observe/address_origin.h"

#include "engine/ir/frames.h"
#include "engine/ir/origin.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

namespace {

bool isLoopRole(StepRole role) { return role == StepRole::cond || role == StepRole::body; }

AddressStep stepInto(const Operator& op, const std::string& role)
{
    AddressStep step;
    step.site.name = op.name;
    if (role == "cond") step.role = StepRole::cond;
    else if (role == "body") step.role = StepRole::body;
    else if (role == "then") step.role = StepRole::thenBranch;
    else if (role == "else") step.role = StepRole::elseBranch;
    else if (role == "call") step.role = StepRole::call;
    else if (role.starts_with("branch")) {
        step.role = StepRole::branch;
        step.branch = std::atoi(role.c_str() + 6);
    }
    return step;
}

/// From v1 to raised.
class ToRaised {
public:
    explicit ToRaised(const Model& model) : m_model(model), m_callers(model.graphs.size())
    {
        for (size_t g = 0; g < model.graphs.size(); ++g)
            for (size_t o = 0; o < model.graphs[g].operators.size(); ++o)
                for (const Callee& callee : calleesOf(model.graphs[g].operators[o]))
                    if (model.hasGraph(callee.graph) && findAttribute(model.graph(callee.graph).attributes, kOriginGraph))
                        m_callers[static_cast<size_t>(callee.graph.index)] = {GraphId(static_cast<int64_t>(g)),
                                                                              OperatorId(static_cast<int64_t>(o)), callee.role};
    }

    std::optional<Address> translate(const Address& v1)
    {
        m_graph = m_model.findGraph(v1.root);
        if (!m_graph.valid()) return std::nullopt;
        m_address = v1;
        m_address.steps.clear();
        for (const AddressStep& step : v1.steps) {
            if (step.anySteps) return std::nullopt;
            if (step.role == StepRole::frame) m_frames.push_back(step);
            else if (!call(step)) return std::nullopt;
        }
        return target(v1) ? std::optional<Address>(std::move(m_address)) : std::nullopt;
    }

private:
    struct Caller {
        GraphId graph;
        OperatorId op;
        std::string role;
    };
    /// What stands for a node: a value of a graph that was made of m_graph.
    struct Found {
        GraphId graph;
        ValueId value;
        int rank = 0; ///< the lowest is the best
    };

    bool isInFrames(const std::vector<std::string>& frames) const
    {
        if (m_frames.empty()) return true; // a name alone is enough
        return std::ranges::equal(frames, m_frames,
                                  [](const std::string& name, const AddressStep& step) { return name == step.site.name; });
    }

    std::optional<Found> find(const std::string& name)
    {
        const auto [node, slot] = originParts(name);
        if (m_pairs.empty()) m_pairs = originPairs(m_model);
        std::optional<Found> best;
        for (const OriginPair& pair : m_pairs) {
            if (pair.node != node || pair.sourceGraph != m_model.graph(m_graph).id || !isInFrames(pair.frames)) continue;
            const Value& value = m_model.graph(pair.graph).value(pair.value);
            const bool isCond = m_callers[static_cast<size_t>(pair.graph.index)].role == "cond";
            const int rank = (value.role == ValueRole::result ? 0 : 4) + (pair.slot == slot ? 0 : 2) + (isCond ? 0 : 1);
            if (!best || rank < best->rank) best = Found{pair.graph, pair.value, rank};
        }
        return best;
    }

    /// The steps from m_graph to a graph that was made of a part of it. Loops take the iterations of the frames, the outer first.
    bool enter(GraphId graph)
    {
        std::vector<AddressStep> steps;
        for (GraphId at = graph; at != m_graph; at = m_callers[static_cast<size_t>(at.index)].graph) {
            const Caller& caller = m_callers[static_cast<size_t>(at.index)];
            if (!caller.graph.valid() || steps.size() > m_model.graphs.size()) return false;
            steps.push_back(stepInto(m_model.graph(caller.graph).op(caller.op), caller.role));
        }
        std::ranges::reverse(steps);
        size_t frame = 0;
        for (AddressStep& step : steps) {
            if (!isLoopRole(step.role) || frame >= m_frames.size()) continue;
            step.iteration = m_frames[frame].iteration;
            step.iterations = m_frames[frame].iterations;
            ++frame;
        }
        m_address.steps.insert(m_address.steps.end(), steps.begin(), steps.end());
        return true;
    }

    /// A call that was one before: what it calls was not made of a part of anything.
    bool call(const AddressStep& v1)
    {
        const std::optional<Found> found = find(v1.site.name);
        if (!found) return false;
        const Graph& graph = m_model.graph(found->graph);
        if (graph.value(found->value).role != ValueRole::result || !enter(found->graph)) return false;
        const Operator& op = graph.op(graph.value(found->value).producer);
        AddressStep step = v1;
        step.site.name = op.name;
        for (const Callee& callee : calleesOf(op))
            if (const AddressStep made = stepInto(op, callee.role); made.role == v1.role && made.branch == v1.branch) {
                m_address.steps.push_back(step);
                m_graph = callee.graph;
                m_frames.clear();
                return m_model.hasGraph(m_graph);
            }
        return false;
    }

    bool target(const Address& v1)
    {
        if (v1.target == TargetKind::invocation || v1.op.name.empty()) {
            if (m_frames.empty()) return true;
            for (size_t g = 0; g < m_callers.size(); ++g) // the iteration as a whole: the loop's body
                if (m_callers[g].role == "body" && isInFrames(originFrames(m_model.graphs[g])) &&
                    attributeString(m_model.graphs[g].attributes, kOriginGraph, "") == m_model.graph(m_graph).id)
                    return enter(GraphId(static_cast<int64_t>(g)));
            return false;
        }
        const std::string name = v1.op.name + (v1.target == TargetKind::output && v1.slot > 0 ? ":" + std::to_string(v1.slot) : "");
        const std::optional<Found> found = find(name);
        if (!found || !enter(found->graph)) return false;
        const Graph& graph = m_model.graph(found->graph);
        const Value& value = graph.value(found->value);
        m_address.op = OperatorName();
        m_address.slot = -1;
        if (value.role != ValueRole::result) {
            m_address.target = TargetKind::value;
            m_address.op.name = value.id;
            return true;
        }
        m_address.op.name = graph.op(value.producer).name;
        if (v1.target == TargetKind::output) m_address.slot = value.slot;
        else m_address.target = TargetKind::op; // what it reads may be called otherwise
        return true;
    }

    const Model& m_model;
    std::vector<Caller> m_callers; ///< by graph: who calls what was made of a part
    std::vector<OriginPair> m_pairs;
    Address m_address;
    GraphId m_graph;                   ///< the v1 graph, or what is left of it
    std::vector<AddressStep> m_frames; ///< entered in it
};

/// From raised to v1: the node says in which frames it lies, the address in which iterations.
std::optional<Address> toV1(const Model& model, const Address& raised)
{
    const GraphId id = model.findGraph(raised.root);
    if (!id.valid() || !hasFramesOrSwitches(model.graph(id))) return std::nullopt;
    std::vector<AddressStep> loops;
    for (const AddressStep& step : raised.steps) {
        if (isLoopRole(step.role)) loops.push_back(step);
        else if (step.anySteps || (step.role != StepRole::thenBranch && step.role != StepRole::elseBranch)) return std::nullopt;
    }
    const Graph& graph = model.graph(id);
    const FrameAnalysis analysis = analyzeFrames(graph);
    Address address = raised;
    address.steps.clear();
    int32_t frame = 0;
    if (raised.target == TargetKind::invocation) {
        // Loops are called after their frame, or after what the names of its nodes begin with.
        for (const AddressStep& loop : loops) {
            int32_t inner = -1;
            for (size_t f = 1; f < analysis.frames.size(); ++f) {
                const std::string& name = analysis.frames[f].name;
                if (analysis.frames[f].parent == frame && (name == loop.site.name || name.starts_with(loop.site.name + "/")))
                    inner = static_cast<int32_t>(f);
            }
            if (inner < 0) return std::nullopt;
            frame = inner;
        }
    } else {
        std::string_view name = raised.op.name;
        const auto find = [&](std::string_view wanted) { return std::ranges::find(graph.operators, wanted, &Operator::name); };
        auto op = find(originParts(name).first);
        if (op == graph.operators.end() && name.ends_with("/If")) op = find(name.substr(0, name.size() - 3)); // called after its Merge
        if (op == graph.operators.end()) return std::nullopt;
        const bool isCalledSo = op->name == originParts(name).first;
        if (!isCalledSo) address.op.name = op->name;
        // A value may be one of several results, and what a node reads may be called otherwise.
        if ((raised.target == TargetKind::value && (name == op->name || !isCalledSo)) ||
            (raised.target == TargetKind::input && !isCalledSo)) {
            address.target = TargetKind::op;
            address.slot = -1;
        }
        frame = analysis.frameOf[static_cast<size_t>(op - graph.operators.begin())];
    }
    std::vector<int32_t> frames;
    for (; frame > 0; frame = analysis.frames[static_cast<size_t>(frame)].parent) frames.push_back(frame);
    if (frames.size() != loops.size()) return std::nullopt;
    std::ranges::reverse(frames);
    for (size_t k = 0; k < frames.size(); ++k) {
        AddressStep step;
        step.site.name = analysis.frames[static_cast<size_t>(frames[k])].name;
        step.role = StepRole::frame;
        step.iteration = loops[k].iteration;
        step.iterations = loops[k].iterations;
        address.steps.push_back(std::move(step));
    }
    return address;
}

} // namespace

std::optional<Address> throughOrigin(const Model& model, const Address& address)
{
    if (model.dialect != Dialect::tf || address.rootIsSignature) return std::nullopt;
    return isRaised(model) ? ToRaised(model).translate(address) : toV1(model, address);
}

} // namespace loopscope
