#include "engine/ir/ids.h"
#include "viewer/timeline/timeline_panel_impl.h"

#include "engine/observe/address.h"
#include "engine/observe/address_names.h"
#include "engine/ops/catalog.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/timeline/recorded_course.h"
#include "viewer/timeline/slider_accessible.h"
#include "viewer/widgets/value_menu.h"

#include <QHBoxLayout>
#include <QIntValidator>
#include <QKeyEvent>
#include <QMenu>
#include <QVBoxLayout>

#include <utility>

namespace loopscope::viewer {

namespace {

constexpr size_t kMostAccesses = size_t{1} << 20;
constexpr size_t kMostHits = 10'000;

QString grouped(int64_t n) { return QLocale(QLocale::English).toString(static_cast<qlonglong>(n)); }

/// What a question to the engine answers with; `survey` is empty where it could not be answered (no run, cancelled).
struct SurveyAnswer {
    bool ok = false;
    bool heardLoops = false; ///< whose ends nobody knew
    RunSurvey survey;
};

auto surveyWork(const SurveyRequest& request)
{
    return [request](Inspector& inspector) {
        SurveyAnswer answer;
        Result<RunSurvey> survey = inspector.survey(request, &answer.heardLoops);
        answer.ok = survey.ok();
        if (!survey.ok()) return answer;
        answer.survey = std::move(survey).value();
        return answer;
    };
}

QString siteName(const Model& model, GraphId graph, OperatorId site)
{
    if (!model.hasGraph(graph) || !site.valid()) return {};
    return QString::fromStdString(operatorLabel(model.graph(graph).op(site), site.index));
}

} // namespace

TimelinePanel::TimelinePanel(Document& document) : Panel(document, "panelTimeline", "Timeline")
{
    installSliderAccessibility();
    m_bar = new TimelineBar(this);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_bar);
    setMinimumHeight(72);
    buildHead();

    connect(&document, &Document::stopChanged, this, &TimelinePanel::follow);
    connect(&document, &Document::frameChanged, this, &TimelinePanel::refresh);
    connect(&document, &Document::selectionChanged, this, [this] {
        surveyAccesses();
        refresh();
    });
    connect(&document, &Document::previewChanged, this, [this] { // a head in the graph is dragged, too
        const std::string loop = staticAddress(shownLoop().address);
        const bool isShown = loop.empty() || loop == this->document().previewLoop();
        m_bar->setPreview(isShown ? this->document().preview() : std::nullopt);
        refreshHead();
    });
    connect(m_bar, &TimelineBar::iterationPressed, this, [this](qint64 n) { goIteration(n); });
    connect(m_bar, &TimelineBar::iterationDragged, this, [this](qint64 n, int slowness) { preview(n, slowness); });
    connect(m_bar, &TimelineBar::iterationReleased, this, [this](qint64 n) { goIteration(n); });
    connect(m_bar, &TimelineBar::iterationWheeled, this, &TimelinePanel::goBy);
    connect(m_bar, &TimelineBar::beyondEndChosen, this, &TimelinePanel::runOn);
    connect(m_bar, &TimelineBar::stepChosen, this, [this](qint64 step) { go(request::GoToStep{step}); });
    connect(m_bar, &TimelineBar::menuRequested, this, &TimelinePanel::showMenu);
    connect(m_bar, &TimelineBar::rangeChanged, this, &TimelinePanel::refreshHead);
    connect(m_slider, &LoopSlider::pressed, this, [this](qint64 n) { goIteration(n); });
    connect(m_slider, &LoopSlider::dragged, this, [this](qint64 n, int slowness) { preview(n, slowness); });
    connect(m_slider, &LoopSlider::released, this, [this](qint64 n) { goIteration(n); });
    connect(m_slider, &LoopSlider::wheeled, this, &TimelinePanel::goBy);
    connect(m_slider, &LoopSlider::beyondEndChosen, this, &TimelinePanel::runOn);
    follow();
    if (document.backend().trace() != nullptr) readRecording();
}

/// A recording has its whole course before anything is replayed.
void TimelinePanel::readRecording()
{
    m_reading = true;
    m_reader.run([&model = document().model(), path = document().backend().trace()->path()](
                     std::stop_token stop) { return recordedSurvey(model, path, std::move(stop)); },
                 [this](const RunSurvey& survey) {
                     m_reading = false;
                     m_isRecorded = !survey.invocations.empty();
                     if (m_isRecorded) m_course.add(survey);
                     follow();
                 });
}

void TimelinePanel::go(const request::Move& move)
{
    if (!document().stop()->started && m_isRecorded) document().perform(request::Begin{{}, false});
    document().perform(move, "scrub");
}

void TimelinePanel::buildHead()
{
    m_head = new QWidget(this);
    auto* row = new QHBoxLayout(m_head);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(6);
    m_slider = new LoopSlider(m_head);
    m_slider->setFixedWidth(132);
    m_iterationLabel = new QLabel("iteration", m_head);
    m_field = new QLineEdit(m_head);
    m_field->setObjectName("iterationField");
    m_field->setAccessibleName("Iteration");
    m_field->setAlignment(Qt::AlignCenter);
    m_field->setStyleSheet("padding: 0; min-height: 0; border-radius: 2px;");
    m_field->setValidator(new QRegularExpressionValidator(QRegularExpression("[0-9,]{0,16}"), m_field));
    m_ofLabel = new QLabel(m_head);
    m_stepLabel = new QLabel(m_head);
    const auto restyle = [this] {
        const Theme& theme = Theme::instance();
        m_field->setFixedHeight(theme.barHeight(18));
        for (QLabel* label : {m_iterationLabel, m_ofLabel}) label->setFont(theme.font(FontUse::small));
        m_field->setFont(theme.font(FontUse::value));
        m_stepLabel->setFont(theme.font(FontUse::value));
    };
    restyle();
    connect(&Theme::instance(), &Theme::changed, m_head, restyle);
    for (QWidget* w : std::initializer_list<QWidget*>{m_slider, m_iterationLabel, m_field, m_ofLabel, m_stepLabel}) row->addWidget(w);
    connect(m_field, &QLineEdit::returnPressed, this, [this] {
        bool ok = false;
        const int64_t n = m_field->text().remove(',').toLongLong(&ok);
        if (ok) goIteration(n);
        m_bar->setFocus();
    });
    m_fit = new QAction(themedIcon("fit"), "Show the whole run", this);
    m_fit->setObjectName("timelineFit");
    connect(m_fit, &QAction::triggered, m_bar, &TimelineBar::fit);
    connect(&Theme::instance(), &Theme::changed, this, [this] { m_fit->setIcon(themedIcon("fit")); });
}

void TimelinePanel::follow()
{
    noteHits();
    noteJump();
    if (document().stop()->started && !m_isRecorded && !m_reading) survey();
    if (m_isRecorded) surveyAccesses();
    refresh();
}

/// Asks for what ran since the last answer, part after part; whatever the user asks for comes in between.
void TimelinePanel::survey()
{
    if (m_surveyBusy || !isVisible()) return; // nobody looks: nothing is executed again
    m_surveyBusy = true;
    SurveyRequest request;
    request.fromTick = m_course.knownTick();
    request.operators = document().stop()->isDataflow;
    document().bridge().ask(this, "survey", surveyWork(request), [this](SurveyAnswer answer) {
        m_surveyBusy = false;
        m_heardLoops = m_heardLoops || answer.heardLoops;
        if (answer.ok) addPart(answer.survey);
    });
}

void TimelinePanel::addPart(const RunSurvey& part)
{
    const bool another = part.run != m_run || part.timeline != m_line;
    if (another) {
        if (part.run != m_run && m_course.endStep() && part.timeline == 1) m_lastRun = std::move(m_course);
        if (part.run != m_run) {
            m_hits.clear();
            noteHits();
        }
        m_run = part.run;
        m_line = part.timeline;
        m_course.clear();
        m_accesses.clear();
        m_accessTick = 0;
        if (part.fromTick != 0) {
            refresh(); // the bar draws what is left of the course meanwhile: nothing
            return survey();
        }
    }
    const bool fresh = part.fromTick == m_course.knownTick();
    m_course.add(part);
    const bool stuck = fresh && part.toTick <= part.fromTick;
    if (!part.reachedFrontier && !stuck) {
        survey();
    } else {
        surveyAccesses();
        // Everybody says "of ?" still.
        if (std::exchange(m_heardLoops, false)) document().bridge().change([](DebugSession&) {});
    }
    refresh();
}

void TimelinePanel::surveyAccesses()
{
    const Selection& selection = document().selection();
    if (selection.graph != m_accessed.graph || selection.value != m_accessed.value) {
        m_accessed = selection;
        m_accesses.clear();
        m_accessTick = 0;
    }
    if (m_accessesBusy || !isVisible() || !selection.value.valid() || !document().stop()->started || m_accesses.size() >= kMostAccesses)
        return;
    if (m_accessTick >= m_course.knownTick()) return;
    m_accessesBusy = true;
    SurveyRequest request;
    request.fromTick = m_accessTick;
    request.invocations = false;
    request.graph = selection.graph;
    request.value = selection.value;
    document().bridge().ask(this, "accesses", surveyWork(request), [this, asked = m_accessed](const SurveyAnswer& answer) {
        m_accessesBusy = false;
        if (!answer.ok) return;
        const RunSurvey& part = answer.survey;
        if (m_isRecorded) { // its course is of no run of ours
            m_run = part.run;
            m_line = part.timeline;
        }
        const bool current = asked.graph == m_accessed.graph && asked.value == m_accessed.value && part.fromTick == m_accessTick &&
                             part.run == m_run && part.timeline == m_line;
        if (current) {
            for (const SurveyedAccess& access : part.accesses)
                m_accesses.add(access.step, access.isAbnormal ? uint8_t{accessWrite | accessAbnormal}
                                            : access.isWrite  ? uint8_t{accessWrite}
                                                              : uint8_t{accessRead});
            m_accessTick = part.toTick;
        }
        if (!current || part.toTick > part.fromTick) surveyAccesses();
        refresh();
    });
}

void TimelinePanel::noteHits()
{
    const auto stop = document().stop();
    if (!stop->started) {
        m_hits.clear();
        return;
    }
    for (const StopReason& reason : stop->report.reasons) {
        TimelineContent::Mark mark;
        mark.step = stop->position.step;
        switch (reason.cause) {
        case StopCause::breakpoint:
        case StopCause::watch: mark.kind = TimelineContent::Mark::Kind::hit; break;
        case StopCause::nan:
        case StopCause::error:
        case StopCause::differs: mark.kind = TimelineContent::Mark::Kind::alert; break;
        default: continue;
        }
        mark.text = QString::fromStdString(toString(reason));
        const bool known = std::ranges::any_of(m_hits, [&](const auto& m) { return m.step == mark.step && m.text == mark.text; });
        if (!known && m_hits.size() < kMostHits) m_hits.push_back(mark);
    }
}

/// Moves over what had run already, and how far a recording reaches that is on.
void TimelinePanel::noteJump()
{
    constexpr size_t mostJumps = 24;
    const auto stop = document().stop();
    const int64_t step = stop->started ? int64_t{stop->position.step} : -1;
    if (stop->runs != m_jumpRun || step < 0) {
        m_jumpRun = stop->runs;
        m_jumps.clear();
        m_recorded = {-1, 0};
        m_lastStep = m_lastKnown = -1;
    }
    const bool isBack = step<m_lastStep, isFar = std::abs(step - m_lastStep)> 1;
    if (m_lastStep >= 0 && step >= 0 && isFar && (isBack || step <= m_lastKnown)) {
        m_jumps.push_back({m_lastStep, step});
        if (m_jumps.size() > mostJumps) m_jumps.erase(m_jumps.begin());
    }
    m_lastStep = step;
    m_lastKnown = std::max(m_lastKnown, step);
    if (!stop->recording.empty() && step >= 0) m_recorded = {0, m_lastKnown};
}

TimelinePanel::Loop TimelinePanel::shownLoop() const
{
    Loop shown;
    auto& document = const_cast<TimelinePanel*>(this)->document(); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
    const auto stop = document.stop();
    const int top = document.frame() >= 0 ? document.frame() : static_cast<int>(stop->stack.size()) - 1;
    bool outer = false;
    for (int d = static_cast<int>(stop->stack.size()) - 1; d >= 1; --d) {
        const FrameInfo& frame = stop->stack[static_cast<size_t>(d)].info;
        if (frame.iteration < 0) continue;
        if (d <= top) {
            shown.index = m_course.findLoop(stop->stack[static_cast<size_t>(d) - 1].info.graph, frame.site);
            shown.address = stop->stack[static_cast<size_t>(d)].address;
            shown.isInnermost = !outer;
            if (shown.index >= 0) return shown;
        }
        outer = true;
    }
    // Outside of loops: the one around the selected value, else the longest of the root.
    size_t most = 0;
    for (size_t i = 0; i < m_course.loops().size(); ++i) {
        const CourseLoop& loop = m_course.loops()[i];
        if (loop.body == document.selection().graph) {
            shown.index = static_cast<int>(i);
            break;
        }
        if (loop.iterations.size() > most) {
            most = loop.iterations.size();
            shown.index = static_cast<int>(i);
        }
    }
    return shown;
}

void TimelinePanel::refresh()
{
    const auto stop = document().stop();
    TimelineContent content;
    content.course = &m_course;
    content.lastRun = m_lastRun.endStep() ? &m_lastRun : nullptr;
    content.accesses = &m_accesses;
    content.loop = shownLoop().index;
    content.isRecorded = m_isRecorded && !stop->started;
    content.cursorStep = stop->started ? stop->position.step.number : m_isRecorded ? m_course.knownStep() : -1;
    content.isDataflow = stop->isDataflow || (m_isRecorded && !m_course.lanes().empty());
    const Model& model = document().model();
    const GraphId root = stop->stack.empty() ? GraphId(0) : stop->stack.front().info.graph; // a loop around the model has one of its own
    content.callsLabel = model.hasGraph(root) ? QString::fromStdString(model.graph(root).id) : QString();
    if (content.loop >= 0) {
        const CourseLoop& loop = m_course.loops()[static_cast<size_t>(content.loop)];
        content.loopLabel = siteName(model, loop.callerGraph, loop.site);
    }
    const Selection& selection = document().selection();
    if (selection.value.valid() && model.hasGraph(selection.graph))
        content.valueLabel = QString::fromStdString(model.graph(selection.graph).value(selection.value).id);
    content.nameOf = [&model](const CourseSpan& span) { return siteName(model, span.callerGraph, span.site); };
    if (content.isDataflow && stop->frames.size() > 1)
        content.frameLabel = "frame " + QString::fromStdString(stop->frames[1].name).section('/', 0, 0);
    content.marks = m_hits;
    content.jumps = m_jumps;
    content.recorded = m_isRecorded ? std::pair<int64_t, int64_t>(0, m_course.knownStep()) : m_recorded;
    for (const Mark& mark : stop->marks)
        content.marks.push_back(
            {mark.step, TimelineContent::Mark::Kind::bookmark, QString::fromStdString(mark.name.empty() ? mark.text : mark.name)});
    std::ranges::stable_sort(content.marks, {}, &TimelineContent::Mark::step);
    m_bar->setContent(std::move(content));
    refreshHead();
}

QString TimelinePanel::rangeText() const
{
    const auto [first, last] = m_bar->range();
    QString text = "steps " + grouped(first) + " to " + grouped(last);
    const TimelineContent& content = m_bar->content();
    if (content.loop >= 0)
        text += ": " + grouped(static_cast<int64_t>(m_course.loops()[static_cast<size_t>(content.loop)].starts.countIn(first, last))) +
                " iterations";
    if (m_accesses.size() > 0) {
        int64_t writes = 0, reads = 0;
        for (size_t i = m_accesses.lowerBound(first); i < m_accesses.lowerBound(last); ++i)
            ((m_accesses.flagsAt(i) & accessWrite) != 0 ? writes : reads) += 1;
        text += ", " + grouped(writes) + " writes and " + grouped(reads) + " reads of " + content.valueLabel;
    }
    const auto hits = std::ranges::count_if(content.marks, [&, f = first, l = last](const auto& m) {
        return m.step >= f && m.step < l && m.kind != TimelineContent::Mark::Kind::bookmark;
    });
    if (hits > 0) text += ", " + grouped(hits) + " hits";
    return text;
}

void TimelinePanel::refreshHead()
{
    const auto stop = document().stop();
    const Loop loop = shownLoop();
    const bool hasLoop = loop.index >= 0 && !stop->isDataflow;
    for (QWidget* w : std::initializer_list<QWidget*>{m_slider, m_iterationLabel, m_field, m_ofLabel}) w->setVisible(hasLoop);
    m_stepLabel->setVisible(stop->started || m_isRecorded);
    if (hasLoop) {
        const CourseLoop& course = m_course.loops()[static_cast<size_t>(loop.index)];
        // The execution under the cursor, else the last one.
        size_t at = course.indexAt(stop->position.step);
        if (at >= course.iterations.size()) at = course.iterations.size() - 1;
        const InvocationId caller = course.iterations[at].caller;
        int64_t count = 0;
        bool open = true;
        for (size_t i = at; i < course.iterations.size() && course.iterations[i].caller == caller; ++i) {
            if (course.iterations[i].iteration < 0) open = false;
            else count = course.iterations[i].iteration + 1;
        }
        if (count == 0)
            for (size_t i = at + 1; i-- > 0 && course.iterations[i].caller == caller && count == 0;)
                count = course.iterations[i].iteration + 1;
        const int64_t iteration = document().preview().value_or(m_bar->content().isRecorded ? -1 : m_bar->cursorIteration());
        m_slider->setLoop(iteration, count, open);
        if (!m_field->hasFocus()) m_field->setText(iteration < 0 ? QString() : grouped(iteration));
        m_field->setFixedWidth(std::max(30, m_field->fontMetrics().horizontalAdvance(grouped(std::max<int64_t>(count, 10))) + 14));
        m_ofLabel->setText(open ? "of ?" : "of " + grouped(count));
    }
    const auto [first, last] = m_bar->range();
    if (first < last) {
        m_stepLabel->setText(rangeText());
    } else if (m_isRecorded && !stop->started) {
        m_stepLabel->setText((hasLoop ? QString("│ ") : QString()) + grouped(m_course.knownStep()) + " steps recorded");
    } else if (stop->started) {
        QString text = "step " + grouped(stop->position.step);
        if (m_course.endStep()) text += " of " + grouped(*m_course.endStep());
        if (hasLoop) text.prepend("│ ");
        if (m_course.isTruncated()) text += ", not all is drawn";
        m_stepLabel->setText(text);
    }
    m_bar->setAccessibleDescription(m_bar->valueText());
}

/// Into the part that has not run yet.
void TimelinePanel::runOn()
{
    endPreview();
    document().perform(request::Until());
}

void TimelinePanel::endPreview()
{
    document().setPreview(std::nullopt);
    m_bar->setPreview(std::nullopt);
}

void TimelinePanel::goIteration(int64_t iteration)
{
    endPreview();
    const Loop loop = shownLoop();
    if (loop.index < 0) return;
    if (loop.isInnermost && document().frame() < 0)
        return document().perform(request::Iterate{request::Iterate::To::number, iteration}, "scrub");
    if (!loop.address.empty()) {
        if (Result<Address> address = parseAddress(loop.address); address.ok() && !address->steps.empty()) {
            address->steps.back().iteration = iteration;
            return document().perform(request::GoToAddress{*address}, "scrub");
        }
    }
    for (const CourseIteration& it : m_course.loops()[static_cast<size_t>(loop.index)].iterations)
        if (it.iteration == iteration) return go(request::GoToStep{it.first});
}

void TimelinePanel::goBy(int by)
{
    const int64_t now = m_bar->cursorIteration();
    if (shownLoop().isInnermost && document().frame() < 0) document().perform(request::Iterate{request::Iterate::To::offset, by});
    else if (now >= 0) goIteration(std::max<int64_t>(0, now + by));
}

/// Of the loop that is shown; empty: that is not known. Of the root's loops it is known on no frame, too.
std::string TimelinePanel::shownBody() const
{
    const Loop loop = shownLoop();
    if (!loop.address.empty() || loop.index < 0) return loop.address;
    const CourseLoop& course = m_course.loops()[static_cast<size_t>(loop.index)];
    auto& document = const_cast<TimelinePanel*>(this)->document(); // NOLINT(cppcoreguidelines-pro-type-const-cast): Panel has one accessor
    const Model& model = document.model();
    if (course.callerGraph != GraphId(0)) return {};
    return model.graphs.front().id + "/" + siteName(model, course.callerGraph, course.site).toStdString() + ":body";
}

/// What can be done at a place in time, and asked of the value whose writes are drawn.
void TimelinePanel::showMenu(const QPoint& at)
{
    const TimelineBar::Place place = m_bar->placeAt(at);
    if (place.step < 0) return;
    auto* const menu = new QMenu(this);
    menu->setObjectName("timelineMenu");
    menu->setAttribute(Qt::WA_DeleteOnClose);
    const auto add = [&](const QString& text, const char* name, std::function<void()> work) {
        menu->addAction(text, this, std::move(work))->setObjectName(QLatin1String("timeline.") + QLatin1String(name));
    };
    if (place.iteration >= 0)
        add("Go to iteration " + grouped(place.iteration), "iteration", [this, n = place.iteration] { goIteration(n); });
    add("Go to step " + grouped(place.step), "step", [this, step = place.step] { go(request::GoToStep{step}); });
    const QString site = QString::fromStdString(callSiteOf(staticAddress(shownBody())));
    if (place.iteration >= 0 && !site.isEmpty()) {
        add("Break at iteration " + grouped(place.iteration), "break",
            [this, site, n = place.iteration] { document().execute(QStringLiteral("break iter %1 %2").arg(site).arg(n)); });
        add("Why the loop goes on", "whyLoop", [this, site] { askDebugger(document(), *this, "why loop " + site); });
    }
    if (document().selection().value.valid()) {
        menu->addSection(m_bar->content().valueLabel);
        fillPlaceMenu(*menu, document(), *this, document().selection(), place.isAbnormal);
    }
    menu->addSeparator();
    add("Show the whole run", "fit", [this] { m_bar->fit(); });
    menu->popup(m_bar->mapToGlobal(at));
}

void TimelinePanel::preview(int64_t iteration, int slowness)
{
    document().setPreview(iteration, shownBody());
    m_bar->setPreview(iteration);
    refreshHead();
    if (slowness > 1) m_stepLabel->setText("1/" + grouped(slowness));
}

bool TimelinePanel::command(const QString& id)
{
    if (id == "stepBack") document().perform(request::Step{Direction::backward});
    else if (id == "step") document().perform(request::Step());
    else if (id == "iterationBack") goBy(-1);
    else if (id == "iterationForward") goBy(1);
    else if (id == "first") document().perform(request::GoToStep{0});
    else if (id == "last") document().perform(request::GoToStep{m_course.knownStep()});
    else if (id == "zoomIn") m_bar->zoom(1.5);
    else if (id == "zoomOut") m_bar->zoom(1 / 1.5);
    else if (id == "fit") m_bar->fit();
    else if (id == "typeIteration" || id == "gotoIteration") {
        m_field->setFocus();
        m_field->selectAll();
    } else return false;
    return true;
}

void TimelinePanel::showEvent(QShowEvent* event)
{
    Panel::showEvent(event);
    follow();
}

/// Digits begin to type an iteration; the other keys come as commands.
void TimelinePanel::keyPressEvent(QKeyEvent* event)
{
    if (event->key() >= Qt::Key_0 && event->key() <= Qt::Key_9 && event->modifiers() == Qt::NoModifier && m_field->isVisibleTo(m_head)) {
        m_field->setFocus();
        m_field->setText(event->text());
        return;
    }
    if (event->key() == Qt::Key_Escape && m_bar->range().first < m_bar->range().second) return m_bar->clearRange();
    Panel::keyPressEvent(event);
}

Panel* makeTimelinePanel(Document& document) { return new TimelinePanel(document); }

} // namespace loopscope::viewer
