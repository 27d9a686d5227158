#include "viewer/compare/compare_desk.h"

#include "viewer/canvas/labels.h"
#include "viewer/compare/weights_apart.h"
#include "viewer/style/theme.h"

#include <QDir>
#include <QFileInfo>
#include <QLocale>

#include <algorithm>
#include <cmath>

namespace loopscope::viewer {

namespace {

QString textOf(const std::string& text) { return QString::fromStdString(text); }

constexpr int kAll = -1, kNotThere = -2;

/// "main/while#0" and "main/while#0:body/while#3" of "main/while#0:body/while#3:cond/less#1": the loops whose iterations an address can
/// have.
std::vector<std::string> loopsAround(const std::string& address)
{
    std::vector<std::string> loops;
    for (const char* const role : {":body/", ":cond/"})
        for (size_t at = address.find(role); at != std::string::npos; at = address.find(role, at + 1))
            loops.push_back(address.substr(0, at));
    std::ranges::sort(loops, {}, &std::string::size);
    return loops;
}

} // namespace

CompareDesk& CompareDesk::of(Document& document)
{
    if (auto* const made = document.findChild<CompareDesk*>({}, Qt::FindDirectChildrenOnly)) return *made;
    return *new CompareDesk(document);
}

CompareDesk::CompareDesk(Document& document) : QObject(&document), m_document(document)
{
    connect(&document, &Document::stopChanged, this, &CompareDesk::adopt);
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        if (m_scenes && (m_scenes->here->view.dense != Theme::instance().dense())) build();
    });
    connect(&document, &Document::selectionChanged, this, [this] {
        if (!m_selecting && !m_document.selection().address.empty())
            selectAt(CompareSide::here, staticAddress(m_document.selection().address));
    });
    adopt();
}

CompareDesk::Stage CompareDesk::stage() const { return !m_run.reference ? Stage::none : !m_run.drift ? Stage::notRun : Stage::ready; }

void CompareDesk::compare()
{
    if (!m_document.stop()->started) m_document.execute(QStringLiteral("start"));
    m_document.execute(QStringLiteral("drift"));
}

QString CompareDesk::nameOf(CompareSide side) const
{
    const QString here = textOf(m_document.backend().name()), there = m_run.reference ? textOf(m_run.reference->name()) : QString();
    if (here != there) return side == CompareSide::here ? here : there;
    // Two files of one name: their folders tell them apart.
    const QFileInfo file(textOf(side == CompareSide::here ? m_document.backend().path() : m_run.path));
    return file.dir().dirName() + '/' + file.fileName();
}

QString CompareDesk::detailOf(CompareSide side) const
{
    const Model* const model = modelOf(side);
    if (!model) return {};
    const GraphId root = side == CompareSide::here ? m_run.root : m_run.reference->root();
    std::map<DType, int> counts;
    for (const Value& value : model->graph(root).values)
        if (value.role == ValueRole::result) ++counts[value.type.dtype];
    const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
    QStringList parts;
    if (most != counts.end() && most->first != DType::unknown) parts.append(textOf(std::string(dtypeName(most->first))));
    const QFileInfo file(textOf(side == CompareSide::here ? m_document.backend().path() : m_run.path));
    if (file.isFile()) parts.append(QLocale::c().formattedDataSize(file.size(), 1, QLocale::DataSizeSIFormat));
    return parts.join(QStringLiteral(", "));
}

const Model* CompareDesk::modelOf(CompareSide side) const
{
    if (side == CompareSide::here) return &m_document.model();
    return m_run.reference ? m_run.reference->model() : nullptr;
}

void CompareDesk::adopt()
{
    const ComparedRun& now = m_document.stop()->compared;
    const bool other = now.reference != m_run.reference, compared = now.drift != m_run.drift;
    if (!other && !compared) {
        m_run = now; // which graph runs, from the beginning
        return;
    }
    const bool otherModel = other && (!now.reference || !m_run.reference || now.reference->model() != m_run.reference->model());
    m_run = now;
    m_rowsAt.clear();
    m_trips.clear();
    m_iterations.clear();
    m_loopsOf.clear();
    m_row = -1;
    if (const Drift* const drift = this->drift()) {
        for (size_t i = 0; i < drift->rows.size(); ++i) {
            m_rowsAt[drift->rows[i].address].push_back(static_cast<int>(i));
            m_loopsOf.push_back(loopsAround(drift->rows[i].address));
        }
        for (const DriftWrite& write : drift->writes) {
            const std::vector<std::string>& loops = m_loopsOf[static_cast<size_t>(write.row)];
            for (size_t k = 0; k < loops.size() && k < write.iterations.size(); ++k) {
                int64_t& trips = m_trips[loops[k]];
                trips = std::max(trips, write.iterations[k] + 1);
            }
        }
        chooseMetric();
    }
    judge();
    if (otherModel) {
        m_scenes.reset();
        m_here = m_there = nullptr;
        m_selected[0].clear();
        m_selected[1].clear();
    }
    emit runChanged();
    if (otherModel) build();
    emit judgementChanged();
}

void CompareDesk::build()
{
    if (!m_run.reference || !m_run.reference->model() || !m_run.reference->values()) {
        m_building = false;
        emit scenesChanged();
        return;
    }
    m_building = true;
    struct Built {
        std::shared_ptr<const PairedScenes> scenes;
        std::shared_ptr<const IndexedScene> here, there;
        std::string caveat;
    };
    const ComparedModel here{&m_document.model(), m_run.root};
    m_work.run(
        [here, reference = m_run.reference, dense = Theme::instance().dense(), measure = fontTextMeasure()](std::stop_token stop) {
            Built built;
            SceneProgress progress;
            progress.stop = std::move(stop);
            auto scenes = pairScenes(here, {reference->model(), reference->root()}, *reference->values(), dense, measure, progress);
            if (!scenes.ok()) return built;
            built.scenes = std::move(scenes).value();
            built.here = std::make_shared<const IndexedScene>(built.scenes->here);
            built.there = std::make_shared<const IndexedScene>(built.scenes->there);
            built.caveat = weightsText(compareWeights(here, {reference->model(), reference->root()}, *reference->values()));
            return built;
        },
        [this](Built built) {
            m_building = false;
            m_scenes = std::move(built.scenes);
            m_here = std::move(built.here);
            m_there = std::move(built.there);
            m_caveat = textOf(built.caveat);
            emit scenesChanged();
        });
}

// --- Judgement ------------------------------------------------------------------------------------------------------------------------

void CompareDesk::chooseMetric()
{
    if (m_metricChosen) return;
    const Tolerance tolerance = m_run.reference->tolerance();
    if (tolerance.cosine) {
        m_metric = Metric::cosine;
        m_limits[Metric::cosine] = *tolerance.cosine;
        return;
    }
    if (tolerance.close) m_limits[Metric::maxRel] = tolerance.close->rtol;
    if (tolerance.ulp) m_limits[Metric::ulp] = static_cast<double>(*tolerance.ulp);
    // Directions tell unlike representations apart, distances tell noise from errors.
    // Single numbers have no direction.
    double least = 1;
    for (const DriftRow& row : drift()->rows)
        if (row.elements > row.writes) least = std::min(least, row.cosine);
    m_metric = least < 0.9999 ? Metric::cosine : Metric::maxAbs;
}

void CompareDesk::setMetric(Metric metric)
{
    m_metricChosen = true;
    if (metric == m_metric) return;
    m_metric = metric;
    judge();
    emit judgementChanged();
}

double CompareDesk::limit() const
{
    const auto chosen = m_limits.find(m_metric);
    return chosen == m_limits.end() ? usualLimit(m_metric) : chosen->second;
}

void CompareDesk::setLimit(double limit)
{
    if (limit == this->limit()) return;
    m_limits[m_metric] = limit;
    judge();
    emit judgementChanged();
}

std::optional<int64_t> CompareDesk::iterationOf(const std::string& loop) const
{
    const auto found = m_iterations.find(loop);
    return found == m_iterations.end() ? std::nullopt : std::optional(found->second);
}

int64_t CompareDesk::iterationsOf(const std::string& loop) const
{
    const auto found = m_trips.find(loop);
    return found == m_trips.end() ? 0 : found->second;
}

void CompareDesk::setIteration(const std::string& loop, std::optional<int64_t> iteration)
{
    if (iteration == iterationOf(loop)) return;
    if (iteration)
        m_iterations[loop] = *iteration;
    else
        m_iterations.erase(loop);
    judge();
    emit judgementChanged();
}

void CompareDesk::showAllIterations()
{
    if (m_iterations.empty()) return;
    m_iterations.clear();
    judge();
    emit judgementChanged();
}

QStringList CompareDesk::iterationLines() const
{
    QStringList lines;
    for (const auto& [loop, iteration] : m_iterations)
        lines.append(tr("%1: iteration %L2 of %L3").arg(textOf(loop.substr(loop.find('/') + 1))).arg(iteration).arg(iterationsOf(loop)));
    return lines;
}

bool CompareDesk::isInView(const DriftWrite& write) const
{
    const std::vector<std::string>& loops = m_loopsOf[static_cast<size_t>(write.row)];
    for (size_t k = 0; k < loops.size() && k < write.iterations.size(); ++k)
        if (const std::optional<int64_t> wanted = iterationOf(loops[k]); wanted && *wanted != write.iterations[k]) return false;
    return true;
}

/// Finds the writes that are looked at, and the scale that holds them.
void CompareDesk::judge()
{
    m_writeOf.clear();
    m_scale = {};
    if (!drift()) return;
    const std::vector<DriftRow>& rows = drift()->rows;
    m_writeOf.assign(rows.size(), kAll);
    for (size_t i = 0; i < rows.size() && !m_iterations.empty(); ++i)
        for (const std::string& loop : m_loopsOf[i])
            if (iterationOf(loop)) m_writeOf[i] = kNotThere;
    if (!m_iterations.empty()) {
        // Of several writes in view, those of inner loops, the worst stands for all.
        for (size_t w = 0; w < drift()->writes.size(); ++w) {
            const DriftWrite& write = drift()->writes[w];
            int& chosen = m_writeOf[static_cast<size_t>(write.row)];
            if (chosen == kAll || !isInView(write)) continue;
            if (chosen == kNotThere ||
                goodness(write.figures, m_metric) < goodness(drift()->writes[static_cast<size_t>(chosen)].figures, m_metric))
                chosen = static_cast<int>(w);
        }
    }
    double worst = moreIsBetter(m_metric) ? INFINITY : -INFINITY;
    for (size_t i = 0; i < rows.size(); ++i) {
        const double value = measured(rows[i], m_metric); // of all iterations: the axis stays as the slider moves
        if (!std::isfinite(value)) continue;
        worst = moreIsBetter(m_metric) ? std::min(worst, value) : std::max(worst, value);
    }
    m_scale = scaleFor(m_metric, worst, limit());
}

const DriftFigures* CompareDesk::figuresOf(int row) const
{
    if (!drift() || row < 0 || static_cast<size_t>(row) >= m_writeOf.size()) return nullptr;
    const int write = m_writeOf[static_cast<size_t>(row)];
    if (write == kNotThere) return nullptr;
    return write == kAll ? &drift()->rows[static_cast<size_t>(row)] : &drift()->writes[static_cast<size_t>(write)].figures;
}

int64_t CompareDesk::stepOf(int row) const
{
    if (!figuresOf(row)) return -1;
    const int write = m_writeOf[static_cast<size_t>(row)];
    return write == kAll ? drift()->rows[static_cast<size_t>(row)].worstStep : drift()->writes[static_cast<size_t>(write)].step;
}

Verdict CompareDesk::verdictOf(int row) const
{
    const DriftFigures* const figures = figuresOf(row);
    return figures ? viewer::verdictOf(*figures, m_metric, limit()) : Verdict::equal;
}

std::vector<int> CompareDesk::rowsAt(const std::string& here) const
{
    const auto found = m_rowsAt.find(here);
    return found == m_rowsAt.end() ? std::vector<int>() : found->second;
}

std::optional<Verdict> CompareDesk::verdictAt(const std::string& here) const
{
    std::optional<Verdict> worst;
    for (const int row : rowsAt(here))
        if (figuresOf(row)) worst = std::max(worst.value_or(Verdict::equal), verdictOf(row));
    return worst;
}

int64_t CompareDesk::differentRows() const
{
    return drift() ? std::ranges::count_if(drift()->rows, [](const DriftRow& row) { return row.different > 0 || !row.mismatch.empty(); })
                   : 0;
}

// --- Selection ------------------------------------------------------------------------------------------------------------------------

void CompareDesk::setSelection(int row, std::vector<std::string> here, std::vector<std::string> there)
{
    if (row == m_row && here == m_selected[0] && there == m_selected[1]) return;
    m_row = row;
    m_selected[0] = std::move(here);
    m_selected[1] = std::move(there);
    if (!m_selected[0].empty() && staticAddress(m_document.selection().address) != m_selected[0].front()) {
        m_selecting = true;
        m_document.select(m_selected[0].front());
        m_selecting = false;
    }
    emit selectionChanged();
}

void CompareDesk::selectRow(int row)
{
    if (!drift() || row < 0 || static_cast<size_t>(row) >= drift()->rows.size()) return setSelection(-1, {}, {});
    const std::string& here = drift()->rows[static_cast<size_t>(row)].address;
    std::vector<std::string> there;
    if (m_scenes)
        if (const auto found = m_scenes->rowsHere.find(here); found != m_scenes->rowsHere.end())
            for (const int pair : found->second) there.push_back(m_scenes->rows[static_cast<size_t>(pair)].there);
    setSelection(row, {here}, std::move(there));
}

void CompareDesk::selectAt(CompareSide side, const std::string& address)
{
    std::vector<std::string> others;
    if (m_scenes) {
        const auto& known = side == CompareSide::here ? m_scenes->rowsHere : m_scenes->rowsThere;
        if (const auto found = known.find(address); found != known.end())
            for (const int pair : found->second) {
                const PairedRow& row = m_scenes->rows[static_cast<size_t>(pair)];
                others.push_back(side == CompareSide::here ? row.there : row.here);
            }
    }
    std::vector<std::string> one = {address};
    std::vector<std::string>& here = side == CompareSide::here ? one : others;
    std::vector<std::string>& there = side == CompareSide::here ? others : one;
    int row = -1; // of several results the worst
    for (const std::string& operation : here)
        for (const int each : rowsAt(operation))
            if (figuresOf(each) && (row < 0 || goodness(*figuresOf(each), m_metric) < goodness(*figuresOf(row), m_metric))) row = each;
    setSelection(row, std::move(here), std::move(there));
}

QString CompareDesk::reason() const
{
    if (!m_scenes || m_selected[0].empty() || m_selected[1].empty()) return {};
    const auto found = m_scenes->rowsHere.find(m_selected[0].front());
    if (found == m_scenes->rowsHere.end()) return {};
    switch (m_scenes->rows[static_cast<size_t>(found->second.front())].how) {
    case PairedBy::address:
        return tr("by address");
    case PairedBy::name:
        return tr("by tensor name");
    case PairedBy::position:
        return tr("by position");
    case PairedBy::structure:
        return tr("by structure: kind, shape and order");
    }
    return {};
}

int CompareDesk::firstOver() const
{
    for (int row = 0; row < comparedRows(); ++row)
        if (verdictOf(row) >= Verdict::over) return row;
    return -1;
}

int CompareDesk::worst() const
{
    int worst = -1;
    for (int row = 0; row < comparedRows(); ++row)
        if (figuresOf(row) && verdictOf(row) != Verdict::equal &&
            (worst < 0 || goodness(*figuresOf(row), m_metric) < goodness(*figuresOf(worst), m_metric)))
            worst = row;
    return worst;
}

bool CompareDesk::goToDifference(int step)
{
    const auto count = static_cast<int>(comparedRows());
    for (int row = m_row < 0 && step < 0 ? count - 1 : m_row + step; row >= 0 && row < count; row += step)
        if (verdictOf(row) >= Verdict::over) {
            selectRow(row);
            return true;
        }
    return false;
}

bool CompareDesk::goToWorse()
{
    std::vector<int> rows;
    for (int row = 0; row < comparedRows(); ++row)
        if (figuresOf(row) && verdictOf(row) != Verdict::equal) rows.push_back(row);
    if (rows.empty()) return false;
    // Of equally bad ones the first stands for the worst.
    std::ranges::sort(rows, std::greater{}, [this](int row) { return std::pair(goodness(*figuresOf(row), m_metric), row); });
    const auto present = std::ranges::find(rows, m_row);
    // Without a selection that differs, the worst; from there on upwards the least comes next.
    selectRow(present == rows.end() ? rows.back() : present + 1 == rows.end() ? rows.front() : *(present + 1));
    return true;
}

void CompareDesk::moveViewport(CompareSide side, const Viewport& viewport)
{
    if (m_linked || side == CompareSide::here) m_viewport = viewport;
    emit viewportMoved(side, viewport);
}

void CompareDesk::setLinked(bool linked)
{
    if (linked == m_linked) return;
    m_linked = linked;
    emit linkChanged();
}

QStringList CompareDesk::tripLines() const
{
    QStringList lines;
    if (!drift()) return lines;
    for (const DriftTrips& trips : drift()->trips)
        lines.append(tr("B left %1 after %L2 iterations, A after %L3")
                         .arg(textOf(trips.address.substr(trips.address.find('/') + 1)))
                         .arg(trips.there)
                         .arg(trips.here));
    return lines;
}

} // namespace loopscope::viewer
