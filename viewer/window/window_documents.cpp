// Which documents are open, and which of them is in front: opening, following, leaving, closing.
#include "viewer/bridge/partial.h"
#include "viewer/bridge/text.h"
#include "viewer/compare/compare_desk.h"
#include "viewer/tensor/tensor_panel.h"
#include "viewer/widgets/given_output.h"
#include "viewer/window/address_bar.h"
#include "viewer/window/file_page.h"
#include "viewer/window/main_window.h"
#include "viewer/window/panel_registry.h"
#include "viewer/window/result_strip.h"
#include "viewer/window/run_bar.h"
#include "viewer/window/status_line.h"
#include "viewer/window/welcome_page.h"
#include "viewer/window/window_commands.h"
#include "viewer/window/window_comparison.h"

#include <QApplication>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMenuBar>
#include <QPointer>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace loopscope::viewer {

namespace {

/// What is to be known of a file before anything runs: values that could not be read, a recording without its end.
void tellNote(DocumentSheet& sheet)
{
    const std::string& note = sheet.document().backend().session().note();
    if (note.empty()) return;
    sheet.document().report({Problem::Severity::warning, note, {}, {}});
    if (sheet.banner().isHidden())
        sheet.banner().show(Banner::Kind::warning, toText(note), {},
                            {{QObject::tr("Problems"), [&sheet] { sheet.area().show("panelProblems", true); }}});
}

} // namespace

void MainWindow::showWelcome()
{
    m_welcome->showRecent();
    m_tabs->showPage(m_welcome, tr("Welcome"), false);
    m_welcome->setFocus();
}

void MainWindow::open(const QString& path, std::function<void()> then, const QString& against, double cosine)
{
    openInstead(m_sheet, path, std::move(then), against, cosine);
}

void MainWindow::openBeside(QStringList paths)
{
    while (!paths.isEmpty()) {
        const QString path = paths.takeFirst();
        if (DocumentSheet* const known = m_tabs->find(path)) {
            m_tabs->bring(known);
            continue;
        }
        return openInstead(
            nullptr, path, [this, paths] { openBeside(paths); }, {}, 0);
    }
}

/// `before`: the document that gives way to it; null: none does.
void MainWindow::openInstead(DocumentSheet* before, const QString& path, std::function<void()> then, const QString& against, double cosine)
{
    m_opener.cancel();
    m_coming.reset();
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
    m_opener.open(file, against, cosine, [=, this, before = QPointer(before), then = std::move(then)](FileOpener::Opened opened) {
        if (!opened.ok()) {
            m_status->clearWork();
            if (opened.error().code() == ErrorCode::cancelled) return;
            if (!against.isEmpty() && m_document) {
                m_comparison->refuse(opened.error());
                emit openFailed(opened.error());
                return;
            }
            m_tabs->remove(before); // it is not what its file holds any more
            showError(file, opened.error());
            return;
        }
        showDocument(std::move(opened).value(), before, [=, this] {
            if (!session.isEmpty()) m_commands->restoreSession(session);
            else m_commands->offerSession();
            tellNote(*m_sheet);
            if (then) then();
            emit documentOpened();
        });
    });
}

/// Of a file that cannot be opened: what is wrong stays among the problems.
void MainWindow::openPart(const QString& path)
{
    m_status->showWork(tr("Opening %1").arg(QFileInfo(path).fileName()));
    m_coming.reset();
    m_opener.openPart(path, [this, path](FileOpener::Opened opened) {
        if (!opened.ok()) {
            m_status->clearWork();
            if (opened.error().code() != ErrorCode::cancelled) m_status->say(toText(opened.error().message()));
            return;
        }
        showDocument(std::move(opened).value(), nullptr, [this, path] {
            const std::vector<FileFault> faults = faultsOf(*m_document);
            for (const FileFault& fault : faults)
                m_document->report(
                    {Problem::Severity::error, fault.text, fault.where, tr("open an intact copy; Ctrl+R reads it again").toStdString()});
            banner().show(Banner::Kind::warning, tr("only a part of %1 could be read").arg(QFileInfo(path).fileName()),
                          (faults.size() == 1 ? tr("One thing is wrong with the file. ")
                                              : tr("%1 things are wrong with the file. ").arg(faults.size())) +
                              tr("It can be looked at, not run."),
                          {{tr("Problems"), [this] { m_area->show("panelProblems", true); }}, {tr("Reload"), [this] { reload(); }}});
            emit documentOpened();
        });
    });
}

bool MainWindow::cancelOpening()
{
    if (!isOpening()) return false;
    m_opener.cancel();
    m_coming.reset();
    m_status->clearWork();
    return true;
}

bool MainWindow::reload()
{
    if (m_tabs->page() == m_filePage) {
        open(m_filePage->path());
        return true;
    }
    if (!m_document) return false;
    const QString path = toText(m_document->backend().path());
    const QJsonObject session = sessions().now();
    const Task before = task();
    const ComparedRun compared = m_document->stop()->compared;
    const double cosine = compared.reference ? compared.reference->tolerance().cosine.value_or(0) : 0;
    open(
        path,
        [this, session, before, compares = compared.drift != nullptr] {
            banner().hide(); // what it offers to restore is restored
            sessions().restore(session);
            if (compares) compare();
            setTask(before);
        },
        toText(compared.path), cosine);
    return true;
}

namespace {

Task firstTask(DocumentSheet& sheet) { return sheet.document().backend().isReplay() ? Task::trace : Task::browse; }

} // namespace

/// Its panels are made while what is open stays in front: all of them at once would be too long a turn.
void MainWindow::showDocument(std::unique_ptr<Backend> backend, DocumentSheet* before, std::function<void()> then)
{
    auto sheet = std::make_unique<DocumentSheet>(
        std::move(backend), m_sessionFolder,
        RunNotices::Ways{[this](int64_t timeline) { m_commands->perform(request::SwitchTimeline{timeline}); },
                         [this](const QString& path) { openBeside({path}); }, [this] { reload(); }});
    m_coming = std::move(sheet);
    const QJsonObject kept = m_settings.value("arrangements").toObject();
    const QJsonObject wanted = arrangementFor(firstTask(*m_coming), m_coming->document().stop()->isDataflow, kept, width());
    m_coming->area().prepare(wanted, [this, before = QPointer(before), then = std::move(then)] {
        m_status->clearWork();
        DocumentSheet& shown = *m_coming;
        if (!faultsOf(shown.document()).empty() && m_tabs->page() == m_filePage)
            m_tabs->dropPage(); // it has given way to what could be read
        const int position = m_tabs->discard(before);
        followDocument(shown);
        m_tabs->add(std::move(m_coming), position);
        const bool replay = m_document->backend().isReplay();
        setTask(firstTask(shown));
        setWheelHabit(m_area->panel("panelGraph"), m_settings.value("wheelZooms").toBool());
        keepTensorModes(*m_area->panel("panelTensor"), m_settings.value("tensorModes").toObject(),
                        [this](const QJsonObject& modes) { m_settings.set("tensorModes", modes); });
        sessions().attach(*m_document, *m_area);
        m_settings.addRecent(shown.path(), toText(m_document->backend().name()), replay ? tr("recording") : QString());
        m_status->show(m_document);
        // Who opens a file goes on in its picture, not on the button or the page that opened it.
        QWidget* const focus = QApplication::focusWidget();
        const bool types = qobject_cast<QLineEdit*>(focus) != nullptr && focus->isVisible();
        if (!types && m_area->isOpen("panelGraph") && !shown.isAncestorOf(focus)) m_area->show("panelGraph", true);
        then();
    });
}

/// While it is not in front only its own line and its problems say anything.
void MainWindow::followDocument(DocumentSheet& sheet)
{
    Document& document = sheet.document();
    document.setOpenCallee(calleeNamed(m_settings.value("openCallee").toString()));
    connect(&document, &Document::openCalleeChanged, this,
            [this, &document] { m_settings.set("openCallee", calleeName(document.openCallee())); });
    connect(&document, &Document::stopChanged, this, [this, &sheet] {
        if (m_sheet == &sheet) stopChanged();
    });
    connect(&document, &Document::selectionChanged, this, [this, &sheet] {
        if (m_sheet == &sheet) updateActions();
    });
    CompareDesk& desk = CompareDesk::of(document);
    desk.judgement().restoreChoice(m_settings.value("compare").toObject());
    connect(&desk.judgement(), &Judgement::chosen, this, [this, &desk] { m_settings.set("compare", desk.judgement().choice()); });
    connect(&desk, &CompareDesk::swapRequested, this, [this] { m_comparison->swapSides(); });
    connect(
        &desk, &CompareDesk::fusedSideWanted, this, [this](const QString& side, int row) { m_comparison->with(side, row); },
        Qt::QueuedConnection);
    DebugBridge& bridge = sheet.document().bridge();
    connect(&bridge, &DebugBridge::busyChanged, this, [this, &sheet](bool busy) {
        if (busy) sheet.progressFrom = sheet.document().stop()->tick;
        else sheet.area().setProgress("panelGraph", -1);
        if (m_sheet != &sheet) return;
        if (!busy) m_status->clearWork();
        m_status->show(m_document);
        updateActions();
        if (!busy) m_commands->runIfWanted();
    });
    connect(&bridge, &DebugBridge::progress, this, [this, &sheet](const QString& what, qint64 tick, qint64 target) {
        const qint64 whole = target - sheet.progressFrom;
        sheet.area().setProgress("panelGraph", target < 0 || whole == 0 ? 2 : double(tick - sheet.progressFrom) / double(whole));
        if (m_sheet == &sheet) m_status->showProgress(what, tick, target, sheet.progressFrom);
    });
    connect(&bridge, &DebugBridge::failed, this, [this, &sheet](const QString& text) {
        Document& document = sheet.document();
        const StopSnapshot& stop = *document.stop();
        std::vector<Banner::Choice> choices = {{tr("Step back"), [this] { run("backInto"); }},
                                               {tr("Problems"), [this] { m_area->show("panelProblems", true); }}};
        if (const std::optional<Selection> failed = document.find(stop.address); failed && canGiveOutput(document, *failed))
            choices.insert(choices.begin(), {tr("Give its output…"), [this, &document, failed] { giveOutput(document, *this, *failed); }});
        sheet.banner().show(Banner::Kind::error, failureText(text),
                            tr("step %1. The state before the step is shown.").arg(stop.position.step), choices);
    });
    connect(&bridge, &DebugBridge::refused, this, [this, &sheet](const QString& line, const QString& text) {
        sheet.document().report({Problem::Severity::error, text.toStdString(), {}, {}});
        if (m_sheet != &sheet) return;
        m_status->say(text);
        // However the run was begun, by a key, a button of a panel or in the console: what it lacks is asked for in one place.
        if (const QString word = line.section(' ', 0, 0); word == "run" || word == "start") m_commands->needsInputs();
    });
}

/// The last that the window does for the document in front.
void MainWindow::leaveDocument()
{
    keepArrangement();
    sessions().save();
    m_commands->forgetWanted();
    m_results->follow(nullptr);
    m_sheet = nullptr;
    m_document = nullptr;
    m_area = nullptr;
    if (!m_opener.isBusy()) m_status->clearWork();
    m_status->show(nullptr);
}

/// What came while it was not in front is shown now.
void MainWindow::frontChanged()
{
    m_sheet = m_tabs->front();
    m_document = m_sheet ? &m_sheet->document() : nullptr;
    m_area = m_sheet ? &m_sheet->area() : nullptr;
    if (!m_sheet && !m_tabs->page()) return showWelcome();
    if (m_sheet && m_sheet->sessions().isAttached()) {
        m_bar->showTask(task());
        stopChanged();
    }
    updateAddress();
    const std::string other = m_document ? m_document->stop()->compared.path : std::string();
    const QString name = m_sheet ? m_sheet->label() : QString();
    m_file->setText(other.empty()                      ? name
                    : other.starts_with(kFusedSide)    ? toText(m_document->backend().name())
                    : other.starts_with(kKernelsSide)  ? toText(m_document->backend().name())
                    : m_document->backend().isReplay() ? tr("compare 2 runs")
                                                       : tr("compare 2 models"));
    menuBar()->setCornerWidget(m_file, Qt::TopRightCorner); // gives it the room that it needs now
    m_file->show();
    setWindowTitle(name.isEmpty() ? tr("Loopscope") : name + tr(" · Loopscope"));
    updateActions();
    if (m_tabs->page() == m_filePage) m_bar->address()->setAddress({}, QFileInfo(m_filePage->path()).fileName());
}

void MainWindow::showError(const QString& path, const Error& error)
{
    m_filePage->show(path, error);
    m_tabs->showPage(m_filePage, QFileInfo(path).fileName(), true);
    emit openFailed(error);
}

void MainWindow::closeFile()
{
    if (m_document || m_tabs->page() == m_filePage || m_tabs->count() > 0) m_tabs->closeFront();
}

} // namespace loopscope::viewer
