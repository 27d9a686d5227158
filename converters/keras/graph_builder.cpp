#include "converters/keras/graph_builder.h"

#include "converters/keras/shapes.h"
#include "engine/ops/catalog.h"
#include "engine/ops/constant_data.h"
#include "engine/ops/tf_registry.h"
#include "engine/tensor/half.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace loopscope::keras {

namespace {

/// What a node may be called: TensorFlow's own alphabet.
std::string nodeName(std::string_view text)
{
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' ||
                           c == '/' || c == '>' || c == '\\';
        out += plain ? c : '_';
    }
    const bool begins =
        !out.empty() && out.front() != '_' && out.front() != '-' && out.front() != '/' && out.front() != '\\' && out.front() != '>';
    return begins ? out : "k" + out;
}

template <typename T> void put(std::vector<std::byte>& bytes, T value)
{
    const size_t at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

TensorAttribute tensorOf(DType dtype, Shape shape, const std::vector<double>& values)
{
    std::vector<std::byte> bytes;
    for (const double v : values) {
        if (dtype == DType::f64) put(bytes, v);
        else if (dtype == DType::f16) put(bytes, floatToF16(static_cast<float>(v)));
        else if (dtype == DType::bf16) put(bytes, floatToBf16(static_cast<float>(v)));
        else if (dtype == DType::i64) put(bytes, static_cast<int64_t>(std::clamp(v, -9e15, 9e15)));
        else if (dtype == DType::i32) put(bytes, static_cast<int32_t>(std::clamp<double>(v, INT32_MIN, INT32_MAX)));
        else if (dtype == DType::boolean) put(bytes, static_cast<uint8_t>(v != 0));
        else put(bytes, static_cast<float>(v));
    }
    return {TensorType(dtype, std::move(shape)), std::make_shared<Constant>(Bytes::copyOf(bytes))};
}

} // namespace

GraphBuilder::GraphBuilder(std::string id, bool isMain) : m_isMain(isMain) { m_graph.id = std::move(id); }

std::string GraphBuilder::freshName(const std::string& wanted)
{
    const std::string plain = nodeName(wanted);
    std::string name = plain;
    for (int& n = m_suffixes[plain]; !m_names.insert(name).second;) name = plain + "_" + std::to_string(++n);
    return name;
}

/// Attributes of types and counts that the operands say, and the types of the results. False: it cannot be.
bool GraphBuilder::complete(Operator& op, std::vector<TensorType>& results)
{
    const TfOpSignature* const signature = findTfOp(op.kind.name);
    if (signature == nullptr) {
        fail(Error(ErrorCode::unsupported, "TensorFlow has no operator '" + op.kind.name + "'"));
        return false;
    }
    size_t at = 0;
    for (const TfArgument& argument : signature->inputs) {
        const size_t count = argument.isList() ? op.inputs.size() - std::min(op.inputs.size(), at + signature->inputs.size() - 1) : 1;
        if (at + count > op.inputs.size()) {
            fail(Error(ErrorCode::unsupported, "operator '" + op.kind.name + "' lacks operands"));
            return false;
        }
        if (!argument.typeAttr.empty() && count > 0) setAttribute(op.attributes, argument.typeAttr, dtype(op.inputs[at]));
        if (!argument.numberAttr.empty()) setAttribute(op.attributes, argument.numberAttr, static_cast<int64_t>(count));
        if (!argument.typeListAttr.empty()) {
            AttributeItems types;
            for (size_t i = 0; i < count; ++i) types.emplace_back(dtype(op.inputs[at + i]));
            setAttribute(op.attributes, argument.typeListAttr, Attribute(std::move(types)));
        }
        at += count;
    }
    const auto types = tfSlotTypes(*signature, signature->outputs, op.attributes);
    if (!types) {
        fail(Error(ErrorCode::unsupported, "operator '" + op.kind.name + "' has results of unknown types"));
        return false;
    }
    for (const TfSlotType& t : *types) results.emplace_back(t.dtype, Shape::unknownRank());
    Status status = infer(op, results);
    if (!status.ok()) fail(Error(ErrorCode::unsupported, op.kind.name + ": " + std::move(status).takeError().message()));
    return !failed();
}

Status GraphBuilder::infer(const Operator& op, std::vector<TensorType>& results) const
{
    std::vector<Tensor> tensors(op.inputs.size());
    std::vector<const Tensor*> inputs(op.inputs.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
        const Value& value = m_graph.value(op.inputs[i]);
        tensors[i].dtype = value.type.dtype;
        tensors[i].shape = value.type.shape;
        if (value.role == ValueRole::result) showConstant(m_graph.op(value.producer), tensors[i]);
        inputs[i] = &tensors[i];
    }
    std::vector<InferredType> inferred(results.size());
    for (size_t i = 0; i < results.size(); ++i) inferred[i].dtype = results[i].dtype;
    LS_CHECK_OK(inferOperator(op, inputs, inferred));
    for (size_t i = 0; i < results.size(); ++i) {
        if (results[i].dtype == DType::unknown) results[i].dtype = inferred[i].dtype;
        results[i].shape = inferred[i].shape.hasRank() ? inferred[i].shape : shapeOfResult(m_graph, op, i);
        // Sizes that nothing can have are not known, so that no product of two of them overflows.
        for (int k = 0; k < results[i].shape.rank(); ++k)
            if (results[i].shape[k] > INT32_MAX) results[i].shape[k] = kUnknownDim;
    }
    return {};
}

std::vector<ValueId> GraphBuilder::add(Operator op, std::string_view name, std::vector<TensorType> results)
{
    op.name = freshName(m_scope.empty() || name.starts_with(m_scope + "/") ? std::string(name) : m_scope + "/" + std::string(name));
    op.origin = {"0:" + std::to_string(m_graph.operators.size())};
    const OperatorId id(static_cast<int64_t>(m_graph.operators.size()));
    for (size_t i = 0; i < results.size(); ++i) {
        Value value;
        value.id = i == 0 ? op.name : op.name + ":" + std::to_string(i);
        value.type = std::move(results[i]);
        value.role = ValueRole::result;
        value.producer = id;
        value.slot = static_cast<int32_t>(i);
        op.results.emplace_back(static_cast<int64_t>(m_graph.values.size()));
        m_graph.values.push_back(std::move(value));
    }
    m_graph.operators.push_back(std::move(op));
    return m_graph.operators.back().results;
}

std::vector<ValueId> GraphBuilder::typed(Kind kind, std::string_view name, std::vector<ValueId> inputs, AttributeList attributes,
                                         std::vector<TensorType> results)
{
    if (failed() || !std::ranges::all_of(inputs, &ValueId::valid)) return {};
    Operator op;
    op.kind = std::move(kind);
    op.inputs = std::move(inputs);
    for (NamedAttribute& a : attributes) setAttribute(op.attributes, std::move(a.key), std::move(a.value));
    return add(std::move(op), name, std::move(results));
}

std::vector<ValueId> GraphBuilder::all(std::string_view kind, std::vector<ValueId> inputs, AttributeList attributes)
{
    if (failed() || !std::ranges::all_of(inputs, &ValueId::valid)) return {};
    Operator op;
    op.kind = {"tf", std::string(kind)};
    op.inputs = std::move(inputs);
    for (NamedAttribute& a : attributes) setAttribute(op.attributes, std::move(a.key), std::move(a.value));
    std::vector<TensorType> results;
    if (!complete(op, results)) return {};
    return add(std::move(op), kind, std::move(results));
}

ValueId GraphBuilder::op(std::string_view kind, std::vector<ValueId> inputs, AttributeList attributes)
{
    const std::vector<ValueId> results = all(kind, std::move(inputs), std::move(attributes));
    return results.empty() ? ValueId() : results.front();
}

ValueId GraphBuilder::input(const std::string& name, TensorType type)
{
    const std::string scope = std::exchange(m_scope, {});
    ValueId id;
    if (m_isMain) {
        AttributeList attributes = {{"dtype", type.dtype}, {"shape", type.shape}};
        const std::vector<ValueId> made = typed({"tf", "Placeholder"}, name, {}, std::move(attributes), {type});
        if (!made.empty()) id = made.front();
    } else {
        Value value;
        value.id = freshName(name);
        value.type = std::move(type);
        value.role = ValueRole::input;
        id = ValueId(static_cast<int64_t>(m_graph.values.size()));
        m_graph.values.push_back(std::move(value));
        m_graph.inputs.push_back(id);
    }
    m_scope = scope;
    return id;
}

ValueId GraphBuilder::constant(const std::string& name, TensorAttribute value)
{
    const TensorType type = value.type;
    AttributeList attributes = {{"dtype", type.dtype}, {"value", std::move(value)}};
    const std::vector<ValueId> made = typed({"tf", "Const"}, name, {}, std::move(attributes), {type});
    return made.empty() ? ValueId() : made.front();
}

ValueId GraphBuilder::shared(DType dtype, Shape shape, const std::vector<double>& values)
{
    std::string key = "constant " + m_scope + " " + std::string(dtypeName(dtype)) + toString(shape);
    for (const double v : values) key += " " + std::to_string(std::bit_cast<uint64_t>(v));
    if (const ValueId before = known(key); before.valid()) return before;
    const ValueId made = constant("Const", tensorOf(dtype, std::move(shape), values));
    if (made.valid()) remember(key, made);
    return made;
}

ValueId GraphBuilder::ints(const std::vector<int64_t>& values)
{
    return shared(DType::i32, Shape{static_cast<int64_t>(values.size())}, {values.begin(), values.end()});
}

ValueId GraphBuilder::integer(int64_t value) { return shared(DType::i32, {}, {static_cast<double>(value)}); }

ValueId GraphBuilder::number(double value, ValueId like) { return like.valid() ? shared(dtype(like), {}, {value}) : ValueId(); }

ValueId GraphBuilder::numbers(const std::vector<double>& values, const Shape& shape, DType dtype)
{
    return constant("Const", tensorOf(dtype, shape, values));
}

ValueId GraphBuilder::cast(ValueId value, DType wanted)
{
    if (!value.valid() || dtype(value) == wanted) return value;
    return op("Cast", {value}, {{"DstT", wanted}});
}

Extent GraphBuilder::same(ValueId value, int axis) const
{
    if (axis < 0) axis += rank(value);
    const int64_t known = dim(value, axis);
    return known == kUnknownDim ? Extent{0, value, axis} : Extent{known, {}, 0};
}

ValueId GraphBuilder::sizes(const std::vector<Extent>& extents)
{
    if (std::ranges::none_of(extents, [](const Extent& e) { return e.of.valid(); })) {
        std::vector<int64_t> values;
        for (const Extent& e : extents) values.push_back(e.number);
        return ints(values);
    }
    std::map<int32_t, ValueId> shapes;
    std::vector<ValueId> parts;
    for (const Extent& e : extents) {
        if (!e.of.valid()) {
            parts.push_back(integer(e.number));
            continue;
        }
        ValueId& shapeOf = shapes[e.of.index];
        if (!shapeOf.valid()) shapeOf = op("Shape", {e.of});
        ValueId part = op("StridedSlice", {shapeOf, ints({e.axis}), ints({e.axis + 1}), ints({1})}, {{"shrink_axis_mask", int64_t{1}}});
        if (e.factor != 1) part = mul(part, integer(e.factor));
        if (e.plus != 0) part = add(part, integer(e.plus));
        parts.push_back(part);
    }
    return op("Pack", parts);
}

ValueId GraphBuilder::reshape(ValueId value, const std::vector<Extent>& extents)
{
    std::vector<Extent> wanted = extents;
    const auto isOpen = [](const Extent& e) { return e.of.valid(); };
    // One open dimension needs no shape that is computed.
    if (std::ranges::count_if(wanted, isOpen) == 1)
        for (Extent& e : wanted)
            if (e.of.valid()) e = {kUnknownDim, {}, 0};
    return op("Reshape", {value, sizes(wanted)});
}

ValueId GraphBuilder::transpose(ValueId value, const std::vector<int64_t>& order) { return op("Transpose", {value, ints(order)}); }

ValueId GraphBuilder::squeeze(ValueId value, std::vector<int64_t> axes)
{
    return op("Squeeze", {value}, {{"squeeze_dims", Attribute(AttributeItems(axes.begin(), axes.end()))}});
}

ValueId GraphBuilder::reduce(std::string_view kind, ValueId value, const std::vector<int64_t>& axes, bool keep)
{
    return op(kind, {value, ints(axes)}, keep ? AttributeList{{"keep_dims", true}} : AttributeList());
}

ValueId GraphBuilder::slice(ValueId value, int axis, int64_t begin, std::optional<int64_t> end)
{
    if (axis < 0) axis += rank(value);
    if (axis < 0 || axis > 30) {
        fail(Error(ErrorCode::unsupported, "no such axis"));
        return {};
    }
    std::vector<int64_t> first(static_cast<size_t>(axis) + 1), last(first), step(first.size(), 1);
    first.back() = begin;
    last.back() = end.value_or(0);
    const int64_t all = (int64_t{1} << axis) - 1;
    return op("StridedSlice", {value, ints(first), ints(last), ints(step)},
              {{"begin_mask", all}, {"end_mask", end ? all : all | (int64_t{1} << axis)}});
}

const TensorType& GraphBuilder::type(ValueId value) const
{
    static const TensorType kNothing(DType::unknown, Shape::unknownRank());
    return value.valid() ? m_graph.value(value).type : kNothing;
}

int64_t GraphBuilder::dim(ValueId value, int axis) const
{
    if (axis < 0) axis += rank(value);
    return axis >= 0 && axis < rank(value) ? shape(value)[axis] : kUnknownDim;
}

void GraphBuilder::setShape(ValueId value, Shape shape)
{
    if (value.valid()) m_graph.value(value).type.shape = std::move(shape);
}

void GraphBuilder::rename(ValueId value, const std::string& name)
{
    Value& first = m_graph.value(value);
    Operator& op = m_graph.operators[static_cast<size_t>(first.producer.index)];
    m_names.erase(op.name);
    op.name = freshName(name);
    first.id = op.name;
}

ValueId GraphBuilder::known(const std::string& key) const
{
    const auto found = m_constants.find(key);
    return found == m_constants.end() ? ValueId() : found->second;
}

std::optional<ValueId> GraphBuilder::maskOf(ValueId value) const
{
    const auto found = m_masks.find(value.index);
    return found == m_masks.end() ? std::nullopt : std::optional(found->second);
}

void GraphBuilder::restore(const Mark& mark)
{
    for (size_t i = mark.operators; i < m_graph.operators.size(); ++i) m_names.erase(m_graph.operators[i].name);
    m_graph.operators.resize(mark.operators);
    m_graph.values.resize(mark.values);
    std::erase_if(m_constants, [&](const auto& entry) { return static_cast<size_t>(entry.second.index) >= mark.values; });
    std::erase_if(m_masks, [&](const auto& entry) { return static_cast<size_t>(entry.first) >= mark.values; });
}

} // namespace loopscope::keras
