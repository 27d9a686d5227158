#include "engine/debug/inspect/write_search.h"

#include "engine/debug/timeline.h"
#include "engine/exec/executor.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

namespace loopscope {

namespace {

constexpr int64_t kNotSeen = -1; ///< a call that was entered before the part of the run that was looked at
constexpr int64_t kSmallPart = 4096;

/// Keeps hits of a query: the last, the last change, or the first.
class Collector final : public TrapHandler {
public:
    enum class Want : uint8_t { last, lastChange, first };

    Collector(const DebugTarget& target, const WriteQuery& query, Want want, int64_t until)
        : m_target(target),
          m_query(query),
          m_want(want),
          m_until(until)
    {
        for (const OperatorId op : query.ops) m_traps.add(query.path.graph(), op, trapBefore | trapAfter);
    }

    const TrapSet& traps() const { return m_traps; }

    bool beforeOperator(const OperatorEvent& event, Tick tick) override
    {
        if (m_done) return false;
        m_before[event.invocation] = tick;
        if (m_query.path.entersFrames()) { // once it has run, the executor stands at another place
            m_stack.clear();
            for (int d = 0; d < m_target.executor.position().depth; ++d) m_stack.push_back(m_target.executor.frame(d));
        }
        return false;
    }

    bool afterOperator(const OperatorEvent& event, Tick tick) override
    {
        if (m_done) return false;
        int64_t before = kNotSeen;
        if (const auto found = m_before.find(event.invocation); found != m_before.end()) {
            before = found->second;
            m_before.erase(found);
        }
        if (tick > m_until || !isWanted(event)) return false;
        const Tensor* const result = resultOf(event);
        if (m_want == Want::lastChange) {
            const bool isFirst = !m_hasSeen;
            const bool isChange = isFirst || !result || !isSameTensor(*result, m_seen.tensor);
            if (result && isChange) m_seen.assign(*result);
            m_hasSeen = true;
            if (isFirst) keep(m_first, event, before, tick);
            if (isFirst || !isChange) return false;
        }
        if (m_want == Want::first && differsFrom && result && isSameTensor(*result, *differsFrom)) return false;
        keep(m_hit, event, before, tick);
        m_hasHit = true;
        m_done = m_want == Want::first;
        return m_done;
    }

    /// The next part of the run that is looked at lies elsewhere.
    void beginPart()
    {
        m_before.clear();
        m_hasSeen = false;
    }

    bool hasHit() const { return m_hasHit; }
    WriteHit takeHit() { return std::move(m_hit); }
    const WriteHit& first() const { return m_first; } ///< of this part, if anything was seen
    const KeptTensor* lastSeen() const { return m_hasSeen ? &m_seen : nullptr; }
    const Tensor* differsFrom = nullptr;

private:
    const Tensor* resultOf(const OperatorEvent& event) const
    {
        const auto slot = static_cast<size_t>(m_query.slot);
        return m_query.slot < 0 || slot >= event.results.size() ? nullptr : event.results[slot];
    }

    bool isWanted(const OperatorEvent& event) const
    {
        const Executor& executor = m_target.executor;
        if (m_query.path.entersFrames()) return !m_query.accepts || m_query.accepts(executor, event);
        const int frames = frameCount(executor, event.step);
        if (frames != m_query.path.depth() + 1 || !isOnPath(executor, frames, m_query.path)) return false;
        if (m_query.iterationDepth >= 0 && executor.frame(m_query.iterationDepth).iteration != m_query.iteration) return false;
        return !m_query.accepts || m_query.accepts(executor, event);
    }

    void keep(WriteHit& hit, const OperatorEvent& event, int64_t before, int64_t after) const
    {
        hit.before = before;
        hit.after = after;
        hit.step = event.step;
        hit.op = event.op;
        hit.stack = m_stack;
        if (m_stack.empty())
            for (int d = 0; d <= m_query.path.depth(); ++d) hit.stack.push_back(m_target.executor.frame(d));
        if (const Tensor* const result = resultOf(event)) hit.result.assign(*result);
    }

    const DebugTarget& m_target;
    const WriteQuery& m_query;
    const Want m_want;
    const int64_t m_until;
    TrapSet m_traps;
    std::map<InvocationId, int64_t> m_before; ///< calls that are open, operators that are running
    std::vector<FrameInfo> m_stack;           ///< v1 frames: around the operator that runs
    WriteHit m_hit, m_first;
    KeptTensor m_seen;
    bool m_hasHit = false, m_hasSeen = false, m_done = false;
};

/// Waits for the moment before an operator of one invocation.
class EntryFinder final : public TrapHandler {
public:
    explicit EntryFinder(InvocationId caller) : m_caller(caller) {}
    bool beforeOperator(const OperatorEvent& event, Tick tick) override
    {
        if (event.invocation == m_caller) found = tick;
        return false;
    }
    bool afterOperator(const OperatorEvent&, Tick) override { return false; }
    int64_t found = kNotSeen;

private:
    InvocationId m_caller;
};

bool isInside(const Executor& executor, int depth, InvocationId caller, OperatorId op)
{
    return executor.position().depth > depth + 1 && executor.frame(depth).invocation == caller && executor.frame(depth + 1).site == op;
}

/// A hit whose beginning lies in an earlier part of the run.
Result<std::optional<WriteHit>> completed(const DebugTarget& target, WriteHit hit)
{
    if (hit.before == kNotSeen) {
        const int depth = static_cast<int>(hit.stack.size()) - 1;
        LS_TRY(hit.before, findEntry(target, depth, hit.stack.back().invocation, hit.op, hit.after - 1));
    }
    return std::optional(std::move(hit));
}

} // namespace

void KeptTensor::assign(const Tensor& source)
{
    bytes.assign(source.data, source.data + (source.data ? source.bytes : 0));
    tensor = source;
    tensor.bytes = bytes.size();
    tensor.data = bytes.data();
}

bool isSameTensor(const Tensor& a, const Tensor& b)
{
    return a.dtype == b.dtype && a.bytes == b.bytes && a.shape == b.shape && (a.bytes == 0 || std::memcmp(a.data, b.data, a.bytes) == 0);
}

Status scan(const DebugTarget& target, int64_t from, int64_t to, const TrapSet& traps, TrapHandler& handler)
{
    LS_CHECK_OK(target.timeline.goTo(from, target.control));
    LS_TRY([[maybe_unused]] const bool trapped, target.timeline.run(to, traps, handler, target.control));
    return {};
}

Result<Tick> findEntry(const DebugTarget& target, int depth, InvocationId caller, OperatorId op, Tick inside)
{
    Timeline& timeline = target.timeline;
    LS_CHECK_OK(timeline.goTo(inside, target.control));
    if (!isInside(target.executor, depth, caller, op)) return inside; // it was entered and left at once
    const GraphId graph = target.executor.frame(depth).graph;
    Tick low, high = inside; // which side of the entry a stop lies on can be seen there; a small rest is run once
    while (high - low > kSmallPart) {
        const Tick middle = low + (high - low) / 2;
        const Tick saved = timeline.checkpointBefore(middle);
        const Tick probe = saved > low ? saved : middle;
        LS_CHECK_OK(timeline.goTo(probe, target.control));
        (isInside(target.executor, depth, caller, op) ? high : low) = probe;
    }
    TrapSet traps;
    traps.add(graph, op, trapBefore);
    EntryFinder finder(caller);
    LS_CHECK_OK(scan(target, low, high, traps, finder));
    if (finder.found == kNotSeen) return Error(ErrorCode::internal, "the call was not found where it was entered");
    return Tick(finder.found);
}

Result<std::optional<WriteHit>> findLast(const DebugTarget& target, const WriteQuery& query, Tick until)
{
    Collector collector(target, query, Collector::Want::last, until);
    for (Tick high = until; high > 0;) {
        const Tick low = std::min(target.timeline.checkpointBefore(high - 1), Tick(high - 1));
        collector.beginPart();
        LS_CHECK_OK(scan(target, low, high, collector.traps(), collector));
        if (collector.hasHit()) return completed(target, collector.takeHit());
        high = low;
    }
    return std::optional<WriteHit>();
}

Result<std::optional<WriteHit>> findLastChange(const DebugTarget& target, const WriteQuery& query, Tick until)
{
    std::optional<WriteHit> candidate; // the first hit of the parts looked at: a change if the one before it differs
    for (Tick high = until; high > 0;) {
        const Tick low = std::min(target.timeline.checkpointBefore(high - 1), Tick(high - 1));
        Collector collector(target, query, Collector::Want::lastChange, until);
        collector.beginPart();
        LS_CHECK_OK(scan(target, low, high, collector.traps(), collector));
        const KeptTensor* const last = collector.lastSeen();
        if (candidate && last && !isSameTensor(last->tensor, candidate->result.tensor)) break;
        if (collector.hasHit()) return completed(target, collector.takeHit());
        if (last) candidate = collector.first();
        high = low;
    }
    if (!candidate) return candidate;
    return completed(target, std::move(*candidate));
}

Result<std::optional<WriteHit>> findFirst(const DebugTarget& target, const WriteQuery& query, int64_t from, const Tensor* differsFrom)
{
    Collector collector(target, query, Collector::Want::first, std::numeric_limits<int64_t>::max());
    collector.differsFrom = differsFrom;
    Status status = scan(target, from, std::numeric_limits<int64_t>::max(), collector.traps(), collector);
    if (collector.hasHit()) return completed(target, collector.takeHit());
    if (status.ok() || status.detail().code == ErrorCode::execution) return std::optional<WriteHit>();
    return std::move(status).takeError();
}

} // namespace loopscope
