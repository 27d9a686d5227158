// Commands about TensorFlow graphs with dataflow control: frames, values under way, nodes that can run, dead nodes. They say why they do
// not apply where a model has none.
#include "app/output/table.h"
#include "app/terminal/commands.h"
#include "app/terminal/terminal.h"
#include "engine/base/text.h"
#include "engine/ir/frames.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace loopscope::app::terminal {

namespace {

/// Frames that are open; graphs only where something in them can run.
std::string framesText(const DataflowView& view)
{
    Table table({"", "", ""});
    const std::vector<DataflowFrame> frames = view.frames();
    for (const DataflowFrame& frame : frames) {
        const bool loop = frame.role == CallRole::frame;
        if (!loop && frame.ready == 0 && frames.size() > 1) continue;
        std::string state = groupThousands(frame.ready) + " ready";
        if (frame.missingEnters > 0) state += ", waits for " + std::to_string(frame.missingEnters) + " more to enter";
        if (frame.deferred > 0) state += ", " + std::to_string(frame.deferred) + " values wait for another iteration";
        std::string iterations = loop ? "iteration " + groupThousands(frame.newestIteration) : "";
        if (loop && frame.oldestIteration != frame.newestIteration) iterations += " (since " + groupThousands(frame.oldestIteration) + ")";
        if (loop && frame.parallelIterations > 1) state += ", " + std::to_string(frame.parallelIterations) + " iterations may overlap";
        table.add({std::string(static_cast<size_t>(std::max(frame.depth - 1, 0)) * 2, ' ') + frame.name, iterations, state});
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

/// The LoopCond of the frame that a node runs in; invalid: none.
OperatorId conditionOf(const FrameAnalysis& analysis, OperatorId op)
{
    return analysis.frames[static_cast<size_t>(analysis.frameOf[static_cast<size_t>(op.index)])].condition;
}

/// Nodes that were dead at least once: those that never lived, those that live in one iteration only, others; on one line those that died
/// with the loop.
std::string deadText(const Model& model, const DataflowView& view)
{
    constexpr size_t kFewest = 3; ///< that make a line together
    std::map<GraphId, FrameAnalysis> analyses;
    std::map<std::tuple<GraphId, OperatorId, int64_t>, std::vector<DataflowTally>> ended; ///< by LoopCond and iterations
    std::vector<std::vector<std::string>> always, once, others;
    for (const DataflowTally& tally : view.tallies()) {
        if (tally.dead == 0) continue;
        auto analysis = analyses.find(tally.graph);
        if (analysis == analyses.end()) analysis = analyses.emplace(tally.graph, analyzeFrames(model.graph(tally.graph))).first;
        const std::string count = groupThousands(tally.dead) + " of " + groupThousands(tally.runs);
        const auto row = [&](const std::string& when) { return std::vector{operatorLabelOf(model, tally.graph, tally.op), count, when}; };
        if (tally.dead == tally.runs) {
            always.push_back(row("always"));
        } else if (tally.runs - tally.dead == 1 && tally.lastLive == tally.runs - 1) {
            once.push_back(row("lives in @" + std::to_string(tally.lastLive) + ", when the loop ends"));
        } else if (const OperatorId condition = conditionOf(analysis->second, tally.op);
                   condition.valid() && tally.dead == 1 && tally.lastDead == tally.runs - 1) {
            ended[{tally.graph, condition, tally.runs}].push_back(tally);
        } else {
            std::string when = tally.lastLive >= 0 ? "lives last in @" + std::to_string(tally.lastLive) : "";
            if (when.empty() && tally.lastDead >= 0) when = "dead last in @" + std::to_string(tally.lastDead);
            others.push_back(row(when));
        }
    }
    Table table({"", "", ""});
    table.align(1, Align::right);
    for (const auto* rows : {&always, &once, &others})
        for (const std::vector<std::string>& row : *rows) table.add(row);
    const bool isFirst = table.rowCount() == 0;
    for (const auto& [key, tallies] : ended) {
        const auto& [graph, condition, runs] = key;
        const std::string count = "1 of " + groupThousands(runs);
        const std::string when =
            "only in @" + std::to_string(runs - 1) + ", after " + operatorLabelOf(model, graph, condition) + " = false";
        if (tallies.size() >= kFewest) table.add({groupThousands(std::ssize(tallies)) + (isFirst ? " nodes" : " others"), count, when});
        else
            for (const DataflowTally& tally : tallies) table.add({operatorLabelOf(model, graph, tally.op), count, when});
    }
    return table.rowCount() > 0 ? table.text() : "nothing was dead so far\n";
}

void answerFlow(Answer& answer, std::string_view name, const Model& model, const DataflowView& view)
{
    if (name == "frames")
        answer.list("frames", view.frames(), [](Answer& out, const DataflowFrame& frame) {
            out.field("name", frame.name).field("address", frame.address).field("depth", frame.depth).field("ready", frame.ready);
            out.field("oldest_iteration", frame.oldestIteration).field("newest_iteration", frame.newestIteration);
            out.field("parallel_iterations", frame.parallelIterations).field("deferred", frame.deferred);
        });
    else if (name == "tokens")
        answer.list("tokens", view.tokens(), [&](Answer& out, const DataflowToken& token) {
            std::vector<std::string> waiting;
            for (const OperatorId op : token.waiting) waiting.push_back(operatorLabelOf(model, token.graph, op));
            out.field("address", token.address).field("dead", token.isDead).texts("waits_for", waiting);
        });
    else if (name == "ready")
        answer.list("ready", view.ready(),
                    [](Answer& out, const DataflowReady& node) { out.field("address", node.address).field("dead", node.willBeDead); });
    else
        answer.list("dead", view.tallies(), [&](Answer& out, const DataflowTally& tally) {
            out.field("node", operatorLabelOf(model, tally.graph, tally.op)).field("dead", tally.dead).field("runs", tally.runs);
        });
}

} // namespace

Status order(Terminal& terminal, const CommandLine& line)
{
    int64_t seed = 0;
    if (line.text != "arrival") {
        LS_TRY(seed, wholeNumber(line.text, "order", 1, INT64_MAX));
    }
    return terminal.carryOut(request::SetOrder{static_cast<uint64_t>(seed)});
}

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
    LS_TRY(const std::optional<std::string> text, terminal.ask([&](Inspector& inspector) -> std::optional<std::string> {
        if (inspector.dataflow() == nullptr) return std::nullopt;
        const DataflowView& view = *inspector.dataflow();
        answerFlow(terminal.answer(), name, inspector.model(), view);
        if (name == "frames") return framesText(view);
        if (name == "tokens") return tokensText(inspector.model(), view);
        if (name == "ready") return readyText(view);
        return deadText(inspector.model(), view);
    }));
    if (!text) return notHere();
    terminal.reply(*text);
    return {};
}

} // namespace loopscope::app::terminal
