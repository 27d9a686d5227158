// Roles, predicates and the conditions under which nodes live. Loops are looked at in flow_loops.cpp.
#include "converters/raise/flow.h"

#include "engine/base/text.h"
#include "engine/ir/random_stream.h"
#include "engine/ops/dataflow.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <set>

namespace loopscope::raising {

namespace {

constexpr int kMostRounds = 100;
constexpr int kLongestChain = 100'000; ///< copies of a predicate behind each other
constexpr size_t kMostLiterals = 64;   ///< of one node, when the order of the variables is looked for

/// The node that a problem of FrameAnalysis begins with.
std::string nodeOf(const std::string& problem)
{
    const size_t begin = problem.find('\'');
    const size_t end = begin == std::string::npos ? begin : problem.find('\'', begin + 1);
    return end == std::string::npos ? "" : problem.substr(begin + 1, end - begin - 1);
}

/// Sets of literals, each once.
class LiteralSets {
public:
    LiteralSets() { number({}); }
    int32_t number(std::vector<int32_t> set)
    {
        const auto [place, isNew] = m_numbers.try_emplace(std::move(set), static_cast<int32_t>(m_sets.size()));
        if (isNew) m_sets.push_back(&place->first);
        return place->second;
    }
    const std::vector<int32_t>& of(int32_t set) const { return *m_sets[static_cast<size_t>(set)]; }
    int32_t join(int32_t a, int32_t b)
    {
        if (a == b || b == 0) return a;
        if (a == 0) return b;
        return combine(m_joined, a, b, [](const auto& x, const auto& y, auto out) { std::ranges::set_union(x, y, out); });
    }
    int32_t common(int32_t a, int32_t b)
    {
        if (a == b) return a;
        return combine(m_common, a, b, [](const auto& x, const auto& y, auto out) { std::ranges::set_intersection(x, y, out); });
    }

private:
    template <typename Operation>
    int32_t combine(std::map<std::pair<int32_t, int32_t>, int32_t>& known, int32_t a, int32_t b, Operation operation)
    {
        const auto [place, isNew] = known.try_emplace({std::min(a, b), std::max(a, b)}, 0);
        if (!isNew) return place->second;
        std::vector<int32_t> made;
        operation(of(a), of(b), std::back_inserter(made));
        if (made.size() > kMostLiterals) made.resize(kMostLiterals);
        return place->second = number(std::move(made));
    }
    std::map<std::vector<int32_t>, int32_t> m_numbers;
    std::vector<const std::vector<int32_t>*> m_sets;
    std::map<std::pair<int32_t, int32_t>, int32_t> m_joined, m_common;
};

} // namespace

size_t at(OperatorId id) { return static_cast<size_t>(id.index); }
size_t at(ValueId id) { return static_cast<size_t>(id.index); }

OperatorId Flow::producer(ValueId value) const
{
    if (!value.valid() || m_graph.value(value).role != ValueRole::result) return {};
    return m_graph.value(value).producer;
}

ValueId Flow::dataOf(ValueId value) const
{
    for (OperatorId op = producer(value); op.valid() && role(op) == FlowRole::choice; op = producer(value))
        value = m_graph.op(op).inputs[0];
    return value;
}

bool Flow::isBackEdge(OperatorId from, OperatorId to) const
{
    return flowRole(m_graph.op(from)) == FlowRole::nextIteration && flowRole(m_graph.op(to)) == FlowRole::merge;
}

bool Flow::isPure(OperatorId op) const
{
    const Operator& o = m_graph.op(op);
    return !hasEffects(o) && !isDataflow(o) && !drawsRandomNumbers(o);
}

const LoopShape* Flow::loopOf(int32_t frame) const
{
    const int32_t index = m_loopIndex[static_cast<size_t>(frame)];
    return index < 0 ? nullptr : &m_loops[static_cast<size_t>(index)];
}

/// A Merge stays together with the Switches that decide which of its inputs lives.
void Flow::keep(OperatorId op)
{
    std::vector<OperatorId> open = {op};
    std::unordered_set<OperatorId> seen = {op};
    m_kept.insert(op);
    while (!open.empty()) {
        const OperatorId node = open.back();
        open.pop_back();
        const auto follow = [&](OperatorId source) {
            if (!source.valid() || frameOf(source) != frameOf(op) || !seen.insert(source).second) return;
            const FlowRole its = role(source);
            if (its == FlowRole::choice) {
                const int32_t variable = m_variableOf[at(source)];
                const LoopShape* const loop = loopOf(frameOf(source));
                if (!loop || loop->variable != variable) m_kept.insert(source);
            }
            if (its != FlowRole::merge && its != FlowRole::exit && its != FlowRole::enter) open.push_back(source);
        };
        for (const ValueId input : m_graph.op(node).inputs)
            if (livesAs(input) != kAlways) follow(producer(input));
        for (const OperatorId before : m_graph.op(node).controlInputs)
            if (m_lives[at(before)] != kAlways) follow(before);
    }
}

Status Flow::analyze(std::vector<Declined>& declined)
{
    if (m_frames.frames.empty()) m_frames = analyzeFrames(m_graph);
    for (const std::string& problem : m_frames.problems) declined.push_back({nodeOf(problem), problem});
    if (!m_frames.problems.empty()) return Error(ErrorCode::unsupported, "the graph is none that TensorFlow runs");
    for (int round = 0; round < kMostRounds; ++round) {
        const size_t before = m_kept.size() + m_keptFrames.size();
        findRoles();
        findLoops(declined);
        if (m_kept.size() + m_keptFrames.size() != before) continue;
        if (Status sorted = sortNodes(); !sorted.ok()) {
            declined.push_back({sorted.detail().where, sorted.detail().what});
            return sorted;
        }
        findVariables();
        findConditions(declined);
        if (m_conditions.isExhausted()) {
            declined.push_back({"", "nodes live under too many predicates at once"});
            return Error(ErrorCode::unsupported, "nodes live under too many predicates at once");
        }
        if (m_kept.size() + m_keptFrames.size() == before) return {};
    }
    declined.push_back({"", "too many conditionals are irregular"});
    return Error(ErrorCode::unsupported, "too many conditionals are irregular");
}

void Flow::findRoles()
{
    const size_t count = m_graph.operators.size();
    const auto& frames = m_frames.frames;
    m_regionOfFrame.assign(frames.size(), 0);
    std::vector<bool> stays(frames.size(), false);
    for (size_t f = 1; f < frames.size(); ++f) {
        const auto parent = static_cast<size_t>(frames[f].parent);
        stays[f] = stays[parent] || m_keptFrames.contains(static_cast<int32_t>(f));
        m_regionOfFrame[f] = stays[f] ? m_regionOfFrame[parent] : static_cast<int32_t>(f);
    }
    m_entered.assign(count, 0);
    for (size_t f = 1; f < frames.size(); ++f)
        for (const OperatorId enter : frames[f].enters) m_entered[at(enter)] = static_cast<int32_t>(f);
    m_roles.assign(count, FlowRole::none);
    for (size_t o = 0; o < count; ++o) {
        const OperatorId id(static_cast<int64_t>(o));
        const Operator& op = m_graph.operators[o];
        const FlowRole role = flowRole(op);
        if (role == FlowRole::none || m_kept.contains(id) || m_wanted.fed[o]) continue;
        const auto frame = static_cast<size_t>(role == FlowRole::enter ? m_entered[o] : frameOf(id));
        const bool isChoice = role == FlowRole::choice;
        if (stays[frame] || (isChoice && (op.inputs.size() != 2 || !op.inputs[0].valid() || !op.inputs[1].valid()))) continue;
        if (frame == 0 && role != FlowRole::merge && !isChoice && role != FlowRole::controlTrigger) continue;
        if (role == FlowRole::manyChoice || op.results.empty()) continue;
        m_roles[o] = role;
    }
}

/// Operands first; Exits behind all Enters of their frame.
Status Flow::sortNodes()
{
    const size_t count = m_graph.operators.size();
    const size_t nodes = count + m_frames.frames.size();
    std::vector<int32_t> waiting(nodes);
    std::vector<std::vector<int32_t>> users(nodes);
    const auto wait = [&](size_t user, size_t before) {
        users[before].push_back(static_cast<int32_t>(user));
        ++waiting[user];
    };
    for (size_t o = 0; o < count; ++o) {
        const OperatorId id(static_cast<int64_t>(o));
        if (m_roles[o] == FlowRole::enter) wait(count + static_cast<size_t>(m_entered[o]), o);
        // Where a frame lives is known when all its Enters are: Exits and what may be decided by that come after them.
        if (m_roles[o] == FlowRole::exit || (m_roles[o] == FlowRole::choice && frameOf(id) > 0 && regionOf(id) == frameOf(id)))
            wait(o, count + static_cast<size_t>(frameOf(id)));
        if (m_wanted.fed[o]) continue;
        for (const ValueId input : m_graph.operators[o].inputs)
            if (const OperatorId source = producer(input); source.valid() && !isBackEdge(source, id)) wait(o, at(source));
        for (const OperatorId before : m_graph.operators[o].controlInputs) wait(o, at(before));
    }
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
    for (size_t i = 0; i < nodes; ++i)
        if (waiting[i] == 0) ready.push(static_cast<int32_t>(i));
    m_position.assign(count, -1);
    m_order.clear();
    while (!ready.empty()) {
        const auto next = static_cast<size_t>(ready.top());
        ready.pop();
        if (next < count) {
            m_position[next] = static_cast<int32_t>(m_order.size());
            m_order.emplace_back(static_cast<int64_t>(next));
        }
        for (const int32_t user : users[next])
            if (--waiting[static_cast<size_t>(user)] == 0) ready.push(user);
    }
    const auto stuck = std::ranges::find(m_position, -1);
    if (stuck == m_position.end()) return {};
    return Error(ErrorCode::unsupported, "the node waits for itself")
        .at(m_graph.operators[static_cast<size_t>(stuck - m_position.begin())].name);
}

/// The value that decides, behind copies, LoopCond and negations.
ValueId Flow::predicateRoot(ValueId value, bool isLoop, bool& isNegated) const
{
    isNegated = false;
    for (int i = 0; i < kLongestChain; ++i) {
        const OperatorId id = producer(value);
        if (!id.valid() || m_wanted.fed[at(id)]) break;
        const Operator& op = m_graph.op(id);
        const bool isNot = op.kind.dialect == "tf" && op.kind.name == "LogicalNot" && !isLoop; // a loop's goes on where it is true
        const bool isCopy = op.kind.dialect == "tf" && op.kind.name == "Identity";
        if (!isNot && !isCopy && role(id) != FlowRole::loopCondition && role(id) != FlowRole::choice) break;
        if (op.inputs.empty() || !op.inputs[0].valid()) break;
        isNegated = isNegated != isNot;
        isLoop = isLoop || role(id) == FlowRole::loopCondition;
        value = op.inputs[0];
    }
    return value;
}

void Flow::findVariables()
{
    m_variableOf.assign(m_graph.operators.size(), -1);
    m_isNegated.assign(m_graph.operators.size(), false);
    m_predicates.clear();
    std::map<ValueId, int32_t> known;
    std::vector<int32_t> ranks; // of a variable: loops first, then as the Switches come
    const auto variableFor = [&](OperatorId id, ValueId predicate, bool isLoop) {
        bool isNegated = false;
        const ValueId root = predicateRoot(predicate, isLoop, isNegated);
        const auto [place, isNew] = known.try_emplace(root, static_cast<int32_t>(m_predicates.size()));
        if (isNew) {
            m_predicates.push_back(root);
            ranks.push_back(m_position[at(id)] + (isLoop ? 0 : static_cast<int32_t>(m_graph.operators.size())));
        }
        m_variableOf[at(id)] = place->second;
        m_isNegated[at(id)] = isNegated;
    };
    for (const LoopShape& loop : m_loops) variableFor(loop.condition, m_graph.op(loop.condition).inputs[0], true);
    for (const OperatorId id : m_order)
        if (role(id) == FlowRole::choice) variableFor(id, m_graph.op(id).inputs[1], false);
    orderVariables(ranks);
    for (LoopShape& loop : m_loops) loop.variable = m_variableOf[at(loop.condition)];
    for (const OperatorId id : m_order) { // the gates of loop variables
        if (role(id) != FlowRole::choice) continue;
        const int32_t index = m_loopIndex[static_cast<size_t>(frameOf(id))];
        if (index < 0 || m_loops[static_cast<size_t>(index)].variable != m_variableOf[at(id)]) continue;
        const OperatorId merge = producer(m_graph.op(id).inputs[0]);
        for (CarriedValue& carried : m_loops[static_cast<size_t>(index)].carried)
            if (carried.merge == merge && carried.passedOn.empty())
                carried.passedOn = m_graph.op(id).name + (m_isNegated[at(id)] ? "" : ":1");
    }
}

/// Numbers the variables anew, so that what is asked around other predicates comes before them.
void Flow::orderVariables(const std::vector<int32_t>& ranks)
{
    LiteralSets sets;
    std::vector<int32_t> own(m_graph.operators.size(), 0);
    std::vector<int32_t> ofFrame(m_frames.frames.size(), 0);
    std::vector<std::set<int32_t>> outer(m_predicates.size());
    const auto behind = [&](ValueId value) {
        const OperatorId source = producer(value);
        if (!source.valid() || role(source) == FlowRole::enter) return 0;
        if (role(source) == FlowRole::exit) return ofFrame[static_cast<size_t>(frameOf(source))];
        if (role(source) != FlowRole::choice) return own[at(source)];
        const bool branch = (m_graph.value(value).slot == 1) != m_isNegated[at(source)];
        return sets.join(own[at(source)], sets.number({m_variableOf[at(source)] * 2 + (branch ? 1 : 0)}));
    };
    for (const OperatorId id : m_order) {
        if (m_wanted.fed[at(id)]) continue;
        const Operator& op = m_graph.op(id);
        int32_t set = 0;
        bool isFirst = true;
        const bool isMerge = flowRole(op) == FlowRole::merge;
        for (const ValueId input : op.inputs) {
            if (const OperatorId source = producer(input); source.valid() && isBackEdge(source, id)) continue;
            set = isMerge && !isFirst ? sets.common(set, behind(input)) : sets.join(isMerge ? 0 : set, behind(input));
            isFirst = false;
        }
        for (const OperatorId before : op.controlInputs) {
            if (isMerge || role(before) == FlowRole::enter) continue;
            set = sets.join(set, role(before) == FlowRole::exit ? ofFrame[static_cast<size_t>(frameOf(before))] : own[at(before)]);
        }
        own[at(id)] = set;
        if (role(id) == FlowRole::enter)
            ofFrame[static_cast<size_t>(m_entered[at(id)])] = sets.join(ofFrame[static_cast<size_t>(m_entered[at(id)])], set);
        if (role(id) != FlowRole::choice) continue;
        for (const int32_t literal : sets.of(set))
            if (literal / 2 != m_variableOf[at(id)]) outer[static_cast<size_t>(m_variableOf[at(id)])].insert(literal / 2);
    }
    for (const LoopShape& loop : m_loops) outer[static_cast<size_t>(m_variableOf[at(loop.condition)])].clear();
    std::vector<std::vector<int32_t>> inner(outer.size());
    std::vector<size_t> waiting(outer.size());
    std::set<std::pair<int32_t, int32_t>> ready, all;
    for (size_t v = 0; v < outer.size(); ++v) {
        const auto variable = static_cast<int32_t>(v);
        waiting[v] = outer[v].size();
        for (const int32_t other : outer[v]) inner[static_cast<size_t>(other)].push_back(variable);
        all.emplace(ranks[v], variable);
        if (waiting[v] == 0) ready.emplace(ranks[v], variable);
    }
    std::vector<int32_t> numbers(outer.size(), -1);
    std::vector<ValueId> predicates;
    while (!all.empty()) { // each waits for the other: the first one
        const auto next = ready.empty() ? *all.begin() : *ready.begin();
        ready.erase(next);
        all.erase(next);
        numbers[static_cast<size_t>(next.second)] = static_cast<int32_t>(predicates.size());
        predicates.push_back(m_predicates[static_cast<size_t>(next.second)]);
        for (const int32_t other : inner[static_cast<size_t>(next.second)])
            if (--waiting[static_cast<size_t>(other)] == 0 && numbers[static_cast<size_t>(other)] < 0)
                ready.emplace(ranks[static_cast<size_t>(other)], other);
    }
    m_predicates = std::move(predicates);
    m_variableOfRoot.clear();
    for (size_t v = 0; v < m_predicates.size(); ++v) m_variableOfRoot.emplace(m_predicates[v].index, static_cast<int32_t>(v));
    for (int32_t& variable : m_variableOf)
        if (variable >= 0) variable = numbers[static_cast<size_t>(variable)];
}

// --- Conditions -------------------------------------------------------------------------------------------------------------------------

/// What a predicate that comes from outside of a frame is there: where the frame lives only if it is true, it is.
std::optional<bool> Flow::knownTruth(int32_t variable)
{
    int8_t& known = m_knownTruth[static_cast<size_t>(variable)];
    if (known >= 0) return known == 2 ? std::nullopt : std::optional(known == 1);
    known = 2;
    bool isNegated = false;
    ValueId root = predicateOf(variable);
    for (OperatorId enter = producer(root); enter.valid() && role(enter) == FlowRole::enter; enter = producer(root)) {
        bool isTurned = false;
        root = predicateRoot(m_graph.op(enter).inputs[0], false, isTurned);
        isNegated = isNegated != isTurned;
        const auto outer = m_variableOfRoot.find(root.index);
        if (outer == m_variableOfRoot.end()) continue;
        const Condition frame = m_livesOfFrame[static_cast<size_t>(m_entered[at(enter)])];
        for (const bool truth : {false, true})
            if (m_conditions.both(frame, m_conditions.literal(outer->second, truth)) == frame) known = (truth != isNegated) ? 1 : 0;
        if (known != 2) return known == 1;
    }
    return std::nullopt;
}

Condition Flow::livesAs(ValueId value)
{
    const OperatorId source = producer(value);
    if (!source.valid()) return kAlways;
    switch (role(source)) {
    case FlowRole::enter: return kAlways; // a frame's inside begins anew
    case FlowRole::exit: return m_livesOfFrame[static_cast<size_t>(frameOf(source))];
    case FlowRole::choice: {
        const bool branch = (m_graph.value(value).slot == 1) != m_isNegated[at(source)];
        if (const auto truth = knownTruth(m_variableOf[at(source)])) return *truth == branch ? m_lives[at(source)] : kNever;
        return m_conditions.both(m_lives[at(source)], m_conditions.literal(m_variableOf[at(source)], branch));
    }
    default: return m_lives[at(source)];
    }
}

Condition Flow::conditionOf(OperatorId id)
{
    const Operator& op = m_graph.op(id);
    if (m_wanted.fed[at(id)] || flowRole(op) == FlowRole::controlTrigger) return kAlways;
    if (flowRole(op) == FlowRole::merge) {
        Condition any = kNever;
        for (const ValueId input : op.inputs) {
            if (const OperatorId source = producer(input); source.valid() && isBackEdge(source, id)) continue;
            any = m_conditions.either(any, livesAs(input));
        }
        return any;
    }
    Condition all = kAlways;
    for (const ValueId input : op.inputs) all = m_conditions.both(all, livesAs(input));
    for (const OperatorId before : op.controlInputs) {
        if (role(before) == FlowRole::enter) continue;
        all = m_conditions.both(all, role(before) == FlowRole::exit ? m_livesOfFrame[static_cast<size_t>(frameOf(before))]
                                                                    : m_lives[at(before)]);
    }
    return all;
}

void Flow::findConditions(std::vector<Declined>& declined)
{
    m_conditions = ConditionTable();
    m_lives.assign(m_graph.operators.size(), kAlways);
    m_livesOfFrame.assign(m_frames.frames.size(), kAlways);
    m_knownTruth.assign(m_predicates.size(), -1);
    m_isTainted.assign(m_graph.operators.size(), false);
    const size_t before = m_kept.size();
    std::vector<OperatorId> merges;
    for (const OperatorId id : m_order) {
        const Operator& op = m_graph.op(id);
        m_lives[at(id)] = conditionOf(id);
        if (role(id) == FlowRole::enter) {
            Condition& frame = m_livesOfFrame[static_cast<size_t>(m_entered[at(id)])];
            frame = m_conditions.both(frame, m_lives[at(id)]);
        }
        const FlowRole nominal = flowRole(op);
        bool isTainted = (nominal == FlowRole::choice || nominal == FlowRole::manyChoice) && role(id) == FlowRole::none;
        for (const ValueId input : op.inputs)
            if (const OperatorId source = producer(input); source.valid()) isTainted = isTainted || m_isTainted[at(source)];
        m_isTainted[at(id)] = isTainted && nominal != FlowRole::merge && !m_wanted.fed[at(id)];
        if (role(id) == FlowRole::merge) merges.push_back(id);
    }
    if (m_conditions.isExhausted()) return;
    for (const OperatorId id : merges) checkMerge(id, declined);
    if (m_kept.size() != before) return;
    for (const LoopShape& loop : m_loops) {
        OperatorId where;
        const std::string reason = checkLoop(loop, where);
        if (reason.empty()) continue;
        declined.push_back({m_graph.op(where).name, reason});
        m_keptFrames.insert(loop.frame);
    }
}

void Flow::checkMerge(OperatorId id, std::vector<Declined>& declined)
{
    const Operator& op = m_graph.op(id);
    const LoopShape* const loop = loopOf(frameOf(id));
    if (loop && std::ranges::binary_search(loop->merges, id)) return;
    Condition any = kNever;
    bool isTainted = false;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
        const Condition own = livesAs(op.inputs[i]);
        if (const OperatorId source = producer(op.inputs[i]); source.valid()) isTainted = isTainted || m_isTainted[at(source)];
        if (m_conditions.both(any, own) != kNever) {
            size_t other = 0;
            while (m_conditions.both(livesAs(op.inputs[other]), own) == kNever) ++other;
            if (!isTainted)
                declined.push_back({op.name, "Merge has two inputs that may both be live: '" + m_graph.value(op.inputs[other]).id +
                                                 "' and '" + m_graph.value(op.inputs[i]).id + "'"});
            return keep(id);
        }
        any = m_conditions.either(any, own);
    }
    if (!isTainted) return;
    keep(id); // what decides for it stays, so it does, too
}

} // namespace loopscope::raising
