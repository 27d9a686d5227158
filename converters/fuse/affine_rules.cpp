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

/// Others that stand in half, or that somebody computes, stay what they are: they become the bias of an operator that had none.
void takeAsBias(Site& site, Affine& affine, ValueId constant, std::string_view kind)
{
    const Shape& shape = site.typeOf(constant).shape;
    const bool isPlain = !site.producer(constant).valid() || site.isTensorFlow();
    if (!affine.hasBias && !isPlain && kind != "sub" && shape.rank() == 1 && shape[0] == affine.channels) affine.biasValue = constant;
}

/// x · w + b + c, where b is computed: b + c is an operator of its own, of one row.
Outcome addToComputedBias(Site& site, OperatorId root, const Beside& found)
{
    const Operator op = site.editor().op(root), product = site.editor().op(found.ops.front());
    const std::string to = affineLabel(site, found.affine, "bias");
    const ValueId constant = op.inputs[found.isConstantLeft ? 0 : 1];
    if (neutralKind(op.kind) == "sub" && found.isConstantLeft) return Outcome::declined(to, found.affine.refused);
    if (!perChannel(*found.constant, found.affine.channels, 1)) return Outcome::declined(to, found.affine.refused);
    if (std::optional<std::string> reason = site.outliveAny(found.ops, root)) return Outcome::declined(to, *reason);
    OperatorDraft sum;
    sum.kind = {"tfl", std::string(neutralKind(op.kind))};
    sum.name = site.nameOf(root) + "/bias";
    sum.inputs = {product.inputs[2], constant};
    sum.results = {site.typeOf(product.inputs[2])};
    const OperatorId made = site.editor().insert(std::move(sum), root, InsertPoint::before(found.ops.front()));
    OperatorDraft draft;
    draft.kind = product.kind;
    draft.attributes = product.attributes;
    if (const std::string_view act = activationOf(op); act != "NONE") setAttribute(draft.attributes, "act", Word{std::string(act)});
    draft.inputs = {product.inputs[0], product.inputs[1], site.editor().op(made).results[0]};
    draft.results = {site.typeOf(op.results[0])};
    return Outcome::made(site.fuse(found.ops, std::move(draft), {"bias"}));
}

/// A constant with dimensions of size 1 before its channels gives the sum more dimensions than the product has.
Outcome addAndReshape(Site& site, OperatorId root, Beside& found)
{
    const Shape shape = site.typeOf(site.editor().op(root).results[0]).shape;
    const std::string name = site.nameOf(root);
    std::set<std::string> parts = site.partsOf(found.ops.front());
    parts.insert("bias");
    OperatorDraft draft = affineDraft(site, found.affine, name, root);
    draft.name = name + "/product";
    draft.results = {site.typeOf(site.editor().op(found.ops.front()).results[0])};
    const OperatorId product =
        site.editor().insert(std::move(draft), Sources(std::span<const OperatorId>(found.ops)), InsertPoint::before(root));
    site.setParts(product, std::move(parts));
    std::vector<int32_t> dims;
    for (int d = 0; d < shape.rank(); ++d) dims.push_back(static_cast<int32_t>(shape[d]));
    OperatorDraft reshape;
    reshape.kind = {"tfl", "reshape"};
    reshape.inputs = {site.editor().op(product).results[0],
                      site.constant(name + "/shape", Shape{shape.rank()}, std::span<const int32_t>(dims), root)};
    reshape.results = {site.typeOf(site.editor().op(root).results[0])};
    Outcome outcome = Outcome::made(site.fuse(std::move(found.ops), std::move(reshape), {}));
    site.setParts(outcome.fused, {});
    outcome.to = site.labelOf(product) + "+RESHAPE";
    return outcome;
}

/// The numbers without the dimensions of size 1 that they have beyond `rank`; false: they have others.
bool dropLeading(Numbers& numbers, int rank)
{
    Shape shape;
    for (int d = 0; d < numbers.shape.rank(); ++d) {
        if (numbers.shape.rank() - d <= rank) shape.append(numbers.shape[d]);
        else if (numbers.shape[d] != 1) return false;
    }
    numbers.shape = shape;
    return true;
}

Outcome addConstant(Site& site, OperatorId root)
{
    std::optional<Beside> found = affineBeside(site, root);
    if (!found) return Outcome::nothing();
    const std::string to = affineLabel(site, found->affine, "bias");
    const std::string_view kind = neutralKind(site.editor().op(root).kind);
    const auto declined = [&](std::string reason) { return Outcome::declined(to, std::move(reason)); };
    if (found->affine.isBiasDynamic && found->affine.kind == "fully_connected" && found->constant != nullptr &&
        found->affine.activation() == "NONE")
        return addToComputedBias(site, root, *found);
    if (std::string reason = obstacle(site, *found); !reason.empty()) return declined(std::move(reason));
    if (kind == "sub" && found->isConstantLeft) return declined("constant minus product: the sign of the product changes");
    const std::string_view format = attributeString(site.editor().op(root).attributes, "data_format", "NHWC");
    if (kind == "bias_add" && format != "NHWC") return declined("data_format " + std::string(format));
    Numbers constant = *found->constant;
    const Shape& sum = site.typeOf(site.editor().op(root).results[0]).shape;
    const Shape& product = site.typeOf(site.editor().op(found->ops.front()).results[0]).shape;
    const bool isLarger = !site.isTensorFlow() && sum.isStatic() && product.isStatic() && constant.shape.rank() > product.rank() &&
                          dropLeading(constant, product.rank());
    const auto addend = perChannel(constant, found->affine.channels, rankOf(found->affine));
    if (!addend)
        return declined("the constant is no scalar and not one number for each of " + std::to_string(found->affine.channels) + " channels");
    for (size_t c = 0; c < addend->size(); ++c) found->affine.bias[c] += kind == "sub" ? -(*addend)[c] : (*addend)[c];
    if (std::string reason = unfinite(found->affine); !reason.empty()) return declined(std::move(reason));
    setAttribute(found->affine.attributes, "act", Word{std::string(activationOf(site.editor().op(root)))});
    if (found->affine.activation() == "NONE") removeAttribute(found->affine.attributes, "act");
    if (isLarger) return addAndReshape(site, root, *found);
    takeAsBias(site, found->affine, site.editor().op(root).inputs[found->isConstantLeft ? 0 : 1], kind);
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
    const bool isQuantized = isStoredQuantized(site, found->affine);
    if (found->affine.weights.values.empty() && !isQuantized) return declined("the filter is no constant");
    if (found->affine.isFakeQuantized) return declined("the filter is quantized with one scale for all channels");
    if (const auto bytes = static_cast<int64_t>(found->affine.weights.values.size() * sizeof(float)); bytes > site.mostWeightBytes())
        return declined("the weights take " + std::to_string(bytes) + " bytes, more than " + std::to_string(site.mostWeightBytes()));
    auto factors = perChannel(*found->constant, found->affine.channels, rankOf(found->affine));
    if (!factors)
        return declined("the constant is no scalar and not one number for each of " + std::to_string(found->affine.channels) + " channels");
    if (divides && std::ranges::find(*factors, 0.0F) != factors->end()) return declined("division by 0");
    if (divides)
        for (float& factor : *factors) factor = 1.0F / factor;
    if (isQuantized) {
        if (std::string reason = scaleQuantized(site, found->affine, *factors, root); !reason.empty()) return declined(std::move(reason));
    } else {
        found->affine.scale(*factors);
        if (std::string reason = unfinite(found->affine); !reason.empty()) return declined(std::move(reason));
    }
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
    if (affine->isFakeQuantized) return declined("the filter is quantized with one scale for all channels");
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
    if (std::string reason = unfinite(*affine); !reason.empty()) return declined(std::move(reason));
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
