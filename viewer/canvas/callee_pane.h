// A callee beside its caller: a pane of its own under a line that says which call it is and closes it.
#pragma once

#include "viewer/canvas/graph_pane.h"

#include <string>

class QLabel;
class QToolButton;

namespace loopscope::viewer {

class CalleePane : public QWidget {
    Q_OBJECT
public:
    explicit CalleePane(Document& document, QWidget* parent = nullptr);

    GraphPane& pane() { return *m_pane; }
    /// Static address of the graph: "main/while#1:body".
    void setRoot(const std::string& root);
    const std::string& root() const { return m_root; }

signals:
    void closeRequested();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void showName();

    Document& m_document;
    GraphPane* m_pane;
    QLabel* m_name;
    QToolButton* m_close;
    std::string m_root;
};

} // namespace loopscope::viewer
