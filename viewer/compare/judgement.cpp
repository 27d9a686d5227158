#include "viewer/compare/judgement.h"

#include "engine/observe/address_names.h"
#include "viewer/bridge/text.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace loopscope::viewer {

namespace {

constexpr int kAll = -1, kNotThere = -2;

/// "main/while#0" and "main/while#0:body/while#3" of "main/while#0:body/while#3:cond/less#1": the loops whose iterations an address can
/// have.
std::vector<std::string> loopsAround(const std::string& address)
{
    std::vector<std::string> loops;
    for (const char* const role : {":body/", ":cond/", ":frame/"})
        for (size_t at = address.find(role); at != std::string::npos; at = address.find(role, at + 1))
            loops.push_back(address.substr(0, at));
    std::ranges::sort(loops, {}, &std::string::size);
    return loops;
}

} // namespace

void Judgement::adopt(std::shared_ptr<const Drift> drift, const Tolerance& tolerance)
{
    m_drift = std::move(drift);
    m_rowsAt.clear();
    m_trips.clear();
    m_loopsOf.clear();
    if (m_drift) {
        for (size_t i = 0; i < m_drift->rows.size(); ++i) {
            m_rowsAt[m_drift->rows[i].address].push_back(static_cast<int>(i));
            m_loopsOf.push_back(loopsAround(m_drift->rows[i].address));
        }
        for (const DriftWrite& write : m_drift->writes) {
            const std::vector<std::string>& loops = m_loopsOf[static_cast<size_t>(write.row)];
            for (size_t k = 0; k < loops.size() && k < write.iterations.size(); ++k) {
                int64_t& trips = m_trips[loops[k]];
                trips = std::max(trips, write.iterations[k] + 1);
            }
        }
        std::erase_if(m_iterations, [this](const auto& looked) { return looked.second >= iterationsOf(looked.first); });
        chooseMetric(tolerance);
    }
    judge();
}

void Judgement::chooseMetric(const Tolerance& tolerance)
{
    if (m_metricChosen) return;
    if (tolerance.cosine) {
        m_metric = Metric::cosine;
        m_limits[Metric::cosine] = *tolerance.cosine;
        return;
    }
    if (m_metricRemembered) return;
    if (tolerance.close) m_limits[Metric::maxRel] = tolerance.close->rtol;
    if (tolerance.ulp) m_limits[Metric::ulp] = static_cast<double>(*tolerance.ulp);
    // Directions tell unlike representations apart, distances tell noise from errors.
    // Single numbers have no direction.
    double least = 1;
    for (const DriftRow& row : m_drift->rows)
        if (row.elements > row.writes) least = std::min(least, row.cosine);
    m_metric = least < 0.9999 ? Metric::cosine : Metric::maxAbs;
}

void Judgement::setMetric(Metric metric)
{
    m_metricChosen = true;
    if (metric == m_metric) return;
    m_metric = metric;
    judge();
    emit changed();
    emit chosen();
}

double Judgement::limit() const
{
    const auto chosen = m_limits.find(m_metric);
    return chosen == m_limits.end() ? usualLimit(m_metric) : chosen->second;
}

void Judgement::setLimit(double limit)
{
    if (limit == this->limit()) return;
    m_limits[m_metric] = limit;
    m_metricChosen = true;
    judge();
    emit changed();
    emit chosen();
}

QJsonObject Judgement::choice() const
{
    QJsonObject limits;
    for (const auto& [metric, limit] : m_limits) limits[metricId(metric)] = limit;
    return {{"metric", metricId(m_metric)}, {"limits", limits}};
}

void Judgement::restoreChoice(const QJsonObject& choice)
{
    const std::optional<Metric> metric = metricOf(choice["metric"].toString().toStdString());
    if (!metric) return;
    m_metric = *metric;
    m_metricRemembered = true;
    const QJsonObject limits = choice["limits"].toObject();
    for (const Metric each : kMetrics)
        if (const QJsonValue limit = limits[metricId(each)]; limit.isDouble()) m_limits[each] = limit.toDouble();
}

std::optional<int64_t> Judgement::iterationOf(const std::string& loop) const
{
    const auto found = m_iterations.find(loop);
    return found == m_iterations.end() ? std::nullopt : std::optional(found->second);
}

int64_t Judgement::iterationsOf(const std::string& loop) const
{
    const auto found = m_trips.find(loop);
    return found == m_trips.end() ? 0 : found->second;
}

void Judgement::setIteration(const std::string& loop, std::optional<int64_t> iteration)
{
    if (iteration == iterationOf(loop)) return;
    if (iteration) m_iterations[loop] = *iteration;
    else m_iterations.erase(loop);
    judge();
    emit changed();
    emit iterationsChosen();
}

void Judgement::showAllIterations()
{
    if (m_iterations.empty()) return;
    m_iterations.clear();
    judge();
    emit changed();
    emit iterationsChosen();
}

QJsonObject Judgement::iterations() const
{
    QJsonObject iterations;
    for (const auto& [loop, iteration] : m_iterations) iterations[toText(loop)] = static_cast<qint64>(iteration);
    return iterations;
}

void Judgement::restoreIterations(const QJsonObject& iterations)
{
    for (const QString& loop : iterations.keys()) {
        const auto iteration = static_cast<int64_t>(iterations[loop].toInteger(-1));
        // Until there is a comparison nobody knows how many iterations there are; then those beyond are dropped.
        if (iteration >= 0 && (!m_drift || iteration < iterationsOf(loop.toStdString()))) m_iterations[loop.toStdString()] = iteration;
    }
    judge();
    emit changed();
}

QStringList Judgement::iterationLines() const
{
    QStringList lines;
    for (const auto& [loop, iteration] : m_iterations)
        lines.append(tr("%1: iteration %L2 of %L3").arg(toText(withoutRoot(loop))).arg(iteration).arg(iterationsOf(loop)));
    return lines;
}

bool Judgement::isInView(const DriftWrite& write) const
{
    const std::vector<std::string>& loops = m_loopsOf[static_cast<size_t>(write.row)];
    for (size_t k = 0; k < loops.size() && k < write.iterations.size(); ++k)
        if (const std::optional<int64_t> wanted = iterationOf(loops[k]); wanted && *wanted != write.iterations[k]) return false;
    return true;
}

/// Finds the writes that are looked at, and the scale that holds them.
void Judgement::judge()
{
    m_writeOf.clear();
    m_over.clear();
    m_scale = {};
    if (!m_drift) return;
    const std::vector<DriftRow>& rows = m_drift->rows;
    m_writeOf.assign(rows.size(), kAll);
    for (size_t i = 0; i < rows.size() && !m_iterations.empty(); ++i)
        for (const std::string& loop : m_loopsOf[i])
            if (iterationOf(loop)) m_writeOf[i] = kNotThere;
    if (!m_iterations.empty()) {
        // Of several writes in view, those of inner loops, the worst stands for all.
        for (size_t w = 0; w < m_drift->writes.size(); ++w) {
            const DriftWrite& write = m_drift->writes[w];
            int& chosen = m_writeOf[static_cast<size_t>(write.row)];
            if (chosen == kAll || !isInView(write)) continue;
            if (chosen == kNotThere ||
                goodness(write.figures, m_metric) < goodness(m_drift->writes[static_cast<size_t>(chosen)].figures, m_metric))
                chosen = static_cast<int>(w);
        }
    }
    m_scale = scaleOfRows();
    orderOver();
}

/// Of all iterations: the axis stays as the slider moves. A few rows that are far worse than all others do not press those together.
MetricScale Judgement::scaleOfRows() const
{
    constexpr double kOutlier = 2;
    std::vector<double> values;
    for (const DriftRow& row : m_drift->rows)
        if (const double value = measured(row, m_metric); std::isfinite(value) && row.different != 0) values.push_back(value);
    if (values.empty()) return scaleFor(m_metric, NAN, moreIsBetter(m_metric) ? INFINITY : -INFINITY, limit());
    if (moreIsBetter(m_metric)) std::ranges::sort(values, std::ranges::greater());
    else std::ranges::sort(values);
    const double equal = m_metric == Metric::snr ? values.front() : moreIsBetter(m_metric) ? 1 : 0;
    const double usual = values[(values.size() - 1) * 9 / 10], worst = values.back();
    const bool isOutlier = std::abs(worst - equal) > kOutlier * std::abs(usual - equal) && usual != equal;
    return scaleFor(m_metric, values.front(), isOutlier ? usual : worst, limit());
}

void Judgement::orderOver()
{
    m_firstStep.assign(m_drift->rows.size(), -1);
    for (const DriftWrite& write : m_drift->writes) {
        int64_t& step = m_firstStep[static_cast<size_t>(write.row)];
        if (step < 0 && isInView(write) && viewer::verdictOf(write.figures, m_metric, limit()) >= Verdict::over) step = write.step;
    }
    m_over.clear();
    for (size_t i = 0; i < m_firstStep.size(); ++i) {
        const auto row = static_cast<int>(i);
        if (m_firstStep[i] < 0) m_firstStep[i] = stepOf(row);
        if (verdictOf(row) >= Verdict::over) m_over.push_back(row);
    }
    std::ranges::stable_sort(m_over, {}, [&](int row) { return m_firstStep[static_cast<size_t>(row)]; });
}

const DriftFigures* Judgement::figuresOf(int row) const
{
    if (!m_drift || row < 0 || static_cast<size_t>(row) >= m_writeOf.size()) return nullptr;
    const int write = m_writeOf[static_cast<size_t>(row)];
    if (write == kNotThere) return nullptr;
    return write == kAll ? &m_drift->rows[static_cast<size_t>(row)] : &m_drift->writes[static_cast<size_t>(write)].figures;
}

int64_t Judgement::stepOf(int row) const
{
    if (!figuresOf(row)) return -1;
    const int write = m_writeOf[static_cast<size_t>(row)];
    return write == kAll ? m_drift->rows[static_cast<size_t>(row)].worstStep : m_drift->writes[static_cast<size_t>(write)].step;
}

Verdict Judgement::verdictOf(int row) const
{
    const DriftFigures* const figures = figuresOf(row);
    return figures ? viewer::verdictOf(*figures, m_metric, limit()) : Verdict::equal;
}

std::vector<int> Judgement::rowsAt(const std::string& here) const
{
    const auto found = m_rowsAt.find(here);
    std::vector<int> rows = found == m_rowsAt.end() ? std::vector<int>() : found->second;
    if (m_folded.contains(here))
        for (const auto& [address, inside] : m_rowsAt)
            if (address.starts_with(here + ":")) rows.insert(rows.end(), inside.begin(), inside.end());
    std::ranges::sort(rows);
    return rows;
}

std::optional<Verdict> Judgement::verdictAt(const std::string& here) const
{
    std::optional<Verdict> worst;
    for (const int row : rowsAt(here))
        if (figuresOf(row)) worst = std::max(worst.value_or(Verdict::equal), verdictOf(row));
    return worst;
}

int64_t Judgement::differentRows() const
{
    return m_drift ? std::ranges::count_if(m_drift->rows, [](const DriftRow& row) { return row.different > 0 || !row.mismatch.empty(); })
                   : 0;
}

int Judgement::worstOf(const std::vector<int>& rows) const
{
    int worst = -1;
    for (const int each : rows)
        if (figuresOf(each) && (worst < 0 || goodness(*figuresOf(each), m_metric) < goodness(*figuresOf(worst), m_metric))) worst = each;
    return worst;
}

int Judgement::worst() const
{
    std::vector<int> rows;
    for (int row = 0; row < comparedRows(); ++row)
        if (figuresOf(row) && verdictOf(row) != Verdict::equal) rows.push_back(row);
    return worstOf(rows);
}

std::vector<int> Judgement::byBadness() const
{
    std::vector<int> rows;
    for (int row = 0; row < comparedRows(); ++row)
        if (figuresOf(row) && verdictOf(row) != Verdict::equal) rows.push_back(row);
    // Of equally bad ones the first stands for the worst.
    std::ranges::sort(rows, std::greater{}, [this](int row) { return std::pair(goodness(*figuresOf(row), m_metric), row); });
    return rows;
}

} // namespace loopscope::viewer
