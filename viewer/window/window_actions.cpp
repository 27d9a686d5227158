// The window's actions from the key table, its menus and its tool bar.
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/window/address_bar.h"
#include "viewer/window/key_table.h"
#include "viewer/window/main_window.h"
#include "viewer/window/session_store.h"
#include "viewer/window/status_line.h"
#include "viewer/window/tool_row.h"

#include <QAction>
#include <QActionGroup>
#include <QHBoxLayout>
#include <QJsonObject>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QToolButton>

#include <string_view>

namespace loopscope::viewer {

namespace {

/// As wide as in the drawing where there is room, narrower in small windows and with large text.
class FindField : public QLineEdit {
public:
    using QLineEdit::QLineEdit;
    QSize sizeHint() const override { return {214, 26}; }
    QSize minimumSizeHint() const override { return {90, 26}; }
};

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
    for (const double ratio : {1.0, 2.0}) {
        icon.addPixmap(iconPixmap(entry.icon, 16, color, ratio));
        icon.addPixmap(iconPixmap(entry.icon, 16, faint, ratio), QIcon::Disabled);
    }
    return icon;
}

/// Keys that have no console text need the word to be found in the palette.
QString tipOf(const QString& label, const QString& key) { return key.isEmpty() ? label : label + QStringLiteral(" · ") + key; }

} // namespace

QAction* MainWindow::addAction(const QString& command, const QString& label, const QString& tip)
{
    auto* const made = new QAction(label, this);
    made->setObjectName("action." + command);
    made->setShortcutContext(Qt::WindowShortcut);
    made->setStatusTip(tip);
    made->setProperty("console", tip);
    QMainWindow::addAction(made);
    connect(made, &QAction::triggered, this, [this, command] { run(command); });
    m_actions[command] = made;
    return made;
}

void MainWindow::applyKeys()
{
    std::map<QAction*, QList<QKeySequence>> all;
    for (const KeyPlace& place : KeyBindings::places()) {
        QAction* const each = place.context == "global" ? m_actions.value(place.command) : nullptr;
        if (!each) continue;
        const QString key = m_keys.keyOf(place);
        // Letters belong to the graph and the listing: keyPressEvent() finds them there.
        if (!key.isEmpty() && !isLetterKey(key)) all[each].append(QKeySequence(key));
        if (!place.isSecond) each->setToolTip(tipOf(each->text(), key));
    }
    for (QAction* const each : std::as_const(m_actions)) each->setShortcuts(all[each]);
    for (const auto& [action, place] : std::as_const(m_panelKeys)) action->setText(place->label + '\t' + m_keys.keyOf(*place));
    for (int i = 0; i < m_taskButtons.size(); ++i)
        m_taskButtons[i]->setToolTip(tipOf(tr("Task %1").arg(taskName(static_cast<Task>(i))), keyOf(QStringLiteral("task.%1").arg(i + 1))));
    m_address->setKey(keyOf("gotoAddress"));
}

void MainWindow::makeActions()
{
    for (const KeyRow& row : keyTable())
        if (QLatin1String(row.context) == QLatin1String("global") && QLatin1String(row.key).contains(QLatin1String("..")))
            addAction(row.command, QString::fromUtf8(row.label), QString::fromUtf8(row.console));
    for (const KeyPlace& place : KeyBindings::places()) {
        if (place.context != "global" || place.isSecond) continue;
        const KeyRow* const row = findKeyRow(place.command.section('.', 0, 0));
        addAction(place.command, place.label, row ? QString::fromUtf8(row->console) : QString());
    }
    for (const IconOf& each : kIcons)
        if (QAction* const one = m_actions.value(each.command)) one->setIcon(iconOf(each));
    m_actions["record"]->setCheckable(true);
    connect(&Theme::instance(), &Theme::changed, this, [this] {
        for (const IconOf& each : kIcons)
            if (QAction* const one = m_actions.value(each.command)) one->setIcon(iconOf(each));
    });
}

void MainWindow::makeMenus()
{
    QMenuBar* const bar = menuBar();
    bar->setObjectName("menuBar");
    const auto grow = [bar] { bar->setFixedHeight(Theme::instance().barHeight(24)); };
    grow();
    connect(&Theme::instance(), &Theme::changed, bar, grow);
    bar->setNativeMenuBar(false);
    const auto fill = [this](QMenu* menu, std::initializer_list<const char*> commands) {
        for (const char* const command : commands) {
            if (*command == '-') menu->addSeparator();
            else if (QAction* const each = m_actions.value(command)) menu->addAction(each);
        }
    };
    /// Commands of a panel, whatever has the focus.
    const auto fillFrom = [this](QMenu* menu, const char* context, const char* panel) {
        for (const KeyRow& row : keyTable()) {
            if (QLatin1String(row.context) != QLatin1String(context) || QLatin1String(row.key).contains(' ')) continue;
            const QString command(row.command);
            const KeyPlace* const place = KeyBindings::find(context, command);
            if (!place) continue; // several keys, one meaning each: no command
            QAction* const made = menu->addAction(QString(), this, [this, panel, command] {
                if (m_area) m_area->show(panel, true);
                panelCommand(panel, command);
            });
            // The key stands in its text to be learnt; the panel itself listens to it.
            m_panelKeys.append({made, place});
        }
    };
    QMenu* const file = bar->addMenu(tr("&File"));
    fill(file, {"open", "openRecording", "compare", "-", "saveSession", "reload", "exportGraph", "-", "closeTab"});
    file->addAction(tr("Close the file"), this, &MainWindow::showWelcome);
    file->addAction(tr("Forget what is remembered of this model"), this,
                    [this] {
                        if (!m_document) return;
                        m_sessions->forget();
                        m_status->say(tr("nothing is remembered of %1 any more").arg(QString::fromStdString(m_document->backend().name())));
                    })
        ->setObjectName("forgetModel");
    fill(file, {"-", "settings", "quit"});
    QMenu* const edit = bar->addMenu(tr("&Edit"));
    fill(edit, {"copyAddress", "-", "find", "findNext", "findPrevious", "quickOpen"});
    QMenu* const view = bar->addMenu(tr("&View"));
    fill(view, {"task.1", "task.2", "task.3", "task.4", "-"});
    QMenu* const panels = view->addMenu(tr("&Panels"));
    const QStringList names = {tr("Graph"),   tr("Listing"),     tr("Invocations or frames"),
                               tr("Tensor"),  tr("Breakpoints"), tr("Watches"),
                               tr("Console"), tr("Timeline"),    tr("Properties"),
                               tr("Search")};
    for (int i = 1; i <= 10; ++i) {
        QAction* const each = m_actions[QStringLiteral("focusPanel.%1").arg(i)];
        each->setText(names[i - 1]);
        panels->addAction(each);
    }
    view->addAction(tr("Reset arrangement"), this, [this] {
        if (!m_document) return;
        m_area->arrange(drawnArrangement(m_task, isDataflow(), width()), drawnArrangement(m_task, isDataflow(), width()));
        m_arrangementTouched = true;
        keepArrangement();
    });
    view->addSeparator();
    QMenu* const themes = view->addMenu(tr("&Theme"));
    const std::pair<const char*, QString> choices[] = {
        {"light", tr("Light")}, {"dark", tr("Dark")}, {"contrast", tr("High contrast")}, {"system", tr("Follow the system")}};
    for (const auto& [name, label] : choices) themes->addAction(label, this, [this, name = QString(name)] { setTheme(name); });
    QMenu* const size = view->addMenu(tr("Te&xt size"));
    for (const int percent : {80, 90, 100, 110, 125, 150, 175, 200})
        size->addAction(QStringLiteral("%1 %").arg(percent), this, [this, percent] {
            Theme::instance().setTextPercent(percent);
            m_settings.set("textPercent", percent);
        });
    view->addAction(tr("&Dense rows"), this, [this] {
        Theme::instance().setDense(!Theme::instance().dense());
        m_settings.set("dense", Theme::instance().dense());
    });
    fill(view, {"-", "nextTab", "previousTab"});
    QMenu* const go = bar->addMenu(tr("&Go"));
    fill(go, {"gotoAddress", "gotoIteration", "quickOpen", "-", "back", "forward", "-", "nextFinding", "previousFinding", "nextNaN",
              "previousNaN", "-", "bookmark"});
    QMenu* const marks = go->addMenu(tr("Boo&kmarks"));
    for (int i = 1; i <= 10; ++i) fill(marks, {qPrintable(QStringLiteral("gotoBookmark.%1").arg(i))});
    QMenu* const debug = bar->addMenu(tr("&Debug"));
    fill(debug, {"run",
                 "pause",
                 "stop",
                 "restart",
                 "-",
                 "stepOver",
                 "stepInto",
                 "stepOut",
                 "runToCursor",
                 "-",
                 "reverseRun",
                 "backOver",
                 "backInto",
                 "backOut",
                 "backToCursor",
                 "-",
                 "nextIteration",
                 "previousIteration",
                 "-",
                 "toggleBreakpoint",
                 "enableBreakpoint",
                 "editBreakpoint",
                 "deleteBreakpoints",
                 "watchExpression"});
    fillFrom(bar->addMenu(tr("G&raph")), "graph", "panelGraph");
    fillFrom(bar->addMenu(tr("Te&nsor")), "tensor", "panelTensor");
    QMenu* const trace = bar->addMenu(tr("&Trace"));
    fill(trace, {"record", "openRecording", "-"});
    fillFrom(trace, "sql", "panelSql");
    fill(bar->addMenu(tr("Too&ls")), {"palette", "console", "exportGraph", "settings"});
    QMenu* const help = bar->addMenu(tr("&Help"));
    fill(help, {"keySheet", "palette"});
    help->addAction(tr("&Welcome page"), this, &MainWindow::showWelcome);

    m_file = new QLabel(this);
    m_file->setObjectName("fileName");
    m_file->setProperty("tone", "meta");
    m_file->setContentsMargins(8, 4, 12, 4);
    bar->setCornerWidget(m_file, Qt::TopRightCorner);
}

QWidget* MainWindow::makeToolBar()
{
    auto* const bar = new ToolRow(this);
    bar->setObjectName("toolbarRun");
    bar->setAttribute(Qt::WA_StyledBackground);
    QHBoxLayout* const row = bar->row();
    row->setContentsMargins(8, 3, 8, 4);
    row->setSpacing(2);
    const auto line = [&] {
        auto* const separator = new QFrame(bar);
        separator->setObjectName("toolSeparator");
        separator->setFixedSize(9, 20); // its middle is drawn
        row->addWidget(separator);
    };
    QMap<QString, QWidget*> buttons;
    const auto button = [&](const char* command) {
        auto* const made = new QToolButton(bar);
        made->setDefaultAction(m_actions[command]);
        made->setObjectName(QStringLiteral("tool.") + command);
        made->setIconSize(QSize(16, 16));
        made->setFixedSize(28, 28);
        made->setFocusPolicy(Qt::TabFocus);
        row->addWidget(made);
        buttons[command] = made;
    };
    for (const char* const command : {"run", "pause", "stop", "restart", "", "stepOver", "stepInto", "stepOut", "", "reverseRun",
                                      "backOver", "backInto", "backOut", "", "previousIteration", "nextIteration", "", "record"}) {
        if (*command) button(command);
        else line();
    }
    bar->addMenuButton();
    for (const QStringList& together : {QStringList{"restart"},
                                        {"backOut"},
                                        {"stepOut"},
                                        {"stop"},
                                        {"record"},
                                        {"previousIteration", "nextIteration"},
                                        {"backOver", "backInto"},
                                        {"reverseRun"}}) {
        QList<QWidget*> widgets;
        for (const QString& command : together) widgets.append(buttons[command]);
        bar->fold(widgets);
    }
    row->addSpacing(10);
    m_address = new AddressBar(bar);
    row->addWidget(m_address, 1);
    row->addSpacing(8);
    m_find = new FindField(bar);
    m_find->setObjectName("findField");
    m_find->setAccessibleName(tr("Find in all subgraphs"));
    m_find->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    QAction* const lens = m_find->addAction(themedIcon("find"), QLineEdit::LeadingPosition);
    connect(&Theme::instance(), &Theme::changed, lens, [lens] { lens->setIcon(themedIcon("find")); });
    for (QToolButton* const inside : m_find->findChildren<QToolButton*>()) inside->setStyleSheet("min-height: 0; min-width: 0; border: 0;");
    row->addWidget(m_find);
    connect(m_find, &QLineEdit::returnPressed, this, [this] { run("findTyped"); });
    line();
    for (int i = 0; i < kTaskCount; ++i) {
        auto* const task = new QToolButton(bar);
        const QString name = taskName(static_cast<Task>(i));
        task->setObjectName("task" + name);
        task->setText(name);
        task->setCheckable(true);
        task->setFocusPolicy(Qt::TabFocus);
        connect(task, &QToolButton::clicked, this, [this, i] { run(QStringLiteral("task.%1").arg(i + 1)); });
        row->addWidget(task);
        m_taskButtons.append(task);
    }
    const auto restyle = [this, bar] {
        const Theme& theme = Theme::instance();
        bar->setFixedHeight(theme.barHeight(36));
        m_find->setStyleSheet(QStringLiteral("QLineEdit { min-height: %1px; max-height: %1px; }").arg(theme.barHeight(26) - 2));
        bar->setStyleSheet(
            QStringLiteral("#toolbarRun { background: %1; border-bottom: 1px solid %2; } #toolSeparator { background: %2; margin: 0 4px; } "
                           "#toolMore::menu-indicator { image: none; }")
                .arg(themed(Token::window).name(), themed(Token::line).name()));
        for (QToolButton* const task : m_taskButtons) {
            const QFont font = theme.font(FontUse::small);
            task->setFont(font);
            task->setStyleSheet(QStringLiteral("QToolButton { font-size: %1px; padding: 0 8px; min-height: %2px; min-width: %3px; }")
                                    .arg(font.pixelSize())
                                    .arg(theme.barHeight(28) - 2)
                                    .arg(QFontMetrics(font).horizontalAdvance(task->text()) + 2));
            task->ensurePolished(); // refold() asks how wide it must be
        }
        bar->refold();
    };
    restyle();
    connect(&Theme::instance(), &Theme::changed, bar, restyle);
    return bar;
}

QString MainWindow::keyOf(const QString& command) const
{
    const QAction* const found = m_actions.value(command);
    return found ? found->shortcut().toString(QKeySequence::PortableText) : QString();
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

} // namespace loopscope::viewer
