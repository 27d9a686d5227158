// Who names each value of a graph that is edited, and who waits for each operator. An entry is removed in constant time, since operands
// know their place in the list.
#pragma once

#include "engine/ir/model.h"

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace loopscope {

/// One place that names a value.
struct ValueUse {
    enum class Kind : uint8_t {
        operand,   ///< operand `index` of `op`
        attribute, ///< the `index`-th ValueRef in the attributes of `op`
        output,    ///< output `index` of the graph
        signature, ///< binding `index` of the model's signatures, inputs before outputs
    } kind = Kind::operand;
    OperatorId op; ///< operand, attribute
    int32_t index = 0;
    auto operator<=>(const ValueUse&) const = default;
};

/// One place that waits for an operator: control input `index` of `op`, or control output `index` of the graph if `op` is invalid.
struct ControlUse {
    OperatorId op;
    int32_t index = 0;
    auto operator<=>(const ControlUse&) const = default;
};

/// Knows places, not what stands there: whoever changes the graph unlinks what was there before and links what comes after.
class UseLists {
public:
    UseLists() = default;
    /// Of all operators and outputs. Uses of signatures are linked by whoever knows the model.
    explicit UseLists(const Graph& graph);

    /// In no particular order.
    std::span<const ValueUse> of(ValueId id) const { return m_ofValue[static_cast<size_t>(id.index)]; }
    std::span<const ControlUse> of(OperatorId id) const { return m_ofOperator[static_cast<size_t>(id.index)]; }

    /// The next number, with all that it names.
    void addValue() { m_ofValue.emplace_back(); }
    void addOperator(OperatorId id, const Operator& op);

    void link(ValueId id, ValueUse use); ///< invalid, a missing optional operand: nothing
    void unlink(ValueId id, const ValueUse& use);
    void link(OperatorId id, ControlUse use);
    void unlink(OperatorId id, const ControlUse& use);

    void linkOperands(OperatorId id, const Operator& op);
    void unlinkOperands(OperatorId id, const Operator& op);
    void linkAttributes(OperatorId id, const Operator& op);
    void unlinkAttributes(OperatorId id, const Operator& op);
    void linkControls(OperatorId id, const Operator& op);
    void unlinkControls(OperatorId id, const Operator& op);
    void linkControl(OperatorId id, const Operator& op); ///< its last control input, which is new
    void linkOutputs(const Graph& graph);
    void unlinkOutputs(const Graph& graph);
    void linkControlOutputs(const Graph& graph);
    void unlinkControlOutputs(const Graph& graph);

private:
    void linkAll(OperatorId id, const Operator& op);
    /// Where the place of a use in its list is kept; null: nowhere, it has to be looked for.
    int32_t* slotOf(const ValueUse& use);
    int32_t* slotOf(const ControlUse& use);

    std::vector<std::vector<ValueUse>> m_ofValue;
    std::vector<std::vector<ControlUse>> m_ofOperator;
    std::vector<std::vector<int32_t>> m_operandSlots; ///< by operator and operand: its place in the list of the value's uses
    std::vector<std::vector<int32_t>> m_controlSlots; ///< by operator and control input
    std::vector<int32_t> m_outputSlots;               ///< likewise, by output
    std::vector<int32_t> m_controlOutputSlots;        ///< by control output
};

} // namespace loopscope
