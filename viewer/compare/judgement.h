// How the rows of a comparison are judged: by which measure and limit, and in which iterations of loops. It knows the figures of both runs
// and nothing of pictures or selections.
#pragma once

#include "viewer/bridge/document.h"
#include "viewer/compare/metric.h"

#include <QJsonObject>
#include <QObject>
#include <QStringList>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace loopscope::viewer {

class Judgement : public QObject {
    Q_OBJECT
public:
    /// `folded`: calls, groups and frames of this side that are closed, of which rows stand for everything in them.
    explicit Judgement(const std::set<std::string>& folded) : m_folded(folded) {}

    /// Another comparison; null: there is none. Tells nobody.
    void adopt(std::shared_ptr<const Drift> drift, const Tolerance& tolerance);
    const Drift* drift() const { return m_drift.get(); }

    Metric metric() const { return m_metric; }
    void setMetric(Metric metric);
    double limit() const;
    void setLimit(double limit); ///< of the present metric
    MetricScale scale() const { return m_scale; }
    /// Metric and limits as somebody chose them, {"metric": "cosine", "limits": {"cosine": 0.96}}. They hold from the next comparison on,
    /// unless its run has a tolerance of its own.
    QJsonObject choice() const;
    void restoreChoice(const QJsonObject& choice);

    /// The iteration of a loop that is looked at (by static address of its operator); none: all together.
    std::optional<int64_t> iterationOf(const std::string& loop) const;
    void setIteration(const std::string& loop, std::optional<int64_t> iteration);
    int64_t iterationsOf(const std::string& loop) const; ///< that were compared
    void showAllIterations();
    QJsonObject iterations() const; ///< that are looked at: {"main/while#1": 3}
    void restoreIterations(const QJsonObject& iterations);
    /// "while#1: iteration 3 of 6", a line for each loop of which one iteration is looked at.
    QStringList iterationLines() const;

    /// Of a row of the drift in the iterations that are looked at. Null: it was not written there on both sides.
    const DriftFigures* figuresOf(int row) const;
    /// The step of the write that these figures are of.
    int64_t stepOf(int row) const;
    Verdict verdictOf(int row) const;
    /// The worst verdict of an operator's results; none: nothing was compared.
    std::optional<Verdict> verdictAt(const std::string& here) const;
    /// Rows of the drift that an operator of this side wrote; of a call or frame that is folded also those of everything in it.
    std::vector<int> rowsAt(const std::string& here) const;
    int64_t comparedRows() const { return m_drift ? std::ssize(m_drift->rows) : 0; }
    int64_t differentRows() const; ///< not the same bit for bit

    /// Rows over the limit, by their first steps over it.
    const std::vector<int>& over() const { return m_over; }
    int firstOver() const { return m_over.empty() ? -1 : m_over.front(); } ///< −1: none
    /// Of the row's first write over the limit, else of the write that is looked at.
    int64_t firstStepOf(int row) const { return m_firstStep[static_cast<size_t>(row)]; }
    int worst() const; ///< −1: nothing differs
    int worstOf(const std::vector<int>& rows) const;
    /// Rows that differ, from the least to the worst.
    std::vector<int> byBadness() const;

signals:
    void changed(); ///< metric, limit or iterations
    void chosen();  ///< metric or limit, by the user
    void iterationsChosen();

private:
    void chooseMetric(const Tolerance& tolerance);
    void judge();
    MetricScale scaleOfRows() const;
    void orderOver();
    bool isInView(const DriftWrite& write) const;

    const std::set<std::string>& m_folded;
    std::shared_ptr<const Drift> m_drift;
    std::unordered_map<std::string, std::vector<int>> m_rowsAt;
    std::map<std::string, int64_t> m_trips; ///< by static address of the loop: iterations that were compared
    std::map<std::string, int64_t> m_iterations;
    std::vector<std::vector<std::string>> m_loopsOf; ///< per row: the loops around it, outermost first
    std::vector<int64_t> m_firstStep;
    std::vector<int> m_over;
    std::vector<int> m_writeOf; ///< per row: the write that is looked at; −1: all together; −2: none
    Metric m_metric = Metric::cosine;
    bool m_metricChosen = false, m_metricRemembered = false;
    std::map<Metric, double> m_limits;
    MetricScale m_scale;
};

} // namespace loopscope::viewer
