#include "app/terminal/terminal.h"

#include "app/terminal/command_table.h"
#include "app/terminal/stop_text.h"
#include "engine/base/allocation.h"
#include "engine/base/bytes.h"
#include "engine/base/text.h"
#include "engine/base/trimmed.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace loopscope::app {

namespace {

constexpr int kDeepestSource = 16;             ///< scripts that run scripts, defined commands that run others
constexpr std::string_view kSilent = "silent"; ///< among the commands of a breakpoint: its stops are not shown

std::string_view originName(LineOrigin origin)
{
    switch (origin) {
    case LineOrigin::commandLine: return "--ex";
    case LineOrigin::pipe: return "a pipe";
    case LineOrigin::file: return "a file";
    case LineOrigin::breakpoint: return "the commands of a breakpoint";
    case LineOrigin::prompt: break;
    }
    return "the prompt";
}

/// Runs what stands behind '!'. True: it ended with 0. Errors: usage, where that may not be.
Result<bool> runProgram(const std::string& command, LineOrigin origin, bool isAllowed)
{
    if (origin != LineOrigin::prompt || !isAllowed)
        return Error(ErrorCode::usage, "'!' runs programs only when it is typed at a prompt")
            .found(origin == LineOrigin::prompt ? "no prompt" : "it in " + std::string(originName(origin)));
    return std::system(command.c_str()) == 0;
}

/// Sets where the running line came from, and what it was before on every way out.
class Origin {
public:
    Origin(LineOrigin& current, LineOrigin origin) : m_current(current), m_before(std::exchange(current, origin)) {}
    ~Origin() { m_current = m_before; }
    Origin(const Origin&) = delete;
    Origin& operator=(const Origin&) = delete;

private:
    LineOrigin& m_current;
    LineOrigin m_before;
};

} // namespace

Terminal::Terminal(DebugSubject subject, TerminalSettings settings, TerminalSink sink)
    : m_session(std::move(subject)),
      m_settings(settings),
      m_sink(std::move(sink)),
      m_ink(settings.colored),
      m_lines(m_session.model())
{
    m_options.context = settings.context;
    m_session.setListener([this](const Remark& remark) {
        if (remark.kind == Remark::Kind::note) note(remark.text);
        else reply(remark.text + "\n");
    });
}

void Terminal::setWaiter(std::function<void(DebugSession&)> waiter)
{
    m_session.setWaiter([this, waiter = std::move(waiter)] { waiter(m_session); });
}

Terminal::~Terminal() = default;

void Terminal::deliver(TerminalEvent::Kind kind, std::string text, const StopView* stop, const Error* error)
{
    TerminalEvent event;
    event.kind = kind;
    event.text = std::move(text);
    event.stop = stop;
    event.error = error;
    m_sink(event);
}

void Terminal::reply(std::string_view text) { deliver(TerminalEvent::Kind::reply, std::string(text)); }

bool Terminal::fail(const Error& error)
{
    m_lastError = error.code();
    std::string text = m_ink(Style::bad, "error:") + " " + error.message() + "\n";
    for (const std::string& note : error.detail().notes) text += "note: " + note + "\n";
    deliver(TerminalEvent::Kind::error, std::move(text), nullptr, &error);
    return false;
}

std::string Terminal::prompt() const
{
    if (m_block.isOpen()) return "> ";
    if (isReplay()) return "(replay) ";
    const TimelineId timeline = m_started ? m_stop.report.timeline : TimelineId(1);
    return timeline > 1 ? "(loop r" + std::to_string(timeline) + ") " : "(loop) ";
}

std::string Terminal::banner() const
{
    size_t operators = 0;
    for (const Graph& graph : model().graphs) operators += graph.operators.size();
    const size_t graphs = model().graphs.size();
    return m_session.name() + ": " + groupThousands(static_cast<int64_t>(graphs)) + (graphs == 1 ? " graph, " : " graphs, ") +
           groupThousands(static_cast<int64_t>(operators)) + (operators == 1 ? " operator. " : " operators. ") +
           (isReplay() ? "A recording" : "Not started") + "; 'help' for commands.\n";
}

bool Terminal::prepare()
{
    if (!m_session.selection().empty()) reply(m_session.selection() + "\n");
    if (!m_session.note().empty()) note(m_session.note());
    const bool hasInputs = isReplay() || bindInputs(target(), m_session.inputs(), m_session.seed(), 1).ok();
    if (!hasInputs) return true;
    Status status = m_session.attachReference();
    return status.ok() || fail(std::move(status).takeError());
}

void Terminal::tellPrinted()
{
    const std::string text = m_session.takePrinted();
    if (!text.empty()) deliver(TerminalEvent::Kind::log, text.ends_with('\n') ? text : text + "\n");
}

bool Terminal::perform(const Request& request)
{
    m_repeat.clear();
    m_warned = false;
    Status status = allocating([&] { return carryOut(request); });
    if (!status.ok()) return fail(std::move(status).takeError());
    return runPending();
}

bool Terminal::execute(std::string_view line, LineOrigin origin)
{
    const std::string copy(line);
    const bool fine = run(copy, origin) && runPending();
    m_pending.clear();
    return fine;
}

/// Commands of breakpoints come after the command that stopped there; they may stop at others.
bool Terminal::runPending()
{
    bool fine = true;
    while (fine && !m_pending.empty() && !m_ended) {
        if (m_interrupted && m_interrupted()) {
            fine = fail(Error(ErrorCode::cancelled, "interrupted before the command '" + m_pending.front() + "' of a breakpoint"));
            break;
        }
        const std::string next = std::move(m_pending.front());
        m_pending.pop_front();
        fine = run(next, LineOrigin::breakpoint);
    }
    m_pending.clear();
    return fine;
}

Status Terminal::checkMayOverwrite(std::string_view command) const
{
    if (m_origin != LineOrigin::file && m_origin != LineOrigin::breakpoint) return {};
    return Error(ErrorCode::usage, "files are overwritten only where --force is typed or given with --ex")
        .at(command)
        .found("it in " + std::string(originName(m_origin)));
}

bool Terminal::run(std::string_view typed, LineOrigin origin)
{
    const Origin scope(m_origin, origin);
    Answer around = std::exchange(m_answer, {});
    std::string_view command;
    const bool fine = runLine(typed, command);
    TerminalEvent event;
    event.kind = TerminalEvent::Kind::done;
    event.command = command;
    event.origin = origin;
    event.answer = &m_answer;
    m_sink(event);
    m_answer = std::move(around);
    return fine;
}

/// `name` is set to that of the command.
bool Terminal::runLine(std::string_view typed, std::string_view& name)
{
    std::string_view line = trimmed(typed);
    if (m_block.isOpen()) return collect(line);
    if (line.empty() || line.front() == '#' || line == kSilent) return true;
    if (line.front() == '!') {
        const Result<bool> ran = runProgram(std::string(line.substr(1)), m_origin, m_settings.shell);
        return ran.ok() ? *ran : fail(ran.error());
    }
    m_repeat.clear();
    const std::string_view assigned = line.starts_with("set ") ? trimmed(line.substr(4)) : line;
    if (assigned.front() == '$') {
        name = "set";
        Status status = allocating([&] { return setVariable(assigned); });
        return status.ok() || fail(std::move(status).takeError());
    }
    Result<std::string> expanded = m_variables.expanded(line);
    if (!expanded.ok()) return fail(expanded.error());
    line = *expanded;
    const size_t nameEnd = std::min(line.find_first_of(" \t/"), line.size());
    if (const std::vector<std::string>* const defined = m_variables.definition(line.substr(0, nameEnd))) {
        name = "define";
        return runDefined(*defined, line.substr(nameEnd));
    }
    const Result<const TerminalCommand*> command = findTerminalCommand(line.substr(0, nameEnd));
    if (!command.ok()) return fail(command.error());
    name = (*command)->name;
    CommandLine rest;
    rest.name = name;
    std::string_view after = line.substr(nameEnd);
    if (!after.empty() && after.front() == '/') {
        const size_t end = std::min(after.find_first_of(" \t"), after.size());
        rest.modifiers = after.substr(1, end - 1);
        after.remove_prefix(end);
    }
    rest.text = trimmed(after);
    if (rest.name != "quit") m_warned = false;
    if (Status status = allocating([&] { return (*command)->run(*this, rest); }); !status.ok()) return fail(std::move(status).takeError());
    if ((*command)->repeats) m_repeat = std::string(line);
    return true;
}

bool Terminal::collect(std::string_view line)
{
    std::optional<CommandBlock::Whole> whole = m_block.take(line);
    if (!whole) return true;
    if (!whole->definition.empty()) {
        m_variables.define(std::move(whole->definition), std::move(whole->commands));
        return true;
    }
    for (const std::string& command : whole->commands) {
        if (command == kSilent || command.front() == '$') continue;
        const size_t nameEnd = std::min(command.find_first_of(" \t/"), command.size());
        if (m_variables.definition(std::string_view(command).substr(0, nameEnd)) != nullptr) continue;
        if (const auto found = findTerminalCommand(std::string_view(command).substr(0, nameEnd)); !found.ok()) return fail(found.error());
    }
    Status status = m_session.setCommands(whole->breakpoint, std::move(whole->commands));
    return status.ok() || fail(std::move(status).takeError());
}

/// `$NAME = EXPR`.
Status Terminal::setVariable(std::string_view text)
{
    const size_t end = std::min(text.find_first_of(" \t=", 1), text.size());
    const std::string_view name = text.substr(1, end - 1);
    const size_t equals = text.find_first_not_of(" \t", end);
    if (!isVariableName(name) || equals == std::string_view::npos || text[equals] != '=')
        return Error(ErrorCode::usage, "a value of your own")
            .found("'" + std::string(text) + "'")
            .expected("$NAME = EXPR; 'print $NAME' shows it");
    LS_TRY(const std::string expression, m_variables.expanded(trimmed(text.substr(equals + 1))));
    LS_CHECK_OK(checkStarted());
    const FrameContext frame = m_frame;
    LS_TRY(const std::vector<EvaluatedValue> values, ask([&](Inspector& inspector) { return inspector.evaluate(frame, expression); }));
    if (values.size() != 1)
        return Error(ErrorCode::usage, "$" + std::string(name)).found(std::to_string(values.size()) + " values").expected("one");
    m_answer.field("name", name).values(values, format());
    return m_variables.set(name, values.front());
}

/// `$arg0`, `$arg1` … of the commands are the words typed behind the name.
bool Terminal::runDefined(const std::vector<std::string>& commands, std::string_view arguments)
{
    if (m_definedDepth >= kDeepestSource)
        return fail(Error(ErrorCode::usage, "defined commands call each other " + std::to_string(kDeepestSource) + " deep"));
    CommandLine line;
    line.text = trimmed(arguments);
    const std::vector<std::string> words = line.words();
    const std::vector<std::string> copy = commands; // it may define itself anew
    ++m_definedDepth;
    bool fine = true;
    for (std::string command : copy) {
        for (size_t i = words.size(); i-- > 0;) {
            const std::string argument = "$arg" + std::to_string(i);
            for (size_t at = 0; (at = command.find(argument, at)) != std::string::npos; at += words[i].size())
                command.replace(at, argument.size(), words[i]);
        }
        // A file may have defined it.
        if (trimmed(command).starts_with('!')) fine = fail(Error(ErrorCode::usage, "'!' is off here: defined commands run no programs"));
        fine = fine && !m_ended && run(command, LineOrigin::file);
    }
    --m_definedDepth;
    return fine;
}

ViewRequest Terminal::viewRequest(StopStyle style) const
{
    ViewRequest request;
    request.style = style;
    request.format = format();
    request.displays = m_displays.list();
    if (m_started) request.before = &m_stop.memory;
    for (const Port& port : target().outputs) request.outputNames.push_back(port.name);
    return request;
}

void Terminal::show(StopView view)
{
    m_stop = std::move(view);
    m_frame = {};
    m_listing.restart();
    tellPrinted();
    for (const LogLine& log : m_stop.report.logs) deliver(TerminalEvent::Kind::log, log.text + "\n");
    const auto silent = std::ranges::find(m_stop.commands, kSilent);
    if (!m_stop.quiet && silent == m_stop.commands.end())
        deliver(TerminalEvent::Kind::stopped, stopText(m_stop, m_lines, m_ink, m_settings.width), &m_stop);
    m_pending.assign(m_stop.commands.begin(), m_stop.commands.end());
}

void Terminal::selectFrame(int depth)
{
    m_frame.depth = depth;
    m_listing.restart();
}

Status Terminal::source(const std::string& path)
{
    if (m_sourceDepth >= kDeepestSource)
        return Error(ErrorCode::usage, "scripts call each other " + std::to_string(kDeepestSource) + " deep").at(path);
    LS_TRY(const Bytes content, mapFile(path));
    const std::string text(content.as<char>(), content.size());
    ++m_sourceDepth;
    Status status;
    size_t number = 0;
    for (size_t at = 0; at < text.size() && !m_ended && status.ok();) {
        const size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = trimmed(std::string_view(text).substr(at, end - at));
        at = end + 1;
        ++number;
        const bool tolerant = !m_block.isOpen() && !line.empty() && line.front() == '-';
        if (tolerant) line.remove_prefix(1);
        if (m_interrupted && m_interrupted()) {
            status = Error(ErrorCode::cancelled, "interrupted").at(path + ":" + std::to_string(number));
            break;
        }
        const bool fine = run(line, LineOrigin::file) && runPending();
        if (!fine && !tolerant) status = Error(m_lastError, "stopped here").at(path + ":" + std::to_string(number));
    }
    --m_sourceDepth;
    if (m_sourceDepth == 0 && m_block.isOpen()) {
        const char* const what = m_block.abandon();
        if (status.ok()) status = Error(ErrorCode::usage, what).at(path);
    }
    return status;
}

bool Terminal::confirmed()
{
    if (!m_settings.confirms || m_warned || !m_started) return true;
    const Result<size_t> count = ask([](Inspector& inspector) { return inspector.timelines().timelines.size(); });
    if (!count.ok() || *count < 2) return true;
    m_warned = true;
    return false;
}

} // namespace loopscope::app
