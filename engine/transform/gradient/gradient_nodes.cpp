#include "engine/transform/gradient/gradient_nodes.h"

#include "engine/ops/tf_registry.h"

#include <algorithm>

namespace loopscope {

namespace {

/// The attributes of `signature` that the operands' dtypes and their number determine.
void completeAttributes(const TfOpSignature& signature, const std::vector<DType>& dtypes, AttributeList& attributes)
{
    size_t next = 0;
    for (const TfArgument& argument : signature.inputs) {
        size_t count = 1;
        if (argument.isList()) {
            const std::string& key = argument.typeListAttr.empty() ? argument.numberAttr : argument.typeListAttr;
            if (!findAttribute(attributes, key)) { // the list takes what is not needed behind it
                const auto behind = static_cast<size_t>(&signature.inputs.back() - &argument);
                count = dtypes.size() - std::min(dtypes.size(), next + behind);
                AttributeItems types;
                for (size_t i = next; i < next + count; ++i) types.emplace_back(dtypes[i]);
                if (argument.typeListAttr.empty()) setAttribute(attributes, key, static_cast<int64_t>(count));
                else setAttribute(attributes, key, std::move(types));
            } else {
                count = static_cast<size_t>(tfArgumentCount(signature, argument, attributes).value_or(0));
            }
        }
        if (!argument.typeAttr.empty() && next < dtypes.size() && !findAttribute(attributes, argument.typeAttr))
            setAttribute(attributes, argument.typeAttr, dtypes[next]);
        next += count;
    }
}

} // namespace

std::string GradientNodes::freshName(const std::string& kind)
{
    const int used = m_used[kind]++;
    return m_scope + "/" + kind + (used == 0 ? "" : "_" + std::to_string(used));
}

std::vector<GradientValue> GradientNodes::add(std::string_view kind, std::span<const GradientValue> inputs, AttributeList attributes)
{
    return addNamed(freshName(std::string(kind)), kind, inputs, std::move(attributes));
}

std::vector<GradientValue> GradientNodes::addNamed(std::string name, std::string_view kind, std::span<const GradientValue> inputs,
                                                   AttributeList attributes)
{
    OperatorDraft draft;
    draft.kind = {"tf", std::string(kind)};
    draft.name = std::move(name);
    std::vector<DType> dtypes;
    for (const GradientValue& input : inputs) {
        draft.inputs.push_back(input.id);
        dtypes.push_back(dtype(input));
    }
    if (const TfOpSignature* const signature = findTfOp(kind)) {
        completeAttributes(*signature, dtypes, attributes);
        for (const TfSlotType& type : tfSlotTypes(*signature, signature->outputs, attributes).value_or(std::vector<TfSlotType>()))
            draft.results.emplace_back(type.dtype, Shape::unknownRank());
    }
    draft.attributes = std::move(attributes);
    std::vector<GradientValue> results;
    for (const ValueId result : m_editor.op(m_editor.append(std::move(draft), m_sources)).results) results.push_back({this, result});
    return results;
}

GradientValue GradientNodes::node(std::string_view kind, std::initializer_list<GradientValue> inputs, AttributeList attributes)
{
    const std::vector<GradientValue> results = add(kind, std::span(inputs.begin(), inputs.size()), std::move(attributes));
    return results.empty() ? GradientValue() : results.front();
}

GradientValue GradientNodes::shape(GradientValue of)
{
    const auto known = m_shapes.find(of.id);
    if (known != m_shapes.end()) return known->second;
    return m_shapes[of.id] = node("Shape", {of}, {{"out_type", DType::i32}});
}

std::string freshScope(const Graph& graph, const std::string& wanted)
{
    const auto isTaken = [&](const std::string& scope) {
        return std::ranges::any_of(graph.values, [&](const Value& value) { return value.id.starts_with(scope + "/"); }) ||
               std::ranges::any_of(graph.operators, [&](const Operator& op) { return op.name.starts_with(scope + "/"); });
    };
    std::string scope = wanted;
    for (int k = 1; isTaken(scope); ++k) scope = wanted + "_" + std::to_string(k);
    return scope;
}

GradientValue GradientNodes::constant(TensorType type, const void* data, size_t bytes)
{
    const DType dtype = type.dtype;
    return node("Const", {},
                {{"dtype", dtype}, {"value", TensorAttribute{std::move(type), std::make_shared<Constant>(Bytes::copyOf(data, bytes))}}});
}

GradientValue GradientNodes::number(double value, DType dtype)
{
    if (dtype == DType::f64) return constant(TensorType(DType::f64, Shape()), &value, sizeof value);
    const auto single = static_cast<float>(value);
    const GradientValue stored = constant(TensorType(DType::f32, Shape()), &single, sizeof single);
    return dtype == DType::f32 ? stored : node("Cast", {stored}, {{"DstT", dtype}});
}

GradientValue GradientNodes::integer(int32_t value)
{
    GradientValue& known = m_integers[value];
    if (!known.valid()) known = constant(TensorType(DType::i32, Shape()), &value, sizeof value);
    return known;
}

GradientValue GradientNodes::integers(std::span<const int32_t> values)
{
    GradientValue& known = m_lists[std::vector<int32_t>(values.begin(), values.end())];
    if (!known.valid())
        known = constant(TensorType(DType::i32, Shape({static_cast<int64_t>(values.size())})), values.data(), values.size_bytes());
    return known;
}

GradientValue operator+(GradientValue a, GradientValue b) { return a.nodes->node("AddV2", {a, b}); }
GradientValue operator-(GradientValue a, GradientValue b) { return a.nodes->node("Sub", {a, b}); }
GradientValue operator*(GradientValue a, GradientValue b) { return a.nodes->node("Mul", {a, b}); }
GradientValue operator/(GradientValue a, GradientValue b) { return a.nodes->node("RealDiv", {a, b}); }
GradientValue operator-(GradientValue a) { return a.nodes->node("Neg", {a}); }
GradientValue operator+(double a, GradientValue b) { return b.nodes->number(a, b.nodes->dtype(b)) + b; }
GradientValue operator-(double a, GradientValue b) { return b.nodes->number(a, b.nodes->dtype(b)) - b; }
GradientValue operator*(double a, GradientValue b) { return b.nodes->number(a, b.nodes->dtype(b)) * b; }

} // namespace loopscope
