#include "engine/debug/live_source.h"

#include "engine/base/bytes.h"
#include "engine/base/text.h"
#include "engine/exec/executor.h"
#include "engine/ir/ids.h"
#include "engine/observe/address_names.h"
#include "engine/ops/catalog.h"
#include "engine/ops/control_flow.h"

#include <algorithm>

namespace loopscope {

namespace {

/// Graphs that call `graph`, in the order of the model.
std::vector<GraphId> callersOf(const Model& model, GraphId graph)
{
    std::vector<GraphId> callers;
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        const auto calls = [&](const Operator& op) {
            return std::ranges::any_of(callForm(op).callees, [&](const Callee& callee) { return callee.graph == graph; });
        };
        if (std::ranges::any_of(model.graphs[g].operators, calls)) callers.push_back(GraphId(static_cast<int64_t>(g)));
    }
    return callers;
}

/// "../../x": how often "../", and what follows; "./x" goes nowhere.
std::pair<int, std::string_view> splitOutward(std::string_view text)
{
    int up = 0;
    if (text.starts_with("./")) return {0, text.substr(2)};
    while (text.starts_with("../")) {
        ++up;
        text.remove_prefix(3);
    }
    return {up, text};
}

bool isPlain(const Operator& op) { return callForm(op).kind == CallKind::none; }

} // namespace

const TensorStatistics& StatisticsCache::of(const Tensor& tensor)
{
    for (size_t i = 0; i < m_used; ++i)
        if (m_entries[i].data == tensor.data && m_entries[i].bytes == tensor.bytes) return m_entries[i].statistics;
    if (m_used == m_entries.size()) m_entries.emplace_back();
    Entry& entry = m_entries[m_used++];
    entry = {tensor.data, tensor.bytes, computeStatistics(tensor)};
    return entry.statistics;
}

LiveSource::LiveSource(const DebugTarget& target, FrameContext frame) : m_target(target), m_isFrame(true)
{
    const int frames = target.executor.position().depth;
    m_graph = target.executor.root();
    if (frames == 0) return;
    m_depth = frame.depth < 0 || frame.depth >= frames ? frames - 1 : frame.depth;
    m_isInnermost = m_depth + 1 == frames;
    m_step = target.executor.position().step;
    m_graph = target.executor.frame(m_depth).graph;
}

LiveSource::LiveSource(const DebugTarget& target, GraphId graph) : m_target(target), m_graph(graph) {}

// Names.

ExpressionPlace LiveSource::add(LivePlace place)
{
    ExpressionPlace result;
    if (place.kind == LivePlace::Kind::file) {
        result.type = TensorType(place.fileTensor.dtype, place.fileTensor.shape);
    } else {
        result.type = m_target.model.graph(place.graph).value(place.value).type;
        result.isFarHistory = place.kind == LivePlace::Kind::elsewhere;
    }
    const auto isSame = [&](const LivePlace& other) {
        return other.kind == place.kind && place.kind != LivePlace::Kind::file && other.up == place.up && other.depth == place.depth &&
               other.graph == place.graph && other.value == place.value && other.address == place.address;
    };
    const auto found = std::ranges::find_if(m_places, isSame);
    result.handle = static_cast<uint32_t>(found - m_places.begin());
    if (found == m_places.end()) m_places.push_back(std::move(place));
    return result;
}

ExpressionPlace LiveSource::addLocal(int up, GraphId graph, ValueId value)
{
    LivePlace place;
    place.up = up;
    place.graph = graph;
    place.value = value;
    return add(std::move(place));
}

std::optional<ExpressionPlace> LiveSource::findValue(std::string_view id)
{
    const ValueId value = m_idsOnly ? m_target.model.graph(m_graph).findValue(id) : m_target.model.findValue(m_graph, id);
    if (!value.valid()) return std::nullopt;
    return addLocal(0, m_graph, value);
}

Result<ExpressionPlace> LiveSource::findNamed(std::string_view name)
{
    const Graph& graph = m_target.model.graph(m_graph);
    std::vector<std::string> ids;
    std::vector<std::string> names;
    ValueId found;
    for (size_t v = 0; v < graph.values.size(); ++v) {
        names.push_back(graph.values[v].displayName());
        if (names.back() != name) continue;
        found = ValueId(static_cast<int64_t>(v));
        ids.push_back(graph.values[v].id);
    }
    if (ids.empty())
        return Error(ErrorCode::usage, "no value is named \"" + std::string(name) + "\" in " + graph.id).nearest(nearestNames(name, names));
    if (ids.size() > 1) return Error(ErrorCode::usage, "several values have that name: " + join(ids, ", "));
    return addLocal(0, m_graph, found);
}

/// The graph `up` calls outside of the one that names are looked up in.
Result<GraphId> LiveSource::graphOutside(int up, std::string_view rest) const
{
    if (m_isFrame) {
        if (up > m_depth) return Error(ErrorCode::usage, "there are only " + std::to_string(m_depth) + " frames outside of this one");
        return m_target.executor.frame(m_depth - up).graph;
    }
    GraphId graph = m_graph;
    for (int k = 0; k < up; ++k) {
        std::vector<GraphId> callers = callersOf(m_target.model, graph);
        const std::string id = m_target.model.graph(graph).id;
        if (callers.empty()) return Error(ErrorCode::usage, "nothing calls " + id);
        if (callers.size() > 1 && k + 1 == up) // the one that has what is asked for
            std::erase_if(callers, [&](GraphId g) { return !m_target.model.graph(g).findValue(rest).valid(); });
        if (callers.size() != 1) return Error(ErrorCode::usage, id + " is called from several graphs");
        graph = callers.front();
    }
    return graph;
}

Result<ExpressionPlace> LiveSource::findAddress(std::string_view text)
{
    const auto [up, rest] = splitOutward(text);
    if (!rest.empty()) {
        // A value or an operator of this graph or of one outside.
        const auto outside = graphOutside(up, rest);
        if (!outside.ok() && up > 0) return outside.error().copy().at(text);
        if (outside.ok()) {
            const Graph& graph = m_target.model.graph(*outside);
            if (const ValueId value = graph.findValue(rest); value.valid()) return addLocal(up, *outside, value);
            const auto parsed = parseAddress(escapeAddressName(graph.id, false) + "/" + std::string(rest));
            if (parsed.ok() && parsed->steps.empty()) {
                const auto resolved = resolveAddress(m_target.model, *parsed);
                const bool isOperator = resolved.ok() && resolved->op.valid() && !resolved->value.valid();
                if (isOperator && graph.op(resolved->op).results.size() == 1)
                    return addLocal(up, *outside, graph.op(resolved->op).results[0]);
                if (resolved.ok() && resolved->value.valid()) return addLocal(up, *outside, resolved->value);
                if (up > 0 && !resolved.ok()) return resolved.error().copy();
            }
        }
    }
    if (m_isFrame) {
        LS_TRY(const TypedPlace typed, resolveTyped(m_target, FrameContext{m_depth}, text));
        return addResolved(typed.resolved);
    }
    LS_TRY(const Address parsed, parseAddress(text));
    LS_TRY(const ResolvedAddress resolved, resolveAddress(m_target.model, parsed));
    return addResolved(resolved);
}

Result<ExpressionPlace> LiveSource::addResolved(const ResolvedAddress& resolved)
{
    LivePlace place;
    place.graph = resolved.graph;
    place.value = resolved.value;
    place.address = resolved.address;
    if (!place.value.valid()) {
        if (!resolved.op.valid()) return Error(ErrorCode::usage, "names an invocation, not a value").at(toString(resolved.address));
        const std::vector<ValueId>& results = m_target.model.graph(resolved.graph).op(resolved.op).results;
        if (results.size() != 1)
            return Error(ErrorCode::usage, "has " + std::to_string(results.size()) + " results; name one, as in :0")
                .at(toString(resolved.address));
        place.value = results.front();
    }
    place.depth = static_cast<int>(resolved.address.steps.size());
    place.kind = LivePlace::Kind::absolute;
    const auto isOpen = [](const AddressStep& step) { return step.iteration < 0; };
    if (m_isFrame) {
        const Executor& executor = m_target.executor;
        bool isHere = place.depth <= m_depth && executor.frame(place.depth).graph == place.graph;
        if (isHere) isHere = frameAddress(executor, place.depth).steps == resolved.address.steps;
        if (!isHere) place.kind = LivePlace::Kind::elsewhere;
    } else if (!std::ranges::all_of(resolved.address.steps, isOpen)) {
        place.kind = LivePlace::Kind::elsewhere;
    }
    if (place.kind == LivePlace::Kind::absolute) place.address = {};
    return add(std::move(place));
}

Result<ExpressionPlace> LiveSource::findFile(std::string_view path)
{
    LS_TRY(const Bytes bytes, mapFile(std::string(path)));
    auto array = readNpy(bytes.view());
    if (!array.ok()) return std::move(array).takeError().at(path);
    LivePlace place;
    place.kind = LivePlace::Kind::file;
    place.file = std::make_shared<const Array>(std::move(array).value());
    place.fileTensor = place.file->view();
    return add(std::move(place));
}

/// The graphs that operators are looked for in, nearest first.
std::vector<GraphId> LiveSource::scopes() const
{
    std::vector<GraphId> graphs = {m_graph};
    if (m_isFrame) {
        for (int depth = m_depth - 1; depth >= 0; --depth) graphs.push_back(m_target.executor.frame(depth).graph);
        return graphs;
    }
    for (size_t i = 0; i < graphs.size(); ++i)
        for (const GraphId caller : callersOf(m_target.model, graphs[i]))
            if (std::ranges::find(graphs, caller) == graphs.end()) graphs.push_back(caller);
    return graphs;
}

Result<uint32_t> LiveSource::findSite(std::string_view name, bool isLoop)
{
    const std::string_view what = isLoop ? "loop" : "branch";
    std::vector<std::string> names;
    for (const GraphId id : scopes()) {
        const Graph& graph = m_target.model.graph(id);
        for (size_t o = 0; o < graph.operators.size(); ++o) {
            const CallKind kind = callForm(graph.operators[o]).kind;
            if (isLoop ? kind != CallKind::loop : kind != CallKind::branch && kind != CallKind::select) continue;
            const OperatorId op(static_cast<int64_t>(o));
            names.push_back(addressSite(graph.operators[o], op.index));
            if (names.back() != name) continue;
            m_sites.push_back({id, op});
            return static_cast<uint32_t>(m_sites.size() - 1);
        }
    }
    return Error(ErrorCode::usage, "no " + std::string(what) + " '" + std::string(name) + "' here").nearest(nearestNames(name, names));
}

Result<uint32_t> LiveSource::findLoop(std::string_view operatorName) { return findSite(operatorName, true); }

Result<uint32_t> LiveSource::findBranch(std::string_view operatorName) { return findSite(operatorName, false); }

std::vector<std::string> LiveSource::valueNames() const
{
    std::vector<std::string> names;
    for (const Value& value : m_target.model.graph(m_graph).values) names.push_back(value.id);
    return names;
}

// Values.

std::optional<int> LiveSource::depthOf(const LivePlace& place) const
{
    int depth = -1;
    if (place.kind == LivePlace::Kind::frame) depth = m_depth - place.up;
    if (place.kind == LivePlace::Kind::absolute && place.depth <= m_depth) depth = place.depth;
    // The expression's own frame is known to run the graph that its names are of.
    if (depth < 0 || (depth < m_depth && frameAt(depth).graph != place.graph)) return std::nullopt;
    return depth;
}

bool LiveSource::isDead(int depth, ValueId value) const
{
    if (m_event && depth == m_depth) {
        const Value& described = m_target.model.graph(m_event->graph).value(value);
        if (described.role == ValueRole::result && described.producer == m_event->op) return m_event->state == EventState::dead;
    }
    const DataflowView* const dataflow = m_target.executor.dataflow();
    return dataflow && dataflow->isDead(depth, value);
}

const Tensor* LiveSource::valueAt(int depth, ValueId value) const
{
    if (m_event && depth == m_depth) {
        const Value& described = m_target.model.graph(m_event->graph).value(value);
        if (described.role == ValueRole::result && described.producer == m_event->op) {
            const auto slot = static_cast<size_t>(described.slot);
            return slot < m_event->results.size() ? m_event->results[slot] : nullptr;
        }
    }
    return m_target.executor.value(depth, value);
}

Result<const Tensor*> LiveSource::current(uint32_t handle)
{
    const LivePlace& place = m_places[handle];
    if (place.kind == LivePlace::Kind::file) return &place.fileTensor;
    if (place.kind == LivePlace::Kind::elsewhere) return elsewhere(handle);
    const std::optional<int> depth = depthOf(place);
    if (!depth) return nullptr;
    const Tensor* tensor = valueAt(*depth, place.value);
    return tensor && tensor->data && tensor->shape.isStatic() ? tensor : nullptr;
}

Result<const TensorStatistics*> LiveSource::statistics(uint32_t place)
{
    LS_TRY(const Tensor* tensor, current(place));
    return tensor ? &m_statistics->of(*tensor) : nullptr;
}

/// Step of the operator's write in the frame at `depth`, counted from the start of the invocation or back from here where no call lies
/// between; −1: not known that way.
Step LiveSource::plainStep(int depth, OperatorId op) const
{
    const FrameInfo frame = frameAt(depth);
    const auto allPlain = [&](const Graph& graph, int32_t begin, int32_t end) {
        return std::all_of(graph.operators.begin() + begin, graph.operators.begin() + end, isPlain);
    };
    const Graph& graph = m_target.model.graph(frame.graph);
    if (m_event && depth == m_depth && m_event->op == op) return m_event->step;
    if (!m_target.executor.stopsInAddressOrder()) return -1; // nodes run in no order of the file
    if (depth == m_depth && m_isInnermost) {
        int32_t next = frame.next.valid() ? frame.next.index : static_cast<int32_t>(graph.operators.size());
        if (m_event) next = m_event->op.index + 1;
        if (op.index < next && allPlain(graph, op.index + 1, next)) return m_step - (next - op.index);
    }
    const bool isBody = frame.role == CallRole::loop && !frame.inCond;
    return isBody || !allPlain(graph, 0, op.index) ? Step(-1) : Step(frame.enteredAtStep + op.index);
}

ExpressionWrite LiveSource::write(uint32_t handle)
{
    ExpressionWrite result;
    const LivePlace& place = m_places[handle];
    if (place.kind == LivePlace::Kind::file) return result;
    const Value& value = m_target.model.graph(place.graph).value(place.value);
    const std::optional<int> depth = depthOf(place);
    m_writer.clear();
    if (!depth || value.role != ValueRole::result) {
        result.step = value.role == ValueRole::constant ? Step(-1) : writeStep(handle);
        result.writer = m_writer;
        return result;
    }
    result.isDead = isDead(*depth, place.value);
    if (!valueAt(*depth, place.value)) return result;
    Address address = frameAddress(m_target.executor, *depth);
    address.target = TargetKind::output;
    const Operator& op = m_target.model.graph(place.graph).op(value.producer);
    address.op = operatorName(op, value.producer.index);
    address.slot = value.slot;
    m_writer = toString(address);
    result.writer = m_writer;
    result.step = plainStep(*depth, value.producer);
    if (result.step < 0) result.step = writeStep(handle);
    return result;
}

std::string_view LiveSource::name(uint32_t handle)
{
    const LivePlace& place = m_places[handle];
    if (place.kind == LivePlace::Kind::file) return {};
    return m_target.model.graph(place.graph).value(place.value).displayName();
}

// The place in the run.

/// Depth of the frame that is the loop, if it runs around here.
std::optional<int> LiveSource::runningLoop(const LiveSite& loop) const
{
    for (int depth = m_depth; depth > 0; --depth) {
        const FrameInfo frame = frameAt(depth);
        if (frame.role == CallRole::loop && frame.site == loop.op && frameAt(depth - 1).graph == loop.graph) return depth;
    }
    return std::nullopt;
}

std::optional<int64_t> LiveSource::iteration(std::optional<uint32_t> loop)
{
    if (loop) {
        const std::optional<int> depth = runningLoop(m_sites[*loop]);
        return depth ? std::optional<int64_t>(frameAt(*depth).iteration) : std::nullopt;
    }
    for (int depth = m_depth; depth > 0; --depth)
        if (const FrameInfo frame = frameAt(depth); frame.role == CallRole::loop || frame.role == CallRole::frame) return frame.iteration;
    return std::nullopt;
}

std::optional<int64_t> LiveSource::tripCount(uint32_t loop)
{
    const LiveSite& site = m_sites[loop];
    if (const std::optional<int> depth = runningLoop(site)) return frameAt(*depth).iteration;
    for (int depth = m_depth; depth >= 0; --depth) {
        const FrameInfo frame = frameAt(depth);
        if (frame.graph != site.graph) continue;
        if (m_event && depth == m_depth && m_event->op == site.op && m_event->trips >= 0) return m_event->trips;
        const bool isDone = !frame.next.valid() || frame.next.index > site.op.index;
        return isDone ? finishedTrips(loop, depth) : std::nullopt;
    }
    return std::nullopt;
}

std::optional<std::string_view> LiveSource::branchTaken(uint32_t branch)
{
    const LiveSite& site = m_sites[branch];
    const Operator& op = m_target.model.graph(site.graph).op(site.op);
    const CallForm form = callForm(op);
    for (int depth = m_depth; depth >= 0; --depth) {
        const FrameInfo frame = frameAt(depth);
        if (frame.graph != site.graph) continue;
        const bool isNow = m_event && depth == m_depth && m_event->op == site.op;
        const bool isInside = depth < m_depth && frame.next == site.op;
        const bool isDone = !frame.next.valid() || frame.next.index > site.op.index;
        if (!isNow && !isInside && !isDone) return std::nullopt;
        const Tensor* steer = op.inputs.empty() ? nullptr : valueAt(depth, op.inputs[0]);
        if (!steer || !steer->data || steer->bytes == 0) return std::nullopt;
        if (form.kind == CallKind::branch) return elementAsInteger(*steer, 0) != 0 ? "then" : "else";
        const auto count = static_cast<int64_t>(form.callees.size());
        const int64_t index = elementAsInteger(*steer, 0);
        m_branch = "branch" + std::to_string(index < 0 || index >= count ? count - 1 : index);
        return m_branch;
    }
    return std::nullopt;
}

} // namespace loopscope
