// The one way in for faces: a debugger on a thread of its own. Terminal, window, editors and tests use nothing below this header but
// the types that it hands out.
#pragma once

#include "engine/base/cancel.h"
#include "engine/base/result.h"
#include "engine/debug/breakpoints/breakpoint_set.h"
#include "engine/debug/control/run_control.h"
#include "engine/debug/evaluate.h"
#include "engine/debug/inspect/value_history.h"
#include "engine/debug/inspect/why.h"
#include "engine/debug/stop.h"
#include "engine/debug/target.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>

namespace loopscope {

/// An executor with everything that debugs it. Belongs to the engine thread of a session.
class Debugger {
public:
    /// `executor` runs `model`, whose owner outlives the debugger. `cancel` is the flag that the executor looks at, too.
    Debugger(std::unique_ptr<Executor> executor, const TimelineBudget& budget, CancelFlag& cancel);

    const Model& model() const { return m_executor->model(); }
    Executor& executor() { return *m_executor; }
    Timeline& timeline() { return m_timeline; }
    RunControl& control() { return m_run; }
    BreakpointSet& breakpoints() { return m_breakpoints; }
    const DebugTarget& target() const { return m_target; }
    TravelControl& travel() { return m_travel; }

private:
    std::unique_ptr<Executor> m_executor;
    Timeline m_timeline;
    TravelControl m_travel;
    DebugTarget m_target;
    BreakpointSet m_breakpoints;
    RunControl m_run;
};

/// What the engine thread is doing, for progress lines and bars.
struct SessionProgress {
    bool busy = false;
    std::string tag; ///< of the request
    int64_t tick = 0;
    int64_t target = 0;  ///< INT64_MAX: unknown
    int64_t sinceNs = 0; ///< how long the request has been running
};

/// Requests are functions of the debugger. They run one at a time, in order, on the engine thread; what they return must be values that
/// stay valid when the debugger moves on. All methods may be called from any thread.
class Session {
public:
    /// Takes over an executor and the flag that cancels it. Both must not be used by anybody else from now on.
    Session(std::unique_ptr<Executor> executor, std::unique_ptr<CancelFlag> cancel, const TimelineBudget& budget = {});
    /// Cancels what is running and drops what is queued.
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// Runs `work` on the engine thread and waits for its answer.
    template <typename Work> auto call(Work work) -> std::invoke_result_t<Work, Debugger&>
    {
        using Answer = std::invoke_result_t<Work, Debugger&>;
        std::promise<Answer> promise;
        std::future<Answer> answer = promise.get_future();
        post("", [&](Debugger& debugger) {
            if constexpr (std::is_void_v<Answer>) {
                work(debugger);
                promise.set_value();
            } else {
                promise.set_value(work(debugger));
            }
        });
        return answer.get();
    }
    /// Queues `work`. A request with the same tag (not empty) that is still queued is dropped: its `dropped` is called on this thread.
    void post(std::string tag, std::function<void(Debugger&)> work, std::function<void()> dropped = {});
    /// Stops the request that is running, at the next operator boundary: it ends with the reason `cancelled` at the stop that it reached.
    void pause();
    SessionProgress progress() const;

private:
    struct Request {
        std::string tag;
        std::function<void(Debugger&)> work;
        std::function<void()> dropped;
    };
    void serve();

    std::unique_ptr<CancelFlag> m_cancel;
    Debugger m_debugger;
    mutable std::mutex m_mutex;
    std::condition_variable m_wake;
    std::deque<Request> m_queue;
    bool m_ending = false;
    bool m_busy = false;
    std::string m_tag;
    int64_t m_startedNs = 0;
    std::atomic<int64_t> m_tick = 0;
    std::atomic<int64_t> m_target = 0;
    std::thread m_thread; ///< last: it uses everything above
};

} // namespace loopscope
