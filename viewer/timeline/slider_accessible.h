// Timeline and loop slider to a screen reader: sliders whose value text says iteration and step.
#pragma once

namespace loopscope::viewer {

/// Installs the factory once.
void installSliderAccessibility();

} // namespace loopscope::viewer
