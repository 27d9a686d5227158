#include "engine/transform/graph_editor.h"

#include "engine/ir/random_stream.h"

#include <algorithm>
#include <unordered_set>

namespace loopscope {

namespace {

/// The origins of several operators, each text once, in the order of the operators.
std::vector<std::string> joinedOrigins(const Graph& graph, const Sources& sources)
{
    std::vector<std::string> joined;
    std::unordered_set<std::string> seen;
    for (const OperatorId id : sources.operators())
        for (std::string& origin : originsOf(graph.op(id), id))
            if (seen.insert(origin).second) joined.push_back(std::move(origin));
    for (const std::string& origin : sources.others())
        if (seen.insert(origin).second) joined.push_back(origin);
    return joined;
}

/// The id of result `slot`: TensorFlow's are `node` and `node:slot`.
std::string resultId(const std::string& name, size_t slot, bool tensorflow)
{
    return slot == 0 ? name : name + (tensorflow ? ":" : "_") + std::to_string(slot);
}

/// What no longer follows from an operator that is changed or moved is written down: its random stream, and the place in the file by which
/// operators without a name are known.
void pinIdentity(Operator& op, OperatorId id)
{
    if (op.streamIdentity == 0 && drawsRandomNumbers(op)) op.streamIdentity = randomStreamIdentity(op);
    if (op.origin.empty() && op.name.empty()) op.origin = originsOf(op, id);
}

} // namespace

GraphEditor::GraphEditor(Model& model, GraphId graph) : m_model(&model), m_graphId(graph), m_dialect(model.dialect) { begin(); }

GraphEditor::GraphEditor(Graph& graph, Dialect dialect) : m_graph(&graph), m_dialect(dialect) { begin(); }

void GraphEditor::begin()
{
    Graph& g = mutableGraph();
    for (size_t o = 0; o < g.operators.size(); ++o) pinIdentity(g.operators[o], OperatorId(static_cast<int64_t>(o)));
    m_order = OperatorOrder(g.operators.size());
    m_isAlive.assign(g.operators.size(), true);
    m_uses = UseLists(g);
    linkSignatures();
}

GraphEditor::~GraphEditor()
{
    if (!m_isFinished) (void)finish();
}

std::string GraphEditor::freshName(std::string wanted)
{
    if (!m_namesKnown) {
        for (const Value& value : graph().values) m_names.insert(value.id);
        for (const Operator& op : graph().operators) m_names.insert(op.name);
        m_namesKnown = true;
    }
    if (m_names.insert(wanted).second) return wanted;
    for (int& suffix = m_suffixes[wanted];;)
        if (std::string name = wanted + "_" + std::to_string(++suffix); m_names.insert(name).second) return name;
}

// --- Operators --------------------------------------------------------------------------------------------------------------------------

OperatorId GraphEditor::addOperator(Operator op, InsertPoint place)
{
    Graph& g = mutableGraph();
    const OperatorId id(static_cast<int64_t>(g.operators.size()));
    g.operators.push_back(std::move(op));
    m_isAlive.push_back(true);
    m_uses.addOperator(id, g.op(id));
    m_order.grow();
    m_order.place(id, place);
    return id;
}

ValueId GraphEditor::addValue(Value value)
{
    Graph& g = mutableGraph();
    const ValueId id(static_cast<int64_t>(g.values.size()));
    g.values.push_back(std::move(value));
    m_uses.addValue();
    return id;
}

OperatorId GraphEditor::insert(OperatorDraft draft, const Sources& sources, InsertPoint place)
{
    Operator op;
    const std::string name = freshName(draft.name.empty() ? draft.kind.name : std::move(draft.name));
    op.kind = std::move(draft.kind);
    if (isTensorFlow()) op.name = name;
    op.attributes = std::move(draft.attributes);
    std::ranges::stable_sort(op.attributes, {}, &NamedAttribute::key);
    op.inputs = std::move(draft.inputs);
    op.controlInputs = std::move(draft.controlInputs);
    op.origin = joinedOrigins(graph(), sources);
    op.streamIdentity = draft.streamIdentity;
    const OperatorId id = addOperator(std::move(op), place);
    std::vector<ValueId> results;
    for (size_t k = 0; k < draft.results.size(); ++k) {
        Value value;
        value.id = k == 0 ? name : freshName(resultId(name, k, isTensorFlow()));
        value.type = std::move(draft.results[k]);
        results.push_back(addValue(std::move(value)));
    }
    setResults(id, std::move(results));
    return id;
}

const std::vector<ValueId>& GraphEditor::setResults(OperatorId id, std::vector<ValueId> results)
{
    for (const ValueId old : op(id).results) {
        Value& value = mutableGraph().value(old);
        value.role = ValueRole::absent;
        value.producer = OperatorId();
        value.slot = 0;
    }
    for (size_t k = 0; k < results.size(); ++k) {
        if (!results[k].valid()) {
            Value made;
            made.id = resultId(isTensorFlow() ? op(id).name : op(id).kind.name, k, isTensorFlow());
            if (k > 0 || !isTensorFlow() || graph().findValue(made.id).valid()) made.id = freshName(std::move(made.id));
            results[k] = addValue(std::move(made));
        }
        Value& value = mutableGraph().value(results[k]);
        value.role = ValueRole::result;
        value.producer = id;
        value.slot = static_cast<int32_t>(k);
    }
    return mutableOp(id).results = std::move(results);
}

OperatorId GraphEditor::clone(OperatorId id, std::vector<ValueId> inputs, InsertPoint place)
{
    OperatorDraft draft;
    draft.kind = op(id).kind;
    draft.name = isTensorFlow() ? op(id).name : op(id).results.empty() ? "" : value(op(id).results.front()).id;
    draft.attributes = op(id).attributes;
    draft.inputs = std::move(inputs);
    for (const ValueId result : op(id).results) draft.results.push_back(value(result).type);
    draft.controlInputs = op(id).controlInputs;
    const OperatorId copy = insert(std::move(draft), id, place);
    mutableOp(copy).streamIdentity = op(id).streamIdentity;
    return copy;
}

OperatorId GraphEditor::replace(std::span<const OperatorId> ops, OperatorDraft draft, std::span<const ValueId> replaced)
{
    const std::unordered_set<OperatorId> group(ops.begin(), ops.end());
    std::unordered_set<OperatorId> awaited(draft.controlInputs.begin(), draft.controlInputs.end());
    for (const OperatorId id : ops)
        for (const OperatorId before : op(id).controlInputs)
            if (!group.contains(before) && awaited.insert(before).second) draft.controlInputs.push_back(before);
    const OperatorId made = insert(std::move(draft), Sources(ops), InsertPoint::after(ops.back()));
    for (size_t k = 0; k < replaced.size() && k < op(made).results.size(); ++k) {
        if (!replaced[k].valid()) continue;
        const ValueId result = op(made).results[k];
        replaceUses(replaced[k], result);
        if (isTensorFlow()) continue;
        std::swap(mutableGraph().value(replaced[k]).id, mutableGraph().value(result).id);
        std::swap(mutableGraph().value(replaced[k]).name, mutableGraph().value(result).name);
    }
    for (const OperatorId id : ops) replaceUses(id, made);
    eraseUnused(ops);
    return made;
}

size_t GraphEditor::eraseUnused(std::span<const OperatorId> ops)
{
    std::unordered_set<OperatorId> gone(ops.begin(), ops.end());
    std::vector<OperatorId> kept;
    const auto isOutside = [&](OperatorId user) { return !user.valid() || !gone.contains(user); };
    for (const OperatorId id : ops) {
        bool isNeeded = std::ranges::any_of(uses(id), isOutside, &ControlUse::op);
        for (const ValueId result : op(id).results) isNeeded = isNeeded || std::ranges::any_of(uses(result), isOutside, &ValueUse::op);
        if (isNeeded && isAlive(id)) kept.push_back(id);
    }
    while (!kept.empty()) {
        const OperatorId id = kept.back();
        kept.pop_back();
        if (gone.erase(id) == 0) continue;
        for (const ValueId input : op(id).inputs)
            if (input.valid() && value(input).role == ValueRole::result) kept.push_back(value(input).producer);
        kept.insert(kept.end(), op(id).controlInputs.begin(), op(id).controlInputs.end());
    }
    size_t count = 0;
    for (const OperatorId id : ops) {
        if (!gone.contains(id) || !isAlive(id)) continue;
        drop(id);
        ++count;
    }
    return count;
}

bool GraphEditor::erase(OperatorId id)
{
    if (!isAlive(id) || isUsed(id)) return false;
    drop(id);
    return true;
}

/// Erases an operator whatever uses it: the caller erases those too.
void GraphEditor::drop(OperatorId id)
{
    setInputs(id, {});
    setControlInputs(id, {});
    setAttributes(id, {});
    setResults(id, {});
    m_order.take(id);
    m_isAlive[static_cast<size_t>(id.index)] = false;
}

size_t GraphEditor::eraseUnneeded(std::span<const OperatorId> roots)
{
    const Graph& g = graph();
    std::vector<bool> isNeeded(g.operators.size(), false);
    std::vector<OperatorId> open;
    const auto need = [&](OperatorId id) {
        if (!id.valid() || isNeeded[static_cast<size_t>(id.index)]) return;
        isNeeded[static_cast<size_t>(id.index)] = true;
        open.push_back(id);
    };
    const auto needValue = [&](ValueId id) {
        if (id.valid() && value(id).role == ValueRole::result) need(value(id).producer);
    };
    for (const OperatorId root : roots) need(root);
    for (const GraphOutput& output : g.outputs) needValue(output.value);
    for (const auto& [name, id] : g.controlOutputs) need(id);
    for (size_t k = 0; k < m_signatures.size(); ++k) needValue(signatureBinding(static_cast<int32_t>(k)));
    while (!open.empty()) {
        const Operator& reader = op(open.back());
        open.pop_back();
        for (const ValueId input : reader.inputs) needValue(input);
        for (const OperatorId before : reader.controlInputs) need(before);
    }
    size_t count = 0;
    for (const OperatorId id : order()) {
        if (isNeeded[static_cast<size_t>(id.index)]) continue;
        drop(id);
        ++count;
    }
    return count;
}

void GraphEditor::setKind(OperatorId id, Kind kind) { mutableOp(id).kind = std::move(kind); }

// --- Values -----------------------------------------------------------------------------------------------------------------------------

ValueId GraphEditor::addConstant(std::string id, TensorType type, ConstantPtr data)
{
    Value value;
    value.id = freshName(std::move(id));
    value.type = std::move(type);
    value.role = ValueRole::constant;
    value.constant = std::move(data);
    return addValue(std::move(value));
}

ValueId GraphEditor::addInput(std::string id, TensorType type, AttributeList attributes)
{
    Value value;
    value.id = freshName(std::move(id));
    value.type = std::move(type);
    value.role = ValueRole::input;
    value.attributes = std::move(attributes);
    const ValueId input = addValue(std::move(value));
    mutableGraph().inputs.push_back(input);
    return input;
}

void GraphEditor::setType(ValueId id, TensorType type) { mutableGraph().value(id).type = std::move(type); }

void GraphEditor::setGraphInputs(std::vector<ValueId> inputs)
{
    Graph& g = mutableGraph();
    for (const ValueId input : g.inputs) g.value(input).role = ValueRole::absent;
    g.inputs = std::move(inputs);
    for (const ValueId input : g.inputs) g.value(input).role = ValueRole::input;
}

void GraphEditor::makeInput(ValueId id, std::string asideId)
{
    if (value(id).role == ValueRole::result) {
        const OperatorId producer = value(id).producer;
        Value aside;
        aside.id = freshName(std::move(asideId));
        aside.type = value(id).type;
        const ValueId replacement = addValue(std::move(aside));
        std::vector<ValueId> results = op(producer).results;
        std::ranges::replace(results, id, replacement);
        setResults(producer, std::move(results));
    }
    Graph& g = mutableGraph();
    g.value(id).role = ValueRole::input;
    g.inputs.push_back(id);
}

} // namespace loopscope
