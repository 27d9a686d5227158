// Commands that ask about other moments of the run: who wrote a value, when it changes, how it goes over a loop, and why.
#include "app/output/fusion_report.h"
#include "app/terminal/commands.h"
#include "app/terminal/stop_text.h"
#include "app/terminal/terminal.h"
#include "engine/base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

namespace loopscope::app::terminal {

namespace {

constexpr size_t kSparkline = 40;     ///< columns
constexpr size_t kMostNumbers = 1000; ///< in the fields of an answer

/// The typed value; `-g` before or after it asks to go there.
Result<ResolvedAddress> valueNamed(Terminal& terminal, std::string_view text)
{
    const FrameContext frame = terminal.frame();
    LS_TRY(const TypedPlace place, terminal.ask([&](Inspector& inspector) { return inspector.resolve(frame, text); }));
    if (!place.note.empty()) terminal.note(place.note);
    if (!place.resolved.value.valid())
        return Error(ErrorCode::usage, "this is no value").at(toString(place.resolved.address)).expected("a value, as 'acc' or 'add#2:0'");
    return place.resolved;
}

std::string groupedReal(double value)
{
    if (value == std::floor(value) && std::fabs(value) < 1e15) return groupThousands(static_cast<int64_t>(value));
    return realText(value, 5);
}

/// What the line of bars shows of some iterations.
struct Bar {
    double top = -INFINITY; ///< the greatest finite number
    bool abnormal = false;
    void note(double number, bool isWritten)
    {
        if (std::isfinite(number)) top = std::max(top, number);
        else if (isWritten) abnormal = true;
    }
};

/// One character per bucket of iterations: the largest of its numbers, from the smallest to the largest of all.
std::string sparkline(const ValueSeries& series, double low, double high)
{
    constexpr std::array<std::string_view, 8> bars = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const auto all = static_cast<size_t>(series.allIterations());
    if (all == 0) return "";
    const size_t perColumn = (all + kSparkline - 1) / kSparkline;
    std::vector<Bar> columns((all + perColumn - 1) / perColumn);
    for (size_t i = 0; i < series.numbers.size(); ++i) columns[i / perColumn].note(series.numbers[i], series.written[i]);
    const SeriesTail& tail = series.tail;
    for (size_t i = 0; i < tail.greatest().size(); ++i)
        columns[std::min(columns.size() - 1, (series.numbers.size() + i * static_cast<size_t>(tail.bucketLength())) / perColumn)].note(
            tail.greatest()[i], false);
    if (tail.abnormalAt() >= 0) columns[static_cast<size_t>(tail.abnormalAt()) / perColumn].abnormal = true;
    std::string out;
    for (const Bar& bar : columns) {
        if (bar.abnormal) out += "!";
        else if (bar.top == -INFINITY) out += " ";
        else if (high <= low) out += bars[0];
        else out += bars[std::min<size_t>(7, static_cast<size_t>((bar.top - low) / (high - low) * 8))];
    }
    return out;
}

/// Least and greatest of a series, and where it went wrong.
struct SeriesRange {
    double low = INFINITY, high = -INFINITY;
    int64_t highAt = 0, abnormalAt = -1;
    bool isWritten = false;
    double lineLow = INFINITY, lineHigh = -INFINITY; ///< of what the line shows: of tensors their means
};

SeriesRange rangeOf(const ValueSeries& series)
{
    SeriesRange range;
    for (size_t i = 0; i < series.numbers.size(); ++i) {
        const double number = series.numbers[i];
        const TensorStatistics* s = i < series.statistics.size() ? &series.statistics[i] : nullptr;
        if (!series.written[i]) continue;
        const bool abnormal = s != nullptr ? s->nan + s->positiveInf + s->negativeInf > 0 : !std::isfinite(number);
        if (abnormal) {
            if (range.abnormalAt < 0) range.abnormalAt = static_cast<int64_t>(i);
            if (s == nullptr) continue;
        }
        range.isWritten = true;
        const double least = s != nullptr && s->finite > 0 ? s->min : number, most = s != nullptr && s->finite > 0 ? s->max : number;
        if (std::isfinite(least)) range.low = std::min(range.low, least);
        if (std::isfinite(most) && most > range.high) {
            range.high = most;
            range.highAt = static_cast<int64_t>(i);
        }
    }
    for (const double number : series.numbers) {
        if (!std::isfinite(number)) continue;
        range.lineLow = std::min(range.lineLow, number);
        range.lineHigh = std::max(range.lineHigh, number);
    }
    const SeriesTail& tail = series.tail;
    if (range.abnormalAt < 0) range.abnormalAt = tail.abnormalAt();
    if (tail.maxAt() < 0) return range;
    range.isWritten = true;
    range.low = std::min(range.low, tail.min());
    if (tail.max() > range.high) range.highAt = tail.maxAt();
    range.high = std::max(range.high, tail.max());
    range.lineLow = std::min(range.lineLow, tail.min());
    range.lineHigh = std::max(range.lineHigh, tail.max());
    return range;
}

HistoryQuery queryOf(std::string_view name)
{
    if (name == "lastwrite") return HistoryQuery::lastWrite;
    if (name == "lastchange") return HistoryQuery::lastChange;
    if (name == "nextwrite") return HistoryQuery::nextWrite;
    return HistoryQuery::nextChange;
}

} // namespace

Status findWrites(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(terminal.checkStarted());
    std::string name;
    bool travel = false;
    for (const std::string& word : line.words()) {
        if (word == "-g") travel = true;
        else if (name.empty()) name = word;
        else return Error(ErrorCode::usage, "unexpected '" + word + "'").at(line.name).expected("a value, and -g to go there");
    }
    if (name.empty()) return Error(ErrorCode::usage, "no value is named").at(line.name).expected("a value, as 'acc'");
    const HistoryQuery query = queryOf(line.name);
    if (travel) return terminal.carryOut(request::GoToWrite{query, name});
    LS_TRY(const ResolvedAddress value, valueNamed(terminal, name));
    const FrameContext frame = terminal.frame();
    const NumberFormat format = terminal.format();
    struct Found {
        ValueWrite write;
        InlineValue text;
    };
    LS_TRY(const std::optional<Found> found, terminal.ask([&](Inspector& inspector) -> Result<std::optional<Found>> {
        LS_TRY(std::optional<ValueWrite> write, inspector.findWrite(frame, value, query));
        if (!write) return std::optional<Found>();
        InlineValue text;
        if (write->tensor.data != nullptr) text = inlineValue(write->tensor, format);
        return std::optional<Found>({std::move(*write), std::move(text)});
    }));
    const bool backward = query == HistoryQuery::lastWrite || query == HistoryQuery::lastChange;
    const bool change = query == HistoryQuery::lastChange || query == HistoryQuery::nextChange;
    if (!found) terminal.answer().null("address").null("step").null("value").null("origin");
    else
        terminal.answer()
            .field("address", found->write.address)
            .field("step", static_cast<int64_t>(found->write.step))
            .field("value", found->text.text)
            .field("origin", found->write.origin);
    if (!found) {
        terminal.reply(name + (change ? " does not change " : " is not written ") + (backward ? "before here\n" : "after here\n"));
        return {};
    }
    std::string text = terminal.ink()(Style::location, found->write.address);
    if (!found->text.text.empty()) text += " = " + (found->text.abnormal ? terminal.ink()(Style::bad, found->text.text) : found->text.text);
    text += ", step " + std::to_string(found->write.step);
    if (!found->write.origin.empty()) text += "   (" + found->write.origin + ")";
    terminal.reply(text + "\n");
    return {};
}

Status why(Terminal& terminal, const CommandLine& line)
{
    constexpr std::string_view kNotFused = "not fused ";
    if (line.text.starts_with(kNotFused)) {
        LS_TRY(const std::vector<std::string> lines, whyNotFused(terminal.model(), terminal.target(), line.text.substr(kNotFused.size())));
        terminal.reply(join(lines, "\n") + "\n");
        terminal.answer().texts("lines", lines);
        return {};
    }
    LS_CHECK_OK(terminal.checkStarted());
    const FrameContext frame = terminal.frame();
    LS_TRY(const Explanation explanation, terminal.ask([&](Inspector& inspector) { return inspector.why(frame, line.text); }));
    terminal.reply(join(explanation.lines, "\n") + "\n");
    terminal.answer().texts("lines", explanation.lines);
    return {};
}

Status histogram(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(terminal.checkStarted());
    const std::vector<std::string> words = line.words();
    if (words.empty() || words.size() > 2)
        return Error(ErrorCode::usage, "hist").expected("a value, and a loop if not the innermost: 'hist acc while#0'");
    SeriesOptions options;
    if (words.size() > 1) options.loop = words[1];
    const FrameContext frame = terminal.frame();
    const bool isVariable = words[0].starts_with("var:");
    ResolvedAddress value;
    if (!isVariable) {
        LS_TRY(value, valueNamed(terminal, words[0]));
    }
    LS_TRY(const ValueSeries series, terminal.ask([&](Inspector& inspector) {
        return isVariable ? inspector.series(frame, std::string_view(words[0]), options) : inspector.series(frame, value, options);
    }));
    const SeriesRange range = rangeOf(series);
    const int64_t all = series.allIterations();
    const auto known = [](bool isThere, auto value) { return isThere ? std::optional(value) : std::nullopt; };
    const size_t told = std::min(series.numbers.size(), kMostNumbers);
    terminal.answer()
        .field("loop", series.loop)
        .field("iterations", all)
        .field("complete", series.complete)
        .field("is_scalar", series.isScalar)
        .field("min", known(range.high >= range.low, range.low))
        .field("max", known(range.high >= range.low, range.high))
        .field("max_at", known(range.high >= range.low, range.highAt))
        .field("abnormal_at", known(range.abnormalAt >= 0, range.abnormalAt))
        .numbers("numbers", std::span(series.numbers).first(told), series.written);
    std::string text = groupThousands(all) + (all == 1 ? " iteration" : " iterations") + (series.complete ? "" : " so far");
    if (range.high >= range.low)
        text += "  min " + groupedReal(range.low) + "  max " + groupedReal(range.high) + " at " + groupThousands(range.highAt);
    if (!series.isScalar) text += "  (line: mean)";
    if (!range.isWritten && range.abnormalAt < 0) text += "  never written";
    text += "   " + sparkline(series, range.lineLow, range.lineHigh) + "\n";
    if (range.abnormalAt >= 0) text += terminal.ink()(Style::bad, "NaN or infinity first at " + groupThousands(range.abnormalAt)) + "\n";
    terminal.reply(text);
    return {};
}

} // namespace loopscope::app::terminal
