#include "converters/lower/lower.h"
#include "converters/lower/refine_shapes.h"

#include "converters/lower/graph_lowering.h"
#include "engine/ir/frames.h"

#include <algorithm>

namespace loopscope {

namespace lowering {

namespace {

constexpr int kMostDepth = 64; ///< functions within functions

/// Where an Identity gave an output its name, what it reads has that name now.
void nameOutputs(Graph& graph, const Graph& source)
{
    std::unordered_set<std::string> names;
    for (const Value& value : graph.values) names.insert(value.id);
    for (size_t k = 0; k < graph.outputs.size(); ++k) {
        if (!graph.outputs[k].value.valid()) continue;
        const std::string& wanted = source.value(source.outputs[k].value).id;
        Value& value = graph.value(graph.outputs[k].value);
        const bool isFirst = std::ranges::none_of(graph.outputs.begin(), graph.outputs.begin() + static_cast<ptrdiff_t>(k),
                                                  [&](const GraphOutput& other) { return other.value == graph.outputs[k].value; });
        if (value.role == ValueRole::result && isFirst && names.insert(wanted).second) value.id = wanted;
    }
}

/// Whether an operator computes the value from constants alone. LiteRT does that when it prepares the graph, and of a branch or a body such
/// an output is lost.
bool isOfConstants(const Graph& graph, ValueId id)
{
    std::vector<ValueId> open = {id};
    std::unordered_set<int32_t> seen;
    for (bool isComputed = false; !open.empty(); isComputed = true) {
        const ValueId value = open.back();
        open.pop_back();
        if (!value.valid() || !seen.insert(value.index).second) continue;
        const ValueRole role = graph.value(value).role;
        if (role == ValueRole::constant) {
            if (!isComputed) return false; // one itself
            continue;
        }
        if (role != ValueRole::result) return false;
        const Operator& op = graph.op(graph.value(value).producer);
        const bool isOfShape = op.kind.name == "shape" || op.kind.name == "rank";
        if (op.kind.dialect != "tfl" || op.inputs.empty() || !calleesOf(op).empty()) return false;
        if (!isOfShape) open.insert(open.end(), op.inputs.begin(), op.inputs.end());
    }
    return true;
}

} // namespace

GraphId ModelLowering::reserve(std::string id)
{
    const std::string wanted = id;
    for (int n = 1; !m_ids.insert(id).second; ++n) id = wanted + "_" + std::to_string(n);
    Graph& graph = m_result.model.graphs.emplace_back();
    graph.id = std::move(id);
    return GraphId(static_cast<int64_t>(m_result.model.graphs.size()) - 1);
}

void ModelLowering::put(GraphId id, Graph graph)
{
    graph.id = m_result.model.graph(id).id;
    m_result.model.graph(id) = std::move(graph);
}

void ModelLowering::decline(std::string place, std::string kind, std::string reason)
{
    const bool isKnown = std::ranges::any_of(m_result.noForm, [&](const NoForm& known) { return known.place == place; });
    if (!isKnown) m_result.noForm.push_back({std::move(place), std::move(kind), std::move(reason)});
}

std::vector<bool> ModelLowering::outputArrays(GraphId lowered) const
{
    const auto found = m_arrayOutputs.find(lowered.index);
    return found == m_arrayOutputs.end() ? std::vector<bool>() : found->second;
}

namespace {

const TensorAttribute* constantOf(const ModelLowering::Callee& callee, size_t i)
{
    return i < callee.constants.size() && callee.constants[i] ? &*callee.constants[i] : nullptr;
}

/// Of a list that a loop may change: a matrix, or rows of whatever rank.
Shape openShape(const ListKind& kind) { return kind.isRagged ? Shape{-1, -1} : Shape::unknownRank(); }

} // namespace

Result<GraphId> ModelLowering::calleeOf(const Callee& callee, const std::string& place)
{
    if (!m_source.hasGraph(callee.source)) return noForm("it calls a function that is not there");
    const Graph& source = m_source.graph(callee.source);
    std::string key = std::to_string(callee.source.index) + (callee.isCondition ? "?" : callee.isBody ? "*" : ":");
    if (hasOpenLists) key += "open";
    std::vector<TensorType> types = callee.types;
    for (size_t i = 0; i < types.size(); ++i) {
        const size_t own = i - static_cast<size_t>(callee.extra);
        if (i >= static_cast<size_t>(callee.extra) && own < source.inputs.size()) {
            const TensorType& formal = source.value(source.inputs[own]).type;
            const bool isArray = i < callee.arrays.size() && callee.arrays[i];
            const bool isOpen = isArray || formal.dtype == DType::variant || formal.dtype == DType::unknown;
            const bool isHandle = formal.dtype == DType::resource && types[i].dtype == DType::resource; // it knows of what
            if (isArray) key += "a";
            if (!isOpen && !isHandle) types[i] = formal;
            // What a loop carries may change its shape; what a branch is given has the shape that it has.
            else if (isOpen && (callee.isBody || callee.isCondition) && !(isArray && types[i].shape.rank() == 0))
                types[i] = TensorType(types[i].dtype, openShape(m_lists.of(static_cast<size_t>(callee.source.index), source.inputs[own])));
        }
        key += std::to_string(static_cast<int>(types[i].dtype)) + ",";
        if (const auto* const known = constantOf(callee, i)) {
            const std::span<const std::byte> bytes = known->data->bytes().view();
            key += toString(known->type.shape) + "=" + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) + ",";
        }
    }
    if (const auto known = m_callees.find(key); known != m_callees.end()) return known->second;
    if (depth >= kMostDepth) return noForm("functions within functions, " + std::to_string(kMostDepth) + " deep");
    const GraphId id = reserve(source.id);
    m_callees[key] = id;
    ++depth;
    GraphLowering lowering(*this, m_result.model.graph(id).id);
    std::vector<ValueId> arguments;
    for (size_t i = 0; i < types.size(); ++i) {
        const size_t own = i - static_cast<size_t>(callee.extra);
        const bool isOwn = i >= static_cast<size_t>(callee.extra) && own < source.inputs.size();
        const ValueId input = lowering.addInput(isOwn ? source.value(source.inputs[own]).id : "index", types[i]);
        const auto* const known = constantOf(callee, i);
        if (isOwn) arguments.push_back(known ? lowering.constant(known->type, known->data) : input);
        if (i < callee.arrays.size() && callee.arrays[i]) lowering.markArray(input);
    }
    std::vector<ValueId> outputs = lowering.lowerBody(source, arguments, place);
    --depth;
    for (size_t k = 0; callee.isBody && k < outputs.size() && k < lowering.graph().inputs.size(); ++k)
        if (constantOf(callee, k)) outputs[k] = lowering.graph().inputs[k];
    for (const ValueId output : outputs) m_arrayOutputs[id.index].push_back(output.valid() && lowering.isArray(output));
    if (callee.isCondition && !outputs.empty() && outputs[0].valid()) {
        LS_TRY(outputs[0], lowering.asBool(outputs[0]));
    }
    if (callee.isBody)
        for (size_t j = 1; j < outputs.size(); ++j)
            for (size_t i = 0; i < j; ++i)
                if (outputs[j].valid() && outputs[j] == arguments[i]) {
                    m_result.notes.push_back(place + ": output " + std::to_string(j) + " of the body, '" +
                                             source.value(source.inputs[i]).id + "', is a copy, for LiteRT would have overwritten it");
                    LS_TRY(outputs[j], lowering.copy(outputs[j]));
                    break;
                }
    for (size_t k = 0; k < outputs.size(); ++k)
        if (isOfConstants(lowering.graph(), outputs[k])) {
            m_result.notes.push_back(place + ": output " + std::to_string(k) + " of " + source.id +
                                     ", which is computed from constants, is a copy, for LiteRT would have lost it");
            LS_TRY(outputs[k], lowering.copy(outputs[k]));
        }
    lowering.setOutputs(outputs);
    for (const ValueId value : lowering.standIns()) m_standIns.emplace(id.index, value.index);
    put(id, std::move(lowering.graph()));
    return id;
}

/// A stand-in takes the dtype of what the other branch gives; its shape later (refine_shapes.h).
void ModelLowering::become(GraphId graph, ValueId id, DType dtype)
{
    Value& standIn = m_result.model.graph(graph).value(id);
    standIn.type.dtype = dtype;
    if (standIn.role == ValueRole::constant) {
        const std::vector<std::byte> zeros(byteSize(dtype, standIn.type.shape.elementCount()));
        standIn.constant = std::make_shared<Constant>(Bytes::copyOf(zeros));
    } else if (standIn.role == ValueRole::result) { // inner branches give it
        const Operator op = m_result.model.graph(graph).op(standIn.producer);
        for (const loopscope::Callee& callee : calleesOf(op))
            if (isStandIn(callee.graph, static_cast<size_t>(standIn.slot)))
                become(callee.graph, m_result.model.graph(callee.graph).outputs[static_cast<size_t>(standIn.slot)].value, dtype);
    }
}

Result<std::vector<TensorType>> ModelLowering::matchBranches(GraphId a, GraphId b)
{
    std::vector<TensorType> types;
    const size_t count = std::min(m_result.model.graph(a).outputs.size(), m_result.model.graph(b).outputs.size());
    for (size_t k = 0; k < count; ++k) {
        const ValueId first = m_result.model.graph(a).outputs[k].value, second = m_result.model.graph(b).outputs[k].value;
        types.emplace_back();
        if (!first.valid() || !second.valid()) continue;
        TensorType& mine = m_result.model.graph(a).value(first).type;
        TensorType& theirs = m_result.model.graph(b).value(second).type;
        const bool isMine = isStandIn(a, first), isOther = isStandIn(b, second);
        if (isOther) become(b, second, mine.dtype);
        else if (isMine) become(a, first, theirs.dtype);
        else if (mine.dtype != theirs.dtype) // optionals, which hold what they like
            return Error(ErrorCode::unsupported, "result " + std::to_string(k) + " is " + std::string(dtypeName(mine.dtype)) +
                                                     " in one branch and " + std::string(dtypeName(theirs.dtype)) + " in another");
        types.back() = isMine ? theirs : mine;
        if (mine.dynamicShape() != theirs.dynamicShape()) types.back() = TensorType(mine.dtype, Shape::unknownRank());
    }
    return types;
}

void ModelLowering::initialise(const Operator& variable, const TensorAttribute& value)
{
    m_initial[{std::string(attributeString(variable.attributes, "container", "")),
               std::string(attributeString(variable.attributes, "shared_name", ""))}] = value;
}

int64_t ModelLowering::addTable(const Operator& table, const TensorAttribute& keys, const TensorAttribute& values)
{
    std::string name(attributeString(table.attributes, "shared_name", ""));
    if (name.empty()) name = table.name;
    const auto known = std::ranges::find(m_tables, name, &FilledTable::name);
    if (known != m_tables.end()) return known - m_tables.begin();
    m_tables.push_back({std::move(name), keys, values});
    return static_cast<int64_t>(m_tables.size()) - 1;
}

/// A graph that gives variables their values and fills tables, run once before anything else.
void ModelLowering::addInitialiser(Graph& main)
{
    if (m_initial.empty() && m_tables.empty()) return;
    const GraphId id = reserve("initialise");
    GraphLowering lowering(*this, "");
    for (const auto& [names, value] : m_initial) {
        auto handle = lowering.emitAll({"tfl", "var_handle"}, {}, {{"container", names.first}, {"shared_name", names.second}},
                                       {TensorType(DType::resource, Shape{})});
        if (!handle.ok()) continue;
        const ValueId data = lowering.constant(TensorType(value.type.dtype, value.type.shape), value.data);
        static_cast<void>(lowering.emitAll({"tfl", "assign_variable"}, {handle->front(), data}, {}, {}).ok());
    }
    for (size_t i = 0; i < m_tables.size(); ++i) {
        const TensorAttribute &keys = m_tables[i].keys, &values = m_tables[i].values;
        auto handle =
            lowering.emitAll({"tfl", "hashtable"}, {},
                             {{"table_id", static_cast<int64_t>(i)}, {"key_dtype", keys.type.dtype}, {"value_dtype", values.type.dtype}},
                             {TensorType(DType::resource, Shape{1})});
        if (!handle.ok()) continue;
        const ValueId from = lowering.constant(keys.type, keys.data), to = lowering.constant(values.type, values.data);
        static_cast<void>(lowering.emitAll({"tfl", "hashtable_import"}, {handle->front(), from, to}, {}, {}).ok());
    }
    put(id, std::move(lowering.graph()));
    Operator once;
    once.kind = {"tfl", "call_once"};
    once.attributes = {{"init", GraphRef{id, nullptr}}};
    main.operators.insert(main.operators.begin(), std::move(once));
    for (Value& value : main.values)
        if (value.role == ValueRole::result) value.producer = OperatorId(value.producer.index + 1);
}

Result<LoweredModel> ModelLowering::lower(GraphId root)
{
    const Graph& source = m_source.graph(root);
    if (hasFramesOrSwitches(source))
        return Error(ErrorCode::unsupported, "it has control flow of TensorFlow 1, which has to be raised first");
    for (const Graph& graph : m_source.graphs)
        for (const Operator& op : graph.operators) {
            const Attribute* const grows = op.kind.name == "TensorArrayV3" ? findAttribute(op.attributes, "dynamic_size") : nullptr;
            m_hasGrowingArrays = m_hasGrowingArrays || (grows && grows->as<bool>() && *grows->as<bool>());
            m_hasEmptyLists = m_hasEmptyLists || op.kind.name == "EmptyTensorList";
        }
    m_result.model.dialect = Dialect::tfl;
    setAttribute(m_result.model.attributes, "description", std::string("Loopscope converted."));
    const GraphId id = reserve("main");
    GraphLowering lowering(*this, "main");
    std::vector<ValueId> arguments;
    for (const ValueId input : source.inputs) arguments.push_back(lowering.addInput(source.value(input).id, source.value(input).type));
    const std::vector<ValueId> outputs = lowering.lowerBody(source, arguments, source.id);
    lowering.setOutputs(outputs);
    nameOutputs(lowering.graph(), source);
    for (const Signature& signature : m_source.signatures) {
        if (signature.graph != root) continue;
        Signature lowered{signature.key, id, {}, {}};
        const auto bind = [&](const std::vector<SignatureBinding>& from, std::vector<SignatureBinding>& to, const auto& find) {
            for (const SignatureBinding& binding : from)
                if (const ValueId value = find(binding.value); value.valid()) to.push_back({binding.name, value});
        };
        bind(signature.inputs, lowered.inputs, [&](ValueId value) {
            const auto at = std::ranges::find(source.inputs, value);
            return at == source.inputs.end() ? ValueId() : arguments[static_cast<size_t>(at - source.inputs.begin())];
        });
        bind(signature.outputs, lowered.outputs, [&](ValueId value) {
            const auto at = std::ranges::find(source.outputs, value, &GraphOutput::value);
            return at == source.outputs.end() ? ValueId() : outputs[static_cast<size_t>(at - source.outputs.begin())];
        });
        if (lowered.inputs.size() == signature.inputs.size() && lowered.outputs.size() == signature.outputs.size())
            m_result.model.signatures.push_back(std::move(lowered)); // of what else the graph could run nothing is left
    }
    addInitialiser(lowering.graph());
    put(id, std::move(lowering.graph()));
    refineShapes(m_result.model, m_standIns);
    return std::move(m_result);
}

} // namespace lowering

Result<LoweredModel> lowerToTflite(const Model& model, GraphId root, const LowerOptions& options)
{
    return lowering::ModelLowering(model, options).lower(root);
}

} // namespace loopscope
