#include "viewer/compare/metric.h"

#include "engine/debug/reference/comparison_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace loopscope::viewer {

namespace {

constexpr double kMostDecibels = 80; ///< where bars begin: float noise
constexpr double kFar = 3;           ///< limits
constexpr double kFarDecibels = 6;

std::string formatted(const char* format, double value)
{
    std::array<char, 48> text = {};
    std::snprintf(text.data(), text.size(), format, value);
    return text[0] == '-' ? "−" + std::string(text.data() + 1) : text.data(); // as numbers are written on screen
}

/// The next of 1, 2, 5 times a power of ten.
double roundUp(double value)
{
    if (!(value > 0) || !std::isfinite(value)) return 1;
    const double power = std::pow(10, std::floor(std::log10(value)));
    for (const double step : {1.0, 2.0, 5.0, 10.0})
        if (value <= step * power * (1 + 1e-9)) return step * power;
    return 10 * power;
}

/// The angle between two tensors says nothing about their lengths: what is as near in direction as the limit asks for is over it all the
/// same where it is further away than tensors at that angle are.
Verdict scaleVerdict(const DriftFigures& figures, double limit)
{
    if (limit >= 1 || std::isnan(figures.snr)) return Verdict::within;
    const double decibels = -10 * std::log10(2 * (1 - limit)); // of unit vectors whose cosine is the limit
    if (figures.snr >= decibels) return Verdict::within;
    return figures.snr < decibels - kFarDecibels ? Verdict::farOver : Verdict::over;
}

} // namespace

const char* metricName(Metric metric)
{
    switch (metric) {
    case Metric::cosine: return "cosine";
    case Metric::snr: return "SQNR";
    case Metric::maxAbs: return "max |Δ|";
    case Metric::meanAbs: return "mean |Δ|";
    case Metric::maxRel: return "relative";
    case Metric::ulp: return "ULP";
    case Metric::equal: return "equal";
    }
    return "";
}

const char* metricId(Metric metric)
{
    switch (metric) {
    case Metric::cosine: return "cosine";
    case Metric::snr: return "sqnr";
    case Metric::maxAbs: return "maxAbs";
    case Metric::meanAbs: return "meanAbs";
    case Metric::maxRel: return "relative";
    case Metric::ulp: return "ulp";
    case Metric::equal: return "equal";
    }
    return "";
}

std::optional<Metric> metricOf(std::string_view id)
{
    for (const Metric metric : kMetrics)
        if (id == metricId(metric)) return metric;
    return std::nullopt;
}

const char* metricHelp(Metric metric)
{
    switch (metric) {
    case Metric::cosine: return "cosine similarity of the whole tensors, as real numbers; the smallest of all writes";
    case Metric::snr: return "the reference's squares to the differences' squares, in dB; the smallest of all writes";
    case Metric::maxAbs: return "largest difference of two elements, in real units";
    case Metric::meanAbs: return "mean difference of the elements, in real units";
    case Metric::maxRel: return "largest difference of two elements, divided by the reference's";
    case Metric::ulp: return "largest distance in units of the last place; floats of one dtype only";
    case Metric::equal: return "share of elements that are the same number on both sides";
    }
    return "";
}

bool moreIsBetter(Metric metric) { return metric == Metric::cosine || metric == Metric::snr || metric == Metric::equal; }

double usualLimit(Metric metric)
{
    switch (metric) {
    case Metric::cosine: return 0.99;
    case Metric::snr: return 20;
    case Metric::maxAbs: return 1e-5;
    case Metric::meanAbs: return 1e-6;
    case Metric::maxRel: return 1e-4;
    case Metric::ulp: return 4;
    case Metric::equal: return 1;
    }
    return 0;
}

double measured(const DriftFigures& figures, Metric metric)
{
    if (!figures.mismatch.empty()) return std::nan("");
    switch (metric) {
    case Metric::cosine: return figures.cosine;
    case Metric::snr: return figures.snr;
    case Metric::maxAbs: return figures.maxAbs;
    case Metric::meanAbs: return figures.meanAbs;
    case Metric::maxRel: return figures.maxRel;
    case Metric::ulp: return figures.maxUlp ? static_cast<double>(*figures.maxUlp) : figures.different == 0 ? 0 : std::nan("");
    case Metric::equal:
        return figures.elements == 0 ? 1
                                     : static_cast<double>(figures.elements - figures.different) / static_cast<double>(figures.elements);
    }
    return std::nan("");
}

double clippedShare(const DriftFigures& figures)
{
    return figures.quantized > 0 ? static_cast<double>(figures.clipped) / static_cast<double>(figures.quantized) : NAN;
}

std::string metricText(Metric metric, double value)
{
    if (std::isnan(value)) return "–";
    if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
    switch (metric) {
    case Metric::cosine: return value < 1 && value > 0.99995 ? formatted("%.6f", std::min(value, 0.999999)) : formatted("%.4f", value);
    case Metric::snr: return formatted("%.1f dB", value);
    case Metric::ulp: return value >= 1e6 ? formatted("%.1e", value) : formatted("%.0f", value);
    case Metric::equal: return value < 1 ? formatted("%.1f %%", std::min(100 * value, 99.9)) : "100 %";
    case Metric::maxAbs:
    case Metric::meanAbs:
    case Metric::maxRel: break;
    }
    return differenceText(value);
}

Verdict verdictOf(const DriftFigures& figures, Metric metric, double limit)
{
    if (!figures.mismatch.empty()) return Verdict::farOver;
    if (figures.different == 0) return Verdict::equal;
    const double value = measured(figures, metric);
    if (std::isnan(value)) return Verdict::within;
    if (moreIsBetter(metric) ? value >= limit : value <= limit)
        return metric == Metric::cosine ? scaleVerdict(figures, limit) : Verdict::within;
    const bool isFar = metric == Metric::snr  ? value < limit - kFarDecibels
                       : moreIsBetter(metric) ? 1 - value > kFar * (1 - limit)
                                              : value > kFar * limit;
    return isFar ? Verdict::farOver : Verdict::over;
}

double goodness(const DriftFigures& figures, Metric metric)
{
    const double value = measured(figures, metric);
    if (std::isnan(value)) return figures.mismatch.empty() ? INFINITY : -INFINITY;
    return moreIsBetter(metric) ? value : -value;
}

double MetricScale::place(double value) const
{
    if (std::isnan(value)) return 1;
    return std::clamp((value - none) / (most - none), 0.0, 1.0);
}

MetricScale scaleFor(Metric metric, double best, double worst, double limit)
{
    // The limit lies on the axis unless all rows are so much nearer to equality that they would be seen as nothing.
    constexpr double kNear = 0.2, kBehindLimit = 1.5;
    if (metric == Metric::snr) { // by tens of decibels
        const double none =
            std::max(limit + 10, std::isfinite(best) ? std::min(std::ceil(best / 10 + 0.1) * 10, kMostDecibels) : kMostDecibels);
        const double most = std::isfinite(worst) ? std::floor(worst / 10) * 10 : limit - 10;
        const bool isNear = std::isfinite(worst) && none - worst < kNear * (none - limit);
        return {none, std::min(isNear ? most : std::min(most, limit - 10), none - 10)};
    }
    const double none = moreIsBetter(metric) ? 1 : 0;
    const double limitReach = std::abs(none - limit), reach = std::isfinite(worst) ? std::abs(none - worst) : std::isnan(worst) ? 1 : 0;
    const bool isNear = reach > 0 && reach < kNear * limitReach;
    const double whole = roundUp(isNear ? reach : std::max(reach, kBehindLimit * limitReach));
    if (!moreIsBetter(metric)) return {0, whole};
    return {1, 1 - std::min(whole, metric == Metric::cosine ? 2.0 : 1.0)};
}

std::string MetricScale::text(Metric metric) const
{
    const double width = std::abs(none - most);
    if (moreIsBetter(metric) && metric != Metric::snr && width < 1e-3) return formatted("1 to 1 − %.3g", width); // beyond the digits of 1
    return formatted("%.4g", none) + " to " + formatted("%.4g", most);
}

std::vector<double> MetricScale::lines() const { return {none + (most - none) / 2, most}; }

} // namespace loopscope::viewer
