#include "viewer/tensor/color_map.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace loopscope::viewer {

namespace {

struct Color {
    double r, g, b;
};

// Lightness rises by about the same amount from stop to stop.
constexpr std::array<Color, 6> kSequential = {
    {{13, 20, 58}, {28, 66, 130}, {25, 112, 145}, {52, 152, 130}, {140, 190, 90}, {249, 223, 96}}};
constexpr Color kBlue = {10, 78, 160}, kOrange = {176, 74, 8};

Color between(const Color& a, const Color& b, double t) { return {a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t}; }

uint32_t pack(const Color& c)
{
    const auto byte = [](double v) { return static_cast<uint32_t>(std::clamp(std::lround(v), 0L, 255L)); };
    return 0xff000000U | byte(c.r) << 16 | byte(c.g) << 8 | byte(c.b);
}

} // namespace

double luminance(uint32_t color)
{
    const auto channel = [](uint32_t byte) {
        const double v = byte / 255.0;
        return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * channel(color >> 16 & 255) + 0.7152 * channel(color >> 8 & 255) + 0.0722 * channel(color & 255);
}

uint32_t mapColor(MapKind kind, double at, uint32_t surface)
{
    const double t = std::clamp(std::isnan(at) ? 0.0 : at, 0.0, 1.0);
    if (kind == MapKind::sequential) {
        const double place = t * static_cast<double>(kSequential.size() - 1);
        const auto stop = std::min(static_cast<size_t>(place), kSequential.size() - 2);
        return pack(between(kSequential[stop], kSequential[stop + 1], place - static_cast<double>(stop)));
    }
    const bool dark = luminance(surface) < 0.2;
    const Color neutral = {static_cast<double>(surface >> 16 & 255), static_cast<double>(surface >> 8 & 255),
                           static_cast<double>(surface & 255)};
    // On a dark surface the ends are bright, so that size is distance from the surface in both themes.
    const Color low = dark ? Color{104, 178, 255} : kBlue, high = dark ? Color{255, 164, 92} : kOrange;
    const double strength = std::pow(std::fabs(t - 0.5) * 2, 0.85);
    return pack(between(between(neutral, {128, 128, 128}, dark ? 0.10 : 0.04), t < 0.5 ? low : high, strength));
}

} // namespace loopscope::viewer
