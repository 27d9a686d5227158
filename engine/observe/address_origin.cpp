#include "engine/observe/address_origin.h"

#include "engine/ir/frames.h"
#include "engine/ir/origin.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope {

namespace {

bool isLoopRole(StepRole role) { return role == StepRole::cond || role == StepRole::body; }

/// Whether the step may stand for the first iteration.
bool meansFirst(const AddressStep& step) { return step.iteration <= 0 && (!step.iterations || step.iterations->contains(0, 0)); }

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
            if (step.role == StepRole::frame) {
                if (!isOpened(step.site.name)) m_frames.push_back(step);
                else if (!meansFirst(step)) return std::nullopt;
            } else if (!call(step)) {
                return std::nullopt;
            }
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

    /// A frame that is neither frame nor loop any more.
    bool isOpened(const std::string& frame) const
    {
        const std::string& source = m_model.graph(m_graph).id;
        return openedFrames(m_model, source).contains(frame) && std::ranges::none_of(m_model.graphs, [&](const Graph& graph) {
                   const std::vector<std::string> frames = originFrames(graph);
                   return attributeString(graph.attributes, kOriginGraph, "") == source && std::ranges::find(frames, frame) != frames.end();
               });
    }

    /// `without`: so many of the innermost of the address do not count.
    bool isInFrames(const std::vector<std::string>& frames, size_t without = 0) const
    {
        if (m_frames.empty()) return true; // a name alone is enough
        const auto named = std::span(m_frames).first(m_frames.size() - without);
        return std::ranges::equal(frames, named, [](const std::string& name, const AddressStep& step) { return name == step.site.name; });
    }

    bool isOfLoop(GraphId graph, const Value& value) const
    {
        return value.role == ValueRole::result && m_model.graph(graph).op(value.producer).kind.name.ends_with("While");
    }

    std::optional<Found> find(const std::string& name)
    {
        const auto [node, slot] = originParts(name);
        if (m_pairs.empty()) m_pairs = originPairs(m_model);
        std::optional<Found> best;
        for (const OriginPair& pair : m_pairs) {
            if (pair.node != node || pair.sourceGraph != m_model.graph(m_graph).id) continue;
            const Value& value = m_model.graph(pair.graph).value(pair.value);
            // an Exit runs in its frame, and the loop that has its value outside
            if (!isInFrames(pair.frames) && !(isOfLoop(pair.graph, value) && isInFrames(pair.frames, 1))) continue;
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
class ToV1 {
public:
    ToV1(const Graph& graph, const Address& raised) : m_graph(graph), m_analysis(analyzeFrames(graph)), m_address(raised) {}

    std::optional<Address> translate()
    {
        for (const AddressStep& step : m_address.steps) {
            if (isLoopRole(step.role) || step.role == StepRole::frame) m_loops.push_back(step); // a frame that was left as it is
            else if (step.anySteps || (step.role != StepRole::thenBranch && step.role != StepRole::elseBranch)) return std::nullopt;
        }
        const std::optional<int32_t> frame = m_address.target == TargetKind::invocation ? loopReached() : frameOfTarget();
        if (!frame || !enter(*frame)) return std::nullopt;
        return std::move(m_address);
    }

private:
    const Frame& frame(int32_t f) const { return m_analysis.frames[static_cast<size_t>(f)]; }

    /// Whether the address goes through the frame: one in which nothing goes round is no loop of the raised graph, unless it was left as it
    /// is.
    bool isEntered(const Frame& frame) const
    {
        return frame.isLoop() || std::ranges::any_of(m_loops, [&](const AddressStep& step) {
                   return step.role == StepRole::frame && step.site.name == frame.name;
               });
    }

    /// Loops are called after their frame, or after what the names of its nodes begin with. −1: there is none in the frame `outside`.
    int32_t loopCalled(const std::string& name, int32_t outside) const
    {
        int32_t found = -1;
        for (size_t f = 1; f < m_analysis.frames.size(); ++f) {
            const Frame& inner = m_analysis.frames[f];
            int32_t parent = inner.parent;
            while (parent > 0 && parent != outside && !isEntered(frame(parent))) parent = frame(parent).parent;
            if (parent == outside && (inner.name == name || inner.name.starts_with(name + "/"))) found = static_cast<int32_t>(f);
        }
        return found;
    }

    std::optional<int32_t> loopReached() const
    {
        int32_t reached = 0;
        for (const AddressStep& loop : m_loops)
            if (reached = loopCalled(loop.site.name, reached); reached < 0) return std::nullopt;
        return reached;
    }

    std::optional<int32_t> frameOfTarget()
    {
        const std::string name = m_address.op.name;
        const auto find = [&](std::string_view wanted) { return std::ranges::find(m_graph.operators, wanted, &Operator::name); };
        auto op = find(originParts(name).first);
        if (op == m_graph.operators.end() && name.ends_with("/If")) op = find(name.substr(0, name.size() - 3)); // called after its Merge
        if (op == m_graph.operators.end()) return beginOfLoop(originParts(name).first);
        const bool isCalledSo = op->name == originParts(name).first;
        if (!isCalledSo) m_address.op.name = op->name;
        // A value may be one of several results, and what a node reads may be called otherwise.
        if ((m_address.target == TargetKind::value && (name == op->name || !isCalledSo)) ||
            (m_address.target == TargetKind::input && !isCalledSo)) {
            m_address.target = TargetKind::op;
            m_address.slot = -1;
        }
        return m_analysis.frameOf[static_cast<size_t>(op - m_graph.operators.begin())];
    }

    /// A While begins where the first iteration of its frame does.
    std::optional<int32_t> beginOfLoop(const std::string& name)
    {
        const std::optional<int32_t> outside = loopReached();
        const int32_t loop = outside ? loopCalled(name, *outside) : -1;
        if (loop < 0) return std::nullopt;
        AddressStep first;
        first.site.name = name;
        first.role = StepRole::body;
        first.iteration = 0;
        m_loops.push_back(std::move(first));
        m_address.target = TargetKind::invocation;
        m_address.op = {};
        m_address.slot = -1;
        return loop;
    }

    /// The steps to a frame, with the iterations of the loops.
    bool enter(int32_t innermost)
    {
        std::vector<int32_t> frames;
        for (int32_t f = innermost; f > 0; f = frame(f).parent) frames.push_back(f);
        std::ranges::reverse(frames);
        if (std::ranges::count_if(frames, [&](int32_t f) { return isEntered(frame(f)); }) != std::ssize(m_loops)) return false;
        m_address.steps.clear();
        auto loop = m_loops.begin();
        for (const int32_t f : frames) {
            AddressStep step;
            step.site.name = frame(f).name;
            step.role = StepRole::frame;
            step.iteration = 0;
            if (isEntered(frame(f))) {
                if (loop->role == StepRole::frame && loop->site.name != frame(f).name) return false;
                step.iteration = loop->iteration;
                step.iterations = loop->iterations;
                ++loop;
            }
            m_address.steps.push_back(std::move(step));
        }
        return true;
    }

    const Graph& m_graph;
    const FrameAnalysis m_analysis;
    Address m_address;
    std::vector<AddressStep> m_loops; ///< of the raised graph
};

} // namespace

std::optional<Address> throughOrigin(const Model& model, const Address& address)
{
    if (model.dialect != Dialect::tf || address.rootIsSignature) return std::nullopt;
    if (isRaised(model)) return ToRaised(model).translate(address);
    const GraphId root = model.findGraph(address.root);
    if (!root.valid() || !hasFramesOrSwitches(model.graph(root))) return std::nullopt;
    return ToV1(model.graph(root), address).translate();
}

} // namespace loopscope
