// The whole graph as a picture file, as it is drawn at 100 percent.
#pragma once

#include <QString>

namespace loopscope::viewer {

struct CanvasPicture;

/// The ending chooses PNG, SVG or PDF. What went wrong, or nothing.
QString exportPicture(const CanvasPicture& picture, const QString& file);

} // namespace loopscope::viewer
