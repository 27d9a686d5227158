// The inside of DebugSession: an executor with everything that debugs it, and the thread that it belongs to.
#pragma once

#include "engine/api/debug_session.h"
#include "engine/api/printed_text.h"
#include "engine/debug/timeline.h"

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace loopscope {

class DebugSession::Impl {
public:
    explicit Impl(DebugSubject opened);
    ~Impl();

    Status wait(const std::function<void(Inspector&)>& work);
    void guarded(const std::function<void(Inspector&)>& work);
    void recover(TimelineId line, Tick tick, int64_t runs);
    void observe();
    RunRecorder* recorder() const; ///< that is on; null: none
    void say(Remark::Kind kind, std::string text) const;
    /// On the engine's thread.
    Result<StopReport> move(const request::Move& move, FrameContext frame, std::string& note);
    Result<StopReport> start(const request::Begin& request, const BoundInputs& bound);

    DebugSubject subject;
    // The driver's thread.
    std::function<void(const Remark&)> listener;
    std::function<void()> waiter;
    std::vector<std::string> referenceInputs; ///< that the reference was made for
    std::shared_ptr<const Drift> drift;
    Step toldSteps;                      ///< of a recording: what it printed in steps before this one was told
    bool hearsPrinting = false;          ///< the model may print
    std::optional<uint64_t> order;       ///< none: as the executor was made
    std::atomic<bool> isStarted = false; ///< also the engine's thread, where it lost the run
    std::atomic<std::shared_ptr<const BoundInputs>> lastInputs;
    bool recordingOver = false; ///< the last recorder is on no more

    // The engine's thread, and before it begins.
    std::vector<std::unique_ptr<RunRecorder>> recorders; ///< the last may be on; a run that goes on may still know the others
    PrintedKeeper printing;
    std::deque<FanOut> observers; ///< the last is that of the next run
    std::shared_ptr<Reference> reference;
    std::shared_ptr<const MachineState> initial; ///< before the first run: each begins from here
    CancelFlag& cancel;
    Executor& executor;
    Timeline timeline;
    TravelControl travel;
    DebugTarget engine;
    BreakpointSet breakpoints;
    RunControl control;
    EngineThread thread; ///< last: it uses everything above
};

} // namespace loopscope
