// Loops: a frame becomes a While with a function for its condition and one for its body.
#include "converters/raise/emitter.h"
#include "engine/ir/origin.h"

#include <algorithm>

namespace loopscope::raising {

namespace {

/// TensorFlow's loops have all their nodes in one scope; others are called after their frame.
std::string loopName(const std::string& condition, const std::string& frame)
{
    const size_t slash = condition.rfind('/');
    if (slash != std::string::npos && slash > 0 && condition.substr(slash + 1).starts_with("LoopCond")) return condition.substr(0, slash);
    return frame.empty() ? "While" : frame;
}

} // namespace

std::vector<std::string> Emitter::framesAround(int32_t frame) const
{
    std::vector<std::string> names;
    for (const auto& frames = m_flow.frames().frames; frame > 0; frame = frames[static_cast<size_t>(frame)].parent)
        names.insert(names.begin(), frames[static_cast<size_t>(frame)].name);
    return names;
}

/// The closure of `open` over what is read in the frame, into `chosen`.
void Emitter::addNeededBy(std::vector<OperatorId>& open, std::unordered_set<int32_t>& chosen, const LoopShape& loop) const
{
    const auto need = [&](ValueId value) {
        const OperatorId source = m_flow.producer(value);
        if (!source.valid() || m_flow.role(source) == FlowRole::enter) return;
        if (m_flow.role(source) == FlowRole::exit ? false : m_flow.regionOf(source) != loop.frame) return;
        if (std::ranges::binary_search(loop.merges, source)) return;
        if (chosen.insert(m_items.asProducer(source)).second) open.push_back(source);
    };
    while (!open.empty()) {
        const OperatorId id = open.back();
        open.pop_back();
        if (m_flow.role(id) == FlowRole::exit) {
            for (const OperatorId enter : m_flow.frames().frames[static_cast<size_t>(m_flow.frameOf(id))].enters)
                for (const ValueId input : m_flow.graph().op(enter).inputs) need(input);
            continue;
        }
        if (m_flow.role(id) == FlowRole::choice && m_flow.variableOf(id) == loop.variable) {
            need(m_flow.graph().op(id).inputs[0]); // a gate: what it decides is decided
            continue;
        }
        for (const ValueId input : m_flow.graph().op(id).inputs) need(input);
        if (m_flow.role(id) == FlowRole::choice) need(m_flow.predicateOf(m_flow.variableOf(id)));
    }
}

/// Marks of a loop are nothing that is written.
bool Emitter::isItem(OperatorId id) const
{
    const FlowRole role = m_flow.role(id);
    return role != FlowRole::nextIteration && role != FlowRole::loopCondition && role != FlowRole::exit;
}

/// What runs in every iteration, the last one included: what LoopCond needs, and what has an effect before it.
Emitter::Items_ Emitter::conditionItems(const LoopShape& loop)
{
    std::unordered_set<int32_t> chosen;
    std::vector<OperatorId> open = {loop.condition};
    const auto isBefore = [&](Condition lives) { return m_flow.conditions().top(lives) != loop.variable && lives != kNever; };
    for (const OperatorId id : m_regionNodes[static_cast<size_t>(loop.frame)])
        if (m_flow.role(id) == FlowRole::none && m_isNeeded[at(id)] && !m_flow.isPure(id) && isBefore(m_flow.lives(id)) &&
            chosen.insert(static_cast<int32_t>(id.index)).second)
            open.push_back(id);
    for (const int32_t child : m_childLoops[static_cast<size_t>(loop.frame)])
        if (isBefore(m_flow.livesOfFrame(child)) && chosen.insert(m_items.ofLoop(child)).second) {
            const LoopShape* const inner = m_flow.loopOf(child);
            if (!inner->exits.empty()) open.push_back(inner->exits.front());
        }
    addNeededBy(open, chosen, loop);
    Items_ items;
    for (const OperatorId id : m_regionNodes[static_cast<size_t>(loop.frame)])
        if (chosen.contains(static_cast<int32_t>(id.index)) && isItem(id) && isBefore(m_flow.lives(id))) items.push_back(itemOf(id));
    addLoopItems(items, loop,
                 [&](int32_t child) { return chosen.contains(m_items.ofLoop(child)) && isBefore(m_flow.livesOfFrame(child)); });
    return items;
}

/// What runs where the loop goes on, and what of the condition's side that reads.
Emitter::Items_ Emitter::bodyItems(Builder& b, const LoopShape& loop)
{
    ConditionTable& conditions = m_flow.conditions();
    const auto isBody = [&](Condition lives) { return conditions.top(lives) == loop.variable && conditions.high(lives) != kNever; };
    std::unordered_set<int32_t> chosen;
    std::vector<OperatorId> open;
    for (const OperatorId id : m_regionNodes[static_cast<size_t>(loop.frame)])
        if (isBody(m_flow.lives(id)) && chosen.insert(static_cast<int32_t>(id.index)).second) open.push_back(id);
    for (const CarriedValue& carried : loop.carried) open.push_back(carried.next);
    for (const int32_t child : m_childLoops[static_cast<size_t>(loop.frame)])
        if (isBody(m_flow.livesOfFrame(child)) && chosen.insert(m_items.ofLoop(child)).second && !m_flow.loopOf(child)->exits.empty())
            open.push_back(m_flow.loopOf(child)->exits.front());
    std::erase_if(open, [&](OperatorId id) { return m_flow.role(id) == FlowRole::none && !m_isNeeded[at(id)]; });
    addNeededBy(open, chosen, loop);
    Items_ items;
    for (const OperatorId id : m_regionNodes[static_cast<size_t>(loop.frame)]) {
        if (!chosen.contains(static_cast<int32_t>(id.index)) || !isItem(id)) continue;
        RegionItem item = itemOf(id);
        if (item.lives == kNever) continue; // a Merge has it as an operand that never comes
        const bool isAgain = !isBody(item.lives);
        if (isAgain && conditions.top(item.lives) == loop.variable) continue; // behind the end of the loop
        if (isAgain && m_flow.role(id) == FlowRole::none && !m_flow.isPure(id))
            b.fail(loop.condition,
                   "the body reads '" + m_flow.graph().op(id).name + "', which is computed on the condition's side and has effects");
        item.lives = conditions.under(item.lives, loop.variable, true);
        for (auto& [operand, lives] : item.inputs) lives = conditions.under(lives, loop.variable, true);
        std::erase_if(item.inputs, [](const auto& input) { return input.second == kNever; });
        items.push_back(std::move(item));
    }
    addLoopItems(items, loop,
                 [&](int32_t child) { return chosen.contains(m_items.ofLoop(child)) && m_flow.livesOfFrame(child) != kNever; });
    for (RegionItem& item : items)
        if (m_items.isLoop(item.id)) {
            if (!isBody(item.lives)) b.fail(loop.condition, "the body reads a loop on the condition's side");
            item.lives = conditions.under(item.lives, loop.variable, true);
        }
    return items;
}

template <typename Wants> void Emitter::addLoopItems(Items_& items, const LoopShape& loop, Wants wants)
{
    for (const int32_t child : m_childLoops[static_cast<size_t>(loop.frame)]) {
        if (!wants(child)) continue;
        RegionItem item;
        item.id = m_items.ofLoop(child);
        item.lives = m_flow.livesOfFrame(child);
        items.push_back(std::move(item));
    }
}

/// Nodes between LoopCond and the Exits are written behind the While: its results are their operands.
void Emitter::emitAfter(Builder& b, const LoopShape& loop)
{
    const ConditionTable& conditions = m_flow.conditions();
    for (const OperatorId id : m_regionNodes[static_cast<size_t>(loop.frame)]) {
        const Condition lives = m_flow.lives(id);
        if (conditions.top(lives) != loop.variable || conditions.low(lives) == kNever || m_flow.role(id) != FlowRole::none) continue;
        if (!m_isNeeded[at(id)]) continue;
        std::vector<ValueId> inputs;
        for (const ValueId input : m_flow.graph().op(id).inputs) inputs.push_back(outerValue(b, input));
        const OperatorId here =
            cloneFrom(b.editor(), m_flow.graph(), id, std::move(inputs), controlsFor(b, id, nullptr), InsertPoint::end());
        for (size_t k = 0; k < m_flow.graph().op(id).results.size(); ++k)
            b.define(m_flow.graph().op(id).results[k], b.editor().op(here).results[k]);
        b.setOperator(static_cast<int32_t>(id.index), here);
    }
    for (const OperatorId exit : loop.exits) b.define(m_flow.graph().op(exit).results[0], outerValue(b, m_flow.graph().op(exit).inputs[0]));
}

/// A value of a frame as it is around the frame: what enters, instead of the Enter.
ValueId Emitter::outerValue(Builder& b, ValueId value)
{
    const ValueId data = m_flow.dataOf(value);
    const OperatorId source = m_flow.producer(data);
    if (source.valid() && m_flow.role(source) == FlowRole::enter && !b.defines(data)) return b.lookUp(m_flow.graph().op(source).inputs[0]);
    return b.lookUp(data);
}

void Emitter::emitLoop(Builder& b, int32_t frame)
{
    const Graph& graph = m_flow.graph();
    const LoopShape& loop = *m_flow.loopOf(frame);
    const Frame& described = m_flow.frames().frames[static_cast<size_t>(frame)];
    const std::string name = loopName(graph.op(loop.condition).name, described.name);
    const std::vector<std::string> frames = framesAround(frame);
    Invariants invariants;
    Builder condition(m_flow, b, frame, functionName(name, "_cond"), frames, &invariants);
    Builder body(m_flow, b, frame, functionName(name, "_body"), frames, &invariants);
    std::vector<ValueId> conditionInputs, bodyInputs, outputs;
    for (const CarriedValue& carried : loop.carried) {
        const Operator& merge = graph.op(carried.merge);
        const ValueId first = m_flow.dataOf(graph.op(carried.enter).inputs[0]);
        const std::string base = merge.name.substr(merge.name.rfind('/') + 1);
        const std::string called = base.starts_with("Merge") ? graph.value(first).id : merge.name;
        conditionInputs.push_back(condition.addInput(merge.results[0], merge.name, called));
        bodyInputs.push_back(body.addInput(merge.results[0], carried.passedOn.empty() ? merge.name : carried.passedOn, called));
    }
    emitRegion(condition, conditionItems(loop));
    if (b.failed()) return;
    const ValueId goesOn = condition.lookUp(graph.op(loop.condition).inputs[0]);
    emitRegion(body, bodyItems(b, loop));
    if (b.failed()) return;
    for (const CarriedValue& carried : loop.carried) outputs.push_back(body.lookUp(graph.op(carried.next).inputs[0]));
    for (size_t k = 0; k < invariants.values.size(); ++k) {
        conditionInputs.push_back(condition.inputFor(invariants.values[k]));
        bodyInputs.push_back(body.inputFor(invariants.values[k]));
        outputs.push_back(bodyInputs.back());
    }
    OperatorDraft draft;
    draft.kind = {"tf", "While"};
    draft.name = name;
    AttributeItems types, origins;
    const auto add = [&](ValueId operand, ValueId formal, std::string origin) {
        draft.inputs.push_back(operand);
        TensorType type = graph.value(formal).type;
        types.emplace_back(type.dtype);
        draft.results.push_back(std::move(type));
        origins.emplace_back(std::move(origin));
    };
    std::unordered_map<int32_t, std::string> exitOf; // by Merge
    for (const OperatorId exit : loop.exits) exitOf.try_emplace(m_flow.dataOf(graph.op(exit).inputs[0]).index, graph.op(exit).name);
    for (const CarriedValue& carried : loop.carried) {
        const ValueId merged = graph.op(carried.merge).results[0];
        add(b.lookUp(graph.op(carried.enter).inputs[0]), merged, exitOf.contains(merged.index) ? exitOf[merged.index] : "");
    }
    for (const ValueId value : invariants.values) add(outerValue(b, value), value, "");
    if (b.failed()) return;
    std::vector<OperatorId> nodes = described.enters;
    for (const OperatorId id : described.nodes)
        if (flowRole(graph.op(id)) != FlowRole::none && m_flow.role(id) != FlowRole::none && isPartOf(loop, id)) nodes.push_back(id);
    const size_t told = m_raised.size();
    m_raised.push_back({"while", described.name, b.isTop() ? graph.id : b.id(), name, {}});
    for (const OperatorId node : nodes) m_raised[told].nodes.push_back(graph.op(node).name);
    const GraphId conditionGraph = addFunction(condition.finish(conditionInputs, {goesOn}));
    const GraphId bodyGraph = addFunction(body.finish(bodyInputs, outputs));
    draft.attributes = {{"T", std::move(types)},
                        {"cond", GraphRef{conditionGraph, nullptr}},
                        {"body", GraphRef{bodyGraph, nullptr}},
                        {"output_shapes", AttributeItems()},
                        {"parallel_iterations", described.parallelIterations},
                        {"_lower_using_switch_merge", true},
                        {std::string(kOrigin), std::move(origins)}};
    std::unordered_set<int32_t> seen;
    for (const OperatorId enter : described.enters) {
        for (const OperatorId before : graph.op(enter).controlInputs) addControls(b, before, nullptr, seen, draft.controlInputs);
        for (const ValueId input : graph.op(enter).inputs) addControlsBehind(b, input, nullptr, seen, draft.controlInputs);
    }
    const OperatorId made =
        b.editor().insert(std::move(draft), b.sources(nodes), b.isTop() ? InsertPoint::after(loop.condition) : InsertPoint::end());
    m_raised[told].name = b.editor().op(made).name;
    b.setOperator(m_items.ofLoop(frame), made);
    for (size_t k = 0; k < loop.carried.size(); ++k) b.define(graph.op(loop.carried[k].merge).results[0], b.editor().op(made).results[k]);
    emitAfter(b, loop);
}

/// Whether a node of control flow belongs to the loop itself and not to a conditional in it.
bool Emitter::isPartOf(const LoopShape& loop, OperatorId id) const
{
    switch (m_flow.role(id)) {
    case FlowRole::merge: return std::ranges::binary_search(loop.merges, id);
    case FlowRole::choice: return m_flow.variableOf(id) == loop.variable;
    case FlowRole::controlTrigger: return false;
    default: return true;
    }
}

} // namespace loopscope::raising
