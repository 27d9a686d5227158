// The panel "Timeline": lanes over the run, the loop slider, the iteration field.
#pragma once

#include "viewer/widgets/panel.h"

namespace loopscope::viewer {

/// Owned by the caller (or its later parent).
Panel* makeTimelinePanel(Document& document);

} // namespace loopscope::viewer
