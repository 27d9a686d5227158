#include "viewer/compare/compare_desk.h"

#include "engine/observe/address_names.h"
#include "viewer/canvas/labels.h"
#include "viewer/compare/weights_apart.h"
#include "viewer/style/theme.h"

#include <QDir>
#include <QFileInfo>
#include <QJsonArray>
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
    for (const char* const role : {":body/", ":cond/", ":frame/"})
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
    connect(&document.bridge(), &DebugBridge::refused, this, [this](const QString& line, const QString& text) {
        if (stage() == Stage::ready || (line != QLatin1String("start") && line != QLatin1String("drift"))) return;
        if (!m_problem.isEmpty()) return; // what follows from it
        m_problem = text;
        emit runChanged();
    });
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        if (m_scenes && (m_scenes->here->view.dense != Theme::instance().dense())) build();
    });
    connect(&document, &Document::selectionChanged, this, [this] {
        if (const std::string chosen = chosenOperator(); !m_selecting && !chosen.empty()) selectAt(CompareSide::here, chosen);
    });
    adopt();
}

CompareDesk::Stage CompareDesk::stage() const { return !m_run.reference ? Stage::none : !m_run.drift ? Stage::notRun : Stage::ready; }

void CompareDesk::compare()
{
    m_problem.clear();
    if (!m_document.stop()->started) m_document.perform(request::Begin{{}, false});
    m_document.perform(request::FindDrift());
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
    m_loopsOf.clear();
    m_row = m_pinned = -1;
    m_topClasses.reset();
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
        std::erase_if(m_iterations, [this](const auto& looked) { return looked.second >= iterationsOf(looked.first); });
        chooseMetric();
        askForClasses();
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
    reselect();
    emit shownRowChanged();
    emit topClassesChanged();
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
        [here, reference = m_run.reference, dense = Theme::instance().dense(), folded = m_folded,
         measure = fontTextMeasure()](std::stop_token stop) {
            Built built;
            SceneProgress progress;
            progress.stop = std::move(stop);
            auto scenes = pairScenes(here, {reference->model(), reference->root()}, *reference->values(), dense, folded, measure, progress);
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
            reselect();
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
    if (m_metricRemembered) return;
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
    emit choiceChanged();
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
    m_metricChosen = true;
    judge();
    emit judgementChanged();
    emit choiceChanged();
}

QJsonObject CompareDesk::choice() const
{
    QJsonObject limits;
    for (const auto& [metric, limit] : m_limits) limits[metricId(metric)] = limit;
    return {{"metric", metricId(m_metric)}, {"limits", limits}};
}

void CompareDesk::restoreChoice(const QJsonObject& choice)
{
    const std::optional<Metric> metric = metricOf(choice["metric"].toString().toStdString());
    if (!metric) return;
    m_metric = *metric;
    m_metricRemembered = true;
    const QJsonObject limits = choice["limits"].toObject();
    for (const Metric each : kMetrics)
        if (const QJsonValue limit = limits[metricId(each)]; limit.isDouble()) m_limits[each] = limit.toDouble();
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
    if (iteration) m_iterations[loop] = *iteration;
    else m_iterations.erase(loop);
    judge();
    emit judgementChanged();
    emit placesChanged();
}

void CompareDesk::showAllIterations()
{
    if (m_iterations.empty()) return;
    m_iterations.clear();
    judge();
    emit judgementChanged();
    emit placesChanged();
}

QJsonObject CompareDesk::places() const
{
    QJsonObject iterations, all;
    for (const auto& [loop, iteration] : m_iterations) iterations[textOf(loop)] = static_cast<qint64>(iteration);
    QJsonArray folded;
    for (const std::string& id : m_folded.here) folded.append(textOf(id));
    if (!iterations.isEmpty()) all["iterations"] = iterations;
    if (!folded.isEmpty()) all["folded"] = folded;
    return all;
}

void CompareDesk::restorePlaces(const QJsonObject& places)
{
    const QJsonObject iterations = places["iterations"].toObject();
    for (const QString& loop : iterations.keys()) {
        const auto iteration = static_cast<int64_t>(iterations[loop].toInteger(-1));
        // Until there is a comparison nobody knows how many iterations there are; then those beyond are dropped.
        if (iteration >= 0 && (!drift() || iteration < iterationsOf(loop.toStdString()))) m_iterations[loop.toStdString()] = iteration;
    }
    judge();
    emit judgementChanged();
    for (const QJsonValue& id : places["folded"].toArray()) setFolded(CompareSide::here, id.toString().toStdString(), true);
}

std::string CompareDesk::loopOf(CompareSide side, const SceneRegion& region) const
{
    if (region.kind != RegionKind::loop && region.kind != RegionKind::frame) return {};
    const std::string& id = region.kind == RegionKind::frame ? region.id : region.site;
    if (side == CompareSide::here || !m_scenes) return id;
    if (region.kind == RegionKind::frame) {
        const auto frame = m_scenes->framesThere.find(id);
        return frame == m_scenes->framesThere.end() ? std::string() : frame->second;
    }
    const auto row = m_scenes->rowsThere.find(id);
    return row == m_scenes->rowsThere.end() ? std::string() : m_scenes->rows[static_cast<size_t>(row->second.front())].here;
}

void CompareDesk::setFolded(CompareSide side, const std::string& id, bool folded)
{
    const auto change = [folded](std::set<std::string>& all, const std::string& one) {
        return folded ? all.insert(one).second : all.erase(one) > 0;
    };
    bool changed = change(side == CompareSide::here ? m_folded.here : m_folded.there, id);
    std::set<std::string>& others = side == CompareSide::here ? m_folded.there : m_folded.here;
    for (const std::string& partner : partnersOf(side, id)) changed |= change(others, partner);
    if (m_scenes) {
        const auto& frames = side == CompareSide::here ? m_scenes->framesHere : m_scenes->framesThere;
        if (const auto frame = frames.find(id); frame != frames.end()) changed |= change(others, frame->second);
    }
    if (!changed) return;
    build();
    emit placesChanged();
}

void CompareDesk::unfoldAll()
{
    if (m_folded.here.empty() && m_folded.there.empty()) return;
    m_folded = {};
    build();
    emit placesChanged();
}

QStringList CompareDesk::iterationLines() const
{
    QStringList lines;
    for (const auto& [loop, iteration] : m_iterations)
        lines.append(tr("%1: iteration %L2 of %L3").arg(textOf(withoutRoot(loop))).arg(iteration).arg(iterationsOf(loop)));
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
    m_over.clear();
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
    orderOver();
}

void CompareDesk::orderOver()
{
    m_firstStep.assign(drift()->rows.size(), -1);
    for (const DriftWrite& write : drift()->writes) {
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
    std::vector<int> rows = found == m_rowsAt.end() ? std::vector<int>() : found->second;
    if (m_folded.here.contains(here))
        for (const auto& [address, inside] : m_rowsAt)
            if (address.starts_with(here + ":")) rows.insert(rows.end(), inside.begin(), inside.end());
    std::ranges::sort(rows);
    return rows;
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
        lines.append(
            tr("B left %1 after %L2 iterations, A after %L3").arg(textOf(withoutRoot(trips.address))).arg(trips.there).arg(trips.here));
    return lines;
}

void CompareDesk::askForClasses()
{
    const std::vector<int> outputs = scoreRows(m_document.model(), m_run.root, *drift());
    if (outputs.empty()) return;
    const DriftRow row = drift()->rows[static_cast<size_t>(outputs.front())];
    m_document.bridge().ask(
        this, QStringLiteral("classes"),
        [row](Inspector& inspector) {
            std::optional<TopClasses> top;
            const Status status = inspector.withBothSides(row, row.worstStep, [&](const Tensor& here, const Tensor* there) {
                if (there) top = topClassesOf(here, *there);
            });
            return status.ok() ? top : std::nullopt;
        },
        [this, asked = m_run.drift](std::optional<TopClasses> top) {
            if (asked != m_run.drift || !top) return;
            // Both sides decide among the same classes: what one file does not say, the other may.
            const auto label = [&](const auto& own, const auto& other, int64_t index) {
                const std::string found = own ? labelOf(*own, *top, index) : std::string();
                return found.empty() && other ? labelOf(*other, *top, index) : found;
            };
            top->labelHere = label(m_run.labelsHere, m_run.labelsThere, top->here);
            top->labelThere = label(m_run.labelsThere, m_run.labelsHere, top->there);
            m_topClasses = std::move(top);
            emit topClassesChanged();
        });
}

} // namespace loopscope::viewer
