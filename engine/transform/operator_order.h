// The order of a graph's operators while it is edited: a list of neighbours, so that operators are placed and taken in constant time.
#pragma once

#include "engine/ir/model.h"

#include <cstdint>
#include <vector>

namespace loopscope {

/// Where an operator comes to stand.
class InsertPoint {
public:
    static InsertPoint first() { return {Kind::first, {}}; }
    static InsertPoint end() { return {Kind::end, {}}; }
    static InsertPoint before(OperatorId op) { return {Kind::before, op}; }
    static InsertPoint after(OperatorId op) { return {Kind::after, op}; }

private:
    friend class GraphEditor;
    friend class OperatorOrder;
    enum class Kind : uint8_t { first, end, before, after };
    InsertPoint(Kind kind, OperatorId op) : m_kind(kind), m_op(op) {}
    Kind m_kind;
    OperatorId m_op;
};

class OperatorOrder {
public:
    /// Numbers 0 to `count` − 1, one behind the other.
    explicit OperatorOrder(size_t count = 0);

    OperatorId first() const { return OperatorId(m_first); }                                           ///< invalid: there is none
    OperatorId next(OperatorId id) const { return OperatorId(m_next[static_cast<size_t>(id.index)]); } ///< invalid behind the last
    std::vector<OperatorId> ids() const;
    /// Makes room for one more number, which stands nowhere yet.
    void grow();
    void place(OperatorId id, InsertPoint point);
    void take(OperatorId id);
    /// All of them in another order.
    void set(const std::vector<OperatorId>& sorted);

private:
    std::vector<int32_t> m_next, m_previous; ///< by operator: its neighbours; −1: none
    int32_t m_first = -1, m_last = -1;
};

} // namespace loopscope
