// What the window says by itself when a run has moved, or its file: a new timeline, where a recording lies, what is open is not what is
// there.
#pragma once

#include "viewer/bridge/stop_snapshot.h"
#include "viewer/window/banner.h"

#include <QCoreApplication>
#include <QString>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace loopscope::viewer {

class RunNotices {
    Q_DECLARE_TR_FUNCTIONS(loopscope::viewer::RunNotices)
public:
    /// What its buttons do. The banner must outlive it.
    struct Ways {
        std::function<void(int64_t timeline)> goBackTo;
        std::function<void(const QString& path)> open;
        std::function<void()> reload;
    };
    RunNotices(Banner& banner, Ways ways) : m_banner(banner), m_ways(std::move(ways)) {}

    /// Another document is open.
    void forget() { m_timelines = 0, m_runs = 0, m_moment = {}, m_recording.clear(); }
    /// `lastLine`: the command that ran last.
    void stopChanged(const StopSnapshot& stop, const QString& lastLine);
    /// Another program has written the file that is open, or removed it.
    void fileChanged(const QString& path, bool exists);
    /// Whether a run has begun since this was asked before.
    bool hasBegun(const StopSnapshot& stop);
    /// Whether the run stands somewhere else than when this was asked before.
    bool hasMoved(const StopSnapshot& stop);

private:
    void noticeTimeline(const StopSnapshot& stop, const QString& lastLine);
    void noticeRecording(const StopSnapshot& stop);

    Banner& m_banner;
    Ways m_ways;
    size_t m_timelines = 0;            ///< that the run had at the last stop
    int64_t m_runs = 0;                ///< begun until then
    std::pair<int64_t, Tick> m_moment; ///< run and tick of the last stop
    QString m_recording;               ///< into which is recorded; empty: none
};

} // namespace loopscope::viewer
