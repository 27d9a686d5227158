// `info TOPIC`: what there is to know at this stop.
#include "app/output/table.h"
#include "app/terminal/commands.h"
#include "app/terminal/stop_text.h"
#include "app/terminal/terminal.h"
#include "app/terminal/value_view.h"
#include "app/wiring/model_summary.h"
#include "engine/api/machine.h"
#include "engine/base/memory_shares.h"
#include "engine/base/swapped_bytes.h"
#include "engine/base/text.h"
#include "engine/ir/frames.h"
#include "engine/ir/stored_constant.h"
#include "engine/observe/address_names.h"

#include <algorithm>

namespace loopscope::app::terminal {

namespace {

struct Topic {
    std::string_view name;
    Result<std::string> (*text)(Terminal& terminal);
    bool needsRun; ///< only at a stop
    std::string_view summary;
};

const Graph& frameGraph(Terminal& terminal)
{
    if (!terminal.isStarted()) return terminal.model().graph(terminal.target().graph);
    return terminal.model().graph(terminal.stop().stack[static_cast<size_t>(terminal.frameDepth())].graph);
}

std::string plural(int64_t count, const std::string& one) { return groupThousands(count) + " " + one + (count == 1 ? "" : "s"); }

/// "name: type = value" lines of values of the selected frame; those that are not there say so.
Result<std::string> valueLines(Terminal& terminal, const std::vector<ValueId>& values)
{
    const Graph& graph = frameGraph(terminal);
    const int depth = terminal.isStarted() ? terminal.frameDepth() : -1;
    const NumberFormat format = terminal.format();
    const bool started = terminal.isStarted();
    return terminal.ask([&](Inspector& inspector) {
        std::string out;
        for (const ValueId id : values) {
            const Value& value = graph.value(id);
            const Tensor* tensor = started ? inspector.value(depth, id) : nullptr;
            if (tensor != nullptr && tensor->data == nullptr && tensor->bytes == 0 && tensor->dtype == DType::unknown) tensor = nullptr;
            const InlineValue shown = tensor != nullptr ? typedInlineValue(*tensor, format) : InlineValue();
            out += "  " + value.id + ": ";
            if (tensor != nullptr) out += shown.abnormal ? terminal.ink()(Style::bad, shown.text) : shown.text;
            else out += shortType(value.type) + "  " + terminal.ink()(Style::faint, absenceText(Absence::notWritten));
            out += "\n";
        }
        return out;
    });
}

Result<std::string> aboutRecord(Terminal& terminal) { return recordingState(terminal); }

Result<std::string> aboutModel(Terminal& terminal)
{
    const ModelSummary summary = summarize(terminal.model());
    std::string out = terminal.session().name() + "\n" + headText(terminal.model().graph(terminal.target().graph)) + "\n";
    out += plural(static_cast<int64_t>(terminal.model().graphs.size()), "graph") + ", " + plural(summary.operatorCount, "operator") + ": " +
           operatorCounts(summary.operators) + "\n";
    for (const ControlFlowLine& line : summary.controlFlow)
        out += "  " + std::string(static_cast<size_t>(line.depth) * 2, ' ') + line.label + "  " + line.text + "\n";
    return out;
}

Result<std::string> aboutGraphs(Terminal& terminal)
{
    Table table({"graph", "inputs", "outputs", "operators"});
    for (size_t column = 1; column < 4; ++column) table.align(column, Align::right);
    for (const Graph& graph : terminal.model().graphs)
        table.add(
            {graph.id, std::to_string(graph.inputs.size()), std::to_string(graph.outputs.size()), std::to_string(graph.operators.size())});
    return table.text();
}

Result<std::string> aboutGraph(Terminal& terminal)
{
    const Graph& graph = frameGraph(terminal);
    return headText(graph) + "\n" + plural(static_cast<int64_t>(graph.operators.size()), "operator") + ", " +
           plural(static_cast<int64_t>(graph.values.size()), "value") + "\n";
}

Result<std::string> aboutOperators(Terminal& terminal)
{
    const Graph& graph = frameGraph(terminal);
    const GraphId id = terminal.model().findGraph(graph.id);
    std::vector<OperatorRow> rows;
    for (size_t i = 0; i < graph.operators.size(); ++i) {
        const OperatorId op(static_cast<int64_t>(i));
        rows.push_back({false, op.index, terminal.lines().of(id, op), {}});
    }
    return rows.empty() ? "no operators\n" : operatorRows(rows, terminal.ink(), terminal.settings().width);
}

Result<std::string> aboutOperator(Terminal& terminal)
{
    const FrameInfo& frame = terminal.stop().stack[static_cast<size_t>(terminal.frameDepth())];
    const Graph& graph = terminal.model().graph(frame.graph);
    if (!frame.next.valid() || static_cast<size_t>(frame.next.index) >= graph.operators.size())
        return std::string("no operator is next here\n");
    const Operator& op = graph.op(frame.next);
    std::string out = operatorLabelOf(terminal.model(), frame.graph, frame.next) + "  " + op.kind.full() + "\n  " +
                      terminal.lines().of(frame.graph, frame.next).text + "\n";
    std::vector<ValueId> operands;
    for (const ValueId id : op.inputs)
        if (id.valid() && std::ranges::find(operands, id) == operands.end()) operands.push_back(id);
    if (!operands.empty()) {
        LS_TRY(const std::string lines, valueLines(terminal, operands));
        out += "inputs\n" + lines;
    }
    if (!op.results.empty()) {
        out += "results\n";
        for (const ValueId id : op.results) out += "  " + graph.value(id).id + ": " + shortType(graph.value(id).type) + "\n";
    }
    for (const Callee& callee : calleesOf(op)) out += callee.role + " " + terminal.model().graph(callee.graph).id + "\n";
    return out;
}

Result<std::string> aboutInputs(Terminal& terminal)
{
    if (!terminal.isStarted()) {
        std::string out;
        for (const Port& port : terminal.target().inputs) out += "  " + port.name + ": " + shortType(port.type) + "\n";
        for (const std::string& source : terminal.session().inputs()) out += "given: " + source + "\n";
        return out.empty() ? std::string("no inputs\n") : out;
    }
    const Graph& graph = terminal.model().graph(terminal.target().graph);
    if (graph.inputs.empty()) return std::string("no inputs\n");
    const NumberFormat format = terminal.format();
    return terminal.ask([&](Inspector& inspector) {
        std::string out;
        for (const Port& port : terminal.target().inputs) {
            const Tensor* tensor = inspector.value(0, port.value);
            out += "  " + port.name + ": " + (tensor != nullptr ? typedInlineValue(*tensor, format).text : shortType(port.type)) + "\n";
        }
        return out;
    });
}

Result<std::string> aboutOutputs(Terminal& terminal)
{
    std::string out;
    if (terminal.isStarted() && terminal.stop().report.position.finished) {
        for (const NamedText& output : terminal.stop().outputs) out += "  " + output.name + ": " + output.text + "\n";
        return out;
    }
    for (const Port& port : terminal.target().outputs) out += "  " + port.name + ": " + shortType(port.type) + "  not written yet\n";
    return out.empty() ? std::string("no outputs\n") : out;
}

Result<std::string> aboutLocals(Terminal& terminal)
{
    const Graph& graph = frameGraph(terminal);
    std::vector<ValueId> values = graph.inputs;
    for (const Operator& op : graph.operators) values.insert(values.end(), op.results.begin(), op.results.end());
    // Frames of a v1 graph share it: what has no value here belongs to others.
    if (terminal.model().dialect == Dialect::tf) {
        const int depth = terminal.frameDepth();
        LS_CHECK_OK(terminal.ask(
            [&](Inspector& inspector) { std::erase_if(values, [&](ValueId id) { return inspector.value(depth, id) == nullptr; }); }));
    }
    LS_TRY(const std::string out, valueLines(terminal, values));
    return out.empty() ? "no values\n" : out;
}

Result<std::string> aboutCarried(Terminal& terminal)
{
    const std::vector<FrameInfo>& stack = terminal.stop().stack;
    for (int depth = terminal.frameDepth(); depth >= 0; --depth) {
        const FrameInfo& frame = stack[static_cast<size_t>(depth)];
        if (frame.role != CallRole::loop) continue;
        const int before = terminal.frameDepth();
        terminal.selectFrame(depth);
        const Result<std::string> lines = valueLines(terminal, terminal.model().graph(frame.graph).inputs);
        terminal.selectFrame(before);
        LS_TRY(const std::string out, lines.ok() ? Result<std::string>(*lines) : Result<std::string>(lines.error().copy()));
        return "carried by " + withoutIterations(terminal.stop().frames[static_cast<size_t>(depth)]) + ", iteration " +
               groupThousands(frame.iteration) + "\n" + out;
    }
    return Error(ErrorCode::usage, "there is no loop around this stop");
}

Result<std::string> aboutVariables(Terminal& terminal)
{
    const NumberFormat format = terminal.format();
    return terminal.ask([&](Inspector& inspector) {
        const MachineState state = inspector.state();
        std::string out;
        for (const auto& [handle, variable] : state.resources.variables()) {
            out += "  resource '" + variable.name + "' -> ";
            if (!variable.assigned) {
                out += "not written yet\n";
                continue;
            }
            Tensor tensor;
            tensor.data = const_cast<std::byte*>(variable.bytes.data());
            tensor.bytes = variable.bytes.size();
            tensor.dtype = variable.dtype;
            tensor.shape = variable.shape;
            out += typedInlineValue(tensor, format).text + "\n";
        }
        for (const auto& [handle, table] : state.resources.tables())
            out += "  table '" + table.name + "' -> " + plural(static_cast<int64_t>(table.entries.size()), "entry") + "\n";
        for (const auto& [graph, saved] : state.variables) {
            Tensor tensor;
            tensor.data = const_cast<std::byte*>(saved.bytes.data());
            tensor.bytes = saved.bytes.size();
            tensor.dtype = saved.dtype;
            tensor.shape = saved.shape;
            const Value& value = inspector.model().graph(graph).value(saved.value);
            tensor.quantization = value.type.quantization.get();
            out += "  " + inspector.model().graph(graph).id + "/" + value.id + ": " + typedInlineValue(tensor, format).text + "\n";
        }
        return out.empty() ? std::string("no variables\n") : out;
    });
}

Result<std::string> aboutConstants(Terminal& terminal)
{
    const Graph& graph = frameGraph(terminal);
    std::string out;
    for (const Value& value : graph.values) {
        if (value.role != ValueRole::constant) continue;
        out += "  " + value.id + ": ";
        const auto count = value.type.shape.hasRank() ? checkedElementCount(value.type.shape) : std::nullopt;
        if (value.constant && value.constant->hasBytes() && !isPacked(value) && count) {
            const Bytes& bytes = value.constant->bytes();
            Tensor tensor;
            tensor.data = const_cast<std::byte*>(bytes.data());
            tensor.bytes = bytes.size();
            tensor.dtype = value.type.dtype;
            tensor.shape = value.type.shape;
            tensor.quantization = value.type.quantization.get();
            out += typedInlineValue(tensor, terminal.format()).text + "\n";
        } else {
            out += shortType(value.type) + "\n";
        }
    }
    return out.empty() ? std::string("no constants\n") : out;
}

Result<std::string> aboutBreakpoints(Terminal& terminal)
{
    LS_TRY(const std::vector<BreakpointInfo> list, terminal.ask([](Inspector& inspector) { return inspector.breakpoints(); }));
    if (list.empty()) return std::string("no breakpoints\n");
    Table table({"", "kind", "what", "hits", "enabled", "cost"});
    table.align(3, Align::right);
    std::string notes;
    for (const BreakpointInfo& info : list) {
        std::string what = info.spec;
        if (!info.condition.empty() && what.find(info.condition) == std::string::npos) what += " if " + info.condition;
        if (info.ignore > 0) what += ", ignores " + std::to_string(info.ignore) + " more";
        table.add({std::to_string(info.number), std::string(commandName(info.command)), what, std::to_string(info.hits),
                   info.enabled ? "yes" : "no", info.cost});
        if (!info.note.empty()) notes += std::to_string(info.number) + ": " + info.note + "\n";
        if (!info.disabledBecause.empty()) notes += std::to_string(info.number) + " is disabled: " + info.disabledBecause + "\n";
        for (const std::string& command : info.commands) notes += std::to_string(info.number) + " runs: " + command + "\n";
    }
    return table.text() + notes;
}

Result<std::string> aboutDisplays(Terminal& terminal)
{
    std::string out;
    for (const DisplayRequest& d : terminal.displays().list()) out += std::to_string(d.number) + ": " + d.expression + "\n";
    return out.empty() ? std::string("no displays\n") : out;
}

Result<std::string> aboutCheckpoints(Terminal& terminal)
{
    return terminal.ask([](Inspector& inspector) {
        const SavedStates saved = inspector.savedStates();
        return plural(static_cast<int64_t>(saved.checkpoints), "checkpoint") + ", " + formatBytes(saved.bytes) +
               " saved; taking them took " + realText(saved.overhead * 100, 2) + " % of the running time\n";
    });
}

Result<std::string> aboutTimelines(Terminal& terminal)
{
    CommandLine line;
    line.name = "timelines";
    LS_CHECK_OK(timelines(terminal, line));
    return std::string();
}

/// "grad/context: iteration 1, 3 variables, 2 invariants": a frame of a v1 graph.
std::string frameLine(Terminal& terminal, int depth)
{
    const FrameInfo& stop = terminal.stop().stack[static_cast<size_t>(depth)];
    const FrameAnalysis frames = analyzeFrames(terminal.model().graph(stop.graph));
    for (const Frame& frame : frames.frames) {
        if (std::ranges::find(frame.enters, stop.site) == frame.enters.end()) continue;
        std::string text = frame.name + ": iteration " + groupThousands(stop.iteration);
        if (frame.isLoop())
            text += ", " + plural(std::ssize(frame.variables), "variable") + ", " + plural(std::ssize(frame.invariants), "invariant");
        return text + "\n";
    }
    return "";
}

/// Of an iteration of a gradient loop: which one of the forward loop it belongs to.
Result<std::string> forwardText(Terminal& terminal)
{
    const FrameContext frame = terminal.frame();
    LS_TRY(const std::optional<ForwardIteration> found,
           terminal.ask([=](Inspector& inspector) { return inspector.forwardIteration(frame); }));
    if (!found) return std::string();
    return "belongs to iteration " + groupThousands(found->iteration) + " of the forward loop: " + found->address + ", where " +
           found->site + " at step " + groupThousands(found->step) +
           (found->popped ? " put what is popped here" : " put what is read here") + "; 'goto forward' goes there\n";
}

Result<std::string> aboutLoop(Terminal& terminal)
{
    const std::vector<FrameInfo>& stack = terminal.stop().stack;
    std::string out;
    for (int depth = terminal.frameDepth(); depth >= 0; --depth) {
        const FrameInfo& frame = stack[static_cast<size_t>(depth)];
        if (frame.role == CallRole::frame) out += frameLine(terminal, depth);
        if (frame.role != CallRole::loop) continue;
        const GraphId caller = stack[static_cast<size_t>(depth) - 1].graph;
        const Model& model = terminal.model();
        LS_TRY(const std::optional<int64_t> trips, terminal.ask([=](Inspector& inspector) { return inspector.knownTrips(depth); }));
        out += operatorLabelOf(model, caller, frame.site) + ": iteration " + groupThousands(frame.iteration);
        if (trips) out += ", " + groupThousands(*trips) + " in this run (known from the pass before)";
        const std::vector<Callee> callees = calleesOf(model.graph(caller).op(frame.site));
        for (const Callee& callee : callees) {
            if (callee.role == "cond") out += ", cond " + model.graph(callee.graph).id;
            if (callee.role != "body") continue;
            const Graph& body = model.graph(callee.graph);
            int64_t invariant = 0;
            for (size_t i = 0; i < std::min(body.inputs.size(), body.outputs.size()); ++i)
                invariant += body.outputs[i].value == body.inputs[i] ? 1 : 0;
            out += ", carried " + std::to_string(body.inputs.size()) + ", invariant " + std::to_string(invariant);
        }
        out += "\n";
    }
    if (out.empty()) return Error(ErrorCode::usage, "there is no loop around this stop");
    LS_TRY(const std::string forward, forwardText(terminal));
    return out + forward;
}

Result<std::string> aboutRaces(Terminal& terminal)
{
    return terminal.ask([](Inspector& inspector) {
        std::string out;
        for (const DataflowRace& race : inspector.races()) out += "step " + groupThousands(race.step) + "  " + race.text + "\n";
        return out.empty() ? "no races so far\n" : out;
    });
}

Result<std::string> aboutFrame(Terminal& terminal)
{
    const auto depth = static_cast<size_t>(terminal.frameDepth());
    const FrameInfo& frame = terminal.stop().stack[depth];
    return "frame " + std::to_string(terminal.stop().stack.size() - 1 - depth) + ": " + terminal.stop().frames[depth] + "\n  graph " +
           terminal.model().graph(frame.graph).id + ", invocation " + std::to_string(frame.invocation) + ", entered at step " +
           std::to_string(frame.enteredAtStep) + "\n  next " + operatorLabelOf(terminal.model(), frame.graph, frame.next) + "\n";
}

/// Where values lie that are kept for long; nothing, where there are none.
std::string keptValues()
{
    std::string out;
    const SwapShares shares = swapShares();
    if (isSwapping())
        out += "elements of stacks, lists and arrays: " + formatBytes(shares.inMemory) + " in memory, " + formatBytes(shares.onDisk) +
               " on disk, which takes " + formatBytes(shares.written) + "\n";
    if (const int64_t device = MemoryShares::all().device.load(); device > 0)
        out += "memory of devices " + formatBytes(static_cast<uint64_t>(device)) + "\n";
    if (const int64_t count = MemoryShares::all().valuesOnRanks.load(); count > 0)
        out += plural(count, "value") + " on other ranks, " + formatBytes(static_cast<uint64_t>(MemoryShares::all().onRanks.load())) + "\n";
    return out;
}

Result<std::string> aboutMemory(Terminal& terminal)
{
    return terminal.ask([](Inspector& inspector) {
        uint64_t live = 0;
        int64_t values = 0;
        for (int depth = 0; depth < inspector.position().depth; ++depth) {
            const Graph& graph = inspector.model().graph(inspector.frame(depth).graph);
            for (size_t i = 0; i < graph.values.size(); ++i) {
                if (graph.values[i].role != ValueRole::result) continue;
                if (const Tensor* tensor = inspector.value(depth, ValueId(static_cast<int64_t>(i)))) {
                    live += tensor->bytes;
                    ++values;
                }
            }
        }
        return plural(values, "computed value") + " on the stack, " + formatBytes(live) + "\nsaved states " +
               formatBytes(inspector.savedStates().bytes) + "\npacked weights " +
               formatBytes(static_cast<uint64_t>(MemoryShares::all().packedWeights.load())) + ", scratch memory of kernels " +
               formatBytes(static_cast<uint64_t>(MemoryShares::all().scratch.load())) + "\n" + keptValues();
    });
}

Result<std::string> aboutTime(Terminal& terminal)
{
    LS_TRY(const std::optional<int64_t> end, terminal.ask([](Inspector& inspector) { return inspector.knownEnd(); }));
    const StopReport& report = terminal.stop().report;
    return "step " + groupThousands(report.position.step) + ", tick " + groupThousands(report.tick) +
           (end ? " of " + groupThousands(*end) : ", the end is not known yet") + ", timeline " + std::to_string(report.timeline) + "\n";
}

Result<std::string> aboutAgainst(Terminal& terminal)
{
    const std::shared_ptr<const Reference> reference = terminal.session().reference();
    if (!reference) return Error(ErrorCode::usage, "there is no reference run; use --against");
    std::string out = reference->name() + ": " + reference->pairingText() + "\n";
    for (const std::string& address : reference->pairing().unpaired) out += "  " + address + "   pairs with nothing\n";
    return out;
}

Result<std::string> aboutDevices(Terminal&) { return std::string("cpu\n"); }

constexpr std::array kTopics = {
    Topic{"model", aboutModel, false, "the model: signature, operators, control flow"},
    Topic{"graphs", aboutGraphs, false, "its graphs"},
    Topic{"graph", aboutGraph, false, "the graph of this frame"},
    Topic{"operators", aboutOperators, false, "operators of this graph"},
    Topic{"operator", aboutOperator, true, "the next operator with its inputs"},
    Topic{"inputs", aboutInputs, false, "inputs of the run"},
    Topic{"outputs", aboutOutputs, false, "outputs of the run"},
    Topic{"locals", aboutLocals, true, "all values of this frame"},
    Topic{"carried", aboutCarried, true, "carried values of the innermost loop"},
    Topic{"variables", aboutVariables, false, "variables and tables of the session"},
    Topic{"constants", aboutConstants, false, "constants of this graph"},
    Topic{"breakpoints", aboutBreakpoints, false, "breakpoints, watches and log points with their hits"},
    Topic{"displays", aboutDisplays, false, "what is shown at each stop"},
    Topic{"checkpoints", aboutCheckpoints, true, "what going back is kept ready with"},
    Topic{"timelines", aboutTimelines, true, "courses of events, one for each edit"},
    Topic{"loop", aboutLoop, true, "the loops around this stop"},
    Topic{"frame", aboutFrame, true, "this invocation"},
    Topic{"races", aboutRaces, true, "what the run so far has left to chance"},
    Topic{"memory", aboutMemory, true, "bytes that values and saved states take"},
    Topic{"time", aboutTime, true, "where the run stands"},
    Topic{"against", aboutAgainst, false, "the reference run, and what pairs with nothing"},
    Topic{"record", aboutRecord, false, "what is recorded"},
    Topic{"devices", aboutDevices, false, "where operators run"},
};

} // namespace

std::vector<std::string> infoTopics()
{
    std::vector<std::string> names;
    for (const Topic& topic : kTopics) names.emplace_back(topic.name);
    return names;
}

namespace {

/// `info line [PLACE]`: where a place stands in the listing and in the file.
Status aboutLine(Terminal& terminal, std::string_view text)
{
    LS_CHECK_OK(terminal.checkStarted());
    const FrameContext frame = terminal.frame();
    LS_TRY(const TypedPlace place,
           terminal.ask([&](Inspector& inspector) { return inspector.resolve(frame, text.empty() ? std::string_view(".") : text); }));
    OperatorId op = place.resolved.op;
    if (text.empty()) op = terminal.stop().stack[static_cast<size_t>(terminal.frameDepth())].next;
    const Graph& graph = terminal.model().graph(place.resolved.graph);
    if (!op.valid() || static_cast<size_t>(op.index) >= graph.operators.size())
        return Error(ErrorCode::usage, "no operator stands there").at(toString(place.resolved.address));
    std::string out =
        "row " + std::to_string(op.index) + " of " + graph.id + ": " + terminal.lines().of(place.resolved.graph, op).text + "\n";
    for (const std::string& origin : graph.op(op).origin) out += "  from " + origin + "\n";
    terminal.reply(out);
    terminal.answer()
        .field("topic", "line")
        .field("row", static_cast<int64_t>(op.index))
        .field("graph", graph.id)
        .field("text", terminal.lines().of(place.resolved.graph, op).text)
        .texts("origin", graph.op(op).origin);
    return {};
}

} // namespace

Status info(Terminal& terminal, const CommandLine& line)
{
    if (line.text == "line" || line.text.starts_with("line ")) {
        const size_t begin = line.text.find_first_not_of(' ', 4);
        return aboutLine(terminal, begin == std::string_view::npos ? std::string_view() : line.text.substr(begin));
    }
    if (line.text.empty()) {
        std::string out;
        for (const Topic& topic : kTopics) {
            std::string name(topic.name);
            name.resize(14, ' ');
            out += "info " + name + std::string(topic.summary) + "\n";
        }
        terminal.reply(out);
        terminal.answer().null("topic").texts("topics", infoTopics());
        return {};
    }
    const Topic* found = nullptr;
    size_t matches = 0;
    for (const Topic& topic : kTopics) {
        if (topic.name == line.text) {
            found = &topic;
            matches = 1;
            break;
        }
        if (topic.name.starts_with(line.text)) {
            found = &topic;
            ++matches;
        }
    }
    if (matches != 1)
        return Error(ErrorCode::usage,
                     (matches == 0 ? "info knows nothing about '" : "info: several things begin with '") + std::string(line.text) + "'")
            .nearest(nearestNames(line.text, infoTopics()))
            .note("topics: " + join(infoTopics(), " "));
    if (found->needsRun) LS_CHECK_OK(terminal.checkStarted());
    terminal.answer().field("topic", found->name);
    LS_TRY(const std::string text, found->text(terminal));
    if (!text.empty()) terminal.reply(text);
    return answerInfo(terminal, found->name);
}

} // namespace loopscope::app::terminal
