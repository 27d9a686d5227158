#include "viewer/window/run_notices.h"

#include <QDesktopServices>
#include <QFileInfo>
#include <QLocale>
#include <QUrl>

#include <utility>

namespace loopscope::viewer {

void RunNotices::stopChanged(const StopSnapshot& stop, const QString& lastLine)
{
    noticeTimeline(stop, lastLine);
    noticeRecording(stop);
}

void RunNotices::fileChanged(const QString& path, bool exists)
{
    const QString name = QFileInfo(path).fileName();
    if (exists)
        m_banner.show(Banner::Kind::warning, tr("%1 has changed on disk").arg(name), tr("what is open is what it was"),
                      {{tr("Reload"), m_ways.reload}});
    else m_banner.show(Banner::Kind::warning, tr("%1 is no longer on disk").arg(name), tr("what is open stays open"), {});
}

bool RunNotices::hasBegun(const StopSnapshot& stop) { return std::exchange(m_runs, stop.runs) != stop.runs; }

bool RunNotices::hasMoved(const StopSnapshot& stop)
{
    const std::pair moment(stop.runs, stop.tick);
    return std::exchange(m_moment, moment) != moment;
}

/// Whoever changes a value is told that what was before is still there.
void RunNotices::noticeTimeline(const StopSnapshot& stop, const QString& lastLine)
{
    const std::vector<TimelineInfo>& lines = stop.timelines;
    const size_t before = std::exchange(m_timelines, lines.size());
    if (before == 0 || lines.size() <= before) return;
    const qlonglong parent = lines.back().parent;
    m_banner.show(Banner::Kind::notice,
                  tr("timeline %1 from step %2: %3")
                      .arg(lines.size())
                      .arg(QLocale(QLocale::English).toString(qint64{stop.position.step}))
                      .arg(lastLine),
                  tr("timeline %1 is kept").arg(parent),
                  {{tr("Back to timeline %1").arg(parent), [this, parent] { m_ways.goBackTo(parent); }}});
}

/// Where a recording lies is said when it begins and when it ends.
void RunNotices::noticeRecording(const StopSnapshot& stop)
{
    const QString before = std::exchange(m_recording, QString::fromStdString(stop.recording));
    if (before == m_recording) return;
    if (!m_recording.isEmpty()) {
        m_banner.show(Banner::Kind::notice, tr("recording into %1").arg(m_recording), tr("from the next run on"), {});
        return;
    }
    const QString folder = QFileInfo(before).absolutePath();
    m_banner.show(Banner::Kind::notice, tr("recorded into %1").arg(before), {},
                  {{tr("Open recording"), [this, before] { m_ways.open(before); }},
                   {tr("Show folder"), [folder] { QDesktopServices::openUrl(QUrl::fromLocalFile(folder)); }}});
}

} // namespace loopscope::viewer
