#include "viewer/window/main_window.h"

#include "viewer/bridge/text.h"
#include "viewer/compare/compare_desk.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/tensor/tensor_panel.h"
#include "viewer/widgets/given_output.h"
#include "viewer/window/accessibility.h"
#include "viewer/window/address_bar.h"
#include "viewer/window/banner.h"
#include "viewer/window/file_page.h"
#include "viewer/window/panel_registry.h"
#include "viewer/window/result_strip.h"
#include "viewer/window/run_bar.h"
#include "viewer/window/run_notices.h"
#include "viewer/window/session_store.h"
#include "viewer/window/status_line.h"
#include "viewer/window/welcome_page.h"
#include "viewer/window/window_actions.h"
#include "viewer/window/window_commands.h"
#include "viewer/window/window_comparison.h"
#include "viewer/window/window_menus.h"

#include <QAction>
#include <QApplication>
#include <QCloseEvent>
#include <QFileInfo>
#include <QJsonArray>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QMimeData>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace loopscope::viewer {

namespace {

constexpr double kSampleCosine = 0.999; ///< layers of int8 weights stay above it unless something is wrong

/// Whether a TensorFlow 1 graph is open.
bool isDataflow(const Document* document) { return document && document->stop()->isDataflow; }

/// Under which name the settings keep what was moved.
QString taskKey(Task task, const Document* document) { return taskName(task) + (task == Task::debug && isDataflow(document) ? " v1" : ""); }

} // namespace

MainWindow::MainWindow(WindowServices& services, const Folders& folders, QWidget* parent)
    : QMainWindow(parent),
      m_services(services),
      m_opener(services),
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

    m_comparison = std::make_unique<WindowComparison>(*this);
    m_commands = std::make_unique<WindowCommands>(*this);
    m_actions = std::make_unique<WindowActions>(*this);
    WindowMenus(*this, *m_actions).fillMenuBar();
    m_file = new QLabel(this);
    m_file->setObjectName("fileName");
    m_file->setProperty("tone", "meta");
    m_file->setContentsMargins(8, 4, 12, 4);
    menuBar()->setCornerWidget(m_file, Qt::TopRightCorner);

    auto* const body = new QWidget(this);
    auto* const column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    m_bar = new RunBar(
        *m_actions, [this](const QString& command) { run(command); }, this);
    applyKeys();
    column->addWidget(m_bar);
    m_banner = new Banner(body);
    m_notices = std::make_unique<RunNotices>(
        *m_banner, RunNotices::Ways{[this](int64_t timeline) { m_commands->perform(request::SwitchTimeline{timeline}); },
                                    [this](const QString& path) { open(path); }, [this] { reload(); }});
    column->addWidget(m_banner);
    connect(&m_watch, &FileWatch::changed, this, [this](const QString& path, bool exists) { m_notices->fileChanged(path, exists); });
    m_stack = new QStackedWidget(body);
    column->addWidget(m_stack, 1);
    m_results = new ResultStrip(body);
    column->addWidget(m_results);
    connect(m_results, &ResultStrip::chosen, this, [this] { m_area->show("panelTensor", false); });
    m_status = new StatusLine(body);
    column->addWidget(m_status);
    setCentralWidget(body);
    makePages();
    followBars();
    qApp->installEventFilter(this);
    showWelcome();
    if (!m_settings.note().isEmpty()) m_status->say(m_settings.note());
}

void MainWindow::makePages()
{
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
}

/// What is asked for in the status line and in the address.
void MainWindow::followBars()
{
    connect(m_status, &StatusLine::cancelRequested, this, [this] { run("cancel"); });
    connect(m_status, &StatusLine::densityClicked, this, &MainWindow::toggleDensity);
    AddressBar* const address = m_bar->address();
    connect(address, &AddressBar::gotoRequested, this, [this](const QString& place) { m_commands->goTo(place); });
    connect(address, &AddressBar::iterationRequested, this, [this](const QString& typed) {
        if (m_document && !m_document->bridge().busy() && m_document->stop()->started) m_document->execute("iter " + typed);
        else m_commands->move(request::Iterate());
    });
    connect(address, &AddressBar::crumbClicked, this, [this](const QString& crumb) {
        if (!m_document) return;
        m_document->reveal(staticAddress(crumb.toStdString()));
        m_document->select(crumb.toStdString());
    });
    address->setCompletion([this](const QString& text) -> QStringList {
        if (!m_document || m_document->bridge().busy()) return {};
        QStringList words;
        for (const std::string& word : m_document->backend().complete(("goto " + text).toStdString())) words.append(toText(word));
        return words;
    });
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
    m_opener.cancel();
    // A session file names its model.
    QString file = path, damage;
    const QJsonObject session = QFileInfo(path).suffix() == "lssession" ? readJson(path, &damage) : QJsonObject();
    if (!damage.isEmpty())
        return showError(path, Error(ErrorCode::badFile, "not a session")
                                   .at(QFileInfo(path).fileName().toStdString())
                                   .found(damage.toStdString())
                                   .expected("a JSON object"));
    if (!session.isEmpty()) file = sessionModel(path, session);
    m_status->showWork(tr("Opening %1").arg(QFileInfo(path).fileName()));
    m_opener.open(file, against, cosine, [=, this, then = std::move(then)](FileOpener::Opened opened) {
        m_status->clearWork();
        if (!opened.ok()) {
            if (opened.error().code() == ErrorCode::cancelled) return;
            if (!against.isEmpty() && m_document) {
                m_comparison->refuse(opened.error());
                emit openFailed(opened.error());
            } else showError(file, opened.error());
            return;
        }
        showDocument(std::move(opened).value());
        if (!session.isEmpty()) restoreSession(session);
        else offerSession();
        if (then) then();
        emit documentOpened();
    });
}

bool MainWindow::cancelOpening()
{
    if (!m_opener.isBusy()) return false;
    m_opener.cancel();
    m_status->clearWork();
    return true;
}

bool MainWindow::reload()
{
    if (!m_document && m_stack->currentWidget() == m_filePage) {
        open(m_filePage->path());
        return true;
    }
    if (!m_document) return false;
    const QString path = toText(m_document->backend().path());
    const QJsonObject session = m_sessions->now();
    const Task task = m_task;
    const ComparedRun compared = m_document->stop()->compared;
    const double cosine = compared.reference ? compared.reference->tolerance().cosine.value_or(0) : 0;
    open(
        path,
        [this, session, task, compares = compared.drift != nullptr] {
            m_banner->hide(); // what it offers to restore is restored
            m_sessions->restore(session);
            if (compares) compare();
            setTask(task);
        },
        toText(compared.path), cosine);
    return true;
}

void MainWindow::compareWith(const QString& other) { m_comparison->with(other); }
void MainWindow::compare() { m_comparison->run(); }

void MainWindow::openSample(int index)
{
    const std::vector<Services::Sample> samples = m_services.samples();
    if (index < 0 || static_cast<size_t>(index) >= samples.size()) return;
    const Services::Sample sample = samples[static_cast<size_t>(index)];
    open(
        toText(sample.path),
        [this, sample] {
            m_banner->hide();
            if (const int task = taskOf(toText(sample.task)); task >= 0) setTask(static_cast<Task>(task));
            for (const std::string& command : sample.commands) m_document->execute(toText(command));
        },
        toText(sample.other), sample.other.empty() ? 0 : kSampleCosine);
}

void MainWindow::showDocument(std::unique_ptr<Backend> backend)
{
    closeDocument();
    m_banner->hide();
    m_notices->forget();
    m_document = std::make_unique<Document>(std::move(backend));
    m_document->setOpenCallee(calleeNamed(m_settings.value("openCallee").toString()));
    connect(m_document.get(), &Document::openCalleeChanged, this,
            [this] { m_settings.set("openCallee", calleeName(m_document->openCallee())); });
    m_area = new PanelArea([document = m_document.get()](const QString& name) { return makePanel(name, *document); }, m_stack);
    m_stack->addWidget(m_area);
    m_stack->setCurrentWidget(m_area);
    for (const char* const listener : {"panelConsole", "panelWatches"}) m_area->panel(listener); // they hear commands from the beginning
    connect(m_area, &PanelArea::arrangementChanged, this, [this] { m_arrangementTouched = true; });

    followBridge();
    CompareDesk& desk = CompareDesk::of(*m_document);
    desk.judgement().restoreChoice(m_settings.value("compare").toObject());
    connect(&desk.judgement(), &Judgement::chosen, this, [this, &desk] { m_settings.set("compare", desk.judgement().choice()); });
    connect(&desk, &CompareDesk::swapRequested, this, [this] { m_comparison->swapSides(); });
    connect(
        &desk, &CompareDesk::fusedSideWanted, this, [this](const QString& side, int row) { m_comparison->with(side, row); },
        Qt::QueuedConnection);
    m_task = Task::browse;
    const bool replay = m_document->backend().isReplay();
    setTask(replay ? Task::trace : Task::browse);
    setWheelHabit(m_area->panel("panelGraph"), m_settings.value("wheelZooms").toBool());
    keepTensorModes(*m_area->panel("panelTensor"), m_settings.value("tensorModes").toObject(),
                    [this](const QJsonObject& modes) { m_settings.set("tensorModes", modes); });
    m_sessions->attach(*m_document, *m_area);
    m_settings.addRecent(QFileInfo(toText(m_document->backend().path())).absoluteFilePath(), toText(m_document->backend().name()),
                         replay ? tr("recording") : QString());
    updateAddress();
    updateTitle();
    updateActions();
    m_status->show(m_document.get());
    if (!replay) m_watch.follow(toText(m_document->backend().path())); // a recording that is written on is no other one
}

void MainWindow::followBridge()
{
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
        if (!busy) m_commands->runIfWanted();
    });
    connect(&bridge, &DebugBridge::console, this, [this](const ConsoleEvent& event) {
        if (event.kind == ConsoleEvent::Kind::echo) m_lastLine = toText(event.text).trimmed();
    });
    connect(&bridge, &DebugBridge::progress, this, [this](const QString& what, qint64 tick, qint64 target) {
        m_status->showProgress(what, tick, target, m_progressFrom);
        const qint64 whole = target - m_progressFrom;
        m_area->setProgress("panelGraph", target < 0 || whole == 0 ? 2 : double(tick - m_progressFrom) / double(whole));
    });
    connect(&bridge, &DebugBridge::failed, this, [this](const QString& text) {
        const StopSnapshot& stop = *m_document->stop();
        std::vector<Banner::Choice> choices = {{tr("Step back"), [this] { run("backInto"); }},
                                               {tr("Problems"), [this] { m_area->show("panelProblems", true); }}};
        if (const std::optional<Selection> failed = m_document->find(stop.address); failed && canGiveOutput(*m_document, *failed))
            choices.insert(choices.begin(), {tr("Give its output…"), [this, failed] { giveOutput(*m_document, *this, *failed); }});
        m_banner->show(Banner::Kind::error, failureText(text), tr("step %1. The state before the step is shown.").arg(stop.position.step),
                       choices);
    });
    connect(&bridge, &DebugBridge::refused, this, [this](const QString& line, const QString& text) {
        say(text);
        // However the run was begun, by a key, a button of a panel or in the console: what it lacks is asked for in one place.
        if (const QString word = line.section(' ', 0, 0); word == "run" || word == "start") m_commands->needsInputs();
    });
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
                               if (m_commands->needsInputs()) return;
                               m_commands->perform(request::Begin{{}, false});
                               m_commands->perform(request::GoToPlace{address.toStdString()});
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

void MainWindow::forgetSession()
{
    if (!m_document) return;
    m_sessions->forget();
    m_status->say(tr("nothing is remembered of %1 any more").arg(toText(m_document->backend().name())));
}

void MainWindow::showError(const QString& path, const Error& error)
{
    showWelcome();
    m_filePage->show(path, error);
    m_stack->setCurrentWidget(m_filePage);
    updateActions();
    m_bar->address()->setAddress({}, QFileInfo(path).fileName());
    emit openFailed(error);
}

void MainWindow::closeDocument()
{
    if (!m_document) return;
    keepArrangement();
    m_sessions->close();
    m_watch.follow({});
    m_banner->hide();
    m_results->follow(nullptr);
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
    if (m_opener.isBusy()) return false;
    if (!m_document) return true;
    if (!m_document->bridge().settled()) return false;
    for (const Panel* const panel : m_area->findChildren<Panel*>())
        if (panel->isVisibleTo(m_area) && !panel->settled()) return false;
    return true;
}

void MainWindow::keepArrangement()
{
    if (!m_area || !std::exchange(m_arrangementTouched, false)) return;
    QJsonObject all = m_settings.value("arrangements").toObject();
    all[taskKey(m_task, document())] = m_area->arrangement();
    m_settings.set("arrangements", all);
}

void MainWindow::resetArrangement()
{
    if (!m_document) return;
    m_area->arrange(drawnArrangement(m_task, isDataflow(document()), width()), drawnArrangement(m_task, isDataflow(document()), width()));
    m_arrangementTouched = true;
    keepArrangement();
}

void MainWindow::setTask(Task task)
{
    if (!m_document) return;
    if (m_task != task) keepArrangement();
    m_task = task;
    const QJsonObject drawn = drawnArrangement(task, isDataflow(document()), width());
    const QJsonObject kept = m_settings.value("arrangements").toObject()[taskKey(m_task, document())].toObject();
    const QString focus = m_area->focusPanel() ? m_area->focusPanel()->objectName() : QString();
    m_area->arrange(kept.isEmpty() ? drawn : kept, drawn);
    if (!focus.isEmpty() && m_area->isOpen(focus)) m_area->show(focus, true); // who steps by keys goes on stepping
    m_arrangementTouched = false;
    orderFocus(*m_area, focusOrder(isDataflow(document())));
    m_bar->showTask(task);
    m_settings.set("task", taskName(task));
}

void MainWindow::stopChanged()
{
    // Whoever runs something wants to see it run.
    if (m_task == Task::browse && m_document->stop()->started) setTask(Task::debug);
    m_notices->stopChanged(*m_document->stop(), m_lastLine);
    showOutcome();
    updateAddress();
    updateActions();
    m_status->show(m_document.get());
}

/// Whoever ran from the inputs wants to see the graph, and what came out.
void MainWindow::showOutcome()
{
    const StopSnapshot& stop = *m_document->stop();
    if (m_notices->hasBegun(stop) && m_area->isCovering("panelInputs", "panelGraph"))
        m_area->show("panelGraph", m_area->focusPanel() && m_area->focusPanel()->objectName() == "panelInputs");
    m_results->follow(m_document.get());
}

void MainWindow::updateAddress()
{
    if (!m_document) {
        m_bar->address()->setAddress({}, tr("no model open"));
        findField()->setPlaceholderText(tr("Nothing to search yet"));
        return;
    }
    const StopSnapshot& stop = *m_document->stop();
    const std::string selected = m_document->selection().address;
    const std::string shown = stop.started ? stop.address : !selected.empty() ? selected : m_document->view().root;
    m_bar->address()->setAddress(toText(shown));
    findField()->setPlaceholderText(tr("Find in all subgraphs"));
}

void MainWindow::updateTitle()
{
    QString name = m_document ? toText(m_document->backend().name()) : QString();
    const std::string other = m_document ? m_document->stop()->compared.path : std::string();
    m_file->setText(other.empty() || other.starts_with(kFusedSide)
                        ? name
                        : tr("compare 2 %1").arg(m_document->backend().isReplay() ? tr("runs") : tr("models")));
    if (other.starts_with(kFusedSide)) name = tr("%1, before and after fusing").arg(name);
    else if (!other.empty()) name = tr("%1 against %2").arg(name, QFileInfo(toText(other)).fileName());
    menuBar()->setCornerWidget(m_file, Qt::TopRightCorner); // gives it the room that it needs now
    m_file->show();
    setWindowTitle(name.isEmpty() ? tr("Loopscope") : name + tr(" · Loopscope"));
}

void MainWindow::updateActions()
{
    const bool open = m_document != nullptr;
    m_actions->update(m_document.get(), open || m_stack->currentWidget() == m_filePage);
    m_bar->setDocumentOpen(open);
    if (open && !m_document->stop()->started) updateAddress();
}

void MainWindow::applyKeys()
{
    m_actions->applyKeys(m_keys);
    m_bar->showKeys(*m_actions);
}

AddressBar* MainWindow::addressBar() { return m_bar->address(); }
QLineEdit* MainWindow::findField() { return m_bar->findField(); }
QAction* MainWindow::action(const QString& command) const { return m_actions->of(command); }
QString MainWindow::keyOf(const QString& command) const { return m_actions->keyOf(command); }
QStringList MainWindow::commands() const { return m_commands->names(); }
bool MainWindow::run(const QString& command) { return m_commands->run(command); }

bool MainWindow::runIfEnabled(const QString& command)
{
    const QAction* const shown = action(command);
    return (!shown || shown->isEnabled()) && run(command);
}

void MainWindow::say(const QString& problem)
{
    if (m_document) m_document->report({Problem::Severity::error, problem.toStdString(), {}, {}});
    m_status->say(problem);
}

bool MainWindow::panelCommand(const QString& panel, const QString& command)
{
    if (!m_area) return false;
    Panel* const target = m_area->panel(panel);
    return target && target->command(command);
}

bool MainWindow::rebind(const KeyPlace& place, const QString& key, QString* clash)
{
    if (const KeyPlace* const other = m_keys.holder(place, key)) {
        if (clash) *clash = other->label;
        return false;
    }
    m_keys.set(place, key);
    applyKeys();
    return true;
}

void MainWindow::resetKeys()
{
    m_settings.set("keys", QJsonObject());
    applyKeys();
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

void MainWindow::toggleDensity()
{
    Theme& theme = Theme::instance();
    theme.setDense(!theme.dense());
    m_settings.set("dense", theme.dense());
}

void MainWindow::setWheelZooms(bool zooms)
{
    m_settings.set("wheelZooms", zooms);
    if (Panel* const panel = m_area ? m_area->panel("panelGraph") : nullptr) setWheelHabit(panel, zooms);
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    m_settings.set("geometry", QString::fromLatin1(saveGeometry().toBase64()));
    m_opener.cancel();
    closeDocument();
    m_settings.flush();
    event->accept();
}

void MainWindow::keyPressEvent(QKeyEvent* event)
{
    if (m_panelKeys.unwanted(*event)) event->accept();
    else QMainWindow::keyPressEvent(event);
}

bool MainWindow::eventFilter(QObject* watched, QEvent* event)
{
    return m_panelKeys.before(watched, event) || QMainWindow::eventFilter(watched, event);
}

void MainWindow::resizeEvent(QResizeEvent* event)
{
    QMainWindow::resizeEvent(event);
    const auto columns = [](int width) { return width >= 2200 ? 2 : width >= 1600 ? 1 : 0; };
    // A window that grows past a threshold gets another column, unless its user has moved things.
    if (m_document && m_task == Task::debug && !m_arrangementTouched && columns(event->oldSize().width()) != columns(width()) &&
        m_settings.value("arrangements").toObject()[taskKey(m_task, document())].toObject().isEmpty())
        m_area->arrange(drawnArrangement(m_task, isDataflow(document()), width()),
                        drawnArrangement(m_task, isDataflow(document()), width()));
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
