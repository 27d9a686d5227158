// The window's menu bar: which actions stand where.
#pragma once

#include <initializer_list>

class QMenu;

namespace loopscope::viewer {

class MainWindow;
class WindowActions;

class WindowMenus {
public:
    WindowMenus(MainWindow& window, WindowActions& actions);
    void fillMenuBar();

private:
    /// "-": a line.
    void fill(QMenu* menu, std::initializer_list<const char*> commands);
    /// Commands of a panel, whatever has the focus.
    void fillFrom(QMenu* menu, const char* context, const char* panel);
    void fillFile(QMenu* menu);
    void fillView(QMenu* menu);
    void fillRecent(QMenu* menu);
    void fillOverlays(QMenu* menu);
    void fillPanels(QMenu* menu);
    void fillLooks(QMenu* menu);
    void fillGo(QMenu* menu);

    MainWindow& m_window;
    WindowActions& m_actions;
};

} // namespace loopscope::viewer
