// The Raised tab: the graph that raising made of a TensorFlow 1 graph, selected, scrolled and stepped together with the dataflow picture.
#pragma once

#include "viewer/canvas/raised_desk.h"
#include "viewer/widgets/panel.h"

#include <string>

class QLabel;

namespace loopscope::viewer {

class RaisedPanel : public Panel {
    Q_OBJECT
public:
    explicit RaisedPanel(Document& document);

    GraphCanvas& canvas() { return *m_canvas; }
    QList<QAction*> headActions() override { return {m_prove, m_link, m_fit}; }
    QWidget* headWidget() override;
    QWidget* focusTarget() override { return m_canvas; }
    bool settled() const override { return !m_desk.isBusy() && !m_isProving && !m_canvas->isBuilding(); }
    bool command(const QString& id) override;

private:
    void showStage();
    void showCount();
    void prove();
    void askWhyDead(const std::string& site);
    void followStop();
    void showSelection();
    void adoptSelection();
    void open(const CallSite& site, OpenCallee how);
    void goToIteration(int region, int64_t iteration);

    RaisedDesk& m_desk;
    GraphCanvas* m_canvas;
    EmptyStack* m_stack;
    QPointer<QLabel> m_count; ///< in the head of the strip, which may end before
    QAction* m_link;
    QAction* m_fit;
    QAction* m_prove;
    QLabel* m_verdict; ///< below the picture, once it was asked for
    bool m_adopting = false, m_isProving = false;
    int64_t m_stoppedAt = -1;
    Background m_work; ///< last
};

Panel* makeRaisedPanel(Document& document);

} // namespace loopscope::viewer
