// What the debugger says to requests, whether they were typed or clicked.
#include "app/terminal/commands.h"
#include "app/terminal/stop_text.h"
#include "app/terminal/terminal.h"
#include "engine/base/text.h"

namespace loopscope::app {

namespace {

/// How much of the surroundings the stop of a movement shows.
StopStyle styleOf(const request::Move& move)
{
    if (std::holds_alternative<request::Resume>(move)) return StopStyle::surroundings;
    if (std::holds_alternative<request::Until>(move) || std::holds_alternative<request::Advance>(move)) return StopStyle::brief;
    if (std::holds_alternative<request::Iterate>(move)) return StopStyle::iteration;
    if (const auto* const step = std::get_if<request::Step>(&move); step != nullptr && step->direction == Direction::forward)
        return StopStyle::step;
    return StopStyle::place;
}

/// "breakpoint 1 at main/while#0@37", "watch 2: acc", "log 3 at …", "breakpoint 4: when n > 3, looks at n of main".
std::string createdText(const BreakpointInfo& info)
{
    std::string text = info.command == BreakpointCommand::log          ? "log "
                       : info.command == BreakpointCommand::temporary  ? "temporary breakpoint "
                       : info.command == BreakpointCommand::breakpoint ? "breakpoint "
                                                                       : "watch ";
    text += std::to_string(info.number);
    text += info.place.empty() ? ": " + info.spec : " at " + info.place;
    if (!info.note.empty()) text += ", " + info.note;
    return text + "\n";
}

class Carrier {
public:
    explicit Carrier(Terminal& terminal) : m_terminal(terminal), m_session(terminal.session()) {}

    Status operator()(const request::Begin& request)
    {
        Result<Stop> stop = m_session.begin(request);
        if (stop.ok()) m_terminal.forgetValues();
        return m_terminal.arrive(std::move(stop), StopStyle::surroundings);
    }
    Status operator()(const request::GiveInput& request)
    {
        LS_CHECK_OK(m_session.giveInput(request));
        m_terminal.answer().texts("inputs", m_session.inputs());
        return {};
    }
    Status operator()(const request::Move& move)
    {
        FrameContext frame = m_terminal.frame();
        if (std::holds_alternative<request::Finish>(move) && m_terminal.isStarted()) frame.depth = m_terminal.frameDepth();
        return m_terminal.arrive(m_session.move(move, frame), styleOf(move));
    }
    Status operator()(const request::SetValue& request)
    {
        if (!m_terminal.isStarted()) return (*this)(request::GiveInput{request.place + "=" + request.expression});
        return m_terminal.arriveEdited(m_session.set(request, m_terminal.frame()));
    }
    Status operator()(const request::GiveOutput& request)
    {
        LS_TRY(const GivenOutput given, m_session.giveOutput(request, m_terminal.frame()));
        m_terminal.reply(given.place + " gives " + given.type + " from " + request.source + " when it runs\n");
        m_terminal.answer().field("address", given.place).field("type", given.type).field("source", request.source);
        return {};
    }
    Status operator()(const request::AddBreakpoint& request)
    {
        LS_TRY(const BreakpointInfo info, m_session.addBreakpoint(request.spec, m_terminal.frame()));
        m_terminal.reply(createdText(info));
        m_terminal.answer().breakpoints({info});
        return {};
    }
    Status operator()(const request::ToggleBreakpoint& request)
    {
        LS_TRY(const std::vector<Request> plain, m_session.toggled(request));
        for (const Request& one : plain) LS_CHECK_OK(std::visit(*this, one));
        return {};
    }
    Status operator()(const request::RemoveBreakpoint& request)
    {
        LS_CHECK_OK(m_session.removeBreakpoint(request.number));
        return terminal::answerBreakpoints(m_terminal, {}); // those that are left
    }
    Status operator()(const request::EnableBreakpoint& request)
    {
        LS_CHECK_OK(m_session.enableBreakpoint(request.number, request.enabled));
        return terminal::answerBreakpoints(m_terminal, request.number);
    }
    Status operator()(const request::SetCondition& request)
    {
        LS_CHECK_OK(m_session.setCondition(request.number, request.expression, m_terminal.frame()));
        m_terminal.reply("breakpoint " + std::to_string(request.number) +
                         (request.expression.empty() ? " has no condition now\n" : " stops if " + request.expression + "\n"));
        return terminal::answerBreakpoints(m_terminal, request.number);
    }
    Status operator()(const request::IgnoreHits& request)
    {
        LS_CHECK_OK(m_session.ignoreHits(request.number, request.count));
        m_terminal.reply("breakpoint " + std::to_string(request.number) + " ignores the next " + std::to_string(request.count) +
                         (request.count == 1 ? " hit\n" : " hits\n"));
        return terminal::answerBreakpoints(m_terminal, request.number);
    }
    Status operator()(const request::SetMark& request)
    {
        LS_CHECK_OK(m_session.mark(request.name));
        m_terminal.reply("mark " + request.name + " at " + m_terminal.stop().report.address + ", step " +
                         std::to_string(m_terminal.stop().report.position.step) + "\n");
        const StopReport& report = m_terminal.stop().report;
        m_terminal.answer().field("name", request.name).field("address", report.address).field("step", report.position.step);
        return {};
    }
    Status operator()(const request::TakeNote& request)
    {
        LS_CHECK_OK(m_session.takeNote(request.text));
        m_terminal.answer().field("note", request.text);
        return {};
    }
    Status operator()(const request::SetOrder& request)
    {
        LS_CHECK_OK(m_session.setOrder(request.seed));
        m_terminal.answer().field("seed", static_cast<int64_t>(request.seed));
        m_terminal.reply(request.seed == 0
                             ? std::string("from the next run on, ready nodes run as they arrive\n")
                             : "from the next run on, seed " + std::to_string(request.seed) + " picks among the ready nodes\n");
        return {};
    }
    Status operator()(const request::RecordOn& request)
    {
        LS_TRY(const RecordingState state, m_session.startRecording(request));
        m_terminal.reply("recording into " + state.path + " from the next 'run' on, level " + state.level + "\n");
        terminal::answerRecording(m_terminal, state);
        return {};
    }
    Status operator()(const request::RecordOff&)
    {
        LS_TRY(const RecordingState state, m_session.stopRecording());
        std::string text =
            state.path + ": " + groupThousands(state.events) + (state.events == 1 ? " event" : " events") + ", level " + state.level;
        if (state.runs != 1) text += ", " + groupThousands(state.runs) + " runs";
        if (state.outcome != "complete") text += ", " + state.outcome;
        m_terminal.reply(text + "\n");
        terminal::answerRecording(m_terminal, state);
        return {};
    }
    Status operator()(const request::Display& request) { return m_terminal.display(request.expression); }
    Status operator()(const request::FindDrift&)
    {
        LS_CHECK_OK(terminal::checkReference(m_terminal, "drift"));
        LS_TRY(const std::shared_ptr<const Drift> drift, m_session.findDrift());
        m_terminal.reply(driftText(*drift));
        terminal::answerDrift(m_terminal, *drift);
        return {};
    }

private:
    Terminal& m_terminal;
    DebugSession& m_session;
};

} // namespace

Status Terminal::carryOut(const Request& request) { return std::visit(Carrier(*this), request); }

Status terminal::checkReference(const Terminal& terminal, std::string_view command)
{
    if (terminal.session().reference()) return terminal.checkStarted();
    return Error(ErrorCode::usage, "there is no reference run").at(command).expected("'loopscope debug MODEL --against FILE'");
}

Status Terminal::display(const std::string& expression)
{
    if (!isStarted()) {
        // There is no frame yet: whether the names exist shows at the first stop.
        m_displays.add(expression);
        terminal::answerDisplays(*this);
        return {};
    }
    const FrameContext frame = m_frame;
    LS_TRY(const std::vector<EvaluatedValue> values, ask([&](Inspector& inspector) { return inspector.evaluate(frame, expression); }));
    const int number = m_displays.add(expression);
    std::string shown;
    for (const EvaluatedValue& value : values) shown += (shown.empty() ? "" : ", ") + bareText(value, format());
    reply(std::to_string(number) + ": " + expression + " = " + shown + "\n");
    terminal::answerDisplays(*this);
    return {};
}

Status Terminal::arrive(Result<Stop> arrived, StopStyle style)
{
    LS_TRY(Stop stop, std::move(arrived));
    const ViewRequest request = viewRequest(style);
    Result<StopView> view = ask([&](Inspector& inspector) { return viewStop(inspector, stop, request); });
    m_started = true;
    if (!view.ok()) { // it stands there, though it cannot be shown
        m_stop = StopView();
        static_cast<Stop&>(m_stop) = std::move(stop);
        return std::move(view).takeError();
    }
    show(std::move(*view));
    return {};
}

Status Terminal::arriveEdited(Result<Edited> arrived)
{
    LS_TRY(Edited edited, std::move(arrived));
    const ViewRequest request = viewRequest(StopStyle::place);
    LS_TRY(m_stop, ask([&](Inspector& inspector) { return viewStop(inspector, edited.stop, request); }));
    reply("timeline " + std::to_string(m_stop.report.timeline) + " from step " + std::to_string(m_stop.report.position.step) + "\n");
    if (edited.endsRecording) note("the recording of this run ends here");
    m_answer.field("timeline", m_stop.report.timeline).field("step", m_stop.report.position.step).field("address", m_stop.report.address);
    return {};
}

} // namespace loopscope::app
