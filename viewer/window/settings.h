// What the window remembers between starts: readable JSON with a version, written atomically a second after a change. Entries that this
// version does not know are kept.
#pragma once

#include "viewer/scene/view_state.h"

#include <QJsonObject>
#include <QJsonValue>
#include <QObject>
#include <QString>
#include <QTimer>

#include <span>

namespace loopscope::viewer {

class Settings : public QObject {
    Q_OBJECT
public:
    /// `path` empty: nothing is read or written.
    explicit Settings(const QString& path, QObject* parent = nullptr);
    ~Settings() override; ///< writes what is open

    QJsonValue value(const QString& key) const { return m_values[key]; }
    void set(const QString& key, const QJsonValue& value);
    void flush();
    /// "settings of version 1 read; 2 unknown entries kept unchanged"; empty: nothing to say.
    QString note() const { return m_note; }

    /// Recently opened files, newest first: {"path", "name", "note", "time"}.
    void addRecent(const QString& path, const QString& name, const QString& note);

private:
    QString m_path, m_note;
    QJsonObject m_values;
    QTimer m_timer;
};

/// How callees open, as settings say it: "inline", "drillIn", "split".
QString calleeName(OpenCallee how);
OpenCallee calleeNamed(const QString& name); ///< any other name: inline

/// "settings of version 1 read; 2 unknown entries kept unchanged"; empty: the version is `current`, all entries are `known`.
QString versionNote(const QString& what, const QJsonObject& object, int current, std::span<const char* const> known);
/// Writes beside the file and renames. False if that failed.
bool writeJson(const QString& path, const QJsonObject& object);
/// Empty if there is no such file or it is no JSON object; `damage` then says why: "unterminated object at byte 17".
QJsonObject readJson(const QString& path, QString* damage = nullptr);
/// The same of a file that is going to be written again: one that cannot be read is kept beside it, as NAME.damaged.
QJsonObject readOwnJson(const QString& path, QString* damage);

} // namespace loopscope::viewer
