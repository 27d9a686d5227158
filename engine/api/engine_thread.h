// A thread that does one piece of work after the other, in order, and lives on whatever those throw. What a DebugSession is made of.
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/counts.h"
#include "engine/base/result.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace loopscope {

/// What the engine thread is doing, for progress lines and bars.
struct SessionProgress {
    bool busy = false;
    std::string tag; ///< of the request
    Tick tick;
    Tick target;         ///< INT64_MAX: unknown
    int64_t sinceNs = 0; ///< how long the request has been running
};

/// All methods may be called from any thread.
class EngineThread {
public:
    /// `cancel` is what running work looks at.
    explicit EngineThread(CancelFlag& cancel);
    /// Cancels what is running; what is queued fails.
    ~EngineThread();
    EngineThread(const EngineThread&) = delete;
    EngineThread& operator=(const EngineThread&) = delete;

    struct Task {
        std::string tag; ///< a newer task replaces a queued one with its tag; empty: none
        std::function<void()> work;
        /// Instead of an end of `work`: it threw (on the engine's thread), a newer one replaced it (on that one's thread), the thread ends.
        /// Must not throw.
        std::function<void(Error)> failed;
    };
    void post(Task task);
    /// Asks what is running to stop at the next operator boundary.
    void pause();
    SessionProgress progress() const;
    /// How far running work has come.
    void note(Tick tick, Tick target);

private:
    void serve();
    bool reserve();

    CancelFlag& m_cancel;
    mutable std::mutex m_mutex;
    std::condition_variable m_wake;
    std::deque<Task> m_queue;
    bool m_ending = false;
    bool m_busy = false;
    std::string m_tag;
    Status m_outOfMemory; ///< made when there is memory
    int64_t m_startedNs = 0;
    std::atomic<int64_t> m_tick = 0;
    std::atomic<int64_t> m_target = 0;
    std::thread m_thread; ///< last: it uses everything above
};

} // namespace loopscope
