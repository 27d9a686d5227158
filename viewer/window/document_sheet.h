// One open document in the window: its panels and the line above them, its session, and what the window keeps for it while another one is
// in front.
#pragma once

#include "viewer/bridge/document.h"
#include "viewer/widgets/panel_area.h"
#include "viewer/window/arrangements.h"
#include "viewer/window/banner.h"
#include "viewer/window/file_watch.h"
#include "viewer/window/run_notices.h"
#include "viewer/window/session_store.h"

#include <QPointer>
#include <QString>
#include <QWidget>

#include <memory>

namespace loopscope::viewer {

class DocumentSheet : public QWidget {
    Q_OBJECT
public:
    /// `sessions`: the folder that they are kept in; empty: nothing is remembered.
    DocumentSheet(std::unique_ptr<Backend> backend, const QString& sessions, RunNotices::Ways ways);
    /// The session is saved, what runs is cancelled.
    ~DocumentSheet() override;

    Document& document() { return *m_document; }
    PanelArea& area() { return *m_area; }
    Banner& banner() { return *m_banner; }
    SessionStore& sessions() { return m_sessions; }
    RunNotices& notices() { return m_notices; }

    QString path() const;  ///< absolute; it may be named otherwise on the command line
    QString label() const; ///< of its tab: the file, and what it is held against
    /// Remembers the widget that has the keyboard, and takes the panels' own windows away.
    void leave();
    /// Brings back what leave() took.
    void enter();

    Task task = Task::browse;
    bool arrangementTouched = false; ///< by the user, since the task was chosen
    bool preparesRun = false;        ///< the panels that show a run are being made
    bool hasBegun = false;           ///< a run, and nothing has been brought to the front for that
    qint64 progressFrom = 0;
    QString lastLine; ///< the command that ran last

private:
    SessionStore m_sessions;
    std::unique_ptr<Document> m_document;
    Banner* m_banner;
    RunNotices m_notices;
    FileWatch m_watch;
    PanelArea* m_area; ///< goes before the document
    QPointer<QWidget> m_focus;
};

} // namespace loopscope::viewer
