#include "converters/fuse/site.h"

#include "engine/base/text.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <unordered_map>
#include <utility>

namespace loopscope::fusing {

namespace {

/// A convolution that dilates, whoever said so.
bool isDilated(const Operator& op)
{
    for (const char* const key : {"dilation_h_factor", "dilation_w_factor"})
        if (attributeInt(op.attributes, key, 1) > 1) return true;
    const std::string_view kind = neutralKind(op.kind);
    return (kind == "conv_2d" || kind == "depthwise_conv_2d") &&
           std::ranges::any_of(attributeInts(op.attributes, "dilations"), [](int64_t factor) { return factor > 1; });
}

/// TensorFlow's names, and those of TFLite that compute what another one computes.
constexpr std::pair<std::string_view, std::string_view> kNeutralNames[] = {
    {"Conv2D", "conv_2d"},
    {"DepthwiseConv2dNative", "depthwise_conv_2d"},
    {"MatMul", "fully_connected"},
    {"Conv3D", "conv_3d"},
    {"Conv2DBackpropInput", "transpose_conv"},
    {"BiasAdd", "bias_add"},
    {"BiasAddV1", "bias_add"},
    {"Add", "add"},
    {"AddV2", "add"},
    {"Sub", "sub"},
    {"Mul", "mul"},
    {"RealDiv", "div"},
    {"Div", "div"},
    {"Maximum", "maximum"},
    {"Minimum", "minimum"},
    {"Relu", "relu"},
    {"Relu6", "relu6"},
    {"Neg", "neg"},
    {"Exp", "exp"},
    {"Log", "log"},
    {"Sqrt", "sqrt"},
    {"Reciprocal", "reciprocal"},
    {"Inv", "reciprocal"},
    {"Rsqrt", "rsqrt"},
    {"Square", "square"},
    {"Pow", "pow"},
    {"Tanh", "tanh"},
    {"Sigmoid", "logistic"},
    {"Erf", "erf"},
    {"Erfc", "erfc"},
    {"Abs", "abs"},
    {"SquaredDifference", "squared_difference"},
    {"Sum", "sum"},
    {"Max", "reduce_max"},
    {"Mean", "mean"},
    {"Greater", "greater"},
    {"GreaterEqual", "greater_equal"},
    {"Select", "select"},
    {"SelectV2", "select"},
    {"select_v2", "select"},
    {"Reshape", "reshape"},
    {"Transpose", "transpose"},
    {"Squeeze", "squeeze"},
    {"ExpandDims", "expand_dims"},
    {"Pad", "pad"},
    {"PadV2", "padv2"},
    {"Softmax", "softmax"},
    {"LogSoftmax", "log_softmax"},
    {"Elu", "elu"},
    {"LeakyRelu", "leaky_relu"},
    {"AvgPool", "average_pool_2d"},
    {"MaxPool", "max_pool_2d"},
    {"SpaceToBatchND", "space_to_batch_nd"},
    {"BatchToSpaceND", "batch_to_space_nd"},
    {"FusedBatchNorm", "fused_batch_norm"},
    {"FusedBatchNormV2", "fused_batch_norm"},
    {"FusedBatchNormV3", "fused_batch_norm"},
    {"Identity", "identity"},
    {"StopGradient", "identity"},
    {"Snapshot", "identity"},
    {"ReverseV2", "reverse_v2"},
    {"ArgMax", "arg_max"},
    {"ArgMin", "arg_min"},
    {"Min", "reduce_min"},
    {"Prod", "reduce_prod"},
    {"OneHot", "one_hot"},
    {"GatherV2", "gather"},
    {"QuantizeV2", "quantize"},
    {"Dequantize", "dequantize"},
    {"BatchMatMul", "batch_matmul"},
    {"BatchMatMulV2", "batch_matmul"},
    {"BatchMatMulV3", "batch_matmul"},
    {"PlaceholderWithDefault", "identity"},
    {"Cast", "cast"},
    {"Ceil", "ceil"},
    {"Floor", "floor"},
    {"Round", "round"},
    {"DepthToSpace", "depth_to_space"},
    {"SpaceToDepth", "space_to_depth"},
    {"Tile", "tile"},
    {"BroadcastTo", "broadcast_to"},
    {"Fill", "fill"},
    {"Equal", "equal"},
    {"NotEqual", "not_equal"},
    {"Less", "less"},
    {"LessEqual", "less_equal"},
    {"LogicalAnd", "logical_and"},
    {"LogicalOr", "logical_or"},
    {"LogicalNot", "logical_not"},
    {"ZerosLike", "zeros_like"},
};

} // namespace

std::string_view neutralKind(const Kind& kind)
{
    if (kind.dialect == "custom") { // TFLite has no operator for it: converters leave it to Flex
        if (kind.name == "FlexErf" || kind.name == "Erf") return "erf";
        return kind.name == "FlexErfc" ? std::string_view("erfc") : std::string_view(kind.name);
    }
    static const std::unordered_map<std::string_view, std::string_view> names(std::begin(kNeutralNames), std::end(kNeutralNames));
    const auto found = names.find(kind.name);
    return found == names.end() ? std::string_view(kind.name) : found->second;
}

std::string_view activationOf(const Operator& op) { return attributeWord(op.attributes, "act", "NONE"); }

std::string_view activationKind(std::string_view activation)
{
    if (activation == "RELU") return "relu";
    if (activation == "RELU6") return "relu6";
    if (activation == "RELU_N1_TO_1") return "relu_n1_to_1";
    return activation == "TANH" ? "tanh" : "";
}

std::string upperCase(std::string_view text)
{
    std::string upper(text);
    std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return upper;
}

ValueId Site::behindIdentities(ValueId value, std::vector<OperatorId>* passed) const
{
    for (int depth = 0; depth < 64 && value.valid(); ++depth) {
        const Value& at = m_editor.value(value);
        if (at.role != ValueRole::result) break;
        const Operator& op = m_editor.op(at.producer);
        if (op.kind.dialect != "tf" || !op.controlInputs.empty()) break;
        const bool passesAll = op.kind.name == "IdentityN" && static_cast<size_t>(at.slot) < op.inputs.size();
        if (!passesAll && (neutralKind(op.kind) != "identity" || op.inputs.size() != 1)) break;
        if (op.kind.name == "PlaceholderWithDefault" && isKept(at.producer)) break; // it may be fed
        if (passed != nullptr) passed->push_back(at.producer);
        value = op.inputs[passesAll ? static_cast<size_t>(at.slot) : 0];
    }
    return value;
}

OperatorId Site::producer(ValueId value, std::vector<OperatorId>* passed) const
{
    value = behindIdentities(value, passed);
    if (!value.valid() || m_editor.value(value).role != ValueRole::result || m_editor.value(value).slot != 0) return {};
    return m_editor.value(value).producer;
}

Shape Site::shapeOf(ValueId value, int depth) const
{
    value = behindIdentities(value);
    if (!value.valid() || depth > 8) return Shape::unknownRank();
    const Value& at = m_editor.value(value);
    if (at.type.shape.hasRank()) return at.type.dynamicShape();
    if (at.role != ValueRole::result || at.slot != 0 || m_editor.op(at.producer).inputs.empty()) return Shape::unknownRank();
    const Operator& op = m_editor.op(at.producer);
    const std::string_view kind = neutralKind(op.kind);
    if (kind == "relu" || kind == "relu6" || kind == "bias_add" || kind == "logistic" || kind == "tanh")
        return shapeOf(op.inputs[0], depth + 1);
    if (kind != "average_pool_2d" && kind != "max_pool_2d") return Shape::unknownRank();
    Shape shape = shapeOf(op.inputs[0], depth + 1);
    const std::vector<int64_t> size = attributeInts(op.attributes, "ksize"), strides = attributeInts(op.attributes, "strides");
    const std::string_view padding = attributeString(op.attributes, "padding", "");
    const bool isPlain = attributeString(op.attributes, "data_format", "NHWC") == "NHWC" && (padding == "SAME" || padding == "VALID");
    if (!shape.hasRank() || shape.rank() != 4 || size.size() != 4 || strides.size() != 4 || !isPlain) return Shape::unknownRank();
    for (int d = 1; d < 3; ++d) {
        const int64_t window = size[static_cast<size_t>(d)], stride = std::max<int64_t>(strides[static_cast<size_t>(d)], 1);
        if (shape[d] >= 0) shape[d] = padding == "SAME" ? (shape[d] + stride - 1) / stride : (shape[d] - window) / stride + 1;
    }
    return shape;
}

std::string Site::nameOf(OperatorId id) const
{
    const Operator& op = m_editor.op(id);
    if (!op.name.empty()) return op.name;
    return op.results.empty() ? op.kind.name : m_editor.value(op.results[0]).id;
}

std::string Site::described(OperatorId id) const { return std::string(neutralKind(m_editor.op(id).kind)) + " '" + nameOf(id) + "'"; }

std::optional<std::string> Site::outlives(OperatorId inner, std::span<const OperatorId> ops) const
{
    const auto isInside = [&](OperatorId op) { return std::ranges::find(ops, op) != ops.end(); };
    if (isKept(inner)) return described(inner) + " is asked for";
    for (const ValueId result : m_editor.op(inner).results) {
        if (m_editor.uses(result).empty() && result == m_editor.op(inner).results.front()) return described(inner) + " is an output";
        for (const ValueUse& use : m_editor.uses(result)) {
            if (use.kind == ValueUse::Kind::output || use.kind == ValueUse::Kind::signature)
                return described(inner) + " is an output of the graph";
            if (use.kind == ValueUse::Kind::operand && isInside(use.op)) continue;
            return described(inner) + " has a second reader " + described(use.op);
        }
    }
    if (!m_editor.uses(inner).empty()) return "an operator waits for " + described(inner);
    if (!m_editor.op(inner).controlInputs.empty()) return described(inner) + " waits for an operator";
    return std::nullopt;
}

std::optional<std::string> Site::outliveAny(std::span<const OperatorId> ops, OperatorId root) const
{
    for (const OperatorId op : ops) {
        if (op == root) continue;
        if (std::optional<std::string> reason = outlives(op, ops)) return reason;
    }
    return std::nullopt;
}

ValueId Site::constant(std::string name, const TensorType& type, std::span<const std::byte> bytes, OperatorId before)
{
    const auto content = std::make_shared<const Constant>(Bytes::copyOf(bytes.data(), bytes.size()));
    if (!isTensorFlow()) return m_editor.addConstant(std::move(name), type, content);
    OperatorDraft draft;
    draft.kind = {"tf", "Const"};
    draft.name = std::move(name);
    draft.attributes = {{"dtype", type.dtype}, {"value", TensorAttribute{type, content}}};
    draft.results = {type};
    return m_editor.op(m_editor.insert(std::move(draft), Sources::none(), InsertPoint::before(before))).results[0];
}

ValueId Site::constant(std::string name, Shape shape, std::span<const float> values, OperatorId before)
{
    return constant(std::move(name), TensorType(DType::f32, std::move(shape)), std::as_bytes(values), before);
}

ValueId Site::constant(std::string name, Shape shape, std::span<const int32_t> values, OperatorId before)
{
    return constant(std::move(name), TensorType(DType::i32, std::move(shape)), std::as_bytes(values), before);
}

void Site::becomeIdentity(OperatorId op, ValueId value)
{
    const ValueId result = m_editor.op(op).results[0];
    m_editor.setResults(op, {result}); // a batch norm has more
    m_editor.setKind(op, {"tf", "Identity"});
    m_editor.setInputs(op, {value});
    m_editor.setAttributes(op, {{"T", m_editor.value(result).type.dtype}});
}

OperatorId Site::fuse(std::vector<OperatorId> ops, OperatorDraft draft, std::initializer_list<std::string> parts)
{
    const OperatorId root = ops.back();
    std::set<std::string> joined(parts.begin(), parts.end());
    std::vector<OperatorId> leftovers;
    m_lastFrom.clear();
    for (const OperatorId op : ops) {
        joined.insert(partsOf(op).begin(), partsOf(op).end());
        m_lastFrom.push_back(nameOf(op));
        for (const ValueId input : m_editor.op(op).inputs) m_constants.collectProducers(input, leftovers);
    }
    const ValueId result = m_editor.op(root).results[0];
    const bool staysNamed = isTensorFlow() && (m_editor.uses(result).empty() || isKept(root));
    OperatorId made;
    if (staysNamed) { // somebody asks for the node by its name: it passes the result on
        draft.name = nameOf(root) + "/fused";
        made = m_editor.insert(std::move(draft), Sources(std::span<const OperatorId>(ops)), InsertPoint::before(root));
        becomeIdentity(root, m_editor.op(made).results[0]);
        ops.pop_back();
        m_editor.eraseUnused(ops);
    } else {
        draft.name = isTensorFlow() ? nameOf(root) + "/fused" : m_editor.value(result).id;
        const ValueId replaced[] = {result};
        made = m_editor.replace(ops, std::move(draft), replaced);
    }
    std::erase_if(leftovers, [&](OperatorId op) { return !m_editor.isAlive(op) || isKept(op); });
    m_editor.eraseUnused(leftovers);
    addParts(made, joined);
    return made;
}

void Site::setFrom(std::span<const OperatorId> ops)
{
    m_lastFrom.clear();
    for (const OperatorId op : ops) m_lastFrom.push_back(nameOf(op));
}

GraphId Site::addGraph(Graph graph)
{
    const std::string wanted = graph.id;
    for (int k = 1; m_model.findGraph(graph.id).valid(); ++k) graph.id = wanted + "_" + std::to_string(k);
    m_model.graphs.push_back(std::move(graph));
    return GraphId(static_cast<int64_t>(m_model.graphs.size()) - 1);
}

std::optional<std::string> Site::namesOutput(OperatorId root) const
{
    if (isTensorFlow()) return std::nullopt; // an Identity keeps the name
    for (const ValueUse& use : m_editor.uses(m_editor.op(root).results[0]))
        if (use.kind != ValueUse::Kind::operand) return described(root) + " is an output of the graph: its name would be lost";
    return std::nullopt;
}

std::optional<std::string> Site::losesBy(OperatorId root, ValueId value) const
{
    if (std::optional<std::string> reason = namesOutput(root)) return reason;
    const TensorType &is = typeOf(m_editor.op(root).results[0]), &was = typeOf(value);
    const bool isOtherShape = is.shape.hasRank() && was.shape.hasRank() && is.dynamicShape() != was.dynamicShape();
    const bool isOtherType = is.dtype != was.dtype && is.dtype != DType::unknown && was.dtype != DType::unknown;
    if (!isOtherShape && !isOtherType && sameQuantization(is.quantization, was.quantization)) return std::nullopt;
    const auto text = [](const TensorType& type) { return std::string(dtypeName(type.dtype)) + toString(type.dynamicShape()); };
    return "the result is " + text(is) + ", '" + m_editor.value(value).id + "' " + text(was);
}

void Site::bypass(OperatorId root, ValueId value, std::vector<OperatorId> ops)
{
    std::vector<OperatorId> leftovers;
    m_lastFrom.clear();
    for (const OperatorId op : ops) {
        m_lastFrom.push_back(nameOf(op));
        for (const ValueId input : m_editor.op(op).inputs) m_constants.collectProducers(input, leftovers);
    }
    const ValueId result = m_editor.op(root).results[0];
    if (isTensorFlow() && (m_editor.uses(result).empty() || isKept(root))) {
        becomeIdentity(root, value);
    } else {
        m_editor.replaceUses(result, value);
    }
    std::erase_if(ops, [&](OperatorId op) { return isKept(op); });
    m_editor.eraseUnused(ops);
    std::erase_if(leftovers, [&](OperatorId op) { return !m_editor.isAlive(op) || isKept(op); });
    m_editor.eraseUnused(leftovers);
}

const std::set<std::string>& Site::partsOf(OperatorId op) const
{
    static const std::set<std::string> none;
    const auto found = m_parts.find(op.index);
    return found == m_parts.end() ? none : found->second;
}

std::string Site::labelOf(OperatorId id) const
{
    const Operator& op = m_editor.op(id);
    std::string label = op.kind.dialect == "custom" ? "CUSTOM:" + op.kind.name : upperCase(neutralKind(op.kind));
    if (op.kind.name == "gelu" && attributeBool(op.attributes, "approximate", false)) label += "(approximate)";
    if (op.kind.name == "lstm" && op.inputs.size() > 20 && op.inputs[20].valid()) label += "(layer_norm)";
    const std::set<std::string>& parts = partsOf(id);
    for (const char* part : {"pad_same", "dilation", "bias", "weights_scaled", "batchnorm"})
        if (parts.contains(part) || (std::string_view(part) == "dilation" && isDilated(op))) label += std::string("+") + part;
    const bool isRecurrent = label.find("LSTM") != std::string::npos || label.find("_RNN") != std::string::npos;
    const std::string_view act = activationOf(op);
    if (act == "NONE" || (isRecurrent && act == "TANH")) return label;
    return isRecurrent ? label + "(" + std::string(act) + ")" : label + "+" + std::string(act);
}

} // namespace loopscope::fusing
