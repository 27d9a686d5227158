// CIEDE2000 and simulated colour vision, to check that families can be told apart.
#pragma once

#include <QRgb>

namespace loopscope::viewer {

enum class Vision { normal, protan, deutan, tritan };

/// What somebody without one kind of cone sees: Machado, Oliveira, Fernandes (2009), severity 1.0, in linear RGB.
QRgb simulated(QRgb color, Vision vision);
/// CIEDE2000 between two sRGB colours under D65 (Sharma, Wu, Dalal 2005).
double colorDifference(QRgb a, QRgb b);

} // namespace loopscope::viewer
