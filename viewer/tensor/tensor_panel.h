// The panel "Tensor": the selected value as table, heat map, image, histogram, plot, statistics, scales.
#pragma once

#include "viewer/widgets/panel.h"

#include <functional>

namespace loopscope::viewer {

Panel* makeTensorPanel(Document& document);

/// In which modes a tensor panel shows values, by dtype and rank, as it was left by `changed`. Entries that it does not know are kept.
void keepTensorModes(Panel& tensorPanel, const QJsonObject& modes, std::function<void(const QJsonObject&)> changed);

} // namespace loopscope::viewer
