// Notices when the file that is open is written, replaced or removed by another program: what is shown is then no longer what it holds.
#pragma once

#include <QDateTime>
#include <QFileSystemWatcher>
#include <QObject>
#include <QString>
#include <QTimer>

namespace loopscope::viewer {

class FileWatch : public QObject {
    Q_OBJECT
public:
    explicit FileWatch(QObject* parent = nullptr);
    /// From now on this file as it is now; empty: none.
    void follow(const QString& path);

signals:
    /// Once for each state that differs from the one before, when writing has paused. `exists`: it is still there.
    void changed(const QString& path, bool exists);

private:
    struct State {
        bool exists = false;
        qint64 size = 0;
        QDateTime written;
        bool operator==(const State&) const = default;
    };
    State stateNow() const;
    void look();

    QFileSystemWatcher m_watcher;
    QTimer m_pause; ///< until whoever writes has come to an end
    QString m_path;
    State m_state;
};

} // namespace loopscope::viewer
