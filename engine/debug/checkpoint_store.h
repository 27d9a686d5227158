// Saved machine states of all timelines of a session within one budget of bytes: checkpoints, spread evenly over running time, and the
// undo ring, the stops that were visited last. Bytes that states share count once. Where `--memory` lets values go to disk, the large
// values of saved states may, too.
#pragma once

#include "engine/debug/timeline_info.h"
#include "engine/exec/machine_state.h"
#include "engine/tensor/shared_elements.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace loopscope {

using SharedState = std::shared_ptr<const MachineState>;

/// Keeps what it is given as long as the budget allows; the start of the first timeline always.
class CheckpointStore {
public:
    explicit CheckpointStore(const TimelineBudget& budget) : m_budget(budget) {}

    struct Found {
        Tick tick = 0;
        SharedState state;         ///< null: none. Of between(): large values may be without their bytes
        bool isCheckpoint = false; ///< not only of the undo ring
    };

    /// Keeps the state as a checkpoint that lies `gapNs` of running time behind the saved state before it. Thins out what is there to
    /// make room; false if there is no room even so.
    bool addCheckpoint(TimelineId line, Tick tick, const SharedState& state, int64_t gapNs);
    /// Keeps the state as the latest of the undo ring. The oldest ones make room.
    void remember(TimelineId line, Tick tick, const SharedState& state);
    /// The last saved state of a timeline at or before a tick.
    Found atOrBefore(TimelineId line, Tick tick) const;
    /// The tick of the last checkpoint of a timeline at or before a tick.
    std::optional<Tick> checkpointBefore(TimelineId line, Tick tick) const;
    /// All saved states of a timeline from one tick to another, both included, in order.
    std::vector<Found> between(TimelineId line, Tick from, Tick to) const;
    bool has(TimelineId line, Tick tick) const { return m_states.contains({line, tick}); }
    /// Bytes that are not states but count, too. False, and nothing happens, if there is no room.
    bool charge(uint64_t bytes);
    void refund(uint64_t bytes) { m_bytes -= bytes; }
    void clear();

    /// Running time that should lie between checkpoints now. `costNs`: what taking one costs.
    int64_t spacing(int64_t costNs) const;
    uint64_t bytes() const { return m_bytes; }
    size_t checkpoints() const { return m_checkpoints; }

private:
    using Key = std::pair<TimelineId, Tick>; ///< timeline, tick
    /// A large value of a state, by its number among all, and its bytes, which may be on disk.
    struct KeptValue {
        size_t number = 0;
        ElementHandle bytes;
    };
    struct Entry {
        SharedState state;           ///< without what is in `kept`
        std::vector<KeptValue> kept; ///< nothing, unless values swap
        bool checkpoint = false;
        bool undo = false;
        int64_t gapNs = 0; ///< checkpoints: running time since the one before
    };
    struct Block {
        uint64_t bytes = 0;
        int64_t uses = 0;
    };

    bool makeRoom(const MachineState& state);
    bool makeRoom(uint64_t bytes);
    bool thin();
    void forgetOldest();
    Entry& place(const Key& key, const SharedState& state);
    void drop(std::map<Key, Entry>::iterator entry);
    uint64_t cost(const MachineState& state) const;
    void hold(const Entry& entry);
    void release(const Entry& entry);
    void hold(const void* block, uint64_t bytes);
    void release(const void* block);
    SharedState withoutLarge(const SharedState& state, std::vector<KeptValue>& kept);
    static SharedState whole(const Entry& entry);

    TimelineBudget m_budget;
    std::map<Key, Entry> m_states;
    std::deque<Key> m_ring;                          ///< oldest first
    std::unordered_map<const void*, Block> m_blocks; ///< bytes behind values, by address
    SharedState m_last; ///< the state that was kept last, as it was given: what the next one shares with it is kept already
    std::unordered_map<const void*, ElementHandle> m_keptOfLast; ///< by address of the bytes
    uint64_t m_bytes = 0;
    uint64_t m_undoBytes = 0; ///< of states of the ring alone, as if they shared nothing newer
    size_t m_checkpoints = 0;
    int m_doublings = 0;
};

} // namespace loopscope
