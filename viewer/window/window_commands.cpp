#include "viewer/window/window_commands.h"

#include "engine/ir/model.h"
#include "viewer/bridge/text.h"
#include "viewer/panels/panels.h"
#include "viewer/window/address_bar.h"
#include "viewer/window/banner.h"
#include "viewer/window/key_sheet.h"
#include "viewer/window/key_table.h"
#include "viewer/window/main_window.h"
#include "viewer/window/palette.h"
#include "viewer/window/panel_registry.h"
#include "viewer/window/session_store.h"
#include "viewer/window/settings_dialog.h"
#include "viewer/window/status_line.h"

#include <QApplication>
#include <QClipboard>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QJsonObject>
#include <QLineEdit>
#include <QPushButton>

namespace loopscope::viewer {

namespace {

QString tr(const char* text) { return MainWindow::tr(text); }

/// Beside the model, under its name, and a number where that is taken; in the home folder where nobody may write beside the model.
QString recordingPlace(const QString& model)
{
    const QFileInfo file(model);
    const QString folder = QFileInfo(file.absolutePath()).isWritable() ? file.absolutePath() : QDir::homePath();
    for (int number = 1;; ++number) {
        const QString name = file.completeBaseName() + (number == 1 ? QString() : QStringLiteral("-%1").arg(number));
        const QString path = folder + '/' + name + QStringLiteral(".lstrace");
        if (!QFileInfo::exists(path)) return path;
    }
}

/// A breakpoint on the next NaN, which goes when it has stopped once.
Request nanOnce()
{
    BreakpointSpec spec = breakOn("nan");
    spec.command = BreakpointCommand::temporary;
    return request::AddBreakpoint{std::move(spec)};
}

} // namespace

WindowCommands::WindowCommands(MainWindow& window) : m_window(window)
{
    addMoves();
    addMarks();
    addPlaces();
    addFiles();
    addPanels();
}

Document& WindowCommands::document() const { return *m_window.document(); }
PanelArea& WindowCommands::area() const { return *m_window.area(); }

bool WindowCommands::run(const QString& command) const
{
    const auto found = m_commands.find(command);
    return found != m_commands.end() && found->second();
}

QStringList WindowCommands::names() const
{
    QStringList names;
    for (const auto& [name, work] : m_commands) names.append(name);
    for (const KeyRow& row : keyTable()) names.append(QLatin1String(row.command));
    names.sort();
    names.removeDuplicates();
    return names;
}

WindowCommands::Work WindowCommands::with(std::function<void()> work)
{
    return [this, work = std::move(work)] {
        if (!m_window.document()) return false;
        work();
        return true;
    };
}

WindowCommands::Work WindowCommands::always(std::function<void()> work)
{
    return [work = std::move(work)] {
        work();
        return true;
    };
}

void WindowCommands::perform(Request request)
{
    if (m_window.document()) document().perform(std::move(request));
}

/// Opens the inputs panel if the run cannot begin. True: it cannot.
bool WindowCommands::needsInputs()
{
    if (document().stop()->started) return false;
    for (const InputPort& port : document().backend().inputs()) {
        if (!port.source.empty() && port.problem.empty()) continue;
        if (m_window.task() == Task::browse) m_window.setTask(Task::debug);
        if (!area().show("panelInputs", true)) break;
        m_window.status()->say(port.source.empty() ? tr("input %1 has no value yet: fill it here, then run").arg(toText(port.name))
                                                   : toText(port.problem));
        return true;
    }
    return false;
}

void WindowCommands::runIfWanted()
{
    if (std::exchange(m_runIsWanted, false)) runOrContinue();
}

void WindowCommands::runOrContinue()
{
    if (Panel* const panel = area().focusPanel()) panel->command("commit"); // a field that somebody still types into
    if (document().bridge().busy()) {
        m_runIsWanted = document().bridge().isPreparing();
        return;
    }
    const StopSnapshot& stop = *document().stop();
    if (!stop.started || stop.finished) {
        if (needsInputs()) return;
        m_window.sessions().save();
        perform(request::Begin());
    } else {
        perform(request::Resume());
    }
}

void WindowCommands::move(const request::Move& move)
{
    if (!m_window.document() || document().bridge().busy()) return;
    if (document().stop()->started) perform(move);
    else if (!needsInputs()) perform(request::Begin{{}, false});
}

/// What commands without an operand are about: the selection, else what runs next.
std::string WindowCommands::operatorInFocus() const
{
    const Selection& selection = document().selection();
    if (selection.op.valid()) return selection.address;
    return document().stop()->finished ? std::string() : document().stop()->address;
}

const BreakpointRow* WindowCommands::breakpointInFocus() const
{
    const std::string address = staticAddress(operatorInFocus());
    for (const BreakpointRow& row : document().stop()->breakpoints)
        if (!row.address.empty() && row.address == address) return &row;
    return nullptr;
}

void WindowCommands::toggleBreakpoint()
{
    if (const Result<Address> place = parseAddress(staticAddress(operatorInFocus())); place.ok())
        perform(request::ToggleBreakpoint{*place});
}

void WindowCommands::focusPanel(int number)
{
    const QString name = focusOrder(document().stop()->isDataflow).value(number - 1);
    Panel* const before = area().focusPanel();
    if (before && before->objectName() == name && m_focusBefore) {
        m_focusBefore->setFocus(Qt::ShortcutFocusReason);
        return;
    }
    m_focusBefore = QApplication::focusWidget();
    area().show(name, true);
}

void WindowCommands::chooseFile(const QString& title, const QString& filter, std::function<void(const QString&)> then)
{
    const QString start = m_window.document() ? QFileInfo(toText(document().backend().path())).absolutePath() : QString();
    auto* const dialog = new QFileDialog(&m_window, title, start, filter);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    QObject::connect(dialog, &QFileDialog::fileSelected, &m_window, [then = std::move(then)](const QString& path) { then(path); });
    dialog->open();
}

void WindowCommands::chooseTarget(const QString& title, const QString& path, const QString& filter,
                                  std::function<void(const QString&)> then)
{
    auto* const dialog = new QFileDialog(&m_window, title, path, filter);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    QObject::connect(dialog, &QFileDialog::fileSelected, &m_window, [then = std::move(then)](const QString& file) { then(file); });
    dialog->open();
}

void WindowCommands::offerSession()
{
    if (!m_window.sessions().damage().isEmpty()) m_window.status()->say(m_window.sessions().damage());
    const QJsonObject session = m_window.sessions().remembered();
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
    m_window.banner().show(Banner::Kind::notice, contents.isEmpty() ? tr("Restore view") : tr("Restore view and %1").arg(contents),
                           address.isEmpty() ? QString() : tr("it stood at %1").arg(address), choices);
}

void WindowCommands::restoreSession(const QJsonObject& session)
{
    m_window.sessions().restore(session);
    const QString note = sessionNote(session);
    if (!note.isEmpty()) m_window.status()->say(note);
}

/// Before a run only the picture can go there.
void WindowCommands::goTo(const QString& address)
{
    if (!m_window.document()) return;
    if (document().stop()->started) {
        perform(request::GoToPlace{address.toStdString()});
        return;
    }
    const std::string place = staticAddress(address.toStdString());
    if (document().select(place)) document().reveal(place);
    else if (!needsInputs()) {
        perform(request::Begin{{}, false});
        perform(request::GoToPlace{address.toStdString()});
    }
}

/// Whatever moves through the run.
void WindowCommands::addMoves()
{
    auto& to = m_commands;
    const auto moves = [this](const request::Move& where) { return with([this, where] { move(where); }); };
    to["run"] = with([this] { runOrContinue(); });
    to["pause"] = with([this] { document().bridge().cancel(); });
    to["stop"] = with([this] {
        if (document().bridge().busy()) document().bridge().cancel();
        else if (document().stop()->started) perform(request::GoToStart());
    });
    to["restart"] = with([this] {
        if (!needsInputs()) perform(request::Begin());
    });
    to["stepOver"] = moves(request::Step{Direction::forward, 1, true});
    to["stepInto"] = moves(request::Step());
    to["stepOut"] = moves(request::Finish());
    to["reverseRun"] = moves(request::Resume{Direction::backward});
    to["backOver"] = moves(request::Step{Direction::backward, 1, true});
    to["backInto"] = moves(request::Step{Direction::backward});
    to["backOut"] = moves(request::Finish{Direction::backward});
    to["nextIteration"] = moves(request::Iterate{request::Iterate::To::offset, 1});
    to["previousIteration"] = moves(request::Iterate{request::Iterate::To::offset, -1});
    to["runToCursor"] = with([this] { move(request::Advance{staticAddress(operatorInFocus())}); });
    to["backToCursor"] = with([this] { move(request::GoToPlace{operatorInFocus()}); });
    to["back"] = moves(request::Back());
    to["forward"] = moves(request::Forward());
    // Without iterations: of the invocation that runs, else of the nearest one.
    const auto write = [this](HistoryQuery query) {
        return with([this, query] {
            const Selection& selection = document().selection();
            if (selection.value.valid()) move(request::GoToWrite{query, staticAddress(document().valueAddress(selection))});
        });
    };
    to["previousWrite"] = write(HistoryQuery::lastWrite);
    to["nextWrite"] = write(HistoryQuery::nextWrite);
    to["nextNaN"] = with([this] {
        const bool anew = !document().stop()->started || document().stop()->finished; // behind the end there is none: the first one
        if (anew && needsInputs()) return;                                            // nor is a breakpoint left behind
        perform(nanOnce());
        perform(anew ? Request(request::Begin()) : Request(request::Resume()));
    });
    to["previousNaN"] = with([this] {
        perform(nanOnce());
        perform(request::Resume{Direction::backward});
    });
}

/// What a run is told to watch, and to keep.
void WindowCommands::addMarks()
{
    auto& to = m_commands;
    to["toggleBreakpoint"] = with([this] { toggleBreakpoint(); });
    to["enableBreakpoint"] = with([this] {
        if (const BreakpointRow* const row = breakpointInFocus()) perform(request::EnableBreakpoint{row->number, !row->enabled});
    });
    to["editBreakpoint"] = with([this] {
        const auto edit = [this] {
            if (Panel* const panel = area().show("panelBreakpoints", true)) panel->command("editBreakpoint");
        };
        if (breakpointInFocus()) return edit();
        if (operatorInFocus().empty()) return;
        toggleBreakpoint(); // its row is there after the command
        QObject::connect(m_window.document(), &Document::stopChanged, &m_window, edit, Qt::SingleShotConnection);
    });
    to["deleteBreakpoints"] = with([this] { perform(request::RemoveBreakpoint()); });
    to["watchExpression"] = with([this] {
        const Selection& selection = document().selection();
        if (!selection.value.valid()) return;
        perform(request::Display{document().model().graph(selection.graph).value(selection.value).id});
    });
    to["bookmark"] = with([this] { perform(request::SetMark{"mark" + std::to_string(document().stop()->marks.size() + 1)}); });
    for (int i = 1; i <= 10; ++i)
        to[QStringLiteral("gotoBookmark.%1").arg(i)] = with([this, i] {
            const std::vector<Mark>& marks = document().stop()->marks;
            if (static_cast<size_t>(i) <= marks.size()) perform(request::GoToPlace{marks[static_cast<size_t>(i) - 1].name});
        });
    to["record"] = with([this] {
        if (document().backend().isRecording()) return perform(request::RecordOff());
        perform(request::RecordOn{recordingPlace(toText(document().backend().path())).toStdString(), {}, false});
    });
    to["recordInto"] = with([this] { // the dialog asks before a file is replaced
        chooseTarget(tr("Record into"), recordingPlace(toText(document().backend().path())), tr("Recordings (*.lstrace)"),
                     [this](const QString& file) {
                         if (document().backend().isRecording()) perform(request::RecordOff());
                         perform(request::RecordOn{file.toStdString(), {}, true});
                     });
    });
    to["up"] = with([this] {
        const int depth = document().frame() < 0 ? static_cast<int>(document().stop()->stack.size()) - 1 : document().frame();
        if (depth > 0) document().setFrame(depth - 1);
    });
}

/// Where to look.
void WindowCommands::addPlaces()
{
    auto& to = m_commands;
    to["gotoIteration"] = with([this] { m_window.addressBar()->editIteration(); });
    to["gotoAddress"] = with([this] { m_window.addressBar()->edit(); });
    to["find"] = with([this] {
        m_window.findField()->setFocus(Qt::ShortcutFocusReason);
        m_window.findField()->selectAll();
    });
    to["findTyped"] = with([this] {
        Panel* const panel = area().show("panelSearch", false);
        if (panel) searchIn(panel, m_window.findField()->text());
        m_window.panelCommand("panelSearch", "findNext");
    });
    to["findTyping"] = with([this] { // the keyboard stays in the field
        if (Panel* const panel = area().show("panelSearch", false)) searchWhileTyping(panel, m_window.findField()->text());
    });
    to["findNext"] = with([this] { m_window.panelCommand("panelSearch", "findNext"); });
    to["findPrevious"] = with([this] { m_window.panelCommand("panelSearch", "findPrevious"); });
    const auto finding = [this](const QString& which) {
        return with([this, which] {
            Panel* const focus = area().focusPanel();
            if (focus && focus->objectName() == "panelRewrites" && focus->command(which)) return;
            if (m_window.task() == Task::compare && m_window.panelCommand("panelDifferences", which)) return;
            if (m_window.task() == Task::compare && document().problems().empty()) // no panel in the place of a side to say so
                return m_window.status()->say(tr("nothing differs beyond the limit, and there are no problems"));
            area().show("panelProblems", false);
            m_window.panelCommand("panelProblems", which);
        });
    };
    to["nextFinding"] = finding("nextFinding");
    to["previousFinding"] = finding("previousFinding");
    to["quickOpen"] = with([this] {
        showOperatorPalette(m_window, document().model(), [this](const QString& address) {
            if (m_window.document() && document().select(address.toStdString())) document().reveal(staticAddress(address.toStdString()));
        });
    });
    to["copyAddress"] = with([this] { QGuiApplication::clipboard()->setText(m_window.addressBar()->address()); });
}

/// What is opened, written and given up.
void WindowCommands::addFiles()
{
    auto& to = m_commands;
    to["open"] = always([this] {
        chooseFile(tr("Open a model, recording or session"),
                   tr("Models and recordings (*.tflite *.circle *.pb *.pbtxt *.meta *.lsir *.lstrace *.lssession);;All files (*)"),
                   [this](const QString& path) { m_window.openBeside({path}); });
    });
    to["openRecording"] = always([this] {
        chooseFile(tr("Open a recording"), tr("Recordings (*.lstrace);;All files (*)"),
                   [this](const QString& path) { m_window.openBeside({path}); });
    });
    to["compare"] = always([this] {
        chooseFile(tr("Compare with"), tr("Models and recordings (*.tflite *.circle *.pb *.pbtxt *.lsir *.lstrace *.npz);;All files (*)"),
                   [this](const QString& path) { m_window.compareWith(path); });
    });
    to["compareFused"] = with([this] { m_window.compareWith(toText(fusedSideText({}))); });
    for (const char* const kernels : {"reference", "fast", "xnnpack", "vulkan"})
        to[QStringLiteral("compareKernels.") + kernels] =
            with([this, kernels] { m_window.compareWith(toText(std::string(kKernelsSide) + kernels)); });
    to["saveSession"] = with([this] {
        const QString path = QFileInfo(toText(document().backend().path())).completeBaseName() + ".lssession";
        chooseTarget(tr("Save the session"), path, tr("Sessions (*.lssession)"), [this](const QString& file) {
            if (!m_window.sessions().saveTo(file)) m_window.status()->say(tr("%1 cannot be written").arg(file));
        });
    });
    to["reload"] = [this] { return m_window.reload(); };
    to["showPart"] = [this] { // of the file on the page
        auto* const button = m_window.findChild<QPushButton*>("showPart");
        if (!button || !button->isVisible()) return false;
        button->click();
        return true;
    };
    to["exportGraph"] = with([this] {
        chooseTarget(tr("Export the graph"), QString(), tr("Pictures (*.svg *.png *.pdf *.dot)"), [this](const QString& file) {
            if (!m_window.panelCommand("panelGraph", "exportTo " + file)) m_window.status()->say(tr("nothing here exports the graph"));
        });
    });
    to["quit"] = always([this] { m_window.close(); });
    to["cancel"] = always([this] {
        m_runIsWanted = false;
        if (m_window.cancelOpening() || !m_window.document()) return;
        if (document().bridge().busy()) document().bridge().cancel();
        else document().clearSelection();
    });
}

/// The window itself.
void WindowCommands::addPanels()
{
    auto& to = m_commands;
    to["closeTab"] = always([this] { m_window.closeFile(); });
    to["nextFile"] = always([this] { m_window.tabs().step(1); });
    to["previousFile"] = always([this] { m_window.tabs().step(-1); });
    to["nextTab"] = with([this] { area().nextTab(1); });
    to["previousTab"] = with([this] { area().nextTab(-1); });
    to["console"] = with([this] { area().show("panelConsole", true); });
    for (int i = 1; i <= 10; ++i) to[QStringLiteral("focusPanel.%1").arg(i)] = with([this, i] { focusPanel(i); });
    for (int i = 1; i <= kTaskCount; ++i)
        to[QStringLiteral("task.%1").arg(i)] = with([this, i] { m_window.setTask(static_cast<Task>(i - 1)); });
    to["palette"] = always([this] { showCommandPalette(m_window); });
    to["keySheet"] = always([this] { showKeySheet(m_window); });
    to["settings"] = always([this] { showSettings(m_window); });
}

} // namespace loopscope::viewer
