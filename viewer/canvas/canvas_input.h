// Pointer and keyboard on a canvas: what a press, a drag, a wheel or a key means there.
#pragma once

#include "viewer/canvas/canvas_heads.h"

#include <QObject>
#include <QPointF>
#include <QRectF>

#include <optional>

class QContextMenuEvent;
class QHelpEvent;
class QKeyEvent;
class QLineEdit;
class QMouseEvent;
class QWheelEvent;

namespace loopscope::viewer {

class GraphCanvas;

class CanvasInput : public QObject {
    Q_OBJECT
public:
    explicit CanvasInput(GraphCanvas& canvas);

    bool isDragging() const { return m_drag != Drag::none; }
    void dropDrag(); ///< whatever is dragged
    /// The rectangle that is drawn with the pointer; none: no such drag is on.
    std::optional<QRectF> band() const;
    bool bandZooms() const { return m_drag == Drag::zoomRange; } ///< else it selects
    void hideField();
    void setWheelZooms(bool zooms) { m_wheelZooms = zooms; } ///< without Ctrl; then Ctrl scrolls

signals:
    /// The slider of a loop, or the number in its head.
    void loopMoved(int region, qint64 iteration, bool isFinal);
    void loopDropped(); ///< the drag that loopMoved() told of ended without a choice
    void frameIterationChosen(int region, qint64 iteration);
    void focused();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    enum class Drag : uint8_t { none, pending, pan, rubber, zoomRange, slider };

    void press(const QMouseEvent& event);
    bool pressHead(const PlacedHead& place, const QMouseEvent& event);
    void pressNode(int node, const QMouseEvent& event);
    void move(const QMouseEvent& event);
    QString questionAt(QPointF point) const;
    void hover(QPointF point);
    void dragSlider(QPoint onScreen);
    void release(const QMouseEvent& event);
    void click(QPointF point);
    void selectIn(const QRectF& box);
    void zoomTo(const QRectF& box);
    void doubleClick(const QMouseEvent& event);
    void wheel(QWheelEvent& event);
    bool wheelOverSlider(const QWheelEvent& event);
    bool key(const QKeyEvent& event);
    void showTip(const QHelpEvent& event);
    void showMenu(const QContextMenuEvent& event);
    void editIteration(const PlacedHead& place);

    GraphCanvas& m_canvas;
    const CanvasPicture& m_picture;
    Drag m_drag = Drag::none;
    QPointF m_pressed, m_dragTo, m_originAtPress;
    bool m_addAtPress = false, m_wheelZooms = false;
    int m_sliderRegion = -1;
    int64_t m_sliderAnchor = 0;
    double m_sliderAnchorX = 0;
    QLineEdit* m_field = nullptr; ///< over the head whose iteration is typed
};

} // namespace loopscope::viewer
