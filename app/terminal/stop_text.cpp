#include "app/terminal/stop_text.h"

#include "app/output/table.h"

#include <algorithm>

namespace loopscope::app {

namespace {

constexpr size_t kLines = 12; ///< of a stop
constexpr size_t kChanges = 5;
constexpr size_t kWidestText = 72; ///< wider operators do not move the columns

std::string padded(std::string text, size_t width)
{
    const size_t used = displayWidth(text);
    if (used < width) text.append(width - used, ' ');
    return text;
}

/// "step done" is what the user asked for and goes without saying.
std::string reasonsText(const StopView& view)
{
    std::string text;
    bool open = true; // the last reason is a plain word: the place follows after a colon
    for (const StopReason& reason : view.report.reasons) {
        if (reason.cause == StopCause::stepDone || reason.cause == StopCause::finished) continue;
        if (reason.cause == StopCause::returned && view.report.position.finished) continue; // the end of the run says more
        const std::string one = toString(reason);
        text += (text.empty() ? "" : "; ") + one;
        open = one.find(": ") == std::string::npos;
    }
    if (text.empty()) return text;
    return text + (open ? ": " : "; ");
}

/// "after main/fully_connected#1": the operator whose result differs is the one that has just run.
std::string writerText(const StopView& view, OperatorLines& lines)
{
    const FrameInfo& frame = view.stack.back();
    if (frame.next.index < 1) return "before " + view.report.address;
    return "after " + view.frames.back() + "/" + operatorLabelOf(lines.model(), frame.graph, OperatorId(frame.next.index - 1));
}

std::string headText(const StopView& view, OperatorLines& lines, const Ink& ink)
{
    const StopReport& report = view.report;
    if (report.reasons.size() == 1 && report.has(StopCause::differs) && !view.stack.empty())
        return "differs from reference: " + ink(Style::location, writerText(view, lines)) + ", step " +
               std::to_string(report.position.step) + "\n  " + report.reasons.front().text;
    const std::string step = ", step " + std::to_string(report.position.step);
    const bool failed = report.has(StopCause::error);
    if (report.position.finished) {
        const std::string reasons = reasonsText(view);
        std::string text = reasons + "finished" + step;
        if (view.outputs.size() == 1) {
            const NamedText& output = view.outputs.front();
            text += "     " + output.name + ": " + (output.abnormal ? ink(Style::bad, output.text) : output.text);
        }
        return text;
    }
    const std::string reasons = reasonsText(view);
    std::string text = (failed ? ink(Style::bad, reasons) : reasons) + ink(Style::location, report.address) + step;
    std::string values;
    for (const NamedText& value : view.returned) values += (values.empty() ? "" : ", ") + value.name + " = " + value.text;
    for (const NamedText& value : view.operands) values += (values.empty() ? "" : ", ") + value.name + " " + value.text;
    if (!values.empty()) text += "     " + values;
    if (view.isDead) text += "     dead";
    return text;
}

} // namespace

std::string cutMiddle(const std::string& text, size_t width)
{
    if (width < 8 || displayWidth(text) <= width) return text;
    const size_t keep = width - 1;
    const size_t head = keep - keep / 2;
    std::string out;
    size_t column = 0;
    const size_t total = displayWidth(text);
    for (size_t i = 0; i < text.size(); ++i) {
        const bool starts = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
        if (starts) {
            if (column == head) out += "…";
            ++column;
        }
        if (column <= head || column > total - keep / 2) out += text[i];
    }
    return out;
}

std::string operatorRows(const std::vector<OperatorRow>& rows, const Ink& ink, int width)
{
    size_t names = 0, texts = 0, types = 0, digits = 1;
    std::vector<std::pair<std::string, std::string>> parts; // left and right of " = "
    for (const OperatorRow& row : rows) {
        const size_t equals = row.line.text.find(" = ");
        parts.emplace_back(equals == std::string::npos ? "" : row.line.text.substr(0, equals),
                           equals == std::string::npos ? row.line.text : row.line.text.substr(equals + 3));
        names = std::max(names, displayWidth(parts.back().first));
        types = std::max(types, displayWidth(row.line.type));
        digits = std::max(digits, std::to_string(row.number).size());
    }
    if (names > 24) names = 0; // long names: no column
    std::vector<std::string> lines;
    for (auto& [name, rest] : parts) lines.push_back(name.empty() ? rest : padded(name, names) + " = " + rest);
    const size_t room = width > 0 ? std::max<size_t>(24, static_cast<size_t>(width) * 3 / 5) : kWidestText;
    for (std::string& line : lines) {
        if (width > 0) line = cutMiddle(line, room);
        if (displayWidth(line) <= kWidestText) texts = std::max(texts, displayWidth(line));
    }
    std::string out;
    for (size_t i = 0; i < rows.size(); ++i) {
        const OperatorRow& row = rows[i];
        const std::string number = std::to_string(row.number);
        std::string line = (row.next ? " " + ink(Style::location, "=>") + " " : "    ") + std::string(digits - number.size(), ' ') +
                           number + "   " + padded(lines[i], texts) + "   " + padded(row.line.type, types);
        if (row.values.age != OperatorValues::Age::none) {
            const bool current = row.values.age == OperatorValues::Age::current;
            std::string value = current ? row.values.text : "before this: " + row.values.text;
            if (width > 0) value = cutMiddle(value, std::max<size_t>(20, static_cast<size_t>(width) / 2));
            line += "   " + (row.values.abnormal ? ink(Style::bad, value) : current ? value : ink(Style::faint, value));
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out += line + "\n";
    }
    return out;
}

std::string stopText(const StopView& view, OperatorLines& lines, const Ink& ink, int width)
{
    std::vector<std::string> out = {headText(view, lines, ink)};
    for (const NamedText& value : view.written)
        out.push_back(ink(Style::changed, "*") + " " + value.name + "  -> " + (value.abnormal ? ink(Style::bad, value.text) : value.text));
    // Within an invocation the place is clear: a step says what it wrote and what comes next.
    if (view.style == StopStyle::step && !view.written.empty() && view.report.reasons.size() <= 1) out.erase(out.begin());
    if (view.outputs.size() > 1)
        for (const NamedText& output : view.outputs)
            out.push_back("  " + output.name + ": " + (output.abnormal ? ink(Style::bad, output.text) : output.text));

    std::vector<OperatorRow> rows;
    if (!view.stack.empty()) {
        const FrameInfo& frame = view.stack.back();
        for (const OperatorValues& values : view.operators)
            rows.push_back({values.op == frame.next, values.op.index, lines.of(frame.graph, values.op), values});
    }
    const std::string listing = operatorRows(rows, ink, width);
    for (size_t at = 0; at < listing.size();) {
        const size_t end = listing.find('\n', at);
        out.push_back(listing.substr(at, end - at));
        at = end + 1;
    }

    size_t left = 0;
    size_t shown = 0;
    for (const ChangedValue& change : view.changed) {
        if (++shown > kChanges) {
            ++left;
            continue;
        }
        out.push_back(ink(Style::changed, "*") + " " + change.name + "  " + change.before + " → " +
                      (change.abnormal ? ink(Style::bad, change.after) : ink(Style::changed, change.after)));
    }
    for (const ShownDisplay& display : view.displays)
        out.push_back(std::to_string(display.number) + ": " + display.expression +
                      (display.failed ? "  " + ink(Style::faint, display.text) : " = " + display.text));
    if (out.size() + (left > 0 ? 1 : 0) > kLines) {
        left += out.size() - (kLines - 1);
        out.resize(kLines - 1);
    }
    std::string text;
    for (const std::string& line : out) text += line + "\n";
    if (left > 0) text += ink(Style::faint, std::to_string(left) + " more") + "\n";
    return text;
}

} // namespace loopscope::app
