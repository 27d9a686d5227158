#include "viewer/window/main_window.h"

#include "viewer/compare/compare_desk.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/tensor/tensor_panel.h"
#include "viewer/window/accessibility.h"
#include "viewer/window/address_bar.h"
#include "viewer/window/banner.h"
#include "viewer/window/file_page.h"
#include "viewer/window/panel_registry.h"
#include "viewer/window/session_store.h"
#include "viewer/window/status_line.h"
#include "viewer/window/welcome_page.h"

#include <QApplication>
#include <QCloseEvent>
#include <QFileInfo>
#include <QJsonArray>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QStackedWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <thread>

namespace loopscope::viewer {

namespace {

constexpr const char* kCompareInput = "@7"; ///< of a comparison that was given none
constexpr double kSampleCosine = 0.999;     ///< layers of int8 weights stay above it unless something is wrong

QString textOf(const std::string& text) { return QString::fromStdString(text); }

} // namespace

MainWindow::MainWindow(WindowServices& services, const Folders& folders, QWidget* parent)
    : QMainWindow(parent),
      m_services(services),
      m_settings(folders.settings),
      m_sessions(std::make_unique<SessionStore>(folders.sessions))
{
    setObjectName("mainWindow");
    setWindowIcon(applicationIcon());
    setMinimumSize(960, 600);
    resize(1280, 800);
    if (const QString kept = m_settings.value("geometry").toString(); !kept.isEmpty())
        restoreGeometry(QByteArray::fromBase64(kept.toLatin1()));
    setAcceptDrops(true);
    setContextMenuPolicy(Qt::NoContextMenu);

    Theme& theme = Theme::instance();
    theme.setDense(m_settings.value("dense").toBool());
    theme.setTextPercent(m_settings.value("textPercent").toInt(100));
    if (m_settings.value("theme").isString()) setTheme(m_settings.value("theme").toString());

    makeCommands();
    makeActions();
    makeMenus();
    auto* const body = new QWidget(this);
    auto* const column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    m_bar = makeToolBar();
    applyKeys();
    column->addWidget(m_bar);
    m_banner = new Banner(body);
    column->addWidget(m_banner);
    m_stack = new QStackedWidget(body);
    column->addWidget(m_stack, 1);
    m_status = new StatusLine(body);
    column->addWidget(m_status);
    setCentralWidget(body);

    m_welcome = new WelcomePage(m_services.samples(), m_settings, m_stack);
    m_stack->addWidget(m_welcome);
    m_filePage = new FilePage(m_stack);
    m_stack->addWidget(m_filePage);
    connect(m_welcome, &WelcomePage::commandRequested, this, [this](const QString& command) { run(command); });
    connect(m_welcome, &WelcomePage::fileRequested, this, [this](const QString& path) { open(path); });
    connect(m_welcome, &WelcomePage::sampleRequested, this, &MainWindow::openSample);
    connect(m_welcome, &WelcomePage::themeRequested, this, &MainWindow::setTheme);
    connect(m_filePage, &FilePage::reloadRequested, this, [this](const QString& path) { open(path); });
    connect(m_filePage, &FilePage::welcomeRequested, this, &MainWindow::showWelcome);
    connect(m_status, &StatusLine::cancelRequested, this, [this] { run("cancel"); });
    connect(m_status, &StatusLine::densityClicked, this, [this] {
        Theme& style = Theme::instance();
        style.setDense(!style.dense());
        m_settings.set("dense", style.dense());
    });
    connect(m_address, &AddressBar::gotoRequested, this, [this](const QString& place) { goToOperator(place); });
    connect(m_address, &AddressBar::iterationRequested, this, [this](const QString& typed) {
        if (m_document && !m_document->bridge().busy() && m_document->stop()->started) m_document->execute("iter " + typed);
        else move(request::Iterate());
    });
    connect(m_address, &AddressBar::crumbClicked, this, [this](const QString& address) {
        if (!m_document) return;
        m_document->reveal(staticAddress(address.toStdString()));
        m_document->select(address.toStdString());
    });
    m_address->setCompletion([this](const QString& text) -> QStringList {
        if (!m_document || m_document->bridge().busy()) return {};
        QStringList words;
        for (const std::string& word : m_document->backend().complete(("goto " + text).toStdString())) words.append(textOf(word));
        return words;
    });
    qApp->installEventFilter(this);
    showWelcome();
    if (!m_settings.note().isEmpty()) m_status->say(m_settings.note());
}

MainWindow::~MainWindow()
{
    qApp->removeEventFilter(this);
    closeDocument();
}

void MainWindow::showWelcome()
{
    closeDocument();
    m_welcome->showRecent();
    m_stack->setCurrentWidget(m_welcome);
    m_welcome->setFocus();
    updateActions();
    updateAddress();
    updateTitle();
}

void MainWindow::open(const QString& path, std::function<void()> then, const QString& against, double cosine)
{
    m_openingStop.request_stop();
    m_openingStop = std::stop_source();
    const quint64 ticket = ++m_openTicket;
    // A session file names its model.
    QString file = path, damage;
    const QJsonObject session = QFileInfo(path).suffix() == "lssession" ? readJson(path, &damage) : QJsonObject();
    if (!damage.isEmpty())
        return showError(path, Error(ErrorCode::badFile, "not a session")
                                   .at(QFileInfo(path).fileName().toStdString())
                                   .found(damage.toStdString())
                                   .expected("a JSON object"));
    if (!session.isEmpty()) file = sessionModel(path, session);
    ++m_opening;
    m_status->showWork(tr("Opening %1").arg(QFileInfo(path).fileName()));

    QPointer<MainWindow> window(this);
    WindowServices* const services = &m_services;
    std::thread([=, stop = m_openingStop.get_token(), then = std::move(then)]() mutable {
        const std::string name = file.toStdString();
        auto opened = std::make_shared<Result<std::unique_ptr<Backend>>>(
            against.isEmpty() ? services->open(name, stop) : services->openAgainst(name, against.toStdString(), cosine, stop));
        QMetaObject::invokeMethod(qApp, [=, then = std::move(then)] {
            if (!window) return;
            --window->m_opening;
            if (ticket != window->m_openTicket) return; // something else was opened meanwhile
            window->m_status->clearWork();
            if (!opened->ok()) {
                if (opened->error().code() == ErrorCode::cancelled) return;
                if (!against.isEmpty() && window->m_document) window->refuseComparison(opened->error());
                else window->showError(file, opened->error());
                return;
            }
            window->showDocument(std::move(*opened).value());
            if (!session.isEmpty()) window->restoreSession(session);
            else window->offerSession();
            if (then) then();
            emit window->documentOpened();
        });
    }).detach();
}

/// Inputs belong to the engine thread while it works.
bool MainWindow::isRunning()
{
    const bool runs = m_document->bridge().busy();
    if (runs) m_status->say(tr("the model runs: pause it to compare"));
    return runs;
}

void MainWindow::compareWith(const QString& other)
{
    if (!m_document) return open(other);
    if (isRunning()) return;
    const std::vector<InputPort> inputs = m_document->backend().inputs();
    open(
        textOf(m_document->backend().path()),
        [this, inputs] {
            for (const InputPort& port : inputs)
                if (!port.source.empty() && !port.source.starts_with("@last")) // there has been no run of the document that is opened now
                    m_document->backend().setInput(port.name, port.source);
            compare();
        },
        other);
}

void MainWindow::swapSides()
{
    const ComparedRun& compared = m_document->stop()->compared;
    if (compared.path.empty() || !compared.reference || !compared.reference->model() || isRunning()) return;
    open(
        textOf(compared.path),
        [this, inputs = m_document->backend().inputs()] {
            // By name, else by position, as the other side was fed.
            const std::vector<InputPort> ports = m_document->backend().inputs();
            for (size_t i = 0; i < inputs.size(); ++i) {
                if (inputs[i].source.empty() || inputs[i].source.starts_with("@last")) continue;
                const auto named = std::ranges::find(ports, inputs[i].name, &InputPort::name);
                if (named == ports.end() && i >= ports.size()) continue;
                m_document->backend().setInput(named != ports.end() ? named->name : ports[i].name, inputs[i].source);
            }
            compare();
        },
        textOf(m_document->backend().path()));
}

/// What is open stays open.
void MainWindow::refuseComparison(const Error& error)
{
    m_document->report({Problem::Severity::error, error.message(), {}, {}});
    m_banner->show(Banner::Kind::error, tr("cannot be compared: %1").arg(textOf(error.message())), QString(),
                   {{tr("Choose another file"), [this] { run("compare"); }}});
    emit openFailed(error);
}

void MainWindow::compare()
{
    if (!m_document) return;
    bool filled = false;
    for (const InputPort& port : m_document->backend().inputs()) {
        if (m_document->stop()->started || !port.source.empty()) continue;
        m_document->backend().setInput(port.name, kCompareInput);
        filled = true;
    }
    setTask(Task::compare);
    panelCommand("panelDifferences", "compare");
    if (filled) m_status->say(tr("A and B run on the same input, filled with seed %1").arg(QLatin1String(kCompareInput + 1)));
}

void MainWindow::openSample(int index)
{
    const std::vector<Services::Sample> samples = m_services.samples();
    if (index < 0 || static_cast<size_t>(index) >= samples.size()) return;
    const Services::Sample sample = samples[static_cast<size_t>(index)];
    open(
        textOf(sample.path),
        [this, sample] {
            m_banner->hide();
            if (const int task = taskOf(textOf(sample.task)); task >= 0) setTask(static_cast<Task>(task));
            for (const std::string& command : sample.commands) m_document->execute(textOf(command));
        },
        textOf(sample.other), sample.other.empty() ? 0 : kSampleCosine);
}

void MainWindow::showDocument(std::unique_ptr<Backend> backend)
{
    closeDocument();
    m_banner->hide();
    m_timelines = 0;
    m_document = std::make_unique<Document>(std::move(backend));
    m_document->setOpenCallee(calleeNamed(m_settings.value("openCallee").toString()));
    connect(m_document.get(), &Document::openCalleeChanged, this,
            [this] { m_settings.set("openCallee", calleeName(m_document->openCallee())); });
    m_area = new PanelArea([document = m_document.get()](const QString& name) { return makePanel(name, *document); }, m_stack);
    m_stack->addWidget(m_area);
    m_stack->setCurrentWidget(m_area);
    for (const char* const listener : {"panelConsole", "panelWatches"}) m_area->panel(listener); // they hear commands from the beginning
    connect(m_area, &PanelArea::arrangementChanged, this, [this] { m_arrangementTouched = true; });

    DebugBridge& bridge = m_document->bridge();
    connect(m_document.get(), &Document::stopChanged, this, &MainWindow::stopChanged);
    connect(m_document.get(), &Document::selectionChanged, this, &MainWindow::updateActions);
    connect(&bridge, &DebugBridge::busyChanged, this, [this](bool busy) {
        if (busy) m_progressFrom = m_document->stop()->tick;
        else {
            m_status->clearWork();
            m_area->setProgress("panelGraph", -1);
        }
        m_status->show(m_document.get());
        updateActions();
    });
    connect(&bridge, &DebugBridge::console, this, [this](const ConsoleEvent& event) {
        if (event.kind == ConsoleEvent::Kind::echo) m_lastLine = textOf(event.text).trimmed();
    });
    connect(&bridge, &DebugBridge::progress, this, [this](const QString& what, qint64 tick, qint64 target) {
        m_status->showProgress(what, tick, target, m_progressFrom);
        const qint64 whole = target - m_progressFrom;
        m_area->setProgress("panelGraph", target < 0 || whole == 0 ? 2 : double(tick - m_progressFrom) / double(whole));
    });
    connect(&bridge, &DebugBridge::failed, this, [this](const QString& text) {
        const StopSnapshot& stop = *m_document->stop();
        m_banner->show(Banner::Kind::error, failureText(text), tr("step %1. The state before the step is shown.").arg(stop.position.step),
                       {{tr("Step back"), [this] { run("backInto"); }}, {tr("Problems"), [this] { m_area->show("panelProblems", true); }}});
    });
    connect(&bridge, &DebugBridge::refused, this, [this](const QString& line, const QString& text) {
        say(text);
        // However the run was begun, by a key, a button of a panel or in the console: what it lacks is asked for in one place.
        if (const QString word = line.section(' ', 0, 0); word == "run" || word == "start") needsInputs();
    });
    CompareDesk& desk = CompareDesk::of(*m_document);
    desk.restoreChoice(m_settings.value("compare").toObject());
    connect(&desk, &CompareDesk::choiceChanged, this, [this, &desk] { m_settings.set("compare", desk.choice()); });
    connect(&desk, &CompareDesk::swapRequested, this, &MainWindow::swapSides);
    m_task = Task::browse;
    const bool replay = m_document->backend().isReplay();
    setTask(replay ? Task::trace : Task::browse);
    setWheelHabit(m_area->panel("panelGraph"), m_settings.value("wheelZooms").toBool());
    keepTensorModes(*m_area->panel("panelTensor"), m_settings.value("tensorModes").toObject(),
                    [this](const QJsonObject& modes) { m_settings.set("tensorModes", modes); });
    m_sessions->attach(*m_document, *m_area);
    m_settings.addRecent(QFileInfo(textOf(m_document->backend().path())).absoluteFilePath(), textOf(m_document->backend().name()),
                         replay ? tr("recording") : QString());
    updateAddress();
    updateTitle();
    updateActions();
    m_status->show(m_document.get());
}

void MainWindow::offerSession()
{
    if (!m_sessions->damage().isEmpty()) m_status->say(m_sessions->damage());
    const QJsonObject session = m_sessions->remembered();
    if (session.isEmpty()) return;
    const QString contents = sessionContents(session), address = session["address"].toString();
    std::vector<Banner::Choice> choices = {{tr("Restore"), [this, session] { restoreSession(session); }}};
    // To stand there again the model must run, which nobody has asked for.
    if (!address.isEmpty())
        choices.push_back({tr("Restore and run there"), [this, session, address] {
                               restoreSession(session);
                               if (needsInputs()) return;
                               perform(request::Begin{{}, false});
                               perform(request::GoToPlace{address.toStdString()});
                           }});
    m_banner->show(Banner::Kind::notice, contents.isEmpty() ? tr("Restore view") : tr("Restore view and %1").arg(contents),
                   address.isEmpty() ? QString() : tr("it stood at %1").arg(address), choices);
}

void MainWindow::restoreSession(const QJsonObject& session)
{
    m_sessions->restore(session);
    const QString note = sessionNote(session);
    if (!note.isEmpty()) m_status->say(note);
}

void MainWindow::showError(const QString& path, const Error& error)
{
    showWelcome();
    m_filePage->show(path, error);
    m_stack->setCurrentWidget(m_filePage);
    updateActions();
    m_address->setAddress({}, QFileInfo(path).fileName());
    emit openFailed(error);
}

void MainWindow::closeDocument()
{
    if (!m_document) return;
    keepArrangement();
    m_sessions->close();
    m_banner->hide();
    m_stack->setCurrentWidget(m_welcome);
    delete std::exchange(m_area, nullptr);
    disconnect(m_document.get(), nullptr, this, nullptr);
    disconnect(&m_document->bridge(), nullptr, this, nullptr);
    m_document.reset();
    m_status->clearWork();
    m_status->show(nullptr);
}

bool MainWindow::settled() const
{
    if (m_opening > 0) return false;
    if (!m_document) return true;
    if (!m_document->bridge().settled()) return false;
    for (const Panel* const panel : m_area->findChildren<Panel*>())
        if (panel->isVisibleTo(m_area) && !panel->settled()) return false;
    return true;
}

bool MainWindow::isDataflow() const { return m_document && m_document->stop()->isDataflow; }

QString MainWindow::taskKey() const { return taskName(m_task) + (m_task == Task::debug && isDataflow() ? " v1" : ""); }

void MainWindow::keepArrangement()
{
    if (!m_area || !std::exchange(m_arrangementTouched, false)) return;
    QJsonObject all = m_settings.value("arrangements").toObject();
    all[taskKey()] = m_area->arrangement();
    m_settings.set("arrangements", all);
}

void MainWindow::setTask(Task task)
{
    if (!m_document) return;
    if (m_task != task) keepArrangement();
    m_task = task;
    const QJsonObject drawn = drawnArrangement(task, isDataflow(), width());
    const QJsonObject kept = m_settings.value("arrangements").toObject()[taskKey()].toObject();
    const QString focus = m_area->focusPanel() ? m_area->focusPanel()->objectName() : QString();
    m_area->arrange(kept.isEmpty() ? drawn : kept, drawn);
    if (!focus.isEmpty() && m_area->isOpen(focus)) m_area->show(focus, true); // who steps by keys goes on stepping
    m_arrangementTouched = false;
    orderFocus(*m_area, focusOrder(isDataflow()));
    for (int i = 0; i < m_taskButtons.size(); ++i) m_taskButtons[i]->setChecked(i == static_cast<int>(task));
    m_settings.set("task", taskName(task));
}

void MainWindow::stopChanged()
{
    // Whoever runs something wants to see it run.
    if (m_task == Task::browse && m_document->stop()->started) setTask(Task::debug);
    noticeTimeline();
    updateAddress();
    updateActions();
    m_status->show(m_document.get());
}

/// Whoever changes a value is told that what was before is still there.
void MainWindow::noticeTimeline()
{
    const std::vector<TimelineInfo>& lines = m_document->stop()->timelines;
    const size_t before = std::exchange(m_timelines, lines.size());
    if (before == 0 || lines.size() <= before) return;
    const qlonglong parent = lines.back().parent;
    m_banner->show(Banner::Kind::notice,
                   tr("timeline %1 from step %2: %3")
                       .arg(lines.size())
                       .arg(QLocale(QLocale::English).toString(qint64{m_document->stop()->position.step}))
                       .arg(m_lastLine),
                   tr("timeline %1 is kept").arg(parent),
                   {{tr("Back to timeline %1").arg(parent), [this, parent] { perform(request::SwitchTimeline{parent}); }}});
}

void MainWindow::updateAddress()
{
    if (!m_document) {
        m_address->setAddress({}, tr("no model open"));
        m_find->setPlaceholderText(tr("Nothing to search yet"));
        return;
    }
    const StopSnapshot& stop = *m_document->stop();
    const std::string selected = m_document->selection().address;
    const std::string shown = stop.started ? stop.address : !selected.empty() ? selected : m_document->view().root;
    m_address->setAddress(textOf(shown));
    m_find->setPlaceholderText(tr("Find in all subgraphs"));
}

void MainWindow::updateTitle()
{
    QString name = m_document ? textOf(m_document->backend().name()) : QString();
    const std::string other = m_document ? m_document->stop()->compared.path : std::string();
    m_file->setText(other.empty() ? name : tr("compare 2 %1").arg(m_document->backend().isReplay() ? tr("runs") : tr("models")));
    if (!other.empty()) name = tr("%1 against %2").arg(name, QFileInfo(textOf(other)).fileName());
    menuBar()->setCornerWidget(m_file, Qt::TopRightCorner); // gives it the room that it needs now
    m_file->show();
    setWindowTitle(name.isEmpty() ? tr("Loopscope") : name + tr(" · Loopscope"));
}

void MainWindow::updateActions()
{
    const bool open = m_document != nullptr;
    const StopSnapshot none;
    const StopSnapshot& stop = open ? *m_document->stop() : none;
    const bool busy = open && m_document->bridge().busy(), idle = open && !busy;
    const bool moves = idle && stop.started, forward = idle && (!stop.started || !stop.finished);
    const bool replay = open && m_document->backend().isReplay();
    const auto enable = [this](bool on, std::initializer_list<const char*> names) {
        for (const char* const name : names)
            if (QAction* const each = m_actions.value(name)) each->setEnabled(on);
    };
    enable(idle, {"run", "restart"});
    enable(busy, {"pause"});
    enable(open && (busy || stop.started), {"stop"});
    enable(forward, {"stepOver", "stepInto"});
    enable(moves && !stop.finished, {"stepOut", "runToCursor", "nextIteration"});
    enable(moves, {"reverseRun", "backOver", "backInto", "backOut", "backToCursor", "previousIteration", "gotoIteration", "bookmark",
                   "back", "forward", "previousNaN", "gotoBookmark"});
    enable(idle, {"nextNaN", "toggleBreakpoint", "enableBreakpoint", "editBreakpoint", "deleteBreakpoints", "watchExpression"});
    enable(idle && !replay, {"record"});
    enable(open || m_stack->currentWidget() == m_filePage, {"reload"});
    enable(open, {"gotoAddress", "find", "findNext", "findPrevious", "quickOpen", "saveSession", "closeTab", "nextTab", "previousTab",
                  "exportGraph", "copyAddress", "console", "focusPanel", "task", "nextFinding", "previousFinding"});
    for (int i = 1; i <= 10; ++i) {
        if (QAction* const each = m_actions.value(QStringLiteral("focusPanel.%1").arg(i))) each->setEnabled(open);
        if (QAction* const each = m_actions.value(QStringLiteral("gotoBookmark.%1").arg(i))) each->setEnabled(moves);
        if (QAction* const each = m_actions.value(QStringLiteral("task.%1").arg(i))) each->setEnabled(open);
    }
    if (open && !stop.started) updateAddress();
    if (idle) m_actions["record"]->setChecked(m_document->backend().isRecording());
    m_find->setEnabled(open);
    for (QToolButton* const task : std::as_const(m_taskButtons)) task->setEnabled(open);
}

void MainWindow::setTheme(const QString& name)
{
    Theme& theme = Theme::instance();
    if (name == "dark") theme.set(ThemeName::dark);
    else if (name == "contrast") theme.set(ThemeName::highContrast);
    else if (name == "light") theme.set(ThemeName::light);
    else theme.followSystem();
    m_settings.set("theme", name);
}

void MainWindow::setWheelZooms(bool zooms)
{
    m_settings.set("wheelZooms", zooms);
    if (Panel* const panel = m_area ? m_area->panel("panelGraph") : nullptr) setWheelHabit(panel, zooms);
}

/// Where the window was, for the next start.
void MainWindow::keepGeometry() { m_settings.set("geometry", QString::fromLatin1(saveGeometry().toBase64())); }

void MainWindow::closeEvent(QCloseEvent* event)
{
    keepGeometry();
    m_openingStop.request_stop();
    ++m_openTicket;
    closeDocument();
    m_settings.flush();
    event->accept();
}

void MainWindow::resizeEvent(QResizeEvent* event)
{
    QMainWindow::resizeEvent(event);
    const auto columns = [](int width) { return width >= 2200 ? 2 : width >= 1600 ? 1 : 0; };
    // A window that grows past a threshold gets another column, unless its user has moved things.
    if (m_document && m_task == Task::debug && !m_arrangementTouched && columns(event->oldSize().width()) != columns(width()) &&
        m_settings.value("arrangements").toObject()[taskKey()].toObject().isEmpty())
        m_area->arrange(drawnArrangement(m_task, isDataflow(), width()), drawnArrangement(m_task, isDataflow(), width()));
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (event->mimeData()->hasUrls() && event->mimeData()->urls().front().isLocalFile()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event)
{
    open(event->mimeData()->urls().front().toLocalFile());
    event->acceptProposedAction();
}

} // namespace loopscope::viewer
