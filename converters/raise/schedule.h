// In which order the parts of a region are written, and which of them form one conditional.
#pragma once

#include "converters/raise/flow.h"

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace loopscope::raising {

/// A node, or a loop with all that is in it, as a part of the graph that is being written.
struct RegionItem {
    int32_t id = 0;                                    ///< number of the operator, or that of a loop (Items::ofLoop)
    Condition lives = kAlways;                         ///< in the region
    std::vector<std::pair<int32_t, Condition>> inputs; ///< of a Merge: operands that may live in the region
};

/// What the items of a graph are called.
class Items {
public:
    explicit Items(const Flow& flow) : m_flow(flow), m_operators(static_cast<int32_t>(flow.graph().operators.size())) {}

    int32_t ofLoop(int32_t frame) const { return m_operators + frame; }
    bool isLoop(int32_t id) const { return id >= m_operators; }
    int32_t frameOf(int32_t loop) const { return loop - m_operators; }
    static OperatorId operatorOf(int32_t id) { return OperatorId(id); }
    /// The item that a reader sees behind a value's producer: of an Exit its loop.
    int32_t asProducer(OperatorId op) const;
    /// The item by which an operator reads what is outside of it: of an Enter its loop.
    int32_t asReader(OperatorId op) const;

private:
    const Flow& m_flow;
    int32_t m_operators;
};

/// Parts that are written one after the other.
struct Step {
    int32_t variable = -1;        ///< of a conditional; −1: one item that is no part of any
    std::vector<int32_t> members; ///< places in the list of items
};

/// The variable that decides about an item first; −1: it simply runs.
int32_t decisionOf(const ConditionTable& conditions, const RegionItem& item);

/// Every step stands behind those it reads and waits for. Conditionals are as large as that allows. Empty although there are items: the
/// items wait for each other.
std::vector<Step> scheduleRegion(Flow& flow, const Items& names, const std::vector<RegionItem>& items);

} // namespace loopscope::raising
