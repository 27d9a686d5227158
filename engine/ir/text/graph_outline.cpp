// Sorts each level of nesting on its own: the nodes of a frame, and each child frame as one item among them.
#include "engine/ir/text/graph_outline.h"

#include "engine/ir/flow_role.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace loopscope {

namespace {

size_t at(OperatorId id) { return static_cast<size_t>(id.index); }

size_t commonPrefix(const std::vector<Guard>& a, const std::vector<Guard>& b)
{
    return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

/// An item of one level: a node, or a child frame with all that is in it.
struct LevelItem {
    OperatorId op;
    int32_t frame = -1; ///< a child frame if not −1
    int64_t place = 0;  ///< in the file: of a frame, its first Enter
    std::vector<Guard> guards;
    std::vector<size_t> users;
    int32_t waiting = 0;
};

class Outline {
public:
    Outline(const Graph& graph, const FrameAnalysis& analysis, const OutlineOptions& options)
        : m_graph(graph),
          m_analysis(analysis),
          m_options(options),
          m_children(analysis.frames.size())
    {
        for (size_t f = 1; f < analysis.frames.size(); ++f)
            m_children[static_cast<size_t>(analysis.frames[f].parent)].push_back(static_cast<int32_t>(f));
        m_enters.resize(graph.operators.size(), -1);
        for (size_t f = 1; f < analysis.frames.size(); ++f)
            for (const OperatorId enter : analysis.frames[f].enters) m_enters[at(enter)] = static_cast<int32_t>(f);
    }

    std::vector<OutlineItem> run()
    {
        const std::vector<OperatorId>& nodes = m_analysis.frames.front().nodes;
        level(0, {nodes.begin(), nodes.end()}, m_children.front(), 0);
        return std::move(m_items);
    }

private:
    OutlineItem& add(OutlineItem::Kind kind, int depth, int32_t frame, OperatorId op = {})
    {
        OutlineItem& item = m_items.emplace_back();
        item.kind = kind;
        item.depth = depth;
        item.frame = frame;
        item.op = op;
        return item;
    }

    template <typename Visit> void eachSource(OperatorId id, Visit visit) const
    {
        const Operator& op = m_graph.op(id);
        for (const ValueId input : op.inputs)
            if (input.valid() && m_graph.value(input).role == ValueRole::result) visit(m_graph.value(input).producer);
        for (const OperatorId control : op.controlInputs) visit(control);
    }

    bool isBackEdge(OperatorId from, OperatorId to) const
    {
        return flowRole(m_graph.op(from)) == FlowRole::nextIteration && flowRole(m_graph.op(to)) == FlowRole::merge;
    }

    /// The child of `parent` that a node belongs to; −1 if it is a node of `parent` itself.
    int32_t childOf(OperatorId id, int32_t parent) const
    {
        const int32_t depth = m_analysis.frames[static_cast<size_t>(parent)].depth;
        const int32_t opened = m_enters[at(id)];
        int32_t frame = opened >= 0 ? opened : m_analysis.frameOf[at(id)];
        if (m_analysis.frames[static_cast<size_t>(frame)].depth <= depth) return -1;
        frame = m_analysis.ancestorAt(frame, depth + 1);
        return m_analysis.frames[static_cast<size_t>(frame)].parent == parent ? frame : -1;
    }

    /// Prints nodes and child frames of one level, sorted; nodes under the guards they need.
    void level(int32_t parent, const std::vector<OperatorId>& nodes, const std::vector<int32_t>& children, int depth)
    {
        std::vector<LevelItem> items;
        std::map<int32_t, size_t> ofFrame;
        std::map<OperatorId, size_t> ofNode;
        for (const OperatorId id : nodes) {
            if (m_enters[at(id)] >= 0) continue; // stands with the frame that it opens
            ofNode.emplace(id, items.size());
            LevelItem& item = items.emplace_back();
            item.op = id;
            item.place = id.index;
            item.guards = m_analysis.guards[at(id)];
        }
        for (const int32_t child : children) {
            ofFrame.emplace(child, items.size());
            LevelItem& item = items.emplace_back();
            const Frame& frame = m_analysis.frames[static_cast<size_t>(child)];
            item.frame = child;
            item.place = frame.enters.empty() ? 0 : frame.enters.front().index;
            item.guards = m_analysis.frameGuards[static_cast<size_t>(child)];
        }
        const auto itemOf = [&](OperatorId id) -> int64_t {
            if (const auto node = ofNode.find(id); node != ofNode.end()) return static_cast<int64_t>(node->second);
            const int32_t child = childOf(id, parent);
            const auto frame = ofFrame.find(child);
            return child >= 0 && frame != ofFrame.end() ? static_cast<int64_t>(frame->second) : -1;
        };
        const auto connect = [&](OperatorId id, size_t to) {
            eachSource(id, [&](OperatorId source) {
                const int64_t from = isBackEdge(source, id) ? -1 : itemOf(source);
                if (from < 0 || from == static_cast<int64_t>(to)) return;
                items[static_cast<size_t>(from)].users.push_back(to);
                ++items[to].waiting;
            });
        };
        for (const auto& [id, index] : ofNode) connect(id, index);
        for (const auto& [child, index] : ofFrame) {
            const size_t to = index;
            eachMember(child, [&](OperatorId id) { connect(id, to); });
        }
        emit(items, parent, depth);
    }

    /// All nodes of a frame and of those inside it, Enters included.
    template <typename Visit> void eachMember(int32_t frame, Visit visit) const
    {
        std::vector<int32_t> open = {frame};
        while (!open.empty()) {
            const int32_t f = open.back();
            open.pop_back();
            for (const OperatorId id : m_analysis.frames[static_cast<size_t>(f)].enters) visit(id);
            for (const OperatorId id : m_analysis.frames[static_cast<size_t>(f)].nodes) visit(id);
            const std::vector<int32_t>& inside = m_children[static_cast<size_t>(f)];
            open.insert(open.end(), inside.begin(), inside.end());
        }
    }

    /// Ready items by the guards they need. The next one comes from the group that is open, else from the group with most in common.
    void emit(std::vector<LevelItem>& items, int32_t parent, int depth)
    {
        struct Later {
            const std::vector<LevelItem>* items;
            bool operator()(size_t a, size_t b) const { return (*items)[a].place > (*items)[b].place; }
        };
        using Queue = std::priority_queue<size_t, std::vector<size_t>, Later>;
        const auto less = [](const std::vector<Guard>& a, const std::vector<Guard>& b) {
            return std::ranges::lexicographical_compare(
                a, b, [](const Guard& x, const Guard& y) { return std::pair(x.predicate, x.branch) < std::pair(y.predicate, y.branch); });
        };
        std::map<std::vector<Guard>, Queue, decltype(less)> groups(less); // none is empty
        std::set<std::pair<int64_t, const std::vector<Guard>*>> tops;     // the first item of each, by its place in the file
        std::vector<bool> done(items.size());
        const auto topOf = [&](const auto& group) { return std::pair(items[group->second.top()].place, &group->first); };
        const auto makeReady = [&](size_t i) {
            const auto [group, isNew] = groups.try_emplace(items[i].guards, Later{&items});
            if (!isNew) tops.erase(topOf(group));
            group->second.push(i);
            tops.insert(topOf(group));
        };
        const auto take = [&](auto group) {
            tops.erase(topOf(group));
            const size_t next = group->second.top();
            group->second.pop();
            if (group->second.empty()) groups.erase(group);
            else tops.insert(topOf(group));
            return next;
        };
        for (size_t i = 0; i < items.size(); ++i)
            if (items[i].waiting == 0) makeReady(i);
        std::vector<Guard> open;
        const auto print = [&](size_t i) {
            done[i] = true;
            const LevelItem& item = items[i];
            const bool hidden = item.op.valid() && at(item.op) < m_options.hidden.size() && m_options.hidden[at(item.op)];
            if (!hidden) {
                const size_t common = commonPrefix(open, item.guards);
                for (size_t g = common; g < item.guards.size(); ++g)
                    add(OutlineItem::Kind::when, depth + static_cast<int>(g), parent).guard = item.guards[g];
                open = item.guards;
                const int inner = depth + static_cast<int>(open.size());
                if (item.frame >= 0) frame(item.frame, inner);
                else add(OutlineItem::Kind::node, inner, parent, item.op);
            }
            for (const size_t user : items[i].users)
                if (--items[user].waiting == 0 && !done[user]) makeReady(user);
        };
        while (!groups.empty()) {
            auto best = groups.find(open);
            // Groups that share a prefix are neighbours: the longest that any shares, then the first in the file.
            for (size_t length = open.size(); best == groups.end() && length > 0; --length) {
                const std::vector<Guard> prefix(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(length));
                for (auto group = groups.lower_bound(prefix); group != groups.end() && commonPrefix(prefix, group->first) == length;
                     ++group)
                    if (best == groups.end() || topOf(group) < topOf(best)) best = group;
            }
            if (best == groups.end()) best = groups.find(*tops.begin()->second);
            print(take(best));
        }
        for (size_t i = 0; i < items.size(); ++i) // on cycles that nothing breaks
            if (!done[i]) print(i);
    }

    void frame(int32_t f, int depth)
    {
        const Frame& frame = m_analysis.frames[static_cast<size_t>(f)];
        if (!frame.isLoop()) {
            add(OutlineItem::Kind::frame, depth, f);
            for (const OperatorId enter : frame.enters) add(OutlineItem::Kind::node, depth + 1, frame.parent, enter);
            level(f, frame.nodes, m_children[static_cast<size_t>(f)], depth + 1);
            return;
        }
        add(OutlineItem::Kind::loop, depth, f);
        std::set<OperatorId> placed; // nodes that a row stands for
        std::vector<std::pair<OperatorId, OutlineItem>> rows;
        for (size_t v = 0; v < frame.variables.size(); ++v) {
            const LoopVariable& variable = frame.variables[v];
            OutlineItem row;
            row.kind = OutlineItem::Kind::variable;
            row.op = variable.merge;
            row.index = v;
            rows.emplace_back(variable.merge, row);
            placed.insert({variable.merge, variable.gate, variable.next});
            placed.insert(variable.exits.begin(), variable.exits.end());
        }
        for (const OperatorId enter : frame.invariants) {
            OutlineItem row;
            row.kind = OutlineItem::Kind::invariant;
            row.op = enter;
            rows.emplace_back(enter, row);
        }
        std::ranges::sort(rows, {}, [](const auto& row) { return row.first; });
        for (auto& [id, row] : rows) {
            row.depth = depth + 1;
            row.frame = f;
            m_items.push_back(row);
        }
        if (m_options.everyNode) {
            for (const OperatorId enter : frame.enters) add(OutlineItem::Kind::node, depth + 1, frame.parent, enter);
            for (const LoopVariable& variable : frame.variables) add(OutlineItem::Kind::node, depth + 1, f, variable.merge);
        }
        loopParts(f, depth, placed);
    }

    void loopParts(int32_t f, int depth, const std::set<OperatorId>& placed)
    {
        const Frame& frame = m_analysis.frames[static_cast<size_t>(f)];
        // What the condition needs within the frame, back to the variables.
        std::set<OperatorId> inCond;
        std::set<int32_t> condFrames;
        std::vector<OperatorId> open = {frame.condition};
        while (!open.empty()) {
            const OperatorId id = open.back();
            open.pop_back();
            eachSource(id, [&](OperatorId source) {
                if (placed.contains(source)) return;
                const int32_t child = childOf(source, f);
                if (child >= 0) {
                    if (condFrames.insert(child).second) eachMember(child, [&](OperatorId member) { open.push_back(member); });
                } else if (m_analysis.frameOf[at(source)] == f && m_enters[at(source)] < 0 && inCond.insert(source).second) {
                    open.push_back(source);
                }
            });
        }
        std::vector<OperatorId> cond, body;
        for (const OperatorId id : frame.nodes) {
            if (placed.contains(id) || id == frame.condition) continue;
            (inCond.contains(id) ? cond : body).push_back(id);
        }
        std::vector<int32_t> condChildren, bodyChildren;
        for (const int32_t child : m_children[static_cast<size_t>(f)])
            (condFrames.contains(child) ? condChildren : bodyChildren).push_back(child);
        add(OutlineItem::Kind::cond, depth, f);
        level(f, cond, condChildren, depth + 1);
        add(OutlineItem::Kind::test, depth + 1, f, frame.condition);
        add(OutlineItem::Kind::body, depth, f);
        std::vector<OperatorId> nexts;
        for (const LoopVariable& variable : frame.variables) {
            if (m_options.everyNode && variable.gate.valid()) add(OutlineItem::Kind::node, depth + 1, f, variable.gate);
            nexts.push_back(variable.next);
        }
        level(f, body, bodyChildren, depth + 1);
        std::ranges::sort(nexts);
        for (const OperatorId next : nexts)
            add(m_options.everyNode ? OutlineItem::Kind::node : OutlineItem::Kind::next, depth + 1, f, next);
        if (m_options.everyNode)
            for (const LoopVariable& variable : frame.variables)
                for (const OperatorId exit : variable.exits) add(OutlineItem::Kind::node, depth + 1, f, exit);
    }

    const Graph& m_graph;
    const FrameAnalysis& m_analysis;
    const OutlineOptions& m_options;
    std::vector<std::vector<int32_t>> m_children; ///< frame → frames in it
    std::vector<int32_t> m_enters;                ///< node → frame that it opens, or −1
    std::vector<OutlineItem> m_items;
};

} // namespace

std::vector<OutlineItem> outlineOf(const Graph& graph, const FrameAnalysis& analysis, const OutlineOptions& options)
{
    return Outline(graph, analysis, options).run();
}

} // namespace loopscope
