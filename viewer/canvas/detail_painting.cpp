// Level 4: what there is room for beside nodes once they are seen from near.
#include "viewer/canvas/scene_painter.h"

#include "viewer/scene/operand_names.h"
#include "viewer/style/theme.h"

#include <algorithm>

namespace loopscope::viewer {

namespace {

constexpr size_t kMostAttributes = 4;
constexpr double kGap = 6;   ///< between a node and its details, scene units
constexpr double kLine = 13; ///< pixels of a line: details keep their size on screen
constexpr double kWidest = 260;

bool meetsAny(const Rect& place, const std::vector<Rect>& others)
{
    return std::ranges::any_of(others, [&](const Rect& other) { return other.intersects(place); });
}

} // namespace

/// No other node and no head lies there, and no line or border passes.
bool ScenePainter::isFree(const Rect& place, int except) const
{
    if (isCovered(place, except)) return false;
    for (const SceneRegion& region : m_scene.regions) {
        if (region.head.intersects(place)) return false;
        const Rect& r = region.rect;
        const bool isInside = place.x > r.x && place.y > r.y && place.right() < r.right() && place.bottom() < r.bottom();
        if (r.intersects(place) && !isInside) return false;
    }
    std::vector<int> near;
    m_index.edgesIn(place, near);
    return std::ranges::none_of(near, [&](int i) {
        const std::vector<Point>& points = m_scene.edges[static_cast<size_t>(i)].points;
        for (size_t k = 1; k < points.size(); ++k) {
            const Rect segment{std::min(points[k - 1].x, points[k].x) - 1, std::min(points[k - 1].y, points[k].y) - 1,
                               std::abs(points[k].x - points[k - 1].x) + 2, std::abs(points[k].y - points[k - 1].y) + 2};
            if (segment.intersects(place)) return true;
        }
        return false;
    });
}

void ScenePainter::paintDetails(QPainter& painter, const Rect& area, const Lens& lens, const QHash<QString, QString>& values, int except)
{
    if (lens.level < 4 || !m_model) return;
    struct Line {
        QString text;
        Token color;
        Face face = Face::mono;
    };
    std::vector<int> nodes, edges;
    m_index.nodesIn(area, nodes);
    m_index.edgesIn(area, edges);
    std::vector<Rect> taken; // by words
    const double height = kLine / lens.zoom;
    for (const int index : nodes) {
        const SceneNode& one = node(index);
        if (one.kind != NodeKind::op || index == except) continue;
        const Graph& graph = m_model->graph(one.graph);
        std::vector<Line> lines;
        if (const QString value = values.value(QString::fromStdString(one.id)); !value.isEmpty()) {
            const bool isElsewhere = value.startsWith('@') || value.startsWith(QChar(0x2248)); // of another moment, which stands in front
            lines.push_back({value, isElsewhere ? Token::text3 : Token::text, isElsewhere ? Face::monoItalic : Face::mono});
        }
        if (!one.shape.empty()) lines.push_back({QString::fromStdString(one.shape), Token::text2});
        if (one.detail.empty()) // else they stand in the node
            for (const std::string& text : attributeTexts(*m_model, graph, graph.op(one.op), kMostAttributes))
                lines.push_back({QString::fromStdString(text), Token::text3});
        // At the right, else at the left; from the top of the node, as many lines as there is room for.
        const std::string& badge = state(index).badge;
        const double right = one.rect.right() + (badge.empty() ? 0 : m_labels.width(QString::fromStdString(badge), Face::mono) + 8);
        for (const bool atRight : {true, false}) {
            double y = one.rect.y;
            for (const Line& line : lines) {
                const Label label = m_labels.label(line.text, line.face, kWidest);
                const double width = label.width / lens.zoom;
                const Rect place{atRight ? right + kGap : one.rect.x - kGap - width, y, width, height};
                if (!isFree(place, index) || meetsAny(place, taken)) break;
                drawLabelIn(painter, label, lens.map(place), Qt::AlignLeft, themed(line.color), 1);
                taken.push_back(place);
                y += height;
            }
            if (y > one.rect.y) break;
        }
    }
    for (const int index : nodes)
        if (node(index).kind == NodeKind::op) paintOperandNames(painter, index, lens, taken);
    for (const int index : edges) {
        const SceneEdge& edge = m_scene.edges[static_cast<size_t>(index)];
        if (edge.label.empty() || edge.portal || isRail(edge) || edge.style == EdgeStyle::binding) continue;
        const Label label = m_labels.label(edgeWords(edge, lens), Face::monoSmall);
        const std::optional<Rect> place = edgeTextPlace(edge, label, 1 / lens.zoom, true);
        if (!place || meetsAny(*place, taken)) continue;
        drawLabelIn(painter, label, lens.map(*place), Qt::AlignLeft, themed(Token::text3), 1);
        taken.push_back(*place);
    }
}

/// "lhs", "rhs" beside the arrows that end at the operator.
void ScenePainter::paintOperandNames(QPainter& painter, int index, const Lens& lens, std::vector<Rect>& taken)
{
    const SceneNode& one = node(index);
    const Operator& op = m_model->graph(one.graph).op(one.op);
    const std::vector<std::string> names = operandNames(op);
    if (names.empty() || op.inputs.size() < 2 || m_scene.view.leftToRight) return;
    for (size_t k = 0; k < op.inputs.size(); ++k) {
        if (!op.inputs[k].valid()) continue;
        for (const int i : m_index.into(index)) {
            const SceneEdge& edge = m_scene.edges[static_cast<size_t>(i)];
            if (edge.portal || edge.points.size() < 2 || edge.graph != one.graph || edge.value != op.inputs[k]) continue;
            const Label label = m_labels.label(QString::fromStdString(names[k]), Face::index);
            const Point tip = edge.points.back();
            const double width = label.width / lens.zoom, height = kLine / lens.zoom;
            for (const double x : {tip.x + 4, tip.x - 4 - width}) {
                const Rect place{x, tip.y - height - 1, width, height};
                if (!isFree(place, index) || meetsAny(place, taken)) continue;
                drawLabelIn(painter, label, lens.map(place), Qt::AlignLeft, themed(Token::text3), 1);
                taken.push_back(place);
                break;
            }
            break;
        }
    }
}

} // namespace loopscope::viewer
