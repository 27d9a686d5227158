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
    const Graph& bodyGraph = m_model.graph(body.graph);
    const auto count = body.outputs.size();
    loop.sources.resize(count);
    loop.direct = true;
    for (size_t k = 0; k < count; ++k) {
        CarrySource& source = loop.sources[k];
        const ValueId value = body.outputs[k].value;
        switch (bodyGraph.value(value).role) {
        case ValueRole::input:
            source.kind = CarrySource::Kind::input;
            source.position = static_cast<int32_t>(std::ranges::find(bodyGraph.inputs, value) - bodyGraph.inputs.begin());
            if (source.position != static_cast<int32_t>(k)) loop.direct = false;
            break;
        case ValueRole::constant: source.kind = CarrySource::Kind::constant; break;
        case ValueRole::variable:
            source.kind = CarrySource::Kind::variable;
            source.position = static_cast<int32_t>(k);
            loop.direct = false;
            break;
        default:
            source.kind = CarrySource::Kind::written;
            source.position = static_cast<int32_t>(std::ranges::find(body.outputs, value, &PlannedOutput::value) - body.outputs.begin());
            if (!body.outputs[k].direct) loop.direct = false;
        }
    }

    // A written buffer stays in the position it was written for or is handed on from there: `reaches` marks where those of one size class
    // can be. Each class needs as many buffers as positions can hold at once, and one more for each position that is written meanwhile.
    loop.written.clear();
    loop.alternates.clear();
    std::vector<uint64_t> sizeClass(count, kHeapClass);
    for (size_t k = 0; k < count; ++k) {
        const DType dtype = body.value(body.outputs[k].value).dtype;
        const std::optional<int64_t> elements = checkedElementCount(loop.shapes[k]);
        if (elements && bitWidth(dtype) > 0) sizeClass[k] = byteSize(dtype, *elements);
        const CarrySource& source = loop.sources[k];
        const bool written = source.kind == CarrySource::Kind::variable ||
                             (source.kind == CarrySource::Kind::written && source.position == static_cast<int32_t>(k));
        if (written) loop.written.push_back(static_cast<int32_t>(k));
    }
    const auto addAlternate = [&](size_t k) {
        loop.alternates.push_back({static_cast<int32_t>(k), sizeClass[k] == kHeapClass ? 0 : sizeClass[k], 0});
    };
    const auto reachedFrom = [&](uint64_t wanted) {
        std::vector<bool> reached(count, false);
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t k = 0; k < count; ++k) {
                const CarrySource& source = loop.sources[k];
                const auto from = static_cast<size_t>(source.position);
                const bool now = source.kind == CarrySource::Kind::input      ? bool(reached[from])
                                 : source.kind == CarrySource::Kind::constant ? false
                                                                              : sizeClass[from] == wanted;
                if (now && !reached[k]) reached[k] = changed = true;
            }
        }
        return reached;
    };
    loop.pooled.assign(count, false);
    std::map<uint64_t, std::vector<bool>> reached;
    for (const int32_t position : loop.written) {
        const auto k = static_cast<size_t>(position);
        addAlternate(k);
        if (reached.contains(sizeClass[k])) continue;
        const std::vector<bool>& here = reached[sizeClass[k]] = reachedFrom(sizeClass[k]);
        for (size_t i = 0; i < count; ++i)
            if (here[i]) loop.pooled[i] = true;
    }
    for (const auto& [wanted, here] : reached) {
        size_t homes = 0;
        for (size_t k = 0; k < count; ++k) homes += loop.pooled[k] && sizeClass[k] == wanted ? 1 : 0;
        const auto sample = std::ranges::find_if(loop.written, [&](int32_t k) { return sizeClass[static_cast<size_t>(k)] == wanted; });
        for (auto holders = static_cast<size_t>(std::ranges::count(here, true)); holders > homes; --holders) addAlternate(static_cast<size_t>(*sample));
    }
}

} // namespace loopscope
