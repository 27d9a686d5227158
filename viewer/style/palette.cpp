// The colours of the three themes. docs/desktop.md lists them with their contrasts; tests/unit/viewer/style recomputes both.
#include "viewer/style/theme.h"

#include <cmath>

namespace loopscope::viewer {

namespace {

constexpr QRgb rgb(uint32_t hex) { return 0xFF000000U | hex; }

// Families, in their order: matrix arithmetic activation reduction movement control-flow conversion state other.
constexpr std::array<QRgb, kFamilyCount> kLightFamilies = {rgb(0x22357B), rgb(0x1BA494), rgb(0x8C5909), rgb(0x8690C8), rgb(0x393B3D),
                                                           rgb(0xD83D60), rgb(0xBA8500), rgb(0x592C16), rgb(0x2F758A)};
constexpr std::array<QRgb, kFamilyCount> kDarkFamilies = {rgb(0x2A71CE), rgb(0xA1EFB5), rgb(0xE77302), rgb(0xF6A6FE), rgb(0xE4E7E9),
                                                          rgb(0xB25481), rgb(0xE2D651), rgb(0xA8867A), rgb(0x1EACB4)};

// Rows: window surface sunken raised line line2 · text text2 text3 · accent on weak hover · cur line text · bp · err weak · warn weak ·
// ok weak · dead weak · A B
constexpr Palette kLight = {{rgb(0xF2F3F5), rgb(0xFFFFFF), rgb(0xE8EAED), rgb(0xFAFBFC), rgb(0xD3D7DC), rgb(0x7F8893), rgb(0x1A1E23),
                             rgb(0x474F59), rgb(0x5A636E), rgb(0x0B5FBF), rgb(0xFFFFFF), rgb(0xDBE9FA), rgb(0xEDF2F8), rgb(0xFFE69A),
                             rgb(0x8A5B00), rgb(0x3D2900), rgb(0xC0261C), rgb(0xB3190F), rgb(0xFDEBE9), rgb(0x7A5200), rgb(0xFFF4D6),
                             rgb(0x176B37), rgb(0xE2F4E8), rgb(0x626A74), rgb(0xF1F2F4), rgb(0x0B5FBF), rgb(0xA84300)},
                            kLightFamilies};
constexpr Palette kDark = {{rgb(0x1E2126), rgb(0x16181C), rgb(0x111316), rgb(0x24282E), rgb(0x343A43), rgb(0x6E7885), rgb(0xE6E9ED),
                            rgb(0xB6BDC7), rgb(0x929BA7), rgb(0x74B4FF), rgb(0x0B1A2B), rgb(0x1D3450), rgb(0x262C34), rgb(0x4D3B06),
                            rgb(0xF2C744), rgb(0xFFE9A3), rgb(0xFF6F63), rgb(0xFF8A80), rgb(0x3A1D1B), rgb(0xF0C04A), rgb(0x352B10),
                            rgb(0x4FD8C8), rgb(0x12302E), rgb(0x868F9B), rgb(0x1B1E22), rgb(0x74B4FF), rgb(0xFFA45C)},
                           kDarkFamilies};
constexpr Palette kHighContrast = {{rgb(0x000000), rgb(0x000000), rgb(0x000000), rgb(0x000000), rgb(0xFFFFFF), rgb(0xFFFFFF), rgb(0xFFFFFF),
                                    rgb(0xFFFFFF), rgb(0xD8D8D8), rgb(0x5CE1FF), rgb(0x000000), rgb(0x00384A), rgb(0x1A1A1A), rgb(0xFFE600),
                                    rgb(0xFFE600), rgb(0x000000), rgb(0xFF7B72), rgb(0xFF9C94), rgb(0x000000), rgb(0xFFD75E), rgb(0x000000),
                                    rgb(0x4FE8D8), rgb(0x000000), rgb(0xC0C0C0), rgb(0x000000), rgb(0x5CE1FF), rgb(0xFFA45C)},
                                   kDarkFamilies};

double linear(int channel)
{
    const double c = channel / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(QRgb color) { return 0.2126 * linear(qRed(color)) + 0.7152 * linear(qGreen(color)) + 0.0722 * linear(qBlue(color)); }

} // namespace

const Palette& paletteOf(ThemeName theme)
{
    switch (theme) {
    case ThemeName::dark: return kDark;
    case ThemeName::highContrast: return kHighContrast;
    case ThemeName::light: break;
    }
    return kLight;
}

double contrastRatio(QRgb a, QRgb b)
{
    const double first = luminance(a);
    const double second = luminance(b);
    return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

} // namespace loopscope::viewer
