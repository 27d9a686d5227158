// The fields of `info TOPIC`: what its text says, for programs.
#include "app/terminal/commands.h"
#include "app/terminal/stop_text.h"
#include "app/terminal/terminal.h"
#include "engine/api/machine.h"
#include "engine/base/memory_shares.h"
#include "engine/base/swapped_bytes.h"
#include "engine/ir/stored_constant.h"
#include "engine/observe/address_names.h"

#include <algorithm>

namespace loopscope::app::terminal {

namespace {

const FrameInfo* frameHere(Terminal& terminal)
{
    if (!terminal.isStarted() || terminal.stop().stack.empty()) return nullptr;
    return &terminal.stop().stack[static_cast<size_t>(terminal.frameDepth())];
}

GraphId graphHere(Terminal& terminal)
{
    const FrameInfo* const frame = frameHere(terminal);
    return frame ? frame->graph : terminal.target().graph;
}

/// Values of the frame at `depth`, as far as they are there.
Status answerValues(Terminal& terminal, std::string_view key, int depth, const Graph& graph, const std::vector<ValueId>& values)
{
    const NumberFormat format = terminal.format();
    const bool isStarted = terminal.isStarted();
    return terminal.ask([&](Inspector& inspector) {
        terminal.answer().list(key, values, [&](Answer& answer, ValueId id) {
            const Tensor* tensor = isStarted ? inspector.value(depth, id) : nullptr;
            const Value& value = graph.value(id);
            const bool isThere = tensor != nullptr && tensor->data != nullptr;
            answer.named(value.id, value.type, isThere ? std::optional(inlineValue(*tensor, format).text) : std::nullopt);
        });
    });
}

std::vector<ValueId> localsOf(const Graph& graph)
{
    std::vector<ValueId> values = graph.inputs;
    for (const Operator& op : graph.operators) values.insert(values.end(), op.results.begin(), op.results.end());
    return values;
}

void graphFields(Answer& answer, const Graph& graph)
{
    answer.field("graph", graph.id)
        .field("inputs", std::ssize(graph.inputs))
        .field("outputs", std::ssize(graph.outputs))
        .field("operators", std::ssize(graph.operators));
}

void operatorFields(Answer& answer, const Model& model, GraphId graph, OperatorId op)
{
    answer.field("row", static_cast<int64_t>(op.index)).field("name", operatorLabelOf(model, graph, op));
    answer.field("kind", model.graph(graph).op(op).kind.full());
}

std::vector<OperatorId> operatorsOf(const Graph& graph)
{
    std::vector<OperatorId> all;
    for (size_t i = 0; i < graph.operators.size(); ++i) all.emplace_back(static_cast<int64_t>(i));
    return all;
}

Status aboutModel(Terminal& terminal)
{
    terminal.answer().field("model", terminal.session().name()).list("graphs", terminal.model().graphs, graphFields);
    return {};
}

Status aboutGraph(Terminal& terminal)
{
    terminal.answer().list("graphs", std::vector{graphHere(terminal)},
                           [&](Answer& answer, GraphId id) { graphFields(answer, terminal.model().graph(id)); });
    return {};
}

Status aboutOperators(Terminal& terminal)
{
    const GraphId graph = graphHere(terminal);
    terminal.answer().list("operators", operatorsOf(terminal.model().graph(graph)),
                           [&](Answer& answer, OperatorId op) { operatorFields(answer, terminal.model(), graph, op); });
    return {};
}

Status aboutOperator(Terminal& terminal)
{
    const FrameInfo& frame = *frameHere(terminal);
    const Graph& graph = terminal.model().graph(frame.graph);
    std::vector<OperatorId> next;
    std::vector<ValueId> operands;
    if (frame.next.valid() && static_cast<size_t>(frame.next.index) < graph.operators.size()) {
        next.push_back(frame.next);
        for (const ValueId id : graph.op(frame.next).inputs)
            if (id.valid()) operands.push_back(id);
    }
    terminal.answer().list("operators", next,
                           [&](Answer& answer, OperatorId op) { operatorFields(answer, terminal.model(), frame.graph, op); });
    return answerValues(terminal, "values", terminal.frameDepth(), graph, operands);
}

Status aboutPorts(Terminal& terminal, const std::vector<Port>& ports)
{
    const NumberFormat format = terminal.format();
    const bool isStarted = terminal.isStarted();
    return terminal.ask([&](Inspector& inspector) {
        terminal.answer().list("values", ports, [&](Answer& answer, const Port& port) {
            const Tensor* const tensor = isStarted ? inspector.value(0, port.value) : nullptr;
            const bool isThere = tensor != nullptr && tensor->data != nullptr;
            answer.named(port.name, port.type, isThere ? std::optional(inlineValue(*tensor, format).text) : std::nullopt);
        });
    });
}

Status aboutCarried(Terminal& terminal)
{
    for (int depth = terminal.frameDepth(); depth >= 0; --depth) {
        const FrameInfo& frame = terminal.stop().stack[static_cast<size_t>(depth)];
        if (frame.role != CallRole::loop) continue;
        const Graph& graph = terminal.model().graph(frame.graph);
        terminal.answer().field("iteration", frame.iteration);
        return answerValues(terminal, "values", depth, graph, graph.inputs);
    }
    return {};
}

Status aboutVariables(Terminal& terminal)
{
    const NumberFormat format = terminal.format();
    return terminal.ask([&](Inspector& inspector) {
        struct Shown {
            std::string name;
            Tensor tensor;
            bool isThere;
        };
        std::vector<Shown> all;
        const MachineState state = inspector.state();
        const auto tensorOf = [](const auto& saved) {
            Tensor tensor;
            tensor.data = const_cast<std::byte*>(saved.bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read from here
            tensor.bytes = saved.bytes.size();
            tensor.dtype = saved.dtype;
            tensor.shape = saved.shape;
            return tensor;
        };
        for (const auto& [handle, variable] : state.resources.variables())
            all.push_back({variable.name, variable.assigned ? tensorOf(variable) : Tensor(), variable.assigned});
        for (const auto& [graph, saved] : state.variables)
            all.push_back(
                {inspector.model().graph(graph).id + "/" + inspector.model().graph(graph).value(saved.value).id, tensorOf(saved), true});
        terminal.answer().list("values", all, [&](Answer& answer, const Shown& shown) {
            answer.named(shown.name, TensorType(shown.tensor.dtype, shown.tensor.shape),
                         shown.isThere ? std::optional(inlineValue(shown.tensor, format).text) : std::nullopt);
        });
    });
}

Status aboutConstants(Terminal& terminal)
{
    std::vector<Value> constants;
    for (const Value& value : terminal.model().graph(graphHere(terminal)).values)
        if (value.role == ValueRole::constant) constants.push_back(value);
    terminal.answer().list("values", constants, [&](Answer& answer, const Value& value) {
        const auto count = value.type.shape.hasRank() ? checkedElementCount(value.type.shape) : std::nullopt;
        const bool isThere = value.constant && value.constant->hasBytes() && !isPacked(value) && count;
        Tensor tensor;
        tensor.dtype = value.type.dtype;
        tensor.shape = value.type.shape;
        tensor.quantization = value.type.quantization.get();
        if (isThere) {
            const Bytes& bytes = value.constant->bytes();
            tensor.data = const_cast<std::byte*>(bytes.data()); // NOLINT(cppcoreguidelines-pro-type-const-cast): only read from here
            tensor.bytes = bytes.size();
        }
        answer.named(value.id, value.type, isThere ? std::optional(inlineValue(tensor, terminal.format()).text) : std::nullopt);
    });
    return {};
}

Status aboutLoop(Terminal& terminal)
{
    std::vector<int> depths;
    for (int depth = terminal.frameDepth(); depth >= 0; --depth) {
        const CallRole role = terminal.stop().stack[static_cast<size_t>(depth)].role;
        if (role == CallRole::loop || role == CallRole::frame) depths.push_back(depth);
    }
    return terminal.ask([&](Inspector& inspector) {
        terminal.answer().list("loops", depths, [&](Answer& answer, int depth) {
            const FrameInfo& frame = terminal.stop().stack[static_cast<size_t>(depth)];
            answer.field("address", terminal.stop().frames[static_cast<size_t>(depth)]).field("iteration", frame.iteration);
            answer.field("trips", frame.role == CallRole::loop ? inspector.knownTrips(depth) : std::nullopt);
        });
    });
}

Status aboutFrame(Terminal& terminal)
{
    const auto depth = static_cast<size_t>(terminal.frameDepth());
    const FrameInfo& frame = terminal.stop().stack[depth];
    terminal.answer()
        .field("number", static_cast<int64_t>(terminal.stop().stack.size() - 1 - depth))
        .field("address", terminal.stop().frames[depth])
        .field("graph", terminal.model().graph(frame.graph).id)
        .field("next", operatorLabelOf(terminal.model(), frame.graph, frame.next))
        .field("entered_at_step", static_cast<int64_t>(frame.enteredAtStep));
    return {};
}

Status aboutSaved(Terminal& terminal)
{
    return terminal.ask([&](Inspector& inspector) {
        const SavedStates saved = inspector.savedStates();
        terminal.answer().field("checkpoints", static_cast<int64_t>(saved.checkpoints)).field("bytes", static_cast<int64_t>(saved.bytes));
        terminal.answer()
            .field("packed_weights", MemoryShares::all().packedWeights.load())
            .field("scratch", MemoryShares::all().scratch.load());
        const SwapShares shares = swapShares();
        terminal.answer()
            .field("kept_in_memory", static_cast<int64_t>(shares.inMemory))
            .field("kept_on_disk", static_cast<int64_t>(shares.onDisk))
            .field("kept_file", static_cast<int64_t>(shares.written))
            .field("device", MemoryShares::all().device.load());
    });
}

Status aboutTime(Terminal& terminal)
{
    LS_TRY(const std::optional<int64_t> end, terminal.ask([](Inspector& inspector) { return inspector.knownEnd(); }));
    const StopReport& report = terminal.stop().report;
    terminal.answer().field("step", static_cast<int64_t>(report.position.step)).field("tick", static_cast<int64_t>(report.tick));
    terminal.answer().field("end_tick", end).field("timeline", report.timeline);
    return {};
}

Status aboutRaces(Terminal& terminal)
{
    return terminal.ask([&](Inspector& inspector) {
        terminal.answer().list("races", inspector.races(), [](Answer& answer, const DataflowRace& race) {
            answer.field("step", static_cast<int64_t>(race.step)).field("text", race.text);
        });
    });
}

Status aboutAgainst(Terminal& terminal)
{
    const std::shared_ptr<const Reference> reference = terminal.session().reference();
    if (!reference) return {};
    const PairingSummary& pairing = reference->pairing();
    terminal.answer().field("name", reference->name()).field("paired", pairing.paired).field("total", pairing.total);
    terminal.answer().texts("unpaired", pairing.unpaired);
    return {};
}

} // namespace

Status answerInfo(Terminal& terminal, std::string_view topic)
{
    const Graph& graph = terminal.model().graph(graphHere(terminal));
    if (topic == "model" || topic == "graphs") return aboutModel(terminal);
    if (topic == "graph") return aboutGraph(terminal);
    if (topic == "operators") return aboutOperators(terminal);
    if (topic == "operator") return aboutOperator(terminal);
    if (topic == "inputs") return aboutPorts(terminal, terminal.target().inputs);
    if (topic == "outputs") return aboutPorts(terminal, terminal.target().outputs);
    if (topic == "locals") return answerValues(terminal, "values", terminal.frameDepth(), graph, localsOf(graph));
    if (topic == "carried") return aboutCarried(terminal);
    if (topic == "variables") return aboutVariables(terminal);
    if (topic == "constants") return aboutConstants(terminal);
    if (topic == "breakpoints") return answerBreakpoints(terminal, {});
    if (topic == "displays") answerDisplays(terminal);
    if (topic == "checkpoints" || topic == "memory") return aboutSaved(terminal);
    if (topic == "loop") return aboutLoop(terminal);
    if (topic == "frame") return aboutFrame(terminal);
    if (topic == "races") return aboutRaces(terminal);
    if (topic == "time") return aboutTime(terminal);
    if (topic == "against") return aboutAgainst(terminal);
    if (topic == "record") answerRecording(terminal, terminal.session().recording());
    if (topic == "devices") terminal.answer().texts("devices", {"cpu"});
    return {}; // timelines answers as the command does
}

} // namespace loopscope::app::terminal
