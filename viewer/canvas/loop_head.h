// The head of a loop: where the iteration field, the slider and the condition chip are, and which iteration a point of the slider means.
#pragma once

#include "viewer/canvas/canvas_state.h"
#include "viewer/canvas/labels.h"

#include <QRectF>
#include <QString>

#include <vector>

namespace loopscope::viewer {

/// In the coordinates of its box. Parts that do not fit are empty, from the right: condition, "of 48", slider.
struct LoopHead {
    double nameX = 0; ///< of the region's name
    double nameRoom = 0;
    QString caption; ///< "iteration", "show iteration"
    double captionX = 0;
    Rect field;    ///< of the iteration's number
    QString total; ///< "of 48", "of ?", "of 48, last run"
    double totalX = 0;
    Rect slider; ///< where it can be grabbed; the track runs along its middle
    Rect condition;
    QString conditionText;   ///< "cond 3 ops"
    std::vector<Rect> chips; ///< v1: one for each of RegionState::chips
    QString note;            ///< what follows the chips
    double noteX = 0;
    Rect why;        ///< of a side that was taken or not: asks why
    QString whyText; ///< "why?", "?"
    bool isEmpty() const { return field.width == 0 && chips.empty(); }
};

/// What is written first in a head: "while", "frame NAME".
QString headName(const SceneRegion& region);
/// `box`: where the head is drawn, its own place or another one.
LoopHead layOutHead(const SceneRegion& region, const Rect& box, const RegionState& state, LabelCache& labels);

/// The last iteration that the slider reaches: of `trips` the last one, else the present one.
int64_t lastIteration(const RegionState& state);
/// Where the end is not known, the last tenth of the track stays free: it is hatched, and dragging into it runs on.
double shareOfKnown(const RegionState& state);
/// Along the track, 0 to 1.
double sliderPosition(const RegionState& state, int64_t iteration);
/// The iteration under `x`. Far from the bar (`away` pixels) dragging is finer: the way from where the knob was counts a tenth, then a
/// thousandth, once there are more iterations than pixels.
int64_t iterationAt(const LoopHead& head, const RegionState& state, double x, double away, double anchorX, int64_t anchor);
/// "1/10", "1/1000", empty.
QString sliderPace(const LoopHead& head, const RegionState& state, double away);

} // namespace loopscope::viewer
