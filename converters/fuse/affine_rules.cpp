// Constants into the weights and the bias of convolutions and matrix products, and batch norms, which are both.
#include "converters/fuse/affine.h"
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <cmath>

namespace loopscope::fusing {

namespace {

/// An operator with a constant beside the result of an affine one.
struct Beside {
    Affine affine;
    const Numbers* constant = nullptr;
    bool isConstantLeft = false;
    std::vector<OperatorId> ops; ///< the affine one, what only passes its result on, the root
};

/// `readsPast`: may the affine operator have an activation?
std::optional<Beside> affineBeside(Site& site, OperatorId root)
{
    const Operator& op = site.editor().op(root);
    if (op.inputs.size() != 2) return std::nullopt;
    for (const size_t side : {0, 1}) {
        Beside found;
        std::vector<OperatorId> passed;
        const OperatorId producer = site.producer(op.inputs[side], &passed);
        if (!producer.valid()) continue;
        std::optional<Affine> affine = readAffine(site, producer);
        if (!affine) continue;
        found.affine = std::move(*affine);
        found.constant = site.constants().floats(op.inputs[1 - side]);
        found.isConstantLeft = side == 1;
        found.ops = {producer};
        found.ops.insert(found.ops.end(), passed.begin(), passed.end());
        found.ops.push_back(root);
        return found;
    }
    return std::nullopt;
}

/// What stands in the way of any constant.
std::string obstacle(Site& site, const Beside& found)
{
    if (!found.affine.refused.empty()) return found.affine.refused;
    if (found.affine.activation() != "NONE") return "an activation lies between: " + found.affine.activation();
    if (found.constant == nullptr) return "the other operand is no constant";
    if (std::optional<std::string> reason = site.outliveAny(found.ops, found.ops.back())) return *reason;
    return "";
}

Outcome addConstant(Site& site, OperatorId root)
{
    std::optional<Beside> found = affineBeside(site, root);
    if (!found) return Outcome::nothing();
    const std::string to = affineLabel(site, found->affine, "bias");
    const std::string_view kind = neutralKind(site.editor().op(root).kind);
    const auto declined = [&](std::string reason) { return Outcome::declined(to, std::move(reason)); };
    if (std::string reason = obstacle(site, *found); !reason.empty()) return declined(std::move(reason));
    if (kind == "sub" && found->isConstantLeft) return declined("constant minus product: the sign of the product changes");
    const std::string_view format = attributeString(site.editor().op(root).attributes, "data_format", "NHWC");
    if (kind == "bias_add" && format != "NHWC") return declined("data_format " + std::string(format));
    const auto addend = perChannel(*found->constant, found->affine.channels, rankOf(found->affine));
    if (!addend)
        return declined("the constant is no scalar and not one number for each of " + std::to_string(found->affine.channels) + " channels");
    for (size_t c = 0; c < addend->size(); ++c) found->affine.bias[c] += kind == "sub" ? -(*addend)[c] : (*addend)[c];
    setAttribute(found->affine.attributes, "act", Word{std::string(activationOf(site.editor().op(root)))});
    if (found->affine.activation() == "NONE") removeAttribute(found->affine.attributes, "act");
    return Outcome::made(writeAffine(site, found->affine, std::move(found->ops), {"bias"}));
}

Outcome scaleByConstant(Site& site, OperatorId root)
{
    std::optional<Beside> found = affineBeside(site, root);
    if (!found) return Outcome::nothing();
    const std::string to = affineLabel(site, found->affine, "weights_scaled");
    const auto declined = [&](std::string reason) { return Outcome::declined(to, std::move(reason)); };
    if (std::string reason = obstacle(site, *found); !reason.empty()) return declined(std::move(reason));
    const bool divides = neutralKind(site.editor().op(root).kind) == "div";
    if (divides && found->isConstantLeft) return declined("constant divided by product");
    if (found->affine.weights.values.empty()) return declined("the filter is no constant");
    auto factors = perChannel(*found->constant, found->affine.channels, rankOf(found->affine));
    if (!factors)
        return declined("the constant is no scalar and not one number for each of " + std::to_string(found->affine.channels) + " channels");
    if (divides && std::ranges::find(*factors, 0.0F) != factors->end()) return declined("division by 0");
    if (divides)
        for (float& factor : *factors) factor = 1.0F / factor;
    found->affine.scale(*factors);
    if (const std::string_view act = activationOf(site.editor().op(root)); act != "NONE")
        setAttribute(found->affine.attributes, "act", Word{std::string(act)});
    return Outcome::made(writeAffine(site, found->affine, std::move(found->ops), {"weights_scaled"}));
}

Outcome batchNorm(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    if (op.inputs.size() < 5) return Outcome::nothing();
    std::vector<OperatorId> ops;
    const OperatorId producer = site.producer(op.inputs[0], &ops);
    std::optional<Affine> affine = readAffine(site, producer);
    if (!affine) return Outcome::nothing();
    const std::string to = affineLabel(site, *affine, "batchnorm");
    const auto declined = [&](std::string reason) { return Outcome::declined(to, std::move(reason)); };
    ops.insert(ops.begin(), producer);
    ops.push_back(root);
    if (!affine->refused.empty()) return declined(affine->refused);
    if (attributeBool(op.attributes, "is_training", true)) return declined("is_training=true: mean and variance come from the data");
    if (affine->activation() != "NONE") return declined("an activation lies between: " + affine->activation());
    if (attributeString(op.attributes, "data_format", "NHWC") != "NHWC") return declined("data_format of the norm is not NHWC");
    if (affine->weights.values.empty()) return declined("the filter is no constant");
    std::vector<const Numbers*> numbers;
    for (size_t k = 1; k < 5; ++k) {
        const Numbers* const read = site.constants().floats(op.inputs[k]);
        if (read == nullptr || static_cast<int64_t>(read->values.size()) != affine->channels)
            return declined("operand " + std::to_string(k) + " of the norm is no constant of " + std::to_string(affine->channels) +
                            " channels");
        numbers.push_back(read);
    }
    for (size_t k = 1; k < op.results.size(); ++k)
        if (!site.editor().uses(op.results[k]).empty()) return declined("result " + std::to_string(k) + " of the norm is used");
    if (std::optional<std::string> reason = site.outliveAny(ops, root)) return declined(*reason);
    const double epsilon = attributeFloat(op.attributes, "epsilon", 1e-4);
    std::vector<float> factors;
    for (size_t c = 0; c < numbers[0]->values.size(); ++c)
        factors.push_back(static_cast<float>(numbers[0]->values[c] / std::sqrt(static_cast<double>(numbers[3]->values[c]) + epsilon)));
    affine->scale(factors);
    for (size_t c = 0; c < factors.size(); ++c) affine->bias[c] += numbers[1]->values[c] - numbers[2]->values[c] * factors[c];
    return Outcome::made(writeAffine(site, *affine, std::move(ops), {"batchnorm"}));
}

} // namespace

std::span<const Rule> affineRules()
{
    static const std::vector<Rule> rules = {
        {"bias", FusionEquality::realEqual, {}, "", nullptr, {"add", "sub", "bias_add"}, addConstant},
        {"scale-weights", FusionEquality::realEqual, {}, "", nullptr, {"mul", "div"}, scaleByConstant},
        {"batch-norm", FusionEquality::realEqual, {}, "", nullptr, {"fused_batch_norm"}, batchNorm},
    };
    return rules;
}

} // namespace loopscope::fusing
