#include "viewer/window/window_actions.h"

#include "viewer/bridge/partial.h"
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/window/main_window.h"

#include <QAction>

#include <algorithm>
#include <map>
#include <string_view>

namespace loopscope::viewer {

namespace {

struct IconOf {
    const char* command;
    const char* icon;
};
constexpr IconOf kIcons[] = {
    {"run", "continue"},
    {"pause", "pause"},
    {"stop", "stop"},
    {"restart", "restart"},
    {"stepOver", "step-over"},
    {"stepInto", "step-into"},
    {"stepOut", "step-out"},
    {"reverseRun", "reverse-continue"},
    {"backOver", "step-back-over"},
    {"backInto", "step-back-into"},
    {"backOut", "step-back-out"},
    {"previousIteration", "iteration-back"},
    {"nextIteration", "iteration-forward"},
    {"record", "record"},
    {"find", "find"},
    {"open", "model-file"},
    {"openRecording", "recording"},
    {"compare", "compare"},
    {"bookmark", "bookmark"},
    {"console", "console"},
    {"exportGraph", "export"},
    {"watchExpression", "watch"},
};

/// Going is green and recording red, as on every recorder.
QIcon iconOf(const IconOf& entry)
{
    const bool goes = std::string_view(entry.command) == "run", records = std::string_view(entry.command) == "record";
    if (!goes && !records) return themedIcon(entry.icon);
    const QColor color = themed(goes ? Token::ok : Token::bp);
    QColor faint = color;
    faint.setAlphaF(0.38F);
    QIcon icon;
    for (const int size : {16, 24}) // for larger text
        for (const double ratio : {1.0, 2.0}) {
            icon.addPixmap(iconPixmap(entry.icon, size, color, ratio));
            icon.addPixmap(iconPixmap(entry.icon, size, faint, ratio), QIcon::Disabled);
        }
    return icon;
}

} // namespace

WindowActions::WindowActions(MainWindow& window) : m_window(window)
{
    for (const KeyRow& row : keyTable())
        if (QLatin1String(row.context) == QLatin1String("global") && QLatin1String(row.key).contains(QLatin1String("..")))
            add(row.command, QString::fromUtf8(row.label), QString::fromUtf8(row.console));
    for (const KeyPlace& place : KeyBindings::places()) {
        if (place.context != "global" || place.isSecond) continue;
        const KeyRow* const row = findKeyRow(place.command.section('.', 0, 0));
        add(place.command, place.label, row ? QString::fromUtf8(row->console) : QString());
    }
    m_actions["record"]->setCheckable(true);
    showIcons();
    QObject::connect(&Theme::instance(), &Theme::changed, &m_window, [this] { showIcons(); });
}

void WindowActions::add(const QString& command, const QString& label, const QString& tip)
{
    auto* const made = new QAction(label, &m_window);
    made->setObjectName("action." + command);
    made->setShortcutContext(Qt::WindowShortcut);
    made->setStatusTip(tip);
    made->setProperty("console", tip);
    m_window.addAction(made);
    QObject::connect(made, &QAction::triggered, &m_window, [this, command] { m_window.run(command); });
    m_actions[command] = made;
}

void WindowActions::showIcons()
{
    for (const IconOf& each : kIcons)
        if (QAction* const one = of(each.command)) one->setIcon(iconOf(each));
}

QString WindowActions::keyOf(const QString& command) const
{
    const QAction* const found = of(command);
    return found ? found->shortcut().toString(QKeySequence::PortableText) : QString();
}

QAction* WindowActions::addTo(QMenu& menu, const QString& panel, const KeyPlace& place)
{
    QAction* const made = menu.addAction(QString(), &m_window, [this, panel, command = place.command] {
        if (m_window.area()) m_window.area()->show(panel, true);
        m_window.panelCommand(panel, command);
    });
    // The key stands in its text to be learnt; the panel itself listens to it.
    m_panelKeys.append({made, &place});
    return made;
}

void WindowActions::applyKeys(const KeyBindings& keys)
{
    std::map<QAction*, QList<QKeySequence>> all;
    for (const KeyPlace& place : KeyBindings::places()) {
        QAction* const each = place.context == "global" ? of(place.command) : nullptr;
        if (!each) continue;
        const QString key = keys.keyOf(place);
        // Letters belong to the graph and the listing: MainWindow::keyPressEvent() finds them there.
        if (!key.isEmpty() && !isLetterKey(key)) all[each].append(QKeySequence(key));
        if (!place.isSecond) each->setToolTip(tipWithKey(each->text(), key));
    }
    for (QAction* const each : std::as_const(m_actions)) each->setShortcuts(all[each]);
    for (const auto& [action, place] : std::as_const(m_panelKeys)) action->setText(place->label + '\t' + keys.keyOf(*place));
}

void WindowActions::enable(bool on, std::initializer_list<const char*> names)
{
    for (const char* const name : names)
        if (QAction* const each = of(name)) each->setEnabled(on);
}

void WindowActions::update(Document* document, bool canReload)
{
    const bool open = document != nullptr;
    const StopSnapshot none;
    const StopSnapshot& stop = open ? *document->stop() : none;
    const bool busy = open && document->bridge().busy(), idle = open && !busy;
    const bool moves = idle && stop.started, forward = idle && (!stop.started || !stop.finished);
    const bool replay = open && document->backend().isReplay();
    const bool runs = !open || faultsOf(*document).empty(); // what could be read of a damaged file is only looked at
    enable(runs && (idle || (open && document->bridge().isPreparing())), {"run"});
    enable(idle && runs, {"restart"});
    enable(busy, {"pause"});
    enable(open && (busy || stop.started), {"stop"});
    enable(forward && runs, {"stepOver", "stepInto"});
    enable(moves && !stop.finished, {"stepOut", "runToCursor", "nextIteration"});
    enable(moves, {"reverseRun", "backOver", "backInto", "backOut", "backToCursor", "previousIteration", "gotoIteration", "bookmark",
                   "back", "forward", "previousNaN", "gotoBookmark"});
    enable(idle && runs, {"nextNaN"});
    enable(idle, {"toggleBreakpoint", "enableBreakpoint", "editBreakpoint", "deleteBreakpoints", "watchExpression"});
    enable(idle && !replay && runs, {"record"});
    enable(canReload, {"reload", "closeTab"});
    enable(open, {"gotoAddress", "find", "findNext", "findPrevious", "quickOpen", "saveSession", "nextTab", "previousTab", "exportGraph",
                  "copyAddress", "console", "focusPanel", "task", "nextFinding", "previousFinding"});
    for (int i = 1; i <= 10; ++i) {
        if (QAction* const each = of(QStringLiteral("focusPanel.%1").arg(i))) each->setEnabled(open);
        if (QAction* const each = of(QStringLiteral("gotoBookmark.%1").arg(i))) each->setEnabled(moves);
        if (QAction* const each = of(QStringLiteral("task.%1").arg(i))) each->setEnabled(open);
    }
    if (idle) m_actions["record"]->setChecked(document->backend().isRecording());
}

} // namespace loopscope::viewer
