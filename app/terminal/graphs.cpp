// Commands about TensorFlow graphs with dataflow control: frames, values under way, nodes that can run, dead nodes. They say why they do
// not apply where a model has none.
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"
#include "app/wiring/table.h"
#include "engine/base/text.h"
#include "engine/exec/dataflow_executor.h"

namespace loopscope::app::terminal {

namespace {

std::string framesText(const DataflowView& view)
{
    Table table({"", "", "", ""});
    for (const DataflowFrame& frame : view.frames()) {
        std::string state = groupThousands(frame.ready) + " ready";
        if (frame.missingEnters > 0) state += ", waits for " + std::to_string(frame.missingEnters) + " more to enter";
        if (frame.deferred > 0) state += ", " + std::to_string(frame.deferred) + " values wait for another iteration";
        const bool loop = frame.role == CallRole::frame;
        std::string iterations = loop ? "iteration " + groupThousands(frame.newestIteration) : "";
        if (loop && frame.oldestIteration != frame.newestIteration) iterations += " (since " + groupThousands(frame.oldestIteration) + ")";
        table.add({std::string(static_cast<size_t>(frame.depth) * 2, ' ') + frame.name, iterations, state,
                   loop ? std::to_string(frame.parallelIterations) + " iterations may overlap" : ""});
    }
    return table.rowCount() > 0 ? table.text() : "no frames\n";
}

std::string tokensText(const Model& model, const DataflowView& view)
{
    constexpr size_t kShown = 40;
    Table table({"value", "state", "waits for"});
    const std::vector<DataflowToken> tokens = view.tokens();
    for (size_t i = 0; i < tokens.size() && i < kShown; ++i) {
        std::vector<std::string> waiting;
        for (const OperatorId op : tokens[i].waiting) waiting.push_back(operatorLabelOf(model, tokens[i].graph, op));
        table.add({tokens[i].address, tokens[i].isDead ? "dead" : "live", join(waiting, ", ")});
    }
    if (tokens.empty()) return "no values are under way\n";
    return table.text() + (tokens.size() > kShown ? std::to_string(tokens.size() - kShown) + " more\n" : "");
}

std::string readyText(const DataflowView& view)
{
    std::string out;
    for (const DataflowReady& node : view.ready()) out += "  " + node.address + (node.willBeDead ? "   dead" : "") + "\n";
    return out.empty() ? "nothing is ready\n" : out;
}

/// Nodes that were dead at least once; those that share their numbers on one line from the third on.
std::string deadText(const Model& model, const DataflowView& view)
{
    Table table({"", "", ""});
    for (const DataflowTally& tally : view.tallies()) {
        if (tally.dead == 0) continue;
        std::string when = tally.dead == tally.runs ? "always" : "";
        if (when.empty() && tally.lastLive >= 0) when = "lives last in @" + std::to_string(tally.lastLive);
        if (when.empty() && tally.lastDead >= 0) when = "dead last in @" + std::to_string(tally.lastDead);
        table.add({operatorLabelOf(model, tally.graph, tally.op), groupThousands(tally.dead) + " of " + groupThousands(tally.runs), when});
    }
    return table.rowCount() > 0 ? table.text() : "nothing was dead so far\n";
}

} // namespace

Status version1Graphs(Terminal& terminal, const CommandLine& line)
{
    const std::string name(line.name);
    const auto notHere = [&] {
        return Error(ErrorCode::usage, "'" + name + "' is about TensorFlow graphs with Switch and Merge; this model has none")
            .note("calls and loops: 'bt', 'info loop', 'info frame'");
    };
    if (terminal.model().dialect != Dialect::tf) return notHere();
    LS_CHECK_OK(expectNothing(line));
    LS_CHECK_OK(terminal.checkStarted());
    const std::optional<std::string> text = terminal.ask([&](Debugger& debugger) -> std::optional<std::string> {
        const auto* executor = dynamic_cast<const DataflowExecutor*>(&debugger.executor());
        if (executor == nullptr) return std::nullopt;
        const DataflowView& view = executor->view();
        if (name == "frames") return framesText(view);
        if (name == "tokens") return tokensText(debugger.model(), view);
        if (name == "ready") return readyText(view);
        return deadText(debugger.model(), view);
    });
    if (!text) return notHere();
    terminal.reply(*text);
    return {};
}

} // namespace loopscope::app::terminal
