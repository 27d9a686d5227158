#include "converters/lower/graph_lowering.h"

#include "converters/lower/states.h"

#include "engine/ir/origin.h"
#include "engine/ir/stored_constant.h"
#include "engine/ops/catalog.h"
#include "engine/ops/dataflow.h"
#include "engine/tensor/half.h"
#include "engine/tensor/statistics.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace loopscope::lowering {

namespace {

/// As files of TFLite say it: an open dimension is 1 in the shape and −1 in the signature.
TensorType fileType(DType dtype, const Shape& shape)
{
    TensorType type(dtype, shape);
    if (!shape.hasRank() || shape.isStatic()) return type;
    type.signature = shape;
    for (int d = 0; d < shape.rank(); ++d)
        if (shape[d] < 0) type.shape[d] = 1;
    return type;
}

template <typename T> void appendAs(std::vector<std::byte>& bytes, double value)
{
    const T element = static_cast<T>(value);
    const auto* const from = reinterpret_cast<const std::byte*>(&element);
    bytes.insert(bytes.end(), from, from + sizeof element);
}

std::optional<std::vector<std::byte>> bytesOf(DType dtype, std::span<const double> values)
{
    std::vector<std::byte> bytes;
    for (const double value : values) {
        switch (dtype) {
        case DType::f16: appendAs<uint16_t>(bytes, floatToF16(static_cast<float>(value))); break;
        case DType::f32: appendAs<float>(bytes, value); break;
        case DType::f64: appendAs<double>(bytes, value); break;
        case DType::i8: appendAs<int8_t>(bytes, value); break;
        case DType::u8: appendAs<uint8_t>(bytes, value); break;
        case DType::i16: appendAs<int16_t>(bytes, value); break;
        case DType::u16: appendAs<uint16_t>(bytes, value); break;
        case DType::i32: appendAs<int32_t>(bytes, value); break;
        case DType::u32: appendAs<uint32_t>(bytes, value); break;
        case DType::i64: appendAs<int64_t>(bytes, value); break;
        case DType::boolean: appendAs<uint8_t>(bytes, value != 0 ? 1 : 0); break;
        default: return std::nullopt;
        }
    }
    return bytes;
}

/// Operators that TFLite has for these dtypes, which it moves and compares but does not compute with.
bool takes(std::string_view kind, DType dtype)
{
    static constexpr std::array<std::string_view, 11> kAny = {"assign_variable", "call_once", "cast",  "expand_dims", "if",   "rank",
                                                              "read_variable",   "reshape",   "shape", "squeeze",     "while"};
    static constexpr std::array<std::string_view, 10> kText = {
        "equal", "fill", "gather", "gather_nd", "hashtable_find", "hashtable_import", "not_equal", "slice", "strided_slice", "tile"};
    static constexpr std::array<DType, 6> kRare = {DType::f64, DType::u64, DType::u16, DType::c64, DType::c128, DType::string};
    static constexpr std::array<std::string_view, 3> kComplex = {"complex_abs", "imag", "real"};
    if (std::ranges::find(kRare, dtype) == kRare.end()) return true;
    if (dtype == DType::c64 && std::ranges::find(kComplex, kind) != kComplex.end()) return true;
    return std::ranges::find(kAny, kind) != kAny.end() || (dtype == DType::string && std::ranges::find(kText, kind) != kText.end());
}

} // namespace

GraphLowering::GraphLowering(ModelLowering& model, std::string id) : m_model(model) { m_graph.id = std::move(id); }

std::vector<ValueId> GraphLowering::inputs() const
{
    std::vector<ValueId> all;
    for (int i = 0; i < inputCount(); ++i) all.push_back(input(i));
    return all;
}

ValueId GraphLowering::newValue(const std::string& wanted, TensorType type, ValueRole role)
{
    std::string id = wanted.empty() ? "value" : wanted;
    for (int n = 1; !m_names.insert(id).second; ++n) id = wanted + "_" + std::to_string(n);
    Value value;
    value.id = std::move(id);
    value.type = std::move(type);
    value.role = role;
    m_graph.values.push_back(std::move(value));
    return ValueId(static_cast<int64_t>(m_graph.values.size()) - 1);
}

ValueId GraphLowering::addInput(const std::string& id, TensorType type)
{
    std::vector<TensorType> held = std::move(type.elementTypes);
    type = fileType(type.dtype, type.dynamicShape());
    type.elementTypes = std::move(held);
    const ValueId value = newValue(id, std::move(type), ValueRole::input);
    m_graph.inputs.push_back(value);
    return value;
}

void GraphLowering::setOutputs(const std::vector<ValueId>& outputs)
{
    m_graph.outputs.clear();
    for (const ValueId output : outputs) m_graph.outputs.push_back({"", output});
}

ValueId GraphLowering::constant(TensorType type, ConstantPtr data, std::string_view name)
{
    const ValueId id = newValue(name.empty() ? (m_op ? m_prefix + m_op->name + "/const" : "const") : std::string(name), std::move(type),
                                ValueRole::constant);
    m_graph.value(id).constant = std::move(data);
    return id;
}

ValueId GraphLowering::integerConstant(DType dtype, std::span<const int64_t> values, bool isScalar)
{
    std::vector<int64_t> key = {isScalar ? 1 : 0};
    key.insert(key.end(), values.begin(), values.end());
    const auto [known, isNew] = m_integers.try_emplace({static_cast<int>(dtype), key});
    if (!isNew) return known->second;
    const std::vector<double> reals(values.begin(), values.end());
    const std::vector<std::byte> bytes = *bytesOf(dtype, reals);
    const Shape shape = isScalar ? Shape{} : Shape{static_cast<int64_t>(values.size())};
    return known->second = constant(TensorType(dtype, shape), std::make_shared<Constant>(Bytes::copyOf(bytes)));
}

ValueId GraphLowering::realConstant(DType dtype, double value)
{
    const std::vector<std::byte> bytes = bytesOf(dtype, std::span(&value, 1)).value_or(std::vector<std::byte>());
    return constant(TensorType(dtype, Shape{}), std::make_shared<Constant>(Bytes::copyOf(bytes)));
}

ListKind GraphLowering::listOf(int operand) const
{
    return m_model.lists().of(static_cast<size_t>(m_source - m_model.source().graphs.data()), m_op->inputs[static_cast<size_t>(operand)]);
}

ListKind GraphLowering::listGiven(int k) const
{
    return m_model.lists().of(static_cast<size_t>(m_source - m_model.source().graphs.data()), m_op->results[static_cast<size_t>(k)]);
}

std::optional<std::vector<int64_t>> GraphLowering::integers(ValueId id) const
{
    const Tensor tensor = declaredTensor(m_graph.value(id));
    if (!tensor.data || !isInteger(tensor.dtype) || bitWidth(tensor.dtype) < 8) return std::nullopt;
    std::vector<int64_t> values;
    for (int64_t i = 0; i < tensor.elementCount(); ++i) values.push_back(elementAsInteger(tensor, i));
    return values;
}

Status GraphLowering::checkLayout() const
{
    const std::string_view layout = attributeString(m_op->attributes, "data_format", "NHWC");
    if (layout == "NHWC" || layout == "NDHWC") return {};
    return noForm("data_format " + std::string(layout));
}

std::vector<std::string> GraphLowering::originInSource() const
{
    std::vector<std::string> nodes;
    if (m_prefix.empty()) nodes = originNodes(*m_source, *m_op); // of a raised graph those of TensorFlow 1
    if (nodes.empty()) nodes.push_back(m_prefix + m_op->name);
    return nodes;
}

void GraphLowering::bind(int k, ValueId value) { (*m_values)[static_cast<size_t>(m_op->results[static_cast<size_t>(k)].index)] = value; }

Result<std::vector<ValueId>> GraphLowering::emitAll(Kind kind, std::vector<ValueId> inputs, AttributeList attributes,
                                                    std::vector<TensorType> types, std::span<const std::string> names)
{
    Operator op;
    op.kind = std::move(kind);
    for (NamedAttribute& attribute : attributes) setAttribute(op.attributes, std::move(attribute.key), std::move(attribute.value));
    if (op.kind == Kind{"tfl", "broadcast_to"}) setAttribute(op.attributes, "@version", int64_t{2}); // LiteRT knows no first one
    op.inputs = std::move(inputs);
    if (m_op) op.origin = originInSource();
    for (const ValueId operand : op.inputs)
        if (const DType dtype = operand.valid() ? type(operand).dtype : DType::unknown;
            op.kind.dialect == "tfl" && !takes(op.kind.name, dtype))
            return noForm("TFLite has no " + op.kind.name + " of " + std::string(dtypeName(dtype)));
    const OpDef* const def = findOp(op.kind);
    std::vector<InferredType> inferred;
    for (const TensorType& type : types) inferred.push_back({type.dtype, def && def->infer ? Shape::unknownRank() : type.dynamicShape()});
    if (def && def->infer) {
        std::vector<Tensor> tensors;
        tensors.reserve(op.inputs.size());
        std::vector<const Tensor*> operands;
        for (const ValueId id : op.inputs) {
            if (!id.valid()) {
                operands.push_back(nullptr);
                continue;
            }
            tensors.push_back(declaredTensor(m_graph.value(id)));
            operands.push_back(&tensors.back());
        }
        LS_CHECK_OK(inferOperator(op, operands, inferred));
    }
    const OperatorId id(static_cast<int64_t>(m_graph.operators.size()));
    std::vector<ValueId> results;
    for (size_t k = 0; k < types.size(); ++k) {
        Shape shape = inferred[k].shape;
        if (!shape.hasRank() || (!shape.isStatic() && types[k].shape.isStatic() && !types[k].signature)) shape = types[k].dynamicShape();
        const DType dtype = inferred[k].dtype == DType::unknown ? types[k].dtype : inferred[k].dtype;
        if (types[k].dtype != DType::unknown && dtype != types[k].dtype)
            return noForm(op.kind.name + " gives " + std::string(dtypeName(dtype)) + ", not " + std::string(dtypeName(types[k].dtype)));
        const std::string name = k < names.size() ? names[k] : m_prefix + (m_op ? m_op->name : "copy") + "/" + op.kind.name;
        const ValueId result = newValue(name, fileType(dtype, shape), ValueRole::result);
        m_graph.value(result).producer = id;
        m_graph.value(result).slot = static_cast<int32_t>(k);
        results.push_back(result);
    }
    op.results = results;
    m_graph.operators.push_back(std::move(op));
    return results;
}

Result<ValueId> GraphLowering::emit(std::string_view kind, std::vector<ValueId> inputs, AttributeList attributes, DType dtype)
{
    LS_TRY(const std::vector<ValueId> results,
           emitAll({"tfl", std::string(kind)}, std::move(inputs), std::move(attributes), {TensorType(dtype, Shape::unknownRank())}));
    return results.front();
}

Status GraphLowering::finish(std::string_view kind, std::vector<ValueId> inputs, AttributeList attributes)
{
    std::vector<TensorType> types;
    std::vector<std::string> names;
    for (size_t k = 0; k < m_op->results.size(); ++k) {
        types.push_back(declared(static_cast<int>(k)));
        if (types.back().dtype == DType::variant) types.back() = TensorType(); // a list is a tensor now
        names.push_back(m_prefix + m_source->value(m_op->results[k]).id);
    }
    LS_TRY(const std::vector<ValueId> results, emitAll({"tfl", std::string(kind)}, std::move(inputs), std::move(attributes), types, names));
    for (size_t k = 0; k < results.size(); ++k) bind(static_cast<int>(k), results[k]);
    return {};
}

Result<ValueId> GraphLowering::asInt32(ValueId id)
{
    if (type(id).dtype == DType::i32) return id;
    if (const auto values = integers(id)) {
        if (std::ranges::any_of(*values, [](int64_t v) { return v > INT32_MAX || v < INT32_MIN; }))
            return noForm("an index beyond 32 bits");
        if (type(id).shape.rank() <= 1) return integerConstant(DType::i32, *values, type(id).shape.rank() == 0);
    }
    return emit("cast", {id}, {}, DType::i32);
}

Result<ValueId> GraphLowering::asBool(ValueId id)
{
    const DType dtype = type(id).dtype;
    if (dtype == DType::boolean) return id;
    if (!isFloat(dtype) && !isInteger(dtype)) return noForm("a condition of " + std::string(dtypeName(dtype)));
    return emit("not_equal", {id, realConstant(dtype, 0)}, {}, DType::boolean);
}

Result<ValueId> GraphLowering::copy(ValueId id)
{
    const DType dtype = type(id).dtype;
    if (dtype == DType::boolean) return emit("logical_or", {id, id}, {}, dtype);
    if (dtype == DType::f32 || dtype == DType::i32 || dtype == DType::i64) return emit("maximum", {id, id}, {}, dtype);
    LS_TRY(const ValueId shape, shapeOf(id));
    return emit("reshape", {id, shape}, {}, dtype);
}

void GraphLowering::note(std::string text) { m_model.result().notes.push_back(std::move(text)); }

ValueId GraphLowering::absentResult(int k)
{
    const Value& value = m_source->value(m_op->results[static_cast<size_t>(k)]);
    return newValue(m_prefix + value.id, fileType(value.type.dtype, value.type.dynamicShape()), ValueRole::absent);
}

Result<ValueId> GraphLowering::asState(ValueId id)
{
    const Value& given = m_graph.value(id);
    const Tensor tensor = declaredTensor(given);
    if (!tensor.data || computeStatistics(tensor).zeros != tensor.elementCount())
        return noForm("its states do not begin with zeros, as those of TFLite do");
    const TensorType type = given.type;
    return newValue(given.id + "/state", type, ValueRole::variable);
}

Status GraphLowering::keepOperator()
{
    std::vector<ValueId> operands;
    for (const ValueId id : m_op->inputs) operands.push_back(id.valid() ? valueOf(id) : ValueId());
    AttributeList attributes = m_op->attributes;
    if (attributeBool(attributes, "@stateless", false)) {
        for (const size_t k : stateOperands(m_op->kind)) {
            if (k >= operands.size() || !operands[k].valid()) continue;
            LS_TRY(operands[k], asState(operands[k]));
        }
        std::erase_if(attributes, [](const NamedAttribute& attribute) { return attribute.key == "@stateless"; });
        note(place() + ": TFLite keeps its states from one run to the next; reset the variables before each");
    }
    if (m_op->kind.dialect == "custom" && findAttribute(attributes, "call") != nullptr) {
        std::erase_if(attributes, [](const NamedAttribute& attribute) { return attribute.key == "call"; });
        note(place() + ": a runtime needs a kernel for " + m_op->kind.name + "; what it computes here stays behind");
    }
    std::vector<TensorType> types;
    std::vector<std::string> names;
    for (size_t k = 0; k < m_op->results.size(); ++k) {
        types.push_back(declared(static_cast<int>(k)));
        names.push_back(m_prefix + m_source->value(m_op->results[k]).id);
    }
    LS_TRY(const std::vector<ValueId> results, emitAll(m_op->kind, std::move(operands), std::move(attributes), types, names));
    for (size_t k = 0; k < results.size(); ++k) bind(static_cast<int>(k), results[k]);
    return {};
}

namespace {

/// What carries the flow of a TensorArray as the number that it is, as parallel_for does for several iterations: the array stays the same.
bool movesFlow(const Operator& op)
{
    constexpr std::array<std::string_view, 8> kMoves = {"BroadcastTo", "ExpandDims", "GatherV2",     "Reshape",
                                                        "Slice",       "Squeeze",    "StridedSlice", "Tile"};
    return op.kind.dialect == "tf" && op.results.size() == 1 && std::ranges::find(kMoves, op.kind.name) != kMoves.end();
}

/// Whether it looks into a list whose elements have shapes of their own; calls and what hands on do not.
bool isOfRaggedList(const GraphLowering& l)
{
    const Operator& op = l.op();
    const bool isList = op.kind.name.starts_with("TensorList") || op.kind.name == "EmptyTensorList";
    const bool isSum = op.kind.name == "AddN" || op.kind.name == "AddV2" || op.kind.name == "ZerosLike";
    if (!isList && !isSum) return false;
    if (isSum && l.declared(0).dtype != DType::variant) return false;
    return (!op.inputs.empty() && l.listOf(0).isRagged) ||
           (!op.results.empty() && l.declared(0).dtype == DType::variant && l.listGiven(0).isRagged);
}

} // namespace

Status GraphLowering::lowerRagged()
{
    const Rule rule = findRaggedRule(m_op->kind.name);
    return rule ? rule(*this) : noForm("its elements have shapes of their own");
}

void GraphLowering::lowerOperator(OperatorId id)
{
    m_op = &m_source->op(id);
    const std::string& kind = m_op->kind.name;
    const bool isOwn = m_op->kind.dialect != "tf"; // fusing made it
    const bool hasAll = std::ranges::all_of(m_op->inputs, [&](ValueId i) { return i.valid() ? valueOf(i).valid() : isOwn; });
    const size_t operators = m_graph.operators.size();
    Status status;
    if (isLeftOut(kind)) status = findRule(kind)(*this);
    else if (!hasAll) status = noForm("an operand is missing");
    else if (movesFlow(*m_op) && isArray(valueOf(m_op->inputs[0]))) bind(0, valueOf(m_op->inputs[0]));
    else if (isOwn) status = keepOperator();
    else if (isOfRaggedList(*this)) status = lowerRagged();
    else if (isSimple(kind)) status = lowerSimple(*this);
    else if (const Rule rule = findRule(kind)) status = rule(*this);
    else status = noForm("no operator of TFLite does it");
    if (status.ok()) return;
    m_graph.operators.resize(operators);
    for (Value& value : m_graph.values) // of what was begun
        if (value.role == ValueRole::result && static_cast<size_t>(value.producer.index) >= operators) {
            value.role = ValueRole::absent;
            value.producer = {};
        }
    Error error = std::move(status).takeError();
    if (m_model.options().allowCustom && hasAll) {
        std::vector<TensorType> types;
        std::vector<std::string> names;
        for (size_t k = 0; k < m_op->results.size(); ++k) {
            types.push_back(declared(static_cast<int>(k)));
            names.push_back(m_prefix + m_source->value(m_op->results[k]).id);
        }
        if (auto results = emitAll({"custom", kind}, inputs(), {}, types, names); results.ok()) {
            for (size_t k = 0; k < results->size(); ++k) bind(static_cast<int>(k), (*results)[k]);
            note(place() + " stays as custom operator " + kind);
            return;
        }
    }
    m_model.decline(place(), kind, error.message());
    for (size_t k = 0; k < m_op->results.size(); ++k) bind(static_cast<int>(k), absentResult(static_cast<int>(k)));
}

/// What the outputs need, and what has effects: a text that is only printed needs no form in TFLite.
std::vector<bool> GraphLowering::neededOperators(const Graph& source)
{
    std::vector<bool> needed(source.operators.size(), false);
    std::vector<OperatorId> open;
    const auto need = [&](ValueId value) {
        if (!value.valid() || source.value(value).role != ValueRole::result) return;
        const OperatorId producer = source.value(value).producer;
        if (producer.valid() && !needed[static_cast<size_t>(producer.index)]) open.push_back(producer);
    };
    for (const GraphOutput& output : source.outputs) need(output.value);
    for (size_t i = 0; i < source.operators.size(); ++i)
        if (hasEffects(source.operators[i])) open.emplace_back(static_cast<int64_t>(i));
    while (!open.empty()) {
        const OperatorId id = open.back();
        open.pop_back();
        if (needed[static_cast<size_t>(id.index)]) continue;
        needed[static_cast<size_t>(id.index)] = true;
        if (isLeftOut(source.op(id).kind.name)) continue;
        for (const ValueId input : source.op(id).inputs) need(input);
    }
    return needed;
}

std::vector<ValueId> GraphLowering::lowerBody(const Graph& source, std::span<const ValueId> arguments, const std::string& place)
{
    const auto outer = std::tuple(m_source, m_op, m_values, m_place, m_prefix);
    if (m_op) m_prefix += m_op->name + "/";
    m_source = &source;
    m_place = place;
    Lowered values(source.values.size());
    m_values = &values;
    for (size_t i = 0; i < source.inputs.size() && i < arguments.size(); ++i)
        values[static_cast<size_t>(source.inputs[i].index)] = arguments[i];
    const std::vector<bool> needed = neededOperators(source);
    for (size_t i = 0; i < source.operators.size(); ++i)
        if (needed[i]) lowerOperator(OperatorId(static_cast<int64_t>(i)));
    std::vector<ValueId> outputs;
    for (const GraphOutput& output : source.outputs)
        outputs.push_back(output.value.valid() ? values[static_cast<size_t>(output.value.index)] : ValueId());
    std::tie(m_source, m_op, m_values, m_place, m_prefix) = outer;
    return outputs;
}

} // namespace loopscope::lowering
