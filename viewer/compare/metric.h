// The measures that two sides are held against each other by: what they are called, how they are written, when they are over a limit.
// No widgets.
#pragma once

#include "engine/api/inspector.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace loopscope::viewer {

enum class Metric : uint8_t { cosine, snr, maxAbs, meanAbs, maxRel, ulp, equal };
inline constexpr std::array kMetrics = {Metric::maxAbs, Metric::meanAbs, Metric::maxRel, Metric::ulp,
                                        Metric::snr,    Metric::cosine,  Metric::equal};

/// "cosine", "SQNR", "max |Δ|", "mean |Δ|", "relative", "ULP", "equal".
const char* metricName(Metric metric);
const char* metricId(Metric metric); ///< for settings
std::optional<Metric> metricOf(std::string_view id);
const char* metricHelp(Metric metric); ///< one sentence for tooltips
/// Cosine, SQNR and the share of equal elements: more is better.
bool moreIsBetter(Metric metric);
/// A start for whoever has not chosen a limit.
double usualLimit(Metric metric);

/// NaN where it says nothing: ULP of unlike dtypes, a dtype or shape that does not agree.
double measured(const DriftFigures& figures, Metric metric);
/// Share of the quantized elements that are at an end of their dtype; NaN: nothing is quantized.
double clippedShare(const DriftFigures& figures);
/// "0.8768", "6.2 dB", "5.920", "3", "97.0 %"; "–" for NaN.
std::string metricText(Metric metric, double value);

enum class Verdict : uint8_t { equal, within, over, farOver };
/// A mismatch is far over. By cosine SQNR counts, too: it alone sees another scale. Far: three times the distance of the limit from
/// equality; 6 dB.
Verdict verdictOf(const DriftFigures& figures, Metric metric, double limit);
/// Smaller is worse; what does not measure is worst of all.
double goodness(const DriftFigures& figures, Metric metric);

/// The axis of a strip of bars: `none` where equal sides stand, `most` where the worst does.
struct MetricScale {
    double none = 0, most = 1;
    /// Length of the bar, 0 to 1.
    double place(double value) const;
    /// Whether a value lies on the axis; else its place is an end of it.
    bool holds(double value) const { return value >= std::min(none, most) && value <= std::max(none, most); }
    std::string text(Metric metric) const; ///< "1 to 0.8"
    std::vector<double> lines() const;     ///< values at which it is divided
};
/// `best`, `worst`: of the measured values of the rows that differ. `limit` lies on the axis, too, unless all rows are far nearer to
/// equality.
MetricScale scaleFor(Metric metric, double best, double worst, double limit);

} // namespace loopscope::viewer
