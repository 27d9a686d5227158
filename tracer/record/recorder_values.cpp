// Which values are stored: patterns, sampling of iterations, and the memory of a loop's end.
#include "engine/observe/address_names.h"
#include "tracer/record/recorder_impl.h"

#include "engine/observe/address_names.h"

#include <algorithm>

namespace loopscope {

namespace {

/// What waits for the ends of loops at most; beyond it the oldest goes.
constexpr size_t kMostHeld = size_t{512} * 1024 * 1024;
constexpr size_t kMostCached = 1'000'000;

bool matchesAny(const std::vector<AddressPattern>& patterns, const Address& address)
{
    return std::any_of(patterns.begin(), patterns.end(), [&](const AddressPattern& pattern) { return pattern.matches(address); });
}

} // namespace

size_t HeldEntry::bytes() const
{
    size_t size = records.size() * sizeof(RingSlot);
    if (blob) size += std::get<BlobItem>(blob->content).bytes.size();
    return size;
}

OperatorName TraceRecorder::Impl::operatorName(GraphId graph, OperatorId op) const
{
    return loopscope::operatorName(m_index.model().graph(graph).op(op), op.index);
}

Address TraceRecorder::Impl::addressOf(const Open& open, GraphId graph, OperatorId op, int slot)
{
    // From the inside outwards: the graph that an invocation was called from says in which part of a loop the caller was.
    Address address;
    GraphId inside = graph;
    for (const Open* at = &open; at != nullptr;) {
        const Open* parent = at->parent != 0 ? find(at->parent) : nullptr;
        if (parent == nullptr) {
            if (m_index.model().hasGraph(at->graph)) address.root = m_index.model().graph(at->graph).id;
            break;
        }
        AddressStep step;
        if (m_index.has(at->callerGraph, at->site)) {
            step.site = siteName(m_index.model().graph(at->callerGraph).op(at->site), at->site.index, at->role);
        }
        step.role = stepRole(at->role, at->cond.valid() && inside == at->cond && inside != at->graph);
        step.branch = at->branch;
        step.iteration = at->iteration;
        address.steps.push_back(std::move(step));
        inside = at->callerGraph;
        at = parent;
    }
    std::reverse(address.steps.begin(), address.steps.end());
    address.target = slot >= 0 ? TargetKind::output : TargetKind::op;
    address.op = operatorName(graph, op);
    address.slot = slot;
    return address;
}

bool TraceRecorder::Impl::isSelected(const Open& open, const OperatorEvent& e, const OperatorInfo& op)
{
    const auto decide = [&] {
        const Address address = addressOf(open, e.graph, e.op, -1);
        return (m_options.only.empty() || matchesAny(m_options.only, address)) && !matchesAny(m_options.except, address);
    };
    // Where no pattern names iterations, every iteration gets the same answer.
    if (m_patternsUseIterations) return decide();
    const uint64_t key = open.staticHash * 31 + op.hash;
    const auto found = m_selectedCache.find(key);
    if (found != m_selectedCache.end()) return found->second;
    if (m_selectedCache.size() >= kMostCached) m_selectedCache.clear();
    return m_selectedCache[key] = decide();
}

bool TraceRecorder::Impl::isKept(const Open& open, const OperatorEvent& e, int slot)
{
    if (m_options.keep.empty()) return false;
    const auto decide = [&] {
        return matchesAny(m_options.keep, addressOf(open, e.graph, e.op, slot)) ||
               matchesAny(m_options.keep, addressOf(open, e.graph, e.op, -1));
    };
    if (m_patternsUseIterations) return decide();
    const uint64_t key = (open.staticHash * 31 + m_index.op(e.graph, e.op).hash) * 31 + static_cast<uint64_t>(slot);
    const auto found = m_keptCache.find(key);
    if (found != m_keptCache.end()) return found->second;
    if (m_keptCache.size() >= kMostCached) m_keptCache.clear();
    return m_keptCache[key] = decide();
}

bool TraceRecorder::Impl::wantsBytes(const Open& open, const OperatorEvent& e, const ResultInfo& result, int slot)
{
    const Tensor& tensor = *e.results[static_cast<size_t>(slot)];
    if (m_writer->throttle.load(std::memory_order_relaxed) >= Throttle::noValues) return false;
    // A single number is in the row already; strings never are.
    const bool isInRow = tensor.bytes <= 8 && bitWidth(tensor.dtype) > 0 && (tensor.shape.rank() == 0 || tensor.elementCount() == 1);
    if (isInRow || open.sampled == Sampled::no) return false;
    if (m_options.onAlert > 0 || m_level >= 4) return true;
    if (m_level < 3) return false;
    if (result.isCarried && (open.role == CallRole::frame || (open.role == CallRole::loop && e.graph == open.graph))) return true;
    if (result.isOutput && open.role == CallRole::main) return true;
    return isKept(open, e, slot);
}

void TraceRecorder::Impl::storeBytes(const Tensor& tensor, const ContentKey& key, LoopRing* ring, int64_t iteration)
{
    const auto copy = [&] {
        BlobItem blob;
        blob.key = key.key;
        blob.guard = key.guard;
        blob.dtype = tensor.dtype;
        blob.shape = tensor.shape;
        blob.bytes.assign(tensor.data, tensor.data + tensor.bytes);
        return std::make_unique<Item>(Item{std::move(blob)});
    };
    if (ring != nullptr) {
        if (m_stored.has(key)) return; // whatever becomes of the iteration, the bytes are there
        HeldEntry entry;
        entry.iteration = iteration;
        entry.blob = copy();
        hold(*ring, std::move(entry));
        return;
    }
    // Known bytes are not even copied: that is what keeps loop invariants cheap.
    if (m_stored.insert(key) != ContentSet::Answer::known) pushBlob(copy());
}

void TraceRecorder::Impl::pushBlob(std::unique_ptr<Item> item)
{
    const auto size = static_cast<int64_t>(std::get<BlobItem>(item->content).bytes.size());
    // Memory on its way to the disk is bounded, as the ring is: the executor waits.
    for (int64_t there = m_writer->inFlight.load(); there > TraceWriter::kMostInFlight; there = m_writer->inFlight.load()) {
        m_writer->inFlight.wait(there);
    }
    m_writer->inFlight.fetch_add(size);
    ItemRecord record;
    record.item = item.release();
    m_writer->ring.push(record);
    m_writer->ring.publish();
}

Sampled TraceRecorder::Impl::ownSampling(int64_t iteration, const LoopRing* ring) const
{
    if (ring != nullptr && iteration <= ring->storeUntil) return Sampled::yes;
    // Below level values, and without sparse, only an alert makes values stay.
    const bool usesSet = m_level >= 3 || m_options.sparse;
    if (usesSet && (!m_options.iterations || m_options.iterations->contains(iteration))) return Sampled::yes;
    const bool mayStillMatch = (usesSet && m_options.iterations && m_options.iterations->usesLast()) || m_options.onAlert > 0;
    return mayStillMatch ? Sampled::maybe : Sampled::no;
}

LoopRing* TraceRecorder::Impl::ringOf(const Open& parent, OperatorId site)
{
    for (size_t i = m_rings.size(); i-- > 0;) {
        if (m_rings[i]->parent == parent.id && m_rings[i]->site == site) return m_rings[i].get();
    }
    auto ring = std::make_unique<LoopRing>();
    ring->parent = parent.id;
    ring->site = site;
    if (parent.sampled == Sampled::maybe) {
        ring->outer = parent.ring;
        ring->outerIteration = parent.ringIteration;
    }
    const int64_t fromLast = m_options.iterations ? m_options.iterations->reachFromLast() : -1;
    ring->reach = std::max({int64_t{0}, fromLast, m_options.onAlert});
    m_rings.push_back(std::move(ring));
    return m_rings.back().get();
}

void TraceRecorder::Impl::sampleLoop(Open& open, const Open* parent)
{
    const bool isIteration = (open.role == CallRole::loop || open.role == CallRole::frame) && open.iteration >= 0;
    if (parent == nullptr) {
        // Outside of loops everything is sampled, except where only alerts make values stay.
        open.sampled = m_level >= 3 || m_options.sparse ? Sampled::yes : Sampled::no;
        return;
    }
    open.sampled = parent->sampled;
    open.ring = parent->ring;
    open.ringIteration = parent->ringIteration;
    if (!isIteration) return;
    const bool onlyAlerts = m_level < 3 && !m_options.sparse;
    if (parent->sampled == Sampled::no && !onlyAlerts) return;
    const bool needsRing = (m_options.iterations && m_options.iterations->usesLast()) || m_options.onAlert > 0;
    LoopRing* ring = needsRing ? ringOf(*parent, open.site) : nullptr;
    if (ring != nullptr) {
        ring->latest = open.iteration;
        ring->bodyRan = false;
        // The last iteration will be at least the one before this: older ones are out of its reach.
        evict(*ring, open.iteration - 1 - ring->reach);
        open.loop = ring;
    }
    const Sampled own = ownSampling(open.iteration, ring);
    if (own == Sampled::no) {
        open.sampled = Sampled::no;
    } else if (own == Sampled::maybe) {
        open.sampled = Sampled::maybe;
        open.ring = ring;
        open.ringIteration = open.iteration;
    } else if (onlyAlerts) {
        open.sampled = Sampled::yes;
    }
}

void TraceRecorder::Impl::hold(LoopRing& ring, HeldEntry entry)
{
    m_heldBytes += entry.bytes();
    ring.entries.push_back(std::move(entry));
    while (m_heldBytes > kMostHeld && !ring.entries.empty()) {
        if (!std::exchange(m_saidRingIsFull, true)) {
            alert("memory", m_base + m_lastStep, -1,
                  "values of a loop's last iterations take more than 512 MiB: the older ones are not kept", nullptr);
        }
        m_heldBytes -= ring.entries.front().bytes();
        discard(ring.entries.front());
        ring.entries.pop_front();
    }
}

void TraceRecorder::Impl::evict(LoopRing& ring, int64_t before)
{
    while (!ring.entries.empty() && ring.entries.front().iteration < before) {
        m_heldBytes -= ring.entries.front().bytes();
        discard(ring.entries.front());
        ring.entries.pop_front();
    }
}

void TraceRecorder::Impl::discard(const HeldEntry& entry)
{
    if (!entry.blob) dropStep(entry.step, GapReason::policy);
}

void TraceRecorder::Impl::release(LoopRing* outer, int64_t outerIteration, HeldEntry entry)
{
    if (outer != nullptr) {
        entry.iteration = outerIteration;
        hold(*outer, std::move(entry));
        return;
    }
    if (!entry.blob) {
        pushGroup(entry.records);
        return;
    }
    const auto& blob = std::get<BlobItem>(entry.blob->content);
    if (m_stored.insert({blob.key, blob.guard}) != ContentSet::Answer::known) pushBlob(std::move(entry.blob));
}

void TraceRecorder::Impl::closeRing(InvocationId parent, OperatorId site)
{
    const auto place =
        std::find_if(m_rings.begin(), m_rings.end(), [&](const auto& ring) { return ring->parent == parent && ring->site == site; });
    if (place == m_rings.end()) return;
    const std::unique_ptr<LoopRing> ring = std::move(*place);
    m_rings.erase(place);
    // The iteration that only asked the condition is not the last one, but belongs to it.
    const int64_t last = ring->bodyRan || ring->latest == 0 ? ring->latest : ring->latest - 1;
    const bool usesSet = m_level >= 3 || m_options.sparse;
    for (HeldEntry& entry : ring->entries) {
        m_heldBytes -= entry.bytes();
        const bool isWanted = usesSet && m_options.iterations && m_options.iterations->contains(std::min(entry.iteration, last), last);
        if (isWanted) release(ring->outer, ring->outerIteration, std::move(entry));
        else discard(entry);
    }
}

void TraceRecorder::Impl::flushAround(const Open& open)
{
    for (const Open* at = &open; at != nullptr; at = at->parent != 0 ? find(at->parent) : nullptr) {
        LoopRing* ring = at->loop;
        if (ring == nullptr) continue;
        ring->storeUntil = std::max(ring->storeUntil, at->iteration + m_options.onAlert);
        std::deque<HeldEntry> entries = std::move(ring->entries);
        ring->entries.clear();
        for (HeldEntry& entry : entries) {
            if (entry.iteration + m_options.onAlert >= at->iteration) {
                m_heldBytes -= entry.bytes();
                release(nullptr, -1, std::move(entry));
            } else {
                ring->entries.push_back(std::move(entry));
            }
        }
    }
}

} // namespace loopscope
