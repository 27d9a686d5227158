// The panel "Tensor": the selected value as table, heat map, image, histogram, plot, statistics, scales.
#pragma once

#include "viewer/widgets/panel.h"

namespace loopscope::viewer {

Panel* makeTensorPanel(Document& document);

} // namespace loopscope::viewer
