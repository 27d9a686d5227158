// What the colours of operators mean and how many there are of each, over a corner of a graph; below it, how many hits a search has.
#pragma once

#include "viewer/canvas/camera.h"
#include "viewer/canvas/canvas_heads.h"
#include "viewer/canvas/search_marks.h"

#include <functional>
#include <utility>

namespace loopscope::viewer {

/// How much a card over a graph hides of it, in pixels; heads count more: they have what one presses.
double hiddenBy(const QRectF& card, const CanvasPicture& picture, const Camera& camera, const CanvasHeads& heads);

class Legend {
public:
    Legend(const CanvasPicture& picture, const Camera& camera, const CanvasHeads& heads, const SearchMarks& hits,
           std::function<void()> shownOrHidden)
        : m_picture(picture),
          m_camera(camera),
          m_heads(heads),
          m_hits(hits),
          m_shownOrHidden(std::move(shownOrHidden))
    {
    }

    void setShown(bool shown);
    /// Where it lies, in pixels of the canvas; empty: it is not shown, or the graph needs the room.
    QRectF rect() const;
    /// To the right again, or beside the map that begins at `x`.
    void setRight(double x);
    /// Into the other corner at the top if it hides clearly less there, so that it does not jump to and fro while one moves. True: it
    /// moved.
    bool place();
    void paint(QPainter& painter) const;

private:
    void paintHits(QPainter& painter, const QRectF& note) const;

    const CanvasPicture& m_picture;
    const Camera& m_camera;
    const CanvasHeads& m_heads;
    const SearchMarks& m_hits;
    std::function<void()> m_shownOrHidden;
    double m_right = 0;
    bool m_shown = false, m_isAtLeft = false;
};

} // namespace loopscope::viewer
