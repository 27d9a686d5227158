// The graph of a document in the window: one pane, and a second one while a callee is shown beside its caller. Both show the same run, the
// same selection and the same open groups; they differ in the graph that they begin with.
#pragma once

#include "viewer/canvas/graph_pane.h"
#include "viewer/widgets/panel.h"

#include <QPointer>

#include <string>

class QLabel;
class QSplitter;

namespace loopscope::viewer {

class CalleePane;
class RaisedDesk;

class GraphPanel : public Panel {
    Q_OBJECT
public:
    explicit GraphPanel(Document& document, QWidget* parent = nullptr);

    GraphCanvas& canvas() { return m_main->canvas(); }
    /// Of the callee that is shown beside its caller; null: none is.
    GraphCanvas* calleeCanvas();
    QList<QAction*> headActions() override { return m_actions; }
    QWidget* headWidget() override;
    QWidget* focusTarget() override { return &activePane().canvas(); }
    bool settled() const override;
    QJsonObject state() const override;
    void setState(const QJsonObject& state) override;
    bool command(const QString& id) override;

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void showCallee(const std::string& root);
    void hideCallee();
    bool toggleCallee();
    void goUp();
    void followStop();
    void followView();
    GraphPane& activePane() const; ///< that has the focus, or had it last
    void watchZoom(GraphPane& pane);

    QSplitter* m_splitter;
    GraphPane* m_main;
    CalleePane* m_callee = nullptr;
    RaisedDesk* m_raised = nullptr; ///< of v1 graphs
    GraphPane* m_active;
    std::string m_dismissed;      ///< root of the callee that was closed: stops in it do not open it again
    QPointer<QLabel> m_zoomLabel; ///< in the head of the strip, which may end before
    QList<QAction*> m_actions;
};

Panel* makeGraphPanel(Document& document);

} // namespace loopscope::viewer
