#include "viewer/window/window_menus.h"

#include "viewer/bridge/text.h"
#include "viewer/style/theme.h"
#include "viewer/window/key_table.h"
#include "viewer/window/main_window.h"
#include "viewer/window/session_store.h"
#include "viewer/window/status_line.h"
#include "viewer/window/window_actions.h"

#include <QAction>
#include <QFileInfo>
#include <QJsonArray>
#include <QMenu>
#include <QMenuBar>

namespace loopscope::viewer {

namespace {

QString tr(const char* text) { return MainWindow::tr(text); }

} // namespace

WindowMenus::WindowMenus(MainWindow& window, WindowActions& actions) : m_window(window), m_actions(actions) {}

void WindowMenus::fill(QMenu* menu, std::initializer_list<const char*> commands)
{
    for (const char* const command : commands) {
        if (*command == '-') menu->addSeparator();
        else if (QAction* const each = m_actions.of(command)) menu->addAction(each);
    }
}

void WindowMenus::fillFrom(QMenu* menu, const char* context, const char* panel)
{
    for (const KeyRow& row : keyTable()) {
        if (QLatin1String(row.context) != QLatin1String(context) || QLatin1String(row.key).contains(' ')) continue;
        // Several keys, one meaning each, are no command.
        if (const KeyPlace* const place = KeyBindings::find(context, QString(row.command))) m_actions.addTo(*menu, panel, *place);
    }
}

void WindowMenus::fillFile(QMenu* menu)
{
    fill(menu, {"open", "openRecording"});
    fillRecent(menu->addMenu(tr("Open &recent")));
    fill(menu, {"compare"});
    menu->addAction(tr("Compare &before and after fusing"), &m_window, [window = &m_window] { window->run("compareFused"); })
        ->setObjectName("compareFused");
    QMenu* const kernels = menu->addMenu(tr("Compare with other &kernels"));
    const std::pair<const char*, QString> profiles[] = {{"reference", tr("&Reference kernels")},
                                                        {"fast", tr("&Fast kernels")},
                                                        {"xnnpack", tr("&XNNPACK, as phones compute")},
                                                        {"vulkan", tr("&GPU (Vulkan)")}};
    for (const auto& [profile, label] : profiles)
        kernels
            ->addAction(label, &m_window,
                        [window = &m_window, command = QStringLiteral("compareKernels.") + profile] { window->run(command); })
            ->setObjectName(QStringLiteral("compareKernels.") + profile);
    fill(menu, {"-", "saveSession", "reload", "exportGraph", "-", "closeTab"});
    menu->addAction(tr("Forget what is remembered of this model"), &m_window,
                    [window = &m_window] {
                        if (!window->document()) return;
                        window->sessions().forget();
                        window->status()->say(
                            MainWindow::tr("nothing is remembered of %1 any more").arg(toText(window->document()->backend().name())));
                    })
        ->setObjectName("forgetModel");
    fill(menu, {"-", "settings", "quit"});
}

/// Each shows the graph, which they are drawn over.
void WindowMenus::fillOverlays(QMenu* menu)
{
    const std::pair<const char*, QString> kinds[] = {{"time", tr("&Time per operator")},
                                                     {"health", tr("&Health of results")},
                                                     {"data", tr("Node &data of a file…")},
                                                     {"none", tr("&None")}};
    for (const auto& [kind, label] : kinds)
        menu->addAction(label, &m_window, [window = &m_window, kind = QString(kind)] {
            if (window->area() && window->area()->show("panelGraph", false)) window->panelCommand("panelGraph", "overlay " + kind);
        });
}

/// What was opened before, newest first; filled when it is shown.
void WindowMenus::fillRecent(QMenu* menu)
{
    menu->setObjectName("recentFiles");
    const auto fillNow = [window = &m_window, menu] {
        menu->clear();
        for (const QJsonValue& each : window->settings().value("recent").toArray()) {
            const QString path = each.toObject()["path"].toString(), name = each.toObject()["name"].toString();
            QAction* const one = menu->addAction(QString(name).replace('&', "&&"), window, [window, path] { window->openBeside({path}); });
            one->setStatusTip(path);
            one->setToolTip(path);
        }
        if (menu->isEmpty()) menu->addAction(tr("Nothing was opened yet"))->setEnabled(false);
        QStringList last;
        for (const QJsonValue& each : window->settings().value("openFiles").toArray())
            if (QFileInfo::exists(each.toString())) last.append(each.toString());
        if (last.size() < 2) return;
        menu->addSeparator();
        menu->addAction(MainWindow::tr("All %1 files of last time").arg(last.size()), window, [window, last] { window->openBeside(last); });
    };
    menu->setToolTipsVisible(true);
    QObject::connect(menu, &QMenu::aboutToShow, menu, fillNow);
    fillNow();
}

void WindowMenus::fillPanels(QMenu* menu)
{
    const QStringList names = {tr("Graph"),   tr("Listing"),     tr("Invocations or frames"),
                               tr("Tensor"),  tr("Breakpoints"), tr("Watches"),
                               tr("Console"), tr("Timeline"),    tr("Properties"),
                               tr("Search")};
    for (int i = 1; i <= 10; ++i) {
        QAction* const each = m_actions.of(QStringLiteral("focusPanel.%1").arg(i));
        each->setText(names[i - 1]);
        menu->addAction(each);
    }
}

/// Theme, size of text and height of rows.
void WindowMenus::fillLooks(QMenu* menu)
{
    QMenu* const themes = menu->addMenu(tr("&Theme"));
    const std::pair<const char*, QString> choices[] = {
        {"light", tr("Light")}, {"dark", tr("Dark")}, {"contrast", tr("High contrast")}, {"system", tr("Follow the system")}};
    for (const auto& [name, label] : choices)
        themes->addAction(label, &m_window, [window = &m_window, name = QString(name)] { window->setTheme(name); });
    QMenu* const size = menu->addMenu(tr("Te&xt size"));
    for (const int percent : {80, 90, 100, 110, 125, 150, 175, 200})
        size->addAction(QStringLiteral("%1 %").arg(percent), &m_window, [window = &m_window, percent] {
            Theme::instance().setTextPercent(percent);
            window->settings().set("textPercent", percent);
        });
    menu->addAction(tr("&Dense rows"), &m_window, &MainWindow::toggleDensity);
}

void WindowMenus::fillView(QMenu* menu)
{
    fill(menu, {"task.1", "task.2", "task.3", "task.4", "-"});
    fillPanels(menu->addMenu(tr("&Panels")));
    menu->addAction(tr("Reset arrangement"), &m_window, &MainWindow::resetArrangement);
    menu->addSeparator();
    fillLooks(menu);
    fill(menu, {"-", "nextTab", "previousTab", "nextFile", "previousFile"});
}

void WindowMenus::fillGo(QMenu* menu)
{
    fill(menu, {"gotoAddress", "gotoIteration", "quickOpen", "-", "back", "forward", "-", "nextFinding", "previousFinding", "nextNaN",
                "previousNaN", "-", "bookmark"});
    QMenu* const marks = menu->addMenu(tr("Boo&kmarks"));
    for (int i = 1; i <= 10; ++i) fill(marks, {qPrintable(QStringLiteral("gotoBookmark.%1").arg(i))});
}

void WindowMenus::fillMenuBar()
{
    QMenuBar* const bar = m_window.menuBar();
    bar->setObjectName("menuBar");
    const auto grow = [bar] { bar->setFixedHeight(Theme::instance().barHeight(24)); };
    grow();
    QObject::connect(&Theme::instance(), &Theme::changed, bar, grow);
    bar->setNativeMenuBar(false);
    fillFile(bar->addMenu(tr("&File")));
    fill(bar->addMenu(tr("&Edit")), {"copyAddress", "-", "find", "findNext", "findPrevious", "quickOpen"});
    fillView(bar->addMenu(tr("&View")));
    fillGo(bar->addMenu(tr("&Go")));
    fill(bar->addMenu(tr("&Debug")), {"run",
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
    QMenu* const graph = bar->addMenu(tr("G&raph"));
    fillFrom(graph, "graph", "panelGraph");
    graph->addSeparator();
    fillOverlays(graph->addMenu(tr("Fi&gures over operators")));
    fillFrom(bar->addMenu(tr("Te&nsor")), "tensor", "panelTensor");
    QMenu* const trace = bar->addMenu(tr("&Trace"));
    fill(trace, {"record"});
    trace->addAction(tr("Record &into…"), &m_window, [window = &m_window] { window->run("recordInto"); })->setObjectName("recordInto");
    fill(trace, {"openRecording", "-"});
    fillFrom(trace, "sql", "panelSql");
    fill(bar->addMenu(tr("Too&ls")), {"palette", "console", "exportGraph", "settings"});
    QMenu* const help = bar->addMenu(tr("&Help"));
    fill(help, {"keySheet", "palette"});
    help->addAction(tr("&Welcome page"), &m_window, &MainWindow::showWelcome);
}

} // namespace loopscope::viewer
