#include "viewer/compare/compare_desk.h"

#include "engine/observe/address_names.h"
#include "viewer/bridge/text.h"
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

CompareDesk& CompareDesk::of(Document& document)
{
    if (auto* const made = document.findChild<CompareDesk*>({}, Qt::FindDirectChildrenOnly)) return *made;
    return *new CompareDesk(document);
}

CompareDesk::CompareDesk(Document& document) : QObject(&document), m_document(document), m_judgement(m_folded.here)
{
    connect(&m_judgement, &Judgement::changed, this, &CompareDesk::judgementChanged);
    connect(&m_judgement, &Judgement::iterationsChosen, this, &CompareDesk::placesChanged);
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
    const QString here = toText(m_document.backend().name()), there = m_run.reference ? toText(m_run.reference->name()) : QString();
    if (here != there) return side == CompareSide::here ? here : there;
    // Two files of one name: their folders tell them apart.
    const QFileInfo file(toText(side == CompareSide::here ? m_document.backend().path() : fileOfSide(m_run.path)));
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
    if (most != counts.end() && most->first != DType::unknown) parts.append(toText(std::string(dtypeName(most->first))));
    const QFileInfo file(toText(side == CompareSide::here ? m_document.backend().path() : fileOfSide(m_run.path)));
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
    m_row = m_pinned = -1;
    m_topClasses.reset();
    m_judgement.adopt(now.drift, now.reference ? now.reference->tolerance() : Tolerance());
    if (now.drift) askForClasses();
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
        std::vector<RewritePlaces> rewrites;
        std::string caveat;
    };
    const ComparedModel here{&m_document.model(), m_run.root};
    m_work.run(
        [here, fused = m_document.backend().fused(), reference = m_run.reference, dense = Theme::instance().dense(), folded = m_folded,
         measure = fontTextMeasure()](std::stop_token stop) {
            Built built;
            SceneProgress progress;
            progress.stop = std::move(stop);
            auto scenes = pairScenes(here, {reference->model(), reference->root()}, *reference->values(), dense, folded, measure, progress);
            if (!scenes.ok()) return built;
            built.scenes = std::move(scenes).value();
            if (fused) {
                built.rewrites = placesOfRewrites(*fused, *here.model, *built.scenes->here, *reference->model(), *built.scenes->there);
                auto known = std::make_shared<PairedScenes>(*built.scenes);
                takeFused(*known, built.rewrites);
                built.scenes = std::move(known);
            }
            built.here = std::make_shared<const IndexedScene>(built.scenes->here);
            built.there = std::make_shared<const IndexedScene>(built.scenes->there);
            built.caveat = weightsText(compareWeights(here, {reference->model(), reference->root()}, *reference->values()));
            return built;
        },
        [this](Built built) {
            m_building = false;
            m_scenes = std::move(built.scenes);
            m_rewrites = std::move(built.rewrites);
            m_here = std::move(built.here);
            m_there = std::move(built.there);
            m_caveat = toText(built.caveat);
            emit scenesChanged();
            reselect();
        });
}

QJsonObject CompareDesk::places() const
{
    QJsonArray folded;
    for (const std::string& id : m_folded.here) folded.append(toText(id));
    QJsonObject all;
    if (const QJsonObject iterations = m_judgement.iterations(); !iterations.isEmpty()) all["iterations"] = iterations;
    if (!folded.isEmpty()) all["folded"] = folded;
    return all;
}

void CompareDesk::restorePlaces(const QJsonObject& places)
{
    m_judgement.restoreIterations(places["iterations"].toObject());
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

QStringList CompareDesk::tripLines() const
{
    QStringList lines;
    if (!drift()) return lines;
    for (const DriftTrips& trips : drift()->trips)
        lines.append(
            tr("B left %1 after %L2 iterations, A after %L3").arg(toText(withoutRoot(trips.address))).arg(trips.there).arg(trips.here));
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
