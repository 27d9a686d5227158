// Text of the canvas: measured for the layout on any thread, shaped once for each string and drawn at its device size.
#pragma once

#include "viewer/scene/scene.h"

#include <QFont>
#include <QGlyphRun>
#include <QHash>
#include <QPainter>
#include <QString>

namespace loopscope::viewer {

/// The faces of the canvas; `pill` and `group` are bold.
enum class Face : uint8_t { name, index, mono, monoSmall, head, pill, group, italic, monoItalic };

/// Widths in the fonts of the moment; may be called on any thread at the same time. Follows no change of text size: ask for a new one.
TextMeasure fontTextMeasure();

/// A string with its glyphs, at a fixed size that painters scale.
struct Label {
    QList<QGlyphRun> runs;
    double width = 0;  ///< logical pixels at zoom 1
    double ascent = 0; ///< of the face: baseline below the top
    double height = 0;
    bool isElided = false;
};

/// Shapes strings once. GUI thread.
class LabelCache {
public:
    /// The whole text, or with its middle cut out if it is wider than `room` (≤ 0: any width). A value that shares its glyphs: painters
    /// hold several at once, and the next one may move or clear what is kept here.
    Label label(const QString& text, Face face, double room = 0);
    double width(const QString& text, Face face) { return label(text, face).width; }
    void clear() { m_labels.clear(); }

private:
    QHash<QString, Label> m_labels;
};

/// Draws `scale` times as large with the baseline's left end at `at`. The transform of `painter` must be a scaling and a translation.
void drawLabel(QPainter& painter, const Label& label, QPointF at, const QColor& color, double scale = 1);
/// Vertically centred in `box`.
void drawLabelIn(QPainter& painter, const Label& label, const QRectF& box, Qt::Alignment alignment, const QColor& color, double scale = 1);

} // namespace loopscope::viewer
