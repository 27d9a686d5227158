#include "engine/exec/dataflow/straight_frames.h"

#include <algorithm>
#include <span>

namespace loopscope::dataflow {

namespace {

class Analysis {
public:
    explicit Analysis(GraphCode& code)
        : m_code(code),
          m_sources(code.inputs.size(), -1),
          m_controls(code.nodes.size()),
          m_invariants(code.frames.size(), 0)
    {
        for (size_t n = 0; n < code.nodes.size(); ++n) {
            const Node& node = code.nodes[n];
            if (node.kind == NodeKind::constantEnter) ++m_invariants[static_cast<size_t>(node.childFrame)];
            for (int32_t e = node.firstEdge; e < node.lastEdge; ++e) {
                const Edge& edge = code.edges[static_cast<size_t>(e)];
                if (edge.node < 0) continue;
                if (edge.slot < 0) m_controls[static_cast<size_t>(edge.node)].push_back(static_cast<int32_t>(n));
                else m_sources[static_cast<size_t>(nodeAt(edge.node).firstInput + edge.input)] = static_cast<int32_t>(n);
            }
        }
    }

    StraightCode analyse(int32_t frame) const
    {
        StraightCode straight;
        if (frame == 0) return straight; // runs once
        const FrameCode& code = m_code.frames[static_cast<size_t>(frame)];
        const std::span nodes(m_code.nodes.data() + code.firstNode, static_cast<size_t>(code.nodeCount));
        for (const Node& node : nodes)
            if (!isPlain(node) || !comesEachTime(node, frame)) return straight;
        if (!isSentBefore(nodes)) return straight;
        straight.invariantCount = m_invariants[static_cast<size_t>(frame)];
        for (const Node& node : nodes)
            if (node.isMerge && isHead(node)) straight.heads.push_back(node.position);
        straight.isStraight = !straight.heads.empty();
        addReleases(code, nodes, straight);
        return straight;
    }

private:
    const Node& nodeAt(int32_t n) const { return m_code.nodes[static_cast<size_t>(n)]; }

    /// It runs by itself, and gives nothing to the graph's outputs, which take each value once.
    bool isPlain(const Node& node) const
    {
        switch (node.kind) {
        case NodeKind::enter:
        case NodeKind::constantEnter:
        case NodeKind::call:
        case NodeKind::abort: return false;
        default: break;
        }
        if (node.readsReference) return false;
        const std::span edges(m_code.edges.data() + node.firstEdge, static_cast<size_t>(node.lastEdge - node.firstEdge));
        return node.kind == NodeKind::exit || std::ranges::none_of(edges, [](const Edge& edge) { return edge.node < 0; });
    }

    /// Each Recv stands behind the one Send of its channel, and each Send has one that takes what it sends.
    bool isSentBefore(std::span<const Node> nodes) const
    {
        std::vector<int> balance(m_code.channels.size(), 0); // 1: sent and not yet received
        for (const Node& node : nodes) {
            if (node.kind != NodeKind::send && node.kind != NodeKind::receive) continue;
            const auto channel = static_cast<size_t>(node.channel);
            if (!m_code.channels[channel].isWithinCall || balance[channel] != (node.kind == NodeKind::send ? 0 : 1)) return false;
            ++balance[channel];
        }
        return std::ranges::find(balance, 1) == balance.end();
    }

    /// Whether all that it waits for comes in every iteration but the first.
    bool comesEachTime(const Node& node, int32_t frame) const
    {
        const auto isInside = [&](int32_t n) {
            return n >= 0 && nodeAt(n).frame == frame && nodeAt(n).kind != NodeKind::nextIteration && nodeAt(n).kind != NodeKind::exit;
        };
        const std::vector<int32_t>& controls = m_controls[static_cast<size_t>(m_code.nodeOf[static_cast<size_t>(node.op.index)])];
        if (!std::ranges::all_of(controls, isInside)) return false;
        if (node.isMerge && isHead(node)) return true;
        bool waits = !controls.empty();
        for (int32_t i = 0; i < node.inputCount; ++i) {
            const auto at = static_cast<size_t>(node.firstInput + i);
            if (m_code.inputs[at].slot < 0) continue;
            const int32_t source = m_sources[at];
            const bool isInvariant = source >= 0 && nodeAt(source).childFrame == frame && nodeAt(source).kind == NodeKind::constantEnter;
            if (!isInside(source) && (node.isMerge || !isInvariant)) return false;
            waits = true;
        }
        return waits;
    }

    /// A Merge where iterations begin: what it merges comes from Enters and NextIterations alone.
    bool isHead(const Node& node) const
    {
        bool hasNext = false;
        for (int32_t i = 0; i < node.inputCount; ++i) {
            const int32_t source = m_sources[static_cast<size_t>(node.firstInput + i)];
            if (source < 0) return false;
            const Node& from = nodeAt(source);
            const bool isNext = from.kind == NodeKind::nextIteration && from.frame == node.frame;
            if (!isNext && !(from.kind == NodeKind::enter && from.childFrame == node.frame)) return false;
            hasNext = hasNext || isNext;
        }
        return hasNext;
    }

    /// Behind which node each value has been read for the last time.
    void addReleases(const FrameCode& code, std::span<const Node> nodes, StraightCode& straight) const
    {
        std::vector<int32_t> uses = code.uses;
        for (const Node& node : nodes) {
            for (int32_t i = 0; i < node.inputCount; ++i) {
                const int32_t slot = m_code.inputs[static_cast<size_t>(node.firstInput + i)].slot;
                if (slot >= 0 && --uses[static_cast<size_t>(slot)] == 0) straight.releases.push_back(slot);
            }
            straight.releaseEnds.push_back(static_cast<int32_t>(straight.releases.size()));
        }
    }

    GraphCode& m_code;
    std::vector<int32_t> m_sources;               ///< by GraphCode::inputs: the node that gives it; −1: the graph, or nobody
    std::vector<std::vector<int32_t>> m_controls; ///< by node
    std::vector<int32_t> m_invariants;            ///< by frame: constant Enters that lead into it
};

} // namespace

void findStraightFrames(GraphCode& code)
{
    const Analysis analysis(code);
    for (size_t f = 0; f < code.frames.size(); ++f) code.frames[f].straight = analysis.analyse(static_cast<int32_t>(f));
}

} // namespace loopscope::dataflow
