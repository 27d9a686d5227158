// Heads of regions on the screen: in their place, or, where the region reaches beyond the view's top, stacked there, so that field, slider
// and condition of a loop can be used while its body is looked at.
#pragma once

#include "viewer/canvas/camera.h"
#include "viewer/canvas/loop_head.h"

#include <optional>
#include <string>
#include <vector>

namespace loopscope::viewer {

/// Where the head of a region is on the screen: in the picture, or kept at the top of the view.
struct PlacedHead {
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

class CanvasHeads {
public:
    CanvasHeads(const CanvasPicture& picture, const Camera& camera) : m_picture(picture), m_camera(camera) {}

    /// After every change of the state: the operator that runs next, or failed, decides which regions matter.
    void findNext();
    /// After every change of place. `mapShown`: the map of the graph lies at the right. False: no head was or is out of its place.
    bool place(bool mapShown);
    void clear() { m_stuck.clear(); }

    const std::vector<PlacedHead>& stuck() const { return m_stuck; }
    /// Where the head of a region is drawn and hit now.
    PlacedHead of(int region) const;
    std::optional<PlacedHead> at(QPointF point) const;
    LoopHead partsOf(const PlacedHead& head) const;
    /// A head that is out of its place covers what lies there.
    bool covers(QPointF point) const;
    double bottom() const; ///< pixels from the top that they cover
    void paint(QPainter& painter, int selectedRegion) const;

    /// The slider of a head is dragged to an iteration; −1: none is.
    void drag(int region, int64_t iteration);
    int64_t draggedTo() const { return m_dragIteration; }
    /// Another slider scrubs a loop: its head shows that iteration. −1: none is scrubbed.
    void setScrubbed(const std::string& region, int64_t iteration);
    /// The iteration that a head shows instead of the state's; −1: that of the state.
    int64_t iterationIn(int region) const;

private:
    std::vector<int> regionsInFocus() const;
    std::vector<int> covered(const std::vector<int>& regions, double scale) const;

    const CanvasPicture& m_picture;
    const Camera& m_camera;
    int m_nextNode = -1;
    std::vector<PlacedHead> m_stuck; ///< outermost first
    int m_dragRegion = -1;
    int64_t m_dragIteration = -1;
    std::string m_scrubbed; ///< id of a region
    int64_t m_scrubbedTo = -1;
};

} // namespace loopscope::viewer
