// Counts all elements of a huge value for its histogram, one part after the other, so that others are served in between.
#pragma once

#include "viewer/tensor/value_source.h"

#include <QObject>

#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace loopscope::viewer {

class ElementScan : public QObject {
    Q_OBJECT
public:
    /// What is counted: address and frame of the value, the tensor of a list, whether zeros count that are not stored, the moment.
    using Source = std::tuple<std::string, int, int64_t, bool, int64_t>;
    using Taken = std::function<void(std::optional<HistogramScan>)>;
    /// Counts the next part, wherever the value is, and hands it on.
    using Count = std::function<void(HistogramScan, Taken)>;

    explicit ElementScan(Count count) : m_count(std::move(count)) {}

    void begin(Source source);
    void stop(); ///< nothing is counted any more, and what was counted is forgotten
    /// Forgets what was counted of something else.
    void keepIf(const Source& source);
    bool isThere() const { return m_scan.has_value(); } ///< begun, or done
    bool isRunning() const { return m_scan && !m_scan->done; }
    double share() const { return m_scan ? m_scan->share() : 0; }
    /// Null: not all is counted.
    const Histogram* histogram() const { return m_scan && m_scan->done ? &m_scan->histogram : nullptr; }

signals:
    void progressed();

private:
    void goOn();

    Count m_count;
    std::optional<HistogramScan> m_scan;
    Source m_source;
    uint64_t m_ticket = 0;
};

} // namespace loopscope::viewer
