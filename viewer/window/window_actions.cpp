// The window's actions from the key table, its menus and its tool bar.
#include "viewer/style/icons.h"
#include "viewer/style/theme.h"
#include "viewer/window/address_bar.h"
#include "viewer/window/key_table.h"
#include "viewer/window/main_window.h"

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
    {"run", "continue"},          {"pause", "pause"},         {"stop", "stop"},
    {"restart", "restart"},       {"stepOver", "step-over"},  {"stepInto", "step-into"},
    {"stepOut", "step-out"},      {"reverseRun", "reverse-continue"}, {"backOver", "step-back-over"},
    {"backInto", "step-back-into"}, {"backOut", "step-back-out"}, {"previousIteration", "iteration-back"},
    {"nextIteration", "iteration-forward"}, {"record", "record"}, {"find", "find"},
    {"open", "model-file"},       {"openRecording", "recording"}, {"compare", "compare"},
    {"bookmark", "bookmark"},     {"console", "console"},     {"exportGraph", "export"},
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

QAction* MainWindow::addAction(const QString& command, const QString& label, const QString& key, const QString& second, const QString& tip)
{
    auto* const made = new QAction(label, this);
    made->setObjectName("action." + command);
    QList<QKeySequence> keys;
    if (!key.isEmpty()) keys.append(QKeySequence(key));
    // Letters belong to the graph and the listing: keyPressEvent() finds them there.
    if (second.size() > 1 && !second.startsWith("Shift+") ) keys.append(QKeySequence(second));
    made->setShortcuts(keys);
    made->setShortcutContext(Qt::WindowShortcut);
    made->setToolTip(tipOf(label, key));
    made->setStatusTip(tip);
    made->setProperty("console", tip);
    QMainWindow::addAction(made);
    connect(made, &QAction::triggered, this, [this, command] { run(command); });
    m_actions[command] = made;
    return made;
}

void MainWindow::makeActions()
{
    const QJsonObject keys = m_settings.value("keys").toObject();
    for (const KeyRow& row : keyTable()) {
        const QString command(row.command), context(row.context);
        if (context != "global") continue;
        const QString label = QString::fromUtf8(row.label), console = QString::fromUtf8(row.console);
        const QString key = keys.contains(command) ? keys[command].toString() : QString(row.key);
        const QStringList all = keysOf(key);
        if (key.contains("..")) {
            addAction(command, label, {}, {}, console);
            for (qsizetype i = 0; i < all.size(); ++i) {
                const QString name = command == "task" ? tr("Task %1").arg(taskName(static_cast<Task>(i)))
                                                       : label.section(' ', 0, label.contains("bookmark") ? 2 : 1) + " " + QString::number(i + 1);
                addAction(command + "." + QString::number(i + 1), name, all[i], {}, console);
            }
        } else {
            addAction(command, label, key, QString(row.second), console);
        }
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
    bar->setFixedHeight(24);
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
            // The key stands there to be learnt; the panel itself listens to it.
            menu->addAction(QString::fromUtf8(row.label) + '\t' + QString(row.key), this, [this, panel, command] {
                if (m_area) m_area->show(panel, true);
                panelCommand(panel, command);
            });
        }
    };
    QMenu* const file = bar->addMenu(tr("&File"));
    fill(file, {"open", "openRecording", "compare", "-", "saveSession", "reload", "exportGraph", "-", "closeTab"});
    file->addAction(tr("Close the file"), this, &MainWindow::showWelcome);
    fill(file, {"-", "settings", "quit"});
    QMenu* const edit = bar->addMenu(tr("&Edit"));
    fill(edit, {"copyAddress", "-", "find", "findNext", "findPrevious", "quickOpen"});
    QMenu* const view = bar->addMenu(tr("&View"));
    fill(view, {"task.1", "task.2", "task.3", "task.4", "-"});
    QMenu* const panels = view->addMenu(tr("&Panels"));
    const QStringList names = {tr("Graph"),   tr("Listing"), tr("Invocations or frames"), tr("Tensor"),     tr("Breakpoints"),
                               tr("Watches"), tr("Console"), tr("Timeline"),              tr("Properties"), tr("Search")};
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
    fill(debug, {"run", "pause", "stop", "restart", "-", "stepOver", "stepInto", "stepOut", "runToCursor", "-", "reverseRun", "backOver",
                 "backInto", "backOut", "backToCursor", "-", "nextIteration", "previousIteration", "-", "toggleBreakpoint",
                 "enableBreakpoint", "editBreakpoint", "deleteBreakpoints", "watchExpression"});
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
    auto* const bar = new QWidget(this);
    bar->setObjectName("toolbarRun");
    bar->setFixedHeight(36);
    bar->setAttribute(Qt::WA_StyledBackground);
    auto* const row = new QHBoxLayout(bar);
    row->setContentsMargins(8, 3, 8, 4);
    row->setSpacing(2);
    const auto line = [&] {
        auto* const separator = new QFrame(bar);
        separator->setObjectName("toolSeparator");
        separator->setFixedSize(1, 20);
        row->addSpacing(4);
        row->addWidget(separator);
        row->addSpacing(4);
    };
    const auto button = [&](const char* command) {
        auto* const made = new QToolButton(bar);
        made->setDefaultAction(m_actions[command]);
        made->setObjectName(QStringLiteral("tool.") + command);
        made->setIconSize(QSize(16, 16));
        made->setFixedSize(28, 28);
        made->setFocusPolicy(Qt::TabFocus);
        row->addWidget(made);
    };
    for (const char* const command : {"run", "pause", "stop", "restart", "", "stepOver", "stepInto", "stepOut", "", "reverseRun", "backOver",
                                      "backInto", "backOut", "", "previousIteration", "nextIteration", "", "record"}) {
        if (*command) button(command);
        else line();
    }
    row->addSpacing(10);
    m_address = new AddressBar(bar);
    row->addWidget(m_address, 1);
    row->addSpacing(8);
    m_find = new FindField(bar);
    m_find->setObjectName("findField");
    m_find->setAccessibleName(tr("Find in all subgraphs"));
    m_find->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    m_find->setStyleSheet("QLineEdit { min-height: 24px; max-height: 24px; }"); // the bar does not grow with the text
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
        task->setToolTip(tipOf(tr("Task %1").arg(name), QStringLiteral("Ctrl+Shift+%1").arg(i + 1)));
        task->setCheckable(true);
        task->setFixedHeight(28);
        task->setFocusPolicy(Qt::TabFocus);
        connect(task, &QToolButton::clicked, this, [this, i] { run(QStringLiteral("task.%1").arg(i + 1)); });
        row->addWidget(task);
        m_taskButtons.append(task);
    }
    const auto restyle = [this, bar] {
        bar->setStyleSheet(QStringLiteral("#toolbarRun { background: %1; border-bottom: 1px solid %2; } #toolSeparator { background: %2; }")
                               .arg(themed(Token::window).name(), themed(Token::line).name()));
        for (QToolButton* const task : m_taskButtons) {
            QFont font = Theme::instance().font(FontUse::small);
            task->setFont(font);
            task->setStyleSheet(QStringLiteral("QToolButton { font-size: %1px; padding: 0 8px; min-height: 26px; }").arg(font.pixelSize()));
        }
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

bool MainWindow::rebind(const QString& command, const QString& key, QString* clash)
{
    QAction* const changed = m_actions.value(command);
    if (!changed) return false;
    const QKeySequence wanted(key);
    for (auto each = m_actions.begin(); each != m_actions.end(); ++each)
        if (each.key() != command && !wanted.isEmpty() && each.value()->shortcuts().contains(wanted)) {
            if (clash) *clash = each.value()->text();
            return false;
        }
    const QList<QKeySequence> before = changed->shortcuts();
    QList<QKeySequence> keys = {wanted};
    keys.append(before.mid(1));
    changed->setShortcuts(keys);
    changed->setToolTip(tipOf(changed->text(), key));
    QJsonObject all = m_settings.value("keys").toObject();
    const KeyRow* const row = findKeyRow(command);
    if (row && key == QLatin1String(row->key)) all.remove(command);
    else all[command] = key;
    m_settings.set("keys", all);
    return true;
}

} // namespace loopscope::viewer
