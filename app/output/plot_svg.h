// Small line plots as SVG text: a value over the iterations of a loop, for pages that need nothing beside them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace loopscope::app {

/// One curve.
struct Plot {
    std::string heading;
    std::vector<double> points;     ///< a NaN is drawn as a mark at the lower edge, an infinity is a gap
    std::vector<std::string> words; ///< where the points are not numbers but words: their index here
    std::string from, to;           ///< below the first and the last point
};

/// Of any number of points the extremes of each column of pixels are drawn, so that no peak is lost.
std::string plotSvg(const Plot& plot);

} // namespace loopscope::app
