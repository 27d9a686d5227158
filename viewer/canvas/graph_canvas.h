// The graph: one widget that draws a scene and follows pointer and keyboard. It knows a model and a scene, but no document: GraphPanel and
// the comparison connect it.
#pragma once

#include "viewer/canvas/loop_slider.h"
#include "viewer/canvas/scene_loader.h"
#include "viewer/canvas/scene_painter.h"
#include "viewer/canvas/tile_cache.h"

#include <QElapsedTimer>
#include <QHash>
#include <QJsonObject>
#include <QPixmap>
#include <QTimer>
#include <QWidget>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

class QLineEdit;
class QMenu;

namespace loopscope::viewer {

class Minimap;

/// What is written beside the selected node.
struct ValueCard {
    std::string address; ///< of the operator or the graph's input, without iterations
    QString title, type;
    QStringList lines;
    QString moment = {}; ///< of another one than the present stop: "@10", "≈ @10"
    bool operator==(const ValueCard&) const = default;
};

/// A call operator, as a node or as the head of its opened callee.
struct CallSite {
    std::string address; ///< static
    GraphId graph;       ///< that owns it
    OperatorId op;
};

/// Where the head of a region is on the screen: in the picture, or kept at the top of the view.
struct HeadPlace {
    int region = -1;
    Rect box; ///< × zoom − origin: pixels of the widget
    double zoom = 1;
    QPointF origin;
    bool isStuck = false; ///< away from its place in the picture
    Point at(QPointF point) const { return {(point.x() + origin.x()) / zoom, (point.y() + origin.y()) / zoom}; }
    QRectF onScreen(const Rect& part) const
    {
        return {part.x * zoom - origin.x(), part.y * zoom - origin.y(), part.width * zoom, part.height * zoom};
    }
};

class GraphCanvas : public QWidget {
    Q_OBJECT
public:
    using StateSource = std::function<CanvasState(const Scene&)>;

    explicit GraphCanvas(QWidget* parent = nullptr);
    ~GraphCanvas() override;

    // What is shown. ------------------------------------------------------------------------------------------------------------------
    void setBuilder(BuildScene builder) { m_loader.setBuilder(std::move(builder)); }
    /// Builds the view of `model`, which must outlive the canvas or the next setModel(). Null: empty.
    void setModel(const Model* model, const ViewState& view);
    /// Builds another view; the old picture stays until it is there. `anchor`: id of the node or region that stays where it is.
    void setView(const ViewState& view, const std::string& anchor = {});
    const ViewState& view() const { return m_view; }
    /// Shows a scene at once.
    void setScene(std::shared_ptr<const IndexedScene> scene);
    const Scene* scene() const { return m_scene ? m_scene->scene.get() : nullptr; }
    bool underMouseDrag() const { return m_drag != Drag::none; }
    bool isBuilding() const { return m_loader.isBusy(); }
    void cancelBuilding();

    /// Asked for every scene and on refreshState(); what changed is painted anew.
    void setStateSource(StateSource source);
    void refreshState();
    const CanvasState& state() const { return m_state; }
    void setCompareMarks(const QHash<QString, CompareMark>& marks); ///< by address
    void setHits(const QStringList& addresses);
    void setValueCard(const ValueCard& card);
    void setValues(const QHash<QString, QString>& values); ///< by node id, of what is in view: for level 4
    void setLegendShown(bool shown);
    void setMinimapShown(bool shown);
    /// Another slider scrubs a loop: its head shows that iteration. −1: none is scrubbed.
    void setScrubbed(const std::string& region, int64_t iteration);
    void setWheelZooms(bool zooms) { m_wheelZooms = zooms; } ///< without Ctrl; then Ctrl scrolls

    // Selection and place. ------------------------------------------------------------------------------------------------------------
    /// Static addresses (or ids of groups); the first is the current one.
    void select(const std::vector<std::string>& addresses);
    const std::vector<std::string>& selected() const { return m_selected; }
    int currentNode() const { return m_selectedNodes.empty() ? -1 : m_selectedNodes.front(); }
    /// Of an opened callee or group whose head is selected; −1: none.
    int currentRegion() const { return m_selectedRegion; }
    /// The call that is selected; none: something else is.
    std::optional<CallSite> currentCall() const;
    /// Brings a place into view, if it is not there; false if no picture holds it. Opens nothing.
    /// `readable`: a picture that is still fitted as a whole and too small for its words grows to full size.
    bool reveal(const std::string& address, bool center = false, bool readable = false);
    /// The view with all groups and calls open that hide `address`.
    ViewState viewShowing(const std::string& address) const;

    double zoom() const { return m_zoom; }
    int level() const { return m_level; }
    QPointF origin() const { return m_origin; } ///< scene × zoom at the widget's top left
    void setViewport(double zoom, QPointF origin);
    /// Whether somebody has put the picture where it is; else it follows the widget's size, or the run.
    bool isPlaced() const { return m_isPlaced; }
    void fit();
    /// The next picture is placed as a first one is, wherever the user was in this one.
    void startOver();
    void fitSelection();
    void zoomAt(QPointF point, double factor);
    QRectF nodeRect(int node) const; ///< in the widget
    QRectF inWidget(const Rect& area) const;
    QRectF sceneInView() const;
    Point toScene(QPointF point) const { return {(point.x() + m_origin.x()) / m_zoom, (point.y() + m_origin.y()) / m_zoom}; }
    int nodeAt(QPointF point) const;
    /// Where the head of a region is drawn and hit now.
    HeadPlace headPlace(int region) const;
    /// The cut edge whose chip is there, and whether that is the chip of its source; −1: none.
    std::pair<int, bool> portalAt(QPointF point) const;

    /// A command of the graph context of the keys; false: not one.
    bool command(const QString& id);
    /// Everything in view, with places, states and level of detail: what tests compare.
    Q_INVOKABLE QJsonObject describe() const;
    QString accessibleText(int node) const; ///< "tanh 15, next to run, breakpoint, input add 1, shape 2 by 4"
    std::vector<int> visibleNodes() const;
    void fillContextMenu(QMenu& menu, int node);
    /// Writes the whole graph at 100 percent; the ending chooses PNG, SVG or PDF. What went wrong, or nothing.
    QString exportPicture(const QString& file) const;

signals:
    void selectionEdited(); ///< by pointer or key
    void viewEdited();      ///< groups, options: view() is what is wanted now
    void openRequested(const loopscope::viewer::CallSite& site, loopscope::viewer::OpenCallee how);
    void openDefaultRequested(const loopscope::viewer::CallSite& site); ///< double click: as last time
    void upRequested();
    void breakpointRequested(const QString& address);
    void loopMoved(int region, qint64 iteration, bool isFinal);
    void loopDropped(); ///< the drag that loopMoved() told of ended without a choice
    void frameIterationChosen(int region, qint64 iteration);
    void commandRequested(const QString& id); ///< of the context menu, for the window
    void viewportChanged();
    void focused();
    void sceneChanged();
    void buildingChanged(bool building);
    void buildFailed(const QString& text);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    bool event(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    enum class Drag : uint8_t { none, pending, pan, rubber, zoomRange, slider };

    Lens lens() const { return {m_zoom, m_level, m_ratio}; }
    ScenePainter painterFor() const;
    void adopt(std::shared_ptr<const IndexedScene> scene);
    void editView(ViewState view, const std::string& anchor = {});
    QPointF anchorPlace(const IndexedScene& scene, const std::string& id, bool& found) const;
    void applyState(CanvasState state);
    void countHits();
    void resolveSelection();
    void setCurrent(int node, bool add = false);
    void selectRegion(int region);
    CallSite callOf(const SceneNode& node) const { return {node.id, node.graph, node.op}; }
    void setHover(int node, int edge);
    void dropDrag(); ///< whatever is dragged
    void invalidate(const Rect& area);
    void restyle();
    void placeFitted();
    void clampOrigin();
    void keepInView();
    void viewportMoved(); ///< what follows from another zoom, origin or size
    void placeMinimap();
    QRectF freeArea(bool besideMap) const; ///< without margins and legend, and without the map if asked
    bool showsAll() const;                 ///< no part of the graph lies outside of the widget

    // graph_canvas_heads.cpp
    void findNextNode(); ///< after every change of the state
    void updateStuckHeads();
    std::vector<int> regionsInFocus() const;
    std::optional<HeadPlace> headAt(QPointF point) const;
    LoopHead partsOf(const HeadPlace& head) const;
    bool isUnderStuckHead(QPointF point) const;
    double stuckBottom() const; ///< pixels from the top that they cover
    void paintStuckHeads(QPainter& painter);

    // graph_canvas_paint.cpp
    void paintTiles(QPainter& painter, const QRect& dirty);
    void paintStillInto(QPainter& painter, const Rect& area);
    void paintEmphasis(QPainter& painter);
    void paintTokens(QPainter& painter, ScenePainter& scene);
    void paintHits(QPainter& painter);
    void paintLegend(QPainter& painter);
    void paintCards(QPainter& painter);
    void paintCard(QPainter& painter, const QRectF& box, const QString& title, const QString& type);
    QRectF placeCard(const QRectF& node, QSizeF size) const;
    struct CardRow {
        QString name, text;
        std::string target; ///< id of what a click selects; empty: nothing
    };
    std::vector<CardRow> bindingRows(const SceneRegion& loop, size_t which, int subject) const;
    std::pair<int, size_t> bindingOf(int node) const; ///< region and loop variable of a pill; −1: none
    std::vector<int> emphasizedEdges(bool selected) const;

    // graph_canvas_commands.cpp
    void walk(int key);
    void stepNode(int by);
    void follow(bool toConsumer);
    void goToNode(int node);
    bool showEnds(int edge, QPointF at);
    int portalOf(int node) const;
    void editIteration(int region);
    void traceNext();
    bool toggleGroup(int node, bool open);
    bool collapseRegion(int region);
    int regionUnderCurrent() const;
    int firstNodeOf(int region) const;
    QString cardLinkAt(QPointF point) const;

    SceneLoader m_loader;
    const Model* m_model = nullptr;
    ViewState m_view;
    std::shared_ptr<const IndexedScene> m_scene;
    std::string m_anchor;
    StateSource m_source;
    CanvasState m_state;
    QHash<QString, CompareMark> m_compareMarks;
    std::vector<std::string> m_hitAddresses;
    std::map<int, int> m_hits, m_regionHits; ///< node, opened group → hits in it
    /// Cut edge → hits among the ends that its source's chip stands for, and at its source.
    std::map<int, std::pair<int, int>> m_portalHits;
    ValueCard m_valueCard;
    QHash<QString, QString> m_values;
    mutable LabelCache m_labels;
    TextMeasure m_measure;

    double m_zoom = 1;
    int m_level = 3;
    QPointF m_origin;
    int m_nextNode = -1;                 ///< that runs next, or failed
    std::vector<HeadPlace> m_stuckHeads; ///< outermost first
    bool m_isFitted = true;              ///< follows the widget's size until the user moves
    bool m_isPlaced = false;
    bool m_fitsWhole = false; ///< however small that is; else a large graph opens readable at its top
    TileCache m_tiles;
    double m_ratio = 1; ///< of what is painted on: the screen, or the picture of a screenshot
    QElapsedTimer m_sinceZoom;
    QTimer m_busyDelay;
    double m_progress = -1; ///< < 0: not shown

    std::vector<std::string> m_selected;
    std::vector<int> m_selectedNodes;
    int m_selectedRegion = -1;
    int m_hoverNode = -1, m_hoverEdge = -1;
    int m_selectedEdge = -1;
    std::set<int> m_traced;
    int m_traceMode = 0; ///< 0 off, 1 up, 2 down
    std::string m_consumerFrom;
    size_t m_consumerIndex = 0;

    Drag m_drag = Drag::none;
    QPointF m_pressed, m_dragTo, m_originAtPress;
    bool m_addAtPress = false;
    int64_t draggedIteration(int region) const; ///< that a slider shows; −1: that of the state
    int m_sliderRegion = -1;
    std::string m_scrubbed; ///< id of a region
    int64_t m_scrubbedTo = -1;
    int64_t m_sliderIteration = -1, m_sliderAnchor = 0;
    double m_sliderAnchorX = 0;
    bool m_wheelZooms = false, m_legend = false, m_minimapShown = true, m_keyboardFocus = false;
    QLineEdit* m_iterationField = nullptr; ///< over the head that is edited
    QRectF m_cardBox;
    mutable std::vector<std::pair<QRectF, std::string>> m_cardLinks;
    Minimap* m_minimap = nullptr;
};

} // namespace loopscope::viewer
