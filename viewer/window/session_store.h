// Sessions: what is remembered of a model by the hash of its content, as readable JSON: view, breakpoints, marks, inputs, the place of the
// stop, what panels keep (watches, pinned tensors). Written atomically a second after a change, before each run and on closing; entries of
// other versions are kept.
#pragma once

#include <QJsonObject>
#include <QObject>
#include <QPointer>
#include <QString>
#include <QTimer>

#include <string>

namespace loopscope::viewer {

class Document;
class PanelArea;
struct ViewState;

class SessionStore : public QObject {
    Q_OBJECT
public:
    /// `folder` empty: nothing is read or written.
    explicit SessionStore(const QString& folder, QObject* parent = nullptr);

    /// Follows a document from now on. What it is like now is no change: a look at a file leaves nothing behind.
    void attach(Document& document, PanelArea& area);
    void detach();
    bool isAttached() const { return m_document != nullptr; }
    /// What is remembered of the document; empty: nothing worth restoring. Until it is restored, entries of which the window has nothing
    /// new stay in the file.
    const QJsonObject& remembered() const { return m_offered; }
    /// Why nothing is remembered of the document although there is a file; empty: nothing to say.
    const QString& damage() const { return m_damage; }
    /// The session as it is now; empty if nothing is attached.
    QJsonObject now() const;
    void save();
    /// Saves for the last time and follows the document no longer. Cancels what runs; waits for that, at most a second.
    void close();
    bool saveTo(const QString& path) const;
    /// Sets view, inputs, breakpoints, marks and what panels keep; runs nothing.
    void restore(const QJsonObject& session);
    /// Removes what is remembered of the document.
    void forget();

private:
    void changed() { m_timer.start(); }
    void noteState();
    void noteInputs();

    QString m_folder, m_path, m_damage;
    QPointer<Document> m_document;
    QPointer<PanelArea> m_area;
    QJsonObject m_before;  ///< as read: entries of other versions stay
    QJsonObject m_offered; ///< of m_before, not restored yet
    QJsonObject m_saved;   ///< as last written, or as it was when it began
    QJsonObject m_inputs;  ///< of the last moment at which nothing ran
    QString m_breakpoints; ///< commands that make them again, one per line
    QTimer m_timer;
};

/// "2 breakpoints", "1 breakpoint, 3 marks, 2 watches"; empty: none of these.
QString sessionContents(const QJsonObject& session);
/// "session of version 9 read; 1 unknown entry kept unchanged"; empty: it is of this version and all is known.
QString sessionNote(const QJsonObject& session);
/// The model that a session file is about: as it says, else the file of that name beside it.
QString sessionModel(const QString& file, const QJsonObject& session);
QJsonObject viewToJson(const ViewState& view);
ViewState viewFromJson(const QJsonObject& object);

} // namespace loopscope::viewer
