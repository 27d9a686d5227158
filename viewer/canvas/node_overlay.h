// Figures over operators: how long they took, how healthy their results were, or what a file of Model Explorer's node data says. Made of
// plain values, painted over the picture, with a scale that says what the colours mean.
#pragma once

#include "engine/base/result.h"
#include "engine/ir/model.h"
#include "viewer/bridge/measuring.h"
#include "viewer/canvas/camera.h"

#include <QByteArray>
#include <QColor>
#include <QJsonObject>
#include <QString>

#include <map>
#include <optional>
#include <span>
#include <utility>

class QPainter;

namespace loopscope::viewer {

struct OverlayValue {
    double place = 0;     ///< on the scale, 0 to 1
    QString text;         ///< "1.2 ms"
    QColor color;         ///< invalid: that of its place
    bool isWrong = false; ///< in the colour of errors, whatever its place
};

struct NodeOverlay {
    QString title;                                              ///< "time per operator"
    QString low, high;                                          ///< ends of the scale; empty: it has none
    std::map<std::pair<int64_t, int64_t>, OverlayValue> values; ///< by graph and operator

    const OverlayValue* find(GraphId graph, OperatorId op) const;
    /// Of a group the highest of its members; null: nothing is known of it.
    const OverlayValue* find(const SceneNode& node) const;
};

NodeOverlay timeOverlay(std::span<const OperatorFigure> figures);
/// NaN and infinities are wrong; results of zeros only stand high.
NodeOverlay healthOverlay(std::span<const OperatorFigure> figures);
/// `{"results": {KEY: {"value": 1.5}}, "thresholds": […], "gradient": […]}`, also one level down by graph. KEY: an operator's index in the
/// first graph, its name, the name of a result, or its address. Errors: badFile.
Result<NodeOverlay> nodeDataOverlay(const QByteArray& json, const QString& name, const Model& model);

/// What is in view, below what the canvas writes over it.
void paintOverlay(QPainter& painter, const CanvasPicture& picture, const Camera& camera, const NodeOverlay& overlay);
/// {"title": …, "values": {"main/add#1": "1.2 ms"}} of what is drawn.
QJsonObject describeOverlay(const CanvasPicture& picture, const NodeOverlay& overlay);

} // namespace loopscope::viewer
