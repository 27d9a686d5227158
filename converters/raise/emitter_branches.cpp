// Conditionals: the nodes that one predicate decides about become an If with a function for each side.
#include "converters/raise/emitter.h"
#include "engine/base/bytes.h"
#include "engine/ir/origin.h"
#include "engine/tensor/strings.h"

#include <algorithm>

namespace loopscope::raising {

namespace {

/// TensorFlow's conditionals have all their nodes in one scope; others are called after what they give.
std::string branchName(const std::string& node)
{
    const size_t slash = node.rfind('/');
    const bool isScoped = slash != std::string::npos && slash > 0;
    const std::string last = node.substr(isScoped ? slash + 1 : 0);
    return isScoped && (last.starts_with("Merge") || last.starts_with("pred_id")) ? node.substr(0, slash) : node + "/If";
}

} // namespace

/// What of the step's items may live on one side, and under which condition it does there.
Emitter::Items_ Emitter::itemsUnder(const Items_& items, const Step& step, bool branch)
{
    const ConditionTable& conditions = m_flow.conditions();
    Items_ chosen;
    for (const int32_t member : step.members) {
        const RegionItem& item = items[static_cast<size_t>(member)];
        RegionItem inside;
        inside.id = item.id;
        inside.lives = conditions.under(item.lives, step.variable, branch);
        if (inside.lives == kNever) continue;
        for (const auto& [operand, condition] : item.inputs)
            if (const Condition lives = conditions.under(condition, step.variable, branch); lives != kNever)
                inside.inputs.emplace_back(operand, lives);
        chosen.push_back(std::move(inside));
    }
    return chosen;
}

/// Values of the step that others read, or that are asked for: the results of its If.
std::vector<ValueId> Emitter::exportsOf(const Items_& items, const Step& step, const std::unordered_set<int32_t>& inside)
{
    const Graph& graph = m_flow.graph();
    std::vector<ValueId> exports;
    const auto add = [&](OperatorId id) {
        if (m_flow.role(id) == FlowRole::choice) return;
        for (const ValueId result : graph.op(id).results) {
            const auto isOutside = [&](OperatorId reader) { return !inside.contains(m_items.asReader(reader)); };
            if (m_flow.wanted().values[at(result)] || std::ranges::any_of(m_readers[at(result)], isOutside)) exports.push_back(result);
        }
    };
    for (const int32_t member : step.members) {
        const int32_t id = items[static_cast<size_t>(member)].id;
        if (!m_items.isLoop(id)) add(Items::operatorOf(id));
        else
            for (const OperatorId exit : m_flow.loopOf(m_items.frameOf(id))->exits) add(exit);
    }
    return exports;
}

ValueId Emitter::appendConst(Builder& b, const std::string& name, TensorType type, ConstantPtr data, const Sources& sources)
{
    OperatorDraft draft;
    draft.kind = {"tf", "Const"};
    draft.name = name;
    draft.attributes = {
        {std::string(kOrigin), AttributeItems{std::string()}}, {"dtype", type.dtype}, {"value", TensorAttribute{type, std::move(data)}}};
    draft.results = {std::move(type)};
    return b.editor().op(b.editor().append(std::move(draft), sources)).results.front();
}

/// Stands for a value on the side on which it is dead. Where it is asked for there, the run must fail as it did. A handle of no elements
/// leads to nothing: what nobody looks at needs no state behind it.
ValueId Emitter::deadStandIn(Builder& b, ValueId value)
{
    const Graph& graph = m_flow.graph();
    const DType dtype = graph.value(value).type.dtype;
    const OperatorId source = m_flow.producer(value);
    const std::string name = graph.op(source).name;
    if (dtype == DType::unknown) {
        b.fail(source, "'" + name + "' leaves its branch, and nothing can stand for its dtype where it is dead");
        return {};
    }
    OperatorDraft fake;
    fake.kind = {"tf", "FakeParam"};
    fake.name = name + "/dead";
    fake.attributes = {{std::string(kOrigin), AttributeItems{std::string()}}, {"dtype", dtype}, {"shape", Shape({0})}};
    fake.results = {TensorType(dtype, Shape({0}))};
    if (m_flow.wanted().values[at(value)]) {
        const std::byte no{0};
        const ValueId never = appendConst(b, name + "/is_live", TensorType(DType::boolean, Shape()),
                                          std::make_shared<Constant>(Bytes::copyOf(&no, 1)), b.sources({source}));
        const std::vector<std::byte> text = packStrings(std::vector<std::string>{"'" + graph.value(value).id + "' does not have value"});
        const ValueId message = appendConst(b, name + "/message", TensorType(DType::string, Shape()),
                                            std::make_shared<Constant>(Bytes::copyOf(text.data(), text.size())), b.sources({source}));
        OperatorDraft check;
        check.kind = {"tf", "Assert"};
        check.name = name + "/check";
        check.attributes = {{"T", AttributeItems{DType::string}}, {"summarize", int64_t{3}}};
        check.inputs = {never, message};
        fake.controlInputs = {b.editor().append(std::move(check), b.sources({source}))};
    }
    return b.editor().op(b.editor().append(std::move(fake), b.sources({source}))).results.front();
}

ValueId Emitter::branchOutput(Builder& b, ValueId value, bool isLive) { return isLive ? b.lookUp(value) : deadStandIn(b, value); }

/// The nodes of control flow for which an If stands; `hasWork`: whether anything would be in it.
std::vector<OperatorId> Emitter::nodesOf(const std::unordered_set<int32_t>& inside, int32_t variable, bool& hasWork)
{
    const Graph& graph = m_flow.graph();
    std::vector<OperatorId> nodes;
    for (const int32_t id : inside) {
        if (m_items.isLoop(id)) {
            hasWork = true;
            continue;
        }
        const OperatorId op = Items::operatorOf(id);
        const FlowRole role = flowRole(graph.op(op));
        if (role == FlowRole::merge || role == FlowRole::choice) nodes.push_back(op);
        hasWork = hasWork || (role == FlowRole::none && m_isNeeded[at(op)]);
        for (const ValueId input : graph.op(op).inputs) // the Switches that gate it run outside
            if (const OperatorId gate = m_flow.producer(input);
                gate.valid() && m_flow.role(gate) == FlowRole::choice && m_flow.variableOf(gate) == variable)
                nodes.push_back(gate);
    }
    std::ranges::sort(nodes);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
    return nodes;
}

/// Writes both sides of an If as functions. What they take, and the attributes that follow.
bool Emitter::emitSides(Builder& b, const Items_& items, const Step& step, const std::vector<ValueId>& exports, Builder* sides,
                        OperatorDraft& draft)
{
    const Graph& graph = m_flow.graph();
    std::vector<ValueId> outputs[2], inputs[2], operands;
    for (const int side : {1, 0}) {
        const Items_ own = itemsUnder(items, step, side == 1);
        emitRegion(sides[side], own);
        std::unordered_set<int32_t> live;
        for (const RegionItem& item : own) live.insert(item.id);
        for (const ValueId value : exports) {
            if (b.failed()) return false;
            outputs[side].push_back(branchOutput(sides[side], value, live.contains(m_items.asProducer(m_flow.producer(value)))));
        }
    }
    if (b.failed()) return false;
    const ValueId predicate = m_flow.predicateOf(step.variable);
    AttributeItems inputTypes, outputTypes, origins;
    std::unordered_set<int32_t> seen;
    for (const int side : {1, 0})
        for (const ValueId value : sides[side].captures())
            if (seen.insert(value.index).second) operands.push_back(value);
    draft.inputs.push_back(b.lookUp(predicate));
    for (const ValueId value : operands) {
        for (const int side : {1, 0}) inputs[side].push_back(sides[side].inputFor(value));
        draft.inputs.push_back(b.lookUp(value));
        inputTypes.emplace_back(graph.value(value).type.dtype);
    }
    for (const ValueId value : exports) {
        TensorType type = graph.value(value).type;
        outputTypes.emplace_back(type.dtype);
        draft.results.push_back(std::move(type));
        origins.emplace_back(originText(graph, value));
    }
    if (b.failed()) return false;
    const GraphId thenGraph = addFunction(sides[1].finish(inputs[1], outputs[1]));
    const GraphId elseGraph = addFunction(sides[0].finish(inputs[0], outputs[0]));
    draft.attributes = {{"Tcond", graph.value(predicate).type.dtype},
                        {"Tin", std::move(inputTypes)},
                        {"Tout", std::move(outputTypes)},
                        {"then_branch", GraphRef{thenGraph, nullptr}},
                        {"else_branch", GraphRef{elseGraph, nullptr}},
                        {"output_shapes", AttributeItems()},
                        {"_lower_using_switch_merge", true},
                        {std::string(kOrigin), std::move(origins)}};
    return true;
}

/// What an If waits for: whatever an item of it does, and is not in it.
std::vector<OperatorId> Emitter::controlsOfBranch(Builder& b, const std::unordered_set<int32_t>& inside, const Items_& items,
                                                  const Step& step)
{
    const Graph& graph = m_flow.graph();
    std::vector<OperatorId> controls;
    std::unordered_set<int32_t> seen;
    for (const int32_t member : step.members) {
        const int32_t id = items[static_cast<size_t>(member)].id;
        std::vector<OperatorId> readers = {Items::operatorOf(id)};
        if (m_items.isLoop(id)) readers = m_flow.frames().frames[static_cast<size_t>(m_items.frameOf(id))].enters;
        for (const OperatorId reader : readers) {
            for (const OperatorId before : graph.op(reader).controlInputs) addControls(b, before, &inside, seen, controls);
            for (const ValueId input : graph.op(reader).inputs) addControlsBehind(b, input, &inside, seen, controls);
        }
    }
    return controls;
}

void Emitter::emitConditional(Builder& b, const Items_& items, const Step& step)
{
    const Graph& graph = m_flow.graph();
    std::unordered_set<int32_t> inside;
    for (const int32_t member : step.members) inside.insert(items[static_cast<size_t>(member)].id);
    const std::vector<ValueId> exports = exportsOf(items, step, inside);
    for (const ValueId value : exports)
        if (m_flow.isReference(value))
            b.fail(m_flow.producer(value),
                   "'" + graph.op(m_flow.producer(value)).name + "' is a reference to a variable, which no If gives");
    bool hasWork = !exports.empty();
    std::vector<OperatorId> nodes = nodesOf(inside, step.variable, hasWork);
    if (!hasWork) return;
    const ValueId predicate = m_flow.predicateOf(step.variable);
    // Called after the scope of what it gives, or of what decides.
    OperatorDraft draft;
    draft.kind = {"tf", "If"};
    draft.name = branchName(exports.empty() ? graph.value(predicate).id : graph.op(m_flow.producer(exports.front())).name);
    const std::vector<std::string> frames = framesAround(b.region());
    Builder sides[2] = {Builder(m_flow, b, b.region(), functionName(draft.name, "_else"), frames, nullptr),
                        Builder(m_flow, b, b.region(), functionName(draft.name, "_then"), frames, nullptr)};
    if (!emitSides(b, items, step, exports, sides, draft)) return;
    draft.controlInputs = controlsOfBranch(b, inside, items, step);
    const size_t told = m_raised.size();
    m_raised.push_back({"if", originText(graph, predicate), b.isTop() ? graph.id : b.id(), draft.name, {}});
    for (const OperatorId node : nodes) m_raised[told].nodes.push_back(graph.op(node).name);
    if (const OperatorId decider = m_flow.producer(predicate); nodes.empty() && decider.valid()) nodes.push_back(decider);
    const int32_t last = items[static_cast<size_t>(step.members.back())].id;
    const bool isPlaced = b.isTop() && !m_items.isLoop(last);
    const OperatorId made =
        b.editor().insert(std::move(draft), b.sources(nodes), isPlaced ? InsertPoint::after(Items::operatorOf(last)) : InsertPoint::end());
    m_raised[told].name = b.editor().op(made).name;
    for (size_t k = 0; k < exports.size(); ++k) b.define(exports[k], b.editor().op(made).results[k]);
    for (const int32_t id : inside) b.setOperator(id, made);
}

} // namespace loopscope::raising
