#include "engine/debug/history/value_keeper.h"

#include "engine/base/hash.h"
#include "engine/debug/excursion.h"
#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"
#include "engine/ops/catalog.h"

#include <algorithm>
#include <cstring>

namespace loopscope {

namespace {

void copyInto(KeptWrite& kept, const Tensor& tensor)
{
    kept.bytes.assign(tensor.data, tensor.data + tensor.bytes);
    kept.tensor = tensor;
    kept.tensor.data = kept.bytes.data();
    kept.hasCopy = true;
}

/// Lets keepers hear a part of the run.
class Filler final : public TrapHandler {
public:
    Filler(const Executor& executor, std::span<ValueKeeper* const> keepers) : m_executor(executor), m_keepers(keepers) {}
    bool beforeOperator(const OperatorEvent& event, Tick) override
    {
        for (ValueKeeper* keeper : m_keepers) keeper->record(event, false, m_executor);
        return false;
    }
    bool afterOperator(const OperatorEvent& event, Tick) override
    {
        for (ValueKeeper* keeper : m_keepers) keeper->record(event, true, m_executor);
        return false;
    }

private:
    const Executor& m_executor;
    std::span<ValueKeeper* const> m_keepers;
};

/// Stops at the first write.
class FirstWrite final : public TrapHandler {
public:
    FirstWrite(const Executor& executor, ValueKeeper& keeper) : m_executor(executor), m_keeper(keeper) {}
    bool beforeOperator(const OperatorEvent& event, Tick) override { return hear(event, false); }
    bool afterOperator(const OperatorEvent& event, Tick) override { return hear(event, true); }

private:
    bool hear(const OperatorEvent& event, bool isAfter)
    {
        m_keeper.record(event, isAfter, m_executor);
        return m_keeper.first() != nullptr;
    }
    const Executor& m_executor;
    ValueKeeper& m_keeper;
};

/// Edits write without an operator: values that lie in a frame are what counts.
void amendFromFrames(const Executor& executor, std::span<ValueKeeper* const> keepers)
{
    for (int depth = 0; depth < executor.position().depth; ++depth) {
        const FrameInfo frame = executor.frame(depth);
        for (ValueKeeper* keeper : keepers) {
            if (keeper->graph() != frame.graph) continue;
            const Tensor* tensor = executor.value(depth, keeper->value());
            if (tensor && tensor->data && tensor->shape.isStatic()) keeper->amend(frame.invocation, *tensor);
        }
    }
}

/// Runs on to a tick; the keepers hear it, edits on the way included.
Status runHeard(const DebugTarget& target, Tick to, const TrapSet& traps, TrapHandler& handler, std::span<ValueKeeper* const> keepers)
{
    std::vector<Tick> stops = {to};
    for (TimelineId id = target.timeline.current(); id != 0; id = target.timeline.info(id).parent) {
        const TimelineInfo& line = target.timeline.info(id);
        if (line.parent != 0 && line.forkTick > target.timeline.tick() && line.forkTick < to) stops.push_back(line.forkTick);
    }
    std::ranges::sort(stops);
    for (const Tick stop : stops) {
        LS_TRY(const bool stopped, target.timeline.run(stop, traps, handler, target.control));
        static_cast<void>(stopped);
        if (target.timeline.timelines().size() > 1) amendFromFrames(target.executor, keepers);
    }
    return {};
}

constexpr int64_t kFirstWindow = 1024; ///< ticks that are looked at first; then eight times as many

} // namespace

uint64_t writeHash(const Tensor& tensor)
{
    uint64_t seed = static_cast<uint64_t>(tensor.dtype) + 1;
    for (const int64_t dim : tensor.shape.dims()) seed = seed * 0x9E3779B97F4A7C15U + static_cast<uint64_t>(dim) + 1;
    return hash64(tensor.view(), seed);
}

std::vector<WriteSite> writeSitesOf(const Model& model, GraphId graphId, ValueId valueId)
{
    const Graph& graph = model.graph(graphId);
    const Value& value = graph.value(valueId);
    std::vector<WriteSite> sites;
    if (value.role == ValueRole::result) sites.push_back({value.producer, trapAfter, value.slot});
    if (value.role == ValueRole::input && !graph.operators.empty()) sites.push_back({OperatorId(0), trapBefore, -1});
    if (value.role != ValueRole::variable) return sites;
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const Operator& op = graph.operators[o];
        const OpDef* def = findOp(op.kind);
        if (!def) continue;
        const std::span<const int> state = def->stateOperandsOf ? def->stateOperandsOf(op) : def->stateOperands;
        const auto writes = [&](int i) {
            return static_cast<size_t>(i) < op.inputs.size() && op.inputs[static_cast<size_t>(i)] == valueId;
        };
        if (std::ranges::any_of(state, writes)) sites.push_back({OperatorId(static_cast<int64_t>(o)), trapAfter, -1});
    }
    return sites;
}

void ValueKeeper::require(int64_t writes, bool copies, bool first)
{
    m_copies = m_copies || copies;
    m_keepsFirst = m_keepsFirst || first;
    m_ring.resize(std::max(m_ring.size(), static_cast<size_t>(writes) + 1));
    forget();
}

void ValueKeeper::addTraps(TrapSet& traps) const
{
    for (const WriteSite& site : m_sites) traps.add(m_graph, site.op, site.trap);
}

void ValueKeeper::forget()
{
    m_count = 0;
    m_first.invocation = 0;
}

void ValueKeeper::record(const OperatorEvent& event, bool isAfter, const Executor& executor)
{
    if (event.graph != m_graph) return;
    for (const WriteSite& site : m_sites) {
        if (site.op != event.op || (site.trap == trapAfter) != isAfter) continue;
        const Tensor* tensor = nullptr;
        if (site.slot < 0) tensor = executor.value(-1, m_value);
        else if (static_cast<size_t>(site.slot) < event.results.size()) tensor = event.results[static_cast<size_t>(site.slot)];
        if (tensor && tensor->shape.isStatic() && (tensor->data || tensor->bytes == 0)) store(event.invocation, event.step, *tensor);
    }
}

void ValueKeeper::store(InvocationId invocation, Step step, const Tensor& tensor)
{
    const bool again = m_count > 0 && m_ring[m_newest].invocation == invocation; // a variable that is written twice
    const size_t previous = again ? (m_newest + m_ring.size() - 1) % m_ring.size() : m_newest;
    const bool hasPrevious = m_count > (again ? 1U : 0U);
    if (!again) {
        m_newest = (m_newest + 1) % m_ring.size();
        m_count = std::min(m_count + 1, m_ring.size());
    }
    KeptWrite& kept = m_ring[m_newest];
    kept.invocation = invocation;
    kept.step = step;
    kept.hash = writeHash(tensor);
    kept.shape = tensor.shape;
    const bool isEqual = hasPrevious && previous != m_newest && m_ring[previous].hash == kept.hash;
    kept.unchanged = isEqual ? m_ring[previous].unchanged + 1 : 0;
    if (m_copies) copyInto(kept, tensor);
    if (!m_keepsFirst || m_first.invocation != 0) return;
    m_first.invocation = invocation;
    m_first.step = step;
    copyInto(m_first, tensor);
}

void ValueKeeper::amend(InvocationId invocation, const Tensor& tensor)
{
    const uint64_t hash = writeHash(tensor);
    if (m_first.invocation == invocation && writeHash(m_first.tensor) != hash) copyInto(m_first, tensor);
    if (m_count == 0 || m_ring[m_newest].invocation != invocation || m_ring[m_newest].hash == hash) return;
    store(invocation, m_ring[m_newest].step, tensor);
}

const KeptWrite* ValueKeeper::before(InvocationId now, int64_t back) const
{
    for (size_t i = 0; i < m_count; ++i) {
        const KeptWrite& kept = m_ring[(m_newest + m_ring.size() - i) % m_ring.size()];
        if (back == 0) return kept.invocation == now ? &kept : nullptr;
        if (kept.invocation < now && --back == 0) return &kept;
    }
    return nullptr;
}

uint64_t ValueKeeper::byteSize() const
{
    uint64_t bytes = m_first.bytes.size();
    for (const KeptWrite& kept : m_ring) bytes += kept.bytes.size() + sizeof(kept.hash);
    return bytes;
}

Status fillKeepers(const DebugTarget& target, std::span<ValueKeeper* const> keepers)
{
    for (ValueKeeper* keeper : keepers) keeper->forget();
    const int64_t now = target.timeline.tick();
    std::vector<ValueKeeper*> lacking(keepers.begin(), keepers.end());
    std::erase_if(lacking, [](ValueKeeper* keeper) { return keeper->sites().empty(); });
    if (lacking.empty() || now == 0) return {};

    Excursion excursion(target);
    for (ValueKeeper* keeper : lacking) {
        if (!keeper->keepsFirst()) continue;
        LS_CHECK_OK(excursion.goTo(0));
        TrapSet traps;
        keeper->addTraps(traps);
        FirstWrite handler(target.executor, *keeper);
        LS_TRY(const bool found, target.timeline.run(now, traps, handler, target.control));
        static_cast<void>(found);
    }
    for (int64_t window = kFirstWindow; !lacking.empty(); window *= 8) {
        const int64_t from = window < now ? now - window : 0;
        LS_CHECK_OK(excursion.goTo(from));
        TrapSet traps;
        for (ValueKeeper* keeper : lacking) {
            keeper->addTraps(traps);
            keeper->forgetWrites();
        }
        Filler handler(target.executor, lacking);
        LS_CHECK_OK(runHeard(target, now, traps, handler, lacking));
        std::erase_if(lacking, [&](ValueKeeper* keeper) { return from == 0 || keeper->isFull(); });
    }
    return excursion.comeBack();
}

} // namespace loopscope
