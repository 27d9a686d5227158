// The panels of a TensorFlow 1 graph that runs: frames with their iterations, what can run and what waits, the operator in view.
#pragma once

#include "viewer/widgets/panel.h"

namespace loopscope::viewer {

Panel* makeFramesPanel(Document& document);   ///< panelFrames
Panel* makeTokensPanel(Document& document);   ///< panelTokens
Panel* makeOperatorPanel(Document& document); ///< panelOperator

} // namespace loopscope::viewer
