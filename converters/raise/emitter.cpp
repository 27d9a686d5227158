#include "converters/raise/emitter.h"

#include "engine/base/bytes.h"
#include "engine/ir/origin.h"

#include <algorithm>

namespace loopscope::raising {

namespace {

constexpr int kDeepestNesting = 500; ///< conditionals and loops in each other

} // namespace

Emitter::Emitter(Flow& flow, GraphEditor& editor, size_t functionBase, std::function<bool(const std::string&)> isTaken)
    : m_flow(flow),
      m_editor(editor),
      m_items(flow),
      m_functionBase(functionBase),
      m_isTaken(std::move(isTaken)),
      m_staysOnTop(flow.graph().operators.size(), false)
{
}

std::optional<Failure> Emitter::run()
{
    findNeeded();
    findReaders();
    const auto& frames = m_flow.frames().frames;
    m_regionNodes.resize(frames.size());
    m_childLoops.resize(frames.size());
    for (const OperatorId id : m_flow.order())
        if (m_flow.role(id) != FlowRole::enter) m_regionNodes[static_cast<size_t>(m_flow.regionOf(id))].push_back(id);
    for (const LoopShape& loop : m_flow.loops())
        m_childLoops[static_cast<size_t>(m_flow.regionOfFrame(frames[static_cast<size_t>(loop.frame)].parent))].push_back(loop.frame);
    Builder top(m_flow, m_editor);
    for (const ValueId input : m_flow.graph().inputs) top.define(input, input);
    emitRegion(top, topItems());
    if (!top.failure()) finishTop(top);
    return top.failure();
}

/// What has an effect, is asked for, or runs at the top, and all that those read. What is only waited for needs no computing.
void Emitter::findNeeded()
{
    const Graph& graph = m_flow.graph();
    m_isNeeded.assign(graph.operators.size(), false);
    std::vector<OperatorId> open;
    const auto need = [&](OperatorId id) {
        if (!id.valid() || m_isNeeded[at(id)]) return;
        m_isNeeded[at(id)] = true;
        open.push_back(id);
    };
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const OperatorId id(static_cast<int64_t>(o));
        const FlowRole role = m_flow.role(id);
        const bool isTop = m_flow.regionOf(id) == 0 && m_flow.lives(id) == kAlways && role == FlowRole::none;
        const bool isPart = role == FlowRole::loopCondition || role == FlowRole::nextIteration || role == FlowRole::enter;
        const bool hasEffect = role == FlowRole::none && !m_flow.isPure(id);
        if (isTop || isPart || hasEffect || m_flow.wanted().operators[o] || role == FlowRole::controlTrigger) need(id);
    }
    for (size_t v = 0; v < graph.values.size(); ++v)
        if (m_flow.wanted().values[v]) need(m_flow.producer(ValueId(static_cast<int64_t>(v))));
    for (const OperatorId id : m_flow.order())
        if (m_flow.role(id) == FlowRole::choice) need(m_flow.producer(m_flow.predicateOf(m_flow.variableOf(id))));
    while (!open.empty()) {
        const Operator& op = graph.op(open.back());
        open.pop_back();
        for (const ValueId input : op.inputs) need(m_flow.producer(input));
    }
}

void Emitter::findReaders()
{
    const Graph& graph = m_flow.graph();
    m_readers.assign(graph.values.size(), {});
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const OperatorId id(static_cast<int64_t>(o));
        const Operator& op = graph.operators[o];
        if (m_flow.role(id) == FlowRole::choice) {
            m_readers[at(m_flow.predicateOf(m_flow.variableOf(id)))].push_back(id);
            continue;
        }
        if (!m_isNeeded[o] && m_flow.role(id) != FlowRole::exit) continue;
        for (const ValueId input : op.inputs)
            if (input.valid()) m_readers[at(m_flow.dataOf(input))].push_back(id);
    }
}

RegionItem Emitter::itemOf(OperatorId id)
{
    RegionItem item;
    item.id = static_cast<int32_t>(id.index);
    item.lives = m_flow.lives(id);
    if (m_flow.role(id) != FlowRole::merge) return item;
    const Operator& op = m_flow.graph().op(id);
    for (size_t i = 0; i < op.inputs.size(); ++i)
        if (const Condition lives = m_flow.livesAs(op.inputs[i]); lives != kNever) item.inputs.emplace_back(static_cast<int32_t>(i), lives);
    return item;
}

Emitter::Items_ Emitter::topItems()
{
    Items_ items;
    for (const OperatorId id : m_regionNodes[0]) {
        RegionItem item = itemOf(id);
        if (item.lives != kNever) items.push_back(std::move(item));
    }
    for (const int32_t child : m_childLoops[0]) {
        RegionItem item;
        item.id = m_items.ofLoop(child);
        item.lives = m_flow.livesOfFrame(child);
        if (item.lives != kNever) items.push_back(std::move(item));
    }
    return items;
}

void Emitter::emitRegion(Builder& b, const Items_& items)
{
    if (++m_depth > kDeepestNesting) b.fail({}, "conditionals and loops are nested deeper than " + std::to_string(kDeepestNesting));
    const std::vector<Step> steps = b.failed() ? std::vector<Step>() : scheduleRegion(m_flow, m_items, items);
    if (steps.empty() && !items.empty()) b.fail({}, "the nodes of a region wait for each other");
    const size_t patches = m_patches.size();
    for (const Step& step : steps) {
        if (b.failed()) break;
        if (step.variable >= 0) {
            emitConditional(b, items, step);
            continue;
        }
        const RegionItem& item = items[static_cast<size_t>(step.members.front())];
        if (m_items.isLoop(item.id)) emitLoop(b, m_items.frameOf(item.id));
        else if (m_flow.role(Items::operatorOf(item.id)) == FlowRole::merge) emitMerge(b, item);
        else if (m_flow.role(Items::operatorOf(item.id)) != FlowRole::choice) emitOperator(b, Items::operatorOf(item.id));
    }
    for (; m_patches.size() > patches; m_patches.pop_back()) {
        const Patch& patch = m_patches.back();
        b.editor().setInput(patch.here, patch.index, b.lookUp(patch.value));
    }
    --m_depth;
}

/// A Merge of which one operand is left: that operand.
void Emitter::emitMerge(Builder& b, const RegionItem& item)
{
    const OperatorId id = Items::operatorOf(item.id);
    const Operator& op = m_flow.graph().op(id);
    if (item.inputs.empty() || !isRead(op.results[0])) {
        if (!isRead(op.results[0]) && (op.results.size() < 2 || !isRead(op.results[1]))) return;
    }
    const int32_t operand = item.inputs.front().first;
    b.define(op.results[0], b.lookUp(op.inputs[static_cast<size_t>(operand)]));
    if (op.results.size() < 2 || !isRead(op.results[1])) return;
    const ConstantPtr data = std::make_shared<Constant>(Bytes::copyOf(&operand, sizeof operand));
    b.define(op.results[1], appendConst(b, op.name + "/value_index", TensorType(DType::i32, Shape()), data, b.sources({id})));
}

void Emitter::emitOperator(Builder& b, OperatorId id)
{
    const Operator& op = m_flow.graph().op(id);
    if (!b.isTop() && !m_isNeeded[at(id)]) return;
    std::vector<ValueId> inputs;
    std::vector<std::pair<int32_t, ValueId>> later;
    const bool isFed = m_flow.wanted().fed[at(id)];
    for (size_t i = 0; i < op.inputs.size() && !isFed; ++i) {
        const OperatorId source = m_flow.producer(op.inputs[i]);
        const bool isLater = source.valid() && m_flow.isBackEdge(source, id);
        if (isLater) later.emplace_back(static_cast<int32_t>(i), op.inputs[i]);
        inputs.push_back(isLater && !b.isTop() ? ValueId() : isLater ? op.inputs[i] : b.lookUp(op.inputs[i]));
    }
    std::vector<OperatorId> controls = controlsFor(b, id, nullptr);
    OperatorId here = id;
    if (b.isTop()) {
        m_staysOnTop[at(id)] = true;
        if (!isFed && inputs != op.inputs) m_editor.setInputs(id, inputs);
        if (!isFed && controls != op.controlInputs) m_editor.setControlInputs(id, std::move(controls));
        for (const ValueId result : op.results) b.define(result, result);
    } else {
        here = cloneFrom(b.editor(), m_flow.graph(), id, std::move(inputs), std::move(controls), InsertPoint::end());
        const std::vector<ValueId>& results = b.editor().op(here).results;
        for (size_t k = 0; k < results.size(); ++k) b.define(op.results[k], results[k]);
        if (b.editor().op(here).name != op.name) {
            AttributeItems origins;
            for (const ValueId result : op.results) origins.emplace_back(originText(m_flow.graph(), result));
            b.editor().setAttribute(here, std::string(kOrigin), std::move(origins));
        }
    }
    for (const auto& [index, value] : later) m_patches.push_back({&b, here, index, value});
    b.setOperator(static_cast<int32_t>(id.index), here);
}

// --- Order ------------------------------------------------------------------------------------------------------------------------------

/// What stands here for a node that is waited for; of a node that is not written, what that reads and waits for.
void Emitter::addControls(Builder& b, OperatorId awaited, const std::unordered_set<int32_t>* inside, std::unordered_set<int32_t>& seen,
                          std::vector<OperatorId>& controls)
{
    const int32_t item = m_items.asProducer(awaited);
    if (!seen.insert(item).second || (inside && inside->contains(item))) return;
    if (const auto here = b.operatorOf(item)) {
        if (std::ranges::find(controls, *here) == controls.end()) controls.push_back(*here);
        return;
    }
    const FlowRole role = m_flow.role(awaited);
    const bool isWritten = (role == FlowRole::none && m_isNeeded[at(awaited)]) || role == FlowRole::controlTrigger;
    if (isWritten || role == FlowRole::enter || role == FlowRole::exit || m_flow.regionOf(awaited) != b.region()) return;
    const Operator& op = m_flow.graph().op(awaited);
    for (const ValueId input : op.inputs) {
        const OperatorId source = m_flow.producer(input);
        if (source.valid() && !m_flow.isBackEdge(source, awaited)) addControls(b, source, inside, seen, controls);
    }
    for (const OperatorId before : op.controlInputs) addControls(b, before, inside, seen, controls);
}

/// What the Switches between a value and its data wait for.
void Emitter::addControlsBehind(Builder& b, ValueId value, const std::unordered_set<int32_t>* inside, std::unordered_set<int32_t>& seen,
                                std::vector<OperatorId>& controls)
{
    for (OperatorId op = m_flow.producer(value); op.valid() && m_flow.role(op) == FlowRole::choice; op = m_flow.producer(value)) {
        for (const OperatorId before : m_flow.graph().op(op).controlInputs) addControls(b, before, inside, seen, controls);
        value = m_flow.graph().op(op).inputs[0];
    }
}

std::vector<OperatorId> Emitter::controlsFor(Builder& b, OperatorId id, const std::unordered_set<int32_t>* inside)
{
    std::vector<OperatorId> controls;
    std::unordered_set<int32_t> seen;
    const Operator& op = m_flow.graph().op(id);
    for (const OperatorId before : op.controlInputs) addControls(b, before, inside, seen, controls);
    for (const ValueId input : op.inputs) addControlsBehind(b, input, inside, seen, controls);
    return controls;
}

// --- The top ----------------------------------------------------------------------------------------------------------------------------

/// A node that was taken apart, but is asked for by its name: it gives what stands for its results.
void Emitter::keepVisible(Builder& b, OperatorId id)
{
    const Operator& op = m_flow.graph().op(id);
    AttributeItems types;
    std::vector<ValueId> inputs;
    ValueId any;
    for (const ValueId result : op.results)
        if (m_flow.wanted().values[at(result)]) any = b.lookUp(result);
    size_t last = 0;
    for (size_t k = 0; k < op.results.size(); ++k)
        if (m_flow.wanted().values[at(op.results[k])]) last = k + 1;
    for (size_t k = 0; k < last; ++k) {
        inputs.push_back(m_flow.wanted().values[at(op.results[k])] ? b.lookUp(op.results[k]) : any);
        types.emplace_back(b.editor().value(inputs.back()).type.dtype);
    }
    std::vector<OperatorId> controls;
    std::unordered_set<int32_t> seen;
    if (inputs.empty()) {
        const int32_t region = m_flow.regionOf(id);
        if (const auto loop = region == 0 ? b.operatorOf(static_cast<int32_t>(id.index)) : std::nullopt) controls.push_back(*loop);
        else addControls(b, id, nullptr, seen, controls);
    }
    if (b.failure()) return;
    m_editor.setControlInputs(id, controls);
    m_editor.setInputs(id, {});
    m_editor.setResults(id, {op.results.begin(), op.results.begin() + static_cast<ptrdiff_t>(last)});
    for (size_t k = 0; k < last; ++k)
        if (!m_flow.wanted().values[at(op.results[k])]) m_editor.setType(op.results[k], b.editor().value(inputs[k]).type);
    m_editor.setKind(id, {"tf", last == 0 ? "NoOp" : last == 1 ? "Identity" : "IdentityN"});
    AttributeList attributes;
    if (last == 1) attributes = {{"T", types.front()}};
    if (last > 1) attributes = {{"T", types}};
    m_editor.setAttributes(id, std::move(attributes));
    m_editor.setInputs(id, inputs);
    m_staysOnTop[at(id)] = true;
}

/// What has been moved goes, and what only that had read.
void Emitter::finishTop(Builder& b)
{
    const Graph& graph = m_flow.graph();
    std::vector<bool> isAsked(graph.operators.size(), false);
    for (size_t v = 0; v < graph.values.size(); ++v)
        if (const OperatorId source = m_flow.producer(ValueId(static_cast<int64_t>(v))); source.valid() && m_flow.wanted().values[v])
            isAsked[at(source)] = true;
    std::vector<OperatorId> moved, candidates;
    for (size_t o = 0; o < graph.operators.size(); ++o) {
        const OperatorId id(static_cast<int64_t>(o));
        if (m_staysOnTop[o]) continue;
        if (isAsked[o] || m_flow.wanted().operators[o]) keepVisible(b, id);
        if (!m_staysOnTop[o]) moved.push_back(id);
    }
    if (b.failure()) return;
    const std::unordered_set<OperatorId> gone(moved.begin(), moved.end());
    for (const OperatorId id : moved) {
        for (const ValueId input : graph.op(id).inputs)
            if (const OperatorId source = m_flow.producer(input); source.valid() && !gone.contains(source)) candidates.push_back(source);
    }
    if (m_editor.eraseUnused(moved) != moved.size()) {
        b.fail({}, "what was raised is still read");
        return;
    }
    while (!candidates.empty()) {
        const OperatorId id = candidates.back();
        candidates.pop_back();
        if (!m_editor.isAlive(id) || m_editor.isUsed(id) || isAsked[at(id)] || m_flow.wanted().operators[at(id)] || !m_flow.isPure(id))
            continue;
        if (graph.op(id).kind.name == "Placeholder" || !m_editor.erase(id)) continue;
        for (const ValueId input : graph.op(id).inputs)
            if (const OperatorId source = m_flow.producer(input); source.valid()) candidates.push_back(source);
    }
    m_editor.sortTopologically();
}

// --- Functions --------------------------------------------------------------------------------------------------------------------------

std::string Emitter::functionName(const std::string& op, const char* role)
{
    std::string base;
    for (const char c : op) base += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
    base += role;
    std::string name = base;
    for (int k = 1; m_isTaken(name) || !m_names.insert(name).second; ++k) name = base + "_" + std::to_string(k);
    return name;
}

GraphId Emitter::addFunction(Graph graph)
{
    m_functions.push_back(std::move(graph));
    return GraphId(static_cast<int64_t>(m_functionBase + m_functions.size() - 1));
}

} // namespace loopscope::raising
