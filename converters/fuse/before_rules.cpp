// Constants in front of a convolution or a matrix product: what it makes of them goes into its bias, factors go into its weights.
#include "converters/fuse/affine.h"
#include "converters/fuse/pattern.h"

#include <algorithm>

namespace loopscope::fusing {

namespace {

/// Whether the sum or product of `operand` and the constant has the operand's own shape.
bool isStretched(const Site& site, ValueId operand, const Numbers& constant, int64_t inputs)
{
    const Shape shape = site.typeOf(site.behindIdentities(operand)).dynamicShape();
    if (constant.isOne()) return shape.hasRank() ? constant.shape.rank() > shape.rank() : constant.shape.rank() > 0;
    return !shape.hasRank() || shape.rank() == 0 || shape.back() != inputs || constant.shape.rank() > shape.rank();
}

/// w · (x + c) is w · x + w · c.
void shift(Affine& affine, const std::vector<float>& addend)
{
    const auto channels = static_cast<size_t>(affine.channels);
    const bool isLast = affine.kind == "depthwise_conv_2d";
    const size_t perStep = isLast ? 1 : affine.weights.values.size() / channels;
    std::vector<double> sums(affine.bias.begin(), affine.bias.end());
    for (size_t k = 0; k < affine.weights.values.size(); ++k)
        sums[k / perStep % channels] += static_cast<double>(affine.weights.values[k]) * addend[affine.inputOf(k)];
    for (size_t c = 0; c < channels; ++c) affine.bias[c] = static_cast<float>(sums[c]);
}

Outcome constantBefore(Site& site, OperatorId root)
{
    const Operator product = site.editor().op(root);
    const std::string_view own = neutralKind(product.kind);
    if (product.inputs.empty()) return Outcome::nothing();
    std::vector<OperatorId> ops;
    const OperatorId producer = site.producer(product.inputs[0], &ops);
    if (!producer.valid()) return Outcome::nothing();
    const Operator before = site.editor().op(producer);
    const std::string_view kind = neutralKind(before.kind);
    const bool adds = kind == "add" || kind == "sub" || kind == "bias_add", scales = kind == "mul" || kind == "div";
    if ((!adds && !scales) || before.inputs.size() != 2) return Outcome::nothing();
    const size_t side = site.constants().floats(before.inputs[1]) != nullptr ? 1 : 0;
    const Numbers* const constant = site.constants().floats(before.inputs[side]);
    std::optional<Affine> affine = constant != nullptr ? readAffine(site, root) : std::nullopt;
    if (!affine || site.constants().floats(before.inputs[1 - side]) != nullptr) return Outcome::nothing();
    const auto declined = [&](std::string reason) {
        return Outcome::declined(affineLabel(site, *affine, adds ? "bias" : "weights_scaled"), std::move(reason));
    };
    if (!affine->refused.empty()) return declined(affine->refused);
    if (affine->weights.values.empty()) return declined("the filter is no constant");
    if (scales && affine->isFakeQuantized) return declined("the filter is quantized with one scale for all channels");
    if (activationOf(before) != "NONE") return declined("an activation lies between: " + std::string(activationOf(before)));
    if (side == 0 && (kind == "sub" || kind == "div")) return declined("the constant is on the left of a " + upperCase(kind));
    const int64_t inputs = affine->inputChannels();
    auto numbers = perChannel(*constant, inputs, own == "fully_connected" ? 1 : 4);
    if (!numbers) return declined("the constant is no scalar and not one number for each of " + std::to_string(inputs) + " inputs");
    if (isStretched(site, before.inputs[1 - side], *constant, inputs))
        return declined("the other operand is stretched to the shape of the constant");
    if (kind == "div" && std::ranges::find(*numbers, 0.0F) != numbers->end()) return declined("division by 0");
    const std::string_view padding = attributeWord(affine->attributes, "padding", "VALID");
    if (adds && padding != "VALID") return declined("the convolution pads zeros, to which nothing is added");
    if (const auto bytes = static_cast<int64_t>(affine->weights.values.size() * sizeof(float)); scales && bytes > site.mostWeightBytes())
        return declined("the weights take " + std::to_string(bytes) + " bytes, more than " + std::to_string(site.mostWeightBytes()));
    ops.insert(ops.begin(), producer);
    ops.push_back(root);
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return declined(*reason);
    for (float& number : *numbers) number = kind == "sub" ? -number : kind == "div" ? 1.0F / number : number;
    if (adds) {
        shift(*affine, *numbers);
    } else {
        affine->scaleInputs(*numbers);
    }
    if (std::string reason = unfinite(*affine); !reason.empty()) return declined(std::move(reason));
    affine->inputs[0] = before.inputs[1 - side];
    return Outcome::made(writeAffine(site, *affine, std::move(ops), {adds ? "bias" : "weights_scaled"}));
}

} // namespace

std::span<const Rule> beforeRules()
{
    static const std::vector<Rule> rules = {
        {"constant-before",
         FusionEquality::realEqual,
         {},
         "",
         nullptr,
         {"conv_2d", "depthwise_conv_2d", "fully_connected"},
         constantBefore,
         true},
    };
    return rules;
}

} // namespace loopscope::fusing
