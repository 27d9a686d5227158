// The drawings are linked into a static library, whose resources must be asked for once.
#pragma once

namespace loopscope::viewer {

void loadStyleResources();

} // namespace loopscope::viewer
