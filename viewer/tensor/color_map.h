// Values to colours: sequential dark blue → teal → yellow with monotone lightness, diverging blue → neutral → orange around the side of
// the theme's surface. Numbers only; painters turn them into pixels.
#pragma once

#include <cstdint>

namespace loopscope::viewer {

enum class MapKind : uint8_t { sequential, diverging };

/// How the colour range of a view is found.
enum class RangeMode : uint8_t {
    automatic,
    symmetric,
    robust,
    typed,
    shared, ///< with the pinned values
};

struct ValueRange {
    double low = 0, high = 1;
    bool isEmpty() const { return !(low < high); }
};

/// 0xffRRGGBB. `at`: 0 = low end, 1 = high end, clamped. `surface`: the colour between the two ends of a diverging map.
uint32_t mapColor(MapKind kind, double at, uint32_t surface);
/// Where a value lies in a range, 0 to 1; an empty range gives 0.5.
inline double placeIn(const ValueRange& range, double value)
{
    return range.isEmpty() ? 0.5 : (value - range.low) / (range.high - range.low);
}
/// WCAG relative luminance of 0xffRRGGBB.
double luminance(uint32_t color);

} // namespace loopscope::viewer
