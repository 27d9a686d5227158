// What screen readers see of the error strip: one child for each row in view, with its measure in words.
#pragma once

namespace loopscope::viewer {

/// Once; safe to repeat.
void installStripAccessibility();

} // namespace loopscope::viewer
