// Where a canvas stands in its picture: zoom, level of detail and place, and how both follow from a picture, a size or a wish.
#pragma once

#include "viewer/canvas/canvas_picture.h"

#include <QObject>
#include <QPointF>
#include <QRectF>
#include <QWidget>

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace loopscope::viewer {

class Camera : public QObject {
    Q_OBJECT
public:
    /// Looks at `picture` through `view`, the widget that shows it; both outlive the camera.
    Camera(const CanvasPicture& picture, const QWidget& view) : m_picture(picture), m_view(view) {}

    double zoom() const { return m_zoom; }
    int level() const { return m_level; }
    QPointF origin() const { return m_origin; } ///< scene × zoom at the widget's top left
    Lens lens() const { return {m_zoom, m_level, m_ratio}; }
    /// Of what is painted on: the screen, or the picture of a screenshot. False: it is the same as before.
    bool setRatio(double ratio);
    double ratio() const { return m_ratio; }

    void setViewport(double zoom, QPointF origin);
    void zoomAt(QPointF point, double factor);
    /// The whole graph, however small that is.
    void fit();
    /// These nodes, as large as reads well; all of them: the whole graph.
    void fitNodes(std::span<const int> nodes);
    /// As a first picture is placed: the whole graph while its names can be read, else its beginning.
    void placeFirst();
    /// The next picture is placed as a first one is, wherever the user was in this one.
    void startOver();
    /// Whether somebody has put the picture where it is; else it follows the widget's size, or the run.
    bool isPlaced() const { return m_isPlaced; }
    /// Follows the widget's size until the user moves.
    bool isFitted() const { return m_isFitted; }
    /// Another picture, which may begin elsewhere: `origin` holds what the user looked at.
    void adopt(QPointF origin);
    void resized(QSize before);
    /// Brings a part of the picture into view, if it is not there. `covered`: pixels at the top that something lies over. `readable`: a
    /// picture that is still fitted as a whole and too small for its words grows to full size. False: it stays where it is.
    bool bring(const Rect& part, double covered, bool center, bool readable);

    QRectF inWidget(const Rect& area) const;
    QRectF nodeRect(int node) const { return inWidget(m_picture.node(node).rect); }
    QRectF sceneInView() const;
    Point toScene(QPointF point) const { return {(point.x() + m_origin.x()) / m_zoom, (point.y() + m_origin.y()) / m_zoom}; }
    std::vector<int> visibleNodes() const;
    bool showsAll() const; ///< no part of the graph lies outside of the widget
    int width() const { return m_view.width(); }
    int height() const { return m_view.height(); }
    QRectF rect() const { return m_view.rect(); }

    /// Pixels at the right that the legend and the map of the graph lie over.
    void reserve(QSizeF legend, double map);
    /// Without margins and legend, and without the map if asked.
    QRectF freeArea(bool besideMap) const;

signals:
    void zoomed(bool byHand); ///< before moved()
    void moved();             ///< zoom, place or size

private:
    /// What was brought into view last, and whether the picture grew for it.
    struct Brought {
        Rect part;
        bool grows = false, isCentered = false;
    };
    void come(const Brought& brought);
    std::pair<double, QPointF> placedIn(const QRectF& area) const;
    void settle(const std::pair<double, QPointF>& place);
    bool liesUnderLegend(QPointF origin, double zoom) const;
    void clampOrigin();
    void keepInView();

    const CanvasPicture& m_picture;
    const QWidget& m_view;
    double m_zoom = 1;
    int m_level = 3;
    QPointF m_origin;
    double m_ratio = 1;
    double m_legend = 0, m_legendHeight = 0, m_map = 0;
    bool m_isFitted = true, m_isPlaced = false;
    std::optional<Brought> m_brought; ///< since the picture was fitted
    bool m_fitsWhole = false;         ///< however small that is; else a large graph opens readable at its top
};

} // namespace loopscope::viewer
