// Commands that move through the run, forwards and backwards.
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"
#include "engine/debug/history/forward_iteration.h"
#include "engine/tensor/value_text.h"

#include <charconv>

namespace loopscope::app::terminal {

namespace {

constexpr int64_t kMost = 1'000'000'000'000'000;

Direction directionOf(const CommandLine& line) { return line.name.starts_with("reverse-") ? Direction::backward : Direction::forward; }

Result<int64_t> countOf(const CommandLine& line)
{
    if (line.text.empty()) return int64_t{1};
    return wholeNumber(line.text, line.name, 1, kMost);
}

/// Words of `run NAME=SOURCE…`; a `;` belongs to the source before it (patches).
std::vector<std::string> inputWords(const CommandLine& line)
{
    std::vector<std::string> inputs;
    for (std::string& word : line.words()) {
        if (!inputs.empty() && (inputs.back().ends_with(';') || word.starts_with(';'))) inputs.back() += " " + word;
        else inputs.push_back(std::move(word));
    }
    return inputs;
}

} // namespace

Status run(Terminal& terminal, const CommandLine& line)
{
    return terminal.begin(inputWords(line), [](RunControl& control) { return control.run(); });
}

Status start(Terminal& terminal, const CommandLine& line)
{
    return terminal.begin(inputWords(line), [](RunControl& control) { return control.start(); });
}

Status input(Terminal& terminal, const CommandLine& line)
{
    if (terminal.isReplay()) return Error(ErrorCode::usage, "a recording has its inputs");
    if (line.text.empty()) return Error(ErrorCode::usage, "input").expected("NAME=SOURCE, as after --input");
    return terminal.setInput(std::string(line.text));
}

Status resume(Terminal& terminal, const CommandLine& line)
{
    LS_TRY(const int64_t count, countOf(line));
    const Direction direction = directionOf(line);
    return terminal.move([=](RunControl& control) { return control.resume(direction, count - 1); }, StopStyle::surroundings);
}

Status step(Terminal& terminal, const CommandLine& line)
{
    LS_TRY(const int64_t count, countOf(line));
    const Direction direction = directionOf(line);
    const StopStyle style = direction == Direction::forward ? StopStyle::step : StopStyle::place;
    const bool over = line.name.ends_with("next");
    return terminal.move([=](RunControl& control) { return over ? control.next(direction, count) : control.step(direction, count); },
                         style);
}

Status finish(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(expectNothing(line));
    const Direction direction = directionOf(line);
    const int depth = terminal.isStarted() ? terminal.frameDepth() : -1;
    return terminal.move([=](RunControl& control) { return control.finish(direction, depth); }, StopStyle::place);
}

Status until(Terminal& terminal, const CommandLine& line)
{
    if (!line.text.empty()) return advance(terminal, line);
    return terminal.move([](RunControl& control) { return control.until(); }, StopStyle::brief);
}

Status advance(Terminal& terminal, const CommandLine& line)
{
    if (line.text.empty())
        return Error(ErrorCode::usage, "no operator is named").at(line.name).expected("an address or pattern, '.../add#3'");
    const std::string pattern(line.text);
    const FrameContext frame = terminal.frame();
    const auto go = [=](RunControl& control) -> Result<StopReport> {
        Result<StopReport> report = control.advance(pattern, frame);
        // An operator that neither this graph nor a caller has: wherever its graph is called from.
        if (report.ok() || report.error().code() != ErrorCode::usage || pattern.find('/') != std::string::npos) return report;
        Result<StopReport> anywhere = control.advance(".../" + pattern, frame);
        return anywhere.ok() ? std::move(anywhere) : std::move(report);
    };
    return terminal.move(go, StopStyle::brief);
}

Status iterate(Terminal& terminal, const CommandLine& line)
{
    const FrameContext frame = terminal.frame();
    if (line.text.empty()) {
        CommandLine topic = line;
        topic.text = "loop";
        return info(terminal, topic);
    }
    if (line.text == "last") return terminal.move([=](RunControl& control) { return control.iterateLast(frame); }, StopStyle::iteration);
    const bool relative = line.text.front() == '+' || line.text.front() == '-';
    LS_TRY(const int64_t number,
           wholeNumber(line.text.front() == '+' ? line.text.substr(1) : line.text, "iter", relative ? -kMost : 0, kMost));
    if (relative) return terminal.move([=](RunControl& control) { return control.iterateBy(number, frame); }, StopStyle::iteration);
    return terminal.move([=](RunControl& control) { return control.iterate(number, frame); }, StopStyle::iteration);
}

Status goTo(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(terminal.checkStarted());
    const std::string text(line.text);
    if (text.empty())
        return Error(ErrorCode::usage, "no place is named").at("goto").expected("ADDRESS, step:N, N%, a mark, start, end or forward");
    const auto go = [&](Terminal::Move move) { return terminal.move(move, StopStyle::place); };
    if (text == "start") return go([](RunControl& control) { return control.goToStart(); });
    if (text == "forward") {
        const FrameContext frame = terminal.frame();
        LS_TRY(const std::optional<ForwardIteration> found,
               terminal.ask([=](Debugger& debugger) { return findForwardIteration(debugger.target(), frame); }));
        if (!found)
            return Error(ErrorCode::usage,
                         "no iteration around this stop takes from a stack, list or array what another loop has put there")
                .at("goto forward");
        return go([tick = found->tick](RunControl& control) { return control.goToTick(tick); });
    }
    if (text == "end") return go([](RunControl& control) { return control.goToEnd(); });
    if (text.starts_with("step:")) {
        LS_TRY(const int64_t step, wholeNumber(std::string_view(text).substr(5), "step", 0, kMost));
        return go([=](RunControl& control) { return control.goToStep(step); });
    }
    if (text.ends_with('%')) {
        double percent = 0;
        const char* end = text.data() + text.size() - 1;
        const auto [at, error] = std::from_chars(text.data(), end, percent);
        if (error != std::errc() || at != end || !(percent >= 0 && percent <= 100))
            return Error(ErrorCode::usage, "goto").found("'" + text + "'").expected("0% to 100%");
        return go([=](RunControl& control) { return control.goToPercent(percent); });
    }
    const bool isMark = terminal.ask([&](Debugger& debugger) {
        for (const Mark& mark : debugger.control().marks())
            if (mark.name == text) return true;
        return false;
    });
    if (isMark) return go([=](RunControl& control) { return control.goToMark(text); });
    const FrameContext frame = terminal.frame();
    LS_TRY(const TypedPlace place, terminal.ask([&](Debugger& debugger) { return resolveTyped(debugger.target(), frame, text); }));
    if (!place.note.empty()) terminal.note(place.note);
    return go([=](RunControl& control) { return control.goTo(place.resolved); });
}

Status back(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(expectNothing(line));
    return terminal.move([](RunControl& control) { return control.back(); }, StopStyle::place);
}

Status forward(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(expectNothing(line));
    return terminal.move([](RunControl& control) { return control.forward(); }, StopStyle::place);
}

} // namespace loopscope::app::terminal
