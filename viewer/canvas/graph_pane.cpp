#include "viewer/canvas/graph_pane.h"

#include "engine/api/inspector.h"
#include "engine/observe/address.h"
#include "engine/observe/address_names.h"
#include "engine/observe/address_resolution.h"
#include "engine/ops/control_flow.h"
#include "engine/tensor/statistics.h"
#include "viewer/bridge/elsewhere.h"
#include "viewer/canvas/picture_export.h"
#include "viewer/widgets/value_menu.h"

#include <QAction>
#include <QJsonArray>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace loopscope::viewer {

namespace {

/// Of several results the first, with the minus sign of the screen.
QString firstOf(const std::string& values)
{
    const QString all = QString::fromStdString(values), first = all.section(QLatin1String(", "), 0, 0);
    return QString(first).replace(QLatin1Char('-'), QChar(0x2212)) + (first.size() < all.size() ? QStringLiteral(", …") : QString());
}

/// Of a result that is not all finite: which of the two it holds, where its first elements tell.
QString abnormalWord(const std::string& values)
{
    const bool nan = values.find("nan") != std::string::npos, inf = values.find("inf") != std::string::npos;
    return nan ? QStringLiteral("NaN") : inf ? QStringLiteral("Inf") : QStringLiteral("NaN/Inf");
}

constexpr int kSettleMs = 80;                  ///< after panning or zooming, before values of what is in view are asked for
constexpr int kMarksFrom = 2;                  ///< level of detail from which operators say that they gave NaN
constexpr int64_t kScanned = int64_t{1} << 22; ///< elements that are looked at for that, at one stop

/// First elements of a value, one a line: "-0.2331", "0.0426 …".
QStringList valueLines(const Tensor& tensor)
{
    constexpr int64_t most = 2;
    if (!tensor.data) return {};
    const int64_t count = tensor.elementCount();
    if (count == 0) return {QStringLiteral("empty")};
    QStringList lines;
    for (int64_t i = 0; i < std::min(count, most); ++i) {
        const double value = elementAsReal(tensor, i);
        if (std::isnan(value) && (tensor.dtype == DType::string || tensor.dtype == DType::resource || tensor.dtype == DType::variant))
            return {};
        QString text = QString::number(value, 'g', 4);
        text.replace(QLatin1Char('-'), QChar(0x2212));
        lines.append(text);
    }
    if (count > most) lines.last() += QStringLiteral(" …");
    return lines;
}

/// The stop as a picture of what is looked at needs it: the frames that lead there, the last one at its end, and nothing to run next.
StopSnapshot lookedAtStop(const Document& document)
{
    StopSnapshot stop = *document.stop();
    const Result<Address> looked = parseAddress(document.lookedAt());
    if (!looked.ok()) return stop;
    std::vector<FrameSnapshot> stack;
    Address at;
    at.root = looked->root;
    for (size_t d = 0; d <= looked->steps.size(); ++d) {
        FrameSnapshot frame;
        if (d > 0) {
            Address site = at;
            site.target = TargetKind::op;
            site.op = looked->steps[d - 1].site;
            at.steps.push_back(looked->steps[d - 1]);
            if (const Result<ResolvedAddress> call = resolveAddress(document.model(), site); call.ok()) stack.back().info.next = call->op;
        }
        const std::string address = toString(at);
        const bool isKnown = d < stop.stack.size() && staticAddress(stop.stack[d].address) == staticAddress(address);
        if (isKnown) frame = stop.stack[d]; // how often its loop runs
        const Result<ResolvedAddress> place = resolveAddress(document.model(), at);
        if (!place.ok()) return *document.stop();
        frame.address = address;
        frame.info.graph = place->graph;
        frame.info.next = {};
        frame.condition.clear();
        if (d > 0) {
            frame.info.role = callRole(at.steps.back().role);
            frame.info.branch = at.steps.back().branch;
            frame.info.iteration = at.steps.back().iteration;
            frame.info.site = stack.back().info.next;
        }
        stack.push_back(std::move(frame));
    }
    stop.stack = std::move(stack);
    stop.address.clear();
    stop.finished = stop.failed = false;
    return stop;
}

} // namespace

GraphPane::GraphPane(Document& document, QWidget* parent) : QWidget(parent), m_document(document), m_canvas(new GraphCanvas(this))
{
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_canvas);
    setFocusProxy(m_canvas);

    m_canvas->setBuilder(&buildScene);
    m_canvas->setStateSource([this](const Scene& scene) {
        m_memory.sides = &m_document.sides();
        CanvasState state = m_document.lookedAt().empty() ? stateAt(scene, m_document.model(), *m_document.stop(), m_memory)
                                                          : stateAt(scene, m_document.model(), lookedAtStop(m_document), m_memory);
        for (const std::string& invocation : state.unknownSides) m_document.wantSides(invocation);
        return state;
    });
    connect(&m_canvas->selection(), &CanvasSelection::edited, this, &GraphPane::adoptSelection);
    connect(m_canvas, &GraphCanvas::viewEdited, this, [this] { emit viewWanted(m_canvas->view()); });
    connect(m_canvas, &GraphCanvas::openRequested, this, &GraphPane::open);
    connect(m_canvas, &GraphCanvas::openDefaultRequested, this, [this](const CallSite& site) { open(site, m_document.openCallee()); });
    connect(m_canvas, &GraphCanvas::upRequested, this, &GraphPane::upWanted);
    connect(m_canvas, &GraphCanvas::breakpointRequested, this, [this](const QString& address) { toggleBreakpoint(address.toStdString()); });
    connect(&m_canvas->input(), &CanvasInput::loopMoved, this, &GraphPane::moveLoop);
    connect(&m_canvas->input(), &CanvasInput::loopDropped, this, [this] { m_document.setPreview(std::nullopt); });
    connect(&m_canvas->input(), &CanvasInput::frameIterationChosen, this, &GraphPane::chooseIteration);
    connect(m_canvas, &GraphCanvas::commandRequested, this, &GraphPane::triggerWindow);
    connect(m_canvas, &GraphCanvas::buildFailed, this, [this](const QString& text) {
        m_document.report({Problem::Severity::error, text.toStdString(), m_canvas->view().root, "the picture before is shown"});
    });
    connect(m_canvas, &GraphCanvas::sceneChanged, this, &GraphPane::pictureChanged);
    m_settling.setSingleShot(true);
    m_settling.setInterval(kSettleMs);
    connect(m_canvas, &GraphCanvas::viewportChanged, this, [this] {
        if (m_canvas->camera().level() >= kMarksFrom) m_settling.start();
        if (m_canvas->camera().isPlaced() && m_place.isEmpty()) emit stateChanged();
    });
    connect(&m_settling, &QTimer::timeout, this, &GraphPane::askValues);

    connect(&document, &Document::stopChanged, this, &GraphPane::followStop);
    connect(&document, &Document::selectionChanged, this, &GraphPane::showSelection);
    connect(&document, &Document::sidesChanged, m_canvas, &GraphCanvas::refreshState);
    connect(&document, &Document::lookedAtChanged, this, [this] {
        m_canvas->refreshState();
        askValues();
        askValue();
    });
    m_scrubbed.setSingleShot(true);
    m_scrubbed.setInterval(0); // where scrubbing ends, the run is about to move
    connect(&m_scrubbed, &QTimer::timeout, this, [this] {
        if (m_document.bridge().busy()) return;
        askValues();
        askValue();
    });
    connect(&document, &Document::previewChanged, &m_scrubbed, qOverload<>(&QTimer::start));
    connect(&document, &Document::previewChanged, this,
            [this] { m_canvas->setScrubbed(m_document.previewLoop(), m_document.preview().value_or(-1)); });
    m_canvas->legend().setShown(!document.stop()->started);
}

void GraphPane::show(const ViewState& view)
{
    m_canvas->setModel(&m_document.model(), view);
    m_canvas->setHits(m_document.hits());
    if (m_document.stop()->started && staticAddress(m_document.stop()->address).starts_with(view.root + "/"))
        m_reveal = m_document.stop()->address;
}

void GraphPane::setView(const ViewState& view)
{
    m_canvas->setView(view, m_canvas->selection().addresses().empty() ? std::string() : m_canvas->selection().addresses().front());
}

void GraphPane::reveal(const std::string& address)
{
    emit viewWanted(m_canvas->viewShowing(address));
    m_opensForReveal = true;
    m_reveal = m_canvas->isBuilding() || !m_canvas->reveal(address, true) ? address : std::string();
}

void GraphPane::pictureChanged()
{
    showSelection();
    recallPlace();
    if (m_reveal.empty()) return;
    // A group inside of a group that was opened may hide the place still.
    const int node = m_canvas->scene() ? m_canvas->scene()->findNode(m_reveal) : -1;
    if (m_opensForReveal && node >= 0 && m_canvas->scene()->nodes[static_cast<size_t>(node)].kind == NodeKind::group) {
        const std::string address = m_reveal;
        return reveal(address);
    }
    if (sees(m_reveal)) m_reveal.clear();
}

/// Brings a place into view, or what stands for it where a callee is not drawn; false while neither is there.
bool GraphPane::sees(const std::string& address)
{
    std::string place = staticAddress(address);
    while (!m_canvas->reveal(place, false, true)) {
        const size_t end = place.find_last_of("/:");
        if (end == std::string::npos) return false;
        place.resize(end);
    }
    return true;
}

bool GraphPane::command(const QString& id)
{
    if (id.startsWith(QLatin1String("exportTo "))) {
        const QString problem = exportPicture(m_canvas->picture(), id.mid(9));
        if (!problem.isEmpty())
            m_document.report({Problem::Severity::error, problem.toStdString(), m_canvas->view().root, "choose another file"});
        return true;
    }
    if (id == QLatin1String("cancel")) {
        if (!m_canvas->isBuilding()) return false;
        m_canvas->cancelBuilding();
        emit viewWanted(m_canvas->view());
        return true;
    }
    if (id.startsWith(QLatin1String("overlay "))) return changeOverlay(id.mid(8));
    return m_canvas->commands().perform(id);
}

void GraphPane::toggleBreakpoint(const std::string& address)
{
    if (const Result<Address> place = parseAddress(address); place.ok()) m_document.perform(request::ToggleBreakpoint{*place});
}

/// The side that runs or ran, else the body of a loop, else the first.
std::string GraphPane::calleeOf(const CallSite& site) const
{
    const CallForm form = callForm(m_document.model().graph(site.graph).op(site.op));
    std::string role;
    for (const FrameSnapshot& frame : m_document.stop()->stack) {
        const std::string plain = staticAddress(frame.address);
        if (callSiteOf(plain) == site.address) role = plain.substr(site.address.size() + 1);
    }
    if (const std::optional<int> side = m_document.sideOf(m_document.atView(site.address)); role.empty() && side)
        role = roleOfSide(m_document.model().graph(site.graph).op(site.op), *side);
    for (const Callee& callee : form.callees)
        if (role.empty() && callee.role == "body") role = callee.role;
    if (role.empty() && !form.callees.empty()) role = form.callees.front().role;
    return role.empty() ? std::string() : site.address + ":" + role;
}

void GraphPane::open(const CallSite& site, OpenCallee how)
{
    ViewState view = m_canvas->view();
    m_document.setOpenCallee(how);
    const std::string callee = calleeOf(site);
    if (callee.empty()) return;
    switch (how) {
    case OpenCallee::drillIn: view.root = callee; break;
    case OpenCallee::inlineHere:
        if (!view.inlined.insert(site.address).second) view.inlined.erase(site.address);
        break;
    case OpenCallee::split:
        if (view.inlined.erase(site.address) > 0) { // it need not be drawn twice, and what is left is small
            m_canvas->camera().startOver();
            emit viewWanted(view);
        }
        emit splitWanted(QString::fromStdString(callee));
        return;
    }
    emit viewWanted(view);
}

void GraphPane::followStop()
{
    const StopSnapshot& stop = *m_document.stop();
    m_canvas->legend().setShown(!stop.started);
    const bool moved = stop.tick != m_stoppedAt;
    m_stoppedAt = stop.tick;
    m_memory.shownIterations = stop.tick == m_chosenAt ? m_chosenIterations : std::unordered_map<std::string, int64_t>();
    m_canvas->refreshState();
    showCallout();
    noteTrips();
    askValues();
    if (moved && stop.started && !stop.finished && !m_canvas->input().isDragging()) {
        if (const std::string frame = foldedFrameAt(stop.address); !frame.empty() && m_openedForRun.insert(frame).second)
            return reveal(staticAddress(stop.address)); // who folds it again has it so
        m_opensForReveal = false;
        m_reveal = m_canvas->isBuilding() || !sees(stop.address) ? stop.address : std::string();
    }
    askValue();
}

/// The frame that is drawn folded around a node of a v1 graph; empty: none is.
std::string GraphPane::foldedFrameAt(const std::string& address) const
{
    if (!m_document.stop()->isDataflow || !m_canvas->scene()) return {};
    const int node = m_canvas->scene()->findNode(staticAddress(address));
    if (node < 0) return {};
    const SceneNode& group = m_canvas->scene()->nodes[static_cast<size_t>(node)];
    const bool isScope = group.id.find("//", m_canvas->view().root.size()) != std::string::npos;
    return group.kind == NodeKind::group && !isScope ? group.id : std::string();
}

/// How often loops ran, for heads that do not know it yet when they run again.
void GraphPane::noteTrips()
{
    if (!m_canvas->scene()) return;
    const std::vector<SceneRegion>& regions = m_canvas->scene()->regions;
    for (size_t i = 0; i < regions.size(); ++i)
        if (const RegionState& state = m_canvas->state().regions[i]; state.trips && !state.tripsFromEarlier)
            m_memory.trips[regions[i].id] = *state.trips;
}

void GraphPane::showSelection()
{
    if (!m_adopting) {
        const Selection& selection = m_document.selection();
        const std::string address = selection.address.empty() ? std::string() : staticAddress(selection.address);
        if (address.empty()) {
            m_canvas->selection().select({});
        } else {
            // Inputs and results of a graph are pills; of an operator the address of its value is not that of its node.
            std::string place = address;
            if (m_canvas->scene() && m_canvas->scene()->findNode(place) < 0 && selection.value.valid()) {
                // The same value also stands at the calls that it is passed to; where its graph is drawn twice, the place decides.
                for (const SceneNode& node : m_canvas->scene()->nodes) {
                    const bool isIt = node.kind == NodeKind::input || (selection.op.valid() && node.op == selection.op);
                    if (!isIt || node.graph != selection.graph || node.value != selection.value) continue;
                    if (place == address || node.id.starts_with(address)) place = node.id;
                }
            }
            if (m_canvas->selection().addresses().empty() || m_canvas->selection().addresses().front() != place) {
                m_canvas->selection().select({place});
                m_canvas->reveal(place);
            }
        }
    }
    askValue();
}

void GraphPane::adoptSelection()
{
    m_adopting = true;
    const int index = m_canvas->selection().node();
    if (const int region = m_canvas->selection().region(); region >= 0) {
        const SceneRegion& head = m_canvas->scene()->regions[static_cast<size_t>(region)];
        if (head.site.empty() || !m_document.select(head.site)) m_document.clearSelection();
    } else if (index < 0) {
        m_document.clearSelection();
    } else {
        const SceneNode& node = m_canvas->scene()->nodes[static_cast<size_t>(index)];
        if (node.kind == NodeKind::op && m_document.select(node.id)) {
            // done: the address with the iterations of the stop
        } else {
            Selection selection;
            selection.graph = node.graph;
            selection.value = node.value;
            selection.op = node.op;
            // "main/while#1:body>arg4" is the input of the graph "main/while#1:body", which has the address with "/arg4".
            std::string address = node.id;
            const size_t mark = address.find_last_of("><");
            if (mark != std::string::npos && node.value.valid())
                address = address.substr(0, mark) + "/" + m_document.model().graph(node.graph).value(node.value).id;
            if (node.kind == NodeKind::group || !m_document.select(address)) {
                selection.address = node.id;
                m_document.select(selection);
            }
        }
    }
    m_adopting = false;
    askValue();
}

void GraphPane::askValue()
{
    const int index = m_canvas->selection().node();
    const StopSnapshot& stop = *m_document.stop();
    if (index < 0 || !stop.started || !m_canvas->scene()) return m_canvas->cards().setValueCard({});
    const SceneNode& node = m_canvas->scene()->nodes[static_cast<size_t>(index)];
    if (node.kind != NodeKind::op || !node.value.valid()) return m_canvas->cards().setValueCard({});
    const ValuePlace place = m_document.valuePlace(invocationOf(node.id));
    ValueCard card;
    card.address = node.id;
    card.title = QString::fromStdString(m_document.model().graph(node.graph).value(node.value).id);
    card.type = QString::fromStdString(node.shape);
    if (place.depth < 0 && !place.isElsewhere()) return m_canvas->cards().setValueCard({});
    m_document.bridge().ask(
        this, QStringLiteral("canvas value"),
        [place, card, value = node.value, graph = node.graph](Inspector& inspector) mutable {
            const auto note = [&](const Tensor* tensor) {
                if (tensor != nullptr) card.lines = valueLines(*tensor);
            };
            if (place.isElsewhere()) {
                const ReadElsewhere read = readElsewhere(inspector, place, [&](const EndedInvocation& end) { note(end.value(value)); });
                card.moment = momentText(read);
                if (!read.why.empty()) card.lines = QStringList{QString::fromStdString(read.why)};
            } else if (place.depth < inspector.position().depth && inspector.frame(place.depth).graph == graph) {
                note(inspector.value(place.depth, value));
            }
            return card;
        },
        [this](const ValueCard& card) { m_canvas->cards().setValueCard(card); });
}

/// What the operators in view gave in the invocations that are open or looked at, where there is room to write it.
void GraphPane::askValues()
{
    const StopSnapshot& stop = *m_document.stop();
    if (m_canvas->camera().level() < kMarksFrom || !stop.started || stop.isDataflow || !m_canvas->scene()) return m_canvas->setValues({});
    struct Asked {
        ValuePlace place;
        GraphId graph;
        std::vector<OperatorId> operators;
        QStringList ids;
    };
    struct Shown {
        QHash<QString, QString> texts, abnormal;
    };
    std::map<std::string, Asked> asked; // by graph
    for (const int index : m_canvas->camera().visibleNodes()) {
        const SceneNode& node = m_canvas->scene()->nodes[static_cast<size_t>(index)];
        if (node.kind != NodeKind::op) continue;
        const auto [found, isNew] = asked.try_emplace(invocationOf(node.id));
        Asked& frame = found->second;
        if (isNew) frame.place = m_document.valuePlace(found->first);
        frame.graph = node.graph;
        if (frame.place.depth < 0 && !frame.place.isElsewhere()) continue;
        frame.operators.push_back(node.op);
        frame.ids.append(QString::fromStdString(node.id));
    }
    m_document.bridge().ask(
        this, QStringLiteral("canvas values"),
        [asked](Inspector& inspector) {
            Shown shown;
            int64_t left = kScanned;
            for (const auto& [graph, frame] : asked) {
                if (frame.place.isElsewhere()) {
                    QHash<QString, QString> there;
                    const ReadElsewhere read = readElsewhere(inspector, frame.place, [&](const EndedInvocation& end) {
                        const Graph& ended = inspector.model().graph(end.frame().graph);
                        for (size_t i = 0; i < frame.operators.size(); ++i) {
                            const std::vector<ValueId>& results = ended.op(frame.operators[i]).results;
                            const Tensor* const tensor = results.empty() ? nullptr : end.value(results.front());
                            if (tensor != nullptr && tensor->data != nullptr)
                                there[frame.ids[static_cast<qsizetype>(i)]] = firstOf(firstElements(*tensor).text);
                        }
                    });
                    for (auto one = there.cbegin(); one != there.cend(); ++one)
                        shown.texts[one.key()] = momentText(read) + QLatin1Char(' ') + one.value();
                    continue;
                }
                if (frame.place.depth < 0 || frame.place.depth >= inspector.position().depth) continue;
                if (inspector.frame(frame.place.depth).graph != frame.graph) continue; // the run has gone on since
                const std::vector<OperatorValues> values =
                    inspector.valuesOf(frame.place.depth, frame.operators, false, [&](const Tensor& tensor) {
                        left -= tensor.elementCount();
                        return left < 0 ? InlineValue() : firstElements(tensor);
                    });
                for (size_t i = 0; i < values.size() && i < frame.operators.size(); ++i) {
                    if (values[i].age != OperatorValues::Age::current) continue;
                    const QString& id = frame.ids[static_cast<qsizetype>(i)];
                    shown.texts[id] = firstOf(values[i].text);
                    if (values[i].abnormal) shown.abnormal[id] = abnormalWord(values[i].text);
                }
            }
            return shown;
        },
        [this](const Shown& shown) { m_canvas->setValues(shown.texts, shown.abnormal); });
}

/// Another iteration of a v1 frame is shown; the run stays.
void GraphPane::chooseIteration(int region, int64_t iteration)
{
    m_chosenIterations = m_memory.shownIterations;
    m_chosenIterations[m_canvas->scene()->regions[static_cast<size_t>(region)].id] = iteration;
    m_chosenAt = m_document.stop()->tick;
    m_memory.shownIterations = m_chosenIterations;
    m_canvas->refreshState();
    emit stateChanged();
}

QJsonObject GraphPane::state() const
{
    QJsonObject state;
    if (!m_place.isEmpty()) state = m_place; // that has not been taken over yet
    if (m_canvas->camera().isPlaced() && m_canvas->scene()) {
        const QRectF seen = m_canvas->camera().sceneInView();
        state[QStringLiteral("root")] = QString::fromStdString(m_canvas->view().root);
        state[QStringLiteral("zoom")] = m_canvas->camera().zoom();
        state[QStringLiteral("middle")] = QJsonArray{std::round(seen.center().x()), std::round(seen.center().y())};
    }
    if (m_chosenIterations.empty()) return state;
    QJsonObject chosen;
    for (const auto& [region, iteration] : m_chosenIterations) chosen[QString::fromStdString(region)] = static_cast<qint64>(iteration);
    state[QStringLiteral("iterations")] = chosen;
    state[QStringLiteral("tick")] = static_cast<qint64>(m_chosenAt);
    return state;
}

void GraphPane::setState(const QJsonObject& state)
{
    m_place = state.contains(QStringLiteral("zoom")) ? state : QJsonObject();
    m_chosenIterations.clear();
    const QJsonObject chosen = state[QStringLiteral("iterations")].toObject();
    for (const QString& region : chosen.keys()) m_chosenIterations[region.toStdString()] = chosen[region].toInteger();
    m_chosenAt = chosen.isEmpty() ? -1 : state[QStringLiteral("tick")].toInteger(-1);
    if (!m_canvas->isBuilding()) recallPlace();
}

void GraphPane::recallPlace()
{
    if (m_place.isEmpty() || m_canvas->isBuilding() || !m_canvas->scene()) return;
    const QJsonObject place = std::exchange(m_place, {});
    if (place[QStringLiteral("root")].toString().toStdString() != m_canvas->view().root) return;
    const double zoom = place[QStringLiteral("zoom")].toDouble(1);
    const QJsonArray middle = place[QStringLiteral("middle")].toArray();
    m_canvas->camera().setViewport(zoom, QPointF(middle.at(0).toDouble(), middle.at(1).toDouble()) * zoom -
                                             QPointF(m_canvas->width(), m_canvas->height()) / 2);
}

void GraphPane::moveLoop(int region, int64_t iteration, bool isFinal)
{
    if (m_canvas->scene()->regions[static_cast<size_t>(region)].kind == RegionKind::frame) return chooseIteration(region, iteration);
    // While the knob is dragged, what is known of that iteration is shown; the run goes there on release.
    const SceneRegion& loop = m_canvas->scene()->regions[static_cast<size_t>(region)];
    if (!isFinal) return m_document.setPreview(iteration, loop.id);
    m_document.setPreview(std::nullopt);
    const RegionState& state = m_canvas->state().regions[static_cast<size_t>(region)];
    const StopSnapshot& stop = *m_document.stop();
    if (!stop.started || state.iteration == iteration) return;
    const bool isInnermost = !stop.stack.empty() && stop.stack.back().address == state.address;
    if (isInnermost && m_document.frame() < 0)
        return m_document.perform(request::Iterate{request::Iterate::To::number, iteration}, QStringLiteral("scrub"));
    // The loop's own iteration is the last one in the address of its frame; loops around it stay where they are.
    Result<Address> address = parseAddress(state.address.empty() ? m_document.atStop(loop.id) : state.address);
    if (!address.ok() || address->steps.empty()) return;
    address->steps.back().iteration = iteration;
    m_document.perform(request::GoToAddress{*address}, QStringLiteral("scrub"));
}

void GraphPane::triggerWindow(const QString& id)
{
    if (id.startsWith(QLatin1String("overlay "))) {
        command(id);
        return;
    }
    for (const auto& [mark, question] : {std::pair("whyNaN", "why nan "), std::pair("whoWrote", "lastwrite ")}) {
        if (id.section(QLatin1Char(' '), 0, 0) != QLatin1String(mark)) continue;
        const std::optional<Selection> value = m_document.find(id.section(QLatin1Char(' '), 1).toStdString());
        if (value && value->value.valid())
            askDebugger(m_document, *this, QLatin1String(question) + QString::fromStdString(m_document.expressionOf(*value)));
        return;
    }
    if (id.startsWith(QLatin1String("ask "))) return askDebugger(m_document, *this, id.mid(4));
    if (QAction* action = window()->findChild<QAction*>(QStringLiteral("action.") + id)) action->trigger();
}

} // namespace loopscope::viewer
