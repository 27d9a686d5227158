#include "engine/debug/checkpoint_store.h"

#include <algorithm>

namespace loopscope {

namespace {

constexpr int kMaxDoublings = 30;
constexpr uint64_t kBlockOverhead = 96;  ///< of an allocation, its owner's counter and rounding up
constexpr uint64_t kEntryOverhead = 160; ///< of a place in the tables

/// `State`: MachineState, const or not.
template <typename State, typename Visit> void forEachValue(State& state, Visit visit)
{
    for (auto& frame : state.frames) {
        for (auto& value : frame.values) visit(value);
        for (auto& value : frame.carried) visit(value);
    }
    for (auto& [graph, value] : state.variables) visit(value);
    for (auto& token : state.tokens) visit(token);
}

uint64_t blockBytes(const ValueState& value) { return value.bytes.size() + kBlockOverhead; }

/// What a state holds besides the bytes of its values: shared by nobody.
uint64_t ownBytes(const MachineState& state)
{
    uint64_t total = sizeof(MachineState) + kEntryOverhead + state.initialised.size() * sizeof(GraphId);
    for (const FrameState& frame : state.frames)
        total += sizeof(FrameState) + (frame.values.capacity() + frame.carried.capacity()) * sizeof(ValueState);
    total += state.variables.capacity() * (sizeof(GraphId) + sizeof(ValueState));
    total += state.tokens.capacity() * sizeof(ValueState) + state.dataflow.byteSize();
    for (const auto& [handle, variable] : state.resources.variables())
        total += sizeof(Variable) + variable.bytes.size() + variable.name.size() + kBlockOverhead;
    for (const auto& [handle, table] : state.resources.tables()) {
        total += sizeof(HashTable) + kBlockOverhead;
        for (const auto& [key, value] : table.entries) total += key.size() + value.size() + kBlockOverhead;
    }
    return total;
}

} // namespace

/// What keeping the state adds.
uint64_t CheckpointStore::cost(const MachineState& state) const
{
    uint64_t total = ownBytes(state);
    forEachValue(state, [&](const ValueState& value) {
        const std::byte* const data = value.bytes.data();
        if (!value.bytes.empty() && !m_blocks.contains(data) && !m_keptOfLast.contains(data)) total += blockBytes(value);
    });
    return total;
}

void CheckpointStore::hold(const void* block, uint64_t bytes)
{
    Block& held = m_blocks[block];
    if (held.uses++ > 0) return;
    held.bytes = bytes;
    m_bytes += bytes;
}

void CheckpointStore::release(const void* block)
{
    const auto found = m_blocks.find(block);
    if (--found->second.uses > 0) return;
    m_bytes -= found->second.bytes;
    m_blocks.erase(found);
}

void CheckpointStore::hold(const Entry& entry)
{
    m_bytes += ownBytes(*entry.state);
    forEachValue(*entry.state, [&](const ValueState& value) {
        if (!value.bytes.empty()) hold(value.bytes.data(), blockBytes(value));
    });
    for (const KeptValue& value : entry.kept) hold(&*value.bytes, value.bytes->bytes.size() + kBlockOverhead);
}

void CheckpointStore::release(const Entry& entry)
{
    m_bytes -= ownBytes(*entry.state);
    forEachValue(*entry.state, [&](const ValueState& value) {
        if (!value.bytes.empty()) release(value.bytes.data());
    });
    for (const KeptValue& value : entry.kept) release(&*value.bytes);
}

/// The state without the bytes of large values, which are in `kept`; the state itself, where nothing swaps, or there is no room on disk.
SharedState CheckpointStore::withoutLarge(const SharedState& state, std::vector<KeptValue>& kept)
{
    if (!isSwapping()) return state;
    std::unordered_map<const void*, ElementHandle> known;
    auto less = std::make_shared<MachineState>(*state);
    size_t number = 0;
    forEachValue(*less, [&](ValueState& value) {
        const size_t at = number++;
        if (value.bytes.size() <= kLeastKept) return;
        const std::byte* const data = value.bytes.data();
        ElementHandle& handle = known[data];
        if (const auto found = m_keptOfLast.find(data); !handle && found != m_keptOfLast.end()) handle = found->second;
        if (!handle) {
            Result<ElementHandle> element = shareElement(value.bytes.view());
            if (!element.ok()) return;
            handle = std::move(element).value();
        }
        kept.push_back({at, handle});
        value.bytes = {};
    });
    m_last = state; // as long as it is there, nobody else's bytes lie where its bytes do
    std::erase_if(known, [](const auto& each) { return !each.second; });
    m_keptOfLast = std::move(known);
    return kept.empty() ? state : less;
}

SharedState CheckpointStore::whole(const Entry& entry)
{
    if (entry.kept.empty()) return entry.state;
    auto state = std::make_shared<MachineState>(*entry.state);
    size_t number = 0, next = 0;
    forEachValue(*state, [&](ValueState& value) {
        const size_t at = number++;
        if (next == entry.kept.size() || entry.kept[next].number != at) return;
        value.bytes = Bytes::copyOf(entry.kept[next++].bytes->bytes.pinned().view());
    });
    return state;
}

CheckpointStore::Entry& CheckpointStore::place(const Key& key, const SharedState& state)
{
    Entry& entry = m_states[key];
    if (!entry.state) {
        entry.state = withoutLarge(state, entry.kept);
        hold(entry);
    }
    return entry;
}

void CheckpointStore::drop(std::map<Key, Entry>::iterator entry)
{
    release(entry->second);
    m_states.erase(entry);
}

bool CheckpointStore::makeRoom(const MachineState& state)
{
    // What the state shares with others may go on the way: its cost is looked at anew each time.
    while (m_bytes + cost(state) > m_budget.bytes)
        if (!m_ring.empty()) forgetOldest();
        else if (!thin()) return false;
    return true;
}

bool CheckpointStore::makeRoom(uint64_t bytes)
{
    while (m_bytes + bytes > m_budget.bytes)
        if (!m_ring.empty()) forgetOldest();
        else if (!thin()) return false;
    return true;
}

bool CheckpointStore::addCheckpoint(TimelineId line, Tick tick, const SharedState& state, int64_t gapNs)
{
    const Key key(line, tick);
    if (!m_states.contains(key) && !makeRoom(*state)) return false;
    Entry& entry = place(key, state);
    if (!entry.checkpoint) ++m_checkpoints;
    entry.checkpoint = true;
    entry.gapNs = gapNs;
    return true;
}

void CheckpointStore::remember(TimelineId line, Tick tick, const SharedState& state)
{
    const Key key(line, tick);
    const auto known = m_states.find(key);
    if (known != m_states.end() && known->second.undo) return;
    const uint64_t before = m_bytes;
    Entry& entry = place(key, state); // at once: what it adds is known when it is there, and looking it up twice is most of a step's time
    const uint64_t added = m_bytes - before;
    if (known == m_states.end()) {
        // The ring has its share; checkpoints are not thinned out for it.
        const uint64_t share = m_budget.bytes / 4;
        if (added <= share)
            while (!m_ring.empty() && (m_undoBytes + added > share || m_bytes > m_budget.bytes)) forgetOldest();
        if (added > share || m_bytes > m_budget.bytes) return drop(m_states.find(key));
    }
    entry.undo = true;
    m_ring.push_back(key);
    m_undoBytes += added;
    while (m_ring.size() > m_budget.undoStates) forgetOldest();
}

void CheckpointStore::forgetOldest()
{
    const auto oldest = m_states.find(m_ring.front());
    m_ring.pop_front();
    const uint64_t before = m_bytes;
    oldest->second.undo = false;
    if (!oldest->second.checkpoint) drop(oldest);
    m_undoBytes -= std::min(m_undoBytes, before - m_bytes);
    if (m_ring.empty()) m_undoBytes = 0;
}

/// Doubles the distance between checkpoints. False once only the start is left.
bool CheckpointStore::thin()
{
    if (m_checkpoints <= 1) return false;
    m_doublings = std::min(m_doublings + 1, kMaxDoublings);
    const size_t before = m_checkpoints;
    bool odd = false;
    TimelineId line;     // 0: none yet
    int64_t dropped = 0; // running time up to the next one that stays
    for (auto entry = m_states.begin(); entry != m_states.end();) {
        const auto here = entry++;
        if (!here->second.checkpoint) continue;
        if (here->first.first != line) {
            line = here->first.first;
            odd = line != 1; // the start of the first timeline stays; the others begin with an edit of what can be reached
            dropped = 0;
        }
        if (odd) {
            dropped += here->second.gapNs;
            here->second.checkpoint = false;
            --m_checkpoints;
            if (!here->second.undo) drop(here);
        } else {
            here->second.gapNs += dropped;
            dropped = 0;
        }
        odd = !odd;
    }
    return m_checkpoints < before;
}

CheckpointStore::Found CheckpointStore::atOrBefore(TimelineId line, Tick tick) const
{
    auto after = m_states.upper_bound({line, tick});
    if (after == m_states.begin()) return {};
    --after;
    if (after->first.first != line) return {};
    return {after->first.second, whole(after->second)};
}

std::vector<CheckpointStore::Found> CheckpointStore::between(TimelineId line, Tick from, Tick to) const
{
    std::vector<Found> found;
    for (auto entry = m_states.lower_bound({line, from}); entry != m_states.end(); ++entry) {
        if (entry->first.first != line || entry->first.second > to) break;
        found.push_back({entry->first.second, entry->second.state, entry->second.checkpoint});
    }
    return found;
}

std::optional<Tick> CheckpointStore::checkpointBefore(TimelineId line, Tick tick) const
{
    for (auto entry = m_states.upper_bound({line, tick}); entry != m_states.begin();) {
        --entry;
        if (entry->first.first != line) break;
        if (entry->second.checkpoint) return entry->first.second;
    }
    return std::nullopt;
}

bool CheckpointStore::charge(uint64_t bytes)
{
    if (!makeRoom(bytes)) return false;
    m_bytes += bytes;
    return true;
}

void CheckpointStore::clear()
{
    m_states.clear();
    m_ring.clear();
    m_blocks.clear();
    m_last = nullptr;
    m_keptOfLast.clear();
    m_bytes = m_undoBytes = 0;
    m_checkpoints = 0;
    m_doublings = 0;
}

int64_t CheckpointStore::spacing(int64_t costNs) const
{
    const auto affordable = static_cast<int64_t>(static_cast<double>(costNs) / std::max(m_budget.overhead, 1e-3));
    constexpr int64_t kUnknown = 4; // nobody knows yet what one costs: a run of a few milliseconds has none
    return std::max(m_budget.spacingNs << m_doublings, costNs == 0 ? kUnknown * m_budget.spacingNs : affordable);
}

} // namespace loopscope
