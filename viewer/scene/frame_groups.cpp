// Frames of a v1 graph as nested groups, and what lives under a predicate as two sides of a conditional.
#include "viewer/layout/index.h"
#include "viewer/scene/op_groups.h"

#include <map>

namespace loopscope::viewer {

namespace {

class FrameGrouper {
public:
    FrameGrouper(const Graph& graph, const FrameAnalysis& analysis) : m_graph(graph), m_analysis(analysis) {}

    OpGroups run()
    {
        m_frames.assign(m_analysis.frames.size(), -1);
        m_groups.groupOf.assign(m_graph.operators.size(), -1);
        for (size_t f = 1; f < m_analysis.frames.size(); ++f) {
            const Frame& frame = m_analysis.frames[f];
            const int outer = frame.parent < 0 ? -1 : m_frames[at(frame.parent)];
            const int place = f < m_analysis.frameGuards.size() ? under(outer, m_analysis.frameGuards[f]) : outer;
            OpGroup group;
            group.kind = RegionKind::frame;
            const int holder = frame.parent < 0 ? -1 : m_frames[at(frame.parent)];
            group.key = holder < 0 ? frame.name : m_groups.groups[at(holder)].key + ":frame/" + frame.name;
            group.name = frame.name;
            group.note = frame.isLoop() && frame.irregular.empty() ? "" : frame.irregular.empty() ? "no loop" : frame.irregular;
            group.parent = place;
            group.frame = static_cast<int>(f);
            m_frames[f] = add(std::move(group));
        }
        for (size_t o = 0; o < m_graph.operators.size(); ++o) {
            const int frame = m_analysis.frameOf[o];
            m_groups.groupOf[o] = under(frame <= 0 ? -1 : m_frames[at(frame)], m_analysis.guards[o]);
        }
        // What enters a frame is drawn at its upper border, inside.
        for (size_t f = 1; f < m_analysis.frames.size(); ++f)
            for (const OperatorId enter : m_analysis.frames[f].enters)
                if (enter.valid()) m_groups.groupOf[at(enter.index)] = m_frames[f];
        collect();
        return std::move(m_groups);
    }

private:
    int add(OpGroup group)
    {
        m_groups.groups.push_back(std::move(group));
        return static_cast<int>(m_groups.groups.size()) - 1;
    }

    /// The group below `outer` that holds what needs all of `guards`.
    int under(int outer, const std::vector<Guard>& guards)
    {
        for (const Guard& guard : guards) {
            const auto [box, isNew] = m_boxes.try_emplace({outer, guard.predicate.index}, -1);
            const std::string predicate = guard.predicate.valid() ? m_graph.value(guard.predicate).id : std::string("?");
            if (isNew) {
                OpGroup group;
                group.kind = RegionKind::branch;
                group.key = (outer < 0 ? "" : m_groups.groups[at(outer)].key + "//") + predicate + "?";
                group.name = predicate;
                group.note = "conditional";
                group.parent = outer;
                box->second = add(std::move(group));
            }
            const auto [side, isNewSide] = m_sides.try_emplace({box->second, guard.branch}, -1);
            if (isNewSide) {
                OpGroup group;
                group.kind = RegionKind::branch;
                group.role = guard.branch ? "true" : "false";
                group.key = m_groups.groups[at(box->second)].key + group.role;
                group.name = group.role + " side";
                group.parent = box->second;
                side->second = add(std::move(group));
            }
            outer = side->second;
        }
        return outer;
    }

    /// Members, and the scope that all names of a group share.
    void collect()
    {
        for (size_t o = 0; o < m_graph.operators.size(); ++o)
            for (int g = m_groups.groupOf[o]; g >= 0; g = m_groups.groups[at(g)].parent) {
                OpGroup& group = m_groups.groups[at(g)];
                const std::string& name = m_graph.operators[o].name;
                const std::string scope = name.substr(0, name.rfind('/') == std::string::npos ? 0 : name.rfind('/'));
                if (group.members.empty()) {
                    group.scope = scope;
                } else {
                    size_t same = 0;
                    while (same < group.scope.size() && same < scope.size() && group.scope[same] == scope[same]) ++same;
                    const bool whole =
                        (same == group.scope.size() || group.scope[same] == '/') && (same == scope.size() || scope[same] == '/');
                    if (!whole)
                        same = same == 0 || group.scope.rfind('/', same - 1) == std::string::npos ? 0 : group.scope.rfind('/', same - 1);
                    group.scope.resize(same);
                }
                group.members.emplace_back(static_cast<int64_t>(o));
            }
    }

    const Graph& m_graph;
    const FrameAnalysis& m_analysis;
    OpGroups m_groups;
    std::vector<int> m_frames; ///< frame → group
    std::map<std::pair<int, int32_t>, int> m_boxes;
    std::map<std::pair<int, bool>, int> m_sides;
};

} // namespace

OpGroups frameGroups(const Graph& graph, const FrameAnalysis& analysis) { return FrameGrouper(graph, analysis).run(); }

} // namespace loopscope::viewer
