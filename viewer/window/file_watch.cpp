#include "viewer/window/file_watch.h"

#include <QFileInfo>

namespace loopscope::viewer {

namespace {

constexpr int kPauseMs = 250;

} // namespace

FileWatch::FileWatch(QObject* parent) : QObject(parent)
{
    m_pause.setSingleShot(true);
    m_pause.setInterval(kPauseMs);
    connect(&m_pause, &QTimer::timeout, this, &FileWatch::look);
    connect(&m_watcher, &QFileSystemWatcher::fileChanged, &m_pause, qOverload<>(&QTimer::start));
    connect(&m_watcher, &QFileSystemWatcher::directoryChanged, &m_pause, qOverload<>(&QTimer::start));
}

void FileWatch::follow(const QString& path)
{
    if (const QStringList before = m_watcher.files() + m_watcher.directories(); !before.isEmpty()) m_watcher.removePaths(before);
    m_pause.stop();
    m_path = path.isEmpty() ? QString() : QFileInfo(path).absoluteFilePath();
    if (m_path.isEmpty()) return;
    m_state = stateNow();
    // Its folder, too: many programs write another file and give it the name of this one.
    m_watcher.addPaths({m_path, QFileInfo(m_path).absolutePath()});
}

FileWatch::State FileWatch::stateNow() const
{
    const QFileInfo info(m_path);
    if (!info.exists()) return {};
    return {true, info.size(), info.lastModified()};
}

void FileWatch::look()
{
    const State now = stateNow();
    if (now.exists && !m_watcher.files().contains(m_path)) m_watcher.addPath(m_path);
    if (now == m_state) return;
    m_state = now;
    emit changed(m_path, now.exists);
}

} // namespace loopscope::viewer
