// Commands that move through the run, forwards and backwards.
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"
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

Status run(Terminal& terminal, const CommandLine& line) { return terminal.carryOut(request::Begin{inputWords(line), true}); }

Status start(Terminal& terminal, const CommandLine& line) { return terminal.carryOut(request::Begin{inputWords(line), false}); }

Status input(Terminal& terminal, const CommandLine& line)
{
    if (terminal.isReplay()) return Error(ErrorCode::usage, "a recording has its inputs");
    if (line.text.empty()) return Error(ErrorCode::usage, "input").expected("NAME=SOURCE, as after --input");
    return terminal.carryOut(request::GiveInput{std::string(line.text)});
}

Status resume(Terminal& terminal, const CommandLine& line)
{
    LS_TRY(const int64_t count, countOf(line));
    return terminal.carryOut(request::Resume{directionOf(line), count});
}

Status step(Terminal& terminal, const CommandLine& line)
{
    LS_TRY(const int64_t count, countOf(line));
    return terminal.carryOut(request::Step{directionOf(line), count, line.name.ends_with("next")});
}

Status finish(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(expectNothing(line));
    return terminal.carryOut(request::Finish{directionOf(line)});
}

Status until(Terminal& terminal, const CommandLine& line)
{
    return line.text.empty() ? terminal.carryOut(request::Until()) : advance(terminal, line);
}

Status advance(Terminal& terminal, const CommandLine& line)
{
    if (line.text.empty())
        return Error(ErrorCode::usage, "no operator is named").at(line.name).expected("an address or pattern, '.../add#3'");
    return terminal.carryOut(request::Advance{std::string(line.text)});
}

Status iterate(Terminal& terminal, const CommandLine& line)
{
    if (line.text.empty()) {
        CommandLine topic = line;
        topic.text = "loop";
        return info(terminal, topic);
    }
    if (line.text == "last") return terminal.carryOut(request::Iterate{request::Iterate::To::last, 0});
    const bool relative = line.text.front() == '+' || line.text.front() == '-';
    LS_TRY(const int64_t number,
           wholeNumber(line.text.front() == '+' ? line.text.substr(1) : line.text, "iter", relative ? -kMost : 0, kMost));
    return terminal.carryOut(request::Iterate{relative ? request::Iterate::To::offset : request::Iterate::To::number, number});
}

Status goTo(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(terminal.checkStarted());
    const std::string text(line.text);
    if (text.empty())
        return Error(ErrorCode::usage, "no place is named")
            .at("goto")
            .expected("ADDRESS, step:N, N%, a mark, start, end, forward or backward");
    if (text == "start") return terminal.carryOut(request::GoToStart());
    if (text == "forward" || text == "backward") return terminal.carryOut(request::GoToPartnerLoop{text == "backward"});
    if (text == "end") return terminal.carryOut(request::GoToEnd());
    if (text.starts_with("step:")) {
        LS_TRY(const int64_t step, wholeNumber(std::string_view(text).substr(5), "step", 0, kMost));
        return terminal.carryOut(request::GoToStep{step});
    }
    if (text.ends_with('%')) {
        double percent = 0;
        const char* end = text.data() + text.size() - 1;
        const auto [at, error] = std::from_chars(text.data(), end, percent);
        if (error != std::errc() || at != end || !(percent >= 0 && percent <= 100))
            return Error(ErrorCode::usage, "goto").found("'" + text + "'").expected("0% to 100%");
        return terminal.carryOut(request::GoToPercent{percent});
    }
    return terminal.carryOut(request::GoToPlace{text});
}

Status back(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(expectNothing(line));
    return terminal.carryOut(request::Back());
}

Status forward(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(expectNothing(line));
    return terminal.carryOut(request::Forward());
}

} // namespace loopscope::app::terminal
