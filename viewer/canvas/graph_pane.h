// One picture of a document's graph: connects a canvas with selection, stops, breakpoints and loops. A graph panel has one, and a second
// one while a callee is shown beside its caller.
#pragma once

#include "viewer/bridge/document.h"
#include "viewer/canvas/graph_canvas.h"
#include "viewer/widgets/parts.h"

#include <set>
#include <string>
#include <unordered_map>

namespace loopscope::viewer {

class GraphPane : public QWidget {
    Q_OBJECT
public:
    explicit GraphPane(Document& document, QWidget* parent = nullptr);

    GraphCanvas& canvas() { return *m_canvas; }
    /// Begins with a view of the document's model.
    void show(const ViewState& view);
    /// Shows another view; viewWanted() has asked for it, or somebody else.
    void setView(const ViewState& view);
    /// Opens what hides a place of the graph that is shown, and brings it into sight.
    void reveal(const std::string& address);
    bool command(const QString& id);

    /// What a session remembers: zoom and middle, once the user has moved the picture, and chosen iterations of v1 frames.
    QJsonObject state() const;
    /// Taken over when the picture is there, and when the run stands where the iterations were chosen.
    void setState(const QJsonObject& state);

signals:
    void stateChanged();
    void viewWanted(const loopscope::viewer::ViewState& view);
    void splitWanted(const QString& callee); ///< static address: "main/while#1:body"
    void upWanted();

private:
    void open(const CallSite& site, OpenCallee how);
    void followStop();
    void showCallout();
    bool changeOverlay(const QString& wanted);
    void readOverlay(const QString& path);
    void noteTrips();
    bool sees(const std::string& address);
    std::string foldedFrameAt(const std::string& address) const;
    void showSelection();
    void adoptSelection();
    void askValue();
    void askValues();
    void moveLoop(int region, int64_t iteration, bool isFinal);
    void toggleBreakpoint(const std::string& address);
    void pictureChanged();
    void chooseIteration(int region, int64_t iteration);
    void recallPlace();
    std::string calleeOf(const CallSite& site) const; ///< "main/while#1:body"; empty: none
    /// Triggers an action of the window, if there is one of that name.
    void triggerWindow(const QString& id);

    Document& m_document;
    GraphCanvas* m_canvas;
    PictureMemory m_memory;
    std::unordered_map<std::string, int64_t> m_chosenIterations; ///< of v1 frames, by region
    int64_t m_chosenAt = -1;                                     ///< tick at which they were chosen: elsewhere others matter
    QJsonObject m_place;                                         ///< to be taken over with the next picture
    std::string m_reveal;                                        ///< what shall be in view once the picture has it
    std::set<std::string> m_openedForRun;                        ///< frames that a stop inside opened
    bool m_opensForReveal = false;                               ///< and whether groups that hide it are opened
    QTimer m_settling, m_scrubbed;
    Background m_measuring;
    bool m_adopting = false;
    int64_t m_stoppedAt = -1;
};

} // namespace loopscope::viewer
