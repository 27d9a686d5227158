// The whole graph in a corner; dragging its frame pans the canvas.
#pragma once

#include "viewer/canvas/scene_index.h"

#include <QPixmap>
#include <QWidget>

namespace loopscope::viewer {

class GraphCanvas;

class Minimap : public QWidget {
    Q_OBJECT
public:
    explicit Minimap(GraphCanvas& canvas);
    /// Sizes itself after the graph: 96 × 230 at most, or 92 × 34 beside a wide one.
    void setScene(const Scene* scene);
    void repaintScene();
    void markNode(int node);
    bool isTall() const;
    /// Into the corner where it lay, unless it would hide the head of a loop or branch there and hides less of them in the other one.
    void place();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;

private:
    void goTo(QPointF point);
    double scale() const;
    QPointF offset() const;

    GraphCanvas& m_canvas;
    const Scene* m_scene = nullptr;
    QPixmap m_picture;
    int m_node = -1;
    bool m_isAtBottom = false;
};

} // namespace loopscope::viewer
