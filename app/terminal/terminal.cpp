#include "app/terminal/terminal.h"

#include "app/terminal/command_table.h"
#include "app/terminal/stop_text.h"
#include "app/wiring/inputs.h"
#include "app/wiring/recording.h"
#include "engine/base/allocation.h"
#include "engine/base/bytes.h"
#include "engine/base/text.h"
#include "engine/exec/dataflow_executor.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace loopscope::app {

namespace {

constexpr int kDeepestSource = 16; ///< scripts that run scripts

std::string_view trimmed(std::string_view text)
{
    const size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

} // namespace

/// Keeps what a model prints until the terminal tells it. The engine's thread writes, the terminal's reads.
class Terminal::Sayings final : public ExecutionObserver {
public:
    void printed(const PrintedText& event) override
    {
        const std::scoped_lock lock(m_mutex);
        if (m_text.size() < kMost) m_text += event.text;
    }
    std::string take()
    {
        const std::scoped_lock lock(m_mutex);
        return std::exchange(m_text, {});
    }

private:
    static constexpr size_t kMost = 1 << 20; ///< of one request
    std::mutex m_mutex;
    std::string m_text;
};

Terminal::Terminal(DebugSubject subject, TerminalSettings settings, TerminalSink sink)
    : m_subject(std::move(subject)),
      m_settings(settings),
      m_sink(std::move(sink)),
      m_ink(settings.colored),
      m_lines(*m_subject.model)
{
    m_options.context = settings.context;
    if (!m_subject.isReplay && canPrint(*m_subject.model)) m_sayings = std::make_unique<Sayings>();
    m_session = std::make_unique<Session>(std::move(m_subject.executor), std::move(m_subject.cancel), m_subject.budget);
    if (m_sayings) observe();
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
    if (m_collecting != 0) return "> ";
    if (m_subject.isReplay) return "(replay) ";
    const int timeline = m_started ? m_stop.report.timeline : 1;
    return timeline > 1 ? "(loop r" + std::to_string(timeline) + ") " : "(loop) ";
}

std::string Terminal::banner() const
{
    size_t operators = 0;
    for (const Graph& graph : model().graphs) operators += graph.operators.size();
    const size_t graphs = model().graphs.size();
    return m_subject.name + ": " + groupThousands(static_cast<int64_t>(graphs)) + (graphs == 1 ? " graph, " : " graphs, ") +
           groupThousands(static_cast<int64_t>(operators)) + (operators == 1 ? " operator. " : " operators. ") +
           (m_subject.isReplay ? "A recording" : "Not started") + "; 'help' for commands.\n";
}

bool Terminal::prepare()
{
    if (!m_subject.selection.empty()) reply(m_subject.selection + "\n");
    if (!m_subject.note.empty()) note(m_subject.note);
    const bool hasInputs = m_subject.isReplay || bindInputs(m_subject.target, m_subject.inputs, m_subject.seed, 1).ok();
    if (!m_subject.reference || !hasInputs) return true;
    Status status = attachReference(m_subject.inputs);
    return status.ok() || fail(std::move(status).takeError());
}

Status Terminal::attachReference(const std::vector<std::string>& inputs)
{
    if (!m_subject.reference || (m_reference && m_referenceInputs == inputs)) return {};
    const std::shared_ptr<const BoundInputs> last = lastInputs();
    LS_TRY(std::unique_ptr<Reference> made, m_subject.reference(inputs, last.get()));
    const bool first = !m_reference;
    LS_CHECK_OK(ask([&](Debugger& debugger) -> Status {
        debugger.breakpoints().setReference(made.get());
        if (!first) return {};
        const Result<int> number = debugger.breakpoints().add(BreakpointCommand::breakpoint, "differs", {});
        return number.ok() ? Status() : Status(number.error().copy());
    }));
    m_reference = std::move(made);
    m_drift.reset();
    m_referenceInputs = inputs;
    reply(m_reference->pairingText() + "\n");
    return {};
}

RecorderOptions Terminal::recorderOptions() const
{
    RecorderOptions options = m_subject.recording ? m_subject.recording() : RecorderOptions();
    if (const Result<BoundInputs> inputs = bindInputs(m_subject.target, m_subject.inputs, m_subject.seed, 1);
        inputs.ok() && inputs->usedSeed)
        options.seed = m_subject.seed;
    return options;
}

Status Terminal::startRecording(RecorderOptions options)
{
    LS_TRY(std::unique_ptr<RunRecording> recording, RunRecording::create(model(), std::move(options)));
    m_recordings.push_back(std::move(recording));
    observe();
    return {};
}

Result<RecordingSummary> Terminal::stopRecording()
{
    RunRecording* const present = recording();
    if (!present) return Error(ErrorCode::usage, "nothing is being recorded");
    Status closed = ask([&](Debugger&) { return present->finish(); });
    observe();
    LS_CHECK_OK(std::move(closed));
    return present->summary();
}

/// Who hears of the next run: the recording that is on, and the keeper of what the model prints.
void Terminal::observe()
{
    FanOut& observers = m_observers.emplace_back();
    RunRecording* const recorded = recording();
    if (recorded) observers.add(*recorded);
    if (m_sayings) observers.add(*m_sayings);
    const bool any = recorded || m_sayings;
    ask([&](Debugger& debugger) { debugger.executor().setObserver(any ? &observers : nullptr); });
}

void Terminal::tellSayings()
{
    std::string text;
    if (m_sayings) {
        text = m_sayings->take();
    } else if (m_subject.printed) {
        text = ask([&](Debugger& debugger) {
            const int64_t step = debugger.executor().position().step, told = std::exchange(m_toldSteps, std::max(m_toldSteps, step));
            return told < step ? m_subject.printed(told, step - 1) : std::string();
        });
    }
    if (!text.empty()) deliver(TerminalEvent::Kind::log, text.ends_with('\n') ? text : text + "\n");
}

bool Terminal::execute(std::string_view line)
{
    const std::string copy(line);
    m_running = true;
    bool fine = run(copy);
    // Commands of breakpoints come after the command that stopped there; they may stop at others.
    while (fine && !m_pending.empty() && !m_ended) {
        const std::string next = std::move(m_pending.front());
        m_pending.pop_front();
        fine = run(next);
    }
    m_pending.clear();
    m_running = false;
    return fine;
}

bool Terminal::run(std::string_view typed)
{
    std::string_view line = trimmed(typed);
    if (m_collecting != 0) return collect(line);
    if (line.empty() || line.front() == '#') return true;
    if (line.front() == '!') {
        if (!m_settings.shell) return fail(Error(ErrorCode::usage, "'!' is off here: scripts and --batch run no programs"));
        const int status = std::system(std::string(line.substr(1)).c_str());
        return status == 0;
    }
    const size_t nameEnd = std::min(line.find_first_of(" \t/"), line.size());
    const Result<const TerminalCommand*> command = findTerminalCommand(line.substr(0, nameEnd));
    m_repeat.clear();
    if (!command.ok()) return fail(command.error());
    CommandLine rest;
    rest.name = (*command)->name;
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
    if (line != "end") {
        if (!line.empty()) m_collected.emplace_back(line);
        return true;
    }
    const int number = std::exchange(m_collecting, 0);
    std::vector<std::string> commands = std::exchange(m_collected, {});
    for (const std::string& command : commands) {
        const size_t nameEnd = std::min(command.find_first_of(" \t/"), command.size());
        if (const auto found = findTerminalCommand(std::string_view(command).substr(0, nameEnd)); !found.ok()) return fail(found.error());
    }
    Status status = ask([&](Debugger& debugger) { return debugger.breakpoints().setCommands(number, std::move(commands)); });
    return status.ok() || fail(std::move(status).takeError());
}

ViewRequest Terminal::viewRequest(StopStyle style) const
{
    ViewRequest request;
    request.style = style;
    request.format = format();
    request.displays = m_displays;
    if (m_started) request.before = &m_stop.memory;
    for (const Port& port : m_subject.target.outputs) request.outputNames.push_back(port.name);
    request.reference = m_reference.get();
    return request;
}

void Terminal::show(StopView view)
{
    m_stop = std::move(view);
    m_frame = {};
    m_listStarted = false;
    tellSayings();
    for (const LogLine& log : m_stop.report.logs) deliver(TerminalEvent::Kind::log, log.text + "\n");
    if (!m_stop.quiet) deliver(TerminalEvent::Kind::stopped, stopText(m_stop, m_lines, m_ink, m_settings.width), &m_stop);
    m_pending.assign(m_stop.commands.begin(), m_stop.commands.end());
}

Status Terminal::checkStarted() const
{
    if (m_started) return {};
    return Error(ErrorCode::usage, "the run has not begun; 'run' goes to the first stop, 'start' to the first operator");
}

Status Terminal::move(const Move& move, StopStyle style)
{
    LS_CHECK_OK(checkStarted());
    const ViewRequest request = viewRequest(style);
    LS_TRY(StopView view, ask([&](Debugger& debugger) -> Result<StopView> {
               LS_TRY(StopReport report, move(debugger.control()));
               return viewStop(debugger, std::move(report), request);
           }));
    show(std::move(view));
    return {};
}

Status Terminal::edit(const std::function<Result<StopReport>(Debugger&)>& work)
{
    LS_CHECK_OK(checkStarted());
    const FrameContext frame = m_frame;
    const ViewRequest request = viewRequest(StopStyle::place);
    LS_TRY(StopView view, ask([&](Debugger& debugger) -> Result<StopView> {
               LS_TRY(StopReport report, work(debugger));
               return viewStop(debugger, std::move(report), request);
           }));
    m_stop = std::move(view);
    m_frame = frame;
    reply("timeline " + std::to_string(m_stop.report.timeline) + " from step " + std::to_string(m_stop.report.position.step) + "\n");
    if (recording() && ask([&](Debugger&) { return recording()->isOn() && (recording()->edited(), true); }))
        note("the recording of this run ends here");
    return {};
}

Status Terminal::begin(const std::vector<std::string>& typed, const Move& move)
{
    // New sources replace those of the same name; what is not named stays as it was.
    std::vector<std::string> sources = m_subject.inputs;
    for (const std::string& text : typed) {
        LS_TRY(const InputOption option, splitInputOption(text));
        std::erase_if(sources, [&](const std::string& old) {
            const Result<InputOption> other = splitInputOption(old);
            return other.ok() && other->name == option.name;
        });
        sources.push_back(text);
    }
    BoundInputs inputs;
    if (!m_subject.isReplay) {
        const std::shared_ptr<const BoundInputs> last = lastInputs();
        LS_TRY(inputs, bindInputs(m_subject.target, sources, m_subject.seed, 1, last.get()));
        m_subject.inputs = sources;
        for (const std::string& text : inputs.notes) note(text);
        if (inputs.usedSeed) note("seed " + std::to_string(m_subject.seed));
    }
    LS_CHECK_OK(attachReference(sources));
    ViewRequest request = viewRequest(StopStyle::surroundings);
    request.before = nullptr;
    LS_TRY(StopView view, ask([&](Debugger& debugger) -> Result<StopView> {
               Executor& executor = debugger.executor();
               if (!m_subject.isReplay) {
                   if (recording()) recording()->setFeeds(feedsOf(inputs));
                   if (!m_initial) m_initial = std::make_shared<const MachineState>(executor.snapshot());
                   else LS_CHECK_OK(executor.restore(*m_initial));
                   if (auto* const dataflow = dynamic_cast<DataflowExecutor*>(&executor); dataflow != nullptr && m_order)
                       dataflow->setScheduleSeed(*m_order);
                   for (size_t i = 0; i < inputs.inputs.size(); ++i)
                       LS_CHECK_OK(executor.setInput(static_cast<int>(i), inputs.inputs[i].forRun(0).view()));
               }
               LS_TRY(StopReport report, move(debugger.control()));
               return viewStop(debugger, std::move(report), request);
           }));
    if (!m_subject.isReplay) m_lastInputs = std::make_shared<const BoundInputs>(std::move(inputs));
    m_started = true;
    m_toldSteps = 0;
    show(std::move(view));
    return {};
}

const std::vector<StructuredLine>& Terminal::listing()
{
    if (m_listing.empty()) {
        StructuredOptions options;
        options.root = m_subject.target.graph;
        m_listing = structuredView(model(), options);
    }
    return m_listing;
}

Status Terminal::setInput(const std::string& text)
{
    LS_TRY(const InputOption option, splitInputOption(text));
    if (!option.name.empty()) {
        LS_TRY([[maybe_unused]] const Port* port, findInput(m_subject.target, option.name));
    }
    std::erase_if(m_subject.inputs, [&](const std::string& old) {
        const Result<InputOption> other = splitInputOption(old);
        return other.ok() && other->name == option.name;
    });
    m_subject.inputs.push_back(text);
    return {};
}

void Terminal::selectFrame(int depth)
{
    m_frame.depth = depth;
    m_listStarted = false;
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
        const bool tolerant = m_collecting == 0 && !line.empty() && line.front() == '-';
        if (tolerant) line.remove_prefix(1);
        bool fine = run(line);
        while (fine && !m_pending.empty() && !m_ended) {
            const std::string next = std::move(m_pending.front());
            m_pending.pop_front();
            fine = run(next);
        }
        if (!fine && !tolerant) status = Error(m_lastError, "stopped here").at(path + ":" + std::to_string(number));
    }
    --m_sourceDepth;
    if (m_sourceDepth == 0 && m_collecting != 0) {
        m_collecting = 0;
        m_collected.clear();
        if (status.ok()) status = Error(ErrorCode::usage, "'commands' has no 'end'").at(path);
    }
    return status;
}

bool Terminal::confirmed()
{
    if (!m_settings.confirms || m_warned || !m_started) return true;
    const size_t count = ask([](Debugger& debugger) { return debugger.timeline().timelines().size(); });
    if (count < 2) return true;
    m_warned = true;
    return false;
}

} // namespace loopscope::app
