// The session's state on both sides: what the driver's thread keeps (inputs, recordings, the reference), and the machinery that belongs to
// the engine's thread.
#include "engine/api/debug_session_impl.h"

#include "engine/base/text.h"
#include "engine/debug/host_call.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/ir/frames.h"
#include "engine/observe/address_names.h"
#include "engine/observe/address_resolution.h"

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <new>

namespace loopscope {

DebugSession::Impl::Impl(DebugSubject opened)
    : subject(std::move(opened)),
      cancel(*subject.cancel),
      executor(*subject.executor),
      timeline(executor, subject.budget),
      travel{&cancel, {}, false},
      engine{executor.model(), executor, timeline, travel},
      breakpoints(engine),
      control(engine, breakpoints),
      thread(cancel)
{
    travel.progress = [this](Tick tick, Tick wanted) { thread.note(tick, wanted); };
    hearsPrinting = !subject.isReplay && canPrint(*subject.model);
    if (hearsPrinting) observe();
}

DebugSession::Impl::~Impl() = default;

/// On the engine's thread. What throws leaves the run where it stood.
void DebugSession::Impl::guarded(const std::function<void(Inspector&)>& work)
{
    const TimelineId line = timeline.current();
    const Tick tick = timeline.tick();
    const int64_t runs = timeline.runs();
    thread.note(tick, tick);
    try {
        travel.isStray = false;
        Inspector inspector(engine, control, breakpoints, reference.get());
        work(inspector);
        if (travel.isStray) throw std::bad_alloc();
    } catch (...) {
        cancel.clear();
        recover(line, tick, runs);
        throw;
    }
}

/// Forgets what was under way when something threw.
void DebugSession::Impl::recover(TimelineId line, Tick tick, int64_t runs)
{
    try {
        const bool isSameRun = timeline.runs() == runs;
        if (control.isStarted() && timeline.recover(isSameRun ? line : TimelineId(1), isSameRun ? tick : Tick()).ok()) {
            breakpoints.moved(timeline.tick());
            static_cast<void>(breakpoints.takeReasons());
            static_cast<void>(breakpoints.takeHits());
            static_cast<void>(breakpoints.takeLogs());
            return;
        }
    } catch (...) { // there is still no memory
        control.abandon();
    }
    isStarted = false; // nothing is known of where it stands: a new run begins from the start
}

Status DebugSession::Impl::wait(const std::function<void(Inspector&)>& work)
{
    struct Pending {
        std::mutex mutex;
        std::condition_variable wake;
        bool over = false;
        Status status;
        void end(Status with)
        {
            const std::lock_guard lock(mutex); // held while waking: the one who waits owns this
            status = std::move(with);
            over = true;
            wake.notify_one();
        }
    } pending;
    thread.post({"",
                 [&] {
                     guarded(work);
                     pending.end({});
                 },
                 [&](Error error) { pending.end(std::move(error)); }});
    std::unique_lock lock(pending.mutex);
    while (!pending.over) {
        if (!waiter) {
            pending.wake.wait(lock);
        } else if (pending.wake.wait_for(lock, std::chrono::milliseconds(50)) == std::cv_status::timeout && !pending.over) {
            lock.unlock();
            waiter();
            lock.lock();
        }
    }
    return std::move(pending.status);
}

void DebugSession::Impl::say(Remark::Kind kind, std::string text) const
{
    if (listener && !text.empty()) listener({kind, std::move(text)});
}

/// Who hears of the next run: the recording that is on, and the keeper of what the model prints.
void DebugSession::Impl::observe()
{
    FanOut& observers = this->observers.emplace_back();
    RunRecorder* const recorded = recorder();
    if (recorded != nullptr) observers.add(*recorded);
    if (hearsPrinting) observers.add(printing);
    const bool any = recorded != nullptr || hearsPrinting;
    static_cast<void>(wait([&](Inspector&) { executor.setObserver(any ? &observers : nullptr); }).ok());
}

RunRecorder* DebugSession::Impl::recorder() const { return recorders.empty() || recordingOver ? nullptr : recorders.back().get(); }

// The session.

DebugSession::DebugSession(DebugSubject subject) : m_impl(std::make_unique<Impl>(std::move(subject))) {}
DebugSession::~DebugSession() = default;

Result<std::unique_ptr<DebugSession>> DebugSession::open(const std::string& path, const ModelReader& reader, OpenOptions options)
{
    LS_TRY(DebugSubject subject, openModel(path, reader, std::move(options)));
    return std::make_unique<DebugSession>(std::move(subject));
}

const Model& DebugSession::model() const { return *m_impl->subject.model; }
const RunTarget& DebugSession::target() const { return m_impl->subject.target; }
const std::string& DebugSession::name() const { return m_impl->subject.name; }
bool DebugSession::isReplay() const { return m_impl->subject.isReplay; }
const std::string& DebugSession::level() const { return m_impl->subject.level; }
const std::string& DebugSession::note() const { return m_impl->subject.note; }
const std::string& DebugSession::selection() const { return m_impl->subject.selection; }
uint64_t DebugSession::seed() const { return m_impl->subject.seed; }
const std::vector<std::string>& DebugSession::inputs() const { return m_impl->subject.inputs; }
bool DebugSession::isStarted() const { return m_impl->isStarted; }
std::shared_ptr<const BoundInputs> DebugSession::lastInputs() const { return m_impl->lastInputs.load(); }
void DebugSession::setListener(std::function<void(const Remark&)> listener) { m_impl->listener = std::move(listener); }
void DebugSession::setWaiter(std::function<void()> waiter) { m_impl->waiter = std::move(waiter); }
void DebugSession::pause() { m_impl->thread.pause(); }
SessionProgress DebugSession::progress() const { return m_impl->thread.progress(); }
Status DebugSession::wait(const std::function<void(Inspector&)>& work) { return m_impl->wait(work); }

void DebugSession::post(std::string tag, std::function<void(Inspector&)> work, std::function<void(Error)> failed)
{
    m_impl->thread.post({std::move(tag), [impl = m_impl.get(), work = std::move(work)] { impl->guarded(work); }, std::move(failed)});
}

namespace {

class Performer {
public:
    Performer(DebugSession& session, FrameContext frame) : m_session(session), m_frame(frame) {}

    Result<Outcome> operator()(const request::Begin& request) { return stopped(m_session.begin(request)); }
    Result<Outcome> operator()(const request::GiveInput& request) { return done(m_session.giveInput(request)); }
    Result<Outcome> operator()(const request::Move& request) { return stopped(m_session.move(request, m_frame)); }
    Result<Outcome> operator()(const request::SetValue& request)
    {
        LS_TRY(Edited edited, m_session.set(request, m_frame));
        return stopped(std::move(edited.stop));
    }
    Result<Outcome> operator()(const request::GiveOutput& request)
    {
        Outcome outcome;
        LS_TRY(outcome.given, m_session.giveOutput(request, m_frame));
        return outcome;
    }
    Result<Outcome> operator()(const request::AddBreakpoint& request)
    {
        Outcome outcome;
        LS_TRY(outcome.breakpoint, m_session.addBreakpoint(request.spec, m_frame));
        return outcome;
    }
    Result<Outcome> operator()(const request::ToggleBreakpoint& request)
    {
        LS_TRY(const std::vector<Request> plain, m_session.toggled(request));
        Outcome outcome;
        for (const Request& one : plain) {
            LS_TRY(outcome, m_session.perform(one, m_frame));
        }
        return outcome;
    }
    Result<Outcome> operator()(const request::RemoveBreakpoint& request) { return done(m_session.removeBreakpoint(request.number)); }
    Result<Outcome> operator()(const request::EnableBreakpoint& request)
    {
        return done(m_session.enableBreakpoint(request.number, request.enabled));
    }
    Result<Outcome> operator()(const request::SetCondition& request)
    {
        return done(m_session.setCondition(request.number, request.expression, m_frame));
    }
    Result<Outcome> operator()(const request::IgnoreHits& request) { return done(m_session.ignoreHits(request.number, request.count)); }
    Result<Outcome> operator()(const request::SetMark& request) { return done(m_session.mark(request.name)); }
    Result<Outcome> operator()(const request::TakeNote& request) { return done(m_session.takeNote(request.text)); }
    Result<Outcome> operator()(const request::SetOrder& request) { return done(m_session.setOrder(request.seed)); }
    Result<Outcome> operator()(const request::RecordOn& request) { return recorded(m_session.startRecording(request)); }
    Result<Outcome> operator()(const request::RecordOff&) { return recorded(m_session.stopRecording()); }
    Result<Outcome> operator()(const request::Display&) { return Outcome(); }
    Result<Outcome> operator()(const request::FindDrift&)
    {
        Outcome outcome;
        LS_TRY(outcome.drift, m_session.findDrift());
        return outcome;
    }

private:
    static Result<Outcome> done(Status status)
    {
        LS_CHECK_OK(std::move(status));
        return Outcome();
    }
    static Result<Outcome> stopped(Result<Stop> stop)
    {
        Outcome outcome;
        LS_TRY(outcome.stop, std::move(stop));
        return outcome;
    }
    static Result<Outcome> recorded(Result<RecordingState> state)
    {
        Outcome outcome;
        LS_TRY(outcome.recording, std::move(state));
        return outcome;
    }

    DebugSession& m_session;
    FrameContext m_frame;
};

} // namespace

Result<Outcome> DebugSession::perform(const Request& request, FrameContext frame) { return std::visit(Performer(*this, frame), request); }

Status DebugSession::checkStarted() const
{
    if (isStarted()) return {};
    return Error(ErrorCode::usage, "the run has not begun; 'run' goes to the first stop, 'start' to the first operator");
}

// Recording.

bool DebugSession::canRecord() const { return static_cast<bool>(m_impl->subject.record); }
bool DebugSession::isRecording() const { return m_impl->recorder() != nullptr; }

std::optional<RecordingState> DebugSession::recording()
{
    RunRecorder* const present = m_impl->recorder();
    if (present == nullptr) return std::nullopt;
    Result<RecordingState> state = ask([present](Inspector&) { return present->state(); }); // the engine's thread feeds it
    return state.ok() ? std::optional(std::move(*state)) : std::nullopt;
}

Result<RecordingState> DebugSession::startRecording(const request::RecordOn& request)
{
    Impl& impl = *m_impl;
    if (isReplay()) return Error(ErrorCode::usage, "a recording is not recorded again");
    if (const std::optional<RecordingState> present = recording())
        return Error(ErrorCode::usage, "is being recorded into").at(present->path).expected("'record off' first");
    if (!impl.subject.record) return Error(ErrorCode::usage, "this session cannot be recorded");
    RecordingRequest wanted;
    wanted.path = request.path.empty() ? std::filesystem::path(name()).stem().string() + ".lstrace" : request.path;
    wanted.level = request.level;
    wanted.overwrite = request.overwrite;
    if (const Result<BoundInputs> bound = bindInputs(target(), inputs(), seed(), 1); bound.ok() && bound->usedSeed) wanted.seed = seed();
    LS_TRY(std::unique_ptr<RunRecorder> recorder, impl.subject.record(wanted));
    RecordingState state = recorder->state();
    impl.recorders.push_back(std::move(recorder));
    impl.recordingOver = false;
    impl.observe();
    return state;
}

Result<RecordingState> DebugSession::stopRecording()
{
    RunRecorder* const present = m_impl->recorder();
    if (present == nullptr) return Error(ErrorCode::usage, "nothing is being recorded");
    m_impl->recordingOver = true;
    Status closed = ask([present](Inspector&) { return present->finish(); });
    m_impl->observe();
    LS_CHECK_OK(std::move(closed));
    return present->state();
}

std::string DebugSession::takePrinted()
{
    Impl& impl = *m_impl;
    if (impl.hearsPrinting) return impl.printing.take();
    if (!impl.subject.printed) return {};
    Result<std::string> text = ask([&](Inspector& inspector) {
        const Step step = inspector.position().step, told = std::exchange(impl.toldSteps, std::max(impl.toldSteps, step));
        return told < step ? impl.subject.printed(told, step - 1) : std::string();
    });
    return text.ok() ? std::move(*text) : std::string();
}

// Breakpoints.

std::string operatorOf(const Model& model, const BreakpointInfo& breakpoint)
{
    const std::string& place = breakpoint.place;
    if (place.empty() || place.find('*') != std::string::npos || place.find("...") != std::string::npos) return {};
    Result<Address> parsed = parsePattern(place);
    if (!parsed.ok()) return {};
    Result<ResolvedAddress> resolved = resolveAddress(model, withoutIterations(std::move(parsed).value()));
    if (!resolved.ok()) return {};
    Address& address = resolved->address;
    if (model.dialect == Dialect::tf && address.target == TargetKind::output && address.slot == 0) {
        address.target = TargetKind::op; // a node and its first output have one name
        address.slot = -1;
    }
    return address.target == TargetKind::op ? toString(address) : std::string();
}

Result<BreakpointInfo> DebugSession::addBreakpoint(const BreakpointSpec& spec, FrameContext frame)
{
    return ask([&](Inspector& inspector) -> Result<BreakpointInfo> {
        BreakpointSpec canonical = spec;
        for (std::string& word : canonical.words) word = withoutHostCall(inspector.model(), word);
        canonical.within = withoutHostCall(inspector.model(), canonical.within);
        LS_TRY(const int number, m_impl->breakpoints.add(canonical, frame));
        return m_impl->breakpoints.get(number);
    });
}

Status DebugSession::removeBreakpoint(std::optional<int> number)
{
    return ask([&](Inspector&) -> Status {
        if (number) return m_impl->breakpoints.remove(*number);
        m_impl->breakpoints.removeAll();
        return {};
    });
}

Status DebugSession::enableBreakpoint(std::optional<int> number, bool enabled)
{
    return ask([&](Inspector&) -> Status {
        BreakpointSet& set = m_impl->breakpoints;
        if (number) return set.setEnabled(*number, enabled);
        for (const BreakpointInfo& info : set.list()) LS_CHECK_OK(set.setEnabled(info.number, enabled));
        return {};
    });
}

Status DebugSession::setCondition(int number, const std::string& expression, FrameContext frame)
{
    return ask([&](Inspector&) { return m_impl->breakpoints.setCondition(number, expression, frame); });
}

Status DebugSession::ignoreHits(int number, int64_t count)
{
    return ask([&](Inspector&) { return m_impl->breakpoints.setIgnore(number, count); });
}

Status DebugSession::setCommands(int number, std::vector<std::string> commands)
{
    return ask([&](Inspector&) { return m_impl->breakpoints.setCommands(number, std::move(commands)); });
}

Result<std::vector<Request>> DebugSession::toggled(const request::ToggleBreakpoint& request)
{
    const Address place = withoutIterations(request.place);
    const std::string wanted = toString(place);
    return ask([&](Inspector& inspector) {
        std::vector<Request> requests;
        for (const BreakpointInfo& info : inspector.breakpoints()) {
            const bool stops = info.command == BreakpointCommand::breakpoint || info.command == BreakpointCommand::temporary;
            if (stops && operatorOf(inspector.model(), info) == wanted) requests.emplace_back(request::RemoveBreakpoint{info.number});
        }
        if (requests.empty()) requests.emplace_back(request::AddBreakpoint{breakAt(place)});
        return requests;
    });
}

Status DebugSession::loadBreakpoints(std::string_view text)
{
    return ask([&](Inspector&) { return m_impl->breakpoints.load(text); });
}

// The reference run.

std::shared_ptr<const Reference> DebugSession::reference() const { return m_impl->reference; }
std::shared_ptr<const Drift> DebugSession::drift() const { return m_impl->drift; }

Status DebugSession::attachReference()
{
    Impl& impl = *m_impl;
    const std::vector<std::string>& sources = inputs();
    if (!impl.subject.reference || (impl.reference && impl.referenceInputs == sources)) return {};
    const std::shared_ptr<const BoundInputs> last = lastInputs();
    LS_TRY(std::unique_ptr<Reference> made, impl.subject.reference(sources, last.get()));
    const bool first = !impl.reference;
    LS_CHECK_OK(ask([&](Inspector&) -> Status {
        impl.breakpoints.setReference(made.get());
        if (!first) return {};
        const Result<int> number = impl.breakpoints.add(breakOn("differs"), {});
        return number.ok() ? Status() : Status(number.error().copy());
    }));
    impl.reference = std::move(made);
    impl.drift.reset();
    impl.referenceInputs = sources;
    impl.say(Remark::Kind::pairing, impl.reference->pairingText());
    return {};
}

Result<std::shared_ptr<const Drift>> DebugSession::findDrift()
{
    LS_TRY(Drift found, ask([](Inspector& inspector) { return inspector.drift(); }));
    m_impl->drift = std::make_shared<const Drift>(std::move(found));
    return m_impl->drift;
}

} // namespace loopscope
