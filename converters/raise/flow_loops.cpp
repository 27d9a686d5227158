// Which frames are loops that a While can stand for, and the rule that one breaks which cannot.
#include "converters/raise/flow.h"

#include <algorithm>
#include <unordered_map>

namespace loopscope::raising {

namespace {

std::string quoted(const std::string& name) { return "'" + name + "'"; }

} // namespace

void Flow::findLoops(std::vector<Declined>& declined)
{
    const auto& frames = m_frames.frames;
    m_loopIndex.assign(frames.size(), -1);
    m_loops.clear();
    std::vector<bool> isRead(m_graph.values.size(), false), isAwaited(m_graph.operators.size(), false);
    for (const Operator& op : m_graph.operators) {
        for (const ValueId input : op.inputs)
            if (input.valid()) isRead[at(input)] = true;
        for (const OperatorId before : op.controlInputs) isAwaited[at(before)] = true;
    }
    for (size_t v = 0; v < isRead.size(); ++v) isRead[v] = isRead[v] || m_wanted.values[v];
    for (const OperatorId id : frames.front().nodes) {
        const FlowRole its = flowRole(m_graph.op(id));
        if (its != FlowRole::exit && its != FlowRole::nextIteration && its != FlowRole::loopCondition) continue;
        if (!m_kept.insert(id).second) continue;
        declined.push_back({m_graph.op(id).name, m_graph.op(id).kind.name + " without an Enter: it is in no frame"});
    }
    for (size_t f = 1; f < frames.size(); ++f) {
        const auto frame = static_cast<int32_t>(f);
        if (m_regionOfFrame[f] != frame) continue; // stays
        LoopShape loop;
        loop.frame = frame;
        OperatorId where = frames[f].enters.empty() ? OperatorId() : frames[f].enters.front();
        std::string reason = parseLoop(frame, loop, where);
        for (const CarriedValue& carried : loop.carried) {
            const Operator& merge = m_graph.op(carried.merge);
            if (reason.empty() && merge.results.size() > 1 && isRead[at(merge.results[1])]) {
                reason = "value_index of a loop's Merge is read";
                where = carried.merge;
            }
        }
        for (const OperatorId enter : frames[f].enters) {
            if (!reason.empty() || m_wanted.fed[at(enter)]) break;
            const auto isIts = [&](const CarriedValue& c) { return c.enter == enter; };
            const bool isVariable = std::ranges::any_of(loop.carried, isIts);
            if (isVariable || attributeBool(m_graph.op(enter).attributes, "is_constant", false)) continue;
            if (!isAwaited[at(enter)] && !isRead[at(m_graph.op(enter).results[0])]) continue;
            reason = "Enter is not constant and no Merge takes it up: it has a value in the first iteration only";
            where = enter;
        }
        if (reason.empty()) {
            m_loopIndex[f] = static_cast<int32_t>(m_loops.size());
            m_loops.push_back(std::move(loop));
            continue;
        }
        declined.push_back({where.valid() ? m_graph.op(where).name : frames[f].name, "frame " + quoted(frames[f].name) + ": " + reason});
        m_keptFrames.insert(frame);
    }
}

/// The parts of a loop by their shape alone. The reason why it is none; empty: it is one.
std::string Flow::parseLoop(int32_t frame, LoopShape& loop, OperatorId& where) const
{
    std::unordered_map<OperatorId, int> taken; // NextIterations that a Merge takes up
    for (const OperatorId id : m_frames.frames[static_cast<size_t>(frame)].nodes) {
        const Operator& op = m_graph.op(id);
        const auto wrong = [&](std::string reason) {
            where = id;
            return reason;
        };
        const FlowRole its = flowRole(op);
        if (m_wanted.fed[at(id)]) return wrong("a value inside of it is fed");
        for (const ValueId result : op.results)
            if (m_wanted.values[at(result)] && flowRole(op) != FlowRole::exit) return wrong("a value inside of it is asked for");
        if (its == FlowRole::loopCondition) {
            if (loop.condition.valid())
                return wrong("there are two LoopConds: " + quoted(m_graph.op(loop.condition).name) + " and " + quoted(op.name));
            if (op.inputs.empty() || !op.inputs[0].valid()) return wrong("LoopCond reads nothing");
            loop.condition = id;
        }
        if (its == FlowRole::exit) loop.exits.push_back(id);
        if (its == FlowRole::nextIteration) taken.try_emplace(id, 0);
        if (its != FlowRole::merge) continue;
        CarriedValue carried;
        carried.merge = id;
        int enters = 0, nexts = 0;
        for (const ValueId input : op.inputs) {
            const OperatorId source = producer(input);
            if (!source.valid()) continue;
            const FlowRole from = flowRole(m_graph.op(source));
            if (from == FlowRole::enter && m_entered[at(source)] == frame) {
                carried.enter = source;
                ++enters;
            } else if (from == FlowRole::nextIteration && frameOf(source) == frame) {
                carried.next = source;
                ++nexts;
                ++taken[source];
            }
        }
        if (enters + nexts == 0) continue; // the end of a conditional
        if (enters != 1 || nexts != 1 || op.inputs.size() != 2)
            return wrong("Merge has " + std::to_string(op.inputs.size()) + " inputs, " + std::to_string(enters) + " from Enters and " +
                         std::to_string(nexts) + " from NextIterations, instead of one of each");
        if (attributeBool(m_graph.op(carried.enter).attributes, "is_constant", false))
            return wrong("Merge reads the constant Enter " + quoted(m_graph.op(carried.enter).name) +
                         ", which has a value in every iteration");
        if (!op.controlInputs.empty()) return wrong("Merge of a loop variable waits for other nodes");
        loop.merges.push_back(id); // nodes are in file order
        if (isReference(op.results[0])) return wrong("the loop carries references to variables");
        loop.carried.push_back(std::move(carried));
    }
    if (!loop.condition.valid()) return "there is no LoopCond";
    for (const auto& [next, merges] : taken) {
        where = next;
        if (merges == 0) return "NextIteration is read by no Merge";
    }
    return {};
}

/// What the conditions of its nodes say of a loop. The reason why it is none; empty: it is one.
std::string Flow::checkLoop(const LoopShape& loop, OperatorId& where)
{
    const std::string frame = "frame " + quoted(m_frames.frames[static_cast<size_t>(loop.frame)].name) + ": ";
    where = loop.condition;
    if (m_lives[at(loop.condition)] != kAlways) return frame + "LoopCond is not live in every iteration";
    const Condition goesOn = m_conditions.literal(loop.variable, true), ends = m_conditions.literal(loop.variable, false);
    for (const CarriedValue& carried : loop.carried) {
        where = carried.next;
        if (m_lives[at(carried.next)] != goesOn) return frame + "NextIteration does not live exactly where LoopCond is true";
    }
    for (const OperatorId exit : loop.exits) {
        where = exit;
        if (m_lives[at(exit)] != ends) return frame + "Exit does not live exactly where LoopCond is false";
    }
    const auto& enters = m_frames.frames[static_cast<size_t>(loop.frame)].enters;
    const Condition all = livesOfFrame(loop.frame);
    bool isSteered = enters.empty();
    OperatorId other;
    for (const OperatorId enter : enters) {
        if (m_lives[at(enter)] == all) isSteered = true;
        else other = enter;
    }
    if (!isSteered) {
        where = other;
        return frame + "its Enters live under different conditions";
    }
    return checkExitSide(loop, where);
}

/// Nodes between the condition and the Exits are computed behind the While, from what it gives.
std::string Flow::checkExitSide(const LoopShape& loop, OperatorId& where)
{
    const std::string frame = "frame " + quoted(m_frames.frames[static_cast<size_t>(loop.frame)].name) + ": ";
    const auto isAfter = [&](OperatorId id) {
        return m_conditions.top(m_lives[at(id)]) == loop.variable && m_conditions.low(m_lives[at(id)]) != kNever;
    };
    for (const OperatorId id : m_frames.frames[static_cast<size_t>(loop.frame)].nodes) {
        if (!isAfter(id)) continue;
        where = id;
        if (m_conditions.high(m_lives[at(id)]) != kNever) return frame + "the node lives on both sides of LoopCond";
        if (m_conditions.low(m_lives[at(id)]) != kAlways) return frame + "there is a conditional between LoopCond and the Exits";
        if (flowRole(m_graph.op(id)) == FlowRole::merge) return frame + "there is a Merge between LoopCond and the Exits";
        for (const ValueId input : m_graph.op(id).inputs) {
            const OperatorId source = producer(dataOf(input));
            if (!source.valid() || role(source) == FlowRole::enter || isAfter(source)) continue;
            if (std::ranges::binary_search(loop.merges, source)) continue;
            return frame + "the node is computed when the loop has ended, from " + quoted(m_graph.op(source).name) +
                   ", which is no loop variable";
        }
    }
    return {};
}

} // namespace loopscope::raising
