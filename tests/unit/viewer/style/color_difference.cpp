#include "color_difference.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace loopscope::viewer {

namespace {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

constexpr double kPi = 3.14159265358979323846;

Triple times(const Matrix& m, const Triple& v)
{
    Triple out{};
    for (size_t row = 0; row < 3; ++row) out[row] = m[row][0] * v[0] + m[row][1] * v[1] + m[row][2] * v[2];
    return out;
}

Triple linearOf(QRgb color)
{
    const auto one = [](int channel) {
        const double c = channel / 255.0;
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return {one(qRed(color)), one(qGreen(color)), one(qBlue(color))};
}

int encoded(double c)
{
    c = std::clamp(c, 0.0, 1.0);
    const double s = c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1 / 2.4) - 0.055;
    return static_cast<int>(std::lround(s * 255));
}

Triple labOf(QRgb color)
{
    static constexpr Matrix toXyz = {
        {{0.4124564, 0.3575761, 0.1804375}, {0.2126729, 0.7151522, 0.0721750}, {0.0193339, 0.1191920, 0.9503041}}};
    static constexpr Triple white = {0.95047, 1, 1.08883};
    const Triple xyz = times(toXyz, linearOf(color));
    Triple f{};
    for (size_t i = 0; i < 3; ++i) {
        const double t = xyz[i] / white[i];
        f[i] = t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
    }
    return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

double degrees(double b, double a)
{
    if (a == 0 && b == 0) return 0;
    const double angle = std::atan2(b, a) * 180 / kPi;
    return angle < 0 ? angle + 360 : angle;
}

} // namespace

QRgb simulated(QRgb color, Vision vision)
{
    static constexpr Matrix protan = {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
    static constexpr Matrix deutan = {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
    static constexpr Matrix tritan = {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};
    if (vision == Vision::normal) return color;
    const Triple seen = times(vision == Vision::protan ? protan : vision == Vision::deutan ? deutan : tritan, linearOf(color));
    return qRgb(encoded(seen[0]), encoded(seen[1]), encoded(seen[2]));
}

double colorDifference(QRgb first, QRgb second)
{
    const Triple x = labOf(first);
    const Triple y = labOf(second);
    const auto seventh = [](double c) { return std::sqrt(std::pow(c, 7) / (std::pow(c, 7) + std::pow(25.0, 7))); };
    const double meanC = (std::hypot(x[1], x[2]) + std::hypot(y[1], y[2])) / 2;
    const double g = 0.5 * (1 - seventh(meanC));
    const double a1 = (1 + g) * x[1];
    const double a2 = (1 + g) * y[1];
    const double c1 = std::hypot(a1, x[2]);
    const double c2 = std::hypot(a2, y[2]);
    const double h1 = degrees(x[2], a1);
    const double h2 = degrees(y[2], a2);
    double dh = h2 - h1;
    if (c1 * c2 == 0) dh = 0;
    else if (dh > 180) dh -= 360;
    else if (dh < -180) dh += 360;
    double meanH = h1 + h2;
    if (c1 * c2 != 0) {
        if (std::abs(h1 - h2) <= 180) meanH /= 2;
        else meanH = meanH < 360 ? (meanH + 360) / 2 : (meanH - 360) / 2;
    }
    const double dL = y[0] - x[0];
    const double dC = c2 - c1;
    const double dH = 2 * std::sqrt(c1 * c2) * std::sin(dh / 2 * kPi / 180);
    const double meanL = (x[0] + y[0]) / 2;
    const double meanCp = (c1 + c2) / 2;
    const auto cosine = [](double angle) { return std::cos(angle * kPi / 180); };
    const double t =
        1 - 0.17 * cosine(meanH - 30) + 0.24 * cosine(2 * meanH) + 0.32 * cosine(3 * meanH + 6) - 0.20 * cosine(4 * meanH - 63);
    const double off = (meanL - 50) * (meanL - 50);
    const double sL = 1 + 0.015 * off / std::sqrt(20 + off);
    const double sC = 1 + 0.045 * meanCp;
    const double sH = 1 + 0.015 * meanCp * t;
    const double turn = 30 * std::exp(-std::pow((meanH - 275) / 25, 2));
    const double rT = -2 * seventh(meanCp) * std::sin(2 * turn * kPi / 180);
    const double l = dL / sL;
    const double c = dC / sC;
    const double h = dH / sH;
    return std::sqrt(l * l + c * c + h * h + rT * c * h);
}

} // namespace loopscope::viewer
