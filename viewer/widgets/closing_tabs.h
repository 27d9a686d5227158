// A bar of tabs that a middle click closes, and under which the line of its strip goes on.
#pragma once

#include <QTabBar>

#include <functional>

namespace loopscope::viewer {

class ClosingTabs : public QTabBar {
public:
    using QTabBar::QTabBar;
    std::function<void(int)> closing; ///< gets the tab; without it, nothing closes

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
};

} // namespace loopscope::viewer
