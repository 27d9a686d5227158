// Draws scenes: what lies still (tiles hold it) and single things again with marks on them (selection, hover, the next operator). Knows
// nothing of widgets. GUI thread, because fonts' glyphs are shared.
#pragma once

#include "viewer/canvas/canvas_state.h"
#include "viewer/canvas/labels.h"
#include "viewer/canvas/scene_index.h"

#include <QColor>
#include <QPainter>
#include <QRectF>

#include <optional>
#include <vector>

namespace loopscope::viewer {

/// Which of the five levels of detail belongs to a zoom: 0 map, 1 shape, 2 name, 3 full, 4 detail. `before` is the level so far: a
/// threshold must be passed by 5 % to leave it (−1: none).
int detailLevel(double zoom, int before = -1);

/// From scene to pixels of the painter: scene × zoom, then the painter's own translation.
struct Lens {
    double zoom = 1;
    int level = 3;
    double ratio = 1; ///< device pixels per pixel
    QPointF map(Point p) const { return {p.x * zoom, p.y * zoom}; }
    QRectF map(const Rect& r) const { return {r.x * zoom, r.y * zoom, r.width * zoom, r.height * zoom}; }
    /// Edges on device pixels, so that outlines are sharp.
    QRectF snapped(const Rect& r) const;
    /// Line widths and radii grow with the zoom above 1 and stay below.
    double stroke() const { return zoom > 1 ? zoom : 1; }
};

/// How a node is emphasised, beyond what its state says.
struct NodeLook {
    bool selected = false, hovered = false, focused = false, highlighted = false;
    bool operator==(const NodeLook&) const = default;
};

enum class EdgeLook : uint8_t { plain, hovered, selected };

class ScenePainter {
public:
    /// `model`: of the scene; null: level 4 has nothing to add.
    ScenePainter(const IndexedScene& scene, LabelCache& labels, const CanvasState& state, bool highContrast, const Model* model = nullptr)
        : m_scene(*scene.scene),
          m_index(scene.index),
          m_labels(labels),
          m_state(state),
          m_highContrast(highContrast),
          m_model(model)
    {
    }

    /// Everything in `area` of the scene as it is without emphasis, on an already filled background.
    void paintStill(QPainter& painter, const Rect& area, const Lens& lens);
    void paintNode(QPainter& painter, int node, const Lens& lens, const NodeLook& look);
    void paintEdge(QPainter& painter, int edge, const Lens& lens, EdgeLook look);
    /// Field, slider, condition or iteration chips of a region's head, which follow the run.
    /// `place`: where the head is drawn, its own box or one in view.
    void paintHead(QPainter& painter, int region, const Rect& place, const Lens& lens, int64_t dragged = -1);
    /// The feedback line of one loop variable in accent, with its label.
    void paintRail(QPainter& painter, int region, size_t binding, const Lens& lens);

    /// Level 4, as far as there is room: beside each operator its value (`values`: by node id), type and attributes, names of operands at
    /// the ends of edges, and names and types of tensors along them. `except`: the node that has a card.
    void paintDetails(QPainter& painter, const Rect& area, const Lens& lens, const QHash<QString, QString>& values, int except);

    /// The chip at one end of a cut edge; none: another node is in its way.
    std::optional<Rect> portalChip(int edge, bool atSource);

    /// How much text of the node was cut at level 3: what tooltips ask.
    bool isElided(int node);

private:
    const SceneNode& node(int i) const { return m_scene.nodes[static_cast<size_t>(i)]; }
    const NodeState& state(int i) const { return m_state.nodes[static_cast<size_t>(i)]; }

    void paintBlocks(QPainter& painter, const Rect& area, const Lens& lens, const std::vector<int>& nodes);
    bool hasSideText(int node) const;
    void paintBox(QPainter& painter, int index, const Lens& lens, const NodeLook& look);
    void paintOp(QPainter& painter, int index, const Lens& lens, const NodeLook& look);
    void paintPill(QPainter& painter, int index, const Lens& lens, const NodeLook& look);
    void paintGroup(QPainter& painter, int index, const Lens& lens, const NodeLook& look);
    void paintSideShape(QPainter& painter, const SceneNode& one, const Lens& lens);
    void paintStrip(QPainter& painter, const SceneNode& node, const QRectF& box, const Lens& lens, double left, double right);
    void paintMarks(QPainter& painter, int index, const Lens& lens, const NodeLook& look, const QRectF& box, double radius);
    void paintBreakpoint(QPainter& painter, BreakpointMark mark, QPointF center, double scale);
    void paintName(QPainter& painter, const SceneNode& node, const QRectF& room, const Lens& lens, const QColor& color, const QColor& meta,
                   bool struck);

    void paintRegion(QPainter& painter, int region, const Lens& lens);
    void paintHeadName(QPainter& painter, int region, const Lens& lens, const QRectF& box, const QColor& color);
    void paintRails(QPainter& painter, int region, const Lens& lens);
    void paintBundle(QPainter& painter, const SceneRegion& region, const Lens& lens, const QColor& color);
    void paintEdgeLines(QPainter& painter, const Lens& lens, const std::vector<int>& edges);
    void paintPortal(QPainter& painter, int edge, const Lens& lens, EdgeLook look);
    Rect portalPlace(int edge, bool atSource);
    bool isCovered(const Rect& place, int except) const;
    void paintEdgeText(QPainter& painter, const SceneEdge& edge, const Lens& lens, const QColor& color);
    void paintOperandNames(QPainter& painter, int index, const Lens& lens, std::vector<Rect>& taken);
    QString edgeWords(const SceneEdge& edge, const Lens& lens) const;
    std::optional<Rect> edgeTextPlace(const SceneEdge& edge, const Label& label, double scale, bool isAlone) const;
    bool isFree(const Rect& place, int except) const;
    bool isDeadEdge(const SceneEdge& edge) const;
    bool isRail(const SceneEdge& edge) const;

    const Scene& m_scene;
    const SceneIndex& m_index;
    LabelCache& m_labels;
    const CanvasState& m_state;
    bool m_highContrast;
    const Model* m_model;
};

/// Name as it is written: custom kinds plain (drawn in italics), unknown ones in quotes.
QString shownName(const SceneNode& node);
/// An orthogonal line with corners of `radius`, in pixels of `lens`.
QPainterPath roundedPath(const std::vector<Point>& points, const Lens& lens, double radius);
/// A 6-px arrow head with its tip at `tip`, coming from `from`.
void paintArrow(QPainter& painter, QPointF from, QPointF tip, const QColor& color, double scale);

} // namespace loopscope::viewer
