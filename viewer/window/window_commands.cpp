// What the commands of the key table do. Whatever moves through a run is a request to the debugger.
#include "engine/ir/model.h"
#include "viewer/window/address_bar.h"
#include "viewer/window/banner.h"
#include "viewer/window/file_page.h"
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
#include <QFileDialog>
#include <QFileInfo>
#include <QKeyEvent>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QStackedWidget>

namespace loopscope::viewer {

namespace {

QString textOf(const std::string& text) { return QString::fromStdString(text); }

/// The context of the key table that a panel is.
QString contextOf(const Panel* panel)
{
    if (!panel) return {};
    const QString name = panel->objectName();
    if (name == "panelGraph" || name == "panelDataflow" || name.startsWith("panelCompare")) return "graph";
    if (name == "panelListing" || name == "panelStructured") return "listing";
    if (name == "panelTensor") return "tensor";
    if (name == "panelTimeline") return "timeline";
    if (name == "panelSql") return "sql";
    return {};
}

/// A breakpoint on the next NaN, which goes when it has stopped once.
Request nanOnce()
{
    BreakpointSpec spec = breakOn("nan");
    spec.command = BreakpointCommand::temporary;
    return request::AddBreakpoint{std::move(spec)};
}

} // namespace

void MainWindow::perform(Request request)
{
    if (m_document) m_document->perform(std::move(request));
}

/// Opens the inputs panel if the run cannot begin. True: it cannot.
bool MainWindow::needsInputs()
{
    if (m_document->stop()->started) return false;
    for (const InputPort& port : m_document->backend().inputs()) {
        if (!port.source.empty() && port.problem.empty()) continue;
        if (m_task == Task::browse) setTask(Task::debug);
        if (!m_area->show("panelInputs", true)) break;
        m_status->say(port.source.empty() ? tr("input %1 has no value yet: fill it here, then run").arg(textOf(port.name))
                                          : textOf(port.problem));
        return true;
    }
    return false;
}

void MainWindow::runOrContinue()
{
    const StopSnapshot& stop = *m_document->stop();
    if (!stop.started || stop.finished) {
        if (needsInputs()) return;
        m_sessions->save();
        perform(request::Begin());
    } else {
        perform(request::Resume());
    }
}

void MainWindow::move(const request::Move& move)
{
    if (!m_document || m_document->bridge().busy()) return;
    if (m_document->stop()->started) perform(move);
    else if (!needsInputs()) perform(request::Begin{{}, false});
}

/// What commands without an operand are about: the selection, else what runs next.
std::string MainWindow::operatorInFocus() const
{
    const Selection& selection = m_document->selection();
    if (selection.op.valid()) return selection.address;
    return m_document->stop()->finished ? std::string() : m_document->stop()->address;
}

const BreakpointRow* MainWindow::breakpointInFocus() const
{
    const std::string address = staticAddress(operatorInFocus());
    for (const BreakpointRow& row : m_document->stop()->breakpoints)
        if (!row.address.empty() && row.address == address) return &row;
    return nullptr;
}

void MainWindow::toggleBreakpoint()
{
    if (const Result<Address> place = parseAddress(staticAddress(operatorInFocus())); place.ok())
        perform(request::ToggleBreakpoint{*place});
}

bool MainWindow::panelCommand(const QString& panel, const QString& command)
{
    if (!m_area) return false;
    Panel* const target = m_area->panel(panel);
    return target && target->command(command);
}

void MainWindow::focusPanel(int number)
{
    const QString name = focusOrder(isDataflow()).value(number - 1);
    Panel* const before = m_area->focusPanel();
    if (before && before->objectName() == name && m_focusBefore) {
        m_focusBefore->setFocus(Qt::ShortcutFocusReason);
        return;
    }
    m_focusBefore = QApplication::focusWidget();
    m_area->show(name, true);
}

void MainWindow::chooseFile(const QString& title, const QString& filter, std::function<void(const QString&)> then)
{
    const QString start = m_document ? QFileInfo(textOf(m_document->backend().path())).absolutePath() : QString();
    auto* const dialog = new QFileDialog(this, title, start, filter);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFile);
    connect(dialog, &QFileDialog::fileSelected, this, [then = std::move(then)](const QString& path) { then(path); });
    dialog->open();
}

void MainWindow::copyText(const QString& text) { QGuiApplication::clipboard()->setText(text); }

/// Before a run only the picture can go there.
void MainWindow::goToOperator(const QString& address)
{
    if (!m_document) return;
    if (m_document->stop()->started) {
        perform(request::GoToPlace{address.toStdString()});
        return;
    }
    const std::string place = staticAddress(address.toStdString());
    if (m_document->select(place)) m_document->reveal(place);
    else if (!needsInputs()) {
        perform(request::Begin{{}, false});
        perform(request::GoToPlace{address.toStdString()});
    }
}

void MainWindow::makeCommands()
{
    // A command that always applies once a document is open.
    const auto with = [this](auto work) {
        return [this, work] {
            if (!m_document) return false;
            work();
            return true;
        };
    };
    const auto moves = [this, with](const request::Move& to) { return with([this, to] { move(to); }); };
    const auto always = [](auto work) {
        return [work] {
            work();
            return true;
        };
    };
    auto& to = m_commands;
    to["run"] = with([this] { runOrContinue(); });
    to["pause"] = with([this] { m_document->bridge().cancel(); });
    to["stop"] = with([this] {
        if (m_document->bridge().busy()) m_document->bridge().cancel();
        else if (m_document->stop()->started) perform(request::GoToStart());
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
    to["gotoIteration"] = with([this] { m_address->editIteration(); });
    to["gotoAddress"] = with([this] { m_address->edit(); });
    to["toggleBreakpoint"] = with([this] { toggleBreakpoint(); });
    to["enableBreakpoint"] = with([this] {
        if (const BreakpointRow* const row = breakpointInFocus()) perform(request::EnableBreakpoint{row->number, !row->enabled});
    });
    to["editBreakpoint"] = with([this] {
        const auto edit = [this] {
            if (Panel* const panel = m_area->show("panelBreakpoints", true)) panel->command("editBreakpoint");
        };
        if (breakpointInFocus()) return edit();
        if (operatorInFocus().empty()) return;
        toggleBreakpoint(); // its row is there after the command
        connect(m_document.get(), &Document::stopChanged, this, edit, Qt::SingleShotConnection);
    });
    to["deleteBreakpoints"] = with([this] { perform(request::RemoveBreakpoint()); });
    to["watchExpression"] = with([this] {
        const Selection& selection = m_document->selection();
        if (!selection.value.valid()) return;
        perform(request::Display{m_document->model().graph(selection.graph).value(selection.value).id});
    });
    to["nextNaN"] = with([this] {
        const bool started = m_document->stop()->started;
        if (!started && needsInputs()) return; // nor is a breakpoint left behind
        perform(nanOnce());
        perform(started ? Request(request::Resume()) : Request(request::Begin()));
    });
    to["previousNaN"] = with([this] {
        perform(nanOnce());
        perform(request::Resume{Direction::backward});
    });
    to["nextFinding"] = with([this] {
        if (m_task == Task::compare && panelCommand("panelDifferences", "nextFinding")) return;
        m_area->show("panelProblems", false);
        panelCommand("panelProblems", "nextFinding");
    });
    to["previousFinding"] = with([this] {
        if (m_task == Task::compare && panelCommand("panelDifferences", "previousFinding")) return;
        m_area->show("panelProblems", false);
        panelCommand("panelProblems", "previousFinding");
    });
    to["bookmark"] = with([this] { perform(request::SetMark{"mark" + std::to_string(m_document->stop()->marks.size() + 1)}); });
    for (int i = 1; i <= 10; ++i)
        to[QStringLiteral("gotoBookmark.%1").arg(i)] = with([this, i] {
            const std::vector<Mark>& marks = m_document->stop()->marks;
            if (static_cast<size_t>(i) <= marks.size()) perform(request::GoToPlace{marks[static_cast<size_t>(i) - 1].name});
        });
    to["back"] = moves(request::Back());
    to["forward"] = moves(request::Forward());
    // Without iterations: of the invocation that runs, else of the nearest one.
    const auto write = [this, with](HistoryQuery query) {
        return with([this, query] {
            const Selection& selection = m_document->selection();
            if (selection.value.valid()) move(request::GoToWrite{query, staticAddress(m_document->valueAddress(selection))});
        });
    };
    to["previousWrite"] = write(HistoryQuery::lastWrite);
    to["nextWrite"] = write(HistoryQuery::nextWrite);
    to["find"] = with([this] {
        m_find->setFocus(Qt::ShortcutFocusReason);
        m_find->selectAll();
    });
    to["findTyped"] = with([this] {
        Panel* const panel = m_area->show("panelSearch", false);
        if (panel) searchIn(panel, m_find->text());
        panelCommand("panelSearch", "findNext");
    });
    to["findNext"] = with([this] { panelCommand("panelSearch", "findNext"); });
    to["findPrevious"] = with([this] { panelCommand("panelSearch", "findPrevious"); });
    to["quickOpen"] = with([this] {
        showOperatorPalette(*this, m_document->model(), [this](const QString& address) {
            if (m_document && m_document->select(address.toStdString())) m_document->reveal(staticAddress(address.toStdString()));
        });
    });
    to["palette"] = always([this] { showCommandPalette(*this); });
    to["keySheet"] = always([this] { showKeySheet(*this); });
    to["settings"] = always([this] { showSettings(*this); });
    to["open"] = always([this] {
        chooseFile(tr("Open a model, recording or session"),
                   tr("Models and recordings (*.tflite *.circle *.pb *.pbtxt *.meta *.lsir *.lstrace *.lssession);;All files (*)"),
                   [this](const QString& path) { open(path); });
    });
    to["openRecording"] = always([this] {
        chooseFile(tr("Open a recording"), tr("Recordings (*.lstrace);;All files (*)"), [this](const QString& path) { open(path); });
    });
    to["compare"] = always([this] {
        chooseFile(tr("Compare with"), tr("Models and recordings (*.tflite *.circle *.pb *.pbtxt *.lsir *.lstrace *.npz);;All files (*)"),
                   [this](const QString& path) { compareWith(path); });
    });
    to["saveSession"] = with([this] {
        const QString path = QFileInfo(textOf(m_document->backend().path())).completeBaseName() + ".lssession";
        auto* const dialog = new QFileDialog(this, tr("Save the session"), path, tr("Sessions (*.lssession)"));
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setAcceptMode(QFileDialog::AcceptSave);
        connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& file) {
            if (!m_sessions->saveTo(file)) m_status->say(tr("%1 cannot be written").arg(file));
        });
        dialog->open();
    });
    to["reload"] = [this] {
        if (!m_document && m_stack->currentWidget() == m_filePage) {
            open(m_filePage->path());
            return true;
        }
        if (!m_document) return false;
        const QString path = textOf(m_document->backend().path());
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
            textOf(compared.path), cosine);
        return true;
    };
    to["closeTab"] = with([this] {
        if (const Panel* const panel = m_area->focusPanel()) m_area->close(panel->objectName());
    });
    to["nextTab"] = with([this] { m_area->nextTab(1); });
    to["previousTab"] = with([this] { m_area->nextTab(-1); });
    to["quit"] = always([this] { close(); });
    to["exportGraph"] = with([this] {
        auto* const dialog = new QFileDialog(this, tr("Export the graph"), QString(), tr("Pictures (*.svg *.png *.pdf *.dot)"));
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setAcceptMode(QFileDialog::AcceptSave);
        connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& file) {
            if (!panelCommand("panelGraph", "exportTo " + file)) m_status->say(tr("nothing here exports the graph"));
        });
        dialog->open();
    });
    to["record"] =
        with([this] { perform(m_document->backend().isRecording() ? Request(request::RecordOff()) : Request(request::RecordOn())); });
    to["copyAddress"] = with([this] { copyText(m_address->address()); });
    to["console"] = with([this] { m_area->show("panelConsole", true); });
    for (int i = 1; i <= 10; ++i) to[QStringLiteral("focusPanel.%1").arg(i)] = with([this, i] { focusPanel(i); });
    for (int i = 1; i <= kTaskCount; ++i) to[QStringLiteral("task.%1").arg(i)] = with([this, i] { setTask(static_cast<Task>(i - 1)); });
    to["up"] = with([this] {
        const int depth = m_document->frame() < 0 ? static_cast<int>(m_document->stop()->stack.size()) - 1 : m_document->frame();
        if (depth > 0) m_document->setFrame(depth - 1);
    });
    to["cancel"] = always([this] {
        if (m_opening > 0) {
            m_openingStop.request_stop();
            ++m_openTicket;
            m_status->clearWork();
        } else if (m_document && m_document->bridge().busy()) {
            m_document->bridge().cancel();
        } else if (m_document) {
            m_document->clearSelection();
        }
    });
}

bool MainWindow::run(const QString& command)
{
    const auto found = m_commands.find(command);
    return found != m_commands.end() && found->second();
}

bool MainWindow::runIfEnabled(const QString& command)
{
    const QAction* const shown = m_actions.value(command);
    return (!shown || shown->isEnabled()) && run(command);
}

QStringList MainWindow::commands() const
{
    QStringList names;
    for (const auto& [name, work] : m_commands) names.append(name);
    for (const KeyRow& row : keyTable()) names.append(QLatin1String(row.command));
    names.sort();
    names.removeDuplicates();
    return names;
}

void MainWindow::say(const QString& problem)
{
    if (m_document) m_document->report({Problem::Severity::error, problem.toStdString(), {}, {}});
    m_status->say(problem);
}

/// Keys that no widget wanted: those of the panel that has the focus.
void MainWindow::keyPressEvent(QKeyEvent* event)
{
    Panel* const panel = m_area ? m_area->focusPanel() : nullptr;
    const QString context = contextOf(panel);
    const QString key = QKeySequence(event->keyCombination()).toString(QKeySequence::PortableText);
    const bool letters = context == "graph" || context == "listing"; // of gdb
    if (!context.isEmpty())
        for (const KeyPlace& place : KeyBindings::places()) {
            if (place.context != context && !(letters && place.isSecond)) continue;
            const QString bound = m_keys.keyOf(place);
            const bool hit =
                bound.compare(key, Qt::CaseInsensitive) == 0 || (place.isFixed && keysOf(bound).contains(key, Qt::CaseInsensitive));
            if (hit && ((!place.isSecond && panel->command(place.command)) || runIfEnabled(place.command))) return event->accept();
        }
    QMainWindow::keyPressEvent(event);
}

/// Keys that the user has changed go before what a panel's widgets do with them. True: the key was one of these.
bool MainWindow::changedKey(const QKeyEvent& event)
{
    Panel* const panel = m_area ? m_area->focusPanel() : nullptr;
    const QString context = contextOf(panel);
    if (context.isEmpty()) return false;
    if (!event.spontaneous()) return false; // delivered below
    QWidget* const focus = QApplication::focusWidget();
    const bool types = focus->testAttribute(Qt::WA_InputMethodEnabled) && !(event.modifiers() & (Qt::ControlModifier | Qt::AltModifier)) &&
                       !event.text().isEmpty();
    if (types) return false;
    const KeyBindings::Meaning meaning =
        m_keys.changedMeaning(context, QKeySequence(event.keyCombination()).toString(QKeySequence::PortableText));
    if (meaning.command.isEmpty()) return meaning.isVacated;
    if (meaning.delivered.isEmpty()) return panel->command(meaning.command) || runIfEnabled(meaning.command);
    const QKeyCombination known = QKeySequence(meaning.delivered)[0];
    QKeyEvent press(QEvent::KeyPress, known.key(), known.keyboardModifiers());
    QApplication::sendEvent(focus, &press);
    return true;
}

bool MainWindow::eventFilter(QObject* watched, QEvent* event)
{
    // Layouts disagree on the symbol of Ctrl+Shift+digit: the physical key counts.
    if (event->type() == QEvent::ShortcutOverride || event->type() == QEvent::KeyPress) {
        const auto* const key = static_cast<QKeyEvent*>(event);
        const quint32 code = key->nativeScanCode();
        if (key->modifiers() == (Qt::ControlModifier | Qt::ShiftModifier) && code >= 10 && code <= 13 && isActiveWindow()) {
            if (event->type() == QEvent::ShortcutOverride) {
                event->accept();
                return true;
            }
            return run(QStringLiteral("task.%1").arg(code - 9));
        }
        if (event->type() == QEvent::KeyPress && watched == QApplication::focusWidget() && isActiveWindow() && changedKey(*key))
            return true;
    }
    return QMainWindow::eventFilter(watched, event);
}

} // namespace loopscope::viewer
