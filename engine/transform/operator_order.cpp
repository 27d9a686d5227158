#include "engine/transform/operator_order.h"

namespace loopscope {

OperatorOrder::OperatorOrder(size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        m_next.push_back(i + 1 < count ? static_cast<int32_t>(i + 1) : -1);
        m_previous.push_back(static_cast<int32_t>(i) - 1);
    }
    if (count == 0) return;
    m_first = 0;
    m_last = static_cast<int32_t>(count - 1);
}

std::vector<OperatorId> OperatorOrder::ids() const
{
    std::vector<OperatorId> ids;
    for (OperatorId at = first(); at.valid(); at = next(at)) ids.push_back(at);
    return ids;
}

void OperatorOrder::grow()
{
    m_next.push_back(-1);
    m_previous.push_back(-1);
}

void OperatorOrder::place(OperatorId id, InsertPoint place)
{
    int32_t before = -1; // its new neighbour in front
    switch (place.m_kind) {
    case InsertPoint::Kind::first: break;
    case InsertPoint::Kind::end: before = m_last; break;
    case InsertPoint::Kind::after: before = place.m_op.index; break;
    case InsertPoint::Kind::before: before = m_previous[static_cast<size_t>(place.m_op.index)]; break;
    }
    const int32_t behind = before < 0 ? m_first : m_next[static_cast<size_t>(before)];
    m_previous[static_cast<size_t>(id.index)] = before;
    m_next[static_cast<size_t>(id.index)] = behind;
    (before < 0 ? m_first : m_next[static_cast<size_t>(before)]) = id.index;
    (behind < 0 ? m_last : m_previous[static_cast<size_t>(behind)]) = id.index;
}

void OperatorOrder::take(OperatorId id)
{
    const int32_t before = m_previous[static_cast<size_t>(id.index)], behind = m_next[static_cast<size_t>(id.index)];
    (before < 0 ? m_first : m_next[static_cast<size_t>(before)]) = behind;
    (behind < 0 ? m_last : m_previous[static_cast<size_t>(behind)]) = before;
}

void OperatorOrder::set(const std::vector<OperatorId>& sorted)
{
    m_first = m_last = -1;
    for (const OperatorId id : sorted) place(id, InsertPoint::end());
}

} // namespace loopscope
