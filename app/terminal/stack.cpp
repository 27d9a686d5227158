// Commands about the call stack: backtrace, up, down, frame.
#include "app/output/table.h"
#include "app/terminal/commands.h"
#include "app/terminal/stop_text.h"
#include "app/terminal/terminal.h"
#include "engine/observe/address_names.h"

namespace loopscope::app::terminal {

namespace {

int depthCount(const Terminal& terminal) { return static_cast<int>(terminal.stop().stack.size()); }

/// "while#0@37:body", "else", "main".
std::string frameLabel(Terminal& terminal, int depth)
{
    const FrameInfo& frame = terminal.stop().stack[static_cast<size_t>(depth)];
    if (frame.role == CallRole::main) return terminal.model().graph(frame.graph).id;
    if (frame.role == CallRole::loop || frame.role == CallRole::frame) return lastPart(terminal.stop().frames[static_cast<size_t>(depth)]);
    AddressStep step;
    step.role = stepRole(frame.role, frame.inCond);
    step.branch = frame.branch;
    return roleText(step);
}

void answerFrame(Answer& answer, Terminal& terminal, int depth)
{
    const FrameInfo& frame = terminal.stop().stack[static_cast<size_t>(depth)];
    answer.field("number", depthCount(terminal) - 1 - depth)
        .field("selected", depth == terminal.frameDepth())
        .field("address", terminal.stop().frames[static_cast<size_t>(depth)])
        .field("graph", terminal.model().graph(frame.graph).id)
        .field("next", operatorLabelOf(terminal.model(), frame.graph, frame.next))
        .field("iteration", frame.iteration >= 0 ? std::optional(frame.iteration) : std::nullopt)
        .field("entered_at_step", static_cast<int64_t>(frame.enteredAtStep));
}

/// The frame that commands are about now, and its operator.
Status showFrame(Terminal& terminal)
{
    const int depth = terminal.frameDepth();
    const FrameInfo& frame = terminal.stop().stack[static_cast<size_t>(depth)];
    const bool innermost = depth == depthCount(terminal) - 1;
    std::string text = "#" + std::to_string(depthCount(terminal) - 1 - depth) + "  " + terminal.stop().frames[static_cast<size_t>(depth)];
    text += (innermost ? ", at " : ", in ") + operatorLabelOf(terminal.model(), frame.graph, frame.next) + "\n";
    if (frame.next.valid() && static_cast<size_t>(frame.next.index) < terminal.model().graph(frame.graph).operators.size())
        text += operatorRows({{true, frame.next.index, terminal.lines().of(frame.graph, frame.next), {}}}, terminal.ink(),
                             terminal.settings().width);
    terminal.reply(text);
    terminal.answer().object("frame", [&](Answer& answer) { answerFrame(answer, terminal, depth); });
    return {};
}

Status moveBy(Terminal& terminal, const CommandLine& line, int direction)
{
    LS_CHECK_OK(terminal.checkStarted());
    int64_t count = 1;
    if (!line.text.empty()) {
        LS_TRY(count, wholeNumber(line.text, line.name, 1, INT32_MAX));
    }
    const int64_t wanted = terminal.frameDepth() + direction * count;
    if (terminal.frameDepth() == 0 && direction < 0) return Error(ErrorCode::usage, "this is the outermost frame");
    if (terminal.frameDepth() == depthCount(terminal) - 1 && direction > 0) return Error(ErrorCode::usage, "this is the innermost frame");
    terminal.selectFrame(static_cast<int>(std::max<int64_t>(0, std::min<int64_t>(wanted, depthCount(terminal) - 1))));
    return showFrame(terminal);
}

} // namespace

Status backtrace(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(expectNothing(line));
    LS_CHECK_OK(terminal.checkStarted());
    Table table({"", "", "", ""});
    for (int depth = depthCount(terminal) - 1; depth >= 0; --depth) {
        const FrameInfo& frame = terminal.stop().stack[static_cast<size_t>(depth)];
        const std::string number = (depth == terminal.frameDepth() && depth != depthCount(terminal) - 1 ? "*#" : "#") +
                                   std::to_string(depthCount(terminal) - 1 - depth);
        table.add({number, frameLabel(terminal, depth), operatorLabelOf(terminal.model(), frame.graph, frame.next),
                   "entered at step " + std::to_string(frame.enteredAtStep)});
    }
    terminal.reply(table.text());
    std::vector<int> depths;
    for (int depth = depthCount(terminal) - 1; depth >= 0; --depth) depths.push_back(depth);
    terminal.answer().list("frames", depths, [&](Answer& answer, int depth) { answerFrame(answer, terminal, depth); });
    return {};
}

Status up(Terminal& terminal, const CommandLine& line) { return moveBy(terminal, line, -1); }
Status down(Terminal& terminal, const CommandLine& line) { return moveBy(terminal, line, 1); }

Status frame(Terminal& terminal, const CommandLine& line)
{
    LS_CHECK_OK(terminal.checkStarted());
    if (!line.text.empty()) {
        const int last = depthCount(terminal) - 1;
        LS_TRY(const int64_t number, wholeNumber(line.text, "frame", 0, last));
        terminal.selectFrame(last - static_cast<int>(number));
    }
    return showFrame(terminal);
}

} // namespace loopscope::app::terminal
