// The icons of the desktop, drawn in viewer/style/icons.svg: one <g> or <symbol> per id, 16-px grid, stroke in currentColor.
#pragma once

#include <QColor>
#include <QIcon>
#include <QPixmap>
#include <QString>

namespace loopscope::viewer {

/// Rendered once for each (id, size, colour, ratio). Unknown ids give a null pixmap.
QPixmap iconPixmap(const QString& id, int size, const QColor& color, double devicePixelRatio);
/// text2, accent when on, 38 % when disabled; drawn in the colours of the moment, so that a change of theme needs no new icon.
QIcon themedIcon(const QString& id);
QIcon applicationIcon();

} // namespace loopscope::viewer
