// What the control flow of a v1 graph means, as raising needs it: under which condition each node lives, which frames are loops of what
// variables, and what has to stay as it is, with the reason. docs/raising.md explains it.
#pragma once

#include "converters/raise/conditions.h"
#include "converters/raise/raise.h"
#include "engine/ir/flow_role.h"
#include "engine/ir/frames.h"
#include "engine/ir/model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace loopscope::raising {

/// A variable of a loop: what enters, what the Merge gives in each iteration, what goes on to the next.
struct CarriedValue {
    OperatorId enter, merge, next;
    std::vector<OperatorId> exits;
    std::string passedOn; ///< the gate's output, as which the body sees the value: "x/Switch:1"; empty: it has no gate
};

/// A frame that becomes a While.
struct LoopShape {
    int32_t frame = 0;
    OperatorId condition;  ///< LoopCond
    int32_t variable = -1; ///< of the conditions: whether the loop goes on
    std::vector<CarriedValue> carried;
    std::vector<OperatorId> exits;
    std::vector<OperatorId> merges; ///< of the variables, sorted
};

/// What the graph must keep visible at its top, whatever is made of it.
struct Wanted {
    std::vector<bool> values;        ///< fetched, returned or bound: by value
    std::vector<bool> operators;     ///< targets and control outputs: by operator
    std::vector<bool> fed;           ///< operators whose values are given: they stay as they are
    std::vector<OperatorId> fedFlow; ///< likewise, of control flow
};

size_t at(OperatorId id);
size_t at(ValueId id);

class Flow {
public:
    Flow(const Graph& graph, const Wanted& wanted) : m_graph(graph), m_wanted(wanted) {}

    /// Finds all there is. What cannot be raised is added to `declined` and stays. Errors: unsupported, if nothing can be raised.
    Status analyze(std::vector<Declined>& declined);
    /// From now on the node is one that stays as it is, with what gates it. analyze() has to be called again.
    void keep(OperatorId op);
    void keepFrame(int32_t frame) { m_keptFrames.insert(frame); }

    const Graph& graph() const { return m_graph; }
    const std::vector<OperatorId>& order() const { return m_order; } ///< operands first
    Condition livesOfFrame(int32_t frame) const { return m_livesOfFrame[static_cast<size_t>(frame)]; }
    int32_t variableOf(OperatorId choice) const { return m_variableOf[at(choice)]; }
    const std::vector<LoopShape>& loops() const { return m_loops; }
    const Wanted& wanted() const { return m_wanted; }
    const FrameAnalysis& frames() const { return m_frames; }
    ConditionTable& conditions() { return m_conditions; }
    Condition lives(OperatorId op) const { return m_lives[at(op)]; }
    /// The condition of one result: a Switch's outputs live under more than the Switch.
    Condition livesAs(ValueId value);
    int32_t position(OperatorId op) const { return m_position[at(op)]; } ///< in an order in which operands come first
    ValueId predicateOf(int32_t variable) const { return m_predicates[static_cast<size_t>(variable)]; }

    /// The role of a node that is taken apart; none for all others, those included that stay.
    FlowRole role(OperatorId op) const { return m_roles[at(op)]; }
    /// The loop of a frame; null: the frame is no loop, or stays.
    const LoopShape* loopOf(int32_t frame) const;
    /// The frame that an Enter leads into.
    int32_t entered(OperatorId enter) const { return m_entered[at(enter)]; }
    int32_t frameOf(OperatorId op) const { return m_frames.frameOf[at(op)]; }
    /// The nearest frame around a node's place that is a loop, or 0: nodes of frames that stay belong to what is around them.
    int32_t regionOf(OperatorId op) const { return m_regionOfFrame[static_cast<size_t>(frameOf(op))]; }
    int32_t regionOfFrame(int32_t frame) const { return m_regionOfFrame[static_cast<size_t>(frame)]; }

    /// The operator that writes a value; invalid if none does.
    OperatorId producer(ValueId value) const;
    /// The value behind Switches: the same data.
    ValueId dataOf(ValueId value) const;
    bool isReference(ValueId value) const { return m_graph.value(value).type.isReference; }
    /// Whether an edge leads back to an earlier iteration of a frame that stays.
    bool isBackEdge(OperatorId from, OperatorId to) const;
    bool isPure(OperatorId op) const;

private:
    void findRoles();
    Status sortNodes();
    void findVariables();
    void findLoops(std::vector<Declined>& declined);
    std::string parseLoop(int32_t frame, LoopShape& loop, OperatorId& where) const;
    std::string checkLoop(const LoopShape& loop, OperatorId& where);
    std::string checkExitSide(const LoopShape& loop, OperatorId& where);
    void findConditions(std::vector<Declined>& declined);
    Condition conditionOf(OperatorId op);
    void checkMerge(OperatorId op, std::vector<Declined>& declined);
    std::optional<bool> knownTruth(int32_t variable);
    ValueId predicateRoot(ValueId value, bool isLoop, bool& isNegated) const;
    void orderVariables(const std::vector<int32_t>& ranks);

    const Graph& m_graph;
    const Wanted& m_wanted;
    FrameAnalysis m_frames;
    ConditionTable m_conditions;
    std::unordered_set<OperatorId> m_kept;
    std::unordered_set<int32_t> m_keptFrames;
    std::vector<FlowRole> m_roles;
    std::vector<int32_t> m_position, m_entered, m_regionOfFrame;
    std::vector<OperatorId> m_order; ///< operands first
    std::vector<Condition> m_lives, m_livesOfFrame;
    std::vector<bool> m_isTainted;     ///< by operator: it reads something that a kept Switch may have made dead
    std::vector<int32_t> m_variableOf; ///< by operator: of a Switch
    std::vector<bool> m_isNegated;     ///< by operator: of a Switch, whose predicate is the negation of the variable
    std::vector<ValueId> m_predicates;
    std::unordered_map<int32_t, int32_t> m_variableOfRoot; ///< by predicate
    std::vector<int8_t> m_knownTruth;                      ///< by variable: 0 and 1 are what is known, 2: nothing, −1: not looked for
    std::vector<int32_t> m_loopIndex;                      ///< by frame
    std::vector<LoopShape> m_loops;
};

} // namespace loopscope::raising
