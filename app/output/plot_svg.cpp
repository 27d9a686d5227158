#include "app/output/plot_svg.h"

#include "app/output/report_page.h"
#include "engine/tensor/value_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace loopscope::app {

namespace {

constexpr double kWidth = 360, kHeight = 130;
constexpr double kLeft = 62, kRight = 8, kTop = 20, kBottom = 18; ///< margins around the curve
constexpr size_t kColumns = 280;                                  ///< of pixels

std::string number(double value)
{
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, 1).ptr;
    return {text, end};
}

std::string label(double x, double y, const char* anchor, const std::string& text)
{
    return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\">" + escapedHtml(text) + "</text>";
}

/// The points that are drawn: of a column of pixels the first, the least, the largest and the last, in their order.
std::vector<size_t> drawnPoints(const std::vector<double>& points)
{
    std::vector<size_t> drawn;
    const size_t columns = std::min(kColumns, points.size());
    for (size_t column = 0; column < columns; ++column) {
        const size_t begin = column * points.size() / columns, end = (column + 1) * points.size() / columns;
        size_t least = end, most = end, lost = end;
        for (size_t k = begin; k < end; ++k) {
            if (std::isnan(points[k])) lost = k;
            if (!std::isfinite(points[k])) continue;
            if (least == end || points[k] < points[least]) least = k;
            if (most == end || points[k] > points[most]) most = k;
        }
        std::vector<size_t> here = {begin, least, most, lost, end - 1};
        std::sort(here.begin(), here.end());
        here.erase(std::unique(here.begin(), here.end()), here.end());
        for (const size_t k : here)
            if (k < end) drawn.push_back(k);
    }
    return drawn;
}

} // namespace

std::string plotSvg(const Plot& plot)
{
    double least = HUGE_VAL, most = -HUGE_VAL;
    for (const double point : plot.points)
        if (std::isfinite(point)) {
            least = std::min(least, point);
            most = std::max(most, point);
        }
    const bool isEmpty = least > most;
    const auto last = static_cast<double>(std::max<size_t>(plot.points.size(), 2) - 1);
    const auto x = [&](size_t k) { return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(k) / last; };
    const auto y = [&](double value) {
        // Halves: the distance of two finite numbers may not be one.
        const double part = most > least ? (value / 2 - least / 2) / (most / 2 - least / 2) : 0.5;
        return kHeight - kBottom - (kHeight - kTop - kBottom) * part;
    };
    std::string line, marks;
    bool isDown = false;
    for (const size_t k : drawnPoints(plot.points)) {
        if (std::isfinite(plot.points[k])) {
            line += (isDown ? "L" : "M") + number(x(k)) + " " + number(y(plot.points[k]));
            isDown = true;
        } else {
            if (std::isnan(plot.points[k])) marks += "M" + number(x(k)) + " " + number(kHeight - kBottom) + "v-6";
            isDown = false;
        }
    }
    const auto valueText = [&](double value) {
        const auto word = static_cast<size_t>(std::max(value, 0.0));
        return word < plot.words.size() ? plot.words[word] : realText(value, 5);
    };
    std::string out = "<svg role=\"img\" width=\"" + number(kWidth) + "\" height=\"" + number(kHeight) + "\" viewBox=\"0 0 " +
                      number(kWidth) + " " + number(kHeight) + "\" font-family=\"ui-monospace,monospace\" font-size=\"10\">";
    out += "<title>" + escapedHtml(plot.heading) + "</title>" + label(kLeft, 12, "start", plot.heading);
    out += "<path d=\"M" + number(kLeft) + " " + number(kTop) + "V" + number(kHeight - kBottom) + "H" + number(kWidth - kRight) +
           "\" fill=\"none\" stroke=\"#c8ced6\"/>";
    if (!isEmpty) {
        out += label(kLeft - 4, y(most) + 3, "end", valueText(most));
        if (most > least) out += label(kLeft - 4, y(least) + 3, "end", valueText(least));
    }
    out += label(kLeft, kHeight - 5, "start", plot.from) + label(kWidth - kRight, kHeight - 5, "end", plot.to);
    if (!line.empty()) out += "<path class=\"curve\" d=\"" + line + "\" fill=\"none\" stroke=\"#0b5fbf\" stroke-width=\"1.3\"/>";
    if (!marks.empty()) out += "<path class=\"lost\" d=\"" + marks + "\" fill=\"none\" stroke=\"#b3123a\" stroke-width=\"1.5\"/>";
    return out + "</svg>";
}

} // namespace loopscope::app
