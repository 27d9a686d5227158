// Memory for the values of a graph whose types are known, and for the buffers of its loops.
#include "engine/ops/catalog.h"
#include "engine/plan/memory_planner.h"
#include "engine/plan/planner.h"

#include <algorithm>
#include <map>

namespace loopscope {

namespace {

/// No machine has this much: sums of this many sizes cannot overflow either.
constexpr uint64_t kMemoryLimit = uint64_t{1} << 46;

/// The size class of values that lie in heap blocks: any block fits, it grows.
constexpr uint64_t kHeapClass = UINT64_MAX;
/// The size class of what holds no written value.
constexpr uint64_t kNoClass = UINT64_MAX - 1;

Status checkTotal(uint64_t bytes, const std::string& what)
{
    if (bytes <= kMemoryLimit) return {};
    return Error(ErrorCode::execution, what + " needs more memory than any machine has").found(std::to_string(bytes) + " bytes");
}

Storage storageOf(const Value& value, const PlannedValue& planned, bool isOutput)
{
    switch (value.role) {
    case ValueRole::input: return Storage::input;
    case ValueRole::constant: return Storage::constant;
    case ValueRole::variable: return Storage::variable;
    case ValueRole::absent: return Storage::none;
    case ValueRole::result: break;
    }
    if (isOutput) return Storage::output;
    return planned.fixed ? Storage::arena : Storage::heap;
}

/// Lifetimes as operator indices.
void findLifetimes(const Graph& graph, GraphPlan& plan, bool keepAll)
{
    const auto end = static_cast<int32_t>(graph.operators.size());
    for (int32_t o = 0; o < end; ++o) {
        const Operator& op = graph.operators[static_cast<size_t>(o)];
        for (const ValueId input : op.inputs)
            if (input.valid()) plan.value(input).last = o;
        for (const ValueId result : op.results) {
            plan.value(result).first = o;
            plan.value(result).last = std::max(plan.value(result).last, o);
        }
    }
    for (const PlannedOutput& output : plan.outputs) plan.value(output.value).last = end;
    if (!keepAll) return;
    for (PlannedValue& value : plan.values) value.last = end;
}

/// Where each result of the body comes from, and whether all of them are written where the next iteration reads them.
void findSources(LoopPlan& loop, const GraphPlan& body, const Graph& bodyGraph)
{
    const auto count = body.outputs.size();
    const auto valueCount = bodyGraph.values.size();
    std::vector<int32_t> inputOf(valueCount, 0);   // by value: its place among the inputs
    std::vector<int32_t> outputOf(valueCount, -1); // by value: the first output that it is
    for (size_t i = 0; i < bodyGraph.inputs.size(); ++i) inputOf[static_cast<size_t>(bodyGraph.inputs[i].index)] = static_cast<int32_t>(i);
    for (size_t k = count; k-- > 0;) outputOf[static_cast<size_t>(body.outputs[k].value.index)] = static_cast<int32_t>(k);

    loop.sources.resize(count);
    loop.direct = true;
    for (size_t k = 0; k < count; ++k) {
        CarrySource& source = loop.sources[k];
        const ValueId value = body.outputs[k].value;
        const auto v = static_cast<size_t>(value.index);
        switch (bodyGraph.value(value).role) {
        case ValueRole::input:
            source = {CarrySource::Kind::input, inputOf[v]};
            if (source.position != static_cast<int32_t>(k)) loop.direct = false;
            break;
        case ValueRole::constant: source = {CarrySource::Kind::constant, static_cast<int32_t>(k)}; break;
        case ValueRole::variable:
            source = {CarrySource::Kind::variable, static_cast<int32_t>(k)};
            loop.direct = false;
            break;
        default:
            source = {CarrySource::Kind::written, outputOf[v]};
            if (!body.outputs[k].direct) loop.direct = false;
        }
    }
}

/// Of each position: how many bytes its values have, or that nobody knows before the run.
std::vector<uint64_t> sizeClasses(const LoopPlan& loop, const GraphPlan& body)
{
    std::vector<uint64_t> classes(loop.sources.size(), kHeapClass);
    for (size_t k = 0; k < classes.size(); ++k) {
        const DType dtype = body.value(body.outputs[k].value).dtype;
        const std::optional<int64_t> elements = checkedElementCount(loop.shapes[k]);
        if (elements && bitWidth(dtype) > 0) classes[k] = byteSize(dtype, *elements);
    }
    return classes;
}

/// A written buffer stays in the position it was written for or is handed on from there, so each position holds buffers of one size
/// class at most: that of the written value at the beginning of its chain. Positions that hold initial values only: kNoClass.
std::vector<uint64_t> heldClasses(const LoopPlan& loop, const std::vector<uint64_t>& sizeClass)
{
    const size_t count = loop.sources.size();
    std::vector<uint64_t> heldClass(count, kNoClass);
    std::vector<uint8_t> visited(count, 0); // 1: on the present chain, 2: settled
    for (size_t k = 0; k < count; ++k) {
        std::vector<size_t> chain;
        size_t at = k;
        while (visited[at] == 0 && loop.sources[at].kind == CarrySource::Kind::input) {
            visited[at] = 1;
            chain.push_back(at);
            at = static_cast<size_t>(loop.sources[at].position);
        }
        if (visited[at] == 0) { // the chain begins here; one that leads back to itself holds initial values only
            visited[at] = 2;
            if (loop.sources[at].kind != CarrySource::Kind::constant)
                heldClass[at] = sizeClass[static_cast<size_t>(loop.sources[at].position)];
        }
        for (const size_t link : chain) {
            heldClass[link] = heldClass[at];
            visited[link] = 2;
        }
    }
    return heldClass;
}

/// Each class needs as many buffers as positions can hold at once, and one more for each position that is written meanwhile.
void addAlternates(LoopPlan& loop, const std::vector<uint64_t>& sizeClass, const std::vector<uint64_t>& heldClass)
{
    const size_t count = loop.sources.size();
    loop.alternates.clear();
    const auto add = [&](int32_t k) {
        const uint64_t bytes = sizeClass[static_cast<size_t>(k)];
        loop.alternates.push_back({k, bytes == kHeapClass ? 0 : bytes, 0});
    };
    std::map<uint64_t, size_t> missing; // by class: buffers that the homes cannot give
    loop.pooled.assign(count, false);
    for (size_t k = 0; k < count; ++k) {
        if (heldClass[k] == kNoClass) continue;
        loop.pooled[k] = true;
        ++missing[heldClass[k]];
    }
    for (const int32_t k : loop.written) add(k);
    for (size_t k = 0; k < count; ++k)
        if (loop.pooled[k] && missing.contains(sizeClass[k]) && missing[sizeClass[k]] > 0) --missing[sizeClass[k]];
    for (const int32_t k : loop.written)
        for (size_t& more = missing[sizeClass[static_cast<size_t>(k)]]; more > 0; --more) add(k);
}

} // namespace

Status Planner::layOut(GraphPlan& plan)
{
    if (plan.laidOut) return {};
    const Graph& graph = m_model.graph(plan.graph);
    findLifetimes(graph, plan, m_options.keepAll);

    std::vector<bool> isOutput(graph.values.size(), false);
    for (const PlannedOutput& output : plan.outputs)
        if (output.direct) isOutput[static_cast<size_t>(output.value.index)] = true;

    std::vector<BufferLifetime> buffers;
    std::vector<uint64_t*> offsets; // where the result of each goes
    uint64_t sum = 0;
    for (size_t v = 0; v < plan.values.size(); ++v) {
        PlannedValue& value = plan.values[v];
        value.storage = storageOf(graph.values[v], value, isOutput[v]);
        if (value.storage != Storage::arena) continue;
        LS_CHECK_OK(checkTotal(value.bytes, "value '" + graph.values[v].id + "' of graph '" + graph.id + "'"));
        LS_CHECK_OK(checkTotal(sum += alignArena(value.bytes), "graph '" + graph.id + "'"));
        buffers.push_back({value.bytes, value.first, std::min(value.last, static_cast<int32_t>(graph.operators.size()))});
        offsets.push_back(&value.offset);
    }
    std::vector<BufferLifetime> live = buffers;
    for (size_t o = 0; o < plan.operators.size(); ++o) {
        PlannedCall* const call = plan.operators[o].call.get();
        if (!call || !call->planned) continue;
        LS_CHECK_OK(layOutCall(*call, graph, graph.operators[o]));
        LS_CHECK_OK(checkTotal(sum += call->bytes, "graph '" + graph.id + "'"));
        const auto step = static_cast<int32_t>(o);
        buffers.push_back({call->bytes, step, step});
        offsets.push_back(&call->offset);
        live.push_back({call->lowerBound, step, step});
    }
    const MemoryLayout layout = planMemory(buffers);
    for (size_t b = 0; b < offsets.size(); ++b) *offsets[b] = layout.offsets[b];
    plan.bytes = layout.bytes;
    plan.lowerBound = liveBytesBound(live);
    plan.laidOut = true;
    return {};
}

Status Planner::layOutCall(PlannedCall& call, const Graph& graph, const Operator& op)
{
    uint64_t alternates = 0;
    if (call.planned && call.form.kind == CallKind::loop) {
        planExchange(call.loop, *call.plans[1]);
        for (AlternateBuffer& alternate : call.loop.alternates) {
            LS_CHECK_OK(checkTotal(alternate.bytes, "a carried value of '" + op.kind.name + "' in graph '" + graph.id + "'"));
            alternate.offset = alternates;
            LS_CHECK_OK(checkTotal(alternates += alignArena(alternate.bytes), "graph '" + graph.id + "'"));
        }
    }
    uint64_t regions = 0;
    uint64_t bound = 0;
    for (const GraphPlan* callee : call.plans) {
        // The planner owns every plan; calls see them as finished.
        LS_CHECK_OK(layOut(const_cast<GraphPlan&>(*callee))); // NOLINT(cppcoreguidelines-pro-type-const-cast)
        regions = std::max(regions, callee->bytes);
        bound = std::max(bound, callee->lowerBound);
    }
    call.regions = alternates;
    call.bytes = alternates + regions;
    call.lowerBound = alternates + bound;
    return {};
}

void Planner::planExchange(LoopPlan& loop, const GraphPlan& body) const
{
    findSources(loop, body, m_model.graph(body.graph));
    loop.written.clear();
    for (size_t k = 0; k < loop.sources.size(); ++k) {
        const CarrySource& source = loop.sources[k];
        const bool written = source.kind == CarrySource::Kind::variable ||
                             (source.kind == CarrySource::Kind::written && source.position == static_cast<int32_t>(k));
        if (written) loop.written.push_back(static_cast<int32_t>(k));
    }
    const std::vector<uint64_t> classes = sizeClasses(loop, body);
    addAlternates(loop, classes, heldClasses(loop, classes));
}

} // namespace loopscope
