// Quantized numbers: weights that are stored so and take factors in, and a way to floats and back that changes nothing.
#include "converters/fuse/affine.h"
#include "converters/fuse/pattern.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace loopscope::fusing {

namespace {

/// The constant of i8 behind a DEQUANTIZE; null: there is none.
const Value* storedWeights(const Site& site, ValueId weights)
{
    if (site.isTensorFlow() || !weights.valid()) return nullptr;
    const OperatorId producer = site.producer(weights);
    if (!producer.valid()) return nullptr;
    const Operator& op = site.editor().op(producer);
    if (neutralKind(op.kind) != "dequantize" || op.inputs.size() != 1) return nullptr;
    const Value& stored = site.editor().value(op.inputs[0]);
    const bool isWhole = stored.role == ValueRole::constant && stored.type.dtype == DType::i8 && stored.type.quantization != nullptr &&
                         stored.constant != nullptr && stored.constant->hasBytes() && !stored.constant->sparsity &&
                         stored.constant->size() == static_cast<uint64_t>(stored.type.shape.elementCount());
    return isWhole ? &stored : nullptr;
}

/// To floats and back to the same numbers.
Outcome backAndForth(Site& site, OperatorId root)
{
    const Operator op = site.editor().op(root);
    const OperatorId producer = op.inputs.size() == 1 ? site.producer(op.inputs[0]) : OperatorId();
    if (!producer.valid() || site.isTensorFlow() || neutralKind(site.editor().op(producer).kind) != "dequantize") return Outcome::nothing();
    const ValueId source = site.editor().op(producer).inputs[0];
    const TensorType &is = site.typeOf(source), &back = site.typeOf(op.results[0]);
    const auto declined = [](std::string reason) { return Outcome::declined("no requantizing", std::move(reason)); };
    const bool isSmall = is.dtype == DType::i8 || is.dtype == DType::u8 || is.dtype == DType::i16;
    if (!isSmall || is.dtype != back.dtype || is.quantization == nullptr || !sameQuantization(is.quantization, back.quantization))
        return declined("the numbers are stored with other parameters behind it");
    if (std::optional<std::string> reason = site.namesOutput(root)) return declined(*reason);
    site.bypass(root, source, {producer, root});
    return {root, "no requantizing", "", "", {}};
}

} // namespace

bool isStoredQuantized(const Site& site, const Affine& affine)
{
    return affine.weights.values.empty() && storedWeights(site, affine.weightsValue) != nullptr;
}

std::string scaleQuantized(Site& site, Affine& affine, const std::vector<float>& factors, OperatorId before)
{
    const Value& stored = *storedWeights(site, affine.weightsValue);
    Quantization quantization = *stored.type.quantization;
    if (quantization.kind != Quantization::Kind::affine) return "the weights are quantized in another way";
    if (quantization.scales.size() != factors.size() || (factors.size() == 1 && !quantization.perChannel))
        return "the weights have one scale for all channels";
    const int rank = stored.type.shape.rank();
    const bool isLast = affine.kind == "depthwise_conv_2d" || affine.kind == "conv_3d";
    if (quantization.axis != (isLast ? rank - 1 : 0)) return "the scales are not those of the channels";
    std::string bytes(reinterpret_cast<const char*>(stored.constant->bytes().data()), stored.constant->size());
    const size_t perStep = isLast ? 1 : bytes.size() / factors.size();
    for (size_t c = 0; c < factors.size(); ++c) {
        if (factors[c] == 0 || !std::isfinite(factors[c])) return "a scale times " + std::to_string(factors[c]) + " is none";
        const bool isShifted = c < quantization.zeroPoints.size() && quantization.zeroPoints[c] != 0;
        if (factors[c] < 0 && isShifted) return "a zero point that is not 0 has no opposite";
        quantization.scales[c] *= std::abs(factors[c]);
    }
    for (size_t k = 0; k < bytes.size(); ++k) {
        if (factors[k / perStep % factors.size()] > 0) continue;
        const auto number = static_cast<int8_t>(bytes[k]);
        if (number == -128) return "-128 has no opposite among the stored numbers";
        bytes[k] = static_cast<char>(-number);
    }
    TensorType type = stored.type;
    type.quantization = std::make_shared<const Quantization>(std::move(quantization));
    const std::string name = site.nameOf(before) + "/weights";
    OperatorDraft draft;
    draft.kind = {"tfl", "dequantize"};
    draft.name = name + "/floats";
    draft.results = {site.typeOf(affine.weightsValue)};
    draft.inputs = {
        site.editor().addConstant(name, std::move(type), std::make_shared<const Constant>(Bytes::copyOf(bytes.data(), bytes.size())))};
    affine.weightsValue = site.editor().op(site.editor().insert(std::move(draft), before, InsertPoint::before(before))).results[0];
    for (size_t c = 0; c < affine.bias.size(); ++c) affine.bias[c] *= factors[c];
    return "";
}

std::span<const Rule> quantizedRules()
{
    static const std::vector<Rule> rules = {
        {"requantize", FusionEquality::exact, {}, "", nullptr, {"quantize"}, backAndForth},
    };
    return rules;
}

} // namespace loopscope::fusing
