// Panels on top of each other: a tab strip, what the panel in front puts at its right end, a bar for work that takes long, and the panel.
#pragma once

#include "viewer/widgets/panel.h"

#include <QFrame>
#include <QTabBar>

class QHBoxLayout;
class QProgressBar;
class QStackedWidget;

namespace loopscope::viewer {

class PanelStrip : public QFrame {
    Q_OBJECT
public:
    using Panel = viewer::Panel; ///< not QFrame's
    explicit PanelStrip(QWidget* parent = nullptr);
    ~PanelStrip() override;

    void add(Panel* panel, int at = -1);
    /// Takes the panel out. Its seat stays where it is among the widgets, hidden, until it gets another place: each parent styles it anew.
    void take(Panel* panel);
    void takeAll();
    /// What goes from strip to strip with the panel: what it scrolls in; the panel itself until it has had a place.
    static QWidget* seatOf(Panel* panel);
    int count() const;
    Panel* panel(int index) const;
    int indexOf(const Panel* panel) const;
    Panel* current() const;
    void setCurrent(Panel* panel);
    void nextTab(int offset);
    /// The 2-px bar under the head: negative hides it, above 1 is work of unknown length.
    void setProgress(double done);

signals:
    void menuRequested(loopscope::viewer::Panel* panel, const QPoint& global);
    void closeRequested(loopscope::viewer::Panel* panel);
    void currentChanged(); ///< another panel is in front, or they stand in another order

private:
    void showHead();
    void takeSeat(Panel* panel, int at);
    void leaveSeat(Panel* panel);
    void markFocus(const QWidget* now);

    QTabBar* m_tabs;
    QHBoxLayout* m_head;
    QWidget* m_headArea;
    QProgressBar* m_progress;
    QStackedWidget* m_stack;
};

} // namespace loopscope::viewer
