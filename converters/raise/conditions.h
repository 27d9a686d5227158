// Under which predicates something lives, as a decision diagram: equal conditions are equal numbers, so that "lives always" and "cannot
// live together" are looked up, not guessed from the shape of the graph.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace loopscope::raising {

/// A number of a ConditionTable.
using Condition = int32_t;
inline constexpr Condition kNever = 0;
inline constexpr Condition kAlways = 1;

/// Reduced ordered decision diagrams over variables that are ordered by their number: 0 is asked first.
class ConditionTable {
public:
    ConditionTable();

    Condition literal(int32_t variable, bool branch);
    Condition both(Condition a, Condition b);
    Condition either(Condition a, Condition b);
    /// What is left of a condition where a variable that is not behind others of it is known.
    Condition under(Condition c, int32_t variable, bool branch) const;
    /// The first variable that it asks; kNoVariable for constants.
    int32_t top(Condition c) const { return m_nodes[static_cast<size_t>(c)].variable; }
    Condition low(Condition c) const { return m_nodes[static_cast<size_t>(c)].low; }
    Condition high(Condition c) const { return m_nodes[static_cast<size_t>(c)].high; }
    /// True once a condition became deeper or the table larger than is sensible; what it says then is of no use.
    bool isExhausted() const { return m_isExhausted; }

    static constexpr int32_t kNoVariable = INT32_MAX;

private:
    struct Node {
        int32_t variable, low, high, depth;
    };
    Condition node(int32_t variable, Condition low, Condition high);
    Condition apply(bool isBoth, Condition a, Condition b);

    struct KeyHash {
        size_t operator()(const std::pair<uint64_t, uint64_t>& key) const
        {
            return static_cast<size_t>(key.first * 0x9e3779b97f4a7c15ULL ^ (key.second + (key.first >> 31)) * 0xc2b2ae3d27d4eb4fULL);
        }
    };
    std::vector<Node> m_nodes;
    std::unordered_map<std::pair<uint64_t, uint64_t>, Condition, KeyHash> m_unique, m_applied;
    bool m_isExhausted = false;
};

} // namespace loopscope::raising
