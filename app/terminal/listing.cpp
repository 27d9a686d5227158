// `list`: the model as a short program, with an arrow at the next operator, marks at breakpoints, and the last values in line.
#include "app/terminal/commands.h"
#include "app/terminal/stop_text.h"
#include "app/terminal/terminal.h"
#include "engine/observe/address_names.h"

#include <algorithm>

namespace loopscope::app {

const std::vector<StructuredLine>& ListingView::lines(const Model& model, GraphId root)
{
    if (m_lines.empty()) {
        StructuredOptions options;
        options.root = root;
        m_lines = structuredView(model, options);
    }
    return m_lines;
}

} // namespace loopscope::app

namespace loopscope::app::terminal {

namespace {

constexpr size_t kNowhere = SIZE_MAX;

/// The line of an operator or invocation, whose address may hold iterations. A graph that is called from several places stands at the
/// first of them only: then its own line counts.
size_t lineOf(const std::vector<StructuredLine>& lines, const std::string& address, GraphId graph, OperatorId op)
{
    const std::string place = withoutIterations(address);
    for (size_t i = 0; i < lines.size(); ++i)
        if (lines[i].address == place && lines[i].op == op) return i;
    for (size_t i = 0; i < lines.size(); ++i)
        if (lines[i].graph == graph && lines[i].op == op) return i;
    return kNowhere;
}

struct Shown {
    size_t line = 0;
    int depth = 0; ///< frame that has the operator
    OperatorId op;
};

/// What the listing adds to the lines: arrow, breakpoints, values.
class Page {
public:
    Page(Terminal& terminal, const std::vector<StructuredLine>& lines, size_t first, size_t count) : m_terminal(terminal), m_lines(lines)
    {
        m_first = first;
        m_end = std::min(lines.size(), first + count);
        m_arrow = kNowhere;
        if (!terminal.isStarted() || terminal.stop().stack.empty()) return;
        const int depth = terminal.frameDepth();
        const FrameInfo& frame = terminal.stop().stack[static_cast<size_t>(depth)];
        if (!terminal.stop().report.position.finished)
            m_arrow = lineOf(lines,
                             terminal.stop().frames[static_cast<size_t>(depth)] + "/" +
                                 operatorLabelOf(terminal.model(), frame.graph, frame.next),
                             frame.graph, frame.next);
    }

    Result<std::string> text()
    {
        LS_CHECK_OK(gather());
        std::vector<size_t> rows;
        for (size_t i = m_first; i < m_end; ++i) rows.push_back(i);
        m_terminal.answer().list("lines", rows, [this](Answer& answer, size_t i) {
            const StructuredLine& line = m_lines[i];
            const char mark = markOf(line);
            answer.field("line", static_cast<int64_t>(i))
                .field("depth", line.depth)
                .field("text", line.text)
                .field("address", line.address);
            answer.field("row", line.op.valid() ? std::optional<int64_t>(line.op.index) : std::nullopt).field("next", i == m_arrow);
            answer.field("breakpoint", mark == ' ' ? std::nullopt : std::optional<std::string>(mark == '*' ? "enabled" : "disabled"));
            const auto value = m_values.find(i);
            const bool isThere = value != m_values.end() && value->second.age != OperatorValues::Age::none;
            answer.field("value", isThere ? std::optional(value->second.text) : std::nullopt);
            answer.field("is_current", isThere && value->second.age == OperatorValues::Age::current);
        });
        std::string out;
        for (size_t i = m_first; i < m_end; ++i) {
            const StructuredLine& line = m_lines[i];
            std::string marks = i == m_arrow ? " =>" : "   ";
            const char mark = markOf(line);
            if (i == m_arrow) marks = " " + m_terminal.ink()(Style::location, "=>");
            std::string text = marks + mark + line.text;
            const auto value = m_values.find(i);
            if (value != m_values.end() && value->second.age != OperatorValues::Age::none) {
                const bool current = value->second.age == OperatorValues::Age::current;
                const std::string shown = current ? value->second.text : "before this: " + value->second.text;
                text += "   " + m_terminal.ink()(value->second.abnormal ? Style::bad : current ? Style::plain : Style::faint, shown);
            }
            text.erase(text.find_last_not_of(' ') + 1);
            out += text + "\n";
        }
        return out;
    }

private:
    /// '*' for a breakpoint at the line's operator, 'o' for a disabled one. Patterns (`.../mul#0`) are places, too.
    char markOf(const StructuredLine& line) const
    {
        if (!line.op.valid()) return ' ';
        char mark = ' ';
        for (const auto& [place, enabled] : m_breakpoints) {
            const bool here = place.starts_with(".../") ? line.address.ends_with(place.substr(3)) : place == line.address;
            if (here && mark != '*') mark = enabled ? '*' : 'o';
        }
        return mark;
    }

    Status gather()
    {
        // Which lines belong to frames that are open now.
        std::map<int, std::vector<Shown>> wanted;
        if (m_terminal.isStarted()) {
            const std::vector<std::string>& frames = m_terminal.stop().frames;
            for (size_t i = m_first; i < m_end; ++i) {
                if (!m_lines[i].op.valid()) continue;
                for (int depth = static_cast<int>(frames.size()) - 1; depth >= 0; --depth) {
                    const FrameInfo& frame = m_terminal.stop().stack[static_cast<size_t>(depth)];
                    const std::string own = withoutIterations(frames[static_cast<size_t>(depth)]) + "/" +
                                            operatorLabelOf(m_terminal.model(), m_lines[i].graph, m_lines[i].op);
                    if (m_lines[i].graph != frame.graph || m_lines[i].address != own) continue;
                    wanted[depth].push_back({i, depth, m_lines[i].op});
                    break;
                }
            }
        }
        const int innermost = static_cast<int>(m_terminal.stop().stack.size()) - 1;
        const ValueWriter writer = [format = m_terminal.format()](const Tensor& tensor) { return inlineValue(tensor, format); };
        return m_terminal.ask([&](Inspector& inspector) {
            for (const auto& [depth, shown] : wanted) {
                std::vector<OperatorId> operators;
                for (const Shown& one : shown) operators.push_back(one.op);
                const std::vector<OperatorValues> values = inspector.valuesOf(depth, operators, depth == innermost, writer);
                for (size_t k = 0; k < shown.size(); ++k) m_values[shown[k].line] = values[k];
            }
            for (const BreakpointInfo& info : inspector.breakpoints()) {
                if (info.place.empty()) continue;
                bool& enabled = m_breakpoints[withoutIterations(info.place)];
                enabled = enabled || info.enabled;
            }
        });
    }

    Terminal& m_terminal;
    const std::vector<StructuredLine>& m_lines;
    size_t m_first = 0, m_end = 0, m_arrow = kNowhere;
    std::map<size_t, OperatorValues> m_values;
    std::map<std::string, bool> m_breakpoints; ///< place → enabled
};

} // namespace

Status list(Terminal& terminal, const CommandLine& line)
{
    const std::vector<StructuredLine>& lines = terminal.listing().lines(terminal.model(), terminal.target().graph);
    const auto count = static_cast<size_t>(terminal.options().context);
    size_t first = 0;
    if (line.text == "-") {
        const size_t shown = terminal.listing().isStarted() ? terminal.listing().first() : 0;
        if (shown == 0) return Error(ErrorCode::usage, "this is the top of the listing");
        first = shown - std::min(shown, count);
    } else if (!line.text.empty()) {
        LS_CHECK_OK(terminal.checkStarted());
        const FrameContext frame = terminal.frame();
        LS_TRY(const TypedPlace place, terminal.ask([&](Inspector& inspector) { return inspector.resolve(frame, line.text); }));
        if (!place.note.empty()) terminal.note(place.note);
        Address address = place.resolved.address;
        address.slot = -1;
        if (address.target != TargetKind::invocation && place.resolved.op.valid()) address.target = TargetKind::op;
        const size_t at = lineOf(lines, toString(address), place.resolved.graph, place.resolved.op);
        if (at == kNowhere) return Error(ErrorCode::usage, "not in the listing").at(toString(address));
        first = at - std::min(at, count / 2);
    } else if (terminal.listing().isStarted()) {
        first = terminal.listing().first() + count;
        if (first >= lines.size()) return Error(ErrorCode::usage, "this is the end of the listing");
    } else if (terminal.isStarted() && !terminal.stop().stack.empty()) {
        const auto depth = static_cast<size_t>(terminal.frameDepth());
        const FrameInfo& frame = terminal.stop().stack[depth];
        const size_t at = lineOf(lines, terminal.stop().frames[depth] + "/" + operatorLabelOf(terminal.model(), frame.graph, frame.next),
                                 frame.graph, frame.next);
        if (at != kNowhere) first = at - std::min(at, count / 2);
    }
    terminal.listing().show(first);
    LS_TRY(const std::string text, Page(terminal, lines, first, count).text());
    terminal.reply(text);
    return {};
}

} // namespace loopscope::app::terminal
