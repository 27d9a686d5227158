// Going from node to node: along the flow, beside it, in listing order, through cut edges.
#pragma once

#include <QObject>
#include <QPointF>

#include <string>

namespace loopscope::viewer {

class GraphCanvas;
struct CanvasPicture;

class CanvasWalk : public QObject {
    Q_OBJECT
public:
    explicit CanvasWalk(GraphCanvas& canvas);

    /// To the neighbour in a direction: Qt::Key_Up, …
    void walk(int key);
    /// The next or previous one in listing order.
    void step(int by);
    /// To the producer, or the consumers one after the other.
    void follow(bool toConsumer);
    void goTo(int node);
    /// A cut edge that begins or ends at a node; −1: none.
    int portalOf(int node) const;
    /// All ends of the value that a cut edge carries, to choose from. False: there are only two.
    bool showEnds(int edge, QPointF at);

private:
    int alongFlow(int node, bool down) const;
    int beside(int node, bool right) const;
    int firstNodeOf(int region) const;
    void arriveAt(int node);

    GraphCanvas& m_canvas;
    const CanvasPicture& m_picture;
    std::string m_consumerFrom;
    size_t m_consumerIndex = 0;
};

} // namespace loopscope::viewer
