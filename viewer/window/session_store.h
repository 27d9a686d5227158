// Sessions: what is remembered of a model by the hash of its content, as readable JSON: view, breakpoints, inputs, marks, what panels keep.
// Written atomically a second after a change, before each run and on closing; unknown entries are kept.
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

    /// Follows a document from now on.
    void attach(Document& document, PanelArea& area);
    void detach();
    /// What is remembered of a content; empty: nothing worth restoring.
    QJsonObject find(const std::string& contentHash) const;
    /// The session as it is now; empty if nothing is attached.
    QJsonObject now() const;
    void save();
    bool saveTo(const QString& path) const;
    /// Sets view, inputs, breakpoints and what panels keep. Breakpoints come back as commands of the console.
    void restore(Document& document, PanelArea& area, const QJsonObject& session);

private:
    void changed();
    QString pathOf(const std::string& contentHash) const;

    QString m_folder;
    QPointer<Document> m_document;
    QPointer<PanelArea> m_area;
    QJsonObject m_before;  ///< as read: entries of other versions stay
    QString m_breakpoints; ///< commands that make them again, one per line
    bool m_dirty = false;
    QTimer m_timer;
};

QJsonObject viewToJson(const ViewState& view);
ViewState viewFromJson(const QJsonObject& object);

} // namespace loopscope::viewer
