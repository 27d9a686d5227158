// One frame of a canvas: tiles of the still picture, what is emphasised over it, and what does not move with the graph.
#pragma once

#include "viewer/canvas/canvas_cards.h"
#include "viewer/canvas/search_marks.h"
#include "viewer/canvas/tile_cache.h"

#include <QElapsedTimer>

namespace loopscope::viewer {

class CanvasFrame {
public:
    CanvasFrame(const CanvasPicture& picture, Camera& camera, const CanvasSelection& selection, const CanvasHeads& heads,
                const SearchMarks& hits)
        : m_picture(picture),
          m_camera(camera),
          m_selection(selection),
          m_heads(heads),
          m_hits(hits)
    {
    }

    /// The whole picture is painted anew. `byHand`: the zoom moves on, so that tiles would be thrown away unused for a while.
    void restart(bool byHand = false);
    /// Paints a part of the scene anew; the pixels of the widget that this concerns.
    QRect drop(const Rect& area);
    /// The graph with what is emphasised and marked, and heads at the top. `cards`: beside a node that has one is no room for its value.
    void paint(QPainter& painter, const QRect& dirty, const CanvasCards& cards);

private:
    void paintTiles(QPainter& painter, const QRect& dirty);
    void paintStill(QPainter& painter, const QRectF& area) const;
    void paintEmphasis(QPainter& painter, bool hasCard) const;
    void paintRails(QPainter& painter, ScenePainter& scene) const;
    void paintSelectedHead(QPainter& painter) const;
    void paintTokens(QPainter& painter) const;

    const CanvasPicture& m_picture;
    Camera& m_camera;
    const CanvasSelection& m_selection;
    const CanvasHeads& m_heads;
    const SearchMarks& m_hits;
    TileCache m_tiles;
    QElapsedTimer m_sinceZoom;
};

} // namespace loopscope::viewer
