// Marks of what a run did to values, on operators and on the lines between them: NaN and where it flows, the operands of an operator that
// failed, how long what a line waits for took. A mark is also where one asks about it.
#pragma once

#include "viewer/canvas/camera.h"
#include "viewer/canvas/node_overlay.h"

#include <QJsonArray>
#include <QRectF>
#include <QString>

#include <optional>
#include <string>
#include <vector>

class QPainter;

namespace loopscope::viewer {

struct ValueMark {
    enum class Kind : uint8_t { abnormal, failed, time } kind = Kind::abnormal;
    int node = -1;    ///< that gave the value
    int edge = -1;    ///< along which it flows; −1: the mark of the operator itself
    QString word;     ///< "NaN", "f32[2,3]", "1.2 ms"; empty: the line alone is marked
    QRectF box;       ///< of the word, in pixels of the widget; empty: there is no room for it
    double place = 0; ///< of times: on their scale
};

/// Of what is in view. `overlay`: figures that are shown, null: none.
std::vector<ValueMark> valueMarks(const CanvasPicture& picture, const Camera& camera, const NodeOverlay* overlay);
void paintValueMarks(QPainter& painter, const CanvasPicture& picture, const Camera& camera, const NodeOverlay* overlay);
/// The question of a mark there, as a command of the canvas: "whyNaN ID", "whoWrote ID"; empty: there is none.
QString questionOfMark(const CanvasPicture& picture, const Camera& camera, QPointF point);
/// [{"from": …, "to": …, "mark": "NaN", "word": …, "rect": […]}] of lines.
QJsonArray describeEdgeMarks(const CanvasPicture& picture, const Camera& camera, const NodeOverlay* overlay);

} // namespace loopscope::viewer
