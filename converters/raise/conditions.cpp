#include "converters/raise/conditions.h"

#include <algorithm>
#include <utility>

namespace loopscope::raising {

namespace {

constexpr int32_t kDeepestCondition = 2000;
constexpr size_t kMostNodes = 4'000'000;

std::pair<uint64_t, uint64_t> keyOf(uint64_t a, int32_t b, int32_t c)
{
    return {a, (static_cast<uint64_t>(static_cast<uint32_t>(b)) << 32) | static_cast<uint32_t>(c)};
}

} // namespace

ConditionTable::ConditionTable() { m_nodes = {{kNoVariable, kNever, kNever, 0}, {kNoVariable, kAlways, kAlways, 0}}; }

Condition ConditionTable::node(int32_t variable, Condition low, Condition high)
{
    if (low == high) return low;
    const auto [at, isNew] =
        m_unique.try_emplace(keyOf(static_cast<uint64_t>(variable), low, high), static_cast<Condition>(m_nodes.size()));
    if (isNew) {
        const int32_t depth = 1 + std::max(m_nodes[static_cast<size_t>(low)].depth, m_nodes[static_cast<size_t>(high)].depth);
        if (depth > kDeepestCondition || m_nodes.size() > kMostNodes) m_isExhausted = true;
        m_nodes.push_back({variable, low, high, depth});
    }
    return at->second;
}

Condition ConditionTable::literal(int32_t variable, bool branch)
{
    return branch ? node(variable, kNever, kAlways) : node(variable, kAlways, kNever);
}

Condition ConditionTable::apply(bool isBoth, Condition a, Condition b)
{
    const Condition absorbing = isBoth ? kNever : kAlways;
    const Condition neutral = isBoth ? kAlways : kNever;
    if (a == absorbing || b == absorbing) return absorbing;
    if (a == neutral || a == b) return b;
    if (b == neutral) return a;
    if (m_isExhausted) return absorbing;
    if (a > b) std::swap(a, b);
    const auto key = keyOf(isBoth ? 1 : 0, a, b);
    if (const auto known = m_applied.find(key); known != m_applied.end()) return known->second;
    const int32_t variable = std::min(top(a), top(b));
    const Condition lowPart = apply(isBoth, under(a, variable, false), under(b, variable, false));
    const Condition highPart = apply(isBoth, under(a, variable, true), under(b, variable, true));
    const Condition made = node(variable, lowPart, highPart);
    m_applied.emplace(key, made);
    return made;
}

Condition ConditionTable::both(Condition a, Condition b) { return apply(true, a, b); }

Condition ConditionTable::either(Condition a, Condition b) { return apply(false, a, b); }

Condition ConditionTable::under(Condition c, int32_t variable, bool branch) const
{
    if (top(c) != variable) return c;
    return branch ? high(c) : low(c);
}

} // namespace loopscope::raising
