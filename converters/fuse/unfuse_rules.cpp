// The way back: an operator that computes what several did becomes those again, so that one can look into it. Only where nothing is lost.
#include "converters/fuse/pattern.h"
#include "converters/fuse/prepare.h"

#include <algorithm>
#include <cmath>

namespace loopscope::fusing {

namespace {

bool isProduct(std::string_view kind)
{
    return kind == "conv_2d" || kind == "depthwise_conv_2d" || kind == "fully_connected" || kind == "transpose_conv" || kind == "conv_3d";
}

/// A copy of the operator with another set of attributes, to which `parts` of the report say nothing.
OperatorDraft copyOf(const Operator& op)
{
    OperatorDraft draft;
    draft.kind = op.kind;
    draft.attributes = op.attributes;
    draft.inputs = op.inputs;
    return draft;
}

/// The operator before `root`, which is named after it.
ValueId before(Site& site, OperatorId root, OperatorDraft draft, std::string_view what, TensorType type)
{
    draft.name = site.nameOf(root) + "/" + std::string(what);
    draft.results = {std::move(type)};
    const OperatorId made = site.editor().insert(std::move(draft), root, InsertPoint::before(root));
    site.setParts(made, {});
    return site.editor().op(made).results[0];
}

/// A composite becomes what its body computes.
Outcome takeBody(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    const GraphId callee = attributeGraph(op.attributes, "call");
    if (!site.model().hasGraph(callee) || op.results.empty()) return Outcome::nothing();
    const Graph body = site.model().graph(callee);
    if (body.id == site.editor().graph().id || body.outputs.size() != op.results.size() || body.inputs.size() != op.inputs.size())
        return Outcome::declined("its body", "operands and results are not those of its body");
    const OperatorId ops[] = {root};
    site.setFrom(ops);
    becomeBody(site.editor(), root, body);
    const Value& result = site.editor().value(op.results[0]);
    if (result.role != ValueRole::result) return Outcome::nothing();
    Outcome outcome = Outcome::made(result.producer);
    site.setParts(outcome.fused, {});
    outcome.to = "its body";
    return outcome;
}

Outcome last(Site& site, OperatorId root, OperatorDraft draft, std::string to)
{
    draft.results = {site.typeOf(site.editor().op(root).results[0])};
    Outcome outcome = Outcome::made(site.fuse({root}, std::move(draft), {}));
    site.setParts(outcome.fused, {});
    outcome.to = std::move(to);
    return outcome;
}

Outcome takeActivation(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    const std::string activation(activationOf(op));
    const std::string_view kind = activationKind(activation);
    if (op.kind.dialect != "tfl" || activation == "NONE" || kind.empty() || op.results.size() != 1) return Outcome::nothing();
    OperatorDraft inner = copyOf(op);
    removeAttribute(inner.attributes, "act");
    const ValueId value = op.results[0];
    std::optional<FusionDomain> domain;
    const ValueId made = before(site, root, std::move(inner), "unclamped", site.typeOf(value));
    if (activation == "RELU" && site.typeOf(value).dtype == DType::f32) domain = FusionDomain{site.editor().value(made).id, "is finite", 0};
    OperatorDraft outer;
    outer.kind = {"tfl", std::string(kind)};
    outer.inputs = {made};
    Outcome outcome = last(site, root, std::move(outer), upperCase(neutralKind(op.kind)) + ", " + upperCase(kind));
    outcome.domain = std::move(domain);
    return outcome;
}

Outcome takeBias(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    const size_t slot = neutralKind(op.kind) == "transpose_conv" ? 3 : 2;
    if (op.kind.dialect != "tfl" || !isProduct(neutralKind(op.kind)) || op.inputs.size() <= slot || !op.inputs[slot].valid())
        return Outcome::nothing();
    if (activationOf(op) != "NONE" || site.typeOf(op.results[0]).dtype != DType::f32) return Outcome::nothing();
    const Numbers* const numbers = site.constants().floats(op.inputs[slot]);
    if (numbers != nullptr && numbers->isSplat() && numbers->values.front() == 0) return Outcome::nothing();
    OperatorDraft inner = copyOf(op), outer;
    inner.inputs[slot] = ValueId();
    outer.kind = {"tfl", "add"};
    outer.inputs = {before(site, root, std::move(inner), "product", site.typeOf(op.results[0])), op.inputs[slot]};
    return last(site, root, std::move(outer), upperCase(neutralKind(op.kind)) + ", ADD");
}

struct Extent {
    int64_t length = 0, window = 1, stride = 1, dilation = 1;
};

/// Height and width of a convolution; false: they are not known, or it is none.
bool extentsOf(const Site& site, const Operator& op, Extent (&extents)[2])
{
    const std::string_view kind = neutralKind(op.kind);
    if (op.kind.dialect != "tfl" || (kind != "conv_2d" && kind != "depthwise_conv_2d") || op.inputs.size() < 2) return false;
    const Shape picture = site.typeOf(op.inputs[0]).dynamicShape(), filter = site.typeOf(op.inputs[1]).shape;
    if (!picture.hasRank() || picture.rank() != 4 || picture[1] < 0 || picture[2] < 0 || !filter.isStatic() || filter.rank() != 4)
        return false;
    if (site.typeOf(op.results[0]).dtype != DType::f32) return false;
    extents[0] = {picture[1], filter[1], attributeInt(op.attributes, "stride_h", 1), attributeInt(op.attributes, "dilation_h_factor", 1)};
    extents[1] = {picture[2], filter[2], attributeInt(op.attributes, "stride_w", 1), attributeInt(op.attributes, "dilation_w_factor", 1)};
    return extents[0].stride > 0 && extents[1].stride > 0;
}

ValueId table(Site& site, OperatorId root, std::string_view what, Shape shape, const std::vector<int32_t>& numbers)
{
    return site.constant(site.nameOf(root) + "/" + std::string(what), std::move(shape), std::span<const int32_t>(numbers), root);
}

Outcome takePadding(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    Extent extents[2];
    if (!extentsOf(site, op, extents) || attributeWord(op.attributes, "padding", "") != "SAME") return Outcome::nothing();
    Shape shape = site.typeOf(op.inputs[0]).shape;
    std::vector<int32_t> amounts(8, 0);
    for (size_t d = 0; d < 2; ++d) {
        const Extent& along = extents[d];
        const int64_t outputs = (along.length + along.stride - 1) / along.stride;
        const int64_t total = std::max<int64_t>((outputs - 1) * along.stride + (along.window - 1) * along.dilation + 1 - along.length, 0);
        amounts[2 + 2 * d] = static_cast<int32_t>(total / 2);
        amounts[3 + 2 * d] = static_cast<int32_t>(total - total / 2);
        shape[static_cast<int>(d) + 1] += total;
    }
    OperatorDraft outer = copyOf(op);
    setAttribute(outer.attributes, "padding", Word{"VALID"});
    if (std::ranges::all_of(amounts, [](int32_t amount) { return amount == 0; }))
        return last(site, root, std::move(outer), upperCase(neutralKind(op.kind)) + " that does not pad");
    OperatorDraft pad;
    pad.kind = {"tfl", "pad"};
    pad.inputs = {op.inputs[0], table(site, root, "paddings", Shape{4, 2}, amounts)};
    outer.inputs[0] = before(site, root, std::move(pad), "padded", TensorType(DType::f32, shape));
    return last(site, root, std::move(outer), "PAD, " + upperCase(neutralKind(op.kind)));
}

Outcome takeDilation(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    Extent extents[2];
    if (!extentsOf(site, op, extents) || attributeWord(op.attributes, "padding", "") != "VALID") return Outcome::nothing();
    if (extents[0].dilation * extents[1].dilation == 1 || extents[0].stride != 1 || extents[1].stride != 1) return Outcome::nothing();
    const std::string kind = upperCase(neutralKind(op.kind));
    Shape apart = site.typeOf(op.inputs[0]).shape, together = site.typeOf(op.results[0]).shape;
    if (apart[0] < 0 || !together.isStatic()) return Outcome::declined("SPACE_TO_BATCH_ND, " + kind, "the batch size is unknown");
    std::vector<int32_t> blocks, pads, crops;
    for (int d = 0; d < 2; ++d) {
        const Extent& along = extents[d];
        const int64_t rest = (along.dilation - along.length % along.dilation) % along.dilation;
        blocks.push_back(static_cast<int32_t>(along.dilation));
        for (std::vector<int32_t>* const amounts : {&pads, &crops}) amounts->insert(amounts->end(), {0, static_cast<int32_t>(rest)});
        apart[0] *= along.dilation;
        apart[d + 1] = (along.length + rest) / along.dilation;
        together[0] *= along.dilation;
        together[d + 1] = apart[d + 1] - along.window + 1;
    }
    const ValueId size = table(site, root, "blocks", Shape{2}, blocks);
    OperatorDraft forth, inner = copyOf(op), back;
    forth.kind = {"tfl", "space_to_batch_nd"};
    forth.inputs = {op.inputs[0], size, table(site, root, "pads", Shape{2, 2}, pads)};
    for (const char* const key : {"dilation_h_factor", "dilation_w_factor"}) removeAttribute(inner.attributes, key);
    inner.inputs[0] = before(site, root, std::move(forth), "apart", TensorType(DType::f32, apart));
    back.kind = {"tfl", "batch_to_space_nd"};
    back.inputs = {before(site, root, std::move(inner), "convolution", TensorType(DType::f32, together)), size,
                   table(site, root, "crops", Shape{2, 2}, crops)};
    return last(site, root, std::move(back), "SPACE_TO_BATCH_ND, " + kind + ", BATCH_TO_SPACE_ND");
}

std::string unless(bool holds, const char* reason) { return holds ? "" : reason; }

const Operator& rootOf(Site& site, const Match& match) { return site.editor().op(match.ops.back()); }

/// The last dimension is the one that the expression sums over.
std::string ofTFLite(Site& site, const Match& match)
{
    if (rootOf(site, match).kind.dialect != "tfl") return "TensorFlow's operator is none that was fused";
    return unless(activationOf(rootOf(site, match)) == "NONE", "it has an activation");
}

} // namespace

std::span<const Rule> unfuseRules()
{
    constexpr auto kReal = FusionEquality::realEqual;
    constexpr auto kExact = FusionEquality::exact;
    static const std::vector<std::string> kActivated = {
        "conv_2d", "depthwise_conv_2d", "fully_connected", "transpose_conv", "conv_3d", "add", "sub", "mul",
        "div",     "average_pool_2d",   "max_pool_2d"};
    static const std::vector<std::string> kProducts = {"conv_2d", "depthwise_conv_2d", "fully_connected", "transpose_conv", "conv_3d"};
    static const std::vector<Rule> rules = {
        {"unfuse-activation", kExact, {}, "", nullptr, kActivated, takeActivation},
        {"unfuse-composite", kExact, {}, "", nullptr, {"stablehlo_composite"}, takeBody},
        {"unfuse-bias", kReal, {}, "", nullptr, kProducts, takeBias},
        {"unfuse-padding", kExact, {}, "", nullptr, {"conv_2d", "depthwise_conv_2d"}, takePadding},
        {"unfuse-dilation", kReal, {}, "", nullptr, {"conv_2d", "depthwise_conv_2d"}, takeDilation},
        {"unfuse-hard-swish", kReal, {"hard_swish(x)"}, "div(mul(x, relu6(add(x, 3))), 6)", ofTFLite},
        {"unfuse-gelu",
         kReal,
         {"gelu(x)"},
         "mul(mul(0.5, x), add(1, tanh(mul(0.7978846, add(x, mul(0.044715, mul(x, mul(x, x))))))))",
         [](Site& site, const Match& match) {
             return unless(attributeBool(rootOf(site, match).attributes, "approximate", false),
                           "TFLite has no ERF that it could be written with");
         }},
        {"unfuse-softmax",
         kReal,
         {"softmax(x)"},
         "div(e:exp(sub(x, reduce_max(x, -1))), sum(e, -1))",
         [](Site& site, const Match& match) -> std::string {
             if (attributeFloat(rootOf(site, match).attributes, "beta", 1.0) != 1.0) return "beta is not 1";
             return ofTFLite(site, match);
         }},
        {"unfuse-log-softmax", kReal, {"log_softmax(x)"}, "sub(d:sub(x, reduce_max(x, -1)), log(sum(exp(d), -1)))", ofTFLite},
        {"unfuse-l2-norm", kReal, {"l2_normalization(x)"}, "div(x, sqrt(maximum(sum(square(x), -1), 1e-12)))", ofTFLite},
        {"unfuse-leaky-relu",
         kReal,
         {"leaky_relu(x)"},
         "maximum(mul(x, @alpha), x)",
         [](Site& site, const Match& match) {
             return unless(std::abs(attributeFloat(rootOf(site, match).attributes, "alpha", 0.0)) < 1,
                           "a slope of 1 and more is no maximum");
         }},
        {"unfuse-prelu", kReal, {"prelu(x, $a)"}, "add(relu(x), mul(-$a, relu(neg(x))))", ofTFLite},
    };
    return rules;
}

} // namespace loopscope::fusing
