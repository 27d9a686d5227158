#include "viewer/window/main_window.h"

#include "engine/ir/ids.h"
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

} // namespace

MainWindow::MainWindow(WindowServices& services, const Folders& folders, QWidget* parent)
    : QMainWindow(parent),
      m_services(services),
      m_opener(services),
      m_settings(folders.settings),
      m_sessionFolder(folders.sessions)
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
    m_tabs = new DocumentTabs(body);
    column->addWidget(m_tabs, 1);
    connect(m_tabs, &DocumentTabs::leaving, this, &MainWindow::leaveDocument);
    connect(m_tabs, &DocumentTabs::frontChanged, this, &MainWindow::frontChanged);
    connect(m_tabs, &DocumentTabs::closeRequested, this, &MainWindow::closeFile);
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
    m_welcome = new WelcomePage(m_services.samples(), m_settings, m_tabs);
    m_welcome->hide();
    m_filePage = new FilePage(m_tabs);
    m_filePage->hide();
    connect(m_welcome, &WelcomePage::commandRequested, this, [this](const QString& command) { run(command); });
    connect(m_welcome, &WelcomePage::fileRequested, this, [this](const QString& path) { openBeside({path}); });
    connect(m_welcome, &WelcomePage::sampleRequested, this, &MainWindow::openSample);
    connect(m_welcome, &WelcomePage::themeRequested, this, &MainWindow::setTheme);
    connect(m_filePage, &FilePage::reloadRequested, this, [this](const QString& path) { open(path); });
    connect(m_filePage, &FilePage::partRequested, this, &MainWindow::openPart);
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
    m_coming.reset();
    m_tabs->clear();
    disconnect(m_tabs, nullptr, this, nullptr);
}

void MainWindow::compareWith(const QString& other) { m_comparison->with(other); }
void MainWindow::compare() { m_comparison->run(); }

void MainWindow::openSample(int index)
{
    const std::vector<Services::Sample> samples = m_services.samples();
    if (index < 0 || static_cast<size_t>(index) >= samples.size()) return;
    const Services::Sample sample = samples[static_cast<size_t>(index)];
    openInstead(
        nullptr, toText(sample.path),
        [this, sample] {
            banner().hide();
            if (const int task = taskOf(toText(sample.task)); task >= 0) setTask(static_cast<Task>(task));
            for (const std::string& command : sample.commands) m_document->execute(toText(command));
        },
        toText(sample.other), sample.other.empty() ? 0 : kSampleCosine);
}

bool MainWindow::settled() const
{
    if (isOpening() || m_tabs->isDiscarding()) return false;
    if (!m_document) return true;
    if (m_sheet->preparesRun || !m_document->bridge().settled()) return false;
    for (const Panel* const panel : m_area->findChildren<Panel*>())
        if (panel->isVisibleTo(m_area) && !panel->settled()) return false;
    return true;
}

void MainWindow::keepArrangement()
{
    if (!m_area || !std::exchange(m_sheet->arrangementTouched, false)) return;
    QJsonObject all = m_settings.value("arrangements").toObject();
    all[arrangementKey(m_sheet->task, isDataflow(m_document))] = m_area->arrangement();
    m_settings.set("arrangements", all);
}

void MainWindow::resetArrangement()
{
    if (!m_document) return;
    m_area->arrange(drawnArrangement(m_sheet->task, isDataflow(m_document), width()),
                    drawnArrangement(m_sheet->task, isDataflow(m_document), width()));
    m_sheet->arrangementTouched = true;
    keepArrangement();
}

void MainWindow::setTask(Task task)
{
    if (!m_document) return;
    if (m_sheet->task != task) keepArrangement();
    m_sheet->task = task;
    const QString focus = m_area->focusPanel() ? m_area->focusPanel()->objectName() : QString();
    m_area->arrange(arrangementFor(task, isDataflow(m_document), m_settings.value("arrangements").toObject(), width()),
                    drawnArrangement(task, isDataflow(m_document), width()));
    if (!focus.isEmpty() && m_area->isOpen(focus)) m_area->show(focus, true); // who steps by keys goes on stepping
    m_sheet->arrangementTouched = false;
    orderFocus(*m_area, focusOrder(isDataflow(m_document)));
    m_bar->showTask(task);
    m_settings.set("task", taskName(task));
}

namespace {

/// Whoever lets a run stop at a NaN wants to look at it.
void selectNaN(Document& document)
{
    const StopSnapshot& stop = *document.stop();
    for (const StopReason& reason : stop.report.reasons)
        if (reason.cause == StopCause::nan && !reason.value.empty() && !stop.stack.empty())
            document.select(stop.stack.back().address + "/" + escapeAddressName(reason.value, true));
}

/// Whoever ran from the inputs wants to see the graph, and what came out.
void uncoverGraph(DocumentSheet& sheet)
{
    PanelArea& area = sheet.area();
    if (std::exchange(sheet.hasBegun, false) && area.isCovering("panelInputs", "panelGraph"))
        area.show("panelGraph", area.focusPanel() && area.focusPanel()->objectName() == "panelInputs");
}

} // namespace

void MainWindow::stopChanged()
{
    if (m_sheet->notices().hasMoved(*m_document->stop())) selectNaN(*m_document);
    m_sheet->notices().stopChanged(*m_document->stop(), m_sheet->lastLine);
    if (m_sheet->notices().hasBegun(*m_document->stop())) m_sheet->hasBegun = true;
    if (task() != Task::browse || !m_document->stop()->started) {
        uncoverGraph(*m_sheet);
    } else if (!std::exchange(m_sheet->preparesRun, true)) {
        // Whoever runs something wants to see it run. Another task in the same turn as all else that a stop changes would be too long a
        // turn.
        m_area->prepare(arrangementFor(Task::debug, isDataflow(m_document), m_settings.value("arrangements").toObject(), width()),
                        [this, sheet = m_sheet] {
                            sheet->preparesRun = false;
                            if (m_sheet != sheet) return; // it comes once the file is in front again
                            if (task() == Task::browse && m_document->stop()->started) setTask(Task::debug);
                            uncoverGraph(*sheet);
                        });
    }
    m_results->follow(m_document);
    updateAddress();
    updateActions();
    m_status->show(m_document);
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

void MainWindow::updateActions()
{
    const bool open = m_document != nullptr;
    m_actions->update(m_document, open || m_tabs->page() == m_filePage);
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
    QJsonArray files; // all of which can be opened again
    for (const auto& sheet : m_tabs->sheets())
        if (sheet->document().stop()->compared.path.empty()) files.append(sheet->path());
    m_settings.set("openFiles", files);
    m_coming.reset();
    m_tabs->clear();
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
    if (!m_document || m_sheet->arrangementTouched ||
        !m_settings.value("arrangements").toObject()[arrangementKey(m_sheet->task, isDataflow(m_document))].toObject().isEmpty())
        return; // its user has moved things
    // A window that grows past a threshold gets another column; in a narrow one it is not the graph that becomes smaller first.
    const auto drawn = [this](int width) { return drawnArrangement(m_sheet->task, isDataflow(m_document), width); };
    if (task() == Task::debug && columns(event->oldSize().width()) != columns(width())) m_area->arrange(drawn(width()), drawn(width()));
    else if (drawn(event->oldSize().width()) != drawn(width())) m_area->draw(drawn(width()));
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (event->mimeData()->hasUrls() && event->mimeData()->urls().front().isLocalFile()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event)
{
    QStringList files;
    for (const QUrl& url : event->mimeData()->urls())
        if (url.isLocalFile()) files.append(url.toLocalFile());
    openBeside(files);
    event->acceptProposedAction();
}

} // namespace loopscope::viewer
