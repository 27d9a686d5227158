// The graph: one widget that draws a scene and follows pointer and keyboard. It knows a model and a scene, but no document: GraphPanel and
// the comparison connect it. Its parts are classes of their own; it holds them together and tells others what happens.
#pragma once

#include "viewer/canvas/camera.h"
#include "viewer/canvas/canvas_cards.h"
#include "viewer/canvas/canvas_commands.h"
#include "viewer/canvas/canvas_frame.h"
#include "viewer/canvas/canvas_heads.h"
#include "viewer/canvas/canvas_input.h"
#include "viewer/canvas/canvas_picture.h"
#include "viewer/canvas/canvas_selection.h"
#include "viewer/canvas/canvas_walk.h"
#include "viewer/canvas/legend.h"
#include "viewer/canvas/scene_loader.h"
#include "viewer/canvas/search_marks.h"

#include <QHash>
#include <QJsonObject>
#include <QTimer>
#include <QWidget>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace loopscope::viewer {

class Minimap;

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
    /// The user wants another view.
    void editView(const ViewState& view, const std::string& anchor = {});
    const ViewState& view() const { return m_picture.view; }
    /// The view with all groups and calls open that hide `address`.
    ViewState viewShowing(const std::string& address) const;
    /// Shows a scene at once.
    void setScene(std::shared_ptr<const IndexedScene> scene);
    const Scene* scene() const { return m_picture.scene(); }
    const CanvasPicture& picture() const { return m_picture; }
    bool isBuilding() const { return m_loader.isBusy(); }
    void cancelBuilding();

    /// Asked for every scene and on refreshState(); what changed is painted anew.
    void setStateSource(StateSource source);
    void refreshState();
    const CanvasState& state() const { return m_picture.state; }
    void setCompareMarks(const QHash<QString, CompareMark>& marks); ///< by address
    void setHits(const QStringList& addresses);
    /// By node id, of what is in view: texts for level 4, and "NaN" or "Inf" where a result holds one.
    void setValues(const QHash<QString, QString>& values, const QHash<QString, QString>& abnormal = {});
    Legend& legend() { return m_legend; }
    void setMinimapShown(bool shown);
    bool isMinimapShown() const { return m_minimapShown; }
    /// Another slider scrubs a loop: its head shows that iteration. −1: none is scrubbed.
    void setScrubbed(const std::string& region, int64_t iteration);

    // Its parts. ----------------------------------------------------------------------------------------------------------------------
    Camera& camera() { return m_camera; }
    const Camera& camera() const { return m_camera; }
    CanvasSelection& selection() { return m_selection; }
    const CanvasSelection& selection() const { return m_selection; }
    CanvasHeads& heads() { return m_heads; }
    const CanvasHeads& heads() const { return m_heads; }
    const SearchMarks& hits() const { return m_hits; }
    CanvasCards& cards() { return m_cards; }
    const CanvasCards& cards() const { return m_cards; }
    CanvasCommands& commands() { return m_commands; }
    CanvasWalk& ways() { return m_walk; }
    CanvasInput& input() { return m_input; }

    /// Brings a place into view, if it is not there; false if no picture holds it. Opens nothing.
    /// `readable`: a picture that is still fitted as a whole and too small for its words grows to full size.
    bool reveal(const std::string& address, bool center = false, bool readable = false);
    int nodeAt(QPointF point) const;
    /// The cut edge whose chip is there, and whether that is the chip of its source; −1: none.
    std::pair<int, bool> portalAt(QPointF point) const;
    /// describeCanvas(), for tests that reach the window by its meta objects.
    Q_INVOKABLE QJsonObject describe() const;

signals:
    void viewEdited(); ///< groups, options: view() is what is wanted now
    void openRequested(const loopscope::viewer::CallSite& site, loopscope::viewer::OpenCallee how);
    void openDefaultRequested(const loopscope::viewer::CallSite& site); ///< double click: as last time
    void upRequested();
    void breakpointRequested(const QString& address);
    void commandRequested(const QString& id); ///< of the context menu, for the window
    void viewportChanged();
    void sceneChanged();
    void buildingChanged(bool building);
    void buildFailed(const QString& text);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void connectLoader();
    void build();
    void adopt(std::shared_ptr<const IndexedScene> scene);
    void applyState(CanvasState state);
    void invalidate(const Rect& area);
    void restyle();
    void reserveRoom();
    void placeOverlays();
    void followCamera();

    CanvasPicture m_picture;
    Camera m_camera;
    CanvasSelection m_selection;
    CanvasHeads m_heads;
    SearchMarks m_hits;
    CanvasCards m_cards;
    CanvasFrame m_frame;
    Legend m_legend;
    CanvasWalk m_walk;
    CanvasCommands m_commands;
    CanvasInput m_input;
    SceneLoader m_loader;
    std::string m_anchor;
    StateSource m_source;
    QHash<QString, CompareMark> m_compareMarks;
    TextMeasure m_measure;
    QTimer m_busyDelay;
    double m_progress = -1; ///< < 0: not shown
    bool m_minimapShown = true;
    Minimap* m_minimap = nullptr;
};

} // namespace loopscope::viewer
