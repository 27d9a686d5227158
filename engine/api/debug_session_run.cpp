// How a session begins runs, moves through them and changes them: requests become calls of RunControl.
#include "engine/api/debug_session_impl.h"

#include "engine/exec/executor.h"
#include "engine/observe/address_names.h"
#include "engine/tensor/value_text.h"

#include <algorithm>

namespace loopscope {

namespace {

/// A typed place, with what is to be said about how it was read.
class Mover {
public:
    Mover(DebugSession::Impl& session, FrameContext frame, std::string& note) : m_session(session), m_frame(frame), m_note(note) {}

    Result<StopReport> operator()(const request::Resume& move) { return control().resume(move.direction, move.count - 1); }
    Result<StopReport> operator()(const request::Step& move)
    {
        return move.over ? control().next(move.direction, move.count) : control().step(move.direction, move.count);
    }
    Result<StopReport> operator()(const request::Finish& move) { return control().finish(move.direction, m_frame.depth); }
    Result<StopReport> operator()(const request::Until&) { return control().until(); }
    Result<StopReport> operator()(const request::Advance& move)
    {
        Result<StopReport> report = control().advance(move.pattern, m_frame);
        // An operator that neither this graph nor a caller has: wherever its graph is called from.
        if (report.ok() || report.error().code() != ErrorCode::usage || move.pattern.find('/') != std::string::npos) return report;
        Result<StopReport> anywhere = control().advance(".../" + move.pattern, m_frame);
        return anywhere.ok() ? std::move(anywhere) : std::move(report);
    }
    Result<StopReport> operator()(const request::Iterate& move)
    {
        if (move.to == request::Iterate::To::last) return control().iterateLast(m_frame);
        return move.to == request::Iterate::To::offset ? control().iterateBy(move.number, m_frame)
                                                       : control().iterate(move.number, m_frame);
    }
    Result<StopReport> operator()(const request::GoToStart&) { return control().goToStart(); }
    Result<StopReport> operator()(const request::GoToEnd&) { return control().goToEnd(); }
    Result<StopReport> operator()(const request::GoToStep& move) { return control().goToStep(move.step); }
    Result<StopReport> operator()(const request::GoToPercent& move) { return control().goToPercent(move.percent); }
    Result<StopReport> operator()(const request::GoToPlace& move)
    {
        const auto isNamed = [&](const Mark& mark) { return mark.name == move.place; };
        if (std::ranges::any_of(control().marks(), isNamed)) return control().goToMark(move.place);
        LS_TRY(const TypedPlace place, typed(move.place));
        return control().goTo(place.resolved);
    }
    Result<StopReport> operator()(const request::GoToAddress& move)
    {
        LS_TRY(const TypedPlace place, typed(toString(move.address)));
        return control().goTo(place.resolved);
    }
    Result<StopReport> operator()(const request::GoToPartnerLoop& move)
    {
        LS_TRY(const std::optional<ForwardIteration> found,
               move.backward ? findBackwardIteration(m_session.engine, m_frame) : findForwardIteration(m_session.engine, m_frame));
        if (found) return control().goToTick(found->tick);
        if (move.backward)
            return Error(ErrorCode::usage, "no other loop takes from a stack, list or array what an iteration around this stop puts there")
                .at("goto backward");
        return Error(ErrorCode::usage, "no iteration around this stop takes from a stack, list or array what another loop has put there")
            .at("goto forward");
    }
    Result<StopReport> operator()(const request::GoToWrite& move)
    {
        LS_TRY(const TypedPlace place, typed(move.value));
        if (!place.resolved.value.valid())
            return Error(ErrorCode::usage, "this is no value")
                .at(toString(place.resolved.address))
                .expected("a value, as 'acc' or 'add#2:0'");
        LS_TRY(const std::optional<ValueWrite> write, findWrite(m_session.engine, m_frame, place.resolved, move.query));
        if (!write) return Error(ErrorCode::usage, absence(move));
        return control().goToTick(write->tick);
    }
    Result<StopReport> operator()(const request::Back&) { return control().back(); }
    Result<StopReport> operator()(const request::Forward&) { return control().forward(); }
    Result<StopReport> operator()(const request::SwitchTimeline& move) { return control().switchTo(move.timeline); }

private:
    RunControl& control() { return m_session.control; }
    Result<TypedPlace> typed(std::string_view text)
    {
        LS_TRY(TypedPlace place, resolveTyped(m_session.engine, m_frame, text));
        m_note = place.note;
        return place;
    }
    static std::string absence(const request::GoToWrite& move)
    {
        const bool isChange = move.query == HistoryQuery::lastChange || move.query == HistoryQuery::nextChange;
        const bool isBefore = move.query == HistoryQuery::lastWrite || move.query == HistoryQuery::lastChange;
        return move.value + (isChange ? " does not change " : " is not written ") + (isBefore ? "before here" : "after here");
    }

    DebugSession::Impl& m_session;
    FrameContext m_frame;
    std::string& m_note;
};

} // namespace

Result<StopReport> DebugSession::Impl::move(const request::Move& move, FrameContext frame, std::string& note)
{
    return std::visit(Mover(*this, frame, note), move);
}

Result<StopReport> DebugSession::Impl::start(const request::Begin& request, const BoundInputs& bound)
{
    if (!subject.isReplay) {
        if (RunRecorder* const recording = recorder()) recording->setFeeds(bound);
        if (!initial) initial = std::make_shared<const MachineState>(executor.snapshot());
        else LS_CHECK_OK(executor.restore(*initial));
        if (order) executor.setScheduleSeed(*order);
        if (subject.given) subject.given->begin();
        for (size_t i = 0; i < bound.inputs.size(); ++i)
            LS_CHECK_OK(executor.setInput(static_cast<int>(i), bound.inputs[i].forRun(0).view()));
    }
    return request.untilStop ? control.run() : control.start();
}

Result<Stop> DebugSession::begin(const request::Begin& request)
{
    Impl& impl = *m_impl;
    // New sources replace those of the same name; what is not named stays as it was.
    std::vector<std::string> sources = inputs();
    for (const std::string& text : request.inputs) {
        LS_TRY(const InputOption option, splitInputOption(text));
        std::erase_if(sources, [&](const std::string& old) {
            const Result<InputOption> other = splitInputOption(old);
            return other.ok() && other->name == option.name;
        });
        sources.push_back(text);
    }
    BoundInputs bound;
    if (!isReplay()) {
        const std::shared_ptr<const BoundInputs> last = lastInputs();
        LS_TRY(bound, bindInputs(target(), sources, seed(), 1, last.get()));
        impl.subject.inputs = sources;
        for (const std::string& text : bound.notes) impl.say(Remark::Kind::note, text);
        if (bound.usedSeed) impl.say(Remark::Kind::note, "seed " + std::to_string(seed()));
    }
    LS_CHECK_OK(attachReference());
    LS_TRY(Stop stop, ask([&](Inspector& inspector) -> Result<Stop> {
               LS_TRY(StopReport report, impl.start(request, bound));
               return inspector.stopAt(std::move(report));
           }));
    if (!isReplay()) impl.lastInputs = std::make_shared<const BoundInputs>(std::move(bound));
    impl.isStarted = true;
    impl.toldSteps = 0;
    return stop;
}

Status DebugSession::giveInput(const request::GiveInput& request)
{
    if (isReplay()) return Error(ErrorCode::usage, "a recording has its inputs");
    LS_TRY(const InputOption option, splitInputOption(request.text));
    if (!option.name.empty()) {
        LS_TRY([[maybe_unused]] const Port* port, findInput(target(), option.name));
    }
    std::vector<std::string>& given = m_impl->subject.inputs;
    std::erase_if(given, [&](const std::string& old) {
        const Result<InputOption> other = splitInputOption(old);
        return other.ok() && other->name == option.name;
    });
    given.push_back(request.text);
    return {};
}

Result<Array> DebugSession::previewInput(std::string_view name, std::string_view source) const
{
    LS_TRY(const Port* const port, findInput(target(), name));
    return bindInput(*port, source, seed(), lastInputs().get());
}

Result<Stop> DebugSession::move(const request::Move& move, FrameContext frame)
{
    LS_CHECK_OK(checkStarted());
    std::string note;
    Result<Stop> stop = ask([&](Inspector& inspector) -> Result<Stop> {
        LS_TRY(StopReport report, m_impl->move(move, frame, note));
        return inspector.stopAt(std::move(report));
    });
    m_impl->say(Remark::Kind::note, note);
    return stop;
}

void DebugSession::post(std::string tag, request::Move move, FrameContext frame, std::function<void(Result<Stop>)> done)
{
    auto work = [this, move = std::move(move), frame, done](Inspector& inspector) {
        std::string note;
        const auto moved = [&]() -> Result<Stop> {
            LS_CHECK_OK(checkStarted());
            LS_TRY(StopReport report, m_impl->move(move, frame, note));
            return inspector.stopAt(std::move(report));
        };
        done(moved());
    };
    post(std::move(tag), std::move(work), [done](Error error) { done(std::move(error)); });
}

Result<Edited> DebugSession::set(const request::SetValue& request, FrameContext frame)
{
    LS_CHECK_OK(checkStarted());
    if (isReplay()) return Error(ErrorCode::usage, "a recording cannot be changed");
    return ask([&](Inspector& inspector) -> Result<Edited> {
        LS_TRY(const Edit edit, evaluateEdit(m_impl->engine, frame, request.place, request.expression, m_impl->reference.get()));
        LS_TRY(StopReport report, m_impl->control.edit(edit.depth, edit.value, edit.tensor));
        Edited edited{inspector.stopAt(std::move(report)), false};
        RunRecorder* const recording = m_impl->recorder();
        edited.endsRecording = recording != nullptr && recording->state().isOn;
        if (edited.endsRecording) recording->edited();
        return edited;
    });
}

Result<GivenOutput> DebugSession::giveOutput(const request::GiveOutput& request, FrameContext frame)
{
    Impl& impl = *m_impl;
    if (isReplay()) return Error(ErrorCode::usage, "a recording has its results");
    if (!impl.subject.given) return Error(ErrorCode::usage, "every operator of this model has a kernel; 'set' changes values");
    return ask([&](Inspector&) -> Result<GivenOutput> {
        LS_TRY(const TypedPlace place, resolveTyped(impl.engine, frame, request.place));
        const Graph& graph = model().graph(place.resolved.graph);
        ValueId id = place.resolved.value;
        if (!id.valid() && place.resolved.op.valid() && graph.op(place.resolved.op).results.size() == 1)
            id = graph.op(place.resolved.op).results.front();
        if (!id.valid() || graph.value(id).role != ValueRole::result)
            return Error(ErrorCode::usage, "this is no result of an operator").at("'" + request.place + "'").expected("as 'sinh#1:0'");
        const Value& value = graph.value(id);
        GivenResult result;
        TensorType type = value.type;
        if (request.source.ends_with(".lstrace")) {
            if (!impl.subject.recorded) return Error(ErrorCode::usage, "recordings are not read here").at(request.source);
            LS_TRY(result, impl.subject.recorded(request.source, value.slot));
        } else {
            const Port port{request.place, {}, id, value.slot, value.type};
            const std::shared_ptr<const BoundInputs> last = lastInputs();
            LS_TRY(Array array, bindInput(port, request.source, seed(), last.get()));
            type.shape = array.shape;
            result = [array = std::move(array)](const std::string&) -> Result<Array> { return array; };
        }
        LS_CHECK_OK(impl.subject.given->give(graph.op(value.producer), value.slot, std::move(result)));
        Address address = withoutIterations(place.resolved.address);
        return GivenOutput{toString(address), shortType(type)};
    });
}

bool DebugSession::canGive(GraphId graph, OperatorId op) const
{
    if (!m_impl->subject.given || !model().hasGraph(graph) || !op.valid()) return false;
    return m_impl->subject.given->standsIn(model().graph(graph).op(op));
}

Status DebugSession::mark(const std::string& name)
{
    LS_CHECK_OK(checkStarted());
    return ask([&](Inspector&) { return m_impl->control.mark(name); });
}

Status DebugSession::takeNote(const std::string& text)
{
    LS_CHECK_OK(checkStarted());
    return ask([&](Inspector&) { m_impl->control.note(text); });
}

Status DebugSession::keepMarks(std::vector<Mark> marks)
{
    return ask([&](Inspector&) {
        for (Mark& mark : marks) m_impl->control.keepMark(std::move(mark));
    });
}

Status DebugSession::setOrder(uint64_t seed)
{
    if (isReplay() || m_impl->executor.dataflow() == nullptr)
        return Error(ErrorCode::usage, "'order' is about runs of TensorFlow graphs with Switch and Merge");
    m_impl->order = seed;
    return {};
}

} // namespace loopscope
