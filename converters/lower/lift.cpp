#include "converters/lower/lift.h"

#include "engine/transform/gradient/gradient_nodes.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace loopscope {

namespace {

using Lifted = GradientValue;

/// Operators of the same operands; attributes "key" or "theirs=ours", apart by blanks.
struct SameForm {
    std::string_view tfl, tf, attributes;
};

constexpr std::array kSame = {
    SameForm{"abs", "Abs", ""},
    SameForm{"add", "AddV2", ""},
    SameForm{"arg_max", "ArgMax", "output_type"},
    SameForm{"arg_min", "ArgMin", "output_type"},
    SameForm{"batch_matmul", "BatchMatMulV2", "adj_x adj_y"},
    SameForm{"batch_to_space_nd", "BatchToSpaceND", ""},
    SameForm{"broadcast_to", "BroadcastTo", ""},
    SameForm{"ceil", "Ceil", ""},
    SameForm{"cos", "Cos", ""},
    SameForm{"cumsum", "Cumsum", "exclusive reverse"},
    SameForm{"depth_to_space", "DepthToSpace", "block_size"},
    SameForm{"div", "RealDiv", ""},
    SameForm{"elu", "Elu", ""},
    SameForm{"equal", "Equal", ""},
    SameForm{"exp", "Exp", ""},
    SameForm{"expand_dims", "ExpandDims", ""},
    SameForm{"fill", "Fill", ""},
    SameForm{"floor", "Floor", ""},
    SameForm{"floor_div", "FloorDiv", ""},
    SameForm{"floor_mod", "FloorMod", ""},
    SameForm{"gather_nd", "GatherNd", ""},
    SameForm{"greater", "Greater", ""},
    SameForm{"greater_equal", "GreaterEqual", ""},
    SameForm{"leaky_relu", "LeakyRelu", "alpha"},
    SameForm{"less", "Less", ""},
    SameForm{"less_equal", "LessEqual", ""},
    SameForm{"log", "Log", ""},
    SameForm{"log_softmax", "LogSoftmax", ""},
    SameForm{"logical_and", "LogicalAnd", ""},
    SameForm{"logical_not", "LogicalNot", ""},
    SameForm{"logical_or", "LogicalOr", ""},
    SameForm{"logistic", "Sigmoid", ""},
    SameForm{"maximum", "Maximum", ""},
    SameForm{"mean", "Mean", "keep_dims"},
    SameForm{"minimum", "Minimum", ""},
    SameForm{"mirror_pad", "MirrorPad", ""},
    SameForm{"mul", "Mul", ""},
    SameForm{"neg", "Neg", ""},
    SameForm{"not_equal", "NotEqual", ""},
    SameForm{"one_hot", "OneHot", "axis"},
    SameForm{"pack", "Pack", "axis"},
    SameForm{"pad", "Pad", ""},
    SameForm{"padv2", "PadV2", ""},
    SameForm{"pow", "Pow", ""},
    SameForm{"range", "Range", ""},
    SameForm{"rank", "Rank", ""},
    SameForm{"reduce_max", "Max", "keep_dims"},
    SameForm{"reduce_min", "Min", "keep_dims"},
    SameForm{"reduce_prod", "Prod", "keep_dims"},
    SameForm{"relu", "Relu", ""},
    SameForm{"relu6", "Relu6", ""},
    SameForm{"reverse_v2", "ReverseV2", ""},
    SameForm{"round", "Round", ""},
    SameForm{"rsqrt", "Rsqrt", ""},
    SameForm{"scatter_nd", "ScatterNd", ""},
    SameForm{"segment_sum", "SegmentSum", ""},
    SameForm{"select_v2", "SelectV2", ""},
    SameForm{"shape", "Shape", "out_type"},
    SameForm{"sign", "Sign", ""},
    SameForm{"sin", "Sin", ""},
    SameForm{"slice", "Slice", ""},
    SameForm{"space_to_batch_nd", "SpaceToBatchND", ""},
    SameForm{"space_to_depth", "SpaceToDepth", "block_size"},
    SameForm{"split", "Split", "num_splits=num_split"},
    SameForm{"split_v", "SplitV", "num_splits=num_split"},
    SameForm{"sqrt", "Sqrt", ""},
    SameForm{"square", "Square", ""},
    SameForm{"squared_difference", "SquaredDifference", ""},
    SameForm{"squeeze", "Squeeze", "squeeze_dims"},
    SameForm{"strided_slice", "StridedSlice", "begin_mask ellipsis_mask end_mask new_axis_mask shrink_axis_mask"},
    SameForm{"sub", "Sub", ""},
    SameForm{"sum", "Sum", "keep_dims"},
    SameForm{"tanh", "Tanh", ""},
    SameForm{"tile", "Tile", ""},
    SameForm{"topk_v2", "TopKV2", ""},
    SameForm{"transpose", "Transpose", ""},
    SameForm{"unpack", "Unpack", "num axis"},
    SameForm{"unsorted_segment_sum", "UnsortedSegmentSum", ""},
    SameForm{"zeros_like", "ZerosLike", ""},
};

TensorType plainType(const TensorType& type)
{
    TensorType plain(type.dtype, type.shape);
    if (type.signature) plain.shape = *type.signature; // dimensions that are open
    return plain;
}

class GraphLifter {
public:
    GraphLifter(const Graph& source, Graph& target, bool isCondition)
        : m_source(source),
          m_editor(target, Dialect::tf),
          m_nodes(m_editor),
          m_isCondition(isCondition),
          m_values(source.values.size())
    {
    }

    Result<std::vector<ValueId>> run()
    {
        for (const ValueId input : m_source.inputs)
            m_values[at(input)] = m_editor.addInput(m_source.value(input).id, plainType(m_source.value(input).type));
        for (size_t v = 0; v < m_values.size(); ++v) {
            const Value& value = m_source.values[v];
            if (value.role == ValueRole::constant && value.constant) m_values[v] = constant(value);
        }
        for (size_t o = 0; o < m_source.operators.size(); ++o) {
            const OperatorId id(static_cast<int64_t>(o));
            const Operator& op = m_source.op(id);
            m_name = op.results.empty() ? op.kind.name : m_source.value(op.results[0]).id;
            m_nodes.setScope(m_name, Sources::elsewhere(m_source, std::span(&id, 1)));
            const std::vector<Lifted> results = lift(op);
            if (results.size() < op.results.size() || std::ranges::any_of(results, [](const Lifted& r) { return !r.valid(); }))
                return Error(ErrorCode::unsupported, "no form in TensorFlow for " + op.kind.full()).at(m_source.id + "/" + m_name);
            for (size_t k = 0; k < op.results.size(); ++k) {
                const TensorType type = plainType(m_source.value(op.results[k]).type);
                if (m_editor.value(results[k].id).type.dtype == type.dtype) m_editor.setType(results[k].id, type);
                m_values[at(op.results[k])] = results[k].id;
            }
        }
        std::vector<GraphOutput> outputs;
        for (size_t k = 0; k < m_source.outputs.size(); ++k) {
            const ValueId value = m_source.outputs[k].value;
            ValueId now = m_values[at(value)];
            if (!now.valid()) return Error(ErrorCode::unsupported, "nothing writes '" + m_source.value(value).id + "'").at(m_source.id);
            if (m_isCondition && m_editor.value(now).type.shape != Shape()) {
                m_nodes.setScope("condition", Sources::none());
                now = scalar(m_nodes.value(now)).id;
            }
            const std::string& id = m_source.value(value).id;
            const auto isTaken = [&](const GraphOutput& other) { return other.name == id; };
            outputs.push_back({std::ranges::any_of(outputs, isTaken) ? id + "_" + std::to_string(k) : id, now});
        }
        m_editor.setOutputs(std::move(outputs));
        LS_CHECK_OK(m_editor.finish());
        return std::move(m_values);
    }

private:
    static size_t at(ValueId value) { return static_cast<size_t>(value.index); }

    ValueId constant(const Value& value)
    {
        OperatorDraft draft;
        draft.kind = {"tf", "Const"};
        draft.name = value.id;
        const TensorType type(value.type.dtype, value.type.shape);
        draft.attributes = {{"dtype", type.dtype}, {"value", TensorAttribute{type, value.constant}}};
        draft.results = {type};
        return m_editor.op(m_editor.append(std::move(draft), Sources::none())).results[0];
    }

    Lifted scalar(Lifted v) { return m_nodes.node("Reshape", {v, m_nodes.integers({})}); }
    Lifted input(const Operator& op, size_t k) const
    {
        return k < op.inputs.size() && op.inputs[k].valid() ? Lifted{const_cast<GradientNodes*>(&m_nodes), m_values[at(op.inputs[k])]}
                                                            : Lifted();
    }

    /// The node that has the name of the first result.
    std::vector<Lifted> named(std::string_view kind, const std::vector<Lifted>& inputs, AttributeList attributes = {})
    {
        if (std::ranges::any_of(inputs, [](const Lifted& v) { return !v.valid(); })) return {};
        return m_nodes.addNamed(m_name, kind, inputs, std::move(attributes));
    }

    /// The last node, with the activation that the operator has built in.
    std::vector<Lifted> activated(const Operator& op, std::string_view kind, const std::vector<Lifted>& inputs,
                                  AttributeList attributes = {})
    {
        const std::string_view act = attributeWord(op.attributes, "act", "NONE");
        if (act == "NONE") return named(kind, inputs, std::move(attributes));
        if (std::ranges::any_of(inputs, [](const Lifted& v) { return !v.valid(); })) return {};
        const std::vector<Lifted> plain = m_nodes.add(kind, inputs, std::move(attributes));
        if (plain.empty()) return {};
        if (act == "RELU") return named("Relu", {plain[0]});
        if (act == "RELU6") return named("Relu6", {plain[0]});
        if (act == "TANH") return named("Tanh", {plain[0]});
        if (act == "RELU_N1_TO_1") return named("Maximum", {m_nodes.node("Minimum", {plain[0], number(1)}), number(-1)});
        return {};
    }

    Lifted number(double value) { return m_nodes.number(value, DType::f32); }
    Lifted list(std::initializer_list<int32_t> values) { return m_nodes.integers(std::span(values.begin(), values.size())); }

    static AttributeList renamed(const AttributeList& from, std::string_view keys)
    {
        AttributeList attributes;
        while (!keys.empty()) {
            const std::string_view word = keys.substr(0, keys.find(' '));
            keys.remove_prefix(std::min(keys.size(), word.size() + 1));
            const size_t equals = word.find('=');
            const std::string_view theirs = word.substr(0, equals),
                                   ours = equals == std::string_view::npos ? word : word.substr(equals + 1);
            if (const Attribute* const found = findAttribute(from, theirs)) setAttribute(attributes, std::string(ours), Attribute(*found));
        }
        return attributes;
    }

    std::vector<Lifted> lift(const Operator& op)
    {
        std::vector<Lifted> inputs;
        for (size_t k = 0; k < op.inputs.size(); ++k) inputs.push_back(input(op, k));
        const std::string& kind = op.kind.name;
        for (const SameForm& same : kSame)
            if (same.tfl == kind) {
                AttributeList attributes = renamed(op.attributes, same.attributes);
                if (kind == "mirror_pad") setAttribute(attributes, "mode", std::string(attributeWord(op.attributes, "mode", "REFLECT")));
                if (kind == "split" || kind == "split_v") setAttribute(attributes, "num_split", static_cast<int64_t>(op.results.size()));
                if (kind == "unpack") setAttribute(attributes, "num", static_cast<int64_t>(op.results.size()));
                return activated(op, same.tf, inputs, std::move(attributes));
            }
        if (kind == "while" || kind == "if") return liftFlow(op, inputs);
        if (kind == "conv_2d" || kind == "depthwise_conv_2d" || kind == "fully_connected") return liftWeights(op, inputs);
        if (kind == "max_pool_2d" || kind == "average_pool_2d") return liftPool(op, inputs);
        return liftOther(op, inputs);
    }

    std::vector<Lifted> liftOther(const Operator& op, const std::vector<Lifted>& x)
    {
        const std::string& kind = op.kind.name;
        if (kind == "cast") return named("Cast", x, {{"DstT", m_source.value(op.results[0]).type.dtype}});
        if (kind == "select") return named("SelectV2", x);
        if (kind == "reshape") {
            if (x.size() > 1 && x[1].valid()) return named("Reshape", {x[0], x[1]});
            std::vector<int32_t> dims;
            for (const int64_t dim : attributeInts(op.attributes, "new_shape")) dims.push_back(static_cast<int32_t>(dim));
            return named("Reshape", {x[0], m_nodes.integers(dims)});
        }
        if (kind == "concatenation") {
            std::vector<Lifted> inputs = x;
            inputs.push_back(m_nodes.integer(static_cast<int32_t>(attributeInt(op.attributes, "axis", 0))));
            return activated(op, "ConcatV2", inputs, {{"N", static_cast<int64_t>(x.size())}});
        }
        if (kind == "gather") {
            const auto axis = static_cast<int32_t>(attributeInt(op.attributes, "axis", 0));
            return named("GatherV2", {x[0], x[1], m_nodes.integer(axis)}, {{"batch_dims", attributeInt(op.attributes, "batch_dims", 0)}});
        }
        if (kind == "softmax") {
            const double beta = attributeFloat(op.attributes, "beta", 1);
            return named("Softmax", {beta == 1 ? x[0] : beta * x[0]});
        }
        if (kind == "hard_swish") return named("Mul", {x[0], (1.0 / 6) * m_nodes.node("Relu6", {3 + x[0]})});
        if (kind == "relu_n1_to_1") return named("Maximum", {m_nodes.node("Minimum", {x[0], number(1)}), number(-1)});
        if (kind == "gelu" && !attributeBool(op.attributes, "approximate", false))
            return named("Mul", {0.5 * x[0], 1 + m_nodes.node("Erf", {0.7071067811865476 * x[0]})});
        if (kind == "l2_normalization") {
            const Lifted sum = m_nodes.node("Sum", {m_nodes.node("Square", {x[0]}), list({-1})}, {{"keep_dims", true}});
            return activated(op, "Mul", {x[0], m_nodes.node("Rsqrt", {m_nodes.node("Maximum", {sum, number(1e-12)})})});
        }
        if (kind == "add_n") return named("AddN", x);
        return {};
    }

    std::vector<Lifted> liftFlow(const Operator& op, std::vector<Lifted> inputs)
    {
        const bool isLoop = op.kind.name == "while";
        const auto graph = [&](const char* key) { return GraphRef{attributeGraph(op.attributes, key), nullptr}; };
        if (isLoop) return named("While", inputs, {{"body", graph("body")}, {"cond", graph("cond")}, {"output_shapes", AttributeItems()}});
        AttributeItems results;
        for (const ValueId result : op.results) results.emplace_back(m_source.value(result).type.dtype);
        if (inputs.empty() || !inputs[0].valid()) return {};
        if (m_source.value(op.inputs[0]).type.shape != Shape()) inputs[0] = scalar(inputs[0]);
        return named("If", inputs, {{"Tout", std::move(results)}, {"else_branch", graph("else")}, {"then_branch", graph("then")}});
    }

    AttributeList window(const Operator& op) const
    {
        const auto ints = [](int64_t h, int64_t w) { return AttributeItems{int64_t{1}, h, w, int64_t{1}}; };
        AttributeList attributes = {{"data_format", "NHWC"}, {"padding", std::string(attributeWord(op.attributes, "padding", "SAME"))}};
        setAttribute(attributes, "strides", ints(attributeInt(op.attributes, "stride_h", 1), attributeInt(op.attributes, "stride_w", 1)));
        if (op.kind.name.ends_with("pool_2d"))
            setAttribute(attributes, "ksize",
                         ints(attributeInt(op.attributes, "filter_height", 1), attributeInt(op.attributes, "filter_width", 1)));
        else
            setAttribute(attributes, "dilations",
                         ints(attributeInt(op.attributes, "dilation_h_factor", 1), attributeInt(op.attributes, "dilation_w_factor", 1)));
        return attributes;
    }

    std::vector<Lifted> liftPool(const Operator& op, const std::vector<Lifted>& x)
    {
        return activated(op, op.kind.name == "max_pool_2d" ? "MaxPool" : "AvgPool", {x[0]}, window(op));
    }

    std::vector<Lifted> liftWeights(const Operator& op, const std::vector<Lifted>& x)
    {
        if (x.size() < 2 || !x[0].valid() || !x[1].valid()) return {};
        if (m_nodes.dtype(x[0]) != DType::f32 || m_nodes.dtype(x[1]) != DType::f32) return {};
        Lifted product;
        if (op.kind.name == "fully_connected") {
            const Shape& weights = m_source.value(op.inputs[1]).type.shape;
            if (weights.rank() != 2) return {};
            const bool keepsDims = attributeBool(op.attributes, "keep_num_dims", false);
            const Lifted rows = m_nodes.node("Reshape", {x[0], list({-1, static_cast<int32_t>(weights[1])})});
            product = m_nodes.node("MatMul", {rows, x[1]}, {{"transpose_a", false}, {"transpose_b", true}});
            if (keepsDims) return {};
        } else if (op.kind.name == "conv_2d") { // its filter is OHWI
            product = m_nodes.node("Conv2D", {x[0], m_nodes.node("Transpose", {x[1], list({1, 2, 3, 0})})}, window(op));
        } else { // 1HW(C·m): the multiplier is inside
            const Shape& filter = m_source.value(op.inputs[1]).type.shape;
            const Shape& image = m_source.value(op.inputs[0]).type.shape;
            if (filter.rank() != 4 || image.rank() != 4 || image[3] < 1 || filter[3] % image[3] != 0) return {};
            const Lifted shape = list({static_cast<int32_t>(filter[1]), static_cast<int32_t>(filter[2]), static_cast<int32_t>(image[3]),
                                       static_cast<int32_t>(filter[3] / image[3])});
            product = m_nodes.node("DepthwiseConv2dNative", {x[0], m_nodes.node("Reshape", {x[1], shape})}, window(op));
        }
        if (x.size() > 2 && x[2].valid()) return activated(op, "BiasAdd", {product, x[2]});
        return activated(op, "Identity", {product});
    }

    const Graph& m_source;
    GraphEditor m_editor;
    GradientNodes m_nodes;
    bool m_isCondition; ///< what it gives decides about a loop
    std::string m_name;
    std::vector<ValueId> m_values;
};

} // namespace

Result<LiftedModel> liftToTensorFlow(const Model& model)
{
    LiftedModel lifted;
    lifted.model.dialect = Dialect::tf;
    lifted.model.graphs.resize(model.graphs.size());
    std::set<int32_t> conditions;
    for (const Graph& graph : model.graphs)
        for (const Operator& op : graph.operators)
            if (op.kind.name == "while") conditions.insert(attributeGraph(op.attributes, "cond").index);
    for (size_t g = 0; g < model.graphs.size(); ++g) {
        Graph& target = lifted.model.graphs[g];
        target.id = model.graphs[g].id;
        LS_TRY(std::vector<ValueId> values, GraphLifter(model.graphs[g], target, conditions.contains(static_cast<int32_t>(g))).run());
        lifted.values.push_back(std::move(values));
    }
    for (Signature signature : model.signatures) {
        for (auto* bindings : {&signature.inputs, &signature.outputs})
            for (SignatureBinding& binding : *bindings)
                if (binding.value.valid())
                    binding.value = lifted.values[static_cast<size_t>(signature.graph.index)][static_cast<size_t>(binding.value.index)];
        lifted.model.signatures.push_back(std::move(signature));
    }
    return lifted;
}

} // namespace loopscope
