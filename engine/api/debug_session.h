// The one way in for faces: a model or recording that is debugged on a thread of its own. Terminal, window, editors and scripts are built
// on this header, on request.h and on inspector.h; nothing that runs or travels leaves it.
#pragma once

#include "engine/api/debug_subject.h"
#include "engine/api/engine_thread.h"
#include "engine/api/inspector.h"
#include "engine/api/request.h"

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace loopscope {

/// What is to be said beside an answer.
struct Remark {
    enum class Kind : uint8_t {
        note,    ///< "seed 1", "input x holds 1 NaN"
        pairing, ///< how the reference run pairs
    } kind = Kind::note;
    std::string text;
};

/// What an edit came to.
struct Edited {
    Stop stop;
    bool endsRecording = false; ///< a recording tells one course of events
};

/// A result that was given to an operator without a kernel.
struct GivenOutput {
    std::string place; ///< canonical, without iterations: "main/while#0:body/sinh#1:0"
    std::string type;  ///< "f32[4]"
};

/// What any request came to: what its kind of request answers with.
struct Outcome {
    std::optional<Stop> stop;                 ///< of what begins, moves and edits
    std::optional<BreakpointInfo> breakpoint; ///< that was made
    std::optional<RecordingState> recording;  ///< that began or ended
    std::shared_ptr<const Drift> drift;
    std::optional<GivenOutput> given;
};

namespace detail {
template <typename T> struct Answered {
    using Type = Result<T>;
};
template <typename T> struct Answered<Result<T>> {
    using Type = Result<T>;
};
template <> struct Answered<Status> {
    using Type = Status;
};
template <> struct Answered<void> {
    using Type = Status;
};
} // namespace detail

/// Requests are carried out one at a time, in order, on the engine's thread. What comes back are values that stay valid when the run moves
/// on. A request that meets an exception, be it of memory, answers with an Error, and the session lives on where it stood before.
///
/// Threads: one thread at a time, the driver's, makes the requests that change something; they wait for their answer. ask(), post(),
/// pause(), progress() and what names the subject may be called from any thread.
class DebugSession {
public:
    class Impl; ///< debug_session_impl.h
    explicit DebugSession(DebugSubject subject);
    /// Cancels what is running; what is queued fails.
    ~DebugSession();
    DebugSession(const DebugSession&) = delete;
    DebugSession& operator=(const DebugSession&) = delete;
    /// Reads a model file and opens it. Errors: of openModel().
    static Result<std::unique_ptr<DebugSession>> open(const std::string& path, const ModelReader& reader, OpenOptions options = {});

    /// Carries out any request. What faces keep themselves (Display) changes nothing here.
    Result<Outcome> perform(const Request& request, FrameContext frame = {});

    // What is open.
    const Model& model() const;
    const RunTarget& target() const;
    const std::string& name() const;
    bool isReplay() const;
    const std::string& level() const;     ///< of a recording
    const std::string& note() const;      ///< DebugSubject::note
    const std::string& selection() const; ///< DebugSubject::selection
    uint64_t seed() const;

    // Inputs and the beginning of a run.
    /// As given so far, "x=27".
    const std::vector<std::string>& inputs() const;
    /// Errors: usage, if there is no such input, or the model is a recording.
    Status giveInput(const request::GiveInput& request);
    /// What a source would give. From any thread. Errors: usage, badFile.
    Result<Array> previewInput(std::string_view name, std::string_view source) const;
    /// What the last run was fed with; null: there was none. From any thread.
    std::shared_ptr<const BoundInputs> lastInputs() const;
    /// Errors: usage (inputs), badFile, of starting the run.
    Result<Stop> begin(const request::Begin& request);
    bool isStarted() const;
    Status checkStarted() const; ///< usage, saying how to begin

    // Movement and edits; `frame` is the one that short forms and requests are about.
    Result<Stop> move(const request::Move& move, FrameContext frame = {});
    Result<Edited> set(const request::SetValue& request, FrameContext frame = {});
    /// Errors: usage (the operator has a kernel, or ran with another result in this run; no such place or source), badFile.
    Result<GivenOutput> giveOutput(const request::GiveOutput& request, FrameContext frame = {});
    /// Whether the operator has no kernel, so that its results can be given. From any thread.
    bool canGive(GraphId graph, OperatorId op) const;
    Status mark(const std::string& name);
    Status takeNote(const std::string& text);
    /// Marks and notes of an earlier session: their places are where the same inputs led then.
    Status keepMarks(std::vector<Mark> marks);
    /// Errors: usage, if the model has no order to be chosen.
    Status setOrder(uint64_t seed);

    // Breakpoints.
    Result<BreakpointInfo> addBreakpoint(const BreakpointSpec& spec, FrameContext frame = {});
    Status removeBreakpoint(std::optional<int> number = {});
    Status enableBreakpoint(std::optional<int> number, bool enabled);
    Status setCondition(int number, const std::string& expression, FrameContext frame = {});
    Status ignoreHits(int number, int64_t count);
    Status setCommands(int number, std::vector<std::string> commands);
    /// What toggling comes to here: the removals of those that stop on this very operator (logs and watches do not), or one addition.
    Result<std::vector<Request>> toggled(const request::ToggleBreakpoint& request);
    /// Reads what Inspector::savedBreakpoints() wrote; what no longer resolves comes back disabled with its reason. Errors: usage.
    Status loadBreakpoints(std::string_view text);

    // The reference run.
    /// Makes it for the present inputs, if there is one and they are complete; begin() does so, too.
    Status attachReference();
    /// Its name, models and pairing, which any thread may read; null: there is none.
    std::shared_ptr<const Reference> reference() const;
    /// Holds the whole run against it. Kept until there are other inputs.
    Result<std::shared_ptr<const Drift>> findDrift();
    std::shared_ptr<const Drift> drift() const; ///< what was found last; null: nothing yet

    // Recording.
    bool canRecord() const;
    /// From the next run on. Errors: usage (there is one already), cannotWrite.
    Result<RecordingState> startRecording(const request::RecordOn& request);
    /// Errors: usage, if none is on; cannotWrite.
    Result<RecordingState> stopRecording();
    std::optional<RecordingState> recording();
    bool isRecording() const;

    /// What the model has printed since this was asked last.
    std::string takePrinted();
    /// Hears remarks while a request is made, on the driver's thread.
    void setListener(std::function<void(const Remark&)> listener);
    /// Called about every 50 ms on the thread that waits for an answer.
    void setWaiter(std::function<void()> waiter);

    // Questions.
    /// Runs `work(Inspector&)` and waits. Its answer, as a Result; Status if it has none.
    template <typename Work> auto ask(Work work) -> typename detail::Answered<std::invoke_result_t<Work, Inspector&>>::Type
    {
        using Given = std::invoke_result_t<Work, Inspector&>;
        using Answer = typename detail::Answered<Given>::Type;
        if constexpr (std::is_same_v<Answer, Status>) {
            Status answer;
            LS_CHECK_OK(wait([&](Inspector& inspector) {
                if constexpr (std::is_void_v<Given>) work(inspector);
                else answer = work(inspector);
            }));
            return answer;
        } else {
            std::optional<Answer> answer;
            LS_CHECK_OK(wait([&](Inspector& inspector) { answer.emplace(work(inspector)); }));
            return std::move(*answer);
        }
    }
    /// Queues `work`, which is to hand its answer on itself. A newer one replaces a queued one with its tag (not empty). `failed` is called
    /// instead of the end of `work` where that threw, was replaced or never begun.
    void post(std::string tag, std::function<void(Inspector&)> work, std::function<void(Error)> failed = {});
    /// The same for a movement; `done` is called on the engine's thread.
    void post(std::string tag, request::Move move, FrameContext frame, std::function<void(Result<Stop>)> done);

    /// Stops the request that is running, at the next operator boundary: it ends with the reason `cancelled` at the stop that it reached.
    void pause();
    SessionProgress progress() const;

private:
    Status wait(const std::function<void(Inspector&)>& work);

    std::unique_ptr<Impl> m_impl;
};

/// The operator that a breakpoint sits on, as a canonical address without iterations; empty if it sits on none or on many.
std::string operatorOf(const Model& model, const BreakpointInfo& breakpoint);

} // namespace loopscope
