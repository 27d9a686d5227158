// What compilers for Circle's devices want written otherwise: additions instead of subtractions, a depthwise convolution instead of a scale
// and a shift of each channel, a product of matrices instead of a layer whose weights are computed. TFLite's files keep what they have.
#include "converters/fuse/affine.h"
#include "converters/fuse/pattern.h"

#include <algorithm>

namespace loopscope::fusing {

namespace {

/// The operand of `op` that is no constant, and the numbers that the constant has for each channel.
struct PerChannel {
    ValueId operand;
    std::vector<float> numbers;
};

std::optional<PerChannel> readPerChannel(Site& site, const Operator& op, int64_t channels)
{
    if (op.inputs.size() != 2) return std::nullopt;
    for (const size_t side : {1, 0}) {
        const Numbers* const constant = site.constants().floats(op.inputs[side]);
        if (constant == nullptr || site.constants().floats(op.inputs[1 - side]) != nullptr) continue;
        std::optional<std::vector<float>> numbers = perChannel(*constant, channels, 4);
        if (numbers) return PerChannel{op.inputs[1 - side], std::move(*numbers)};
    }
    return std::nullopt;
}

/// Whether a product without padding is all that reads it: that takes both constants into its weights.
bool feedsProduct(Site& site, ValueId value)
{
    const std::span<const ValueUse> uses = site.editor().uses(value);
    if (uses.size() != 1 || uses[0].kind != ValueUse::Kind::operand) return false;
    const std::optional<Affine> affine = readAffine(site, uses[0].op);
    return affine && affine->refused.empty() && attributeWord(affine->attributes, "padding", "VALID") == "VALID";
}

/// x · a + b with one number for each channel is a depthwise convolution of one element.
Outcome scaleAndShift(Site& site, OperatorId root)
{
    const Operator sum = site.editor().op(root);
    const Shape shape = site.shapeOf(sum.results[0]);
    if (!site.isForCircle() || site.typeOf(sum.results[0]).dtype != DType::f32 || !shape.hasRank() || shape.rank() != 4)
        return Outcome::nothing();
    const int64_t channels = shape.back();
    const std::optional<PerChannel> shift = channels > 0 ? readPerChannel(site, sum, channels) : std::nullopt;
    std::vector<OperatorId> ops;
    const OperatorId inner = shift ? site.producer(shift->operand, &ops) : OperatorId();
    if (!inner.valid() || neutralKind(site.editor().op(inner).kind) != "mul") return Outcome::nothing();
    const Operator product = site.editor().op(inner);
    const std::optional<PerChannel> scale = readPerChannel(site, product, channels);
    if (!scale) return Outcome::nothing();
    const auto declined = [](std::string reason) { return Outcome::declined("DEPTHWISE_CONV_2D", std::move(reason)); };
    if (activationOf(product) != "NONE") return declined("an activation lies between: " + std::string(activationOf(product)));
    if (site.shapeOf(scale->operand) != shape) return declined("the operand is stretched to the shape of the constants");
    if (feedsProduct(site, sum.results[0])) return declined("a product behind it takes both constants in");
    ops.insert(ops.begin(), inner);
    ops.push_back(root);
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return declined(*reason);
    const std::string name = site.nameOf(root);
    OperatorDraft draft;
    draft.kind = {"tfl", "depthwise_conv_2d"};
    draft.attributes = {{"act", Word{std::string(activationOf(sum))}},
                        {"depth_multiplier", int64_t{1}},
                        {"dilation_h_factor", int64_t{1}},
                        {"dilation_w_factor", int64_t{1}},
                        {"padding", Word{"VALID"}},
                        {"stride_h", int64_t{1}},
                        {"stride_w", int64_t{1}}};
    if (activationOf(sum) == "NONE") removeAttribute(draft.attributes, "act");
    draft.inputs = {scale->operand,
                    site.constant(name + "/weights", Shape{1, 1, 1, channels}, std::span<const float>(scale->numbers), root),
                    site.constant(name + "/bias", Shape{channels}, std::span<const float>(shift->numbers), root)};
    draft.results = {site.typeOf(sum.results[0])};
    return Outcome::made(site.fuse(std::move(ops), std::move(draft), {}));
}

/// A layer whose weights are computed is a product of two matrices.
Outcome productOfComputed(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (!site.isForCircle() || op.kind.dialect != "tfl" || op.inputs.size() < 2 || site.typeOf(op.results[0]).dtype != DType::f32)
        return Outcome::nothing();
    const Value& weights = site.editor().value(op.inputs[1]);
    if (weights.role == ValueRole::constant || weights.type.dtype != DType::f32) return Outcome::nothing();
    if (site.constants().floats(op.inputs[1]) != nullptr) return Outcome::nothing(); // a constant of TensorFlow is an operator
    const Shape x = site.shapeOf(op.inputs[0]);
    const auto declined = [](std::string reason) { return Outcome::declined("BATCH_MATMUL", std::move(reason)); };
    if (attributeWord(op.attributes, "weights_format", "DEFAULT") != "DEFAULT") return declined("the weights are in a format of their own");
    if (!x.hasRank() || x.rank() < 2) return declined("the operand is not known to be a matrix");
    if (x.rank() > 2 && !attributeBool(op.attributes, "keep_num_dims", false)) return declined("the layer makes rows of its operand");
    if (weights.type.shape.rank() != 2 || x.back() < 0 || x.back() != weights.type.shape[1])
        return declined("the rows of both are not known to be of one length");
    const bool hasBias = op.inputs.size() > 2 && op.inputs[2].valid();
    const std::string activation(activationOf(op));
    const std::string_view alone = activationKind(activation);
    if (activation != "NONE" && !hasBias && alone.empty()) return declined("no operator computes " + activation + " alone");
    OperatorDraft product;
    product.kind = {"tfl", "batch_matmul"};
    product.attributes = {{"adj_y", true}};
    product.inputs = {op.inputs[0], op.inputs[1]};
    product.results = {site.typeOf(op.results[0])};
    if (!hasBias && activation == "NONE") return Outcome::made(site.fuse({root}, std::move(product), {}));
    product.name = site.nameOf(root) + "/product";
    const ValueId made = site.editor().op(site.editor().insert(std::move(product), root, InsertPoint::before(root))).results[0];
    OperatorDraft behind;
    behind.kind = hasBias ? Kind{"tfl", "add"} : Kind{"tfl", std::string(alone)};
    behind.inputs = hasBias ? std::vector<ValueId>{made, op.inputs[2]} : std::vector<ValueId>{made};
    if (hasBias && activation != "NONE") behind.attributes = {{"act", Word{activation}}};
    behind.results = {site.typeOf(op.results[0])};
    Outcome outcome = Outcome::made(site.fuse({root}, std::move(behind), {}));
    outcome.to = "BATCH_MATMUL";
    return outcome;
}

} // namespace

std::span<const Rule> circleSubstitutes()
{
    constexpr auto kReal = FusionEquality::realEqual;
    static const std::vector<Rule> rules = {
        {.name = "sub-as-add",
         .equality = FusionEquality::exact,
         .patterns = {"sub(x, $c)"},
         .replacement = "add(x, -$c)",
         .isLate = true,
         .isOfCircle = true},
        {.name = "quotient-by-root",
         .equality = kReal,
         .patterns = {"div(y, sqrt(x))"},
         .replacement = "mul(y, rsqrt(x))",
         .isLate = true,
         .isOfCircle = true},
        {.name = "product-of-computed",
         .equality = kReal,
         .roots = {"fully_connected"},
         .apply = productOfComputed,
         .isLate = true,
         .isOfCircle = true},
        {.name = "scale-and-shift", .equality = kReal, .roots = {"add"}, .apply = scaleAndShift, .isLate = true, .isOfCircle = true},
    };
    return rules;
}

} // namespace loopscope::fusing
