// The graph of a document: connects the canvas with selection, stops, breakpoints and loops.
#pragma once

#include "viewer/canvas/graph_canvas.h"
#include "viewer/widgets/panel.h"

#include <unordered_map>

class QLabel;

namespace loopscope::viewer {

class GraphPanel : public Panel {
    Q_OBJECT
public:
    explicit GraphPanel(Document& document, QWidget* parent = nullptr);

    GraphCanvas& canvas() { return *m_canvas; }
    QList<QAction*> headActions() override { return m_actions; }
    QWidget* headWidget() override;
    QWidget* focusTarget() override { return m_canvas; }
    bool command(const QString& id) override;
    /// Counts of a search on folded groups, dots on operators.
    void setHits(const QStringList& addresses) { m_canvas->setHits(addresses); }

signals:
    /// Opens a second view of the document at a static address ("main/while#1:body").
    void splitRequested(const QString& root);

private:
    void open(int node, OpenCallee how);
    void followStop();
    void showSelection();
    void adoptSelection();
    void askValue();
    void moveLoop(int region, int64_t iteration, bool isFinal);
    std::string calleeOf(const SceneNode& node) const; ///< "main/while#1:body"; empty: none
    /// Triggers an action of the window, if there is one of that name.
    void triggerWindow(const QString& id);

    GraphCanvas* m_canvas;
    QLabel* m_zoomLabel = nullptr;
    QList<QAction*> m_actions;
    std::unordered_map<std::string, int64_t> m_shownIterations; ///< of v1 frames
    std::string m_reveal;                                       ///< what shall be in view once the picture has it
    bool m_adopting = false;
    int64_t m_stoppedAt = -1;
};

Panel* makeGraphPanel(Document& document);

} // namespace loopscope::viewer
